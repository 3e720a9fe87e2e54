//! Connections that registered, with the path that each is to take and the port that takes it.
use std::collections::BTreeMap;
use std::net::SocketAddrV4;

use railtwin_control::controller::{Action, Controller, Decision, Event, Opening};
use railtwin_control::paths::JobId;
use railtwin_control::te::{LinkReport, Subject};
use railtwin_engine::own::{QueuePair, Site, Stage, Ways};
use railtwin_fabric::{DeviceId, LinkId};
use railtwin_units::{SimTime, stream};

use super::ports::Ports;
use super::prober::Asked;
use super::{MasterSetting, shared};
use crate::host::LabError;
use crate::netlink::tcp;
use crate::plant::{Plant, PlantNic};
use crate::predict::Predictor;

/// A connection: a queue pair of the model.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub lane: u32,
    queue_pair: QueuePair,
    to: SocketAddrV4,
    /// Source port of the model, by which a controller says the path.
    model_port: Option<u16>,
    /// Port of the real fabric.
    pub port: u16,
    /// Whether a move was asked for and is not told to be done.
    pub is_moving: bool,
}

/// A port that a connection is to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub row: usize,
    pub port: u16,
}

/// All connections under one controller.
pub(super) struct Lanes<'p> {
    plant: &'p Plant,
    setting: MasterSetting,
    controller: Option<Box<dyn Controller + 'p>>,
    ways: Ways,
    predictor: Predictor<'p>,
    ports: Ports,
    pub lanes: Vec<Option<Lane>>,
    versions: BTreeMap<LinkId, u64>,
    /// Probes that a decision asked for.
    pub asked: Vec<Asked>,
    decisions: Vec<Decision>,
}

impl<'p> Lanes<'p> {
    pub(super) fn new(plant: &'p Plant, setting: &MasterSetting) -> Result<Self, LabError> {
        let site = Site {
            fabric: shared(&plant.fabric),
            ecmp: setting.ecmp,
            resilient: false,
            replicate: 0,
            stage: Stage::Run,
            jobs: 1,
        };
        Ok(Self {
            plant,
            controller: setting.balancer.controller(&plant.fabric, setting.ecmp, setting.draw),
            setting: setting.clone(),
            ways: Ways::new(&site),
            predictor: Predictor::new(plant)?,
            ports: Ports::default(),
            lanes: Vec::new(),
            versions: BTreeMap::new(),
            asked: Vec::new(),
            decisions: Vec::new(),
        })
    }

    /// Registers a group of connections, and returns their rows; their ports stand in `lanes`.
    pub(super) fn open(
        &mut self,
        now: SimTime,
        job: u32,
        (source, target): (&PlantNic, &PlantNic),
        to: SocketAddrV4,
        count: u32,
    ) -> Result<std::ops::Range<usize>, LabError> {
        let first = self.lanes.len();
        let numbers: Vec<u32> = (0..count).map(|lane| first as u32 + lane).collect();
        let ports = source.interfaces.len() as u32;
        let opening = Opening {
            job: JobId(job),
            source: source.nic,
            target: target.nic,
            ports,
            first: first as u32,
            numbers: &numbers,
            bytes: 1.0,
            inside: None,
        };
        for (lane, queue_pair) in (0..).zip(QueuePair::of(&opening)) {
            let lane = Lane { lane, queue_pair, to, model_port: None, port: 0, is_moving: false };
            self.lanes.push(Some(lane));
        }
        if let Some(controller) = &mut self.controller {
            controller.on_event(now, &Event::Opened(&[opening]));
        }
        self.decide(now);
        for row in first..self.lanes.len() {
            let port = self.port_of(row)?;
            let Some(lane) = &mut self.lanes[row] else { continue };
            lane.port = port.ok_or_else(|| {
                let text = "no source port leads along the chosen path";
                LabError(format!("{} to {to}: {text}", source.node))
            })?;
        }
        Ok(first..self.lanes.len())
    }

    /// A port for a connection on its path; for one without a path any that leaves by its own port of the NIC.
    fn port_of(&mut self, row: usize) -> Result<Option<u16>, LabError> {
        let Some(lane) = self.lanes[row].clone() else { return Ok(None) };
        let Some(source) = self.plant.nic_of(lane.queue_pair.source) else { return Ok(None) };
        let wanted = self.wanted(&lane);
        let fabric = &self.plant.fabric;
        let own = fabric.access_link(lane.queue_pair.source, lane.queue_pair.port);
        let is_wanted = |links: &[LinkId]| match &wanted {
            Some(wanted) => links == wanted.as_slice(),
            None => links.first().copied() == own,
        };
        let draw = stream::mix(self.setting.draw ^ stream::mix(row as u64));
        self.ports.find(&mut self.predictor, source, (6, lane.to), draw, is_wanted)
    }

    /// The path that a controller chose; none where none did.
    fn wanted(&self, lane: &Lane) -> Option<Vec<LinkId>> {
        let mut links = Vec::new();
        self.ways.route(&lane.queue_pair, lane.model_port?, &mut links).then_some(links)
    }

