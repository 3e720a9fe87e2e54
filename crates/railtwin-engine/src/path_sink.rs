//! The strands of a bundle, link by link: queue pairs between NICs, hops over NVLink inside hosts.
use railtwin_fabric::{Fabric, HostId, LinkId};
use railtwin_units::SimTime;
use railtwin_workload::Edge;

use crate::bundles::Strand;
use crate::choose::ChosenPaths;
use crate::connection::Connection;

/// The strands of one bundle, in memory that the next one uses again: a large step has millions.
#[derive(Debug, Default)]
pub(crate) struct PathSink {
    /// Those of the bundle are the first `used`.
    strands: Vec<Strand>,
    used: usize,
    /// Edge that is being written.
    edge: u32,
    /// Its first strand.
    from: usize,
}

impl PathSink {
    /// Forgets all strands.
    pub(crate) fn clear(&mut self) {
        self.used = 0;
    }

    /// Begins an edge, counted within the bundle.
    pub(crate) fn open(&mut self, edge: u32) {
        (self.edge, self.from) = (edge, self.used);
    }

    /// All strands of the bundle.
    pub(crate) fn strands(&self) -> &[Strand] {
        &self.strands[..self.used]
    }

    /// The longest delay among the strands of the edge being written; `added` by link, or empty.
    pub(crate) fn delay(&self, fabric: &Fabric, added: &[SimTime]) -> SimTime {
        let delays =
            self.strands[self.from..self.used].iter().map(|strand| path_delay(fabric, strand, added));
        delays.max().unwrap_or(SimTime::ZERO)
    }

    /// The queue pairs of one edge between NICs; false where one has no route.
    pub(crate) fn network(
        &mut self,
        fabric: &Fabric,
        connection: &Connection,
        inside: Option<&[Vec<LinkId>; 2]>,
        chosen: &ChosenPaths,
        amount: f64,
    ) -> bool {
        let Connection { source, target, first, count, .. } = *connection;
        let plain = (fabric.pcie_into(source), fabric.pcie_into(target).map(LinkId::reverse));
        let (entry, exit) = match inside {
            Some([entry, exit]) => (entry.as_slice(), exit.as_slice()),
            None => (plain.0.as_slice(), plain.1.as_slice()),
        };
        for queue_pair in first..first + count {
            let path = chosen.path(queue_pair);
            if path.links.is_empty() {
                return false;
            }
            let strand = self.next(amount, count);
            strand.links.extend_from_slice(entry);
            strand.links.extend_from_slice(path.links);
            strand.links.extend_from_slice(exit);
            if !path.parts.is_empty() {
                strand.parts.resize(entry.len(), 1.0);
                strand.parts.extend_from_slice(path.parts);
                strand.parts.resize(strand.links.len(), 1.0);
            }
        }
        true
    }

    /// The queue pairs of the edge being written carry other shares than even ones, where they were told so. One that
    /// carries nothing uses no link: its bundle does not wait for a full link that it sends nothing over.
    pub(crate) fn weigh(&mut self, connection: &Connection, chosen: &ChosenPaths) {
        for (row, strand) in (connection.first..).zip(&mut self.strands[self.from..self.used]) {
            let Some(share) = chosen.share(row) else { continue };
            if share == 0.0 {
                strand.links.clear();
                strand.parts.clear();
                continue;
            }
            strand.parts.resize(strand.links.len(), 1.0);
            strand.parts.iter_mut().for_each(|part| *part *= share * f64::from(strand.of));
        }
    }

    /// Acknowledgements return over the links of the edge being written: `back` bytes for each byte.
    pub(crate) fn acknowledge(&mut self, back: f64) {
        if back > 0.0 {
            self.strands[self.from..self.used].iter_mut().for_each(|strand| strand.acknowledge(back));
        }
    }

    /// The hops of an edge inside a host, over NVLink or PCIe switches.
    pub(crate) fn inside(&mut self, fabric: &Fabric, edge: &Edge) -> bool {
        let (links, amount) = match *edge {
            Edge::Inside { host, source_gpu, target_gpu, amount }
                if !fabric.host_model(HostId(host)).has_nvswitch() =>
            {
                let links = fabric.inside_path(HostId(host), source_gpu, target_gpu);
                self.next(amount, 1).links.extend_from_slice(&links);
                return true;
            }
            Edge::Inside { host, source_gpu, target_gpu, amount } => {
                let up = nvlink(fabric, HostId(host), source_gpu);
                ([up, nvlink(fabric, HostId(host), target_gpu).reverse()], amount)
            }
            Edge::InSwitch { host, gpu, amount } => {
                let up = nvlink(fabric, HostId(host), gpu);
                ([up, up.reverse()], amount)
            }
            Edge::Network { .. } => return true,
        };
        self.next(amount, 1).links.extend_from_slice(&links);
        true
    }

    /// One more strand of the edge, still without links.
    fn next(&mut self, amount: f64, of: u32) -> &mut Strand {
        if self.used == self.strands.len() {
            self.strands.push(Strand { edge: 0, amount, of, links: Vec::new(), parts: Vec::new() });
        }
        let strand = &mut self.strands[self.used];
        self.used += 1;
        (strand.edge, strand.amount, strand.of) = (self.edge, amount, of);
        strand.links.clear();
        strand.parts.clear();
        strand
    }
}

/// The link from a GPU into its NVSwitch.
pub fn nvlink(fabric: &Fabric, host: HostId, gpu: u32) -> LinkId {
    let port = fabric.ports(fabric.gpu(host, gpu)).next().expect("a GPU's first port is its NVLink port");
    fabric.cable_at(port).expect("hosts are cabled inside").forward()
}

/// Propagation and switch latency of a path; serialisation is in the rates. Packets spread over many paths
/// take the mean, each link as often as they cross it.
fn path_delay(fabric: &Fabric, strand: &Strand, added: &[SimTime]) -> SimTime {
    let hop = |link: LinkId| {
        let switch = fabric.place(fabric.target(link)).is_some();
        let more = added.get(link.index()).copied().unwrap_or(SimTime::ZERO);
        fabric.delay(link) + more + if switch { fabric.switch_latency() } else { SimTime::ZERO }
    };
    if strand.parts.is_empty() {
        return strand.links.iter().map(|&link| hop(link)).fold(SimTime::ZERO, |sum, delay| sum + delay);
    }
    let shares = strand.links.iter().zip(&strand.parts);
    SimTime::from_seconds(shares.map(|(&link, part)| hop(link).seconds() * part).sum())
}
