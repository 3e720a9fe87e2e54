//! The devices of one thread, and the work of one window of time.
use crate::agenda::NEVER;
use crate::packet::Arrival;
use crate::post::{Mail, Post};
use crate::world::{Freight, World};

/// One thread's devices.
#[derive(Debug)]
pub struct Part<W: World> {
    /// The devices, in order of their numbers.
    pub devices: Vec<W::Device>,
    /// What is under way to them.
    pub mail: Mail<W::Freight>,
    /// Events worked off.
    pub events: u64,
    /// What devices said.
    pub said: W::Said,
    /// Devices that had something to do in the last window.
    pub busy: usize,
    /// Arrivals of a device in a window, sorted; used again.
    keys: Vec<u64>,
}

impl<W: World> Part<W> {
    /// Devices before time zero.
    pub fn new(devices: Vec<W::Device>, mail: Mail<W::Freight>) -> Self {
        Self { devices, mail, events: 0, said: W::Said::default(), busy: 0, keys: Vec::new() }
    }

    /// Looks when each device has something to do, before the first window.
    pub fn begin(&mut self) {
        for (device, next) in self.devices.iter().zip(&mut self.mail.next) {
            *next = W::agenda(device).next();
            W::begin(device, &mut self.said);
        }
    }

    /// When the next thing happens at its devices, or by what they sent to others in the last window.
    pub fn soonest(&self) -> u64 {
        self.mail.next.iter().copied().min().unwrap_or(NEVER).min(self.mail.away_soonest)
    }

    /// Whether a device has something to do, or something is under way to it, that lies beyond all times.
    pub fn has_left(&self) -> bool {
        let waits = self.mail.inboxes.iter().any(|inbox| !inbox.is_empty());
        waits || self.devices.iter().any(|device| !W::agenda(device).is_empty())
    }

    /// Works off all devices up to `end`.
    pub fn window(&mut self, start: u64, end: u64, context: W::Context<'_>) {
        (self.busy, self.mail.away_soonest) = (0, NEVER);
        for row in 0..self.devices.len() {
            if self.mail.next[row] < end {
                self.busy += 1;
                self.device(row, start, end, context);
            }
        }
    }

    /// Works off one device up to `end`.
    #[inline]
    fn device(&mut self, row: usize, start: u64, end: u64, context: W::Context<'_>) {
        let mut inbox = std::mem::take(&mut self.mail.inboxes[row]);
        self.keys.clear();
        let mut later = NEVER;
        for (index, arrival) in inbox.iter().enumerate() {
            if arrival.time < end {
                let (time, port) = (arrival.time - start, u64::from(arrival.packet.port()));
                self.keys.push(time << 43 | port << 27 | index as u64);
            } else {
                later = later.min(arrival.time);
            }
        }
        self.keys.sort_unstable();
        let device = &mut self.devices[row];
        let mut post = Post { mail: &mut self.mail, parts: W::cuts(context) };
        let mut keys = self.keys.iter();
        let mut key = keys.next();
        loop {
            let next = W::agenda(device).next();
            let arrival = key.map_or(NEVER, |key| start + (key >> 43));
            let now = next.min(arrival);
            if now >= end {
                break;
            }
            self.events += 1;
            if next <= arrival {
                let task = W::agenda_mut(device).pop().map_or(0, |(_, task)| task);
                W::act(device, now, task, context, &mut post);
            } else {
                let index = key.map_or(0, |key| key & ((1 << 27) - 1));
                W::arrive(device, now, inbox[index as usize].packet, context, &mut post);
                key = keys.next();
            }
        }
        if later == NEVER {
            inbox.clear();
        } else {
            inbox.retain(|arrival: &Arrival<_>| arrival.time >= end);
        }
        let fresh = &mut self.mail.inboxes[row];
        inbox.append(fresh);
        *fresh = inbox;
        let own = fresh.iter().map(|arrival| arrival.time).min().unwrap_or(NEVER);
        self.mail.next[row] = own.min(W::agenda(&self.devices[row]).next());
        W::after(&mut self.devices[row], &mut self.said);
    }
}
