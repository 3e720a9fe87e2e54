//! The job of the recordings simulated under the same faults, and both told in the same words.
use std::path::Path;

use railtwin::Question;
use railtwin_live::record::{Body, Heartbeat, Record};
use railtwin_live::{JudgeSettings, LiveIncident, SuspectPlace, replay};
use railtwin_replay::{LiveReplay, ReplaySettings};

/// The hang limit of both, ns.
pub const HANG_NS: u64 = 5_000_000_000;
/// When faults begin in the simulation, and up to when it is looked at, ns: as in the recordings.
pub const FAULT_NS: u64 = 5_000_000_000;
pub const UNTIL_NS: u64 = 13_000_000_000;

/// The faults of the recordings, as the recordings call them.
pub const FAULTS: [&str; 10] =
    ["stop", "kill", "slowcomp", "slowdata", "thr_up", "thr_down", "drop2", "drop05", "silent1", "silent2"];

/// The scenario of the job.
pub fn scenario() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/live/ring-of-eight.toml")
}

/// A fault of the recordings at a rank, as a scenario says it.
pub fn fault(name: &str, rank: u32) -> String {
    let port = format!("port = \"host-{rank}/nic-0:port-0\"\n");
    let what = match name {
        "none" => return String::new(),
        "stop" => format!("rank = \"train/{rank}\"\nkind = \"hang\"\n"),
        "kill" => format!("rank = \"train/{rank}\"\nkind = \"crash\"\ncause = \"bug\"\n"),
        "slowcomp" => format!("rank = \"train/{rank}\"\nkind = \"slow-gpu\"\nfactor = 2.0\n"),
        "slowdata" => format!("rank = \"train/{rank}\"\nkind = \"slow-data\"\ndelay = \"100 ms\"\n"),
        "thr_up" => format!("{port}kind = \"slow\"\ncapacity = 0.1\ndirection = \"out\"\n"),
        "thr_down" => format!("{port}kind = \"slow\"\ncapacity = 0.1\ndirection = \"in\"\n"),
        "drop2" => format!("{port}kind = \"lossy\"\nloss = 0.02\ndirection = \"out\"\n"),
        "drop05" => format!("{port}kind = \"lossy\"\nloss = 0.005\ndirection = \"out\"\n"),
        "silent1" => format!("{port}kind = \"down\"\ncarrier = true\ndirection = \"out\"\n"),
        "silent2" => format!("{port}kind = \"down\"\ncarrier = true\ndirection = \"both\"\n"),
        other => panic!("no fault is called {other}"),
    };
    format!("\n[[fault]]\nat = \"5 s\"\n{what}")
}

/// Simulates the job with more text behind its scenario, which `change` changes.
pub fn simulated(
    seed: u64,
    more: &str,
    settings: &ReplaySettings,
    change: impl Fn(&str) -> String,
) -> LiveReplay {
    let path = scenario();
    let text = std::fs::read_to_string(&path).expect("the scenario is there");
    let text = change(&text).replace("seed = 1\n", &format!("seed = {seed}\n")) + more;
    let folder = path.parent().expect("a file has a folder");
    let question = Question::of_text("ring-of-eight.toml", &text, folder);
    let point = question.points().expect("the scenario is right").remove(0);
    let resolved = question.resolve(&point.scenario).expect("the scenario resolves");
    railtwin_replay::replay(&resolved, settings).expect("the job can be replayed")
}

/// The links of the recordings are token buckets that let a stage of 128 KiB through at once: behind a late rank a stage is
/// there 0.2 ms after that enters, where its link takes 2.6 ms for it.
pub fn as_recorded() -> ReplaySettings {
    ReplaySettings { burst_bytes: 128 << 10, ..ReplaySettings::default() }
}

/// Records, and when the fault began.
#[derive(Clone, Debug)]
pub struct Told {
    pub records: Vec<Record>,
    pub fault_ns: u64,
}

impl Told {
    /// The records of a simulated fault up to the end of recordings.
    pub fn simulated(seed: u64, name: &str, rank: u32) -> Self {
        let job = simulated(seed, &fault(name, rank), &as_recorded(), str::to_owned);
        let mut records = job.records();
        records.retain(|record| record.time_ns <= UNTIL_NS);
        Self { records, fault_ns: FAULT_NS }
    }

    /// The incidents of the judge.
    pub fn incidents(&self) -> Vec<LiveIncident> {
        replay::incidents(&self.records, JudgeSettings { hang_ns: HANG_NS })
    }

    /// Measurements before the fault, or after it.
    pub fn measured(&self, after: bool) -> Measured {
        Measured::of(self.records.iter().filter(|record| (record.time_ns >= self.fault_ns) == after))
    }

