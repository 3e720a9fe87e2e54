//! Slow hosts, rails, NICs, ports and pairs among tests of pairs, and chance that names nobody.
use super::*;
use proptest::prelude::*;

/// All pairs of `hosts` hosts; `scale` gives the bandwidth of a pair as a share of 40.
fn all_pairs(hosts: usize, scale: impl Fn(usize, usize) -> f64) -> Vec<PairTest> {
    let mut tests = Vec::new();
    for a in 0..hosts {
        for b in a + 1..hosts {
            let hosts = [a, b].map(|host| format!("host-{host:02}"));
            tests.push(PairTest {
                kind: "all-reduce".into(),
                bytes: 1,
                hosts,
                slots: Default::default(),
                bandwidth: 40.0 * scale(a, b),
            });
        }
    }
    tests
}

/// Pairs tested with one GPU each, of which slots are drawn; `bad` tells which tests are slow.
fn by_slots(hosts: usize, seed: usize, bad: impl Fn([usize; 2], [usize; 2]) -> bool) -> Vec<PairTest> {
    let slot = |a: usize, b: usize| {
        let mixed = ((seed * 1000 + a) * 1000 + b + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ (mixed >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 61
    };
    let mut tests = all_pairs(hosts, |a, b| if bad([a, b], [slot(a, b), slot(b, a)]) { 0.1 } else { 1.0 });
    for test in &mut tests {
        let row = |name: &str| name[5..].parse::<usize>().expect("a number");
        let (a, b) = (row(&test.hosts[0]), row(&test.hosts[1]));
        test.slots = [slot(a, b), slot(b, a)].map(|slot| format!("0000:{slot:02}:00"));
    }
    tests
}

#[test]
fn a_rail_or_a_port_that_many_slow_pairs_share_is_told_for_them() {
    for seed in 0..8 {
        // A rail: it is slow where one of its GPUs is at one end.
        let rail = by_slots(14, seed, |_, slots| slots.contains(&3));
        assert_eq!(named(&rail), ["0000:03:00"], "{seed}");
        assert_eq!(slow_pairs(&rail, &Settings::default())[0].suspects[0].component.kind(), "rail");
        // A port: this rail of one host.
        let port = by_slots(24, seed, |[a, b], [at_a, at_b]| (a, at_a) == (5, 2) || (b, at_b) == (5, 2));
        let found = slow_pairs(&port, &Settings::default());
        if found.iter().all(|one| one.suspects[0].component.kind() == "connection") {
            assert!(found.len() < 3, "{seed}: too few to tell");
        } else {
            assert_eq!(named(&port), ["host-05/0000:02:00"], "{seed}");
        }
        // A host, whatever its slots.
        let host = by_slots(14, seed, |hosts, [a, _]| hosts.contains(&4) && a < 7);
        assert_eq!(named(&host), ["host-04"], "{seed}");
    }
}

fn named(tests: &[PairTest]) -> Vec<String> {
    let findings = slow_pairs(tests, &Settings::default());
    findings.iter().map(|finding| finding.suspects[0].component.name().to_owned()).collect()
}

#[test]
fn a_slow_host_is_one_finding_and_a_slow_pair_is_no_host() {
    assert_eq!(named(&all_pairs(8, |_, _| 1.0)), Vec::<String>::new());
    assert_eq!(named(&all_pairs(8, |a, b| if a == 3 || b == 3 { 0.7 } else { 1.0 })), ["host-03"]);
    let pair = all_pairs(8, |a, b| if (a, b) == (2, 5) { 0.7 } else { 1.0 });
    assert_eq!(named(&pair), ["host-02 > host-05"]);
    let both = all_pairs(8, |a, b| {
        (if a == 3 || b == 3 { 0.7 } else { 1.0 }) * (if (a, b) == (2, 5) { 0.5 } else { 1.0 })
    });
    assert_eq!(named(&both), ["host-02 > host-05", "host-03"]);
}

#[test]
fn a_slow_host_is_found_where_hosts_alike_lead_a_polish_astray() {
    // Started with all hosts alike, four hosts come to share what one of them lacks, and six pairs seem slow.
    let noise = [
        ((0, 3), -0.01419868101636878),
        ((0, 6), 0.014736312884120998),
        ((0, 7), 0.017551023856251135),
        ((1, 4), -0.01461736317862597),
        ((1, 5), -0.019418710579206393),
        ((2, 4), -0.013038764531953257),
        ((2, 5), -0.014738907641142782),
        ((2, 6), 0.004043185215037161),
        ((3, 5), -0.003099880086781374),
        ((3, 6), 0.01031030613560135),
        ((4, 7), 0.003624770438696806),
        ((5, 7), 0.018419396218882875),
        ((6, 7), 0.013202854762344049),
    ];
    let tests = all_pairs(8, |a, b| {
        let noise = noise.iter().find(|(pair, _)| *pair == (a, b)).map_or(0.0, |(_, noise)| *noise);
        1e-3 * (1.0 + noise) * if a == 4 || b == 4 { 0.7 } else { 1.0 }
    });
    assert_eq!(named(&tests), ["host-04"]);
}

/// Each pair in both directions between NICs, of which `share` tells the bandwidth from the first host.
fn both_ways(hosts: usize, share: impl Fn(usize, usize) -> f64) -> Vec<PairTest> {
    let mut tests = all_pairs(hosts, &share);
    tests.extend(all_pairs(hosts, |a, b| share(b, a)).into_iter().map(|mut test| {
        test.hosts.reverse();
        test
    }));
    for test in &mut tests {
        // Which NIC of a host is drawn by the number of the other.
        let row = |name: &str| name[5..].parse::<usize>().expect("a number");
        let (a, b) = (row(&test.hosts[0]), row(&test.hosts[1]));
        test.slots = [format!("mlx5_{}", b % 2), format!("mlx5_{}", a % 2)];
    }
    tests
}

#[test]
fn how_a_host_or_a_nic_is_slow_is_told_in_words() {
    // A host in one kind of test, at all sizes.
    let mut tests = Vec::new();
    for size in 0..6 {
        for kind in ["all-to-all", "all-reduce"] {
            let share = |a, b| if kind == "all-to-all" && (a == 3 || b == 3) { 0.6 } else { 1.0 };
            let of = all_pairs(8, share);
            tests.extend(of.into_iter().map(|test| PairTest {
                kind: kind.into(),
                bytes: 1 << (20 + size),
                ..test
            }));
        }
    }
    let found = slow_pairs(&tests, &Settings::default());
    assert_eq!(named(&tests), ["host-03"]);
    let what = &found[0].evidence[0].words();
    assert!(what.ends_with("at all sizes, in one kind of test only (all-to-all)"), "{what}");
    // A host whose bandwidth falls with size.
    let mut tests = Vec::new();
    for size in 0..6 {
        let of = all_pairs(8, |a, b| if a == 3 || b == 3 { 0.85 * 0.7_f64.powi(size) } else { 1.0 });
        tests.extend(of.into_iter().map(|test| PairTest { bytes: 1 << (20 + size), ..test }));
    }
    let found = slow_pairs(&tests, &Settings::default());
    assert!(found[0].evidence[0].words().ends_with("falling with size"), "{:?}", found[0].evidence[0]);
    assert_eq!(found[0].advice, FALLING);
    // A NIC that sends slowly, and one that receives slowly.
    for (sends, begins) in [(true, "host-04"), (false, "the others")] {
        let slow = |a: usize, b: usize| {
            let (own, other) = if sends { (a, b) } else { (b, a) };
            if own == 4 && other % 2 == 0 { 0.5 } else { 1.0 }
        };
        let tests = both_ways(16, slow);
        let found = slow_pairs(&tests, &Settings::default());
        assert_eq!(named(&tests), ["host-04/mlx5_0"], "{sends}");
        let lines: Vec<String> = found[0].evidence.iter().map(Evidence::words).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert!(lines[0].starts_with("slow pairs with the NIC mlx5_0 of host host-04, of "), "{}", lines[0]);
        let ends = format!("half of what is usual, in one direction only (tests that begin at {begins})");
        assert!(lines[1].ends_with(&ends), "{}", lines[1]);
    }
    // A test names the NIC at which it begins, and not the other: what comes to the host may come to this NIC.
    let begins_at = |both: f64, back: f64, nics: usize| {
        let share = |a: usize, b: usize| {
            if a == 4 {
                both
            } else if b == 4 {
                back
            } else {
                1.0
            }
        };
        let mut tests = both_ways(8, share);
        for test in &mut tests {
            let other = test.hosts[1][5..].parse::<usize>().expect("a number");
            test.slots = [format!("mlx5_{}", other % nics), String::new()];
        }
        let found = slow_pairs(&tests, &Settings::default());
        let lines = found.iter().flat_map(|one| &one.evidence).map(|line| line.words());
        (named(&tests), lines.filter(|what| what.contains("begin at host-04")).count())
    };
    assert_eq!(begins_at(0.5, 1.0, 1), (vec!["host-04/mlx5_0".to_owned()], 1));
    assert_eq!(begins_at(0.5, 0.5, 1).1, 0, "both directions");
}

#[test]
fn a_host_that_many_slow_pairs_share_is_told_for_them_and_lone_pairs_are_told_as_such() {
    // Half of the pairs of one host, each in its own way, which no part of a polish explains.
    let bad = [(1, 4), (4, 6), (4, 7), (0, 4), (4, 11), (3, 4)];
    let many = all_pairs(12, |a, b| if bad.contains(&(a, b)) { 0.3 + 0.05 * b as f64 } else { 1.0 });
    assert_eq!(named(&many), ["host-04"]);
    // As many pairs without a host in common stay pairs.
    let lone = [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9), (10, 11)];
    let lone = all_pairs(12, |a, b| if lone.contains(&(a, b)) { 0.5 } else { 1.0 });
    assert_eq!(named(&lone).len(), 6);
    let findings = slow_pairs(&lone, &Settings::default());
    assert!(findings.iter().all(|one| one.evidence[0].words().ends_with("half of what is usual")));
}

#[test]
fn a_host_of_which_half_the_pairs_are_slow_is_no_slow_host_in_a_small_cluster() {
    let bad = [(0, 1), (0, 3)];
    let tests = all_pairs(5, |a, b| if bad.contains(&(a, b)) { 0.5 } else { 1.0 });
    assert_eq!(named(&tests), ["host-00 > host-01", "host-00 > host-03"]);
}

#[test]
fn one_size_of_many_that_strays_names_nobody() {
    let mut tests = Vec::new();
    for size in 0..10 {
        let of = all_pairs(8, |a, b| if (a, b, size) == (2, 5, 3) { 0.8 } else { 1.0 });
        tests.extend(of.into_iter().map(|test| PairTest { bytes: 1 << size, ..test }));
    }
    assert_eq!(named(&tests), Vec::<String>::new());
}

#[test]
fn too_few_pairs_name_nobody() {
    assert_eq!(named(&all_pairs(3, |a, _| if a == 0 { 0.5 } else { 1.0 })), Vec::<String>::new());
}

proptest! {
    #[test]
    fn noise_below_the_limit_names_nobody(noise in proptest::collection::vec(-0.02..0.02_f64, 64)) {
        let tests = all_pairs(8, |a, b| 1.0 + noise[8 * a + b]);
        prop_assert_eq!(named(&tests), Vec::<String>::new());
    }

    #[test]
    fn slow_hosts_fewer_than_half_are_all_found(
        noise in proptest::collection::vec(-0.02..0.02_f64, 100), slow in proptest::collection::btree_set(0..10_usize, 1..4),
    ) {
        let tests = all_pairs(10, |a, b| {
            let share = |host| if slow.contains(&host) { 0.7 } else { 1.0 };
            (1.0 + noise[10 * a + b]) * share(a) * share(b)
        });
        let mut named = named(&tests);
        named.sort_unstable();
        prop_assert_eq!(named, slow.iter().map(|host| format!("host-{host:02}")).collect::<Vec<_>>());
    }

    #[test]
    fn a_slow_host_is_found_through_noise_whatever_the_unit(
        noise in proptest::collection::vec(-0.02..0.02_f64, 64), slow in 0..8_usize, unit in 1e-3..1e9_f64,
    ) {
        let tests = all_pairs(8, |a, b| unit * (1.0 + noise[8 * a + b]) * if a == slow || b == slow { 0.7 } else { 1.0 });
        prop_assert_eq!(named(&tests), [format!("host-{slow:02}")]);
    }
}
