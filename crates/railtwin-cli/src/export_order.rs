//! The forms of `railtwin export` that someone orders by: every cable with both ends, and bills of materials.
use std::path::{Path, PathBuf};

use clap::Args;
use railtwin_cabling::{Blueprint, Bom, BomParts, CableSchedule, CablingError, FloorPlan};
use railtwin_scenario::Preset;
use railtwin_store::input;

use crate::blueprint::of_list;
use crate::design_intent::catalog;
use crate::export_site::site_of;
use crate::topology_files::is_blueprint;
use crate::{CliError, Streams};

/// Options of orders.
#[derive(Args, Default, Debug)]
pub struct OrderArgs {
    /// What the room is like, for schedules: `[site]` with racks, rows, buildings
    #[arg(long, value_name = "FILE.toml")]
    site: Option<PathBuf>,
    /// Parts, for schedules those of `railtwin design parts` with these over them, for bom the table of the design
    #[arg(long, value_name = "FILE.toml")]
    parts: Option<PathBuf>,
}

impl OrderArgs {
    /// Files that are read beside the fabric.
    pub(crate) fn read(&self) -> Vec<&Path> {
        [&self.site, &self.parts].into_iter().flatten().map(PathBuf::as_path).collect()
    }
}

/// Every cable with device, port, rack, unit and optic of both ends, as CSV; a summary goes to the notes.
pub(crate) fn schedule(
    what: &str,
    settings: &[String],
    order: &OrderArgs,
    streams: &mut Streams<'_>,
) -> Result<String, CliError> {
    let site = match &order.site {
        None => FloorPlan::default(),
        Some(path) => {
            FloorPlan::parse(&path.display().to_string(), &read(path)?).map_err(|error| refused(&error))?
        }
    };
    let catalog = catalog(order.parts.as_deref())?;
    let is_built =
        Preset::NAMES.contains(&what) || (what.ends_with(".toml") && !is_blueprint(Path::new(what)));
    let schedule = if is_built {
        CableSchedule::of(&site_of(what, settings)?.fabric, &site, &catalog)
    } else {
        CableSchedule::of_list(of_list(Path::new(what))?.list, &site, &catalog)
            .map_err(|error| refused(&error))?
    };
    let summary = schedule.summary();
    for ((medium, decimetres), count) in &summary.lengths {
        let medium = medium.map_or("no part in the table".to_owned(), |medium| medium.to_string());
        writeln!(streams.notes, "{count} cables of {} m: {medium}", *decimetres as f64 / 10.0)?;
    }
    let crossing = summary.crossing_share(|_| true);
    writeln!(streams.notes, "{:.1} % of the cables join two buildings", 100.0 * crossing)?;
    let [own, single_mode] = schedule.transceiver_prices(&catalog);
    if single_mode.usd > 0.0 {
        let share = 100.0 * own.usd / single_mode.usd;
        writeln!(streams.notes, "transceivers cost {share:.0} % of single-mode ones of the same links")?;
    }
    for (bits, count) in &summary.without_part {
        let rate = if *bits == 0 { "no rate".to_owned() } else { format!("{} Gbps", *bits as f64 / 1e9) };
        writeln!(streams.notes, "{count} cables of {rate} have no part in the table: --parts adds lines")?;
    }
    Ok(schedule.to_csv())
}

/// The bill of materials of a design with named ports, as CSV.
pub(crate) fn bom(what: &str, order: &OrderArgs) -> Result<String, CliError> {
    let path = Path::new(what);
    if !is_blueprint(path) {
        let message = format!("{what} names no parts");
        let help = "give a design with [blueprint]; `railtwin design WHAT --report` has the price of others";
        return Err(CliError::input(message, help));
    }
    let blueprint = Blueprint::parse(what, &read(path)?).map_err(|error| refused(&error))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let parts = order.parts.clone().or_else(|| blueprint.parts.as_ref().map(|name| folder.join(name)));
    let parts = parts.ok_or_else(|| {
        CliError::input(format!("{what} says no table of parts"), "write parts = \"parts.toml\", or --parts")
    })?;
    let parts =
        BomParts::parse(&parts.display().to_string(), &read(&parts)?).map_err(|error| refused(&error))?;
    Ok(Bom::of(&blueprint, &parts).map_err(|error| refused(&error))?.to_csv())
}

fn read(path: &Path) -> Result<String, CliError> {
    input::read_text(path).map_err(|error| {
        CliError::input(format!("cannot read {}: {error}", path.display()), "name a file that is there")
    })
}

fn refused(error: &CablingError) -> CliError {
    let text = error.to_string();
    match text.rsplit_once("; ") {
        Some((message, help)) => CliError::input(message, help),
        None => CliError::Input { message: text, help: None },
    }
}
