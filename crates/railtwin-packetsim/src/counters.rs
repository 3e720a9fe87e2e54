//! What controllers are told of a run that goes on: counters of ports and queue pairs, read at the end of a period.
//!
//! That is the end of a window for all threads, so counters are those of the same moment whoever worked devices off.
use railtwin_control::controller::{Completion, LinkCounters, QueuePairCounters};
use railtwin_engine::{Feedback, Programmed};
use railtwin_fabric::LinkId;
use railtwin_units::SimTime;

use crate::congestion::Control;
use crate::device::DeviceState;
use crate::host::Shared;
use crate::run::Machine;

/// What was read last.
#[derive(Debug)]
pub struct Counters {
    /// By link: packets, bytes and marked packets.
    read: Vec<[u64; 3]>,
    asked: SimTime,
    /// Events that devices had worked off by then.
    events: u64,
}

impl Counters {
    /// At time zero, of so many links.
    pub fn new(links: usize) -> Self {
        Self { read: vec![[0; 3]; links], asked: SimTime::ZERO, events: 0 }
    }

    /// Events that devices had worked off when they were read last.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// Reads all counters.
    pub fn measure<C: Control + std::fmt::Debug>(
        &mut self,
        now: SimTime,
        machine: &mut Machine<C>,
        shared: &Shared<'_>,
    ) -> Feedback {
        let seconds = now.since(self.asked).seconds();
        (self.asked, self.events) = (now, machine.events());
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
}

/// Tells hosts the shares of their queue pairs.
pub fn weigh<C: Control + std::fmt::Debug>(
    programmed: &Programmed,
    machine: &mut Machine<C>,
    shared: &Shared<'_>,
) {
    if !programmed.is_weighed() {
        return;
    }
    for (row, (&first, &count)) in shared.first_of.iter().zip(&shared.queue_pairs_of).enumerate() {
        let shares = programmed.shares(first, count);
        let [source, _] = shared.ends_of(row as u32);
        let host = shared.network.case.fabric.host_of(source).map_or(0, |host| host.0);
        machine.host(shared, host).weigh(shared.connection_slots[row][0] as usize, shares.as_deref());
    }
}
