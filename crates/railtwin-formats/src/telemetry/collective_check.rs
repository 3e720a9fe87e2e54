//! What PyTorch's own checks of collectives report: ranks that call unlike operations (`TORCH_DISTRIBUTED_DEBUG=DETAIL`), and
//! ranks that do not come to a `monitored_barrier`.
//!
//! Words are those of `torch/csrc/distributed/c10d/ProcessGroupWrapper.cpp` and `ProcessGroupGloo.cpp`, from PyTorch 1.10 on.

use super::names::operation_kind;

/// Signs of such lines.
pub(crate) const SIGNS: [&str; 2] = ["CollectiveFingerPrint(", "monitoredBarrier"];

/// Most ranks that a line names.
const RANKS_MOST: usize = 1 << 16;

/// An operation that a rank calls.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CalledOperation {
    /// The rank.
    pub rank: u32,
    /// Number of the operation, where the line tells.
    pub sequence: Option<u64>,
    /// The operation, in the words of records.
    pub kind: String,
    /// Shapes of its tensors, as the line has them: `[4, 8]`; empty where it is not told.
    pub shape: String,
    /// Types of its tensors; empty where it is not told.
    pub data_type: String,
}

impl CalledOperation {
    /// Elements of its tensor, where the shape is that of one.
    pub fn elements(&self) -> Option<u64> {
        let inner = self.shape.trim_start_matches('[').trim_end_matches(']');
        let mut sides = inner.split(',').map(|side| side.trim().parse::<u64>().ok());
        sides.try_fold(1_u64, |all, side| all.checked_mul(side?))
    }

    /// Whether another is the same call.
    pub fn is_like(&self, other: &Self) -> bool {
        let same = |one: &str, other: &str| one.is_empty() || other.is_empty() || one == other;
        self.kind == other.kind
            && self.sequence.zip(other.sequence).is_none_or(|(one, other)| one == other)
            && same(&self.shape, &other.shape)
            && same(&self.data_type, &other.data_type)
    }
}

/// The report of such a line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum CollectiveCheck {
    /// Ranks call unlike operations, or a rank another one than its peers.
    Unlike(Vec<CalledOperation>),
    /// Ranks did not come to a barrier.
    NotPassed {
        /// The ranks.
        ranks: Vec<u32>,
        /// How long the barrier waited, in milliseconds.
        after_ms: u64,
    },
}

/// The check that a line reports.
pub(crate) fn read(line: &str) -> Option<CollectiveCheck> {
    if line.contains(SIGNS[0]) { unlike(line) } else { not_passed(line) }
}

/// `Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=3104, OpType=ALLREDUCE, TensorShape=[8], …), but Rank 0
/// is running collective: …`; old versions say `inconsistent collective` and name no other rank.
fn unlike(line: &str) -> Option<CollectiveCheck> {
    let mut calls: Vec<CalledOperation> = Vec::new();
    let mut from = 0;
    while let Some(at) = line.get(from..)?.find(SIGNS[0]).map(|at| from + at) {
        let begin = at + SIGNS[0].len();
        let rank = rank_before(line.get(..at)?);
        let rest = line.get(begin..)?;
        let end = rest.find(SIGNS[0]).unwrap_or(rest.len());
        let call = rest.get(..end)?;
        let value = |word: &str| {
            let (_, value) = call.split_once(word)?;
            let end = if value.starts_with('[') {
                value.find(']').map(|at| at + 1)
            } else {
                value.find([',', ')'])
            };
            Some(value.get(..end?)?.chars().filter(|sign| !sign.is_control()).take(120).collect::<String>())
        };
        if let (Some(rank), Some(kind)) = (rank, value("OpType=")) {
            calls.push(CalledOperation {
                rank,
                sequence: value("SequenceNumber=").and_then(|number| number.parse().ok()),
                kind: operation_kind(&kind),
                shape: value("TensorShape=").unwrap_or_default(),
                data_type: value("TensorDtypes=").unwrap_or_default(),
            });
        }
        from = begin;
    }
    (!calls.is_empty()).then_some(CollectiveCheck::Unlike(calls))
}

