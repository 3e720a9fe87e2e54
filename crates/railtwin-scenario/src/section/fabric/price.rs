//! From the size of a collective and its communicator to algorithm, protocol and what hosts add: what NCCL's tuner would
//! pick, at what it was measured to cost.
use std::collections::BTreeMap;

use railtwin_control::Place;
use railtwin_fabric::{Fabric, HostModel};
use railtwin_units::{Rate, SimTime};
use railtwin_workload::nccl::{Generation, Host};
use railtwin_workload::scaling::{Scaled, ScalingModel};
use railtwin_workload::{
    Algorithm, Collective, Cost, Group, Pattern, PatternId, Plan, Protocol, Work, cost::steps,
};

use super::CapSpec;
use super::beyond::{Beyond, keep};
use super::caps::Caps;
use super::experts::{of_forward, of_messages};
use super::groups::{largest, what_runs};
use super::host_caps::nccl_of_model;

/// The first NCCL with parallel aggregated trees.
const AGGREGATES: (u32, u32) = (2, 23);

/// An algorithm and its cost.
type Pick = (Algorithm, Cost);
/// The same, and what is beyond measurements.
type Told = (Pick, Option<Beyond>);

/// Gives every operation of a plan the algorithm and the cost of its size. Operations of one pattern whose costs differ
/// become patterns of their own, over the same communicators. It returns the collectives over more ranks than their costs
/// were measured on.
///
/// # Errors
/// What is wrong with an algorithm that was asked for.
pub(crate) fn price(
    plan: &mut Plan,
    places: &[Place],
    fabric: &Fabric,
    caps: &Caps,
    wire_share: f64,
) -> Result<Vec<Beyond>, String> {
    let Some(model) = places.first().map(|place| fabric.host_model(place.host)) else {
        return Ok(Vec::new());
    };
    let tuner = Tuner {
        caps,
        model,
        host: caps.modelled.then(|| host_of(model, wire_share)).flatten(),
        scaling: caps.scaling_of(model),
    };
    let mut beyond = Vec::new();
    let groups: Vec<Group> = plan.patterns.iter().map(|pattern| largest(pattern, places)).collect();
    refuse_algorithms(plan, &groups, places)?;
    let mut known: BTreeMap<(PatternId, u64), PatternId> = BTreeMap::new();
    let mut first: Vec<Option<Pick>> = vec![None; plan.patterns.len()];
    let mut picks: BTreeMap<(PatternId, Pick), PatternId> = BTreeMap::new();
    for row in 0..plan.operations.len() {
        let Work::Communicate { pattern, bytes } = plan.operations[row].work else { continue };
        let priced = match known.get(&(pattern, bytes)) {
            Some(&priced) => priced,
            None => {
                let asked = &plan.patterns[pattern.index()];
                let (pick, far) = tuner.pick(asked, groups[pattern.index()], bytes);
                if let Some(far) = far {
                    keep(&mut beyond, far);
                }
                let slot = &mut first[pattern.index()];
                let priced = if *slot.get_or_insert(pick) == pick {
                    pattern
                } else if let Some(&other) = picks.get(&(pattern, pick)) {
                    other
                } else {
                    let other = PatternId::from_index(plan.patterns.len());
                    let (algorithm, cost) = pick;
                    plan.patterns.push(Pattern { algorithm, cost, ..plan.patterns[pattern.index()].clone() });
                    picks.insert((pattern, pick), other);
                    other
                };
                known.insert((pattern, bytes), priced);
                priced
            }
        };
        plan.operations[row].work = Work::Communicate { pattern: priced, bytes };
    }
    for (pattern, pick) in plan.patterns.iter_mut().zip(first) {
        if let Some(pick) = pick {
            (pattern.algorithm, pattern.cost) = pick;
        }
    }
    Ok(beyond)
}

/// Refuses algorithms that NCCL has not for the groups of patterns.
fn refuse_algorithms(plan: &Plan, groups: &[Group], places: &[Place]) -> Result<(), String> {
    let nvls = |pattern: &Pattern| !pattern.open && pattern.algorithm == Algorithm::Nvls;
    if plan.patterns.iter().zip(groups).any(|(pattern, group)| nvls(pattern) && group.hosts > 1) {
        return Err(
            "NCCL has nvls over several hosts with CollNet only, which is not here; write nvls-tree, or \
                    nvls-ring for a ring among hosts on each rail, which NCCL has not"
                .to_owned(),
        );
    }
    for pattern in plan.patterns.iter().filter(|pattern| !pattern.open && pattern.algorithm == Algorithm::Pat)
    {
        if let Some(message) = pattern.communicators.iter().find_map(|ranks| several_on_a_host(ranks, places))
        {
            return Err(message);
        }
    }
    Ok(())
}

