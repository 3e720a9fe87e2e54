//! `railtwin design`: what a fabric consists of, of a preset or of a scenario's fabric.
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use clap::Args;
use railtwin::Question;
use railtwin::cost::Cost;
use railtwin_catalog::Catalog;
use railtwin_fabric::cable_list::{CableDesign, ListedFabric};
use railtwin_fabric::design::{DesignReport, TierReport};
use railtwin_fabric::{Fabric, FabricError, Network, Outside};
use railtwin_scenario::{FabricSpec, Preset, ScenarioError, SettingsText, expand};
use serde_json::json;

use crate::blueprint::{Named, of_list};
use crate::design_intent::{self, IntentArgs};
use crate::design_list::Roles;
use crate::design_report::{self, ReportArgs};
use crate::field_error::at_field;
use crate::foreseen::goes_on;
use crate::table::{TextTable, grouped};
use crate::topology_files::is_blueprint;
use crate::{CliError, Streams, design_compare};

/// Keys of a point of a sweep and their values.
type Label = Vec<(String, String)>;

/// The sections that a fabric is made of, as paths of their keys begin.
const SECTIONS: [&str; 3] = ["fabric.", "frontend.", "storage."];

/// Arguments of `design`.
#[derive(Args, Debug)]
pub struct DesignArgs {
    // The help lists the presets that there are.
    #[arg(
        value_name = "WHAT",
        required = true,
        num_args = 1..=3,
        help = format!(
            "A preset ({}), a scenario file (*.toml), a topology file, or with --gpus a style (rail-optimised, clos); \
             `search` for the cheapest fabric, `compare` with two designs, `parts` for the price table",
            Preset::NAMES.join(", ")
        )
    )]
    words: Vec<String>,
    /// What tier 2 of hpn connects: any-to-any or rail-only
    #[arg(long, value_name = "WHAT")]
    tier2: Option<String>,
    /// Segments in a pod
    #[arg(long, value_name = "COUNT")]
    segments: Option<String>,
    /// Pods
    #[arg(long, value_name = "COUNT")]
    pods: Option<String>,
    /// Each NIC reaches one leaf (hpn)
    #[arg(long)]
    single_tor: bool,
    /// All leaves share the spines (hpn)
    #[arg(long)]
    no_planes: bool,
    /// Rate of ports of which a cable list says none
    #[arg(long, value_name = "RATE")]
    rate: Option<String>,
    /// Sets any key of [fabric], such as spines=30, uplink="800 Gbps", host.nics=4
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    intent: IntentArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A fabric to report on: what was chosen on the axes of a sweep, and the report.
struct Design {
    label: Vec<(String, String)>,
    report: DesignReport,
    /// Roles of a cable list.
    roles: Option<Roles>,
}

pub(crate) fn run(args: &DesignArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    refuse_idle(args)?;
    match (args.words[0].as_str(), &args.words[1..]) {
        ("search", []) => return design_intent::find(&args.intent, args.json, streams),
        ("compare", names) => {
            let catalog = design_intent::catalog(args.intent.parts.as_deref())?;
            return design_compare::run(names, &catalog, args.json, streams);
        }
        ("parts", []) => return Ok(write!(streams.out, "{}", Catalog::builtin_text())?),
        (style, []) if args.intent.gpus.is_some() => {
            return design_intent::plan(style, &args.intent, args.json, streams);
        }
        (_, []) => {}
        (_, [more, ..]) => {
            let help = "name one fabric; two after `compare`";
            return Err(CliError::input(format!("design: {more:?} is one word too many"), help));
        }
    }
    if args.report.report {
        let settings = args.settings()?;
        return design_report::run(args.what(), &settings, &args.report, &args.intent, args.json, streams);
    }
    if !goes_on(&Cost::least("a fabric"), streams)? {
        return Ok(());
    }
    let designs = match args.what().ends_with(".toml") && !is_blueprint(Path::new(args.what())) {
        true => of_scenario(args, streams.notes)?,
        false if is_list_named(args.what()) => vec![of_cable_list(args)?],
        false => vec![of_preset(args, streams.notes)?],
    };
    match args.json {
        true => write_json(&designs, streams.out),
        false => write_text(&designs, streams.out),
    }
}

