//! Fits of the smaller clusters of a series, held against the larger ones.
use std::collections::BTreeMap;

use railtwin_workload::Collective;
use railtwin_workload::scaling::{BandRow, size_class};

use super::judge::{typical, whole_run};
use super::{ClusterTimes, fit, line};

/// Least number of measurements that a band is told from.
const BAND_MIN: usize = 10;
/// Share of measurements below the lower end, and above the upper end.
const TAIL: f64 = 0.1;

/// A cluster that was left out of a fit of smaller ones.
#[derive(Clone, PartialEq, Debug)]
pub struct Backtest {
    /// The collective.
    pub collective: Collective,
    /// Name of the setting.
    pub setting: String,
    /// Most ranks of the fit.
    pub fitted: u32,
    /// Ranks of the cluster.
    pub ranks: u32,
    /// By size: bytes, seconds measured, seconds predicted.
    pub rows: Vec<(u64, f64, f64)>,
    /// Seconds by the straight line, where it has the size.
    pub line: Vec<Option<f64>>,
    /// Median of measured over predicted of large sizes; none without any.
    pub whole: Option<f64>,
    /// The large size nearest to that.
    pub typical: Option<(u64, f64, f64)>,
}

impl Backtest {
    /// How many times the ranks that were fitted.
    pub fn beyond(&self) -> f64 {
        f64::from(self.ranks) / f64::from(self.fitted.max(1))
    }

    /// Whether the run is slow as a whole.
    pub fn is_slow(&self) -> bool {
        self.whole.is_some_and(|ratio| ratio > super::SLOW)
    }
}

/// Each number of hosts against the fits of all that are smaller, two or more of them.
pub fn backtest(series: &ClusterTimes) -> Vec<Backtest> {
    let hosts: Vec<u32> = series.seconds.keys().copied().collect();
    let fits = hosts.iter().enumerate().skip(1);
    fits.flat_map(|(row, &most)| held_back(series, most, &hosts[row + 1..])).collect()
}

/// The clusters of `asked` hosts against a fit of those of up to `most`.
pub fn held_back(series: &ClusterTimes, most: u32, asked: &[u32]) -> Vec<Backtest> {
    let known = series.up_to(most);
    let Some(fit) = fit(&known) else { return Vec::new() };
    let of = |&hosts: &u32| {
        let group = series.group(hosts);
        let measured = series.seconds.get(&hosts)?;
        let rows: Vec<(u64, f64, f64)> = measured
            .iter()
            .filter_map(|(&bytes, &seconds)| Some((bytes, seconds, fit.model.predict(group, bytes)?.seconds)))
            .collect();
        let line = rows.iter().map(|row| line(&known, hosts, row.0)).collect();
        Some(Backtest {
            collective: series.collective,
            setting: series.setting.clone(),
            fitted: fit.model.ranks(),
            ranks: group.ranks,
            whole: whole_run(&rows),
            typical: typical(&rows),
            rows,
            line,
        })
    };
    asked.iter().filter_map(of).collect()
}

/// Bands of a collective: by class of sizes and distance the ends between which 80 % of the measurements of clusters lie that
/// were left out. Runs that are slow as a whole are not among them. Ends of few measurements lie further out, so that
/// another one falls between them in 80 % of cases.
pub fn bands(backtests: &[Backtest], collective: Collective) -> Vec<BandRow> {
    let mut found: BTreeMap<(u32, u32), Vec<f64>> = BTreeMap::new();
    for one in backtests.iter().filter(|one| one.collective == collective && !one.is_slow()) {
        let beyond = one.beyond().ceil() as u32;
        for (bytes, measured, predicted) in &one.rows {
            found.entry((size_class(*bytes), beyond)).or_default().push(measured / predicted);
        }
    }
    let of = |((class, beyond), mut ratios): ((u32, u32), Vec<f64>)| {
        ratios.sort_unstable_by(f64::total_cmp);
        let count = (ratios.len() + 1) as f64;
        let low = ((count * TAIL).floor() as usize).max(1) - 1;
        let high = ((count * (1.0 - TAIL)).ceil() as usize).min(ratios.len()) - 1;
        (ratios.len() >= BAND_MIN).then(|| BandRow { class, beyond, low: ratios[low], high: ratios[high] })
    };
    found.into_iter().filter_map(of).collect()
}

/// Measurements of each setting within the bands that all others give, and how many there are; none of one setting alone.
pub fn coverage(backtests: &[Backtest], collective: Collective) -> Option<(usize, usize)> {
    let of = |one: &&Backtest| one.collective == collective;
    let mut settings: Vec<&str> = backtests.iter().filter(of).map(|one| one.setting.as_str()).collect();
    settings.sort_unstable();
    settings.dedup();
    if settings.len() < 2 {
        return None;
    }
    let (mut within, mut all) = (0, 0);
    for setting in settings {
        let (own, others): (Vec<Backtest>, Vec<Backtest>) =
            backtests.iter().filter(of).cloned().partition(|one| one.setting == setting);
        let bands = bands(&others, collective);
        for one in own.iter().filter(|one| !one.is_slow()) {
            for (bytes, measured, predicted) in &one.rows {
                let (class, beyond) = (size_class(*bytes), one.beyond().ceil() as u32);
                let Some(band) = bands.iter().find(|band| (band.class, band.beyond) == (class, beyond))
                else {
                    continue;
                };
                all += 1;
                within += usize::from((band.low..=band.high).contains(&(measured / predicted)));
            }
        }
    }
    (all > 0).then_some((within, all))
}
