//! Numbers and tables as text for a terminal.
use std::fmt::Write as _;

use railtwin_catalog::{BillScope, Money, Power};

use crate::intent::{FabricCandidate, Plan};
use crate::loss::{Goals, Loss, LossReport};
use crate::numbers::{money, number, percent, rate, watts};
use crate::search::{Comparison, CorePoint, FabricGrowth, SearchResult};

/// Columns as wide as their widest cell: the first left, the others right.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            // Writing to a string does not fail.
            let _ = match column {
                0 => write!(line, "{cell:<width$}"),
                _ => write!(line, "  {cell:>width$}"),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn cells<const N: usize>(row: [&str; N]) -> Vec<String> {
    row.map(str::to_owned).to_vec()
}

fn yes(value: bool) -> String {
    if value { "yes" } else { "no" }.to_owned()
}

impl Plan {
    /// A table with a row for each candidate, then why the other combinations have none.
    pub fn to_text(&self) -> String {
        let mut rows = vec![cells([
            "fabric",
            "GPUs",
            "leaves",
            "spines",
            "cores",
            "cables",
            "ports left",
            "real ratio",
            "hops",
            "hash",
            "bisection",
            "price",
            "assumed",
            "$/GPU",
            "W/GPU",
            "lost leaf cuts",
        ])];
        for candidate in &self.candidates {
            let counts = &candidate.counts;
            let join = |of: &dyn Fn(&crate::intent::TierCounts) -> Option<String>| {
                counts.tiers.iter().filter_map(of).collect::<Vec<_>>().join("/")
            };
            let leaf = candidate.loss.of_part(crate::loss::LostPart::Leaf);
            rows.push(vec![
                candidate.combination.label(),
                number(counts.gpus as f64),
                number(counts.leaves as f64),
                number(counts.spines as f64),
                number(counts.cores as f64),
                number(counts.cables() as f64),
                join(&|tier| tier.ports_left.map(|ports| ports.to_string())),
                join(&|tier| tier.oversubscription.map(|ratio| format!("{ratio:.2}"))),
                format!("{} ({:.2})", counts.hops_worst, counts.hops_mean),
                counts.hash_stages.to_string(),
                rate(counts.bisection.bits_per_s() as f64),
                money(candidate.price().usd),
                percent(candidate.price().assumed_share()),
                money(candidate.usd_per_gpu()),
                format!("{:.1}", candidate.watts_per_gpu()),
                leaf.map_or_else(String::new, |leaf| format!("{} GPUs", leaf.gpus_cut)),
            ]);
        }
        let mut text = table(&rows);
        for refusal in &self.refused {
            let _ = writeln!(text, "none: {}: {}", refusal.combination.label(), refusal.reason);
        }
        text
    }
}

impl FabricCandidate {
    /// The parts of the network, a row each, and their sum; then those of backup hosts and the frontend, and all.
    pub fn bill_text(&self) -> String {
        let mut rows = vec![cells(["part", "for", "count", "price", "assumed", "power"])];
        let sum = |name: &str, price: Money, power: Power| {
            let share = percent(price.assumed_share());
            let cells =
                [name.to_owned(), String::new(), String::new(), money(price.usd), share, watts(power.watts)];
            cells.to_vec()
        };
        for scope in [BillScope::Network, BillScope::Spare, BillScope::Frontend] {
            for line in self.bill.of_scope(scope) {
                rows.push(vec![
                    line.part.clone(),
                    line.role.clone(),
                    number(line.count as f64),
                    money(line.price.usd),
                    percent(line.price.assumed_share()),
                    watts(line.power.watts),
                ]);
            }
            if scope == BillScope::Network {
                rows.push(sum("network", self.price(), self.power()));
            }
        }
        if self.bill.lines.iter().any(|line| line.scope != BillScope::Network) {
            rows.push(sum("all", self.bill.price(), self.bill.power()));
        }
        let per_gpu = (money(self.usd_per_gpu()), watts(self.watts_per_gpu()));
        format!("{}network for each GPU: {} and {}\n", table(&rows), per_gpu.0, per_gpu.1)
    }
}

impl LossReport {
    /// A table with a row for each class of parts.
    pub fn to_text(&self) -> String {
        let mut rows = vec![cells([
            "lost",
            "of",
            "GPUs cut",
            "pairs cut",
            "slowed",
            "leaf set",
            "segments",
            "pods",
            "bisection",
            "ring stops",
        ])];
        let row = |loss: &Loss| {
            let kept = |kept: Option<crate::loss::Kept>| {
                kept.map_or_else(|| "-".to_owned(), |k| format!("{} ({})", percent(k.worst), percent(k.mean)))
            };
            vec![
                loss.part.to_string(),
                number(loss.count as f64),
                number(loss.gpus_cut as f64),
                number(loss.pairs_cut as f64),
                number(loss.gpus_slowed as f64),
                kept(Some(loss.to_leaf_set)),
                kept(loss.to_segments),
                kept(loss.to_pods),
                percent(loss.bisection),
                yes(loss.stops_ring),
            ]
        };
        rows.extend(self.losses.iter().map(row));
        let mut text = table(&rows);
        text.push_str("kept bandwidth: of the worst GPU (mean of all GPUs)\n");
        self.notes.iter().for_each(|note| text.push_str(&format!("{note}\n")));
        text
    }
}

impl Goals {
    /// A line for each goal.
    pub fn to_text(&self) -> String {
        let line = |goal: &crate::loss::Goal| {
            let answer = if goal.passes { "pass" } else { "fail" };
            format!("{} {answer}  {}: {}\n", goal.name, goal.demand, goal.because)
        };
        self.goals.iter().map(line).collect()
    }
}

impl SearchResult {
    /// The best, then the curve of price against bisection.
    pub fn to_text(&self) -> String {
        let mut text = match &self.best {
            Some(best) => format!(
                "cheapest that survives the loss of any leaf: {}\n{} for {} GPUs, {} a GPU, {} of it assumed\n",
                best.combination.label(),
                money(best.price().usd),
                number(best.counts.gpus as f64),
                money(best.usd_per_gpu()),
                percent(best.price().assumed_share())
            ),
            None => "no fabric survives the loss of a leaf\n".to_owned(),
        };
        let _ = writeln!(
            text,
            "{} combinations of style, switch, tiers, planes and leaves of a NIC: {} carry the GPUs, {} of them survive a \
             lost leaf\n",
            self.tried, self.feasible, self.surviving
        );
        text.push_str("price against bisection, at more oversubscriptions too:\n");
        let mut rows = vec![cells(["fabric", "price", "assumed", "bisection", "survives a leaf"])];
        let only_surviving = self.pareto_surviving.iter().filter(|point| !self.pareto.contains(point));
        for point in self.pareto.iter().chain(only_surviving) {
            let assumed = if point.usd > 0.0 { point.assumed_usd / point.usd } else { 0.0 };
            rows.push(vec![
                point.label.clone(),
                money(point.usd),
                percent(assumed),
                percent(point.bisection_share),
                yes(point.survives_leaf),
            ]);
        }
        text + &table(&rows)
    }
}

impl Comparison {
    /// A table with a row for each figure.
    pub fn to_text(&self) -> String {
        let mut rows = vec![vec![String::new(), self.a.clone(), self.b.clone(), "ratio".to_owned()]];
        for row in &self.rows {
            let ratio = row.ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
            rows.push(vec![row.figure.to_owned(), row.a.clone(), row.b.clone(), ratio]);
        }
        table(&rows)
    }
}

impl FabricGrowth {
    /// Switches before and after, and a row of moves for each class of cables.
    pub fn to_text(&self) -> String {
        let mut rows = vec![cells(["cables", "stay at most", "move at least", "new", "gone"])];
        for (class, moves) in
            [("access", self.access), ("leaf-spine", self.leaf_spine), ("spine-core", self.spine_core)]
        {
            let counts = [moves.kept, moves.moved, moves.added, moves.removed];
            let mut row = vec![class.to_owned()];
            row.extend(counts.map(|count| number(count as f64)));
            rows.push(row);
        }
        let side = |one: &FabricCandidate| {
            let counts = &one.counts;
            format!(
                "{} GPUs: {} ({} leaves, {} spines, {} cores)",
                number(counts.gpus as f64),
                one.combination.label(),
                counts.leaves,
                counts.spines,
                counts.cores
            )
        };
        format!("{}\n{}\n{}{}\n", side(&self.from), side(&self.to), table(&rows), self.which())
    }
}

/// The curve of core oversubscription against pod size as a table.
pub fn core_curve_text(points: &[CorePoint]) -> String {
    let mut rows = vec![cells(["core ratio", "real", "segments", "GPUs in a pod", "kept to other pods"])];
    for point in points {
        rows.push(vec![
            format!("{}:1", point.asked),
            format!("{:.2}", point.oversubscription),
            point.segments.to_string(),
            number(point.gpus_per_pod as f64),
            percent(point.to_pods),
        ]);
    }
    table(&rows)
}
