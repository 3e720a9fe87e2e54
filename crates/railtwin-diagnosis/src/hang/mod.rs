//! Hangs: operations that do not end, and who keeps them from it.
//!
//! * [`dumps`]: the same from what ranks wrote down when a job was given up.
//! * [`progress`]: how far every rank of every communicator has come.
//! * [`roots`]: which of the communicators that stand still keep the others waiting.
//! * [`Hang`]: the detector.
pub mod dumps;
pub mod progress;
pub mod roots;

use railtwin_records::seen::{MessageSeen, OperationSeen};
use railtwin_records::{Batch, Component, Evidence, FaultKind, Finding, Since, Suspect, Syndrome};

use crate::context::Context;
use crate::detector::Detector;
use progress::Progress;
use roots::Root;

/// An operation may take this many times the longest that its communicator ever took before it can be a hang.
const LONGER: u64 = 8;
/// Most suspects that a finding lists; where more are behind, it is not they who are to be replaced.
const SUSPECTS: usize = 8;

/// Finds operations that stand still (C4 section III-A: communication hang and non-communication hang).
#[derive(Debug, Default)]
pub struct Hang {
    progress: Progress,
    /// Roots told and not gone: communicator, sequence, and how many ranks were behind.
    told: Vec<(u32, u32, usize)>,
    /// Ends of the last batch but one and of the last.
    before_ns: [u64; 2],
    /// By communicator: when it last moved, and between which batches it came to rest.
    rest: Vec<(u64, Since)>,
}

impl Detector for Hang {
    fn name(&self) -> &'static str {
        "hang"
    }

    fn observe(&mut self, context: &Context<'_>, batch: &Batch) {
        self.progress.learn(context.directory);
        self.progress.take(&batch.operations, batch.until_ns);
        self.progress.take_messages(&batch.messages);
    }

    fn judge(&mut self, context: &Context<'_>, now_ns: u64, findings: &mut Vec<Finding>) {
        let limit = |longest: u64| (context.settings.hang.ps() / 1_000).max(longest.saturating_mul(LONGER));
        self.note_rest(now_ns);
        let progress = &self.progress;
        self.told.retain(|&(communicator, sequence, _)| progress.stands_at(communicator) == Some(sequence));
        // What keeps others waiting may have stood still for a little shorter than they.
        let quiet = |communicator: u32, still_ns: u64| {
            progress.stands_at(communicator).is_some() && progress.quiet_ns(communicator, now_ns) >= still_ns
        };
        let all = 0..progress.communicators();
        let late: Vec<u32> =
            all.clone().filter(|&c| quiet(c, limit(progress.longest_ns(c)).max(1))).collect();
        if late.is_empty() {
            return;
        }
        let still: Vec<u32> = all.filter(|&c| quiet(c, 1)).collect();
        let job = |communicator: u32| context.directory.communicators[communicator as usize].job;
        for root in roots::joined(roots::roots(progress, &still, &late), &job) {
            let sequence = progress.stands_at(root.communicator()).unwrap_or(0);
            let behind = if let Root::Missing { behind, .. } = &root { behind.len() } else { 0 };
            let told = (root.communicator(), sequence, behind);
            if !self.told.contains(&told) {
                self.told.push(told);
                findings.push(self.finding(context, now_ns, &root, late.len()));
            }
        }
    }
}

impl Hang {
    /// Notes which communicators came to rest: after the begin of the batch before the last in which they moved, as a rank
    /// that hangs still completes what it has entered; and by the end of the first in which they did not.
    fn note_rest(&mut self, now_ns: u64) {
        self.rest.resize(self.progress.communicators() as usize, Default::default());
        for (communicator, (moved_ns, rest)) in (0..).zip(&mut self.rest) {
            let moved = now_ns.saturating_sub(self.progress.quiet_ns(communicator, now_ns));
            if moved != std::mem::replace(moved_ns, moved) {
                *rest = Since::between(self.before_ns[0], 0);
            } else if rest.until_ns == 0 {
                rest.until_ns = now_ns;
            }
        }
        self.before_ns = [self.before_ns[1], now_ns];
    }

    /// Bytes that its state holds.
    pub fn memory_bytes(&self) -> usize {
        self.progress.memory_bytes()
    }

