//! Fabrics and cable lists by the word that a call names: a preset, a scenario, a list.
use std::path::Path;

use railtwin::Question;
use railtwin_fabric::Fabric;
use railtwin_fabric::cable_list::{CableList, Inference, list_of};
use railtwin_scenario::{FabricSpec, Preset, SettingsText};

use crate::CliError;
use crate::topology_files::{is_blueprint, of_path};

/// The network that a word names, as a list.
pub(crate) struct Named {
    pub(crate) list: CableList,
    pub(crate) found: Inference,
}

/// The list of a cable list, or that of the fabric of a preset or a scenario. A scenario over a list has the names of the
/// list.
pub(crate) fn named(word: &str) -> Result<Named, CliError> {
    if Preset::NAMES.contains(&word) {
        return Ok(of_fabric(&fabric_of_preset(word)?));
    }
    if !word.ends_with(".toml") || is_blueprint(Path::new(word)) {
        return of_list(Path::new(word));
    }
    let question = Question::read(Path::new(word)).map_err(|error| CliError::of(error, ""))?;
    let mut points = question.points().map_err(|error| CliError::of(error, &question.text))?.into_iter();
    let first =
        points.next().ok_or_else(|| CliError::input(format!("{word} has no point"), "write a fabric"))?;
    if let FabricSpec::Preset(Preset::Cables(spec)) = &first.scenario.fabric {
        let folder = Path::new(word).parent().unwrap_or(Path::new(""));
        return of_list(&folder.join(&spec.file));
    }
    let fabric = question.fabric(&first.scenario).map_err(|error| CliError::of(error, &question.text))?;
    if points.any(|other| other.scenario.fabric != first.scenario.fabric) {
        let help = "write one value for each key of [fabric]";
        return Err(CliError::input(format!("the points of {word} have several fabrics"), help));
    }
    Ok(of_fabric(&fabric))
}

fn of_fabric(fabric: &Fabric) -> Named {
    let (list, found) = list_of(fabric);
    Named { list, found }
}

fn fabric_of_preset(name: &str) -> Result<Fabric, CliError> {
    let settings = SettingsText::new(name);
    let file = "settings";
    let refuse = |error| CliError::Scenario { error, text: settings.as_str().to_owned() };
    match settings.fabric(file).map_err(refuse)? {
        FabricSpec::Preset(preset) => {
            preset.build().map_err(|error| CliError::refused(&format!("{name}: {error}")))
        }
        _ => Err(CliError::input(format!("{name} is no preset"), "name a preset")),
    }
}

/// Reads a topology file, or a folder with those of one topology, and infers what stands where.
pub(crate) fn of_list(path: &Path) -> Result<Named, CliError> {
    let name = path.display();
    let presets = Preset::NAMES.join(", ");
    let help = format!("name a preset ({presets}), a scenario file (*.toml) or a topology file");
    let topology = of_path(path, &help)?;
    let found =
        Inference::of(&topology.list).map_err(|error| CliError::refused(&format!("{name}: {error}")))?;
    Ok(Named { list: topology.list, found })
}
