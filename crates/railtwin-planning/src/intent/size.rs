//! The smallest regular fabric that carries so many GPUs.
//!
//! A leaf takes as many hosts as its ports allow at the oversubscription, hosts spread evenly over the fewest segments,
//! leaves join spines by as many parallel cables as keep the spines few. Three tiers try every size of a pod and keep
//! the fabric with the fewest switches, of those the one with the fewest cables, then with the largest pods.
use railtwin_fabric::clos::{Chip, ClosSpec, Peers, SpineGroups};
use railtwin_fabric::{HostModel, NicModel};
use railtwin_units::{Rate, SimTime};

use super::candidate::{Combination, grouped};
use super::shape::Shape;
use super::{Intent, Style, SwitchModel};

/// Light in fibre, and signals in copper: 5 ns a metre.
const NS_PER_M: f64 = 5.0;
/// From a packet's arrival to its departure at an idle switch of the 51.2 Tbps class, as the presets have it.
const SWITCH_LATENCY: SimTime = SimTime::from_ns(700);
/// More uplinks of a spine than needed that are tried so that cores divide them.
const MORE_UPLINKS: u32 = 8;

/// Ports that a leaf has to hold.
struct Leaf<'a> {
    intent: &'a Intent,
    switch: &'a SwitchModel,
    host: HostModel,
    groups: SpineGroups,
    tors: u32,
    rails_per_leaf: u32,
    /// Access ports in a port of the switch.
    split: u32,
    uplink: Rate,
    /// Uplinks in a port of the switch.
    uplink_split: u32,
    oversubscription: f64,
    /// Whether there is a tier above.
    has_spines: bool,
}

impl Leaf<'_> {
    fn ports_per_host(&self) -> u32 {
        self.rails_per_leaf * (self.host.nic.ports / self.tors)
    }

    /// Uplinks that so many hosts need.
    fn uplinks(&self, hosts: u32) -> u32 {
        if !self.has_spines {
            return 0;
        }
        let down = f64::from(hosts * self.ports_per_host()) * self.host.nic.port_capacity.gbps();
        // A quotient that should be whole may come out a little above.
        ((down / (self.oversubscription * self.uplink.gbps()) - 1e-9).ceil() as u32).max(1)
    }

    fn fits(&self, hosts: u32, uplinks: u32) -> bool {
        let down = u64::from(hosts) * u64::from(self.ports_per_host());
        down.div_ceil(self.split.into()) + u64::from(uplinks.div_ceil(self.uplink_split))
            <= u64::from(self.switch.ports)
    }

    /// Most hosts of a segment.
    fn most_hosts(&self) -> u32 {
        let most = u64::from(self.switch.ports) * u64::from(self.split) / u64::from(self.ports_per_host());
        (1..=most as u32).rev().find(|&hosts| self.fits(hosts, self.uplinks(hosts))).unwrap_or(0)
    }

    fn leaves_in_group(&self) -> u32 {
        let leaves = self.host.nics / self.rails_per_leaf * self.tors;
        if self.groups == SpineGroups::PerTor { leaves / self.tors } else { leaves }
    }

    /// Ports of a switch above leaves.
    fn ports_above(&self) -> u32 {
        self.switch.ports * self.uplink_split
    }

    fn spec(&self, (pods, segments, hosts): (u32, u32, u32), up: &Above) -> ClosSpec {
        let lengths = self.intent.lengths(hosts);
        let delay = |metres: f64| SimTime::from_ns((metres * NS_PER_M) as u64);
        let (style, switch) = (self.intent.style, &self.switch.name);
        ClosSpec {
            name: format!("{style}-{switch}"),
            host: self.host.clone(),
            pods,
            segments,
            hosts,
            spare_hosts: 0,
            rails_per_leaf: self.rails_per_leaf,
            tors: self.tors,
            groups: self.groups,
            spines: up.spines,
            parallel: up.parallel,
            uplink: self.uplink,
            spine_up: up.spine_up,
            cores: up.cores,
            core_link: self.uplink,
            chip: Chip::Of(self.switch.capacity()),
            access_delay: delay(lengths.access_m),
            leaf_spine_delay: delay(lengths.leaf_spine_m),
            spine_core_delay: delay(lengths.spine_core_m),
            switch_latency: SWITCH_LATENCY,
            services: 0,
            peers: Peers::None,
            breakout: 1,
        }
    }
}

/// Switches above the leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Above {
    spines: u32,
    parallel: u32,
    spine_up: u32,
    cores: u32,
}

/// The smallest fabric of a combination.
///
/// # Errors
/// Why there is none, in words.
pub(crate) fn smallest(
    intent: &Intent,
    combination: &Combination,
    switch: &SwitchModel,
) -> Result<ClosSpec, String> {
    let uplinks = |uplink: Rate| of_uplinks(intent, combination, switch, uplink);
    let Some(given) = intent.uplink else {
        let split = |reason: String| match split_nic(&intent.host, combination.tors)?.nic.port_capacity {
            access if access < switch.rate => uplinks(access),
            _ => Err(reason),
        };
        return uplinks(switch.rate).or_else(split);
    };
    uplinks(given)
}

