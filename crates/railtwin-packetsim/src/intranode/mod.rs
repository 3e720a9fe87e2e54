//! The credit world: GPUs around a switch in each host, NICs that convert packets, switches with credits between hosts.
//!
//! * `plan`: devices, lines, routes by D-mod-K (`routes`), sizes; `source`: what GPUs want to send, and `targets` to whom.
//! * `host`: GPUs, the switch inside and its `nic`; `switch`: those between hosts; both are a `crossbar` with its
//!   `arbiter` (iSLIP); `root`: a root complex in its place.
//! * `cargo`: what travels between devices; `world`: these devices as the machine of windows knows them.
//!
//! Links of a host are a few nanoseconds long, so a host is one device of the machine with all that is in it; what
//! travels between devices crosses cables of the network ([decision 19](../../../../docs/decisions/0019-two-worlds-one-machine.md)).
mod arbiter;
mod cargo;
mod cell;
mod crossbar;
mod host;
mod nic;
mod plan;
mod refused;
mod root;
mod routes;
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
use self::source::Source;
use self::world::{Credits, Kind, Until};
use crate::agenda::NEVER;
use crate::meeting::work_off;
use crate::window::Part;

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

    /// Runs.
    pub fn run(&self) -> IntranodeLog {
        self.run_while(|_| false)
    }

    /// Runs, and goes on where `unsettled` says so of a window: warm-up and duration twice as long, and again, as long as
    /// the duration is no longer than `longest`. The log is that of the last window alone, as if it were written so. A run
    /// that drains, and a pair, have one window.
    ///
    /// Counting never begins before the end of the window before.
    pub fn run_while(&self, unsettled: impl Fn(&IntranodeLog) -> bool) -> IntranodeLog {
        let mut plan = self.0.clone();
        let mut parts = world::parts(&plan);
        let is_open = !plan.drains && plan.spec.pair.is_none();
        let mut times = 1_u64;
        loop {
            let until = if is_open { plan.counted.1 } else { NEVER };
            (parts, _) = work_off(parts, Until(until), &plan);
            let log = log_of(&mut parts, &plan);
            times = times.saturating_mul(2);
            let (warm_up, duration) = (plan.spec.warm_up.ps(), plan.spec.duration.ps());
            let longer = plan.spec.longest.filter(|_| is_open).and_then(|longest| {
                let window = (warm_up.checked_mul(times)?, duration.checked_mul(times)?);
                (window.1 <= longest.ps()).then_some((window.0.max(plan.counted.1), window.1))
            });
            let Some(longer) = longer.filter(|_| unsettled(&log)) else { return log };
            for part in &mut parts {
                part.mail.tally.forget();
                for device in &mut part.devices {
                    if let Kind::Host(host) = &mut device.kind {
                        host.sources.iter_mut().for_each(Source::forget);
                    }
                }
            }
            plan.counted = longer;
        }
    }
}

/// Closes a counted window and returns its log.
fn log_of(parts: &mut [Part<Credits>], plan: &Plan) -> IntranodeLog {
    let end = plan.counted.1;
    let mut log = IntranodeLog::default();
    let mut tally = Tally::default();
    let (mut offered, mut refused) = ([0; CLASSES], [0; CLASSES]);
    for part in parts {
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
    let is_pair = plan.spec.pair.is_some();
    log.span_ps = if is_pair { tally.last - tally.first.min(tally.last) } else { end - plan.counted.0 };
    log.warm_up_ps = plan.counted.0;
    log.offered_bytes = [offered[INTRA], offered[INTER]];
    log.refused_bytes = [refused[INTRA], refused[INTER]];
    (log.intra_bytes, log.inter_bytes) = (tally.bytes[INTRA], tally.bytes[INTER]);
    (log.payload_bytes, log.network_bytes) = (tally.payload, tally.network);
    log.latencies = [tally.latencies[INTRA], tally.latencies[INTER]];
    log.late = [tally.late[INTRA], tally.late[INTER]];
    log.units = UnitsLog {
        offered_bytes: [offered[TO_UNITS], offered[FROM_UNITS]],
        refused_bytes: [refused[TO_UNITS], refused[FROM_UNITS]],
        bytes: [tally.bytes[TO_UNITS], tally.bytes[FROM_UNITS]],
        latencies: [tally.latencies[TO_UNITS], tally.latencies[FROM_UNITS]],
        late: [tally.late[TO_UNITS], tally.late[FROM_UNITS]],
    };
    (log.messages, log.last_ps) = (tally.messages, tally.last);
    log.left_bytes = log.accepted * plan.spec.message.0 - tally.arrived;
    log
}
