//! Levels that a cut leaves open follow the priorities.
//!
//! Of random topological orders the lot says where jobs stand that share no link: a cut is as good with the levels of two
//! of them exchanged. Where a path changes later, the wrong one would go first. So pairs whose levels lie against their
//! priorities change places, or one of them moves, as long as the cut keeps as much apart.
use super::contention_dag::ContentionDag;

/// Share of the weights of a job within which two cuts are the same.
const SAME: f64 = 1e-9;

/// Who contends with whom, and who goes first of those that do not.
pub(super) struct Ties {
    /// By job: who contends with it, the weight from it and to it.
    neighbours: Vec<Vec<(usize, f64, f64)>>,
    /// Jobs, the highest priority first.
    order: Vec<usize>,
}

impl Ties {
    /// Of a DAG whose jobs fall so in `order`.
    pub(super) fn of(dag: &ContentionDag, order: &[usize]) -> Self {
        let neighbours = (0..order.len()).map(|job| dag.neighbours(job)).collect();
        Self { neighbours, order: order.to_vec() }
    }

    /// Weight that `job` at `level` keeps apart from its neighbours, whose levels `of` says; none where one would stand
    /// before a job of higher priority that it contends with.
    fn kept(&self, job: usize, level: u32, of: impl Fn(usize) -> u32) -> Option<f64> {
        let mut kept = 0.0;
        for &(other, from, to) in &self.neighbours[job] {
            let theirs = of(other);
            if (from > 0.0 && level > theirs) || (to > 0.0 && theirs > level) {
                return None;
            }
            if level != theirs {
                kept += from + to;
            }
        }
        Some(kept)
    }

    fn is_as_good(before: Option<f64>, after: Option<f64>) -> bool {
        before.zip(after).is_some_and(|(before, after)| after >= before * (1.0 - SAME))
    }

    /// Whether two jobs may change places. Where both are neighbours of one another they lie as they must.
    fn exchange(&self, levels: &[u32], first: usize, second: usize) -> bool {
        let exchanged = |job: usize| match job {
            _ if job == first => levels[second],
            _ if job == second => levels[first],
            _ => levels[job],
        };
        let kept = |of: &dyn Fn(usize) -> u32| {
            let one = self.kept(first, of(first), of)?;
            Some(one + self.kept(second, of(second), of)?)
        };
        Self::is_as_good(kept(&|job| levels[job]), kept(&exchanged))
    }

    /// Pairs in which `job` at `level` lies against the priorities.
    fn against(&self, levels: &[u32], place: usize, level: u32) -> usize {
        let before = self.order[..place].iter().filter(|&&other| levels[other] > level).count();
        before + self.order[place + 1..].iter().filter(|&&other| levels[other] < level).count()
    }

    /// The level for the job at a place of the order that keeps as much apart and lies against fewer others than now.
    fn better(&self, levels: &[u32], place: usize, most: u32) -> Option<u32> {
        let job = self.order[place];
        let kept = |level| self.kept(job, level, |other| levels[other]);
        let (now, against) = (kept(levels[job]), self.against(levels, place, levels[job]));
        if against == 0 {
            return None;
        }
        let fits = (0..=most).filter(|&level| Self::is_as_good(now, kept(level)));
        let least = fits.map(|level| (self.against(levels, place, level), level)).min();
        least.filter(|(fewer, _)| *fewer < against).map(|(_, level)| level)
    }
}

/// Puts `levels` in the order of priorities as far as the cut stays as good. Each change leaves fewer pairs that lie
/// against it, so there is an end.
pub(super) fn in_order(ties: &Ties, levels: &mut [u32]) {
    let most = levels.iter().copied().max().unwrap_or(0);
    loop {
        let mut is_changed = false;
        for (place, &first) in ties.order.iter().enumerate() {
            for &second in &ties.order[place + 1..] {
                if levels[first] > levels[second] && ties.exchange(levels, first, second) {
                    levels.swap(first, second);
                    is_changed = true;
                }
            }
        }
        if is_changed {
            continue;
        }
        // Nobody can change places: one of a pair alone may yet.
        let moved = (0..ties.order.len()).find_map(|place| Some((place, ties.better(levels, place, most)?)));
        let Some((place, level)) = moved else { return };
        levels[ties.order[place]] = level;
    }
}
