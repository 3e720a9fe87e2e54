//! A job that runs.
use std::collections::BTreeMap;
use std::sync::Arc;

use railtwin_control::Place;
use railtwin_control::crux::burdens::Burdens;
use railtwin_control::crux::demand::JobDemand;
use railtwin_control::crux::fluid::Running;
use railtwin_control::crux::selection::Selection;
use railtwin_control::crux::tenants::{Tenant, Transfer};
use railtwin_fabric::{DeviceId, Fabric, LinkId};
use railtwin_routing::NicPort;
use railtwin_units::Bytes;
use railtwin_units::stream::{self, Stream};
use rand::RngExt;

use crate::ask::{Ask, ClusterJob};
use crate::asked::{Asked, carried};
use crate::links::Links;
use crate::lived::JobLife;
use crate::plant::Plant;
use crate::reading::{Reading, Rows};
use crate::traffic::step_traffic;
use crate::writing::Writing;

/// Where a job's time goes.
#[derive(Clone, Debug)]
pub(crate) enum Course {
    /// Nobody is in its way since then, when so many steps were left of its stretch and its step had gone on for so long.
    Alone { since: f64, left: f64, elapsed: f64 },
    /// It contends with others.
    Contending,
}

/// A job that runs.
#[derive(Debug)]
pub(crate) struct Live {
    /// Its number in the question.
    pub job: usize,
    pub places: Vec<Place>,
    pub gpus: u32,
    /// Whether it sends over links that others may cross, between hosts or over PCIe.
    pub sends: bool,
    /// What its candidates put on links where it is, and those that it has; none where nobody chooses among them.
    pub burdens: Option<Arc<Burdens>>,
    pub chosen: Vec<u32>,
    /// What it asks of links by those; computation alone where it asks nothing.
    pub demand: Asked,
    pub level: u32,
    pub course: Course,
    pub lot: Stream,
    /// Seconds of a step and of its communication where only its own NICs and NVLink hold it back, without checkpoints.
    pub step_alone: f64,
    pub communication: f64,
    /// Seconds of a step by the paths that the policy gives the job on an empty cluster, on whole links and without what it
    /// reads: what its own flows lose to each other is in it.
    pub step_own: f64,
    /// The same of all steps that it did.
    pub done_own: f64,
    pub shared_a_link: bool,
    pub contended: bool,
    pub contended_s: f64,
    /// Changes whenever its paths or its level do.
    pub version: u64,
    /// Steps from begin to end.
    pub steps: f64,
    /// Steps behind the stretch that is under way: up to the next checkpoint, or a checkpoint, which is one step.
    pub behind: f64,
    /// Steps by which the stretch before the checkpoint that is written fell short of its own; negative where it did more.
    pub carried: f64,
    pub writing: Option<Writing>,
    pub done: f64,
    pub started: f64,
    /// GPU-seconds of computation of a step.
    pub computation: f64,
    /// What it reads beside its steps.
    pub reading: Option<Reading>,
    /// Seconds of a step by its paths with no other job in the way: on whole links without what it reads and with it, and
    /// beside inference.
    pub by_paths: [f64; 3],
    /// The same of all steps that it did.
    pub done_by_paths: [f64; 3],
}

impl Live {
    /// What it asks of links now: by its steps, or by the checkpoint that it writes.
    pub(crate) fn asks(&self) -> &JobDemand {
        match &self.writing {
            Some(writing) if writing.since.is_some() => &writing.demand.now,
            _ => &self.demand.now,
        }
    }

    pub(crate) fn is_writing(&self) -> bool {
        self.writing.as_ref().is_some_and(|writing| writing.since.is_some())
    }

    /// What it asks of links changes now, while a step of it goes on: by other paths, or as inference takes another part.
    pub(crate) fn asks_now(&mut self, demand: Asked, links: Links<'_>) {
        self.reading = self.reading.take().map(|reading| reading.turned(&demand, links));
        self.by_paths = by_paths(&demand, self.reading.as_ref());
        self.demand = demand;
    }

