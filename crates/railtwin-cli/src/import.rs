//! `railtwin import`: what a file of another project holds, in our words, and a scenario around it.
use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use railtwin::cost::files::{Reading, of_files};
use railtwin_formats::{
    ChakraTrace, FormatError, HtsimConnections, HtsimTopology, LingjunTopology, SimaiPolicy, SimaiTopology,
    SimaiWorkload, parse_chakra_groups,
};
use railtwin_store::input;
use serde_json::{Map, Value, json};

use crate::foreseen::goes_on;
use crate::import_facts::{
    Facts, of_chakra, of_connections, of_htsim, of_lingjun, of_simai, of_simai_topology,
};
use crate::import_scenario::{Around, write_scenario};
use crate::table::TextTable;
use crate::{CliError, Streams};

/// Arguments of `import`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// A file, the Chakra traces of all ranks with the JSON of their communicators, a folder of these, or their common
    /// name without .<rank>.et
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The format; default by content and name
    #[arg(long = "as", value_name = "FORMAT")]
    format: Option<Format>,
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
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// SimAI (AICB) workload text
    Simai,
    /// Chakra execution traces, one file for each rank
    Chakra,
    /// Topology of the Lingjun 2023 data set
    Lingjun,
    /// Fat-tree of htsim
    Htsim,
    /// Connection matrix of htsim
    Connections,
    /// Topology of SimAI and of HPCC's ns-3
    SimaiTopology,
}

/// What would be accepted, for errors.
const ACCEPTED: &str = "accepted are SimAI workload texts (simai), Chakra traces named <name>.<rank>.et (chakra), \
                        their communicators as .json beside them, the topo.csv of Lingjun (lingjun), topologies of \
                        SimAI and of HPCC's ns-3 (simai-topology), and of htsim .topo files (htsim) and .cm files \
                        (connections); --as says which";

/// A file and its bytes.
type Read = (PathBuf, Vec<u8>);

pub(crate) fn run(args: &ImportArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let read = with_ranks(&args.files);
    if !goes_on(&of_files(&read, Reading::IMPORTED), streams)? {
        return Ok(());
    }
    let files = read_all(&in_folders(&args.files)?)?;
    let format = match args.format {
        Some(format) => format,
        None => detected(&files)?,
    };
    let (facts, around) = match format {
        Format::Simai => simai(only(&files, "SimAI workload")?)?,
        Format::Chakra => chakra(files)?,
        Format::Lingjun => lingjun(only(&files, "Lingjun topology")?)?,
        Format::Htsim => htsim(only(&files, "htsim topology")?)?,
        Format::Connections => connections(only(&files, "htsim connection matrix")?)?,
        Format::SimaiTopology => simai_topology(only(&files, "SimAI topology")?)?,
    };
    if let Some(path) = &args.scenario {
        write_scenario(path, &around, args.force)?;
    }
    match args.json {
        true => write_json(&facts, args.scenario.as_deref(), streams.out),
        false => write_text(&facts, args.scenario.as_deref(), streams.out),
    }
}

/// Files of a folder, by name.
fn of_folder(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    let files: Result<Vec<PathBuf>, _> =
        std::fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut files = files?;
    files.retain(|file| file.is_file());
    files.sort();
    Ok(files)
}

