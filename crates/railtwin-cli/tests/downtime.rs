//! `railtwin downtime`: booking, plans, histories, C4's table, and what is refused.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test: files are written for the command to read"
)]

use crate::harness;
use harness::{Outcome, railtwin, written};

const HEAD: &str = "job,kind,cause,checkpoint,failed,detected,isolated,restarted,lost\n";
const HISTORY: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/failures/llm_cluster_faults_240_days.json");

/// Books a CSV.
fn booked(rows: &str, more: &[&str]) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "incidents.csv", &format!("{HEAD}{rows}"));
    let mut args = vec!["downtime", &file];
    args.extend(more);
    railtwin(&args)
}

#[test]
fn incidents_are_booked_like_table_three() {
    let rows = "a,,cuda,1,3,3.5,10,10.25,\na,crash,cuda,1,5,6,10,10.25,\na,slow-other,,,50,,,60,0.5\n\
                b,startup,unknown,,0,,2,3,\n";
    let answer = booked(rows, &["--hours", "100", "--json"]).json();
    let a = &answer["jobs"][0];
    assert_eq!(a["time_h"]["post_checkpoint"], 2.0);
    assert_eq!(a["time_h"]["detection"], 0.5);
    assert_eq!(a["time_h"]["diagnosis_cuda"], 6.5);
    assert_eq!((&a["time_h"]["slow_other"], &a["crashes"]["cuda"]), (&5.0.into(), &2.into()));
    assert!((a["share"]["downtime"].as_f64().unwrap() - 0.0925).abs() < 1e-12);
    assert_eq!(
        (&answer["all"]["hours"], &answer["all"]["time_h"]["downtime"]),
        (&200.0.into(), &12.25.into())
    );
    let text = booked(rows, &["--hours", "100"]);
    assert_eq!(text.status, 0);
    for words in ["diagnosis and isolation", "6.50 %", "3 crashes: 0 ecc-nvlink, 2 cuda", "booked once"] {
        assert!(text.out.contains(words), "{words}\n{}", text.out);
    }
}

#[test]
fn wrong_incidents_are_one_error() {
    let hours = ["--hours", "100"];
    let row = "a,crash,cuda,1,3,2,10,11,\n";
    booked(row, &hours).assert_refused(&["incidents.csv:2", "detected", "\"2\"", "before failed"]);
    booked("a,crash,gpu,1,3,4,10,11,\n", &hours).assert_refused(&[
        "incidents.csv:2",
        "\"gpu\"",
        "ecc-nvlink",
    ]);
    booked("a,crash,cuda,1,3,4,10,11,\n", &[]).assert_refused(&["how long a was watched", "--hours"]);
    booked("a,crash,cuda,1,3,4,10,11,\n", &["--hours=-1"]).assert_refused(&["--hours", "\"-1\""]);
    railtwin(&["downtime"]).assert_refused(&["no file of incidents"]);
    railtwin(&["downtime", "nowhere.csv"]).assert_refused(&["cannot read nowhere.csv"]);
    railtwin(&["downtime", "x.csv", "--gpus", "8"]).assert_refused(&["--gpus", "--plan"]);
}

#[test]
fn a_plan_answers_in_closed_form_and_by_lot() {
    let answer = railtwin(&["downtime", "--plan", "--gpus", "4096", "--spares", "any", "--json"]).json();
    let (expected, drawn) = (&answer["expected"]["shares"], &answer["simulated"]["shares"]);
    let error = answer["simulated"]["error"]["post_checkpoint"].as_f64().unwrap();
    let off = expected["post_checkpoint"].as_f64().unwrap() - drawn["post_checkpoint"].as_f64().unwrap();
    assert!(off.abs() < 4.0 * error, "{off} {error}");
    let again = railtwin(&["downtime", "--plan", "--gpus", "4096", "--spares", "any", "--json"]).json();
    assert_eq!(answer, again, "the same seed, the same answer");
    let text = railtwin(&["downtime", "--plan", "--interval", "10 min"]);
    assert!(text.out.contains("every 10.0 min"), "{}", text.out);
}

