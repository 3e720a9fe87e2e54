//! What hosts cost collectives beside caps ([`railtwin_fabric::HostCosts`]): the proxy that posts, copies and reductions.
//!
//! A rank sends f(n) B bytes in S serial steps over c channels, f the bus factor. It reduces in a share ρ of the steps and
//! copies in the others: ρ is 1 of a reduce-scatter, ½ of an all-reduce, 0 else. Each step posts a message of m bytes, no
//! more than a channel's part of what the step sends. With a time p to post, and rates r_c and r_r of one channel to copy and
//! to reduce, a copy of the sender and one or a reduction of the receiver add
//!
//! l = S p + S' (m / r_c + (1 − ρ) m / r_c + ρ m / r_r)
//!
//! to the latency, where S' is S, and 1 of a direct exchange, whose messages do not wait for each other. They hold the bus
//! bandwidth to min(c / ((1 − ρ) / r_c + ρ / r_r), m / p): a rank passes each byte on in one pass over it, as NCCL's kernels
//! receive, reduce or copy, and send at once.
use std::collections::BTreeMap;

use railtwin_control::Place;
use railtwin_fabric::{Fabric, HostCosts};
use railtwin_units::{Rate, SimTime};
use railtwin_workload::{
    Algorithm, Collective, Cost, Group, PatternId, Plan, Work, collective::bus_factor, cost::steps,
};

use super::groups::{largest, what_runs};

/// A collective as it is carried out: over a group, of so many bytes, in messages of at most so many.
#[derive(Clone, Copy, Debug)]
struct Task {
    collective: Collective,
    algorithm: Algorithm,
    group: Group,
    bytes: u64,
    message: u64,
}

/// Adds what hosts cost to the price of every operation of a plan, whose messages have at most `message` bytes. Operations of
/// one pattern that cost differently become patterns of their own.
pub(crate) fn add_host_costs(plan: &mut Plan, places: &[Place], fabric: &Fabric, message: u64) {
    let Some(model) = places.first().map(|place| fabric.host_model(place.host)) else { return };
    let costs = &model.costs;
    if costs.post == SimTime::ZERO && costs.copy.is_none() && costs.reduce.is_none() {
        return;
    }
    let groups: Vec<Group> = plan.patterns.iter().map(|pattern| largest(pattern, places)).collect();
    let mut known: BTreeMap<(PatternId, Cost), PatternId> = BTreeMap::new();
    let mut first = vec![None; groups.len()];
    for row in 0..plan.operations.len() {
        let Work::Communicate { pattern, bytes } = plan.operations[row].work else { continue };
        let (asked, group) = (&plan.patterns[pattern.index()], groups[pattern.index()]);
        let algorithm = what_runs(asked.algorithm, group, model.nvlink.is_some());
        let task = Task { collective: asked.collective, algorithm, group, bytes, message };
        let cost = with_host(asked.cost, costs, task);
        let slot = &mut first[pattern.index()];
        if *slot.get_or_insert(cost) == cost {
            continue;
        }
        let priced = *known.entry((pattern, cost)).or_insert_with(|| {
            plan.patterns.push(railtwin_workload::Pattern { cost, ..plan.patterns[pattern.index()].clone() });
            PatternId::from_index(plan.patterns.len() - 1)
        });
        plan.operations[row].work = Work::Communicate { pattern: priced, bytes };
    }
    for (pattern, cost) in plan.patterns.iter_mut().zip(first) {
        pattern.cost = cost.unwrap_or(pattern.cost);
    }
}

