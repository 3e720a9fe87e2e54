//! What NICs, ports, switches, GPUs, processes and hosts count, as far as traffic, faults and other jobs move it.
//!
//! Only what has something to count is told: everything once at the start, then what changed since the last reading.
//!
//! * [`rows`]: how a counter moves; [`builder`]: who counts, and the counters of devices at rest.
//! * [`load`]: what steps and other jobs put through ports of switches; [`marks`]: how much of it they mark.
//! * [`faults`]: losses, outages and ranks in trouble; [`truths`]: what only the kind of a fault tells.
mod builder;
mod faults;
mod load;
mod marks;
mod rows;
mod truths;

use std::collections::BTreeMap;

use railtwin_engine::Case;
use railtwin_records::Component;
use railtwin_records::directory::Directory;
use railtwin_records::telemetry::{Counter, CounterColumns};

use crate::neighbors;
use crate::replay::Replay;
use builder::Builder;
use load::Loads;
use rows::Row;

/// Clock of a GPU at work, in MHz.
const CLOCK: f64 = 1_980.0;

/// What is counted besides faults.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CounterSettings {
    /// Whether NICs tell the bytes that they sent and received in every reading.
    pub bytes: bool,
    /// Whether all NICs, GPUs and ranks of the job are told at the first reading, healthy or not.
    pub all_at_start: bool,
    /// Share of slow GPUs whose clock shows it (heat, power); the others are slow for reasons that no counter tells.
    pub thermal: f64,
}

impl Default for CounterSettings {
    fn default() -> Self {
        Self { bytes: false, all_at_start: true, thermal: 0.5 }
    }
}

/// The counters of a job's part of the cluster.
#[derive(Debug)]
pub struct Counters {
    settings: CounterSettings,
    /// Rank on whose host's clock each entity tells; none for switches, which use the controller's.
    clock_of: BTreeMap<u32, Option<u32>>,
    rows: BTreeMap<(u32, Counter), Row>,
    entity_of: BTreeMap<Component, u32>,
    /// Ports by the link that leaves them: their entity.
    ports: BTreeMap<u32, u32>,
    /// NICs by (host, NIC): their entity.
    nics: BTreeMap<(u32, u32), u32>,
    /// Bytes of a step that each NIC sends and receives.
    bytes: BTreeMap<(u32, u32), (f64, f64)>,
    loads: Loads,
}

impl Counters {
    /// The counters of a replayed job; entities are entered in the directory. `case` is that of the replay.
    pub fn new(case: &Case, replay: &Replay, settings: CounterSettings, directory: &mut Directory) -> Self {
        neighbors::enter(&case.fabric, directory);
        let ports = directory.entities.iter().enumerate();
        let out = Self {
            settings,
            clock_of: BTreeMap::new(),
            rows: BTreeMap::new(),
            entity_of: BTreeMap::new(),
            ports: ports.filter_map(|(entity, info)| Some((info.link?, entity as u32))).collect(),
            nics: BTreeMap::new(),
            bytes: BTreeMap::new(),
            loads: Loads::new(case, replay),
        };
        let mut builder = Builder::new(case, replay, directory, out);
        builder.devices();
        builder.traffic();
        builder.loads();
        builder.losses();
        builder.outages();
        builder.ranks();
        for truth in &case.truths {
            builder.truth(truth);
        }
        builder.out
    }

    /// Appends what changed since the last reading.
    pub fn read(&mut self, replay: &Replay, now_ns: u64, out: &mut CounterColumns) {
        self.put_through(replay, now_ns);
        if self.settings.bytes {
            let steps = replay.steps() as f64;
            for (nic, (sent, received)) in &self.bytes {
                let Some(&entity) = self.nics.get(nic) else { continue };
                self.rows.entry((entity, Counter::BytesSent)).or_default().rest = (sent * steps).floor();
                self.rows.entry((entity, Counter::BytesReceived)).or_default().rest =
                    (received * steps).floor();
            }
        }
        for (&(entity, counter), row) in &mut self.rows {
            let value = row.value(now_ns);
            if row.told != Some(value) {
                row.told = Some(value);
                let rank = self.clock_of.get(&entity).copied().flatten();
                out.push(rank.map_or(now_ns, |rank| replay.host_clock(rank, now_ns)), entity, counter, value);
            }
        }
    }
}