/// The rank of the last `Rank 7 is running`.
fn rank_before(text: &str) -> Option<u32> {
    let at = text.rfind("Rank ")? + "Rank ".len();
    let rest = text.get(at..)?;
    let end = rest.find(|sign: char| !sign.is_ascii_digit())?;
    rest.get(end..)?.trim_start().starts_with("is running").then(|| rest.get(..end)?.parse().ok()).flatten()
}

/// `[Rank 0]: Ranks 4, 5 failed to pass monitoredBarrier in 2000000 ms`, `Rank 3 failed to pass monitoredBarrier in 10000 ms`.
/// The rank in `Rank 0 timed out in monitoredBarrier` is the one that waits.
fn not_passed(line: &str) -> Option<CollectiveCheck> {
    let (before, rest) = line.split_once(" failed to pass monitoredBarrier in ")?;
    let (behind, _) = rest.split_once(" ms")?;
    let after_ms = behind.trim().parse().ok()?;
    let named = before.get(before.rfind("Rank")?..)?;
    let named = named.strip_prefix("Ranks").or_else(|| named.strip_prefix("Rank"))?;
    let ranks: Option<Vec<u32>> = named.split(',').map(|rank| rank.trim().parse().ok()).collect();
    let mut ranks = ranks.filter(|ranks| ranks.len() <= RANKS_MOST)?;
    ranks.sort_unstable();
    ranks.dedup();
    Some(CollectiveCheck::NotPassed { ranks, after_ms })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn unlike_calls_of_all_versions_name_their_ranks() {
        let print = |rank: u32, rest: &str| {
            format!("Rank {rank} is running collective: CollectiveFingerPrint({rest})")
        };
        let new = format!(
            "[rank1]: RuntimeError: Detected mismatch between collectives on ranks. {}, but {}.Collectives differ",
            print(1, "SequenceNumber=7, OpType=ALLREDUCE, TensorShape=[4, 8], TensorDtypes=Float, x=(y)"),
            print(0, "SequenceNumber=7, OpType=REDUCE, TensorShape=[4], TensorDtypes=Float")
        );
        let Some(CollectiveCheck::Unlike(calls)) = read(&new) else { panic!("{new}") };
        let told: Vec<_> =
            calls.iter().map(|call| (call.rank, call.kind.as_str(), call.elements())).collect();
        assert_eq!(told, [(1, "all-reduce", Some(32)), (0, "reduce", Some(4))]);
        assert!(!calls[0].is_like(&calls[1]) && calls[0].sequence == Some(7));
        let old = "RuntimeError: Detected mismatch between collectives on ranks. Rank 3 is running inconsistent collective: \
                   CollectiveFingerPrint(OpType=BARRIER)";
        let Some(CollectiveCheck::Unlike(calls)) = read(old) else { panic!("{old}") };
        assert_eq!((calls.len(), calls[0].rank, calls[0].elements()), (1, 3, None));
        assert_eq!(read("CollectiveFingerPrint("), None);
    }

    #[test]
    fn ranks_that_did_not_come_are_read() {
        let wanted = |ranks: &[u32], after_ms: u64| {
            Some(CollectiveCheck::NotPassed { ranks: ranks.to_vec(), after_ms })
        };
        for (line, ranks) in [
            (
                "[rank0]: RuntimeError: [Rank 0]: Ranks 4, 5, 6, 7 failed to pass monitoredBarrier in 90 ms",
                &[4, 5, 6, 7][..],
            ),
            ("RuntimeError: Rank 3 failed to pass monitoredBarrier in 90 ms", &[3]),
            ("[Rank 0]: Rank 3 failed to pass monitoredBarrier in 90 ms.", &[3]),
        ] {
            assert_eq!(read(line), wanted(ranks, 90), "{line}");
        }
        for line in [
            "Rank 0 timed out in monitoredBarrier after 90 ms.",
            "Rank 1 successfully reached monitoredBarrier, but received errors while waiting",
            "Ranks x failed to pass monitoredBarrier in 90 ms",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_panics(before in "\\PC{0,30}", rest in "\\PC{0,60}") {
            for sign in ["Rank 3 is running x: CollectiveFingerPrint(OpType=", "Ranks 1 failed to pass monitoredBarrier in "] {
                let _ = read(&format!("{before}{sign}{rest}"));
                let _ = read(&format!("{sign}{rest}{sign}"));
            }
        }
    }
}
