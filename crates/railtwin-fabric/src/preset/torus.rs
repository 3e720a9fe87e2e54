//! A torus of chips without switches.
use railtwin_units::SimTime;
use railtwin_units::keys::whole;

use crate::builder::FabricBuilder;
use crate::clos::ClosSpec;
use crate::error::FabricError;
use crate::graph::{CableClass, Fabric, HostId};
use crate::host::HostModel;
use crate::host_spec::HostSpec;
use crate::preset::Layout;

railtwin_units::section! {
    /// A three-dimensional torus, as TPUs stand in (Jouppi et al. 2023; HPN section 11): each chip has a port to each of its
    /// neighbors, and there are no switches. The default has the 4,096 chips of a TPU v4 pod.
    ///
    /// Port 0 of a chip leads to the next one in the first dimension and port 1 to the one before; ports 2 to 5 are those of
    /// the other dimensions. The four chips of a host are a square, those of any other host a row.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Torus "[fabric]" sparse {
        /// Chips in the first dimension.
        pub x: u32 [whole(1..=1_024)] = 16,
        /// Chips in the second dimension.
        pub y: u32 [whole(1..=1_024)] = 16,
        /// Chips in the third dimension.
        pub z: u32 [whole(1..=1_024)] = 16,
        /// Whether the last chip of a dimension has a cable to the first.
        pub wrap: bool = true,
        /// Delay of a cable: 10 m at 5 ns/m.
        pub delay: SimTime = SimTime::from_ns(50),
        /// What a host is; default tpu-v4.
        pub host: HostSpec = HostSpec::default(),
    }
}

/// Ports of a chip: two in each dimension.
const PORTS_OF_CHIP: u32 = 6;
/// Most chips.
const MOST_CHIPS: u64 = 1 << 22;

impl Torus {
    /// The model of hosts and how many chips it has in the first two dimensions.
    fn host_grid(&self) -> Result<(HostModel, [u32; 3]), FabricError> {
        let host = self.host.over(HostModel::tpu_v4())?;
        host.check()?;
        if host.nics != host.gpus {
            return Err(FabricError::range(
                "host.nics",
                host.nics,
                "a chip of a torus has one NIC: write as many as GPUs",
            ));
        }
        if host.nic.ports != PORTS_OF_CHIP {
            return Err(FabricError::range(
                "host.nic_ports",
                host.nic.ports,
                "a chip of a torus has six ports: write 6",
            ));
        }
        let grid = if host.gpus == 4 { [2, 2, 1] } else { [host.gpus, 1, 1] };
        for (field, chips, of_host) in
            [("x", self.x, grid[0]), ("y", self.y, grid[1]), ("z", self.z, grid[2])]
        {
            if chips == 0 || !chips.is_multiple_of(of_host) {
                let accepted = format!("a host has {of_host} chips in this dimension: write a multiple");
                return Err(FabricError::range(field, chips, accepted));
            }
        }
        if self.chips() > MOST_CHIPS {
            return Err(FabricError::TooLarge { what: "ports" });
        }
        Ok((host, grid))
    }

    fn chips(&self) -> u64 {
        u64::from(self.x) * u64::from(self.y) * u64::from(self.z)
    }
}

impl Layout for Torus {
    /// Refuses: a torus has no tiers.
    fn spec(&self) -> Result<ClosSpec, FabricError> {
        let accepted =
            "a torus has no tiers of switches: ask for its counts with `design`, or name another preset";
        Err(FabricError::range("preset", "torus", accepted))
    }

