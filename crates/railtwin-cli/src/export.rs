//! `railtwin export`: a fabric in the words of other programs, as a file or a folder of files.
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, ValueEnum as _};
use railtwin::cost::Cost;
use railtwin_fabric::Fabric;
use railtwin_formats::switch_config::{frr, hosts, sonic};
use railtwin_scenario::Preset;
use railtwin_store::write_whole;
use railtwin_topology::nccl::NcclHost;

use crate::export_captures::captures;
use crate::export_config::{ConfigArgs, core_hash, planned};
use crate::export_order::{OrderArgs, bom, schedule};
use crate::export_site::site_of;
use crate::export_topology::{self, TopologyArgs};
use crate::foreseen::goes_on;
use crate::overwritten::refuse_input;
use crate::{CliError, Streams};

/// Arguments of `export`.
#[derive(Args, Debug)]
pub struct ExportArgs {
    // The help lists the presets that there are.
    #[arg(value_name = "PRESET|SCENARIO|FILE", help = format!("A preset ({}), scenario (.toml), topology file or folder of these", Preset::NAMES.join(", ")))]
    pub(crate) what: String,
    // The help lists the forms that there are.
    #[arg(long = "to", value_name = "FORM", help = forms_help(), value_parser = PossibleValuesParser::new(form_names()).map(|name| Form::named(&name)))]
    form: Form,
    /// The folder to write, which is made; of a form of one file see --output
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// The file to write, of a form of one file; default standard output
    #[arg(short, long = "output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Sets any key of [fabric] of a preset, such as segments=2
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Write into a folder that holds files already
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    pub(crate) topology: TopologyArgs,
    #[command(flatten)]
    pub(crate) order: OrderArgs,
}

/// A form of export.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// Configuration, or frames.
    Own(OwnForm),
    /// A topology of another project.
    Topology(&'static railtwin_topology::Form),
}

/// A form that is no topology.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum OwnForm {
    /// Switches under Linux with FRR: a folder for each.
    Frr,
    /// Switches under SONiC: a folder for each.
    Sonic,
    /// Hosts under Linux: bonds, addresses, RoCE, NCCL; a folder for each.
    Hosts,
    /// The per-port hash of cores as a table.
    CoreHash,
    /// The LLDPDUs and LACPDUs that switches and leaves send, as captures: one for each switch.
    Captures,
    /// The hosts as `NCCL_TOPO_FILE`: a file for each host model.
    NcclTopology,
    /// Every cable: device, port, rack, unit and optic of both ends, length.
    Schedule,
    /// The bill of materials of a design with named ports.
    Bom,
}

impl OwnForm {
    const fn name(self) -> &'static str {
        match self {
            Self::Frr => "frr",
            Self::Sonic => "sonic",
            Self::Hosts => "hosts",
            Self::CoreHash => "core-hash",
            Self::Captures => "captures",
            Self::NcclTopology => "nccl-topology",
            Self::Schedule => "schedule",
            Self::Bom => "bom",
        }
    }
}

fn written_forms() -> impl Iterator<Item = &'static railtwin_topology::Form> {
    railtwin_topology::FORMS.iter().filter(|form| form.write.is_some())
}

fn form_names() -> Vec<&'static str> {
    let own = OwnForm::value_variants().iter().map(|form| form.name());
    own.chain(written_forms().map(|form| form.name)).collect()
}

fn forms_help() -> String {
    let topologies: Vec<String> =
        written_forms().map(|form| format!("{}: {}", form.name, form.title)).collect();
    format!(
        "The form to write. Configuration: frr, sonic, hosts: a folder for each device; core-hash: the per-port hash of \
         cores as a table; captures: the LLDPDUs and LACPDUs that devices send; nccl-topology: a file for each host model. Orders: schedule: every cable with device, \
         port, rack, unit and optic of both ends; bom: the bill of materials of a design. Topologies: {}",
        topologies.join("; ")
    )
}

impl Form {
    /// The form of a name that the parser accepted.
    fn named(name: &str) -> Self {
        let own = OwnForm::value_variants().iter().find(|form| form.name() == name);
        match (own, railtwin_topology::named(name)) {
            (None, Some(form)) => Self::Topology(form),
            (own, _) => Self::Own(own.copied().unwrap_or(OwnForm::Frr)),
        }
    }
}

