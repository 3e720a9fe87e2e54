//! Which of the communicators that stand still keep the others waiting.
//!
//! A communicator waits for another when a rank that has not entered its operation is within an operation of that
//! other. Who waits for nobody is a root.
use super::progress::Progress;

/// Why a communicator stands still of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Root {
    /// Ranks have not entered, and are within nothing else.
    Missing {
        /// The communicator.
        communicator: u32,
        /// Rows of the ranks.
        behind: Vec<u32>,
    },
    /// All ranks are within.
    Within {
        /// The communicator.
        communicator: u32,
    },
    /// All ranks are within, and do not do the same.
    Mismatch {
        /// The communicator.
        communicator: u32,
        /// Rows of the ranks that differ from most.
        odd: Vec<u32>,
    },
    /// It waits, over others, for itself.
    Circle {
        /// The first communicator of the circle.
        communicator: u32,
    },
}

impl Root {
    /// The communicator.
    pub fn communicator(&self) -> u32 {
        match self {
            Self::Missing { communicator, .. }
            | Self::Within { communicator }
            | Self::Mismatch { communicator, .. }
            | Self::Circle { communicator } => *communicator,
        }
    }
}

/// The roots behind the communicators `late`, in order of communicators; `still` are all that stand still.
pub fn roots(progress: &Progress, still: &[u32], late: &[u32]) -> Vec<Root> {
    let mut found: Vec<Root> = Vec::new();
    let mut seen: Vec<u32> = Vec::new();
    for &start in late {
        // Follow one who is waited for until nobody is: every way ends at a root or in a circle.
        let (mut at, mut way) = (start, Vec::new());
        let root = loop {
            if seen.contains(&at) {
                break None;
            }
            if let Some(first) = way.iter().position(|&passed| passed == at) {
                let communicator = way[first..].iter().copied().min().unwrap_or(at);
                break Some(Root::Circle { communicator });
            }
            way.push(at);
            match waits_for(progress, still, at) {
                Some(next) => at = next,
                None => break Some(own(progress, at)),
            }
        };
        seen.extend(way);
        if let Some(root) = root
            && !found.contains(&root)
        {
            found.push(root);
        }
    }
    found.sort_by_key(Root::communicator);
    found
}

/// Missing ranks of the communicators of one job as one root: a host that is gone is missed by a communicator for each
/// of its ranks. `job` tells the job of a communicator.
pub fn joined(found: Vec<Root>, job: &dyn Fn(u32) -> u32) -> Vec<Root> {
    let mut kept: Vec<Root> = Vec::new();
    for root in found {
        let Root::Missing { communicator, behind } = root else {
            kept.push(root);
            continue;
        };
        let same = kept.iter_mut().find_map(|other| match other {
            Root::Missing { communicator: first, behind } if job(*first) == job(communicator) => Some(behind),
            _ => None,
        });
        match same {
            Some(all) => {
                all.extend(behind);
                all.sort_unstable();
                all.dedup();
            }
            None => kept.push(Root::Missing { communicator, behind }),
        }
    }
    kept
}

/// Ranks that have not entered the operation that a communicator is in.
fn behind(progress: &Progress, communicator: u32) -> Vec<u32> {
    let Some(now) = progress.stands_at(communicator) else { return Vec::new() };
    progress
        .ranks_of(communicator)
        .filter(|(_, entered, ..)| *entered <= now)
        .map(|(rank, ..)| rank)
        .collect()
}

/// A communicator that holds a rank back from `communicator`; the least of them.
fn waits_for(progress: &Progress, still: &[u32], communicator: u32) -> Option<u32> {
    let held = behind(progress, communicator);
    let others = held.iter().flat_map(|&rank| progress.within(rank));
    others.filter(|other| *other != communicator && still.binary_search(other).is_ok()).min()
}

/// Why a communicator that waits for no other stands still.
fn own(progress: &Progress, communicator: u32) -> Root {
    let behind = behind(progress, communicator);
    if !behind.is_empty() {
        return Root::Missing { communicator, behind };
    }
    let mut shapes: Vec<u32> = progress.ranks_of(communicator).map(|(.., shape)| shape).collect();
    shapes.sort_unstable();
    let usual = shapes.chunk_by(|a, b| a == b).max_by_key(|same| same.len()).map(|same| same[0]);
    let odd: Vec<u32> = progress
        .ranks_of(communicator)
        .filter(|(.., shape)| Some(*shape) != usual)
        .map(|(rank, ..)| rank)
        .collect();
    if odd.is_empty() { Root::Within { communicator } } else { Root::Mismatch { communicator, odd } }
}
