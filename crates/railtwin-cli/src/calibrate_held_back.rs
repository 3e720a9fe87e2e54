//! `railtwin calibrate --fit-up-to GPUS`: a fit of the smaller clusters of some logs, held against the larger ones.
use std::path::PathBuf;

use railtwin_calibration::calibrate::{Fitted, calibrate, nearest};
use railtwin_fabric::HostModel;
use railtwin_formats::telemetry::NcclTest;
use railtwin_scaling::{Backtest, ClusterTimes, Outlier, SLOW, backtest, coverage, fit, held_back, series};
use railtwin_workload::Group;

use crate::calibrate_plain::{percent, size};
use crate::calibrate_scale::{of_setting, time};
use crate::evidence::evidence;
use crate::table::TextTable;
use crate::{CliError, Streams};

/// Sizes of a class end here; the names of the classes.
const CLASSES: [(u64, &str); 4] =
    [(32 << 10, "up to 32 KiB"), (1 << 20, "up to 1 MiB"), (32 << 20, "up to 32 MiB"), (u64::MAX, "above")];

/// Times of clusters that were held back, by all ways to tell them.
#[derive(Default)]
struct Errors {
    bytes: Vec<u64>,
    slow: Vec<bool>,
    /// By the model, the line and the constants of the nearest hosts, relative; none where one says nothing.
    ways: [Vec<Option<f64>>; 3],
}

const WAYS: [&str; 3] = [
    "model",
    "straight line in log2(GPUs) through the two largest",
    "constants of the nearest number of hosts",
];

impl Errors {
    /// Median, 90th percentile and number of the errors of one way, of those rows that are asked for.
    fn spread(&self, way: usize, wanted: impl Fn(usize) -> bool) -> Option<(f64, f64, usize)> {
        let all = self.ways[way].iter().enumerate().filter(|(row, _)| wanted(*row));
        let mut errors: Vec<f64> = all.filter_map(|(_, error)| error.map(f64::abs)).collect();
        errors.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| errors.get(((errors.len() as f64 * share).ceil() as usize).max(1) - 1).copied();
        Some((at(0.5)?, at(0.9)?, errors.len()))
    }
}

pub(crate) fn run(
    paths: &[PathBuf],
    setting: Option<&str>,
    most: u32,
    host: Option<&HostModel>,
    json: bool,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let mut inputs = evidence(paths, "job")?;
    of_setting(&mut inputs.merged.nccl_tests, setting)?;
    let logs = &inputs.merged.nccl_tests;
    let all = series(logs);
    let mut held = Vec::new();
    let mut errors = Errors::default();
    let mut outliers = Vec::new();
    for one in &all {
        let hosts = one.seconds.keys().copied();
        let (known, asked): (Vec<u32>, Vec<u32>) = hosts.partition(|hosts| hosts * one.local <= most);
        let Some(&largest) = known.last() else { continue };
        let rows = held_back(one, largest, &asked);
        let old = nearest_of(logs, one, largest, host);
        rows.iter().for_each(|row| add(&mut errors, one, row, &old));
        let refused = fit(&one.up_to(largest)).map_or(Vec::new(), |fit| fit.outliers);
        outliers.extend(refused.into_iter().map(|outlier| (one.name(), outlier)));
        held.extend(rows);
    }
    if held.is_empty() {
        let help = "give nccl-tests of two numbers of hosts or more up to there, and of a larger one";
        let message =
            format!("--fit-up-to {most}: these logs have no larger cluster, or too few smaller ones");
        return Err(CliError::input(message, help));
    }
    // Bands are those of all clusters that smaller ones tell of.
    let backtests: Vec<Backtest> = all.iter().flat_map(backtest).collect();
    match json {
        true => writeln!(streams.out, "{:#}", data(most, &held, &errors, &backtests, &outliers))?,
        false => write!(streams.out, "{}", shown(most, &held, &errors, &backtests, &outliers))?,
    }
    Ok(streams.out.flush()?)
}

/// Fits of each number of hosts up to `largest` of a series, for the constants of the nearest number.
fn nearest_of(
    logs: &[(String, Vec<NcclTest>)],
    one: &ClusterTimes,
    largest: u32,
    host: Option<&HostModel>,
) -> Vec<Fitted> {
    let wanted = |test: &&NcclTest| {
        test.setting == one.setting && test.devices.len() as u64 <= u64::from(largest) * u64::from(one.local)
    };
    let of = |(name, tests): &(String, Vec<NcclTest>)| {
        (name.clone(), tests.iter().filter(wanted).cloned().collect::<Vec<_>>())
    };
    calibrate(&logs.iter().map(of).collect::<Vec<_>>(), host).fitted
}

fn add(errors: &mut Errors, series: &ClusterTimes, held: &Backtest, old: &[Fitted]) {
    let group = Group::of(held.ranks / series.local, series.local);
    for ((bytes, measured, predicted), line) in held.rows.iter().zip(&held.line) {
        errors.bytes.push(*bytes);
        errors.slow.push(held.is_slow());
        let near = nearest(old, series.collective, group, *bytes);
        for (way, told) in errors.ways.iter_mut().zip([Some(*predicted), *line, near]) {
            way.push(told.map(|told| told / measured - 1.0));
        }
    }
}