#[test]
fn a_plan_reads_its_file_and_flags_win() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[downtime]\ngpus = 1000\nspares = 2\nwindows = 10\n[[downtime.failure]]\ncause = \"cuda\"\ncount = 10\n\
                gpus = 1000\ndays = 30\n";
    let file = written(folder.path(), "plan.toml", text);
    let answer = railtwin(&["downtime", "--plan", &file, "--gpus", "2000", "--json"]).json();
    assert_eq!((&answer["plan"]["gpus"], &answer["plan"]["spares"]), (&2000.into(), &2.into()));
    let mtbf = answer["expected"]["mtbf"].as_f64().unwrap();
    assert!((mtbf - 36.0).abs() < 1e-9, "{mtbf}");
    let wrong = written(folder.path(), "wrong.toml", "[downtime]\ngpus = 1000\ninterval = 3\n");
    railtwin(&["downtime", "--plan", &wrong]).assert_refused(&["wrong.toml:3", "interval", "3 h"]);
    railtwin(&["downtime", "--plan", "--rates", "x"]).assert_refused(&["--rates", "\"x\"", "llama3"]);
    let many = ["downtime", "--plan", "--rate-factor", "100000", "--windows", "100000"];
    railtwin(&many).assert_refused(&["crashes", "fewer --windows"]);
}

#[test]
fn the_shipped_history_replays() {
    let answer = railtwin(&["downtime", "--replay", HISTORY, "--json"]).json();
    let replay = &answer["replay"];
    assert_eq!((&replay["faults"], &replay["open"]), (&381.into(), &10.into()));
    assert_eq!(replay["hosts_with_faults"], 184);
    let spares = |index: usize| answer["spares"][index]["recorded"].as_u64().unwrap();
    assert!(spares(0) <= spares(1) && spares(1) <= spares(2) && spares(2) > 0);
    railtwin(&["downtime", "--replay", HISTORY, "--hosts", "100"])
        .assert_refused(&["more than the 100 hosts"]);
    railtwin(&["downtime", "--replay", HISTORY, "--availability", "1"]).assert_refused(&["--availability"]);
    assert!(railtwin(&["downtime", "--replay", HISTORY]).out.contains("Power Supply"));
}

#[test]
fn a_history_that_begins_amid_an_outage_is_taken_and_says_so() {
    let event = |host: &str, day: f64, kind: &str| {
        format!(
            r#"{{ "node_id": "{host}", "event_time": {day}, "event_type": "{kind}", "fault_type": {{ "Class": "NIC", "Desc": "x" }} }}"#
        )
    };
    let events =
        [event("a", 2.0, "fault_end"), event("b", 3.0, "fault_start"), event("c", 1.0, "fault_start")];
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "amid.json", &format!("[{}]", events.join(",")));
    let answer = railtwin(&["downtime", "--replay", &file, "--json"]).json();
    let replay = &answer["replay"];
    assert_eq!(
        (&replay["carried"], &replay["open"], &replay["unordered"]),
        (&1.into(), &2.into(), &1.into())
    );
    assert_eq!((&replay["out"][0], &replay["out_most"]), (&serde_json::json!([0.0, 1]), &2.into()));
    assert_eq!(answer["notes"].as_array().unwrap().len(), 3);
    let text = railtwin(&["downtime", "--replay", &file]).out;
    assert!(text.contains("1 fault ends and does not begin: taken to last from day 0"), "{text}");
}

#[test]
fn c4s_table_stands_beside_ours() {
    let answer = railtwin(&["downtime", "--table3", "--json"]).json();
    let ratio = answer["june_over_december"]["stated_june"].as_f64().unwrap();
    assert!((20.0..35.0).contains(&ratio), "{ratio}");
    assert!(railtwin(&["downtime", "--table3"]).out.contains("Implied"));
    railtwin(&["downtime", "x.csv", "--table3"]).assert_refused(&["x.csv"]);
}