pub(crate) fn run(args: &ExportArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    if !goes_on(&Cost::least("files of a fabric"), streams)? {
        return Ok(());
    }
    let form = match args.form {
        Form::Own(form) => form,
        Form::Topology(form) => return export_topology::run(form, args, streams),
    };
    if matches!(form, OwnForm::Schedule | OwnForm::Bom) {
        return order(form, args, streams);
    }
    let folder = args.folder.as_deref().ok_or_else(|| {
        CliError::input("there is no folder to write", "name one behind the fabric, such as out/")
    })?;
    let site = site_of(&args.what, &args.settings)?;
    let config = &args.config;
    let files = match form {
        OwnForm::Frr => frr::files(&planned(&site, config)?),
        OwnForm::Sonic => sonic::files(&planned(&site, config)?),
        OwnForm::Hosts => hosts::files(&planned(&site, config)?),
        OwnForm::CoreHash | OwnForm::Schedule | OwnForm::Bom => core_hash(&site, config)?,
        OwnForm::NcclTopology => {
            let files = host_files(&site.fabric);
            let files: Vec<(&str, &[u8])> =
                files.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
            return written(folder, &files, args, streams);
        }
        OwnForm::Captures => {
            let files = captures(&site);
            let files: Vec<(&str, &[u8])> =
                files.iter().map(|(path, bytes)| (path.as_str(), &bytes[..])).collect();
            return written(folder, &files, args, streams);
        }
    };
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|file| (file.path.as_str(), file.text.as_bytes())).collect();
    written(folder, &files, args, streams)
}

/// The topology of each host model with GPUs, as NCCL has it.
fn host_files(fabric: &Fabric) -> Vec<(String, String)> {
    let models = fabric.host_models().iter().filter(|model| model.gpus > 0);
    models.map(|model| (format!("{}.xml", model.name), NcclHost::of_model(model).to_xml())).collect()
}

/// Writes an order, which is one file.
fn order(form: OwnForm, args: &ExportArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    if args.folder.is_some() {
        let message = format!("{} is one file", form.name());
        return Err(CliError::input(message, "write --output FILE in place of the folder"));
    }
    if let Some(path) = &args.output {
        refuse_input("--output", path, &[Path::new(&args.what)])?;
    }
    let text = match form {
        OwnForm::Bom => bom(args)?,
        _ => schedule(args, streams)?,
    };
    export_topology::one_file(&text, args.output.as_deref(), streams)
}

/// Writes files, and says how many.
pub(crate) fn written(
    folder: &Path,
    files: &[(&str, &[u8])],
    args: &ExportArgs,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    write_all(folder, files, args.force)?;
    let stale = stale(folder, files);
    if stale > 0 {
        writeln!(
            streams.notes,
            "{stale} of the files that were in {} before are left there",
            folder.display()
        )?;
    }
    let (count, folder) = (files.len(), folder.display());
    Ok(writeln!(streams.out, "{count} {} in {folder}", if count == 1 { "file" } else { "files" })?)
}

/// Files below a folder that are not of this export.
fn stale(folder: &Path, files: &[(&str, &[u8])]) -> usize {
    let written: BTreeSet<PathBuf> = files.iter().map(|(name, _)| folder.join(name)).collect();
    let mut open = vec![folder.to_path_buf()];
    let mut count = 0;
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => open.push(path),
                false => count += usize::from(!written.contains(&path)),
            }
        }
    }
    count
}

/// Writes files below a folder, all or none where the folder is new.
fn write_all(folder: &Path, files: &[(&str, &[u8])], force: bool) -> Result<(), CliError> {
    let is_empty = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) if folder.symlink_metadata().is_ok() => {
            let message = format!("{} is no folder that can be read", folder.display());
            return Err(CliError::input(message, "name a folder, or one that is not there yet"));
        }
        Err(_) => true,
    };
    if !is_empty && !force {
        let message = format!("{} holds files already", folder.display());
        return Err(CliError::input(message, "name another folder, or write into it with --force"));
    }
    let failed = |path: &Path, error| CliError::Folder(format!("cannot write {}: {error}", path.display()));
    if !is_empty {
        // Each old file is replaced; links are not followed.
        return write_below(folder, files, write_whole);
    }
    // Beside the place, and renamed when all is there: nobody sees half of it.
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    if name.is_empty() {
        return write_below(folder, files, write_whole);
    }
    name.push(".railtwin-writing");
    let hidden = folder.with_file_name(name);
    let _ = fs::remove_dir_all(&hidden);
    let written = write_below(&hidden, files, |path, bytes| fs::write(path, bytes)).and_then(|()| {
        // A folder that is empty gives way; one that is not there needs none.
        let _ = fs::remove_dir(folder);
        fs::rename(&hidden, folder).map_err(|error| failed(folder, error))
    });
    if written.is_err() {
        let _ = fs::remove_dir_all(&hidden);
    }
    written
}

fn write_below(
    folder: &Path,
    files: &[(&str, &[u8])],
    write: impl Fn(&Path, &[u8]) -> std::io::Result<()>,
) -> Result<(), CliError> {
    let failed = |path: &Path, error| CliError::Folder(format!("cannot write {}: {error}", path.display()));
    let mut made = PathBuf::new();
    for (name, bytes) in files {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        if made != parent {
            fs::create_dir_all(parent).map_err(|error| failed(parent, error))?;
            parent.clone_into(&mut made);
        }
        write(&path, bytes).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}
