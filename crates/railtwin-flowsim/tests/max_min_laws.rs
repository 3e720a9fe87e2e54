//! Laws of the max-min solver on random problems: optimality, scaling, relabelling, conservation.
use proptest::prelude::*;
use railtwin_flowsim::max_min::{Problem, Solver, check_optimal};

#[derive(Clone, Debug)]
struct Owned {
    start: Vec<u32>,
    links: Vec<u32>,
    shares: Vec<f64>,
    weights: Vec<f64>,
    caps: Vec<f64>,
    capacities: Vec<f64>,
}

impl Owned {
    fn view(&self) -> Problem<'_> {
        Problem {
            start: &self.start,
            links: &self.links,
            shares: &self.shares,
            weights: &self.weights,
            caps: &self.caps,
            capacities: &self.capacities,
        }
    }

    fn solve(&self) -> Vec<f64> {
        let mut rates = Vec::new();
        Solver::default().solve(&self.view(), &mut rates);
        rates
    }
}

/// A variable as drawn: which links with which shares, weight, cap.
type Variable = (Vec<(u32, f64)>, f64, Option<f64>);

fn build(variables: &[Variable], capacities: Vec<f64>) -> Owned {
    let mut owned =
        Owned { start: vec![0], links: vec![], shares: vec![], weights: vec![], caps: vec![], capacities };
    for (entries, weight, cap) in variables {
        let mut seen = std::collections::BTreeMap::new();
        for (link, share) in entries {
            seen.insert(link % owned.capacities.len() as u32, *share);
        }
        for (link, share) in seen {
            owned.links.push(link);
            owned.shares.push(share);
        }
        owned.start.push(owned.links.len() as u32);
        owned.weights.push(*weight);
        owned.caps.push(cap.unwrap_or(f64::INFINITY));
    }
    owned
}

fn problems() -> impl Strategy<Value = (Vec<Variable>, Vec<f64>)> {
    let entry = (0u32..40, prop_oneof![Just(1.0), 0.01..4.0]);
    let cap = prop_oneof![3 => Just(None), 1 => (0.1..20.0).prop_map(Some)];
    let variable = (prop::collection::vec(entry, 1..8), prop_oneof![Just(1.0), 0.5..8.0], cap);
    let capacity = prop_oneof![8 => 0.5..50.0, 1 => Just(0.0)];
    (prop::collection::vec(variable, 1..60), prop::collection::vec(capacity, 1..40))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn rates_meet_the_optimality_conditions((variables, capacities) in problems()) {
        let problem = build(&variables, capacities);
        let rates = problem.solve();
        prop_assert!(rates.iter().all(|rate| rate.is_finite() && *rate >= 0.0));
        if let Err(broken) = check_optimal(&problem.view(), &rates, 1e-9) {
            prop_assert!(false, "{}", broken);
        }
    }

    #[test]
    fn k_times_the_capacity_gives_k_times_the_rate((variables, capacities) in problems(), k in 0.1..10.0) {
        let small = build(&variables, capacities);
        let mut large = small.clone();
        large.capacities.iter_mut().for_each(|c| *c *= k);
        large.caps.iter_mut().for_each(|c| *c *= k);
        for (a, b) in small.solve().iter().zip(large.solve()) {
            prop_assert!(f64::abs(a * k - b) <= 1e-9 * (1.0 + b));
        }
    }

    #[test]
    fn relabelling_variables_and_links_changes_nothing((variables, capacities) in problems()) {
        let plain = build(&variables, capacities.clone()).solve();
        let n = capacities.len() as u32;
        let mut reversed: Vec<Variable> = variables;
        for (entries, _, _) in &mut reversed {
            entries.iter_mut().for_each(|(link, _)| *link = n - 1 - *link % n);
        }
        reversed.reverse();
        let mut mirrored = build(&reversed, capacities.into_iter().rev().collect()).solve();
        mirrored.reverse();
        for (a, b) in plain.iter().zip(mirrored) {
            prop_assert!(f64::abs(a - b) <= 1e-9 * (1.0 + b), "{} {}", a, b);
        }
    }
}

#[test]
fn the_check_refuses_rates_that_are_not_max_min() {
    let problem = build(&[(vec![(0, 1.0)], 1.0, None), (vec![(0, 1.0)], 1.0, None)], vec![10.0]);
    assert!(check_optimal(&problem.view(), &[5.0, 5.0], 1e-9).is_ok());
    assert!(check_optimal(&problem.view(), &[4.0, 6.0], 1e-9).is_err());
    assert!(check_optimal(&problem.view(), &[6.0, 6.0], 1e-9).is_err());
    assert!(check_optimal(&problem.view(), &[3.0, 3.0], 1e-9).is_err());
}
