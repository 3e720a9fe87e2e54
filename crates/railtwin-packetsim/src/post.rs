//! What devices send each other: packets under way, sorted by who receives them.
use crate::agenda::NEVER;
use crate::due::Due;
use crate::freight::Freight;
use crate::inbox::Inbox;
use crate::packet::{Arrival, Packet};

/// Packets under way to devices of other threads: number of the device, arrival.
pub type Parcel<F = Packet> = Vec<(u32, Arrival<F>)>;

/// What is under way to the devices of one thread.
#[derive(Debug)]
pub struct Mail<F: Freight = Packet> {
    /// Number of the first device.
    pub first: u32,
    /// What is under way to each device, in the order in which it was sent.
    pub inboxes: Vec<Inbox<F>>,
    /// When each device has something to do next.
    pub due: Due,
    /// For devices of other threads, by thread.
    pub away: Vec<Parcel<F>>,
    /// When the soonest arrives of what was sent to devices of other threads in the last window.
    pub away_soonest: u64,
    /// Packets that crossed a link.
    pub packet_hops: u64,
    /// What all devices of the thread count together: one tally stays in the cache.
    pub tally: F::Tally,
}

impl<F: Freight> Mail<F> {
    /// Nothing under way to `count` devices from `first` on, among `threads` threads.
    pub fn new(first: u32, count: usize, threads: usize) -> Self {
        Self {
            first,
            inboxes: (0..count).map(|_| Inbox::new()).collect(),
            due: Due::new(count),
            away: (0..threads).map(|_| Vec::new()).collect(),
            away_soonest: NEVER,
            packet_hops: 0,
            tally: F::Tally::default(),
        }
    }

    /// Takes what another thread sent.
    pub fn take(&mut self, parcel: &mut Parcel<F>) {
        parcel.drain(..).for_each(|(target, arrival)| self.put(target, arrival));
    }

    /// Something is under way to one of these devices.
    pub fn put(&mut self, target: u32, arrival: Arrival<F>) {
        let row = (target - self.first) as usize;
        self.due.add(row, arrival.time);
        self.inboxes[row].put(arrival);
    }

    /// What is under way to all devices.
    pub fn all_awaited(&self) -> impl Iterator<Item = Arrival<F>> + '_ {
        self.inboxes.iter().flat_map(Inbox::all)
    }
}

/// Where a device puts what it sends.
#[derive(Debug)]
pub struct Post<'a, F: Freight = Packet> {
    /// Its thread's mail.
    pub mail: &'a mut Mail<F>,
    /// First device of each thread, and the end.
    pub parts: &'a [u32],
}

impl<F: Freight> Post<'_, F> {
    /// A packet arrives at a device at `time`.
    #[inline]
    pub fn arrive(&mut self, target: u32, time: u64, packet: F) {
        self.mail.packet_hops += 1;
        self.tell(target, time, packet);
    }

    /// The same for what is no packet on a link.
    #[inline]
    pub fn tell(&mut self, target: u32, time: u64, packet: F) {
        let row = target.wrapping_sub(self.mail.first) as usize;
        let arrival = Arrival { time, packet };
        match self.mail.inboxes.get_mut(row) {
            Some(inbox) => {
                inbox.put(arrival);
                self.mail.due.add(row, time);
            }
            None => {
                let thread = self.parts.partition_point(|&first| first <= target) - 1;
                self.mail.away_soonest = self.mail.away_soonest.min(time);
                self.mail.away[thread].push((target, arrival));
            }
        }
    }
}
