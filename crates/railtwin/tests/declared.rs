//! What runs make is what is declared, and the reference of figures is made from the declarations.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::path::{Path, PathBuf};

use railtwin::figures::declared::{By, Scope, declared};
use railtwin::figures::{of_a_run, reference};
use railtwin::{Question, Run};
use railtwin_scenario::EngineName;

/// What is wrong with the figures of a run, one line each: not declared, or with another unit, engine or job.
pub fn undeclared(run: &Run) -> Vec<String> {
    let several = run.resolved.case.work.jobs.len() > 1;
    let wrong = |figure: &railtwin_store::Figure| {
        let Some(of) = declared(&figure.name) else { return Some("is not declared") };
        let has_job = figure.name.contains('.');
        match of.scope {
            _ if figure.unit != of.unit.name() => Some("has another unit"),
            _ if of.by == By::Packet && run.info.engine != "packet" => Some("is of the packet engine"),
            _ if of.by == By::Diagnosis && run.telemetry.is_none() => Some("is of diagnosis"),
            Scope::Sweep => Some("is of a sweep"),
            Scope::Job | Scope::AllJobs if has_job != several => Some("has a job in its name, or has none"),
            Scope::Run | Scope::Fabric if has_job => Some("is of no job"),
            _ => None,
        }
    };
    let lines = run.info.figures.iter().filter_map(|figure| Some((figure, wrong(figure)?)));
    lines.map(|(figure, what)| format!("{}: {} {what}", run.info.name, figure.name)).collect()
}

fn scenario(path: &str, engine: EngineName) -> Run {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(path);
    let question = Question::read(&path).unwrap().with_engine(Some(engine));
    let mut point = question.points().unwrap().remove(0);
    point.scenario.expect.clear();
    Run::of(question.resolve(&point.scenario).unwrap(), &|| ())
}

/// One run of each kind; the tests of scenarios hold the figures of all that they run against the declarations too.
#[test]
fn every_figure_of_a_run_is_declared_with_its_unit() {
    let runs = [
        ("smallest/llama-7b-zero.toml", EngineName::Flow),
        ("smallest/nic-port-down.toml", EngineName::Flow),
        ("smallest/nic-port-down.toml", EngineName::Packet),
        ("regressions/drawn-failures.toml", EngineName::Flow),
        ("regressions/find-slow-cable.toml", EngineName::Flow),
        ("regressions/neighbor-at-the-end.toml", EngineName::Flow),
        ("papers/hpn.toml", EngineName::Flow),
        ("papers/spine-loss.toml", EngineName::Flow),
    ];
    let wrong: Vec<String> =
        runs.into_iter().flat_map(|(path, engine)| undeclared(&scenario(path, engine))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_page_is_told_which_way_is_better_and_the_run_folder_is_not() {
    let run = scenario("regressions/neighbor-at-the-end.toml", EngineName::Flow);
    assert!(of_a_run(&run.info.figures));
    let payload = run.payload().unwrap();
    let told = payload["figures"].as_array().unwrap();
    assert_eq!(told.len(), run.info.figures.len());
    for (told, figure) in told.iter().zip(&run.info.figures) {
        let of = declared(&figure.name).unwrap();
        assert_eq!(told["better"].as_str().unwrap_or("neither"), of.better.name(), "{}", figure.name);
        let mut bare = told.clone();
        bare.as_object_mut().unwrap().retain(|key, _| key != "better" && key != "plain");
        assert_eq!(bare, serde_json::to_value(figure).unwrap());
    }
    let plain = |name: &str| told.iter().find(|figure| figure["name"] == name).unwrap()["plain"] == true;
    assert!(plain("leaf_uplink_max_mean_ratio") && !plain("worst_link_utilization"));
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/figures.md")
}

#[test]
fn the_reference_is_what_is_declared() {
    let kept = std::fs::read_to_string(page()).unwrap();
    let now = reference::with_tables(&kept).expect("the page has its marks");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(page(), &now).unwrap();
        return;
    }
    assert!(
        kept == now,
        "docs/reference/figures.md is old: UPDATE_DOCS=1 cargo test -p railtwin --test all declared"
    );
}

/// What is written by hand names figures that there are.
#[test]
fn the_words_of_the_reference_name_figures_that_there_are() {
    let text = std::fs::read_to_string(page()).unwrap();
    let by_hand = text.split("## All figures").next().unwrap();
    let quoted = by_hand.split('`').skip(1).step_by(2);
    let is_name =
        |word: &&str| word.contains('_') && word.chars().all(|c| c.is_ascii_lowercase() || "_.".contains(c));
    let names: Vec<&str> = quoted.filter(is_name).collect();
    assert!(names.len() > 10, "{names:?}");
    let unknown: Vec<&str> = names.into_iter().filter(|name| declared(name).is_none()).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
