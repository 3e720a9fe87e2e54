//! The engine: from a case to devices, and back to a log.
use std::collections::BTreeSet;

use railtwin_engine::fault::{Change, Moment};
use railtwin_engine::lower::Lowering;
use railtwin_engine::packet::Priority;
use railtwin_engine::{ActionRow, Case, Engine, Mediator, RunLog};
use railtwin_units::SimTime;

use crate::agenda::NEVER;
use crate::changes::Changes;
use crate::congestion::{Control, Controlled, with_control};
use crate::host::Shared;
use crate::log;
use crate::network::Network;
use crate::online::{self, Online};
use crate::program::{Program, Way};
use crate::run::Machine;

/// Moments of controllers that are worked out ahead: those who write again and again what never arrives never rest.
const PASSES: usize = 100_000;
/// Legs over all operations up to which starts and ends of flows are kept.
const FLOWS_MAX: u64 = 4_000_000;

/// The packet-level engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketEngine {
    /// Threads that one run uses; the result does not depend on them.
    pub threads: u32,
}

impl Default for PacketEngine {
    fn default() -> Self {
        Self { threads: 1 }
    }
}

impl Engine for PacketEngine {
    fn name(&self) -> &'static str {
        "packet"
    }

    fn run(&self, case: &Case, replicate: u32) -> RunLog {
        with_control(case.packets.keys.congestion_control, Run { case, replicate, threads: self.threads })
    }
}

/// A run that waits for its congestion control.
struct Run<'a> {
    case: &'a Case,
    replicate: u32,
    threads: u32,
}

impl Controlled for Run<'_> {
    type Outcome = RunLog;

    fn under<C: Control>(self, control: C) -> RunLog {
        let Self { case, replicate, threads } = self;
        let lowering = Lowering::new(case, replicate);
        let program = Program::new(case, &lowering);
        let connections = lowering.connections();
        let ends = connections.iter().flat_map(|one| (0..one.count).map(|_| [one.source, one.target]));
        let mut network = Network::new(case, ends.collect(), threads);
        let moments = case.timeline(replicate);
        let draw = lowering.draw().draw;
        let mediator = lowering.mediator(&moments);
        online::learn(case, &lowering, &mut network, SimTime::ZERO, &mediator);
        // Where nobody is told what happens all that controllers will do is known beforehand.
        let told = mediator.next_feedback(SimTime::ZERO).is_some();
        let (mut log, actions) = if told {
            let mut online = Online::new(mediator, case.fabric.link_count());
            let mut changes = Changes::new(case, &network, &moments);
            let first = shared(case, &network, &program, &lowering, &moments);
            let mut machine = Machine::new(&first, &changes, control, draw);
            loop {
                let shared = shared(case, &network, &program, &lowering, &moments);
                let Some(at) = online.go_on(&mut machine, &shared, &changes) else {
                    let log = log::write(&shared, &moments, machine.finish(&shared));
                    break (log, online.into_actions());
                };
                online::learn(case, &lowering, &mut network, at, online.mediator());
                machine.follow(at.ps(), network.epochs.len() - 1, &mut changes);
            }
        } else {
            let actions = learn(case, mediator, &lowering, &mut network);
            let shared = shared(case, &network, &program, &lowering, &moments);
            let changes = Changes::new(case, &network, &moments);
            let mut machine = Machine::new(&shared, &changes, control, draw);
            machine.run_until(NEVER, &shared, &changes);
            (log::write(&shared, &moments, machine.finish(&shared)), actions)
        };
        // What would be decided after the end is decided no more.
        let until = log.counted();
        log.actions = actions.into_iter().take_while(|action| action.decided <= until).collect();
        log
    }
}

/// Adds the routes that follow from all moments of the case's faults, and from what controllers make of them, to the
/// network, which knows those of the start. Returns what controllers decided.
fn learn(
    case: &Case,
    mut mediator: Mediator<'_>,
    lowering: &Lowering<'_>,
    network: &mut Network<'_>,
) -> Vec<ActionRow> {
    for _ in 0..PASSES {
        let Some(at) = mediator.next_time() else { break };
        if mediator.pass(at).reroutes {
            online::learn(case, lowering, network, at, &mediator);
        }
    }
    mediator.into_actions()
}

