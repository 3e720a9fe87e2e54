//! Reads: data of the next step, which ranks read from storage hosts beside each step.
use railtwin_control::Place;
use railtwin_control::crux::demand::JobDemand;
use railtwin_control::crux::fluid::Running;
use railtwin_control::crux::pair::Pair;
use railtwin_control::crux::tenants::{Candidate, Tenant, Transfer};
use railtwin_fabric::HostId;
use railtwin_units::{Bytes, SimTime};

use crate::ask::{Ask, ClusterJob};
use crate::asked::Asked;
use crate::links::Links;
use crate::plant::Plant;
use crate::services::Service;
use crate::writing::first_storage;

/// What a job reads beside its steps, and a step with it.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    /// What a read asks of links.
    pub demand: Asked,
    pair: Pair,
    /// Seconds of a step with it on whole links with no other job in the way.
    whole: f64,
}

/// A job in the middle of a step, and what it reads beside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    pub step: Running,
    pub read: Option<Running>,
}

impl Reading {
    /// Of a job on these GPUs whose steps ask this; none where it reads nothing.
    pub(crate) fn of(
        job: &ClusterJob,
        places: &[Place],
        plant: &Plant<'_>,
        links: Links<'_>,
        ask: &Ask,
        step: &Asked,
    ) -> Option<Self> {
        let transfers = transfers(job, places, plant, ask.reads?, ask);
        // It computes nothing, and begins with the step.
        let tenant = Tenant { transfers, ..Tenant::new("", job.gpus, SimTime::ZERO, 0.0) };
        let demand = JobDemand::of(links.tenants, &tenant, &vec![0; tenant.transfers.len()]);
        let reads = demand.seconds > 0.0;
        reads.then(|| Self::beside(step, Asked::of(demand, links.taken), links))
    }

    fn beside(step: &Asked, demand: Asked, links: Links<'_>) -> Self {
        let of =
            |step: &JobDemand, read: &JobDemand| Pair::of(step, read, links.tenants.links.len(), links.fair);
        let pair = of(&step.now, &demand.now);
        let is_whole = !step.is_beside() && !demand.is_beside();
        let whole = if is_whole { pair.step_alone() } else { of(step.whole(), demand.whole()).step_alone() };
        Self { demand, pair, whole }
    }

    /// The same beside steps that ask this now, where inference takes another part of links.
    pub(crate) fn turned(self, step: &Asked, links: Links<'_>) -> Self {
        Self::beside(step, self.demand.turned(links.taken), links)
    }

    /// Seconds of a step with it and no other job in the way: on whole links, and beside inference.
    pub(crate) fn steps_alone(&self) -> [f64; 2] {
        [self.whole, self.pair.step_alone()]
    }

    /// Where both are in a step that began so long before `now`.
    pub(crate) fn within(&self, now: f64, elapsed: f64) -> Rows {
        let [step, read] = self.pair.within(now, elapsed);
        Rows { step, read: Some(read) }
    }

    /// Seconds of a step that have gone by where both are so.
    pub(crate) fn elapsed(&self, rows: [Running; 2], now: f64) -> f64 {
        self.pair.step_alone() - self.pair.left(rows, now)
    }
}

/// What each rank reads: from the storage hosts in turn, from the one on that its checkpoints go to, over all ports of the
/// storage host's NIC and as many queue pairs as training has.
fn transfers(
    job: &ClusterJob,
    places: &[Place],
    plant: &Plant<'_>,
    bytes: Bytes,
    ask: &Ask,
) -> Vec<Transfer> {
    let fabric = plant.fabric;
    let hosts: Vec<HostId> = fabric.storage_hosts().collect();
    let (first, _) = first_storage(job, hosts.len(), ask);
    let mut lot = railtwin_units::stream::named(ask.seed, &format!("cluster/{}/reads", job.name));
    let mut transfers = Vec::new();
    for (rank, &place) in places.iter().enumerate() {
        let Some(&storage) = hosts.get((first + rank) % hosts.len().max(1)) else { break };
        let storage = Service::of(fabric, storage);
        let ports = storage.ports(fabric);
        let pieces = ports * ask.queue_pairs;
        for piece in 0..pieces {
            let links = storage.way_from(plant, place, piece % ports, &mut lot);
            let links = links.into_iter().map(|link| link.0).collect();
            let candidates = vec![Candidate { links, source_port: None }];
            transfers.push(Transfer { bytes: Bytes(bytes.0 / u64::from(pieces)), candidates });
        }
    }
    transfers
}
