//! When each device of a thread has something to do next, in blocks of devices: most windows concern few of them.
use crate::agenda::NEVER;

/// Devices of a block, whose times are two cache lines.
const BLOCK: usize = 16;

/// When each device has something to do next: lower bounds that are exact between windows.
#[derive(Debug)]
pub struct Due {
    times: Vec<u64>,
    /// The soonest of each block.
    blocks: Vec<u64>,
}

impl Due {
    /// No device of `count` has anything to do.
    pub fn new(count: usize) -> Self {
        Self { times: vec![NEVER; count], blocks: vec![NEVER; count.div_ceil(BLOCK)] }
    }

    /// When the first device has something to do.
    pub fn soonest(&self) -> u64 {
        self.blocks.iter().copied().min().unwrap_or(NEVER)
    }

    /// A device has something to do at `time`.
    #[inline]
    pub fn add(&mut self, row: usize, time: u64) {
        let (known, block) = (&mut self.times[row], &mut self.blocks[row / BLOCK]);
        (*known, *block) = (time.min(*known), time.min(*block));
    }

    /// A device has nothing to do before `time`: it was taken, and has done what it had to.
    #[inline]
    pub fn put_off(&mut self, row: usize, time: u64) {
        self.times[row] = time;
        let block = &mut self.blocks[row / BLOCK];
        *block = time.min(*block);
    }

    /// Takes all devices with something to do before `end` into the front of `rows`, in order, and gives their count; they
    /// are to be put off.
    pub fn take(&mut self, end: u64, rows: &mut Vec<u32>) -> usize {
        // Rows are written whether they are due or not, as guesses which are would often be wrong.
        rows.resize(self.times.len() + 1, 0);
        let mut count = 0;
        for (block, (soonest, times)) in self.blocks.iter_mut().zip(self.times.chunks(BLOCK)).enumerate() {
            if *soonest >= end {
                continue;
            }
            *soonest = NEVER;
            for (row, &time) in (block * BLOCK..).zip(times) {
                let is_due = time < end;
                rows[count] = row as u32;
                count += usize::from(is_due);
                *soonest = (*soonest).min(if is_due { NEVER } else { time });
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn devices_are_taken_when_they_are_due(
            steps in proptest::collection::vec((0_usize..70, 0_u64..1_000), 1..400),
            window in 1_u64..50,
        ) {
            let (mut due, mut times, mut rows) = (Due::new(70), vec![NEVER; 70], Vec::new());
            for (row, time) in steps {
                due.add(row, time);
                times[row] = times[row].min(time);
                let soonest = times.iter().copied().min().unwrap_or(NEVER);
                prop_assert_eq!(due.soonest(), soonest);
                if time % 3 == 0 {
                    let end = soonest + window;
                    let count = due.take(end, &mut rows);
                    let wanted: Vec<u32> = (0..70).filter(|&row| times[row as usize] < end).collect();
                    prop_assert_eq!(&rows[..count], &wanted[..]);
                    for &row in &rows[..count] {
                        let next = if row % 2 == 0 { NEVER } else { end + u64::from(row) };
                        due.put_off(row as usize, next);
                        times[row as usize] = next;
                    }
                }
            }
        }
    }
}
