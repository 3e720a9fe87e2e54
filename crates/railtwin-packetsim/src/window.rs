//! The devices of one thread, and the work of one window of time.
use crate::agenda::NEVER;
use crate::changes::Changes;
use crate::congestion::Control;
use crate::device::{Device, DeviceState};
use crate::host::{Host, Shared, Word};
use crate::packet::Arrival;
use crate::post::{Mail, Post};

/// Words with their time and the host that spoke.
pub type Words = Vec<(u64, u32, Word)>;

/// One thread's devices.
#[derive(Debug)]
pub struct Part<C: Control> {
    /// The devices, in order of their numbers.
    pub devices: Vec<Device<C>>,
    /// What is under way to them.
    pub mail: Mail,
    /// Events worked off.
    pub events: u64,
    /// What hosts said in the last window.
    pub words: Words,
    /// Devices that had something to do in the last window.
    pub busy: usize,
    /// Ends of operations to come at its hosts, and when the last one came.
    pub ends: (u64, u64),
    /// Arrivals of a device in a window, sorted; used again.
    keys: Vec<u64>,
}

impl<C: Control> Part<C> {
    /// Devices before time zero.
    pub fn new(devices: Vec<Device<C>>, mail: Mail) -> Self {
        Self { devices, mail, events: 0, words: Words::new(), busy: 0, ends: (0, 0), keys: Vec::new() }
    }

    /// Looks when each device has something to do, and which ends of operations are to come, before the first window.
    pub fn begin(&mut self) {
        for (device, next) in self.devices.iter_mut().zip(&mut self.mail.next) {
            *next = device.agenda.next();
            if let DeviceState::Host(host) = &device.kind {
                self.ends.0 += host.ends_left();
            }
        }
    }

    /// Its hosts.
    pub fn hosts(&self) -> impl Iterator<Item = &Host<C>> {
        self.devices.iter().filter_map(|device| match &device.kind {
            DeviceState::Host(host) => Some(&**host),
            DeviceState::Switch(_) => None,
        })
    }

    /// When the next thing happens at its devices, or by what they sent to others in the last window.
    pub fn soonest(&self) -> u64 {
        self.mail.next.iter().copied().min().unwrap_or(NEVER).min(self.mail.away_soonest)
    }

    /// Whether a device has something to do, or something is under way to it, that lies beyond all times.
    pub fn has_left(&self) -> bool {
        let waits = self.mail.inboxes.iter().any(|inbox| !inbox.is_empty());
        waits || self.devices.iter().any(|device| !device.agenda.is_empty())
    }

    /// Works off all devices up to `end`.
    pub fn window(&mut self, start: u64, end: u64, shared: &Shared<'_>, changes: &Changes) {
        (self.busy, self.mail.away_soonest) = (0, NEVER);
        for row in 0..self.devices.len() {
            if self.mail.next[row] < end {
                self.busy += 1;
                self.device(row, start, end, shared, changes);
            }
        }
    }

    /// Works off one device up to `end`.
    #[inline]
    fn device(&mut self, row: usize, start: u64, end: u64, shared: &Shared<'_>, changes: &Changes) {
        let mut inbox = std::mem::take(&mut self.mail.inboxes[row]);
        self.keys.clear();
        let mut later = NEVER;
        for (index, arrival) in inbox.iter().enumerate() {
            if arrival.time < end {
                let (time, port) = (arrival.time - start, u64::from(arrival.packet.port));
                self.keys.push(time << 43 | port << 27 | index as u64);
            } else {
                later = later.min(arrival.time);
            }
        }
        self.keys.sort_unstable();
        let device = &mut self.devices[row];
        let mut post = Post { mail: &mut self.mail, parts: &shared.network.parts };
        let mut keys = self.keys.iter();
        let mut key = keys.next();
        loop {
            let next = device.agenda.next();
            let arrival = key.map_or(NEVER, |key| start + (key >> 43));
            let now = next.min(arrival);
            if now >= end {
                break;
            }
            self.events += 1;
            if now >= device.sample_end {
                device.sample(now, NEVER, shared);
            }
            if next <= arrival {
                let task = device.agenda.pop().map_or(0, |(_, task)| task);
                device.act(now, task, shared, changes, &mut post);
            } else {
                let index = key.map_or(0, |key| key & ((1 << 27) - 1));
                device.arrive(now, inbox[index as usize].packet, shared, &mut post);
                key = keys.next();
            }
        }
        if later == NEVER {
            inbox.clear();
        } else {
            inbox.retain(|arrival: &Arrival| arrival.time >= end);
        }
        let fresh = &mut self.mail.inboxes[row];
        inbox.append(fresh);
        *fresh = inbox;
        let own = fresh.iter().map(|arrival| arrival.time).min().unwrap_or(NEVER);
        self.mail.next[row] = own.min(self.devices[row].agenda.next());
        if let DeviceState::Host(host) = &mut self.devices[row].kind {
            let (ended, last) = host.take_ends();
            self.ends = (self.ends.0 - ended, self.ends.1.max(last));
            if host.spoken < host.words.len() {
                let said = host.words[host.spoken..].iter();
                self.words.extend(said.map(|&(at, word)| (at, host.host, word)));
                host.spoken = host.words.len();
            }
        }
    }
}
