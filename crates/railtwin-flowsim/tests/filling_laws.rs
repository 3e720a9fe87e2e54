//! Laws of the kept solution: after every change it equals a solution from scratch.
use proptest::prelude::*;
use railtwin_flowsim::filling::Filling;
use railtwin_flowsim::max_min::{Problem, Solver, check_optimal};
use railtwin_flowsim::reduce::Constraints;

/// A variable as drawn: which constraints with which shares, weight, cap, how many equal ones.
type Variable = (Vec<(u32, f64)>, f64, Option<f64>, u32);

/// What happens to a variable: it comes or goes, it is held still or let go.
type Change = (prop::sample::Index, bool);

#[derive(Clone, Debug)]
struct Drawn {
    constraints: Constraints,
    weights: Vec<f64>,
    caps: Vec<f64>,
    counts: Vec<u32>,
}

fn draw(variables: Vec<Variable>, capacities: Vec<f64>) -> Drawn {
    let constraints = Constraints { start: vec![0], ids: vec![], shares: vec![], capacities };
    let mut drawn = Drawn { constraints, weights: vec![], caps: vec![], counts: vec![] };
    for (entries, weight, cap, count) in variables {
        let rows = drawn.constraints.capacities.len() as u32;
        let entries: std::collections::BTreeMap<u32, f64> =
            entries.into_iter().map(|(id, share)| (id % rows, share)).collect();
        for (id, share) in entries {
            drawn.constraints.ids.push(id);
            drawn.constraints.shares.push(share);
        }
        drawn.constraints.start.push(drawn.constraints.ids.len() as u32);
        drawn.weights.push(weight);
        drawn.caps.push(cap.unwrap_or(f64::INFINITY));
        drawn.counts.push(count);
    }
    drawn
}

fn problems() -> impl Strategy<Value = Drawn> {
    // Equal and unequal numbers: ties are where an order of events could go wrong.
    let entry = (0u32..25, prop_oneof![2 => Just(1.0), 1 => 0.01..4.0]);
    let cap = prop_oneof![3 => Just(None), 1 => (0.1..20.0).prop_map(Some), 1 => Just(Some(2.0))];
    let weight = prop_oneof![2 => Just(1.0), 1 => 0.5..8.0];
    let variable =
        (prop::collection::vec(entry, 1..6), weight, cap, prop_oneof![3 => Just(1u32), 1 => 1u32..5]);
    let capacity = prop_oneof![4 => Just(10.0), 4 => 0.5..50.0, 1 => Just(0.0)];
    (prop::collection::vec(variable, 1..50), prop::collection::vec(capacity, 1..25))
        .prop_map(|(variables, capacities)| draw(variables, capacities))
}

/// The rates of those that are in and not held, from scratch, each of equal ones as a variable of its own.
fn from_scratch(drawn: &Drawn, inside: &[bool], held: &[bool]) -> Vec<f64> {
    let (mut start, mut links, mut shares) = (vec![0], vec![], vec![]);
    let (mut weights, mut caps, mut owner) = (vec![], vec![], vec![]);
    for v in (0..inside.len()).filter(|&v| inside[v] && !held[v]) {
        for _ in 0..drawn.counts[v] {
            let range = drawn.constraints.start[v] as usize..drawn.constraints.start[v + 1] as usize;
            links.extend_from_slice(&drawn.constraints.ids[range.clone()]);
            shares.extend_from_slice(&drawn.constraints.shares[range]);
            start.push(links.len() as u32);
            weights.push(drawn.weights[v]);
            caps.push(drawn.caps[v]);
            owner.push(v);
        }
    }
    let capacities = &drawn.constraints.capacities;
    let problem =
        Problem { start: &start, links: &links, shares: &shares, weights: &weights, caps: &caps, capacities };
    let mut rates = Vec::new();
    Solver::default().solve(&problem, &mut rates);
    check_optimal(&problem, &rates, 1e-9).expect("the solver is exact");
    let mut by_variable = vec![0.0; inside.len()];
    for (v, rate) in owner.into_iter().zip(rates) {
        by_variable[v] = rate;
    }
    by_variable
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn after_every_change_rates_are_those_of_a_fresh_solve(
        drawn in problems(),
        batches in prop::collection::vec(prop::collection::vec(any::<Change>(), 1..6), 1..25),
    ) {
        let count = drawn.weights.len();
        let mut filling = Filling::new(&drawn.constraints, &drawn.weights, &drawn.caps);
        let (mut inside, mut held) = (vec![false; count], vec![false; count]);
        let mut told = vec![0.0; count];
        // All come at once, then a few at a time come, go, are held and let go.
        for v in (0..count).filter(|v| v % 4 != 0) {
            filling.add(v as u32, drawn.counts[v]);
            inside[v] = true;
        }
        for batch in std::iter::once(Vec::new()).chain(batches) {
            for (index, hold) in batch {
                let v = index.index(count);
                if hold && inside[v] {
                    held[v] = !held[v];
                    let ceiling = if held[v] { 0.0 } else { drawn.caps[v] / drawn.weights[v] };
                    filling.set_ceiling(v as u32, ceiling);
                } else if inside[v] {
                    filling.remove(v as u32);
                    (inside[v], told[v]) = (false, 0.0);
                } else if !held[v] {
                    filling.add(v as u32, drawn.counts[v]);
                    inside[v] = true;
                }
            }
            let mut changed = Vec::new();
            filling.settle(&mut changed);
            for &v in &changed {
                told[v as usize] = filling.rate(v);
            }
            for (v, &fresh) in from_scratch(&drawn, &inside, &held).iter().enumerate() {
                // A level counts as unchanged within 1e-13; what is left of a link beside large ones has more of that.
                prop_assert!((told[v] - fresh).abs() <= 1e-11 * fresh.max(1e-3), "{}: {} for {}", v, told[v], fresh);
            }
        }
    }
}

/// A capped variable comes where another goes: the load stays, its shares do not.
#[test]
fn an_equal_load_is_still_shared_anew() {
    let infinite = f64::INFINITY;
    let drawn = draw(
        vec![
            (vec![(0, 1.0)], 6.0, Some(2.0), 1),
            (vec![(0, 1.0)], 1.0, Some(2.0), 1),
            (vec![(0, 1.0)], 5.0, None, 1),
        ],
        vec![10.0],
    );
    let mut filling = Filling::new(&drawn.constraints, &drawn.weights, &[2.0, 2.0, infinite]);
    let mut changed = Vec::new();
    filling.add(0, 1);
    filling.add(2, 1);
    filling.settle(&mut changed);
    assert_eq!([filling.rate(0), filling.rate(2)], [2.0, 8.0]);
    filling.remove(0);
    filling.add(1, 1);
    filling.settle(&mut changed);
    assert!((filling.rate(1) - 10.0 / 6.0).abs() < 1e-12 && (filling.rate(2) - 50.0 / 6.0).abs() < 1e-12);
}
