//! The devices of one thread, and the work of one window of time.
use crate::agenda::NEVER;
use crate::freight::Freight;
use crate::post::{Mail, Post};
use crate::world::World;

/// Devices whose state is fetched at once: what they need first of it fits the nearest cache.
const GROUP: usize = 8;

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
    /// Devices that have something to do in a window, and what arrives at one of them, sorted; used again.
    due: Vec<u32>,
    keys: Vec<u64>,
    arrivals: Vec<W::Freight>,
}

impl<W: World> Part<W> {
    /// Devices before time zero.
    pub fn new(devices: Vec<W::Device>, mail: Mail<W::Freight>) -> Self {
        Self {
            devices,
            mail,
            events: 0,
            said: W::Said::default(),
            busy: 0,
            due: Vec::new(),
            keys: Vec::new(),
            arrivals: Vec::new(),
        }
    }

    /// Looks when each device has something to do, before the first window.
    pub fn begin(&mut self) {
        for (row, device) in self.devices.iter().enumerate() {
            self.mail.due.add(row, W::agenda(device).next());
            W::begin(device, &mut self.said);
        }
    }

    /// When the next thing happens at its devices, or by what they sent to others in the last window.
    pub fn soonest(&self) -> u64 {
        self.mail.due.soonest().min(self.mail.away_soonest)
    }

    /// Whether a device has something to do, or something is under way to it, that lies beyond all times.
    pub fn has_left(&self) -> bool {
        let waits = self.mail.inboxes.iter().any(|inbox| !inbox.is_empty());
        waits || self.devices.iter().any(|device| !W::agenda(device).is_empty())
    }

    /// Works off all devices up to `end`.
    pub fn window(&mut self, start: u64, end: u64, context: W::Context<'_>) {
        self.mail.away_soonest = NEVER;
        let mut due = std::mem::take(&mut self.due);
        // Nothing that a device does in a window concerns another one before its end.
        self.busy = self.mail.due.take(end, &mut due);
        for group in due[..self.busy].chunks(GROUP) {
            let touched = group.iter().map(|&row| self.touch(row as usize)).fold(0, u64::wrapping_add);
            std::hint::black_box(touched);
            group.iter().for_each(|&row| self.device(row as usize, start, end, context));
        }
        self.due = due;
    }

    /// Reads what a device needs first, so that the caches fetch it for a whole group at once.
    #[inline]
    fn touch(&self, row: usize) -> u64 {
        self.mail.inboxes[row].any_time() ^ W::touch(&self.devices[row])
    }

    /// Works off one device up to `end`.
    #[inline]
    fn device(&mut self, row: usize, start: u64, end: u64, context: W::Context<'_>) {
        let Self { keys, arrivals, .. } = self;
        keys.clear();
        arrivals.clear();
        let later = self.mail.inboxes[row].take_until(end, |arrival| {
            let (after, port) = (arrival.time - start, u64::from(arrival.packet.port()));
            keys.push(after << 43 | port << 27 | arrivals.len() as u64);
            arrivals.push(arrival.packet);
        });
        keys.sort_unstable();
        // What the device sends itself comes on top.
        self.mail.due.put_off(row, later);
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
                let index = key.map_or(0, |key| key & ROW);
                W::arrive(device, now, self.arrivals[index as usize], context, &mut post);
                key = keys.next();
            }
        }
        self.mail.due.add(row, W::agenda(&self.devices[row]).next());
        W::after(&mut self.devices[row], &mut self.said);
    }
}

/// Bits of a key that say which arrival it is; above them are the port and the time since the window began.
const ROW: u64 = (1 << 27) - 1;
