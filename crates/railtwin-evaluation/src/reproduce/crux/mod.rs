//! The Crux paper's examples, and its decisions against the optimum of small cases.
use railtwin_control::crux::compress::ContentionDag;
use railtwin_control::crux::contention::{Contention, Start};
use railtwin_control::crux::correction::{Pair, Priorities};
use railtwin_control::crux::demand::Demand;
use railtwin_control::crux::tenants::{Tenant, Tenants};
use railtwin_store::Figure;
use railtwin_units::SimTime;
use rayon::prelude::*;

use super::pick::{Label, Point};
use super::sweep::Set;

mod ablation;
mod cases;

use ablation::Shares;
use cases::{SETTINGS, Setting};

/// Seconds of the paper's examples.
const WINDOW: f64 = 12.0;
/// Seconds of a run in which how it begins counts for nothing.
const LONG: f64 = 12_000.0;
/// Seed of the cases.
const SEED: u64 = 1;

/// How many cases are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Cases {
    /// In our setting.
    pub ours: u32,
    /// In each other one.
    pub others: u32,
}

impl Cases {
    /// As many as the paper has, and fewer in the settings that show what hangs on the choice.
    pub const SHORT: Self = Self { ours: 1500, others: 300 };
    /// As many as the paper has in each.
    pub const FULL: Self = Self { ours: 1500, others: 1500 };

    /// Whether as much is asked as the paper has.
    pub fn is_full(self) -> bool {
        self.others == Self::FULL.others
    }
}

/// Crux, examples 1 and 2: utilization, idle seconds, seconds on the link and the correction factor.
pub(super) fn examples(set: &Set) -> Vec<Figure> {
    let second = |count: u64| SimTime::from_ps(count * 1_000_000_000_000);
    let iteration = Tenants::on_one_link(&[
        Tenant::new("job-1", 10, second(2), 1.0).sends(second(2)),
        Tenant::new("job-2", 10, second(1), 1.0).sends(second(1)),
    ]);
    let overlap = Tenants::on_one_link(&[
        Tenant { work: 10.0, ..Tenant::new("job-1", 2, second(4), 0.5).sends(second(1)) },
        Tenant { work: 30.0, ..Tenant::new("job-2", 12, second(2), 0.5).sends(second(3)) },
    ]);
    let mut figures = Vec::new();
    for (example, tenants) in [(1, &iteration), (2, &overlap)] {
        let demand = Demand::of(tenants, &tenants.first_paths());
        let mut start = Start::all_ready(tenants);
        if set.number("computes_first", 0.0) > 0.0 {
            // Both begin to compute when the window begins.
            start = Start(vec![0.0; tenants.jobs.len()]);
        }
        for (first, levels) in [(1, [0, 1]), (2, [1, 0])] {
            let outcome = Contention::new(&demand, &start, WINDOW).run(&levels);
            let mut figure = |name: &str, value, unit| {
                figures.push(Figure::new(
                    &format!("example_{example}_job_{first}_first_{name}"),
                    value,
                    unit,
                ));
            };
            figure("utilization", outcome.utilization(&demand), "");
            let busy: f64 = outcome.jobs.iter().map(|served| served.communicating).sum();
            figure("link_unused", 1.0 - busy / WINDOW, "");
            for (job, served) in outcome.jobs.iter().enumerate() {
                figure(&format!("idle_{}", job + 1), WINDOW - served.computing, "s");
                figure(&format!("link_{}", job + 1), served.communicating, "s");
            }
        }
        let pair = Pair::of(&demand.jobs[0], &demand.jobs[1], WINDOW);
        let factor = pair.factor([demand.jobs[0].seconds, demand.jobs[1].seconds]);
        figures.push(Figure::new(&format!("example_{example}_factor"), factor, ""));
        let first = Priorities::of(&demand).order[0] + 1;
        figures.push(Figure::new(&format!("example_{example}_crux_first"), first as f64, ""));
    }
    figures
}

