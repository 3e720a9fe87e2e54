//! A device: what it is, what it has to do, what changes it from outside, and the samples of its ports.
use railtwin_engine::packet_log::QueueSample;

use crate::agenda::{Agenda, NEVER};
use crate::changes::{Changes, What};
use crate::congestion::Control;
use crate::host::{Host, Shared};
use crate::network::Line;
use crate::packet::{ALL_LEVELS, Kind, Packet};
use crate::ports::Port;
use crate::post::Post;
use crate::readings::Readings;
use crate::switch::Switch;

/// A device with what it has to do.
#[derive(Debug)]
pub struct Device<C: Control> {
    /// What it has to do.
    pub agenda: Agenda,
    /// What it is.
    pub kind: DeviceState<C>,
    /// End of the sample that is being taken.
    pub(crate) sample_end: u64,
    /// Samples taken.
    pub samples: Vec<QueueSample>,
    /// Readings of its counters.
    pub(crate) readings: Readings,
}

/// State of a device.
#[derive(Debug)]
pub enum DeviceState<C: Control> {
    /// A host.
    Host(Box<Host<C>>),
    /// A switch.
    Switch(Box<Switch>),
}

/// Changes come first among the tasks of a moment, at a switch after ports that become free.
const CHANGE: u64 = 0;
/// Within a host and a switch tasks have other kinds: changes are told apart by this bit.
const CHANGE_BIT: u64 = 1 << 55;

/// The task of a change, by its row.
pub const fn change_task(row: u64) -> u64 {
    CHANGE | CHANGE_BIT | row
}

/// Whether a task is a change.
pub const fn is_change(task: u64) -> bool {
    task & (0xFF << 56 | CHANGE_BIT) == CHANGE | CHANGE_BIT
}

impl<C: Control> Device<C> {
    pub(crate) fn last(&self) -> u64 {
        // What would leave beyond all times was never sent whole.
        let within = |until: &u64| *until < NEVER;
        match &self.kind {
            DeviceState::Host(host) => {
                host.ports.iter().map(|port| port.port.busy_until).filter(within).max()
            }
            DeviceState::Switch(switch) => {
                switch.ports.iter().map(|port| port.busy_until).filter(within).max()
            }
        }
        .unwrap_or(0)
    }

    /// Reads what is needed whatever it does.
    #[inline]
    pub(crate) fn touch(&self) -> u64 {
        let state = match &self.kind {
            DeviceState::Switch(switch) => switch.touch(),
            DeviceState::Host(host) => host.touch(),
        };
        self.agenda.next() ^ state
    }

    #[inline]
    pub(crate) fn arrive(&mut self, now: u64, packet: Packet, shared: &Shared<'_>, post: &mut Post<'_>) {
        match &mut self.kind {
            DeviceState::Switch(switch) => {
                switch.arrive(now, packet, &shared.network, &mut self.agenda, post)
            }
            DeviceState::Host(host) => host.arrive(now, packet, shared, &mut self.agenda, post),
        }
    }

    #[inline]
    pub(crate) fn act(
        &mut self,
        now: u64,
        task: u64,
        shared: &Shared<'_>,
        changes: &Changes,
        post: &mut Post<'_>,
    ) {
        if is_change(task) {
            let (.., what) = changes.all[(task & (CHANGE_BIT - 1)) as usize];
            return self.change(now, what, shared, post);
        }
        match &mut self.kind {
            DeviceState::Switch(switch) => switch.act(now, task, &mut self.agenda, post),
            DeviceState::Host(host) => host.act(now, task, shared, &mut self.agenda, post),
        }
    }

    /// Shows all its ports, with the bytes that wait for each.
    pub(crate) fn each_port(&self, mut see: impl FnMut(&Port, u64)) {
        match &self.kind {
            DeviceState::Host(host) => host.ports.iter().for_each(|port| see(&port.port, 0)),
            DeviceState::Switch(switch) => {
                (0..).zip(&switch.ports).for_each(|(row, port)| see(port, switch.waiting(row)));
            }
        }
    }

    /// The line of a port.
    pub(crate) fn line(&self, row: u16) -> &Line {
        match &self.kind {
            DeviceState::Host(host) => &host.ports[usize::from(row)].port.line,
            DeviceState::Switch(switch) => &switch.ports[usize::from(row)].line,
        }
    }

