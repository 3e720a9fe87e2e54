//! Successive linear programs as an oracle for max-min rates under a static split, and as a bound under a
//! dynamic one.
use microlp::{ComparisonOp, OptimizationDirection, Problem as Program, Variable as Unknown};
use proptest::prelude::*;
use railtwin_flowsim::dynamic::{self, Strands};
use railtwin_flowsim::max_min::{Problem, Solver};

const CLOSE: f64 = 1e-6;

/// A variable as drawn: links with shares, weight, cap.
#[derive(Clone, Debug)]
struct Drawn {
    entries: Vec<(usize, f64)>,
    weight: f64,
    cap: f64,
}

/// Maximises `objective` over rates below caps and links below capacities, with `extra` lower bounds.
fn program(
    drawn: &[Drawn],
    capacities: &[f64],
    levels: &[Option<f64>],
    rising: &dyn Fn(usize) -> bool,
) -> Option<f64> {
    let mut lp = Program::new(OptimizationDirection::Maximize);
    let level = lp.add_var(1.0, (0.0, 1e6));
    let rates: Vec<Unknown> = drawn.iter().map(|d| lp.add_var(0.0, (0.0, d.cap.min(1e6)))).collect();
    for (link, &capacity) in capacities.iter().enumerate() {
        let mut row: Vec<(Unknown, f64)> = Vec::new();
        for (d, &rate) in drawn.iter().zip(&rates) {
            row.extend(d.entries.iter().filter(|(l, _)| *l == link).map(|&(_, share)| (rate, share)));
        }
        if !row.is_empty() {
            lp.add_constraint(&row, ComparisonOp::Le, capacity);
        }
    }
    for (v, d) in drawn.iter().enumerate() {
        if rising(v) {
            lp.add_constraint([(rates[v], 1.0), (level, -d.weight)], ComparisonOp::Ge, 0.0);
        } else if let Some(settled) = levels[v] {
            lp.add_constraint([(rates[v], 1.0)], ComparisonOp::Ge, settled * d.weight * (1.0 - 1e-10));
        }
    }
    lp.solve().ok()?.into_solution().ok().map(|solution| solution.objective())
}

/// Lexicographic max-min: the highest common level; then those are settled that cannot exceed it while no
/// other falls below; and so on with the rest.
fn lexicographic(drawn: &[Drawn], capacities: &[f64]) -> Option<Vec<f64>> {
    let mut settled: Vec<Option<f64>> = vec![None; drawn.len()];
    while settled.iter().any(Option::is_none) {
        let open = settled.clone();
        let level = program(drawn, capacities, &settled, &|v| open[v].is_none())?;
        let mut floors = settled.clone();
        floors.iter_mut().for_each(|floor| *floor = floor.or(Some(level)));
        let before = settled.iter().flatten().count();
        for v in 0..drawn.len() {
            if open[v].is_none() && program(drawn, capacities, &floors, &|u| u == v)? <= level + 1e-7 {
                settled[v] = Some(level);
            }
        }
        if settled.iter().flatten().count() == before {
            return None;
        }
    }
    Some(settled.iter().zip(drawn).map(|(level, d)| level.unwrap_or(0.0) * d.weight).collect())
}

fn ours(drawn: &[Drawn], capacities: &[f64]) -> Vec<f64> {
    let (mut start, mut links, mut shares) = (vec![0], vec![], vec![]);
    for d in drawn {
        links.extend(d.entries.iter().map(|&(link, _)| link as u32));
        shares.extend(d.entries.iter().map(|&(_, share)| share));
        start.push(links.len() as u32);
    }
    let weights: Vec<f64> = drawn.iter().map(|d| d.weight).collect();
    let caps: Vec<f64> = drawn.iter().map(|d| d.cap).collect();
    let (start, links, shares) = (&start[..], &links[..], &shares[..]);
    let problem = Problem { start, links, shares, weights: &weights, caps: &caps, capacities };
    let mut rates = Vec::new();
    Solver::default().solve(&problem, &mut rates);
    rates
}

