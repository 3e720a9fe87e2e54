//! Errors of the command: shown once, with the place in the file where there is one.
use std::fmt;
use std::io::{self, ErrorKind, Write};

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan};
use railtwin_scenario::{Problem, ScenarioError};
use railtwin_store::{StoreError, one_line};

use crate::excerpt::Excerpt;
use crate::label::label_text;

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
    /// Simulated time came to its end before the work did: one sentence for each point.
    #[error("{}", .0.join("\n"))]
    TimeUp(Vec<String>),
    /// Findings accuse somebody, a test failed, or telemetry was not read: said on the stream of data already.
    #[error("somebody is accused")]
    Accused,
    /// A run folder cannot be written.
    #[error("{0}")]
    Folder(String),
    /// A call of this command within a lab ended with this status, and has said why.
    #[error("status {0} in the lab")]
    Inside(u8),
    /// A real job or a lab did not do its work.
    #[error("{0}")]
    Worker(String),
    /// Points of a sweep that did not come to their end.
    #[error("{failed} of {points} points failed: {}", .reasons.join("; "))]
    Points {
        /// How many failed.
        failed: usize,
        /// How many there are.
        points: usize,
        /// The first of them with what they said.
        reasons: Vec<String>,
    },
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
                let lines = error.to_string();
                Self::Input { message: lines.lines().collect::<Vec<_>>().join("; "), help: None }
            }
            railtwin::Error::Scenario(mut error) => {
                // Errors of fabrics, jobs and files say the remedy in their last words.
                for problem in error.problems.iter_mut().filter(|problem| problem.hint.is_none()) {
                    if let Some((message, hint)) = problem.message.clone().rsplit_once("; ") {
                        (problem.message, problem.hint) = (message.to_owned(), Some(hint.to_owned()));
                    }
                }
                Self::Scenario { error, text: text.to_owned() }
            }
            railtwin::Error::Store(error @ (StoreError::Io { .. } | StoreError::Busy { .. })) => {
                Self::Folder(error.to_string())
            }
            railtwin::Error::Store(error) => Self::unreadable(&error),
            railtwin::Error::TooLarge { message, remedy } => Self::input(message, remedy),
            railtwin::Error::File { path, problem } => {
                let help = "name a scenario file, a text that begins with `schema = 1`";
                Self::input(format!("cannot read {path}: {problem}"), help)
            }
            other => Self::Input { message: other.to_string(), help: None },
        }
    }

    /// The same of one point of a sweep: each problem names the point.
    pub(crate) fn of_point(error: railtwin::Error, text: &str, label: &[(String, String)]) -> Self {
        let mut shown = Self::of(error, text);
        if let (Self::Scenario { error, .. }, false) = (&mut shown, label.is_empty()) {
            for problem in &mut error.problems {
                problem.message.push_str(&format!(", at {}", label_text(label)));
            }
        }
        shown
    }

    /// A run folder, or a file of one, that was to be read and cannot be.
    pub(crate) fn unreadable(error: &StoreError) -> Self {
        Self::refused(&error.to_string())
    }

    /// Wrong input whose last words after a semicolon are the remedy.
    pub(crate) fn refused(text: &str) -> Self {
        match text.rsplit_once("; ") {
            Some((message, help)) => Self::input(message, help),
            None => Self::Input { message: text.to_owned(), help: None },
        }
    }

    /// The exit status: 2 where call or input are wrong, else 1.
    pub fn status(&self) -> u8 {
        match self {
            Self::Call(_) | Self::Input { .. } | Self::Scenario { .. } => 2,
            Self::Inside(status) => *status,
            Self::Unexpected(_)
            | Self::TimeUp(_)
            | Self::Accused
            | Self::Folder(_)
            | Self::Worker(_)
            | Self::Points { .. }
            | Self::Write(_) => 1,
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
            Self::Accused | Self::Inside(_) => Ok(()),
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
            Self::Points { .. } => {
                let help = "the points that are done are kept: the same command runs the others again";
                write!(out, "{}", drawn(&Shown::plain(self.to_string(), Some(help.to_owned()))))
            }
            Self::Unexpected(_) | Self::TimeUp(_) | Self::Folder(_) | Self::Worker(_) | Self::Write(_) => {
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
    source: Option<Excerpt>,
}

impl Shown {
    /// The words of an error are one line each, whatever a file or its name holds.
    fn plain(message: String, help: Option<String>) -> Self {
        let help = help.map(|help| one_line(&help).into_owned());
        Self { message: one_line(&message).into_owned(), help, source: None }
    }

    fn placed(file: &str, text: &str, problem: &Problem) -> Self {
        let source = Excerpt::new(file, text, problem);
        Self { source: Some(source), ..Self::plain(problem.message.clone(), problem.hint.clone()) }
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
        self.source.as_ref().map(|source| source as &dyn miette::SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let source = self.source.as_ref()?;
        Some(Box::new(std::iter::once(LabeledSpan::new_with_span(None, source.mark()))))
    }
}
