//! `railtwin design compare A B`: two designs row by row.
use std::path::Path;

use railtwin::Question;
use railtwin_catalog::Catalog;
use railtwin_fabric::FabricError;
use railtwin_fabric::clos::ClosSpec;
use railtwin_planning::intent::FabricCandidate;
use railtwin_planning::loss::Goals;
use railtwin_planning::search::compare;
use railtwin_scenario::{FabricSpec, Preset, SettingsText};
use serde_json::json;

use crate::design_intent::print_json;
use crate::{CliError, Streams};

pub(crate) fn run(
    names: &[String],
    catalog: &Catalog,
    as_json: bool,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let [a, b] = names else {
        let help = "name two presets or scenarios, such as `railtwin design compare hpn dcn-plus`";
        return Err(CliError::input(format!("design compare: {} designs are named", names.len()), help));
    };
    let [of_a, of_b] =
        [a, b].map(|name| spec_of(name, &[]).map(|spec| FabricCandidate::of_design(spec, catalog)));
    let (of_a, of_b) = (of_a?, of_b?);
    let mut comparison = compare(&of_a, &of_b);
    (comparison.a, comparison.b) = (a.clone(), b.clone());
    let goals = [&of_a, &of_b].map(|candidate| Goals::of(&candidate.spec));
    if as_json {
        return print_json(
            &json!({ "comparison": comparison, "goals": { "a": goals[0], "b": goals[1] } }),
            streams.out,
        );
    }
    write!(streams.out, "{}", comparison.to_text())?;
    for (name, goals) in [a, b].into_iter().zip(&goals) {
        write!(streams.out, "\ngoals of HPN (section 2.4), {name}:\n{}", goals.to_text())?;
    }
    for (name, candidate) in [(a, &of_a), (b, &of_b)] {
        for note in &candidate.notes {
            writeln!(streams.out, "note: {name}: {note}")?;
        }
    }
    Ok(())
}

/// The counts of a preset with settings, or of a scenario's.
///
/// # Errors
/// An input error for another word, for fabrics that are read and not built, and as the preset has it.
pub(crate) fn spec_of(name: &str, settings: &[(&str, &str)]) -> Result<ClosSpec, CliError> {
    let preset = if Preset::NAMES.contains(&name) {
        let mut text = SettingsText::new(name);
        settings.iter().for_each(|(key, value)| text.set(key, value));
        match text.fabric("settings") {
            Ok(FabricSpec::Preset(preset)) => preset,
            _ => return Err(no_counts(name)),
        }
    } else if name.ends_with(".toml") {
        let question = Question::read(Path::new(name)).map_err(|error| CliError::of(error, ""))?;
        let points = question.points().map_err(|error| CliError::of(error, &question.text))?;
        match points.into_iter().next().map(|point| point.scenario.fabric) {
            Some(FabricSpec::Preset(preset)) => preset,
            _ => return Err(no_counts(name)),
        }
    } else {
        return Err(no_counts(name));
    };
    preset.layout().spec().map_err(|error: FabricError| CliError::refused(&format!("{name}: {error}")))
}

fn no_counts(name: &str) -> CliError {
    let presets = Preset::NAMES.join(", ");
    CliError::input(
        format!("{name} has no counts that could be compared"),
        format!("name a preset ({presets}) or a scenario (*.toml) with one"),
    )
}
