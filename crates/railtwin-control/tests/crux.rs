//! Crux on the paper's examples, and its parts against brute force.
use proptest::prelude::*;
use railtwin_control::crux::cassini::time_shifts;
use railtwin_control::crux::coflow::{distinct, evenly, first_alone, sincronia_order, varys_order};
use railtwin_control::crux::compress::ContentionDag;
use railtwin_control::crux::contention::{Contention, Outcome, Start};
use railtwin_control::crux::correction::{Pair, Priorities};
use railtwin_control::crux::demand::Demand;
use railtwin_control::crux::measure::Profile;
use railtwin_control::crux::optimum::Judge;
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_control::crux::select::{by_distance, by_hash, by_intensity};
use railtwin_control::crux::tenants::{Candidate, SharedLink, Tenant, Tenants, Transfer};
use railtwin_units::{Bytes, Rate, SimTime};

fn seconds(seconds: f64) -> SimTime {
    SimTime::from_seconds(seconds)
}

/// Example 1: equal intensities, steps of 4 and 2 s.
fn example_1() -> Tenants {
    Tenants::on_one_link(&[
        Tenant::new("job-1", 10, seconds(2.0), 1.0).sends(seconds(2.0)),
        Tenant::new("job-2", 10, seconds(1.0), 1.0).sends(seconds(1.0)),
    ])
}

/// Example 2: equal intensities, the first hides its communication.
fn example_2() -> Tenants {
    let first = Tenant { work: 10.0, ..Tenant::new("job-1", 2, seconds(4.0), 0.5).sends(seconds(1.0)) };
    let second = Tenant { work: 30.0, ..Tenant::new("job-2", 12, seconds(2.0), 0.5).sends(seconds(3.0)) };
    Tenants::on_one_link(&[first, second])
}

fn run(tenants: &Tenants, levels: &[u32], window: f64) -> Outcome {
    let demand = Demand::of(tenants, &tenants.first_paths());
    Contention::new(&demand, &Start::all_ready(tenants), window).run(levels)
}

#[test]
fn example_1_is_the_papers() {
    let tenants = example_1();
    let demand = Demand::of(&tenants, &tenants.first_paths());
    assert_eq!(demand.jobs[0].intensity(), demand.jobs[1].intensity());
    for (levels, computing, link, utilization) in
        [([0, 1], [6.0, 3.0], [6.0, 3.0], 0.375), ([1, 0], [4.0, 6.0], [4.0, 6.0], 10.0 / 24.0)]
    {
        let outcome = run(&tenants, &levels, 12.0);
        assert_eq!(outcome.jobs.iter().map(|job| job.computing).collect::<Vec<_>>(), computing);
        assert_eq!(outcome.jobs.iter().map(|job| job.communicating).collect::<Vec<_>>(), link);
        assert_eq!(outcome.utilization(&demand), utilization);
    }
    let pair = Pair::of(&demand.jobs[0], &demand.jobs[1], 12.0);
    assert_eq!(pair.factor([2.0, 1.0]), 1.5);
    // Where both compute from the begin of the 12 s, figures are not the paper's.
    let computing = Contention::new(&demand, &Start(vec![0.0; 2]), 12.0).run(&[0, 1]);
    assert_eq!(12.0 - computing.jobs[1].computing, 8.0);
    let priorities = Priorities::of(&demand);
    assert_eq!(priorities.reference, Some(0));
    assert_eq!(priorities.order, [1, 0]);
    assert!((priorities.factors[1] - 1.5).abs() < 0.015, "{priorities:?}");
}

#[test]
fn example_2_is_the_papers() {
    let tenants = example_2();
    let demand = Demand::of(&tenants, &tenants.first_paths());
    assert_eq!(demand.jobs[0].intensity(), demand.jobs[1].intensity());
    let idle = |levels: &[u32]| 12.0 - run(&tenants, levels, 12.0).jobs[1].computing;
    assert_eq!((idle(&[0, 1]), idle(&[1, 0])), (7.0, 6.0));
    // In the long run either has room beside the other, so factors are 1 and priorities equal: who communicates for more
    // of its step goes first, in whatever order the jobs stand.
    let priorities = Priorities::of(&demand);
    assert_eq!(priorities.priorities, [10.0, 10.0]);
    assert_eq!(priorities.order, [1, 0]);
    let turned = Tenants { jobs: tenants.jobs.into_iter().rev().collect(), links: tenants.links };
    assert_eq!(Priorities::of(&Demand::of(&turned, &turned.first_paths())).order, [0, 1]);
}

