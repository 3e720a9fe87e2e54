//! The score card's own promises, on a few draws: the truth is named, and nobody is accused in a healthy hour.
use railtwin_diagnosis::Diagnosis;
use railtwin_evaluation::score::bench::Bench;
use railtwin_evaluation::score::inject::Injected;
use railtwin_evaluation::score::text::HURTS;
use railtwin_evaluation::score::trial::Signals;
use railtwin_evaluation::score::{Options, detectors, score};
use railtwin_records::{Batch, Directory};
use railtwin_telemetry::Replay;

fn options(seeds: u32, healthy_hours: f64, faults: &[Injected]) -> Options {
    Options { ranks: vec![128], seeds, healthy_hours, faults: faults.to_vec() }
}

#[test]
fn every_fault_is_named_where_its_signals_are_there() {
    let card = score(&options(2, 0.0, &[]), 128, &|_| ()).unwrap().unwrap();
    assert_eq!(card.rows.len(), 4 * Injected::ALL.len(), "every fault has a place in this job");
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
            let hurts = trial.slowdown >= HURTS;
            assert!(trial.told || !hurts, "{:?} {:?}: {trial:#?}", row.what, row.signals);
            let told = told || hurts && row.signals == Signals::Probes;
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
fn probes_that_operations_ask_for_place_a_slow_nic() {
    let card = score(&options(4, 0.0, &[Injected::SlowNic]), 128, &|_| ()).unwrap().unwrap();
    let trials = |signals: Signals| {
        let rows = card.rows.iter().filter(move |row| row.signals == signals);
        rows.flat_map(|row| &row.trials).filter(|trial| trial.slowdown >= HURTS)
    };
    assert!(trials(Signals::Probes).count() >= 2, "some draws hurt");
    for trial in trials(Signals::Probes) {
        let verdict = trial.verdict.unwrap_or_else(|| panic!("{trial:#?}"));
        assert!(verdict.top && verdict.exact && verdict.set == 1 && verdict.wrong == 0, "{trial:#?}");
        assert_eq!(trial.findings.len(), 1, "what told of it is one with what placed it: {trial:#?}");
        let evidence = &trial.findings[0].evidence;
        assert!(
            ["operations", "messages"].iter().all(|table| evidence.iter().any(|row| row.table == *table))
        );
    }
    for trial in trials(Signals::Operations) {
        let open =
            |finding: &railtwin_records::Finding| finding.suspects.is_empty() && finding.confidence == 0.0;
        assert!(trial.findings.len() == 1 && open(&trial.findings[0]), "{trial:#?}");
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
    let [operations, messages, ..] = healthy.records;
    assert!(operations > 900_000 && messages > operations);
}

#[test]
fn operations_of_healthy_hours_ask_for_probes_only_while_others_traffic_is_met() {
    let bench = Bench::of(128).unwrap().unwrap();
    let settings = railtwin_telemetry::Settings {
        axes: vec![railtwin_workload::Axis::Dp],
        messages: false,
        jitter: railtwin_telemetry::Jitter::default(),
        seed: 5,
    };
    let (mut directory, mut findings) = (Directory::default(), Vec::new());
    let rates = vec![bench.rates.clone()];
    let mut replay =
        Replay::new(&bench.case, 0, bench.durations.clone(), rates, settings, &mut directory).unwrap();
    let mut diagnosis = Diagnosis::with(railtwin_diagnosis::Settings::default(), detectors());
    let mut batch = Batch::default();
    while replay.now_ns() < 10 * 3_600_000_000_000 {
        batch.clear();
        replay.step(&mut batch);
        diagnosis.observe(&directory, Some(&*bench.case.fabric), &batch, &mut findings);
    }
    let visits = replay.collisions();
    println!("{} visits of others' traffic, {} findings in 10 hours", visits.len(), findings.len());
    for finding in &findings {
        assert!(finding.suspects.is_empty(), "{finding:#?}");
        let (from, until) = (finding.since.from_ns, finding.at_ns);
        assert!(visits.iter().any(|visit| visit.from_ns <= until && from <= visit.until_ns), "{finding:#?}");
    }
    assert!(findings.len() <= visits.len(), "{findings:#?}");
}

#[test]
fn judges_of_files_name_who_holds_a_job_up_and_nobody_else() {
    use railtwin_evaluation::score::files::{LeftFiles, score_files};
    let bench = Bench::of(128).unwrap().unwrap();
    let faults = [Injected::Hang, Injected::SlowGpu];
    let rows = score_files(&bench, &faults, 2, &|_| ()).unwrap();
    let row = |what, evidence| rows.iter().find(|row| (row.what, row.evidence) == (what, evidence)).unwrap();
    for evidence in LeftFiles::ALL {
        assert_eq!(row(None, evidence).false_alarms, 0, "{evidence:?}");
    }
    let named = |what, evidence| {
        row(Some(what), evidence).trials.iter().filter(|one| one.verdict.is_some_and(|of| of.in_set)).count()
    };
    assert_eq!(named(Injected::Hang, LeftFiles::Dumps), 2);
    assert!(row(Some(Injected::SlowGpu), LeftFiles::Steps).trials.iter().all(|one| one.told));
    let wrong = rows
        .iter()
        .flat_map(|row| &row.trials)
        .filter_map(|one| one.verdict)
        .map(|of| of.wrong)
        .sum::<usize>();
    assert_eq!(wrong, 0, "{rows:#?}");
}
