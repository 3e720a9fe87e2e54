//! A candidate as a preset, so that a scenario can be written of it.
use railtwin_fabric::HostSpec;
use railtwin_fabric::clos::{Chip, ClosSpec, SpineGroups};
use railtwin_fabric::delays::{CableDelays, Delays};
use railtwin_fabric::preset::{Hpn, Preset, RailOptimised, SingleTor};

use super::FabricCandidate;

impl FabricCandidate {
    /// The preset that spells the same fabric: same counts, rates and delays; none where no preset does. Its text is
    /// the section `[fabric]` of a scenario.
    pub fn preset(&self) -> Option<Preset> {
        let spec = &self.spec;
        let Chip::Of(chip) = spec.chip else { return None };
        let cables = CableDelays {
            access_delay: Some(spec.access_delay),
            leaf_spine_delay: Some(spec.leaf_spine_delay),
            spine_core_delay: Some(spec.spine_core_delay),
        };
        let delays = Delays { cables, switch_latency: Some(spec.switch_latency) };
        let host = HostSpec {
            nic_ports: Some(spec.host.nic.ports),
            nic_port_capacity: Some(spec.host.nic.port_capacity),
            ..HostSpec::named(&spec.host.name)
        };
        let several = spec.pods > 1;
        let ratio = |down: u32, up: u32| f64::from(down) / f64::from(up.max(1));
        let down = spec.hosts * spec.rails_per_leaf;
        let under = spec.segments * spec.host.nics / spec.rails_per_leaf * spec.parallel;
        let rails = RailOptimised {
            pods: spec.pods,
            segments: spec.segments,
            hosts: Some(spec.hosts),
            rails: Some(spec.host.nics / spec.rails_per_leaf),
            planes: spec.tors,
            oversubscription: ratio(down, spec.spines * spec.parallel),
            spines: Some(spec.spines),
            spine_oversubscription: ratio(under, spec.spine_up),
            cores: several.then_some(spec.cores),
            chip: Some(chip),
            delays,
            host: host.clone(),
            ..RailOptimised::default()
        };
        let hpn = Hpn {
            pods: spec.pods,
            segments: Some(spec.segments),
            hosts: Some(spec.hosts),
            spare_hosts: Some(0),
            planes: spec.groups == SpineGroups::PerTor,
            dual_tor: spec.tors > 1,
            spines: Some(spec.spines),
            spine_up: Some(spec.spine_up),
            cores: several.then_some(spec.cores),
            uplink: spec.uplink,
            chip,
            delays,
            host: host.clone(),
            ..Hpn::default()
        };
        let racks = SingleTor {
            pods: spec.pods,
            racks: spec.segments,
            hosts: spec.hosts,
            oversubscription: self.counts.tiers[0].oversubscription.unwrap_or(1.0),
            spines: Some(spec.spines.max(1)),
            spine_oversubscription: ratio(spec.segments * spec.parallel, spec.spine_up),
            cores: several.then_some(spec.cores),
            uplink: Some(spec.uplink),
            chip: Some(chip),
            delays,
            host,
            ..SingleTor::default()
        };
        let all = [Preset::RailOptimised(rails), Preset::Hpn(hpn), Preset::SingleTor(racks)];
        all.into_iter().find(|preset| preset.layout().spec().is_ok_and(|other| is_same(spec, &other)))
    }
}

/// Whether two spelled-out fabrics are the same but for their names. A single pod has no cores, whatever is written.
fn is_same(a: &ClosSpec, b: &ClosSpec) -> bool {
    let normal = |spec: &ClosSpec| {
        let has_cores = spec.pods > 1;
        ClosSpec {
            name: String::new(),
            cores: if has_cores { spec.cores } else { 0 },
            core_link: if has_cores { spec.core_link } else { spec.uplink },
            groups: if spec.tors == 1 { SpineGroups::Single } else { spec.groups },
            ..spec.clone()
        }
    };
    normal(a) == normal(b)
}