/// What is wrong with parallel aggregated trees over a communicator.
fn several_on_a_host(ranks: &[u32], places: &[Place]) -> Option<String> {
    let mut first: BTreeMap<u32, u32> = BTreeMap::new();
    ranks.iter().find_map(|&rank| {
        let host = places[rank as usize].host.0;
        let other = first.insert(host, rank)?;
        Some(format!(
            "NCCL has pat for one rank on each host, and ranks {other} and {rank} of a communicator are on one; write \
             ring, or per = \"rail\""
        ))
    })
}

/// What rows say of an algorithm at a size: latency of all steps, and the bus bandwidth of hosts; none where no row holds.
/// Below what was measured latency falls to `modelled`.
pub fn cost_of(
    rows: &[CapSpec],
    model: &HostModel,
    (collective, algorithm): (Collective, Algorithm),
    group: Group,
    bytes: u64,
    modelled: SimTime,
) -> Option<(Option<SimTime>, Option<Rate>)> {
    let tuner = Tuner { caps: &Caps::default(), model, host: None, scaling: Vec::new() };
    let row = tuner.row(rows, collective, Some(algorithm), group, bytes, |_| true)?;
    let all = u64::from(steps(collective, algorithm, group));
    Some((row.step.map(|step| latency(step * all, Some(modelled), bytes, row)), bandwidth(row, bytes)))
}

/// The protocol of what rows say of an algorithm at a size; none where none of them holds or says it.
pub fn protocol_of(
    rows: &[CapSpec],
    model: &HostModel,
    (collective, algorithm): (Collective, Algorithm),
    group: Group,
    bytes: u64,
) -> Option<Protocol> {
    let tuner = Tuner { caps: &Caps::default(), model, host: None, scaling: Vec::new() };
    tuner.row(rows, collective, Some(algorithm), group, bytes, |_| true)?.protocol
}

/// A host as NCCL's model sees it; none where nobody says what its GPUs are.
pub fn host_of(model: &HostModel, wire_share: f64) -> Option<Host> {
    let nic = model.nic.port_capacity.bits_per_s() * u64::from(model.nic.ports);
    Some(Host {
        generation: Generation::of_peak(model.gpu_flops?),
        nvlink: model.nvlink,
        pcie: model.pcie,
        nic: Rate::from_bits_per_s((nic as f64 * wire_share) as u64),
        gpus: model.gpus,
        nics: model.nics,
        aggregates: nccl_of_model(&model.name).is_some_and(|version| version >= AGGREGATES),
        crossing: SimTime::ZERO,
    })
}

/// Who picks.
struct Tuner<'a> {
    caps: &'a Caps,
    model: &'a HostModel,
    host: Option<Host>,
    scaling: Vec<ScalingModel>,
}

