//! What NICs, ports and switches of a packet run counted, reading by reading: the engine's own totals.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_engine::CableState;
use railtwin_engine::fault::Change;
use railtwin_engine::packet_records::PortTotals;
use railtwin_fabric::{CableClass, CableId, DeviceId, DeviceKind, HostId, LinkId};
use railtwin_records::Component;
use railtwin_records::directory::{Directory, EntityInfo};
use railtwin_records::telemetry::{Counter, CounterColumns};

use super::{Source, clock, ns, order};
use crate::neighbors;

/// Counters of every port and of every NIC, told at the first reading.
const OF_PORT: [Counter; 8] = [
    Counter::LinkUp,
    Counter::LinkDowns,
    Counter::ReceiveErrors,
    Counter::Drops,
    Counter::PausedNs,
    Counter::PauseFramesSent,
    Counter::BytesSent,
    Counter::EcnMarks,
];
const OF_NIC: [Counter; 3] = [Counter::OutOfSequence, Counter::AckTimeouts, Counter::Cnps];

/// Who counts, and what was told last.
struct Book<'a, 'b> {
    source: &'a Source<'b>,
    ports: BTreeMap<LinkId, u32>,
    nics: BTreeMap<DeviceId, u32>,
    switches: BTreeMap<u32, u32>,
    /// Rank on whose host's clock an entity tells.
    clock_of: Vec<Option<u32>>,
    first_rank: BTreeMap<u32, u32>,
    last: BTreeMap<LinkId, PortTotals>,
    values: BTreeMap<(u32, Counter), f64>,
    known_ns: Vec<u64>,
    rows: CounterColumns,
}

/// Whether a link is one between NICs and switches, where packets go.
fn is_network(class: CableClass) -> bool {
    matches!(class, CableClass::Access | CableClass::LeafSpine | CableClass::SpineCore)
}

impl Book<'_, '_> {
    fn enter(&mut self, info: EntityInfo, directory: &mut Directory) -> u32 {
        let fabric = &self.source.case.fabric;
        let host = info.device.and_then(|device| fabric.host_of(DeviceId(device)));
        self.clock_of.push(host.and_then(|host| self.first_rank.get(&host.0).copied()));
        directory.entities.push(info);
        directory.entities.len() as u32 - 1
    }

    fn entities(&mut self, directory: &mut Directory) {
        let fabric = &*self.source.case.fabric;
        let mut nics: BTreeSet<DeviceId> = BTreeSet::new();
        for member in &self.source.seats.members {
            nics.insert(fabric.nic(HostId(member.host), member.nic));
        }
        let mut more = BTreeSet::new();
        let used: BTreeSet<CableId> =
            self.source.records.ports.iter().map(|one| LinkId(one.link).cable()).collect();
        for link in (0..fabric.link_count()).map(|link| LinkId(link as u32)) {
            let ends = [fabric.source(link), fabric.target(link)];
            // Cables that nobody uses tell nothing, but for those of the job's NICs.
            let counts = used.contains(&link.cable()) || ends.iter().any(|end| nics.contains(end));
            if !is_network(fabric.cable_class(link.cable())) || !counts {
                continue;
            }
            if fabric.kind(ends[0]) == DeviceKind::Nic {
                more.insert(ends[0]);
            }
            let component = Component::Cable(fabric.cable_name(link.cable()));
            let info = EntityInfo { component, device: Some(ends[0].0), link: Some(link.0) };
            let entity = self.enter(info, directory);
            self.ports.insert(link, entity);
        }
        nics.append(&mut more);
        for nic in nics {
            let component = Component::Nic(fabric.device_name(nic));
            let entity = self.enter(EntityInfo { component, device: Some(nic.0), link: None }, directory);
            self.nics.insert(nic, entity);
        }
        let told: BTreeSet<u32> = self.source.records.buffers.iter().map(|one| one.switch).collect();
        for row in told {
            let Some(&(device, _)) = fabric.switches().get(row as usize) else { continue };
            let component = Component::Switch(fabric.device_name(device));
            let entity = self.enter(EntityInfo { component, device: Some(device.0), link: None }, directory);
            self.switches.insert(row, entity);
        }
    }

    /// Sets a value, and tells it where it is another one.
    fn set(&mut self, entity: u32, first_entity: u32, counter: Counter, at_ns: u64, value: f64) {
        if self.values.insert((entity, counter), value) == Some(value) {
            return;
        }
        let rank = self.clock_of.get((entity - first_entity) as usize).copied().flatten();
        let time_ns = rank.map_or(at_ns, |rank| clock(self.source.clocks, rank, at_ns));
        self.rows.push(time_ns, entity, counter, value);
        self.known_ns.push(at_ns);
    }

    fn add(&mut self, entity: u32, first_entity: u32, counter: Counter, at_ns: u64, more: f64) {
        let before = self.values.get(&(entity, counter)).copied().unwrap_or_default();
        self.set(entity, first_entity, counter, at_ns, before + more);
    }

