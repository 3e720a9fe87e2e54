//! From late members to culprits: roots of several communicators joined into a rank, a host, or storage.
use std::collections::BTreeMap;

use railtwin_records::seen::{MessageSeen, OperationSeen, RankPlace};
use railtwin_records::{Component, Counter, Evidence, FaultKind, Finding, Since, Suspect, Syndrome};

use crate::context::Context;
use crate::hints::Hints;
use crate::slow::chain::WaitChain;
use crate::slow::members::Members;

/// Share of the main operations over which an excess is spread, beyond which it is in every one of them.
const EVERY: f64 = 0.6;
/// How much a counter of a suspect must differ from its peers' to tell a cause: a clock below, a wait above.
const COUNTER: f64 = 0.03;
/// Hosts that stall together, from which on what they share is at fault.
const HOSTS: usize = 3;

/// One late member of one communicator.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    /// Row of the rank.
    pub rank: u32,
    /// Its slot.
    pub slot: usize,
    /// Row of the communicator.
    pub communicator: u32,
    /// What it adds to every operation, on average, in nanoseconds.
    pub excess_ns: f64,
    /// What it had to exceed.
    pub floor_ns: f64,
    /// Own time of its peers between two operations in nanoseconds.
    pub own_ns: f64,
    /// Time from one operation to the next in nanoseconds.
    pub period_ns: f64,
    /// Over what share of operations the excess is spread, 0..1.
    pub spread_share: f64,
    /// Share of the communicator's operations before which its members compute long.
    pub main: f64,
    /// Operations from stall to stall, where it stalls at equal intervals.
    pub interval: Option<u32>,
    /// Whether the rank comes in time to the operations of a communicator that has many more of them.
    pub denser: bool,
    /// Time from one long computation to the next, about a step, in nanoseconds, by the communicator that has the least
    /// operations; infinite before all of the rank's communicators are known.
    pub step_ns: f64,
    /// When it became late: from the window before the first in which it was late to the end of that.
    pub since: Since,
    /// For how long it has been late at every judgement.
    pub late_ns: u64,
}

impl Candidate {
    /// Share of the time from one operation to the next that it adds.
    pub fn share(&self) -> f64 {
        self.excess_ns / self.period_ns.max(1.0)
    }
}

/// What is late: a rank, all ranks of a job on one host, or ranks on many hosts at once, by their rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Culprit {
    /// A rank.
    Rank(u32),
    /// A job's ranks on a host.
    Host(u32, u32),
    /// A job's ranks on many hosts, that stall at equal intervals.
    Storage(u32),
}

/// Joins late members into culprits, with a finding for each.
pub fn join(
    context: &Context<'_>,
    members: &Members,
    hints: &Hints,
    chain: &WaitChain,
    candidates: &[Candidate],
    now_ns: u64,
) -> Vec<(Culprit, Finding)> {
    let late = LateHosts::of(context, members, candidates);
    let findings = CulpritFindings { context, members, hints, chain, now_ns };
    let mut found: Vec<(Culprit, Finding)> = late
        .stalled
        .iter()
        .filter(|(_, hosts)| hosts.len() >= HOSTS)
        .map(|(&job, hosts)| (Culprit::Storage(job), findings.of_storage(&late, job, hosts)))
        .collect();
    for (&(job, host), (count, ranks)) in &late.ranks_of {
        if ranks.is_empty()
            || late.stalled.get(&job).is_some_and(|hosts| hosts.len() >= HOSTS && hosts.contains(&host))
        {
            continue;
        }
        if *count > 1 && ranks.len() == *count {
            found.push((Culprit::Host(job, host), findings.of_host(&late, ranks)));
        } else {
            let one = |&rank: &u32| (Culprit::Rank(rank), findings.of_rank(&late, rank));
            found.extend(ranks.iter().map(one));
        }
    }
    found
}

/// Late ranks by communicator.
struct LateHosts<'a> {
    of_rank: BTreeMap<u32, Vec<&'a Candidate>>,
    /// By job and host, how many ranks are judged at all, and which of them are late.
    ranks_of: BTreeMap<(u32, u32), (usize, Vec<u32>)>,
    /// By job, hosts of which all late ranks stall at equal intervals.
    stalled: BTreeMap<u32, Vec<u32>>,
}

