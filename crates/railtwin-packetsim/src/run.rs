//! Devices by windows of time, on any number of threads.
use crate::agenda::{Agenda, NEVER};
use crate::changes::{Changes, What};
use crate::closing::Closed;
use crate::congestion::Control;
use crate::departures::Departures;
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
        let network = &shared.network;
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
        machine.account.departures = Departures::new(shared, machine.parts.iter().flat_map(Part::hosts));
        machine
    }

    fn find(&self, shared: &Shared<'_>, device: u32) -> (usize, usize) {
        let parts = &shared.network.parts;
        let part = parts.partition_point(|&first| first <= device) - 1;
        (part, (device - parts[part]) as usize)
    }

    fn host(&mut self, shared: &Shared<'_>, host: u32) -> &mut Host<C> {
        let (part, row) = self.find(shared, shared.network.host_at[host as usize]);
        match &mut self.parts[part].devices[row].kind {
            DeviceState::Host(host) => host,
            DeviceState::Switch(_) => unreachable!("the number of a host is no switch's"),
        }
    }

    /// Gives hosts both ends of all queue pairs and connections.
    fn connect(&mut self, shared: &Shared<'_>) {
        let network = &shared.network;
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

    /// Runs until nothing is left to do before `until`, or until jobs are gone where somebody is to be told of them:
    /// gives these, and when their last operations ended.
    pub fn run(&mut self, until: u64, shared: &Shared<'_>, changes: &Changes) -> Vec<(u32, u64)> {
        let parts = std::mem::take(&mut self.parts);
        let mut account = std::mem::take(&mut self.account);
        account.until = until;
        if parts.len() == 1 {
            self.parts = parts;
            let mut all: Vec<&mut Part<C>> = self.parts.iter_mut().collect();
            account.alone(&mut all, usize::MAX, shared, changes);
            self.account = account;
        } else {
            let meeting = Meeting::new(parts, account);
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
        std::mem::take(&mut self.account.departures.gone)
    }

    /// Jobs that are gone are told of from now on.
    pub fn tell_of_departures(&mut self) {
        self.account.departures.are_told = true;
    }

    /// When all operations had ended; none before.
    pub fn ended(&self) -> Option<u64> {
        self.account.closed.as_ref().map(|closed| closed.at)
    }

    /// All devices follow the routes of the last epoch from its time on, which no device has passed.
    pub fn follow(&mut self, shared: &Shared<'_>, changes: &mut Changes) {
        let epoch = shared.network.epochs.len() - 1;
        let at = shared.network.epochs[epoch].at.ps();
        for device in 0..shared.network.places.len() as u32 {
            let row = changes.all.len() as u64;
            changes.all.push((device, at, What::Follow(epoch)));
            self.remind(device, at, change_task(row), shared);
        }
    }

    fn remind(&mut self, device: u32, at: u64, task: u64, shared: &Shared<'_>) {
        let (part, row) = self.find(shared, device);
        let Part { devices, mail, .. } = &mut self.parts[part];
        devices[row].agenda.push(at, task);
        mail.next[row] = mail.next[row].min(at);
    }

    /// What the run leaves behind.
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