    /// What it reads beside what it asks for now.
    pub(crate) fn reads(&self) -> Option<&Reading> {
        self.reading.as_ref().filter(|_| !self.is_writing())
    }

    /// Seconds of a step as it is now with nobody else in the way, or of the checkpoint that it writes.
    pub(crate) fn step_now(&self) -> f64 {
        self.reads().map_or_else(|| self.asks().step_alone(), |reading| reading.steps_alone()[1])
    }

    /// Where it is in a step that began so long before `now` and met nobody.
    pub(crate) fn within(&self, now: f64, elapsed: f64) -> Rows {
        let alone = || Rows { step: Running::within(self.asks(), now, elapsed), read: None };
        self.reads().map_or_else(alone, |reading| reading.within(now, elapsed))
    }

    /// Seconds for which a step would have gone on that is so now, if nobody had been in its way.
    pub(crate) fn elapsed(&self, rows: Rows, now: f64) -> f64 {
        match (self.reads(), rows.read) {
            (Some(reading), Some(read)) => reading.elapsed([rows.step, read], now),
            _ => rows.step.elapsed(self.asks(), now),
        }
    }

    /// Whether inference takes something of what it asks for now.
    pub(crate) fn is_beside_inference(&self) -> bool {
        match &self.writing {
            Some(writing) if writing.since.is_some() => writing.demand.is_beside(),
            _ => {
                let reads = self.reading.as_ref().is_some_and(|reading| reading.demand.is_beside());
                self.demand.is_beside() || reads
            }
        }
    }

    /// Inference takes these shares of links now: a step of it goes on by what is left of them. Where that changes what it
    /// asks it is settled and in no component.
    pub(crate) fn turn(&mut self, links: Links<'_>) {
        let taken = links.taken;
        let before = self.is_beside_inference().then(|| (self.asks().clone(), self.reads().cloned()));
        let demand = std::mem::take(&mut self.demand).turned(taken);
        self.asks_now(demand, links);
        if let Some(writing) = &mut self.writing {
            writing.demand = std::mem::take(&mut writing.demand).turned(taken);
        }
        if let (Some((asked, read)), &Course::Alone { elapsed, since, left }) = (before, &self.course) {
            let elapsed = match read {
                Some(read) => self.elapsed(read.within(since, elapsed), since),
                None => carried(&asked, self.asks(), elapsed),
            };
            self.course = Course::Alone { elapsed, since, left };
        }
    }

    /// Goes on at `now`, where a stretch has ended: with a checkpoint, or with the steps behind it. False where none are
    /// left.
    pub(crate) fn goes_on(&mut self, now: f64) -> bool {
        let Some(writing) = self.writing.as_mut().filter(|_| self.behind > 0.5) else { return false };
        let left = match writing.since.take() {
            None => {
                writing.since = Some(now);
                1.0
            }
            Some(since) => {
                writing.count += 1;
                writing.seconds += now - since;
                writing.alone += writing.demand.whole().seconds;
                let planned = writing.every.min(self.behind);
                self.behind -= planned;
                // Where time was skipped a stretch ends less than half a step early or late: this one makes up for it, so
                // that checkpoints stay where they are.
                planned + std::mem::take(&mut self.carried)
            }
        };
        self.course = Course::Alone { since: now, left, elapsed: 0.0 };
        self.version += 1;
        true
    }

    /// What became of it so far, while it still runs.
    pub(crate) fn life(&self) -> JobLife {
        JobLife {
            job: self.job,
            started: Some(self.started),
            ended: None,
            steps: self.done,
            counted: self.done,
            step_alone: self.step_alone,
            communication: self.communication,
            computing_alone: self.computation / (f64::from(self.gpus) * self.step_alone),
            shared_a_link: self.shared_a_link,
            contended: self.contended,
            contended_s: self.contended_s,
            checkpoints: self.writing.as_ref().map_or(0, |writing| writing.count),
            writing_s: self.writing.as_ref().map_or(0.0, |writing| writing.seconds),
            writing_alone_s: self.writing.as_ref().map_or(0.0, |writing| writing.alone),
            steps_own_s: self.done_own,
            steps_without_reads_s: self.done_by_paths[0],
            steps_by_paths_s: self.done_by_paths[1],
            steps_beside_inference_s: self.done_by_paths[2],
            places: self.places.iter().map(|place| (place.host.0, place.gpu)).collect(),
        }
    }

