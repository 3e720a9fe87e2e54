//! Paths chosen job after job, each beside those that chose before it.
//!
//! A choice hangs on the job's candidates and on how far the jobs before it use their links. When one job comes or goes,
//! most jobs find their links used as they found them the last time: these take what they took. So the links are gone
//! through twice at once, as they were used in the last choice and as they are used now, and who finds any of its links
//! used otherwise chooses anew. Uses are added up in the order of choosing both times, so the outcome is, to the last bit,
//! that of choosing all anew.
use std::collections::BTreeMap;
use std::sync::Arc;

use super::burdens::Burdens;

/// The last choice.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Who chose what, in the order of choosing.
    last: Vec<Choice>,
    /// By link.
    used: Vec<Used>,
}

#[derive(Clone, Debug)]
struct Choice {
    burdens: Arc<Burdens>,
    /// The candidate of each transfer.
    chosen: Vec<u32>,
}

/// The share of time in which the jobs so far use a link.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    now: f64,
    /// As far as it has been gone through.
    last: f64,
}

impl Used {
    fn is_otherwise(self) -> bool {
        self.now.to_bits() != self.last.to_bits()
    }
}

impl Selection {
    /// The candidates that jobs take, by place in `jobs`, where they choose in `order`. Links are those below `links`.
    pub fn choose(&mut self, jobs: &[Arc<Burdens>], order: &[usize], links: usize) -> Vec<Vec<u32>> {
        let last = std::mem::take(&mut self.last);
        // A job is known by its burdens themselves: `last` keeps them, so that no others can have their place in memory.
        let key = |burdens: &Arc<Burdens>| Arc::as_ptr(burdens).addr();
        let places: BTreeMap<usize, usize> =
            last.iter().enumerate().map(|(place, choice)| (key(&choice.burdens), place)).collect();
        self.used.clear();
        self.used.resize(links, Used::default());
        let mut paths = vec![Vec::new(); jobs.len()];
        // How far the last choice has been gone through, and whether all was the same so far.
        let (mut gone, mut is_same) = (0, true);
        for &job in order {
            let burdens = &jobs[job];
            let place = places.get(&key(burdens)).copied().filter(|&place| place >= gone);
            is_same &= place == Some(gone);
            if let Some(place) = place {
                last[gone..place].iter().for_each(|choice| self.use_by_last(choice));
                gone = place + 1;
            }
            let known = place.map(|place| &last[place]);
            let choice = match known.filter(|_| is_same || !self.is_otherwise(burdens)) {
                Some(known) => {
                    self.use_by_both(known);
                    known.clone()
                }
                None => {
                    known.into_iter().for_each(|known| self.use_by_last(known));
                    self.choose_anew(burdens)
                }
            };
            paths[job].clone_from(&choice.chosen);
            self.last.push(choice);
        }
        paths
    }

    /// Whether a link of its candidates is used otherwise than it was.
    fn is_otherwise(&self, burdens: &Burdens) -> bool {
        burdens.reach().iter().any(|&link| self.used[link as usize].is_otherwise())
    }

    fn choose_anew(&mut self, burdens: &Arc<Burdens>) -> Choice {
        let mut chosen = vec![0; burdens.largest_first.len()];
        for &transfer in &burdens.largest_first {
            let candidate = burdens.least_congested(transfer, |link| self.used[link as usize].now);
            chosen[transfer as usize] = candidate;
            burdens.uses(transfer, candidate).for_each(|(link, share)| self.used[link as usize].now += share);
        }
        Choice { burdens: Arc::clone(burdens), chosen }
    }

    fn use_by_last(&mut self, choice: &Choice) {
        for (link, share) in choice.uses() {
            self.used[link as usize].last += share;
        }
    }

    fn use_by_both(&mut self, choice: &Choice) {
        for (link, share) in choice.uses() {
            let used = &mut self.used[link as usize];
            used.now += share;
            used.last += share;
        }
    }
}

impl Choice {
    /// Links with the shares that are added to them, in the order of choosing.
    fn uses(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        let transfers = self.burdens.largest_first.iter();
        transfers.flat_map(|&transfer| self.burdens.uses(transfer, self.chosen[transfer as usize]))
    }
}
