//! Processes that are gone, joined with what their GPU, host, NIC and peers show: why a job ended (C4 section II-C).
use std::collections::{BTreeMap, BTreeSet};

use railtwin_records::seen::{CounterSeen, Period};
use railtwin_records::{
    Batch, Component, Counter, Directory, Evidence, FaultKind, Finding, FlowInfo, Since, Syndrome,
};

use crate::context::Context;
use crate::detector::Detector;
use crate::rules::error_cause::{ErrorCause, ErrorEvidence, classify_error};
use crate::rules::limits::Limits;
use crate::rules::place::{Ports, host_of, link_in, suspects};
use crate::rules::told::Told;
use crate::rules::track::{Gauge, Growth, Outlier, component_of, outliers};
use crate::rules::xid::{Xid, xid_meaning};

/// Windows of [`Limits::window_ns`] over which signals join: a process dies within seconds of its cause, and peers time
/// out tens of seconds later.
const WINDOWS: u64 = 3;

/// Share from which a cause is told rather than «unknown».
const TELL: f64 = 0.5;

/// Time after which no further signal is waited for about a process that is gone.
const SETTLED_NS: u64 = 60_000_000_000;

/// Topics.
const GONE: u64 = 0;
const KILLED: u64 = 1;
const CUT_OFF: u64 = 2;

/// Tells which process went first and why.
#[derive(Debug)]
pub struct ErrorJoin {
    limits: Limits,
    alive: Gauge,
    xid: Gauge,
    link_up: Gauge,
    ecc: Growth,
    nvlink: Growth,
    kills: Growth,
    downs: Growth,
    timeouts: Growth,
    by_component: BTreeMap<Component, Vec<u32>>,
    known: usize,
    rank_rows: BTreeMap<Component, u32>,
    ranks_known: usize,
    wiring: Ports,
    /// Entity of a rank whose process is gone, to when that was noticed.
    noticed: BTreeMap<u32, u64>,
    told: Told,
}

impl ErrorJoin {
    /// At the given limits.
    pub fn new(limits: Limits) -> Self {
        let growth = || Growth::new(limits.window_ns * WINDOWS);
        Self {
            limits,
            alive: Gauge::default(),
            xid: Gauge::default(),
            link_up: Gauge::default(),
            ecc: growth(),
            nvlink: growth(),
            kills: growth(),
            downs: growth(),
            timeouts: growth(),
            by_component: BTreeMap::new(),
            known: 0,
            rank_rows: BTreeMap::new(),
            ranks_known: 0,
            wiring: Ports::default(),
            noticed: BTreeMap::new(),
            told: Told::default(),
        }
    }

    fn learn(&mut self, directory: &Directory) {
        for (row, info) in directory.entities.iter().enumerate().skip(self.known) {
            self.by_component.entry(info.component.clone()).or_default().push(row as u32);
        }
        self.known = directory.entities.len();
        for rank in self.ranks_known..directory.ranks.len() {
            self.rank_rows.insert(directory.rank_component(rank as u32), rank as u32);
        }
        self.ranks_known = directory.ranks.len();
        self.wiring.learn(directory);
    }

    fn entities(&self, component: &Component) -> &[u32] {
        self.by_component.get(component).map_or(&[], Vec::as_slice)
    }

    fn grown(&self, growth: &Growth, component: &Component) -> f64 {
        self.entities(component).iter().filter_map(|&entity| growth.of(entity)).sum()
    }

    /// Whether a port says that it is down, or went down lately; at either end.
    fn is_cut(&self, directory: &Directory, entity: u32) -> bool {
        let link = directory.entities.get(entity as usize).and_then(|info| info.link);
        let far = link.and_then(|link| self.wiring.far(link));
        [Some(entity), far].into_iter().flatten().any(|end| {
            self.link_up.value(end) == Some(0.0) || self.downs.of(end).is_some_and(|grown| grown > 0.0)
        })
    }

