//! How ranks fare in a step, by chance and by fault, and what they tell of an operation.
use railtwin_engine::{RankFault, RankTrouble};
use railtwin_records::telemetry::{NOT_YET, OperationColumns};
use railtwin_units::stream;

use crate::jitter::{Draws, Factors};
use crate::layout::PatternPlace;
use crate::settings::Settings;
use crate::who::Rows;

/// Factors and draws.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) host: Factors,
    pub(crate) rank: Factors,
    pub(crate) operation: Factors,
    pub(crate) message: Factors,
    pub(crate) expert: Factors,
    pub(crate) draws: Draws,
}

/// The state of ranks in a step; times in nanoseconds since it began.
#[derive(Debug, Default)]
pub(crate) struct Ranks {
    /// Entry of each rank in the operation at hand.
    pub(crate) entry: Vec<f64>,
    /// When a rank begins the step.
    pub(crate) begin: Vec<f64>,
    /// Times as long as its computations take.
    pub(crate) compute: Vec<f64>,
    /// The same of experts, on top.
    pub(crate) expert: Vec<f64>,
    /// Clock of the rank's host when the step began.
    pub(crate) clock_ns: Vec<u64>,
    /// How fast that clock goes.
    pub(crate) clock_rate: Vec<f64>,
    /// How far it is off at time zero.
    pub(crate) offset_ns: Vec<f64>,
    /// Ranks that stop, from when until when, and whether they have.
    pub(crate) stops: Vec<(u32, f64, f64, bool)>,
    /// Ranks that hand in another number of bytes, from when until when.
    pub(crate) others: Vec<(u32, f64, f64)>,
}

/// One operation of all groups, to be written.
pub(crate) struct Told<'a> {
    pub(crate) place: &'a PatternPlace,
    pub(crate) first: u32,
    pub(crate) shapes: (u32, u32),
    pub(crate) first_rank: u32,
    pub(crate) ends: &'a [f64],
    pub(crate) ranks: &'a Ranks,
}

impl Told<'_> {
    pub(crate) fn write(&self, sequence: &[u32], out: &mut OperationColumns) {
        let rows = self.place.members.len();
        for column in [&mut out.communicator, &mut out.rank, &mut out.sequence, &mut out.shape] {
            column.reserve(rows);
        }
        for column in [&mut out.enter_ns, &mut out.end_ns] {
            column.reserve(rows);
        }
        let ranks = self.ranks;
        for (group, &sequence) in sequence.iter().enumerate() {
            let communicator = self.place.communicator[group];
            for &rank in self.place.group(group) {
                let enter = ranks.entry[(rank - self.first) as usize];
                let end = self.ends[(rank - self.first) as usize];
                if enter == f64::INFINITY {
                    continue;
                }
                let clock = |time: f64| {
                    ranks.clock_ns[rank as usize] + (time * ranks.clock_rate[rank as usize]) as u64
                };
                let other =
                    |&(one, from, until): &(u32, f64, f64)| one == rank && enter >= from && enter < until;
                let shape = if ranks.others.iter().any(other) { self.shapes.1 } else { self.shapes.0 };
                let end = if end < f64::INFINITY { clock(end) } else { NOT_YET };
                out.push(communicator, self.first_rank + rank, sequence, shape, clock(enter), end);
            }
        }
    }
}

impl Tables {
    pub(crate) fn new(settings: &Settings) -> Self {
        let jitter = &settings.jitter;
        let factors = |name: &str, sigma| Factors::lognormal(&mut stream::named(settings.seed, name), sigma);
        Self {
            host: factors("telemetry-host", jitter.host_compute),
            rank: factors("telemetry-rank", jitter.rank_compute),
            operation: factors("telemetry-operation", jitter.operation),
            message: factors("telemetry-message", jitter.message),
            expert: factors("telemetry-expert", jitter.expert),
            draws: Draws::new(settings.seed, "telemetry-draws"),
        }
    }
}

impl Ranks {
    pub(crate) fn new(rows: &Rows, settings: &Settings) -> Self {
        let count = rows.host.len();
        let draws = Draws::new(settings.seed, "telemetry-clocks");
        let jitter = &settings.jitter;
        let host = |rank: usize| u64::from(rows.host[rank]);
        let drift = |rank| 1.0 + (2.0 * draws.unit(host(rank), 1) - 1.0) * jitter.clock_drift * 1e-6;
        let offset = |rank| draws.unit(host(rank), 0) * jitter.clock_offset * 1e9;
        Self {
            begin: vec![0.0; count],
            compute: vec![1.0; count],
            expert: vec![1.0; count],
            clock_ns: vec![0; count],
            clock_rate: (0..count).map(drift).collect(),
            offset_ns: (0..count).map(offset).collect(),
            ..Self::default()
        }
    }

    /// Draws how ranks fare in a step that begins at `now_ns`.
    pub(crate) fn begin_step(
        &mut self,
        now_ns: u64,
        step: u64,
        rows: &Rows,
        tables: &Tables,
        settings: &Settings,
        troubles: &[RankFault],
    ) {
        let jitter = &settings.jitter;
        let count = self.begin.len();
        let draw = |kind: u64| tables.draws.bits(step, u64::MAX - kind) as usize;
        let (host, rank, expert, spike) = (draw(0), draw(1), draw(2), draw(3) as u64);
        let checkpoint = jitter.checkpoint_steps > 0
            && step % u64::from(jitter.checkpoint_steps) == u64::from(jitter.checkpoint_steps) - 1;
        for at in 0..count {
            let of_host = rows.host[at] as usize;
            // Draws of hosts and ranks lie apart by odd strides: neighbours in one step are none in the next.
            let slow = tables.host.at(host.wrapping_add(of_host * 7)) * tables.rank.at(rank.wrapping_add(at));
            self.compute[at] = slow;
            self.expert[at] = tables.expert.at(expert.wrapping_add(at));
            let spikes = jitter.spike_probability > 0.0
                && tables.draws.unit(spike, at as u64) < jitter.spike_probability;
            if spikes {
                let tail = 1.0 - tables.draws.unit(spike ^ 1, at as u64);
                self.compute[at] += jitter.spike_share / tail.sqrt();
            }
            self.begin[at] = 0.0;
            if checkpoint {
                let unit = tables.draws.unit(spike ^ 2, of_host as u64);
                self.begin[at] = jitter.checkpoint_seconds * 1e9 * (1.0 + jitter.checkpoint_spread * unit);
            }
            self.clock_ns[at] = (self.offset_ns[at] + now_ns as f64 * self.clock_rate[at]) as u64;
        }
        self.stops.clear();
        self.others.clear();
        for fault in troubles {
            let rank = fault.rank as usize;
            let (from, until) = (fault.from.ps() / 1_000, fault.until.ps() / 1_000);
            let holds = from <= now_ns && now_ns < until;
            let relative = |time: u64| time as f64 - now_ns as f64;
            match fault.trouble {
                RankTrouble::Slow(times) if holds => self.compute[rank] *= times,
                RankTrouble::Late { time, every }
                    if holds && step.is_multiple_of(u64::from(every.max(1))) =>
                {
                    self.begin[rank] += time.ps() as f64 / 1e3;
                }
                RankTrouble::Hang | RankTrouble::Gone => {
                    self.stops.push((fault.rank, relative(from), relative(until), false));
                }
                RankTrouble::Mismatch => self.others.push((fault.rank, relative(from), relative(until))),
                _ => {}
            }
        }
    }
}
