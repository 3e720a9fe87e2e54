//! What can be read of a run while it goes on.
use std::sync::atomic::{AtomicUsize, Ordering};

use railtwin::{Question, Run};
use railtwin_store::{RunFolder, Status};

const TEXT: &str = r#"
schema = 1
name = "partial"
[run]
replicates = 20
[fabric]
preset = "fat-tree"
k = 4
[[job]]
gpus = 2
collective = { kind = "all-reduce", bytes = "1 GB" }
"#;

#[test]
fn steps_are_there_while_the_run_goes_on_and_whole_at_its_end() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("run");
    let question = Question::of_text("partial.toml", TEXT, home.path());
    let resolved = question.resolve(&question.points().unwrap()[0].scenario).unwrap();
    let folder = railtwin::run::begin(&resolved, &path).unwrap();
    let seen = AtomicUsize::new(0);
    let look = || {
        let reader = RunFolder::open(&path).unwrap();
        assert_eq!(reader.info().unwrap().status, Status::Running);
        let rows = reader.table("steps").map_or(0, |table| table.rows());
        seen.fetch_max(rows, Ordering::Relaxed);
    };
    let run = Run::of_into(resolved, Some(&folder), &look).unwrap();
    assert!((8..20).contains(&seen.load(Ordering::Relaxed)), "{seen:?} rows were seen on the way");
    run.write_into(&folder).unwrap();
    let reader = RunFolder::open(&path).unwrap();
    assert_eq!(
        (reader.table("steps").unwrap().rows(), reader.info().unwrap().status),
        (20, Status::Complete)
    );
    for name in ["exposed", "operations", "flows", "links", "incidents"] {
        assert!(reader.table(name).is_ok(), "{name}");
    }
}
