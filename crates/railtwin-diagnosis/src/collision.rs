//! Slowness that is traffic and no fault: a link that carries more flows than it can (C4 section II, cause ③).
use std::collections::BTreeMap;

use railtwin_fabric::{CableId, LinkId};
use railtwin_records::Directory;

use crate::context::Context;
use crate::delay::ends::Ends;
use crate::delay::matrix::DelayMatrix;
use crate::localize::{Cause, Part};

/// How much slower than its fair share a flow may be and still be explained by it.
const SLACK: f64 = 1.25;
/// Jobs that may run at once are looked at one by one; no time yet.
const NEVER: u64 = u64::MAX;

/// When jobs were first and last at work.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct JobActivity {
    first_ns: Vec<u64>,
    last_ns: Vec<u64>,
    /// When the first records came at all.
    start_ns: Option<u64>,
}

impl JobActivity {
    /// Room for the jobs of a directory.
    pub fn grow(&mut self, directory: &Directory) {
        self.first_ns.resize(directory.jobs.len(), NEVER);
        self.last_ns.resize(directory.jobs.len(), 0);
    }

    /// A job was at work up to `now_ns`.
    pub fn seen(&mut self, job: u32, now_ns: u64) {
        self.start_ns.get_or_insert(now_ns);
        if let Some(first) = self.first_ns.get_mut(job as usize) {
            *first = (*first).min(now_ns);
            self.last_ns[job as usize] = now_ns;
        }
    }

    /// Jobs that began between two moments, the first of all records left out.
    fn began(&self, from_ns: u64, until_ns: u64) -> impl Iterator<Item = u32> + '_ {
        let start = self.start_ns.unwrap_or(0);
        (0..self.first_ns.len() as u32).filter(move |&job| {
            let first = self.first_ns[job as usize];
            first > start && first >= from_ns && first <= until_ns
        })
    }

    /// Whether a job was last at work before `now_ns`.
    pub fn is_over(&self, job: u32, now_ns: u64) -> bool {
        self.last_ns.get(job as usize).is_some_and(|&last| last < now_ns)
    }
}

/// Why a cause is a collision.
#[derive(Clone, PartialEq, Debug)]
pub struct Collision {
    /// The shared link, where paths are known.
    pub link: Option<u32>,
    /// Other jobs that take part.
    pub jobs: Vec<u32>,
    /// Times slower that the shares of the link explain; 1 where only the times of jobs speak for it.
    pub expected: f64,
    /// Active flows on the link.
    pub flows: usize,
    /// Bytes that its port sent and no record tells of, and how many would explain the slowness.
    pub unrecorded: Option<(f64, f64)>,
}

/// Demand on a link, as a share of its capacity, of all active queue pairs that cross it: each NIC port sends what it
/// can, over its active queue pairs of communicators alike. A job's communicators of different pools take turns, so the
/// most demanding pool of each job counts. Gives the number of queue pairs and the other jobs too.
fn demand(
    context: &Context<'_>,
    ends: &Ends,
    matrix: &DelayMatrix,
    link: u32,
    job: u32,
) -> (f64, usize, Vec<u32>) {
    let Some(fabric) = context.fabric else { return (0.0, 0, Vec::new()) };
    let flows = &context.directory.flows;
    let capacity = |link: u32| fabric.capacity(LinkId(link)).bits_per_s() as f64;
    let crossing: Vec<usize> = (0..matrix.len())
        .filter(|&flow| flows[flow].links.contains(&link) && matrix.activity(flow as u32).1)
        .collect();
    // How many queue pairs alike share the port of each that crosses.
    let port = |flow: usize| (flows[flow].links[0], matrix.activity(flow as u32).0);
    let mut beside: BTreeMap<(u32, u32), u32> = crossing.iter().map(|&flow| (port(flow), 0)).collect();
    for flow in
        (0..matrix.len()).filter(|&flow| !flows[flow].links.is_empty() && matrix.activity(flow as u32).1)
    {
        if let Some(count) = beside.get_mut(&port(flow)) {
            *count += 1;
        }
    }
    let (mut sums, mut jobs) = (BTreeMap::<(u32, u32), f64>::new(), Vec::new());
    for &flow in &crossing {
        let (first, pool) = port(flow);
        *sums.entry((ends.job[flow], pool)).or_default() +=
            capacity(first) / f64::from(beside[&(first, pool)].max(1));
        if ends.job[flow] != job && !jobs.contains(&ends.job[flow]) {
            jobs.push(ends.job[flow]);
        }
    }
    let mut most = BTreeMap::<u32, f64>::new();
    for (&(job, _), &sum) in &sums {
        let known = most.entry(job).or_default();
        *known = known.max(sum);
    }
    (most.values().sum::<f64>() / capacity(link).max(1.0), crossing.len(), jobs)
}

