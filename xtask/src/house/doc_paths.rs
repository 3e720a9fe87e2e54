//! Paths in backticks in README, ARCHITECTURE and docs that name a file or folder which is not there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Returns each path in the documents among `files` (all that is tracked) that does not exist, with its place.
///
/// A span counts as a path where it has a `/` and its first part is a folder of the workspace. `{a,b}` stands for each
/// of its parts; patterns and placeholders (`*`, `<name>`, `…`) and what a build writes (`dist/`) are passed over.
///
/// # Errors
/// When a document cannot be read.
pub fn missing(root: &Path, files: &[String]) -> Result<Vec<String>, String> {
    let folders: BTreeSet<&str> =
        files.iter().filter_map(|file| file.split_once('/')).map(|(first, _)| first).collect();
    let mut found = Vec::new();
    for file in files.iter().filter(|file| is_document(file)) {
        let text = fs::read_to_string(root.join(file)).map_err(|e| format!("{file}: {e}"))?;
        for (line, text) in (1..).zip(text.lines()) {
            for path in spans(text).filter(|path| is_path(path, &folders)).flat_map(expand) {
                if !root.join(&path).exists() {
                    found.push(format!("{file}:{line}: `{path}` does not exist"));
                }
            }
        }
    }
    Ok(found)
}

fn is_document(file: &str) -> bool {
    matches!(file, "README.md" | "ARCHITECTURE.md" | "VOCABULARY.md")
        || (file.starts_with("docs/") && file.ends_with(".md"))
        || (file.starts_with("crates/") && file.ends_with("README.md"))
}

/// The spans in single backticks of a line.
fn spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn is_path(span: &str, folders: &BTreeSet<&str>) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./{},-".contains(c);
    let is_built = span.split('/').any(|part| part == "dist");
    !is_built
        && span.chars().all(plain)
        && span.split_once('/').is_some_and(|(first, _)| folders.contains(first))
}

/// `a/{b,c}/d` as `a/b/d` and `a/c/d`.
fn expand(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else { return vec![path.to_owned()] };
    let Some((list, after)) = rest.split_once('}') else { return vec![path.to_owned()] };
    list.split(',').flat_map(|part| expand(&format!("{before}{}{after}", part.trim()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_are_paths_are_expanded() {
        let folders = BTreeSet::from(["crates", "docs"]);
        let line = "see `crates/a/{b,c}.rs`, `docs/*.md`, `bytes/s` and `plain`";
        let paths: Vec<String> =
            spans(line).filter(|path| is_path(path, &folders)).flat_map(expand).collect();
        assert_eq!(paths, ["crates/a/b.rs", "crates/a/c.rs"]);
    }
}
