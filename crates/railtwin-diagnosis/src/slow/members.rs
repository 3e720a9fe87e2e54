//! Who stands where in dense arrays: a slot for every member of every communicator, pools of communicators alike.
use std::collections::BTreeMap;
use std::ops::Range;

use railtwin_records::Directory;

/// Entries of a rank up to which a plain scan beats a binary search.
const SCAN: usize = 8;

/// Communicators of one job, axis and size: they do the same, so they are measured by each other.
#[derive(Clone, PartialEq, Debug)]
pub struct Pool {
    /// Row of the job.
    pub job: u32,
    /// Axis of the communicators.
    pub axis: String,
    /// Ranks of each.
    pub size: u32,
    /// Rows of the communicators.
    pub communicators: Vec<u32>,
    /// Whether members do like work and end together, so that one can be told from the others. Stages of a pipeline
    /// do not (C4 section V).
    pub alike: bool,
}

/// Slots of members, and the way from a communicator and a rank to a slot without hashing.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Members {
    slot_start: Vec<u32>,
    slot_rank: Vec<u32>,
    rank_start: Vec<u32>,
    entries: Vec<(u32, u32)>,
    pool_of: Vec<u32>,
    pools: Vec<Pool>,
    seen: (usize, usize),
}

impl Members {
    /// Takes in what the directory has more than before; whether there was anything.
    pub fn grow(&mut self, directory: &Directory) -> bool {
        let now = (directory.communicators.len(), directory.ranks.len());
        if now == self.seen {
            return false;
        }
        self.seen = now;
        if self.slot_start.is_empty() {
            self.slot_start.push(0);
        }
        for communicator in &directory.communicators[self.pool_of.len()..] {
            let row = self.pool_of.len() as u32;
            self.slot_rank.extend(&communicator.ranks);
            self.slot_start.push(self.slot_rank.len() as u32);
            let (job, size) = (communicator.job, communicator.ranks.len() as u32);
            let like = |pool: &Pool| pool.job == job && pool.size == size && pool.axis == communicator.axis;
            let pool = self.pools.iter().position(like).unwrap_or_else(|| {
                let alike = communicator.axis != "pp" && size > 1;
                let axis = communicator.axis.clone();
                self.pools.push(Pool { job, axis, size, communicators: Vec::new(), alike });
                self.pools.len() - 1
            });
            self.pools[pool].communicators.push(row);
            self.pool_of.push(pool as u32);
        }
        let mut of_rank = BTreeMap::<u32, Vec<(u32, u32)>>::new();
        for communicator in 0..self.pool_of.len() as u32 {
            for slot in self.slots(communicator) {
                of_rank.entry(self.slot_rank[slot]).or_default().push((communicator, slot as u32));
            }
        }
        self.entries.clear();
        self.rank_start.clear();
        for rank in 0..directory.ranks.len() as u32 {
            self.rank_start.push(self.entries.len() as u32);
            self.entries.extend(of_rank.get(&rank).into_iter().flatten());
        }
        self.rank_start.push(self.entries.len() as u32);
        true
    }

    /// Communicators and slots of a rank; empty where the rank is not known.
    pub fn of_rank(&self, rank: u32) -> &[(u32, u32)] {
        let rank = rank as usize;
        match (self.rank_start.get(rank), self.rank_start.get(rank + 1)) {
            (Some(&start), Some(&end)) => &self.entries[start as usize..end as usize],
            _ => &[],
        }
    }

    /// The slot of a rank in a communicator; none where it is no member.
    #[inline]
    pub fn slot(&self, communicator: u32, rank: u32) -> Option<usize> {
        let entries = self.of_rank(rank);
        let at = if entries.len() <= SCAN {
            entries.iter().position(|entry| entry.0 == communicator)?
        } else {
            entries.binary_search_by_key(&communicator, |entry| entry.0).ok()?
        };
        Some(entries[at].1 as usize)
    }

    /// Slots of a communicator, in the order of its ranks.
    #[inline]
    pub fn slots(&self, communicator: u32) -> Range<usize> {
        let row = communicator as usize;
        self.slot_start[row] as usize..self.slot_start[row + 1] as usize
    }

    /// Row of the rank in a slot.
    pub fn rank(&self, slot: usize) -> u32 {
        self.slot_rank[slot]
    }

    /// Number of slots.
    pub fn slot_count(&self) -> usize {
        self.slot_rank.len()
    }

    /// Number of communicators.
    pub fn communicator_count(&self) -> usize {
        self.pool_of.len()
    }

    /// Pools of communicators alike.
    pub fn pools(&self) -> &[Pool] {
        &self.pools
    }

    /// Row of a communicator's pool.
    #[inline]
    pub fn pool_of(&self, communicator: u32) -> usize {
        self.pool_of[communicator as usize] as usize
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        4 * (self.slot_start.capacity() + self.slot_rank.capacity() + self.rank_start.capacity())
            + 8 * self.entries.capacity()
            + 4 * self.pool_of.capacity()
            + self.pools.iter().map(|pool| 4 * pool.communicators.capacity()).sum::<usize>()
    }
}