fn drawn() -> impl Strategy<Value = (Vec<Drawn>, Vec<f64>)> {
    let variable = (
        prop::collection::btree_map(0usize..8, 0.1..3.0, 1..5),
        0.5..4.0,
        prop_oneof![2 => Just(f64::INFINITY), 1 => 0.2..8.0],
    );
    (prop::collection::vec(variable, 1..=8), prop::collection::vec(0.5..20.0, 8)).prop_map(
        |(rows, capacities)| {
            let row = |(entries, weight, cap): (std::collections::BTreeMap<usize, f64>, f64, f64)| Drawn {
                entries: entries.into_iter().collect(),
                weight,
                cap,
            };
            (rows.into_iter().map(row).collect(), capacities)
        },
    )
}

/// Edges of bundles as drawn: amount, and the links of each strand.
type Edges = Vec<(f64, Vec<Vec<usize>>)>;

fn strands(bundles: &[Edges]) -> Strands {
    let mut out = Strands { bundle_start: vec![0], start: vec![0], ..Strands::default() };
    for edges in bundles {
        for (edge, (amount, paths)) in edges.iter().enumerate() {
            for path in paths {
                out.links.extend(path.iter().map(|&link| link as u32));
                out.start.push(out.links.len() as u32);
                out.edge.push(edge as u32);
                out.amount.push(*amount);
                out.weights.push(1.0);
            }
        }
        out.bundle_start.push(out.edge.len() as u32);
        out.bundle_caps.push(f64::INFINITY);
    }
    out.shares = vec![1.0; out.links.len()];
    out
}

fn paces(bundles: &[Edges], capacities: &[f64]) -> Vec<f64> {
    let (mut paces, mut rates) = (Vec::new(), Vec::new());
    dynamic::solve(&mut Solver::default(), &strands(bundles), capacities, &mut paces, &mut rates);
    paces
}

/// The most that bundle `best` can reach while all others keep `floors`, all splits free.
fn best_pace(bundles: &[Edges], capacities: &[f64], floors: &[f64], best: usize) -> Option<f64> {
    let mut lp = Program::new(OptimizationDirection::Maximize);
    let mut rows: Vec<Vec<(Unknown, f64)>> = vec![Vec::new(); capacities.len()];
    for (b, edges) in bundles.iter().enumerate() {
        let least = if b == best { 0.0 } else { floors[b] * (1.0 - 1e-8) };
        let pace = lp.add_var(if b == best { 1.0 } else { 0.0 }, (least, 1e6));
        for (amount, paths) in edges {
            let mut sum = vec![(pace, -amount)];
            for path in paths {
                let rate = lp.add_var(0.0, (0.0, 1e6));
                sum.push((rate, 1.0));
                path.iter().for_each(|&link| rows[link].push((rate, 1.0)));
            }
            lp.add_constraint(&sum, ComparisonOp::Ge, 0.0);
        }
    }
    for (row, &capacity) in rows.iter().zip(capacities).filter(|(row, _)| !row.is_empty()) {
        lp.add_constraint(row, ComparisonOp::Le, capacity);
    }
    lp.solve().ok()?.into_solution().ok().map(|solution| solution.objective())
}

