//! Devices by windows of time, on any number of threads.
use crate::agenda::{Agenda, NEVER};
use crate::changes::{Changes, What};
use crate::closing::Closed;
use crate::congestion::Control;
use crate::device::{Device, DeviceState, change_task};
use crate::histogram::Histogram;
use crate::host::{Host, Shared};
use crate::meeting::{Account, Meeting};
use crate::network::Place;
use crate::post::Mail;
use crate::slots::SendSlots;
use crate::switch::Switch;
use crate::window::Part;

/// All devices of a run.
#[derive(Debug)]
pub struct Machine<C: Control> {
    parts: Vec<Part<C>>,
    account: Account,
}

/// What a run leaves behind, devices in order of their numbers.
#[derive(Debug)]
pub struct Done<C: Control> {
    /// Devices.
    pub devices: Vec<Device<C>>,
    /// Packets that crossed a link.
    pub packet_hops: u64,
    /// Events worked off.
    pub events: u64,
    /// When the last port had sent its last packet.
    pub end: u64,
    /// Whether something was left to do that lies beyond all times.
    pub left: bool,
    /// Links as they were when all operations had ended; none where some never did.
    pub closed: Option<Closed>,
    /// Times from data to its acknowledgement.
    pub round_trip: Histogram,
}

impl<C: Control + std::fmt::Debug> Machine<C> {
    /// All devices before time zero.
    pub fn new(shared: &Shared<'_>, changes: &Changes, control: C, draw: u64) -> Self {
        let network = shared.network;
        let threads = network.parts.len() - 1;
        let sample = shared.packets.samples.map_or(NEVER, |width| width.ps().max(1));
        let mut parts: Vec<Part<C>> = Vec::with_capacity(threads);
        for cut in network.parts.windows(2) {
            let mut devices = Vec::with_capacity((cut[1] - cut[0]) as usize);
            for place in &network.places[cut[0] as usize..cut[1] as usize] {
                let mut agenda = Agenda::default();
                let kind = match *place {
                    Place::Host(host) => {
                        DeviceState::Host(Box::new(Host::new(shared, host, control, &mut agenda)))
                    }
                    Place::Switch(row) => DeviceState::Switch(Box::new(Switch::new(network, row, draw))),
                };
                devices.push(Device { agenda, kind, sample_end: sample, samples: Vec::new() });
            }
            let mail = Mail::new(cut[0], devices.len(), threads);
            parts.push(Part::new(devices, mail));
        }
        let mut machine = Self { parts, account: Account::default() };
        machine.connect(shared);
        for (row, &(device, at, _)) in (0..).zip(&changes.all) {
            let (part, row_in_part) = machine.find(shared, device);
            machine.parts[part].devices[row_in_part].agenda.push(at, change_task(row));
        }
        machine.parts.iter_mut().for_each(Part::begin);
        machine
    }

    fn find(&self, shared: &Shared<'_>, device: u32) -> (usize, usize) {
        let parts = &shared.network.parts;
        let part = parts.partition_point(|&first| first <= device) - 1;
        (part, (device - parts[part]) as usize)
    }

    /// A host by its number in the fabric.
    pub fn host(&mut self, shared: &Shared<'_>, host: u32) -> &mut Host<C> {
        let (part, row) = self.find(shared, shared.network.host_at[host as usize]);
        match &mut self.parts[part].devices[row].kind {
            DeviceState::Host(host) => host,
            DeviceState::Switch(_) => unreachable!("the number of a host is no switch's"),
        }
    }

    /// Gives hosts both ends of all queue pairs and connections.
    fn connect(&mut self, shared: &Shared<'_>) {
        let network = shared.network;
        let fabric = &network.case.fabric;
        let cleared = shared.cleared();
        let routing = &network.case.routing;
        let slots = || Box::new(SendSlots::new(routing.slots, routing.order_of_slots()));
        let mut queue_pair = 0;
        for &count in &shared.queue_pairs_of {
            let [source, target] =
                network.ends[queue_pair as usize].map(|nic| fabric.host_of(nic).map_or(0, |h| h.0));
            let first = shared.slots[queue_pair as usize][0];
            self.host(shared, source).connect_from(first, count, cleared, routing.is_dynamic().then(slots));
            self.host(shared, target).connect_to(queue_pair);
            for _ in 0..count {
                self.host(shared, source).add_sender(shared, queue_pair);
                self.host(shared, target).add_receiver(shared, queue_pair);
                queue_pair += 1;
            }
        }
    }

    /// Shows all devices.
    pub fn each_device(&mut self, see: impl FnMut(&mut Device<C>)) {
        self.parts.iter_mut().flat_map(|part| &mut part.devices).for_each(see);
    }

    /// When a device has something to do next; [`NEVER`] where none has.
    pub fn soonest(&self) -> u64 {
        self.parts.iter().map(Part::soonest).min().unwrap_or(NEVER)
    }

    /// Whether all operations have ended.
    pub fn is_over(&self) -> bool {
        self.parts.iter().all(|part| part.ends.0 == 0)
    }

    /// Every device follows the routes of an epoch from `at` on, which no device has passed.
    pub fn follow(&mut self, at: u64, epoch: usize, changes: &mut Changes) {
        for part in &mut self.parts {
            let first = part.mail.first;
            for (row, (device, next)) in part.devices.iter_mut().zip(&mut part.mail.next).enumerate() {
                let task = change_task(changes.all.len() as u64);
                changes.all.push((first + row as u32, at, What::Follow(epoch)));
                device.agenda.push(at, task);
                *next = at.min(*next);
            }
        }
    }

    /// Runs up to `until`: what is due then is not done yet.
    pub fn run_until(&mut self, until: u64, shared: &Shared<'_>, changes: &Changes) {
        if let [part] = self.parts.as_mut_slice() {
            self.account.alone(&mut [part], usize::MAX, until, shared, changes);
        } else {
            let (parts, account) = (std::mem::take(&mut self.parts), std::mem::take(&mut self.account));
            let meeting = Meeting::new(parts, account, until);
            std::thread::scope(|scope| {
                let threads = 0..shared.network.parts.len() - 1;
                let workers: Vec<_> = threads
                    .map(|thread| {
                        let meeting = &meeting;
                        scope.spawn(move || meeting.attend(thread, shared, changes))
                    })
                    .collect();
                for worker in workers {
                    worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                }
            });
            (self.parts, self.account) = meeting.finish();
        }
    }

    /// What is left behind when nothing is left to do.
    pub fn finish(self, shared: &Shared<'_>) -> Done<C> {
        let packet_hops = self.parts.iter().map(|part| part.mail.packet_hops).sum();
        let events = self.parts.iter().map(|part| part.events).sum();
        let mut round_trip = Histogram::default();
        self.parts.iter().for_each(|part| round_trip.merge(&part.mail.round_trip));
        let left = self.parts.iter().any(Part::has_left);
        let mut devices: Vec<_> = self.parts.into_iter().flat_map(|part| part.devices).collect();
        let end = devices.iter().map(Device::last).max().unwrap_or(0);
        if shared.packets.samples.is_some() {
            devices.iter_mut().for_each(|device| device.close(end, shared));
        }
        Done { devices, packet_hops, events, end, left, closed: self.account.closed, round_trip }
    }
}
