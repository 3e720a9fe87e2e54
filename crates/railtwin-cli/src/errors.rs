//! Errors of the command: shown once, with the place in the file where there is one.
use std::fmt;
use std::io::{self, ErrorKind, Write};

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource};
use railtwin_scenario::{Problem, ScenarioError};

/// Why the command did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CliError {
    /// The arguments are wrong.
    #[error(transparent)]
    Call(clap::Error),
    /// The input is wrong, without a place in a file.
    #[error("{message}")]
    Input {
        /// What is wrong.
        message: String,
        /// What to do about it.
        help: Option<String>,
    },
    /// A scenario is wrong.
    #[error("{error}")]
    Scenario {
        /// Its problems.
        error: ScenarioError,
        /// The text that they are in.
        text: String,
    },
    /// Figures are not what the scenario expects.
    #[error("not as expected: {}", .0.join("; "))]
    Unexpected(Vec<String>),
    /// A run folder cannot be read or written.
    #[error("{0}")]
    Folder(String),
    /// A stream or file cannot be written.
    #[error("cannot write: {0}")]
    Write(#[from] io::Error),
}

impl CliError {
    /// Wrong input without a place in a file.
    pub(crate) fn input(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Input { message: message.into(), help: Some(help.into()) }
    }

    /// An error of the façade; `text` is the scenario's, for its places.
    pub(crate) fn of(error: railtwin::Error, text: &str) -> Self {
        match error {
            // Without the text the place cannot be drawn; the message names file, line and column.
            railtwin::Error::Scenario(error) if text.is_empty() => {
                Self::Input { message: error.to_string(), help: None }
            }
            railtwin::Error::Scenario(error) => Self::Scenario { error, text: text.to_owned() },
            railtwin::Error::Store(error) => Self::Folder(error.to_string()),
            other => Self::Input { message: other.to_string(), help: None },
        }
    }

    /// The exit status: 2 where call or input are wrong, else 1.
    pub fn status(&self) -> u8 {
        match self {
            Self::Call(_) | Self::Input { .. } | Self::Scenario { .. } => 2,
            Self::Unexpected(_) | Self::Folder(_) | Self::Write(_) => 1,
        }
    }

    /// Whether the reader of the output has gone.
    pub(crate) fn is_closed_stream(&self) -> bool {
        matches!(self, Self::Write(error) if error.kind() == ErrorKind::BrokenPipe)
    }

    /// Writes the error for people.
    pub(crate) fn show(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Call(error) => write!(out, "{error}"),
            Self::Scenario { error, text } => {
                for problem in &error.problems {
                    write!(out, "{}", drawn(&Shown::placed(&error.file, text, problem)))?;
                }
                match error.problems.len() {
                    0 | 1 => Ok(()),
                    count => writeln!(out, "{count} problems in {}", error.file),
                }
            }
            Self::Input { help, .. } => {
                let message = self.to_string();
                write!(out, "{}", drawn(&Shown::plain(message, help.clone())))
            }
            Self::Unexpected(_) | Self::Folder(_) | Self::Write(_) => {
                write!(out, "{}", drawn(&Shown::plain(self.to_string(), None)))
            }
        }
    }
}

/// The drawing of one error; without colour, so that it reads the same in a log.
fn drawn(shown: &Shown) -> String {
    let theme = GraphicalTheme::unicode_nocolor();
    let handler = GraphicalReportHandler::new_themed(theme).with_width(110);
    let mut text = String::new();
    match handler.render_report(&mut text, shown) {
        Ok(()) => text,
        Err(fmt::Error) => format!("error: {}\n", shown.message),
    }
}

/// One error as miette draws it.
#[derive(Debug)]
struct Shown {
    message: String,
    help: Option<String>,
    source: Option<(NamedSource<String>, LabeledSpan)>,
}

impl Shown {
    fn plain(message: String, help: Option<String>) -> Self {
        Self { message, help, source: None }
    }

    fn placed(file: &str, text: &str, problem: &Problem) -> Self {
        // A whole table is a place of many lines: its first is enough.
        let place = &text[problem.span.clone()];
        let length = place.find('\n').unwrap_or(place.len());
        let label = LabeledSpan::new(None, problem.span.start, length);
        Self {
            message: problem.message.clone(),
            help: problem.hint.clone(),
            source: Some((NamedSource::new(file, text.to_owned()), label)),
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for Shown {}

impl Diagnostic for Shown {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.source.as_ref().map(|(source, _)| source as &dyn miette::SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let (_, label) = self.source.as_ref()?;
        Some(Box::new(std::iter::once(label.clone())))
    }
}