    fn fabric(&self, services: u32) -> Result<Fabric, FabricError> {
        if services > 0 {
            let accepted = "a torus has no switch for storage: write on = \"frontend\"";
            return Err(FabricError::range("storage.hosts", services, accepted));
        }
        let (model, grid) = self.host_grid()?;
        let size = [self.x, self.y, self.z];
        let hosts = [size[0] / grid[0], size[1] / grid[1], size[2] / grid[2]];
        let mut builder = FabricBuilder::new("torus");
        let row = builder.add_host_model(model);
        for index in 0..hosts[0] * hosts[1] * hosts[2] {
            builder.add_host(row, 0, 0, index, false);
        }
        let port = |builder: &FabricBuilder, chip: [u32; 3], port: u32| {
            let [x, y, z] = [chip[0] / grid[0], chip[1] / grid[1], chip[2]];
            let nic = chip[0] % grid[0] + chip[1] % grid[1] * grid[0];
            builder.nic_port(HostId((z * hosts[1] + y) * hosts[0] + x), nic, port)
        };
        for index in 0..self.chips() as u32 {
            let chip = [index % size[0], index / size[0] % size[1], index / (size[0] * size[1])];
            for dimension in 0..3 {
                let is_last = chip[dimension] + 1 == size[dimension];
                if size[dimension] == 1 || (is_last && !self.wrap) {
                    continue;
                }
                let mut next = chip;
                next[dimension] = if is_last { 0 } else { chip[dimension] + 1 };
                let out = 2 * dimension as u32;
                let ports = [port(&builder, chip, out), port(&builder, next, out + 1)];
                builder.add_cable(ports, CableClass::Peer, self.delay);
            }
        }
        builder.finish()
    }

    fn model(&self) -> Result<HostModel, FabricError> {
        Ok(self.host_grid()?.0)
    }

    fn host(&self) -> Option<&HostSpec> {
        Some(&self.host)
    }

    fn cannot_run(&self) -> Option<&'static str> {
        Some("routes go over switches, and a torus has none")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::design::DesignReport;
    use crate::graph::DeviceKind;

    /// Hops from one chip to the farthest, over cables between chips.
    fn diameter(fabric: &Fabric) -> usize {
        let first = fabric.nic(HostId(0), 0);
        let mut hops = vec![usize::MAX; fabric.device_count()];
        hops[first.index()] = 0;
        let mut queue = VecDeque::from([first]);
        let mut farthest = 0;
        while let Some(chip) = queue.pop_front() {
            farthest = hops[chip.index()];
            for &(_, next) in
                fabric.neighbors(chip).iter().filter(|(_, d)| fabric.kind(*d) == DeviceKind::Nic)
            {
                if hops[next.index()] == usize::MAX {
                    hops[next.index()] = farthest + 1;
                    queue.push_back(next);
                }
            }
        }
        farthest
    }

    /// n chips have 3 n cables; the farthest is half of each dimension away.
    #[test]
    fn a_pod_has_4096_chips_of_six_ports() {
        let fabric = Torus::default().build().unwrap();
        let report = DesignReport::of(&fabric);
        assert_eq!((report.gpus_active, report.hosts_active, report.cables_peer), (4_096, 1_024, 3 * 4_096));
        assert_eq!((report.tiers.len(), report.cables_access, report.bgp_speakers), (0, 0, 0));
        assert_eq!(diameter(&fabric), 8 + 8 + 8);
        let cabled = |port: crate::PortId| fabric.cable_at(port).is_some();
        for device in fabric.devices().filter(|&device| fabric.kind(device) == DeviceKind::Nic) {
            assert_eq!(fabric.ports(device).filter(|&port| cabled(port)).count(), 1 + 6);
        }
    }

    /// Without the cables around, x y z loses one plane of cables in each dimension.
    #[test]
    fn other_sizes_and_open_ends_have_their_counts() {
        let open = Torus { x: 4, y: 2, z: 3, wrap: false, ..Torus::default() };
        let report = DesignReport::of(&open.build().unwrap());
        assert_eq!((report.hosts_active, report.cables_peer), (6, 3 * 2 * 3 + 4 * 3 + 4 * 2 * 2));
        assert_eq!(diameter(&open.build().unwrap()), 3 + 1 + 2);
        let row = Torus {
            y: 1,
            z: 1,
            host: HostSpec { gpus: Some(8), nics: Some(8), ..HostSpec::default() },
            ..Torus::default()
        };
        let report = DesignReport::of(&row.build().unwrap());
        assert_eq!((report.hosts_active, report.cables_peer), (2, 16));
        assert!(Torus { x: 3, ..Torus::default() }.build().unwrap_err().to_string().starts_with("x = 3"));
    }
}
