//! xpu_timer (DLRover): Prometheus gauges of each rank of a job, its hang flag among them.

use std::collections::BTreeMap;

use railtwin_records::{Batch, Directory};

use super::builder::Builder;
use super::prometheus::{PrometheusSample, parse_prometheus};
use super::skipped::Skipped;
use crate::error::FormatError;

/// Metrics of xpu_timer begin so.
pub(crate) const PREFIX: &str = "XPU_TIMER_";

/// The flag that a rank hangs.
const HANG: &str = "XPU_TIMER_COMMON_HANG";

/// Gauges of all ranks that one exporter shows.
#[derive(Clone, Debug, PartialEq)]
pub struct XpuTimerSnapshot {
    /// Ranks in order of job and rank.
    pub ranks: Vec<XpuTimerRank>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// Lines that are wrong.
    pub skipped: Skipped,
}

/// One rank.
#[derive(Clone, Debug, PartialEq)]
pub struct XpuTimerRank {
    /// Job.
    pub job: String,
    /// Rank in the job.
    pub rank: u32,
    /// Rank on its host, which is its GPU.
    pub local_rank: u32,
    /// Address of its host.
    pub host: String,
    /// Whether xpu_timer holds it for hung; none where it does not say.
    pub hung: Option<bool>,
    /// Its other gauges in the order of the file.
    pub gauges: Vec<XpuTimerGauge>,
}

/// One gauge of a rank.
#[derive(Clone, Debug, PartialEq)]
pub struct XpuTimerGauge {
    /// Name without `XPU_TIMER_`: latencies are microseconds.
    pub metric: String,
    /// Operation, where it is of one: `Matmul`, `AllReduce`, …
    pub operation: String,
    /// Bucket of sizes; empty where there is none.
    pub level: String,
    /// Value.
    pub value: f64,
}

impl XpuTimerSnapshot {
    /// Reads what the exporter shows.
    ///
    /// # Errors
    /// A text without any metric of xpu_timer of a rank. A line that is no sample, or whose rank is no number, is skipped.
    pub fn parse(source_name: &str, bytes: &[u8]) -> Result<Self, FormatError> {
        let mut read = parse_prometheus(source_name, bytes)?;
        let mut skipped = std::mem::take(&mut read.skipped);
        let mut ranks: BTreeMap<(String, u32), XpuTimerRank> = BTreeMap::new();
        let mut others = 0_u64;
        for sample in read.samples() {
            let sample = &sample;
            let Some(metric) = sample.name.strip_prefix(PREFIX) else {
                others += 1;
                continue;
            };
            let job = sample.label("job_name").unwrap_or("job").to_owned();
            let Some(rank) = skipped.keep(number(source_name, sample, "rank")) else { continue };
            let key = (job.clone(), rank);
            let local_rank = match sample.label("local_rank") {
                Some(_) => match skipped.keep(number(source_name, sample, "local_rank")) {
                    Some(local) => local,
                    None => continue,
                },
                None => 0,
            };
            let host = sample.first_label(&["ip", "pod_name"]).unwrap_or_default().to_owned();
            let empty = XpuTimerRank { job, rank, local_rank, host, hung: None, gauges: Vec::new() };
            let of_rank = ranks.entry(key).or_insert(empty);
            if sample.name == HANG {
                of_rank.hung = Some(sample.value > 0.0);
            } else {
                let text = |label: &str| sample.label(label).unwrap_or_default().to_owned();
                of_rank.gauges.push(XpuTimerGauge {
                    metric: metric.to_owned(),
                    operation: text("operation"),
                    level: text("level"),
                    value: sample.value,
                });
            }
        }
        if ranks.is_empty() {
            if let Some(error) = skipped.all() {
                return Err(error);
            }
            return Err(FormatError::new(
                super::prometheus::FORMAT,
                source_name,
                "has no metric of xpu_timer",
                "their names begin with XPU_TIMER_",
            ));
        }
        let mut notes = Vec::new();
        if others > 0 {
            notes.push(format!("{others} samples that are not of ranks skipped"));
        }
        Ok(Self { ranks: ranks.into_values().collect(), notes, skipped })
    }

    /// Ranks that are held for hung.
    pub fn hung(&self) -> impl Iterator<Item = &XpuTimerRank> {
        self.ranks.iter().filter(|rank| rank.hung == Some(true))
    }

    /// Jobs, hosts and ranks.
    pub(crate) fn directory(&self) -> Directory {
        let mut builder = Builder::default();
        for rank in &self.ranks {
            let job = builder.job(&rank.job);
            let host = (!rank.host.is_empty()).then_some(rank.host.as_str());
            builder.rank(job, rank.rank, host, Some(rank.local_rank));
        }
        let (directory, _): (Directory, Batch) = builder.finish();
        directory
    }
}

fn number(source_name: &str, sample: &PrometheusSample, label: &str) -> Result<u32, FormatError> {
    let text = sample.label(label).unwrap_or_default();
    let field = format!("label {label}");
    text.parse().map_err(|_| sample.error(source_name, &field, text, "write the number of a rank"))
}
