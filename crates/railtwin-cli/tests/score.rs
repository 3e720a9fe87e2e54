//! `railtwin score`: what its flags print on small settings, and which values they refuse.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test: the harness writes files")]

use crate::harness;
use harness::{Outcome, railtwin};

fn score(args: &[&str]) -> Outcome {
    railtwin(&[&["score"], args].concat())
}

fn printed(args: &[&str]) -> String {
    let Outcome { status, out, notes } = score(args);
    assert_eq!(status, 0, "{notes}");
    out
}

/// Rows of the tables: lines that begin with a cell of this text.
fn rows<'a>(out: &'a str, cell: &str) -> Vec<Vec<&'a str>> {
    let begins = format!("| {cell}");
    let lines = out.lines().filter(|line| line.starts_with(&begins));
    lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

#[test]
fn wrong_values_are_refused_with_what_is_accepted() {
    for (args, words) in [
        (&["--ranks", "127"][..], &["--ranks 127", "128, 1024, 16384"][..]),
        (&["--healthy-hours=-1"], &["--healthy-hours -1", "0 or more"]),
        (&["--healthy-hours", "nan"], &["--healthy-hours NaN", "0 or more"]),
        (&["--expert-hours", "inf"], &["--expert-hours inf", "0 or more"]),
        (&["--fault", "cosmic ray"], &["--fault \"cosmic ray\"", "slow GPU"]),
        (&["--curve", "--seeds", "1"], &["--healthy-hours 0", "--curve needs more than 0"]),
        (&["--curve", "--seeds", "0", "--healthy-hours", "1"], &["--seeds 0", "1 or more"]),
    ] {
        score(args).assert_refused(words);
    }
    // What is no number at all, and what asks for two answers at once, the reader of arguments refuses by flag.
    for (args, words) in [
        (&["--seeds=-3"][..], "--seeds"),
        (&["--ranks", "many"], "--ranks"),
        (&["--healthy-hours", "long"], "--healthy-hours"),
        (&["--errors", "--averages"], "--averages"),
        (&["--averages", "--baselines"], "--baselines"),
        (&["--curve", "--errors"], "--errors"),
        (&["--curve", "--fault", "GPU"], "--fault"),
    ] {
        let Outcome { status, out, notes } = score(args);
        assert_eq!((status, out.as_str()), (2, ""), "{args:?}: {notes}");
        assert!(notes.contains(words), "{args:?}: {notes}");
    }
}

#[test]
fn the_card_has_the_asked_fault_and_the_healthy_hours() {
    let out = printed(&["--seeds", "2", "--fault", "hang", "--healthy-hours", "0.1"]);
    let hangs = rows(&out, "hang of a rank");
    assert_eq!(hangs.len(), 4, "one for each set of signals: {out}");
    assert!(hangs.iter().all(|row| row[2..5] == ["stands", "2", "100 %"]), "{out}");
    assert!(out.contains("Without a fault: 0.1 simulated hours"), "{out}");
    assert!(out.contains("**0 accusations**, 0.0 false alarms a day"), "{out}");
}

#[test]
fn experts_have_their_own_line() {
    let out = printed(&["--seeds", "0", "--expert-hours", "0.02"]);
    let line = out.lines().skip_while(|line| !line.starts_with("## Experts on 128 ranks")).nth(2).unwrap();
    assert!(line.starts_with("Without a fault: 0.02 simulated hours"), "{out}");
}

#[test]
fn the_curve_marks_the_default_and_falls_with_the_share() {
    let out = printed(&["--curve", "--seeds", "1", "--healthy-hours", "0.1"]);
    let settings = rows(&out, "0.5 %").len() + rows(&out, "40 %").len();
    assert_eq!(settings, 8, "four numbers of deviations: {out}");
    assert_eq!(rows(&out, "**5 %** | **6**").len(), 1, "{out}");
    let gpus = rows(&out, "slow GPU | 50 % longer");
    assert_eq!((gpus[0][2], gpus[0].last()), ("100 %", Some(&"0 %")), "{out}");
}

#[test]
fn errors_are_counted_by_cause() {
    let out = printed(&["--errors", "--seeds", "1"]);
    let causes = rows(&out, "size-mismatch");
    assert_eq!(causes.len(), 3, "{out}");
    assert!(causes.iter().all(|row| row[4] == "1"), "told from operations alone: {out}");
}

#[test]
fn averages_are_told_by_width_of_samples() {
    let out = printed(&["--averages"]);
    assert!(out.contains("1 ms") && out.contains("10 s"), "{out}");
    assert_eq!(out.matches("## One GPU of 128 takes").count(), 3, "{out}");
}

#[test]
fn baselines_have_a_card_each_and_the_timeout_by_itself() {
    let out = printed(&["--baselines", "--seeds", "1", "--fault", "hang"]);
    assert_eq!(out.matches("# Baseline: ").count(), 2, "{out}");
    assert!(out.contains("The timeout by itself"), "{out}");
}
