//! What a check has to say: lines to show, warnings, and failures that make it exit with 1.

/// The outcome of one check.
#[derive(Debug, Default)]
pub struct Findings {
    /// Plain lines for the reader (a table, a closing line).
    pub story: Vec<String>,
    /// Worth a look, but no reason to fail.
    pub warnings: Vec<String>,
    /// Broken rules; one line each, naming the place and the remedy.
    pub failures: Vec<String>,
}

impl Findings {
    /// The outcome when the check could not be carried out at all.
    pub fn of_failure(message: String) -> Self {
        Self { failures: vec![message], ..Self::default() }
    }

    /// These findings, then those of another check.
    pub fn with(mut self, other: Self) -> Self {
        self.story.extend(other.story);
        self.warnings.extend(other.warnings);
        self.failures.extend(other.failures);
        self
    }

    /// Notes a warning.
    pub fn warn(&mut self, message: impl Into<String>) {
        self.warnings.push(message.into());
    }

    /// Notes a broken rule.
    pub fn fail(&mut self, message: impl Into<String>) {
        self.failures.push(message.into());
    }
}