/// Refuses options that the call would pass over.
fn refuse_idle(args: &DesignArgs) -> Result<(), CliError> {
    let first = args.words[0].as_str();
    let verb = ["search", "compare", "parts"].contains(&first);
    let (plans, reports) = (args.intent.gpus.is_some() && first != "compare", args.report.report);
    let is_set = !args.settings()?.is_empty();
    let idle = [
        ("--gpus", args.intent.gpus.is_some() && ["compare", "parts"].contains(&first)),
        ("--report", reports && (verb || plans)),
        ("--set and its kin", is_set && (verb || plans)),
        ("--page", args.intent.page.is_some() && !plans && !reports),
        ("--parts", args.intent.parts.is_some() && !plans && !reports && first != "compare"),
        ("--json", args.json && first == "parts"),
    ];
    match idle.into_iter().find(|(_, is_idle)| *is_idle) {
        None => Ok(()),
        Some((option, _)) => {
            let help = "leave it out; `railtwin design --help` says what each belongs to";
            Err(CliError::input(format!("{option} changes nothing in this call of design"), help))
        }
    }
}

impl DesignArgs {
    /// The fabric.
    fn what(&self) -> &str {
        &self.words[0]
    }

    /// The options as keys of `[fabric]`, in the order of the options.
    fn settings(&self) -> Result<Vec<(&str, &str)>, CliError> {
        let mut settings = Vec::new();
        for (key, value) in
            [("tier2", &self.tier2), ("segments", &self.segments), ("pods", &self.pods), ("rate", &self.rate)]
        {
            settings.extend(value.as_deref().map(|value| (key, value)));
        }
        for (key, is_set) in [("dual_tor", self.single_tor), ("planes", self.no_planes)] {
            settings.extend(is_set.then_some((key, "false")));
        }
        for setting in &self.settings {
            let pair = setting.split_once('=').ok_or_else(|| {
                let help = "write a key of [fabric] and its value, such as --set spines=30";
                CliError::input(format!("--set {setting} is no pair of key and value"), help)
            })?;
            settings.push((pair.0.trim(), pair.1.trim()));
        }
        Ok(settings)
    }
}

fn of_preset(args: &DesignArgs, notes: &mut dyn Write) -> Result<Design, CliError> {
    if !Preset::NAMES.contains(&args.what()) {
        let names = Preset::NAMES.join(", ");
        let message = format!("there is no preset called {:?}", args.what());
        return Err(CliError::input(
            message,
            format!("presets are {names}; else name a scenario (*.toml) or a topology file that is there"),
        ));
    }
    let mut settings = SettingsText::new(args.what());
    for (key, value) in args.settings()? {
        settings.set(key, value);
    }
    let file = "settings";
    let refuse = |error| CliError::Scenario { error, text: settings.as_str().to_owned() };
    let report = match settings.fabric(file).map_err(refuse)? {
        FabricSpec::Preset(preset) => {
            let refused = |error: &FabricError| refuse(at_field(error, "", file, settings.as_str()));
            counted(&preset, notes, || preset.build().map_err(|error| refused(&error)))?
        }
        FabricSpec::Lingjun(_) | FabricSpec::Htsim(_) => return Err(no_preset("the fabric")),
    };
    Ok(Design { label: Vec::new(), report, roles: None })
}

/// Whether a word is that of a cable list: a file that is no preset.
fn is_list_named(word: &str) -> bool {
    !Preset::NAMES.contains(&word) && (word.ends_with(".csv") || Path::new(word).exists())
}

/// The fabric of a cable list, with the settings of the preset `cables`.
fn of_cable_list(args: &DesignArgs) -> Result<Design, CliError> {
    let mut settings = SettingsText::new("cables");
    settings.set("file", &toml::Value::String(args.what().to_owned()).to_string());
    for (key, value) in args.settings()? {
        settings.set(key, value);
    }
    let refuse = |error| CliError::Scenario { error, text: settings.as_str().to_owned() };
    let FabricSpec::Preset(Preset::Cables(spec)) = settings.fabric("settings").map_err(refuse)? else {
        return Err(no_preset(args.what()));
    };
    let (built, named) = built_list(Path::new(args.what()), &spec.design())?;
    let roles = Roles::of(&named, built.aliases, built.notes);
    Ok(Design { label: Vec::new(), report: DesignReport::of(&built.fabric), roles: Some(roles) })
}

/// Reads a cable list and builds its fabric.
fn built_list(path: &Path, design: &CableDesign) -> Result<(ListedFabric, Named), CliError> {
    let named = of_list(path)?;
    let built = named.list.fabric(&named.found, design).map_err(|error| {
        let file = path.display();
        match &error {
            FabricError::OutOfRange { field, value, accepted } => {
                let accepted =
                    accepted.replace("write rate = \"400 Gbps\" in [fabric]", "write --rate \"400 Gbps\"");
                CliError::input(format!("{file}: {field} cannot be {value}"), accepted)
            }
            other => CliError::refused(&format!("{file}: {other}")),
        }
    })?;
    Ok((built, named))
}

