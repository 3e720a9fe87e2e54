//! What devices counted, as one log.
use railtwin_engine::fault::{Change, Moment};
use railtwin_engine::packet_log::{LinkPackets, PacketCounts, PacketFlow};
use railtwin_engine::{
    CableState, Incident, IncidentKind, JobGraph, OperationTimes, PacketLog, PacketRecords, RankFault,
    RunLog, WorkGraph,
};
use railtwin_fabric::DeviceId;
use railtwin_units::SimTime;
use railtwin_workload::Work;

use crate::closing::Account;
use crate::congestion::Control;
use crate::cut_off;
use crate::device::DeviceState;
use crate::histogram::Histogram;
use crate::host::{FlowEnd, Host, Shared, Word};
use crate::ports::Port;
use crate::program::{Way, leg_bytes};
use crate::run::Done;
use crate::switch::Switch;
use crate::told::Receipts;

/// The log of a run.
pub fn write<C: Control>(shared: &Shared<'_>, moments: &[Moment], mut done: Done<C>) -> RunLog {
    let case = shared.network.case;
    let accounts = done.closed.as_ref().map(|closed| closed.by_link(&shared.network));
    let counted = Counted { end: done.end, closed: done.closed.as_ref().map(|closed| closed.at), accounts };
    let mut records = case.packets.records.map(|every| PacketRecords {
        every,
        end: SimTime::from_ps(done.end),
        ..PacketRecords::default()
    });
    let mut receipts = Receipts::default();
    let mut gathered = Gathered::new(shared, done.events, done.packet_hops);
    for device in &mut done.devices {
        gathered.packets.samples.append(&mut device.samples);
        if let Some(records) = &mut records {
            records.ports.append(&mut device.readings.ports);
            records.buffers.append(&mut device.readings.buffers);
            if let DeviceState::Host(host) = &mut device.kind {
                host.tell(shared, records, &mut receipts);
            }
        }
        match &mut device.kind {
            DeviceState::Host(host) => gathered.add_host(host, &counted, shared),
            DeviceState::Switch(switch) => gathered.add_switch(switch, &counted, shared),
        }
    }
    let Gathered { mut log, mut packets, unfinished, began, mut short, silent, clearance, starts, ends } =
        gathered;
    for (operation, (&unfinished, &began)) in unfinished.iter().zip(&began).enumerate() {
        if unfinished || !began {
            log.times.end[operation] = SimTime::NEVER;
        }
    }
    let last = log.times.end.iter().filter(|&&end| end != SimTime::NEVER).max();
    log.end = last.copied().unwrap_or(SimTime::ZERO);
    leave_out_the_dead_after_work(shared, &log.times, &mut log.incidents);
    // Who is told that packets are missing has work left.
    log.incidents.append(&mut short);
    log.incidents.extend(cut_off::stalls(shared, &silent, &done.tally.lost));
    // Of work that never ended, links are counted until the last of it gave up.
    let gave_up =
        log.incidents.iter().filter(|one| matches!(one.kind, IncidentKind::Halted(_))).map(|one| one.at);
    let stopped = gave_up.max().unwrap_or(SimTime::ZERO).max(SimTime::from_ps(done.end));
    log.counted_until =
        done.closed.as_ref().map_or(stopped, |closed| SimTime::from_ps(closed.at)).max(log.end);
    log.unfinished = unfinished_of(&case.work, &case.rank_faults, &log);
    log.time_up = done.left && log.unfinished > 0;
    log.pattern_bytes = cut_off::pattern_bytes(shared, &log.times, &done.devices);
    // Where all is done, nothing breaks any more.
    let last = if log.unfinished > 0 { SimTime::NEVER } else { log.counted() };
    for moment in moments.iter().filter(|moment| moment.at <= last) {
        let kind = match moment.change {
            Change::Struck(_, CableState::Mute(_)) => continue,
            Change::Struck(cable, CableState::Up) => IncidentKind::Up(cable),
            Change::Struck(cable, _) => IncidentKind::Down(cable),
            _ => continue,
        };
        log.incidents.push(Incident { at: moment.at, kind });
    }
    settle(&mut log.incidents);
    packets.samples.sort_unstable_by_key(|sample| (sample.index, sample.link));
    packets.round_trip = done.tally.round_trip.spread();
    packets.clearance_wait = clearance.spread();
    packets.flows = flows(shared, starts, ends);
    if let Some(records) = &mut records {
        records.ports.sort_unstable_by_key(|one| (one.index, one.link));
        records.buffers.sort_unstable_by_key(|one| (one.index, one.switch));
        receipts.write(shared, records);
    }
    packets.records = records;
    log.packets = Some(Box::new(packets));
    log
}

