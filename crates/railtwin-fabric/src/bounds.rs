//! Which counts of a fabric fit together, and how large it may be asked for: everything that is multiplied later stays
//! inside its integer.
use railtwin_units::Rate;

use crate::clos::{Chip, ClosSpec, LARGEST_CHASSIS, LARGEST_CHIP, Peers, SpineGroups};
use crate::error::{ChipNeeds, FabricError};

/// Ports of the largest fabric: one million GPUs with all their ports have about 20 million.
const MOST_PORTS: u128 = 1 << 28;

impl ClosSpec {
    /// Checks that counts are positive, divide, and fit the chips.
    ///
    /// # Errors
    /// [`FabricError`] naming the field, its value and what would be accepted.
    pub fn check(&self) -> Result<(), FabricError> {
        self.host.check()?;
        self.check_bounds()?;
        for (field, value) in
            [("pods", self.pods), ("segments", self.segments), ("hosts", self.hosts), ("tors", self.tors)]
        {
            if value == 0 {
                return Err(FabricError::range(field, value, "write a whole number from 1 up"));
            }
        }
        let divides = |part: u32, whole: u32| part > 0 && whole.is_multiple_of(part);
        if !divides(self.rails_per_leaf, self.host.nics) {
            let accepted = format!("write a divisor of the host's {} NICs", self.host.nics);
            return Err(FabricError::range("rails_per_leaf", self.rails_per_leaf, accepted));
        }
        if !divides(self.tors, self.host.nic.ports) {
            let accepted = format!("write a divisor of the NIC's {} ports", self.host.nic.ports);
            return Err(FabricError::range("tors", self.tors, accepted));
        }
        let joined = matches!(self.peers, Peers::Leaves(_));
        if self.spines == 0 && (self.pods > 1 || self.segments > 1) && !joined {
            let accepted = "more than one segment needs spines: write a whole number from 1 up";
            return Err(FabricError::range("spines", self.spines, accepted));
        }
        if self.pods > 1 && self.peers == Peers::None {
            let ports = u64::from(self.spines) * u64::from(self.spine_up);
            if self.spine_up == 0 || self.cores == 0 || !ports.is_multiple_of(u64::from(self.cores)) {
                let accepted =
                    format!("several pods need cores: write a divisor of the {ports} uplinks of a group");
                return Err(FabricError::range("cores", self.cores, accepted));
            }
        }
        let places = u64::from(self.pods) * u64::from(self.segments) * u64::from(self.hosts);
        if u64::from(self.services.div_ceil(self.host.nics)) >= places {
            let most = (places - 1).saturating_mul(self.host.nics.into());
            let accepted = format!("{places} hosts leave places for {most} at most and one host with GPUs");
            return Err(FabricError::range("storage.hosts", self.services, accepted));
        }
        self.check_chips()?;
        self.check_size()
    }

    fn check_chips(&self) -> Result<(), FabricError> {
        if self.chip == Chip::Unchecked {
            return Ok(());
        }
        let access = self.host.nic.port_capacity;
        let mut switches = vec![(
            "leaf",
            (self.leaf_down(), access),
            (self.leaf_up() + self.leaf_peers(), self.uplink),
            "lower hosts or spare_hosts of a segment, or spines, or give the chip more capacity",
        )];
        if self.spines > 0 {
            let up = (self.spine_up + self.spine_peers(), self.core_link);
            let remedy = "lower segments, or spine_up, or give the chip more capacity";
            switches.push(("spine", (self.spine_down(), self.uplink), up, remedy));
        }
        if self.pods > 1 && self.cores > 0 {
            let remedy = "lower pods, or raise cores, or give the chip more capacity";
            switches.push(("core", (self.core_down(), self.core_link), (0, self.core_link), remedy));
        }
        for (role, down, up, remedy) in switches {
            let needed = down.1 * u64::from(down.0);
            let needed = Rate::from_bits_per_s(needed.bits_per_s() + (up.1 * u64::from(up.0)).bits_per_s());
            let largest = if role == "leaf" { LARGEST_CHIP } else { LARGEST_CHASSIS };
            let (limit, said) = match self.chip {
                Chip::Of(chip) => (chip, true),
                Chip::Largest | Chip::Unchecked => (largest, false),
            };
            if needed > limit {
                let unsaid = "lower the hosts, or the uplinks, or write what the switch has as chip";
                let remedy = if said { remedy } else { unsaid };
                let needs = ChipNeeds { role, down, up, needed, limit, said, remedy };
                return Err(FabricError::ChipTooSmall(Box::new(needs)));
            }
        }
        Ok(())
    }

    /// Refuses a fabric whose ports would not fit dense ids or the memory of a normal machine.
    fn check_size(&self) -> Result<(), FabricError> {
        let hosts =
            u64::from(self.pods) * u64::from(self.segments) * u64::from(self.hosts + self.spare_hosts);
        let per_host =
            2 * u64::from(self.host.gpus) + u64::from(self.host.nics * (2 + 2 * self.host.nic.ports));
        let leaves = u64::from(self.pods) * u64::from(self.segments) * u64::from(self.leaves_per_segment());
        let spines = u64::from(self.pods) * u64::from(self.group_count()) * u64::from(self.spines);
        let uplinks = leaves.saturating_mul(u64::from(self.spines) * u64::from(self.parallel));
        let of_switches = uplinks.saturating_add(spines.saturating_mul(u64::from(self.spine_up)));
        let of_switches = of_switches.saturating_add(self.peer_cables());
        match hosts.saturating_mul(per_host).saturating_add(of_switches.saturating_mul(2)) {
            0..=1_000_000_000 => Ok(()),
            _ => Err(FabricError::TooLarge { what: "ports" }),
        }
    }

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
        let (leaf_peers, spine_peers) = match self.peers {
            Peers::None => (0, 0),
            Peers::Leaves(cables) => (pods * segments * leaves * u128::from(cables), 0),
            Peers::Spines(cables) => (0, pods * u128::from(cables)),
        };
        let leaf_ports = hosts * nics * nic_ports + spines * parallel + leaf_peers;
        let spine_ports = segments * leaves * parallel + spine_up + spine_peers;
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
