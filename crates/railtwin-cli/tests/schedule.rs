//! `railtwin schedule`: the paper's first example, the optimum, and files that are wrong.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and writes files")]
use proptest::prelude::*;
use serde_json::Value;

use crate::harness::railtwin;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/schedule");

fn json(call: &[&str]) -> Value {
    let answer = railtwin(call);
    assert_eq!(answer.status, 0, "{}", answer.notes);
    serde_json::from_str(&answer.out).unwrap()
}

#[test]
fn the_job_with_shorter_steps_goes_first() {
    let file = format!("{FOLDER}/iteration-length.toml");
    let plan = json(&["schedule", &file, "--json"]);
    assert_eq!(plan["reference_job"], "long");
    assert!((plan["utilization"].as_f64().unwrap() - 10.0 / 24.0).abs() < 1e-12, "{plan}");
    let classes: Vec<&Value> =
        plan["jobs"].as_array().unwrap().iter().map(|job| &job["traffic_class"]).collect();
    assert_eq!(classes, [0, 32]);
    let text = railtwin(&["schedule", &file]).out;
    assert!(text.contains("crux: utilization 0.4167, correction factors against long"), "{text}");
}

/// Example 2: equal priorities, and as good as the best order, in whatever order the jobs stand.
#[test]
fn the_job_that_hides_nothing_goes_first() {
    let text = std::fs::read_to_string(format!("{FOLDER}/overlap.toml")).unwrap();
    let jobs: Vec<&str> = text.split("[[job]]").collect();
    let folder = tempfile::tempdir().unwrap();
    for order in [[1, 2], [2, 1]] {
        let file = folder.path().join("jobs.toml");
        let turned = order.map(|place| format!("[[job]]{}", jobs[place])).concat();
        std::fs::write(&file, format!("{}{turned}", jobs[0])).unwrap();
        let plan = json(&["schedule", &file.display().to_string(), "--json"]);
        let best = json(&["schedule", &file.display().to_string(), "--compare", "--optimum", "--json"]);
        // The optimum has time shifts as well: of plans without any none is better than Crux.
        let shifts = |plan: &Value| plan["jobs"].as_array().unwrap().iter().any(|job| job["shift_s"] != 0.0);
        let of = |plan: &Value| plan["utilization"].as_f64().unwrap();
        let all = || best.as_array().unwrap().iter();
        assert!(all().filter(|other| !shifts(other)).all(|other| of(other) <= of(&plan)), "{plan}");
        assert!(all().any(|other| other["policy"] == "optimum" && of(other) >= of(&plan)), "{plan}");
        let first = plan["jobs"].as_array().unwrap().iter().find(|job| job["level"] == 0).unwrap();
        assert_eq!(first["name"], "waits");
    }
}

#[test]
fn measured_intensities_are_near_those_of_the_file() {
    let file = format!("{FOLDER}/two-spines.toml");
    let of = |plan: &Value| -> Vec<f64> {
        plan["jobs"].as_array().unwrap().iter().map(|job| job["intensity"].as_f64().unwrap()).collect()
    };
    let (exact, measured) =
        (json(&["schedule", &file, "--json"]), json(&["schedule", &file, "--profile", "30 s", "--json"]));
    for (exact, measured) in of(&exact).into_iter().zip(of(&measured)) {
        assert!(exact != measured && (measured / exact - 1.0).abs() < 0.06, "{exact} {measured}");
    }
    let wrong = railtwin(&["schedule", &file, "--profile", "0 s"]);
    assert_eq!(wrong.status, 2);
    let wrong = railtwin(&["schedule", &file, "--profile", "1000 h"]);
    assert!(wrong.status == 2 && wrong.notes.contains("steps of all jobs"), "{}", wrong.notes);
}

#[test]
fn nobody_is_better_than_the_optimum() {
    let plans = json(&["schedule", &format!("{FOLDER}/two-spines.toml"), "--compare", "--optimum", "--json"]);
    let plans = plans.as_array().unwrap();
    let work = |name: &str| {
        let plan = plans.iter().find(|plan| plan["policy"] == name).unwrap();
        plan["work_per_s"].as_f64().unwrap()
    };
    // The network has two levels; two policies take a level for each of the four jobs.
    let levels = |name: &str| plans.iter().find(|plan| plan["policy"] == name).unwrap()["levels"].as_u64();
    assert_eq!((levels("crux-pa"), levels("optimum-within-levels")), (Some(4), Some(2)));
    for plan in plans {
        let name = plan["policy"].as_str().unwrap();
        let best = if plan["levels"].as_u64() > Some(2) { "optimum" } else { "optimum-within-levels" };
        assert!(work(name) <= work(best) * (1.0 + 1e-9), "{name} {plans:?}");
    }
    assert!(work("optimum") >= work("optimum-within-levels") * (1.0 - 1e-9));
    assert!(work("crux") > work("ecmp"));
}