/// What devices counted, as far as it is gathered.
struct Gathered {
    log: RunLog,
    packets: PacketLog,
    /// By operation: whether a host has not ended it, and whether any began it.
    unfinished: Vec<bool>,
    began: Vec<bool>,
    /// Waits that no timer told of.
    short: Vec<Incident>,
    silent: Vec<(u32, u64)>,
    clearance: Histogram,
    starts: Vec<FlowEnd>,
    ends: Vec<FlowEnd>,
}

impl Gathered {
    fn new(shared: &Shared<'_>, events: u64, packet_hops: u64) -> Self {
        let case = shared.network.case;
        let fabric = &*case.fabric;
        let links = fabric.link_count();
        let operations = case.work.operations;
        let log = RunLog {
            events,
            link_bytes: vec![0.0; links],
            times: OperationTimes {
                start: vec![SimTime::NEVER; operations],
                end: vec![SimTime::NEVER; operations],
            },
            ..RunLog::default()
        };
        let packets = PacketLog {
            counts: PacketCounts { packet_hops, ..PacketCounts::default() },
            links: LinkPackets {
                late_bytes: vec![0; links],
                pause_frames: vec![0; links],
                pause_renewals: vec![0; links],
                resume_frames: vec![0; links],
                paused_ps: vec![0; links],
                queue_bytes_max: vec![0; links],
                queue_byte_seconds: vec![0.0; links],
                dropped: vec![0; links],
                cnps: vec![0; links],
            },
            buffer_bytes_max: vec![0; fabric.switches().len()],
            sample: shared.packets.samples.unwrap_or(SimTime::ZERO),
            ..PacketLog::default()
        };
        Self {
            log,
            packets,
            unfinished: vec![false; operations],
            began: vec![false; operations],
            short: Vec::new(),
            silent: Vec::new(),
            clearance: Histogram::default(),
            starts: Vec::new(),
            ends: Vec::new(),
        }
    }

    fn add_host<C: Control>(&mut self, host: &mut Host<C>, counted: &Counted, shared: &Shared<'_>) {
        for port in &mut host.ports {
            note(&mut port.port, counted, shared, &mut self.packets, &mut self.log);
        }
        count(&mut self.packets.counts, &host.counts);
        self.clearance.merge(&host.counts.clearance_wait);
        self.starts.append(&mut host.flow_starts);
        self.ends.append(&mut host.flow_ends);
        absent(shared, host, &mut self.unfinished);
        for (&operation, &(start, end)) in host.times() {
            let (row, start) = (operation as usize, SimTime::from_ps(start));
            self.began[row] = true;
            self.log.times.start[row] = self.log.times.start[row].min(start);
            if end == u64::MAX {
                self.unfinished[row] |= !host.only_sends(operation);
            } else {
                let end = SimTime::from_ps(end);
                let known = self.log.times.end[row];
                self.log.times.end[row] = if known == SimTime::NEVER { end } else { known.max(end) };
            }
        }
        for &(at, word) in &host.words {
            match word {
                Word::Incident(kind) => self.log.incidents.push(Incident { at: SimTime::from_ps(at), kind }),
                Word::Waited(job, since) => {
                    let turn = |at, kind| Incident { at: SimTime::from_ps(at), kind };
                    self.short.push(turn(since, IncidentKind::Stalled(job)));
                    self.short.push(turn(at, IncidentKind::Resumed(job)));
                }
                Word::Silent(queue_pair, since) => self.silent.push((queue_pair, since)),
                Word::Ended(..) | Word::Left(_) | Word::Surveyed(_) => {}
            }
        }
    }

    fn add_switch(&mut self, switch: &mut Switch, counted: &Counted, shared: &Shared<'_>) {
        for port in &mut switch.ports {
            note(port, counted, shared, &mut self.packets, &mut self.log);
        }
        self.packets.counts.marked += switch.marker.marked;
        self.packets.counts.trimmed += switch.trimmed;
        self.packets.buffer_bytes_max[switch.row as usize] = switch.buffer.used_max;
        if let Some(at) = switch.alarmed {
            let kind = IncidentKind::Filled(switch.row);
            self.log.incidents.push(Incident { at: SimTime::from_ps(at), kind });
        }
    }
}

