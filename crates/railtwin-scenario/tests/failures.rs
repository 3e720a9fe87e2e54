//! `[failures]`: rates are kept, seeds tell, faults are those that `[[fault]]` gives, and nonsense is refused.
#![allow(clippy::unwrap_used, clippy::result_large_err, reason = "a test")]
use std::collections::BTreeMap;

use proptest::prelude::*;
use railtwin_engine::{Case, RankTrouble};
use railtwin_fabric::{CableClass, CableId};
use railtwin_records::Truth;
use railtwin_scenario::{Scenario, ScenarioError, Source, expected_faults};

/// 8 hosts with 8 GPUs, a job on 6 of them and a second one on another.
const HEAD: &str = "schema = 1\nname = \"a\"\nseed = SEED\nengine = \"flow\"\n[fabric]\npreset = \"leaf-spine\"\n\
    leaves = 2\nhosts_per_leaf = 8\nuplinks = 4\nhost = { model = \"hgx-h100\" }\n\
    [[job]]\nname = \"train\"\nhosts = 6\n\
    collective = { kind = \"all-reduce\", bytes = \"1 MB\", compute = \"1 ms\" }\n\
    [[job]]\nname = \"small\"\nhosts = 1\n\
    collective = { kind = \"all-reduce\", bytes = \"1 MB\", compute = \"1 ms\" }\n";

const HISTORY: &str = r#"[
    { "node_id": "a", "event_time": 1.0, "event_type": "fault_start", "fault_type": { "Class": "NIC", "Desc": "NIC Lost" } },
    { "node_id": "b", "event_time": 1.0, "event_type": "fault_start", "fault_type": { "Class": "GPU", "Desc": "GPU Lost" } },
    { "node_id": "a", "event_time": 1.5, "event_type": "fault_end", "fault_type": { "Class": "NIC", "Desc": "NIC Lost" } },
    { "node_id": "a", "event_time": 3.0, "event_type": "fault_start", "fault_type": { "Class": "Fan", "Desc": "slow" } },
    { "node_id": "b", "event_time": 5.0, "event_type": "fault_start", "fault_type": { "Class": "NIC", "Desc": "NIC Lost" } }
]"#;

fn read(path: &str) -> Result<Vec<u8>, String> {
    match path {
        "history.json" => Ok(HISTORY.as_bytes().to_vec()),
        "broken.json" => Ok(b"[{}]".to_vec()),
        _ => Err("it is not there".to_owned()),
    }
}

fn resolve_text(text: &str) -> Result<(Scenario, Case), ScenarioError> {
    let scenario = Scenario::parse("a.toml", text)?;
    let case = scenario.resolve(Source { file: "a.toml", text }, &read)?;
    Ok((scenario, case))
}

fn text(seed: u64, failures: &str) -> String {
    let failures = failures.replace("; ", "\n");
    format!("{}[failures]\nwindow = \"100 s\"\n{failures}\n", HEAD.replace("SEED", &seed.to_string()))
}

fn case(seed: u64, failures: &str) -> Case {
    resolve_text(&text(seed, failures)).unwrap().1
}

fn refused(failures: &str) -> String {
    resolve_text(&text(1, failures)).unwrap_err().to_string()
}

/// Kind, component and source of what was drawn, with its begin.
fn told(case: &Case) -> Vec<(u64, String)> {
    let what = |truth: &Truth| format!("{} {} {}", truth.kind.name(), truth.component.name(), truth.source);
    case.truths.iter().map(|truth| (truth.from_ns, what(truth))).collect()
}

const FLAPS: &str = "days = 30; [[failures.rate]]; name = \"optics\"; part = \"access-cable\"; kind = \"flap\"; \
    length = \"2 s\"; per_month = 0.1";
const LEAVES: &str = "[[failures.rate]]; part = \"leaf\"; kind = \"down\"; per_month = 2; repair = \"24 h\"";

