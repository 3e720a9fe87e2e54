//! `tidy`: the shape of every tracked file: length, width, name, first line, words, size, links, changelog.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::findings::Findings;
use crate::links;
use crate::settings::{self, Settings};
use crate::sources::slashed;
use crate::words;

/// A file of more lines deserves a second look.
const LINES_TO_WARN: usize = 500;
/// A file of more lines is about more than one thing.
const LINES_TO_FAIL: usize = 800;
/// Characters in a line that still fit beside another window.
const LINE_WIDTH: usize = 140;
/// Bytes that a tracked file may have outside the data folders: a clone should stay quick.
const LARGEST_BLOB: u64 = 1 << 20;
/// How much of a file is looked at to tell text from binary.
const PROBE: usize = 8000;
/// Sections of a release in CHANGELOG.md, in this order: what a reader must know first comes first.
const CHANGELOG_SECTIONS: [&str; 5] = ["Changed results", "Breaking", "Added", "Fixed", "Faster"];
/// The sources that lock files may name; anything else is a mirror which others cannot reach.
const LOCK_SOURCES: &[(&str, &str, &str)] = &[
    ("Cargo.lock", "source = \"", "registry+https://github.com/rust-lang/crates.io-index\""),
    ("uv.lock", "registry = \"", "https://pypi.org/simple\""),
];
/// Where each foreign dependency has a line that says why.
const DEPENDENCY_LIST: &str = "docs/dependencies.md";
/// Folders passed over where the files are not listed by git.
const UNTRACKED_FOLDERS: &[&str] =
    &[".git", "target", "node_modules", ".venv", "runs", "dist", "__pycache__", ".demo", ".hypothesis"];

/// What a rule found: its name, the line (from 1) if it is about one, and the message.
struct Breach {
    rule: &'static str,
    line: Option<usize>,
    message: String,
}

fn breach(rule: &'static str, line: Option<usize>, message: impl Into<String>) -> Breach {
    Breach { rule, line, message: message.into() }
}

/// Checks every tracked file below `root`.
///
/// # Errors
/// When the settings or a tracked file cannot be read.
pub fn check(root: &Path) -> Result<Findings, String> {
    let settings = Settings::read(root)?;
    let files = tracked_files(root)?;
    let mut findings = Findings::default();
    let mut used = vec![false; settings.waiver.len()];
    for file in &files {
        let path = root.join(file);
        if !path.is_file() || path.is_symlink() {
            continue; // deleted but not yet committed, or a link whose target is checked by itself
        }
        let bytes = fs::read(&path).map_err(|e| format!("{file}: {e}"))?;
        let mut breaches = about_file(file, bytes.len() as u64, &settings);
        if let Some(text) = as_text(&bytes) {
            about_text(root, file, text, &settings, &mut breaches);
            if needs_a_second_look(file, text) {
                findings.warn(format!("{file}: {} lines: is it about one thing?", text.lines().count()));
            }
        }
        for breach in breaches {
            let waiver = settings.waiver.iter().position(|w| w.file == *file && w.rule == breach.rule);
            match waiver {
                Some(at) => used[at] = true,
                None if is_wide_svelte(file, breach.rule) => findings.warn(shown(file, &breach)),
                None => findings.fail(shown(file, &breach)),
            }
        }
    }
    for (waiver, _) in settings.waiver.iter().zip(used).filter(|(_, used)| !used) {
        findings.fail(format!(
            "{}: waiver of `{}` for {} spares nothing: delete it",
            settings::FILE,
            waiver.rule,
            waiver.file
        ));
    }
    findings.story.push(format!("{} files looked at", files.len()));
    Ok(findings)
}

fn shown(file: &str, breach: &Breach) -> String {
    let line = breach.line.map(|line| format!(":{line}")).unwrap_or_default();
    format!("{file}{line}: {} [{}]", breach.message, breach.rule)
}