    /// What a port counted since its last reading.
    fn port(&mut self, first: u32, at_ns: u64, link: LinkId, now: &PortTotals) {
        let fabric = &self.source.case.fabric;
        let before = self.last.insert(link, *now).unwrap_or_default();
        let grown = |of: fn(&PortTotals) -> u64| (of(now) - of(&before).min(of(now))) as f64;
        let nic = self.nics.get(&fabric.source(link)).copied();
        let (port, far) = (self.ports.get(&link).copied(), self.ports.get(&link.reverse()).copied());
        let mut tell = |entity: Option<u32>, counter, more: f64| {
            if let Some(entity) = entity.filter(|_| more > 0.0) {
                self.add(entity, first, counter, at_ns, more);
            }
        };
        tell(port, Counter::BytesSent, grown(|one| one.bytes));
        tell(port, Counter::EcnMarks, grown(|one| one.marked));
        tell(port, Counter::Drops, grown(|one| one.dropped));
        tell(port, Counter::PausedNs, grown(|one| one.paused_ps / 1_000));
        // Who stands still was told to by the far end, and what a line spoils comes in damaged there.
        tell(far, Counter::PauseFramesSent, grown(|one| one.pause_frames));
        tell(far, Counter::ReceiveErrors, grown(|one| one.spoiled));
        tell(nic, Counter::OutOfSequence, grown(|one| one.out_of_sequence));
        tell(nic, Counter::AckTimeouts, grown(|one| one.ack_timeouts));
        tell(nic, Counter::Cnps, grown(|one| one.cnps));
    }

    /// A cable loses its link or has it again. One that is silently dead keeps it.
    fn cable(&mut self, first: u32, at_ns: u64, cable: CableId, up: bool) {
        for link in [cable.forward(), cable.backward()] {
            let Some(&port) = self.ports.get(&link) else { continue };
            if !up {
                self.add(port, first, Counter::LinkDowns, at_ns, 1.0);
            }
            self.set(port, first, Counter::LinkUp, at_ns, f64::from(u8::from(up)));
        }
    }
}

/// Writes all readings, in order of time.
pub(super) fn write(
    source: &Source<'_>,
    replicate: u32,
    directory: &mut Directory,
    known_ns: &mut Vec<u64>,
    out: &mut CounterColumns,
) {
    neighbors::enter(&source.case.fabric, directory);
    let first = directory.entities.len() as u32;
    let members = source.seats.members.iter().rev();
    let mut book = Book {
        source,
        ports: BTreeMap::new(),
        nics: BTreeMap::new(),
        switches: BTreeMap::new(),
        clock_of: Vec::new(),
        first_rank: members.map(|member| (member.host, member.rank)).collect(),
        last: BTreeMap::new(),
        values: BTreeMap::new(),
        known_ns: Vec::new(),
        rows: CounterColumns::default(),
    };
    book.entities(directory);
    let records = source.records;
    let start_ns = ns(source.case.work.jobs[source.job].start);
    let (ports, nics): (Vec<u32>, Vec<u32>) =
        (book.ports.values().copied().collect(), book.nics.values().copied().collect());
    for entity in ports {
        for counter in OF_PORT {
            book.set(entity, first, counter, start_ns, f64::from(u8::from(counter == Counter::LinkUp)));
        }
    }
    for entity in nics {
        OF_NIC.into_iter().for_each(|counter| book.set(entity, first, counter, start_ns, 0.0));
    }
    // A link that is lost between two readings is seen at the next.
    let every = records.every.ps().max(1);
    let end = ns(records.end.max(source.log.counted()));
    let mut moments: Vec<(u64, CableId, bool)> = Vec::new();
    for moment in source.case.timeline(replicate) {
        let up = match moment.change {
            Change::Struck(cable, CableState::Down) => (cable, false),
            Change::Struck(cable, CableState::Up) => (cable, true),
            _ => continue,
        };
        let at_ns = (moment.at.ps().div_ceil(every).saturating_mul(every) / 1_000).min(end);
        if ns(moment.at) <= end {
            moments.push((at_ns, up.0, up.1));
        }
    }
    let mut moments = moments.into_iter().peekable();
    for reading in &records.ports {
        let at_ns = ns(records.at(reading.index));
        while let Some((at, cable, up)) = moments.next_if(|moment| moment.0 <= at_ns) {
            book.cable(first, at, cable, up);
        }
        book.port(first, at_ns, LinkId(reading.link), &reading.totals);
    }
    for (at, cable, up) in moments {
        book.cable(first, at, cable, up);
    }
    for reading in &records.buffers {
        let Some(&entity) = book.switches.get(&reading.switch) else { continue };
        let share = reading.bytes_max as f64 / reading.bytes.max(1) as f64;
        book.set(entity, first, Counter::BufferShare, ns(records.at(reading.index)), share);
    }
    *known_ns = book.known_ns;
    let rows = book.rows;
    for row in order(known_ns) {
        out.push(rows.time_ns[row], rows.entity[row], rows.counter[row], rows.value[row]);
    }
}