    /// What all ranks are judged with.
    fn shared<'a>(&self, context: &Context<'a>, gone: &[u32], now_ns: u64) -> Shared<'a> {
        let directory = context.directory;
        let floor = self.limits.nvlink_errors;
        let nvlink = outliers(&self.nvlink, directory, floor, context.settings.deviations);
        let mut senders: BTreeMap<&str, BTreeMap<&str, bool>> = BTreeMap::new();
        let mut cut = Vec::new();
        let any_late = self.timeouts.all().any(|(_, grown)| grown >= self.limits.ack_timeouts);
        if any_late {
            let nics = self.by_component.iter().filter(|(one, _)| matches!(one, Component::Nic(_)));
            let ports = nics.flat_map(|(_, ports)| ports.iter().copied());
            cut.extend(ports.filter(|&port| self.is_cut(directory, port)));
        }
        // The NICs that someone will ask about.
        let mut wanted: BTreeSet<String> = BTreeSet::new();
        if any_late {
            let names = cut.iter().filter_map(|&port| component_of(directory, port));
            wanted.extend(names.map(|nic| nic.name().to_owned()));
            let lately = gone.iter().filter(|entity| {
                self.noticed.get(entity).is_none_or(|&noticed| now_ns.saturating_sub(noticed) <= SETTLED_NS)
            });
            let ranks = lately.filter_map(|&entity| self.rank_rows.get(component_of(directory, entity)?));
            wanted.extend(ranks.map(|&rank| {
                let host = directory.host_component(rank);
                format!("{}/nic-{}", host.name(), directory.ranks[rank as usize].nic)
            }));
        }
        if !wanted.is_empty() {
            let mut late: BTreeMap<&str, bool> = BTreeMap::new();
            let traffic = |flow: &&FlowInfo| flow.source_nic != flow.target_nic && !flow.is_probe();
            for flow in directory.flows.iter().filter(traffic) {
                if !wanted.contains(&flow.target_nic) {
                    continue;
                }
                let late = *late.entry(&flow.source_nic).or_insert_with(|| {
                    let sender = Component::Nic(flow.source_nic.clone());
                    self.grown(&self.timeouts, &sender) >= self.limits.ack_timeouts
                });
                senders.entry(&flow.target_nic).or_default().insert(&flow.source_nic, late);
            }
        }
        Shared { nvlink, senders, cut }
    }

    /// All that is known about a rank whose process is gone, and the rows that say so.
    fn gather(
        &self,
        context: &Context<'_>,
        shared: &Shared<'_>,
        rank: u32,
    ) -> (ErrorEvidence, Vec<Evidence>) {
        let directory = context.directory;
        let gpu = directory.gpu_component(rank);
        let host = directory.host_component(rank);
        let nic = Component::Nic(format!("{}/nic-{}", host.name(), directory.ranks[rank as usize].nic));
        let mut rows = Vec::new();
        let process = directory.rank_component(rank);
        rows.push(Evidence::new(CounterSeen::ProcessAlive { process: process.name().to_owned() }, 0.0, 1.0));
        let mut found = ErrorEvidence { process_gone: Some(true), ..ErrorEvidence::default() };
        found.ecc_errors = self.grown(&self.ecc, &gpu);
        if found.ecc_errors > 0.0 {
            let seen = CounterSeen::EccErrors { gpu: gpu.name().to_owned(), period: Period::Lately };
            rows.push(Evidence::new(seen, found.ecc_errors, 0.0));
        }
        for outlier in &shared.nvlink {
            if component_of(directory, outlier.entity) == Some(&gpu) {
                found.nvlink_errors = outlier.grown;
                let seen = CounterSeen::NvlinkErrors { gpu: gpu.name().to_owned(), period: Period::Lately };
                rows.push(Evidence::new(seen, outlier.grown, outlier.expected));
            }
        }
        for &row in self.entities(&gpu) {
            let Some(cell) = self.xid.of(row) else { continue };
            // A number that stood there from the first reading on may be of long ago.
            if cell.same < cell.readings && (1.0..1e6).contains(&cell.value) {
                found.xid = cell.value as u32;
                let meaning = xid_meaning(found.xid).map_or("no meaning known", Xid::words);
                let seen = CounterSeen::NewXid { gpu: gpu.name().to_owned(), number: found.xid, meaning };
                rows.push(Evidence::new(seen, cell.value, 0.0));
            }
        }
        found.out_of_memory_kills = self.grown(&self.kills, &host);
        if found.out_of_memory_kills > 0.0 {
            let seen = CounterSeen::OutOfMemoryKills { host: host.name().to_owned() };
            rows.push(Evidence::new(seen, found.out_of_memory_kills, 0.0));
        }
        found.link_down = self.entities(&nic).iter().any(|&port| self.is_cut(directory, port));
        if found.link_down {
            rows.push(Evidence::new(CounterSeen::PortsLost { nic: nic.name().to_owned() }, 1.0, 0.0));
        }
        let (share, senders) = shared.timed_out(nic.name());
        found.timeouts_towards = share;
        if share > 0.0 {
            let seen = CounterSeen::SendersTimedOut { nic: nic.name().to_owned(), senders };
            rows.push(Evidence::new(seen, share, 0.0));
        }
        (found, rows)
    }

    fn finding(&self, now_ns: u64, since: Since, kind: FaultKind, weights: Vec<(Component, f64)>) -> Finding {
        Finding {
            at_ns: now_ns,
            since,
            syndrome: Syndrome::Crash,
            faults: vec![kind],
            suspects: suspects(weights),
            confidence: 0.0,
            severity: 1.0,
            cost: None,
            evidence: Vec::new(),
            advice: String::new(),
        }
    }
}