/// Markup lines wrap badly, so a wide one in a Svelte file is only a warning.
fn is_wide_svelte(file: &str, rule: &str) -> bool {
    rule == "width" && extension(file) == "svelte"
}

fn needs_a_second_look(file: &str, text: &str) -> bool {
    let lines = text.lines().count();
    is_written_code(file) && lines > LINES_TO_WARN && lines <= LINES_TO_FAIL
}

/// Paths from `root` with `/`, sorted: what git tracks, or where there is no git every file outside build folders.
pub fn tracked_files(root: &Path) -> Result<Vec<String>, String> {
    if root.join(".git").exists() {
        let listed = Command::new("git").arg("-C").arg(root).args(["ls-files", "-z"]).output();
        match listed {
            Ok(output) if output.status.success() => {
                let text = String::from_utf8_lossy(&output.stdout);
                return Ok(text.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect());
            }
            Ok(output) => {
                return Err(format!("git ls-files: {}", String::from_utf8_lossy(&output.stderr).trim()));
            }
            Err(problem) => return Err(format!("git cannot be run: {problem}")),
        }
    }
    let (mut found, mut open) = (Vec::new(), vec![root.to_path_buf()]);
    while let Some(folder) = open.pop() {
        let entries = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let is_passed_over = path.file_name().is_some_and(|n| UNTRACKED_FOLDERS.iter().any(|u| n == *u));
            match path.is_dir() {
                true if is_passed_over => {}
                true => open.push(path),
                false => found.push(slashed(root, &path)),
            }
        }
    }
    found.sort();
    Ok(found)
}

fn extension(file: &str) -> &str {
    file.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map_or("", |(_, extension)| extension)
}

fn is_generated(file: &str) -> bool {
    file.split('/').any(|part| part == "generated")
}

/// Code that a person writes: the rules on length and width are for it.
fn is_written_code(file: &str) -> bool {
    matches!(extension(file), "rs" | "py" | "ts" | "svelte") && !is_generated(file)
}

/// Files in which a debt may hide.
fn may_hold_debts(file: &str) -> bool {
    matches!(extension(file), "rs" | "py" | "ts" | "svelte" | "js" | "sh" | "toml" | "yml" | "css" | "html")
        || file.ends_with("Makefile")
        || file.starts_with("scripts/")
}

/// `None` for what is no text.
fn as_text(bytes: &[u8]) -> Option<&str> {
    let probe = &bytes[..bytes.len().min(PROBE)];
    if probe.contains(&0) { None } else { std::str::from_utf8(bytes).ok() }
}

fn about_file(file: &str, size: u64, settings: &Settings) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let name = file.rsplit('/').next().unwrap_or(file);
    if let Some(word) = words::empty_word(name) {
        breaches.push(breach(
            "name",
            None,
            format!("`{word}` says nothing: name the one thing the file is about"),
        ));
    }
    let is_data = settings.data_folders.iter().any(|folder| file.starts_with(folder.as_str()));
    if size > LARGEST_BLOB && !is_data {
        breaches.push(breach(
            "size",
            None,
            format!(
                "{size} bytes, more than {LARGEST_BLOB}: shrink it, or list its folder in {}",
                settings::FILE
            ),
        ));
    }
    breaches
}

fn about_text(root: &Path, file: &str, text: &str, settings: &Settings, breaches: &mut Vec<Breach>) {
    if is_written_code(file) {
        about_shape(file, text, breaches);
    }
    for (index, line) in text.lines().enumerate() {
        let number = Some(index + 1);
        if may_hold_debts(file) && words::unnumbered_debt(line) {
            breaches.push(breach("debt", number, "a debt without an issue number: write it as (#N)"));
        }
        // The settings file is where the banned texts are listed.
        if file != settings::FILE
            && let Some(banned) = words::banned_in(line, &settings.banned)
        {
            breaches.push(breach("banned", number, format!("`{}`: {}", banned.text, banned.reason)));
        }
    }
    about_lock(file, text, breaches);
    if extension(file) == "md" {
        about_links(root, file, text, breaches);
    }
    if file == "CHANGELOG.md" {
        about_changelog(text, breaches);
    }
    if file == "Cargo.toml" {
        about_dependencies(root, text, breaches);
    }
}