fn paths(links: std::ops::Range<usize>, most: usize) -> impl Strategy<Value = Vec<Vec<usize>>> {
    let path = prop::collection::btree_set(links, 1..=most).prop_map(|set| set.into_iter().collect());
    prop::collection::vec(path, 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn rates_are_those_of_successive_linear_programs((drawn, capacities) in drawn()) {
        let Some(expected) = lexicographic(&drawn, &capacities) else {
            return Err(TestCaseError::reject("the oracle gave no answer"));
        };
        let rates = ours(&drawn, &capacities);
        for (v, (ours, theirs)) in rates.iter().zip(&expected).enumerate() {
            prop_assert!((ours - theirs).abs() <= CLOSE * (1.0 + theirs), "{v}: {ours} is not {theirs}");
        }
    }

    /// Queue pairs that take one link each, edges that share none: the most that any split can reach.
    #[test]
    fn a_bundle_whose_edges_share_no_link_reaches_the_optimum(
        edges in prop::collection::vec((0.2..3.0, prop::collection::vec(0usize..3, 1..4)), 1..4),
        capacities in prop::collection::vec(0.5..20.0, 12),
    ) {
        let apart = |(row, (amount, links)): (usize, (f64, Vec<usize>))| {
            (amount, links.into_iter().map(|link| vec![3 * row + link]).collect())
        };
        let bundles = vec![edges.into_iter().enumerate().map(apart).collect::<Edges>()];
        let best = best_pace(&bundles, &capacities, &[0.0], 0).expect("a feasible program");
        let pace = paces(&bundles, &capacities)[0];
        prop_assert!((pace - best).abs() <= CLOSE * best, "{pace} is not {best}");
    }

    /// Edges of one strand leave nothing to split: bundles are max-min fair by strand, which the oracle knows.
    #[test]
    fn bundles_of_one_strand_are_max_min(
        rows in prop::collection::vec((0.2..3.0, paths(0..6, 3)), 1..7),
        capacities in prop::collection::vec(0.5..20.0, 6),
    ) {
        let bundles: Vec<Edges> = rows.iter().map(|(a, p)| vec![(*a, vec![p[0].clone()])]).collect();
        // A strand's level is its rate, so a bundle of amount a has weight 1/a and takes a on each link.
        let drawn: Vec<Drawn> = rows.iter().map(|(amount, paths)| Drawn {
            entries: paths[0].iter().map(|&link| (link, *amount)).collect(),
            weight: 1.0 / amount,
            cap: f64::INFINITY,
        }).collect();
        let Some(expected) = lexicographic(&drawn, &capacities) else {
            return Err(TestCaseError::reject("the oracle gave no answer"));
        };
        for (ours, theirs) in paces(&bundles, &capacities).iter().zip(expected) {
            prop_assert!((ours - theirs).abs() <= CLOSE * (1.0 + theirs), "{ours} is not {theirs}");
        }
    }

    /// Where every path is one link and every bundle one edge nothing is held, and no bundle can be raised
    /// while the others keep their paces.
    #[test]
    fn nothing_is_wasted_where_nothing_is_held(
        rows in prop::collection::vec((0.2..3.0, paths(0..5, 1)), 1..6),
        capacities in prop::collection::vec(0.5..20.0, 5),
    ) {
        let bundles: Vec<Edges> = rows.into_iter().map(|row| vec![row]).collect();
        let found = paces(&bundles, &capacities);
        for b in 0..bundles.len() {
            let best = best_pace(&bundles, &capacities, &found, b).expect("our paces are feasible");
            prop_assert!(best <= found[b] * (1.0 + CLOSE) + CLOSE, "{b} could have {best}, not {}", found[b]);
        }
    }

    /// No split whatever lets a bundle alone go faster than the program says.
    #[test]
    fn the_optimum_bounds_a_bundle_alone(
        edges in prop::collection::vec((0.2..3.0, paths(0..6, 3)), 1..5),
        capacities in prop::collection::vec(0.5..20.0, 6),
    ) {
        let bundles = vec![edges];
        let best = best_pace(&bundles, &capacities, &[0.0], 0).expect("a feasible program");
        let pace = paces(&bundles, &capacities)[0];
        prop_assert!(pace <= best * (1.0 + CLOSE) && pace > 0.0, "{pace} beats {best}");
    }
}

/// The price of not looking for the path that helps: the module says so, this holds it to it.
#[test]
fn a_held_edge_stays_even_where_the_optimum_would_clear_a_link() {
    // Edge 0 over links 0 and 1, edge 1 over link 1 only: even halves give 10 / 1.5.
    let bundles = vec![vec![(1.0, vec![vec![0], vec![1]]), (1.0, vec![vec![1]])]];
    let best = best_pace(&bundles, &[10.0, 10.0], &[0.0], 0).expect("a feasible program");
    assert!((best - 10.0).abs() < CLOSE);
    assert!((paces(&bundles, &[10.0, 10.0])[0] - 10.0 / 1.5).abs() < CLOSE);
}
