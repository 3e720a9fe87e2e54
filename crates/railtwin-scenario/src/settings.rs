//! Settings of a preset as a command line gives them: `key=value` pairs.
use crate::check::check;
use crate::error::{Problem, ScenarioError};
use crate::section::fabric::FabricSpec;
use crate::tree::Node;

/// A preset and settings as TOML text, one a line, so that an error can show its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsText {
    text: String,
}

impl SettingsText {
    /// The preset without settings.
    pub fn new(preset: &str) -> Self {
        Self { text: format!("preset = {}\n", quoted(preset)) }
    }

    /// Adds a setting. The key is one of `[fabric]`, such as `segments` or `host.nics`; the value is a TOML
    /// value, or text that needs no quotes, such as `400 Gbps`.
    pub fn set(&mut self, key: &str, value: &str) {
        let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let part = |part: &str| match !part.is_empty() && part.chars().all(bare) {
            true => part.to_owned(),
            false => quoted(part),
        };
        let key: Vec<String> = key.split('.').map(part).collect();
        let is_toml = !value.contains('\n') && Node::parse("", &format!("x = {value}")).is_ok();
        let value = match is_toml {
            true => value.to_owned(),
            false => quoted(value),
        };
        self.text.push_str(&format!("{} = {value}\n", key.join(".")));
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The fabric that the settings say.
    ///
    /// # Errors
    /// [`ScenarioError`] with places in [`SettingsText::as_str`]; an unknown key lists those of the preset.
    pub fn fabric(&self, file: &str) -> Result<FabricSpec, ScenarioError> {
        let root = Node::parse(file, &self.text)?;
        let mut problems = Vec::new();
        check(&self.text, &root, &FabricSpec::TABLE, &mut problems);
        if !problems.is_empty() {
            return Err(ScenarioError::new(file, problems));
        }
        root.to_toml().try_into().map_err(|error: toml::de::Error| {
            let problem = Problem::new(&self.text, 0..0, error.message(), None);
            ScenarioError::new(file, vec![problem])
        })
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
