//! `railtwin import`: what a file of another project holds, in our words, and a scenario around it.
use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use railtwin::cost::files::{Reading, of_files};
use railtwin_fabric::cable_list::{DeviceRole, role_of};
use railtwin_formats::{
    ChakraTrace, HtsimConnections, HtsimTopology, LingjunTopology, SimaiPolicy, SimaiTopology, SimaiWorkload,
    parse_chakra_groups,
};
use railtwin_store::input;
use railtwin_topology::{FORMS, Form, SourceFile, Topology, form_of};
use serde_json::{Map, Value, json};

use crate::foreseen::goes_on;
use crate::import_facts::{
    Facts, of_chakra, of_connections, of_htsim, of_lingjun, of_simai, of_simai_topology, of_topology,
};
use crate::import_scenario::{Around, write_scenario};
use crate::other_command::hint_beside_imports;
use crate::table::{TextTable, grouped};
use crate::topology_files::{files_of, of_bytes, refused as wrong};
use crate::{CliError, Streams, import_host};

/// Arguments of `import`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// A file, the Chakra traces of all ranks with the JSON of their communicators, the files of one topology, a folder of
    /// these, or the common name of traces without .<rank>.et
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The format; default by content and name
    #[arg(long = "as", value_name = "FORMAT", value_parser = PossibleValuesParser::new(format_names()))]
    format: Option<String>,
    /// Write a scenario that runs what the file holds
    #[arg(long, value_name = "FILE.toml")]
    scenario: Option<PathBuf>,
    /// Write the scenario although there is a file of its name
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A format that can be read.
#[derive(Clone, Copy, Debug)]
enum Format {
    /// SimAI (AICB) workload text.
    Simai,
    /// Chakra execution traces, one file for each rank.
    Chakra,
    /// Connection matrix of htsim.
    Connections,
    /// NCCL's topology of a host.
    Host,
    /// A topology.
    Topology(&'static Form),
}

/// Formats of work and hosts, by name; all others are of topologies.
const WORK: [&str; 4] = ["simai", "chakra", "connections", "nccl-topology"];

/// Another name of the form `simai`, which is that of a workload here.
const SIMAI_TOPOLOGY: &str = "simai-topology";

fn format_names() -> Vec<&'static str> {
    let topologies = FORMS.iter().filter(|form| form.read.is_some()).map(|form| form.name);
    let mut names: Vec<&str> = WORK.into_iter().chain([SIMAI_TOPOLOGY]).collect();
    names.extend(topologies.filter(|name| !WORK.contains(name)));
    names
}

impl Format {
    fn named(name: &str) -> Option<Self> {
        match name {
            "simai" => Some(Self::Simai),
            "chakra" => Some(Self::Chakra),
            "connections" => Some(Self::Connections),
            "nccl-topology" => Some(Self::Host),
            SIMAI_TOPOLOGY => railtwin_topology::named("simai").map(Self::Topology),
            other => railtwin_topology::named(other).map(Self::Topology),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Simai => "simai",
            Self::Chakra => "chakra",
            Self::Connections => "connections",
            Self::Host => "nccl-topology",
            Self::Topology(form) => form.name,
        }
    }
}

/// What would be accepted, for errors.
fn accepted() -> String {
    let topologies: Vec<&str> = format_names().into_iter().filter(|name| !WORK.contains(name)).collect();
    format!(
        "accepted are SimAI workload texts (simai), Chakra traces named <name>.<rank>.et (chakra), their communicators as \
         .json beside them, connection matrices of htsim (connections), NCCL's topologies of hosts (nccl-topology), and \
         topologies ({}); --as says which",
        topologies.join(", ")
    )
}

/// A file and its bytes.
type Read = (PathBuf, Vec<u8>);

