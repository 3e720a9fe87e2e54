//! What does not change of PCIe in hosts with PCIe switches: their links, and the ways over them.
use railtwin_engine::Case;
use railtwin_engine::lower::Lowering;
use railtwin_fabric::{DeviceId, Fabric, HostId, LinkId};

use crate::network::Speed;

/// Most links of a way: up to the root complex and down again.
pub const LINKS_OF_WAY: usize = 4;

/// A way over PCIe links of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WayInside {
    links: [u16; LINKS_OF_WAY],
    count: u8,
    /// Delay of all its links, ps.
    pub delay: u64,
}

impl WayInside {
    /// Rows of its links in [`HostLinks::speeds`].
    #[inline]
    pub fn links(&self) -> &[u16] {
        &self.links[..usize::from(self.count)]
    }
}

/// PCIe links of a host that something crosses, and the ways over them.
#[derive(Clone, Debug, Default)]
pub struct HostLinks {
    links: Vec<LinkId>,
    /// Speed of each link.
    pub speeds: Vec<Speed>,
    /// Ways.
    pub ways: Vec<WayInside>,
}

impl HostLinks {
    /// Row of the way over `links`.
    fn way(&mut self, fabric: &Fabric, links: &[LinkId]) -> u32 {
        assert!(links.len() <= LINKS_OF_WAY, "a way inside a host has up to four links, not {}", links.len());
        let mut way = WayInside { count: links.len() as u8, ..WayInside::default() };
        for (slot, &link) in way.links.iter_mut().zip(links) {
            let row = self.links.iter().position(|&known| known == link).unwrap_or_else(|| {
                self.links.push(link);
                self.speeds.push(Speed::of(fabric.capacity(link)));
                self.links.len() - 1
            });
            *slot = u16::try_from(row).expect("a host has fewer than 65,536 PCIe links");
            way.delay = way.delay.saturating_add(fabric.delay(link).ps());
        }
        let row = self.ways.iter().position(|&known| known == way).unwrap_or_else(|| {
            self.ways.push(way);
            self.ways.len() - 1
        });
        row as u32
    }
}

#[cfg(test)]
impl HostLinks {
    /// Links of so many bits per second, and ways over rows of them.
    pub(crate) fn of(rates: &[u64], ways: &[&[u16]]) -> Self {
        let speeds = rates.iter().map(|&rate| Speed::of(railtwin_units::Rate::from_bits_per_s(rate)));
        let way = |rows: &&[u16]| {
            let mut way = WayInside { count: rows.len() as u8, ..WayInside::default() };
            way.links[..rows.len()].copy_from_slice(rows);
            way
        };
        Self { links: Vec::new(), speeds: speeds.collect(), ways: ways.iter().map(way).collect() }
    }
}

/// Those of all hosts; empty where no host has PCIe switches.
#[derive(Clone, Debug, Default)]
pub struct LinksInside {
    hosts: Vec<HostLinks>,
    /// Rows of the ways of each connection into its source NIC and out of its target NIC, each in its host.
    connections: Vec<[u32; 2]>,
}

impl LinksInside {
    /// The ways of all connections.
    pub fn new(case: &Case, lowering: &Lowering<'_>) -> Self {
        let fabric = &*case.fabric;
        let mut this = Self::default();
        if fabric.host_models().iter().all(|model| model.pcie_switches == 0) {
            return this;
        }
        this.hosts.resize(fabric.hosts().len(), HostLinks::default());
        for (row, one) in lowering.connections().iter().enumerate() {
            let [entry, exit] = lowering.inside_of(row).expect("a host has PCIe switches");
            let mut way = |nic: DeviceId, links: &[LinkId]| {
                let host = fabric.host_of(nic).expect("a NIC stands in a host");
                let switches = fabric.host_model(host).pcie_switches;
                if switches == 0 { 0 } else { this.hosts[host.index()].way(fabric, links) }
            };
            let ways = [way(one.source, entry), way(one.target, exit)];
            this.connections.push(ways);
        }
        this
    }

    /// Row of the way from a GPU to another of its host, which has PCIe switches and no NVLink.
    pub fn between(&mut self, fabric: &Fabric, host: HostId, source: u32, target: u32) -> u32 {
        self.hosts[host.index()].way(fabric, &fabric.inside_path(host, source, target))
    }

    /// Those of a host, where it has PCIe switches and something crosses them.
    pub fn of_host(&self, host: u32) -> Option<&HostLinks> {
        self.hosts.get(host as usize).filter(|links| !links.ways.is_empty())
    }

    /// Row of the way of a connection into its source NIC, where that stands in a host with PCIe switches.
    #[inline]
    pub fn entry(&self, connection: u32) -> u32 {
        self.connections[connection as usize][0]
    }

    /// Row of its way out of its target NIC, where that does.
    #[inline]
    pub fn exit(&self, connection: u32) -> u32 {
        self.connections[connection as usize][1]
    }
}
