//! A small cluster with everything that has counters, and all pairs of NICs as flows over every spine.
use railtwin_diagnosis::{Context, Detector, Settings};
use railtwin_fabric::{DeviceId, Fabric, HostId, HostSpec, LinkId};
use railtwin_records::{
    Batch, CommunicatorInfo, Component, Counter, Directory, EntityInfo, Finding, FlowInfo, HostInfo,
    OperationShape, RankInfo,
};
use railtwin_testkit::fabrics;

pub const SECOND: u64 = 1_000_000_000;

pub struct World {
    pub fabric: Fabric,
    pub directory: Directory,
    pub settings: Settings,
}

/// 16 hosts with one NIC each, under 4 leaves and 2 spines.
pub fn small() -> World {
    build(fabrics::plain(4, 4, 2))
}

/// 4 hosts with 8 NICs of two ports, under 16 leaves.
pub fn dual_port() -> World {
    build(fabrics::leaves(HostSpec::default(), 16, 4, 2).build().unwrap())
}

fn build(fabric: Fabric) -> World {
    let mut directory = Directory { jobs: vec!["train".into()], ..Directory::default() };
    let mut nics = Vec::new();
    for host in 0..fabric.hosts().len() as u32 {
        let (id, name) = (HostId(host), format!("host-{host}"));
        directory.hosts.push(HostInfo { name: name.clone() });
        let entity = |component, device, link| EntityInfo { component, device, link };
        directory.entities.push(entity(Component::Host(name.clone()), None, None));
        let model = fabric.host_model(id).clone();
        for gpu in 0..model.gpus {
            let rank = directory.ranks.len() as u32;
            directory.ranks.push(RankInfo { job: 0, rank, host, gpu, nic: model.nic_of_gpu(gpu) });
            let device = fabric.gpu(id, gpu);
            let component = Component::Gpu(fabric.device_name(device));
            directory.entities.push(entity(component, Some(device.0), None));
            directory.entities.push(entity(Component::Rank(format!("train/{rank}")), None, None));
        }
        for nic in 0..model.nics {
            let device = fabric.nic(id, nic);
            let component = Component::Nic(fabric.device_name(device));
            for port in 0..model.nic.ports {
                let link = fabric.access_link(device, port).unwrap();
                directory.entities.push(entity(component.clone(), Some(device.0), Some(link.0)));
            }
            nics.push((device, rank_of(&directory, host, nic)));
        }
    }
    for &(switch, _) in fabric.switches() {
        let component = Component::Switch(fabric.device_name(switch));
        directory.entities.push(EntityInfo { component, device: Some(switch.0), link: None });
        for &(link, _) in fabric.neighbors(switch) {
            let component = Component::Cable(fabric.cable_name(link.cable()));
            directory.entities.push(EntityInfo { component, device: Some(switch.0), link: Some(link.0) });
        }
    }
    for &(source, source_rank) in &nics {
        for &(target, target_rank) in &nics {
            for (way, links) in paths(&fabric, source, target).into_iter().enumerate() {
                directory.flows.push(FlowInfo {
                    source: source_rank,
                    target: target_rank,
                    source_nic: fabric.device_name(source),
                    target_nic: fabric.device_name(target),
                    nic_port: 0,
                    queue_pair: directory.flows.len() as u32,
                    source_port: 49152 + way as u16,
                    links,
                });
            }
        }
    }
    let ranks: Vec<u32> = (0..directory.ranks.len() as u32).collect();
    directory.communicators.push(CommunicatorInfo { job: 0, name: "dp".into(), axis: "dp".into(), ranks });
    for bytes in [1 << 20, 1 << 21] {
        directory.shapes.push(OperationShape {
            kind: "all-reduce".into(),
            algorithm: "ring".into(),
            data_type: "float32".into(),
            bytes,
        });
    }
    World { fabric, directory, settings: Settings::default() }
}

fn rank_of(directory: &Directory, host: u32, nic: u32) -> u32 {
    directory.ranks.iter().position(|info| info.host == host && info.nic == nic).unwrap() as u32
}

/// All shortest paths between two NICs over their first ports.
fn paths(fabric: &Fabric, source: DeviceId, target: DeviceId) -> Vec<Vec<u32>> {
    if source == target {
        return Vec::new();
    }
    let up = fabric.access_link(source, 0).unwrap();
    let down = fabric.access_link(target, 0).unwrap().reverse();
    let links = |way: Vec<LinkId>| way.into_iter().map(|link| link.0).collect();
    fabrics::ways(fabric, up, down).into_iter().map(links).collect()
}

impl World {
    pub fn context(&self) -> Context<'_> {
        Context { directory: &self.directory, fabric: Some(&self.fabric), settings: &self.settings }
    }

    /// Rows of entities with a component.
    pub fn entities(&self, component: &Component) -> Vec<u32> {
        let rows = self.directory.entities.iter().enumerate();
        rows.filter(|(_, info)| info.component == *component).map(|(row, _)| row as u32).collect()
    }

    pub fn entity(&self, component: Component) -> u32 {
        self.entities(&component)[0]
    }

    /// The entity of the port that a link leaves.
    pub fn port(&self, link: u32) -> u32 {
        self.directory.entities.iter().position(|info| info.link == Some(link)).unwrap() as u32
    }

    pub fn nic(&self, host: u32) -> u32 {
        self.entity(Component::Nic(format!("host-{host}/nic-0")))
    }

    /// The link from the first NIC of a host into its leaf.
    pub fn access(&self, host: u32) -> u32 {
        self.fabric.access_link(self.fabric.nic(HostId(host), 0), 0).unwrap().0
    }

    /// The link between two switches.
    pub fn link(&self, from: &str, to: &str) -> u32 {
        let (from, to) = (self.fabric.switch_named(from).unwrap(), self.fabric.switch_named(to).unwrap());
        self.fabric.neighbors(from).iter().find(|(_, next)| *next == to).unwrap().0.0
    }

    /// All entities that count at ports.
    pub fn ports(&self) -> Vec<u32> {
        let rows = self.directory.entities.iter().enumerate();
        rows.filter(|(_, info)| info.link.is_some()).map(|(row, _)| row as u32).collect()
    }

    pub fn nics(&self) -> Vec<u32> {
        let rows = self.directory.entities.iter().enumerate();
        let nics = rows.filter(|(_, info)| matches!(info.component, Component::Nic(_)));
        nics.map(|(row, _)| row as u32).collect()
    }

    /// Feeds a batch and judges at its end.
    pub fn feed(&self, detector: &mut dyn Detector, batch: &Batch) -> Vec<Finding> {
        let mut findings = Vec::new();
        detector.observe(&self.context(), batch);
        detector.judge(&self.context(), batch.until_ns, &mut findings);
        findings
    }
}

/// A batch of readings of one counter at one time.
pub fn readings(time_ns: u64, counter: Counter, values: &[(u32, f64)]) -> Batch {
    let mut batch = Batch { until_ns: time_ns, ..Batch::default() };
    add(&mut batch, time_ns, counter, values);
    batch
}

pub fn add(batch: &mut Batch, time_ns: u64, counter: Counter, values: &[(u32, f64)]) {
    for &(entity, value) in values {
        batch.counters.push(time_ns, entity, counter, value);
    }
}

/// The components of a finding, the likeliest first.
pub fn named(finding: &Finding) -> Vec<Component> {
    finding.suspects.iter().map(|suspect| suspect.component.clone()).collect()
}
