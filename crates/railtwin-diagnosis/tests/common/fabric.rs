//! Rings over rails of a small HPN fabric, with the links of every queue pair.
#![allow(dead_code, reason = "each test binary uses its part")]
use railtwin_diagnosis::{Diagnosis, Settings, SlowMessages};
use railtwin_fabric::{Fabric, HostId, HostSpec, LinkId};
use railtwin_records::{
    Batch, CommunicatorInfo, Component, Directory, EntityInfo, Finding, FlowInfo, HostInfo, OperationShape,
    RankInfo,
};
use railtwin_testkit::fabrics;

use super::Lot;

/// What is slow, and how many times.
#[derive(Clone)]
pub enum Slow {
    Links(Vec<LinkId>, f64),
    Flows(Vec<u32>, f64),
}

pub struct Rings {
    pub fabric: Fabric,
    pub directory: Directory,
    pub hosts: usize,
    pub nics: usize,
}

impl Rings {
    /// Rings of `orders` orders over each rail, all in one job; `paths` tells links.
    pub fn new(segments: u32, hosts: u32, orders: &[usize], paths: bool) -> Self {
        let hpn = fabrics::hpn(HostSpec::default(), segments, hosts, 60);
        let fabric = hpn.build().expect("the preset builds");
        let hosts = fabric.hosts().len();
        let nics = fabric.host_model(HostId(0)).nics as usize;
        let mut directory = Directory { jobs: vec!["job".into(), "other".into()], ..Directory::default() };
        for host in 0..hosts {
            directory.hosts.push(HostInfo { name: format!("host-{host}") });
            for gpu in 0..nics as u32 {
                let rank = (host * nics) as u32 + gpu;
                directory.ranks.push(RankInfo { job: 0, rank, host: host as u32, gpu, nic: gpu });
            }
        }
        directory.shapes.push(OperationShape {
            kind: "all-reduce".into(),
            algorithm: "ring".into(),
            data_type: String::new(),
            bytes: 1 << 30,
        });
        let mut rings = Self { fabric, directory, hosts, nics };
        for rail in 0..nics {
            let ranks = (0..hosts).map(|host| (host * nics + rail) as u32).collect();
            let name = format!("dp-{rail}");
            rings.directory.communicators.push(CommunicatorInfo { job: 0, name, axis: "dp".into(), ranks });
            for &stride in orders {
                for host in 0..hosts {
                    for port in 0..2 {
                        rings.connect(host, (host + stride) % hosts, rail, port, host + stride, paths);
                    }
                }
            }
        }
        rings
    }

    /// Opens a queue pair; gives its row.
    pub fn connect(
        &mut self,
        from: usize,
        to: usize,
        rail: usize,
        port: u32,
        choice: usize,
        paths: bool,
    ) -> u32 {
        let links = if paths { self.path(from, to, rail, port, choice) } else { Vec::new() };
        self.directory.flows.push(FlowInfo {
            source: (from * self.nics + rail) as u32,
            target: (to * self.nics + rail) as u32,
            source_nic: format!("host-{from}/nic-{rail}"),
            target_nic: format!("host-{to}/nic-{rail}"),
            nic_port: port,
            queue_pair: self.directory.flows.len() as u32,
            source_port: 50_000,
            links: links.iter().map(|link| link.0).collect(),
        });
        self.directory.flows.len() as u32 - 1
    }

    pub fn access(&self, host: usize, rail: usize, port: u32) -> LinkId {
        self.fabric
            .access_link(self.fabric.nic(HostId(host as u32), rail as u32), port)
            .expect("the NIC has the port")
    }

    pub fn path(&self, from: usize, to: usize, rail: usize, port: u32, choice: usize) -> Vec<LinkId> {
        let (up, down) = (self.access(from, rail, port), self.access(to, rail, port).reverse());
        let ways = fabrics::ways(&self.fabric, up, down);
        ways[choice % ways.len()].clone()
    }

    /// A batch of one operation: every queue pair of `flows` carries the same.
    pub fn batch(&self, step: u32, flows: &[u32], slow: &[Slow], jitter: f64, lot: &mut Lot) -> Batch {
        let mut batch = Batch { until_ns: (u64::from(step) + 1) * 1_000_000_000, ..Batch::default() };
        for &flow in flows {
            let info = &self.directory.flows[flow as usize];
            let mut times = 1.0;
            for slow in slow {
                match slow {
                    Slow::Links(links, by) if links.iter().any(|link| info.links.contains(&link.0)) => {
                        times *= by
                    }
                    Slow::Flows(which, by) if which.contains(&flow) => times *= by,
                    _ => {}
                }
            }
            let bytes = 1_u64 << 26;
            let network = bytes as f64 * 8.0 / 200.0 * times * (1.0 + jitter * lot.normal()).max(0.2);
            let communicator = flow_communicator(info, self.nics);
            batch.messages.push(communicator, step, 0, flow, 0, 14, 14, bytes, network as u64, 0, 0, 0, 14);
            let rank = info.source;
            batch.operations.push(communicator, rank, step, 0, 1, 2);
        }
        batch
    }

    /// What is found in so many operations of all flows.
    pub fn found(&self, steps: u32, slow: &[Slow], jitter: f64, seed: u64) -> Vec<Finding> {
        let flows: Vec<u32> = (0..self.directory.flows.len() as u32).collect();
        let mut lot = Lot(seed);
        self.diagnose((0..steps).map(|step| self.batch(step, &flows, slow, jitter, &mut lot)))
    }

    pub fn diagnose(&self, batches: impl Iterator<Item = Batch>) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut diagnosis = Diagnosis::with(Settings::default(), vec![Box::new(SlowMessages::default())]);
        for batch in batches {
            diagnosis.observe(&self.directory, Some(&self.fabric), &batch, &mut findings);
        }
        findings
    }

    /// Gives a link a counter of received errors at its end; its row.
    pub fn count_at(&mut self, link: LinkId) -> u32 {
        let cable = Component::Cable(self.fabric.cable_name(link.cable()));
        self.directory.entities.push(EntityInfo { component: cable, device: None, link: Some(link.0) });
        self.directory.entities.len() as u32 - 1
    }
}

fn flow_communicator(info: &FlowInfo, nics: usize) -> u32 {
    info.source % nics as u32
}
