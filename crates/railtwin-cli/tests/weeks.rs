//! `[cluster]` by `run`, `sweep` and `cluster`: run folders of weeks of jobs, and the same figures by all three.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test: files are written and looked at")]
use std::path::Path;
use std::process::{Command, Stdio};

use crate::harness::{PROGRAM, folder_of, railtwin, shown, written};
use railtwin_records::ColumnData;
use railtwin_store::{RunFolder, Status};
use serde_json::Value;

/// Half a day of jobs that share a narrow network; `more` goes to the end of `[cluster]`.
fn weeks(head: &str, more: &str) -> String {
    format!(
        "schema = 1\nname = \"weeks\"\n{head}\n[fabric]\npreset = \"leaf-spine\"\nleaves = 4\nhosts_per_leaf = 2\n\
         uplinks = 1\nhost = {{ model = \"hgx-a100\", nics = 4 }}\n\n[cluster]\ndays = 0.2\nplacement = \"spread\"\n{more}\n\
         [cluster.stream]\nload = 0.9\ngpus = 32\nmedian = \"20 min\"\n"
    )
}

/// All bytes of a folder, by path below it.
fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else {
                files.push((shown(entry.strip_prefix(folder).unwrap()), std::fs::read(&entry).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// Figures of one run of `cluster --json`, by name.
fn figures_of(run: &Value) -> Vec<(String, Value)> {
    let figures = run["figures"].as_array().unwrap().iter();
    figures.map(|figure| (figure["name"].as_str().unwrap().to_owned(), figure["value"].clone())).collect()
}

/// Text of a column, row by row.
fn words(table: &railtwin_records::Table, name: &str) -> Vec<String> {
    let Some(ColumnData::Text { codes, dictionary }) = table.column(name) else { panic!("no {name}") };
    codes.iter().map(|&code| dictionary[code as usize].clone()).collect()
}

/// Each job that started was placed once, when it did, on the GPUs that it held; plans hold a while after what called for
/// them, and what a job had before is what it got last.
fn decided(run: &RunFolder, jobs: &[Value]) {
    let table = run.table("actions").unwrap();
    let [actions, names, before, after, who, why] =
        ["action", "job", "before", "after", "controller", "reason"].map(|name| words(&table, name));
    let times = ["decided_ps", "effective_ps"].map(|name| match table.column(name) {
        Some(ColumnData::U64(times)) => times.clone(),
        _ => panic!("no {name}"),
    });
    let mut placed = 0;
    let mut priority: std::collections::BTreeMap<&str, &str> = std::collections::BTreeMap::new();
    for row in 0..table.rows() {
        let [decided, effective] = [times[0][row], times[1][row]];
        assert!(row == 0 || effective >= times[1][row - 1], "rows stand in the order of time");
        if actions[row] == "place" {
            let job = jobs.iter().find(|job| job["name"] == names[row].as_str()).unwrap();
            let held: Vec<String> =
                job["held"].as_array().unwrap().iter().map(|run| format!("{}-{}", run[0], run[1])).collect();
            assert_eq!((before[row].as_str(), after[row].clone()), ("", held.join(" ")));
            assert!((effective as f64 * 1e-12 - job["started_s"].as_f64().unwrap()).abs() < 1e-6);
            assert_eq!((decided, who[row].as_str()), (effective, "fifo"));
            placed += 1;
            continue;
        }
        assert!(effective > decided && who[row] == "crux", "{}", who[row]);
        assert!(["job-came", "job-gone"].contains(&why[row].as_str()), "{}", why[row]);
        if actions[row] == "priority" {
            assert_eq!(priority.insert(&names[row], &after[row]).unwrap_or_default(), before[row]);
        }
    }
    assert_eq!(placed, jobs.iter().filter(|job| job["started_s"].is_number()).count());
    assert!(priority.len() > 1);
}

/// Where there are paths to choose from, plans change them, and say of how many transfers.
#[test]
fn plans_that_change_paths_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let text = weeks("", "sharing = \"crux\"").replace("uplinks = 1", "uplinks = 4");
    let scenario = written(folder.path(), "weeks.toml", &text);
    let run = railtwin(&["run", &scenario, "--out", &shown(folder.path()), "--json"]).json();
    let table = RunFolder::open(&folder_of(&run, 0)).unwrap().table("actions").unwrap();
    let Some(ColumnData::U32(moved)) = table.column("moved") else { panic!("no moved") };
    let paths: Vec<u32> = words(&table, "action")
        .iter()
        .zip(moved)
        .filter(|(action, _)| *action == "path")
        .map(|(_, &moved)| moved)
        .collect();
    assert!(!paths.is_empty() && paths.iter().all(|&moved| moved > 0), "{paths:?}");
}

/// At most thirty words; GPU utilization is that of the hours, weighted by the GPUs that jobs held, and the slowdown the
/// mean over jobs that ended. Hours are sampled: their mean is near the time-weighted one.
pub fn headline_comes_out_of_the_tables(run: &RunFolder, headline: &str) {
    assert!(headline.split_whitespace().count() <= 30, "{headline}");
    let column = |table: &str, name: &str| match run.table(table).unwrap().column(name) {
        Some(ColumnData::F64(values)) => values.clone(),
        _ => panic!("no {name}"),
    };
    let hours = column("hours", "occupancy").into_iter().zip(column("hours", "gpu_utilization"));
    let (mut held, mut computing) = (0.0, 0.0);
    for (occupancy, used) in hours.filter(|(_, used)| used.is_finite()) {
        (held, computing) = (held + occupancy, computing + occupancy * used);
    }
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let slowdown = mean(column("jobs", "slowdown").into_iter().filter(|one| one.is_finite()).collect());
    let number = |before: &str| -> f64 {
        let behind = headline.split_once(before).unwrap().1;
        behind.split(' ').next().unwrap().parse().unwrap()
    };
    assert!(
        (number("compute for ") / 100.0 - computing / held).abs() < 0.02,
        "{headline}: {computing} of {held}"
    );
    assert!((number("run ") - slowdown).abs() < 0.0051, "{headline}: {slowdown}");
}

#[test]
fn a_run_leaves_a_folder_with_what_the_command_cluster_tells() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = written(folder.path(), "weeks.toml", &weeks("", "sharing = \"crux\""));
    let runs = folder.path().join("runs");
    let call = ["run", &scenario, "--out", &shown(&runs), "--json"];
    let first = railtwin(&call).json();
    let path = folder_of(&first, 0);
    let told = railtwin(&["cluster", &scenario, "--json"]).json();
    let told = &told["runs"][0];
    for (name, value) in figures_of(told) {
        assert_eq!(first["figures"][&name], value, "{name}");
    }
    let run = RunFolder::open(&path).unwrap();
    let info = run.info().unwrap();
    assert_eq!((info.status, info.engine.as_str()), (Status::Complete, "cluster"));
    assert!(info.headline.starts_with("Under crux, GPUs compute for "), "{}", info.headline);
    headline_comes_out_of_the_tables(&run, &info.headline);
    assert!(info.figures.iter().all(|figure| figure.value.is_some() || !figure.reason.is_empty()));
    assert_eq!(run.table_names().unwrap(), ["actions", "contended", "hours", "jobs"]);
    let (jobs, expected) = (run.table("jobs").unwrap(), told["jobs"].as_array().unwrap());
    assert_eq!(jobs.rows(), expected.len());
    let Some(ColumnData::F64(ended)) = jobs.column("ended_s") else { panic!("no ended_s") };
    assert!(ended.iter().any(|end| end.is_nan()) && ended.iter().any(|end| end.is_finite()));
    for (value, job) in ended.iter().zip(expected) {
        assert_eq!(Some(*value).filter(|end| end.is_finite()), job["ended_s"].as_f64());
    }
    assert!(run.table("contended").unwrap().rows() > 0);
    assert_eq!(run.table("contended").unwrap().rows(), told["contended"].as_array().unwrap().len());
    assert_eq!(run.table("hours").unwrap().rows(), told["hours"]["occupancy"].as_array().unwrap().len());
    decided(&run, expected);

    // Complete: taken as it is. The page is that of the command, and is made again byte by byte.
    assert!(railtwin(&call).json()["runs"][0]["wall_s"].is_null());
    let page = folder.path().join("page.html");
    railtwin(&["cluster", &scenario, "--report", &shown(&page)]);
    let own = std::fs::read(path.join("report.html")).unwrap();
    assert_eq!(own, std::fs::read(&page).unwrap());
    std::fs::remove_file(&page).unwrap();
    let again = railtwin(&["report", &shown(&path), "--out", &shown(&page)]);
    assert_eq!(again.status, 0, "{}", again.notes);
    assert_eq!(own, std::fs::read(&page).unwrap());

    // The same bytes on one thread and on more.
    for threads in ["1", "4"] {
        let out = folder.path().join(threads);
        let mut command = Command::new(PROGRAM);
        command.args(["run", &scenario, "--out", &shown(&out)]).env("RAYON_NUM_THREADS", threads);
        assert!(command.stdout(Stdio::null()).status().unwrap().success());
        assert_eq!(content(&out), content(&runs), "{threads} threads");
    }

    let other = written(folder.path(), "ecmp.toml", &weeks("", "sharing = \"ecmp\""));
    let other = railtwin(&["run", &other, "--out", &shown(&runs), "--json"]).json();
    let compared = ["compare", &shown(&path), &shown(&folder_of(&other, 0))];
    let text = railtwin(&compared);
    assert_eq!(text.status, 0, "{}", text.notes);
    for words in ["gpu_utilization", "slowdown_mean", "contended"] {
        assert!(text.out.contains(words), "{words}:\n{}", text.out);
    }
    assert!(text.notes.contains("is of weeks of jobs"), "{}", text.notes);
    railtwin(&[&compared[..], &["--report", "both.html"]].concat())
        .assert_refused(&["weeks of jobs", "--policy"]);
}

#[test]
fn points_of_a_sweep_are_run_once_and_are_those_of_the_command_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let head =
        "seed = [5, 6]\ngain = { figure = \"gpu_utilization\", axis = \"cluster.sharing\", over = \"ecmp\" }";
    let text = weeks(head, "sharing = [\"ecmp\", \"crux\"]");
    let scenario = written(folder.path(), "weeks.toml", &text);
    let runs = folder.path().join("runs");
    let call = ["sweep", &scenario, "--out", &shown(&runs), "--jobs", "2", "--json"];
    let swept = railtwin(&call).json();
    let points = swept["runs"].as_array().unwrap();
    assert_eq!(points.len(), 4);
    assert!(points.iter().all(|run| run["wall_s"].is_number()));
    assert!(swept["figures"]["gain_mean"].is_number(), "{}", swept["figures"]);
    let plain = weeks("seed = 5", "");
    let plain = written(folder.path(), "plain.toml", &plain);
    let told = railtwin(&["cluster", &plain, "--policy", "ecmp,crux", "--seeds", "2", "--json"]).json();
    for run in told["runs"].as_array().unwrap() {
        let (policy, seed) = (run["policy"].as_str().unwrap(), run["seed"].to_string());
        let is_it = |point: &&Value| {
            point["label"]["cluster.sharing"] == policy && point["label"]["seed"] == seed.as_str()
        };
        let point = points.iter().find(is_it).unwrap();
        for (name, value) in figures_of(run) {
            assert_eq!(point["figures"][&name], value, "{policy}, seed {seed}: {name}");
        }
    }

    // One is cut off, one is gone: these two run again, to the same bytes.
    let before = content(&runs);
    let cut_off = RunFolder::open(&folder_of(&swept, 1)).unwrap();
    let info = railtwin_store::RunInfo { status: Status::Running, ..cut_off.info().unwrap() };
    cut_off.write_info(&info).unwrap();
    RunFolder::open(&folder_of(&swept, 2)).unwrap().remove().unwrap();
    let again = railtwin(&call).json();
    let ran: Vec<bool> = (0..4).map(|point| again["runs"][point]["wall_s"].is_number()).collect();
    assert_eq!(ran, [false, true, true, false]);
    assert_eq!(content(&runs), before);
    let table = railtwin(&call[..6]).out;
    let head = table.lines().next().unwrap();
    assert!(
        ["cluster.sharing", "seed", "gpu_utilization", "waiting_mean"].iter().all(|it| head.contains(it)),
        "{table}"
    );

    // Shares of a job array make the same run folders.
    let array = folder.path().join("array");
    for share in ["1/3", "2/3", "3/3"] {
        let done = railtwin(&["sweep", &scenario, "--out", &shown(&array), "--points", share]);
        assert_eq!(done.status, 0, "{}", done.notes);
    }
    assert!(railtwin(&["sweep", &scenario, "--out", &shown(&array)]).out.contains("(0 run now, 4 taken"));
    assert_eq!(content(&array), before);
    let batch = railtwin(&["sweep", &scenario, "--out", &shown(&array), "--sbatch"]).out;
    assert!(batch.contains("#SBATCH --array=1-4\n") && batch.contains("#SBATCH --mem="), "{batch}");
}

