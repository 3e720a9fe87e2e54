//! `idle`: public items that nothing but their tests reads. A decision that no run asks for is not done, whatever its
//! tests say.
//!
//! Items of `railtwin-control` must be named by live code that something outside of the crate reaches. Items of all other
//! crates must be named by any live code beside their declaration; how many are not is limited by the settings.
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::findings::Findings;
use crate::rust_text::live_code;
use crate::settings::{self, Settings};

/// The crate whose items are looked at most closely.
const CRATE: &str = "crates/railtwin-control/src";
/// Words after `pub` that begin an item of its own name.
const ITEMS: [&str; 6] = ["fn", "struct", "enum", "trait", "type", "const"];

/// A source: where it stands and its live code without imports.
struct Source {
    name: String,
    code: String,
    is_own: bool,
}

/// Checks that each public item is named in live code beside its declaration, and in [`CRATE`] that its file is
/// reached: from another crate, or from a file of this one that is. Items are told by name: one that bears the name of
/// another passes with it.
///
/// # Errors
/// When a source or the settings cannot be read.
pub fn check(root: &Path) -> Result<Findings, String> {
    let settings = Settings::read(root)?;
    let mut sources = Vec::new();
    for file in files(&root.join("crates"))? {
        let name = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        let text = fs::read_to_string(&file).map_err(|error| format!("{name}: {error}"))?;
        let is_own = name.starts_with(CRATE);
        sources.push(Source { name, code: without_imports(&live_code(&text)), is_own });
    }
    let reached = reached(&sources);
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    for (source, _) in sources.iter().zip(&reached).filter(|(_, reached)| **reached) {
        words_of(&source.code).for_each(|word| *uses.entry(word).or_default() += 1);
    }
    let mut uses_of_all: BTreeMap<&str, usize> = BTreeMap::new();
    for source in &sources {
        words_of(&source.code).for_each(|word| *uses_of_all.entry(word).or_default() += 1);
    }
    let mut findings = Findings::default();
    let mut waived: BTreeSet<&str> = settings.idle.iter().map(|one| one.item.as_str()).collect();
    let (mut count, mut elsewhere) = (0, Vec::new());
    for source in &sources {
        let uses = if source.is_own { &uses } else { &uses_of_all };
        for (line, item, _) in public_items(&source.code) {
            count += 1;
            if uses.get(item).is_some_and(|&count| count > 1) {
                continue;
            }
            waived.remove(item);
            if !settings.idle.iter().any(|one| one.item == item) {
                let place = format!("{}:{line}", source.name);
                let told = format!("{place}: nothing but tests reads `{item}` [idle]");
                if source.is_own { &mut findings.failures } else { &mut elsewhere }.push(told);
            }
        }
    }
    for item in waived {
        findings.failures.push(format!("{}: `{item}` is read or gone; strike its line", settings::FILE));
    }
    let limit = settings.house.idle_elsewhere.unwrap_or(0);
    findings.story.push(format!(
        "{count} public items looked at; {} of other crates are read by tests alone (limit {limit}, which may only fall)",
        elsewhere.len()
    ));
    if elsewhere.len() > limit {
        findings.failures.append(&mut elsewhere);
    }
    Ok(findings)
}

/// Which sources are live: those of other crates, and of this one those of which a live one names a type or a function.
fn reached(sources: &[Source]) -> Vec<bool> {
    let words: Vec<BTreeSet<&str>> = sources.iter().map(|source| words_of(&source.code).collect()).collect();
    let mut reached: Vec<bool> = sources.iter().map(|source| !source.is_own).collect();
    // A name that two sources declare tells of neither.
    let mut declared: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, item, _) in sources.iter().flat_map(|source| items(&source.code)) {
        *declared.entry(item).or_default() += 1;
    }
    loop {
        let mut found = Vec::new();
        for (row, source) in sources.iter().enumerate().filter(|&(row, _)| !reached[row]) {
            let mut items = shown_items(&source.code).filter(|(_, item, free)| *free && declared[item] == 1);
            let is_named = |item: &str| {
                (0..sources.len()).any(|other| other != row && reached[other] && words[other].contains(item))
            };
            if items.any(|(_, item, _)| is_named(item)) || is_addition(source, &reached, sources) {
                found.push(row);
            }
        }
        if found.is_empty() {
            return reached;
        }
        found.into_iter().for_each(|row| reached[row] = true);
    }
}