#[test]
fn draws_have_the_mean_and_the_spread_of_their_rates() {
    // Jobs run on 7 of the 8 hosts, under both leaves.
    let rates = format!("{FLAPS}; {LEAVES}");
    let (scenario, one) = resolve_text(&text(1, &rates)).unwrap();
    let is_access = |cable: &CableId| one.fabric.cable_class(*cable) == CableClass::Access;
    let cables = one.fabric.cables().filter(is_access).count() as f64 * 7.0 / 8.0;
    let expected = [("optics", 0.1 * cables), ("leaf down", 4.0)];
    let mean_of_all = expected.iter().map(|(_, mean)| mean).sum::<f64>();
    assert!((expected_faults(&scenario, &one).unwrap() - mean_of_all).abs() < 1e-9);
    let seeds = 200;
    let mut counts: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut when = Vec::new();
    for seed in 0..seeds {
        let case = case(seed, &rates);
        for (name, _) in expected {
            let own = case.truths.iter().filter(|truth| truth.source == format!("rate: {name}"));
            counts.entry(name.to_owned()).or_default().push(own.count() as f64);
        }
        when.extend(case.truths.iter().map(|truth| truth.from_ns as f64 / 1e9 / 100.0));
        assert!(case.truths.iter().all(|truth| truth.is_drawn() && truth.from_ns < 100_000_000_000));
    }
    for (name, mean) in expected {
        let drawn = &counts[name];
        let own = drawn.iter().sum::<f64>() / drawn.len() as f64;
        // Four standard errors: a Poisson law has the variance of its mean.
        assert!((own - mean).abs() < 4.0 * (mean / seeds as f64).sqrt(), "{name}: {own}, not {mean}");
        let variance =
            drawn.iter().map(|count| (count - own).powi(2)).sum::<f64>() / (drawn.len() - 1) as f64;
        // The sample variance of a Poisson law: 2 / n, and 1 / (n mean) of its fourth moment.
        let error = (2.0 / seeds as f64 + 1.0 / (seeds as f64 * mean)).sqrt();
        assert!((variance / mean - 1.0).abs() < 4.0 * error, "{name}: variance {variance}, mean {mean}");
    }
    let middle = when.iter().sum::<f64>() / when.len() as f64;
    assert!((middle - 0.5).abs() < 4.0 / (12.0 * when.len() as f64).sqrt(), "{middle}");
}

#[test]
fn published_rates_give_what_they_count() {
    let days = 54.0 / 7.0;
    let text = text(1, &format!("days = {days}; process = \"llama3\""));
    let (scenario, case) = resolve_text(&text).unwrap();
    // 419 interruptions on 16,384 GPUs in 54 days; here 56 GPUs in a seventh of them.
    let expected = 419.0 * 56.0 / 16_384.0 / 7.0;
    assert!((expected_faults(&scenario, &case).unwrap() - expected).abs() < 1e-9);
    for process in ["c4", "hpn", "infinitehbd"] {
        assert!(!super_window(process).truths.is_empty(), "{process}");
    }
}

/// A century of a process.
fn super_window(process: &str) -> Case {
    case(1, &format!("days = 36500; process = \"{process}\""))
}

#[test]
fn the_seed_decides_and_names_and_order_do_not() {
    let rates = format!("{FLAPS}; {LEAVES}");
    let first = told(&case(1, &rates));
    assert!(first.len() > 3, "{first:?}");
    assert_eq!(first, told(&case(1, &rates)));
    assert_ne!(first, told(&case(2, &rates)));
    let own_seed = format!("seed = 1; {rates}");
    assert_eq!(first, told(&case(2, &own_seed)));
    // In another order, and with the jobs called otherwise.
    let (head, leaves_first) = rates.split_once("; ").unwrap();
    let (flaps, leaves) = leaves_first.split_once("; [[failures.rate]]; part = \"leaf\"").unwrap();
    let turned = format!("{head}; [[failures.rate]]; part = \"leaf\"{leaves}; {flaps}");
    assert_eq!(first, told(&case(1, &turned)));
    let renamed = text(1, &rates).replace("\"train\"", "\"other\"");
    assert_eq!(first, told(&resolve_text(&renamed).unwrap().1));
    // One rate less leaves the others as they were.
    let alone: Vec<_> = first.iter().filter(|(_, what)| what.ends_with("optics")).cloned().collect();
    assert_eq!(alone, told(&case(1, FLAPS)));
    assert_eq!(alone, told(&case(1, &rates.replacen("days = 30", "days = 30; kinds = [\"flap\"]", 1))));
}