/// Figure 13: jobs 1 and 2 share a link, jobs 3 and 4 another.
#[test]
fn two_levels_are_enough_for_two_pairs() {
    let link = |name: &str| SharedLink::new(name, Rate::from_gbps(8));
    let job = |name: &str, gpus, link| {
        let candidates = vec![Candidate { links: vec![link], source_port: None }];
        let transfers = vec![Transfer { bytes: Bytes(1_000_000_000), candidates }];
        Tenant { transfers, ..Tenant::new(name, gpus, seconds(1.0), 1.0) }
    };
    let jobs = vec![job("1", 40, 0), job("2", 30, 0), job("3", 20, 1), job("4", 10, 1)];
    let tenants = Tenants { links: vec![link("a"), link("b")], jobs };
    let demand = Demand::of(&tenants, &tenants.first_paths());
    let priorities = Priorities::of(&demand);
    assert_eq!(priorities.order, [0, 1, 2, 3]);
    assert_eq!(ContentionDag::of(&demand, &priorities.order).compress(2, 1).levels, [0, 1, 0, 1]);
    assert_eq!(first_alone(&priorities.order, 2), [0, 1, 1, 1]);
    assert_eq!(evenly(&priorities.order, 2), [0, 0, 1, 1]);
}

/// Whatever the lot of the orders, jobs that share no link stand in the order of their priorities.
#[test]
fn levels_that_the_cut_leaves_open_follow_the_priorities() {
    for seed in 0..50 {
        let levels =
            |jobs, edges: &[_], levels| ContentionDag::of_edges(jobs, edges).compress(levels, seed).levels;
        assert_eq!(levels(2, &[], 8), [0, 1], "seed {seed}");
        // A level for each of the first, as far as they go.
        assert!(levels(6, &[], 3).is_sorted(), "seed {seed}");
        // Alone above and alone below a pair that contends.
        assert_eq!(levels(4, &[(1, 2, 5.0)], 2), [0, 0, 1, 1], "seed {seed}");
        // Two pairs: the cut goes before the priorities of 1 and 2.
        assert_eq!(levels(4, &[(0, 1, 4.0), (2, 3, 2.0)], 2), [0, 1, 0, 1], "seed {seed}");
    }
}

/// Four jobs, two spines: the two of high intensity get one each (survey, section 4.2).
#[test]
fn jobs_of_high_intensity_get_spines_of_their_own() {
    let link = |name: &str| SharedLink::new(name, Rate::from_gbps(8));
    let job = |name: &str, gpus| {
        let by = |link| Candidate { links: vec![link], source_port: Some(49152 + link as u16) };
        let transfers = vec![Transfer { bytes: Bytes(1_000_000_000), candidates: vec![by(0), by(1)] }];
        Tenant { transfers, ..Tenant::new(name, gpus, seconds(1.0), 1.0) }
    };
    let jobs = vec![job("low", 1), job("high", 9), job("high-too", 8), job("low-too", 2)];
    let tenants = Tenants { links: vec![link("spine-0"), link("spine-1")], jobs };
    let paths = by_intensity(&tenants, &by_hash(&tenants, 1));
    assert_eq!(paths, [[1], [0], [1], [0]]);
    let start = Start::all_ready(&tenants);
    let best = Judge::new(&tenants, &start, 60.0).optimum(2, 1000);
    assert!(best.proved && best.nodes == 16, "{best:?}");
    assert_ne!(best.paths[1], best.paths[2]);
}

#[test]
fn coflow_orders_are_their_papers() {
    // One link: Sincronia is shortest first by its seconds, as weights are alike; Varys, too.
    let tenants = example_1();
    let demand = Demand::of(&tenants, &tenants.first_paths());
    assert_eq!(sincronia_order(&demand), [1, 0]);
    assert_eq!(varys_order(&demand), [1, 0]);
}

/// Two equal jobs that compute as long as they communicate never meet when half a step apart.
#[test]
fn shifts_put_equal_jobs_beside_each_other() {
    let job = |name| Tenant::new(name, 8, seconds(1.0), 1.0).sends(seconds(1.0));
    let tenants = Tenants::on_one_link(&[job("first"), job("second")]);
    let demand = Demand::of(&tenants, &tenants.first_paths());
    let start = Start::all_ready(&tenants);
    let shifts = time_shifts(&demand, &start);
    assert_eq!(
        shifts.iter().map(|shift| (shift.by, shift.period)).collect::<Vec<_>>(),
        [(0.0, Some(2.0)), (1.0, Some(2.0))]
    );
    let plan = SharingPolicy::Cassini.plan(&tenants, &start, 1, 1);
    let start = plan.shifted(&start);
    let outcome = Contention::new(&demand, &start, 20.0).run(&plan.levels);
    assert_eq!(outcome.utilization(&demand), 0.5);
    // Together from the begin both take 1 + 2 s.
    assert!((run(&tenants, &[0, 0], 30.0).utilization(&demand) - 1.0 / 3.0).abs() < 1e-9);
}