pub(crate) fn run(args: &ImportArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let read = with_ranks(&args.files);
    if !goes_on(&of_files(&read, Reading::IMPORTED), streams)? {
        return Ok(());
    }
    let files = read_all(&in_folders(&args.files)?)?;
    let format = match args.format.as_deref().and_then(Format::named) {
        Some(format) => format,
        None => detected(&files)?,
    };
    let (facts, around) = match format {
        Format::Simai => simai(only(&files, "SimAI workload")?)?,
        Format::Chakra => chakra(files)?,
        Format::Connections => connections(only(&files, "htsim connection matrix")?)?,
        Format::Host => {
            let (path, bytes) = only(&files, "host")?;
            let facts = import_host::facts(&path.display().to_string(), bytes)?;
            (facts, Around::Nothing("a host: its keys stand under [fabric.host]"))
        }
        Format::Topology(form) => topology(&files, form)?,
    };
    if let Some(path) = &args.scenario {
        write_scenario(path, &around, args.force)?;
    }
    match args.json {
        true => write_json(&facts, args.scenario.as_deref(), streams.out),
        false => write_text(&facts, args.scenario.as_deref(), streams.out),
    }
}

/// The files, with the traces of all its ranks for a name that is none, and the files of a folder.
fn with_ranks(paths: &[PathBuf]) -> Vec<PathBuf> {
    let of = |path: &PathBuf| match path.exists() {
        true if path.is_dir() => files_of(path).unwrap_or_default(),
        true => vec![path.clone()],
        false => (0..).map(|rank| trace_path(path, rank)).take_while(|path| path.exists()).collect(),
    };
    paths.iter().flat_map(of).collect()
}

/// The paths, with the files of each folder in its place.
fn in_folders(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    let mut all = Vec::new();
    for path in paths {
        if path.is_dir() {
            let refuse =
                |error| CliError::input(format!("cannot read {}: {error}", path.display()), accepted());
            let files = files_of(path).map_err(refuse)?;
            if files.is_empty() {
                return Err(CliError::input(format!("{} holds no file", path.display()), accepted()));
            }
            all.extend(files);
        } else {
            all.push(path.clone());
        }
    }
    Ok(all)
}

/// Reads the files; a name that is none stands for the traces of all its ranks.
fn read_all(paths: &[PathBuf]) -> Result<Vec<Read>, CliError> {
    let refuse = |path: &Path, error: std::io::Error| {
        CliError::input(format!("cannot read {}: {error}", path.display()), accepted())
    };
    let mut files = Vec::new();
    for path in paths {
        match input::read_unpacked(path) {
            Ok(bytes) => files.push((path.clone(), bytes)),
            Err(error) => {
                let before = files.len();
                for rank in 0.. {
                    let path = trace_path(path, rank);
                    match input::read_unpacked(&path) {
                        Ok(bytes) => files.push((path, bytes)),
                        Err(error) if error.kind() == ErrorKind::NotFound => break,
                        Err(error) => return Err(refuse(&path, error)),
                    }
                }
                if files.len() == before {
                    return Err(refuse(path, error));
                }
            }
        }
    }
    Ok(files)
}

fn trace_path(prefix: &Path, rank: u32) -> PathBuf {
    let mut path = prefix.as_os_str().to_owned();
    path.push(format!(".{rank}.et"));
    path.into()
}

