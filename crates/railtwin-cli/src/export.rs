//! `railtwin export`: a fabric in the words of other programs, as a file or a folder of files.
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, ValueEnum as _};
use railtwin::cost::Cost;
use railtwin_fabric::Fabric;
use railtwin_formats::switch_config::{frr, hosts, sonic};
use railtwin_scenario::Preset;
use railtwin_topology::nccl::NcclHost;

use crate::export_captures::captures;
use crate::export_config::{ConfigArgs, core_hash, planned};
use crate::export_order::{OrderArgs, bom, schedule};
use crate::export_site::site_of;
use crate::export_topology::{self, TopologyArgs};
use crate::export_write::{one_file, written};
use crate::foreseen::goes_on;
use crate::overwritten::{refuse_evidence, refuse_input};
use crate::{CliError, Streams};

/// Arguments of `export`.
#[derive(Args, Debug)]
pub struct ExportArgs {
    // The help lists the presets that there are.
    #[arg(
        value_name = "PRESET|SCENARIO|FILE",
        help = format!("A preset ({}), scenario (.toml), topology file or folder of these", Preset::NAMES.join(", "))
    )]
    what: String,
    // The help lists the forms that there are.
    #[arg(
        long = "to",
        value_name = "FORM",
        help = forms_help(),
        value_parser = PossibleValuesParser::new(form_names()).map(|name| Form::named(&name))
    )]
    form: Form,
    /// The folder to write, which is made; of a form of one file see --output
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// The file to write, of a form of one file; default standard output
    #[arg(short, long = "output", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Sets any key of [fabric] of a preset, such as segments=2
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Write into a folder that holds files already
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    topology: TopologyArgs,
    #[command(flatten)]
    order: OrderArgs,
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
         cores as a table; captures: the LLDPDUs and LACPDUs that devices send; nccl-topology: a file for each host \
         model. Orders: schedule: every cable with device, port, rack, unit and optic of both ends; bom: the bill of \
         materials of a design. Topologies: {}",
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
        Form::Topology(form) => return topology(form, args, streams),
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
            return written(folder, &files, args.force, streams);
        }
        OwnForm::Captures => {
            let files = captures(&site);
            let files: Vec<(&str, &[u8])> =
                files.iter().map(|(path, bytes)| (path.as_str(), &bytes[..])).collect();
            return written(folder, &files, args.force, streams);
        }
    };
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|file| (file.path.as_str(), file.text.as_bytes())).collect();
    written(folder, &files, args.force, streams)
}

/// The topology of each host model with GPUs, as NCCL has it.
fn host_files(fabric: &Fabric) -> Vec<(String, String)> {
    let models = fabric.host_models().iter().filter(|model| model.gpus > 0);
    models.map(|model| (format!("{}.xml", model.name), NcclHost::of_model(model).to_xml())).collect()
}

/// Writes a topology: one file to standard output or `--output`, several below the folder.
fn topology(
    form: &'static railtwin_topology::Form,
    args: &ExportArgs,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    if let Some(path) = &args.output {
        refuse_evidence("--output", path, &[Path::new(&args.what)])?;
    }
    if let Some(folder) = &args.folder {
        refuse_input("DIR", folder, &[Path::new(&args.what)])?;
    }
    let files = export_topology::files(form, &args.what, &args.settings, &args.topology, streams)?;
    match (args.folder.as_deref(), files.as_slice()) {
        (Some(folder), files) => {
            let files: Vec<(&str, &[u8])> =
                files.iter().map(|file| (file.path.as_str(), file.text.as_bytes())).collect();
            written(folder, &files, args.force, streams)
        }
        (None, [file]) => one_file(&file.text, args.output.as_deref(), streams),
        (None, _) => {
            let message = format!("{} is {} files, and there is no folder to write", form.name, files.len());
            Err(CliError::input(message, "name one behind the fabric, such as out/"))
        }
    }
}

/// Writes an order, which is one file.
fn order(form: OwnForm, args: &ExportArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    if args.folder.is_some() {
        let message = format!("{} is one file", form.name());
        return Err(CliError::input(message, "write --output FILE in place of the folder"));
    }
    if let Some(path) = &args.output {
        let read = args.order.read();
        refuse_input("--output", path, &[&[Path::new(&args.what)], read.as_slice()].concat())?;
    }
    let text = match form {
        OwnForm::Bom => bom(&args.what, &args.order)?,
        _ => schedule(&args.what, &args.settings, &args.order, streams)?,
    };
    one_file(&text, args.output.as_deref(), streams)
}