#[test]
fn faults_are_those_that_somebody_could_have_written() {
    let drawn = case(3, &format!("days = 30; {LEAVES}"));
    assert!(drawn.truths.len() > 1);
    let mut written = HEAD.replace("SEED", "3");
    for truth in &drawn.truths {
        written.push_str(&format!(
            "[[fault]]\nat = \"{} ns\"\nuntil = \"{} ns\"\nkind = \"down\"\nleaf = \"{}\"\n",
            truth.from_ns,
            truth.until_ns,
            truth.component.name()
        ));
    }
    let written = resolve_text(&written).unwrap().1;
    let bare = |truth: &Truth| Truth { source: String::new(), ..truth.clone() };
    assert!(drawn.truths.iter().map(bare).eq(written.truths.iter().map(bare)));
    let cables = |case: &Case| case.faults.iter().map(|fault| (fault.cable, fault.state)).collect::<Vec<_>>();
    assert_eq!(cables(&drawn), cables(&written));
    assert!(drawn.truths.iter().all(|truth| truth.source == "rate: leaf down"));
    assert!(written.truths.iter().all(|truth| !truth.is_drawn()));
}

#[test]
fn repairs_are_shortened_with_the_time_between_failures() {
    let spans = |repairs: &str| -> Vec<f64> {
        let case = case(5, &format!("days = 300; repairs = \"{repairs}\"; {LEAVES}"));
        case.truths.iter().map(|truth| (truth.until_ns - truth.from_ns) as f64 / 1e9).collect()
    };
    let (scaled, real, never) = (spans("scaled"), spans("real"), spans("never"));
    let mean = scaled.iter().sum::<f64>() / scaled.len() as f64;
    // A day of 300 in 100 s is a third of a second; exponential times have the spread of their mean.
    let standard = 1.0 / 3.0 / (scaled.len() as f64).sqrt();
    assert!((mean - 1.0 / 3.0).abs() < 4.0 * standard, "{mean}");
    let acceleration = 300.0 * 86_400.0 / 100.0;
    assert!(scaled.iter().zip(&real).all(|(scaled, real)| (real / scaled / acceleration - 1.0).abs() < 1e-3));
    assert!(never.iter().all(|span| *span > 1e9));
}

#[test]
fn a_history_happens_as_it_did_on_hosts_by_lot() {
    let history = "acceleration = 8640; replay = \"history.json\"; hosts = 7";
    let first = case(1, history);
    let what: Vec<(u64, u64, &str)> = first
        .truths
        .iter()
        .map(|truth| (truth.from_ns / 1_000_000, truth.until_ns / 1_000_000, truth.kind.name()))
        .collect();
    // A day is 10 s; the last fault did not end and the fan reaches no job.
    let never = u64::MAX / 1_000_000;
    let mut sorted = what.clone();
    sorted.sort_unstable();
    assert_eq!(
        sorted,
        [(10_000, 15_000, "down"), (10_000, never, "gpu-error"), (50_000, never, "down")],
        "{what:?}"
    );
    assert!(first.warnings.iter().any(|warning| warning.contains("1 faults")));
    let hosts = |case: &Case| -> Vec<String> {
        let host = |truth: &Truth| truth.component.name().split('/').next().unwrap().to_owned();
        case.truths.iter().filter(|truth| truth.kind.name() == "down").map(host).collect()
    };
    let all: std::collections::BTreeSet<_> = (0..40).map(|seed| hosts(&case(seed, history))).collect();
    assert!(all.len() > 7, "two hosts by lot: {all:?}");
    assert!(hosts(&first)[0] != hosts(&first)[1], "two hosts of the history are two here");
    let later = case(1, &format!("{history}; first_day = 4"));
    assert_eq!(later.truths.iter().map(|truth| truth.from_ns / 1_000_000).collect::<Vec<_>>(), [10_000]);
    // Of a cluster of 4,000 hosts seven see nothing, as a rule.
    let rare = (0..20).map(|seed| case(seed, &history.replace("= 7", "= 4000")).truths.len()).sum::<usize>();
    assert!(rare < 3, "{rare}");
}