impl<'a> LateHosts<'a> {
    fn of(context: &Context<'_>, members: &Members, candidates: &'a [Candidate]) -> Self {
        let directory = context.directory;
        let mut of_rank = BTreeMap::<u32, Vec<&Candidate>>::new();
        for candidate in candidates {
            of_rank.entry(candidate.rank).or_default().push(candidate);
        }
        let mut ranks_of = BTreeMap::<(u32, u32), (usize, Vec<u32>)>::new();
        if !of_rank.is_empty() {
            for rank in 0..directory.ranks.len() as u32 {
                let alike =
                    |&(communicator, _): &(u32, u32)| members.pools()[members.pool_of(communicator)].alike;
                if members.of_rank(rank).iter().any(alike) {
                    let info = &directory.ranks[rank as usize];
                    let entry = ranks_of.entry((info.job, info.host)).or_default();
                    entry.0 += 1;
                    if of_rank.contains_key(&rank) {
                        entry.1.push(rank);
                    }
                }
            }
        }
        let mut stalled = BTreeMap::<u32, Vec<u32>>::new();
        for (&(job, host), (_, late)) in &ranks_of {
            let periodic = |rank: &u32| of_rank[rank].iter().any(|candidate| candidate.interval.is_some());
            if !late.is_empty() && late.iter().all(periodic) {
                stalled.entry(job).or_default().push(host);
            }
        }
        Self { of_rank, ranks_of, stalled }
    }
}

/// The parts that findings of culprits are made from.
#[derive(Clone, Copy)]
struct CulpritFindings<'a> {
    context: &'a Context<'a>,
    members: &'a Members,
    hints: &'a Hints,
    chain: &'a WaitChain,
    now_ns: u64,
}

impl CulpritFindings<'_> {
    /// The storage that ranks of a job on many hosts wait for.
    fn of_storage(self, late: &LateHosts<'_>, job: u32, hosts: &[u32]) -> Finding {
        let all: Vec<&Candidate> = hosts
            .iter()
            .flat_map(|&host| &late.ranks_of[&(job, host)].1)
            .flat_map(|rank| late.of_rank[rank].clone())
            .collect();
        let name = self.context.directory.jobs[job as usize].clone();
        let suspects = vec![
            Suspect { component: Component::Storage, share: 0.7 },
            Suspect { component: Component::Job(name), share: 0.3 },
        ];
        let advice = "storage's own latency, and what the job does at these operations, tell the two apart";
        self.finding(&all, vec![FaultKind::StorageStall], suspects, advice.into())
    }

    /// The host of which all ranks of a job are late.
    fn of_host(self, late: &LateHosts<'_>, ranks: &[u32]) -> Finding {
        let all: Vec<&Candidate> = ranks.iter().flat_map(|rank| late.of_rank[rank].clone()).collect();
        let component = self.context.directory.host_component(ranks[0]);
        let faults = causes(self.context, self.hints, &all, ranks[0]);
        let suspects = vec![Suspect { component, share: 1.0 }];
        let advice = "all ranks of the host are late together: clocks and power of the host, its input and its \
                      storage tell the cause";
        self.finding(&all, faults, suspects, advice.into())
    }

    /// A rank that is late by itself: its GPU or its process.
    fn of_rank(self, late: &LateHosts<'_>, rank: u32) -> Finding {
        let directory = self.context.directory;
        let all = &late.of_rank[&rank];
        let faults = causes(self.context, self.hints, all, rank);
        let gpu = if faults.first() == Some(&FaultKind::SlowGpu) { 0.7 } else { 0.3 };
        let mut suspects = vec![
            Suspect { component: directory.gpu_component(rank), share: gpu },
            Suspect { component: directory.rank_component(rank), share: 1.0 - gpu },
        ];
        suspects.sort_by(|a, b| b.share.total_cmp(&a.share));
        let advice = match faults.as_slice() {
            [_] => String::new(),
            _ => "the GPU's clock and the rank's wait for data tell a slow GPU from slow input".into(),
        };
        self.finding(all, faults, suspects, advice)
    }

    fn finding(
        self,
        candidates: &[&Candidate],
        faults: Vec<FaultKind>,
        suspects: Vec<Suspect>,
        advice: String,
    ) -> Finding {
        let Self { context, members, chain, now_ns, .. } = self;
        let directory = context.directory;
        let worst = candidates
            .iter()
            .max_by(|a, b| a.share().total_cmp(&b.share()))
            .expect("a culprit is late somewhere");
        let info = &directory.communicators[worst.communicator as usize];
        let place = || RankPlace {
            rank: directory.rank_component(worst.rank).name().to_owned(),
            axis: info.axis.clone(),
            communicator: info.name.clone(),
        };
        let mut evidence = vec![
            Evidence::new(
                OperationSeen::OwnTime { place: place() },
                (worst.own_ns + worst.excess_ns) / 1e3,
                worst.own_ns / 1e3,
            ),
            Evidence::new(
                OperationSeen::LeastExcess { place: place() },
                worst.excess_ns / 1e3,
                worst.floor_ns / 1e3,
            ),
        ];
        let separation = worst.excess_ns / worst.floor_ns.max(1.0);
        let mut confidence: f64 = 1.0 - 0.5 * (-(separation - 1.0).max(0.0)).exp();
        if let Some(interval) = worst.interval {
            let seen = OperationSeen::StallInterval { place: place() };
            evidence.push(Evidence::new(seen, f64::from(interval), 0.0));
        }
        if let Some(link) = chain.link(members.slots(worst.communicator), worst.slot) {
            let seen = MessageSeen::Wait { place: place(), is_root: link.root };
            evidence.push(Evidence::new(seen, link.waited_ns / 1e3, link.peers_ns / 1e3));
            if link.root {
                confidence = 1.0 - (1.0 - confidence) / 2.0;
            }
        }
        Finding {
            at_ns: now_ns,
            since: Since::earliest(candidates.iter().map(|candidate| candidate.since), now_ns),
            syndrome: Syndrome::NonCommunicationSlow,
            faults,
            suspects,
            confidence: confidence.min(0.99),
            severity: worst.share().clamp(0.0, 1.0),
            cost: None,
            evidence,
            advice,
        }
    }
}

