//! How large a fabric may be asked for: everything that is multiplied later stays inside its integer.
use crate::clos::{ClosSpec, SpineGroups};
use crate::error::FabricError;

/// Ports of the largest fabric: one million GPUs with all their ports have about 20 million.
const MOST_PORTS: u128 = 1 << 28;

impl ClosSpec {
    /// Refuses counts or capacities that would leave 32 or 64 bits.
    pub(crate) fn check_bounds(&self) -> Result<(), FabricError> {
        let host = &self.host;
        let [pods, segments, spines, parallel, spine_up, tors] =
            [self.pods, self.segments, self.spines, self.parallel, self.spine_up, self.tors].map(u128::from);
        let hosts = u128::from(self.hosts) + u128::from(self.spare_hosts);
        let (nics, nic_ports) = (u128::from(host.nics), u128::from(host.nic.ports));
        let leaves = nics / u128::from(self.rails_per_leaf.max(1)) * tors;
        let groups = match self.groups {
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
        let rates = [host.nic.port_capacity, self.uplink, self.core_link];
        let fastest = rates.map(|rate| rate.bits_per_s()).into_iter().max();
        let most = u128::from(fastest.unwrap_or(0)) * leaf_ports.max(spine_ports).max(core_ports);
        if most > u128::from(u64::MAX / 2) {
            return Err(FabricError::TooLarge { what: "bits per second in one switch" });
        }
        Ok(())
    }
}
