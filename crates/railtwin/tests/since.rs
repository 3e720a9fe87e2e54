//! Findings name the interval in which their cause began, and what it costs the job, as steps before and after show.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::path::Path;

use railtwin::{Question, Run};
use railtwin_records::{Cost, Finding, Syndrome, Truth};

const SECOND: f64 = 1e9;
/// Operations in a window of detectors of slowness, by default.
const WINDOW: f64 = 16.0;

fn run(text: &str) -> Run {
    let question = Question::of_text("a.toml", text, Path::new("."));
    Run::of(question.resolve(&question.points().unwrap()[0].scenario).unwrap(), &|| ())
}

fn regression(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/regressions");
    std::fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap()
}

/// The finding that accuses, the begin of the only fault in nanoseconds.
fn accusation(run: &Run) -> (&Finding, f64) {
    let telemetry = run.telemetry.as_ref().unwrap();
    let mut accusing = telemetry.findings.iter().filter(|finding| finding.accuses());
    let found = (accusing.next(), accusing.next());
    let (Some(finding), None) = found else { panic!("{:#?}", telemetry.findings) };
    let [truth] = &run.resolved.case.truths[..] else { panic!("several faults") };
    (finding, truth.from_ns as f64)
}

fn assert_holds(finding: &Finding, begun_ns: f64, window_ns: f64, told: &str) {
    let [from, until] = [finding.since.from_ns, finding.since.until_ns].map(|ns| ns as f64);
    let words = format!("{told}: between {} s and {} s", from / SECOND, until / SECOND);
    assert!(from <= begun_ns && begun_ns <= until, "{words}, but at {} s", begun_ns / SECOND);
    assert!(until - from <= 2.0 * window_ns, "{words}: more than two windows of {} s", window_ns / SECOND);
    assert!(until <= finding.at_ns as f64, "{words}, found at {}", finding.at_ns);
}

/// Wherever in a window the fault begins. A window of slowness is 16 operations, here of a step each; a job that stands
/// still is sampled once a step and, as it stands, once a second.
#[test]
fn the_interval_holds_the_begin_of_the_fault_and_is_two_windows_wide_at_most() {
    for name in ["find-slow-cable", "find-slow-gpu", "find-hang"] {
        let text = regression(name);
        for begun in ["3 s", "3.4 s", "3.9 s", "4.3 s"] {
            let run = run(&text.replace("at = \"3 s\"", &format!("at = \"{begun}\"")));
            let (finding, begun_ns) = accusation(&run);
            // Steps of 138 ms, and of 292 ms behind a quarter of a cable.
            let window_ns = if name == "find-hang" { 1.0 * SECOND } else { WINDOW * 0.3 * SECOND };
            assert_holds(finding, begun_ns, window_ns, &format!("{name} at {begun}"));
        }
    }
}

/// Faults of a few milliseconds after the start: no window before them is normal, so the interval begins with the job.
#[test]
fn an_interval_without_a_normal_window_begins_with_the_job() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/regressions");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut named = 0;
    for file in files.map(|name| name.into_string().unwrap()).filter(|name| name.starts_with("fault-")) {
        let text = regression(file.trim_end_matches(".toml"));
        let run = run(&format!("{text}\n[telemetry]\nsteps = 60\ncounters = \"1 s\"\nprobes = \"2 s\"\n"));
        let Some(telemetry) = &run.telemetry else { continue };
        for finding in telemetry.findings.iter().filter(|finding| finding.accuses()) {
            let is_it = |truth: &&Truth| finding.suspects.iter().any(|one| one.component == truth.component);
            let Some(truth) = run.resolved.case.truths.iter().find(is_it) else { continue };
            let since = finding.since;
            assert!(
                since.from_ns <= truth.from_ns && truth.from_ns <= since.until_ns,
                "{file}: {finding:#?}"
            );
            named += 1;
        }
    }
    assert!(named >= 3, "{named} findings name a fault");
}

