//! Each of Crux's three decisions alone, the other two at their optimum (Crux, section 4.4).
use railtwin_control::crux::coflow::{first_alone, sincronia_order, varys_order};
use railtwin_control::crux::compress::ContentionDag;
use railtwin_control::crux::correction::Priorities;
use railtwin_control::crux::demand::Demand;
use railtwin_control::crux::optimum::Judge;
use railtwin_control::crux::select::{by_distance, by_hash, by_intensity};
use railtwin_units::stream;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};

use super::cases::{Setting, draw};

/// Priority levels of the network.
const LEVELS: u32 = 3;
/// Paths of a case are at most 2 to the power of its jobs.
const NODES: u64 = 1 << 10;

/// Part of the optimum's GPU utilization that a decision leaves, 0..1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shares {
    pub(super) paths: f64,
    pub(super) paths_taccl: f64,
    /// By lot.
    pub(super) paths_random: f64,
    pub(super) priorities: f64,
    /// By intensity alone, without the correction factor.
    pub(super) priorities_plain: f64,
    pub(super) priorities_sincronia: f64,
    pub(super) priorities_varys: f64,
    /// By lot.
    pub(super) priorities_random: f64,
    pub(super) levels: f64,
    pub(super) levels_sincronia: f64,
    /// The best order, cut into levels by lot.
    pub(super) levels_random: f64,
    /// The optimum was proved.
    pub(super) proved: bool,
    /// Some jobs contend by the optimum's paths.
    pub(super) contended: bool,
}

/// Those of case `number` of `seed`.
pub(super) fn of_case(setting: &Setting, seed: u64, number: u32) -> Shares {
    let drawn = draw(setting, seed, number);
    let tenants = &drawn.tenants;
    let mut judge = Judge::new(tenants, &drawn.start, drawn.window);
    let best = judge.optimum(LEVELS, NODES);
    let hashed = by_hash(tenants, seed);
    let mut by_paths = |paths| judge.best_levels(&Demand::of(tenants, &paths), LEVELS, None).1 / best.work;
    let paths = by_paths(by_intensity(tenants, &hashed));
    let paths_taccl = by_paths(by_distance(tenants, &hashed));

    let mut lot = stream::named(seed, &format!("crux-lot-{number}"));
    let paths_random = by_paths(by_hash(tenants, lot.random()));

    let demand = Demand::of(tenants, &best.paths);
    let mut by_order = |order: &[usize]| judge.best_levels(&demand, LEVELS, Some(order)).1 / best.work;
    let ours = Priorities::of(&demand);
    let plain = {
        let mut order: Vec<usize> = (0..demand.jobs.len()).collect();
        order.sort_by(|&first, &second| {
            demand.jobs[second].intensity().total_cmp(&demand.jobs[first].intensity())
        });
        order
    };
    let priorities = by_order(&ours.order);
    let priorities_plain = by_order(&plain);
    let priorities_sincronia = by_order(&sincronia_order(&demand));
    let priorities_varys = by_order(&varys_order(&demand));

    let priorities_random = {
        let mut order: Vec<usize> = (0..demand.jobs.len()).collect();
        order.shuffle(&mut lot);
        by_order(&order)
    };

    let order = judge.best_order(&demand, &best.levels);
    let compressed = ContentionDag::of(&demand, &order).compress(LEVELS, seed);
    let levels = judge.work(&demand, &compressed.levels) / best.work;
    let levels_sincronia = judge.work(&demand, &first_alone(&order, LEVELS)) / best.work;
    let levels_random = judge.work(&demand, &cut_by_lot(&order, &mut lot)) / best.work;
    Shares {
        paths,
        paths_taccl,
        paths_random,
        priorities,
        priorities_plain,
        priorities_sincronia,
        priorities_varys,
        priorities_random,
        levels,
        levels_sincronia,
        levels_random,
        proved: best.proved,
        contended: !demand.contending().is_empty(),
    }
}

/// Levels of an order, by job, that is cut into [`LEVELS`] parts by lot; a part may be empty.
fn cut_by_lot(order: &[usize], lot: &mut impl Rng) -> Vec<u32> {
    let mut cuts: Vec<usize> = (1..LEVELS).map(|_| lot.random_range(0..=order.len())).collect();
    cuts.sort_unstable();
    let mut levels = vec![0; order.len()];
    for (place, &job) in order.iter().enumerate() {
        levels[job] = cuts.iter().filter(|&&cut| cut <= place).count() as u32;
    }
    levels
}
