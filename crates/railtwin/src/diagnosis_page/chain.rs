//! The wait chain: who waits for whom in one ring of one communicator.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_diagnosis::robust::median;
use railtwin_records::Directory;
use serde_json::{Value, json};

use crate::columns::PageTable;
use crate::telemetry_run::TelemetryRun;
use crate::telemetry_run::traffic::{NEVER, Wait};

/// Ranks that a page takes.
const RANKS_MAX: usize = 2_048;
/// A culprit waits for less than this share of what the ring's median rank waits.
const LITTLE: f64 = 0.5;

/// A ring with the waits of its ranks.
#[derive(Debug)]
pub(super) struct Chain {
    pub(super) communicator: u32,
    /// Rows of the ranks; each receives from the one before, the first from the last.
    pub(super) ring: Vec<u32>,
    waits: Vec<Wait>,
    /// Position of the rank that the finding names; else of who the others wait for.
    pub(super) culprit: Option<usize>,
    /// Position of who the others wait for, as far as waits alone tell.
    least: Option<usize>,
    /// Row of the finding that the chain is about; none where nobody is accused.
    finding: Option<usize>,
}

impl Chain {
    /// The ring with one of the ranks that `finding` accuses, or else the one in which ranks wait longest; none without messages.
    pub(super) fn of(
        run: &TelemetryRun,
        since_ns: u64,
        finding: Option<usize>,
        accused: &[u32],
    ) -> Option<Self> {
        let directory = &run.directory;
        let mut best: Option<((bool, f64), Self)> = None;
        for (communicator, next) in run.traffic.successors(directory, since_ns) {
            let ranks = &directory.communicators[communicator as usize].ranks;
            let all = run.traffic.waits(communicator, since_ns);
            let by_rank: BTreeMap<u32, Wait> = ranks.iter().copied().zip(all).collect();
            for ring in rings(&next) {
                let wait = |rank: &u32| by_rank.get(rank).copied().unwrap_or_default();
                let waits: Vec<Wait> = ring.iter().map(wait).collect();
                let holds = ring.iter().any(|rank| accused.contains(rank));
                let value = (holds, waits.iter().map(Wait::waited_ns).sum::<f64>());
                let better = best
                    .as_ref()
                    .is_none_or(|(known, _)| value.partial_cmp(known).is_some_and(|o| o.is_gt()));
                if better {
                    best = Some((
                        value,
                        Self { communicator, ring, waits, culprit: None, least: None, finding },
                    ));
                }
            }
        }
        let (_, chain) = best?;
        let least = waits_least(&chain.waits);
        // Who is accused is not gainsaid: waits before a hang, or of a ring beside the slow one, show nobody or another.
        let named = accused.iter().find_map(|rank| chain.ring.iter().position(|other| other == rank));
        let culprit = named.or_else(|| least.filter(|_| finding.is_none()));
        Some(Self { culprit, least, ..chain })
    }

    /// The ranks before and behind one of the ring.
    pub(super) fn neighbours(&self, rank: u32) -> Option<[u32; 2]> {
        let (at, count) = (self.ring.iter().position(|&other| other == rank)?, self.ring.len());
        Some([self.ring[(at + count - 1) % count], self.ring[(at + 1) % count]])
    }

    /// As the page reads it.
    pub(super) fn value(&self, directory: &Directory) -> Value {
        let total = self.ring.len();
        let mut rows: Vec<usize> = (0..total).collect();
        if total > RANKS_MAX {
            // What is left begins half of it before the culprit.
            let middle = self.culprit.unwrap_or(0);
            let first = (middle + total - RANKS_MAX / 2) % total;
            rows = (0..RANKS_MAX).map(|at| (first + at) % total).collect();
        }
        let listed = |position: Option<usize>| rows.iter().position(|&row| Some(row) == position);
        let info = &directory.communicators[self.communicator as usize];
        let rank = |&at: &usize| &directory.ranks[self.ring[at] as usize];
        let hosts = rows.iter().map(|at| directory.hosts[rank(at).host as usize].name.as_str());
        let ranks = PageTable::new(rows.len())
            .u32("rank", &rows.iter().map(|at| rank(at).rank).collect::<Vec<_>>())
            .text("host", hosts)
            .f64("wait_ms", &rows.iter().map(|&at| self.waits[at].waited_ns() / 1e6).collect::<Vec<_>>())
            .u32(
                "first_wait_stage",
                &rows.iter().map(|&at| self.waits[at].first_stage()).collect::<Vec<_>>(),
            );
        json!({
            "communicator": info.name, "axis": info.axis, "total": total, "culprit": listed(self.culprit),
            "finding": self.finding, "least": listed(self.least), "ranks": ranks.finish(),
        })
    }
}

/// The rings that ranks and their successors make, each from its lowest rank on; what leads into a ring is left out.
fn rings(next: &BTreeMap<u32, u32>) -> Vec<Vec<u32>> {
    let (mut rings, mut seen) = (Vec::new(), BTreeSet::new());
    for &start in next.keys() {
        let (mut path, mut at) = (Vec::new(), start);
        while seen.insert(at) {
            path.push(at);
            match next.get(&at) {
                Some(&target) => at = target,
                None => break,
            }
        }
        if let Some(first) = path.iter().position(|&rank| rank == at).filter(|_| path.len() > 1)
            && next.get(&path[path.len() - 1]) == Some(&at)
        {
            let mut ring = path.split_off(first);
            let lowest = (0..ring.len()).min_by_key(|&row| ring[row]).unwrap_or(0);
            ring.rotate_left(lowest);
            if ring.len() > 1 {
                rings.push(ring);
            }
        }
    }
    rings
}

/// Who waits least, and clearly less than the others, while no rank begins to wait before its successor.
fn waits_least(waits: &[Wait]) -> Option<usize> {
    let least = (0..waits.len()).min_by(|&a, &b| waits[a].waited_ns().total_cmp(&waits[b].waited_ns()))?;
    let usual = median(&mut waits.iter().map(|wait| wait.waited_ns()).collect::<Vec<_>>())?;
    let next = waits[(least + 1) % waits.len()].first_stage();
    let first = waits.iter().all(|wait| wait.first_stage() >= next);
    // On both sides of a slow cable ranks wait little, and nobody begins to wait at any stage.
    (waits[least].waited_ns() < LITTLE * usual && first && next != NEVER).then_some(least)
}

#[cfg(test)]
mod tests {
    use super::rings;

    #[test]
    fn rings_are_followed_and_what_leads_into_them_is_left_out() {
        let next = |pairs: &[(u32, u32)]| rings(&pairs.iter().copied().collect());
        assert_eq!(next(&[(0, 2), (2, 1), (1, 0)]), [[0, 2, 1]]);
        assert_eq!(next(&[(0, 2), (2, 0), (1, 3), (3, 1)]), [[0, 2], [1, 3]]);
        assert_eq!(next(&[(0, 1), (1, 2), (2, 1)]), [[1, 2]]);
        assert_eq!(next(&[(0, 1), (1, 2)]), Vec::<Vec<u32>>::new());
        assert_eq!(next(&[(0, 0)]), Vec::<Vec<u32>>::new());
    }
}
