//! A run whose controllers hear of it: devices work up to the next time at which something is measured, told or decided,
//! then counters are read, the mediator passes through that time, and what it changed holds from then on.
//!
//! Between two such times nothing differs from a run without feedback. They are ends of windows for all threads, so
//! counters are those of the same moment whoever worked devices off.
use railtwin_control::controller::{Completion, LinkCounters, QueuePairCounters};
use railtwin_engine::lower::Lowering;
use railtwin_engine::{ActionRow, Case, Feedback, Mediator};
use railtwin_fabric::LinkId;
use railtwin_routing::Forwarding;
use railtwin_units::SimTime;

use crate::agenda::NEVER;
use crate::changes::Changes;
use crate::congestion::Control;
use crate::device::DeviceState;
use crate::host::Shared;
use crate::network::Network;
use crate::run::Machine;

/// Moments in a row at which controllers act though no device has anything to do: those who write again and again what
/// never arrives never rest.
const PASSES: u32 = 100_000;

/// The mediator of a run that goes on, and what was read last.
#[derive(Debug)]
pub struct Online<'a> {
    mediator: Mediator<'a>,
    /// By link: packets, bytes and marked packets when they were read last.
    read: Vec<[u64; 3]>,
    asked: SimTime,
    idle: u32,
}

impl<'a> Online<'a> {
    /// Of a mediator at time zero, on so many links.
    pub fn new(mediator: Mediator<'a>, links: usize) -> Self {
        Self { mediator, read: vec![[0; 3]; links], asked: SimTime::ZERO, idle: 0 }
    }

    /// The mediator.
    pub const fn mediator(&self) -> &Mediator<'a> {
        &self.mediator
    }

    /// All decisions.
    pub fn into_actions(self) -> Vec<ActionRow> {
        self.mediator.into_actions()
    }

    /// Lets devices work until paths change, which they do at the time that this gives; none where nothing is left to
    /// do. Shares of queue pairs are told to hosts at once.
    pub fn go_on<C: Control + std::fmt::Debug>(
        &mut self,
        machine: &mut Machine<C>,
        shared: &Shared<'_>,
        changes: &Changes,
    ) -> Option<SimTime> {
        while let Some((at, measures)) = self.next(machine) {
            machine.run_until(at.ps(), shared, changes);
            if machine.is_over() {
                break;
            }
            self.idle = if machine.soonest() == NEVER { self.idle + 1 } else { 0 };
            if measures {
                let feedback = self.measure(at, machine, shared);
                self.mediator.feed(at, feedback);
            }
            let news = self.mediator.pass(at);
            if news.reweighs {
                self.weigh(machine, shared);
            }
            if news.reroutes {
                return Some(at);
            }
        }
        machine.run_until(NEVER, shared, changes);
        None
    }

    /// When the mediator is to be asked next and whether counters are read before; none where that changes nothing.
    fn next<C: Control + std::fmt::Debug>(&self, machine: &Machine<C>) -> Option<(SimTime, bool)> {
        if machine.is_over() || self.idle > PASSES {
            return None;
        }
        let soonest = machine.soonest();
        // Up to the time at which a device has something to do counters stand still.
        let from = if soonest > self.asked.ps() { SimTime::from_ps(soonest) } else { SimTime::ZERO };
        let measured = self.mediator.next_feedback(from).filter(|_| soonest < NEVER);
        let passed = self.mediator.next_time();
        let at = measured.into_iter().chain(passed).min()?;
        Some((at, measured == Some(at)))
    }

    /// Reads all counters.
    fn measure<C: Control + std::fmt::Debug>(
        &mut self,
        now: SimTime,
        machine: &mut Machine<C>,
        shared: &Shared<'_>,
    ) -> Feedback {
        let seconds = now.since(self.asked).seconds();
        self.asked = now;
        let mut feedback = Feedback::default();
        let read = &mut self.read;
        machine.each_device(|device| {
            device.each_port(|port, _| {
                let counts = &port.counts;
                let all = [counts.packets, counts.bytes, u64::from(counts.marked)];
                let before = std::mem::replace(&mut read[port.line.link as usize], all);
                let [packets, bytes, marked] = std::array::from_fn(|row| all[row] - before[row]);
                if packets > 0 {
                    feedback.links.push(LinkCounters {
                        link: LinkId(port.line.link),
                        bytes,
                        utilization: (bytes as f64 / (port.line.speed.bytes_per_s() * seconds)).min(1.0),
                        marked: (marked as f64 / packets as f64).min(1.0),
                    });
                }
            });
            let DeviceState::Host(host) = &mut device.kind else { return };
            for sender in &mut host.senders {
                let (bytes, time) = sender.busy.take();
                if bytes > 0 {
                    let (queue_pair, time) = (sender.queue_pair, SimTime::from_ps(time));
                    feedback.completions.push(Completion { queue_pair, bytes, time });
                }
            }
            for receiver in &mut host.receivers {
                let (packets, marked) = receiver.take_counts();
                if packets > 0 {
                    let marked = (f64::from(marked) / f64::from(packets)).min(1.0);
                    feedback.queue_pairs.push(QueuePairCounters { queue_pair: receiver.queue_pair, marked });
                }
            }
        });
        // Devices come in an order that depends on how many threads there are.
        feedback.links.sort_unstable_by_key(|one| one.link);
        feedback.completions.sort_unstable_by_key(|one| one.queue_pair);
        feedback.queue_pairs.sort_unstable_by_key(|one| one.queue_pair);
        debug_assert!(
            feedback.links.iter().all(|one| one.link.index() < shared.network.case.fabric.link_count())
        );
        feedback
    }

    /// Tells hosts the shares of their queue pairs.
    fn weigh<C: Control + std::fmt::Debug>(&self, machine: &mut Machine<C>, shared: &Shared<'_>) {
        let programmed = self.mediator.programmed();
        for (row, (&first, &count)) in shared.first_of.iter().zip(&shared.queue_pairs_of).enumerate() {
            let shares = programmed.shares(first, count);
            let [source, _] = shared.ends_of(row as u32);
            let host = shared.network.case.fabric.host_of(source).map_or(0, |host| host.0);
            machine.host(shared, host).weigh(shared.connection_slots[row][0] as usize, shares.as_deref());
        }
    }
}

/// Adds the routes that follow from what is known and told at `at` to the network.
pub fn learn(
    case: &Case,
    lowering: &Lowering<'_>,
    network: &mut Network<'_>,
    at: SimTime,
    mediator: &Mediator<'_>,
) {
    let routed = &mediator.known().routed;
    let paths = lowering.paths_by(routed, mediator.programmed());
    network.learn(at, &paths, Forwarding::new(&case.fabric, routed));
}