    fn finding(&self, context: &Context<'_>, now_ns: u64, root: &Root, waiting: usize) -> Finding {
        let directory = context.directory;
        let communicator = root.communicator();
        let info = &directory.communicators[communicator as usize];
        let sequence = self.progress.stands_at(communicator).unwrap_or(0);
        let quiet = self.progress.quiet_ns(communicator, now_ns);
        let mut finding = Finding {
            at_ns: now_ns,
            since: self.rest[communicator as usize].1,
            syndrome: Syndrome::CommunicationHang,
            faults: Vec::new(),
            suspects: Vec::new(),
            confidence: 0.0,
            severity: 1.0,
            cost: None,
            evidence: vec![Evidence::new(
                OperationSeen::Stalled {
                    sequence: u64::from(sequence),
                    communicator: info.name.clone(),
                    axis: info.axis.clone(),
                    communicators: waiting,
                },
                quiet as f64 / 1e9,
                self.progress.longest_ns(communicator) as f64 / 1e9,
            )],
            advice: String::new(),
        };
        match root {
            Root::Missing { behind, .. } => self.missing(context, behind, &mut finding),
            Root::Within { .. } => self.within(context, communicator, &mut finding),
            Root::Mismatch { odd, .. } => {
                finding.syndrome = Syndrome::Mismatch;
                finding.faults = vec![FaultKind::SizeMismatch];
                let job = Component::Job(directory.jobs[info.job as usize].clone());
                finding.suspects = vec![Suspect { component: job, share: 0.9 }];
                finding.confidence = 0.9;
                let seen = OperationSeen::OtherCall { ranks: ranks_of(context, odd) };
                finding.evidence.push(Evidence::new(seen, odd.len() as f64, 0.0));
                finding.advice = "compare what these ranks call with what the others call".into();
            }
            Root::Circle { .. } => {
                finding.syndrome = Syndrome::Mismatch;
                let job = Component::Job(directory.jobs[info.job as usize].clone());
                finding.suspects = vec![Suspect { component: job, share: 0.7 }];
                finding.confidence = 0.7;
                finding.advice =
                    "ranks wait for each other in a circle: they enter their communicators in different orders"
                        .into();
            }
        }
        finding
    }

    /// Ranks that never entered: they, or, where most are behind, those who went ahead.
    fn missing(&self, context: &Context<'_>, behind: &[u32], finding: &mut Finding) {
        finding.syndrome = Syndrome::NonCommunicationHang;
        let seen = OperationSeen::NotEntered { ranks: ranks_of(context, behind) };
        finding.evidence.push(Evidence::new(seen, behind.len() as f64, 0.0));
        let hosts: Vec<u32> = {
            let mut hosts: Vec<u32> =
                behind.iter().map(|&rank| context.directory.ranks[rank as usize].host).collect();
            hosts.sort_unstable();
            hosts.dedup();
            hosts
        };
        let (components, confidence): (Vec<Component>, f64) = match (behind.len(), hosts.len()) {
            (1, _) => (vec![context.directory.rank_component(behind[0])], 0.95),
            (_, 1) => (vec![context.directory.host_component(behind[0])], 0.9),
            (count, _) if count <= SUSPECTS => {
                (behind.iter().map(|&rank| context.directory.rank_component(rank)).collect(), 0.8)
            }
            _ => {
                finding.advice =
                    "too many ranks are behind to blame them: look at what they have in common, such as storage, \
                     and at the few who went ahead"
                        .into();
                return;
            }
        };
        finding.faults =
            vec![FaultKind::Hang, FaultKind::Crash, FaultKind::GpuError, FaultKind::StorageStall];
        let share = confidence / components.len() as f64;
        finding.suspects = components.into_iter().map(|component| Suspect { component, share }).collect();
        finding.confidence = confidence;
        finding.advice =
            "whether the process lives, and its GPU's Xid and ECC counters, tell a hang from a crash \
                          and from a GPU error"
                .into();
    }

    /// All ranks are within: the connection over which least was sent.
    fn within(&self, context: &Context<'_>, communicator: u32, finding: &mut Finding) {
        finding.faults = vec![FaultKind::Down, FaultKind::Lossy, FaultKind::PauseStorm];
        let Some((flows, fewest, most)) = self.progress.stuck_flows(communicator) else {
            finding.advice =
                "all ranks are within: records of messages, or pairwise probes, would tell which connection stands"
                    .into();
            return;
        };
        let seen = MessageSeen::FewestMessages {};
        finding.evidence.push(Evidence::new(seen, f64::from(fewest), f64::from(most)));
        let mut components = Vec::new();
        for &flow in &flows {
            let info = &context.directory.flows[flow as usize];
            let of_path: Vec<Component> =
                info.links.iter().filter_map(|&link| context.cable_of(link)).collect();
            if of_path.is_empty() {
                components.push(Component::Connection(format!("{} > {}", info.source_nic, info.target_nic)));
            }
            components.push(Component::Nic(info.source_nic.clone()));
            components.push(Component::Nic(info.target_nic.clone()));
            components.extend(of_path);
        }
        components.sort();
        // What more of the flows that stand still have in common is likelier.
        let mut counted: Vec<(usize, Component)> =
            components.chunk_by(|a, b| a == b).map(|same| (same.len(), same[0].clone())).collect();
        let top = counted.iter().map(|(count, _)| *count).max().unwrap_or(0);
        counted.retain(|(count, _)| *count == top);
        finding.confidence = 0.8;
        let share = finding.confidence / counted.len() as f64;
        finding.suspects = counted.into_iter().map(|(_, component)| Suspect { component, share }).collect();
        finding.advice = "link state, ACK timeouts and receive errors of these ports tell them apart".into();
    }
}

/// Names of ranks.
fn ranks_of(context: &Context<'_>, ranks: &[u32]) -> Vec<String> {
    ranks.iter().map(|&rank| context.directory.rank_component(rank).name().to_owned()).collect()
}
