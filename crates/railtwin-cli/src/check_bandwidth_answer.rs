//! The answer of `check bandwidth`, before it is text or JSON.
use railtwin::diagnose::Unread;
use railtwin::diagnose::answer::who;
use railtwin::diagnose::words::of_finding;
use railtwin_calibration::bandwidth;
use railtwin_formats::telemetry::{FileNotes, NcclTest};
use railtwin_records::{Finding, Seen};
use railtwin_scaling::WholeRun;

/// What was read, and what is to be said of it.
pub(crate) struct Answer {
    pub(crate) checked: bandwidth::Checked,
    /// The tests by log.
    pub(crate) logs: Vec<(String, Vec<NcclTest>)>,
    /// The fabric that says what hosts are, where one was given.
    pub(crate) fabric: Option<String>,
    /// Files that hold tests.
    pub(crate) files: Vec<FileNotes>,
    /// Files that could not be read.
    pub(crate) unread: Vec<Unread>,
    /// Files that could be read and hold something else.
    pub(crate) others: usize,
    /// Causes that lines of the same files name.
    pub(crate) causes: Vec<String>,
    /// Runs over several hosts beside what smaller clusters, or a file of caps, say of them.
    pub(crate) whole: Vec<WholeRun>,
}

/// Causes that findings rest on, each with its suspects and what helps.
pub(crate) fn causes_of(findings: &[Finding]) -> Vec<String> {
    let is_cause = |finding: &&Finding| match finding.evidence.first().map(|line| &line.seen) {
        Some(Seen::Cause(cause)) => !cause.is_of_sizes(),
        _ => false,
    };
    let words = |finding: &Finding| {
        let who = if finding.suspects.is_empty() { String::new() } else { format!("{}: ", who(&[finding])) };
        let remedy = if finding.advice.is_empty() { String::new() } else { format!("; {}", finding.advice) };
        format!("{who}{}{remedy}", of_finding(finding))
    };
    findings.iter().filter(is_cause).map(words).collect()
}

impl Answer {
    pub(crate) fn is_well(&self) -> bool {
        let slow = self.whole.iter().any(WholeRun::is_slow);
        self.checked.is_well() && !slow && !self.unread.iter().any(|file| file.known)
    }
}
