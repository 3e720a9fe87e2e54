//! Times by kind and size, from nccl-tests and from step logs.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_diagnosis::robust::median;
use railtwin_formats::telemetry::{NcclTest, Telemetry, Times};
use railtwin_records::NOT_YET;
use railtwin_workload::{Algorithm, Collective};

use super::Aside;
use super::fit::Point;
use crate::bandwidth::Kind;

/// No operation takes a day, seconds.
pub(super) const LONGEST: f64 = 86_400.0;
/// Collectives that step logs are fitted of: of others sender and receiver are logged apart.
const OF_STEPS: [Collective; 5] = [
    Collective::AllReduce,
    Collective::AllGather,
    Collective::ReduceScatter,
    Collective::AllToAll,
    Collective::Broadcast,
];

/// What was measured of one kind.
#[derive(Default)]
pub(super) struct Samples {
    /// Tests with a result; of step logs operations.
    pub(super) tests: usize,
    /// Whether they are of step logs.
    pub(super) steps: bool,
    /// The algorithm of each size, where logs tell one alone.
    pub(super) told: BTreeMap<u64, Option<Algorithm>>,
    /// Seconds by size, with the number of the test that measured each.
    sizes: BTreeMap<u64, Vec<(usize, f64)>>,
}

impl Samples {
    /// Adds a time in seconds; whether it is one.
    pub(super) fn take(&mut self, test: usize, bytes: u64, seconds: f64) -> bool {
        let is_time = bytes > 0 && seconds > 0.0 && seconds < LONGEST;
        if is_time {
            self.sizes.entry(bytes).or_default().push((test, seconds));
        }
        is_time
    }

    /// Tests with a time.
    pub(super) fn runs(&self) -> usize {
        self.sizes.values().flatten().map(|one| one.0).collect::<BTreeSet<usize>>().len()
    }

    /// A point for each size. Sizes are of one number as long as a test measured one from either side of the border.
    pub(super) fn points(&self) -> Vec<Point> {
        let last = |test: usize| self.sizes.iter().rev().find(|(_, all)| all.iter().any(|one| one.0 == test));
        let mut reach: BTreeMap<usize, u64> = BTreeMap::new();
        for test in self.sizes.values().flatten().map(|one| one.0) {
            reach.entry(test).or_insert_with(|| last(test).map_or(0, |(bytes, _)| *bytes));
        }
        let (mut by, mut farthest) = (0, 0);
        let of = |(&bytes, all): (&u64, &Vec<(usize, f64)>)| {
            by += u32::from(farthest > 0 && bytes > farthest);
            farthest = all.iter().map(|(test, _)| reach[test]).max().unwrap_or(0).max(farthest);
            let mut times: Vec<f64> = all.iter().map(|one| one.1).collect();
            Some(Point { bytes, seconds: median(&mut times)?, by })
        };
        self.sizes.iter().filter_map(of).collect()
    }
}

/// Times of nccl-tests, given by log.
pub(super) fn of_tests(logs: &[(String, Vec<NcclTest>)]) -> BTreeMap<Kind, Samples> {
    let mut kinds: BTreeMap<Kind, Samples> = BTreeMap::new();
    for (number, test) in logs.iter().flat_map(|(_, tests)| tests).enumerate() {
        let samples = kinds.entry(Kind::of(test)).or_default();
        let mut any = false;
        for result in &test.results {
            for measure in [&result.out_of_place, &result.in_place].into_iter().flatten() {
                any |= samples.take(number, result.bytes, measure.time_us * 1e-6);
            }
        }
        samples.tests += usize::from(any);
    }
    kinds
}