#[test]
fn what_is_expected_of_weeks_is_judged_and_what_cannot_be_run_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let runs = shown(&folder.path().join("runs"));
    let run = |text: &str| {
        let scenario = written(folder.path(), "weeks.toml", text);
        railtwin(&["run", &scenario, "--out", &runs])
    };
    let own = run(&weeks("", "placement = \"own\"").replace("placement = \"spread\"\n", ""));
    own.assert_refused(&["cluster.placement is \"own\"", "write another placement"]);
    let lists = weeks("", "jobs = \"none.csv\"").split("[cluster.stream]").next().unwrap().to_owned();
    run(&lists).assert_refused(&["cluster.jobs", "none.csv"]);
    run(&weeks("run = { replicates = 2 }", "")).assert_refused(&["`run` beside [cluster]"]);
    let scenario = written(folder.path(), "weeks.toml", &weeks("", ""));
    let small = railtwin(&["sweep", &scenario, "--out", &runs, "--memory", "1MiB"]);
    small.assert_refused(&["too large", "jobs on", "--memory"]);
    assert!(!Path::new(&runs).exists());

    let expected = |bound: &str| weeks(&format!("expect = {{ occupancy = {{ {bound} }} }}"), "");
    assert_eq!(run(&expected("at_least = 0.01")).status, 0);
    let missed = run(&expected("at_most = 0.01"));
    assert!(missed.status != 0 && missed.notes.contains("occupancy is "), "{}", missed.notes);
}

