//! `railtwin compare` and `railtwin report`: what they read, write and refuse.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test: files are written and looked at")]

use crate::harness;
use std::path::{Path, PathBuf};
use std::process::Command;

use harness::{PROGRAM, folder_of, railtwin, shown, small, written};
use railtwin::report::payload_of;

/// Two runs that differ in what they move.
fn two_runs(folder: &Path) -> (PathBuf, PathBuf) {
    let run = |name: &str, text: &str| {
        let scenario = written(folder, &format!("{name}.toml"), text);
        let runs = shown(&folder.join("runs"));
        folder_of(&railtwin(&["run", &scenario, "--out", &runs, "--json"]).json(), 0)
    };
    let text = small("one", "").replace("hosts = 2", "hosts = 8");
    let more = text
        .replace("\"one\"", "\"two\"")
        .replace("preset = \"leaf-spine\"", "preset = \"leaf-spine\"\nuplinks = 1");
    (run("one", &text), run("two", &more))
}

#[test]
fn two_runs_stand_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = two_runs(folder.path());
    let (a, b) = (shown(&a), shown(&b));
    let page = folder.path().join("both.html");
    let both = shown(&page);
    let call = ["compare", &a, &b, "--report", &both];
    let text = railtwin(&call);
    assert_eq!(text.status, 0, "{}", text.notes);
    let line = |name: &str| -> Vec<&str> {
        let line = text.out.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().collect()
    };
    assert_eq!(line("busbw_mean").len(), 9, "value, unit, three times, and percent:\n{}", text.out);
    assert_eq!(line("gpus_active")[3], "same");
    assert_eq!(line("incidents")[3], "equal");
    assert!(line("links").contains(&"differ"));

    let answer = railtwin(&[&call[..], &["--json"]].concat()).json();
    let busbw = answer["figures"].as_array().unwrap().iter().find(|f| f["name"] == "busbw_mean").unwrap();
    let (left, right) = (busbw["left"].as_f64().unwrap(), busbw["right"].as_f64().unwrap());
    assert!(right < left, "a single uplink is slower");
    assert_eq!(busbw["ratio"].as_f64().unwrap(), right / left);
    assert_eq!(answer["same_results"], false);
    // One base for percentages: the table's and the headline's are of the first run.
    let less = line("busbw_mean")[7].strip_prefix('-').unwrap();
    let begin = format!("two has {less} % less bus bandwidth than one: ");
    assert!(answer["headline"].as_str().unwrap().starts_with(&begin), "{less} in {}", answer["headline"]);

    let payload = payload_of(&std::fs::read_to_string(&page).unwrap()).unwrap();
    let [one, two] = &payload.runs[..] else { panic!("two runs") };
    assert_eq!((&one["name"], &two["name"]), (&"one".into(), &"two".into()));
    assert_eq!(two["headline"], answer["headline"]);
    assert!(two["headline"].as_str().unwrap().contains("bus bandwidth than one"));
    assert_ne!(one["headline"], two["headline"]);

    // Below it, in text, JSON and on the page, the other differences.
    let evidence = answer["evidence"].as_array().unwrap();
    assert!(!evidence.is_empty() && two["evidence"] == answer["evidence"], "{evidence:?}");
    let line =
        evidence.iter().find(|line| line.as_str().unwrap().starts_with("Scenarios differ in ")).unwrap();
    assert!(line.as_str().unwrap().contains("fabric.uplinks"), "{line}");
    for line in evidence {
        assert!(text.out.contains(&format!("\n  {}\n", line.as_str().unwrap())), "{}", text.out);
    }

    let same = railtwin(&["compare", &a, &a, "--report", &shown(&page)]);
    assert!(same.out.contains("all figures and tables are the same"), "{}", same.out);
}

#[test]
fn the_page_goes_to_the_current_folder_by_the_names_of_both() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = two_runs(folder.path());
    let here = folder.path().join("here");
    std::fs::create_dir(&here).unwrap();
    let outcome = Command::new(PROGRAM).arg("compare").args([&a, &b]).current_dir(&here).output().unwrap();
    assert!(outcome.status.success());
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    assert!(here.join(format!("compare-{}-{}.html", name(&a), name(&b))).is_file());
}

