//! The life of a job: every moment is booked once, as the incidents say; the same seed lives the same life.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::path::Path;

use proptest::prelude::*;
use railtwin::life::lives;
use railtwin::{Question, Run};
use railtwin_control::Action;
use railtwin_records::run::TABLES;
use railtwin_reliability::downtime::{Incident, Part, What, book};
use railtwin_reliability::lifetime::progress::hours;
use railtwin_reliability::lifetime::{Finder, Lifetime, Lifetimes, Standstill};
use railtwin_units::SimTime;

/// A job of 32 GPUs on two hosts of each of two segments, with a spare in each, that fails a lot.
fn text(failures: &str, steering: &str) -> String {
    format!(
        "schema = 1\nname = \"life\"\nseed = 3\n[fabric]\npreset = \"hpn\"\nsegments = 2\nhosts = 2\n\
         spare_hosts = 1\nspines = 2\n[[job]]\nname = \"train\"\nhosts = 4\n\
         collective = {{ kind = \"all-reduce\", bytes = \"1 GB\", compute = \"1 s\" }}\n\
         [failures]\nwindow = \"720 h\"\ndays = 30\n{failures}\n[steering]\nlives = 3\n{steering}\n"
    )
}

fn life(failures: &str, steering: &str) -> Lifetimes {
    let question = Question::of_text("life.toml", &text(failures, steering), Path::new("."));
    let point = question.points().unwrap().remove(0);
    lives(&question.resolve(&point.scenario).unwrap(), None).unwrap()
}

#[test]
fn without_detectors_their_keys_are_told_to_be_idle() {
    let keys = "detection = \"10 s\"\nrecall = 0.5\nfalse_alarms = 3.0\nanswer = \"5 h\"\ntests = \"3 h\"\n\
                automatic = [\"cuda\"]\nconfidence = 0.9\n";
    let warned = |steering: &str| {
        let question = Question::of_text("life.toml", &text("process = \"c4\"", steering), Path::new("."));
        let point = question.points().unwrap().remove(0);
        let warnings = question.resolve(&point.scenario).unwrap().case.all_warnings();
        warnings.into_iter().filter(|one| one.starts_with("steering.")).collect::<Vec<_>>()
    };
    let told = "steering.detection, steering.recall, steering.false_alarms, steering.answer, steering.tests, \
                steering.automatic and steering.confidence change nothing: with `c4d = false` nothing is detected";
    assert_eq!(warned(&format!("c4d = false\n{keys}")), [told]);
    assert_eq!(warned(keys), Vec::<String>::new());
    assert_eq!(warned("c4d = false"), Vec::<String>::new());
    let by_people = "steering.isolation changes nothing: with `c4d = false` people take hosts out within the time of \
                     `by_hand`";
    assert_eq!(warned("c4d = false\nisolation = \"1 h\""), [by_people]);
    assert_eq!(warned("isolation = \"1 h\""), Vec::<String>::new());
    let of_none = "steering.tests changes nothing: with no `false_alarms` nobody is accused wrongly";
    assert_eq!(warned("tests = \"3 h\""), [of_none]);
    assert_eq!(warned("tests = \"3 h\"\nfalse_alarms = 2.0"), Vec::<String>::new());
    // And they do change nothing.
    let all = "process = \"c4\"\nfactor = 600";
    let plain = life(all, "c4d = false");
    let told = life(all, &format!("c4d = false\n{keys}isolation = \"1 h\""));
    assert_eq!(format!("{:?}", plain.lives), format!("{:?}", told.lives));
    let with = |keys: &str| format!("{:?}", life(all, keys).lives);
    assert_eq!(with("tests = \"1 h\""), with(""));
    assert_ne!(with("tests = \"1 h\"\nfalse_alarms = 2.0"), with("false_alarms = 2.0"));
}