    /// The same job on other GPUs, where it goes on after it has stood still for `pause` seconds with `left` steps: the
    /// step that was under way begins anew.
    pub(crate) fn in_place_of(self, old: Self, left: Option<f64>, now: f64, pause: f64) -> Self {
        let left = match (left, &old.course) {
            (Some(left), _) | (None, &Course::Alone { left, .. }) => left,
            (None, Course::Contending) if old.is_writing() => 1.0,
            (None, Course::Contending) => old.steps - old.done - old.behind,
        };
        Self {
            level: old.level,
            course: Course::Alone { since: now, left: left.ceil(), elapsed: -pause },
            lot: old.lot,
            shared_a_link: old.shared_a_link,
            contended: old.contended,
            contended_s: old.contended_s,
            version: old.version + 1,
            steps: old.steps,
            behind: old.behind,
            carried: old.carried,
            // A checkpoint that was under way begins anew, too.
            writing: self.writing.zip(old.writing).map(|(new, old)| Writing { demand: new.demand, ..old }),
            done: old.done,
            started: old.started,
            done_by_paths: old.done_by_paths,
            done_own: old.done_own,
            ..self
        }
    }

    /// A job that begins at `now` where it was placed.
    pub(crate) fn new(
        (number, job): (usize, &ClusterJob),
        places: Vec<Place>,
        plant: &Plant<'_>,
        links: Links<'_>,
        ask: &Ask,
        now: f64,
    ) -> Self {
        let tenants = links.tenants;
        let mut lot = stream::named(ask.seed, &format!("cluster/{}", job.name));
        let tenant = tenant(job, &places, plant, ask, &mut lot);
        let hash =
            |transfer: &Transfer, lot: &mut Stream| lot.random_range(0..transfer.candidates.len() as u32);
        let hashed: Vec<u32> = tenant.transfers.iter().map(|transfer| hash(transfer, &mut lot)).collect();
        let demand = JobDemand::of(tenants, &tenant, &hashed);
        let communication = alone(plant.fabric, &demand);
        let step_alone = demand.compute.max(demand.ready + communication);
        let computation = tenant.work;
        // Jobs are profiled by the paths of hashes.
        let burdens = ask.sharing.chooses_paths().then(|| Arc::new(Burdens::of(tenants, &tenant, &demand)));
        let links_of_all = tenants.links.len();
        let own = burdens.as_ref().and_then(|burdens| {
            let paths =
                ask.sharing.paths_since(&mut Selection::default(), &[Arc::clone(burdens)], links_of_all);
            Some(burdens.demand(tenants, paths?.first()?).step_alone())
        });
        let step_own = own.unwrap_or_else(|| demand.step_alone());
        let steps = (job.duration / step_alone).round().max(1.0);
        let writing = Writing::of(job, &places, plant, links, ask, step_alone);
        let stretch = writing.as_ref().map_or(steps, |writing| writing.every.min(steps));
        let demand = Asked::of(demand, links.taken);
        let reading = Reading::of(job, &places, plant, links, ask, &demand);
        Self {
            job: number,
            places,
            gpus: job.gpus,
            sends: !tenant.transfers.is_empty(),
            burdens,
            chosen: hashed,
            by_paths: by_paths(&demand, reading.as_ref()),
            done_by_paths: [0.0; 3],
            reading,
            demand,
            level: 0,
            course: Course::Alone { since: now, left: stretch, elapsed: 0.0 },
            lot,
            step_alone,
            communication,
            step_own,
            done_own: 0.0,
            shared_a_link: false,
            contended: false,
            contended_s: 0.0,
            version: 0,
            steps,
            behind: steps - stretch,
            carried: 0.0,
            writing,
            done: 0.0,
            started: now,
            computation,
        }
    }
}