/// The smallest fabric whose switches are joined by cables of a rate.
fn of_uplinks(
    intent: &Intent,
    combination: &Combination,
    switch: &SwitchModel,
    uplink: Rate,
) -> Result<ClosSpec, String> {
    let leaf = leaf_of(intent, combination, switch, uplink)?;
    let hosts = intent.gpus.div_ceil(leaf.host.gpus.max(1)).max(1);
    let most = leaf.most_hosts();
    if most == 0 {
        let needs = leaf.ports_per_host().div_ceil(leaf.split) + leaf.uplinks(1).div_ceil(leaf.uplink_split);
        return Err(format!("a leaf needs {needs} ports for one host, the switch has {}", switch.ports));
    }
    let spec = match combination.tiers {
        1 => one_tier(&leaf, hosts, most),
        2 => two_tiers(&leaf, hosts, most),
        3 => three_tiers(&leaf, hosts, most, combination.core_oversubscription.unwrap_or(1.0)),
        tiers => Err(format!("{tiers} tiers: write 1, 2 or 3")),
    }?;
    spec.check().map_err(|error| error.to_string())?;
    Ok(spec)
}

fn leaf_of<'a>(
    intent: &'a Intent,
    combination: &Combination,
    switch: &'a SwitchModel,
    uplink: Rate,
) -> Result<Leaf<'a>, String> {
    let Combination { planes, tors, oversubscription, core_oversubscription, .. } = *combination;
    intent.host.check().map_err(|error| error.to_string())?;
    for ratio in [Some(oversubscription), core_oversubscription].into_iter().flatten() {
        if !ratio.is_finite() || ratio < 0.01 {
            return Err(format!("oversubscription {ratio}: write a number from 0.01 up"));
        }
    }
    if planes == 0 || tors == 0 || planes > 64 || tors > 64 {
        return Err(format!("{planes} planes, {tors} leaves of a NIC: write numbers from 1 to 64"));
    }
    let host = split_nic(&intent.host, tors)?;
    let access = host.nic.port_capacity;
    let splits = |rate: Rate, what: &str| match switch.rate.bits_per_s() {
        port if rate > Rate::ZERO && port.is_multiple_of(rate.bits_per_s()) => {
            Ok((port / rate.bits_per_s()).min(64) as u32)
        }
        _ => Err(format!("{what} of {rate} does not divide a switch port of {}", switch.rate)),
    };
    Ok(Leaf {
        intent,
        switch,
        split: splits(access, "a NIC port")?,
        uplink,
        uplink_split: splits(uplink, "an uplink")?,
        groups: if planes > 1 { SpineGroups::PerTor } else { SpineGroups::Single },
        tors,
        rails_per_leaf: if intent.style == Style::RailOptimised { 1 } else { host.nics },
        oversubscription,
        has_spines: combination.tiers > 1,
        host,
    })
}

/// The host with as many ports on a NIC as it reaches leaves, of the same capacity together.
fn split_nic(host: &HostModel, tors: u32) -> Result<HostModel, String> {
    let NicModel { ports, port_capacity } = host.nic;
    if ports.is_multiple_of(tors) {
        return Ok(host.clone());
    }
    let total = port_capacity * u64::from(ports);
    if !total.bits_per_s().is_multiple_of(tors.into()) {
        return Err(format!("{total} of a NIC do not divide by {tors} leaves"));
    }
    let port_capacity = Rate::from_bits_per_s(total.bits_per_s() / u64::from(tors));
    Ok(HostModel { nic: NicModel { ports: tors, port_capacity }, ..host.clone() })
}

/// A size in words of why it is not enough: right for cables between switches of that rate, since more ports of less
/// rate reach further.
fn ends_at(leaf: &Leaf<'_>, tiers: u32, hosts: u64) -> String {
    let gpus = hosts.saturating_mul(leaf.host.gpus.into());
    let ports = match (tiers, leaf.uplink_split) {
        (1, _) => String::new(),
        (_, 1) => " with whole ports".to_owned(),
        _ => format!(" with uplinks of {}", leaf.uplink),
    };
    format!(
        "{tiers} {} of {} at {} GPUs{ports}, {} are wanted",
        if tiers == 1 { "tier" } else { "tiers" },
        format_args!("{} {}", leaf.switch.name, if tiers == 1 { "ends" } else { "end" }),
        grouped(gpus),
        grouped(leaf.intent.gpus.into())
    )
}

