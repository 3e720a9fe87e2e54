//! Each rule of `tidy` fails on a bad file and passes on a good one, in a small made-up repository.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

use super::{LARGEST_BLOB, check};
use crate::findings::Findings;

fn findings_of(files: &[(&str, &str)]) -> Findings {
    let house = house(files);
    check(house.path()).expect("the house can be read")
}

fn house(files: &[(&str, &str)]) -> TempDir {
    let house = TempDir::new().expect("a temporary folder can be made");
    for (name, text) in files {
        let path = house.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    house
}

/// Asserts that the file breaks exactly the one rule.
fn breaks(rule: &str, files: &[(&str, &str)]) {
    let failures = findings_of(files).failures;
    assert_eq!(failures.len(), 1, "{files:?}: {failures:?}");
    assert!(failures[0].ends_with(&format!("[{rule}]")), "{}", failures[0]);
}

fn passes(files: &[(&str, &str)]) {
    let findings = findings_of(files);
    assert!(findings.failures.is_empty(), "{:?}", findings.failures);
}

fn code_of_lines(count: usize) -> String {
    format!("//! About.\n{}", "// line\n".repeat(count - 1))
}

#[test]
fn long_files_warn_then_fail_unless_generated_or_waived() {
    assert!(findings_of(&[("a.rs", &code_of_lines(500))]).warnings.is_empty());
    let warned = findings_of(&[("a.rs", &code_of_lines(501))]);
    assert_eq!((warned.warnings.len(), warned.failures.len()), (1, 0));
    assert!(findings_of(&[("a.rs", &code_of_lines(800))]).failures.is_empty());
    let long = code_of_lines(801);
    breaks("length", &[("a.svelte", &long)]);
    passes(&[("web/generated/a.ts", &long), ("a.csv", &long)]);
    let waiver = "[[waiver]]\nfile = \"a.rs\"\nrule = \"length\"\nreason = \"one long table\"\n";
    passes(&[("a.rs", &long), ("xtask/tidy.toml", waiver)]);
}

#[test]
fn waivers_need_a_reason_and_a_use() {
    let idle = "[[waiver]]\nfile = \"a.rs\"\nrule = \"length\"\nreason = \"one long table\"\n";
    let failures = findings_of(&[("a.rs", "//! About.\n"), ("xtask/tidy.toml", idle)]).failures;
    assert!(failures[0].contains("spares nothing"), "{failures:?}");
    let mute =
        house(&[("xtask/tidy.toml", "[[waiver]]\nfile = \"a.rs\"\nrule = \"length\"\nreason = \"\"\n")]);
    assert!(check(mute.path()).unwrap_err().contains("give a reason"));
    let unknown = house(&[("xtask/tidy.toml", "[[waver]]\nfile = \"a.rs\"\n")]);
    assert!(check(unknown.path()).unwrap_err().contains("waver"));
}

#[test]
fn wide_lines_fail_and_only_warn_in_svelte() {
    let wide = format!("// {}\n", "ü".repeat(138));
    passes(&[("a.rs", &format!("// {}\n", "ü".repeat(137))), ("a.md", &wide)]);
    breaks("width", &[("a.rs", &wide)]);
    breaks("width", &[("a.ts", &wide)]);
    let svelte = findings_of(&[("a.svelte", &wide)]);
    assert_eq!((svelte.warnings.len(), svelte.failures.len()), (1, 0));
}

#[test]
fn names_say_what_the_file_is_about() {
    breaks("name", &[("src/utils.rs", "//! About.\n")]);
    breaks("name", &[("docs/FlowManager.md", "About.\n")]);
    passes(&[("src/flow.rs", "//! About.\n")]);
}

#[test]
fn first_lines_are_comments() {
    breaks("first-line", &[("a.rs", "\nuse std::fmt;\n")]);
    breaks("first-line", &[("a.rs", "#![allow(x)]\n")]);
    breaks("first-line", &[("a.py", "import os\n")]);
    breaks("first-line", &[("a.ts", "export {}\n")]);
    passes(&[("a.rs", "\n// About.\n"), ("a.py", "\"\"\"About.\"\"\"\n"), ("b.py", "#!/bin/python\n")]);
    passes(&[("a.ts", "/* About. */\n"), ("empty.py", ""), ("generated/a.ts", "export {}\n")]);
}

#[test]
fn debts_carry_an_issue_number() {
    let debt = concat!("TO", "DO");
    breaks("debt", &[("a.rs", &format!("// {debt}: later\n"))]);
    breaks("debt", &[("Makefile", &format!("# {debt}\n"))]);
    passes(&[("a.rs", &format!("// {debt}(#7): later\n")), ("a.md", debt)]);
}

#[test]
fn banned_texts_fail_in_every_text_file_but_their_list() {
    let list = "[[banned]]\ntext = \"/attic/\"\nleading = true\nreason = \"a machine path\"\n";
    for file in ["a.md", "a.toml", "deep/a.json"] {
        breaks("banned", &[(file, "see /attic/box"), ("xtask/tidy.toml", list)]);
    }
    passes(&[("a.md", "see house/attic/box"), ("binary", "\0 /attic/box"), ("xtask/tidy.toml", list)]);
}

#[test]
fn large_files_live_in_data_folders() {
    let large = " ".repeat(LARGEST_BLOB as usize + 1);
    breaks("size", &[("a.csv", &large)]);
    passes(&[("a.csv", &large[1..])]);
    passes(&[("data/a.csv", &large), ("xtask/tidy.toml", "data_folders = [\"data/\"]\n")]);
}

#[test]
fn links_point_at_files_that_exist() {
    breaks("link", &[("docs/a.md", "[b](b.md)\n")]);
    breaks("link", &[("docs/a.md", "[b](/b.md#part)\n")]);
    passes(&[("docs/a.md", "[b](../b.md#part) [c](/b.md) [d](https://e.f/g) [h](.)\n"), ("b.md", "B.\n")]);
}

#[test]
fn lock_files_name_public_sources_only() {
    let good = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
    passes(&[("Cargo.lock", good)]);
    breaks("lock", &[("fuzz/Cargo.lock", "source = \"sparse+https://mirror.example/index/\"\n")]);
    passes(&[("uv.lock", "source = { registry = \"https://pypi.org/simple\" }\n")]);
    breaks("lock", &[("uv.lock", "source = { registry = \"https://mirror.example/simple\" }\n")]);
}

#[test]
fn foreign_dependencies_say_why() {
    let manifest = "[workspace.dependencies]\nours = { path = \"ours\" }\ntoml = { version = \"1\" }\n";
    passes(&[("Cargo.toml", manifest), ("docs/dependencies.md", "| `toml` | scenarios |\n")]);
    breaks("dependency", &[("Cargo.toml", manifest), ("docs/dependencies.md", "| `tom` | scenarios |\n")]);
}

#[test]
fn changelog_sections_are_known_and_in_order() {
    let good =
        "# Changelog\n## 0.2\n### Changed results\n### Added\n### Faster\n## 0.1\n### Breaking\n### Added\n";
    passes(&[("CHANGELOG.md", good)]);
    breaks("changelog", &[("CHANGELOG.md", "## 0.1\n### Fixed\n### Added\n")]);
    breaks("changelog", &[("CHANGELOG.md", "## 0.1\n### Added\n### Added\n")]);
    breaks("changelog", &[("CHANGELOG.md", "## 0.1\n### Improved\n")]);
}

#[test]
fn where_git_is_only_tracked_files_count() {
    let house = house(&[("utils.rs", "//! About.\n"), ("misc.rs", "//! About.\n")]);
    let git = |arguments: &[&str]| {
        let done = Command::new("git").arg("-C").arg(house.path()).args(arguments).output();
        assert!(done.expect("git can be run").status.success());
    };
    git(&["init", "-q"]);
    assert!(check(house.path()).unwrap().failures.is_empty());
    git(&["add", "utils.rs"]);
    let failures = check(house.path()).unwrap().failures;
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert!(failures[0].starts_with("utils.rs"));
}
