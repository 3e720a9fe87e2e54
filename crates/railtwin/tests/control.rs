//! Controllers in the run: both engines see the same decisions at the same times, on any number of threads, and each
//! delay of the loop changes when they hold.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::path::Path;

use railtwin::engines::engine;
use railtwin::{Question, Resolved, Run};
use railtwin_engine::{ActionRow, RunLog};
use railtwin_records::ColumnData;
use railtwin_scenario::EngineName;
use railtwin_units::SimTime;

/// Eight hosts behind four leaves, one of whose spines is down for a while.
pub(crate) fn scene(routing: &str, control: &str) -> String {
    format!(
        "schema = 1\nname = \"loop\"\nseed = 7\n[fabric]\npreset = \"leaf-spine\"\nleaves = 4\n\
         hosts_per_leaf = 2\nuplinks = 4\nparallel = 1\nrails_per_leaf = 1\nchip = \"51200 Gbps\"\n\
         host = {{ model = \"plain\" }}\n[routing]\nqueue_pairs = 2\n{routing}\n[control]\n{control}\n\
         [reaction]\ndetection = \"1 us\"\nlag_failover = \"5 us\"\necmp_regroup = \"3 us\"\n\
         withdrawal = \"5 us\"\nconvergence = \"20 us\"\n[transport]\ntimeout = 4\n\
         [[job]]\nname = \"one\"\nplacement = {{ hosts = [0, 2, 4, 6] }}\n\
         collective = {{ kind = \"all-reduce\", bytes = \"8 MB\", algorithm = \"ring\" }}\n\
         [[job]]\nname = \"two\"\nplacement = {{ hosts = [1, 3, 5, 7] }}\n\
         collective = {{ kind = \"all-to-all\", bytes = \"6 MB\" }}\n\
         [[fault]]\nat = \"40 us\"\nuntil = \"150 us\"\nspine = \"spine-2\"\nkind = \"down\"\n"
    )
}

pub(crate) fn resolved(text: &str, engine: EngineName) -> Resolved {
    let question = Question::of_text("loop.toml", text, Path::new(".")).with_engine(Some(engine));
    let points = question.points().unwrap_or_else(|error| panic!("{error}\n{text}"));
    question.resolve(&points[0].scenario).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn log_of(text: &str, name: EngineName, threads: u32) -> RunLog {
    engine(name, threads).run(&resolved(text, name).case, 0)
}

/// Decisions up to a time.
fn until(log: &RunLog, end: SimTime) -> Vec<ActionRow> {
    log.actions.iter().copied().filter(|action| action.decided <= end).collect()
}

fn late(log: &RunLog) -> impl Iterator<Item = &ActionRow> {
    log.actions.iter().filter(|action| action.decided > SimTime::ZERO)
}

#[test]
fn both_engines_see_the_same_decisions_at_the_same_times() {
    let delays = "report = \"4 us\"\nprogramming = \"6 us\"";
    for balancer in ["c4p", "te", "disjoint"] {
        for replan in
            ["replan = \"once\"", "replan = \"every\"\nreplan_time = \"30 us\"", "replan = \"never\""]
        {
            let text = scene(&format!("balancer = \"{balancer}\"\n{replan}"), delays);
            let flows = log_of(&text, EngineName::Flow, 1);
            let packets = log_of(&text, EngineName::Packet, 1);
            assert_eq!(packets, log_of(&text, EngineName::Packet, 2), "{balancer} {replan}");
            let both = flows.end.min(packets.end);
            assert!(both > SimTime::from_ns(200_000), "{both}");
            assert_eq!(until(&flows, both), until(&packets, both), "{balancer} {replan}");
            assert!(!flows.actions.is_empty());
            assert_eq!(late(&flows).next().is_none(), replan.contains("never"), "{balancer} {replan}");
            for action in late(&flows) {
                assert_eq!(action.effective, action.decided + SimTime::from_ns(6_000), "{action:?}");
            }
        }
    }
}

#[test]
fn decisions_wait_for_reports_periods_and_writes() {
    let first = |control: &str, replan: &str| {
        let log = log_of(&scene(&format!("balancer = \"c4p\"\n{replan}"), control), EngineName::Flow, 1);
        let first = *late(&log).next().expect("a spine died");
        (first.decided, first.effective)
    };
    let us = |us: u64| SimTime::from_ns(us * 1_000);
    // Leaves leave the dead spine out 4 us after it died.
    assert_eq!(first("", "replan = \"once\""), (us(44), us(44)));
    assert_eq!(first("report = \"7 us\"", "replan = \"once\""), (us(51), us(51)));
    assert_eq!(first("programming = \"9 us\"", "replan = \"once\""), (us(44), us(53)));
    assert_eq!(first("report = \"7 us\"", "replan = \"once\"\nreplan_time = \"5 us\""), (us(56), us(56)));
    assert_eq!(
        first("programming = \"2 us\"", "replan = \"every\"\nreplan_time = \"50 us\""),
        (us(50), us(52))
    );
}

#[test]
fn the_table_of_a_run_tells_every_decision() {
    let text = scene("balancer = \"te\"\nreplan = \"once\"", "programming = \"2 us\"");
    let run = Run::of(resolved(&text, EngineName::Flow), &|| ());
    let tables = run.tables();
    let table = tables.iter().find(|table| table.name == "actions").expect("a run has its actions");
    let texts = |name: &str| -> Vec<String> {
        let column = table.columns.iter().find(|column| column.name == name).unwrap();
        match &column.data {
            ColumnData::Text { dictionary, codes } => {
                codes.iter().map(|&code| dictionary[code as usize].clone()).collect()
            }
            other => panic!("{other:?}"),
        }
    };
    let (controllers, actions, subjects) = (texts("controller"), texts("action"), texts("subject"));
    assert!(controllers.iter().all(|name| name == "te"));
    assert!(actions.iter().any(|name| name == "entry-replace"), "{actions:?}");
    // What was placed at the start is one row; later each entry is one, with its uplinks before and after.
    assert!(subjects[0].ends_with(" entries"), "{subjects:?}");
    let replaced = actions.iter().position(|name| name == "entry-replace").unwrap();
    let (before, after) = (&texts("before")[replaced], &texts("after")[replaced]);
    assert!(before != after && before.contains("leaf-") && after.contains("leaf-"), "{before} {after}");
}

#[test]
fn keys_of_controllers_that_nobody_goes_by_are_told() {
    let text = scene("balancer = \"ecmp\"\nreplan = \"once\"", "report = \"4 us\"\nentries = 3");
    let warnings = resolved(&text, EngineName::Flow).case.warnings;
    let told = "routing.replan, control.report and control.entries change nothing under balancer ecmp";
    assert!(warnings.iter().any(|warning| warning == told), "{warnings:?}");
    let text = scene("balancer = \"c4p\"", "lost_writes = 0.5");
    let warnings = resolved(&text, EngineName::Flow).case.warnings;
    let told = "control.lost_writes changes nothing under balancer c4p";
    assert!(warnings.iter().any(|warning| warning == told), "{warnings:?}");
}
