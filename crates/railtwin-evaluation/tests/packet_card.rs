//! The score card of the packet engine: faults that detectors do not model, what they do to the job, and who is named.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use railtwin_evaluation::score::broken::Broken;
use railtwin_evaluation::score::packets::{PacketBench, SIGNALS, markdown, score_packets};
use railtwin_evaluation::score::trial::Signals;

const JOB: &str = r#"
schema = 1
name = "a"
engine = "packet"
run = { steps = 40 }
fabric = { preset = "leaf-spine", leaves = 2, hosts_per_leaf = 4, uplinks = 4, host = { model = "plain" } }
[transport]
timeout = 12
[[job]]
name = "train"
hosts = 8
collective = { kind = "all-reduce", bytes = "4 MB", compute = "200 us" }
[telemetry]
counters = "1 ms"
"#;

#[test]
fn the_card_of_packets_counts_what_detectors_say_of_runs_that_they_do_not_model() {
    let bench = PacketBench::of("a.toml", JOB).unwrap();
    let faults = [Broken::DownUplink, Broken::SmallBuffer, Broken::WrongCable];
    let score = || score_packets(&bench, (&faults, 2), &railtwin_diagnosis::all_detectors, &|_| ()).unwrap();
    let card = score();
    assert_eq!(card.rows.len(), faults.len() * SIGNALS.len());
    assert!(card.rows.iter().all(|row| row.trials.len() == 2));
    assert_eq!(card.quiet.iter().map(|quiet| quiet.runs.len()).collect::<Vec<_>>(), [2, 2]);
    // What a fault does to the job is the same whatever detectors look at.
    for rows in card.rows.chunks(SIGNALS.len()) {
        for trial in 0..2 {
            let mut slower: Vec<f64> = rows.iter().map(|row| row.trials[trial].outcome.slowdown).collect();
            slower.dedup();
            assert_eq!(slower.len(), 1);
        }
    }
    // Neighbors name both cables, of which neither is an accusation of others.
    let wrong = card.rows.iter().filter(|row| row.what == Broken::WrongCable);
    for row in wrong.filter(|row| row.signals == Signals::Counters) {
        let verdicts = row.trials.iter().map(|trial| trial.outcome.verdict);
        assert!(
            verdicts.flatten().all(|verdict| verdict.in_set && verdict.exact && verdict.wrong == 0),
            "{row:?}"
        );
        assert!(row.trials.iter().all(|trial| trial.outcome.told), "{row:?}");
    }
    assert_eq!(markdown(&card), markdown(&score()), "the same seeds give the same card");
}
