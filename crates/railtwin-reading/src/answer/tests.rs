//! The first screen: what a cause is, what decides it, and how it is written.
use super::*;
use railtwin_records::seen::{CounterSeen, DumpSeen, DumpedCall, RasSeen, RasState, TestSeen};
use railtwin_records::{Since, Suspect};

fn finding(syndrome: Syndrome, component: Component, advice: &str) -> Finding {
    Finding {
        at_ns: 0,
        since: Since::default(),
        syndrome,
        faults: Vec::new(),
        suspects: vec![Suspect { component, share: 0.9 }],
        confidence: 0.9,
        severity: 1.0,
        cost: None,
        evidence: Vec::new(),
        advice: advice.into(),
    }
}

#[test]
fn what_is_alike_is_one_cause_and_pairs_follow_from_their_host() {
    let pair = |a: &str, b: &str| Component::Connection(format!("{a} > {b}"));
    let findings = [
        finding(Syndrome::CommunicationSlow, Component::Host("b".into()), "look"),
        finding(Syndrome::CommunicationSlow, pair("a", "b"), "ports"),
        finding(Syndrome::CommunicationSlow, pair("c", "d"), "ports"),
        finding(Syndrome::CommunicationSlow, pair("e", "f"), "ports"),
        finding(Syndrome::CommunicationSlow, pair("c", "f"), "counters"),
    ];
    let causes = causes(&findings, &Directory::default());
    let rows: Vec<(Vec<usize>, Vec<usize>)> =
        causes.iter().map(|cause| (cause.findings.clone(), cause.follows.clone())).collect();
    assert_eq!(rows, [(vec![0], vec![1]), (vec![2, 3], vec![]), (vec![4], vec![])]);
    let two: Vec<&Finding> = [2, 3].map(|row| &findings[row]).into();
    assert_eq!(who(&two), "connection c > d and e > f");
}

fn hung() -> Evidence {
    Evidence::new(TestSeen::HostPasses { host: "b".into() }, 7.0, 0.0)
}

fn losses() -> Evidence {
    Evidence::new(CounterSeen::LinkLosses { port: "b/mlx5_0".into() }, 3.0, 0.0)
}

#[test]
fn what_tests_show_follows_from_the_link_of_their_host() {
    let hangs = Finding {
        evidence: vec![hung()],
        ..finding(Syndrome::CommunicationHang, Component::Host("b".into()), "look")
    };
    let down = Finding {
        faults: vec![FaultKind::Down],
        severity: 0.2,
        cost: None,
        evidence: vec![losses()],
        ..finding(Syndrome::Counter, Component::Nic("b/mlx5_0".into()), "")
    };
    let rows = |findings: &[Finding]| -> Vec<(Vec<usize>, Vec<usize>)> {
        let causes = causes(findings, &Directory::default());
        causes.iter().map(|cause| (cause.findings.clone(), cause.follows.clone())).collect()
    };
    assert_eq!(rows(&[hangs.clone(), down.clone()]), [(vec![1], vec![0])]);
    let elsewhere = Finding {
        suspects: finding(Syndrome::Counter, Component::Nic("c/mlx5_0".into()), "").suspects,
        ..down
    };
    assert_eq!(rows(&[elsewhere, hangs]), [(vec![1], vec![]), (vec![0], vec![])], "the dearer first");
}

#[test]
fn the_line_that_decides_is_shown_first() {
    let mut found = finding(Syndrome::Crash, Component::Gpu("a/gpu-0".into()), "");
    let silent = RasSeen::RasRanks { state: RasState::Silent, ranks: vec!["job/1".into()] };
    let xid = CounterSeen::Xid { gpu: "a/gpu-0".into(), number: 79, meaning: "GPU has fallen off the bus" };
    found.evidence = vec![
        Evidence::new(silent, 1.0, 0.0),
        Evidence::new(CounterSeen::LinkUp { port: "a/mlx5_0".into() }, 1.0, 1.0),
        Evidence::new(xid, 79.0, 0.0),
    ];
    assert_eq!(deciding_rows(&found), [2, 0, 1]);
    assert_eq!(
        [sure(0.95, true), sure(0.8, true), sure(0.5, true), sure(0.4, false)],
        ["sure", "likely", "may be", "not proved"]
    );
}