/// A cost with that of the host beside it.
fn with_host(cost: Cost, costs: &HostCosts, task: Task) -> Cost {
    let serial = steps(task.collective, task.algorithm, task.group);
    if serial == 0 {
        return cost;
    }
    let (serial, channels) = (f64::from(serial), f64::from(costs.channels.unwrap_or(1)));
    let sent = bus_factor(task.collective, task.group.ranks) * task.bytes as f64;
    let message = (sent / serial / channels).min(task.message as f64);
    let reduced = match task.collective {
        Collective::ReduceScatter => 1.0,
        Collective::AllReduce => 0.5,
        _ => 0.0,
    };
    let inverse =
        |rate: Option<Rate>| rate.map_or(0.0, |rate| 1.0 / rate.bytes_per_s().max(f64::MIN_POSITIVE));
    let (copy, reduce) = (inverse(costs.copy), inverse(costs.reduce.or(costs.copy)));
    let pass = (1.0 - reduced) * copy + reduced * reduce;
    let post = costs.post.seconds();
    // Messages of a direct exchange are copied while those before are sent.
    let copied = if task.algorithm == Algorithm::Direct { 1.0 } else { serial };
    let latency = SimTime::from_seconds(serial * post + copied * message * (copy + pass));
    let rates = [channels / pass, message / post];
    let held = rates.into_iter().filter(|rate| rate.is_finite()).reduce(f64::min);
    let held = held.map(|rate| Rate::from_bits_per_s((rate * 8.0).round() as u64));
    let busbw = [cost.busbw, held].into_iter().flatten().min();
    Cost { latency: cost.latency + latency, busbw, ..cost }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(collective: Collective, bytes: u64) -> Task {
        Task { collective, algorithm: Algorithm::Ring, group: Group::of(2, 8), bytes, message: 512 << 10 }
    }

    /// A ring of 16 ranks and 64 MiB: 30 steps of 4 MiB a rank, 256 KiB for each of 16 channels. Steps take 1 us to post, 13.1
    /// us to copy at 20 GB/s, and half of them as long again to copy out, half of them twice that to reduce at 10 GB/s.
    #[test]
    fn a_ring_all_reduce_posts_copies_and_reduces() {
        let rate = |gigabytes: u64| Some(Rate::from_gbps(8 * gigabytes));
        let costs = HostCosts {
            channels: Some(16),
            post: SimTime::from_ns(1_000),
            copy: rate(20),
            reduce: rate(10),
            ..HostCosts::default()
        };
        let cost = with_host(Cost::default(), &costs, task(Collective::AllReduce, 64 << 20));
        let copy = f64::from(256 << 10) / 20e9;
        let expected = 30.0 * (1e-6 + copy + 0.5 * copy + 0.5 * 2.0 * copy);
        assert!((cost.latency.seconds() - expected).abs() < 1e-10, "{}", cost.latency);
        // A byte that is copied takes 1/20 of a nanosecond of a channel, one that is reduced 1/10.
        let busbw = cost.busbw.unwrap().bytes_per_s();
        assert!((busbw / (16.0 / (0.5 / 20e9 + 0.5 / 10e9)) - 1.0).abs() < 1e-9, "{busbw}");
        let scattered = with_host(Cost::default(), &costs, task(Collective::ReduceScatter, 64 << 20));
        assert_eq!(scattered.busbw, rate(160));
        let gathered = with_host(Cost::default(), &costs, task(Collective::AllGather, 64 << 20));
        // 256 KiB a microsecond bind before 320 GB/s of copies.
        assert_eq!(gathered.busbw, Some(Rate::from_bits_per_s(262_144 * 8 * 1_000_000)));
    }

    #[test]
    fn nothing_is_added_to_what_is_not_asked_for_or_moves_nothing() {
        let measured = Cost { busbw: Some(Rate::from_gbps(1)), ..Cost::default() };
        let off = with_host(measured, &HostCosts::default(), task(Collective::AllReduce, 1 << 30));
        assert_eq!(off, measured);
        let costs = HostCosts { post: SimTime::from_ns(1_000), ..HostCosts::default() };
        let alone = Task { group: Group::of(1, 1), ..task(Collective::AllReduce, 1 << 30) };
        assert_eq!(with_host(measured, &costs, alone), measured);
        // 15 peers, one after the other, and one message that nobody hides.
        let both = HostCosts { copy: Some(Rate::from_gbps(80)), ..costs.clone() };
        let exchange = Task { algorithm: Algorithm::Direct, ..task(Collective::AllToAll, 1 << 30) };
        let expected = SimTime::from_seconds(15e-6 + 2.0 * f64::from(512 << 10) / 10e9);
        assert_eq!(with_host(Cost::default(), &both, exchange).latency, expected);
        // What was measured holds where it is less.
        let slow = with_host(measured, &costs, task(Collective::AllReduce, 1 << 30));
        assert_eq!((slow.busbw, slow.latency), (measured.busbw, SimTime::from_ns(30_000)));
    }
}
