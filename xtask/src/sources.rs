//! Production sources of the workspace: the files that a crate's root reaches by `mod`, without tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::rust_text::{live_code, live_text};

/// Crates beside the house: their code is not production code.
const BESIDE: [&str; 2] = ["railtwin-testkit", "xtask"];

/// A production source.
pub struct Source {
    /// Path from the workspace, with `/`.
    pub name: String,
    /// Name of the crate's folder.
    pub crate_name: String,
    /// Path of the module in its crate; empty for the root.
    pub module: Vec<String>,
    /// Code with comments, literals and test-only items blanked.
    pub code: String,
    /// The same with its literals.
    pub text: String,
}

impl Source {
    /// Whether the crate is one of the house, not a tool or a test kit beside it.
    pub fn is_of_house(&self) -> bool {
        !BESIDE.contains(&self.crate_name.as_str())
    }

    /// The line, from 1, at the byte `at` of the code.
    pub fn line_at(&self, at: usize) -> usize {
        1 + self.code.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count()
    }
}

/// Reads the production sources of every crate below `crates/` and of `xtask`, sorted by name.
///
/// # Errors
/// When a folder or a file cannot be read.
pub fn production(root: &Path) -> Result<Vec<Source>, String> {
    let mut folders = vec![root.join("xtask")];
    let crates = root.join("crates");
    if crates.is_dir() {
        let entries = fs::read_dir(&crates).map_err(|e| format!("{}: {e}", crates.display()))?;
        folders.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
    }
    let mut sources = Vec::new();
    for folder in folders {
        let mut reached = BTreeSet::new();
        for start in ["lib.rs", "main.rs"] {
            let file = folder.join("src").join(start);
            if file.is_file() {
                reach(root, &folder, &file, Vec::new(), &mut reached, &mut sources)?;
            }
        }
    }
    sources.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(sources)
}

/// Reads `file` and the files of the modules that it declares.
fn reach(
    root: &Path,
    folder: &Path,
    file: &Path,
    module: Vec<String>,
    reached: &mut BTreeSet<PathBuf>,
    sources: &mut Vec<Source>,
) -> Result<(), String> {
    if !reached.insert(file.to_path_buf()) {
        return Ok(());
    }
    let source = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let code = live_code(&source);
    let below =
        match file.file_stem().is_some_and(|stem| ["lib", "main", "mod"].iter().any(|one| stem == *one)) {
            true => file.parent().unwrap_or(file).to_path_buf(),
            false => file.with_extension(""),
        };
    for child in declared_modules(&code) {
        let places = [below.join(format!("{child}.rs")), below.join(&child).join("mod.rs")];
        if let Some(place) = places.iter().find(|place| place.is_file()) {
            let path = module.iter().cloned().chain([child]).collect();
            reach(root, folder, place, path, reached, sources)?;
        }
    }
    sources.push(Source {
        name: slashed(root, file),
        crate_name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        module,
        text: live_text(&source),
        code,
    });
    Ok(())
}

/// Names of the modules that stand in files of their own: `mod name;`.
fn declared_modules(code: &str) -> Vec<String> {
    let declared = code.lines().filter_map(|line| {
        let rest = line.trim().strip_suffix(';')?;
        let (_, name) =
            rest.rsplit_once("mod ").filter(|(before, _)| before.is_empty() || before.ends_with(' '))?;
        let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
        is_name.then(|| name.to_owned())
    });
    declared.collect()
}

/// A path from `root` with `/`.
pub fn slashed(root: &Path, path: &Path) -> String {
    let parts = path.strip_prefix(root).unwrap_or(path).components();
    parts.map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// Words of code: identifiers, keywords and numbers.
pub fn words_of(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::declared_modules;

    #[test]
    fn modules_in_files_are_found() {
        let code = "mod a;\npub mod b;\npub(crate) mod c;\nmod d { fn e() {} }\nlet f = 1;\n";
        assert_eq!(declared_modules(code), ["a", "b", "c"]);
    }
}