/// Steps of 2 and 2.06 s that each communicate for 1 s drift through each other; drawn out to 2.06 s both, they never meet.
#[test]
fn steps_that_are_no_multiples_of_each_other_keep_to_slots() {
    let job = |name, compute| Tenant::new(name, 8, seconds(compute), 1.0).sends(seconds(1.0));
    let tenants = Tenants::on_one_link(&[job("first", 1.0), job("second", 1.06)]);
    let demand = Demand::of(&tenants, &tenants.first_paths());
    let start = Start::all_ready(&tenants);
    let plan = SharingPolicy::Cassini.plan(&tenants, &start, 1, 1);
    let shifted = plan.shifted(&start);
    let contention = Contention::new(&demand, &shifted, 2000.0);
    let kept = contention.run_in(&plan.slots(&shifted), &plan.levels);
    let drifting = contention.run(&plan.levels);
    for (kept, drifting) in kept.jobs.iter().zip(&drifting.jobs) {
        assert!((kept.mean_step().unwrap() - 2.06).abs() < 1e-9, "{kept:?}");
        assert!(drifting.mean_step().unwrap() > 2.1, "{drifting:?}");
    }
}

/// Two jobs that contend, measured for 30 s each: steps of 2.6 and 0.9 s alone.
#[test]
fn what_the_daemon_measures_is_what_is() {
    let tenants = Tenants::on_one_link(&[
        Tenant::new("gpt", 64, seconds(1.7), 0.5).sends(seconds(1.75)),
        Tenant::new("bert", 16, seconds(0.6), 0.5).sends(seconds(0.6)),
    ]);
    let demand = Demand::of(&tenants, &tenants.first_paths());
    let start = Start::all_ready(&tenants);
    for (number, job) in demand.jobs.iter().enumerate() {
        let profile = Profile::of(&demand, &start, number, 30.0).unwrap();
        assert!((profile.step / job.step_alone() - 1.0).abs() < 0.01, "{profile:?} {}", job.step_alone());
        // A part of a step more or less at both ends of 30 s.
        let off = profile.intensity / job.intensity() - 1.0;
        assert!(off.abs() < job.step_alone() / 30.0, "{profile:?} {}", job.intensity());
    }
    assert_eq!(Profile::of(&demand, &start, 0, 3.0), None);
}

prop_compose! {
    fn dag()(jobs in 1usize..8)(
        jobs in Just(jobs),
        weights in prop::collection::vec(prop_oneof![Just(0.0), 0.1..10.0f64], jobs * jobs),
        names in Just((0..jobs).collect::<Vec<_>>()).prop_shuffle(),
    ) -> (usize, Vec<(usize, usize, f64)>) {
        let mut edges = Vec::new();
        for above in 0..jobs {
            for below in above + 1..jobs {
                let weight = weights[above * jobs + below];
                if weight > 0.0 {
                    edges.push((names[above], names[below], weight));
                }
            }
        }
        (jobs, edges)
    }
}

fn cut_of(edges: &[(usize, usize, f64)], levels: &[u32]) -> f64 {
    edges.iter().filter(|edge| levels[edge.0] != levels[edge.1]).map(|edge| edge.2).sum()
}

/// The best cut of an order into at most `count` runs, by trying all.
fn brute_force(order: &[usize], edges: &[(usize, usize, f64)], count: u32) -> f64 {
    let mut best = 0.0f64;
    for cuts in 0u32..1 << (order.len() - 1) {
        if cuts.count_ones() < count {
            let mut levels = vec![0; order.len()];
            let mut level = 0;
            for (place, &job) in order.iter().enumerate() {
                level += u32::from(place > 0 && cuts >> (place - 1) & 1 == 1);
                levels[job] = level;
            }
            best = best.max(cut_of(edges, &levels));
        }
    }
    best
}

/// Jobs on three links, each on one or two of them, of which it may choose the first.
fn tenants() -> impl Strategy<Value = Tenants> {
    let job = (1u32..40, 1u64..40, 0.0..=1.0f64, 1u64..40, 0u32..3, 0u32..3);
    prop::collection::vec(job, 1..5).prop_map(|jobs| {
        let link = |name: &str, gbps| SharedLink::new(name, Rate::from_gbps(gbps));
        let jobs =
            jobs.into_iter().enumerate().map(|(job, (gpus, compute, overlap, bytes, first, second))| {
                let by = |link| Candidate { links: vec![link, 2], source_port: None };
                let candidates = vec![by(first % 2), by(second % 2)];
                let transfers = vec![Transfer { bytes: Bytes(bytes * 100_000_000), candidates }];
                Tenant {
                    transfers,
                    ..Tenant::new(&job.to_string(), gpus, seconds(compute as f64 / 10.0), overlap)
                }
            });
        Tenants { links: vec![link("a", 8), link("b", 8), link("c", 12)], jobs: jobs.collect() }
    })
}

