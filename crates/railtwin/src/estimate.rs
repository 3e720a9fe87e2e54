//! What a run will take, said before it begins: rows, memory, and roughly time; and what is too large to begin.
use railtwin_engine::packet_log::QueueSample;
use railtwin_engine::{Extent, Pace};
use railtwin_fabric::HostId;
use railtwin_scenario::EngineName;
use railtwin_workload::{Algorithm, Collective};

use crate::cost::{Cost, PROGRAM};
use crate::engines::{busy_seconds, packet_hops};
use crate::error::Error;
use crate::question::Resolved;
use crate::simulate::BATCH;

/// Seconds from which on a person is told what to expect.
pub(crate) const LONG: f64 = 10.0;
/// Packet-hops of a second on one core: `make bench` measures 4 to 8 million.
const HOPS_PER_S: f64 = 7e6;
/// Bytes of what a queue pair told in one period of `[control] feedback`.
const TOLD: f64 = 30.0;
/// Seconds in which the rates of a queue pair are found anew after such a period.
const TOLD_S: f64 = 0.8e-6;
/// Rows of one kind that 32 bits can number.
const ROWS_MAX: f64 = u32::MAX as f64;

/// What a run will take.
#[derive(Clone, PartialEq, Debug)]
pub struct Estimate {
    /// Rows of a replicate.
    pub extent: Extent,
    /// Most bytes at once beside fabric and plan: within a factor of 2 of measured ones, 3 where queue pairs carry what they can.
    pub bytes: f64,
    /// Seconds of all replicates, roughly: of the flow engine what its tables take, not how often rates change.
    pub seconds: f64,
    /// Packets that will cross links in a replicate, where packets move.
    pub packet_hops: Option<f64>,
    /// Rows of the table of queues, where packets move and queues are sampled.
    pub sample_rows: f64,
    /// Whether every bundle finds its own rate.
    pub by_bundle: bool,
}

impl Estimate {
    /// Counts a point; `threads` replicates run side by side. Nothing is lowered.
    pub fn of(resolved: &Resolved, threads: usize) -> Self {
        let case = &resolved.case;
        let extent = resolved.extent().clone();
        let joined = case.pace == Pace::Class;
        let (one, mut seconds) = match resolved.scenario.engine {
            EngineName::Flow => (
                railtwin_flowsim::footprint::bytes(&extent, joined),
                railtwin_flowsim::footprint::seconds(&extent, joined),
            ),
            EngineName::Packet => {
                let hosts = case.placements.iter().map(|places| {
                    let hosts = places.iter().map(|place| place.host);
                    hosts.collect::<std::collections::BTreeSet<_>>().len() as u64
                });
                (railtwin_packetsim::footprint::bytes(&extent, hosts.max().unwrap_or(0)), 0.0)
            }
        };
        let replicates = resolved.scenario.run.replicates;
        let side_by_side = threads.clamp(1, BATCH.min(replicates).max(1) as usize);
        // The chosen replicate is lowered once more for the page, with every path that it hands on.
        let bytes = PROGRAM + (one * side_by_side as f64).max(extent.lowered_bytes(true));
        // Of several the chosen one runs again.
        let runs = if replicates > 1 { f64::from(replicates) / side_by_side as f64 + 1.0 } else { 1.0 };
        seconds *= runs;
        Self { extent, bytes, seconds, packet_hops: None, sample_rows: 0.0, by_bundle: !joined }
    }

    /// Refuses what does not fit.
    ///
    /// # Errors
    /// [`Error::TooLarge`] with what was counted, the limit and what would be smaller.
    pub fn check(&self, resolved: &Resolved, limit: u64) -> Result<(), Error> {
        let rows = self.extent.most_rows().max(self.sample_rows);
        let problem = if rows > ROWS_MAX {
            format!("{} rows of one kind, and 32 bits number {}", count(rows), count(ROWS_MAX))
        } else if self.bytes > limit as f64 {
            format!("about {}, and {} may be used", gib(self.bytes), gib(limit as f64))
        } else {
            return Ok(());
        };
        let mut ways = vec!["fewer GPUs in a group"];
        if self.sample_rows > 0.0 {
            ways.insert(0, "longer packet.samples");
        }
        let patterns = || resolved.case.work.jobs.iter().flat_map(|job| &job.plan.patterns);
        let direct = |pattern: &railtwin_workload::Pattern| {
            let kind = pattern.collective;
            pattern.algorithm == Algorithm::Direct && kind != Collective::SendReceive && !kind.is_of_experts()
        };
        if patterns().any(|pattern| direct(pattern) && pattern.collective != Collective::AllToAll) {
            ways.push("algorithm = \"ring\"");
        }
        if patterns().any(direct) && !resolved.case.routing.pxn {
            ways.push("pxn = true");
        }
        if resolved.case.routing.queue_pairs > 1 {
            ways.push("fewer queue_pairs");
        }
        if resolved.case.work.jobs.iter().any(|job| job.steps > 1)
            && self.extent.operations > self.extent.edges
        {
            ways.push("fewer steps");
        }
        if resolved.case.pace == Pace::Bundle {
            ways.push("[run] pace = \"class\"");
        }
        if rows <= ROWS_MAX {
            ways.push("or more memory by --memory, such as --memory 64GiB");
        }
        let message = format!("the job is too large: {} take {problem}", self.rows());
        Err(Error::TooLarge { message, remedy: format!("write {}", ways.join(", ")) })
    }