/// What can be the cause, the likeliest first; one alone where a counter says it.
fn causes(context: &Context<'_>, hints: &Hints, candidates: &[&Candidate], rank: u32) -> Vec<FaultKind> {
    let directory = context.directory;
    let clock = hints.beside(context, &directory.gpu_component(rank), Counter::GpuClockMhz);
    if clock.is_some_and(|(mine, peers)| mine > 0.0 && mine < (1.0 - COUNTER) * peers) {
        return vec![FaultKind::SlowGpu];
    }
    let waits = |component: &Component, counter| {
        // Rates are nanoseconds per second.
        hints
            .beside(context, component, counter)
            .is_some_and(|(mine, peers)| mine - peers > COUNTER / 2.0 * 1e9)
    };
    let (mine, host) = (directory.rank_component(rank), directory.host_component(rank));
    if waits(&host, Counter::StorageWaitNs) || waits(&mine, Counter::StorageWaitNs) {
        return vec![FaultKind::StorageStall];
    }
    if waits(&mine, Counter::DataWaitNs) || waits(&host, Counter::DataWaitNs) {
        return vec![FaultKind::SlowData];
    }
    // Stalls that are further apart than steps come every few steps only.
    let rare = |c: &Candidate| {
        c.interval.is_some_and(|interval| f64::from(interval) * c.period_ns > 1.5 * c.step_ns)
    };
    if candidates.iter().any(|candidate| rare(candidate)) {
        return vec![FaultKind::StorageStall, FaultKind::SlowData];
    }
    // A slow GPU stretches all own times. Slow input adds to one of a step: a communicator with many operations in a
    // step does not see it in most of them.
    let busiest = candidates.iter().min_by(|a, b| a.period_ns.total_cmp(&b.period_ns));
    if busiest.is_some_and(|busiest| busiest.denser || busiest.spread_share < EVERY * busiest.main) {
        return vec![FaultKind::SlowData, FaultKind::SlowGpu];
    }
    vec![FaultKind::SlowGpu, FaultKind::SlowData]
}
