//! A small run of the synthetic cases; `--example synthetic` runs all of them.
#[path = "../examples/synthetic/cases.rs"]
mod cases;
#[path = "../examples/synthetic/score.rs"]
mod score;

use cases::{KINDS, case};
use proptest::prelude::*;
use railtwin_pairs::{FaultShape, Port, Trial, TrialOutcome, TrialSet, TrialTraffic, infer};
use score::{Verdict, rename, renamed, score};

/// Cases of each kind.
const EACH: u64 = 6;

#[test]
fn answers_are_right_or_honest_and_never_accuse_the_healthy() {
    let (mut faulty, mut found) = (0, 0);
    for (row, (kind, _)) in KINDS.iter().enumerate() {
        for at in 0..EACH {
            let case = case(kind, 40_000_000 + 10_000 * row as u64 + at);
            let answer = infer(&case.set);
            let verdict = score(&case, &answer);
            assert!(verdict != Verdict::Wrong, "{kind} {at}: {:?}, told {:?}", case.truth, answer.causes);
            if !case.truth.is_empty() {
                faulty += 1;
                found += usize::from(verdict != Verdict::Silent);
            }
        }
    }
    assert!(20 * found >= 16 * faulty, "{found} of {faulty}");
}

#[test]
fn an_answer_does_not_depend_on_names_and_order() {
    for kind in
        ["leaf of a rail, 1 GPU", "two hosts", "ring, one host", "one host dead", "one direction of a pair"]
    {
        let case = case(kind, 77);
        let (set, hosts, places) = renamed(&case, 5);
        let told = |shapes: Vec<&FaultShape>, hosts: &[usize], places: &[usize]| -> Vec<FaultShape> {
            let mut all: Vec<FaultShape> =
                shapes.into_iter().map(|shape| rename(shape, hosts, places)).collect();
            all.sort();
            all
        };
        let (first, second) = (infer(&case.set), infer(&set));
        let same = [(0..hosts.len()).collect(), (0..places.len()).collect::<Vec<usize>>()];
        let alternatives = |answer: &railtwin_pairs::Answer, by: [&[usize]; 2]| {
            let all = answer.causes.iter().flat_map(|cause| &cause.alternatives);
            told(all.map(|one| &one.shape).collect(), by[0], by[1])
        };
        assert_eq!(
            alternatives(&first, [&hosts, &places]),
            alternatives(&second, [&same[0], &same[1]]),
            "{kind}"
        );
    }
}

fn trials() -> impl Strategy<Value = TrialSet> {
    let value = prop_oneof![Just(0.0), Just(f64::NAN), Just(1e300), Just(-3.0), 1.0..50.0_f64];
    let sizes = prop::collection::vec((0..4_u64, value), 0..5);
    let outcome = prop_oneof![
        4 => sizes.prop_map(TrialOutcome::Sizes),
        1 => "[ab]{0,1}".prop_map(TrialOutcome::Died)
    ];
    let traffic = prop_oneof![
        Just(TrialTraffic::AllToAll),
        Just(TrialTraffic::SendReceive),
        Just(TrialTraffic::Rings),
        Just(TrialTraffic::OneWay)
    ];
    let port = (0..7_usize, prop::option::of(0..4_usize)).prop_map(|(host, place)| Port { host, place });
    let trial = ("[xy]", traffic, prop::collection::vec(port, 0..6), outcome)
        .prop_map(|(class, traffic, ports, outcome)| Trial { class, traffic, ports, outcome });
    prop::collection::vec(trial, 0..40).prop_map(|trials| TrialSet {
        // One host and one place fewer than ports name.
        hosts: (0..6).map(|host| host.to_string()).collect(),
        places: (0..3).map(|place| place.to_string()).collect(),
        trials,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]
    #[test]
    fn no_input_makes_it_panic(set in trials()) {
        let answer = infer(&set);
        for cause in &answer.causes {
            prop_assert!(cause.confidence.is_finite() && (0.0..=1.0).contains(&cause.confidence));
            prop_assert!(cause.bits.is_finite());
        }
    }
}
