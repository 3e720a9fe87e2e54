//! How large a fabric may be asked for: everything that is multiplied later stays inside its integer.
use railtwin_fabric::FabricError;
use railtwin_fabric::clos::{ClosSpec, LARGEST_CHIP, SpineGroups};

use crate::fabric_spec::FabricSpec;

/// Ports of the largest fabric: one million GPUs with all their ports have about 20 million.
const MOST_PORTS: u128 = 1 << 28;

/// What to say of a chip that nobody builds.
pub(crate) fn note_of_chip(fabric: &FabricSpec) -> Option<String> {
    let FabricSpec::Preset(preset) = fabric else { return None };
    let chip = preset.chip().filter(|chip| *chip > LARGEST_CHIP)?;
    Some(format!("fabric.chip: no switch chip has {chip}; the largest that there is has {LARGEST_CHIP}"))
}

/// Refuses a spec whose counts or capacities would leave 32 or 64 bits.
pub(crate) fn check_bounds(spec: &ClosSpec) -> Result<(), FabricError> {
    let host = &spec.host;
    host.check()?;
    let [pods, segments, spines, parallel, spine_up, tors] =
        [spec.pods, spec.segments, spec.spines, spec.parallel, spec.spine_up, spec.tors].map(u128::from);
    let hosts = u128::from(spec.hosts) + u128::from(spec.spare_hosts);
    let (nics, nic_ports) = (u128::from(host.nics), u128::from(host.nic.ports));
    let leaves = nics / u128::from(spec.rails_per_leaf.max(1)) * tors;
    let groups = match spec.groups {
        SpineGroups::Single => 1,
        SpineGroups::PerTor => tors,
        SpineGroups::PerLeaf => leaves,
    };
    let leaf_ports = hosts * nics * nic_ports + spines * parallel;
    let spine_ports = segments * leaves * parallel + spine_up;
    let core_ports = pods * spines * spine_up;
    let in_segments = pods * segments * (hosts * (2 * u128::from(host.gpus) + nics * (2 + nic_ports)));
    let ports = in_segments
        + pods * segments * leaves * leaf_ports
        + pods * groups * spines * spine_ports
        + groups * core_ports;
    if ports > MOST_PORTS {
        return Err(FabricError::TooLarge { what: "ports" });
    }
    let rates = [host.nic.port_capacity, spec.uplink, spec.core_link];
    let fastest = rates.map(|rate| rate.bits_per_s()).into_iter().max();
    let most = u128::from(fastest.unwrap_or(0)) * leaf_ports.max(spine_ports).max(core_ports);
    if most > u128::from(u64::MAX / 2) {
        return Err(FabricError::TooLarge { what: "bits per second in one switch" });
    }
    Ok(())
}
