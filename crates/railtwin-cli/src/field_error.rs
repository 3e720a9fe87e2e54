//! A fabric that cannot be built, as an error of the text that asks for it.
use railtwin_fabric::FabricError;
use railtwin_scenario::ScenarioError;

/// A fabric that cannot be built, at the place of the key that is to blame.
pub(crate) fn at_field(error: &FabricError, section: &str, file: &str, text: &str) -> ScenarioError {
    match error {
        FabricError::OutOfRange { field, value, accepted } => {
            let message = format!("`{field}` cannot be {value}");
            let path = format!("{section}{field}");
            ScenarioError::at_key(file, text, &path, message, Some(accepted.clone()))
        }
        other => {
            let path = section.trim_end_matches('.');
            let message = other.to_string();
            let (message, hint) = match message.split_once("; ") {
                Some((message, hint)) => (message.to_owned(), Some(hint.to_owned())),
                None => (message, None),
            };
            ScenarioError::at_key(file, text, path, message, hint)
        }
    }
}
