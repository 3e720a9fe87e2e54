//! The credit world: GPUs around a switch in each host, NICs that convert packets, switches with credits between hosts.
//!
//! * `plan`: devices, lines, routes by D-mod-K, sizes; `source`: what GPUs want to send, and `targets` to whom.
//! * `host`: GPUs, the switch inside and its `nic`; `switch`: those between hosts; both are a `crossbar` with its
//!   `arbiter` (iSLIP); `root`: a root complex in its place.
//! * `cargo`: what travels between devices; `world`: these devices as the machine of windows knows them.
//!
//! Links of a host are a few nanoseconds long, so a host is one device of the machine with all that is in it; what
//! travels between devices crosses cables of the network ([decision 19](../../../../docs/decisions/0019-two-worlds-one-machine.md)).
mod arbiter;
mod cargo;
mod crossbar;
mod host;
mod nic;
mod plan;
mod refused;
mod root;
mod source;
mod switch;
mod targets;
mod world;

use railtwin_engine::intranode::{IntranodeLog, IntranodeSpec, UnitsLog};
use railtwin_fabric::Fabric;

use self::cargo::{CLASSES, FROM_UNITS, INTER, INTRA, TO_UNITS, Tally};
use self::plan::Plan;
pub use self::refused::Refused;
pub use self::source::PAIR_DEPTH;
use self::world::{Kind, Until};
use crate::agenda::NEVER;
use crate::meeting::work_off;

/// A run that is yet to come.
#[derive(Debug)]
pub struct IntranodeRun(Plan);

impl IntranodeRun {
    /// Of a fabric whose hosts have one NIC with one port, on so many threads; the result does not depend on these.
    ///
    /// # Errors
    /// [`Refused`] with the key of what cannot be.
    pub fn new(fabric: &Fabric, spec: &IntranodeSpec, seed: u64, threads: u32) -> Result<Self, Refused> {
        Plan::new(fabric, spec, seed, threads).map(Self)
    }

    /// Lasts until all that was sent has arrived; without it a run of a pattern ends with its duration.
    #[must_use]
    pub fn drained(mut self) -> Self {
        self.0.drains = true;
        self
    }

    /// The same with duration and warm-up so many times as long; none beyond `longest`, and of a pair.
    pub fn lengthened(&self, times: u64) -> Option<Self> {
        let spec = &self.0.spec;
        let longest = spec.longest.filter(|_| spec.pair.is_none())?;
        let counted = (spec.warm_up.ps().checked_mul(times)?, spec.duration.ps().checked_mul(times)?);
        (counted.1 <= longest.ps()).then(|| Self(self.0.counting(counted)))
    }

    /// Runs.
    pub fn run(&self) -> IntranodeLog {
        let plan = &self.0;
        let end = plan.counted.1;
        let until = if plan.drains || plan.spec.pair.is_some() { NEVER } else { end };
        let (mut parts, _) = work_off(world::parts(plan), Until(until), plan);
        let mut log = IntranodeLog::default();
        let mut tally = Tally::default();
        let (mut offered, mut refused) = ([0; CLASSES], [0; CLASSES]);
        for part in &mut parts {
            tally.merge(&part.mail.tally);
            log.packet_hops += part.mail.packet_hops;
            log.events += part.events;
            for device in &mut part.devices {
                let Kind::Host(host) = &mut device.kind else { continue };
                for source in &mut host.sources {
                    source.close(end, plan);
                    for class in 0..CLASSES {
                        offered[class] += source.offered[class];
                        refused[class] += source.refused[class];
                    }
                    log.accepted += source.accepted;
                }
            }
        }
        let span = if plan.spec.pair.is_some() {
            tally.last - tally.first.min(tally.last)
        } else {
            end - plan.counted.0
        };
        log.span_ps = span;
        log.offered_bytes = [offered[INTRA], offered[INTER]];
        log.refused_bytes = [refused[INTRA], refused[INTER]];
        (log.intra_bytes, log.inter_bytes) = (tally.bytes[INTRA], tally.bytes[INTER]);
        (log.payload_bytes, log.network_bytes) = (tally.payload, tally.network);
        log.latencies = [tally.latencies[INTRA], tally.latencies[INTER]];
        log.units = UnitsLog {
            offered_bytes: [offered[TO_UNITS], offered[FROM_UNITS]],
            refused_bytes: [refused[TO_UNITS], refused[FROM_UNITS]],
            bytes: [tally.bytes[TO_UNITS], tally.bytes[FROM_UNITS]],
            latencies: [tally.latencies[TO_UNITS], tally.latencies[FROM_UNITS]],
        };
        (log.messages, log.last_ps) = (tally.messages, tally.last);
        log.left_bytes = log.accepted * plan.spec.message.0 - tally.arrived;
        log
    }
}
