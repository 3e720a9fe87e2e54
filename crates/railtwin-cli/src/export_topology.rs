//! The forms of `railtwin export` that are topologies of other projects.
use std::path::Path;

use clap::Args;
use railtwin_fabric::cable_list::Inference;
use railtwin_scenario::{FabricSpec, Preset};
use railtwin_topology::{Form, Topology, WriteOptions, Written};

use crate::export_site::site_of;
use crate::topology_files::{is_blueprint, of_path, refused};
use crate::{CliError, Streams};

/// Options of topologies.
#[derive(Args, Default, Debug)]
pub struct TopologyArgs {
    /// Sizes of blocks of hosts for schedulers, such as 8,16,32; default those that the topology allows
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    block_sizes: Vec<u32>,
    /// Type of GPU for forms that name it, such as H100
    #[arg(long, value_name = "NAME")]
    gpu_type: Option<String>,
}

/// The files of a fabric or a topology in a form.
///
/// # Errors
/// An input error for a form that is only read, a word that is no fabric, and what the form cannot express.
pub(crate) fn files(
    form: &'static Form,
    what: &str,
    settings: &[String],
    options: &TopologyArgs,
    streams: &mut Streams<'_>,
) -> Result<Vec<Written>, CliError> {
    let Some(write) = form.write else {
        let message = format!("{} is read and not written", form.name);
        let help = format!("written are {}", railtwin_topology::names(|form| form.write.is_some()));
        return Err(CliError::input(message, help));
    };
    let topology = topology_of(what, settings)?;
    for note in &topology.notes {
        writeln!(streams.notes, "note: {note}")?;
    }
    if !topology.findings.is_empty() {
        let count = topology.findings.len();
        writeln!(streams.notes, "{count} findings in {what}: `railtwin import {what}` lists them")?;
    }
    refuse_sizes(&options.block_sizes)?;
    let options =
        WriteOptions { block_sizes: options.block_sizes.clone(), gpu_type: options.gpu_type.clone() };
    write(&topology, &options).map_err(|error| refused(&error))
}

/// Refuses sizes that no scheduler takes: each is the one before times a power of two.
fn refuse_sizes(sizes: &[u32]) -> Result<(), CliError> {
    let fits = |pair: &[u32]| {
        pair[1] > pair[0] && pair[1].is_multiple_of(pair[0]) && (pair[1] / pair[0]).is_power_of_two()
    };
    if sizes.contains(&0) || !sizes.windows(2).all(fits) {
        let shown: Vec<String> = sizes.iter().map(u32::to_string).collect();
        let message = format!("--block-sizes {}: these are no sizes of blocks", shown.join(","));
        return Err(CliError::input(
            message,
            "write hosts from the smallest up, each twice, four times … the one before",
        ));
    }
    Ok(())
}

/// The topology of a preset, a scenario, a file or a folder.
fn topology_of(what: &str, settings: &[String]) -> Result<Topology, CliError> {
    if Preset::NAMES.contains(&what) {
        return Ok(Topology::of_fabric(&site_of(what, settings)?.fabric));
    }
    if !what.ends_with(".toml") || is_blueprint(Path::new(what)) {
        let presets = Preset::NAMES.join(", ");
        let help = format!("name a preset ({presets}), a scenario file (*.toml) or a topology file");
        if let Some(setting) = settings.first() {
            let message = format!("--set {setting}: {what} says the fabric");
            return Err(CliError::input(message, "leave --set out"));
        }
        return with_places(of_path(Path::new(what), &help)?);
    }
    let site = site_of(what, settings)?;
    // A list keeps its own names.
    if let Some(FabricSpec::Preset(Preset::Cables(spec))) =
        site.scenario.as_ref().map(|scenario| &scenario.fabric)
    {
        let folder = Path::new(what).parent().unwrap_or(Path::new(""));
        return with_places(of_path(&folder.join(&spec.file), "name a file that is there")?);
    }
    Ok(Topology::of_fabric(&site.fabric))
}

/// States what can be inferred of a topology; one of which nothing tells the roles stays as it is.
fn with_places(mut topology: Topology) -> Result<Topology, CliError> {
    if let Ok(found) = Inference::of(&topology.list) {
        for (row, place) in (0..).zip(&found.places) {
            if !topology.is_tree {
                topology.list.state_place(row, place);
            }
        }
    }
    Ok(topology)
}
