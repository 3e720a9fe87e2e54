//! The score card's own promises, on a few draws: the truth is named, and nobody is accused in a healthy hour.
use railtwin::score::inject::Injected;
use railtwin::score::trial::Signals;
use railtwin::score::{Options, score};

fn options(seeds: u32, healthy_hours: f64, faults: &[Injected]) -> Options {
    Options { ranks: vec![128], seeds, healthy_hours, faults: faults.to_vec() }
}

#[test]
fn every_fault_is_named_where_its_signals_are_there() {
    let card = score(&options(2, 0.0, &[]), 128, &|_| ()).unwrap().unwrap();
    assert_eq!(card.rows.len(), 3 * Injected::ALL.len(), "every fault has a place in this job");
    for row in &card.rows {
        let of_ranks = matches!(
            row.what,
            Injected::SlowGpu
                | Injected::SlowData
                | Injected::StorageStall
                | Injected::Hang
                | Injected::GpuError
                | Injected::Crash
                | Injected::SizeMismatch
        );
        let told =
            if of_ranks { row.signals >= Signals::Operations } else { row.signals == Signals::Counters };
        for trial in &row.trials {
            let verdict = trial.verdict.filter(|verdict| verdict.in_set);
            if told {
                let verdict =
                    verdict.unwrap_or_else(|| panic!("{:?} {:?}: {trial:#?}", row.what, row.signals));
                assert!(
                    verdict.set <= 4 && verdict.wrong == 0,
                    "{:?} {:?}: {trial:#?}",
                    row.what,
                    row.signals
                );
            } else if row.signals == Signals::Operations {
                assert_eq!(
                    trial.verdict, None,
                    "a barrier hides which connection is slow: nobody may be named"
                );
            }
        }
    }
}

#[test]
fn counters_of_ports_tell_which_of_two_is_slow_and_collisions_from_faults() {
    let faults = [Injected::SlowUplink, Injected::SlowLeaf, Injected::Collision];
    let card = score(&options(3, 0.0, &faults), 128, &|_| ()).unwrap().unwrap();
    for row in card.rows.iter().filter(|row| row.signals == Signals::Counters) {
        for trial in &row.trials {
            let verdict = trial.verdict.unwrap_or_else(|| panic!("{:?}: {trial:#?}", row.what));
            assert!(verdict.top && verdict.wrong == 0, "{:?}: {trial:#?}", row.what);
        }
    }
}

#[test]
fn a_trial_is_the_same_every_time() {
    let once = || score(&options(1, 0.05, &[Injected::SlowNic, Injected::Hang]), 128, &|_| ()).unwrap();
    assert_eq!(once(), once());
}

#[test]
fn nobody_is_accused_in_two_healthy_hours() {
    let card = score(&options(0, 2.0, &[]), 128, &|_| ()).unwrap().unwrap();
    let healthy = card.healthy.unwrap();
    assert_eq!(healthy.accusations, []);
    assert!(healthy.operations > 900_000 && healthy.messages > healthy.operations);
}
