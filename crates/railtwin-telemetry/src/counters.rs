//! What NICs, ports, switches, GPUs, processes and hosts count, as far as faults and other jobs move it.
//!
//! Only what has something to count is told: everything once at the start, then what changed since the last reading.
use std::collections::BTreeMap;

use railtwin_engine::{Case, RankTrouble};
use railtwin_fabric::{CableId, DeviceKind, Fabric, HostId, LinkId};
use railtwin_records::directory::{Directory, EntityInfo};
use railtwin_records::telemetry::{Counter, CounterColumns};
use railtwin_records::{Component, FaultKind, Truth};

use crate::jitter::Draws;
use crate::layout::Seats;
use crate::replay::Replay;

/// Bytes of a packet on the wire, RoCE with a path MTU of 4 KiB.
const PACKET: f64 = 4096.0;
/// Packets lost for each that only a timeout tells of: the last of a message has none after it.
const LOST_PER_TIMEOUT: f64 = 64.0;
/// Congestion notifications a second at a NIC whose flows meet others: one each 50 µs for a queue pair (the least
/// interval of DCQCN, Zhu et al. 2015).
const NOTIFICATIONS: f64 = 20_000.0;
/// Clock of a GPU at work, and of one that is held back by heat or power, in MHz.
const CLOCK: f64 = 1_980.0;

/// What is counted besides faults.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CounterSettings {
    /// Whether NICs tell the bytes that they sent and received in every reading.
    pub bytes: bool,
    /// Whether all NICs, GPUs and ranks of the job are told at the first reading, healthy or not.
    pub all_at_start: bool,
    /// Share of slow GPUs whose clock shows it (heat, power); the others are slow for reasons that no counter tells.
    pub thermal: f64,
}

impl Default for CounterSettings {
    fn default() -> Self {
        Self { bytes: false, all_at_start: true, thermal: 0.5 }
    }
}

/// A change of a counter, for a while.
#[derive(Clone, Copy, Debug)]
enum Law {
    /// Grows by so much a second.
    Grows { from_ns: u64, until_ns: u64, per_s: f64 },
    /// Grows at once.
    Leaps { at_ns: u64, by: f64 },
    /// A gauge that stands elsewhere.
    Stands { from_ns: u64, until_ns: u64, at: f64 },
}

#[derive(Clone, Debug, Default)]
struct Row {
    /// Value without laws.
    rest: f64,
    laws: Vec<Law>,
    told: Option<f64>,
}

/// The counters of a job's part of the cluster.
#[derive(Debug)]
pub struct Counters {
    settings: CounterSettings,
    /// Rank on whose host's clock each entity tells; none for switches, which use the controller's.
    clock_of: BTreeMap<u32, Option<u32>>,
    rows: BTreeMap<(u32, Counter), Row>,
    entity_of: BTreeMap<Component, u32>,
    /// NICs by (host, NIC): their entity.
    nics: BTreeMap<(u32, u32), u32>,
    /// Bytes of a step that each NIC sends and receives.
    bytes: BTreeMap<(u32, u32), (f64, f64)>,
    /// Collisions that were taken note of.
    collisions: usize,
}

/// Adds entities and laws.
struct Builder<'a> {
    case: &'a Case,
    replay: &'a Replay,
    directory: &'a mut Directory,
    out: Counters,
    draws: Draws,
    /// Bytes over each link in a step.
    link_bytes: BTreeMap<u32, f64>,
}

impl Counters {
    /// The counters of a replayed job; entities are entered in the directory. `case` is that of the replay.
    pub fn new(case: &Case, replay: &Replay, settings: CounterSettings, directory: &mut Directory) -> Self {
        let out = Self {
            settings,
            clock_of: BTreeMap::new(),
            rows: BTreeMap::new(),
            entity_of: BTreeMap::new(),
            nics: BTreeMap::new(),
            bytes: BTreeMap::new(),
            collisions: 0,
        };
        let draws = Draws::new(replay.settings.seed, "telemetry-counters");
        let mut builder = Builder { case, replay, directory, out, draws, link_bytes: BTreeMap::new() };
        builder.devices();
        builder.traffic();
        builder.losses();
        builder.outages();
        builder.ranks();
        for truth in &case.truths {
            builder.truth(truth);
        }
        builder.out
    }

