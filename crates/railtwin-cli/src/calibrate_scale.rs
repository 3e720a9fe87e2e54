//! Models of `railtwin calibrate` for clusters of any size, and the times that are asked of them.
use railtwin_calibration::calibrate::{Calibration, Scaling};
use railtwin_fabric::HostModel;
use railtwin_formats::telemetry::NcclTest;
use railtwin_scaling::Outlier;
use railtwin_scenario::host_of;
use railtwin_workload::nccl::Host;
use railtwin_workload::scaling::Scaled;
use railtwin_workload::{Algorithm, Group};

use crate::CliError;
use crate::calibrate_plain::size;
use crate::table::{TextTable, grouped};

/// Most outliers of a model that are shown one by one.
const OUTLIERS: usize = 6;
/// A share of the wire that NCCL's model takes all of.
const WHOLE: f64 = 1.0;

/// A cluster that was asked for.
pub(crate) struct Asked<'a> {
    scaling: &'a Scaling,
    group: Group,
    rows: Vec<(u64, Scaled, Option<Algorithm>)>,
}

/// Leaves the tests of one setting, where one is asked for.
pub(crate) fn of_setting(
    logs: &mut [(String, Vec<NcclTest>)],
    setting: Option<&str>,
) -> Result<(), CliError> {
    let Some(setting) = setting else { return Ok(()) };
    let mut known: Vec<String> =
        logs.iter().flat_map(|(_, tests)| tests).map(|test| test.setting.clone()).collect();
    known.sort_unstable();
    known.dedup();
    logs.iter_mut().for_each(|(_, tests)| tests.retain(|test| test.setting == setting));
    match logs.iter().any(|(_, tests)| !tests.is_empty()) {
        true => Ok(()),
        false => {
            let help = format!("the logs have {}", known.join(", "));
            Err(CliError::input(format!("--setting {setting}: no test has it"), help))
        }
    }
}

/// Predicts the clusters of so many GPUs that were asked for, by each model.
pub(crate) fn asked<'a>(
    found: &'a Calibration,
    gpus: &[u32],
    host: Option<&HostModel>,
) -> Result<Vec<Asked<'a>>, CliError> {
    if !gpus.is_empty() && found.scaling.is_empty() {
        let help = "give nccl-tests of two numbers of hosts or more, of three sizes of the cluster with the one inside a host";
        return Err(CliError::input(
            "--ask: these logs say nothing of other numbers of hosts".to_owned(),
            help,
        ));
    }
    let named = found.model.as_deref().and_then(HostModel::named);
    let tuner = host.or(named.as_ref()).and_then(|model| host_of(model, WHOLE));
    let mut all = Vec::new();
    for scaling in &found.scaling {
        for &gpus in gpus {
            let local = scaling.series.local;
            if !gpus.is_multiple_of(local) || gpus < 2 * local {
                let message = format!("--ask {gpus}: hosts of {} have {local} GPUs", scaling.series.name());
                return Err(CliError::input(
                    message,
                    format!("write a multiple of {local}, from {} on", 2 * local),
                ));
            }
            all.push(of_cluster(scaling, Group::of(gpus / local, local), tuner.as_ref()));
        }
    }
    Ok(all)
}

/// All sizes that the series measured, over one cluster.
fn of_cluster<'a>(scaling: &'a Scaling, group: Group, tuner: Option<&Host>) -> Asked<'a> {
    let mut sizes: Vec<u64> = scaling.series.seconds.values().flat_map(|of| of.keys().copied()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let picked = |bytes: u64| Some(tuner?.pick(scaling.series.collective, None, group, bytes)?.algorithm);
    let rows = sizes
        .into_iter()
        .filter_map(|bytes| Some((bytes, scaling.fit.model.predict(group, bytes)?, picked(bytes))))
        .collect();
    Asked { scaling, group, rows }
}