/// What all ranks are judged with, formed once.
struct Shared<'a> {
    nvlink: Vec<Outlier>,
    /// Receiving NIC to the NICs that send to it, and whether they time out. Empty where none does.
    senders: BTreeMap<&'a str, BTreeMap<&'a str, bool>>,
    /// Ports of NICs that lost their link lately, where some NIC times out.
    cut: Vec<u32>,
}

impl Shared<'_> {
    /// Share of the NICs that send to a NIC and count ACK timeouts, and how many send.
    fn timed_out(&self, nic: &str) -> (f64, usize) {
        let Some(senders) = self.senders.get(nic) else { return (0.0, 0) };
        let late = senders.values().filter(|late| **late).count();
        (late as f64 / senders.len() as f64, senders.len())
    }
}

/// A process that is gone, with what speaks for its cause.
struct Gone {
    rank: u32,
    noticed_ns: u64,
    since: Since,
    cause: ErrorCause,
    share: f64,
    rows: Vec<Evidence>,
}

impl Detector for ErrorJoin {
    fn name(&self) -> &'static str {
        "error-cause"
    }

    fn observe(&mut self, context: &Context<'_>, batch: &Batch) {
        self.learn(context.directory);
        let rows = &batch.counters;
        for row in 0..rows.len() {
            let (entity, time_ns, value) = (rows.entity[row], rows.time_ns[row], rows.value[row]);
            let growth = match rows.counter[row] {
                Counter::ProcessAlive => {
                    self.alive.read(entity, time_ns, value);
                    continue;
                }
                Counter::Xid => {
                    self.xid.read(entity, time_ns, value);
                    continue;
                }
                Counter::LinkUp => {
                    self.link_up.read(entity, time_ns, value);
                    continue;
                }
                Counter::EccErrors => &mut self.ecc,
                Counter::NvlinkErrors => &mut self.nvlink,
                Counter::OutOfMemoryKills => &mut self.kills,
                Counter::LinkDowns => &mut self.downs,
                Counter::AckTimeouts => &mut self.timeouts,
                _ => continue,
            };
            growth.read(entity, time_ns, value);
        }
    }

    fn judge(&mut self, context: &Context<'_>, now_ns: u64, findings: &mut Vec<Finding>) {
        let directory = context.directory;
        // Only a process that was seen alive can be missed.
        let gone: Vec<u32> = self
            .alive
            .all()
            .filter(|(_, cell)| cell.value == 0.0 && cell.same < cell.readings)
            .map(|(entity, _)| entity)
            .collect();
        self.noticed.retain(|entity, _| gone.contains(entity));
        let shared = self.shared(context, &gone, now_ns);
        let mut by_job: BTreeMap<u32, Vec<Gone>> = BTreeMap::new();
        let mut went: BTreeMap<u32, (u64, usize)> = BTreeMap::new();
        for &entity in &gone {
            let noticed_ns = *self.noticed.entry(entity).or_insert(now_ns);
            let Some(component) = component_of(directory, entity) else { continue };
            let Some(&rank) = self.rank_rows.get(component) else { continue };
            // Who went first is remembered; who came after needs a cause of its own.
            let job = directory.ranks[rank as usize].job;
            let (first_ns, count) = went.entry(job).or_insert((noticed_ns, 0usize));
            (*first_ns, *count) = ((*first_ns).min(noticed_ns), *count + 1);
            if now_ns.saturating_sub(noticed_ns) > SETTLED_NS {
                continue;
            }
            let (evidence, rows) = self.gather(context, &shared, rank);
            let (cause, share) = classify_error(&evidence).likeliest();
            let since = self.alive.of(entity).map_or(Since::at(now_ns), |cell| cell.since);
            let known = cause != ErrorCause::Unknown && share >= TELL;
            let cause = if known { cause } else { ErrorCause::Unknown };
            by_job.entry(job).or_default().push(Gone { rank, noticed_ns, since, cause, share, rows });
        }
        for (job, gone) in by_job {
            self.tell_job(context, (job, went[&job]), gone, now_ns, findings);
        }
        self.tell_kills(context, now_ns, findings);
        self.tell_cut_off(context, &shared, now_ns, findings);
        self.told.forget(now_ns);
    }
}