#[test]
fn a_scenario_is_asked_what_its_run_hands_out() {
    let file = format!("{FOLDER}/../jobs/two-tenants.toml");
    let plan = json(&["schedule", &file, "--json"]);
    assert_eq!((plan["policy"].as_str(), plan["levels"].as_u64()), (Some("crux"), Some(8)));
    let jobs = plan["jobs"].as_array().unwrap();
    assert!(jobs.len() >= 2);
    for job in jobs {
        let (dscp, class) = (job["dscp"].as_u64().unwrap(), job["traffic_class"].as_u64().unwrap());
        assert_eq!((dscp, class), (8 * job["run_priority"].as_u64().unwrap(), 4 * dscp));
        let pairs = job["queue_pairs"].as_array().unwrap();
        assert!(!pairs.is_empty());
        for pair in pairs {
            assert!((0xC000..0x1_0000).contains(&pair["source_port"].as_u64().unwrap()), "{pair}");
            assert!(pair["links"].as_array().unwrap().len() >= 2, "{pair}");
        }
    }
    let lot = json(&["schedule", &file, "--policy", "crux-pa", "--replicate", "1", "--json"]);
    assert_eq!((lot["policy"].as_str(), lot["replicate"].as_u64()), (Some("crux-pa"), Some(1)));
    assert_eq!(lot["jobs"][0]["queue_pairs"][0]["reason"], "by-lot");
    let text = railtwin(&["schedule", &file]);
    assert!(text.out.starts_with("crux: 8 levels, replicate 0"), "{}", text.out);
    // What is not known of runs is refused, and what would give several answers.
    let swept = format!("{FOLDER}/../control/crux-two-jobs.toml");
    let jobs = format!("{FOLDER}/two-spines.toml");
    for (call, message) in [
        (vec![&*file, "--policy", "cassini"], "--policy cassini: no controller of a run decides so"),
        (vec![&*file, "--compare"], "--compare is of files with [[link]] and [[job]]"),
        (vec![&*file, "--optimum"], "--optimum is of files"),
        (vec![&*file, "--profile", "1 s"], "--profile is of files"),
        (vec![&*swept], "has 2 points"),
        (vec![&*jobs, "--replicate", "1"], "--replicate is of scenarios"),
    ] {
        let answer = railtwin(&[&["schedule"], &call[..]].concat());
        assert!(answer.status == 2 && answer.notes.contains(message), "{call:?} {}", answer.notes);
    }
}

#[test]
fn what_is_wrong_is_said_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.toml");
    let job = "[[job]]\nname = \"a\"\ngpus = 8\ncompute = \"1 s\"\n";
    let link = "[[link]]\nname = \"up\"\ncapacity = \"8 Gbps\"\n";
    let sends =
        |links: &str| format!("transfer = [{{ bytes = \"1 GB\", path = [{{ links = [{links}] }}] }}]\n");
    for (text, message) in [
        ("schema = 1\n".to_owned(), "there are 0 jobs"),
        (format!("schema = 2\n{job}"), "schema cannot be 2"),
        (format!("schema = 1\nlevels = 9\n{job}"), "there are 8 class selectors"),
        (format!("schema = 1\nlevels = 0\n{job}"), "levels cannot be 0"),
        (format!("schema = 1\ndscp = [64]\n{job}"), "dscp [64] does not name 1 levels"),
        (format!("schema = 1\n{job}{}", sends("\"down\"")), "there is no link \"down\""),
        (format!("schema = 1\n{link}{link}{job}"), "there is a link \"up\" already"),
        (format!("schema = 1\n{job}{job}"), "there is a job \"a\" already"),
        (format!("schema = 1\n{}", job.replace("1 s", "0 s")), "compute cannot be 0"),
        (format!("schema = 1\n{job}overlap_from = 1.5\n"), "overlap_from cannot be 1.5"),
        (format!("schema = 1\n{job}work = nan\n"), "work cannot be NaN"),
        (format!("schema = 1\nwindow = \"0 s\"\n{job}"), "a window of 0 s"),
        (format!("schema = 1\n{job}speed = 3\n"), "unknown field `speed`"),
        (format!("schema = 1\nwindow = \"1000 h\"\n{}", job.replace("1 s", "1 ps")), "a window of"),
    ] {
        std::fs::write(&path, &text).unwrap();
        let answer = railtwin(&["schedule", path.to_str().unwrap()]);
        assert_eq!(answer.status, 2, "{text} {}", answer.notes);
        assert!(answer.notes.contains(message), "{text} {}", answer.notes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    /// A file with a few bytes struck or doubled is read or refused, and nothing panics.
    #[test]
    fn mutated_files_are_read_or_refused(at in any::<prop::sample::Index>(), length in 1usize..12, doubled in any::<bool>()) {
        let text = std::fs::read_to_string(format!("{FOLDER}/two-spines.toml")).unwrap();
        let start = at.index(text.len() - length);
        let part = &text[start..start + length];
        let text = format!("{}{}{}", &text[..start], if doubled { part.repeat(2) } else { String::new() }, &text[start + length..]);
        if let Ok(asked) = railtwin::schedule::Asked::parse("jobs.toml", &text) {
            let plan = railtwin::schedule::schedule(&asked, railtwin::schedule::SharingPolicy::Crux);
            prop_assert!((0.0..=1.0 + 1e-9).contains(&plan.utilization));
        }
    }
}
