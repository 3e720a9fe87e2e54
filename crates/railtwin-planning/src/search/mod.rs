//! The cheapest fabric that survives a lost leaf, trade-offs as curves, two designs side by side, growth.
mod compare;
mod core_curve;
mod growth;

use railtwin_catalog::{Catalog, PartKind};
use serde::Serialize;

pub use compare::{Comparison, ComparisonRow, compare};
pub use core_curve::{CorePoint, core_curve, core_curve_at};
pub use growth::{CableMoves, FabricGrowth};

use crate::intent::{FabricCandidate, Intent, Style};
use crate::loss::LostPart;

/// Oversubscriptions of the curve beside those of the intent.
const RATIOS: [f64; 6] = [1.0, 1.5, 2.0, 3.0, 4.0, 8.0];

/// Share of its bandwidth that each GPU keeps after a leaf is lost.
pub const KEPT_AFTER_A_LEAF: f64 = 0.5;

/// Result of a search.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SearchResult {
    /// Combinations that were tried.
    pub tried: usize,
    /// Those that a fabric meets.
    pub feasible: usize,
    /// Those that survive a lost leaf too: no pair of GPUs is cut, each GPU keeps half its bandwidth.
    pub surviving: usize,
    /// The cheapest of the surviving; of equal prices the one with most bisection.
    pub best: Option<FabricCandidate>,
    /// The largest pod of the best by oversubscription of the core.
    pub core_curve: Vec<CorePoint>,
    /// Fabrics that no other one beats in both price and bisection, by price: of all feasible ones, and of more
    /// oversubscriptions than the intent has.
    pub pareto: Vec<ParetoPoint>,
    /// The same of those that survive a lost leaf.
    pub pareto_surviving: Vec<ParetoPoint>,
}

/// A fabric on the curve of price against bisection.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ParetoPoint {
    /// Its combination in words.
    pub label: String,
    /// Price of the network, US dollars.
    pub usd: f64,
    /// Assumed part of the price.
    pub assumed_usd: f64,
    /// Bisection as a share of what half the GPUs send.
    pub bisection_share: f64,
    /// Whether it survives a lost leaf.
    pub survives_leaf: bool,
}

/// Whether no pair of GPUs is cut and each GPU keeps half its bandwidth after any one leaf is lost.
pub fn survives_leaf(candidate: &FabricCandidate) -> bool {
    let leaf = candidate.loss.of_part(LostPart::Leaf);
    leaf.is_some_and(|leaf| leaf.pairs_cut == 0 && leaf.worst() >= KEPT_AFTER_A_LEAF - 1e-9)
}

/// Searches over all styles, all switches of the catalog, one to three tiers, 1, 2 and 4 planes, one and two leaves of a NIC,
/// at the oversubscriptions of the intent. Candidates that the catalog cannot price whole are left out.
pub fn search(intent: &Intent, catalog: &Catalog) -> SearchResult {
    let wide = Intent {
        switches: catalog.parts(PartKind::Switch).map(|part| part.name.clone()).collect(),
        tiers: vec![1, 2, 3],
        planes: vec![1, 2, 4],
        tors: vec![1, 2],
        ..intent.clone()
    };
    let ratios = Intent { oversubscription: RATIOS.to_vec(), ..wide.clone() };
    let (mut tried, mut candidates, mut all) = (0, Vec::new(), Vec::new());
    for style in [Style::RailOptimised, Style::Clos] {
        let wide = Intent { style, ..wide.clone() };
        tried += wide.combinations().len();
        candidates.extend(priced(&wide, catalog));
        all.extend(priced(&Intent { style, ..ratios.clone() }, catalog));
    }
    all.extend(candidates.iter().cloned());
    let surviving: Vec<&FabricCandidate> = candidates.iter().filter(|one| survives_leaf(one)).collect();
    let best = surviving.iter().min_by(|a, b| {
        let bisection = |one: &FabricCandidate| one.counts.bisection;
        a.price().usd.total_cmp(&b.price().usd).then(bisection(b).cmp(&bisection(a)))
    });
    SearchResult {
        tried,
        feasible: candidates.len(),
        surviving: surviving.len(),
        core_curve: best.map(|best| core_curve(&best.spec)).unwrap_or_default(),
        best: best.map(|one| (*one).clone()),
        pareto: pareto(&all),
        pareto_surviving: pareto(&all.into_iter().filter(survives_leaf).collect::<Vec<FabricCandidate>>()),
    }
}

/// Candidates that the catalog prices whole.
fn priced(intent: &Intent, catalog: &Catalog) -> Vec<FabricCandidate> {
    intent.plan(catalog).candidates.into_iter().filter(|candidate| candidate.notes.is_empty()).collect()
}

/// The candidates of which none other is as cheap and wider, or cheaper and as wide, by price.
pub fn pareto(candidates: &[FabricCandidate]) -> Vec<ParetoPoint> {
    let mut by_price: Vec<&FabricCandidate> = candidates.iter().collect();
    let share = |one: &FabricCandidate| one.counts.bisection_share();
    by_price.sort_by(|a, b| a.price().usd.total_cmp(&b.price().usd).then(share(b).total_cmp(&share(a))));
    let mut widest = f64::NEG_INFINITY;
    let mut points = Vec::new();
    for candidate in by_price {
        if share(candidate) > widest + 1e-9 {
            widest = share(candidate);
            points.push(ParetoPoint::of(candidate));
        }
    }
    points
}

impl ParetoPoint {
    pub(crate) fn of(candidate: &FabricCandidate) -> Self {
        let price = candidate.price();
        Self {
            label: candidate.combination.label(),
            usd: price.usd,
            assumed_usd: price.assumed_usd,
            bisection_share: candidate.counts.bisection_share(),
            survives_leaf: survives_leaf(candidate),
        }
    }
}