#[test]
fn parts_are_those_that_jobs_run_on() {
    let of = |part: &str, kind: &str, more: &str| {
        let rate = format!(
            "days = 36500; [[failures.rate]]; part = \"{part}\"; kind = \"{kind}\"; per_month = 0.01{more}"
        );
        case(1, &rate)
    };
    let all = of("host", "down", "");
    assert!(all.truths.len() > 50 && all.truths.iter().all(|truth| truth.component.name() != "host-7"));
    assert!(all.truths.iter().any(|truth| truth.component.name() == "host-6"));
    let ranks = of("rank", "hang", "; per = \"host\"");
    assert!(ranks.rank_faults.iter().all(|fault| matches!(fault.trouble, RankTrouble::Hang)));
    assert!(ranks.rank_faults.iter().any(|fault| fault.job == 1));
    let stalls = of("storage", "storage-stall", "; delay = \"2 s\"");
    assert_eq!(stalls.rank_faults.len(), 56 * stalls.truths.len());
    for (part, kind, more) in [
        ("gpu", "gpu-error", "; cause = \"ecc\""),
        ("gpu", "slow-gpu", "; factor = 1.5; repair = \"1 h\""),
        ("nic", "pause-storm", "; capacity = 0.1"),
        ("nic", "slow", "; capacity = 0.5; direction = \"in\""),
        ("uplink-cable", "lossy", "; loss = 0.01"),
        ("leaf", "latency", "; delay = \"5 us\""),
        ("spine", "small-buffer", "; capacity = 0.1"),
        ("job", "slow-data", "; delay = \"1 s\"; repair = \"5 h\""),
        ("rank", "crash", "; cause = \"bug\""),
        ("rank", "size-mismatch", ""),
    ] {
        let case = of(part, kind, more);
        assert!(
            !case.truths.is_empty() && case.truths.iter().all(|truth| truth.kind.name() == kind),
            "{kind}"
        );
    }
}

#[test]
fn what_cannot_be_is_refused_where_it_stands() {
    let cases = [
        ("process = \"c4\"", "[failures] has none of `days`, `acceleration`"),
        ("days = 30; acceleration = 2; process = \"c4\"", "has both `days` and `acceleration`"),
        ("days = 30", "[failures] says nothing that fails; write a process, a replay, or [[failures.rate]]"),
        ("days = 30; process = \"c5\"", "`process` cannot be \"c5\"; did you mean `c4`?"),
        ("days = 0; process = \"c4\"", "`days` cannot be 0; write a number above 0 and up to 36500"),
        ("days = 30; process = \"c4\"; replay = \"x\"", "has both `process` and `replay`"),
        ("days = 30; process = \"c4\"; hosts = 3", "`hosts` belongs to a replay"),
        ("days = 30; process = \"hpn\"; kinds = [\"hang\"]", "nothing fails in one of these ways"),
        ("days = 30; process = \"hpn\"; kinds = [\"down\", \"down\"]", "`down` stands twice"),
        ("days = 30; process = \"hpn\"; kinds = [\"up\"]", "`kinds` cannot be \"up\""),
        ("days = 30; replay = \"none.json\"", "cannot read \"none.json\": it is not there"),
        ("days = 30; replay = \"broken.json\"", "broken.json: event 1: node_id is missing"),
        ("days = 30; replay = \"history.json\"; hosts = 6", "jobs run on 7 hosts"),
        ("days = 30; replay = \"history.json\"; hosts = 1", "event 2: has more than the 1 hosts"),
        (
            "acceleration = 1e10; process = \"hpn\"",
            "most are `hpn: access cable`: 5.700e-4 a month for each access-cable",
        ),
        (
            "days = 30; [[failures.rate]]; part = \"leaf\"; kind = \"hang\"; per_month = 1",
            "`hang` does not happen to a `leaf`",
        ),
        (
            "days = 30; [[failures.rate]]; part = \"nic\"; kind = \"slow\"; per_month = 1",
            "`slow` needs `capacity`",
        ),
        (
            "days = 30; [[failures.rate]]; part = \"gpu\"; kind = \"gpu-error\"; cause = \"ecc\"; per_month = 1; \
             repair = \"1 h\"",
            "`gpu-error` has no `repair`",
        ),
        (
            "days = 30; [[failures.rate]]; part = \"leaf\"; kind = \"down\"; per_month = 1; [[failures.rate]]; \
             part = \"leaf\"; kind = \"down\"; per_month = 2",
            "two rates are called `leaf down`",
        ),
        (
            "days = 30; [[failures.rate]]; part = \"leaf\"; kind = \"wrong-cable\"; per_month = 1",
            "`kind` cannot be \"wrong-cable\"",
        ),
    ];
    for (failures, expected) in cases {
        let message = refused(failures);
        assert!(message.contains(expected), "{failures}\n{message}");
        assert!(message.starts_with("a.toml:"), "{message}");
    }
}