impl Tuner<'_> {
    fn pick(&self, asked: &Pattern, group: Group, bytes: u64) -> Told {
        let Pattern { collective, algorithm, .. } = *asked;
        // Communicators of one rank move nothing; a free choice is no choice for them.
        if group.ranks < 2 {
            return ((algorithm, Cost::default()), None);
        }
        let scaled = self.scaled(collective, group, bytes);
        let (own, known) = (&self.caps.own, &self.caps.known);
        // A row with a size says that NCCL took its algorithm there.
        let measured = || {
            [own, known]
                .into_iter()
                .find_map(|rows| self.row(rows, collective, None, group, bytes, |row| row.from.is_some()))
        };
        let model = self.host.as_ref();
        let tuned = || model.and_then(|host| host.pick(collective, None, group, bytes));
        let own_says = || self.row(own, collective, None, group, bytes, |row| row.from.is_some()).is_some();
        let algorithm = match (asked.open, &scaled) {
            (true, Some((_, scaled))) if !own_says() => scaled.algorithm,
            (true, _) => match (measured(), tuned()) {
                // What was measured of large messages does not speak of small ones that go by aggregated trees.
                (Some(row), Some(pick))
                    if pick.algorithm == Algorithm::Pat && row.from.is_some_and(|from| bytes < from.0) =>
                {
                    pick.algorithm
                }
                (Some(row), _) => row.algorithm,
                (None, pick) => pick.map_or(algorithm, |pick| pick.algorithm),
            },
            (false, _) => algorithm,
        };
        // The shape falls back, and so does what it costs.
        let runs = what_runs(algorithm, group, self.model.nvlink.is_some());
        let modelled = model.and_then(|host| {
            let pick = host.pick(collective, Some(runs), group, bytes)?;
            Some(host.cost(collective, &pick, group))
        });
        let mut cost = modelled.unwrap_or_default();
        let wanted = Some(runs);
        let mut far = None;
        let of_model = scaled.as_ref().and_then(|(model, _)| model.cost(group, bytes, runs));
        if let (Some((model, scaled)), Some((latency, busbw))) = (&scaled, of_model) {
            cost = Cost {
                protocol: Protocol::Simple,
                busbw: busbw.map(|rate| Rate::from_bits_per_s((rate * 8.0) as u64)),
                latency: SimTime::from_seconds(latency),
            };
            let one = Beyond {
                collective,
                ranks: group.ranks,
                measured: model.ranks(),
                bytes,
                scaled: Some(*scaled),
            };
            far = Some(one).filter(|_| scaled.beyond > 1.0);
        } else if let Some(row) = self.row(known, collective, wanted, group, bytes, |_| true) {
            let measured = row.hosts.unwrap_or(group.hosts) * row.gpus.unwrap_or(group.local);
            let one = Beyond { collective, ranks: group.ranks, measured, bytes, scaled: None };
            far = Some(one).filter(|_| row.hosts.is_some_and(|hosts| hosts < group.hosts));
            let protocol = row.protocol.unwrap_or_default();
            let pick = model.and_then(|host| host.predict(collective, runs, protocol, group, bytes));
            let bound = model.zip(pick).and_then(|(host, pick)| host.cost(collective, &pick, group).busbw);
            let busbw = bandwidth(row, bytes).or(bound);
            let latency = self.latency(row, asked, runs, group, bytes, modelled).unwrap_or(cost.latency);
            cost = Cost { protocol, busbw, latency: latency.since(hidden(row, bytes)) };
        }
        ((algorithm, self.of_own(asked, runs, (group, bytes), modelled, cost)), far)
    }

    /// A cost with what the scenario itself says in its place, and of exchanges that forward with the rates of both their hops.
    fn of_own(
        &self,
        asked: &Pattern,
        runs: Algorithm,
        (group, bytes): (Group, u64),
        modelled: Option<Cost>,
        mut cost: Cost,
    ) -> Cost {
        let (own, known) = (&self.caps.own, &self.caps.known);
        let (collective, wanted) = (asked.collective, Some(runs));
        if let Some(row) = self.row(own, collective, wanted, group, bytes, |row| bandwidth(row, 0).is_some())
        {
            cost.protocol = row.protocol.unwrap_or_default();
            cost.busbw = bandwidth(row, bytes);
        }
        if let Some(row) = self.row(own, collective, wanted, group, bytes, |row| row.step.is_some()) {
            let latency = self.latency(row, asked, runs, group, bytes, modelled);
            cost.latency = latency.unwrap_or(cost.latency);
            cost.protocol = row.protocol.unwrap_or(cost.protocol);
        }
        if let (Algorithm::Forward, Some(experts)) = (runs, &asked.experts) {
            let of = |group| {
                let rated =
                    |rows| self.row(rows, collective, wanted, group, bytes, |row| row.busbw.is_some());
                [own, known].into_iter().find_map(|rows| rated(rows)).and_then(|row| row.busbw)
            };
            cost.busbw = of_forward(collective, experts, group, of);
        }
        cost
    }

    /// The model of a collective with what it says, where no measurement was over as many hosts.
    fn scaled(&self, collective: Collective, group: Group, bytes: u64) -> Option<(&ScalingModel, Scaled)> {
        let of = || self.scaling.iter().filter(|model| model.collective == collective);
        let local = of().map(|model| model.local).filter(|&local| local >= group.local).min();
        let local = local.or_else(|| of().map(|model| model.local).max())?;
        let seen = |row: &CapSpec| {
            let own = (row.collective, row.hosts, row.gpus);
            own == (collective, Some(group.hosts), Some(group.local))
        };
        if self.caps.known.iter().any(seen) {
            return None;
        }
        // Smaller messages than were measured go by NCCL's model, as they do without a model.
        let model = of().find(|model| model.local == local && bytes >= model.least_bytes())?;
        Some((model, model.predict(group, bytes)?))
    }

    /// Latency of all steps by a row; none where it says none.
    fn latency(
        &self,
        row: &CapSpec,
        asked: &Pattern,
        algorithm: Algorithm,
        group: Group,
        bytes: u64,
        modelled: Option<Cost>,
    ) -> Option<SimTime> {
        let all = row.step? * u64::from(steps(asked.collective, algorithm, group));
        let all = all + of_messages(row, asked, group);
        Some(latency(all, modelled.map(|cost| cost.latency), bytes, row))
    }

    /// The first cap that holds, of those that `fit`: for the ranks of a host or the next larger number of them, for the
    /// hosts or the nearest number of them, and for the size or the nearest to it.
    fn row<'r>(
        &self,
        rows: &'r [CapSpec],
        collective: Collective,
        algorithm: Option<Algorithm>,
        group: Group,
        bytes: u64,
        fit: impl Fn(&CapSpec) -> bool,
    ) -> Option<&'r CapSpec> {
        let holds = |row: &&CapSpec| {
            row.collective == collective
                && algorithm.is_none_or(|algorithm| algorithm == row.algorithm)
                && row.host.as_ref().is_none_or(|name| *name == self.model.name)
                && row.hosts.is_none_or(|hosts| (hosts > 1) == (group.hosts > 1))
                && fit(row)
        };
        let rows: Vec<&CapSpec> = rows.iter().filter(holds).collect();
        let local = || rows.iter().filter_map(|row| row.gpus);
        let gpus = local().filter(|&gpus| gpus >= group.local).min().or(local().max());
        let rows: Vec<&CapSpec> =
            rows.into_iter().filter(|row| row.gpus.is_none_or(|own| Some(own) == gpus)).collect();
        // By ratio, of equals the fewer hosts.
        let apart = |hosts: u32| (f64::from(hosts) / f64::from(group.hosts)).ln().abs();
        let numbers = rows.iter().filter_map(|row| row.hosts);
        let hosts = numbers.min_by(|&a, &b| apart(a).total_cmp(&apart(b)).then(a.cmp(&b)));
        let away = |row: &CapSpec| {
            let (from, until) =
                (row.from.map_or(0, |size| size.0), row.until.map_or(u64::MAX, |size| size.0));
            if bytes < from { from - bytes } else { bytes.saturating_sub(until.saturating_sub(1)) }
        };
        // The first of the nearest: `min_by_key` takes the first of equals.
        rows.into_iter()
            .filter(|row| row.hosts.is_none_or(|own| Some(own) == hosts))
            .min_by_key(|row| away(row))
    }
}

