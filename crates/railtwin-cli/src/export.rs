//! `railtwin export`: a fabric in a form that other programs read.
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use railtwin::cost::Cost;
use railtwin_store::atomic::write_whole;

use crate::export_cables;
use crate::foreseen::goes_on;
use crate::overwritten::refuse_input;
use crate::{CliError, Streams};

/// Arguments of `export`.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// A preset by name, a scenario file (*.toml), or a cable list (*.csv)
    #[arg(value_name = "PRESET|SCENARIO")]
    what: String,
    /// The form
    #[arg(long = "to", value_name = "FORM")]
    form: Form,
    /// The file to write; default standard output
    #[arg(short, long = "output", value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A form that is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Form {
    /// Cable list, CSV: device, port, device, port, rate, length
    Cables,
}

pub(crate) fn run(args: &ExportArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    if !goes_on(&Cost::least("a fabric"), streams)? {
        return Ok(());
    }
    if let Some(path) = &args.output {
        refuse_input("--output", path, &[Path::new(&args.what)])?;
    }
    let text = match args.form {
        Form::Cables => export_cables::text(&args.what)?,
    };
    let Some(path) = &args.output else {
        write!(streams.out, "{text}")?;
        return Ok(streams.out.flush()?);
    };
    write_whole(path, text.as_bytes()).map_err(|error| {
        let message = format!("cannot write {}: {error}", path.display());
        CliError::input(message, "name a file in a folder that is there")
    })?;
    Ok(writeln!(streams.notes, "written to {}", path.display())?)
}