#[test]
fn nothing_is_automatic_where_a_policy_says_so() {
    let swaps = |steering: &str| {
        let lives = life("process = \"c4\"\nfactor = 600", steering).lives;
        lives
            .into_iter()
            .flat_map(|lived| lived.done)
            .map(|row| (row.action.name(), row.reason))
            .collect::<Vec<_>>()
    };
    let (all, none) = (swaps(""), swaps("automatic = []\nanswer = \"1 h\""));
    let alone = |rows: &[(&str, &str)]| {
        // What stood and has cleared needs no host out of it: its job restarts, and no finding decides that.
        let is_cleared = |row: &&(&str, &str)| **row == ("restart", "cleared");
        rows.iter().filter(|row| row.1 != "a person" && !is_cleared(row)).count()
    };
    assert!(alone(&all) > 0, "{all:?}");
    assert_eq!(alone(&none), 0, "a person answers each: {none:?}");
    assert!(none.iter().any(|(action, _)| *action == "swap"));
    // What is written is what comes back.
    let question = text("process = \"c4\"", "automatic = []");
    let question = Question::of_text("life.toml", &question, Path::new("."));
    let written = question.points().unwrap().remove(0).scenario.to_toml();
    assert!(written.contains("automatic = []"), "{written}");
}

/// The incidents of a life as `railtwin downtime` would be handed them; hours.
fn incidents(lived: &Lifetime, end: SimTime) -> Vec<Incident> {
    let at = |time: Option<SimTime>| hours(time.unwrap_or(end).min(end));
    let incident = |row: &Standstill| {
        let (isolated, restarted) = (at(row.isolated), at(row.restarted));
        let what = match row.finder {
            Finder::Start => What::Startup { isolated, restarted, cause: row.cause },
            _ => What::Crash {
                checkpoint: hours(row.checkpoint),
                detected: at(row.detected),
                isolated,
                restarted,
                cause: row.cause,
            },
        };
        Incident { at: hours(row.failed), what }
    };
    lived.standstills.iter().map(incident).collect()
}

