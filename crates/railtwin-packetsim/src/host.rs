//! A host: its NICs with their queue pairs, and the operations that it works on.
use railtwin_engine::host_costs::line_share;
use railtwin_engine::packet::{Packets, WindowOf, Wire};
use railtwin_engine::{IncidentKind, Posting, Transport};
use railtwin_fabric::{DeviceId, HostId};

use crate::agenda::Agenda;
use crate::congestion::{Control, Path};
use crate::connection::Connection;
use crate::histogram::Histogram;
use crate::host_task::{
    BEGIN, CLEARED, CROSS, DELIVER, DRAINED, ENDED, GIVE_UP, KIND, LATENT, MOVED, PACED, QUIT, SURVEY, TIMER,
    UNHEARD, WAKE,
};
use crate::levels::Levels;
use crate::network::{Network, Speed};
use crate::nic::{Nic, NicPort};
use crate::packet::{Kind, Packet};
use crate::pcie::Pcie;
use crate::places::Place;
use crate::post::Post;
use crate::prober::{Prober, Rounds};
use crate::program::Program;
use crate::receiver::Receiver;
use crate::recovery::Selective;
use crate::sender::Sender;
use crate::slots::SendSlots;
use crate::told::Told;
use crate::worker::Worker;

/// What a host counts.
#[derive(Clone, Debug, Default)]
pub struct HostCounts {
    /// Data packets sent.
    pub data: u64,
    /// Of them sent before.
    pub sent_again: u64,
    /// Acknowledgements sent, negative ones included.
    pub acknowledgements: u64,
    /// Negative ones.
    pub negative: u64,
    /// Packets that arrived with a gap before them.
    pub out_of_sequence: u64,
    /// Local ACK timeouts.
    pub ack_timeouts: u64,
    /// Probes for the end of what was sent.
    pub probes: u64,
    /// Most packets from one that is missing to the last one here, of a queue pair.
    pub reorder_span: u32,
    /// Time for which nothing but the reorder bound kept queue pairs from sending, ps.
    pub reorder_held: u64,
    /// Congestion notification packets sent.
    pub cnps: u64,
    /// Clear-to-send messages sent.
    pub clear_to_send: u64,
    /// From a message that is next to its clearance.
    pub clearance_wait: Histogram,
}

/// What the host tells the rest of the cluster, and the log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Word {
    /// An operation that others wait for ended here: job, step, row in the plan.
    Ended(u32, u32, u32),
    /// All operations of a job have ended here that end here at all.
    Left(u32),
    /// Something befell a job.
    Incident(IncidentKind),
    /// A queue pair of the job has heard since then of nothing that it lost to a dead cable, and does so now.
    Waited(u32, u64),
    /// The processes of its job are ended while a queue pair waits for an answer since then.
    Silent(u32, u64),
    /// A survey is over here.
    Surveyed(u32),
}

/// One end of a flow: operation over the whole case, leg, when.
pub type FlowEnd = (u32, u32, u64);

/// What is the same for all hosts.
#[derive(Debug)]
pub struct Shared<'a> {
    /// The network.
    pub network: Network<'a>,
    /// The work.
    pub program: &'a Program,
    /// What packets ask.
    pub packets: &'a Packets,
    /// How payload is wrapped.
    pub wire: Wire,
    /// Whether acknowledgements go before data.
    pub acknowledgements_first: bool,
    /// Whether clearances go before data.
    pub clearances_first: bool,
    /// Largest message.
    pub message: u64,
    /// Timers.
    pub transport: Transport,
    /// Row of each queue pair among the senders of its source host, and among the receivers of its target host.
    pub slots: Vec<[u32; 2]>,
    /// Connection of each queue pair.
    pub connection_of: Vec<u32>,
    /// Job of each connection.
    pub jobs: Vec<u32>,
    /// First queue pair of each connection.
    pub first_of: Vec<u32>,
    /// Queue pairs of each connection.
    pub queue_pairs_of: Vec<u32>,
    /// Parts of a message of each connection.
    pub parts: Vec<u32>,
    /// Row of each connection among those of its source host and of its target host.
    pub connection_slots: Vec<[u32; 2]>,
    /// Row of each leg among those that begin at its source host, and that end at its target host.
    pub leg_slots: Vec<[u32; 2]>,
    /// Whether receivers take packets out of order.
    pub selective: bool,
    /// Bytes of so many packets that a receiver answers, to which congestion control may not shrink a window.
    pub least_window: u64,
    /// Whether marked packets are answered by congestion notifications.
    pub notifies: bool,
    /// Least time between two of them for one queue pair, ps.
    pub cnp_interval: u64,
    /// Whether starts and ends of flows are kept.
    pub flows: bool,
    /// Bytes that a queue pair sends in a turn.
    pub burst: u64,
    /// What this replicate draws from.
    pub draw: u64,
    /// When packets may be lost to dead cables, in order: from when one dies until all carry and are used.
    pub broken: Vec<[u64; 2]>,
    /// Priorities that what is sent has, as far as is known.
    pub levels: Levels,
    /// Surveys that were sent so far.
    pub surveys: Vec<Rounds>,
}

