//! How long ranks were on their own: outside of every operation, by their own clocks.

/// Operations that may run at once on one rank and still be told apart.
const AT_ONCE: usize = 3;

/// One rank's clock: `mark` is the last moment at which it entered or left an operation.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Clock {
    mark: u64,
    own: u64,
    ends: [u64; AT_ONCE],
    known: bool,
}

/// Own time of all ranks. Operations may overlap: what runs beside another stream's operation is own time too, until an
/// end that the rank waited for.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OwnTime {
    clocks: Vec<Clock>,
}

impl OwnTime {
    /// Room for so many ranks.
    pub fn grow(&mut self, ranks: usize) {
        if self.clocks.len() < ranks {
            self.clocks.resize(ranks, Clock::default());
        }
    }

    /// The last moment told of a rank; 0 where there is none.
    #[inline]
    pub fn mark(&self, rank: u32) -> u64 {
        self.clocks[rank as usize].mark
    }

    /// A rank enters an operation; gives its own time in nanoseconds from its first record up to here.
    #[inline]
    pub fn enter(&mut self, rank: u32, enter_ns: u64, end_ns: u64) -> u64 {
        let clock = &mut self.clocks[rank as usize];
        if !clock.known {
            clock.known = true;
            clock.mark = enter_ns;
        }
        let mut room = 0;
        for (index, end) in clock.ends.iter_mut().enumerate() {
            if *end <= enter_ns {
                clock.mark = clock.mark.max(*end);
                *end = 0;
                room = index;
            }
        }
        clock.own += enter_ns.saturating_sub(clock.mark);
        clock.mark = clock.mark.max(enter_ns);
        clock.ends[room] = end_ns;
        clock.own
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.clocks.capacity() * size_of::<Clock>()
    }
}

/// The rows of a batch so that each rank's rows come in the order in which it entered; none where they already do.
pub fn order<'a>(
    rank: &[u32],
    enter_ns: &[u64],
    last: &mut [u64],
    rows: &'a mut Vec<u32>,
) -> Option<&'a [u32]> {
    last.fill(0);
    let sorted = rank.iter().zip(enter_ns).all(|(&rank, &enter)| match last.get_mut(rank as usize) {
        Some(last) => std::mem::replace(last, enter) <= enter,
        None => true,
    });
    if sorted {
        return None;
    }
    rows.clear();
    rows.extend(0..rank.len() as u32);
    rows.sort_unstable_by_key(|&row| (rank[row as usize], enter_ns[row as usize], row));
    Some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_time_is_what_lies_between_operations() {
        let mut own = OwnTime::default();
        own.grow(1);
        assert_eq!(own.enter(0, 1_000, 1_100), 0);
        assert_eq!(own.enter(0, 1_150, 1_200), 50);
        // One runs beside from 1,300 to 1,600: computing goes on until 1,400, and from its end on.
        assert_eq!(own.enter(0, 1_300, 1_600), 150);
        assert_eq!(own.enter(0, 1_400, 1_450), 250);
        assert_eq!(own.enter(0, 1_620, 1_700), 270);
    }

    #[test]
    fn rows_are_sorted_only_where_they_must() {
        let (mut last, mut rows) = (vec![0; 2], Vec::new());
        assert_eq!(order(&[0, 1, 0], &[5, 3, 6], &mut last, &mut rows), None);
        assert_eq!(order(&[0, 1, 0], &[5, 3, 4], &mut last, &mut rows), Some(&[2, 0, 1][..]));
    }
}