/// Whether shared traffic explains a cause; none where it does not: then it is a fault.
///
/// A link's flows get its capacity in fair shares. Where that alone makes them as slow as they are, or where they became
/// slow when another job began to cross the same link, nothing is broken.
pub fn explain(
    context: &Context<'_>,
    ends: &Ends,
    matrix: &DelayMatrix,
    jobs: &JobActivity,
    cause: &Cause,
    now_ns: u64,
) -> Option<Collision> {
    let &flow = cause.flows.first()?;
    let job = ends.job[flow as usize];
    let ratio = cause.flows.iter().map(|&flow| matrix.ratio(flow)).fold(0.0, f64::max);
    let since = cause.flows.iter().map(|&flow| matrix.since_ns(flow)).min().unwrap_or(now_ns);
    let paths = context.fabric.is_some() && !context.directory.flows[flow as usize].links.is_empty();
    if !paths {
        // Without paths only time speaks: slow since another job began, between NICs that are sound otherwise.
        let others: Vec<u32> = jobs.began(since, now_ns).filter(|&other| other != job).collect();
        let between = matches!(cause.part, Part::Connection(..)) && cause.fast == 0;
        return (between && !others.is_empty()).then_some(Collision {
            link: None,
            jobs: others,
            expected: 1.0,
            flows: 0,
            unrecorded: None,
        });
    }
    let mut best: Option<Collision> = None;
    for &link in &context.directory.flows[flow as usize].links {
        let shared =
            cause.flows.iter().all(|&flow| context.directory.flows[flow as usize].links.contains(&link));
        let within = match cause.part {
            Part::Link(only) => only == link,
            Part::Cable(cable) => LinkId(link).cable() == CableId(cable),
            _ => shared,
        };
        if !within {
            continue;
        }
        let (expected, flows, others) = demand(context, ends, matrix, link, job);
        // Shares are fair to all: flows that cross it at full speed speak against it.
        let fair = expected > 1.0 + context.settings.slow_share
            && ratio <= SLACK * expected
            && cause.fast <= cause.flows.len();
        let timed = expected > 1.0
            && others.iter().any(|&other| jobs.began(since, now_ns).any(|began| began == other));
        if (fair || timed) && best.as_ref().is_none_or(|known| known.expected < expected) {
            best = Some(Collision { link: Some(link), jobs: others, expected, flows, unrecorded: None });
        }
    }
    best
}

/// Whether slowness that was told of has moved: its flows rest, and others join the same NICs and cross the same link
/// at full speed; or another job that crossed the link is over and so is the slowness.
pub fn moved(
    context: &Context<'_>,
    ends: &Ends,
    matrix: &DelayMatrix,
    jobs: &JobActivity,
    cause: &Cause,
    now_ns: u64,
) -> Option<Collision> {
    let flows = &context.directory.flows;
    let most = 1.0 + context.settings.slow_share / 2.0;
    if cause.flows.iter().any(|&flow| matrix.activity(flow).1 && matrix.ratio(flow) > most) {
        return None;
    }
    let &first = cause.flows.first()?;
    let suspected = |link: &u32| {
        let cable = context.cable_of(*link);
        cause.suspects.iter().any(|suspect| Some(&suspect.component) == cable.as_ref())
    };
    let links: Vec<u32> = flows[first as usize].links.iter().copied().filter(suspected).collect();
    if links.is_empty() {
        return None;
    }
    let crosses = |flow: usize| links.iter().any(|link| flows[flow].links.contains(link));
    let fast = |flow: u32| matrix.activity(flow).1 && matrix.ratio(flow) <= most;
    let sound = links.iter().all(|link| {
        (0..matrix.len() as u32).any(|flow| fast(flow) && flows[flow as usize].links.contains(link))
    });
    let rest = cause.flows.iter().all(|&flow| !matrix.activity(flow).1);
    let pair = |flow: u32| (ends.source[flow as usize], ends.target[flow as usize]);
    let elsewhere = cause.flows.iter().all(|&slow| {
        (0..matrix.len() as u32).any(|flow| pair(flow) == pair(slow) && fast(flow) && flow != slow)
    });
    let job = ends.job[first as usize];
    let over: Vec<u32> = (0..matrix.len())
        .filter(|&flow| crosses(flow) && ends.job[flow] != job)
        .map(|flow| ends.job[flow])
        .filter(|&other| jobs.is_over(other, now_ns))
        .collect();
    if sound && (rest && elsewhere || !rest && !over.is_empty()) {
        let mut jobs = over;
        jobs.sort_unstable();
        jobs.dedup();
        let link = links.first().copied();
        return Some(Collision { link, jobs, expected: 1.0, flows: 0, unrecorded: None });
    }
    None
}