    /// Appends what changed since the last reading.
    pub fn read(&mut self, replay: &Replay, now_ns: u64, out: &mut CounterColumns) {
        self.meet(replay);
        if self.settings.bytes {
            let steps = replay.steps() as f64;
            for (nic, (sent, received)) in &self.bytes {
                let Some(&entity) = self.nics.get(nic) else { continue };
                self.rows.entry((entity, Counter::BytesSent)).or_default().rest = (sent * steps).floor();
                self.rows.entry((entity, Counter::BytesReceived)).or_default().rest =
                    (received * steps).floor();
            }
        }
        for (&(entity, counter), row) in &mut self.rows {
            let value = row.value(now_ns);
            if row.told != Some(value) {
                row.told = Some(value);
                let rank = self.clock_of.get(&entity).copied().flatten();
                out.push(rank.map_or(now_ns, |rank| replay.host_clock(rank, now_ns)), entity, counter, value);
            }
        }
    }

    /// Notifications of collisions that began since the last reading.
    fn meet(&mut self, replay: &Replay) {
        let all = replay.collisions();
        let rates = replay.network.rates();
        for one in &all[self.collisions.min(all.len())..] {
            let rows = (0..rates.rows()).filter(|&row| rates.links_of(row).contains(&one.link));
            let mut senders: Vec<(u32, u32)> = rows.map(|row| rates.source[row]).collect();
            senders.sort_unstable();
            senders.dedup();
            for nic in senders {
                let Some(&entity) = self.nics.get(&nic) else { continue };
                let law = Law::Grows { from_ns: one.from_ns, until_ns: one.until_ns, per_s: NOTIFICATIONS };
                self.rows.entry((entity, Counter::Cnps)).or_default().laws.push(law);
            }
        }
        self.collisions = all.len();
    }
}

impl Row {
    fn value(&self, now_ns: u64) -> f64 {
        let mut value = self.rest;
        for law in &self.laws {
            match *law {
                Law::Grows { from_ns, until_ns, per_s } => {
                    value += now_ns.min(until_ns).saturating_sub(from_ns) as f64 * 1e-9 * per_s;
                }
                Law::Leaps { at_ns, by } if at_ns <= now_ns => value += by,
                Law::Stands { from_ns, until_ns, at } if from_ns <= now_ns && now_ns < until_ns => value = at,
                Law::Leaps { .. } | Law::Stands { .. } => {}
            }
        }
        if self.laws.iter().any(|law| matches!(law, Law::Stands { .. })) { value } else { value.floor() }
    }
}

