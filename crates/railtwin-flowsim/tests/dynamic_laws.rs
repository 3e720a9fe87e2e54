//! Laws of the dynamic split on random problems, to a thousand strands.
use proptest::prelude::*;
use railtwin_flowsim::dynamic::{self, ROUNDS_MAX, Strands};
use railtwin_flowsim::max_min::Solver;
use rand::{RngExt, SeedableRng};

const CLOSE: f64 = 1e-6;

#[derive(Clone, Debug)]
struct Drawn {
    strands: Strands,
    capacities: Vec<f64>,
}

/// `bundles` of up to `edges` edges of up to four strands, each over up to five of `links` links.
fn draw(seed: u64, bundles: usize, edges: u32, links: u32) -> Drawn {
    let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
    let mut strands = Strands { bundle_start: vec![0], start: vec![0], ..Strands::default() };
    for _ in 0..bundles {
        for edge in 0..random.random_range(1..=edges) {
            let amount = [1.0, 1.0, 0.125, 2.5][random.random_range(0..4)];
            for _ in 0..random.random_range(1..=4) {
                let path: std::collections::BTreeSet<u32> =
                    (0..random.random_range(1..=5)).map(|_| random.random_range(0..links)).collect();
                strands.links.extend(path);
                strands.start.push(strands.links.len() as u32);
                strands.edge.push(edge);
                strands.amount.push(amount);
                strands.weights.push(1.0);
            }
        }
        strands.bundle_start.push(strands.edge.len() as u32);
        let cap = if random.random_bool(0.2) { random.random_range(0.1..5.0) } else { f64::INFINITY };
        strands.bundle_caps.push(cap);
    }
    strands.shares = vec![1.0; strands.links.len()];
    let capacities = (0..links).map(|_| random.random_range(0.5..20.0)).collect();
    Drawn { strands, capacities }
}

/// Rank classes on leaves and spines: each bundle has an edge from every host to another, two queue pairs over spines that
/// hashes chose. `classes` of them, one host's GPU each.
fn draw_classes(seed: u64, classes: usize, leaves: u32, spines: u32, slots: Option<u32>) -> Drawn {
    const HOSTS: u32 = 8;
    let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
    let hosts = leaves * HOSTS;
    let gpus = hosts * classes as u32;
    let up = |leaf: u32, spine: u32| 2 * gpus + (leaf * spines + spine) * 2;
    let mut strands = Strands { bundle_start: vec![0], start: vec![0], slots, ..Strands::default() };
    for class in 0..classes as u32 {
        let shift = random.random_range(1..hosts);
        for from in 0..hosts {
            let to = (from + shift) % hosts;
            for _ in 0..2 {
                strands.links.push((class * hosts + from) * 2);
                if from / HOSTS != to / HOSTS {
                    let spine = random.random_range(0..spines);
                    strands.links.extend([up(from / HOSTS, spine), up(to / HOSTS, spine) + 1]);
                }
                strands.links.push((class * hosts + to) * 2 + 1);
                strands.start.push(strands.links.len() as u32);
                strands.edge.push(from);
                strands.amount.push(1.0);
                strands.weights.push(1.0);
            }
        }
        strands.bundle_start.push(strands.edge.len() as u32);
        strands.bundle_caps.push(f64::INFINITY);
    }
    strands.shares = vec![1.0; strands.links.len()];
    Drawn { strands, capacities: vec![50.0; (2 * gpus + leaves * spines * 2) as usize] }
}

impl Drawn {
    fn solve(&self) -> (Vec<f64>, Vec<f64>, usize) {
        let (mut paces, mut rates) = (Vec::new(), Vec::new());
        let rounds =
            dynamic::solve(&mut Solver::default(), &self.strands, &self.capacities, &mut paces, &mut rates);
        (paces, rates, rounds)
    }

    fn path(&self, s: usize) -> &[u32] {
        &self.strands.links[self.strands.start[s] as usize..self.strands.start[s + 1] as usize]
    }

    /// Bundles as ranges of strands of each edge.
    fn edges(&self) -> Vec<Vec<std::ops::Range<usize>>> {
        let start = &self.strands.bundle_start;
        let edges = |b: usize| {
            let all: Vec<usize> = (start[b] as usize..start[b + 1] as usize).collect();
            let same = |x: &usize, y: &usize| self.strands.edge[*x] == self.strands.edge[*y];
            all.chunk_by(same).map(|run| run[0]..run[run.len() - 1] + 1).collect()
        };
        (0..start.len() - 1).map(edges).collect()
    }