/// The files, with the traces of all its ranks for a name that is none, and the files of a folder.
fn with_ranks(paths: &[PathBuf]) -> Vec<PathBuf> {
    let of = |path: &PathBuf| match path.exists() {
        true if path.is_dir() => of_folder(path).unwrap_or_default(),
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
                |error| CliError::input(format!("cannot read {}: {error}", path.display()), ACCEPTED);
            let files = of_folder(path).map_err(refuse)?;
            if files.is_empty() {
                return Err(CliError::input(format!("{} holds no file", path.display()), ACCEPTED));
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
        CliError::input(format!("cannot read {}: {error}", path.display()), ACCEPTED)
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
    let has_traces = files.iter().any(|(path, _)| trace_name(path).is_some());
    let format_of = |(path, bytes): &Read| {
        let first = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let first = String::from_utf8_lossy(first);
        let columns: Vec<&str> =
            first.trim_start_matches('\u{feff}').trim().split(',').map(str::trim).collect();
        let policy = columns[0].split_whitespace().next().and_then(SimaiPolicy::from_name);
        if policy.is_some() {
            Some(Format::Simai)
        } else if ["DSW", "PSW", "ASW"].iter().all(|name| columns.contains(name)) {
            Some(Format::Lingjun)
        } else if path.extension().is_some_and(|extension| extension == "et") || (has_traces && is_json(path))
        {
            Some(Format::Chakra)
        } else if SimaiTopology::is_one(bytes) {
            Some(Format::SimaiTopology)
        } else {
            of_htsim_words(bytes)
        }
    };
    let first = format_of(&files[0]);
    for file in files {
        let format = format_of(file);
        if format.is_none() || format != first {
            let what = if format.is_none() { "is of no known format" } else { "is of another format" };
            return Err(CliError::input(format!("{} {what}", file.0.display()), ACCEPTED));
        }
    }
    Ok(first.expect("the first file was looked at"))
}

/// The format of htsim that the keys of the text are of.
fn of_htsim_words(bytes: &[u8]) -> Option<Format> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut keys = text.lines().filter_map(|line| line.split_whitespace().next());
    keys.find_map(|key| match key.to_ascii_lowercase().as_str() {
        "tiers" => Some(Format::Htsim),
        "connections" => Some(Format::Connections),
        _ => None,
    })
}

fn only<'a>(files: &'a [Read], what: &str) -> Result<&'a Read, CliError> {
    match files {
        [file] => Ok(file),
        _ => Err(CliError::input(format!("{} files for one {what}", files.len()), "name one file at a time")),
    }
}

fn wrong(error: &FormatError) -> CliError {
    let text = error.to_string();
    match text.rsplit_once("; ") {
        Some((message, help)) => CliError::input(message, help),
        None => CliError::Input { message: text, help: None },
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

fn lingjun((path, bytes): &Read) -> Result<(Facts, Around), CliError> {
    let name = path.display().to_string();
    let topology = LingjunTopology::parse(&name, bytes).map_err(|error| wrong(&error))?;
    let hosts = topology.hosts.len() as u32;
    Ok((of_lingjun(&name, &topology)?, Around::Fabric { key: "lingjun", path: path.clone(), hosts }))
}

fn htsim((path, bytes): &Read) -> Result<(Facts, Around), CliError> {
    let name = path.display().to_string();
    let topology = HtsimTopology::parse(&name, bytes).map_err(|error| wrong(&error))?;
    let spec = topology.spec().map_err(|error| wrong(&error))?;
    let around = Around::Fabric { key: "htsim", path: path.clone(), hosts: topology.nodes };
    Ok((of_htsim(&name, &topology, &spec)?, around))
}

fn simai_topology((path, bytes): &Read) -> Result<(Facts, Around), CliError> {
    let name = path.display().to_string();
    let topology = SimaiTopology::parse(&name, bytes).map_err(|error| wrong(&error))?;
    Ok((of_simai_topology(&name, &topology), Around::Nothing("a fabric of a SimAI topology")))
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
    Ok(writeln!(out, "{}", serde_json::to_string_pretty(&value).expect("a JSON value is text"))?)
}

fn write_text(facts: &Facts, scenario: Option<&Path>, out: &mut dyn Write) -> Result<(), CliError> {
    let mut table = TextTable::default();
    table.row(["format".to_owned(), facts.format.to_owned()]);
    for fact in &facts.rows {
        table.row([fact.name.clone(), fact.shown.clone()]);
    }
    writeln!(out, "{}", facts.file)?;
    write!(out, "{}", table.text())?;
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