/// Common name and rank of a trace by its file name, `<name>.<rank>.et`.
fn trace_name(path: &Path) -> Option<(PathBuf, u32)> {
    let name = path.to_str()?.strip_suffix(".et")?;
    let (prefix, rank) = name.rsplit_once('.')?;
    Some((prefix.into(), rank.parse().ok()?))
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

fn detected(files: &[Read]) -> Result<Format, CliError> {
    let work: Vec<Option<Format>> = files.iter().map(|file| work_of(file, files)).collect();
    let Some(first) = work.iter().flatten().next() else {
        return topology_form(files);
    };
    for (file, format) in files.iter().zip(&work) {
        if format.is_none_or(|format| format.name() != first.name()) {
            let other = match format {
                Some(other) => *other,
                None => topology_form(std::slice::from_ref(file))?,
            };
            let what =
                format!("{} is of another format than {}: {}", file.0.display(), first.name(), other.name());
            return Err(CliError::input(what, accepted()));
        }
    }
    Ok(*first)
}

/// The name of the format of a file that `import` reads; none for any other file.
pub(crate) fn title_of(file: Read) -> Option<&'static str> {
    let file = [file];
    let format = work_of(&file[0], &file).or_else(|| topology_form(&file).ok())?;
    Some(match format {
        Format::Simai => "SimAI workload",
        Format::Chakra => "Chakra trace",
        Format::Connections => "htsim connection matrix",
        Format::Host => "NCCL topology of a host",
        Format::Topology(form) => form.title,
    })
}

/// The format of a file of work; none where it is of none.
fn work_of((path, bytes): &Read, files: &[Read]) -> Option<Format> {
    let has_traces = files.iter().any(|(path, _)| trace_name(path).is_some());
    let first = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let first = String::from_utf8_lossy(&first[..first.len().min(1 << 16)]);
    let policy =
        first.trim_start_matches('\u{feff}').split_whitespace().next().and_then(SimaiPolicy::from_name);
    if policy.is_some() {
        return Some(Format::Simai);
    }
    if path.extension().is_some_and(|extension| extension == "et") || (has_traces && is_json(path)) {
        return Some(Format::Chakra);
    }
    if import_host::is_one(&path.display().to_string(), bytes) {
        return Some(Format::Host);
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let mut keys = text.lines().filter_map(|line| line.split_whitespace().next());
    keys.find(|key| key.eq_ignore_ascii_case("connections")).map(|_| Format::Connections)
}

/// The form of the files of a topology.
fn topology_form(files: &[Read]) -> Result<Format, CliError> {
    let names: Vec<String> = files.iter().map(|(path, _)| path.display().to_string()).collect();
    let sources: Vec<SourceFile<'_>> =
        names.iter().zip(files).map(|(name, (_, bytes))| SourceFile { name, bytes }).collect();
    form_of(&sources).map(Format::Topology).ok_or_else(|| {
        let what = match names.as_slice() {
            [name] => format!("{name} is of no known format"),
            _ => format!("{} and {} more files are of no known format", names[0], names.len() - 1),
        };
        CliError::input(what, hint_beside_imports(&files[0].1).unwrap_or_else(accepted))
    })
}

fn only<'a>(files: &'a [Read], what: &str) -> Result<&'a Read, CliError> {
    match files {
        [file] => Ok(file),
        _ => Err(CliError::input(format!("{} files for one {what}", files.len()), "name one file at a time")),
    }
}

fn simai((path, bytes): &Read) -> Result<(Facts, Around), CliError> {
    let name = path.display().to_string();
    let workload = SimaiWorkload::parse(&name, bytes).map_err(|error| wrong(&error))?;
    let plan = workload.plan(&name, None).map_err(|error| wrong(&error))?;
    let (file, ranks) = (path.clone(), plan.ranks);
    let around = Around::Workload { key: "simai", path: path.clone(), file, ranks, groups: None };
    Ok((of_simai(&name, &workload, &plan), around))
}

