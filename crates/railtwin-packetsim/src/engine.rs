//! The engine: from a case to devices, and back to a log.
use std::collections::BTreeSet;

use railtwin_engine::fault::{Change, Moment};
use railtwin_engine::lower::Lowering;
use railtwin_engine::packet::Priority;
use railtwin_engine::{Case, Engine, Mediator, RunLog, Survey};
use railtwin_routing::Forwarding;
use railtwin_units::SimTime;

use crate::agenda::NEVER;
use crate::changes::Changes;
use crate::congestion::{Control, Controlled, with_control};
use crate::connection::parts_of_messages;
use crate::counters::weigh;
use crate::host::Shared;
use crate::levels::Levels;
use crate::live::Live;
use crate::log;
use crate::network::Network;
use crate::program::{Program, Way};
use crate::run::Machine;
use crate::surveys::Surveys;

/// Moments of controllers that are worked out ahead: those who write again and again what never arrives never rest.
pub(crate) const PASSES: usize = 100_000;
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
        let mut levels = Levels::of(&self.case.work);
        // A priority that nobody spoke of before needs queues and buffers of its own: the run is played anew with them.
        loop {
            match self.played(control, levels) {
                Ok(log) => return log,
                Err(more) => levels = more,
            }
        }
    }
}

impl Run<'_> {
    /// Plays the run with queues for some levels of priority.
    ///
    /// # Errors
    /// The levels that it takes, where it takes more.
    fn played<C: Control>(&self, control: C, levels: Levels) -> Result<RunLog, Levels> {
        let Self { case, replicate, threads } = *self;
        let lowering = Lowering::new(case, replicate);
        let program = Program::new(case, &lowering);
        let connections = lowering.connections();
        let ends = connections.iter().flat_map(|one| (0..one.count).map(|_| [one.source, one.target]));
        let network = Network::new(case, ends.collect(), threads);
        let moments = case.timeline(replicate);
        let mut mediator = lowering.mediator(&moments);
        let mut shared = Shared { broken: broken(&moments), ..shared(case, network, &program, &lowering) };
        shared.levels = levels;
        learn(SimTime::ZERO, &mediator, &lowering, &mut shared);
        // What is decided after a job is gone may depend on when that is, what is decided after a survey on what it found,
        // and what is decided after feedback on counters; controllers of one's own may shift shares, which hosts are told of
        // when they hold. Else nothing depends on packets.
        let is_fed = mediator.next_feedback(SimTime::ZERO).is_some();
        let mut is_live =
            is_fed || mediator.has_own() || mediator.has_controllers() && case.work.jobs.len() > 1;
        let asked = if is_live {
            // What was asked for at time zero.
            mediator.take_surveys()
        } else {
            plan_ahead(&mut mediator, &lowering, &mut shared)
        };
        is_live |= !asked.is_empty();
        shared.network.levels = shared.levels.count();
        let mut changes = Changes::new(case, &shared.network, &moments);
        let mut machine = Machine::new(&shared, &changes, control, lowering.draw().draw);
        weigh(mediator.programmed(), &mut machine, &shared);
        let mut surveys = Surveys::default();
        if is_live {
            let live = Live::new(&mut machine, (&mut shared, &mut changes), &mut mediator);
            surveys = live.play(asked, &lowering);
        } else {
            machine.run(NEVER, &shared, &changes);
        }
        if shared.is_outgrown() {
            return Err(shared.levels.anew());
        }
        let done = machine.finish(&shared);
        let mut log = log::write(&shared, &moments, done);
        // What would be decided after the end is decided no more.
        let until = log.counted();
        let actions = mediator.into_actions().into_iter();
        log.actions = actions.take_while(|action| action.decided <= until).collect();
        log.surveys = surveys.finish(until);
        Ok(log)
    }
}

/// Adds the routes that follow from what is known and told, from `at` on, and the levels of all queue pairs.
pub(crate) fn learn(at: SimTime, mediator: &Mediator<'_>, lowering: &Lowering<'_>, shared: &mut Shared<'_>) {
    let routed = &mediator.known().routed;
    let paths = lowering.paths_by(routed, mediator.programmed());
    let forwarding = Forwarding::new(&shared.network.case.fabric, routed);
    shared.network.learn(at, &paths, forwarding);
    let priorities: Vec<u8> = mediator.programmed().priorities_of_jobs(&shared.network.case.work).collect();
    shared.levels.add(&priorities);
    let levels = shared.levels.of_queue_pairs(lowering.connections());
    shared.network.set_levels(levels);
}

/// Adds the routes that follow from all moments of the case's faults, and from what controllers make of them, up to the
/// first survey that one asks for, which it returns.
fn plan_ahead(mediator: &mut Mediator<'_>, lowering: &Lowering<'_>, shared: &mut Shared<'_>) -> Vec<Survey> {
    for _ in 0..PASSES {
        let asked = mediator.take_surveys();
        if !asked.is_empty() {
            return asked;
        }
        let Some(at) = mediator.next_time() else { break };
        let news = mediator.pass(at);
        if news.reroutes || news.reprioritizes {
            learn(at, mediator, lowering, shared);
        }
    }
    Vec::new()
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

/// Numbers everything within its host.
fn shared<'a>(
    case: &'a Case,
    network: Network<'a>,
    program: &'a Program,
    lowering: &Lowering<'_>,
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
    let message = case.packets.largest_message(case.routing.message);
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
        parts: parts_of_messages(case, lowering.connections()),
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
        broken: Vec::new(),
        levels: Levels::default(),
        surveys: Vec::new(),
    }
}
