//! Devices by windows of time, on any number of threads.
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use railtwin_engine::IncidentKind;
use railtwin_engine::packet_log::QueueSample;

use crate::agenda::{Agenda, NEVER};
use crate::changes::{Changes, What};
use crate::congestion::Control;
use crate::histogram::Histogram;
use crate::host::{Host, Shared, Word};
use crate::network::Place;
use crate::packet::{Arrival, Kind, Packet};
use crate::ports::Port;
use crate::post::{Mail, Parcel, Post};
use crate::switch::Switch;

/// A device with what it has to do.
#[derive(Debug)]
pub struct Device<C: Control> {
    /// What it has to do.
    pub agenda: Agenda,
    /// What it is.
    pub kind: DeviceState<C>,
    /// End of the sample that is being taken.
    sample_end: u64,
    /// Samples taken.
    pub samples: Vec<QueueSample>,
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

/// One thread's devices.
#[derive(Debug)]
struct Part<C: Control> {
    devices: Vec<Device<C>>,
    mail: Mail,
    keys: Vec<u64>,
    events: u64,
}

/// All devices of a run.
#[derive(Debug)]
pub struct Machine<C: Control> {
    parts: Vec<Part<C>>,
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
            parts.push(Part { devices, mail, keys: Vec::new(), events: 0 });
        }
        let mut machine = Self { parts };
        machine.connect(shared);
        for (row, &(device, at, _)) in (0..).zip(&changes.all) {
            let (part, row_in_part) = machine.find(shared, device);
            machine.parts[part].devices[row_in_part].agenda.push(at, CHANGE | CHANGE_BIT | row);
        }
        for part in &mut machine.parts {
            for (device, next) in part.devices.iter().zip(&mut part.mail.next) {
                *next = device.agenda.next();
            }
        }
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
        let network = shared.network;
        let fabric = &network.case.fabric;
        let cleared = shared.packets.admission.map_or(0, |admission| admission.channels);
        let mut queue_pair = 0;
        for &count in &shared.queue_pairs_of {
            let [source, target] =
                network.ends[queue_pair as usize].map(|nic| fabric.host_of(nic).map_or(0, |h| h.0));
            let first = shared.slots[queue_pair as usize][0];
            self.host(shared, source).connect_from(first, count, cleared);
            self.host(shared, target).connect_to(queue_pair);
            for _ in 0..count {
                self.host(shared, source).add_sender(shared, queue_pair);
                self.host(shared, target).add_receiver(shared, queue_pair);
                queue_pair += 1;
            }
        }
    }

    /// Runs until nothing is left to do.
    pub fn run(mut self, shared: &Shared<'_>, changes: &Changes) -> Done<C> {
        let threads = self.parts.len();
        let meeting = Meeting::new(threads);
        let mut ends = vec![0; threads];
        if threads == 1 {
            ends[0] = self.parts[0].work(0, shared, changes, &meeting);
        } else {
            std::thread::scope(|scope| {
                let workers: Vec<_> = (self.parts.iter_mut().enumerate())
                    .map(|(thread, part)| {
                        let meeting = &meeting;
                        scope.spawn(move || part.work(thread, shared, changes, meeting))
                    })
                    .collect();
                for (end, worker) in ends.iter_mut().zip(workers) {
                    *end = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                }
            });
        }
        let packet_hops = self.parts.iter().map(|part| part.mail.packet_hops).sum();
        let events = self.parts.iter().map(|part| part.events).sum();
        let mut round_trip = Histogram::default();
        self.parts.iter().for_each(|part| round_trip.merge(&part.mail.round_trip));
        let end = ends.into_iter().max().unwrap_or(0);
        let left = self.parts.iter().any(Part::has_left);
        let mut devices: Vec<_> = self.parts.into_iter().flat_map(|part| part.devices).collect();
        if shared.packets.samples.is_some() {
            devices.iter_mut().for_each(|device| device.close(end, shared));
        }
        Done { devices, packet_hops, events, end, left, round_trip }
    }
}

/// Words with their time and the host that spoke.
type Words = Vec<(u64, u32, Word)>;