fn about_shape(file: &str, text: &str, breaches: &mut Vec<Breach>) {
    let lines = text.lines().count();
    if lines > LINES_TO_FAIL {
        let message = format!("{lines} lines, more than {LINES_TO_FAIL}: split it by subject");
        breaches.push(breach("length", None, message));
    }
    for (index, line) in text.lines().enumerate() {
        let width = line.chars().count();
        if width > LINE_WIDTH {
            let message = format!("{width} characters, more than {LINE_WIDTH}");
            breaches.push(breach("width", Some(index + 1), message));
        }
    }
    let opening: &[&str] = match extension(file) {
        "rs" | "ts" => &["//", "/*"],
        "py" => &["#", "\"\"\"", "r\"\"\""],
        _ => return,
    };
    let first = text.lines().enumerate().find(|(_, line)| !line.trim().is_empty());
    if let Some((index, line)) = first
        && !opening.iter().any(|open| line.trim_start().starts_with(open))
    {
        let message = "the first line must be a comment that says what the file is about";
        breaches.push(breach("first-line", Some(index + 1), message));
    }
}

fn about_lock(file: &str, text: &str, breaches: &mut Vec<Breach>) {
    for (name, key, source) in LOCK_SOURCES {
        if file.rsplit('/').next() != Some(name) {
            continue;
        }
        for (index, line) in text.lines().enumerate() {
            if let Some((_, value)) = line.split_once(key)
                && !value.starts_with(source)
            {
                let message = format!(
                    "a source other than `{}`: lock against the public one",
                    source.trim_end_matches('"')
                );
                breaches.push(breach("lock", Some(index + 1), message));
            }
        }
    }
}

/// Each foreign dependency of the workspace has a line in the list that says why.
fn about_dependencies(root: &Path, text: &str, breaches: &mut Vec<Breach>) {
    let Ok(list) = fs::read_to_string(root.join(DEPENDENCY_LIST)) else {
        return;
    };
    let manifest = text.parse::<toml::Table>().ok();
    let table = manifest.as_ref().and_then(|m| m.get("workspace")?.get("dependencies")?.as_table());
    for (name, value) in table.into_iter().flatten() {
        if value.get("path").is_none() && !list.contains(&format!("| `{name}` |")) {
            let message = format!("`{name}` has no line in {DEPENDENCY_LIST}: say why we have it");
            breaches.push(breach("dependency", None, message));
        }
    }
}

fn about_links(root: &Path, file: &str, text: &str, breaches: &mut Vec<Breach>) {
    for link in links::relative_links(text) {
        let target: PathBuf = match link.target.strip_prefix('/') {
            Some(from_root) => root.join(from_root),
            None => root.join(file).parent().unwrap_or(root).join(&link.target),
        };
        if !target.exists() {
            let message = format!("links to `{}`, which does not exist", link.target);
            breaches.push(breach("link", Some(link.line), message));
        }
    }
}

fn about_changelog(text: &str, breaches: &mut Vec<Breach>) {
    let mut last: Option<usize> = None;
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("## ") {
            last = None;
        }
        let Some(title) = line.strip_prefix("### ").map(str::trim) else {
            continue;
        };
        let order = || CHANGELOG_SECTIONS.join(", ");
        let message = match CHANGELOG_SECTIONS.iter().position(|section| *section == title) {
            None => format!("section `{title}`: accepted are, in this order, {}", order()),
            Some(at) if last.is_some_and(|last| at <= last) => {
                format!("section `{title}` stands out of order or twice; the order is {}", order())
            }
            Some(at) => {
                last = Some(at);
                continue;
            }
        };
        breaches.push(breach("changelog", Some(index + 1), message));
    }
}

#[cfg(test)]
mod tests;