#[test]
fn packets_refuse_kinds_and_not_draws() {
    let packet = |seed: u64, failures: &str| {
        let text = text(seed, failures).replace("engine = \"flow\"", "engine = \"packet\"");
        resolve_text(&text).map(|(_, case)| case)
    };
    // So short a time draws nothing, and is refused all the same.
    for seed in 0..5 {
        let error = packet(seed, "acceleration = 1; process = \"c4\"").unwrap_err().to_string();
        assert!(error.contains("the packet engine does not know this"), "{error}");
        assert!(error.starts_with("a.toml:22:11:"), "{error}");
    }
    let cables = packet(1, "days = 36500; process = \"hpn\"").unwrap();
    assert!(!cables.faults.is_empty());
    assert!(packet(1, "days = 30; process = \"c4\"; kinds = [\"down\"]").is_ok());
}

/// Lines of `[failures]`, right and wrong.
fn lines() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "days = 30",
        "days = 1e-9",
        "days = 36500",
        "acceleration = 1e12",
        "acceleration = 1e-300",
        "from = \"200 h\"",
        "window = \"5000 h\"",
        "window = \"1 ps\"",
        "process = \"c4\"",
        "process = \"infinitehbd\"",
        "replay = \"history.json\"",
        "hosts = 7",
        "first_day = 2",
        "repairs = \"real\"",
        "kinds = [\"down\", \"slow\"]",
        "kinds = []",
        "seed = 9223372036854775807",
        "[[failures.rate]]",
        "part = \"spine\"",
        "part = \"storage\"",
        "kind = \"down\"",
        "kind = \"flap\"",
        "length = \"2 s\"",
        "flaps = 10000",
        "period = \"3 s\"",
        "per_month = 1e9",
        "per_month = 0.001",
        "repair = \"5000 h\"",
        "process = [\"c4\", \"hpn\"]",
        "é = 1",
        "]",
    ]);
    prop::collection::vec(line, 0..9).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn any_text_is_a_case_or_a_clear_error(lines in lines()) {
        let window = if lines.contains("window") { "" } else { "window = \"60 s\"\n" };
        let text = format!("{}[failures]\n{window}{lines}\n", HEAD.replace("SEED", "1"));
        match resolve_text(&text) {
            Ok((scenario, case)) => {
                prop_assert!(case.truths.len() <= 11_000);
                prop_assert_eq!(Scenario::parse("b.toml", &scenario.to_toml()), Ok(scenario));
            }
            Err(error) => {
                prop_assert!(!error.problems.is_empty());
                for problem in &error.problems {
                    prop_assert!(problem.line >= 1 && !problem.message.is_empty());
                    prop_assert!(text.get(problem.span.clone()).is_some());
                }
            }
        }
    }

    #[test]
    fn no_text_in_failures_panics(lines in "\\PC{0,80}") {
        let _ = resolve_text(&format!("{}[failures]\n{lines}\n", HEAD.replace("SEED", "1")));
    }
}