fn one_tier(leaf: &Leaf<'_>, hosts: u32, most: u32) -> Result<ClosSpec, String> {
    if leaf.rails_per_leaf != leaf.host.nics {
        return Err("one tier joins each rail with itself alone: take style clos, or two tiers".to_owned());
    }
    if hosts > most {
        return Err(ends_at(leaf, 1, most.into()));
    }
    Ok(leaf.spec((1, 1, hosts), &Above { spines: 0, parallel: 1, spine_up: 0, cores: 0 }))
}

fn two_tiers(leaf: &Leaf<'_>, hosts: u32, most: u32) -> Result<ClosSpec, String> {
    let ports = leaf.ports_above();
    let segments = hosts.div_ceil(most);
    if u64::from(segments) * u64::from(leaf.leaves_in_group()) > u64::from(ports) {
        let most_segments = ports / leaf.leaves_in_group();
        return Err(ends_at(leaf, 2, u64::from(most_segments) * u64::from(most)));
    }
    let per_segment = hosts.div_ceil(segments);
    let parallels = 1..=ports / (segments * leaf.leaves_in_group());
    let found = parallels.filter_map(|parallel| {
        let spines = spines_of(leaf, per_segment, parallel)?;
        Some(Above { spines, parallel, spine_up: 0, cores: 0 })
    });
    let above = found.min_by_key(|above| (above.spines, above.spines * above.parallel));
    let above = above.ok_or_else(|| ends_at(leaf, 2, 0))?;
    Ok(leaf.spec((1, segments, per_segment), &above))
}

/// Spines of a group where a leaf has so many cables to each; none where the leaf cannot hold them.
fn spines_of(leaf: &Leaf<'_>, hosts: u32, parallel: u32) -> Option<u32> {
    let spines = leaf.uplinks(hosts).div_ceil(parallel);
    leaf.fits(hosts, spines * parallel).then_some(spines)
}

fn three_tiers(
    leaf: &Leaf<'_>,
    hosts: u32,
    most: u32,
    core_oversubscription: f64,
) -> Result<ClosSpec, String> {
    let ports = leaf.ports_above();
    let up = |down: u32| ((f64::from(down) / core_oversubscription - 1e-9).ceil() as u32).max(1);
    let most_down = (1..ports).rev().find(|&down| down.saturating_add(up(down)) <= ports).unwrap_or(0);
    let most_segments = most_down / leaf.leaves_in_group();
    let limit = u64::from(ports) * u64::from(most_segments) * u64::from(most);
    if u64::from(hosts) > limit {
        return Err(ends_at(leaf, 3, limit));
    }
    let mut best: Option<((u64, u64, u32), ClosSpec)> = None;
    for most_of_pod in 1..=most_segments {
        let pods = hosts.div_ceil(most).div_ceil(most_of_pod).max(2);
        let per_pod = hosts.div_ceil(pods);
        let segments = per_pod.div_ceil(most);
        if pods > ports.min(hosts) || segments > most_of_pod {
            continue;
        }
        let per_segment = per_pod.div_ceil(segments);
        for parallel in 1..=most_down / (segments * leaf.leaves_in_group()) {
            let down = segments * leaf.leaves_in_group() * parallel;
            let spines = spines_of(leaf, per_segment, parallel);
            let Some((spines, (spine_up, cores))) = spines
                .and_then(|spines| Some((spines, cores_of(pods, spines, (up(down), ports - down), ports)?)))
            else {
                continue;
            };
            let spec = leaf.spec((pods, segments, per_segment), &Above { spines, parallel, spine_up, cores });
            let shape = Shape::of(&spec);
            let switches = shape.leaves() + shape.spines() + shape.cores();
            let cables = shape.leaves() * u64::from(shape.leaf_up()) + shape.spines() * u64::from(spine_up);
            let key = (switches, cables, pods);
            if best.as_ref().is_none_or(|(least, _)| key < *least) {
                best = Some((key, spec));
            }
        }
    }
    best.map(|(_, spec)| spec).ok_or_else(|| match hosts {
        0 | 1 => "3 tiers join pods, and one host makes one".to_owned(),
        _ => format!("no equal pods of {} hosts fit under cores of {ports} ports", grouped(hosts.into())),
    })
}

/// Uplinks of a spine, between the least and the most, and the fewest cores of a group that divide them evenly.
fn cores_of(pods: u32, spines: u32, (least, most): (u32, u32), ports: u32) -> Option<(u32, u32)> {
    let found = (least..=most.min(least + MORE_UPLINKS)).filter_map(|spine_up| {
        let uplinks = spines * spine_up;
        let fewest = (u64::from(pods) * u64::from(uplinks)).div_ceil(ports.into()) as u32;
        // Divisors come in pairs, of which one is at most the root.
        let low = (1..=uplinks.isqrt()).filter(|&low| uplinks.is_multiple_of(low));
        let cores = low.flat_map(|low| [low, uplinks / low]).filter(|&cores| cores >= fewest.max(1)).min()?;
        Some((spine_up, cores))
    });
    found.min_by_key(|&(spine_up, cores)| (cores, spine_up))
}
