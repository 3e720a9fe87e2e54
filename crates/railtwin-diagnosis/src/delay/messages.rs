//! Queue pairs whose messages take longer than those of their like: communication slow, down to the part at fault.
use std::collections::BTreeMap;

use railtwin_fabric::{CableClass, LinkId};
use railtwin_records::seen::{CounterSeen, MessageSeen};
use railtwin_records::{Batch, Component, Evidence, FaultKind, Finding, Since, Suspect, Syndrome};

use crate::collision::{Collision, JobActivity, explain, moved};
use crate::congestion::Congestion;
use crate::context::Context;
use crate::delay::ends::Ends;
use crate::delay::matrix::DelayMatrix;
use crate::delay::unrecorded::{Traffic, Unrecorded};
use crate::detector::Detector;
use crate::hints::Hints;
use crate::localize::{Cause, Part, localize};
use crate::slow::members::Members;

/// Confidence in a fault where traffic that no record tells of would look the same, and no port counts bytes: it accuses
/// nobody.
const UNSEEN_TRAFFIC: f64 = 0.45;

/// Share from which the likeliest suspect stands out, so that another one than before is news: two that look the same
/// have a half each.
const CLEAR: f64 = 0.6;

/// Share of what the slowest queue pair of a connection takes longer, up to which its others are held up by it: they
/// share the connection's window, and chunks are whole when all of their parts are there.
const HELD_UP: f64 = 0.5;

/// The detector. Needs messages, or bandwidth probes; the fabric and the paths of flows make its sets small.
#[derive(Debug, Default)]
pub struct SlowMessages {
    members: Members,
    ends: Ends,
    matrix: DelayMatrix,
    jobs: JobActivity,
    hints: Hints,
    congestion: Congestion,
    unrecorded: Unrecorded,
    slow: Vec<u32>,
    fast: Vec<u32>,
    told: Vec<Told>,
}

#[derive(Clone, PartialEq, Debug)]
struct Told {
    /// The suspects of the cause, sorted.
    parts: Vec<Component>,
    cause: Cause,
    collision: bool,
    /// Whether ports have not counted enough yet to tell a fault from traffic that no record tells of.
    open: bool,
    lasts: bool,
}

/// What is known of traffic that no record tells of, on the links of a cause.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Unseen {
    /// Nobody else would cross them, or counters speak for a fault anyway.
    Excluded,
    /// Ports count that nobody did.
    Absent,
    /// Ports do not count it, or not yet.
    Possible,
    /// This link carries it: bytes beyond the recorded ones, and how many would explain the slowness.
    Met(u32, (f64, f64)),
}

impl SlowMessages {
    /// Bytes that its state holds.
    pub fn memory_bytes(&self) -> usize {
        self.members.memory_bytes()
            + self.ends.memory_bytes()
            + self.matrix.memory_bytes()
            + self.hints.memory_bytes()
            + self.congestion.memory_bytes()
            + self.unrecorded.memory_bytes()
            + 4 * (self.slow.capacity() + self.fast.capacity())
    }

    fn tell(&mut self, context: &Context<'_>, cause: Cause, now_ns: u64, findings: &mut Vec<Finding>) {
        let mut parts: Vec<Component> = cause.suspects.iter().map(|s| s.component.clone()).collect();
        parts.sort();
        let unseen = self.unseen(context, &cause, now_ns);
        // A set that says no more than one told before, and lasts, is no news; what ports count since then is, where it
        // tells a fault from a collision, or one suspect from the others.
        let known = self.told.iter().position(|told| told.parts.iter().all(|one| parts.contains(one)));
        if let Some(row) = known {
            let told = &mut self.told[row];
            told.lasts = true;
            told.cause.flows.clone_from(&cause.flows);
            let decided = told.open && unseen != Unseen::Possible;
            let first = |cause: &Cause| cause.suspects.first().map(|suspect| suspect.component.clone());
            let clear = cause.suspects.first().is_some_and(|suspect| suspect.share >= CLEAR);
            let other = !told.collision && clear && first(&told.cause) != first(&cause);
            if !decided && !other {
                return;
            }
            self.told.remove(row);
        }
        let collision = explain(context, &self.ends, &self.matrix, &self.jobs, &cause, now_ns);
        let collision = collision.or(match unseen {
            Unseen::Met(link, bytes) => Some(Collision {
                link: Some(link),
                jobs: Vec::new(),
                expected: 1.0,
                flows: 0,
                unrecorded: Some(bytes),
            }),
            _ => None,
        });
        findings.push(match &collision {
            Some(collision) => self.collision(context, &cause, collision, now_ns),
            None => self.fault(context, &cause, unseen, now_ns),
        });
        let open = unseen == Unseen::Possible;
        self.told.push(Told { parts, cause, collision: collision.is_some(), open, lasts: true });
    }

