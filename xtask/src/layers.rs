//! `layers`: a crate depends only on crates of a strictly lower layer, and low crates touch no outside world.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::findings::Findings;
use crate::manifests::{self, Crate, Kind, Layer};
use crate::rust_text::{WithLiterals, live_code};

/// The highest layer that a crate beside the house may look at: the façade.
const HIGHEST_FOR_BESIDE: u8 = 6;
/// From here up, a crate may touch files, clocks and the terminal.
const FIRST_WORLDLY_LAYER: u8 = 6;
/// The one crate below that layer which reads and writes files.
const FILES_CRATE: &str = "railtwin-store";

/// A foreign dependency that only some crates may have.
struct Fence {
    /// The package, or with a trailing `*` every package that starts so.
    package: &'static str,
    crates: &'static [&'static str],
    reason: &'static str,
}

const ARROW_CRATES: &[&str] = &["railtwin-store", "railtwin-live", "railtwin-python"];
const SOCKET_CRATES: &[&str] = &["railtwin-live", "railtwin-cli", "railtwin-python"];

const FENCES: &[Fence] = &[
    Fence { package: "pyo3*", crates: &["railtwin-python"], reason: "the core stands without Python" },
    Fence {
        package: "arrow*",
        crates: ARROW_CRATES,
        reason: "Arrow is slow to build and serves the borders only",
    },
    Fence { package: "tokio*", crates: SOCKET_CRATES, reason: "sockets from layer 7 up only" },
    Fence { package: "axum*", crates: SOCKET_CRATES, reason: "sockets from layer 7 up only" },
    Fence { package: "hyper*", crates: SOCKET_CRATES, reason: "sockets from layer 7 up only" },
    Fence { package: "reqwest", crates: SOCKET_CRATES, reason: "sockets from layer 7 up only" },
];

/// A word that layers 0 to 5 may not have in live code.
struct WorldlyWord {
    word: &'static str,
    files: bool,
    remedy: &'static str,
}

const WORLDLY_WORDS: &[WorldlyWord] = &[
    WorldlyWord { word: "fs::", files: true, remedy: "take bytes or a reader as an argument" },
    WorldlyWord { word: "std::fs", files: true, remedy: "take bytes or a reader as an argument" },
    WorldlyWord { word: "File::open", files: true, remedy: "take a reader as an argument" },
    WorldlyWord { word: "File::create", files: true, remedy: "take a writer as an argument" },
    WorldlyWord { word: "Instant::now", files: false, remedy: "take the time as an argument" },
    WorldlyWord { word: "SystemTime::now", files: false, remedy: "take the time as an argument" },
    WorldlyWord { word: "println!", files: false, remedy: "return the text" },
    WorldlyWord { word: "print!", files: false, remedy: "return the text" },
    WorldlyWord { word: "eprintln!", files: false, remedy: "return an error" },
    WorldlyWord { word: "eprint!", files: false, remedy: "return an error" },
    WorldlyWord { word: "thread_rng", files: false, remedy: "take a named random stream" },
    WorldlyWord { word: "rand::rng", files: false, remedy: "take a named random stream" },
];

/// Checks the crates below `root`.
///
/// # Errors
/// When the crates cannot be listed.
pub fn check(root: &Path) -> Result<Findings, String> {
    let (crates, problems) = manifests::read(root)?;
    let mut findings = Findings { failures: problems, ..Findings::default() };
    findings.story.extend(table(&crates));
    let layer_of: BTreeMap<&str, Layer> = crates.iter().map(|c| (c.name.as_str(), c.layer)).collect();
    for from in &crates {
        for dependency in &from.dependencies {
            if let Some(to) = layer_of.get(dependency.name.as_str()) {
                check_edge(from, &dependency.name, *to, dependency.kind, &mut findings);
            }
            check_fences(from, &dependency.name, &mut findings);
        }
        if matches!(from.layer, Layer::Storey(n) if n < FIRST_WORLDLY_LAYER) {
            check_sources(root, from, &mut findings)?;
        }
    }
    Ok(findings)
}

fn table(crates: &[Crate]) -> Vec<String> {
    let width = crates.iter().map(|c| c.name.len()).max().unwrap_or(0);
    let mut lines = vec![format!("{:<6}  {:<width$}  depends on", "layer", "crate")];
    for one in crates {
        let ours: Vec<&str> = one
            .dependencies
            .iter()
            .filter(|d| d.kind == Kind::Normal && crates.iter().any(|c| c.name == d.name))
            .map(|d| d.name.strip_prefix("railtwin-").unwrap_or(&d.name))
            .collect();
        let line = format!("{:<6}  {:<width$}  {}", one.layer.to_string(), one.name, ours.join(", "));
        lines.push(line.trim_end().to_owned());
    }
    lines
}

fn check_edge(from: &Crate, to_name: &str, to: Layer, kind: Kind, findings: &mut Findings) {
    let (allowed, rule) = match (kind, from.layer, to) {
        (Kind::Dev, _, Layer::Beside) => (true, ""),
        (Kind::Dev, Layer::Beside, _) => (true, ""),
        (Kind::Dev, Layer::Storey(own), Layer::Storey(other)) => {
            (other <= own, "a dev-dependency may not look at a higher layer")
        }
        (Kind::Normal, _, Layer::Beside) => (false, "a crate beside the house may be a dev-dependency only"),
        (Kind::Normal, Layer::Beside, Layer::Storey(other)) => {
            (other <= HIGHEST_FOR_BESIDE, "a crate beside the house may look at layers 0 to 6 only")
        }
        (Kind::Normal, Layer::Storey(own), Layer::Storey(other)) => {
            (other < own, "a dependency must be of a strictly lower layer")
        }
    };
    if !allowed {
        findings
            .fail(format!("{} (layer {}) depends on {to_name} (layer {to}): {rule}", from.name, from.layer));
    }
}

fn check_fences(from: &Crate, dependency: &str, findings: &mut Findings) {
    for fence in FENCES {
        let hit = match fence.package.strip_suffix('*') {
            Some(start) => dependency.starts_with(start),
            None => dependency == fence.package,
        };
        if hit && !fence.crates.contains(&from.name.as_str()) {
            findings.fail(format!(
                "{} (layer {}) depends on {dependency}, which only {} may have: {}",
                from.name,
                from.layer,
                fence.crates.join(", "),
                fence.reason
            ));
        }
    }
}

fn check_sources(root: &Path, from: &Crate, findings: &mut Findings) -> Result<(), String> {
    for path in rust_files(&from.folder.join("src"))? {
        let source = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        for (index, line) in live_code(&source, WithLiterals(false)).lines().enumerate() {
            let banned = WORLDLY_WORDS
                .iter()
                .find(|w| (!w.files || from.name != FILES_CRATE) && has_word(line, w.word));
            if let Some(banned) = banned {
                findings.fail(format!(
                    "{shown}:{}: `{}` in {} (layer {}): {}",
                    index + 1,
                    banned.word,
                    from.name,
                    from.layer,
                    banned.remedy
                ));
            }
        }
    }
    Ok(())
}

/// Whether `word` stands in `line` without being the tail of a longer identifier.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word)
        .any(|(at, _)| !line[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_'))
}

/// Every `.rs` file below `folder` that holds live code: not `tests.rs`, nothing in a `tests` folder.
fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = open.pop() {
        let entries = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let is_tests = path.file_stem().is_some_and(|stem| stem == "tests");
            if is_tests {
                continue;
            }
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests;
