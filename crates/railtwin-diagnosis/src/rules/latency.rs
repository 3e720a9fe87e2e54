//! Delay of probes against its baseline, and the switch or link that added to it (Meta RoCE section 6.4.1: an image of
//! a switch that took longer for every packet while no other metric moved).
use railtwin_records::seen::ProbeSeen;
use railtwin_records::{Batch, Counter, Evidence, FaultKind, Finding, Since, Syndrome};

use crate::context::Context;
use crate::detector::Detector;
use crate::robust::{median, spread};
use crate::rules::baseline::{BaselineStore, PathKey};
use crate::rules::explain::{Crossing, confidence, crossings, explain};
use crate::rules::limits::Limits;
use crate::rules::told::Told;
use crate::rules::track::Growth;

/// Delays kept per path at most, of which [`Limits::learn_rounds`] and [`Limits::rounds`] are used.
const KEPT: usize = 32;

/// Spread below which a baseline is not believed, as a share of it: clocks of NICs tick in steps.
const LEAST_SPREAD: f64 = 0.005;

/// Paths named in evidence at most.
const ROWS: usize = 8;

/// The probes of one path under one load.
#[derive(Clone, Debug)]
struct Course {
    kept: [u64; KEPT],
    /// When they were taken.
    times_ns: [u64; KEPT],
    /// Delays taken in since the last baseline.
    count: usize,
    baseline: Option<(f64, f64)>,
    /// Whether the median of the last rounds stands above the baseline, and since when.
    above: bool,
    since: Since,
    median_ns: f64,
}

/// Compares probes with what the same path took before, loaded and unloaded apart.
#[derive(Debug)]
pub struct LatencyBaseline {
    limits: Limits,
    store: BaselineStore,
    /// Per flow: unloaded, loaded.
    courses: Vec<[Option<Box<Course>>; 2]>,
    trouble: [Growth; 3],
    changed: bool,
    told: Told,
}

impl LatencyBaseline {
    /// Learns all baselines from the first rounds of each path.
    pub fn new(limits: Limits) -> Self {
        Self::with_baselines(limits, BaselineStore::default())
    }

    /// With baselines learnt before; paths without one are learnt.
    pub fn with_baselines(limits: Limits, store: BaselineStore) -> Self {
        let growth = || Growth::new(limits.window_ns);
        Self {
            limits,
            store,
            courses: Vec::new(),
            trouble: [growth(), growth(), growth()],
            changed: false,
            told: Told::default(),
        }
    }

    /// The baselines given and learnt so far.
    pub fn baselines(&self) -> &BaselineStore {
        &self.store
    }

    fn take(&mut self, context: &Context<'_>, flow: u32, loaded: bool, time_ns: u64, delay_ns: u64) {
        let Some(info) = context.directory.flows.get(flow as usize) else { return };
        if self.courses.len() < context.directory.flows.len() {
            self.courses.resize(context.directory.flows.len(), [None, None]);
        }
        let (store, limits) = (&mut self.store, &self.limits);
        let course = self.courses[flow as usize][usize::from(loaded)].get_or_insert_with(|| {
            Box::new(Course {
                kept: [0; KEPT],
                times_ns: [0; KEPT],
                count: 0,
                baseline: store.get(&PathKey::of(info), loaded),
                above: false,
                since: Since::default(),
                median_ns: 0.0,
            })
        });
        let rounds = limits.rounds.clamp(1, KEPT);
        // The delay before those that are compared: all of them may be high.
        let before_ns = course.times_ns[(course.count + KEPT - rounds) % KEPT];
        course.kept[course.count % KEPT] = delay_ns;
        course.times_ns[course.count % KEPT] = time_ns;
        course.count += 1;
        let last = |rounds: usize, course: &Course| {
            let mut values = [0.0; KEPT];
            for (row, value) in values.iter_mut().take(rounds).enumerate() {
                *value = course.kept[(course.count - rounds + row) % KEPT] as f64;
            }
            values
        };
        let Some((center, deviation)) = course.baseline else {
            let rounds = limits.learn_rounds.clamp(1, KEPT);
            if course.count >= rounds {
                course.baseline = spread(&mut last(rounds, course)[..rounds]);
                course.count = 0;
                if let Some((center, deviation)) = course.baseline {
                    store.set(PathKey::of(info), loaded, center, deviation);
                }
            }
            return;
        };
        if course.count < rounds {
            return;
        }
        course.median_ns = median(&mut last(rounds, course)[..rounds]).unwrap_or_default();
        let noise = context.settings.deviations * deviation.max(LEAST_SPREAD * center);
        let above = course.median_ns > center + (context.settings.latency_share * center).max(noise);
        if above != course.above {
            course.above = above;
            course.since = Since::between(before_ns, time_ns);
            self.changed = true;
        }
    }

