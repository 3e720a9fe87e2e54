//! Which algorithm a range of sizes is of. Logs of nccl-tests do not say; NCCL's habits and what algorithms can reach do.
use railtwin_workload::{Algorithm, Collective, Group};

use super::{AT_THE_LIMIT, Fitted};
use crate::bandwidth::bounds::HostRates;

/// By how much a bandwidth must exceed what rings reach inside a host for the NVSwitch to reduce.
const ABOVE_RINGS: f64 = 1.05;
/// Share of the latency of a ring below which an all-reduce over hosts is a tree.
const BELOW_RINGS: f64 = 0.6;

/// Names the algorithm of every range, and whether the network limits it.
///
/// * All-to-all and send/receive are direct; gathers, scatters and broadcasts are rings.
/// * An all-reduce inside a host that goes beyond the ring of the same GPUs is NVLS.
/// * An all-reduce over several hosts goes by trees first and by rings at last, as NCCL's model has it; with one range only
///   the latency tells.
pub fn label(fitted: &mut [Fitted], rates: Option<&HostRates>) {
    let all: Vec<Fitted> = fitted.to_vec();
    // The ring of the same GPUs, from collectives that NCCL has nothing else for.
    let ring = |own: &Fitted| {
        all.iter().find(|other| {
            matches!(other.collective, Collective::AllGather | Collective::ReduceScatter)
                && other.group == own.group
        })
    };
    for own in fitted.iter_mut() {
        let count = own.fit.ranges.len();
        let algorithms = (0..count).map(|row| match own.collective {
            Collective::AllToAll
            | Collective::SendReceive
            | Collective::ExpertDispatch
            | Collective::ExpertCombine => Algorithm::Direct,
            Collective::AllGather | Collective::ReduceScatter | Collective::Broadcast => Algorithm::Ring,
            Collective::AllReduce if own.group.hosts == 1 => {
                let reached = ring(own).map(|ring| ring.busbw(ring.fit.ranges.len() - 1));
                let rings = reached.unwrap_or(f64::INFINITY);
                if own.busbw(row) > ABOVE_RINGS * rings { Algorithm::Nvls } else { Algorithm::Ring }
            }
            Collective::AllReduce if own.group.local == 1 => Algorithm::Ring,
            Collective::AllReduce if row + 1 < count => Algorithm::Tree,
            Collective::AllReduce if count > 1 => Algorithm::Ring,
            Collective::AllReduce => {
                // A ring's all-reduce has twice the steps of its all-gather.
                let twice = ring(own).map_or(0.0, |ring| 2.0 * ring.fit.ranges[0].latency);
                let short = own.fit.ranges[row].latency < BELOW_RINGS * twice;
                if short { Algorithm::Tree } else { Algorithm::Ring }
            }
        });
        own.algorithms = algorithms.collect();
        // Step logs may say it themselves.
        for (algorithm, range) in own.algorithms.iter_mut().zip(&own.fit.ranges) {
            let within = |bytes: u64| bytes >= range.from && range.until.is_none_or(|until| bytes < until);
            let mut told = own.told.iter().filter(|(bytes, _)| within(**bytes)).map(|(_, told)| *told);
            let first = told.next().flatten();
            *algorithm = first.filter(|_| told.all(|other| other == first)).unwrap_or(*algorithm);
        }
        own.at_the_limit = (0..count)
            .map(|row| {
                let limit = network_limit(own.collective, own.group, own.algorithms[row], rates?)?;
                Some(own.busbw(row) >= AT_THE_LIMIT * limit)
            })
            .collect();
    }
}

/// Bus bandwidth that the NICs of hosts allow an algorithm, bytes per second; none within one host and where another
/// bound holds.
pub(crate) fn network_limit(
    collective: Collective,
    group: Group,
    algorithm: Algorithm,
    rates: &HostRates,
) -> Option<f64> {
    if group.hosts < 2 {
        return None;
    }
    let of_host = rates.nic_gb_per_s * 1e9 * f64::from(rates.nics) * f64::from(group.local.min(rates.gpus))
        / f64::from(rates.gpus.max(1));
    let factor = railtwin_workload::collective::bus_factor(collective, group.ranks);
    match algorithm {
        Algorithm::Ring => Some(of_host),
        // A host inside a tree sends to its parent and two children, and as a leaf of the other to its parent there.
        Algorithm::Tree if group.hosts > 2 => Some(factor * of_host / 2.0),
        // All ranks elsewhere: n - g of the n parts of a buffer leave the host.
        Algorithm::Direct if collective == Collective::AllToAll => {
            let away = f64::from(group.ranks - group.local);
            Some(factor * of_host / f64::from(group.local) * f64::from(group.ranks) / away)
        }
        Algorithm::Direct => Some(of_host / f64::from(group.local)),
        _ => None,
    }
}
