//! Files whose keys are declared beside what reads them.
use railtwin_units::keys::Table;
use serde::de::DeserializeOwned;

use crate::check::check;
use crate::error::{Problem, ScenarioError};
use crate::tree::Node;

/// Reads a TOML file of the section that `table` describes. `file` is the name that errors show.
///
/// # Errors
/// [`ScenarioError`] with every problem at its place.
pub fn parse_section<T: DeserializeOwned>(
    file: &str,
    text: &str,
    table: &'static Table,
) -> Result<T, ScenarioError> {
    let root = Node::parse(file, text)?;
    let mut problems = Vec::new();
    check(text, &root, table, &mut problems);
    if !problems.is_empty() {
        return Err(ScenarioError::new(file, problems));
    }
    root.to_toml().try_into().map_err(|error: toml::de::Error| {
        ScenarioError::new(file, vec![Problem::new(text, 0..0, error.message(), None)])
    })
}
