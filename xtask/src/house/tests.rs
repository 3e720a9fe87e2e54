//! Counts of a made-up house against its limits.

use std::fs;

use tempfile::TempDir;

use super::{check, lower, report};

fn house(settings: &str) -> TempDir {
    let house = TempDir::new().expect("a temporary folder can be made");
    let long = format!("//! About.\nmod a;\nfn long() {{\n{}}}\n", "    step();\n".repeat(80));
    let files = [
        ("crates/railtwin/src/lib.rs", long.as_str()),
        ("crates/railtwin/src/a.rs", "//! A.\nuse railtwin_evaluation::score::probe;\nuse crate::long;\n"),
        ("README.md", "`crates/railtwin/src/gone.rs`\n"),
        ("xtask/tidy.toml", settings),
    ];
    for (name, text) in files {
        let path = house.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    house
}

#[test]
fn counts_over_their_limit_fail_with_the_offenders() {
    let house = house("[house]\nlong_functions = 0\nscore_imports = 0\ndoc_paths = 0\n");
    let failures = check(house.path()).unwrap().failures.join("\n");
    for wanted in [
        "`long` has 82 lines",
        "a.rs:2: use railtwin_evaluation::score::probe",
        "`crates/railtwin/src/gone.rs` does not exist",
    ] {
        assert!(failures.contains(wanted), "{failures}");
    }
    assert!(report(house.path(), false).unwrap().failures.is_empty());
}

#[test]
fn limits_above_the_counts_are_named_and_lowered() {
    let house = house("[house]\nlong_functions = 3\ndoc_paths = 1\n");
    let found = check(house.path()).unwrap();
    assert!(found.failures.is_empty(), "{:?}", found.failures);
    assert_eq!(found.warnings, ["functions over 70 lines: lower `long_functions` to 1 in xtask/tidy.toml"]);
    lower(house.path()).unwrap();
    let text = fs::read_to_string(house.path().join("xtask/tidy.toml")).unwrap();
    assert_eq!(text, "[house]\nlong_functions = 1\ndoc_paths = 1\n");
}
