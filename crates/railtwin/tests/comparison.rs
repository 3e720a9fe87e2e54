//! Headlines of two runs: the largest difference of what jobs get done leads, and every number is that of the tables.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::path::{Path, PathBuf};

use railtwin::headline::lines::{MOST_WORDS, words};
use railtwin::headline::numbers::shown;
use railtwin::headline::{Headline, of_scenarios};
use railtwin::{Question, Run};
use railtwin_records::{ColumnData, Table};
use railtwin_store::RunInfo;

fn scenario(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name)
}

/// All points of a scenario of the repository after some replacements in its text.
pub fn points(name: &str, edits: &[(&str, &str)]) -> Vec<Run> {
    let path = scenario(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let text = edits.iter().fold(text, |text, (old, new)| {
        assert!(text.contains(old), "{name} has no {old}");
        text.replace(old, new)
    });
    runs(&text, path.parent().unwrap())
}

fn runs(text: &str, folder: &Path) -> Vec<Run> {
    let question = Question::of_text("a.toml", text, folder);
    let points = question.points().unwrap();
    points.iter().map(|point| Run::of(question.resolve(&point.scenario).unwrap(), &|| ())).collect()
}

pub fn compared(a: &Run, b: &Run) -> Headline {
    let scenarios = [&a.resolved.scenario, &b.resolved.scenario];
    let headline = of_scenarios(&a.info, &b.info, Some(scenarios)).unwrap();
    assert!(words(&headline.text) <= MOST_WORDS, "{}", headline.text);
    headline
}

fn table(run: &Run, name: &str) -> Table {
    run.tables().into_iter().find(|table| table.name == name).unwrap()
}

fn numbers(table: &Table, name: &str) -> Vec<u64> {
    match table.column(name).unwrap() {
        ColumnData::U64(values) => values.clone(),
        ColumnData::U32(values) => values.iter().map(|&value| u64::from(value)).collect(),
        other => panic!("{name}: {other:?}"),
    }
}

/// Mean time of the steps of one draw, and the median of that over draws, from the table of steps; seconds.
fn step_of(run: &Run) -> f64 {
    let steps = table(run, "steps");
    let (draws, times) = (numbers(&steps, "replicate"), numbers(&steps, "duration_ps"));
    let last = draws.iter().max().copied().unwrap();
    let mut means: Vec<f64> = (0..=last)
        .map(|draw| {
            let own = || {
                draws.iter().zip(&times).filter(move |(of, _)| **of == draw).map(|(_, ps)| *ps as f64 / 1e12)
            };
            own().sum::<f64>() / own().count() as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    (means[means.len() / 2] + means[(means.len() - 1) / 2]) / 2.0
}

fn percent(value: f64) -> String {
    shown(value, "ratio")
}

#[test]
fn a_month_with_detectors_is_compared_by_its_downtime() {
    let edits = |c4d, checkpoint, factor| {
        [
            ("c4d = [false, true]", c4d),
            ("checkpoint = [\"3 h\", \"10 min\"]", checkpoint),
            ("factor = [1, 0.3]", factor),
            ("checkpoint_cost = \"10 s\"", "checkpoint_cost = \"10 s\"\nlives = 5"),
        ]
    };
    let people =
        &points("papers/c4d-month.toml", &edits("c4d = false", "checkpoint = \"3 h\"", "factor = 1"))[0];
    let c4d =
        &points("papers/c4d-month.toml", &edits("c4d = true", "checkpoint = \"10 min\"", "factor = 0.3"))[0];
    let Headline { text, evidence } = compared(people, c4d);
    let lives = |run: &Run| {
        let lives = &run.life.as_ref().unwrap().lives;
        let mut shares: Vec<f64> = lives.iter().map(|lived| lived.shares.downtime()).collect();
        shares.sort_by(f64::total_cmp);
        shares
    };
    let [a, b] = [people, c4d].map(lives);
    assert_eq!((a.len(), b.len()), (5, 5));
    assert!(a[0] > b[4], "no life with people is better than one with C4D");
    let lead =
        format!("c4d-month (2) is down for {} of the time, c4d-month for {}.", percent(b[2]), percent(a[2]));
    assert_eq!(text, lead);
    let spread = format!(
        "Downtime over lives: {} to {} instead of {} to {}.",
        percent(b[0]),
        percent(b[4]),
        percent(a[0]),
        percent(a[4])
    );
    assert_eq!(evidence[0], spread);
    assert!(
        evidence[1].starts_with("Kept steps: ") || evidence[1].starts_with("Productive time: "),
        "{evidence:?}"
    );
    assert!(
        evidence.iter().any(|line| line.contains("failures.factor (0.3 instead of its default)")),
        "{evidence:?}"
    );
    // Each alone says of what its shares are parts.
    let alone = std::iter::once(&people.info.headline).chain(&people.info.evidence);
    let alone = alone.cloned().collect::<Vec<_>>().join(" ");
    assert!(
        alone.contains("over 5 sampled lives), ") && alone.contains(" of the time diagnosis and isolation."),
        "{alone}"
    );
}

#[test]
fn an_hour_that_goes_on_after_crashes_is_compared_by_its_life() {
    let runs = points("control/c4d-run.toml", &[]);
    let downtime = |run: &Run| {
        let stops = table(run, "standstills");
        let [from, until] = ["checkpoint_ps", "restarted_ps"].map(|name| numbers(&stops, name));
        // The next fault may come before steps run again: no moment counts twice.
        let (mut lost, mut until_now) = (0, 0);
        for (&from, &until) in from.iter().zip(&until) {
            lost += until.saturating_sub(from.max(until_now));
            until_now = until_now.max(until);
        }
        lost as f64 / run.life.as_ref().unwrap().span.ps() as f64
    };
    let [a, b] = [&runs[0], &runs[1]].map(downtime);
    let Headline { text, evidence } = compared(&runs[0], &runs[1]);
    let lead = format!("c4d-run (2) is down for {} of the time, c4d-run for {}.", percent(b), percent(a));
    assert_eq!(text, lead);
    assert!(evidence.iter().any(|line| line.starts_with("Downtime until detection: 44.2 %")), "{evidence:?}");
    assert!(
        evidence.contains(&"Scenarios differ in steering.c4d (false instead of true).".to_owned()),
        "{evidence:?}"
    );
    let alone = runs[0].info.evidence.join(" ") + &runs[0].info.headline;
    assert!(
        alone.contains("30.1 % of the time is downtime, 13.5 % of the time diagnosis and isolation."),
        "{alone}"
    );
}

#[test]
fn flows_and_packets_differ_in_the_step_and_packets_are_evidence() {
    let mut runs = points("peers/pw2.toml", &[]);
    for run in &mut runs {
        run.info.name = format!("pw2 ({})", run.info.engine);
    }
    let [flow, packet] = &runs[..] else { panic!("{}", runs.len()) };
    // Bytes over time of each operation; the bus bandwidth is that in bits.
    let bandwidth = |run: &Run| {
        let operations = table(run, "operations");
        let [from, until, bytes] = ["start_ps", "end_ps", "bytes"].map(|name| numbers(&operations, name));
        let rates = (0..bytes.len()).map(|row| bytes[row] as f64 / (until[row] - from[row]) as f64);
        rates.sum::<f64>() / bytes.len() as f64
    };
    let [a, b] = [flow, packet].map(bandwidth);
    let Headline { text, evidence } = compared(flow, packet);
    let less = percent(1.0 - b / a);
    assert!(
        text.starts_with(&format!("pw2 (packet) has {less} less bus bandwidth than pw2 (flow): ")),
        "{text}"
    );
    assert!(
        !evidence.iter().any(|line| line.contains("Pause")),
        "flows have no pauses to compare: {evidence:?}"
    );
}

#[test]
fn of_two_seeds_the_difference_is_the_luck_of_the_draw() {
    let text = |rest: &str| {
        format!(
            "schema = 1\nname = \"seeds\"\n[fabric]\npreset = \"leaf-spine\"\nleaves = 4\nhosts_per_leaf = 4\nuplinks = 4\n\
             host = {{ model = \"plain\" }}\n{rest}[[job]]\nname = \"train\"\nplacement = \"spread\"\nhosts = 16\n\
             collective = {{ kind = \"all-to-all\", bytes = \"64 MB\" }}\n"
        )
    };
    let run = |seed: u64, rest: &str| {
        let text = text(rest).replace("schema = 1\n", &format!("schema = 1\nseed = {seed}\n"));
        runs(&text, Path::new(".")).remove(0)
    };
    let (one, two) = (run(1, ""), run(2, ""));
    let [a, b] = [&one, &two].map(step_of);
    assert!((a / b - 1.0).abs() > 0.01, "{a} {b}");
    let Headline { text, .. } = compared(&one, &two);
    let word = if b > a { "less" } else { "more" };
    let apart = format!("({} {word}), by the luck of the draw.", percent((a / b - 1.0).abs()));
    assert!(
        text.starts_with("seeds and seeds (2) differ in the seed alone (1 and 2). Bus bandwidth: "),
        "{text}"
    );
    assert!(text.ends_with(&apart), "{text}, not {apart}");
    // So many draws each hold the other's median.
    let draws = "[run]\nreplicates = 8\n";
    let Headline { text, evidence } = compared(&run(1, draws), &run(2, draws));
    let all = format!("{text} {}", evidence.join(" "));
    assert!(text.starts_with("seeds and seeds (2) differ in the seed alone (1 and 2)."), "{text}");
    assert!(
        all.contains(" beyond the noise of 8 draws: ") || all.contains("by the luck of the draw"),
        "{all}"
    );
}

#[test]
fn unlike_jobs_have_no_percentage() {
    let text = |hosts: u32| {
        format!(
            "schema = 1\nname = \"hosts-{hosts}\"\n[fabric]\npreset = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 4\n\
             host = {{ model = \"plain\" }}\n[[job]]\nname = \"train\"\nhosts = {hosts}\n\
             collective = {{ kind = \"all-reduce\", bytes = \"1 MB\" }}\n"
        )
    };
    let [two, four] = [2, 4].map(|hosts| runs(&text(hosts), Path::new(".")).remove(0));
    let Headline { text, evidence } = compared(&two, &four);
    let work = |run: &Run| run.info.facts["job train"].clone();
    assert_eq!(
        text,
        format!(
            "Different questions, so no percentage: hosts-2 asks {}, hosts-4 asks {}.",
            work(&two),
            work(&four)
        )
    );
    assert!(!evidence.iter().any(|line| line.contains('%')), "{evidence:?}");
}

#[test]
fn weeks_are_compared_by_what_jobs_get_done() {
    let text = "schema = 1\nname = \"weeks\"\nseed = 1\n[fabric]\npreset = \"leaf-spine\"\nleaves = 6\nhosts_per_leaf = 2\n\
                uplinks = 2\nuplink_capacity = \"100 Gbps\"\nhost = { model = \"hgx-a100\", nics = 4 }\n[cluster]\ndays = 1\n\
                placement = \"spread\"\nsharing = [\"ecmp\", \"crux\"]\n";
    let question = Question::of_text("a.toml", text, Path::new("."));
    let weeks: Vec<_> = question
        .points()
        .unwrap()
        .iter()
        .map(|point| (point.scenario.clone(), question.weeks(&point.scenario).unwrap().run(&|| ()).unwrap()))
        .collect();
    let [(first, ecmp), (second, crux)] = &weeks[..] else { panic!("two policies") };
    let headline = of_scenarios(&ecmp.info, &crux.info, Some([first, second])).unwrap();
    let all = format!("{} {}", headline.text, headline.evidence.join(" "));
    // From the table of jobs: submission to end of those that ended.
    let completion = |told: &railtwin::cluster::Told| {
        let times = told.jobs.iter().filter_map(|job| Some(job.ended_s? - job.submitted_s));
        let times: Vec<f64> = times.collect();
        times.iter().sum::<f64>() / times.len() as f64
    };
    let [a, b] = [ecmp, crux].map(|run| completion(&run.told));
    let used = |info: &RunInfo| info.figure("gpu_utilization").unwrap().value.unwrap();
    let [u, v] = [&ecmp.info, &crux.info].map(used);
    assert!((b / a - 1.0).abs() > 5e-4 && (v / u - 1.0).abs() > 5e-4);
    assert!(all.contains(&format!("{} instead of {}", shown(b, "s"), shown(a, "s"))), "{all}");
    let utilization = [
        format!("GPU utilization: {} instead of {}", percent(v), percent(u)),
        format!(
            "compute for {} of the time that jobs hold them, those of weeks for {}",
            percent(v),
            percent(u)
        ),
    ];
    assert!(utilization.iter().any(|text| all.contains(text)), "{all}");
    assert!(
        headline.evidence.contains(&"Scenarios differ in cluster.sharing (crux instead of ecmp).".to_owned()),
        "{all}"
    );
}

/// The range over draws is one of means of draws; that over operations of one draw is wider.
#[test]
fn a_range_over_draws_is_of_means() {
    let run = &points(
        "control/te-flapping.toml",
        &[
            ("balancer = [\"te\", \"e-ecmp\"]", "balancer = \"e-ecmp\""),
            ("replan_time = [\"5 s\", \"15 s\", \"30 s\"]", "replan_time = \"5 s\""),
            // Behind the run: all operations are of one state.
            ("at = \"25 s\"", "at = \"2500 s\""),
        ],
    )[0];
    let simulation = run.simulation.as_ref().unwrap();
    let means: Vec<f64> = simulation
        .replicates
        .iter()
        .map(|one| one.busbw.iter().map(|(_, busbw, _)| busbw).sum::<f64>() / one.busbw.len() as f64)
        .collect();
    let [low, high] = [f64::min, f64::max].map(|pick| means.iter().copied().reduce(pick).unwrap());
    let figure = run.info.figure("busbw_mean").unwrap();
    assert!(
        (figure.low.unwrap() / low - 1.0).abs() < 1e-12 && (figure.high.unwrap() / high - 1.0).abs() < 1e-12
    );
    let [low, high] = [low, high].map(|value| shown(value, "bits_per_s"));
    let expected = if low == high {
        " of bus bandwidth (the same in 5 draws of the hashes)".to_owned()
    } else {
        format!(" of bus bandwidth ({low} to {high} over 5 draws of the hashes)")
    };
    let all = format!("{} {}", run.info.headline, run.info.evidence.join(" "));
    assert!(all.contains(&expected), "{all}, not {expected}");
}
