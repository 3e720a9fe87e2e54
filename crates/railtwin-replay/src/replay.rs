//! From a resolved scenario to records.
use railtwin::telemetry_run::states;
use railtwin::{Error, Resolved};
use railtwin_live::reader::{self, RankFile};
use railtwin_live::record::Record;
use railtwin_scenario::{EngineName, JitterSpec};
use railtwin_telemetry::Jitter;
use railtwin_units::SimTime;

use crate::beats::{Beat, beats};
use crate::chance::Chance;
use crate::closing::{Found, cascade, timed_out};
use crate::faults::RankFaults;
use crate::lines::OfRank;
use crate::network::Network;
use crate::program::Program;
use crate::run::Job;
use crate::trace::Trace;

/// How records are written.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReplaySettings {
    /// Time between heartbeats of a rank, ms.
    pub every_ms: u64,
    /// Seconds for which ranks go on writing after the job came to a stand; twice what a hang takes to count as one.
    pub watch_s: f64,
    /// Bytes that a link lets through at once after it stood idle, as a token bucket does; 0 for links that keep their rate,
    /// as those of NICs and switches do.
    pub burst_bytes: u64,
    /// Whether an observer outside of the processes tells their state (`ps`).
    pub has_observer: bool,
}

impl Default for ReplaySettings {
    fn default() -> Self {
        Self { every_ms: 200, watch_s: 60.0, burst_bytes: 0, has_observer: false }
    }
}

/// A simulated job, as its ranks would record it.
#[derive(Clone, Debug)]
pub struct LiveReplay {
    network: Network,
    trace: Trace,
    beats: Vec<Vec<Beat>>,
    found: Vec<Found>,
    faults: RankFaults,
    settings: ReplaySettings,
    start: f64,
    until: f64,
}

/// Replays the job of a scenario: the one that `[telemetry]` names, else the first.
///
/// # Errors
/// [`Error::Argument`] for a job that live records have no words for: more than one ring over all ranks, ranks that
/// share a host, operations that overlap, another engine than that of flows.
pub fn replay(resolved: &Resolved, settings: &ReplaySettings) -> Result<LiveReplay, Error> {
    let (scenario, case) = (&resolved.scenario, &resolved.case);
    if scenario.engine != EngineName::Flow {
        return Err(Error::Argument(
            "live records of a simulated job are of flows: write engine = \"flow\"".to_owned(),
        ));
    }
    let spec = scenario.telemetry.as_ref();
    let wanted = spec.and_then(|spec| spec.job.as_deref());
    let job = case.work.jobs.iter().position(|job| wanted.is_none_or(|name| job.name == name));
    let Some(job) = job else {
        return Err(Error::Argument(format!("no job is called `{}`", wanted.unwrap_or_default())));
    };
    let program = Program::of(case, job)?;
    let base = states::without_faults(case);
    let mut warnings = Vec::new();
    let rates = states::rates(base.as_ref().unwrap_or(case), case, 0, &mut warnings);
    let mut network = Network::of(case, (job, 0), program.pattern, &rates)?;
    network.burst = settings.burst_bytes as f64;
    let jitter = match spec.map(|spec| spec.jitter) {
        Some(JitterSpec::None) => Jitter::NONE,
        _ => Jitter::default(),
    };
    let chance = Chance::new(case.seed, jitter);
    let mut faults = RankFaults::of(case, job, network.ranks())?;
    let graph = &case.work.jobs[job];
    let steps = u64::from(spec.and_then(|spec| spec.steps).unwrap_or(graph.steps));
    let start = graph.start.ps() as f64 / 1e3;
    let run = |faults: &RankFaults| {
        Job { network: &network, program: &program, faults, chance: &chance, steps, start }.run()
    };
    let mut trace = run(&faults);
    let mut found = cascade(&network, &trace, &mut faults);
    if !found.is_empty() {
        trace = run(&faults);
    }
    found.extend(timed_out(&network, &trace));
    let ends = if graph.until == SimTime::NEVER { f64::INFINITY } else { graph.until.ps() as f64 / 1e3 };
    let watched = if trace.is_stuck { settings.watch_s * 1e9 } else { 0.0 };
    let until = (trace.last + watched).min(ends);
    let every = settings.every_ms.max(1) as f64 * 1e6;
    let beats = beats((&network, &faults, &chance), &trace, (start, until, every));
    Ok(LiveReplay { network, trace, beats, found, faults, settings: *settings, start, until })
}

impl LiveReplay {
    /// Ranks of the job.
    pub fn ranks(&self) -> usize {
        self.network.ranks()
    }

    /// The file of a rank: JSON lines in the order of time, a header first.
    pub fn lines(&self, rank: usize) -> String {
        let of = OfRank {
            network: &self.network,
            trace: &self.trace,
            rank,
            beats: &self.beats[rank],
            found: &self.found,
            gone: self.faults.gone(rank),
            states: &self.states(rank),
            until: self.until,
            start: self.start,
            every: self.settings.every_ms.max(1) as f64 * 1e6,
        };
        of.text()
    }

    /// The records of all ranks in the order of time, as the judge reads them.
    pub fn records(&self) -> Vec<Record> {
        let file = |rank: usize| -> RankFile { reader::read(self.lines(rank).as_bytes(), None) };
        reader::merged((0..self.ranks()).map(file))
    }

    /// States of a process as an observer outside of it sees them: it stands, runs again, is gone.
    fn states(&self, rank: usize) -> Vec<(f64, &'static str)> {
        if !self.settings.has_observer {
            return Vec::new();
        }
        let mut seen: Vec<(f64, &'static str)> = Vec::new();
        for stop in self.faults.stops(rank) {
            seen.push((stop.from, "T"));
            seen.push((stop.until, "S"));
        }
        seen.push((self.faults.gone(rank), "Z"));
        seen.retain(|(at, _)| at.is_finite());
        seen
    }
}