/// Times of operations that step logs have, added to kinds that no nccl-tests are of.
///
/// A rank's time holds its wait for the others. The last to arrive waits for nobody, so the shortest time of all ranks is
/// that of the operation; where some ranks logged nothing the last may be one of these, and the operation is left aside.
/// `gpus` is how many ranks a host has, numbered host by host; without it files must tell hosts.
pub(super) fn add_steps(
    telemetry: &Telemetry,
    gpus: Option<u32>,
    kinds: &mut BTreeMap<Kind, Samples>,
    aside: &mut Vec<Aside>,
) {
    let operations = &telemetry.batch.operations;
    if operations.is_empty() {
        return;
    }
    let mut put_aside = |kind: String, why: &'static str| {
        let one = Aside { kind, why };
        if !aside.contains(&one) {
            aside.push(one);
        }
    };
    if telemetry.times == Times::Observed {
        let why = "they say when a process saw an end, not when the GPU had it";
        put_aside("step logs".to_owned(), why);
        return;
    }
    let mut shares: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::new();
    for row in 0..operations.len() {
        if operations.end_ns[row] != NOT_YET {
            let key = (operations.communicator[row], operations.sequence[row]);
            shares.entry(key).or_default().push(row);
        }
    }
    let mut found: BTreeMap<Kind, Samples> = BTreeMap::new();
    for ((communicator, _), rows) in shares {
        let info = &telemetry.directory.communicators[communicator as usize];
        let shape = &telemetry.directory.shapes[operations.shape[rows[0]] as usize];
        if info.ranks.len() < 2 || shape.bytes == 0 {
            continue;
        }
        let name = format!("{} of step logs, {} ranks", shape.kind, info.ranks.len());
        let Some(collective) = Collective::named(&shape.kind).filter(|one| OF_STEPS.contains(one)) else {
            put_aside(
                format!("{} of step logs", shape.kind),
                "sender and receiver are logged apart, or it is none",
            );
            continue;
        };
        if telemetry.partial.contains(&info.name) || rows.len() < info.ranks.len() {
            put_aside(
                name,
                "some of their ranks logged nothing, so that nobody knows how late the last one was",
            );
            continue;
        }
        let same = |row: &usize| telemetry.directory.shapes[operations.shape[*row] as usize] == *shape;
        if !rows.iter().all(same) {
            put_aside(name, "ranks logged different operations under one number");
            continue;
        }
        let host_of = |rank: &u32| match gpus {
            Some(gpus) => Some((telemetry.directory.ranks[*rank as usize].rank / gpus.max(1)).to_string()),
            None => telemetry.host(*rank).map(str::to_owned),
        };
        let Some(hosts) = info.ranks.iter().map(host_of).collect::<Option<Vec<String>>>() else {
            put_aside(name, "no file tells their hosts; say how many GPUs a host has with --gpus");
            continue;
        };
        let mut on_host: BTreeMap<String, u32> = BTreeMap::new();
        hosts.into_iter().for_each(|host| *on_host.entry(host).or_default() += 1);
        let counts: BTreeSet<u32> = on_host.values().copied().collect();
        let kind = Kind {
            setting: String::new(),
            collective: collective.name().to_owned(),
            hosts: on_host.len() as u32,
            gpus: counts.first().copied().filter(|_| counts.len() == 1),
            ranks: info.ranks.len() as u32,
            groups: 1,
            product: String::new(),
        };
        let shortest = rows.iter().map(|&row| operations.end_ns[row] - operations.enter_ns[row]).min();
        let samples = found.entry(kind).or_default();
        samples.steps = true;
        // All operations are of one job: none of its sizes is other hosts'.
        if samples.take(0, shape.bytes, shortest.unwrap_or(0) as f64 * 1e-9) {
            samples.tests += 1;
            let told = Algorithm::named(&shape.algorithm.replace("nvlstree", "nvls-tree").replace('_', "-"));
            let told = told.filter(|algorithm| algorithm.check(collective).is_ok());
            let known = samples.told.entry(shape.bytes).or_insert(told);
            *known = known.filter(|_| *known == told);
        }
    }
    for (kind, samples) in found {
        let same =
            |own: &Kind| (&own.collective, own.hosts, own.gpus) == (&kind.collective, kind.hosts, kind.gpus);
        if kinds.keys().any(same) {
            let name = format!("{} {} of step logs", kind.collective, kind.shape());
            put_aside(name, "nccl-tests measured the same without a job beside it");
        } else {
            kinds.insert(kind, samples);
        }
    }
}