    /// Takes queue pairs out that are slow because others of their connection are.
    fn leave_who_is_held_up(&self, context: &Context<'_>, slow: &mut Vec<u32>) {
        let excess = |flow: u32| self.matrix.ratio(flow) - 1.0;
        let connection = |flow: u32| {
            let info = &context.directory.flows[flow as usize];
            (!info.is_probe()).then_some((info.source, info.target))
        };
        let mut worst = BTreeMap::<(u32, u32), f64>::new();
        for &flow in slow.iter() {
            if let Some(connection) = connection(flow) {
                let most = worst.entry(connection).or_insert(0.0);
                *most = most.max(excess(flow));
            }
        }
        let held = |flow: u32| connection(flow).is_some_and(|of| excess(flow) < HELD_UP * worst[&of]);
        slow.retain(|&flow| !held(flow));
    }

    /// Weights of components that any counter points at.
    fn weights(&self, context: &Context<'_>) -> BTreeMap<Component, f64> {
        let mut weights = self.hints.weights(context);
        self.congestion.weigh(context, &mut weights);
        weights
    }

    fn fault(&self, context: &Context<'_>, cause: &Cause, unseen: Unseen, now_ns: u64) -> Finding {
        let one_way = self.one_way(context, cause);
        let covered = cause.flows.len() as f64;
        let precision = covered / (covered + cause.fast as f64);
        let mut faults = vec![FaultKind::Slow, FaultKind::Lossy];
        if matches!(cause.part, Part::Switch(_)) {
            faults.insert(1, FaultKind::Latency);
        }
        if matches!(cause.part, Part::NicIn(_) | Part::Nic(_)) {
            faults.push(FaultKind::PauseStorm);
        }
        let mut finding =
            self.finding(context, cause, Syndrome::CommunicationSlow, cause.suspects.clone(), now_ns);
        finding.faults = faults;
        finding.confidence = (precision * (1.0 - 0.5_f64.powf(covered.min(6.0) + 0.5))).clamp(0.0, 0.99);
        let shared = unseen == Unseen::Possible;
        if shared {
            finding.confidence = finding.confidence.min(UNSEEN_TRAFFIC);
        }
        if let Some(way) = one_way {
            finding.evidence.push(Evidence::new(MessageSeen::FastOneWay { direction: way }, 0.0, covered));
        }
        if unseen == Unseen::Absent {
            finding.evidence.push(Evidence::new(CounterSeen::NoOtherTraffic {}, 0.0, 0.0));
        }
        let probed = cause.flows.iter().all(|&flow| self.matrix.is_probed(flow));
        finding.advice = match (cause.suspects.len(), probed) {
            _ if shared => {
                "traffic that no record tells of may share the link: bytes and errors counted at its ports tell a \
                 collision, which fills it, from a fault, which does not"
                    .into()
            }
            (0 | 1, _) => String::new(),
            (_, false) => {
                "bandwidth probes between the NICs of the slow pairs and others, crosswise, tell the sending \
                           side, the way and the receiving side apart; so do errors counted at their ports"
                    .into()
            }
            (_, true) => {
                "errors, pauses and link-downs counted at the ports tell a cable from its NIC".into()
            }
        };
        finding
    }