proptest! {
    #[test]
    fn cuts_of_an_order_are_the_best((jobs, edges) in dag(), levels in 1u32..5) {
        let dag = ContentionDag::of_edges(jobs, &edges);
        // The order of names by who must come before whom.
        let mut order: Vec<usize> = Vec::new();
        while order.len() < jobs {
            let is_free = |job: &usize| !order.contains(job)
                && edges.iter().all(|edge| edge.1 != *job || order.contains(&edge.0));
            let free = (0..jobs).find(is_free).unwrap();
            order.push(free);
        }
        let cut = dag.best_cut(&order, levels);
        prop_assert!((cut.cut - cut_of(&edges, &cut.levels)).abs() < 1e-9);
        prop_assert!((cut.cut - brute_force(&order, &edges, levels)).abs() < 1e-9);
    }

    #[test]
    fn compression_turns_no_pair_around((jobs, edges) in dag(), levels in 1u32..5, seed in 0u64..100) {
        let dag = ContentionDag::of_edges(jobs, &edges);
        let compressed = dag.compress(levels, seed);
        prop_assert!(edges.iter().all(|edge| compressed.levels[edge.0] <= compressed.levels[edge.1]));
        prop_assert!(compressed.levels.iter().all(|&level| level < levels));
        prop_assert!(compressed.cut <= dag.total() + 1e-9);
        prop_assert!((compressed.cut - cut_of(&edges, &compressed.levels)).abs() < 1e-9);
        // Nobody stands against the priorities who could change places with another at no cost.
        for (first, second) in (0..jobs).flat_map(|first| (first + 1..jobs).map(move |second| (first, second))) {
            if compressed.levels[first] > compressed.levels[second] {
                let mut turned = compressed.levels.clone();
                turned.swap(first, second);
                let holds = edges.iter().all(|edge| turned[edge.0] <= turned[edge.1]);
                prop_assert!(!holds || cut_of(&edges, &turned) < compressed.cut - 1e-12);
            }
        }
        // As many levels as jobs keep all apart.
        prop_assert!((dag.compress(jobs as u32, seed).cut - dag.total()).abs() < 1e-9);
    }

    #[test]
    fn nothing_beats_the_optimum(tenants in tenants(), seed in 0u64..100) {
        let start = Start::all_ready(&tenants);
        let mut judge = Judge::new(&tenants, &start, 40.0);
        let best = judge.optimum(3, 1 << 10);
        prop_assert!(best.proved);
        for policy in SharingPolicy::ALL.into_iter().filter(|policy| !matches!(policy, SharingPolicy::Cassini)) {
            let plan = policy.plan(&tenants, &start, 3, seed);
            let demand = Demand::of(&tenants, &plan.paths);
            let levels = if tenants.jobs.len() > 3 && matches!(policy, SharingPolicy::CruxPa | SharingPolicy::CruxPsPa) {
                continue
            } else {
                plan.levels
            };
            let work = judge.work(&demand, &levels);
            let whole = Contention::new(&demand, &start, 40.0).run(&levels).work(&demand);
            // Components by themselves do what they do together.
            prop_assert!((work - whole).abs() <= 1e-6 * whole, "{policy}: {work} {whole}");
            prop_assert!(work <= best.work * (1.0 + 1e-9), "{policy}: {work} over {}", best.work);
        }
        let demand = Demand::of(&tenants, &best.paths);
        let order = judge.best_order(&demand, &best.levels);
        let (_, kept) = judge.best_levels(&demand, 3, Some(&order));
        prop_assert!(kept >= best.work * (1.0 - 1e-9));
        prop_assert!(judge.work(&demand, &distinct(&order)) > 0.0);
        let far = by_distance(&tenants, &tenants.first_paths());
        prop_assert!(judge.work(&Demand::of(&tenants, &far), &best.levels) <= best.work * (1.0 + 1e-9));
    }

    /// In the long run the work on one link is the intensity that the link carried (theorem 1): within a step of each.
    #[test]
    fn work_is_the_intensity_that_was_carried(tenants in tenants(), first in 0u32..2) {
        let demand = Demand::of(&tenants, &tenants.first_paths());
        let levels: Vec<u32> = (0..tenants.jobs.len() as u32).map(|job| (job + first) % 2).collect();
        let outcome = Contention::new(&demand, &Start::all_ready(&tenants), 200.0).run(&levels);
        for (served, job) in outcome.jobs.iter().zip(&demand.jobs) {
            let (steps, sent) = (served.computing / job.compute, served.communicating / job.seconds);
            prop_assert!((steps - sent).abs() <= 1.0 + 1e-6, "{steps} {sent}");
            prop_assert!(served.steps as f64 <= steps + 1.0 + 1e-6);
        }
    }
}
