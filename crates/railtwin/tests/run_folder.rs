//! The folder of a run: readable while the run goes on, named by the engine.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use railtwin::run::{begin, id_of};
use railtwin::{Question, Run};
use railtwin_scenario::EngineName;
use railtwin_store::{RunFolder, Status};

#[test]
fn a_run_folder_can_be_read_while_its_run_goes_on() {
    let text = "schema = 1\nname = \"a\"\nrun = { replicates = 3 }\nfabric = { preset = \"fat-tree\", k = 4 }\n\
                job = [{ gpus = 4, collective = { kind = \"all-reduce\", bytes = \"1 MB\" } }]\n";
    let question = Question::of_text("a.toml", text, Path::new("."));
    let point = question.points().unwrap().remove(0);
    let resolved = question.resolve(&point.scenario).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs").join("a");
    let written = begin(&resolved, &path).unwrap();
    let heard = AtomicU32::new(0);
    let run = Run::of(resolved, &|| {
        let folder = RunFolder::open(&path).unwrap();
        let info = folder.info().unwrap();
        assert_eq!((info.status, folder.table_names().unwrap().len()), (Status::Running, 0));
        assert!(info.facts.contains_key("leaf switches"));
        heard.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(heard.into_inner(), 3);
    run.write_into(&written).unwrap();
    let info = written.info().unwrap();
    assert_eq!(info, run.info);
    assert_eq!((info.status, written.table("steps").unwrap().rows()), (Status::Complete, 3));
    assert!(begin(&run.resolved, &path).is_err(), "a folder that is there is not overwritten");
}

#[test]
fn a_run_is_named_by_the_engine_that_runs_it_and_not_by_its_threads() {
    let text = "schema = 1\nname = \"a\"\nfabric = { preset = \"fat-tree\", k = 4 }\n";
    let resolved = |engine, threads| {
        let question = Question::of_text("a.toml", text, Path::new("."));
        let question = question.with_engine(engine).with_threads(threads);
        let point = question.points().unwrap().remove(0);
        question.resolve(&point.scenario).unwrap()
    };
    let [flow, packet] = EngineName::ALL.map(|engine| resolved(Some(engine), 1));
    assert_ne!(id_of(&flow), id_of(&packet));
    assert_eq!(id_of(&flow), id_of(&resolved(None, 1)));
    assert_eq!(id_of(&packet), id_of(&resolved(Some(EngineName::Packet), 2)));
    // Without jobs nothing is simulated.
    for (name, resolved) in [("flow", flow), ("packet", packet)] {
        let run = Run::of(resolved, &|| ());
        assert_eq!((run.info.engine.as_str(), run.resolved.scenario.engine.name()), (name, name));
    }
}