/// Seconds of a step that asks this with no other job in the way: without what it reads, with it, and beside inference.
fn by_paths(demand: &Asked, reading: Option<&Reading>) -> [f64; 3] {
    let [whole, now] = demand.steps_alone();
    let [with, beside] = reading.map_or([whole, now], Reading::steps_alone);
    [whole, with, beside]
}

/// What a job asks of the network where it was placed, and by which paths it can be had.
fn tenant(job: &ClusterJob, places: &[Place], plant: &Plant<'_>, ask: &Ask, lot: &mut Stream) -> Tenant {
    let traffic = step_traffic(plant.fabric, &job.step, places);
    let mut tenant = Tenant::new("", job.gpus, job.step.compute, job.step.overlap_from);
    for hop in &traffic.hops {
        let host = plant.fabric.host_of(hop.source).map(|host| plant.fabric.host_model(host));
        let ports = host.map_or(1, |host| host.nic.ports);
        let pieces = ports * ask.queue_pairs;
        for piece in 0..pieces {
            let source = NicPort { nic: hop.source, port: piece % ports };
            let mut candidates = plant.candidates(source, hop.target, hop.gpus, lot);
            if candidates.is_empty() {
                // Rails that do not meet: over NVLink to the GPU on the target's rail, and out there (NCCL's PXN).
                let nic = plant.on_rail_of(hop.source, hop.target);
                let gpus = [plant.relay_of(nic, hop.gpus[0]), hop.gpus[1]];
                candidates = plant.candidates(NicPort { nic, ..source }, hop.target, gpus, lot);
            }
            let bytes = Bytes(hop.bytes.0 / u64::from(pieces));
            if !candidates.is_empty() && bytes.0 > 0 {
                tenant.transfers.push(Transfer { bytes, candidates });
            }
        }
    }
    for hop in &traffic.over_pcie {
        let candidates = plant.inside(hop.host, hop.gpus[0], hop.gpus[1]);
        tenant.transfers.push(Transfer { bytes: hop.bytes, candidates });
    }
    // What stays inside a host otherwise goes over NVLink (or PCIe) of GPUs that no other job has.
    if let Some(place) = places.first().filter(|_| traffic.inside.0 > 0) {
        let (host, gpu) = (plant.fabric.host_model(place.host), plant.fabric.gpu(place.host, place.gpu));
        let rate = host.nvlink.unwrap_or(host.pcie).bytes_per_s();
        let link = plant.fabric.neighbors(gpu).first().map(|neighbor| neighbor.0.0);
        tenant.inside = link.map(|link| (link, traffic.inside.0 as f64 / rate));
    }
    tenant
}

/// Seconds of a step's communication on a network on which flows never meet, so that work is the same wherever and by
/// whatever paths it runs: only what a NIC sends and gets, over its ports evenly, and links inside hosts hold it back.
fn alone(fabric: &Fabric, demand: &JobDemand) -> f64 {
    let mut nics: BTreeMap<(DeviceId, bool), f64> = BTreeMap::new();
    let mut most = 0.0_f64;
    for &(link, seconds) in &demand.loads {
        let (source, target) = (fabric.source(LinkId(link)), fabric.target(LinkId(link)));
        match (fabric.switch_row(source).is_some(), fabric.switch_row(target).is_some()) {
            (true, true) => (),
            (false, false) => most = most.max(seconds),
            (true, false) => *nics.entry((target, false)).or_default() += seconds,
            (false, true) => *nics.entry((source, true)).or_default() += seconds,
        }
    }
    let ports = |nic| fabric.host_of(nic).map_or(1, |host| fabric.host_model(host).nic.ports);
    nics.iter().map(|(&(nic, _), seconds)| seconds / f64::from(ports(nic).max(1))).fold(most, f64::max)
}