/// Models that were fitted, and what was refused.
pub(crate) fn shown(found: &Calibration) -> String {
    if found.scaling.is_empty() {
        return String::new();
    }
    let mut text = "\nmodels for any number of hosts\n".to_owned();
    let mut table = TextTable::default();
    let heads = [
        "collective x GPUs of a host",
        "hosts",
        "steps",
        "trees",
        "rings from",
        "GB/s bus",
        "refused",
        "priors",
    ];
    table.row(heads.map(str::to_owned));
    for one in &found.scaling {
        let model = &one.fit.model;
        let hosts: Vec<String> = model.hosts.iter().map(u32::to_string).collect();
        let rings: Vec<String> = model
            .switches
            .iter()
            .map(|switch| format!("{} at {}", size(switch.bytes), switch.hosts))
            .collect();
        let dash = |text: String| if text.is_empty() { "-".to_owned() } else { text };
        table.row([
            one.series.name(),
            hosts.join(" "),
            model.steps.len().to_string(),
            model.trees.len().to_string(),
            dash(rings.join(", ")),
            format!("{:.1}", model.busbw[0] / 1e9),
            one.fit.outliers.len().to_string(),
            dash(one.fit.priors.join(" ")),
        ]);
    }
    text.push_str(&table.text());
    for one in &found.scaling {
        one.fit.outliers.iter().take(OUTLIERS).for_each(|outlier| text.push_str(&refused(one, outlier)));
        let more = one.fit.outliers.len().saturating_sub(OUTLIERS);
        if more > 0 {
            text.push_str(&format!("refused: {}: {more} more, --json has all\n", one.series.name()));
        }
    }
    text
}

fn refused(one: &Scaling, outlier: &Outlier) -> String {
    format!(
        "refused: {}: {} over {} hosts took {}, {:.1} times as long as a larger call over as many or more\n",
        one.series.name(),
        size(outlier.bytes),
        outlier.hosts,
        time(outlier.seconds),
        outlier.seconds / outlier.taken
    )
}

/// Times of the clusters that were asked for.
pub(crate) fn asked_text(asked: &[Asked<'_>]) -> String {
    let mut text = String::new();
    for one in asked {
        let model = &one.scaling.fit.model;
        let times = f64::from(one.group.ranks) / f64::from(model.ranks().max(1));
        let times = (times * 100.0).round() / 100.0;
        text.push_str(&format!(
            "\n{} over {} GPUs: fitted on at most {}, asked for {times} x as many\n",
            one.scaling.series.name(),
            grouped(one.group.ranks),
            grouped(model.ranks()),
        ));
        let mut table = TextTable::default();
        table.row(["bytes", "predicted", "80 % from", "to", "by", "or", "NCCL's model"].map(str::to_owned));
        for (bytes, scaled, picked) in &one.rows {
            let other = scaled
                .other()
                .map_or("-".to_owned(), |(by, seconds)| format!("{} {}", by.name(), time(seconds)));
            table.row([
                size(*bytes),
                time(scaled.seconds),
                time(scaled.seconds * scaled.band.0),
                time(scaled.seconds * scaled.band.1),
                scaled.algorithm.name().to_owned(),
                other,
                picked.map_or("-", Algorithm::name).to_owned(),
            ]);
        }
        text.push_str(&table.text());
    }
    text
}

/// The models as JSON.
pub(crate) fn data(found: &Calibration) -> serde_json::Value {
    let of = |one: &Scaling| {
        let outlier = |outlier: &Outlier| {
            serde_json::json!({
                "hosts": outlier.hosts, "bytes": outlier.bytes,
                "measured_us": outlier.seconds * 1e6, "taken_us": outlier.taken * 1e6,
            })
        };
        serde_json::json!({
            "name": one.series.name(), "setting": one.series.setting, "model": one.spec(),
            "fitted_gpus": one.fit.model.ranks(), "priors": one.fit.priors, "probes": one.fit.probes,
            "outliers": one.fit.outliers.iter().map(outlier).collect::<Vec<_>>(),
        })
    };
    found.scaling.iter().map(of).collect()
}

/// The clusters that were asked for as JSON.
pub(crate) fn asked_data(asked: &[Asked<'_>]) -> serde_json::Value {
    let of = |one: &Asked<'_>| {
        let row = |(bytes, scaled, picked): &(u64, Scaled, Option<Algorithm>)| {
            let other = scaled.other();
            serde_json::json!({
                "bytes": bytes, "us": scaled.seconds * 1e6, "algorithm": scaled.algorithm.name(),
                "low_us": scaled.seconds * scaled.band.0 * 1e6, "high_us": scaled.seconds * scaled.band.1 * 1e6,
                "other": other.map(|(by, seconds)| serde_json::json!({"algorithm": by.name(), "us": seconds * 1e6})),
                "nccl_picks": picked.map(Algorithm::name),
            })
        };
        serde_json::json!({
            "collective": one.scaling.series.collective.name(), "setting": one.scaling.series.setting,
            "gpus": one.group.ranks, "hosts": one.group.hosts, "fitted_gpus": one.scaling.fit.model.ranks(),
            "sizes": one.rows.iter().map(row).collect::<Vec<_>>(),
        })
    };
    asked.iter().map(of).collect()
}

/// Seconds in the unit that fits, to three digits.
pub(crate) fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "us"),
    };
    let places = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.places$} {unit}")
}