    /// Whether others, of whom no record tells, cross the suspects: links between switches, of which no counter tells
    /// an error. What ports sent says so, where it is counted.
    fn unseen(&self, context: &Context<'_>, cause: &Cause, now_ns: u64) -> Unseen {
        let Some(fabric) = context.fabric else { return Unseen::Excluded };
        let errors = self.hints.weights(context);
        let fails = |component: &Component| errors.get(component).is_some_and(|&weight| weight > 1.0);
        let mut cables = Vec::new();
        for Suspect { component, .. } in &cause.suspects {
            let between = match component {
                Component::Cable(name) => fabric.cable_named(name),
                _ => None,
            };
            match between.filter(|&cable| fabric.cable_class(cable) > CableClass::Access) {
                _ if fails(component) => return Unseen::Excluded,
                Some(cable) => cables.push(cable),
                None if matches!(component, Component::Switch(_)) => {}
                None => return Unseen::Excluded,
            }
        }
        if cables.is_empty() {
            return Unseen::Excluded;
        }
        let flows = &context.directory.flows;
        let suspected = |flow: u32| {
            flows[flow as usize].links.iter().copied().filter(|&link| cables.contains(&LinkId(link).cable()))
        };
        let mut links: Vec<u32> = cause.flows.iter().flat_map(|&flow| suspected(flow)).collect();
        links.sort_unstable();
        links.dedup();
        let ratio = cause.flows.iter().map(|&flow| self.matrix.ratio(flow)).fold(0.0, f64::max);
        let since = cause.flows.iter().map(|&flow| self.matrix.since_ns(flow)).min().unwrap_or(now_ns);
        let window = cause.flows.iter().filter_map(|&flow| self.matrix.window_ns(flow, now_ns)).max();
        let Some(window) = window else { return Unseen::Possible };
        let counted: Vec<(u32, Traffic)> =
            links.iter().map(|&link| (link, self.unrecorded.traffic(link, since, ratio, window))).collect();
        let most = counted.iter().filter_map(|(link, traffic)| match *traffic {
            Traffic::More(more, asked) => Some((*link, (more, asked))),
            _ => None,
        });
        let Some((link, bytes)) = most.max_by(|a, b| (a.1.0 / a.1.1).total_cmp(&(b.1.0 / b.1.1))) else {
            let all = counted.iter().all(|(_, traffic)| *traffic == Traffic::Recorded);
            return if all { Unseen::Absent } else { Unseen::Possible };
        };
        // It must be where all of them pass; and what is lost is sent again, which no message tells, either.
        let met = cause.flows.iter().all(|&flow| flows[flow as usize].links.contains(&link));
        let lost = cause.flows.iter().flat_map(|&flow| {
            let ends = [self.ends.source[flow as usize], self.ends.target[flow as usize]];
            ends.map(|nic| Component::Nic(self.ends.names[nic as usize].clone()))
        });
        if met && !lost.into_iter().any(|nic| fails(&nic)) {
            Unseen::Met(link, bytes)
        } else {
            Unseen::Possible
        }
    }

    fn one_way(&self, context: &Context<'_>, cause: &Cause) -> Option<String> {
        let Part::Link(link) = cause.part else { return None };
        context.fabric.is_some().then(|| self.way(context, link))
    }

    /// The ends of a link in words.
    fn way(&self, context: &Context<'_>, link: u32) -> String {
        let Some(fabric) = context.fabric else { return format!("of link {link}") };
        let (from, to) = (fabric.source(LinkId(link)), fabric.target(LinkId(link)));
        format!("from {} to {}", fabric.device_name(from), fabric.device_name(to))
    }

    fn collision(&self, context: &Context<'_>, cause: &Cause, collision: &Collision, now_ns: u64) -> Finding {
        let shared = collision.link.and_then(|link| context.cable_of(link));
        let first = shared.or_else(|| cause.suspects.first().map(|suspect| suspect.component.clone()));
        let mut suspects = Vec::new();
        let jobs = collision.jobs.iter().filter_map(|&job| context.directory.jobs.get(job as usize));
        let others: Vec<Component> = jobs.map(|name| Component::Job(name.clone())).collect();
        let share = 1.0 / (usize::from(first.is_some()) + others.len()).max(1) as f64;
        suspects.extend(first.into_iter().chain(others).map(|component| Suspect { component, share }));
        let mut finding = self.finding(context, cause, Syndrome::Collision, suspects, now_ns);
        let seen = collision.expected > 1.0 || collision.unrecorded.is_some();
        finding.confidence = if seen { 0.9 } else { 0.7 };
        if let (Some((more, asked)), Some(link)) = (collision.unrecorded, collision.link) {
            let seen = CounterSeen::OtherTraffic { port: self.way(context, link) };
            finding.evidence.push(Evidence::new(seen, more, asked));
        }
        if collision.flows > 0 {
            let worst = cause.flows.iter().map(|&flow| self.matrix.ratio(flow)).fold(0.0, f64::max);
            let seen = MessageSeen::FairShares { queue_pairs: collision.flows };
            finding.evidence.push(Evidence::new(seen, worst, collision.expected));
        }
        finding.advice = "traffic and no fault: other source ports or paths spread it".into();
        finding
    }