#[cfg(test)]
mod tests {
    use railtwin_control::crux::plan::SharingPolicy;
    use railtwin_control::{PlacementPolicy, RankOrder};
    use railtwin_fabric::preset::{Hpn, Tier2};
    use railtwin_fabric::{HostId, HostSpec};
    use railtwin_units::{Rate, SimTime};
    use railtwin_workload::job_class::ClassStep;

    use railtwin_control::crux::tenants::Tenants;

    use super::*;
    use crate::ask::QueuePolicy;

    /// Two hosts whose rails do not meet.
    fn two_hosts(nvlink: Option<Rate>) -> Fabric {
        let host = HostSpec { nics: Some(4), pcie_switches: Some(4), nvlink, ..HostSpec::named("hgx-a100") };
        let (segments, hosts, spare_hosts, tier2) = (Some(1), Some(2), Some(0), Tier2::RailOnly);
        let spec = Hpn { segments, hosts, spare_hosts, tier2, host, ..Hpn::default() };
        spec.build().expect("it can be built")
    }

    /// A job on one GPU of each of them.
    fn on(fabric: &Fabric, gpus: [u32; 2]) -> Live {
        let step = ClassStep {
            compute: SimTime::from_seconds(1.0),
            overlap_from: 1.0,
            tensor: 1,
            pipeline: 1,
            data: 2,
            reduced: Bytes(1_000_000_000),
            passed: Bytes(0),
            exchanged: Bytes(0),
            among: 1,
        };
        let places: Vec<Place> =
            [(0, gpus[0]), (1, gpus[1])].map(|(host, gpu)| Place { host: HostId(host), gpu }).into();
        let job = ClusterJob {
            name: "torn".to_owned(),
            class: String::new(),
            submitted: 0.0,
            gpus: 2,
            duration: 100.0,
            step,
            places: places.clone(),
            placement: None,
            checkpoints: 0.0,
        };
        let ask = Ask {
            checkpoints: None,
            reads: None,
            serving: None,
            span: 1_000.0,
            queue: QueuePolicy::Fifo,
            placement: PlacementPolicy::Packed,
            rank_order: RankOrder::Given,
            defragment: None,
            sharing: SharingPolicy::Crux,
            levels: 8,
            gate: true,
            replan: 30.0,
            queue_pairs: 1,
            jitter: 0.0,
            steady: 0.01,
            seed: 1,
        };
        let plant = Plant::new(fabric, 4);
        let tenants = Tenants { links: plant.links(false), jobs: Vec::new() };
        let links = Links { tenants: &tenants, fair: &[], taken: &[] };
        Live::new((0, &job), places, &plant, links, &ask, 0.0)
    }

    /// Whether a job on rails that do not meet crosses the root of a host's PCIe.
    fn crosses_the_root(nvlink: Option<Rate>) -> bool {
        let fabric = two_hosts(nvlink);
        let live = on(&fabric, [6, 0]);
        assert!(live.sends);
        let burdens = live.burdens.expect("Crux chooses");
        burdens
            .reach()
            .iter()
            .any(|&link| fabric.device_name(fabric.target(LinkId(link))).ends_with("/pcie-root"))
    }

    #[test]
    fn who_leaves_by_another_rail_goes_over_nvlink_to_its_gpu_where_there_is_one() {
        assert!(!crosses_the_root(None));
        assert!(crosses_the_root(Some(Rate::ZERO)));
    }

    #[test]
    fn who_moves_burdens_the_links_of_where_it_is() {
        let fabric = two_hosts(None);
        let (first, second) = (on(&fabric, [0, 0]), on(&fabric, [2, 2]));
        let [before, there] = [&first, &second].map(|live| live.burdens.clone().expect("Crux chooses"));
        assert!(before.reach().iter().all(|link| !there.reach().contains(link)));
        let moved = second.in_place_of(first, None, 10.0, 5.0);
        assert!(Arc::ptr_eq(moved.burdens.as_ref().expect("Crux chooses"), &there));
        assert!(moved.demand.now.loads.iter().all(|load| load.1 == 0.0 || !before.reach().contains(&load.0)));
    }
}