impl Shared<'_> {
    /// Job of a queue pair.
    pub fn job_of(&self, queue_pair: u32) -> u32 {
        self.jobs[self.connection_of[queue_pair as usize] as usize]
    }

    /// Whether a packet that was sent in this time, ends included, may be lost to a dead cable.
    pub fn broken_between(&self, from: u64, until: u64) -> bool {
        let first = self.broken.partition_point(|span| span[1] < from);
        self.broken.get(first).is_some_and(|span| span[0] <= until)
    }

    /// Whether there are priorities for which devices have no queues.
    pub fn is_outgrown(&self) -> bool {
        self.levels.count() > self.network.levels
    }

    /// Whether every queue pair of a connection gets a part of each message.
    pub fn splits(&self) -> bool {
        let routing = &self.network.case.routing;
        routing.posting == Posting::Split && !routing.is_dynamic()
    }

    /// Whether queue pairs of a connection share its window. Under a dynamic split its slots bound them together.
    pub fn shares_window(&self) -> bool {
        let packets = self.packets;
        packets.window.is_some()
            && packets.window_of == WindowOf::Connection
            && !self.network.case.routing.is_dynamic()
    }

    /// Buffers of every connection that are cleared from the start: those of [`Packets::admission`], else those of a
    /// collective library's channel.
    pub fn cleared(&self) -> u32 {
        if let Some(admission) = self.packets.admission {
            return admission.channels;
        }
        let routing = &self.network.case.routing;
        let slots = self.packets.library_slots(self.message).unwrap_or(0);
        if routing.is_dynamic() { routing.slots } else { slots }
    }

    /// Source and target NIC of a connection.
    pub fn ends_of(&self, connection: u32) -> [DeviceId; 2] {
        self.network.ends[self.first_of[connection as usize] as usize]
    }

    /// Parts of a message of a connection.
    #[inline]
    pub fn parts_of(&self, connection: u32) -> u32 {
        self.parts[connection as usize]
    }
}

/// A host.
#[derive(Debug)]
pub struct Host<C: Control> {
    /// Number in the fabric.
    pub host: u32,
    pub(crate) control: C,
    /// Ports of all NICs.
    pub ports: Vec<NicPort>,
    pub(crate) nics: Vec<Nic>,
    /// PCIe, where it has PCIe switches that something crosses.
    pub(crate) pcie: Option<Box<Pcie>>,
    pub(crate) senders: Vec<Sender<C::State>>,
    pub(crate) receivers: Vec<Receiver>,
    /// Connections that begin here, and that end here.
    pub(crate) from: Vec<Connection>,
    pub(crate) to: Vec<Connection>,
    pub(crate) worker: Worker,
    /// What it probes.
    pub prober: Prober,
    /// Which epoch of routes it follows.
    pub epoch: usize,
    /// Counters.
    pub counts: HostCounts,
    /// What has to be told, with its time.
    pub words: Vec<(u64, Word)>,
    /// How many of the words were told.
    pub spoken: usize,
    /// When flows began that leave here.
    pub flow_starts: Vec<FlowEnd>,
    /// When flows ended that arrive here.
    pub flow_ends: Vec<FlowEnd>,
    /// What it tells of operations and queue pairs; none where nobody asks.
    pub(crate) told: Option<Box<Told>>,
}

impl<C: Control> Host<C> {
    /// A host before the first job starts.
    pub fn new(shared: &Shared<'_>, host: u32, control: C, agenda: &mut Agenda) -> Self {
        let (network, case) = (&shared.network, shared.network.case);
        let node = network.host_at[host as usize];
        let fabric = &*case.fabric;
        let id = HostId(host);
        let mut ports = Vec::new();
        let mut nics = Vec::new();
        for row in 0..fabric.host_model(id).nics {
            let device = fabric.nic(id, row);
            let count = ports.len();
            let lines = network.lines(node).iter();
            let own = lines.filter(|line| fabric.source(railtwin_fabric::LinkId(line.link)) == device);
            ports.extend(own.map(|&line| NicPort::new(line, nics.len() as u32, network.levels)));
            let kept = line_share(case, device, network.contexts[device.index()]);
            nics.push(Nic::new(fabric, device, &ports[count..], kept));
        }
        let worker = Worker::new(shared, host, agenda);
        let pcie = Pcie::of_host(shared, host, &ports, &mut nics, worker.legs_from());
        let mut this = Self {
            host,
            control,
            ports,
            nics,
            pcie,
            senders: Vec::new(),
            receivers: Vec::new(),
            from: Vec::new(),
            to: Vec::new(),
            worker,
            prober: Prober::default(),
            epoch: 0,
            counts: HostCounts::default(),
            words: Vec::new(),
            spoken: 0,
            flow_starts: Vec::new(),
            flow_ends: Vec::new(),
            told: case.packets.records.map(|_| Box::default()),
        };
        debug_assert_eq!(network.places[node as usize], Place::Host(host));
        this.follow(shared, 0);
        this
    }

