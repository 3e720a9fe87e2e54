//! Wrong scenarios: one clear error with its place, status 2, and no run folder.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test: files are written and looked at")]

use crate::harness;
use harness::{railtwin, shown, small, written};

/// What is wrong, the scenario, and words of the error.
fn wrong_scenarios() -> Vec<(&'static str, String, Vec<&'static str>)> {
    let text = small("wrong", "");
    let collective = "collective = { kind = \"all-reduce\", bytes = \"64 MiB\" }";
    let swap = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    };
    vec![
        ("not TOML", swap("[fabric]", "[fabric"), vec!["wrong.toml:4"]),
        (
            "unknown key",
            swap("hosts = 2", "hots = 2"),
            vec!["wrong.toml:8:1", "hots", "did you mean `hosts`"],
        ),
        (
            "unknown section",
            swap("[[job]]", "[routin]\n[[job]]"),
            vec!["wrong.toml:7", "did you mean `routing`"],
        ),
        ("wrong unit", swap("64 MiB", "64 Gbps"), vec!["wrong.toml:9", "bytes", "64 MiB"]),
        ("no unit", swap("\"64 MiB\"", "64"), vec!["wrong.toml:9", "without a unit"]),
        ("unknown preset", swap("leaf-spine", "leaf-spin"), vec!["wrong.toml:5", "leaf-spine"]),
        (
            "missing workload file",
            swap(collective, "workload = { simai = \"none.txt\" }"),
            vec!["wrong.toml:9", "none.txt", "relative to the scenario's folder"],
        ),
        (
            "missing trace",
            swap(collective, "workload = { chakra = \"none\" }"),
            vec!["wrong.toml:9", "none.0.et"],
        ),
        (
            "missing topology",
            swap("preset = \"leaf-spine\"", "lingjun = \"none.csv\""),
            vec!["wrong.toml:5", "none.csv"],
        ),
        (
            "more ports than the chip has",
            swap("preset = \"leaf-spine\"", "preset = \"leaf-spine\"\nuplinks = 400\nchip = \"12.8 Tbps\""),
            vec!["wrong.toml:4", "12.8 Tbps", "leaf"],
        ),
        (
            "GPUs that do not fit",
            swap("hosts = 2", "gpus = 1_000_000"),
            vec!["wrong.toml:7", "1000000", "smaller"],
        ),
        (
            "unknown cable",
            format!("{text}[[fault]]\nat = \"1 ms\"\ncable = \"leaf-77:uplink-0\"\nkind = \"down\"\n"),
            vec!["wrong.toml:13", "no cable \"leaf-77:uplink-0\"", "such as"],
        ),
        (
            "collective and algorithm that do not go together",
            swap("\"64 MiB\"", "\"64 MiB\", algorithm = \"ring\"").replace("all-reduce", "all-to-all"),
            vec!["wrong.toml:9", "ring", "all-to-all"],
        ),
        (
            "unknown recipe",
            swap(collective, "workload = { recipe = \"gpt9\" }"),
            vec!["wrong.toml:9", "gpt9", "gpt3-175b"],
        ),
        (
            "more GPUs than ranks",
            swap(collective, "workload = { recipe = \"llama-7b\", dp = 17, zero = 1 }"),
            vec!["wrong.toml:8", "hosts = 2, which have 16 GPUs", "17 ranks", "write gpus = 17"],
        ),
        (
            "a job that no GPU holds",
            swap(collective, "workload = { recipe = \"llama-7b\", dp = 16 }"),
            vec![
                "wrong.toml:9",
                "needs 108.7 GiB",
                "80.0 GiB",
                "weights 12.6",
                "zero = 1",
                "memory = \"allow\"",
            ],
        ),
        (
            "a leaf that nobody builds",
            swap("preset = \"leaf-spine\"", "preset = \"leaf-spine\"\nhosts_per_leaf = 64\nuplinks = 32"),
            vec!["wrong.toml:4", "115.2 Tbps", "102.4 Tbps", "chip"],
        ),
        ("an axis that is empty", swap("hosts = 2", "hosts = []"), vec!["wrong.toml:8", "empty list"]),
        ("an axis with a value twice", swap("hosts = 2", "hosts = [2, 2]"), vec!["wrong.toml:8", "twice"]),
    ]
}