impl Builder<'_> {
    fn entity(
        &mut self,
        component: Component,
        device: Option<u32>,
        link: Option<u32>,
        rank: Option<u32>,
    ) -> u32 {
        // The two ports of a cable have one name and two devices.
        let own = link.is_none();
        if let Some(&entity) = self.out.entity_of.get(&component).filter(|_| own) {
            return entity;
        }
        let entities = &mut self.directory.entities;
        let same =
            |known: &EntityInfo| known.component == component && known.link == link && known.device == device;
        let known = if own { None } else { entities.iter().position(same) };
        let entity = known.unwrap_or(entities.len()) as u32;
        if known.is_none() {
            entities.push(EntityInfo { component: component.clone(), device, link });
        }
        if own {
            self.out.entity_of.insert(component, entity);
        }
        self.out.clock_of.insert(entity, rank);
        entity
    }

    fn row(&mut self, entity: u32, counter: Counter) -> &mut Row {
        self.out.rows.entry((entity, counter)).or_default()
    }

    fn law(&mut self, entity: u32, counter: Counter, law: Law) {
        self.row(entity, counter).laws.push(law);
    }

    /// NICs, GPUs and ranks of the job.
    fn devices(&mut self) {
        let Seats { members, .. } = &self.replay.seats;
        let fabric = &*self.replay.fabric;
        for member in members.clone() {
            let (host, rank) = (HostId(member.host), Some(member.rank));
            let nic = fabric.nic(host, member.nic);
            let entity = self.entity(Component::Nic(fabric.device_name(nic)), Some(nic.0), None, rank);
            self.out.nics.insert((member.host, member.nic), entity);
            let gpu = fabric.gpu(host, member.gpu);
            let gpu_entity = self.entity(Component::Gpu(fabric.device_name(gpu)), Some(gpu.0), None, rank);
            let row = self.replay.rows.first_rank + member.rank;
            let component = self.directory.rank_component(row);
            let rank_entity = self.entity(component, None, None, rank);
            if self.out.settings.all_at_start {
                for counter in [Counter::OutOfSequence, Counter::AckTimeouts, Counter::Cnps] {
                    self.row(entity, counter);
                }
                self.row(gpu_entity, Counter::GpuClockMhz).rest = CLOCK;
                self.row(rank_entity, Counter::ProcessAlive).rest = 1.0;
            }
        }
    }

    /// Bytes of a step over links and NICs.
    fn traffic(&mut self) {
        let rates = self.replay.network.rates();
        let graph = &self.case.work.jobs[self.replay.job];
        for (pattern, bytes) in graph.plan.bytes_by_pattern().into_iter().enumerate() {
            for bundle in rates.bundles_of(graph.first_pattern as usize + pattern) {
                for row in rates.rows_of(bundle) {
                    let carried = bytes * rates.share[row];
                    self.out.bytes.entry(rates.source[row]).or_default().0 += carried;
                    self.out.bytes.entry(rates.target[row]).or_default().1 += carried;
                    for &link in rates.links_of(row) {
                        *self.link_bytes.entry(link).or_default() += carried;
                    }
                }
            }
        }
    }

    /// The port at an end of a link: the one that sends into it, or the one that receives from it. Both are told by
    /// the link that leaves the port.
    fn port(&mut self, link: LinkId, receives: bool) -> u32 {
        let leaving = if receives { link.reverse() } else { link };
        let fabric = &*self.replay.fabric;
        let device = fabric.source(leaving);
        let rank = fabric.host_of(device).and_then(|host| {
            self.replay.seats.members.iter().find(|member| member.host == host.0).map(|member| member.rank)
        });
        let component = Component::Cable(fabric.cable_name(leaving.cable()));
        self.entity(component, Some(device.0), Some(leaving.0), rank)
    }

    /// NICs that send over a link, and those that receive, with the number of queue pairs of each.
    fn users(&self, link: u32) -> [BTreeMap<(u32, u32), f64>; 2] {
        let rates = self.replay.network.rates();
        let mut users = [BTreeMap::new(), BTreeMap::new()];
        for row in (0..rates.rows()).filter(|&row| rates.links_of(row).contains(&link)) {
            *users[0].entry(rates.source[row]).or_default() += 1.0;
            *users[1].entry(rates.target[row]).or_default() += 1.0;
        }
        users
    }

    /// Links that lose packets: errors where they arrive, and what NICs at both ends of the flows notice. The port that
    /// sends says that its link is up (HPN section 10).
    fn losses(&mut self) {
        let step_s = self.replay.quiet_step_ns() * 1e-9;
        for one in self.case.impairments.iter().filter(|one| one.loss > 0.0) {
            let (from_ns, until_ns) = (one.from.ps() / 1_000, one.until.ps() / 1_000);
            let bytes = self.link_bytes.get(&one.link.0).copied().unwrap_or(0.0);
            let lost = bytes / PACKET / step_s.max(1e-9) * one.loss;
            let (arrives, leaves) = (self.port(one.link, true), self.port(one.link, false));
            self.row(arrives, Counter::LinkUp).rest = 1.0;
            self.row(leaves, Counter::LinkUp).rest = 1.0;
            let grows = |per_s: f64| Law::Grows { from_ns, until_ns, per_s };
            self.law(arrives, Counter::ReceiveErrors, grows(lost));
            let [senders, receivers] = self.users(one.link.0);
            let count: f64 = senders.values().sum();
            let told = [
                (senders, Counter::AckTimeouts, lost / LOST_PER_TIMEOUT),
                (receivers, Counter::OutOfSequence, lost),
            ];
            for (nics, counter, per_s) in told {
                for (nic, share) in nics {
                    if let Some(&entity) = self.out.nics.get(&nic) {
                        self.law(entity, counter, grows(per_s * share / count));
                    }
                }
            }
        }
    }

    /// Cables that go down: both ports say so, and flows time out until their paths change.
    fn outages(&mut self) {
        let reaction = &self.case.reaction;
        let late = [reaction.ecmp_regroup, reaction.withdrawal, reaction.convergence];
        let rerouted = late.iter().fold(reaction.detection, |sum, &span| sum.saturating_add(span));
        let timeout_ns = 4_096.0 * 2_f64.powi(i32::try_from(self.case.transport.timeout).unwrap_or(20));
        let mut ends: BTreeMap<CableId, Vec<(u64, bool)>> = BTreeMap::new();
        for fault in &self.case.faults {
            let down = fault.kind == railtwin_engine::FaultKind::Down;
            ends.entry(fault.cable).or_default().push((fault.at.ps() / 1_000, down));
        }
        for (cable, events) in ends {
            let mut events = events.into_iter().peekable();
            while let Some((from_ns, down)) = events.next() {
                if !down {
                    continue;
                }
                let until_ns = events.peek().map_or(u64::MAX, |&(at, _)| at);
                for link in [cable.forward(), cable.backward()] {
                    let port = self.port(link, false);
                    self.row(port, Counter::LinkUp).rest = 1.0;
                    self.law(port, Counter::LinkUp, Law::Stands { from_ns, until_ns, at: 0.0 });
                    self.law(port, Counter::LinkDowns, Law::Leaps { at_ns: from_ns, by: 1.0 });
                    let [senders, receivers] = self.users(link.0);
                    let waits_until = until_ns.min(from_ns.saturating_add(rerouted.ps() / 1_000));
                    for (nic, pairs) in senders {
                        let Some(&entity) = self.out.nics.get(&nic) else { continue };
                        let per_s = pairs * 1e9 / timeout_ns;
                        let grows = Law::Grows { from_ns, until_ns: waits_until, per_s };
                        self.law(entity, Counter::AckTimeouts, grows);
                        self.law(entity, Counter::AckTimeouts, Law::Leaps { at_ns: from_ns, by: pairs });
                    }
                    for (nic, pairs) in receivers {
                        let Some(&entity) = self.out.nics.get(&nic) else { continue };
                        // Once for each queue pair: what was in flight is sent again.
                        self.law(entity, Counter::OutOfSequence, Law::Leaps { at_ns: from_ns, by: pairs });
                    }
                }
            }
        }
    }

    /// Processes that are gone, whose peers time out, and ranks that wait for their input.
    fn ranks(&mut self) {
        let step_s = self.replay.quiet_step_ns() * 1e-9;
        let transport = &self.case.transport;
        let timeout_ns = 4_096.0 * 2_f64.powi(i32::try_from(transport.timeout).unwrap_or(20));
        for fault in self.replay.troubles.clone() {
            let (from_ns, until_ns) = (fault.from.ps() / 1_000, fault.until.ps() / 1_000);
            let row = self.replay.rows.first_rank + fault.rank;
            let component = self.directory.rank_component(row);
            let entity = self.entity(component, None, None, Some(fault.rank));
            match fault.trouble {
                RankTrouble::Gone => {
                    self.row(entity, Counter::ProcessAlive).rest = 1.0;
                    self.law(entity, Counter::ProcessAlive, Law::Stands { from_ns, until_ns, at: 0.0 });
                    let tries = f64::from(transport.retry_count) + 1.0;
                    for (nic, pairs) in self.peers(fault.rank) {
                        let Some(&nic) = self.out.nics.get(&nic) else { continue };
                        let until_ns = from_ns.saturating_add((tries * timeout_ns) as u64);
                        let per_s = pairs * 1e9 / timeout_ns;
                        self.law(nic, Counter::AckTimeouts, Law::Grows { from_ns, until_ns, per_s });
                    }
                }
                RankTrouble::Late { time, every } => {
                    let per_s = time.ps() as f64 / 1e3 / f64::from(every.max(1)) / step_s.max(1e-9);
                    // Reported as what the rank waited for its input; what it waits for is the truth's business.
                    self.law(entity, Counter::DataWaitNs, Law::Grows { from_ns, until_ns, per_s });
                }
                _ => {}
            }
        }
    }

    /// NICs that send to the NIC of a rank, with the number of their queue pairs.
    fn peers(&self, rank: u32) -> BTreeMap<(u32, u32), f64> {
        let member = self.replay.seats.members[rank as usize];
        let rates = self.replay.network.rates();
        let mut peers = BTreeMap::new();
        for row in (0..rates.rows()).filter(|&row| rates.target[row] == (member.host, member.nic)) {
            *peers.entry(rates.source[row]).or_default() += 1.0;
        }
        peers
    }

    /// What only the kind of a fault tells.
    fn truth(&mut self, truth: &Truth) {
        let (from_ns, until_ns) = (truth.from_ns, truth.until_ns);
        let name =
            truth.component.name().bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
        let lot = self.draws.unit(name, truth.from_ns);
        let leaps = |by: f64| Law::Leaps { at_ns: from_ns, by };
        let stands = |at: f64| Law::Stands { from_ns, until_ns, at };
        let grows = |per_s: f64| Law::Grows { from_ns, until_ns, per_s };
        match truth.kind {
            FaultKind::SlowGpu if lot < self.out.settings.thermal => {
                let Some(gpu) = self.gpu(&truth.component) else { return };
                self.row(gpu, Counter::GpuClockMhz).rest = CLOCK;
                let times = truth.severity.max(1.0);
                self.law(gpu, Counter::GpuClockMhz, stands((CLOCK / times / 15.0).round() * 15.0));
            }
            FaultKind::GpuError => {
                let Some(gpu) = self.gpu(&truth.component) else { return };
                // Xid 48: double-bit ECC error; 74: NVLink error; 31: a fault of the program's own (NVIDIA's list).
                let (counter, xid) = match (lot * 3.0) as u32 {
                    0 => (Some(Counter::EccErrors), 48.0),
                    1 => (Some(Counter::NvlinkErrors), 74.0),
                    _ => (None, 31.0),
                };
                if let Some(counter) = counter {
                    self.law(gpu, counter, leaps(1.0));
                }
                self.law(gpu, Counter::Xid, stands(xid));
            }
            FaultKind::Crash if lot < 0.5 => {
                let Some(host) = self.host(&truth.component) else { return };
                self.law(host, Counter::OutOfMemoryKills, leaps(1.0));
            }
            FaultKind::StorageStall => {
                let mut hosts: Vec<u32> =
                    self.replay.seats.members.iter().map(|member| member.host).collect();
                hosts.dedup();
                for host in hosts {
                    let component = Component::Host(format!("host-{host}"));
                    let rank = self.replay.seats.members.iter().find(|m| m.host == host).map(|m| m.rank);
                    let entity = self.entity(component, None, None, rank);
                    self.law(entity, Counter::StorageWaitNs, grows(1e9));
                }
            }
            FaultKind::PauseStorm => {
                if let Some(link) = self.uplink(&truth.component) {
                    let (sends, paused) = (self.port(link, false), self.port(link, true));
                    self.law(sends, Counter::PauseFramesSent, grows(30_000.0));
                    self.law(paused, Counter::PausedNs, grows(0.95e9));
                }
            }
            FaultKind::SmallBuffer => {
                let component = truth.component.clone();
                let device = self.replay.fabric.switch_named(component.name()).map(|device| device.0);
                let entity = self.entity(component, device, None, None);
                self.row(entity, Counter::BufferShare).rest = 0.3;
                self.law(entity, Counter::BufferShare, stands(0.95));
                self.law(entity, Counter::Drops, grows(100.0));
            }
            _ => {}
        }
    }

    /// The rank at a component inside a host: the first of a host, NIC or GPU, or the rank itself.
    fn rank_at(&self, component: &Component) -> Option<u32> {
        let name = component.name();
        let members = &self.replay.seats.members;
        match component {
            Component::Rank(_) => name.rsplit_once('/')?.1.parse().ok(),
            Component::Gpu(_) | Component::Nic(_) | Component::Host(_) => {
                let (host, inside) = name.split_once('/').unwrap_or((name, ""));
                let host: u32 = host.strip_prefix("host-")?.parse().ok()?;
                let number: Option<u32> = inside.rsplit_once('-').and_then(|(_, number)| number.parse().ok());
                let at = |gpu: u32, nic: u32| match component {
                    Component::Gpu(_) => number.is_none_or(|number| number == gpu),
                    Component::Nic(_) => number.is_none_or(|number| number == nic),
                    _ => true,
                };
                members.iter().find(|m| m.host == host && at(m.gpu, m.nic)).map(|m| m.rank)
            }
            _ => None,
        }
        .filter(|&rank| (rank as usize) < members.len())
    }

    fn gpu(&mut self, component: &Component) -> Option<u32> {
        let rank = self.rank_at(component)?;
        let component = self.directory.gpu_component(self.replay.rows.first_rank + rank);
        Some(self.entity(component, None, None, Some(rank)))
    }

    fn host(&mut self, component: &Component) -> Option<u32> {
        let rank = self.rank_at(component)?;
        let component = self.directory.host_component(self.replay.rows.first_rank + rank);
        Some(self.entity(component, None, None, Some(rank)))
    }

    /// The first link out of a NIC or over a cable's end at a NIC.
    fn uplink(&self, component: &Component) -> Option<LinkId> {
        let fabric: &Fabric = &self.replay.fabric;
        match component {
            Component::Cable(name) => {
                let cable = fabric.cable_named(name)?;
                let links = [cable.forward(), cable.backward()];
                links.into_iter().find(|&link| fabric.kind(fabric.source(link)) == DeviceKind::Nic)
            }
            _ => {
                let rank = self.rank_at(component)?;
                let member = self.replay.seats.members[rank as usize];
                fabric.access_link(fabric.nic(HostId(member.host), member.nic), 0)
            }
        }
    }
}