    /// Adds the sending end of a queue pair; queue pairs of a connection follow each other.
    pub fn add_sender(&mut self, shared: &Shared<'_>, queue_pair: u32) {
        let start = shared.network.start(0, queue_pair, false);
        let line = start.map_or(0, |start| usize::from(start.port));
        let speed = self
            .ports
            .get(line)
            .map_or(Speed::of(railtwin_units::Rate::from_gbps(1)), |port| port.port.line.speed);
        let full = shared.packets.full();
        let path = Path { speed, round_trip: shared.network.base_round_trip.max(1), full };
        let is_library = shared.network.case.packets.has_library(shared.job_of(queue_pair));
        let most = shared.packets.most_in_flight(is_library);
        let selective = shared.selective.then(|| {
            // Until a round trip is measured it is held for that of a whole window in one queue (Little's law).
            let window = most.map_or(0, |window| speed.time(window));
            let bound = shared.packets.reorder.map(|bound| bound.0).or(most);
            let bound = bound.map_or(u32::MAX, |bound| u32::try_from(bound / full).unwrap_or(u32::MAX));
            Selective::new(path.round_trip.saturating_add(window), bound)
        });
        let mut sender = Sender::new(queue_pair, path, self.control.start(&path), selective);
        sender.start = start;
        sender.most = most.unwrap_or(u64::MAX);
        // The connection was opened just now.
        let row = self.from.len() - 1;
        if self.from[row].count > 1 && shared.shares_window() {
            sender.shares = row as u32;
        }
        self.senders.push(sender);
    }

    /// Adds the receiving end of a queue pair.
    pub fn add_receiver(&mut self, shared: &Shared<'_>, queue_pair: u32) {
        let mut receiver = Receiver::new(queue_pair, shared.selective);
        receiver.start = shared.network.start(0, queue_pair, true);
        self.receivers.push(receiver);
        debug_assert_eq!(shared.slots[queue_pair as usize][1] as usize + 1, self.receivers.len());
    }

    /// Reads what is needed whatever it does.
    #[inline]
    pub(crate) fn touch(&self) -> u64 {
        let port = self.ports.first().map_or(0, NicPort::touch);
        let sender = self.senders.first().map_or(0, |sender| u64::from(sender.armed));
        let receiver = self.receivers.first().map_or(0, |receiver| u64::from(receiver.expected));
        port ^ sender ^ receiver ^ self.worker.fresh_ends ^ self.spoken as u64
    }

    /// A packet, or a word from elsewhere, has arrived.
    #[inline]
    pub fn arrive(
        &mut self,
        now: u64,
        packet: Packet,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        match packet.kind {
            Kind::Data | Kind::Trimmed => self.on_data(now, packet, shared, agenda, post),
            Kind::Acknowledge | Kind::Negative => self.on_answer(now, packet, shared, agenda, post),
            Kind::Notification => self.on_notification(now, packet, shared),
            Kind::Clear => self.on_clear(now, packet, shared, agenda, post),
            Kind::Heard => self.on_heard(now, packet, shared),
            Kind::Probe => self.on_probe(now, packet, shared, agenda, post),
            Kind::Echo => self.on_echo(now, &packet, shared),
            Kind::Pause => self.ports[usize::from(packet.port)].port.pause(now, packet.item as u8),
            Kind::Resume | Kind::Freed => {
                let port = usize::from(packet.port);
                let told = packet.kind == Kind::Resume;
                let watchdog = shared.packets.watchdog.ps();
                self.ports[port].port.resume(now, watchdog, told, packet.item as u8);
                self.kick(now, port, shared, agenda, post);
            }
            Kind::Elsewhere => {
                self.on_elsewhere((packet.queue_pair, packet.item, packet.leg), shared);
                self.work_off(now, shared, agenda, post);
            }
            Kind::Halt => self.halt(packet.queue_pair, shared),
            Kind::HandedOn => {
                let row = shared.leg_slots[packet.leg as usize][0];
                self.worker.on_handed_on(now, row, packet.item, agenda);
            }
        }
    }

