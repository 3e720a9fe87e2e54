//! Links that lose packets, cables that go down, ranks in trouble.
use std::collections::BTreeMap;

use railtwin_engine::{CableState, RankTrouble};
use railtwin_fabric::{CableClass, CableId};
use railtwin_records::telemetry::Counter;
use railtwin_units::{SimTime, TimeRange};

use super::builder::Builder;
use super::rows::Law;

/// Bytes of a packet, RoCE with a path MTU of 4 KiB.
pub(super) const PACKET: f64 = 4096.0;
/// Packets lost for each that only a timeout tells of: the last of a message has none after it.
const LOST_PER_TIMEOUT: f64 = 64.0;

impl Builder<'_> {
    /// Links that lose packets: errors where they arrive, and what NICs at both ends of the flows notice. The port that
    /// sends says that its link is up (HPN section 10).
    pub(super) fn losses(&mut self) {
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

    /// Cables that go down: both ports say so unless they keep their carrier, and flows time out until their paths
    /// change, after the mean of what that takes.
    pub(super) fn outages(&mut self) {
        let reaction = &self.case.reaction;
        let late = [reaction.ecmp_regroup, reaction.withdrawal, reaction.convergence];
        let late = late.iter().fold(SimTime::ZERO, |sum, span| sum.saturating_add(span.mean()));
        let timeout_ns = self.case.transport.ack_timeout().seconds() * 1e9;
        let mut ends: BTreeMap<CableId, Vec<(u64, CableState)>> = BTreeMap::new();
        for fault in &self.case.faults {
            ends.entry(fault.cable).or_default().push((fault.at.ps() / 1_000, fault.state));
        }
        for (cable, events) in ends {
            let mut events = events.into_iter().peekable();
            let access = self.case.fabric.cable_class(cable) == CableClass::Access;
            while let Some((from_ns, state)) = events.next() {
                let seen = match state {
                    CableState::Up | CableState::Mute(_) => continue,
                    CableState::Down => reaction.detection,
                    CableState::Silent(_) => reaction.silence(access),
                    // The switch that sends into it has no routes, and nobody tells who sends to it.
                    CableState::Headless(_) => TimeRange::at(SimTime::NEVER),
                };
                let rerouted = late.saturating_add(seen.mean());
                let until_ns = events.peek().map_or(u64::MAX, |&(at, _)| at);
                for link in [cable.forward(), cable.backward()] {
                    if state == CableState::Down {
                        let port = self.port(link, false);
                        self.row(port, Counter::LinkUp).rest = 1.0;
                        self.law(port, Counter::LinkUp, Law::Stands { from_ns, until_ns, at: 0.0 });
                        self.law(port, Counter::LinkDowns, Law::Leaps { at_ns: from_ns, by: 1.0 });
                    }
                    let [senders, receivers] = self.users(link.0);
                    let waits_until = until_ns.min(from_ns.saturating_add(rerouted.ps() / 1_000));
                    for (nic, pairs) in senders {
                        let Some(&entity) = self.out.nics.get(&nic) else { continue };
                        let per_s = pairs * 1e9 / timeout_ns;
                        let grows = Law::Grows { from_ns, until_ns: waits_until, per_s };
                        self.law(entity, Counter::AckTimeouts, grows);
                        self.law(entity, Counter::AckTimeouts, Law::Leaps { at_ns: from_ns, by: pairs });
                    }
                    // Where only the way back is silent data arrive, and their acknowledgements do not.
                    for (nic, pairs) in receivers.into_iter().filter(|_| state.takes(link)) {
                        let Some(&entity) = self.out.nics.get(&nic) else { continue };
                        // Once for each queue pair: what was in flight is sent again.
                        self.law(entity, Counter::OutOfSequence, Law::Leaps { at_ns: from_ns, by: pairs });
                    }
                }
            }
        }
    }

    /// Processes that are gone, whose peers time out, and ranks that wait for their input.
    pub(super) fn ranks(&mut self) {
        let step_s = self.replay.quiet_step_ns() * 1e-9;
        let transport = &self.case.transport;
        let timeout_ns = transport.ack_timeout().seconds() * 1e9;
        for fault in self.replay.troubles.clone() {
            let (from_ns, until_ns) = (fault.from.ps() / 1_000, fault.until.ps() / 1_000);
            let row = self.replay.rows.first_rank + fault.rank;
            let component = self.directory.rank_component(row);
            let entity = self.entity(component, None, Some(fault.rank));
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
}
