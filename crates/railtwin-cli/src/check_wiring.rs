//! `railtwin check wiring`: is every cable where the blueprint has it, and which moves repair those that are not?
use std::path::{Path, PathBuf};

use clap::Args;
use railtwin::cost::Cost;
use railtwin_diagnosis::wiring::Blueprint;
use railtwin_store::atomic::write_whole;

use crate::blueprint::named;
use crate::check_wiring_json::data;
use crate::check_wiring_names::Aliases;
use crate::check_wiring_observed::read;
use crate::check_wiring_page::page;
use crate::check_wiring_text::shown;
use crate::foreseen::goes_on;
use crate::overwritten::refuse_evidence;
use crate::{CliError, Streams};

/// Arguments of `check wiring`.
#[derive(Args, Debug)]
pub struct WiringArgs {
    /// The plan: a preset by name, a scenario file (*.toml) or a cable list (*.csv)
    #[arg(value_name = "BLUEPRINT")]
    blueprint: String,
    /// Files or folders with neighbors as seen: cable lists, LLDP of lldpd, captures, ibnetdiscover, iblinkinfo,
    /// hops of INT probes
    #[arg(value_name = "OBSERVED", required = true)]
    observed: Vec<PathBuf>,
    /// Names of the cluster and those of the blueprint: a line `theirs,ours` for each device or port
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// The files hold all that is plugged in: a planned cable of which neither end is in them is missing
    #[arg(long)]
    complete: bool,
    /// Write a page with the cables to touch, by rack and device, for print
    #[arg(long, value_name = "FILE.html")]
    page: Option<PathBuf>,
    /// Print all as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &WiringArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    if !goes_on(&Cost::least("a blueprint"), streams)? {
        return Ok(());
    }
    if let Some(page) = &args.page {
        let read: Vec<&Path> = args.observed.iter().chain(&args.names).map(PathBuf::as_path).collect();
        refuse_evidence("--page", page, &read)?;
    }
    let plan = named(&args.blueprint)?;
    let blueprint = Blueprint::new(plan.list, plan.found);
    let aliases = args.names.as_deref().map(|path| Aliases::read(path, blueprint.list())).transpose()?;
    let mut observed = read(&args.observed)?;
    let aliases = aliases.unwrap_or_default();
    aliases.rename(blueprint.list(), &mut observed.sightings);
    let audit = blueprint.audit(&observed.sightings, args.complete);
    observed.notes.extend(audit.notes.iter().cloned());
    if audit.right == 0 && audit.is_well() && audit.contradictions.is_empty() {
        let message = format!("nothing that was seen is at a port of {}", args.blueprint);
        let help = "devices and ports need the names of the blueprint: map others with --names";
        return Err(CliError::input(message, help));
    }
    match args.json {
        true => writeln!(streams.out, "{:#}", data(&args.blueprint, &audit, &observed))?,
        false => write!(streams.out, "{}", shown(&args.blueprint, &audit, &observed))?,
    }
    streams.out.flush()?;
    if let Some(path) = &args.page {
        let html = page(&args.blueprint, &audit, &observed);
        write_whole(path, html.as_bytes()).map_err(|error| {
            let message = format!("cannot write {}: {error}", path.display());
            CliError::input(message, "name a file in a folder that is there")
        })?;
        writeln!(streams.notes, "page in {}", path.display())?;
    }
    if audit.is_well() { Ok(()) } else { Err(CliError::Accused) }
}
