//! Cables between switches of one tier.
use crate::builder::FabricBuilder;
use crate::clos::{ClosSpec, Peers};
use crate::graph::{CableClass, DeviceId};

impl ClosSpec {
    fn all_leaves(&self) -> u32 {
        self.pods * self.segments * self.leaves_per_segment()
    }

    /// Ports of a leaf to other leaves.
    pub(crate) fn leaf_peers(&self) -> u32 {
        match self.peers {
            Peers::Leaves(cables) => (self.all_leaves() - 1) * cables,
            _ => 0,
        }
    }

    /// Ports of a spine to spines of other pods.
    pub(crate) fn spine_peers(&self) -> u32 {
        match self.peers {
            Peers::Spines(cables) => (self.pods - 1) * cables,
            _ => 0,
        }
    }

    /// Cables between switches of one tier: n (n - 1) / 2 for n switches that all have one to each other.
    pub(crate) fn peer_cables(&self) -> u64 {
        let spines = u64::from(self.pods) * u64::from(self.group_count()) * u64::from(self.spines);
        let of_leaves = u64::from(self.all_leaves()) * u64::from(self.leaf_peers());
        (of_leaves + spines * u64::from(self.spine_peers())) / 2
    }

    /// Adds the cables between switches of one tier. Port `i` of a switch's run of peers leads to the `i`-th of the others.
    pub(crate) fn cable_peers(&self, builder: &mut FabricBuilder, leaves: &[DeviceId], spines: &[DeviceId]) {
        match self.peers {
            Peers::None => {}
            Peers::Leaves(cables) => {
                let first = self.leaf_down() + self.leaf_up();
                self.mesh(builder, leaves, first, cables);
            }
            Peers::Spines(cables) => {
                let (first, of_pod) = (self.spine_down() + self.spine_up, spines.len() / self.pods as usize);
                for index in 0..of_pod {
                    let alike: Vec<DeviceId> = spines.iter().skip(index).step_by(of_pod).copied().collect();
                    self.mesh(builder, &alike, first, cables);
                }
            }
        }
    }

    fn mesh(&self, builder: &mut FabricBuilder, switches: &[DeviceId], first: u32, cables: u32) {
        for (row, &one) in (0..).zip(switches) {
            for (other_row, &other) in (0..).zip(switches).skip(row as usize + 1) {
                for lane in 0..cables {
                    // Seen from the later switch, the earlier one is not after it; seen from the earlier, itself is left out.
                    let near = builder.port(one, first + (other_row - 1) * cables + lane);
                    let far = builder.port(other, first + row * cables + lane);
                    builder.add_cable([near, far], CableClass::Peer, self.peer_delay());
                }
            }
        }
    }

    fn peer_delay(&self) -> railtwin_units::SimTime {
        match self.peers {
            Peers::Spines(_) => self.spine_core_delay,
            _ => self.leaf_spine_delay,
        }
    }
}