/// Latency of all steps for a size: as measured from the cap's least size on. Below, a step's chunk shrinks with the
/// message, and its latency with it, down to what NCCL's model has for the first byte.
fn latency(measured: SimTime, modelled: Option<SimTime>, bytes: u64, row: &CapSpec) -> SimTime {
    match (row.from, modelled) {
        (Some(from), Some(least)) if bytes < from.0 && least < measured => {
            let share = bytes as f64 / from.0 as f64;
            least + SimTime::from_seconds(measured.since(least).seconds() * share)
        }
        _ => measured,
    }
}

/// Latency that passes while few channels still carry a transfer: nobody waits for it.
fn hidden(row: &CapSpec, bytes: u64) -> SimTime {
    let time = |rate: Option<Rate>| {
        rate.map_or(0.0, |rate| bytes as f64 / rate.bytes_per_s().max(f64::MIN_POSITIVE))
    };
    SimTime::from_seconds((time(bandwidth(row, bytes)) - time(row.busbw)).max(0.0))
}

/// Bus bandwidth for a size: of transfers in channels what so many of them reach.
fn bandwidth(row: &CapSpec, bytes: u64) -> Option<Rate> {
    let (Some(channel), Some(each)) = (row.channel, row.channel_bytes) else { return row.busbw };
    let times = bytes.div_ceil(each.0.max(1)).max(1).checked_next_power_of_two().unwrap_or(u64::MAX);
    let channels = Rate::from_bits_per_s(channel.bits_per_s().saturating_mul(times));
    Some(row.busbw.map_or(channels, |most| most.min(channels)))
}