/// Whether a source only adds methods to a type of a live one: it is as live as that.
fn is_addition(source: &Source, reached: &[bool], sources: &[Source]) -> bool {
    public_items(&source.code).all(|(.., is_free)| !is_free)
        && sources.iter().zip(reached).any(|(other, reached)| {
            *reached
                && other.is_own
                && public_items(&other.code)
                    .any(|(_, item, is_free)| is_free && source.code.contains(&format!("impl {item}")))
        })
}

/// Sources of the crates, without tests and benches, in order.
fn files(crates: &Path) -> Result<Vec<PathBuf>, String> {
    let mut folders = vec![crates.to_path_buf()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for entry in entries {
            let path = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && !matches!(name.as_str(), "tests" | "benches" | "fuzz" | "railtwin-testkit") {
                folders.push(path);
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Code with `use` declarations blanked: an import alone reads nothing.
fn without_imports(code: &str) -> String {
    let mut kept = String::with_capacity(code.len());
    let mut inside = false;
    for line in code.lines() {
        let begins = line.trim_start();
        inside |= begins.starts_with("use ") || begins.starts_with("pub use ");
        if inside {
            inside = !line.contains(';');
        } else {
            kept.push_str(line);
        }
        kept.push('\n');
    }
    kept
}

fn words_of(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// Line and name of what is `pub` for other crates, and whether it stands outside of any block.
fn public_items(code: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    items(code).filter(|(line, ..)| {
        code.lines().nth(line - 1).is_some_and(|text| text.trim_start().starts_with("pub "))
    })
}

/// The same of items that other files may name, those of the crate alone among them.
fn shown_items(code: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    items(code).filter(|(line, ..)| {
        code.lines().nth(line - 1).is_some_and(|text| text.trim_start().starts_with("pub"))
    })
}

/// The same of all items, public or not.
fn items(code: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    (1..).zip(code.lines()).filter_map(|(line, text)| {
        let rest = text.trim_start();
        let shown = ["pub ", "pub(crate) ", "pub(super) "].iter().find_map(|shown| rest.strip_prefix(shown));
        let rest = shown.unwrap_or(rest);
        let is_free = !text.starts_with(' ');
        let mut words = words_of(rest).skip_while(|word| matches!(*word, "async" | "unsafe"));
        let first = words.next()?;
        let second = words.next()?;
        match (ITEMS.contains(&first), first, second) {
            (true, "const", "fn") => Some((line, words.next()?, is_free)),
            (true, ..) => Some((line, second, is_free)),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_found_and_imports_read_nothing() {
        let code = "pub struct Held;\npub(super) fn own() {}\npub const fn held() {}\n    pub fn take(&self) {}\n\
                    pub const LIMIT: u32 = 1;\npub use a::{\n    Held,\n};\nuse b::take;\nlet a = take(LIMIT);\n";
        let items: Vec<_> = public_items(code).collect();
        let expected = [(1, "Held", true), (3, "held", true), (4, "take", false), (5, "LIMIT", true)];
        assert_eq!(items, expected);
        let kept = without_imports(code);
        let uses = |word: &str| words_of(&kept).filter(|one| *one == word).count();
        assert_eq!((uses("Held"), uses("take"), uses("LIMIT")), (1, 2, 2));
    }

    #[test]
    fn an_item_that_only_tests_read_is_told() {
        let root = std::env::temp_dir().join(format!("railtwin-idle-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "crates/railtwin-control/src/lib.rs",
            "pub fn asked() {}\npub fn alone() {}\n#[cfg(test)]\nmod tests {\n    fn t() { super::alone() }\n}\n",
        );
        write("crates/railtwin-control/tests/a.rs", "fn t() { alone() }\n");
        write("crates/other/src/lib.rs", "fn run() { railtwin_control::asked() }\n");
        let findings = check(&root).unwrap();
        let told: Vec<&str> = findings.failures.iter().map(String::as_str).collect();
        assert_eq!(told, ["crates/railtwin-control/src/lib.rs:2: nothing but tests reads `alone` [idle]"]);
        write(
            "xtask/tidy.toml",
            "[[idle]]\nitem = \"alone\"\nreason = \"next week\"\n[[idle]]\nitem = \"asked\"\nreason = \"x\"\n",
        );
        let told = check(&root).unwrap().failures;
        assert_eq!(told, ["xtask/tidy.toml: `asked` is read or gone; strike its line"]);
        fs::remove_dir_all(root).unwrap();
    }
}
