//! Ranks that hand different numbers of bytes to one collective: a bug of the job (C4 section II-C).
use std::collections::BTreeSet;

use railtwin_records::seen::OperationSeen;
use railtwin_records::{
    Batch, Component, Directory, Evidence, FaultKind, Finding, OperationShape, Since, Syndrome,
};

use crate::context::Context;
use crate::detector::Detector;
use crate::rules::limits::Limits;
use crate::rules::place::suspects;
use crate::rules::told::Told;

/// Operations of a communicator in flight that are kept: its ranks are seldom further apart.
const KEPT: usize = 8;

/// One operation: the shapes that its ranks brought.
#[derive(Clone, Copy, Default, Debug)]
struct Kept {
    /// Number of the operation, plus one; 0 for none.
    sequence: u64,
    /// Shape, number of ranks that brought it, the first of them.
    shapes: [(u32, u32, u32); 2],
    /// First entry into it.
    enter_ns: u64,
    /// From the first entry into the operation before to the entry that differs.
    since: Since,
}

/// Tells collectives of which the ranks disagree on what they do.
#[derive(Debug)]
pub struct SizeMismatch {
    kept: Vec<[Kept; KEPT]>,
    differ: BTreeSet<(u32, u32)>,
    told: Told,
}

impl SizeMismatch {
    /// At the given limits.
    pub fn new(_limits: Limits) -> Self {
        Self { kept: Vec::new(), differ: BTreeSet::new(), told: Told::default() }
    }
}

/// Whether all ranks of such an operation must bring the same bytes; those of an all-to-all may bring their own.
fn is_even(shape: &OperationShape) -> bool {
    matches!(shape.kind.as_str(), "all-reduce" | "all-gather" | "reduce-scatter" | "broadcast" | "reduce")
}

/// Whether two shapes cannot be of one operation.
fn clash(directory: &Directory, first: u32, second: u32) -> bool {
    let (Some(first), Some(second)) =
        (directory.shapes.get(first as usize), directory.shapes.get(second as usize))
    else {
        return false;
    };
    (is_even(first) || is_even(second)) && (first.kind != second.kind || first.bytes != second.bytes)
}

impl Detector for SizeMismatch {
    fn name(&self) -> &'static str {
        "size-mismatch"
    }

    fn observe(&mut self, context: &Context<'_>, batch: &Batch) {
        let rows = &batch.operations;
        for row in 0..rows.len() {
            let (communicator, sequence) = (rows.communicator[row], rows.sequence[row]);
            let (shape, rank) = (rows.shape[row], rows.rank[row]);
            let index = communicator as usize;
            if index >= self.kept.len() {
                if index >= context.directory.communicators.len() {
                    continue;
                }
                self.kept.resize(context.directory.communicators.len(), [Kept::default(); KEPT]);
            }
            let before = &self.kept[index][(sequence as usize + KEPT - 1) % KEPT];
            let before_ns = if before.sequence == u64::from(sequence) { before.enter_ns } else { 0 };
            let kept = &mut self.kept[index][sequence as usize % KEPT];
            let number = u64::from(sequence) + 1;
            if kept.sequence != number {
                if number > kept.sequence {
                    let enter_ns = rows.enter_ns[row];
                    *kept = Kept {
                        sequence: number,
                        shapes: [(shape, 1, rank), (0, 0, 0)],
                        enter_ns,
                        since: Since::between(before_ns, enter_ns),
                    };
                }
                continue;
            }
            let [first, second] = &mut kept.shapes;
            // An operation comes again when it has ended; the one that stands for its side is not counted anew.
            if first.2 == rank {
                continue;
            }
            if first.0 == shape || !clash(context.directory, first.0, shape) {
                first.1 += 1;
            } else if second.1 == 0 {
                *second = (shape, 1, rank);
                kept.since.until_ns = kept.since.until_ns.max(rows.enter_ns[row]);
                self.differ.insert((communicator, sequence));
            } else if second.0 == shape && second.2 != rank {
                second.1 += 1;
            }
        }
    }

    fn judge(&mut self, context: &Context<'_>, now_ns: u64, findings: &mut Vec<Finding>) {
        let directory = context.directory;
        for &(communicator, sequence) in &self.differ {
            let kept = &self.kept[communicator as usize][sequence as usize % KEPT];
            if kept.sequence != u64::from(sequence) + 1 {
                continue;
            }
            let [first, second] = kept.shapes;
            let (common, odd) = if first.1 >= second.1 { (first, second) } else { (second, first) };
            let info = &directory.communicators[communicator as usize];
            let mut weights = Vec::new();
            let known = |rank: u32| (rank as usize) < directory.ranks.len();
            if odd.1 == 1 && known(odd.2) {
                weights.push((directory.rank_component(odd.2), 2.0));
            }
            if common.1 == 1 && known(common.2) {
                // One against one: either may be it.
                weights.push((directory.rank_component(common.2), 2.0));
            }
            if let Some(job) = directory.jobs.get(info.job as usize) {
                weights.push((Component::Job(job.clone()), 1.0));
            }
            let bytes = |shape: u32| directory.shapes[shape as usize].bytes as f64;
            let seen = OperationSeen::OtherBytes {
                ranks: odd.1 as usize,
                others: common.1 as usize,
                sequence: u64::from(sequence),
                communicator: info.name.clone(),
            };
            let evidence = Evidence::new(seen, bytes(odd.0), bytes(common.0));
            let finding = Finding {
                at_ns: now_ns,
                since: kept.since,
                syndrome: Syndrome::Mismatch,
                faults: vec![FaultKind::SizeMismatch],
                suspects: suspects(weights),
                confidence: if common.1 > odd.1 { 0.9 } else { 0.7 },
                severity: 1.0,
                cost: None,
                evidence: vec![evidence],
                advice: String::new(),
            };
            self.told.tell(u64::from(info.job), finding, findings);
        }
        // What is still kept comes up again: more ranks may have told by then which side is the odd one.
        let kept = &self.kept;
        self.differ.retain(|&(communicator, sequence)| {
            let kept = &kept[communicator as usize][sequence as usize % KEPT];
            kept.sequence == u64::from(sequence) + 1
        });
        self.told.forget(now_ns);
    }
}