#[test]
fn every_kind_is_one_error_with_its_place_and_no_folder() {
    for (what, text, words) in wrong_scenarios() {
        let folder = tempfile::tempdir().unwrap();
        let scenario = written(folder.path(), "wrong.toml", &text);
        let runs = folder.path().join("runs");
        for verb in ["run", "sweep"] {
            let outcome = railtwin(&[verb, &scenario, "--out", &shown(&runs)]);
            eprintln!("{what}, {verb}:\n{}", outcome.notes);
            outcome.assert_refused(&words);
            assert!(!runs.exists(), "{what}: a folder was left");
        }
    }
}

#[test]
fn a_scenario_that_is_not_there_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    for verb in ["run", "sweep"] {
        for path in [shown(&folder.path().join("none.toml")), shown(folder.path())] {
            railtwin(&[verb, &path, "--out", &shown(&runs)]).assert_refused(&[
                &path,
                "cannot read",
                "name a scenario file",
            ]);
        }
    }
    assert!(!runs.exists());
}

#[test]
fn a_run_folder_that_cannot_be_read_is_told_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = written(folder.path(), "two.toml", &small("two", ""));
    let runs = shown(&folder.path().join("runs"));
    let call = ["run", &scenario, "--out", &runs];
    let answer = railtwin(&[&call[..], &["--json"]].concat()).json();
    let run = harness::folder_of(&answer, 0);
    std::fs::write(run.join("run.json"), "{").unwrap();
    railtwin(&call).assert_refused(&["run.json", "remove its folder"]);
    std::fs::remove_file(run.join("run.json")).unwrap();
    railtwin(&call).assert_refused(&["not a run folder"]);
    assert!(run.join("links.parquet").is_file());
}

/// Long lines, and places far out in them, in every verb that reads a scenario: the place is seen, in lines that fit.
#[test]
fn an_error_in_a_long_line_is_shown_around_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let text = small("long", "");
    let value = "é".repeat(70_000);
    for (text, words) in [
        (
            format!("{text}[run]\nsteps = {}\"a\"\n", " ".repeat(70_000)),
            ["long.toml:12:70009", "`steps` is text"],
        ),
        (format!("{text}[run]\n# {value}\nsteps = \"a\"\n"), ["long.toml:13:9", "`steps` is text"]),
        (
            format!("{text}[run]\nthreads = \"{value}\"\nsteps = 2\n"),
            ["long.toml:12:1", "unknown key `threads`"],
        ),
        (format!("{text}[run]\n{value} = 2\n"), ["long.toml:12:1", "é"]),
        (text.replace("64 MiB", &value), ["long.toml:9:45", "is not a size"]),
        (text.replace("leaf-spine", &value), ["long.toml:5:10", "é … é"]),
    ] {
        let file = written(folder.path(), "long.toml", &text);
        for verb in ["run", "sweep", "design", "paths", "cluster", "intranode", "interference"] {
            let outcome = railtwin(&[verb, &file]);
            assert_eq!(outcome.status, 2, "{verb}: {}", outcome.notes);
            let longest = outcome.notes.lines().map(|line| line.chars().count()).max();
            assert!(longest < Some(1_000), "{verb}: a line of {longest:?} characters");
            for word in words {
                let notes = outcome.notes.replace("\n  │ ", " ");
                assert!(notes.contains(word), "{verb}: {word} is missing:\n{}", outcome.notes);
            }
        }
    }
}

#[test]
fn a_wrong_call_is_told_with_what_would_be_right() {
    for (args, words) in [
        (&["sweep"][..], "<SCENARIO>"),
        (&["sweep", "x.toml", "--jobs", "0"], "--jobs"),
        (&["compare", "a"], "<RUN_B>"),
        (&["import"], "<FILE>"),
        (&["repot", "a"], "'report'"),
    ] {
        let outcome = railtwin(args);
        assert_eq!((outcome.status, outcome.out.as_str()), (2, ""));
        assert!(outcome.notes.contains(words), "{}", outcome.notes);
    }
    assert!(!railtwin(&["--help"]).out.contains("run-point"));
}