    fn seconds(&self, at_ns: u64) -> f64 {
        (at_ns as f64 - self.fault_ns as f64) / 1e9
    }

    /// An incident in words: kind, suspects, seconds from the fault to opening and confirmation.
    pub fn words(&self, one: &LiveIncident) -> String {
        let suspects: Vec<String> = (one.suspects.iter())
            .map(|suspect| match suspect.place {
                SuspectPlace::Rank(rank) => format!("rank {rank} {:.2}", suspect.share),
                SuspectPlace::Nic(rank) => format!("nic {rank} {:.2}", suspect.share),
            })
            .collect();
        let confirmed = one.confirmed_ns.map_or("–".to_owned(), |at| format!("{:.1}", self.seconds(at)));
        let (kind, opened) = (one.kind.name(), self.seconds(one.opened_ns));
        format!("{kind}: {} \\| {opened:.1} \\| {confirmed}", suspects.join(", ")).replace("\\|", "|")
    }
}

/// Measurements of the job; medians, ms for times of steps and operations, us for pings.
#[derive(Clone, Copy, Default, Debug)]
pub struct Measured {
    pub step_ms: Option<f64>,
    /// From when the last rank entered to when the last one ended.
    pub operation_ms: Option<f64>,
    /// From the first rank's end to the last one's.
    pub apart_ms: Option<f64>,
    /// Packets resent and not told to have arrived twice, of the rank that resent most.
    pub resent: u64,
    /// Quartile, median and ninth decile of round trips.
    pub pings_us: Option<[f64; 3]>,
    /// Share of pings that were lost.
    pub lost: f64,
}

impl Measured {
    fn of<'a>(records: impl Iterator<Item = &'a Record>) -> Self {
        let mut steps: Vec<f64> = Vec::new();
        let mut newest = std::collections::BTreeMap::new();
        let mut operations = std::collections::BTreeMap::<u64, Vec<(u64, u64)>>::new();
        let mut counted = std::collections::BTreeMap::<u32, [u64; 2]>::new();
        let (mut trips, mut sent) = (Vec::new(), 0_usize);
        let mut ranks = std::collections::BTreeSet::new();
        for record in records {
            ranks.insert(record.rank);
            match &record.body {
                Body::Step(_) => {
                    if let Some(before) = newest.insert(record.rank, record.time_ns) {
                        steps.push((record.time_ns - before) as f64 / 1e6);
                    }
                }
                Body::Ended(ended) => {
                    let entered = ended.en.unwrap_or(record.time_ns);
                    operations.entry(ended.seq).or_default().push((entered, record.time_ns));
                }
                Body::Heartbeat(beat) => {
                    let resent = resent(beat);
                    let of = counted.entry(record.rank).or_insert([resent, resent]);
                    of[1] = of[1].max(resent);
                    let pings = (0..).zip(&beat.ping).filter(|(to, _)| *to != record.rank);
                    for (_, trip) in pings {
                        sent += 1;
                        trips.extend(u32::try_from(*trip).ok().map(f64::from));
                    }
                }
                _ => {}
            }
        }
        let whole = || operations.values().filter(|ends| ends.len() == ranks.len());
        let last = |ends: &[(u64, u64)]| ends.iter().map(|end| end.1).max().unwrap_or(0);
        let takes = whole().map(|ends| {
            let entered = ends.iter().map(|end| end.0).max().unwrap_or(0);
            (last(ends) - entered) as f64 / 1e6
        });
        let apart = whole().map(|ends| {
            let first = ends.iter().map(|end| end.1).min().unwrap_or(0);
            (last(ends) - first) as f64 / 1e6
        });
        let lost = (sent - trips.len()) as f64 / sent.max(1) as f64;
        Self {
            step_ms: at(&mut steps, 0.5),
            operation_ms: at(&mut takes.collect::<Vec<f64>>(), 0.5),
            apart_ms: at(&mut apart.collect::<Vec<f64>>(), 0.5),
            resent: counted.values().map(|of| of[1] - of[0]).max().unwrap_or(0),
            pings_us: at(&mut trips, 0.25)
                .map(|low| [low, at(&mut trips, 0.5).unwrap_or(low), at(&mut trips, 0.9).unwrap_or(low)]),
            lost,
        }
    }
}

fn resent(beat: &Heartbeat) -> u64 {
    beat.s.map_or(0, |of| of.rtx.saturating_sub(of.dsk))
}

fn at(values: &mut [f64], share: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get((values.len() as f64 * share) as usize).copied()
}
