//! Settings of `tidy`, read from `xtask/tidy.toml`: banned texts, waivers, data folders.

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