#[test]
fn a_run_without_a_report_is_compared_without_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let text = "schema = 1\nname = \"bare\"\n[fabric]\npreset = \"fat-tree\"\nk = 4\n";
    let scenario = written(folder.path(), "bare.toml", text);
    let answer = railtwin(&["run", &scenario, "--out", &shown(folder.path()), "--json"]).json();
    let run = shown(&folder_of(&answer, 0));
    let outcome = railtwin(&["compare", &run, &run]);
    assert_eq!(outcome.status, 0, "{}", outcome.notes);
    assert!(outcome.out.contains("neither run has tables") && outcome.notes.contains("has no report.html"));
    railtwin(&["compare", &run, &run, "--report", "x.html"])
        .assert_refused(&["has no report.html", "--report"]);
    railtwin(&["report", &run]).assert_refused(&["has no report.html"]);
}

#[test]
fn a_report_is_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let (a, _) = two_runs(folder.path());
    let report = a.join("report.html");
    let before = std::fs::read_to_string(&report).unwrap();
    // An older page around the same data.
    let data = before.lines().find(|line| line.contains("railtwin-data")).unwrap();
    std::fs::write(&report, format!("<html><p>an older page</p>\n{data}\n</html>")).unwrap();
    let copy = folder.path().join("copy.html");
    assert_eq!(railtwin(&["report", &shown(&a), "--out", &shown(&copy)]).out.trim(), shown(&copy));
    assert!(std::fs::read_to_string(&report).unwrap().contains("an older page"));
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), before);
    assert_eq!(railtwin(&["report", &shown(&a)]).out.trim(), shown(&report));
    assert_eq!(std::fs::read_to_string(&report).unwrap(), before);
    let nowhere = folder.path().join("none").join("x.html");
    let failed = railtwin(&["report", &shown(&a), "--out", &shown(&nowhere)]);
    assert_eq!((failed.status, failed.out.as_str()), (1, ""));
    assert!(failed.notes.contains("cannot write"));
}

#[test]
fn what_cannot_be_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = two_runs(folder.path());
    let page = folder.path().join("both.html");
    let compare = |b: &Path| railtwin(&["compare", &shown(&a), &shown(b), "--report", &shown(&page)]);
    compare(&folder.path().join("none")).assert_refused(&["not a run folder", "run.json"]);
    compare(&folder.path().join("one.toml")).assert_refused(&["one.toml", "not a run folder"]);
    railtwin(&["report", &shown(folder.path())]).assert_refused(&["not a run folder"]);

    let damaged = |name: &str, bytes: &[u8], words: &[&str]| {
        let path = b.join(name);
        let kept = std::fs::read(&path).unwrap();
        std::fs::write(&path, bytes).unwrap();
        compare(&b).assert_refused(words);
        if name == "report.html" {
            railtwin(&["report", &shown(&b)]).assert_refused(words);
        }
        assert!(!page.exists());
        std::fs::write(&path, kept).unwrap();
    };
    let table = std::fs::read(b.join("links.parquet")).unwrap();
    damaged("links.parquet", &table[..table.len() / 2], &["links.parquet"]);
    let mut flipped = table.clone();
    flipped[table.len() / 3] ^= 1;
    damaged("links.parquet", &flipped, &["links.parquet"]);
    damaged("run.json", b"{\"schema\": 1, \"run_id\": 3}", &["run.json", "line 1"]);
    damaged("run.json", b"{\"schema\": 99}", &["schema 99"]);
    let report = std::fs::read(b.join("report.html")).unwrap();
    damaged("report.html", b"<html></html>", &["report.html", "not a report", "no data element"]);
    // In the middle of the data, wherever the page holds it.
    let data = String::from_utf8_lossy(&report).find("\"generator\"").unwrap();
    damaged("report.html", &report[..data], &["report.html", "cut off"]);
    damaged("report.html", b"\xff\xfe", &["report.html", "UTF-8"]);
    assert_eq!(compare(&b).status, 0);
}
