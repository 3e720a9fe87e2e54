//! The cables of a design or a plan.
use railtwin_cabling::{Blueprint, CablingError, PlanRules};
use railtwin_formats::FormatError;

use crate::about::DeviceClass;
use crate::form::SourceFile;
use crate::topology::Topology;

const FORMAT: &str = "blueprint";

/// Reads one design or plan and hands out its ports.
pub(super) fn read(sources: &[SourceFile<'_>]) -> Result<Topology, FormatError> {
    let (source, more) =
        sources.split_first().ok_or_else(|| FormatError::new(FORMAT, "", "is no file", "name a design"))?;
    if let Some(second) = more.first() {
        return Err(FormatError::new(FORMAT, second.name, "is a second file", "name one design at a time"));
    }
    let text = std::str::from_utf8(source.bytes)
        .map_err(|_| FormatError::new(FORMAT, source.name, "is no text in UTF-8", "write TOML or YAML"))?;
    let blueprint = match super::is_design(source) {
        true => Blueprint::parse(source.name, text),
        false => Blueprint::parse_plan(source.name, text, &PlanRules::default()),
    };
    let list = blueprint.and_then(|blueprint| blueprint.cables()).map_err(|error| refused(&error))?;
    let mut topology = Topology::new(FORMAT);
    for device in list.devices() {
        topology.about.push(crate::About {
            class: match device.role {
                Some(role) if role.is_host() => DeviceClass::Host,
                Some(_) => DeviceClass::Switch,
                None => DeviceClass::Unknown,
            },
            ..crate::About::default()
        });
    }
    topology.list = list;
    Ok(topology)
}

fn refused(error: &CablingError) -> FormatError {
    let made = FormatError::new(FORMAT, &error.source_name, error.problem.clone(), error.accepted.clone());
    let made = if error.line > 0 { made.at_line(error.line) } else { made };
    if error.field.is_empty() { made } else { made.field(error.field.clone()) }
}
