//! Which jobs to move so that another fits a segment.
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use railtwin_fabric::HostId;

use super::{ClusterPlacer, Place, PlacementPolicy};

/// Sets of jobs that are looked at in a segment, in the order of the GPUs that they move.
const SETS_MOST: usize = 2_000;

/// A job that moves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move {
    /// Its number.
    pub job: u64,
    /// Where it goes, in the order of its ranks.
    pub to: Vec<Place>,
}

/// A proposal: nobody has moved yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Defragmentation {
    /// Hosts that are free afterwards, all of one segment.
    pub room: Vec<HostId>,
    /// Jobs that move for it, in the order in which they find their places; none where a segment has room as it is.
    pub moves: Vec<Move>,
    /// GPUs of these jobs.
    pub gpus_moved: u32,
}

/// A set of jobs by the GPUs that it moves, and rows of its jobs, ascending.
type Set = Reverse<(u32, Vec<usize>)>;

impl ClusterPlacer {
    /// Jobs to move so that a job of `gpus` GPUs fits one segment on hosts of its own, with the fewest GPUs moved; of
    /// segments that cost the same the first. Jobs move that are in the segment: for the sake of these no others do.
    /// `running` are all jobs by number. A job moves as a whole, by
    /// [`PlacementPolicy::SegmentFirst`], the largest first; it may stay in the segment on hosts that are not needed.
    ///
    /// None where no set of jobs of a segment makes room, or none was found among the first 2,000 of each segment.
    ///
    /// # Panics
    /// Where a job has GPUs that are free here.
    pub fn defragment(&self, running: &[(u64, &[Place])], gpus: u32) -> Option<Defragmentation> {
        let segments = self.ground.pod_of.len() as u32;
        let mut best: Option<Defragmentation> = None;
        for segment in 0..segments {
            let most = best.as_ref().map_or(u32::MAX, |best| best.gpus_moved);
            let found = self.cleared(running, segment, gpus, most);
            if let Some(found) = found.filter(|found| found.gpus_moved < most) {
                best = Some(found);
            }
        }
        best
    }

    /// The cheapest way to make room in a segment that moves fewer than `most` GPUs.
    fn cleared(
        &self,
        running: &[(u64, &[Place])],
        segment: u32,
        gpus: u32,
        most: u32,
    ) -> Option<Defragmentation> {
        let here = |place: &&Place| self.ground.segment(place.host) == segment;
        let held = |row: usize| running[row].1.iter().filter(here).count() as u32;
        let rows: Vec<usize> = (0..running.len()).filter(|&row| held(row) > 0).collect();
        let size = |row: usize| running[row].1.len() as u32;
        let free: u32 = self.hosts_of(segment).map(|host| self.free_on(host)).sum();
        // What must be freed at least, whatever hosts it is on.
        let wanted = gpus.saturating_sub(free);
        let mut order = rows;
        order.sort_unstable_by_key(|&row| (size(row), row));
        // Sets in the order of their sums: each follows from one before by its last job, which is followed or replaced by
        // the next.
        let mut heap: BinaryHeap<Set> = BinaryHeap::from([Reverse((0, Vec::new()))]);
        for _ in 0..SETS_MOST {
            let Reverse((sum, set)) = heap.pop()?;
            if sum >= most {
                return None;
            }
            let rows: Vec<usize> = set.iter().map(|&at| order[at]).collect();
            if rows.iter().map(|&row| held(row)).sum::<u32>() >= wanted
                && let Some((room, moves)) = self.moved(running, &rows, segment, gpus)
            {
                return Some(Defragmentation { room, moves, gpus_moved: sum });
            }
            let next = set.last().map_or(0, |last| last + 1);
            if next < order.len() {
                let mut longer = set.clone();
                longer.push(next);
                heap.push(Reverse((sum + size(order[next]), longer)));
                if let Some((&last, rest)) = set.split_last() {
                    let mut other = rest.to_vec();
                    other.push(next);
                    heap.push(Reverse((sum - size(order[last]) + size(order[next]), other)));
                }
            }
        }
        None
    }

    fn hosts_of(&self, segment: u32) -> impl Iterator<Item = HostId> {
        let is_of = move |host: &HostId| self.ground.segment(*host) == segment;
        (0..self.ground.gpus.len()).map(HostId::from_index).filter(is_of)
    }

    /// Room in a segment when these jobs leave it, and where they go; none where it is too little or they find no place.
    fn moved(
        &self,
        running: &[(u64, &[Place])],
        rows: &[usize],
        segment: u32,
        gpus: u32,
    ) -> Option<(Vec<HostId>, Vec<Move>)> {
        let mut after = self.clone();
        rows.iter().for_each(|&row| after.release(running[row].1));
        let leaves: BTreeSet<HostId> =
            rows.iter().flat_map(|&row| running[row].1).map(|place| place.host).collect();
        let mut empty: Vec<HostId> = self
            .hosts_of(segment)
            .filter(|&host| after.free_on(host) == self.ground.gpus[host.index()])
            .collect();
        // Hosts that were free first, so that jobs which move may stay on their own.
        empty.sort_by_key(|host| (leaves.contains(host), *host));
        let mut held = 0;
        let mut room = Vec::new();
        for host in empty {
            if held < gpus {
                held += self.ground.gpus[host.index()];
                room.push(host);
                after.close(host);
            }
        }
        if held < gpus {
            return None;
        }
        let mut largest: Vec<usize> = rows.to_vec();
        largest.sort_by_key(|&row| (Reverse(running[row].1.len()), row));
        let mut found: BTreeMap<usize, Vec<Place>> = BTreeMap::new();
        for &row in &largest {
            let (job, places) = running[row];
            let to = after.place(job, places.len() as u32, &PlacementPolicy::SegmentFirst)?;
            found.insert(row, to);
        }
        room.sort_unstable();
        let moves = largest.iter().map(|row| Move { job: running[*row].0, to: found[row].clone() }).collect();
        Some((room, moves))
    }
}
