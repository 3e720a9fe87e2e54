//! A design that is spelled out already, as a candidate: its counts, price, power and losses.
use railtwin_catalog::{Catalog, PartKind};
use railtwin_fabric::clos::{Chip, ClosSpec, Peers, SpineGroups};
use railtwin_units::{Rate, SimTime};

use super::{Combination, FabricCandidate, Intent, Lengths, Style, SwitchModel};

impl FabricCandidate {
    /// The candidate of a design. Its switches are the cheapest of the catalog that hold the ports of every tier, one
    /// part for all; of a chip that the design says, those of its capacity.
    pub fn of_design(spec: ClosSpec, catalog: &Catalog) -> Self {
        let rate = spec.uplink.max(spec.host.nic.port_capacity);
        let capacity = match spec.chip {
            Chip::Of(chip) => chip,
            _ => needed(&spec),
        };
        let fitting = catalog.parts(PartKind::Switch).filter(|part| part.capacity() >= capacity);
        let cheapest = fitting.min_by(|a, b| a.usd.total_cmp(&b.usd)).cloned();
        let ports = (capacity.bits_per_s() / rate.bits_per_s().max(1)) as u32;
        let name = match &cheapest {
            Some(part) => part.name.clone(),
            None => format!("{ports}x{}G", rate.gbps()),
        };
        let switch = SwitchModel { name: name.clone(), ports, rate, part: cheapest };
        let is_rail = spec.rails_per_leaf < spec.host.nics;
        let combination = Combination {
            switch: name,
            tiers: 1 + u32::from(spec.spines > 0) + u32::from(spec.pods > 1),
            planes: if spec.groups == SpineGroups::Single { 1 } else { spec.tors },
            tors: spec.tors,
            oversubscription: ratio(leaf_down(&spec), leaf_up(&spec)),
            core_oversubscription: None,
        };
        let intent = Intent {
            style: if is_rail { Style::RailOptimised } else { Style::Clos },
            gpus: spec.pods * spec.segments * spec.hosts * spec.host.gpus,
            host: spec.host.clone(),
            lengths: Some(lengths_of(&spec)),
            ..Intent::default()
        };
        let left_out = [
            (spec.peers != Peers::None).then_some(
                "cables between switches of one tier are not in price, hops, bisection and losses",
            ),
            (spec.spare_hosts > 0).then_some("backup hosts and their cables are not in the price"),
        ];
        let mut candidate = Self::of(&intent, combination, &switch, spec, catalog);
        candidate.notes.extend(left_out.into_iter().flatten().map(str::to_owned));
        candidate
    }
}

/// Lengths by the delays of the design: light in fibre takes 5 ns a metre.
fn lengths_of(spec: &ClosSpec) -> Lengths {
    let metres = |delay: SimTime| delay.ps() as f64 / 5_000.0;
    Lengths {
        access_m: metres(spec.access_delay),
        leaf_spine_m: metres(spec.leaf_spine_delay),
        spine_core_m: metres(spec.spine_core_delay),
    }
}

/// Capacity of a leaf towards its active hosts, bit/s.
fn leaf_down(spec: &ClosSpec) -> u64 {
    towards(spec, spec.hosts)
}

fn towards(spec: &ClosSpec, hosts: u32) -> u64 {
    let ports = u64::from(hosts) * u64::from(spec.rails_per_leaf) * u64::from(spec.host.nic.ports);
    spec.host.nic.port_capacity.bits_per_s() * ports / u64::from(spec.tors.max(1))
}

fn leaf_up(spec: &ClosSpec) -> u64 {
    spec.uplink.bits_per_s() * u64::from(spec.spines) * u64::from(spec.parallel)
}

fn ratio(down: u64, up: u64) -> f64 {
    if up == 0 { 1.0 } else { down as f64 / up as f64 }
}

/// Capacity of the fullest switch of leaves and spines.
fn needed(spec: &ClosSpec) -> Rate {
    let leaf = leaf_down(spec) + towards(spec, spec.spare_hosts) + leaf_up(spec);
    let sets = u64::from(spec.segments) * u64::from(spec.host.nics / spec.rails_per_leaf.max(1));
    let under = match spec.groups {
        SpineGroups::Single => sets * u64::from(spec.tors),
        SpineGroups::PerTor => sets,
        SpineGroups::PerLeaf => u64::from(spec.segments),
    };
    let up = spec.core_link.bits_per_s() * u64::from(spec.spine_up);
    let down = under * u64::from(spec.parallel) * spec.uplink.bits_per_s();
    let spine = if spec.spines > 0 { down + up } else { 0 };
    Rate::from_bits_per_s(leaf.max(spine))
}
