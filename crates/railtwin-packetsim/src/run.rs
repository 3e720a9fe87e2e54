//! Devices by windows of time, on any number of threads.
use railtwin_control::controller::Answer;
use railtwin_engine::Survey;

use crate::account::Account;
use crate::agenda::{Agenda, NEVER};
use crate::changes::{Changes, What};
use crate::closing::Closed;
use crate::congestion::Control;
use crate::departures::Departures;
use crate::device::{Device, DeviceState, change_task, is_change};
use crate::host::{Host, Shared};
use crate::host_task::{SURVEY, is_work};
use crate::meeting::work_off;
use crate::packet::{Arrival, Kind};
use crate::places::Place;
use crate::post::Mail;
use crate::readings::Readings;
use crate::roce::{Roce, hosts};
use crate::slots::SendSlots;
use crate::switch::Switch;
use crate::tally::Tally;
use crate::window::Part as PartOf;

type Part<C> = PartOf<Roce<C>>;

/// All devices of a run.
#[derive(Debug)]
pub struct Machine<C: Control> {
    parts: Vec<Part<C>>,
    account: Account,
}

/// Why devices stopped: surveys that are over and when their last answer came, jobs that are gone and when their last
/// operation ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stops {
    /// Surveys.
    pub surveys: Vec<(u32, u64)>,
    /// Jobs.
    pub gone: Vec<(u32, u64)>,
}

