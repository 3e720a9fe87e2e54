//! The messages of refused scenarios, the committed JSON Schema and the reference, as files that are read in review.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test: golden files are read, and rewritten on request"
)]

use std::path::{Path, PathBuf};

use railtwin_scenario::{expand, json_schema, reference};

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Compares `now` with the file, or rewrites the file where `UPDATE_DOCS` is set.
fn golden(path: &Path, now: &str) {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, now).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        kept == now,
        "{} is out of date: UPDATE_DOCS=1 rewrites it\n{}",
        path.display(),
        first_difference(&kept, now)
    );
}

fn first_difference(kept: &str, now: &str) -> String {
    let lines = kept.lines().zip(now.lines()).enumerate();
    for (number, (kept, now)) in lines {
        if kept != now {
            return format!("line {}:\n- {kept}\n+ {now}", number + 1);
        }
    }
    "one is longer".to_owned()
}

#[test]
fn refused_scenarios_say_why() {
    let path = here("tests/bad_scenarios.txt");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut cases = text.split("=== ");
    let mut now = cases.next().unwrap().to_owned();
    let mut count = 0;
    for case in cases {
        let (title, rest) = case.split_once('\n').unwrap();
        let (scenario, _) = rest.split_once("---\n").unwrap();
        let error = expand("bad.toml", scenario).expect_err(title);
        for problem in &error.problems {
            assert!(scenario.get(problem.span.clone()).is_some(), "{title}: {problem:?}");
        }
        now.push_str(&format!("=== {title}\n{scenario}---\n{error}\n\n"));
        count += 1;
    }
    assert!(count > 60, "{count} cases");
    golden(&path, &now);
}

#[test]
fn the_committed_schema_is_up_to_date() {
    let text = serde_json::to_string_pretty(&json_schema()).unwrap();
    golden(&here("../../schemas/scenario.schema.json"), &(text + "\n"));
}

#[test]
fn the_committed_reference_is_up_to_date() {
    golden(&here("../../docs/reference/scenario.md"), &reference());
}