    /// The three conditions of the module, one after the other; only the first where the search did not rest.
    fn check(&self, paces: &[f64], rates: &[f64], rested: bool) -> Result<(), String> {
        let mut used = vec![0.0; self.capacities.len()];
        let mut fastest = vec![0.0_f64; self.capacities.len()];
        for (s, &rate) in rates.iter().enumerate() {
            for &link in self.path(s) {
                used[link as usize] += rate;
                fastest[link as usize] = fastest[link as usize].max(rate);
            }
        }
        for (link, (used, capacity)) in used.iter().zip(&self.capacities).enumerate() {
            if *used > capacity * (1.0 + 1e-9) {
                return Err(format!("link {link} carries {used} of {capacity}"));
            }
        }
        let blocked = |s: usize| {
            self.path(s).iter().any(|&link| {
                let link = link as usize;
                used[link] >= self.capacities[link] * (1.0 - CLOSE)
                    && rates[s] >= fastest[link] * (1.0 - CLOSE)
            })
        };
        for (b, edges) in self.edges().into_iter().enumerate() {
            let lead = |edge: &std::ops::Range<usize>| {
                let slowest = rates[edge.clone()].iter().copied().fold(f64::INFINITY, f64::min);
                dynamic::lead(self.strands.slots, edge.len()) * slowest
            };
            let cap = self.strands.bundle_caps[b];
            if paces[b] > cap * (1.0 + 1e-9) {
                return Err(format!("bundle {b} beats its cap"));
            }
            for edge in &edges {
                let sum: f64 = rates[edge.clone()].iter().sum();
                let needed = paces[b] * self.strands.amount[edge.start];
                if (sum - needed).abs() > 1e-9 * needed {
                    return Err(format!("bundle {b}: an edge carries {sum}, not {needed}"));
                }
                if !rested {
                    continue;
                }
                if let Some(s) = edge.clone().find(|&s| rates[s] > lead(edge) * (1.0 + CLOSE)) {
                    return Err(format!("strand {s} at {} is ahead of {}", rates[s], lead(edge)));
                }
                let top = rates[edge.clone()].iter().copied().fold(0.0, f64::max);
                if let Some(s) = edge.clone().find(|&s| rates[s] < top * (1.0 - CLOSE) && !blocked(s)) {
                    return Err(format!("strand {s} at {} of {top} is held by nothing", rates[s]));
                }
            }
            let tight = edges.iter().any(|edge| {
                let most = lead(edge) * (1.0 - CLOSE);
                edge.clone().all(|s| blocked(s) || rates[s] >= most)
            });
            if rested && !tight && paces[b] < cap * (1.0 - 1e-9) {
                return Err(format!("bundle {b} at {} has no tight edge and no cap {cap}", paces[b]));
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_fixed_point_is_what_the_module_says(seed: u64, bundles in 1usize..40, edges in 1u32..6, links in 1u32..40) {
        let drawn = draw(seed, bundles, edges, links);
        let (paces, rates, rounds) = drawn.solve();
        if let Err(broken) = drawn.check(&paces, &rates, rounds < ROUNDS_MAX) {
            prop_assert!(false, "{} (rounds {})", broken, rounds);
        }
    }

    /// The same with slots that become free in order: nobody runs further ahead of the slowest than its lead.
    #[test]
    fn slots_in_order_hold_queue_pairs_together(
        seed: u64,
        bundles in 1usize..40,
        edges in 1u32..6,
        links in 1u32..40,
        slots in 1u32..40,
    ) {
        let mut drawn = draw(seed, bundles, edges, links);
        drawn.strands.slots = Some(slots);
        let (paces, rates, rounds) = drawn.solve();
        if let Err(broken) = drawn.check(&paces, &rates, rounds < ROUNDS_MAX) {
            prop_assert!(false, "{} (rounds {})", broken, rounds);
        }
    }

    #[test]
    fn k_times_the_capacity_gives_k_times_the_pace(seed: u64, k in 0.1..1e11) {
        let small = draw(seed, 12, 3, 20);
        let mut large = small.clone();
        large.capacities.iter_mut().for_each(|c| *c *= k);
        large.strands.bundle_caps.iter_mut().for_each(|c| *c *= k);
        let (small, large) = (small.solve(), large.solve());
        prop_assume!(small.2 < ROUNDS_MAX && large.2 < ROUNDS_MAX);
        for (a, b) in small.0.iter().zip(large.0) {
            prop_assert!(f64::abs(a * k - b) <= CLOSE * b, "{} {}", a * k, b);
        }
    }

    /// Two of each bundle over links twice as wide: both get what the one got.
    #[test]
    fn twins_get_the_same(seed: u64, bundles in 1usize..15) {
        let one = draw(seed, bundles, 4, 15);
        let mut two = one.clone();
        let (strands, count) = (&one.strands, one.strands.edge.len() as u32);
        let entries = strands.links.len() as u32;
        two.strands.links.extend(&strands.links);
        two.strands.shares.extend(&strands.shares);
        two.strands.start.extend(strands.start[1..].iter().map(|start| start + entries));
        two.strands.edge.extend(&strands.edge);
        two.strands.amount.extend(&strands.amount);
        two.strands.weights.extend(&strands.weights);
        two.strands.bundle_start.extend(strands.bundle_start[1..].iter().map(|start| start + count));
        two.strands.bundle_caps.extend(&strands.bundle_caps);
        two.capacities.iter_mut().for_each(|c| *c *= 2.0);
        let (alone, both) = (one.solve(), two.solve());
        prop_assume!(alone.2 < ROUNDS_MAX && both.2 < ROUNDS_MAX);
        let (alone, both) = (alone.0, both.0);
        for b in 0..bundles {
            prop_assert!((both[b] - both[b + bundles]).abs() <= CLOSE * both[b], "{:?}", both);
            prop_assert!((both[b] - alone[b]).abs() <= CLOSE * alone[b], "{} {}", both[b], alone[b]);
        }
    }

    /// Monotone where it must be: a bundle of one edge whose strands take one link each.
    #[test]
    fn a_wider_link_does_not_slow_a_bundle_of_one_edge(
        links in prop::collection::vec(0u32..6, 1..8),
        capacities in prop::collection::vec(0.5..20.0, 6),
        link in 0usize..6,
        by in 1.0..4.0,
    ) {
        let count = links.len() as u32;
        let strands = Strands {
            bundle_start: vec![0, count],
            edge: vec![0; links.len()],
            amount: vec![1.0; links.len()],
            weights: vec![1.0; links.len()],
            start: (0..=count).collect(),
            shares: vec![1.0; links.len()],
            links,
            bundle_caps: vec![f64::INFINITY],
            slots: None,
        };
        let mut drawn = Drawn { strands, capacities };
        let before = drawn.solve().0[0];
        drawn.capacities[link] *= by;
        prop_assert!(drawn.solve().0[0] >= before * (1.0 - 1e-9));
    }
}

#[test]
fn a_thousand_strands_come_to_rest() {
    for seed in 0..20 {
        let drawn = draw(seed, 160, 4, 300);
        assert!(drawn.strands.edge.len() > 800);
        let (paces, rates, rounds) = drawn.solve();
        assert!(rounds < ROUNDS_MAX, "{seed}: {rounds}");
        drawn.check(&paces, &rates, true).unwrap();
    }
}

/// By steps alone half of these need 30 rounds or more.
#[test]
fn classes_of_many_queue_pairs_come_to_rest_soon() {
    let mut rounds = Vec::new();
    for seed in 0..60 {
        let classes = 1 + seed as usize % 6;
        let drawn = draw_classes(seed, classes, 16, 4 * classes as u32, (seed % 2 == 0).then_some(16));
        let (paces, rates, took) = drawn.solve();
        drawn.check(&paces, &rates, took < ROUNDS_MAX).unwrap();
        rounds.push(took);
    }
    rounds.sort_unstable();
    assert!(rounds[30] <= 20 && rounds[54] <= 64 && rounds[59] < ROUNDS_MAX, "{rounds:?}");
}

/// On one link of capacity 10 an edge with twice the bytes beside others of the same bundle, one queue pair each: all of
/// them reach 10 / (others + 2), and whatever the others ask for beyond that they take from the first, half of it for
/// each. By steps alone this search does not rest.
#[test]
fn a_bundle_whose_edges_take_from_its_slowest_comes_to_rest() {
    for others in [8, 64, 1_000] {
        let count = others + 1;
        let strands = Strands {
            bundle_start: vec![0, count],
            edge: (0..count).collect(),
            amount: (0..count).map(|edge| if edge == 0 { 2.0 } else { 1.0 }).collect(),
            weights: vec![1.0; count as usize],
            start: (0..=count).collect(),
            links: vec![0; count as usize],
            shares: vec![1.0; count as usize],
            bundle_caps: vec![f64::INFINITY],
            slots: None,
        };
        let drawn = Drawn { strands, capacities: vec![10.0] };
        let (paces, rates, rounds) = drawn.solve();
        assert!(rounds <= 20, "{others} others: {rounds} rounds");
        drawn.check(&paces, &rates, true).unwrap();
        let exact = 10.0 / f64::from(others + 2);
        assert!((paces[0] - exact).abs() <= 1e-8 * exact, "{} {exact}", paces[0]);
    }
}

#[test]
fn a_dead_link_stops_its_bundle_only() {
    let mut drawn = draw(7, 20, 2, 200);
    let link = drawn.path(0)[0] as usize;
    drawn.capacities[link] = 0.0;
    let (paces, rates, rounds) = drawn.solve();
    assert!(rounds < ROUNDS_MAX);
    drawn.check(&paces, &rates, true).unwrap();
    assert!(paces.iter().filter(|pace| **pace > 0.0).count() >= 15);
}

#[test]
fn nearly_every_search_comes_to_rest_soon() {
    let rounds = |seed: u64| {
        let links = 15 + (seed % 20) as u32;
        draw(seed, 12 + (seed % 30) as usize, 2 + (seed % 4) as u32, links).solve().2
    };
    let mut all: Vec<usize> = (0..2_000).map(rounds).collect();
    all.sort_unstable();
    assert!(all[1_000] <= 40 && all[1_900] <= 100, "{} {}", all[1_000], all[1_900]);
    assert!(all.iter().filter(|rounds| **rounds == ROUNDS_MAX).count() <= 2);
}

/// Without a second edge nothing is held.
#[test]
fn bundles_of_one_edge_need_one_round() {
    let mut drawn = draw(3, 8, 1, 100);
    drawn.strands.bundle_caps.fill(f64::INFINITY);
    assert_eq!(drawn.solve().2, 1);
}
