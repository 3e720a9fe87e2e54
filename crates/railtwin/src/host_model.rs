//! The host model of a fabric that a user names.
use std::path::Path;

use railtwin_fabric::{FabricError, HostModel};
use railtwin_scenario::{FabricSpec, Preset, SettingsText};

use crate::Question;
use crate::error::Error;

/// The host model of a fabric: a preset by its name, or the `[fabric]` of a scenario file (`*.toml`).
///
/// # Errors
/// [`Error::Argument`] for a name that is neither, for a scenario with several host models and for an imported fabric
/// that says none; [`Error::File`] and [`Error::Scenario`] as [`Question`] has them.
pub fn model_of_fabric(fabric: &str) -> Result<HostModel, Error> {
    if Preset::NAMES.contains(&fabric) {
        return model(&SettingsText::new(fabric).fabric("--fabric")?, fabric);
    }
    if !fabric.ends_with(".toml") && !Path::new(fabric).is_file() {
        let names = Preset::NAMES.join(", ");
        return Err(Error::Argument(format!(
            "there is no preset and no scenario file called {fabric:?}; write one of {names}, or a scenario file"
        )));
    }
    let mut models: Vec<HostModel> = Vec::new();
    for point in Question::read(Path::new(fabric))?.points()? {
        let found = model(&point.scenario.fabric, fabric)?;
        if !models.contains(&found) {
            models.push(found);
        }
    }
    match (models.pop(), models.len()) {
        (Some(found), 0) => Ok(found),
        (_, others) => Err(Error::Argument(format!(
            "{fabric}: its points have {} host models; write one value for each key of [fabric.host]",
            others + 1
        ))),
    }
}

fn model(fabric: &FabricSpec, name: &str) -> Result<HostModel, Error> {
    let wrong = |error: FabricError| Error::Argument(format!("{name}: {error}"));
    let found = match fabric {
        FabricSpec::Preset(preset) => preset.layout().model().map_err(wrong)?,
        FabricSpec::Lingjun(spec) => spec.host_model().map_err(wrong)?,
        FabricSpec::Htsim(_) => {
            return Err(Error::Argument(format!(
                "{name}: a fabric of htsim has plain hosts of one GPU; name a preset or a scenario with one"
            )));
        }
    };
    found.check().map_err(wrong)?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_have_their_hosts_and_strangers_are_refused() {
        assert_eq!(model_of_fabric("hpn").expect("a preset").name, "hgx-h800");
        assert_eq!(model_of_fabric("ai-zone").expect("a preset").name, "grand-teton");
        let error = model_of_fabric("hpm").expect_err("no preset").to_string();
        assert!(error.contains("\"hpm\"") && error.contains("leaf-spine"), "{error}");
    }
}
