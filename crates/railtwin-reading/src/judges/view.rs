//! What judges see, and what they give.
use std::ops::Deref;

use railtwin_records::Finding;

use crate::logs;
use crate::logs::{Said, Who};
use crate::rows::Rows;

/// The rows as judges see them: with all events of logs, and the names behind them.
pub struct RowsView<'r> {
    rows: &'r Rows<'r>,
    /// Events of all logs, with the file of each.
    pub(crate) events: Vec<Said<'r>>,
    /// Hosts, GPUs, NICs and ranks behind the addresses and numbers of events.
    pub(crate) who: Who<'r>,
}

impl<'r> RowsView<'r> {
    pub(super) fn of(rows: &'r Rows<'r>) -> Self {
        let events = logs::events(&rows.merged.logs);
        let who = Who::of(&events, &rows.merged.nccl_tests, &rows.as_read);
        Self { rows, events, who }
    }
}

impl<'r> Deref for RowsView<'r> {
    type Target = Rows<'r>;

    fn deref(&self) -> &Self::Target {
        self.rows
    }
}

/// Findings of a judge, with what a reader should know.
#[derive(Debug, Default)]
pub struct Judgement {
    /// Findings.
    pub findings: Vec<Finding>,
    /// Notes.
    pub notes: Vec<String>,
    /// Tests that did not come to their end.
    pub failed_tests: usize,
}

impl From<(Vec<Finding>, Vec<String>)> for Judgement {
    fn from((findings, notes): (Vec<Finding>, Vec<String>)) -> Self {
        Self { findings, notes, failed_tests: 0 }
    }
}

impl From<Vec<Finding>> for Judgement {
    fn from(findings: Vec<Finding>) -> Self {
        Self { findings, ..Self::default() }
    }
}