/// The account of a life is that of its incidents, but that these know neither waiting nor checkpoints.
fn agrees(life: &Lifetimes) -> Result<(), TestCaseError> {
    for lived in &life.lives {
        prop_assert!((lived.shares.total() - 1.0).abs() < 1e-9, "{}", lived.shares.total());
        let booked = book(0.0, hours(life.span), &incidents(lived, life.span)).unwrap().shares();
        let ours = lived.shares;
        let pairs = [
            (ours[Part::PostCheckpoint], booked[Part::PostCheckpoint]),
            (ours[Part::Detection], booked[Part::Detection]),
            (ours.diagnosis(), booked.diagnosis()),
            (ours[Part::Reinitialisation] + ours[Part::Waiting], booked[Part::Reinitialisation]),
        ];
        for (ours, booked) in pairs {
            prop_assert!((ours - booked).abs() < 1e-9, "seed {}: {pairs:?}", lived.seed);
        }
        // Productive time is that of the steps kept and of a part of one more.
        let worked = ours[Part::Productive] * hours(life.span) / hours(life.step);
        let steps = lived.steps as f64;
        prop_assert!(
            (-1e-6..1.0 + 1e-6).contains(&(worked - steps)),
            "{steps} of {worked}: seed {}",
            lived.seed
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_moment_is_booked_once(
        process in prop::sample::select(vec!["c4", "llama3", "hpn", "infinitehbd"]),
        c4d in any::<bool>(), factor in 10_u32..2000, recall in 1_u32..=10, false_alarms in 0_u32..5,
        checkpoint in 1_u32..400, out in 1_u32..5, hourly in 1_u32..4, automatic in any::<bool>(),
        pod in any::<bool>(), seed in 0_u32..1000,
    ) {
        let failures = format!("process = \"{process}\"\nfactor = {factor}\nseed = {seed}");
        let alarms = if false_alarms > 0 { format!("false_alarms = {false_alarms}\n") } else { String::new() };
        let only = if automatic { "" } else { "automatic = [\"cuda\"]\n" };
        let spares = if pod { "pod" } else { "segment" };
        let steering = format!(
            "c4d = {c4d}\nrecall = {}\n{alarms}{only}checkpoint = \"{checkpoint} min\"\nhosts_out = {out}\n\
             hosts_per_hour = {hourly}\nspares = \"{spares}\"",
            f64::from(recall) / 10.0
        );
        let one = life(&failures, &steering);
        agrees(&one)?;
        let again = life(&failures, &steering);
        for (one, again) in one.lives.iter().zip(&again.lives) {
            prop_assert_eq!(&one.done, &again.done);
            prop_assert_eq!(&one.standstills, &again.standstills);
            // Whoever stands in a place came by the swaps that were done.
            let mut hosts = [0, 1, 3, 4].map(railtwin_fabric::HostId);
            let effective = one.done.iter().filter(|row| row.effective < one_span());
            let mut swaps: Vec<_> = effective.filter_map(|row| match row.action {
                Action::Swap { out, spare, .. } => Some((row.effective, out, spare)),
                _ => None,
            }).collect();
            swaps.sort_by_key(|swap| swap.0);
            for (_, out, spare) in swaps {
                let seat = hosts.iter_mut().find(|host| **host == out);
                *seat.unwrap() = spare;
            }
            prop_assert_eq!(&one.hosts[..], &hosts[..]);
        }
    }
}

/// A host that goes for something else takes its failure along: who comes to find that one later finds nothing, and what
/// was isolated is not detected after that.
#[test]
fn a_failure_that_left_with_its_host_is_not_found_later() {
    let one = life(
        "process = \"llama3\"\nfactor = 765\nseed = 997",
        "c4d = true\nrecall = 0.1\nfalse_alarms = 2.0\nautomatic = [\"cuda\"]\ncheckpoint = \"1 min\"\nhosts_out = 1\n\
         hosts_per_hour = 1\nspares = \"segment\"",
    );
    for row in one.lives.iter().flat_map(|lived| &lived.standstills) {
        let times = [Some(row.failed), row.detected, row.isolated, row.replaced, row.restarted];
        let times: Vec<SimTime> = times.into_iter().flatten().collect();
        assert!(times.is_sorted(), "{row:?}");
    }
    agrees(&one).unwrap_or_else(|error| panic!("{error}"));
}

/// The end of the lives above.
fn one_span() -> SimTime {
    SimTime::from_seconds(720.0 * 3600.0)
}

#[test]
fn detectors_and_spares_make_a_month_of_crashes_short() {
    let failures = "process = \"c4\"\nfactor = 100";
    let [before, after] = ["c4d = false", "checkpoint = \"10 min\"\ncheckpoint_cost = \"10 s\""]
        .map(|steering| life(failures, steering));
    // The same failures, however they are dealt with.
    let drawn = |life: &Lifetimes| life.lives.iter().map(|lived| lived.failures).collect::<Vec<_>>();
    assert_eq!(drawn(&before), drawn(&after));
    let downtime = |life: &Lifetimes| life.share(railtwin_reliability::downtime::Account::downtime).median;
    assert!(downtime(&before) > 2.0 * downtime(&after), "{} {}", downtime(&before), downtime(&after));
    let finders =
        |life: &Lifetimes| life.shown().standstills.iter().map(|row| row.finder).collect::<Vec<_>>();
    assert!(!finders(&before).contains(&Finder::Detectors) && !finders(&after).contains(&Finder::Watchdog));
}

#[test]
fn tables_of_a_life_are_as_documented() {
    let question = Question::of_text("life.toml", &text("process = \"c4\"\nfactor = 50", ""), Path::new("."));
    let point = question.points().unwrap().remove(0);
    let run = Run::of(question.resolve(&point.scenario).unwrap(), &|| ());
    assert!(crate::declared::undeclared(&run).is_empty(), "{:?}", crate::declared::undeclared(&run));
    let tables = run.tables();
    for name in ["actions", "standstills"] {
        let table = tables.iter().find(|table| table.name == name).unwrap();
        let doc = TABLES.iter().find(|doc| doc.name == name).unwrap();
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(columns, doc.columns.iter().map(|column| column.0).collect::<Vec<_>>());
        assert!(table.rows() > 0);
    }
    assert_eq!(run.figure("spare_step_ratio"), Some(1.0));
    // The page has the same rows; what the shown life did with its time is all of it, and its downtime leads.
    let page = run.payload().unwrap();
    for name in ["actions", "standstills"] {
        let table = tables.iter().find(|table| table.name == name).unwrap();
        assert_eq!(page["life"][name]["rows"], table.rows(), "{name}");
    }
    let parts = page["life"]["parts"].as_array().unwrap();
    let shown = parts.iter().map(|part| part["shown"].as_f64().unwrap()).sum::<f64>();
    assert!((shown - 1.0).abs() < 1e-9, "{shown}");
    let downtime = railtwin::headline::numbers::shown(run.figure("downtime").unwrap(), "ratio");
    let begin = format!("life: {downtime} of the time is downtime (");
    assert!(run.info.headline.starts_with(&begin), "{}", run.info.headline);
}