#[test]
fn a_scenario_with_steering_is_lived_through_and_booked() {
    let folder = tempfile::tempdir().unwrap();
    let base = "schema = 1\nname = \"life\"\n[fabric]\npreset = \"hpn\"\nsegments = 2\nhosts = 2\nspare_hosts = 1\n\
                spines = 2\n[[job]]\nhosts = 2\ncollective = { kind = \"all-reduce\", bytes = \"1 GB\", compute = \"1 s\" }\n";
    let failures = "[failures]\nprocess = \"c4\"\nwindow = \"720 h\"\ndays = 30\nfactor = 100\n";
    let steering = "[steering]\nc4d = [false, true]\nlives = 4\n";
    let file = written(folder.path(), "life.toml", &format!("{base}{failures}{steering}"));
    let answer = railtwin(&["downtime", "--run", &file, "--json"]).json();
    let points = answer["points"].as_array().unwrap();
    assert_eq!((points.len(), points[0]["seeds"].as_array().unwrap().len()), (2, 4));
    let median = |point: usize| points[point]["downtime"]["median"].as_f64().unwrap();
    assert!(median(0) > median(1) && median(1) > 0.0);
    let two = railtwin(&["downtime", "--run", &file, "--seeds", "2", "--json"]).json();
    assert_eq!(two["points"][0]["seeds"].as_array().unwrap().len(), 2);
    let text = railtwin(&["downtime", "--run", &file]).out;
    for words in ["June, paper", "31.16 %", "December, paper", "1.16 %", "Follows from the model", "Put in"] {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
    railtwin(&["downtime", "--run"]).assert_refused(&["asks for a scenario"]);
    railtwin(&["downtime", "--run", &file, "--seeds", "0"]).assert_refused(&["--seeds cannot be \"0\""]);
    let alone = railtwin(&["downtime", "--seeds", "3", &file]);
    assert!(alone.status == 2 && alone.notes.contains("--run"), "{}", alone.notes);
    // A run that is followed is one: there are no lives to draw.
    let fault = "[steering]\n[[fault]]\nat = \"1500 ms\"\nkind = \"gpu-error\"\nrank = \"job-0/1\"\ncause = \"ecc\"\n";
    let run = written(folder.path(), "run.toml", &format!("{base}{fault}"));
    railtwin(&["downtime", "--run", &run, "--seeds", "5"]).assert_refused(&["--seeds", "followed"]);
    railtwin(&["downtime", "--run", &run, "--json"]).json();
    let plain = written(folder.path(), "plain.toml", base);
    railtwin(&["downtime", "--run", &plain]).assert_refused(&["has no [steering]"]);
    for (more, words) in [
        (steering, "[steering] of a scenario in which nothing fails"),
        (
            "[failures]\nprocess = \"c4\"\nwindow = \"1 s\"\ndays = 900\n[steering]\n",
            "longer than simulated time",
        ),
        (&*format!("{failures}[steering]\nautomatic = [\"cuda\", \"cuda\"]\n"), "`cuda` stands twice"),
        (&*format!("{failures}[steering]\nautomatic = [\"fire\"]\n"), "fire"),
        (&*format!("{failures}[steering]\ncheckpoint = \"0 s\"\n"), "checkpoint"),
        (&*format!("{failures}[steering]\nhosts_out = 0\n"), "hosts_out"),
        (
            &*format!(
                "{failures}[steering]\n[[job]]\nhosts = 1\ncollective = {{ kind = \"all-reduce\", bytes = \"1 MB\" }}\n"
            ),
            "follows one job",
        ),
    ] {
        let wrong = written(folder.path(), "wrong.toml", &format!("{base}{more}"));
        railtwin(&["downtime", "--run", &wrong]).assert_refused(&[words]);
    }
}