/// Zhai et al., example 2: the part of the time in which nobody has the link in the long run. The text leaves the lengths of
/// communication open; 1 and 3.5 s are the only pair in steps of 0.25 s that has both of its shares there.
pub(super) fn long_run(set: &Set) -> Vec<Figure> {
    let ms = |count: u64| SimTime::from_ps(count * 1_000_000_000);
    let sends = |name: &str, usual: f64| SimTime::from_seconds(set.number(name, usual));
    let tenants = Tenants::on_one_link(&[
        Tenant::new("job-1", 10, ms(4_000), 0.5).sends(sends("job_1_s", 1.0)),
        Tenant::new("job-2", 10, ms(2_000), 0.5).sends(sends("job_2_s", 3.5)),
    ]);
    let demand = Demand::of(&tenants, &tenants.first_paths());
    let start = Start::all_ready(&tenants);
    let unused = |levels: [u32; 2]| {
        let outcome = Contention::new(&demand, &start, LONG).run(&levels);
        1.0 - outcome.jobs.iter().map(|served| served.communicating).sum::<f64>() / LONG
    };
    vec![
        Figure::new("job_1_first_link_unused", unused([0, 1]), ""),
        Figure::new("job_2_first_link_unused", unused([1, 0]), ""),
    ]
}

/// Crux, Figure 13: four jobs of falling intensity on two levels, the first two on one link, the others on another.
pub(super) fn compression() -> Vec<Figure> {
    let dag = ContentionDag::of_edges(4, &[(0, 1, 4.0), (2, 3, 2.0)]);
    let levels = dag.compress(2, SEED).levels;
    let figure =
        |(job, &level): (usize, &u32)| Figure::new(&format!("level_{}", job + 1), f64::from(level), "");
    levels.iter().enumerate().map(figure).collect()
}

/// A point for each case of each setting: percent of the optimum that is left where one decision is as named and the
/// other two are the best; names that end in `contended` stand where jobs contend even by the best paths.
/// Without figures where they are not wanted.
pub(super) fn cases(count: Cases, set: &Set, wanted: &[bool]) -> Vec<Point> {
    let seed = set.number("seed", SEED as f64) as u64;
    let run = |((setting, number, label), &wanted): ((&Setting, u32, Label), &bool)| {
        let figures = if wanted { figures_of(&ablation::of_case(setting, seed, number)) } else { Vec::new() };
        Point { label, figures }
    };
    let all: Vec<_> = all_cases(count).zip(wanted).collect();
    all.into_par_iter().map(run).panic_fuse().collect()
}

/// The points of [`cases`], before any has run.
pub(super) fn labels(count: Cases) -> Vec<Label> {
    all_cases(count).map(|(_, _, label)| label).collect()
}

fn all_cases(count: Cases) -> impl Iterator<Item = (&'static Setting, u32, Label)> {
    SETTINGS.iter().flat_map(move |(name, setting)| {
        let count = if *name == SETTINGS[0].0 { count.ours } else { count.others };
        (0..count).map(move |number| {
            let of = |key: &str, value: &str| (key.to_owned(), value.to_owned());
            (setting, number, vec![of("setting", name), of("case", &number.to_string())])
        })
    })
}

fn figures_of(shares: &Shares) -> Vec<Figure> {
    let named = [
        ("path_selection", shares.paths),
        ("path_selection_taccl", shares.paths_taccl),
        ("path_selection_random", shares.paths_random),
        ("priority_assignment", shares.priorities),
        ("priority_assignment_by_intensity", shares.priorities_plain),
        ("priority_assignment_sincronia", shares.priorities_sincronia),
        ("priority_assignment_varys", shares.priorities_varys),
        ("priority_assignment_random", shares.priorities_random),
        ("compression", shares.levels),
        ("compression_sincronia", shares.levels_sincronia),
        ("compression_random", shares.levels_random),
    ];
    let mut figures: Vec<Figure> =
        named.iter().map(|(name, share)| Figure::new(name, share * 100.0, "%")).collect();
    if shares.contended {
        let all =
            named.iter().map(|(name, share)| Figure::new(&format!("{name}_contended"), share * 100.0, "%"));
        figures.extend(all);
    }
    figures.push(Figure::new("proved", f64::from(u8::from(shares.proved)), ""));
    figures.push(Figure::new("contended", f64::from(u8::from(shares.contended)), ""));
    figures
}