    /// Whether some counter tells of congestion or loss, which would explain delay.
    fn is_flat(&self, context: &Context<'_>) -> bool {
        let [drops, errors, paused] = &self.trouble;
        let grew = |growth: &Growth, floor: f64| growth.all().any(|(_, grown)| grown > floor);
        // Growth spans two windows at most.
        let paused_ns = context.settings.paused_share * 2.0 * self.limits.window_ns as f64;
        !grew(drops, self.limits.drops)
            && !grew(errors, self.limits.receive_errors)
            && !grew(paused, paused_ns)
    }

    fn judge_load(&mut self, context: &Context<'_>, loaded: bool, now_ns: u64, findings: &mut Vec<Finding>) {
        let mut bad: Vec<(usize, &Course)> = Vec::new();
        let mut good: Vec<Vec<Crossing<'_>>> = Vec::new();
        for (flow, courses) in self.courses.iter().enumerate() {
            let Some(course) = &courses[usize::from(loaded)] else { continue };
            if course.above {
                bad.push((flow, course));
            } else if course.baseline.is_some() && course.count >= self.limits.rounds.clamp(1, KEPT) {
                good.push(crossings(context, &context.directory.flows[flow]));
            }
        }
        if bad.is_empty() {
            return;
        }
        let flat = self.is_flat(context);
        let groups: Vec<Vec<Crossing<'_>>> =
            bad.iter().map(|(flow, _)| crossings(context, &context.directory.flows[*flow])).collect();
        for cause in explain(context, &groups, &good) {
            let courses: Vec<(usize, &Course)> = cause.covered.iter().map(|&row| bad[row]).collect();
            let excess =
                |course: &Course| course.median_ns - course.baseline.map_or(0.0, |(center, _)| center);
            let mut added: Vec<f64> = courses.iter().map(|(_, course)| excess(course)).collect();
            let added_ns = median(&mut added).unwrap_or_default();
            let mut shares: Vec<f64> =
                courses.iter().map(|(_, course)| excess(course) / course.median_ns.max(1.0)).collect();
            let seen = ProbeSeen::SharedDelay { paths: courses.len(), loaded };
            let mut evidence = vec![Evidence::new(seen, added_ns, 0.0)];
            for (flow, course) in courses.iter().take(ROWS) {
                let info = &context.directory.flows[*flow];
                let seen = ProbeSeen::PathDelay {
                    from: info.source_nic.clone(),
                    to: info.target_nic.clone(),
                    source_port: info.source_port,
                    loaded,
                };
                let center = course.baseline.map_or(0.0, |(center, _)| center);
                evidence.push(Evidence::new(seen, course.median_ns, center));
            }
            let sure = confidence(&cause);
            let finding = Finding {
                at_ns: now_ns,
                since: Since::earliest(courses.iter().map(|(_, course)| course.since), now_ns),
                syndrome: Syndrome::Latency,
                faults: if flat {
                    vec![FaultKind::Latency]
                } else {
                    vec![FaultKind::Slow, FaultKind::Lossy, FaultKind::Latency]
                },
                suspects: cause.suspects,
                // Under load other traffic adds delay as well.
                confidence: sure * if flat { 1.0 } else { 0.5 } * if loaded { 0.8 } else { 1.0 },
                severity: median(&mut shares).unwrap_or_default(),
                cost: None,
                evidence,
                advice: if flat {
                    "no counter of drops, errors or pauses moved: compare the images and settings of switches"
                } else {
                    "drops, errors or pauses grew as well: they come first"
                }
                .to_owned(),
            };
            self.told.tell(u64::from(loaded), finding, findings);
        }
    }
}

impl Detector for LatencyBaseline {
    fn name(&self) -> &'static str {
        "latency-baseline"
    }

    fn observe(&mut self, context: &Context<'_>, batch: &Batch) {
        let rows = &batch.counters;
        for row in 0..rows.len() {
            let growth = match rows.counter[row] {
                Counter::Drops => &mut self.trouble[0],
                Counter::ReceiveErrors => &mut self.trouble[1],
                Counter::PausedNs => &mut self.trouble[2],
                _ => continue,
            };
            growth.read(rows.entity[row], rows.time_ns[row], rows.value[row]);
        }
        let rows = &batch.probes;
        for row in 0..rows.len() {
            if rows.delay_ns[row] > 0 && rows.lost[row] < rows.sent[row] {
                self.take(context, rows.flow[row], rows.loaded[row], rows.time_ns[row], rows.delay_ns[row]);
            }
        }
    }

    fn judge(&mut self, context: &Context<'_>, now_ns: u64, findings: &mut Vec<Finding>) {
        if std::mem::take(&mut self.changed) {
            self.judge_load(context, false, now_ns, findings);
            self.judge_load(context, true, now_ns, findings);
        } else if self.courses.iter().flatten().flatten().any(|course| course.above) {
            self.told.lasts(now_ns);
        }
        self.told.forget(now_ns);
    }
}
