//! Who contends with whom: jobs are put together that share links, and apart again.
use std::collections::BTreeMap;

use railtwin_control::crux::demand::{Demand, JobDemand};

use super::{Key, Standing, World};
use crate::component::{Component, Member};
use crate::live::Course;
use crate::reading::Rows;

impl World<'_> {
    /// Puts jobs together that contend, and apart that do not.
    pub(super) fn regroup(&mut self) {
        let now = self.now;
        let jobs = self.on_links();
        let steps = (0..).zip(&jobs).map(|(at, job)| (at, self.live[job].asks()));
        let reads = (0..).zip(&jobs).filter_map(|(at, job)| Some((at, &self.live[job].reads()?.demand.now)));
        let rows: Vec<(u32, &JobDemand)> = steps.chain(reads).collect();
        let groups = self.sharing.groups(jobs.len(), rows.into_iter());
        let mut members: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (at, &group) in groups.of.iter().enumerate() {
            members.entry(group).or_default().push(at);
        }
        for (&job, _) in jobs.iter().zip(&groups.shares).filter(|(_, shares)| **shares) {
            self.live.get_mut(&job).expect("it runs").shared_a_link = true;
        }
        members.retain(|_, members| members.len() > 1);
        let wanted: Vec<(Vec<usize>, Key, Vec<u32>)> = members
            .into_values()
            .map(|at| {
                let key = at.iter().map(|&at| (jobs[at], self.live[&jobs[at]].version)).collect();
                let levels = ranks(at.iter().map(|&at| self.live[&jobs[at]].level).collect());
                (at, key, levels)
            })
            .collect();
        let stays = |one: &Standing| {
            wanted.iter().any(|(_, key, levels)| *key == one.key && *levels == one.component.levels)
        };
        let (kept, gone): (Vec<Standing>, Vec<Standing>) =
            std::mem::take(&mut self.components).into_iter().partition(stays);
        self.components = kept;
        let mut pool = std::mem::take(&mut self.parked);
        for one in gone {
            pool.extend(self.dissolved(one));
        }
        for (at, key, levels) in wanted {
            if self.components.iter().any(|one| one.key == key) {
                continue;
            }
            let steps = at.iter().map(|&at| self.live[&jobs[at]].asks().clone());
            let reads = at
                .iter()
                .enumerate()
                .filter_map(|(member, &at)| Some((member, self.live[&jobs[at]].reads()?.demand.now.clone())));
            let (owners, reads): (Vec<usize>, Vec<JobDemand>) = reads.unzip();
            let whole = Demand {
                jobs: steps.chain(reads).collect(),
                links: self.tenants.links.len(),
                fair: self.fair.clone(),
            };
            let all: Vec<usize> = (0..whole.jobs.len()).collect();
            let owner = |row: usize| row.checked_sub(at.len()).map_or(row, |read| owners[read]);
            let mut pairs: Vec<(usize, usize)> = whole
                .contending()
                .into_iter()
                .map(|(one, other)| (owner(one), owner(other)))
                .filter(|(one, other)| one != other)
                .map(|(one, other)| (key[one.min(other)].0, key[one.max(other)].0))
                .collect();
            pairs.sort_unstable();
            pairs.dedup();
            let inside = at.iter().map(|&at| self.enter(jobs[at], &mut pool)).collect();
            let (jitter, steady) = (self.ask.jitter, self.ask.steady);
            let reduced = whole.reduced(&all);
            self.effort.ungated += u64::from(reduced.is_fairness_at_stake());
            let demand = (reduced.binding(), owners);
            let component = Component::new(inside, demand, levels, now, (jitter, steady));
            self.components.push(Standing { key, pairs, since: now, component });
            self.effort.epochs += 1;
        }
        // Who is left has nobody in its way any more.
        for (job, (member, rows)) in pool {
            let live = self.live.get_mut(&job).expect("it runs");
            let elapsed = live.elapsed(rows, now);
            (live.course, live.lot) = (Course::Alone { since: now, left: member.left, elapsed }, member.lot);
        }
    }

    /// A job on its way into a component.
    fn enter(&mut self, job: usize, pool: &mut BTreeMap<usize, (Member, Rows)>) -> (Member, Rows) {
        let turn = self.turns.get(&job).copied();
        if let Some((member, rows)) = pool.remove(&job) {
            return (Member { turn, ..member }, rows);
        }
        self.settle(job);
        let now = self.now;
        let live = self.live.get_mut(&job).expect("it runs");
        let Course::Alone { left, elapsed, .. } = live.course else {
            unreachable!("who contends is in the pool");
        };
        (live.course, live.contended) = (Course::Contending, true);
        let rows = live.within(now, elapsed);
        (Member { slot: job, left, lot: live.lot.clone(), turn }, rows)
    }

    fn dissolved(&mut self, one: Standing) -> Vec<(usize, (Member, Rows))> {
        for &pair in &one.pairs {
            *self.pairs.entry(pair).or_insert(0.0) += self.now - one.since;
        }
        let mut told = Vec::new();
        let parts = one.component.dissolve(self.now, &mut told, &mut self.effort);
        self.tell(&told);
        let kept = parts.iter().filter_map(|(member, _)| Some((member.slot, member.turn?)));
        self.turns.extend(kept);
        parts.into_iter().map(|(member, rows)| (member.slot, (member, rows))).collect()
    }

    /// Takes the component of a job apart that ends or moves: all of it are parked until jobs are grouped again.
    pub(super) fn dissolve_of(&mut self, job: usize) {
        let Some(at) = self.components.iter().position(|one| one.key.iter().any(|key| key.0 == job)) else {
            return;
        };
        let one = self.components.remove(at);
        let parts = self.dissolved(one);
        self.parked.extend(parts);
    }
}

/// Levels by their order alone.
fn ranks(levels: Vec<u32>) -> Vec<u32> {
    let mut known = levels.clone();
    known.sort_unstable();
    known.dedup();
    levels.iter().map(|level| known.partition_point(|one| one < level) as u32).collect()
}