/// From when a cable dies until all carry and paths use them again.
fn broken(moments: &[Moment]) -> Vec<[u64; 2]> {
    let (mut dead, mut avoided) = (BTreeSet::new(), BTreeSet::new());
    let mut spans: Vec<[u64; 2]> = Vec::new();
    for moment in moments {
        let before = dead.len() + avoided.len();
        match moment.change {
            Change::Dies(cable, ways) => {
                dead.extend(ways.links(cable));
                true
            }
            Change::Carries(cable, ways) => {
                ways.links(cable).fold(false, |any, link| dead.remove(&link) | any)
            }
            Change::Avoided(link, view) => avoided.insert((link, view)),
            Change::Used(link, view) => avoided.remove(&(link, view)),
            Change::Struck(..) => continue,
        };
        let (at, open) = (moment.at.ps(), dead.len() + avoided.len());
        match spans.last_mut() {
            // Moments of one time are in no order of before and after.
            Some(last) if before == 0 && last[1] == at => last[1] = u64::MAX,
            _ if before == 0 && open > 0 => spans.push([at, u64::MAX]),
            Some(last) if open == 0 => last[1] = at,
            _ => {}
        }
    }
    spans
}

/// Numbers everything within its host; cables die and carry by `moments`.
fn shared<'a>(
    case: &'a Case,
    network: &'a Network<'a>,
    program: &'a Program,
    lowering: &Lowering<'_>,
    moments: &[Moment],
) -> Shared<'a> {
    let fabric = &*case.fabric;
    let hosts = fabric.hosts().len();
    let host_of = |nic| fabric.host_of(nic).expect("a NIC belongs to a host").index();
    let (mut senders, mut receivers) = (vec![0_u32; hosts], vec![0_u32; hosts]);
    let (mut from, mut to) = (vec![0_u32; hosts], vec![0_u32; hosts]);
    let next = |counts: &mut Vec<u32>, host: usize| {
        counts[host] += 1;
        counts[host] - 1
    };
    let (mut slots, mut connection_of, mut connection_slots) = (Vec::new(), Vec::new(), Vec::new());
    for (row, one) in (0..).zip(lowering.connections()) {
        let (source, target) = (host_of(one.source), host_of(one.target));
        connection_slots.push([next(&mut from, source), next(&mut to, target)]);
        for _ in 0..one.count {
            slots.push([next(&mut senders, source), next(&mut receivers, target)]);
            connection_of.push(row);
        }
    }
    let (mut begins, mut ends) = (vec![0_u32; hosts], vec![0_u32; hosts]);
    let mut leg_slots = vec![[0, 0]; program.legs.len()];
    for (leg, slots) in program.legs.iter().zip(&mut leg_slots) {
        *slots = [next(&mut begins, leg.source as usize), next(&mut ends, leg.target as usize)];
    }
    let packets = &case.packets.keys;
    let message = case.routing.message.unwrap_or(case.packets.message).max(1);
    let network_legs = program.legs.iter().filter(|leg| matches!(leg.way, Way::Network(_))).count() as u64;
    let operations = case.work.operations.max(1) as u64 / case.work.patterns.max(1) as u64;
    Shared {
        network,
        program,
        packets,
        wire: packets.wire(),
        acknowledgements_first: packets.goes_first(Priority::Acknowledgements),
        clearances_first: packets.goes_first(Priority::ClearToSend),
        message: packets.admission.map_or(message, |admission| message.min(admission.buffer.0.max(1))),
        transport: case.transport,
        slots,
        connection_of,
        jobs: lowering.connections().iter().map(|one| one.job).collect(),
        first_of: lowering.connections().iter().map(|one| one.first).collect(),
        queue_pairs_of: lowering.connections().iter().map(|one| one.count).collect(),
        connection_slots,
        leg_slots,
        selective: packets.is_selective(case.routing.balancer),
        least_window: if packets.is_selective(case.routing.balancer) {
            0
        } else {
            u64::from(packets.acknowledge_every) * packets.full()
        },
        cnp_interval: packets.cnp_interval().ps(),
        notifies: packets.congestion_control.needs().notifications,
        flows: network_legs * operations.max(1) <= FLOWS_MAX,
        burst: packets.nic.burst.map_or(0, |burst| burst.0),
        draw: lowering.draw().draw,
        broken: broken(moments),
    }
}
