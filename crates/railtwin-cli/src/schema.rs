//! `railtwin schema`: the JSON Schema of a scenario, for editors.

use railtwin::cost::Cost;

use crate::foreseen::goes_on;
use crate::{CliError, Streams};

pub(crate) fn run(streams: &mut Streams<'_>) -> Result<(), CliError> {
    if !goes_on(&Cost::least("the schema of a scenario"), streams)? {
        return Ok(());
    }
    serde_json::to_writer_pretty(&mut streams.out, &railtwin_scenario::json_schema())
        .map_err(std::io::Error::from)?;
    Ok(writeln!(streams.out)?)
}