    /// Tells that a link has or has no light.
    pub(super) fn hear(&mut self, now: SimTime, link: LinkId, up: bool) {
        let version = self.versions.entry(link).or_default();
        *version += 1;
        let report = LinkReport { time: now, subject: Subject::Link(link), up, version: *version };
        self.ways.hear(&report);
        if let Some(controller) = &mut self.controller {
            controller.on_event(now, &Event::Link(report));
        }
    }

    /// Tells what became of the probes of a survey.
    pub(super) fn probed(&mut self, now: SimTime, answers: &[railtwin_control::controller::Answer]) {
        if let Some(controller) = &mut self.controller {
            controller.on_event(now, &Event::Probed(answers));
        }
    }

    /// Forgets the connections of a job.
    pub(super) fn close(&mut self, now: SimTime, job: u32) {
        for lane in &mut self.lanes {
            if lane.as_ref().is_some_and(|lane| lane.queue_pair.job == job) {
                *lane = None;
            }
        }
        if let Some(controller) = &mut self.controller {
            controller.on_event(now, &Event::Closed(JobId(job)));
        }
    }

    /// When the controller is to be asked again.
    pub(super) fn next_time(&self) -> SimTime {
        self.controller.as_ref().map_or(SimTime::NEVER, |controller| controller.next_time())
    }

    /// Asks the controller, and takes its paths and its wish for probes.
    pub(super) fn decide(&mut self, now: SimTime) {
        let Some(controller) = &mut self.controller else { return };
        controller.decide(now, &mut self.decisions);
        for decision in std::mem::take(&mut self.decisions) {
            match decision.action {
                Action::Path { queue_pair, source_port } => {
                    let lane = self.lanes.get_mut(queue_pair as usize).and_then(Option::as_mut);
                    if let Some(lane) = lane {
                        // One that is stranded stays where it is: there is no better way.
                        lane.model_port = source_port.or(lane.model_port);
                    }
                }
                Action::Probe { source, target, source_port, packets } => {
                    let links = self.probe_path(source.nic, source.port, target, source_port);
                    self.asked.push(Asked { source: source.nic, target, links, packets });
                }
                // A fabric of plain routers has nothing else to act on.
                _ => {}
            }
        }
    }

    fn probe_path(&self, source: DeviceId, port: u32, target: DeviceId, source_port: u16) -> Vec<LinkId> {
        let ports = self.plant.nic_of(source).map_or(1, |nic| nic.interfaces.len() as u32);
        let probe = QueuePair { row: 0, number: 0, port, ports, job: 0, source, target, bytes: 0.0 };
        let mut links = Vec::new();
        self.ways.route(&probe, source_port, &mut links);
        links
    }

    /// Connections that are not on the path that was chosen for them, be it that another was chosen or that the fabric
    /// hashes otherwise than before, and a port for each that would lead there. One for which there is no such port now,
    /// as routes are still on their way, is asked for again the next time.
    pub(super) fn astray(&mut self) -> Result<Vec<Move>, LabError> {
        let mut moves = Vec::new();
        for row in 0..self.lanes.len() {
            let Some(lane) = self.lanes[row].clone().filter(|lane| !lane.is_moving) else { continue };
            let Some(wanted) = self.wanted(&lane) else { continue };
            if self.path_now(&lane)? == wanted {
                continue;
            }
            if let Some(port) = self.port_of(row)? {
                if let Some(lane) = &mut self.lanes[row] {
                    (lane.port, lane.is_moving) = (port, true);
                }
                moves.push(Move { row, port });
            }
        }
        Ok(moves)
    }

    fn path_now(&mut self, lane: &Lane) -> Result<Vec<LinkId>, LabError> {
        let mut links = Vec::new();
        if let Some(source) = self.plant.nic_of(lane.queue_pair.source) {
            let flow = tcp(source.address, lane.port, *lane.to.ip(), lane.to.port());
            self.predictor.path(source, &flow, &mut links)?;
        }
        Ok(links)
    }

    /// Paths of all connections as the fabric hashes them now, by job, source, target and lane.
    pub(super) fn paths(&mut self) -> Result<Vec<LanePath>, LabError> {
        let mut all = Vec::new();
        for row in 0..self.lanes.len() {
            let Some(lane) = self.lanes[row].clone() else { continue };
            let links = self.path_now(&lane)?;
            let QueuePair { job, source, target, .. } = lane.queue_pair;
            all.push(LanePath { job, source, target, lane: lane.lane, port: lane.port, links });
        }
        Ok(all)
    }
}

/// The path of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanePath {
    /// Job.
    pub job: u32,
    /// NIC that sends.
    pub source: DeviceId,
    /// NIC that receives.
    pub target: DeviceId,
    /// Its number among those between the two.
    pub lane: u32,
    /// Source port.
    pub port: u16,
    /// Links from NIC to NIC.
    pub links: Vec<LinkId>,
}
