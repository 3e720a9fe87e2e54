//! Constants of larger clusters, by a few sizes that one of them measured.
use railtwin_diagnosis::robust::median;
use railtwin_workload::Collective;
use railtwin_workload::scaling::ScalingModel;

use super::ClusterTimes;
use super::large::{large, per_byte};
use super::refuse::Times;

/// Sizes of a probe that tell the distance are up to these bytes; those that tell the share of a ring's bandwidth are from
/// these on.
const SMALL: u64 = 32 << 10;
const LARGE: u64 = 64 << 20;

/// Replaces the priors by what probes say: δ by their small sizes, ρ by their large ones. It returns what stays a prior.
pub(super) fn probe(series: &ClusterTimes, model: &mut ScalingModel, probes: &Times) -> Vec<&'static str> {
    let mut priors = Vec::new();
    let all = || {
        probes
            .iter()
            .flat_map(|(&hosts, of)| of.iter().map(move |(&bytes, &seconds)| (hosts, bytes, seconds)))
    };
    let near = ScalingModel { distance: 0.0, ..model.clone() };
    let mut found: Vec<f64> = all()
        .filter(|(_, bytes, _)| *bytes <= SMALL)
        .filter_map(|(hosts, bytes, seconds)| {
            let group = series.group(hosts);
            let doubles = (f64::from(group.ranks) / f64::from(model.ranks())).log2();
            Some((seconds / near.predict(group, bytes)?.seconds - 1.0) / doubles)
        })
        .collect();
    match median(&mut found) {
        Some(distance) => model.distance = distance.clamp(0.0, 1.0),
        None if model.collective != Collective::SendReceive => priors.push("distance"),
        None => {}
    }
    let Some(of_large) = model.large else { return priors };
    let mut found: Vec<f64> = all()
        .filter(|(_, bytes, _)| *bytes >= LARGE)
        .filter_map(|(hosts, bytes, seconds)| {
            let group = series.group(hosts);
            let far = 1.0 + model.distance * (f64::from(group.ranks) / f64::from(model.ranks())).log2();
            let each = of_large.level + bytes.min(of_large.level_bytes) as f64 * of_large.level_per_byte;
            let rest = seconds / far - of_large.first - f64::from(hosts).log2() * each;
            Some(per_byte(&model.steps)? * bytes as f64 / rest).filter(|share| *share > 0.0)
        })
        .collect();
    match median(&mut found) {
        Some(share) => model.large = large(&model.trees, &model.steps, share.min(1.0)),
        None => priors.push("share"),
    }
    priors
}