impl Stops {
    /// Whether nothing stopped them before their time.
    pub fn is_empty(&self) -> bool {
        self.surveys.is_empty() && self.gone.is_empty()
    }
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
    /// What devices counted together.
    pub tally: Tally,
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
                let readings = Readings::new(shared.network.case.packets.records);
                devices.push(Device { agenda, kind, sample_end: sample, samples: Vec::new(), readings });
            }
            let mail = Mail::new(cut[0], devices.len(), threads);
            parts.push(PartOf::new(devices, mail));
        }
        let mut machine = Self { parts, account: Account::default() };
        machine.connect(shared);
        for (row, &(device, at, _)) in (0..).zip(&changes.all) {
            let (part, row_in_part) = machine.find(shared, device);
            machine.parts[part].devices[row_in_part].agenda.push(at, change_task(row));
        }
        machine.parts.iter_mut().for_each(PartOf::begin);
        machine.account.departures = Departures::new(shared, machine.parts.iter().flat_map(hosts));
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
        let network = &shared.network;
        let fabric = &network.case.fabric;
        let cleared = shared.cleared();
        let routing = &network.case.routing;
        let slots = || Box::new(SendSlots::new(routing.slots, routing.order_of_slots()));
        let mut queue_pair = 0;
        for (connection, &count) in (0..).zip(&shared.queue_pairs_of) {
            let parts = shared.parts_of(connection);
            let [source, target] =
                network.ends[queue_pair as usize].map(|nic| fabric.host_of(nic).map_or(0, |h| h.0));
            let first = shared.slots[queue_pair as usize][0];
            self.host(shared, source).connect_from(
                (first, count, parts),
                cleared,
                routing.is_dynamic().then(slots),
            );
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

    /// Runs until nothing is left to do before `until`, or a survey is over, or jobs are gone where somebody is to be told
    /// of them.
    pub fn run(&mut self, until: u64, shared: &Shared<'_>, changes: &Changes) -> Stops {
        let parts = std::mem::take(&mut self.parts);
        let mut account = std::mem::take(&mut self.account);
        account.until = until;
        (self.parts, self.account) = work_off(parts, account, (shared, changes));
        Stops {
            surveys: std::mem::take(&mut self.account.surveys.whole).into_iter().collect(),
            gone: std::mem::take(&mut self.account.departures.gone),
        }
    }

    /// When a device has something to do next; [`NEVER`] where none has.
    pub fn soonest(&self) -> u64 {
        self.parts.iter().map(PartOf::soonest).min().unwrap_or(NEVER)
    }

    /// Events worked off so far.
    pub fn events(&self) -> u64 {
        self.parts.iter().map(|part| part.events).sum()
    }

    /// Jobs that are gone are told of from now on.
    pub fn tell_of_departures(&mut self) {
        self.account.departures.are_told = true;
    }

    /// When all operations had ended; none before.
    pub fn ended(&self) -> Option<u64> {
        self.account.closed.as_ref().map(|closed| closed.at)
    }

    /// Whether operations are left that may end: something else than probes is on its way or waits for its time.
    pub fn is_working(&self) -> bool {
        let busy = |device: &Device<C>| match &device.kind {
            DeviceState::Host(host) => host.is_sending() || device.agenda.tasks().any(is_work),
            DeviceState::Switch(_) => device.agenda.tasks().any(is_change),
        };
        let probes = |arrival: &Arrival| matches!(arrival.packet.kind, Kind::Probe | Kind::Echo);
        let awaited = |part: &Part<C>| part.mail.all_awaited().any(|arrival| !probes(&arrival));
        let working = |part: &Part<C>| awaited(part) || part.devices.iter().any(busy);
        self.account.closed.is_none() && self.parts.iter().any(working)
    }

    /// Whether all operations have ended.
    pub fn has_ended(&self) -> bool {
        self.account.closed.is_some()
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

    /// Hosts begin the last survey at `at`, which no device has passed.
    pub fn begin_survey(&mut self, at: u64, shared: &Shared<'_>) {
        let survey = shared.surveys.len() - 1;
        for &host in shared.surveys[survey].of_host.keys() {
            self.remind(shared.network.host_at[host as usize], at, SURVEY | survey as u64, shared);
        }
    }

    fn remind(&mut self, device: u32, at: u64, task: u64, shared: &Shared<'_>) {
        let (part, row) = self.find(shared, device);
        let PartOf { devices, mail, .. } = &mut self.parts[part];
        devices[row].agenda.push(at, task);
        mail.due.add(row, at);
    }

    /// What became of the probes of a survey that is over.
    pub fn take_answers(&mut self, survey: u32, asked: &Survey, shared: &Shared<'_>) -> Vec<Answer> {
        // What has no cable to leave by, and what asks for nothing.
        let mut answers: Vec<Answer> =
            asked.probes.iter().map(|probe| Answer::of(probe.packets, probe.packets)).collect();
        for (&host, rows) in &shared.surveys[survey as usize].of_host {
            self.host(shared, host).prober.tell(survey, rows, &mut answers);
        }
        answers
    }

    /// Bytes that each link has carried so far without those of probes, by link id.
    pub fn carried(&self, links: usize) -> Vec<u64> {
        let mut carried = vec![0; links];
        for device in self.parts.iter().flat_map(|part| &part.devices) {
            device.each_port(|port, _| {
                carried[port.line.link as usize] = port.counts.bytes - port.counts.probes;
            });
        }
        carried
    }

    /// What the run leaves behind.
    pub fn finish(self, shared: &Shared<'_>) -> Done<C> {
        let packet_hops = self.parts.iter().map(|part| part.mail.packet_hops).sum();
        let events = self.parts.iter().map(|part| part.events).sum();
        let mut tally = Tally::default();
        self.parts.iter().for_each(|part| tally.merge(&part.mail.tally));
        let left = self.parts.iter().any(PartOf::has_left);
        let mut devices: Vec<_> = self.parts.into_iter().flat_map(|part| part.devices).collect();
        let end = devices.iter().map(Device::last).max().unwrap_or(0);
        if shared.packets.samples.is_some() {
            devices.iter_mut().for_each(|device| device.close(end, shared));
        }
        // What was under way at the end of the last operation goes on counting until the last port is still.
        devices.iter_mut().for_each(|device| device.read_last(end, shared));
        Done { devices, packet_hops, events, end, left, closed: self.account.closed, tally }
    }
}
