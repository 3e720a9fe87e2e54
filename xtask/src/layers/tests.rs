//! The layer check on small made-up workspaces: each rule fails on a bad one and passes on a good one.

use std::fs;

use tempfile::TempDir;

use super::check;
use crate::findings::Findings;

/// A made-up workspace in a folder of its own.
struct House(TempDir);

impl House {
    fn new() -> Self {
        Self(TempDir::new().expect("a temporary folder can be made"))
    }

    fn with(self, name: &str, layer: &str, dependencies: &str) -> Self {
        let folder = self.0.path().join("crates").join(name);
        fs::create_dir_all(folder.join("src")).unwrap();
        let manifest = format!(
            "[package]\nname = \"{name}\"\ndescription = \"x\"\n\
             [package.metadata.railtwin]\nlayer = {layer}\n{dependencies}\n"
        );
        fs::write(folder.join("Cargo.toml"), manifest).unwrap();
        fs::write(folder.join("src/lib.rs"), "//! Nothing.\n").unwrap();
        self
    }

    fn source(self, file: &str, text: &str) -> Self {
        let path = self.0.path().join("crates").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn check(&self) -> Findings {
        check(self.0.path()).expect("the house can be read")
    }

    fn one_failure(&self) -> String {
        let mut failures = self.check().failures;
        assert_eq!(failures.len(), 1, "{failures:?}");
        failures.remove(0)
    }
}

#[test]
fn downward_edges_pass_and_the_table_shows_them() {
    let house = House::new()
        .with("low", "0", "")
        .with("high", "3", "[dependencies]\nlow.workspace = true\n[dev-dependencies]\nkit.workspace = true")
        .with("kit", "\"beside\"", "[dependencies]\nhigh = { path = \"../high\" }");
    let findings = house.check();
    assert!(findings.failures.is_empty(), "{:?}", findings.failures);
    assert_eq!(findings.story.len(), 4);
    assert_eq!(findings.story[2], "3       high  low");
}

#[test]
fn upward_and_level_edges_fail_naming_both_layers() {
    let up = House::new().with("a", "2", "[dependencies]\nb.workspace = true").with("b", "4", "");
    let failure = up.one_failure();
    assert!(failure.contains("a (layer 2)") && failure.contains("b (layer 4)"), "{failure}");
    let level = House::new().with("a", "2", "[dependencies]\nb.workspace = true").with("b", "2", "");
    assert!(level.one_failure().contains("strictly lower"));
}

#[test]
fn an_edge_is_seen_below_target_as_build_dependency_and_under_another_name() {
    for section in [
        "[target.'cfg(unix)'.dependencies]\nb = { path = \"../b\" }",
        "[build-dependencies]\nb = { path = \"../b\" }",
        "[dependencies]\nother = { package = \"b\", path = \"../b\" }",
    ] {
        let house = House::new().with("a", "2", section).with("b", "4", "");
        assert!(house.one_failure().contains("b (layer 4)"), "{section}");
    }
}

#[test]
fn dev_dependencies_may_be_level_but_not_upward() {
    let dev = "[dev-dependencies]\nb.workspace = true";
    assert!(House::new().with("a", "2", dev).with("b", "2", "").check().failures.is_empty());
    assert!(House::new().with("a", "2", dev).with("b", "3", "").one_failure().contains("higher layer"));
}

#[test]
fn crates_beside_serve_tests_only_and_look_no_higher_than_the_facade() {
    let used =
        House::new().with("a", "5", "[dependencies]\nkit.workspace = true").with("kit", "\"beside\"", "");
    assert!(used.one_failure().contains("dev-dependency only"));
    let looks = "[dependencies]\nb.workspace = true";
    assert!(House::new().with("kit", "\"beside\"", looks).with("b", "7", "").check().failures.is_empty());
    assert!(
        House::new().with("kit", "\"beside\"", looks).with("b", "8", "").one_failure().contains("0 to 7")
    );
}

#[test]
fn a_layer_must_be_named_and_known() {
    for bad in ["11", "-1", "\"top\"", "1.5"] {
        assert!(House::new().with("a", bad, "").one_failure().contains("accepted: 0 to 10"), "{bad}");
    }
    let house = House::new().source("a/Cargo.toml", "[package]\nname = \"a\"\ndescription = \"x\"\n");
    assert!(house.one_failure().contains("is missing"));
}

#[test]
fn fences_hold_foreign_dependencies_in() {
    let pyo3 = "[dependencies]\npyo3 = \"1\"\narrow-array = \"1\"";
    assert!(House::new().with("railtwin-python", "8", pyo3).check().failures.is_empty());
    assert_eq!(House::new().with("railtwin-cli", "8", pyo3).check().failures.len(), 2);
    let tokio = "[dependencies]\ntokio = \"1\"";
    assert!(House::new().with("railtwin-control", "3", tokio).one_failure().contains("layer 7"));
}

#[test]
fn low_layers_touch_no_file_clock_or_terminal() {
    for bad in [
        "fn f() { std::fs::read(p); }",
        "use std::{fs, io};\nfn f() { fs::read(p); }",
        "fn f() { let t = Instant::now(); }",
        "fn f() { std::time::SystemTime::now(); }",
        "fn f() { println!(\"x\"); }",
    ] {
        let house = House::new().with("a", "5", "").source("a/src/deep/part.rs", bad);
        assert!(house.one_failure().contains("part.rs:"), "{bad}");
        let high = House::new().with("a", "6", "").source("a/src/deep/part.rs", bad);
        assert!(high.check().failures.is_empty(), "{bad}");
    }
}

#[test]
fn tests_comments_and_the_store_may_name_files() {
    let house = House::new()
        .with("a", "0", "")
        .source("a/src/lib.rs", "//! See std::fs.\n#[cfg(test)]\nmod more { fn f() { std::fs::read(p); } }\n")
        .source("a/src/tests.rs", "fn f() { std::fs::read(p); }")
        .source("a/src/tests/one.rs", "fn f() { std::fs::read(p); }");
    assert!(house.check().failures.is_empty());
    let store =
        House::new().with("railtwin-store", "2", "").source("railtwin-store/src/a.rs", "use std::fs::File;");
    assert!(store.check().failures.is_empty());
    let clock = House::new()
        .with("railtwin-store", "2", "")
        .source("railtwin-store/src/a.rs", "fn f() { Instant::now() }");
    assert!(clock.one_failure().contains("Instant::now"));
}