    fn finding(
        &self,
        context: &Context<'_>,
        cause: &Cause,
        syndrome: Syndrome,
        suspects: Vec<Suspect>,
        now_ns: u64,
    ) -> Finding {
        let ratio = cause.flows.iter().map(|&flow| self.matrix.ratio(flow)).fold(0.0, f64::max);
        let worst = cause
            .flows
            .iter()
            .copied()
            .max_by(|&a, &b| self.matrix.ratio(a).total_cmp(&self.matrix.ratio(b)));
        let info = worst.and_then(|flow| context.directory.flows.get(flow as usize));
        let pair = info.map_or_else(String::new, |info| format!("{} > {}", info.source_nic, info.target_nic));
        Finding {
            at_ns: now_ns,
            since: Since::earliest(cause.flows.iter().map(|&flow| self.matrix.since(flow)), now_ns),
            syndrome,
            faults: Vec::new(),
            suspects,
            confidence: 0.5,
            severity: (1.0 - 1.0 / ratio.max(1.0)).clamp(0.0, 1.0),
            cost: None,
            evidence: vec![
                Evidence::new(MessageSeen::TimePerByte { pair, look: cause.look.to_string() }, ratio, 1.0),
                Evidence::new(MessageSeen::SlowQueuePairs {}, cause.flows.len() as f64, 0.0),
                Evidence::new(MessageSeen::FastQueuePairs {}, cause.fast as f64, 0.0),
            ],
            advice: String::new(),
        }
    }
}

impl Detector for SlowMessages {
    fn name(&self) -> &'static str {
        "slow-messages"
    }

    fn observe(&mut self, context: &Context<'_>, batch: &Batch) {
        self.members.grow(context.directory);
        self.ends.grow(context.directory);
        self.jobs.grow(context.directory);
        let mut last = u32::MAX;
        for &rank in &batch.operations.rank {
            if let Some(info) = context.directory.ranks.get(rank as usize)
                && info.job != last
            {
                last = info.job;
                self.jobs.seen(info.job, batch.until_ns);
            }
        }
        self.matrix.observe(context.directory, &self.members, &batch.messages);
        self.matrix.probe(context.directory, &batch.probes);
        self.hints.observe(context, &batch.counters);
        self.congestion.observe(context, &batch.counters, batch.until_ns);
        self.unrecorded.grow(context.directory);
        self.unrecorded.observe(context, batch);
    }

    fn judge(&mut self, context: &Context<'_>, now_ns: u64, findings: &mut Vec<Finding>) {
        if !self.matrix.judge(context.settings, now_ns) {
            return;
        }
        let (mut slow, mut fast) = (std::mem::take(&mut self.slow), std::mem::take(&mut self.fast));
        self.matrix.split(context.settings, &mut slow, &mut fast);
        self.leave_who_is_held_up(context, &mut slow);
        self.told.iter_mut().for_each(|told| told.lasts = false);
        if !slow.is_empty() {
            let weights = self.weights(context);
            for cause in localize(context, &self.ends, &slow, &fast, &weights) {
                self.tell(context, cause, now_ns, findings);
            }
        }
        (self.slow, self.fast) = (slow, fast);
        let gone: Vec<Told> =
            self.told.iter().filter(|told| !told.lasts && !told.collision).cloned().collect();
        for told in gone {
            if let Some(collision) = moved(context, &self.ends, &self.matrix, &self.jobs, &told.cause, now_ns)
            {
                findings.push(self.collision(context, &told.cause, &collision, now_ns));
            }
        }
        self.told.retain(|told| told.lasts);
    }
}
