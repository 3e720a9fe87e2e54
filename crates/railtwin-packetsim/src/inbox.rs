//! What is under way to one device.
use crate::agenda::NEVER;
use crate::packet::Arrival;

/// What is under way to one device, in the order in which it was sent.
#[derive(Debug)]
pub struct Inbox<F> {
    arrivals: Vec<Arrival<F>>,
}

impl<F: Copy> Inbox<F> {
    /// Nothing.
    pub const fn new() -> Self {
        Self { arrivals: Vec::new() }
    }

    /// Whether nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.arrivals.is_empty()
    }

    /// Adds an arrival behind those that were sent before it.
    #[inline]
    pub fn put(&mut self, arrival: Arrival<F>) {
        self.arrivals.push(arrival);
    }

    /// Time of the arrival that was sent first, whichever comes soonest; `NEVER` without one.
    #[inline]
    pub fn any_time(&self) -> u64 {
        self.arrivals.first().map_or(NEVER, |arrival| arrival.time)
    }

    /// All of it.
    pub fn all(&self) -> impl Iterator<Item = Arrival<F>> + '_ {
        self.arrivals.iter().copied()
    }

    /// Hands what arrives before `end` to `take`, in the order in which it was sent, and gives the time of the soonest of the
    /// rest.
    #[inline]
    pub fn take_until(&mut self, end: u64, mut take: impl FnMut(&Arrival<F>)) -> u64 {
        let (mut later, mut kept) = (NEVER, 0);
        for index in 0..self.arrivals.len() {
            let arrival = &self.arrivals[index];
            if arrival.time < end {
                take(arrival);
            } else {
                later = later.min(arrival.time);
                if kept < index {
                    self.arrivals[kept] = *arrival;
                }
                kept += 1;
            }
        }
        // An arrival at `NEVER` does not happen in this run.
        self.arrivals.truncate(if later == NEVER { 0 } else { kept });
        later
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrives_is_taken_in_the_order_in_which_it_was_sent() {
        let mut inbox = Inbox::new();
        for (packet, time) in (0..).zip([40, 10, 30, 10, 20, 50]) {
            inbox.put(Arrival { time, packet });
        }
        let mut take = |end| {
            let mut taken = Vec::new();
            let later = inbox.take_until(end, |arrival| taken.push(arrival.packet));
            (taken, later)
        };
        assert_eq!(take(10), (vec![], 10));
        assert_eq!(take(30), (vec![1, 3, 4], 30));
        assert_eq!(take(31), (vec![2], 40));
        assert_eq!(take(NEVER), (vec![0, 5], NEVER));
        assert!(inbox.is_empty());
    }
}