fn of_scenario(args: &DesignArgs, notes: &mut dyn Write) -> Result<Vec<Design>, CliError> {
    let file = args.what();
    if let Some((key, _)) = args.settings()?.first() {
        let message = format!("{key} is set on the command line, but {file} says the fabric");
        return Err(CliError::input(message, format!("change {key} in [fabric] of the file")));
    }
    let question = Question::read(Path::new(file)).map_err(|error| match error {
        railtwin::Error::File { path, problem } => {
            CliError::input(format!("cannot read {path}: {problem}"), "name a scenario file, or a preset")
        }
        other => CliError::of(other, ""),
    })?;
    let text = question.text;
    let refuse = |error| CliError::Scenario { error, text: text.clone() };
    let mut fabrics: Vec<(Label, (FabricSpec, Outside))> = Vec::new();
    for point in expand(file, &text).map_err(refuse)? {
        let mut label = point.label;
        label.retain(|(path, _)| SECTIONS.iter().any(|section| path.starts_with(section)));
        let scenario = point.scenario;
        let outside = Outside { frontend: scenario.frontend, storage: scenario.storage };
        let fabric = (scenario.fabric, outside);
        if !fabrics.iter().any(|(_, other)| *other == fabric) {
            fabrics.push((label, fabric));
        }
    }
    let mut designs = Vec::new();
    for (label, (fabric, outside)) in fabrics {
        let FabricSpec::Preset(preset) = fabric else {
            return Err(no_preset(file));
        };
        if let Preset::Cables(spec) = &preset {
            let folder = Path::new(file).parent().unwrap_or(Path::new(""));
            let (built, named) = built_list(&folder.join(&spec.file), &spec.design())?;
            let refused = |error: FabricError| refuse(at_field(&error, "fabric.", file, &text));
            let report = DesignReport::of(&outside.beside(built.fabric).map_err(refused)?);
            designs.push(Design {
                label,
                report,
                roles: Some(Roles::of(&named, built.aliases, built.notes)),
            });
            continue;
        }
        let built = || with_outside(&preset, &outside, file, &text).map_err(refuse);
        let report = counted(&preset, notes, built)?;
        designs.push(Design { label, report, roles: None });
    }
    Ok(designs)
}

/// A preset with the frontend and the storage that stand beside it.
fn with_outside(preset: &Preset, outside: &Outside, file: &str, text: &str) -> Result<Fabric, ScenarioError> {
    let refused = |error: FabricError, section: &str| {
        let own = error.field().is_some_and(|field| SECTIONS[1..].iter().any(|own| field.starts_with(own)));
        at_field(&error, if own { "" } else { section }, file, text)
    };
    let services = outside.services_on(Network::Backend);
    let fabric = preset.layout().fabric(services).map_err(|error| refused(error, SECTIONS[0]))?;
    outside.beside(fabric).map_err(|error| match &error {
        // Hosts are of [fabric]; all else that stands in the way is of the frontend's own.
        FabricError::OutOfRange { field, .. } if field.starts_with("host.") => refused(error, SECTIONS[0]),
        _ => {
            let key = if outside.frontend.is_some() { "frontend" } else { "storage" };
            ScenarioError::at_key(file, text, key, error.to_string(), None)
        }
    })
}

fn no_preset(what: &str) -> CliError {
    let message = format!("{what} imports a fabric; `design` counts fabrics that it builds");
    CliError::input(message, "write a preset under [fabric]")
}

/// Builds and counts a fabric; the time that the building took goes to `notes`.
fn counted(
    preset: &Preset,
    notes: &mut dyn Write,
    build: impl FnOnce() -> Result<Fabric, CliError>,
) -> Result<DesignReport, CliError> {
    let start = Instant::now();
    let fabric = build()?;
    let seconds = start.elapsed().as_secs_f64();
    writeln!(notes, "built {} in {seconds:.3} s", preset.name())?;
    for note in FabricSpec::Preset(preset.clone()).notes_of_delays(&fabric) {
        writeln!(notes, "warning: {note}")?;
    }
    Ok(DesignReport::of(&fabric))
}