fn shown(
    most: u32,
    held: &[Backtest],
    errors: &Errors,
    backtests: &[Backtest],
    outliers: &[(String, Outlier)],
) -> String {
    let mut asked: Vec<u32> = held.iter().map(|one| one.ranks).collect();
    asked.sort_unstable();
    asked.dedup();
    let asked: Vec<String> = asked.iter().map(u32::to_string).collect();
    let mut text = format!("fitted on at most {most} GPUs, asked for {}\n\n", asked.join(", "));
    let mut table = TextTable::default();
    table
        .row(["error of times that were held back", "median", "90th percentile", "sizes"].map(str::to_owned));
    let mut put = |name: String, spread: Option<(f64, f64, usize)>| {
        let Some((median, tail, sizes)) = spread else { return };
        table.row([name, percent(median), percent(tail), sizes.to_string()]);
    };
    for (way, name) in WAYS.iter().enumerate() {
        put((*name).to_owned(), errors.spread(way, |_| true));
    }
    if errors.slow.contains(&true) {
        put(
            "model, without runs that are slow as a whole".to_owned(),
            errors.spread(0, |row| !errors.slow[row]),
        );
    }
    let mut least = 0;
    for (end, name) in CLASSES {
        put(
            format!("model, sizes {name}"),
            errors.spread(0, |row| (least..=end).contains(&errors.bytes[row])),
        );
        least = end.saturating_add(1);
    }
    text.push_str(&table.text());
    let mut collectives: Vec<_> = held.iter().map(|one| one.collective).collect();
    collectives.sort_unstable();
    collectives.dedup();
    for collective in collectives {
        if let Some((within, all)) = coverage(backtests, collective) {
            text.push_str(&format!(
                "\n80 % band of {}: {} of {all} times of one setting lie within the band of the others, {}\n",
                collective.name(),
                within,
                percent(within as f64 / all as f64)
            ));
        }
    }
    for one in held.iter().filter(|one| one.is_slow()) {
        text.push_str(&slow(one));
    }
    for (name, outlier) in outliers {
        text.push_str(&format!(
            "refused: {name}: {} over {} hosts took {}, {:.1} times as long as a larger call over as many or more\n",
            size(outlier.bytes),
            outlier.hosts,
            time(outlier.seconds),
            outlier.seconds / outlier.taken
        ));
    }
    text
}

/// A run that is slow as a whole.
fn slow(one: &Backtest) -> String {
    let setting = if one.setting.is_empty() { String::new() } else { format!(" ({})", one.setting) };
    let last = one.typical.map_or(String::new(), |(bytes, measured, predicted)| {
        format!(": {} take {}, predicted {}", size(bytes), time(measured), time(predicted))
    });
    format!(
        "slow as a whole: {} over {} GPUs{setting}: sizes of 4 MiB and more take {:.2} times what is predicted (above {SLOW}){last}\n",
        one.collective.name(),
        one.ranks,
        one.whole.unwrap_or(1.0),
    )
}

fn data(
    most: u32,
    held: &[Backtest],
    errors: &Errors,
    backtests: &[Backtest],
    outliers: &[(String, Outlier)],
) -> serde_json::Value {
    let spread = |of: Option<(f64, f64, usize)>| {
        of.map(|(median, tail, sizes)| serde_json::json!({"median": median, "p90": tail, "sizes": sizes}))
    };
    let cluster = |one: &Backtest| {
        let row = |((bytes, measured, predicted), line): (&(u64, f64, f64), &Option<f64>)| {
            serde_json::json!({
                "bytes": bytes, "measured_us": measured * 1e6, "predicted_us": predicted * 1e6,
                "line_us": line.map(|line| line * 1e6),
            })
        };
        serde_json::json!({
            "collective": one.collective.name(), "setting": one.setting, "fitted_gpus": one.fitted, "gpus": one.ranks,
            "whole": one.whole, "slow": one.is_slow(),
            "sizes": one.rows.iter().zip(&one.line).map(row).collect::<Vec<_>>(),
        })
    };
    let collective = held.first().map(|one| one.collective);
    let covered = collective.and_then(|collective| coverage(backtests, collective));
    serde_json::json!({
        "fit_up_to": most,
        "model": spread(errors.spread(0, |_| true)),
        "model_without_slow": spread(errors.spread(0, |row| !errors.slow[row])),
        "line": spread(errors.spread(1, |_| true)),
        "nearest": spread(errors.spread(2, |_| true)),
        "coverage": covered.map(|(within, all)| serde_json::json!({"within": within, "of": all})),
        "clusters": held.iter().map(cluster).collect::<Vec<_>>(),
        "outliers": outliers.iter().map(|(name, one)| serde_json::json!({
            "name": name, "hosts": one.hosts, "bytes": one.bytes, "measured_us": one.seconds * 1e6,
            "taken_us": one.taken * 1e6,
        })).collect::<Vec<_>>(),
    })
}
