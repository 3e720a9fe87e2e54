//! Runs that are slow as a whole: all their large sizes take longer than smaller clusters say.
use std::collections::BTreeMap;

use railtwin_diagnosis::robust::median;
use railtwin_workload::Collective;
use railtwin_workload::scaling::ScalingModel;

use super::{ClusterTimes, fit};

/// Bytes from which sizes tell of a run as a whole.
const LARGE: u64 = 4 << 20;
/// Median of measured over predicted from which a run is slow as a whole: of 50 runs over 128 to 2,160 GPUs the 21 that were
/// slow reached 1.88 and more, all others but one 1.35 at most.
pub const SLOW: f64 = 1.5;

/// A run over a cluster beside what is predicted of it.
#[derive(Clone, PartialEq, Debug)]
pub struct WholeRun {
    /// The collective.
    pub collective: Collective,
    /// Ranks of a host.
    pub local: u32,
    /// Name of the setting.
    pub setting: String,
    /// Hosts.
    pub hosts: u32,
    /// Most ranks that the prediction was fitted on.
    pub fitted: u32,
    /// Median of measured over predicted of sizes of 4 MiB and more.
    pub ratio: f64,
    /// The large size nearest to that: bytes, seconds measured, seconds predicted.
    pub typical: (u64, f64, f64),
}

impl WholeRun {
    /// Whether it is slow as a whole.
    pub fn is_slow(&self) -> bool {
        self.ratio > SLOW
    }

    /// A sentence on a slow one: its cluster, how slow it is, and a size with its prediction.
    pub fn sentence(&self) -> String {
        let setting = if self.setting.is_empty() { String::new() } else { format!(" ({})", self.setting) };
        let (bytes, measured, predicted) = self.typical;
        format!(
            "{} over {} GPUs{setting} is slow as a whole: sizes of 4 MiB and more take {:.2} times what a fit of at most {} \
             GPUs predicts; {} MiB take {:.2} ms, predicted {:.2} ms",
            self.collective.name(),
            self.hosts * self.local,
            self.ratio,
            self.fitted,
            bytes >> 20,
            measured * 1e3,
            predicted * 1e3,
        )
    }
}

/// Median of measured over predicted of large sizes; none without any.
pub(super) fn whole_run(rows: &[(u64, f64, f64)]) -> Option<f64> {
    let large = rows.iter().filter(|row| row.0 >= LARGE);
    median(&mut large.map(|(_, measured, predicted)| measured / predicted).collect::<Vec<_>>())
}

/// The large size whose measured over predicted is nearest to the median of all.
pub fn typical(rows: &[(u64, f64, f64)]) -> Option<(u64, f64, f64)> {
    let middle = whole_run(rows)?;
    let apart = |row: &&(u64, f64, f64)| (row.1 / row.2 / middle).ln().abs();
    rows.iter().filter(|row| row.0 >= LARGE).min_by(|a, b| apart(a).total_cmp(&apart(b))).copied()
}

/// Each run of a series over more hosts than the smallest two beside what the smaller ones say of it, and beside a model
/// where one is given. Clusters that were slow themselves say nothing of larger ones.
pub fn judge(series: &[ClusterTimes], models: &[ScalingModel]) -> Vec<WholeRun> {
    series.iter().flat_map(|one| judge_series(one, models)).collect()
}

fn judge_series(series: &ClusterTimes, models: &[ScalingModel]) -> Vec<WholeRun> {
    let given =
        models.iter().find(|model| (model.collective, model.local) == (series.collective, series.local));
    let mut known = ClusterTimes { seconds: BTreeMap::new(), ..series.clone() };
    let mut found = Vec::new();
    for (&hosts, of) in &series.seconds {
        let own = fit(&known).filter(|fit| fit.model.hosts.len() > 1).map(|fit| fit.model);
        let run = given.or(own.as_ref()).and_then(|model| {
            let group = series.group(hosts);
            let rows: Vec<(u64, f64, f64)> = of
                .iter()
                .filter_map(|(&bytes, &seconds)| Some((bytes, seconds, model.predict(group, bytes)?.seconds)))
                .collect();
            Some(WholeRun {
                collective: series.collective,
                local: series.local,
                setting: series.setting.clone(),
                hosts,
                fitted: model.ranks(),
                ratio: whole_run(&rows)?,
                typical: typical(&rows)?,
            })
        });
        if !run.as_ref().is_some_and(WholeRun::is_slow) {
            known.seconds.insert(hosts, of.clone());
        }
        found.extend(run);
    }
    found
}