/// `cluster --json` and its text say why a figure has no value, as `run --json` does, and what was assumed.
#[test]
fn figures_without_a_value_say_why_and_assumptions_are_named() {
    let folder = tempfile::tempdir().unwrap();
    // Jobs that take longer than the span: none ends.
    let text = weeks("", "sharing = \"ecmp\"\nlevels = 2\n").replace("20 min", "40 h");
    let scenario = written(folder.path(), "weeks.toml", &text);
    let answer = railtwin(&["cluster", &scenario, "--json"]);
    let idle = "cluster.levels changes nothing under ecmp, which plans no priorities";
    assert!(answer.notes.contains(idle), "{}", answer.notes);
    let weeks = &answer.json()["runs"][0];
    let run = railtwin(&["run", &scenario, "--no-folder", "--json"]).json()["runs"][0].clone();
    for (name, value) in figures_of(weeks) {
        assert_eq!(value.is_null(), weeks["reasons"][&name].is_string(), "{name}");
        assert_eq!(weeks["reasons"][&name], run["reasons"][&name], "{name}");
    }
    assert_eq!(weeks["reasons"]["slowdown_mean"], "no job ended");
    assert_eq!((&weeks["assumed"], weeks["notes"][0].as_str()), (&run["assumed"], Some(idle)));
    assert_eq!(run["warnings"], weeks["notes"]);
    let assumed = weeks["assumed"][0].as_str().unwrap();
    assert!(assumed.contains("models and durations of jobs are drawn at random"), "{assumed}");
    let text = railtwin(&["cluster", &scenario]).out;
    assert!(text.contains("no value  slowdown_mean, slowdown_p95"), "{text}");
    assert!(text.contains(&format!("assumed  {assumed}\n")), "{text}");
    // Several runs are announced before the first of them ends.
    let several = railtwin(&["cluster", &scenario, "--policy", "ecmp,crux", "--seeds", "2"]);
    assert!(several.notes.contains("4 runs: 2 policies, 2 seeds"), "{}", several.notes);
    assert!(!several.notes.contains("changes nothing"), "crux reads it: {}", several.notes);
    let list = "name,submitted,gpus,duration,class\na,0,8,600,bert-large\nb,0,8,600,\n";
    written(folder.path(), "jobs.csv", list);
    let listed = text_with_list(&text_of(&scenario));
    let scenario = written(folder.path(), "list.toml", &listed);
    let assumed = railtwin(&["cluster", &scenario, "--json"]).json()["runs"][0]["assumed"].clone();
    assert!(
        assumed[0].as_str().unwrap().starts_with("models of 1 of 2 jobs are drawn at random"),
        "{assumed}"
    );
}

fn text_of(path: &str) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// The same with a list of jobs in place of the stream.
fn text_with_list(text: &str) -> String {
    text.split("[cluster.stream]").next().unwrap().to_owned() + "jobs = \"jobs.csv\"\n"
}
