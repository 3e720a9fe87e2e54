//! What one device has to do: a small heap by time, then by what it is.

/// Later than everything.
pub const NEVER: u64 = u64::MAX;

/// A four-ary heap of (time, task): devices have few tasks at a time, so that it stays in the nearest cache.
#[derive(Debug, Default)]
pub struct Agenda {
    entries: Vec<(u64, u64)>,
}

impl Agenda {
    /// Time of the first task; [`NEVER`] without one.
    #[inline]
    pub fn next(&self) -> u64 {
        self.entries.first().map_or(NEVER, |entry| entry.0)
    }

    /// Whether nothing is on it, not even what lies beyond all times.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All tasks, in no order of time.
    pub fn tasks(&self) -> impl Iterator<Item = u64> + '_ {
        self.entries.iter().map(|&(_, task)| task)
    }

    /// Adds a task.
    #[inline]
    pub fn push(&mut self, time: u64, task: u64) {
        let mut at = self.entries.len();
        self.entries.push((time, task));
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.entries[parent] <= (time, task) {
                break;
            }
            self.entries[at] = self.entries[parent];
            at = parent;
        }
        self.entries[at] = (time, task);
    }

    /// Takes the first task.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, u64)> {
        let last = self.entries.pop()?;
        let Some(&first) = self.entries.first() else { return Some(last) };
        let count = self.entries.len();
        let mut at = 0;
        loop {
            let child = 4 * at + 1;
            if child >= count {
                break;
            }
            let end = (child + 4).min(count);
            let mut least = child;
            for other in child + 1..end {
                if self.entries[other] < self.entries[least] {
                    least = other;
                }
            }
            if self.entries[least] >= last {
                break;
            }
            self.entries[at] = self.entries[least];
            at = least;
        }
        self.entries[at] = last;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::Agenda;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn tasks_come_out_in_order(mut tasks: Vec<(u64, u64)>) {
            let mut agenda = Agenda::default();
            for &(time, task) in &tasks {
                agenda.push(time, task);
            }
            tasks.sort_unstable();
            let out: Vec<_> = std::iter::from_fn(|| agenda.pop()).collect();
            prop_assert_eq!(out, tasks);
        }
    }
}