/// Operations that never ended, without those of jobs that went on until their processes were ended.
fn unfinished_of(work: &WorkGraph, faults: &[RankFault], log: &RunLog) -> u64 {
    let stood = |row: u32, job: &JobGraph| {
        let of_job = |one: &&Incident| one.kind == IncidentKind::Halted(row) && one.at < job.until;
        let stands = RankFault::for_good(faults, row).is_some_and(|at| at < job.until);
        stands || log.incidents.iter().find(of_job).is_some()
    };
    // What another job goes on with ends there.
    let jobs = (0..).zip(&work.jobs).filter(|(_, job)| job.goes_on_as.is_none());
    let left = jobs.filter(|&(row, job)| job.until > log.counted_until || stood(row, job));
    let of = |job: &JobGraph| {
        log.times.end[job.operations()].iter().filter(|&&end| end == SimTime::NEVER).count() as u64
    };
    left.map(|(_, job)| of(job)).sum()
}

/// A job that has ended cannot stall or halt: a queue pair that waits for its last acknowledgement, or dies without it,
/// takes nothing along.
fn leave_out_the_dead_after_work(shared: &Shared<'_>, times: &OperationTimes, incidents: &mut Vec<Incident>) {
    let end_of = |job: &JobGraph| times.end[job.operations()].iter().max().copied().unwrap_or_default();
    // Never, where an operation is left and nobody ended its processes.
    let ends: Vec<_> = shared.network.case.work.jobs.iter().map(|job| end_of(job).min(job.until)).collect();
    // A stall is told by the timer, and dated back to the last answer.
    let timeout = shared.transport.ack_timeout();
    incidents.retain(|incident| match incident.kind {
        IncidentKind::Stalled(job) => incident.at.saturating_add(timeout) <= ends[job as usize],
        IncidentKind::Halted(job) => incident.at <= ends[job as usize],
        _ => true,
    });
}

/// Operations that a host takes part in and never began.
fn absent<C: Control>(shared: &Shared<'_>, host: &Host<C>, unfinished: &mut [bool]) {
    let case = shared.network.case;
    let roles = shared.program.roles_of[host.host as usize].iter();
    let all = roles.clone().flat_map(|&role| {
        let role = &shared.program.roles[role as usize];
        let job = &case.work.jobs[role.job as usize];
        let (first, length) = (job.first_operation, job.plan.operations.len() as u32);
        let of_step =
            move |step| role.operations.iter().map(move |operation| first + step * length + operation);
        (0..job.steps).flat_map(of_step)
    });
    let count = |&role: &u32| {
        let role = &shared.program.roles[role as usize];
        role.operations.len() * case.work.jobs[role.job as usize].steps as usize
    };
    // As a rule it began them all.
    if roles.map(count).sum::<usize>() > host.times().len() {
        for operation in all.filter(|operation| !host.times().contains_key(operation)) {
            unfinished[operation as usize] = true;
        }
    }
}

/// In order of time; of stalls of a job that overlap only the beginning of the first and the end of the last, and one
/// death.
fn settle(incidents: &mut Vec<Incident>) {
    incidents.sort_unstable();
    let mut stalled = std::collections::BTreeMap::new();
    let mut dead = std::collections::BTreeSet::new();
    incidents.retain(|incident| match incident.kind {
        IncidentKind::Stalled(job) => {
            let waiting = stalled.entry(job).or_insert(0_u32);
            *waiting += 1;
            *waiting == 1
        }
        IncidentKind::Resumed(job) => {
            let waiting = stalled.entry(job).or_insert(0_u32);
            *waiting = waiting.saturating_sub(1);
            *waiting == 0
        }
        IncidentKind::Halted(job) => dead.insert(job),
        _ => true,
    });
}

fn count(sum: &mut PacketCounts, one: &crate::host::HostCounts) {
    sum.data += one.data;
    sum.sent_again += one.sent_again;
    sum.acknowledgements += one.acknowledgements;
    sum.negative += one.negative;
    sum.out_of_sequence += one.out_of_sequence;
    sum.ack_timeouts += one.ack_timeouts;
    sum.probes += one.probes;
    sum.reorder_packets_max = sum.reorder_packets_max.max(u64::from(one.reorder_span));
    sum.reorder_held_ps += one.reorder_held;
    sum.cnps += one.cnps;
    sum.clear_to_send += one.clear_to_send;
}

