//! Two designs row by row.
use serde::Serialize;

use crate::intent::FabricCandidate;
use crate::loss::LostPart;
use crate::numbers::{money, number, percent, rate, watts};

/// A figure of two designs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ComparisonRow {
    /// Name of the figure.
    pub figure: &'static str,
    /// Of the first design, in words.
    pub a: String,
    /// Of the second.
    pub b: String,
    /// Second over first; none where the first is zero.
    pub ratio: Option<f64>,
}

/// Two designs side by side.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    /// Name of the first.
    pub a: String,
    /// Name of the second.
    pub b: String,
    /// The figures.
    pub rows: Vec<ComparisonRow>,
}

/// A figure: its name, how it is taken, not a number where it is not computed, and how it is written.
type Figure = (&'static str, fn(&FabricCandidate) -> f64, fn(f64) -> String);

const FIGURES: [Figure; 21] = [
    ("GPUs", |c| c.counts.gpus as f64, number),
    ("leaves", |c| c.counts.leaves as f64, number),
    ("spines", |c| c.counts.spines as f64, number),
    ("cores", |c| c.counts.cores as f64, number),
    ("access cables", |c| c.counts.cables_access as f64, number),
    ("leaf-spine cables", |c| c.counts.cables_leaf_spine as f64, number),
    ("spine-core cables", |c| c.counts.cables_spine_core as f64, number),
    ("cables between peers", |c| c.counts.cables_peer as f64, number),
    ("pairs of GPUs joined", |c| c.counts.pairs_joined, percent),
    ("hops, worst", |c| f64::from(c.counts.hops_worst), number),
    ("hops, mean", |c| c.counts.hops_mean, |mean| format!("{mean:.2}")),
    ("stages of hashing", |c| f64::from(c.counts.hash_stages), number),
    ("path choices", |c| c.counts.path_choices as f64, number),
    ("bisection", |c| c.counts.bisection.bits_per_s() as f64, rate),
    ("bisection of full", |c| c.counts.bisection_share(), percent),
    ("price", |c| c.price().usd, money),
    ("assumed of the price", |c| c.price().assumed_share(), percent),
    ("price of a GPU", FabricCandidate::usd_per_gpu, money),
    ("power of a GPU", FabricCandidate::watts_per_gpu, watts),
    (
        "GPUs cut by a lost leaf",
        |c| c.loss.of_part(LostPart::Leaf).map_or(f64::NAN, |l| l.gpus_cut as f64),
        number,
    ),
    ("kept after a lost leaf", |c| c.loss.of_part(LostPart::Leaf).map_or(f64::NAN, |l| l.worst()), percent),
];

/// Compares two designs row by row.
pub fn compare(a: &FabricCandidate, b: &FabricCandidate) -> Comparison {
    let row = |(figure, of, write): Figure| {
        let (of_a, of_b) = (of(a), of(b));
        let ratio = (of_a != 0.0).then(|| of_b / of_a).filter(|ratio| ratio.is_finite());
        let shown = |figure: f64| if figure.is_nan() { "-".to_owned() } else { write(figure) };
        ComparisonRow { figure, a: shown(of_a), b: shown(of_b), ratio }
    };
    Comparison {
        a: a.combination.label(),
        b: b.combination.label(),
        rows: FIGURES.into_iter().map(row).collect(),
    }
}
