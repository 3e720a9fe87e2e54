//! Who counts: entities of the directory, with the counters that stand at rest.
use std::collections::BTreeMap;

use railtwin_engine::Case;
use railtwin_fabric::{HostId, LinkId};
use railtwin_records::Component;
use railtwin_records::directory::{Directory, EntityInfo};
use railtwin_records::telemetry::Counter;

use super::rows::{Law, Row};
use super::{CLOCK, Counters};
use crate::jitter::Draws;
use crate::layout::Seats;
use crate::replay::Replay;

/// Adds entities and laws.
pub(super) struct Builder<'a> {
    pub(super) case: &'a Case,
    pub(super) replay: &'a Replay,
    pub(super) directory: &'a mut Directory,
    pub(super) out: Counters,
    pub(super) draws: Draws,
    /// Bytes over each link in a step.
    pub(super) link_bytes: BTreeMap<u32, f64>,
    /// First rank of each host.
    first_rank: BTreeMap<u32, u32>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        case: &'a Case,
        replay: &'a Replay,
        directory: &'a mut Directory,
        out: Counters,
    ) -> Self {
        let draws = Draws::new(replay.settings.seed, "telemetry-counters");
        let members = replay.seats.members.iter().rev();
        let first_rank = members.map(|member| (member.host, member.rank)).collect();
        Self { case, replay, directory, out, draws, link_bytes: BTreeMap::new(), first_rank }
    }

    /// An entity that is no port.
    pub(super) fn entity(&mut self, component: Component, device: Option<u32>, rank: Option<u32>) -> u32 {
        if let Some(&entity) = self.out.entity_of.get(&component) {
            return entity;
        }
        let entity = self.enter(EntityInfo { component: component.clone(), device, link: None }, rank);
        self.out.entity_of.insert(component, entity);
        entity
    }

    fn enter(&mut self, info: EntityInfo, rank: Option<u32>) -> u32 {
        let entity = self.directory.entities.len() as u32;
        self.directory.entities.push(info);
        self.out.clock_of.insert(entity, rank);
        entity
    }

    pub(super) fn row(&mut self, entity: u32, counter: Counter) -> &mut Row {
        self.out.rows.entry((entity, counter)).or_default()
    }

    pub(super) fn law(&mut self, entity: u32, counter: Counter, law: Law) {
        self.row(entity, counter).laws.push(law);
    }

    /// NICs, GPUs and ranks of the job.
    pub(super) fn devices(&mut self) {
        let Seats { members, .. } = &self.replay.seats;
        let fabric = &*self.replay.fabric;
        for member in members.clone() {
            let (host, rank) = (HostId(member.host), Some(member.rank));
            let nic = fabric.nic(host, member.nic);
            let entity = self.entity(Component::Nic(fabric.device_name(nic)), Some(nic.0), rank);
            self.out.nics.insert((member.host, member.nic), entity);
            let gpu = fabric.gpu(host, member.gpu);
            let gpu_entity = self.entity(Component::Gpu(fabric.device_name(gpu)), Some(gpu.0), rank);
            let row = self.replay.rows.first_rank + member.rank;
            let component = self.directory.rank_component(row);
            let rank_entity = self.entity(component, None, rank);
            if self.out.settings.all_at_start {
                for counter in [Counter::OutOfSequence, Counter::AckTimeouts, Counter::Cnps] {
                    self.row(entity, counter);
                }
                self.row(gpu_entity, Counter::GpuClockMhz).rest = CLOCK;
                self.row(rank_entity, Counter::ProcessAlive).rest = 1.0;
            }
        }
    }

    /// Bytes of a step over links and NICs.
    pub(super) fn traffic(&mut self) {
        let rates = self.replay.network.rates();
        for &(pattern, bytes) in &self.out.loads.patterns {
            for bundle in rates.bundles_of(pattern) {
                for row in rates.rows_of(bundle) {
                    let carried = bytes * rates.share[row];
                    self.out.bytes.entry(rates.source[row]).or_default().0 += carried;
                    self.out.bytes.entry(rates.target[row]).or_default().1 += carried;
                    for &link in rates.links_of(row) {
                        *self.link_bytes.entry(link).or_default() += carried;
                    }
                }
            }
        }
    }

    /// The port at an end of a link: the one that sends into it, or the one that receives from it. Both are told by
    /// the link that leaves the port.
    pub(super) fn port(&mut self, link: LinkId, receives: bool) -> u32 {
        let leaving = if receives { link.reverse() } else { link };
        let fabric = &*self.replay.fabric;
        let device = fabric.source(leaving);
        let rank = fabric.host_of(device).and_then(|host| self.first_rank.get(&host.0).copied());
        if let Some(&entity) = self.out.ports.get(&leaving.0) {
            self.out.clock_of.entry(entity).or_insert(rank);
            return entity;
        }
        // The two ports of a cable have one name and two devices.
        let component = Component::Cable(fabric.cable_name(leaving.cable()));
        let entity =
            self.enter(EntityInfo { component, device: Some(device.0), link: Some(leaving.0) }, rank);
        self.out.ports.insert(leaving.0, entity);
        entity
    }

    /// NICs that send over a link, and those that receive, with the number of queue pairs of each.
    pub(super) fn users(&self, link: u32) -> [BTreeMap<(u32, u32), f64>; 2] {
        let rates = self.replay.network.rates();
        let mut users = [BTreeMap::new(), BTreeMap::new()];
        for row in (0..rates.rows()).filter(|&row| rates.links_of(row).contains(&link)) {
            *users[0].entry(rates.source[row]).or_default() += 1.0;
            *users[1].entry(rates.target[row]).or_default() += 1.0;
        }
        users
    }
}