/// Counters are read and paths are probed at intervals; what grows seldom may show a window of 10 s late.
#[test]
fn counters_and_probes_tell_an_interval_too() {
    const HOSTS: &str = "schema = 1\nname = \"a\"\nrun = { steps = 2 }\n\
        fabric = { preset = \"leaf-spine\", leaves = 2, hosts_per_leaf = 4, uplinks = 4, host = { model = \"plain\" } }\n\
        [[job]]\nname = \"train\"\nhosts = 8\n\
        collective = { kind = \"all-reduce\", bytes = \"1 MB\", compute = \"200 ms\" }\n\
        [telemetry]\nsteps = 120\nmessages = false\ncounters = \"1 s\"\nprobes = \"1 s\"\n[[fault]]\nat = \"12.3 s\"\n";
    let faults = [
        "cable = \"host-5/nic-0:port-0\"\nkind = \"lossy\"\nloss = 0.01\n",
        "leaf = \"leaf-0\"\nkind = \"latency\"\ndelay = \"200 us\"\n",
    ];
    for fault in faults {
        let run = run(&format!("{HOSTS}{fault}"));
        let telemetry = run.telemetry.as_ref().unwrap();
        let begun_ns = run.resolved.case.truths[0].from_ns as f64;
        assert!(telemetry.findings.iter().any(Finding::accuses), "{fault}: {:#?}", telemetry.findings);
        for finding in telemetry.findings.iter().filter(|finding| finding.accuses()) {
            // The baseline of probes is made of many rounds: its interval may begin with the job.
            let window = if finding.syndrome == Syndrome::Latency { 20.0 } else { 10.0 };
            assert_holds(finding, begun_ns, window * SECOND, &format!("{fault}{:?}", finding.syndrome));
        }
    }
}

/// A cost is recomputed from the begins of operations in the records: none of it comes from what the finding measured.
#[test]
fn the_cost_is_the_time_lost_against_the_state_before() {
    let gpu = run(&regression("find-slow-gpu"));
    let (finding, _) = accusation(&gpu);
    let records = &gpu.telemetry.as_ref().unwrap().records.operations;
    let count = records.sequence.iter().max().unwrap() + 1;
    let mut ends = vec![0_u64; count as usize];
    for (&sequence, &end) in records.sequence.iter().zip(&records.end_ns) {
        ends[sequence as usize] = ends[sequence as usize].max(end);
    }
    let steps: Vec<(f64, f64)> = ends.windows(2).map(|two| (two[0] as f64, two[1] as f64)).collect();
    let mean = |wanted: &dyn Fn(&(f64, f64)) -> bool| {
        let took: Vec<f64> = steps.iter().filter(|step| wanted(step)).map(|step| step.1 - step.0).collect();
        took.iter().sum::<f64>() / took.len() as f64
    };
    // Clocks of hosts are off by seconds: the first steps lie before the fault on any of them, the last behind it.
    let first = &steps[15];
    let (before, after) = (mean(&|step| step.1 <= first.0), mean(&|step| step.0 >= steps[30].0));
    let expected = 1.0 - before / after;
    let lost: f64 = steps[15..].iter().map(|step| step.1 - step.0 - before).sum();
    let Some(Cost { lost_ns, share }) = finding.cost else { panic!("no cost: {finding:#?}") };
    // Jitter of 22 steps before against 38 after, and host clocks that differ.
    assert!((share - expected).abs() < 0.01, "{share} is not {expected}");
    assert!((lost_ns - lost).abs() < 0.03 * lost, "{lost_ns} is not {lost}");
    assert!((0.4..0.43).contains(&share), "steps of 138 ms become 238 ms: {share}");

    let hang = run(&regression("find-hang"));
    let (finding, _) = accusation(&hang);
    let until_ns = hang.telemetry.as_ref().unwrap().span_ns[1] as f64;
    let cost = finding.cost.unwrap();
    assert_eq!((finding.syndrome, cost.share), (Syndrome::NonCommunicationHang, 1.0));
    assert!((until_ns - 3.2e9..until_ns - 2.8e9).contains(&cost.lost_ns), "{cost:?}");
}