    /// Does a task of the agenda.
    #[inline]
    pub fn act(
        &mut self,
        now: u64,
        task: u64,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let what = task & !KIND;
        match task & KIND {
            WAKE => {
                let port = &mut self.ports[what as usize];
                if port.wake_at == now {
                    port.wake_at = u64::MAX;
                    self.next(now, what as usize, shared, agenda, post);
                }
            }
            TIMER => self.on_timer(now, what as usize, shared, agenda, post),
            DRAINED => self.on_drained(now, what as usize, agenda, post),
            DELIVER => {
                let (leg, item) = self.worker.deliveries.take(what as u32);
                self.deliver(now, leg, item, shared, agenda, post);
                self.work_off(now, shared, agenda, post);
            }
            CROSS => {
                let crossing = self.worker.crossings.take(what as u32);
                self.cross(now, crossing, shared, agenda);
            }
            LATENT => {
                self.worker.latency_over(what as usize);
                self.work_off(now, shared, agenda, post);
            }
            PACED => {
                self.worker.go_on(what as u32);
                self.work_off(now, shared, agenda, post);
            }
            CLEARED => self.clear(now, what as usize, shared, agenda, post),
            SURVEY => self.begin_survey(now, what as u32, shared, agenda, post),
            GIVE_UP => self.on_give_up(now, what as u32, shared, agenda),
            UNHEARD => self.on_unheard(now, what as usize, shared, agenda, post),
            ENDED => {
                let (role, row) = ((what >> 32) as usize, what as u32);
                self.computed(now, role, row, shared);
                self.work_off(now, shared, agenda, post);
            }
            BEGIN => {
                self.begin_job(what as usize, shared);
                self.work_off(now, shared, agenda, post);
            }
            QUIT => self.quit(now, what as usize, shared),
            MOVED => self.on_moved(now, shared, agenda, post),
            _ => {}
        }
    }

    /// Follows the routes of an epoch.
    pub fn follow(&mut self, shared: &Shared<'_>, epoch: usize) {
        self.epoch = epoch;
        for sender in &mut self.senders {
            sender.start = shared.network.start(epoch, sender.queue_pair, false);
        }
        for receiver in &mut self.receivers {
            receiver.start = shared.network.start(epoch, receiver.queue_pair, true);
        }
        if shared.network.levels > 1 {
            let senders = &self.senders;
            self.ports.iter_mut().for_each(|port| port.sort_by_level(senders));
        }
    }
}

impl<C: Control> Host<C> {
    /// Opens a connection from here: its senders are the next `count` from `first` on, and a message has so many parts.
    pub fn connect_from(
        &mut self,
        (first, count, parts): (u32, u32, u32),
        cleared: u32,
        slots: Option<Box<SendSlots>>,
    ) {
        self.from.push(Connection { first, count, parts, cleared, slots, ..Connection::default() });
    }

    /// Opens a connection to here, whose clearances go back by `queue_pair`.
    pub fn connect_to(&mut self, queue_pair: u32) {
        self.to.push(Connection { queue_pair, ..Connection::default() });
    }

    /// Start and end here of operations, by operation; `u64::MAX` as end where it did not come, or is not known to a
    /// host that only sends.
    pub fn times(&self) -> &std::collections::BTreeMap<u32, (u64, u64)> {
        &self.worker.times
    }

    /// Ends of operations here that are to come, without those in which it only sends.
    pub(crate) fn ends_left(&self) -> u64 {
        self.worker.ends_left
    }

    /// Jobs of which ends are to come here.
    pub(crate) fn jobs_left(&self, shared: &Shared<'_>) -> impl Iterator<Item = u32> {
        self.worker.jobs_left(shared)
    }

    /// Legs that end here, each with how much of it has arrived of an operation: a share.
    pub(crate) fn arrivals(&self) -> impl Iterator<Item = (u32, impl Fn(u32) -> f64)> {
        self.worker.arrivals()
    }

    /// How many came since the last call, and when the last one came.
    pub(crate) fn take_ends(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.worker.fresh_ends), self.worker.last_end)
    }

    /// Whether this host takes part in an operation and has nothing to receive in it.
    pub fn only_sends(&self, operation: u32) -> bool {
        self.worker.only_sent.binary_search(&operation).is_ok()
    }

    /// Lets all senders stand in line that can: their routes are new.
    pub fn line_up_all(&mut self, now: u64, shared: &Shared<'_>, agenda: &mut Agenda, post: &mut Post<'_>) {
        for row in 0..self.senders.len() {
            self.line_up(now, row, shared, agenda, post);
        }
        // Who stands in line with another priority now may be the one whose turn it is.
        if shared.network.levels > 1 {
            (0..self.ports.len()).for_each(|row| self.kick(now, row, shared, agenda, post));
        }
    }

    /// Whether senders stand in line.
    pub(crate) fn is_sending(&self) -> bool {
        self.ports.iter().any(NicPort::is_sending)
    }
}