/// Where threads meet between windows.
#[derive(Debug)]
struct Meeting {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    /// Soonest event of each thread.
    soonest: Vec<AtomicU64>,
    /// Parcels by sender and receiver.
    parcels: Vec<Mutex<Parcel>>,
    /// Words of each thread, for this round and the next.
    words: [Vec<Mutex<Words>>; 2],
}

/// Turns that a waiting thread takes before it lets others have its core.
const SPINS: u32 = 2_000;

impl Meeting {
    fn new(threads: usize) -> Self {
        let words = || (0..threads).map(|_| Mutex::new(Words::new())).collect();
        Self {
            threads,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            soonest: (0..threads).map(|_| AtomicU64::new(0)).collect(),
            parcels: (0..threads * threads).map(|_| Mutex::new(Parcel::new())).collect(),
            words: [words(), words()],
        }
    }

    /// Waits until all threads are here.
    fn wait(&self) {
        if self.threads == 1 {
            return;
        }
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Release);
            self.round.fetch_add(1, Ordering::AcqRel);
            return;
        }
        let mut turns = 0;
        while self.round.load(Ordering::Acquire) == round {
            turns += 1;
            if turns < SPINS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// What all threads know of operations that end elsewhere: each keeps its own account of the same words.
type Accounts = BTreeMap<(u32, u32, u32), (u32, u64)>;

impl<C: Control> Part<C> {
    /// Whether a device has something to do, or something is under way to it, that lies beyond all times.
    fn has_left(&self) -> bool {
        let waits = self.mail.inboxes.iter().any(|inbox| !inbox.is_empty());
        waits || self.devices.iter().any(|device| !device.agenda.is_empty())
    }

    /// Works off all windows; gives the time at which the last port was free.
    fn work(&mut self, thread: usize, shared: &Shared<'_>, changes: &Changes, meeting: &Meeting) -> u64 {
        let parts = &shared.network.parts;
        let lookahead = shared.network.lookahead;
        let mut accounts = Accounts::new();
        let mut halted = Vec::new();
        let mut round = 0;
        loop {
            let own = self.mail.next.iter().copied().min().unwrap_or(NEVER);
            meeting.soonest[thread].store(own, Ordering::Release);
            meeting.wait();
            let soonest = meeting.soonest.iter().map(|time| time.load(Ordering::Acquire)).min();
            let Some(start) = soonest.filter(|&time| time < NEVER) else { break };
            let end = start.saturating_add(lookahead);
            for row in 0..self.devices.len() {
                if self.mail.next[row] < end {
                    self.device(row, start, end, shared, changes);
                }
            }
            self.collect(&mut lock(&meeting.words[round & 1][thread]));
            for (other, parcel) in self.mail.away.iter_mut().enumerate() {
                if !parcel.is_empty() {
                    lock(&meeting.parcels[thread * meeting.threads + other]).append(parcel);
                }
            }
            meeting.wait();
            for other in 0..meeting.threads {
                self.mail.take(&mut lock(&meeting.parcels[other * meeting.threads + thread]));
            }
            let mut words = Words::new();
            for own in &meeting.words[round & 1] {
                words.extend(lock(own).iter());
            }
            lock(&meeting.words[(round + 1) & 1][thread]).clear();
            round += 1;
            if !words.is_empty() {
                words.sort_unstable();
                self.hear(&words, &mut accounts, &mut halted, parts, shared);
            }
        }
        self.devices.iter().map(|device| device.last()).max().unwrap_or(0)
    }

    /// Takes the words that hosts have for others.
    fn collect(&mut self, words: &mut Words) {
        for device in &mut self.devices {
            if let DeviceState::Host(host) = &mut device.kind
                && host.spoken < host.words.len()
            {
                let number = host.host;
                words.extend(host.words[host.spoken..].iter().map(|&(at, word)| (at, number, word)));
                host.spoken = host.words.len();
            }
        }
    }

    /// Tells this thread's hosts what all hosts together have said: a lookahead after the last word it needs.
    fn hear(
        &mut self,
        words: &Words,
        accounts: &mut Accounts,
        halted: &mut Vec<u32>,
        parts: &[u32],
        shared: &Shared<'_>,
    ) {
        let lookahead = shared.network.lookahead;
        let own = |host: u32, mail: &Mail| {
            let number = shared.network.host_at[host as usize];
            let row = number.wrapping_sub(mail.first) as usize;
            (row < mail.inboxes.len()).then_some(number)
        };
        for &(at, _, word) in words {
            match word {
                Word::Ended(job, step, operation) => {
                    let Some(elsewhere) = shared.program.elsewhere.get(&(job, operation)) else { continue };
                    let account = accounts.entry((job, step, operation)).or_insert((0, 0));
                    account.0 += 1;
                    account.1 = account.1.max(at);
                    if account.0 < elsewhere.takes {
                        continue;
                    }
                    let time = account.1.saturating_add(lookahead);
                    accounts.remove(&(job, step, operation));
                    let packet = Packet {
                        queue_pair: job,
                        item: step,
                        leg: operation,
                        ..Packet::new(Kind::Elsewhere)
                    };
                    for &host in &elsewhere.told {
                        if let Some(number) = own(host, &self.mail) {
                            Post { mail: &mut self.mail, parts }.tell(number, time, packet);
                        }
                    }
                }
                Word::Incident(IncidentKind::Halted(job)) if !halted.contains(&job) => {
                    halted.push(job);
                    let packet = Packet { queue_pair: job, ..Packet::new(Kind::Halt) };
                    for host in 0..shared.network.host_at.len() as u32 {
                        if let Some(number) = own(host, &self.mail) {
                            Post { mail: &mut self.mail, parts }.tell(
                                number,
                                at.saturating_add(lookahead),
                                packet,
                            );
                        }
                    }
                }
                Word::Incident(_) => {}
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
    }
}

impl<C: Control> Device<C> {
    fn last(&self) -> u64 {
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

    #[inline]
    fn arrive(&mut self, now: u64, packet: Packet, shared: &Shared<'_>, post: &mut Post<'_>) {
        match &mut self.kind {
            DeviceState::Switch(switch) => switch.arrive(now, packet, shared.network, &mut self.agenda, post),
            DeviceState::Host(host) => host.arrive(now, packet, shared, &mut self.agenda, post),
        }
    }

    #[inline]
    fn act(&mut self, now: u64, task: u64, shared: &Shared<'_>, changes: &Changes, post: &mut Post<'_>) {
        if task & (0xFF << 56 | CHANGE_BIT) == CHANGE | CHANGE_BIT {
            let (.., what) = changes.all[(task & (CHANGE_BIT - 1)) as usize];
            return self.change(now, what, shared, post);
        }
        match &mut self.kind {
            DeviceState::Switch(switch) => switch.act(now, task, &mut self.agenda, post),
            DeviceState::Host(host) => host.act(now, task, shared, &mut self.agenda, post),
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
                    self.arrive(now, Packet { port, ..Packet::new(Kind::Resume) }, shared, post);
                } else if let DeviceState::Switch(switch) = &mut self.kind {
                    switch.remind(now, usize::from(port), post);
                }
            }
            What::Lossy(port, share) => self.port(usize::from(port)).lossy = share,
            What::Storm(port, true) => self.port(usize::from(port)).pause(now),
            What::Storm(port, false) => {
                let packet = Packet { port, ..Packet::new(Kind::Resume) };
                self.arrive(now, packet, shared, post);
            }
            What::Slow(nic, speed) => {
                if let DeviceState::Host(host) = &mut self.kind {
                    host.slow_down(nic as usize, speed);
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
    fn close(&mut self, end: u64, shared: &Shared<'_>) {
        self.sample(end, end, shared);
        self.sample(self.sample_end, end, shared);
    }

    /// Closes the samples that ended by `now`; nothing lasts longer than `last`.
    #[cold]
    fn sample(&mut self, now: u64, last: u64, shared: &Shared<'_>) {
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
                rest &= waiting == 0 && !port.paused;
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
