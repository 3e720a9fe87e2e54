//! Progress on a terminal, and what the process used.
use std::io::Write;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use railtwin::Resolved;

/// A bar over all replicates of all points; silent where standard error is no terminal.
pub(crate) struct Meter {
    bar: ProgressBar,
}

impl Meter {
    pub(crate) fn new(points: &[Resolved]) -> Self {
        let total: u64 = points.iter().map(|point| u64::from(point.scenario.run.replicates)).sum();
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} replicates, {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar }
    }

    pub(crate) fn tick(&self) {
        self.bar.inc(1);
    }

    pub(crate) fn skip(&mut self, replicates: u32) {
        self.bar.inc(u64::from(replicates));
    }

    pub(crate) fn finish(self, _notes: &mut dyn Write) {
        self.bar.finish_and_clear();
    }
}

/// Most memory that this process held, where the system tells.
pub(crate) fn memory_peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}