/// The verdict on a process that is gone: its fault, suspects with their weights, and advice.
type Explanation = (FaultKind, Vec<(Component, f64)>, &'static str);

/// The words of the cause; none where it is not known.
fn explanation(directory: &Directory, job: u32, gone: &Gone) -> Option<Explanation> {
    let host = directory.host_component(gone.rank);
    let process = directory.rank_component(gone.rank);
    Some(match gone.cause {
        ErrorCause::GpuFault => (FaultKind::GpuError, vec![(directory.gpu_component(gone.rank), 1.0)], ""),
        ErrorCause::OutOfMemory => {
            let advice = "killed for want of memory: see what the rank holds and what else ran on its host";
            (FaultKind::Crash, vec![(process, 2.0), (host, 1.0)], advice)
        }
        ErrorCause::NetworkDisconnect => {
            let nic = format!("{}/nic-{}", host.name(), directory.ranks[gone.rank as usize].nic);
            (FaultKind::Down, vec![(Component::Nic(nic), 1.0)], "")
        }
        ErrorCause::SizeMismatch => {
            let name = directory.jobs[job as usize].clone();
            (FaultKind::SizeMismatch, vec![(Component::Job(name), 1.0), (process, 1.0)], "")
        }
        ErrorCause::Unknown => return None,
    })
}

impl ErrorJoin {
    /// The processes of one job that are gone lately; `first_ns` and `count` are of all that are gone.
    fn tell_job(
        &mut self,
        context: &Context<'_>,
        (job, (first_ns, count)): (u32, (u64, usize)),
        gone: Vec<Gone>,
        now_ns: u64,
        findings: &mut Vec<Finding>,
    ) {
        let directory = context.directory;
        let alive = self
            .alive
            .all()
            .filter(|(_, cell)| cell.value != 0.0)
            .filter_map(|(entity, _)| self.rank_rows.get(component_of(directory, entity)?))
            .filter(|&&rank| directory.ranks[rank as usize].job == job)
            .count();
        let explained = gone.iter().any(|one| one.cause != ErrorCause::Unknown);
        let mut unknown: BTreeMap<Component, Vec<Gone>> = BTreeMap::new();
        for one in gone {
            let Some((kind, weights, advice)) = explanation(directory, job, &one) else {
                unknown.entry(directory.host_component(one.rank)).or_default().push(one);
                continue;
            };
            let mut finding = self.finding(now_ns, one.since, kind, weights);
            finding.confidence = one.share;
            finding.evidence = one.rows;
            finding.advice = advice.to_owned();
            self.told.tell(GONE, finding, findings);
        }
        // Without a cause: only those that went first, when the others outlived them; else the job just ended, or they
        // follow one that is explained.
        if explained || now_ns.saturating_sub(first_ns) < self.limits.outlive_ns || alive <= count {
            return;
        }
        for (host, mut ones) in unknown {
            ones.retain(|one| one.noticed_ns == first_ns);
            self.tell_unexplained(directory, (job, host), ones, now_ns, findings);
        }
    }

    /// Processes of a job that went first on a host, and nothing tells why.
    fn tell_unexplained(
        &mut self,
        directory: &Directory,
        (job, host): (u32, Component),
        ones: Vec<Gone>,
        now_ns: u64,
        findings: &mut Vec<Finding>,
    ) {
        let here = directory.ranks.iter().filter(|info| {
            info.job == job && directory.hosts.get(info.host as usize).is_some_and(|h| h.name == host.name())
        });
        let all = ones.len() >= 2 && ones.len() == here.count();
        let Some(since) = ones.iter().map(|one| one.since).reduce(Since::earlier) else { return };
        let weights = if all {
            vec![(host, 1.0)]
        } else {
            ones.iter().map(|one| (directory.rank_component(one.rank), 1.0)).collect()
        };
        let mut finding = self.finding(now_ns, since, FaultKind::Crash, weights);
        finding.confidence = 0.7;
        finding.evidence = ones.into_iter().flat_map(|one| one.rows).collect();
        finding.advice =
            "no signal tells why: see the log of the process, the kernel's and the GPU's".to_owned();
        self.told.tell(GONE, finding, findings);
    }

    /// Hosts that kill processes for want of memory while no rank of theirs is gone.
    fn tell_kills(&mut self, context: &Context<'_>, now_ns: u64, findings: &mut Vec<Finding>) {
        let directory = context.directory;
        let lost: Vec<Component> = self
            .noticed
            .keys()
            .filter_map(|&entity| host_of(directory, component_of(directory, entity)?))
            .collect();
        for (entity, grown) in self.kills.all().filter(|&(_, grown)| grown > 0.0) {
            let Some(host) = component_of(directory, entity) else { continue };
            if lost.contains(host) {
                continue;
            }
            let since = self.kills.since(entity);
            let mut finding = self.finding(now_ns, since, FaultKind::Crash, vec![(host.clone(), 1.0)]);
            let seen = CounterSeen::OutOfMemoryKills { host: host.name().to_owned() };
            finding.evidence = vec![Evidence::new(seen, grown, 0.0)];
            finding.confidence = 0.6;
            finding.severity = 0.0;
            finding.advice = "no rank is known to be gone: see which process it was".to_owned();
            self.told.tell(KILLED, finding, findings);
        }
    }

    /// NICs that lost their link while those that send to them time out.
    fn tell_cut_off(
        &mut self,
        context: &Context<'_>,
        shared: &Shared<'_>,
        now_ns: u64,
        findings: &mut Vec<Finding>,
    ) {
        let directory = context.directory;
        for &port in &shared.cut {
            let Some(nic) = component_of(directory, port) else { continue };
            let (share, senders) = shared.timed_out(nic.name());
            let rank = directory.ranks.iter().position(|info| {
                let host = directory.hosts.get(info.host as usize);
                host.is_some_and(|host| nic.name() == format!("{}/nic-{}", host.name, info.nic))
            });
            let gone = rank.and_then(|rank| {
                let process = directory.rank_component(rank as u32);
                let entity = self.entities(&process).first()?;
                self.alive.value(*entity).map(|alive| alive == 0.0)
            });
            let evidence = ErrorEvidence {
                process_gone: gone,
                link_down: true,
                timeouts_towards: share,
                ..ErrorEvidence::default()
            };
            let (cause, confidence) = classify_error(&evidence).likeliest();
            if share == 0.0 || cause != ErrorCause::NetworkDisconnect {
                continue;
            }
            let link = directory.entities[port as usize].link;
            let cable =
                link.and_then(|link| link_in(context, link)).and_then(|(_, link)| context.cable_of(link.0));
            let mut weights = vec![(nic.clone(), 1.0)];
            weights.extend(cable.map(|cable| (cable, 3.0)));
            let mut finding = self.finding(now_ns, self.timeouts_since(now_ns), FaultKind::Down, weights);
            finding.syndrome = Syndrome::Counter;
            finding.confidence = confidence;
            let name = || nic.name().to_owned();
            finding.evidence = vec![
                Evidence::new(CounterSeen::PortLost { nic: name() }, 1.0, 0.0),
                Evidence::new(CounterSeen::SendersTimedOut { nic: name(), senders }, share, 0.0),
            ];
            self.told.tell(CUT_OFF, finding, findings);
        }
    }

    fn timeouts_since(&self, now_ns: u64) -> Since {
        let grew = self.timeouts.all().filter(|&(_, grown)| grown > 0.0);
        Since::earliest(grew.map(|(entity, _)| self.timeouts.since(entity)), now_ns)
    }
}
