//! The forms of `railtwin export` that are topologies of other projects.
use std::path::Path;

use clap::Args;
use railtwin_fabric::cable_list::Inference;
use railtwin_scenario::{FabricSpec, Preset};
use railtwin_store::write_whole;
use railtwin_topology::{Form, Topology, WriteOptions};

use crate::export::{ExportArgs, written};
use crate::export_site::site_of;
use crate::overwritten::refuse_input;
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

/// Writes a fabric or a topology in a form: one file to standard output or `--output`, several below the folder.
pub(crate) fn run(form: &'static Form, args: &ExportArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let Some(write) = form.write else {
        let message = format!("{} is read and not written", form.name);
        let help = format!("written are {}", railtwin_topology::names(|form| form.write.is_some()));
        return Err(CliError::input(message, help));
    };
    if let Some(path) = &args.output {
        refuse_input("--output", path, &[Path::new(&args.what)])?;
    }
    let topology = topology_of(args)?;
    for note in &topology.notes {
        writeln!(streams.notes, "note: {note}")?;
    }
    if !topology.findings.is_empty() {
        let (count, what) = (topology.findings.len(), &args.what);
        writeln!(streams.notes, "{count} findings in {what}: `railtwin import {what}` lists them")?;
    }
    let options = WriteOptions {
        block_sizes: args.topology.block_sizes.clone(),
        gpu_type: args.topology.gpu_type.clone(),
    };
    let files = write(&topology, &options).map_err(|error| refused(&error))?;
    match (args.folder.as_deref(), files.as_slice()) {
        (Some(folder), files) => {
            let files: Vec<(&str, &[u8])> =
                files.iter().map(|file| (file.path.as_str(), file.text.as_bytes())).collect();
            written(folder, &files, args, streams)
        }
        (None, [file]) => one_file(&file.text, args.output.as_deref(), streams),
        (None, _) => {
            let message = format!("{} is {} files, and there is no folder to write", form.name, files.len());
            Err(CliError::input(message, "name one behind the fabric, such as out/"))
        }
    }
}

/// Writes a text to a file, or to standard output.
pub(crate) fn one_file(text: &str, output: Option<&Path>, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let Some(path) = output else {
        write!(streams.out, "{text}")?;
        return Ok(streams.out.flush()?);
    };
    write_whole(path, text.as_bytes()).map_err(|error| {
        let message = format!("cannot write {}: {error}", path.display());
        CliError::input(message, "name a file in a folder that is there")
    })?;
    Ok(writeln!(streams.notes, "written to {}", path.display())?)
}

/// The topology of a preset, a scenario, a file or a folder.
fn topology_of(args: &ExportArgs) -> Result<Topology, CliError> {
    let what = args.what.as_str();
    if Preset::NAMES.contains(&what) {
        return Ok(Topology::of_fabric(&site_of(what, &args.settings)?.fabric));
    }
    if !what.ends_with(".toml") || is_blueprint(Path::new(what)) {
        let presets = Preset::NAMES.join(", ");
        let help = format!("name a preset ({presets}), a scenario file (*.toml) or a topology file");
        if let Some(setting) = args.settings.first() {
            let message = format!("--set {setting}: {what} says the fabric");
            return Err(CliError::input(message, "leave --set out"));
        }
        return with_places(of_path(Path::new(what), &help)?);
    }
    let site = site_of(what, &args.settings)?;
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
