//! The links of a fabric as jobs share them, and the paths between two NICs.
use railtwin_control::crux::tenants::{Candidate, SharedLink};
use railtwin_fabric::{DeviceId, Fabric, HostId, LinkId};
use railtwin_routing::{EcmpConfig, Forwarding, HashSpec, LinkMask, NicPort, Routing, Seeds};
use railtwin_units::stream::Stream;
use rand::RngExt;

/// Draws for each path that is wanted where there are too many to list.
const DRAWS: u32 = 4;

/// A fabric without faults, as tenants see it.
#[derive(Debug)]
pub struct Plant<'a> {
    /// The fabric.
    pub fabric: &'a Fabric,
    forwarding: Forwarding,
    ecmp: EcmpConfig,
    paths_most: u32,
}

impl<'a> Plant<'a> {
    /// `paths_most` paths at most are known between two NICs: as many source ports as are tried.
    pub fn new(fabric: &'a Fabric, paths_most: u32) -> Self {
        let forwarding = Forwarding::new(fabric, &LinkMask::none(fabric));
        // Which paths there are does not depend on how switches hash.
        let ecmp = EcmpConfig::new(HashSpec::per_port(), Seeds::PerSwitch);
        Self { fabric, forwarding, ecmp, paths_most }
    }

    /// All links, by their number; those inside hosts know no levels unless PCIe is gated.
    pub fn links(&self, is_gated: bool) -> Vec<SharedLink> {
        let link = |number: usize| {
            let link = LinkId::from_index(number);
            let is_fair = !is_gated && !self.fabric.is_network(link);
            SharedLink { is_fair, ..SharedLink::new("", self.fabric.capacity(link)) }
        };
        (0..self.fabric.link_count()).map(link).collect()
    }

    /// The way between two GPUs of a host.
    pub(crate) fn inside(&self, host: HostId, source: u32, target: u32) -> Vec<Candidate> {
        let links = self.fabric.inside_path(host, source, target).into_iter().map(|link| link.0).collect();
        vec![Candidate { links, source_port: None }]
    }

    /// Paths from a port of a NIC to another NIC, with what lies inside hosts between the NICs and the GPUs of those
    /// numbers; none where there is no way. All of them where they are few, else some by lot.
    pub fn candidates(
        &self,
        source: NicPort,
        target: DeviceId,
        gpus: [u32; 2],
        lot: &mut Stream,
    ) -> Vec<Candidate> {
        let routing = Routing::new(self.fabric, &self.forwarding, &self.ecmp);
        let most = u64::from(self.paths_most);
        let Ok(is_drawn) = routing.has_more_paths(source, target, most) else { return Vec::new() };
        let mut paths: Vec<Vec<LinkId>> = Vec::new();
        if !is_drawn {
            paths.extend(routing.paths(source, target).into_iter().flatten());
        } else {
            let mut draws = DRAWS * self.paths_most;
            let mut path = Vec::new();
            while draws > 0 && paths.len() < self.paths_most as usize {
                draws -= 1;
                path.clear();
                if self.draw(source, target, lot, &mut path).is_some() && !paths.contains(&path) {
                    paths.push(path.clone());
                }
            }
        }
        let inside = |nic: DeviceId, gpu: u32| {
            let host = self.fabric.host_of(nic).expect("a NIC stands in a host");
            self.fabric.into_nic(host, gpu, nic.0 - self.fabric.nic(host, 0).0)
        };
        let (first, last) = (inside(source.nic, gpus[0]), inside(target, gpus[1]));
        let whole = |path: Vec<LinkId>| {
            let last = last.iter().rev().map(|link| link.reverse());
            let links = first.iter().copied().chain(path).chain(last).map(|link| link.0);
            Candidate { links: links.collect(), source_port: None }
        };
        paths.into_iter().map(whole).collect()
    }

    /// The NIC of the host of `source` that is on the rail of `target`.
    pub(crate) fn on_rail_of(&self, source: DeviceId, target: DeviceId) -> DeviceId {
        let (Some(from), Some(to)) = (self.fabric.host_of(source), self.fabric.host_of(target)) else {
            return source;
        };
        let rail = target.0 - self.fabric.nic(to, 0).0;
        if rail < self.fabric.host_model(from).nics { self.fabric.nic(from, rail) } else { source }
    }

    /// The GPU by which data of GPU `gpu` of its host leaves over a NIC of another rail: over NVLink it comes to the one
    /// that stands beside that NIC, without NVLink it crosses PCIe from where it is.
    pub(crate) fn relay_of(&self, nic: DeviceId, gpu: u32) -> u32 {
        let Some(host) = self.fabric.host_of(nic) else { return gpu };
        let model = self.fabric.host_model(host);
        if !model.has_nvswitch() {
            return gpu;
        }
        model.gpu_of_nic(nic.0 - self.fabric.nic(host, 0).0)
    }

    /// Puts a path by a lot at every switch into `path`; none where there is no way.
    pub(crate) fn draw(
        &self,
        source: NicPort,
        target: DeviceId,
        lot: &mut Stream,
        path: &mut Vec<LinkId>,
    ) -> Option<()> {
        let access = self.fabric.access_link(source.nic, source.port)?;
        path.push(access);
        let mut row = self.fabric.switch_row(self.fabric.target(access));
        while let Some(at) = row {
            let next = self.forwarding.next_links(at, target);
            let link = *next.get(lot.random_range(0..next.len().max(1)))?;
            path.push(link);
            row = self.fabric.switch_row(self.fabric.target(link));
        }
        Some(())
    }
}
