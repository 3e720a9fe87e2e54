//! Settings of `tidy`, `idle` and `house`, read from `xtask/tidy.toml`: banned texts, waivers, data folders, limits.

use std::fs;
use std::path::Path;

use serde::Deserialize;

/// The settings file, relative to the workspace.
pub const FILE: &str = "xtask/tidy.toml";

/// All settings; a workspace without the file has none.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Folders (with a trailing `/`) where files may pass the size limit.
    #[serde(default)]
    pub data_folders: Vec<String>,
    /// Texts that no tracked file may hold.
    #[serde(default)]
    pub banned: Vec<Banned>,
    /// Files that a rule spares.
    #[serde(default)]
    pub waiver: Vec<Waiver>,
    /// Public items of `railtwin-control` that nothing but tests reads yet.
    #[serde(default)]
    pub idle: Vec<Idle>,
    /// Lists of names in documents that must be whole.
    #[serde(default)]
    pub list: Vec<NameList>,
    /// Limits of the counts of `house`.
    #[serde(default)]
    pub house: House,
}

/// Limits of the counts of `house`; a count without a limit is only printed.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct House {
    /// Places that read words back.
    pub words_read: Option<usize>,
    /// Public items of crates other than `railtwin-control` that tests alone read.
    pub idle_elsewhere: Option<usize>,
    /// Words in logs of foreign programs, which have to be read.
    pub foreign_words: Vec<String>,
    /// Lines of the longest function.
    pub longest_function: Option<usize>,
    /// Functions over 70 lines.
    pub long_functions: Option<usize>,
    /// Lines of the façade.
    pub facade_lines: Option<usize>,
    /// Production imports of the evaluation.
    pub score_imports: Option<usize>,
    /// Circles of modules.
    pub circles: Option<usize>,
    /// Files in the largest circle.
    pub largest_circle: Option<usize>,
    /// Files in all circles.
    pub files_in_circles: Option<usize>,
    /// Circles over 4 files.
    pub large_circles: Option<usize>,
    /// Public type names in three or more crates.
    pub type_names: Option<usize>,
    /// Paths in documents that do not exist.
    pub doc_paths: Option<usize>,
    /// Lists of names in documents that lack one.
    pub name_lists: Option<usize>,
    /// Commit subjects over 72 characters.
    pub commit_subjects: Option<usize>,
    /// The commit after which subjects count.
    pub commits_after: Option<String>,
    /// Figures that no tool counts.
    pub figure: Vec<Figure>,
}

/// A list of names in a document that must hold all names of a declaration.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameList {
    /// The document.
    pub file: String,
    /// Words in the line that lists the names, each in backticks.
    pub line: String,
    /// The source that declares the names.
    pub declared_in: String,
    /// The beginning of the declaration, such as `pub enum Preset`.
    pub declaration: String,
}

/// A figure that a person counted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The figure in words.
    pub title: String,
    /// Its value.
    pub value: String,
    /// How it was counted.
    pub reason: String,
}

/// An item that may be idle for a while.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Idle {
    /// Its name.
    pub item: String,
    /// What it waits for.
    pub reason: String,
}

/// A text that no tracked file may hold.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Banned {
    /// What is looked for, as it stands.
    pub text: String,
    /// Why it may not stand there and what to write instead.
    pub reason: String,
    /// Only where the text begins a path: not after a letter, digit, dot, dash, underscore, brace or slash.
    #[serde(default)]
    pub leading: bool,
}

/// A file that a rule spares.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waiver {
    /// Path from the workspace, with `/`.
    pub file: String,
    /// The rule's name as `tidy` prints it.
    pub rule: String,
    /// Why the rule does not serve here.
    pub reason: String,
}

impl Settings {
    /// Reads the settings below `root`.
    ///
    /// # Errors
    /// When the file is there and is not as it must be.
    pub fn read(root: &Path) -> Result<Self, String> {
        let path = root.join(FILE);
        if !path.is_file() {
            return Ok(Self::default());
        }
        let text = fs::read_to_string(&path).map_err(|e| format!("{FILE}: {e}"))?;
        let settings: Self = toml::from_str(&text).map_err(|e| format!("{FILE}: {e}"))?;
        for waiver in &settings.waiver {
            if waiver.reason.trim().is_empty() {
                return Err(format!(
                    "{FILE}: waiver of `{}` for {}: give a reason",
                    waiver.rule, waiver.file
                ));
            }
        }
        for idle in &settings.idle {
            if idle.reason.trim().is_empty() {
                return Err(format!("{FILE}: idle `{}`: give a reason", idle.item));
            }
        }
        for banned in &settings.banned {
            if banned.text.is_empty() || banned.reason.trim().is_empty() {
                return Err(format!("{FILE}: banned text `{}`: give a text and a reason", banned.text));
            }
        }
        Ok(settings)
    }
}