#[test]
fn a_proof_is_shown_though_it_is_as_expected_and_units_are_words() {
    let mut found = finding(Syndrome::NonCommunicationHang, Component::Rank("job/3".into()), "");
    let call = DumpedCall {
        operation: "all-reduce".into(),
        group: "0".into(),
        description: String::new(),
        sequence: 21,
        frame: None,
    };
    let proof = Evidence::new(DumpSeen::NeverBegan { rank: 3, call, peer: 0 }, 21.0, 21.0);
    found.evidence = vec![proof, Evidence::new(DumpSeen::Waiting { ranks: 8, communicators: 1 }, 8.0, 0.0)];
    assert_eq!(deciding_rows(&found), [0, 1]);
    assert_eq!(measured(&found.evidence[0]), "operation 21");
    let behind = Evidence { value: 20.0, ..found.evidence[0].clone() };
    assert_eq!(measured(&behind), "operation 20, expected 21");
    let mut rail = finding(Syndrome::CommunicationSlow, Component::Rail("0000:03:00".into()), "");
    rail.evidence = vec![
        Evidence::new(
            TestSeen::GroupHosts { hosts: vec!["a".into(), "b".into()], is_member: true, bits: 9 },
            2.0,
            0.0,
        ),
        Evidence::new(TestSeen::PairsShare { pattern: "falling with size".into() }, 0.4, 1.0),
    ];
    assert_eq!(deciding_rows(&rail), [1, 0]);
    let one = |unit: &'static str, value: f64| unit_of(value, unit);
    for (many, single) in [
        ("losses", "loss"),
        ("processes", "process"),
        ("switches", "switch"),
        ("ranks", "rank"),
        ("pauses", "pause"),
        ("bytes", "byte"),
        ("queue pairs", "queue pair"),
        ("ns", "ns"),
        ("packets/s", "packets/s"),
    ] {
        assert_eq!((one(many, 1.0), one(many, 2.0)), (single, many));
    }
}

fn unit_of(value: f64, unit: &'static str) -> &'static str {
    let of = Box::leak(Box::new(Evidence { unit, value, ..losses() }));
    super::unit(of)
}

#[test]
fn unlike_counters_are_two_causes() {
    let port = |name: &str, fault: FaultKind| Finding {
        faults: vec![fault],
        ..finding(Syndrome::Counter, Component::Nic(name.into()), "")
    };
    let both = [port("a/mlx5_0", FaultKind::Down), port("b/mlx5_0", FaultKind::Flap)];
    assert_eq!(causes(&both, &Directory::default()).len(), 2);
    let alike = [port("a/mlx5_0", FaultKind::Down), port("b/mlx5_0", FaultKind::Down)];
    assert_eq!(causes(&alike, &Directory::default()).len(), 1);
}

#[test]
fn ways_that_are_slow_at_a_host_of_longer_delay_follow_from_it() {
    let host = finding(Syndrome::Latency, Component::Host("b".into()), "look");
    let slow = |way: &str, fault: FaultKind| Finding {
        faults: vec![fault],
        ..finding(Syndrome::CommunicationSlow, Component::Connection(way.into()), "ways")
    };
    let found = [
        host,
        slow("a > b", FaultKind::Latency),
        slow("c > d", FaultKind::Latency),
        slow("b > e", FaultKind::Slow),
    ];
    let told = causes(&found, &Directory::default());
    assert_eq!((&told[0].findings, &told[0].follows), (&vec![0], &vec![1]));
}

#[test]
fn lines_are_as_wide_as_a_terminal_and_names_whole() {
    let name = "n".repeat(150);
    let text = format!("  seen: {} {name} {}", "word ".repeat(20), "word ".repeat(30));
    let lines = wrapped(&text, 9);
    assert!(lines.iter().all(|line| line.contains(&name) || line.chars().count() <= WIDE), "{lines:?}");
    assert_eq!(lines.join(" ").split_whitespace().count(), 52);
    assert!(wrapped(&text, 1)[0].ends_with('…'));
}
