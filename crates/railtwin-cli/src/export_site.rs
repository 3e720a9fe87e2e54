//! The fabric that `railtwin export` and `railtwin check config` are called with.
use std::path::Path;

use railtwin::Question;
use railtwin_fabric::Fabric;
use railtwin_scenario::{FabricSpec, Preset, Scenario, SettingsText};

use crate::CliError;

/// A fabric, and the scenario that it is of.
pub(crate) struct Site {
    pub fabric: Fabric,
    pub scenario: Option<Scenario>,
}

/// The fabric of a preset with settings, or of a scenario file.
///
/// # Errors
/// An input error for a name that is neither, settings of a scenario, and a sweep over fabrics.
pub(crate) fn site_of(what: &str, settings: &[String]) -> Result<Site, CliError> {
    if Preset::NAMES.contains(&what) {
        return of_preset(what, settings);
    }
    if what.ends_with(".csv") {
        let help = format!("write a scenario with preset = \"cables\" and file = {what:?} under [fabric]");
        return Err(CliError::input(format!("{what} is a cable list, and no fabric with hosts"), help));
    }
    if !what.ends_with(".toml") {
        let message = format!("there is no preset called {what:?}");
        let help = format!("presets are {}; a scenario file ends in .toml", Preset::NAMES.join(", "));
        return Err(CliError::input(message, help));
    }
    if let Some(setting) = settings.first() {
        let message = format!("--set {setting}: {what} says the fabric");
        return Err(CliError::input(message, "change the key in [fabric] of the file"));
    }
    let question = Question::read(Path::new(what)).map_err(|error| CliError::of(error, ""))?;
    let wrong = |error| CliError::of(error, &question.text);
    let mut fabrics: Vec<Site> = Vec::new();
    for point in question.points().map_err(wrong)? {
        let fabric = question.fabric(&point.scenario).map_err(wrong)?;
        if fabrics.iter().any(|known| known.fabric != fabric) {
            let message = format!("{what}: its points have several fabrics");
            return Err(CliError::input(message, "write one value for each key of [fabric]"));
        }
        if fabrics.is_empty() {
            fabrics.push(Site { fabric, scenario: Some(point.scenario) });
        }
    }
    fabrics.pop().ok_or_else(|| CliError::input(format!("{what}: has no point"), "write a scenario"))
}

fn of_preset(name: &str, settings: &[String]) -> Result<Site, CliError> {
    let mut text = SettingsText::new(name);
    for setting in settings {
        let (key, value) = setting.split_once('=').ok_or_else(|| {
            let help = "write a key of [fabric] and its value, such as --set segments=2";
            CliError::input(format!("--set {setting} is no pair of key and value"), help)
        })?;
        text.set(key.trim(), value.trim());
    }
    let file = "settings";
    let refuse = |error| CliError::Scenario { error, text: text.as_str().to_owned() };
    match text.fabric(file).map_err(refuse)? {
        FabricSpec::Preset(preset) => {
            let refused = |error| refuse(crate::field_error::at_field(&error, "", file, text.as_str()));
            Ok(Site { fabric: preset.build().map_err(refused)?, scenario: None })
        }
        FabricSpec::Lingjun(_) | FabricSpec::Htsim(_) => {
            Err(CliError::input(format!("{name} is no preset"), "name a preset"))
        }
    }
}
