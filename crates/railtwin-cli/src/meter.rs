//! Progress on a terminal; memory and CPU time of the process.
use std::io::{Result, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use railtwin_store::one_line;

/// A bar over all that is awaited; silent where standard error is no terminal.
pub(crate) struct Meter {
    bar: ProgressBar,
}

impl Meter {
    /// Over so many of what is named.
    pub(crate) fn new(count: u64, names: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(count), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template(&format!(
            "{{bar:40}} {{pos}}/{{len}} {names}, {{eta}} left {{msg}}"
        ));
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        // Shown before the first of them is done, which may take long.
        bar.tick();
        Self { bar }
    }

    /// Says something beside the bar.
    pub(crate) fn say(&self, words: &str) {
        self.bar.set_message(one_line(words).into_owned());
    }

    /// Says what to expect: beside the bar, and where there is none, as in the log of a batch job, in a line.
    pub(crate) fn announce(&self, words: &str, notes: &mut dyn Write) -> Result<()> {
        self.say(words);
        if self.bar.is_hidden() { writeln!(notes, "{}", one_line(words)) } else { Ok(()) }
    }

    pub(crate) fn tick(&self) {
        self.skip(1);
    }

    pub(crate) fn skip(&self, count: u64) {
        self.bar.inc(count);
    }

    pub(crate) fn finish(self) {
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

/// CPU seconds of this process in user and system mode, if the system reports them, in steps of 0.01 s.
pub(crate) fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The program's name, in brackets, may have blanks. User and system time are fields 12 and 13 after it.
    let mut cells = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let [own, system]: [u64; 2] = [cells.next()?.parse().ok()?, cells.next()?.parse().ok()?];
    Some((own + system) as f64 / 100.0)
}
