//! The links of a fabric as jobs share them, and the paths between two NICs.
use railtwin_control::crux::tenants::{Candidate, SharedLink};
use railtwin_fabric::{DeviceId, Fabric, LinkId};
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

    /// All links, by their number.
    pub fn links(&self) -> Vec<SharedLink> {
        let link = |number: usize| SharedLink {
            name: String::new(),
            capacity: self.fabric.capacity(LinkId::from_index(number)),
        };
        (0..self.fabric.link_count()).map(link).collect()
    }

    /// Paths from a port of a NIC to another NIC, from the GPU that the first hangs on to that of the second; none
    /// where there is no way. All of them where they are few, else some by lot.
    pub fn candidates(&self, source: NicPort, target: DeviceId, lot: &mut Stream) -> Vec<Candidate> {
        let routing = Routing::new(self.fabric, &self.forwarding, &self.ecmp);
        let Ok(count) = routing.count_paths(source, target) else { return Vec::new() };
        let mut paths: Vec<Vec<LinkId>> = Vec::new();
        if count <= u64::from(self.paths_most) {
            paths.extend(routing.paths(source, target).into_iter().flatten());
        } else {
            let mut draws = DRAWS * self.paths_most;
            while draws > 0 && paths.len() < self.paths_most as usize {
                draws -= 1;
                match self.draw(source, target, lot) {
                    Some(path) if !paths.contains(&path) => paths.push(path),
                    _ => (),
                }
            }
        }
        let inside = |nic: DeviceId, out: bool| {
            let neighbors = self.fabric.neighbors(nic).iter();
            let pcie = neighbors.filter(|(link, _)| !self.fabric.is_network(*link)).map(|&(link, _)| link);
            pcie.map(move |link| if out { link.reverse() } else { link }).next()
        };
        let (first, last) = (inside(source.nic, true), inside(target, false));
        let whole = |path: Vec<LinkId>| {
            let links = first.into_iter().chain(path).chain(last).map(|link| link.0);
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

    /// A path by a lot at every switch.
    fn draw(&self, source: NicPort, target: DeviceId, lot: &mut Stream) -> Option<Vec<LinkId>> {
        let access = self.fabric.access_link(source.nic, source.port)?;
        let mut path = vec![access];
        let mut row = self.fabric.switch_row(self.fabric.target(access));
        while let Some(at) = row {
            let next = self.forwarding.next_links(at, target);
            let link = *next.get(lot.random_range(0..next.len().max(1)))?;
            path.push(link);
            row = self.fabric.switch_row(self.fabric.target(link));
        }
        Some(path)
    }
}