/// One fabric is an object; several are a list with their labels.
fn write_json(designs: &[Design], out: &mut dyn Write) -> Result<(), CliError> {
    let several = || -> Vec<_> {
        let label = |design: &Design| -> serde_json::Map<_, _> {
            let pairs = design.label.iter();
            pairs.map(|(path, value)| (path.clone(), json!(value))).collect()
        };
        designs.iter().map(|design| json!({ "label": label(design), "design": design.report })).collect()
    };
    match designs {
        [Design { report, roles: Some(roles), .. }] => {
            let mut value = json!(report);
            roles.enter(&mut value);
            serde_json::to_writer_pretty(&mut *out, &value)
        }
        [design] => serde_json::to_writer_pretty(&mut *out, &design.report),
        _ => serde_json::to_writer_pretty(&mut *out, &several()),
    }
    .map_err(std::io::Error::from)?;
    Ok(writeln!(out)?)
}

fn write_text(designs: &[Design], out: &mut dyn Write) -> Result<(), CliError> {
    for (index, design) in designs.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        for (path, value) in &design.label {
            writeln!(out, "{path} = {value}")?;
        }
        write!(out, "{}", text_of(&design.report))?;
        if let Some(roles) = &design.roles {
            write!(out, "{}", roles.text())?;
        }
    }
    Ok(())
}

/// A report for people: the counts, then the tiers.
pub(crate) fn text_of(report: &DesignReport) -> String {
    format!("{}\n{}", counts(report).text(), tiers(&report.tiers).text())
}

fn counts(report: &DesignReport) -> TextTable {
    let r = report;
    let mut table = TextTable::default();
    table.row(["fabric".to_owned(), r.fabric.clone()]);
    for (name, count) in [
        ("pods", r.pods),
        ("segments", r.segments),
        ("planes", r.planes),
        ("hosts, active", r.hosts_active),
        ("hosts, spare", r.hosts_spare),
        ("GPUs, active", r.gpus_active),
        ("GPUs, spare", r.gpus_spare),
        ("GPUs per segment", r.gpus_per_segment),
        ("GPUs per segment, spare", r.spare_gpus_per_segment),
        ("GPUs per pod", r.gpus_per_pod),
        ("GPUs per leaf set", r.gpus_per_leaf_set),
        ("leaves per segment", r.leaves_per_segment),
        ("leaves per host", r.leaves_per_host),
        ("spines per plane and pod", r.spines_per_plane),
        ("cables host to leaf", r.cables_access),
        ("cables host to leaf, spare", r.cables_access_spare),
        ("cables leaf to spine", r.cables_leaf_spine),
        ("cables spine to core", r.cables_spine_core),
        ("path choices", r.path_choices),
        ("leaves that are single points of failure", r.leaf_single_points_of_failure),
        ("BGP speakers, switches alone", r.bgp_speakers),
        ("BGP speakers, hosts too", r.bgp_speakers_with_hosts),
    ] {
        table.row([name.to_owned(), grouped(count)]);
    }
    for (name, count) in [
        ("storage hosts", r.storage_hosts),
        ("gateways", r.gateways),
        ("cables host to frontend leaf", r.cables_frontend_access),
        ("cables frontend leaf to spine", r.cables_frontend_leaf_spine),
        ("cables frontend spine to core", r.cables_frontend_spine_core),
        ("scale-up domains, active", r.domains_active.unwrap_or(0)),
        ("cables between peers", r.cables_peer),
        ("cables in one physical cable", if r.breakout > 1 { r.breakout } else { 0 }),
    ] {
        if count > 0 {
            table.row([name.to_owned(), grouped(count)]);
        }
    }
    table.row(["backend capacity per host".to_owned(), r.host_backend.to_string()]);
    table.row(["frontend capacity per host".to_owned(), r.host_frontend.to_string()]);
    table.row(["NVLink over NIC".to_owned(), ratio(r.nvlink_to_nic)]);
    table
}

fn tiers(tiers: &[TierReport]) -> TextTable {
    let mut table = TextTable::default();
    let names = [
        "tier",
        "switches",
        "down",
        "each",
        "spare",
        "up",
        "each",
        "chip used",
        "oversubscription",
        "with spares",
    ];
    table.row(names.map(str::to_owned));
    for tier in tiers {
        table.row([
            tier.tier.to_owned(),
            grouped(tier.switches),
            grouped(tier.down_ports),
            tier.down_capacity.to_string(),
            grouped(tier.spare_ports),
            grouped(tier.up_ports),
            match tier.up_ports {
                0 => "-".to_owned(),
                _ => tier.up_capacity.to_string(),
            },
            tier.chip_used.to_string(),
            ratio(tier.oversubscription),
            ratio(tier.oversubscription_with_spares),
        ]);
    }
    table
}

/// A ratio to one, or a dash.
fn ratio(ratio: Option<f64>) -> String {
    match ratio {
        Some(ratio) => format!("{ratio:.3}:1"),
        None => "-".to_owned(),
    }
}
