//! Cost of a verb before it begins: bytes and seconds, what is refused, and what is announced.
pub mod files;

use crate::error::Error;
use crate::estimate::{Estimate, LONG, count, duration, gib};
use crate::question::Resolved;

/// Bytes of the program, of which some are those of its libraries.
pub(crate) const PROGRAM: f64 = 18e6;
/// Seconds of a call that does next to nothing.
const LEAST: f64 = 0.02;

/// Share of the seconds of a run in flows that are not for its page.
const WITHOUT_PAGE: f64 = 0.5;
/// Times as long as a run takes where its jobs sit elsewhere, as what-if has them: more links, more sharing.
pub const ELSEWHERE: f64 = 6.0;
/// Seconds in which a queue pair gets its path and is written.
const PATH_S: f64 = 3e-6;

/// Memory and time that a verb is estimated to take.
#[derive(Clone, PartialEq, Debug)]
pub struct Cost {
    /// What is run, such as "512 hosts of 8 GPUs".
    pub rows: String,
    /// Most bytes at once.
    pub bytes: f64,
    /// Seconds of wall-clock time.
    pub seconds: f64,
    /// Keys that make it smaller, such as "fewer hosts".
    pub remedy: &'static str,
}

impl Cost {
    /// Refuses a verb that does not fit.
    ///
    /// # Errors
    /// [`Error::TooLarge`] with the estimate, the limit in bytes and the keys that make it smaller.
    pub fn check(&self, limit: u64) -> Result<(), Error> {
        if self.bytes <= limit as f64 {
            return Ok(());
        }
        let (bytes, limit) = (gib(self.bytes), gib(limit as f64));
        let message = format!("too large: {} take about {bytes}, and {limit} may be used", self.rows);
        let remedy =
            format!("write {}, or allow more memory by --memory, such as --memory 64GiB", self.remedy);
        Err(Error::TooLarge { message, remedy })
    }

    /// Cost of so little that it is the program's own: `rows` says of what.
    pub fn least(rows: &str) -> Self {
        Self { rows: rows.to_owned(), bytes: PROGRAM, seconds: LEAST, remedy: "less" }
    }

    /// Cost of several, one after another.
    pub fn then(self, next: &Self) -> Self {
        let larger = if next.bytes > self.bytes { next } else { &self };
        let (rows, bytes, remedy) = (larger.rows.clone(), larger.bytes, larger.remedy);
        Self { rows, bytes, seconds: self.seconds + next.seconds, remedy }
    }

    /// The cost in lines for people, beside the bytes that may be used.
    pub fn text(&self, limit: u64) -> String {
        let (bytes, limit_text) = (gib(self.bytes), gib(limit as f64));
        let fits = if self.bytes <= limit as f64 { "fits" } else { "does not fit" };
        let time = duration(self.seconds);
        format!("memory  {bytes} ({fits}: {limit_text} may be used)\ntime    {time}\nof      {}\n", self.rows)
    }

    /// The cost as JSON: bytes, seconds, limit_bytes, fits, of.
    pub fn json(&self, limit: u64) -> serde_json::Value {
        serde_json::json!({
            "bytes": self.bytes.round(),
            "seconds": self.seconds,
            "limit_bytes": limit,
            "fits": self.bytes <= limit as f64,
            "of": self.rows,
        })
    }

    /// Announcement of a verb that takes over 10 s.
    pub fn words(&self) -> Option<String> {
        (self.seconds >= LONG).then(|| {
            format!("expect about {} and {}: {}", gib(self.bytes), duration(self.seconds), self.rows)
        })
    }

    /// Cost of the paths of all queue pairs of a case.
    pub fn of_paths(resolved: &Resolved) -> Self {
        let one = Estimate::of(resolved, 1);
        Self {
            rows: one.rows(),
            bytes: PROGRAM + one.extent.lowered_bytes(true),
            seconds: LEAST + one.extent.flows as f64 * PATH_S,
            remedy: "fewer GPUs in a group",
        }
    }

    /// Cost of so many runs of a case with steps so many times those of the scenario, on `cores`, side by side.
    ///
    /// # Errors
    /// [`Error::TooLarge`] where one run alone does not fit within `limit` bytes.
    pub fn of_runs(
        resolved: &Resolved,
        (runs, times): (u64, f64),
        cores: usize,
        limit: u64,
    ) -> Result<Self, Error> {
        let one = Estimate::of(resolved, 1);
        one.check(resolved, limit)?;
        // Half of the time of flows is for the page of a run, which is not made.
        let one = Estimate { seconds: one.seconds * WITHOUT_PAGE, ..one }.with_packets(resolved);
        let replicates = f64::from(resolved.scenario.run.replicates);
        // Of several replicates the chosen one runs again.
        let each = one.seconds / (if replicates > 1.0 { replicates + 1.0 } else { 1.0 });
        let side_by_side = cores.clamp(1, runs.max(1) as usize) as f64;
        Ok(Self {
            rows: format!("{} runs with {}", count(runs as f64), one.rows()),
            bytes: PROGRAM + (one.bytes - PROGRAM) * side_by_side,
            seconds: each * runs as f64 * times.max(1.0) / side_by_side,
            remedy: "fewer GPUs, or fewer --draws",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verb_that_is_too_large_is_refused_and_a_long_one_announced() {
        let cost = |bytes: f64, seconds: f64| Cost {
            rows: "9 hosts".to_owned(),
            bytes,
            seconds,
            remedy: "fewer hosts",
        };
        assert!(cost(1e9, 9.0).check(1 << 30).is_ok());
        let refused = cost(4e9, 1.0).check(1 << 30).unwrap_err().to_string();
        assert!(refused.contains("9 hosts take about 3.7 GiB, and 1.0 GiB"), "{refused}");
        assert_eq!(cost(1e9, 9.0).words(), None);
        assert_eq!(cost(1e9, 60.0).words().unwrap(), "expect about 954 MiB and 60 s: 9 hosts");
    }
}