fn chakra(files: Vec<Read>) -> Result<(Facts, Around), CliError> {
    let (others, files): (Vec<Read>, Vec<Read>) = files.into_iter().partition(|(path, _)| is_json(path));
    let groups = match others.as_slice() {
        [] => BTreeMap::new(),
        [(path, bytes)] => {
            parse_chakra_groups(&path.display().to_string(), bytes).map_err(|error| wrong(&error))?
        }
        [_, (second, _), ..] => {
            let message = format!("{} is a second file of communicators", second.display());
            return Err(CliError::input(message, "give one"));
        }
    };
    let mut ranks = Vec::new();
    for (path, bytes) in files {
        let (prefix, rank) = trace_name(&path).ok_or_else(|| {
            let message = format!("{} is not named <name>.<rank>.et", path.display());
            CliError::input(message, "the rank of a trace stands in its name only, so name it so")
        })?;
        let trace =
            ChakraTrace::decode(&path.display().to_string(), &bytes).map_err(|error| wrong(&error))?;
        ranks.push((rank, prefix, path, trace));
    }
    ranks.sort_by_key(|(rank, ..)| *rank);
    for (expected, (rank, prefix, path, _)) in ranks.iter().enumerate() {
        let first = &ranks[0].1;
        if *rank as usize != expected || prefix != first {
            let message =
                format!("{} stands where rank {expected} of {} should", path.display(), first.display());
            let help = "name the traces of all ranks of one job from 0 on, or their common name";
            return Err(CliError::input(message, help));
        }
    }
    let (prefix, file) = (ranks[0].1.clone(), ranks[0].2.clone());
    let traces: Vec<ChakraTrace> = ranks.into_iter().map(|(.., trace)| trace).collect();
    let name = prefix.display().to_string();
    let plan = railtwin_formats::plan_of_chakra(&name, &traces, &groups).map_err(|error| wrong(&error))?;
    let facts = of_chakra(&name, &traces, &plan);
    let groups = others.into_iter().next().map(|(path, _)| path);
    Ok((facts, Around::Workload { key: "chakra", path: prefix, file, ranks: plan.ranks, groups }))
}

/// Facts of a topology, with what we say more of some forms.
fn topology(files: &[Read], form: &'static Form) -> Result<(Facts, Around), CliError> {
    let topology = of_bytes(files, Some(form))?;
    let (path, bytes) = &files[0];
    let name = path.display().to_string();
    let mut facts = match form.name {
        "lingjun" => {
            of_lingjun(&name, &LingjunTopology::parse(&name, bytes).map_err(|error| wrong(&error))?)?
        }
        "htsim" => {
            let parsed = HtsimTopology::parse(&name, bytes).map_err(|error| wrong(&error))?;
            // What cannot be built as a fabric of ours is counted all the same.
            match parsed.spec() {
                Ok(spec) => of_htsim(&name, &parsed, &spec)?,
                Err(_) => of_topology(&name, &topology, files.len()),
            }
        }
        "simai" => {
            of_simai_topology(&name, &SimaiTopology::parse(&name, bytes).map_err(|error| wrong(&error))?)
        }
        _ => of_topology(&name, &topology, files.len()),
    };
    let around = around(files, form, &topology);
    facts.notes.extend(
        topology.notes.iter().filter(|note| !facts.notes.contains(note)).cloned().collect::<Vec<_>>(),
    );
    facts.counts = Some(topology.counts());
    facts.findings = topology.findings;
    Ok((facts, around))
}

/// Hosts that a job may run on: with GPUs, at a switch.
fn job_hosts(topology: &Topology) -> u32 {
    let list = &topology.list;
    let is_cabled =
        |row: u32| list.devices()[row as usize].ports.iter().any(|&port| list.peer(port).is_some());
    let has_gpus = |row: u32| matches!(list.devices()[row as usize].role, None | Some(DeviceRole::Host));
    let named = |row: u32| {
        let role = role_of(&list.devices()[row as usize].name);
        role.is_none_or(|role| matches!(role, DeviceRole::Host | DeviceRole::Leaf))
    };
    topology.hosts().filter(|&row| is_cabled(row) && has_gpus(row) && named(row)).count() as u32
}

