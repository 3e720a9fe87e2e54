//! `railtwin schema`: the JSON Schema of a scenario, for editors.

use crate::{CliError, Streams};

pub(crate) fn run(streams: &mut Streams<'_>) -> Result<(), CliError> {
    serde_json::to_writer_pretty(&mut streams.out, &railtwin_scenario::json_schema())
        .map_err(std::io::Error::from)?;
    Ok(writeln!(streams.out)?)
}
