//! What the page's map shows: devices and the links between them.
use std::collections::BTreeMap;

use railtwin_engine::{Case, RunLog};
use railtwin_fabric::graph::Host;
use railtwin_fabric::{DeviceId, HostId, LinkId, NONE};
use serde_json::Value;

use crate::capacity::Capacities;
use crate::columns::PageTable;
use crate::links::{network_cables, utilization};

/// One row of the page's table: all links from one device to another.
#[derive(Debug, Default)]
struct Row {
    links: Vec<LinkId>,
}

/// Devices and links of a run as the page's tables.
#[derive(Debug)]
pub struct Map<'a> {
    case: &'a Case,
    log: &'a RunLog,
    rows: BTreeMap<(u32, u32), Row>,
    capacities: &'a Capacities,
}

impl<'a> Map<'a> {
    /// Joins the links between the same two devices; a host stands for its NICs.
    pub fn new(case: &'a Case, log: &'a RunLog, capacities: &'a Capacities) -> Self {
        let mut rows: BTreeMap<(u32, u32), Row> = BTreeMap::new();
        for cable in network_cables(&case.fabric) {
            for link in [cable.forward(), cable.backward()] {
                let ends = [case.fabric.source(link), case.fabric.target(link)];
                let [source, target] = ends.map(|device| device_row(case, device));
                rows.entry((source, target)).or_default().links.push(link);
            }
        }
        Self { case, log, rows, capacities }
    }

    /// The page's table of devices: hosts in order of their ids, then switches.
    pub fn devices(&self) -> Value {
        let fabric = &self.case.fabric;
        let hosts = fabric.all_hosts();
        let switches = fabric.switches();
        let names = (0..hosts.len()).map(|host| fabric.host_name(HostId::from_index(host)));
        let names: Vec<String> =
            names.chain(switches.iter().map(|&(device, _)| fabric.device_name(device))).collect();
        let kinds =
            switches.iter().map(|(_, place)| ["leaf", "spine", "core"][usize::from(place.tier - 1) % 3]);
        // The frontend is drawn as further pods.
        let pods = fabric.pods();
        let pod_of = |pod: u32, frontend: bool| if frontend && pod != NONE { pods + pod } else { pod };
        let of_host = |host: &Host| {
            fabric.host_models()[host.model as usize].frontend_nics > 0
                && fabric.host_models()[host.model as usize].gpus == 0
        };
        let column = |of_host: &dyn Fn(&Host) -> u32,
                      of_switch: &dyn Fn(&railtwin_fabric::SwitchPlace) -> u32| {
            let hosts = hosts.iter().map(of_host);
            hosts.chain(switches.iter().map(|(_, place)| of_switch(place))).collect::<Vec<u32>>()
        };
        PageTable::new(names.len())
            .text("name", names.iter().map(String::as_str))
            .text("kind", std::iter::repeat_n("host", hosts.len()).chain(kinds))
            .u32(
                "pod",
                &column(&|host| pod_of(host.pod, of_host(host)), &|place| pod_of(place.pod, place.tier > 3)),
            )
            .u32("segment", &column(&|host| host.segment, &|place| place.segment))
            .u32("rail", &column(&|_| NONE, &|place| place.rail))
            .u32("plane", &column(&|_| NONE, &|place| place.plane))
            .u32("index", &column(&|host| host.index, &|place| place.index))
            .finish()
    }

    /// Row of the page's table of links for each link, by id; none for links inside hosts.
    pub fn link_rows(&self) -> Vec<u32> {
        let mut rows = vec![NONE; self.case.fabric.link_count()];
        for (index, row) in self.rows.values().enumerate() {
            row.links.iter().for_each(|link| rows[link.index()] = index as u32);
        }
        rows
    }

    /// The page's table of links.
    pub fn links(&self, flows: &[u32]) -> Value {
        let fabric = &self.case.fabric;
        let rows: Vec<&Row> = self.rows.values().collect();
        let used = |row: &&Row| -> Vec<f64> {
            row.links.iter().map(|&link| utilization(self.case, self.log, self.capacities, link)).collect()
        };
        let worst = |row| used(row).into_iter().fold(0.0, f64::max) as f32;
        let mean = |row: &&Row| (used(row).iter().sum::<f64>() / row.links.len() as f64) as f32;
        let sum = |row: &&Row| row.links.iter().map(|link| self.log.link_bytes[link.index()]).sum();
        PageTable::new(rows.len())
            .u32("source", &self.rows.keys().map(|key| key.0).collect::<Vec<_>>())
            .u32("target", &self.rows.keys().map(|key| key.1).collect::<Vec<_>>())
            .u32("parallel", &rows.iter().map(|row| row.links.len() as u32).collect::<Vec<_>>())
            .f64(
                "capacity_bits_per_s",
                &rows.iter().map(|row| fabric.capacity(row.links[0]).bits_per_s() as f64).collect::<Vec<_>>(),
            )
            .f64("bytes", &rows.iter().map(sum).collect::<Vec<f64>>())
            .f32("utilization", &rows.iter().map(worst).collect::<Vec<_>>())
            .f32("utilization_mean", &rows.iter().map(mean).collect::<Vec<_>>())
            .u32(
                "flows",
                &rows
                    .iter()
                    .map(|row| row.links.iter().map(|link| flows[link.index()]).sum())
                    .collect::<Vec<u32>>(),
            )
            .finish()
    }

    /// The links of each row of the page's table of links.
    pub fn rows(&self) -> Vec<&[LinkId]> {
        self.rows.values().map(|row| row.links.as_slice()).collect()
    }
}

/// Row of a device in the page's table: its host's, or its own for a switch.
fn device_row(case: &Case, device: DeviceId) -> u32 {
    match case.fabric.switch_row(device) {
        Some(row) => case.fabric.all_hosts().len() as u32 + row,
        None => case.fabric.host_of(device).map_or(NONE, |host| host.0),
    }
}
