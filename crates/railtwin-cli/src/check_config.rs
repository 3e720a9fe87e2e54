//! `railtwin check config`: mistakes in the settings of switches and hosts.
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use railtwin::cost::Cost;
use railtwin_formats::FormatError;
use railtwin_formats::switch_config::lint::{
    ConfigFinding, ConfigSettings, lint, lint_hosts, of_frr, of_plan, of_sonic,
};
use railtwin_formats::switch_config::{frr, sonic};
use railtwin_scenario::{Preset, parse_section};
use railtwin_store::{input, one_line};
use serde_json::json;

use crate::export_config::{ConfigArgs, planned};
use crate::export_site::site_of;
use crate::foreseen::goes_on;
use crate::{CliError, Streams};

/// Arguments of `check config`.
#[derive(Args, Debug)]
pub struct CheckConfigArgs {
    /// Settings in a TOML file, a folder that `export` wrote for FRR or SONiC, a scenario file, or a preset
    #[arg(value_name = "FILE|DIR|SCENARIO|PRESET")]
    what: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What would be accepted, for errors.
const ACCEPTED: &str = "name a TOML file of settings, a folder that `railtwin export` wrote, or a scenario";

/// Settings, and whether they say something of hosts.
struct Judged {
    settings: ConfigSettings,
    has_hosts: bool,
}

pub(crate) fn run(args: &CheckConfigArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    if !goes_on(&Cost::least("settings of switches"), streams)? {
        return Ok(());
    }
    let judged = judged(&args.what)?;
    let mut findings = lint(&judged.settings);
    if judged.has_hosts {
        findings.extend(lint_hosts(&judged.settings));
    }
    match args.json {
        true => writeln!(streams.out, "{:#}", data(&args.what, &judged, &findings))?,
        false => write!(streams.out, "{}", text(&args.what, &judged, &findings))?,
    }
    streams.out.flush()?;
    if findings.is_empty() { Ok(()) } else { Err(CliError::Accused) }
}

fn judged(what: &str) -> Result<Judged, CliError> {
    let path = Path::new(what);
    if Preset::NAMES.contains(&what) && !path.is_dir() {
        return of_site(what);
    }
    if path.is_dir() {
        return Ok(Judged { settings: of_folder(path)?, has_hosts: false });
    }
    let unreadable = |error| CliError::input(format!("cannot read {what}: {error}"), ACCEPTED);
    let text = input::read_text(path).map_err(unreadable)?;
    if is_of_a_fabric(&text) {
        return of_site(what);
    }
    let settings = parse_section(what, &text, &ConfigSettings::TABLE);
    let settings = settings.map_err(|error| CliError::Scenario { error, text })?;
    Ok(Judged { settings, has_hosts: true })
}

/// Whether a text is a scenario, which has a fabric, and no settings.
fn is_of_a_fabric(text: &str) -> bool {
    toml::from_str::<toml::Table>(text).is_ok_and(|table| table.contains_key("fabric"))
}

fn of_site(what: &str) -> Result<Judged, CliError> {
    let site = site_of(what, &[])?;
    let plan = planned(&site, &ConfigArgs::default())?;
    let arp_proxy = site.scenario.as_ref().is_none_or(|scenario| scenario.reaction.arp_proxy);
    Ok(Judged { settings: of_plan(&plan, arp_proxy), has_hosts: false })
}

/// Name and bytes of each file of a folder.
type Files = Vec<(String, Vec<u8>)>;

fn of_folder(path: &Path) -> Result<ConfigSettings, CliError> {
    let mut folders: Vec<PathBuf> = entries(path)?.into_iter().filter(|entry| entry.is_dir()).collect();
    folders.push(path.to_owned());
    let (mut of_linux, mut of_sonic_os) = (Vec::new(), Vec::new());
    let refused = |error: FormatError| CliError::refused(&error.to_string());
    for folder in folders {
        let has = |name: &str| folder.join(name).is_file();
        let name = folder.display().to_string();
        if has("frr.conf") {
            of_linux.push(frr::read(&name, &files_of(&folder)?).map_err(refused)?);
        } else if has("config_db.json") {
            of_sonic_os.push(sonic::read(&name, &files_of(&folder)?).map_err(refused)?);
        }
    }
    match (of_linux.is_empty(), of_sonic_os.is_empty()) {
        (false, true) => Ok(of_frr(&of_linux)),
        (true, false) => Ok(of_sonic(&of_sonic_os)),
        (true, true) => {
            let message = format!("{} holds no folder with a frr.conf or config_db.json", path.display());
            Err(CliError::input(message, ACCEPTED))
        }
        (false, false) => {
            let message = format!("{} holds folders of FRR and of SONiC", path.display());
            Err(CliError::input(message, "name a folder of one kind"))
        }
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let list = || -> std::io::Result<Vec<PathBuf>> {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
        paths.sort();
        Ok(paths)
    };
    list().map_err(|error| CliError::input(format!("cannot read {}: {error}", folder.display()), ACCEPTED))
}

fn files_of(folder: &Path) -> Result<Files, CliError> {
    let mut files = Vec::new();
    for path in entries(folder)?.into_iter().filter(|path| path.is_file()) {
        let unreadable =
            |error| CliError::input(format!("cannot read {}: {error}", path.display()), ACCEPTED);
        let bytes = input::read_text(&path).map_err(unreadable)?.into_bytes();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.push((name, bytes));
    }
    Ok(files)
}

fn data(what: &str, judged: &Judged, findings: &[ConfigFinding]) -> serde_json::Value {
    let finding = |one: &ConfigFinding| {
        json!({
            "rule": one.rule.name(), "place": one.place, "value": one.value,
            "accepted": one.accepted, "why": one.rule.why(),
        })
    };
    json!({
        "source": what,
        "leaves": judged.settings.leaves.len(),
        "switches": judged.settings.switches.len(),
        "hosts_judged": judged.has_hosts,
        "findings": findings.iter().map(finding).collect::<Vec<_>>(),
    })
}

/// Most places of one rule that are printed; `--json` has all.
const PLACES: usize = 4;

fn text(what: &str, judged: &Judged, findings: &[ConfigFinding]) -> String {
    let (leaves, switches) = (judged.settings.leaves.len(), judged.settings.switches.len());
    let mut text = match findings.len() {
        0 => format!("no mistake in {what}"),
        1 => format!("1 mistake in {what}"),
        count => format!("{count} mistakes in {what}"),
    };
    // Writing to a String cannot fail, so the results carry nothing.
    let _ = writeln!(text, " ({leaves} leaves, {switches} hashes of switches)");
    for group in findings.chunk_by(|a, b| a.rule == b.rule) {
        let rule = group[0].rule;
        let _ = writeln!(text, "\n{}: {}", rule.name(), rule.why());
        for one in group.iter().take(PLACES) {
            let line = format!("  {}: {}; accepted: {}", one.place, one.value, one.accepted);
            let _ = writeln!(text, "{}", one_line(&line));
        }
        if group.len() > PLACES {
            let _ = writeln!(text, "  and {} more: --json has all", group.len() - PLACES);
        }
    }
    if !judged.has_hosts {
        text.push_str(
            "\nnot judged: hosts and the checklist, of which only a file of settings says something\n",
        );
    }
    text
}
