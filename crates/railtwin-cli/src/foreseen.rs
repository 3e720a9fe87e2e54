//! The cost of a verb before it begins. `--estimate` prints it; without the flag a long verb announces its cost, and a verb
//! that does not fit in memory is refused.
use std::cell::Cell;

use clap::ValueEnum;
use railtwin::cost::Cost;
use railtwin::memory::limit;

use crate::{CliError, Streams};

/// How an estimate is printed.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Lines for people.
    Text,
    /// One JSON object: bytes, seconds, limit_bytes, fits, of.
    Json,
}

thread_local! {
    /// `--estimate` of the command that this thread runs.
    static ASKED: Cell<Option<Form>> = const { Cell::new(None) };
}

/// Sets whether the command of this thread prints its cost and stops there.
pub(crate) fn ask(form: Option<Form>) {
    ASKED.set(form);
}

/// Whether the command of this thread prints its cost and stops there.
pub(crate) fn is_asked() -> bool {
    ASKED.get().is_some()
}

/// Refuses `--estimate` for a call that has no estimate.
///
/// # Errors
/// `--estimate` was given.
pub(crate) fn unknown(what: &str) -> Result<(), CliError> {
    if is_asked() { Err(CliError::refused(&format!("--estimate: {what} has none"))) } else { Ok(()) }
}

/// Whether the verb goes on. Under `--estimate` it does not: its cost is printed. Else what does not fit is refused, and
/// what is long is announced.
///
/// # Errors
/// The verb does not fit in memory and `--estimate` was not given; a stream cannot be written.
pub(crate) fn goes_on(cost: &Cost, streams: &mut Streams<'_>) -> Result<bool, CliError> {
    match ASKED.get() {
        Some(form) => {
            match form {
                Form::Text => write!(streams.out, "{}", cost.text(limit()))?,
                Form::Json => writeln!(streams.out, "{:#}", cost.json(limit()))?,
            }
            Ok(false)
        }
        None => {
            cost.check(limit()).map_err(|error| CliError::of(error, ""))?;
            if let Some(words) = cost.words() {
                writeln!(streams.notes, "{words}")?;
            }
            Ok(true)
        }
    }
}
