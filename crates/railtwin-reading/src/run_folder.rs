//! Telemetry of a run folder, read back.
use std::path::Path;

use railtwin_formats::telemetry::Times;
use railtwin_records::observation::{OBSERVATION, OBSERVED};
use railtwin_records::{Observation, Table, telemetry_read, telemetry_tables};
use railtwin_store::RunFolder;

use super::ScenarioText;
use super::inputs::{Inputs, Unread};
use crate::error::Error;

/// Tables of a run folder that hold telemetry.
const TABLES: [&str; 8] = [
    "ranks",
    "communicators",
    "rank_operations",
    "queue_pairs",
    "messages",
    "counters",
    "probes",
    telemetry_tables::NEIGHBORS,
];

/// The telemetry of a run folder, with its scenario.
///
/// A table of records that cannot be read is left out as a whole and told in [`Inputs::unread`]: railtwin writes tables
/// whole, so that a wrong row says that the others are not to be trusted.
///
/// # Errors
/// [`Error::Store`] and [`Error::Argument`] for a folder whose ranks, communicators, queue pairs or scenario cannot be
/// read, and for one that holds no records.
pub(super) fn read(path: &Path) -> Result<Inputs, Error> {
    let folder = RunFolder::open(path)?;
    let there = folder.table_names()?;
    let shown = path.display().to_string();
    let mut inputs = Inputs { engine: Some(folder.info()?.engine), ..Inputs::default() };
    let unread = |name: &str, reason: String| Unread {
        source: format!("{shown}/{name}.parquet"),
        reason,
        known: true,
        rank: None,
        empty: false,
    };
    let mut tables: Vec<Table> = Vec::new();
    for name in TABLES.into_iter().filter(|name| there.iter().any(|table| table == name)) {
        match folder.table(name) {
            Ok(table) => tables.push(table),
            Err(error) if OBSERVED.contains(&name) => inputs.unread.push(unread(name, error.to_string())),
            Err(error) => return Err(error.into()),
        }
    }
    let (directory, batch) = loop {
        match telemetry_read::read(&tables) {
            Ok(read) => break read,
            Err(error) if OBSERVED.contains(&error.table.as_str()) => {
                tables.retain(|table| table.name != error.table);
                inputs.unread.push(unread(&error.table, error.to_string()));
            }
            Err(error) => return Err(Error::Argument(format!("{shown}: {error}; run the scenario again"))),
        }
    };
    if !tables.iter().any(|table| ["rank_operations", "counters", "probes"].contains(&table.name.as_str())) {
        let broken: Vec<&str> = inputs.unread.iter().map(|one| one.reason.as_str()).collect();
        let broken = if broken.is_empty() {
            String::new()
        } else {
            format!(" that can be read ({})", broken.join(", "))
        };
        return Err(Error::Argument(format!(
            "{shown} holds no telemetry{broken}; run its scenario with telemetry, so that it has the tables {}",
            TABLES.join(", ")
        )));
    }
    let scenario = folder.scenario()?;
    let file = format!("{shown}/scenario.toml");
    inputs.scenario = Some(ScenarioText { file, text: scenario, folder: path.to_owned() });
    let absent: Vec<&str> =
        OBSERVED.into_iter().filter(|name| !tables.iter().any(|table| table.name == *name)).collect();
    let observation = match there.iter().any(|table| table == OBSERVATION) {
        true => folder
            .table(OBSERVATION)
            .map_err(|error| error.to_string())
            .and_then(|table| Observation::read(&table, &batch, &absent).map_err(|error| error.to_string()))
            .map_err(|reason| inputs.unread.push(unread(OBSERVATION, reason)))
            .ok(),
        false => None,
    };
    if observation.is_none() {
        inputs.notes.push(format!(
            "{shown} does not tell when its observation ended: what stands at its last time stamp is judged then, and may \
             have stood for longer; run the scenario again"
        ));
    }
    inputs.observation = observation;
    let telemetry = &mut inputs.merged.telemetry;
    (telemetry.directory, telemetry.batch, telemetry.times) = (directory, batch, Times::Kernels);
    Ok(inputs)
}
