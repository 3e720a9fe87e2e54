//! The answer of `check bandwidth`, before it is text or JSON.
use railtwin::diagnose::Unread;
use railtwin_calibration::bandwidth;
use railtwin_formats::telemetry::FileNotes;

/// What was read, and what is to be said of it.
pub(crate) struct Answer {
    pub(crate) checked: bandwidth::Checked,
    /// The fabric that says what hosts are, where one was given.
    pub(crate) fabric: Option<String>,
    /// Files that hold tests.
    pub(crate) files: Vec<FileNotes>,
    /// Files that could not be read.
    pub(crate) unread: Vec<Unread>,
    /// Files that could be read and hold something else.
    pub(crate) others: usize,
}

impl Answer {
    pub(crate) fn is_well(&self) -> bool {
        self.checked.is_well() && !self.unread.iter().any(|file| file.known)
    }
}