/// Up to when links are counted.
struct Counted {
    /// When the last port had sent its last packet.
    end: u64,
    /// When the last operation had ended, where all did.
    closed: Option<u64>,
    /// What links had done by then.
    accounts: Option<Vec<Account>>,
}

impl Counted {
    /// What a port whose pauses are booked counts as.
    fn account(&self, port: &Port, shared: &Shared<'_>) -> Account {
        let counts = &port.counts;
        let whole = Account { bytes: counts.bytes, paused: counts.paused, queue_time: counts.queue_time };
        let known = self.accounts.as_ref().map(|accounts| accounts[port.line.link as usize]);
        let mut account = known.unwrap_or(whole);
        // Times are whole picoseconds, what a bad line spoiled in the last window lies in no inbox, and a packet that
        // is cut through may have been taken out of it before its end had left.
        let (rate, until) = (u128::from(port.line.speed.bits_per_s()), self.closed.unwrap_or(self.end));
        let most = |time: u64| (rate * u128::from(time) / 8_000_000_000_000) as u64;
        debug_assert!(
            account.bytes <= most(until) / 1_000 * 1_001 + most(shared.network.lookahead) + 131_072
        );
        account.bytes = account.bytes.min(most(until));
        account
    }
}

/// Writes down a port as it stands at the end.
fn note(port: &mut Port, counted: &Counted, shared: &Shared<'_>, packets: &mut PacketLog, log: &mut RunLog) {
    let link = port.line.link as usize;
    if port.paused != 0 {
        let end = counted.end.max(port.paused_since);
        port.watch(end, shared.packets.watchdog.ps());
        port.book_pause(end);
        port.book_renewals(end);
    }
    let account = counted.account(port, shared);
    let counts = &port.counts;
    log.link_bytes[link] = account.bytes as f64;
    packets.links.late_bytes[link] = counts.bytes - account.bytes;
    packets.links.pause_frames[link] = counts.pause_frames;
    packets.links.pause_renewals[link] = counts.pause_renewals;
    packets.links.resume_frames[link] = counts.resume_frames;
    packets.links.paused_ps[link] = account.paused;
    packets.links.queue_bytes_max[link] = counts.queue_max;
    packets.links.queue_byte_seconds[link] = account.queue_time * 1e-12;
    // What is dropped came in by the link that ends at this port.
    packets.links.dropped[link ^ 1] = counts.dropped;
    packets.links.cnps[link] = counts.notified;
    packets.counts.dropped += u64::from(counts.dropped);
    packets.counts.lost += u64::from(counts.lost);
    packets.counts.pause_frames += u64::from(counts.pause_frames);
    packets.counts.pause_renewals += u64::from(counts.pause_renewals);
    packets.counts.resume_frames += u64::from(counts.resume_frames);
    if let Some(at) = counts.watched {
        let kind = IncidentKind::Paused(railtwin_fabric::LinkId(port.line.link));
        log.incidents.push(Incident { at: SimTime::from_ps(at), kind });
    }
}

/// Starts and ends of flows, joined; those that never ended have [`SimTime::NEVER`] as end.
fn flows(shared: &Shared<'_>, mut starts: Vec<FlowEnd>, mut ends: Vec<FlowEnd>) -> Vec<PacketFlow> {
    starts.sort_unstable();
    ends.sort_unstable();
    let case = shared.network.case;
    let mut flows = Vec::with_capacity(starts.len());
    let mut ended = ends.iter().peekable();
    for &(operation, leg, start) in &starts {
        while ended.next_if(|&&(o, l, _)| (o, l) < (operation, leg)).is_some() {}
        let end = ended.peek().filter(|&&&(o, l, _)| (o, l) == (operation, leg));
        let end = end.map_or(SimTime::NEVER, |&&(_, _, end)| SimTime::from_ps(end));
        let spec = &shared.program.legs[leg as usize];
        let Way::Network(connection) = spec.way else { continue };
        let [source, target]: [DeviceId; 2] = shared.ends_of(connection);
        let (.., row) = case.work.locate(railtwin_workload::OperationId(operation));
        let job = case.work.job_of(railtwin_workload::OperationId(operation));
        let Work::Communicate { bytes, .. } = case.work.jobs[job].plan.operations[row.index()].work else {
            continue;
        };
        flows.push(PacketFlow {
            operation,
            pattern: spec.pattern,
            source,
            target,
            bytes: leg_bytes(spec, bytes),
            start: SimTime::from_ps(start),
            end,
        });
    }
    flows
}
