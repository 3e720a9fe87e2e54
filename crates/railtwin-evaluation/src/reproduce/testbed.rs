//! Crux's testbed (section 6.2) and job schedulers below Crux (section 6.4): what Crux gains over ECMP.
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_scenario::{ClusterPlacement, SweepPoint};
use railtwin_store::Figure;
use rayon::prelude::*;

use super::crux::Cases;
use super::paper;
use super::pick::{Label, Point};
use super::sweep::Set;
use super::weeks::{asked, median};
use railtwin::cluster::{ClusterQuestion, StepVariant, Told};

/// Draws of hashes.
const SEEDS: u64 = 10;

/// One policy over all seeds.
struct Ran(Vec<Told>);

impl Ran {
    fn of(cluster: &ClusterQuestion, policy: SharingPolicy, seeds: &[u64]) -> Self {
        Self(cluster.told(&[policy], seeds, &|| ()).expect("a test draws its jobs"))
    }

    fn utilization(&self) -> Vec<f64> {
        self.0.iter().map(|told| told.value("gpu_utilization").unwrap_or(f64::NAN)).collect()
    }

    /// Mean seconds from begin to end of the jobs of a class, seed by seed; none without such jobs.
    fn completion(&self, class: &str) -> Option<Vec<f64>> {
        let of = |told: &Told| {
            let jobs = told.jobs.iter().filter(|job| job.class == class);
            let seconds: Vec<f64> = jobs.filter_map(|job| Some(job.ended_s? - job.started_s?)).collect();
            (!seconds.is_empty()).then(|| seconds.iter().sum::<f64>() / seconds.len() as f64)
        };
        self.0.iter().map(of).collect()
    }
}

/// Median over seeds of how much more `one` is than `other`, seed by seed.
fn more(one: &[f64], other: &[f64]) -> f64 {
    median(one.iter().zip(other).map(|(one, other)| one / other - 1.0).collect())
}

/// What the paper does not say of its jobs, and what we try for it: classes as they are; no communication before a step
/// has computed; and a quarter of the samples beside that.
const SETTINGS: [(&str, StepVariant); 3] = [
    ("classes", StepVariant::OF_CLASSES),
    ("no-overlap", StepVariant { overlap: false, samples_over: 1 }),
    ("quarter-batch", StepVariant { overlap: false, samples_over: 4 }),
];

/// The points of a scenario of the testbed, by mix of jobs and fabric: what Crux gains, and what becomes of jobs. Without
/// figures where they are not wanted.
pub(super) fn points(name: &str, set: &Set, wanted: &[bool]) -> Vec<Point> {
    let question = paper(name, set);
    let sweep = question.points().expect("a test reads it");
    let seeds: Vec<u64> = (1..=SEEDS).collect();
    let run = |((point, steps, label), &wanted): ((&SweepPoint, StepVariant, Label), &bool)| {
        if !wanted {
            return Point { label, figures: Vec::new() };
        }
        let mut cluster = question.cluster(&point.scenario).expect("a test resolves it");
        cluster.steps = steps;
        Point { label, figures: figures(cluster, &seeds) }
    };
    let all: Vec<_> = all_points(&sweep).zip(wanted).collect();
    all.into_par_iter().map(run).panic_fuse().collect()
}

/// The labels of [`points`], before any has run.
pub(super) fn labels(name: &str, set: &Set) -> Vec<Label> {
    let sweep = paper(name, set).points().expect("a test reads it");
    all_points(&sweep).map(|(_, _, label)| label).collect()
}

fn all_points(sweep: &[SweepPoint]) -> impl Iterator<Item = (&SweepPoint, StepVariant, Label)> {
    sweep.iter().flat_map(|point| {
        SETTINGS.map(|(setting, steps)| {
            let mut label: Label = point.label.iter().flat_map(|(path, value)| told(path, value)).collect();
            label.push(("setting".to_owned(), setting.to_owned()));
            (point, steps, label)
        })
    })
}

/// A list of jobs is known by its name: `jobs` is the mix, `placed` where it sits, as the name of the file has them.
fn told(path: &str, value: &str) -> Label {
    let Some(list) = value.strip_suffix(".csv").and_then(|path| path.rsplit('/').next()) else {
        return vec![(path.to_owned(), value.to_owned())];
    };
    let (mix, placed) = match list.rsplit_once('-') {
        Some((mix, placed)) if placed.parse::<u32>().is_err() => (mix, placed),
        _ => (list, "pairs"),
    };
    vec![("jobs".to_owned(), mix.to_owned()), ("placed".to_owned(), placed.to_owned())]
}

fn figures(mut cluster: ClusterQuestion, seeds: &[u64]) -> Vec<Figure> {
    let ecmp = Ran::of(&cluster, SharingPolicy::Ecmp, seeds);
    let crux = Ran::of(&cluster, SharingPolicy::Crux, seeds);
    cluster.spec.gate = false;
    let ungated = Ran::of(&cluster, SharingPolicy::Crux, seeds);
    let mut figures = Vec::new();
    let mut add = |name: &str, value: f64| figures.push(Figure::new(name, value, ""));
    add("gpu_utilization_ecmp", median(ecmp.utilization()));
    add("gpu_utilization_crux", median(crux.utilization()));
    add("utilization_more", more(&crux.utilization(), &ecmp.utilization()));
    add("utilization_more_by_gate", more(&crux.utilization(), &ungated.utilization()));
    for (name, class) in [("gpt", "gpt-22b"), ("bert", "bert-large"), ("resnet", "resnet-50")] {
        if let (Some(with), Some(without)) = (crux.completion(class), ecmp.completion(class)) {
            add(&format!("{name}_completion_more"), more(&with, &without));
        }
    }
    let slowdown = |told: &Told| told.value("slowdown_mean").unwrap_or(f64::NAN);
    add("slowdown_ecmp", median(ecmp.0.iter().map(slowdown).collect()));
    figures
}

/// Job schedulers below: placements by lot, packed, after Muri and after HiveD, under ECMP and under Crux.
pub(super) fn schedulers(cases: Cases, set: &Set) -> Vec<Figure> {
    let (mut cluster, seeds) = asked("crux-clos", cases, set);
    let mut ran = |placement, policy| {
        cluster.spec.placement = placement;
        Ran::of(&cluster, policy, &seeds).utilization()
    };
    let by_lot = ran(ClusterPlacement::Random, SharingPolicy::Ecmp);
    let packed = ran(ClusterPlacement::Packed, SharingPolicy::Ecmp);
    let mut figures = vec![
        Figure::new("gpu_utilization_random", median(by_lot.clone()), ""),
        Figure::new("gpu_utilization_packed", median(packed.clone()), ""),
    ];
    for (name, placement) in [("muri", ClusterPlacement::MuriLike), ("hived", ClusterPlacement::HivedLike)] {
        let alone = ran(placement, SharingPolicy::Ecmp);
        let crux = ran(placement, SharingPolicy::Crux);
        let mut add =
            |what: &str, value: f64| figures.push(Figure::new(&format!("{name}_{what}"), value, ""));
        add("over_random", more(&alone, &by_lot));
        add("over_packed", more(&alone, &packed));
        add("crux_on_top", more(&crux, &alone));
        add("gpu_utilization", median(alone));
        add("gpu_utilization_crux", median(crux));
    }
    figures
}