    /// Edges, queue pairs and links in words.
    pub(crate) fn rows(&self) -> String {
        let Extent { edges, flows, links_each, operations, .. } = self.extent;
        let paths = format!(
            "{} edges with {} queue pairs over {links_each:.1} links each",
            count(edges as f64),
            count(flows as f64)
        );
        if operations > edges { format!("{} operations, {paths}", count(operations as f64)) } else { paths }
    }

    /// Counts packets and periods of feedback too, once the point is known to fit: that lowers it.
    pub fn with_packets(mut self, resolved: &Resolved) -> Self {
        if let (Some(period), None) = (resolved.scenario.control.feedback, self.packet_hops) {
            let periods = busy_seconds(resolved) / period.seconds().max(1e-9);
            let told = periods * self.extent.queue_pairs as f64 * f64::from(resolved.scenario.run.replicates);
            self.bytes += told * TOLD;
            self.seconds += told * TOLD_S;
        }
        self.packet_hops = packet_hops(resolved);
        if let (Some(hops), Some(width)) = (self.packet_hops, resolved.case.packets.keys.samples) {
            // At least so long packets are on links, each with a row for each sample.
            let fabric = &resolved.case.fabric;
            let port = fabric.host_model(HostId(0)).nic.port_capacity.bytes_per_s();
            let busy = hops * resolved.case.packets.keys.payload.0 as f64 / port;
            let rows = busy / width.seconds().max(1e-12);
            self.bytes += rows * size_of::<QueueSample>() as f64;
            self.sample_rows = rows;
        }
        let hops = self.packet_hops.unwrap_or(0.0) * f64::from(resolved.scenario.run.replicates);
        self.seconds += hops / (HOPS_PER_S * f64::from(resolved.threads.max(1)));
        self
    }

    /// The same as the cost of a verb.
    pub fn cost(&self) -> Cost {
        Cost {
            rows: self.rows(),
            bytes: self.bytes,
            seconds: self.seconds,
            remedy: "fewer GPUs in a group, or fewer steps",
        }
    }

    /// Whether its rows can be numbered: what cannot is not lowered to count its packets.
    pub fn is_numbered(&self) -> bool {
        self.extent.most_rows() <= ROWS_MAX
    }

    /// What to expect, where that is long.
    pub fn words(&self) -> Option<String> {
        if self.seconds < LONG {
            return None;
        }
        let hops = self.packet_hops.map(|hops| format!("{} packet-hops a replicate, ", count(hops)));
        let (bytes, time) = (gib(self.bytes), duration(self.seconds));
        // Where queue pairs carry what they can, rates are searched for whenever some bundle ends.
        let at_least = if self.extent.dynamic { "at least " } else { "" };
        let fewer = if self.extent.dynamic && self.by_bundle && self.packet_hops.is_none() {
            "; [run] pace = \"class\" has far fewer that end"
        } else {
            ""
        };
        Some(format!(
            "expect about {bytes} and {at_least}{time}: {}{}{fewer}",
            hops.unwrap_or_default(),
            self.rows()
        ))
    }
}

/// A number for people.
pub(crate) fn count(number: f64) -> String {
    let scales = [(1e12, "trillion"), (1e9, "billion"), (1e6, "million")];
    match scales.into_iter().find(|(scale, _)| number >= *scale) {
        Some((scale, name)) => format!("{:.1} {name}", number / scale),
        None => format!("{number:.0}"),
    }
}

/// Bytes for people.
pub(crate) fn gib(bytes: f64) -> String {
    let [kib, mib, gib] = [10, 20, 30].map(|power| bytes / f64::from(1_u32 << power));
    match () {
        () if gib >= 1.0 => format!("{gib:.1} GiB"),
        () if mib >= 1.0 => format!("{mib:.0} MiB"),
        () => format!("{kib:.0} KiB"),
    }
}

/// A time for people.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}
