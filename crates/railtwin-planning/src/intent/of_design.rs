//! A design that is spelled out already, as a candidate: its counts, price, power and losses.
use railtwin_catalog::{Catalog, PartKind};
use railtwin_fabric::clos::{Chip, ClosSpec, SpineGroups};
use railtwin_units::{Rate, SimTime};

use super::{Combination, Counts, FabricCandidate, Intent, Lengths, Style, SwitchModel, TierCounts};

/// A remark that holds until the frontend network is added.
pub(super) const NO_FRONTEND: &str =
    "the frontend network is not in the price: this design does not spell it out";

impl FabricCandidate {
    /// The candidate of a design. Switches of each tier are the cheapest of the catalog that hold its ports; of a chip
    /// that the design says, those of its capacity.
    pub fn of_design(spec: ClosSpec, catalog: &Catalog) -> Self {
        let counts = Counts::of(&spec);
        let models = ["leaf", "spine", "core"].map(|tier| {
            let of_tier = counts.tiers.iter().find(|of| of.tier == tier);
            model_of(&spec, of_tier, catalog)
        });
        let is_rail = spec.rails_per_leaf < spec.host.nics;
        let style = if is_rail { Style::RailOptimised } else { Style::Clos };
        let combination = Combination {
            style,
            switch: models[0].name.clone(),
            tiers: counts.tiers.len() as u32,
            planes: if spec.groups == SpineGroups::Single { 1 } else { spec.tors },
            tors: spec.tors,
            oversubscription: counts.tiers[0].oversubscription.unwrap_or(1.0),
            core_oversubscription: None,
        };
        let intent = Intent {
            style,
            gpus: spec.pods * spec.segments * spec.hosts * spec.host.gpus,
            host: spec.host.clone(),
            lengths: Some(lengths_of(&spec)),
            ..Intent::default()
        };
        let has_frontend = spec.host.frontend_nics > 0;
        let mut candidate =
            Self::of(&intent, combination, [&models[0], &models[1], &models[2]], spec, catalog);
        candidate.notes.extend(has_frontend.then(|| NO_FRONTEND.to_owned()));
        candidate
    }
}

/// The switch of a tier; of a tier that there is not, one without ports.
fn model_of(spec: &ClosSpec, tier: Option<&TierCounts>, catalog: &Catalog) -> SwitchModel {
    let rate = tier.map_or(spec.uplink, |tier| tier.down_rate.max(tier.up_rate));
    let capacity = match (spec.chip, tier) {
        (Chip::Of(chip), _) => chip,
        (_, Some(tier)) => {
            let spare = if tier.tier == "leaf" { spec.spare_hosts * tier.down_ports / spec.hosts } else { 0 };
            let peers = if tier.tier == "leaf" { spec.uplink } else { spec.core_link };
            let used = |rate: Rate, ports: u32| rate.bits_per_s() * u64::from(ports);
            let down = used(tier.down_rate, tier.down_ports + spare);
            Rate::from_bits_per_s(down + used(tier.up_rate, tier.up_ports) + used(peers, tier.peer_ports))
        }
        (_, None) => Rate::ZERO,
    };
    SwitchModel::holding(capacity, rate, catalog)
}

impl SwitchModel {
    /// The cheapest part of the catalog of a capacity, else ports of a rate that have it.
    pub(super) fn holding(capacity: Rate, rate: Rate, catalog: &Catalog) -> Self {
        let fitting = catalog.parts(PartKind::Switch).filter(|part| part.capacity() >= capacity);
        let part = fitting.min_by(|a, b| a.usd.total_cmp(&b.usd)).cloned();
        let ports = (capacity.bits_per_s() / rate.bits_per_s().max(1)) as u32;
        let name =
            part.as_ref().map_or_else(|| format!("{ports}x{}G", rate.gbps()), |part| part.name.clone());
        Self { name, ports, rate, part }
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