fn around(files: &[Read], form: &'static Form, topology: &Topology) -> Around {
    let hosts = job_hosts(topology);
    let is_built = match (form.name, files) {
        ("htsim", [(path, bytes)]) => {
            HtsimTopology::parse(&path.display().to_string(), bytes).is_ok_and(|parsed| parsed.spec().is_ok())
        }
        ("lingjun", _) => true,
        _ => false,
    };
    match (form.name, files) {
        _ if hosts < 2 => Around::Nothing("a topology without two hosts that a job could run on"),
        (_, [(path, _)]) if is_built => Around::Fabric { key: form.name, path: path.clone(), hosts },
        (_, [(path, _)]) => {
            let rated = topology.list.ports().iter().any(|port| port.rate.is_some());
            Around::Listed { path: path.clone(), hosts, rated }
        }
        _ => Around::Nothing("several files"),
    }
}

fn connections((path, bytes): &Read) -> Result<(Facts, Around), CliError> {
    let name = path.display().to_string();
    let matrix = HtsimConnections::parse(&name, bytes).map_err(|error| wrong(&error))?;
    let plan = matrix.plan().map_err(|error| {
        CliError::input(format!("{name}: {error}"), "a matrix without connections asks nothing")
    })?;
    let around = Around::Connections { path: path.clone(), nodes: matrix.nodes };
    Ok((of_connections(&name, &matrix, &plan), around))
}

fn write_json(facts: &Facts, scenario: Option<&Path>, out: &mut dyn Write) -> Result<(), CliError> {
    let values: Map<String, Value> =
        facts.rows.iter().map(|fact| (fact.key.clone(), fact.value.clone())).collect();
    let mut value = json!({
        "format": facts.format, "file": facts.file, "facts": values, "notes": facts.notes, "scenario": scenario,
    });
    if let Some(design) = &facts.design {
        value["design"] = json!(design);
    }
    if let Some(counts) = &facts.counts {
        value["counts"] = json!(counts);
    }
    if facts.counts.is_some() || !facts.findings.is_empty() {
        value["findings"] = json!(facts.findings);
    }
    Ok(writeln!(out, "{}", serde_json::to_string_pretty(&value).expect("a JSON value is text"))?)
}

fn write_text(facts: &Facts, scenario: Option<&Path>, out: &mut dyn Write) -> Result<(), CliError> {
    let mut table = TextTable::default();
    table.row(["format".to_owned(), facts.format.to_owned()]);
    for fact in &facts.rows {
        table.row([fact.name.clone(), fact.shown.clone()]);
    }
    if let Some(counts) = &facts.counts {
        for (tier, switches) in &counts.switches {
            table.row([format!("switches, {tier}"), grouped(*switches)]);
        }
        for (name, count) in [
            ("hosts", counts.hosts),
            ("adapters", counts.adapters),
            ("cables", counts.cables),
            ("links up", counts.links_up),
            ("links missing", counts.links_missing),
            ("findings", facts.findings.len() as u32),
        ] {
            table.row([name.to_owned(), grouped(count)]);
        }
    }
    writeln!(out, "{}", facts.file)?;
    write!(out, "{}", table.text())?;
    write_findings(&facts.findings, out)?;
    if let Some(design) = &facts.design {
        write!(out, "\n{}", crate::design::text_of(design))?;
    }
    for note in &facts.notes {
        writeln!(out, "note: {note}")?;
    }
    if let Some(scenario) = scenario {
        writeln!(out, "scenario  {}", scenario.display())?;
    }
    Ok(())
}

/// Most findings of one kind that are printed; JSON has all.
const MOST_FINDINGS: usize = 10;

fn write_findings(
    findings: &[railtwin_topology::TopologyFinding],
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let mut of_kind: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in findings {
        let printed = of_kind.entry(finding.kind).or_default();
        *printed += 1;
        if *printed <= MOST_FINDINGS {
            writeln!(out, "finding: {}: {}: {}", finding.kind, finding.device, finding.seen)?;
        }
    }
    for (kind, count) in of_kind.into_iter().filter(|(_, count)| *count > MOST_FINDINGS) {
        writeln!(out, "finding: {kind}: {} more; --json has all", count - MOST_FINDINGS)?;
    }
    Ok(())
}
