//! Moving a few queue pairs off the most used links: what a repair leaves to be asked for.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::{CableClass, LinkId};

use super::allocator::PathAllocator;
use super::assignment::{Assignment, JobId};
use super::replan::Move;

/// An assignment by its job and place.
type Place = (JobId, usize);

impl PathAllocator<'_> {
    /// Moves up to `limit` queue pairs, one by one, each from the most used link of which one can get away: to a path
    /// whose most used link is then less used than that one was. Ties go to the lowest link, then the lowest job
    /// and place. Access links do not count, as another path would not change them.
    pub fn rebalance(&mut self, limit: usize) -> Vec<Move> {
        let mut on_link: BTreeMap<LinkId, BTreeSet<Place>> = BTreeMap::new();
        for (&job, all) in &self.jobs {
            for (index, held) in all.iter().enumerate() {
                for &link in held.given.path.beyond_access() {
                    on_link.entry(link).or_default().insert((job, index));
                }
            }
        }
        // Highest use last; links from which nothing can move drop out until their neighbours change.
        let mut by_use: BTreeSet<(u64, std::cmp::Reverse<LinkId>)> =
            on_link.keys().map(|&link| (self.load(link), std::cmp::Reverse(link))).collect();
        let mut moves: BTreeMap<Place, Move> = BTreeMap::new();
        let mut count = 0;
        while count < limit
            && let Some((_, std::cmp::Reverse(link))) = by_use.last().copied()
        {
            let places: Vec<Place> = on_link[&link].iter().copied().collect();
            let moved = places.into_iter().find_map(|place| Some((place, self.try_move(place, link)?)));
            let Some((place, (before, after))) = moved else {
                by_use.pop_last();
                continue;
            };
            count += 1;
            self.follow_move(place, (&before, &after), &mut on_link, &mut by_use);
            let (job, index) = place;
            moves.entry(place).and_modify(|one| one.after = after).or_insert(Move {
                job,
                index,
                before,
                after,
            });
        }
        moves.into_values().filter(|one| one.before.path != one.after.path).collect()
    }

    /// Moves an assignment off `link` if that helps.
    fn try_move(&mut self, (job, index): Place, link: LinkId) -> Option<(Assignment, Assignment)> {
        let limit = self.load(link);
        let mut held = self.jobs.get(&job)?[index];
        let before = held.given;
        self.count(&before, false);
        self.scratch.new_key();
        let is_placed = self.place(&mut held);
        let after = held.given;
        let most = after.path.beyond_access().iter().map(|&link| self.load(link)).max().unwrap_or(0);
        let is_sound = after.path.links().iter().all(|&link| !self.faulty.is_down(link));
        if is_placed && is_sound && after.landed == before.landed && most < limit {
            self.jobs.get_mut(&job)?[index] = held;
            return Some((before, after));
        }
        self.count(&after, false);
        self.count(&before, true);
        None
    }

    fn follow_move(
        &self,
        place: Place,
        (before, after): (&Assignment, &Assignment),
        on_link: &mut BTreeMap<LinkId, BTreeSet<Place>>,
        by_use: &mut BTreeSet<(u64, std::cmp::Reverse<LinkId>)>,
    ) {
        let weight = u64::from(before.weight);
        let is_on = |path: &Assignment, link: &LinkId| path.path.links().contains(link);
        let left = before.path.beyond_access().iter().filter(|link| !is_on(after, link));
        let entered = after.path.beyond_access().iter().filter(|link| !is_on(before, link));
        for &link in left {
            debug_assert!(!matches!(self.fabric.cable_class(link.cable()), CableClass::Access));
            on_link.entry(link).or_default().remove(&place);
            by_use.remove(&(self.load(link) + weight, std::cmp::Reverse(link)));
            by_use.insert((self.load(link), std::cmp::Reverse(link)));
        }
        for &link in entered {
            on_link.entry(link).or_default().insert(place);
            by_use.remove(&(self.load(link) - weight, std::cmp::Reverse(link)));
            by_use.insert((self.load(link), std::cmp::Reverse(link)));
        }
    }
}