    fn port(&mut self, row: usize) -> &mut Port {
        match &mut self.kind {
            DeviceState::Host(host) => &mut host.ports[row].port,
            DeviceState::Switch(switch) => &mut switch.ports[row],
        }
    }

    fn change(&mut self, now: u64, what: What, shared: &Shared<'_>, post: &mut Post<'_>) {
        match what {
            What::Follow(epoch) => match &mut self.kind {
                DeviceState::Host(host) => {
                    host.follow(shared, epoch);
                    host.line_up_all(now, shared, &mut self.agenda, post);
                }
                DeviceState::Switch(switch) => switch.epoch = epoch,
            },
            What::Dead(port, dead) => {
                self.port(usize::from(port)).dead = dead;
                if dead {
                    // Who is cut off is no longer paused: the frame that ends the pause could not arrive.
                    self.arrive(now, Packet::pausing(Kind::Freed, port, ALL_LEVELS), shared, post);
                } else if let DeviceState::Switch(switch) = &mut self.kind {
                    switch.remind(now, usize::from(port), post);
                }
            }
            // The pause that it was told ends after its quanta, and nobody renews it.
            What::Deaf(port) => {
                self.arrive(now, Packet::pausing(Kind::Freed, port, ALL_LEVELS), shared, post);
            }
            What::Lossy(port, share) => self.port(usize::from(port)).lossy = share,
            What::Late(port, added, begins) => self.port(usize::from(port)).take_longer(added, begins),
            What::Storm(port, true) => {
                let levels = ALL_LEVELS >> (8 - shared.network.levels.min(8));
                self.port(usize::from(port)).pause(now, levels);
            }
            What::Storm(port, false) => {
                let packet = Packet::pausing(Kind::Freed, port, ALL_LEVELS);
                self.arrive(now, packet, shared, post);
            }
            What::Slow(nic, speed) => {
                if let DeviceState::Host(host) = &mut self.kind {
                    host.slow_down(now, nic as usize, speed, &mut self.agenda);
                }
            }
            What::Limit(bytes) => {
                if let DeviceState::Switch(switch) = &mut self.kind {
                    switch.buffer.limit = bytes;
                }
            }
        }
    }

    /// Closes the samples that ended by the end of the run, and the one that it cuts short.
    pub(crate) fn close(&mut self, end: u64, shared: &Shared<'_>) {
        self.sample(end, end, shared);
        self.sample(self.sample_end, end, shared);
    }

    /// Closes the samples that ended before something happens at `now`.
    #[inline]
    pub(crate) fn sample_before(&mut self, now: u64, shared: &Shared<'_>) {
        if now >= self.sample_end {
            self.sample(now, NEVER, shared);
        }
        if now >= self.readings.due {
            self.read_before(now, shared);
        }
    }

    /// Closes the samples that ended by `now`; nothing lasts longer than `last`.
    #[cold]
    pub(crate) fn sample(&mut self, now: u64, last: u64, shared: &Shared<'_>) {
        let width = shared.packets.samples.map_or(NEVER, |width| width.ps().max(1));
        while now >= self.sample_end && self.sample_end < NEVER {
            let index = (self.sample_end / width - 1) as u32;
            let count = match &self.kind {
                DeviceState::Host(host) => host.ports.len(),
                DeviceState::Switch(switch) => switch.ports.len(),
            };
            let end = self.sample_end.min(last);
            let mut rest = true;
            for row in 0..count {
                let waiting = match &self.kind {
                    DeviceState::Switch(switch) => switch.waiting(row),
                    DeviceState::Host(_) => 0,
                };
                let port = self.port(row);
                port.book_pause(end.max(port.paused_since));
                let (bytes_max, paused_ps) = (port.counts.sample_max, port.counts.sample_paused);
                (port.counts.sample_max, port.counts.sample_paused) = (waiting, 0);
                rest &= waiting == 0 && port.paused == 0;
                if bytes_max > 0 || paused_ps > 0 {
                    let link = port.line.link;
                    self.samples.push(QueueSample { index, link, bytes_max, paused_ps });
                }
            }
            self.sample_end = self.sample_end.saturating_add(width);
            if rest && now >= self.sample_end {
                // Nothing waits and nothing is paused: what lies between has no rows.
                self.sample_end = (now / width + 1).saturating_mul(width);
            }
        }
    }
}
