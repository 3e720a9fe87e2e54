//! Connections that registered, with the path that each is to take and the port that takes it.
use std::net::SocketAddrV4;

use railtwin_engine::own::QueuePair;
use railtwin_fabric::{DeviceId, LinkId};
use railtwin_units::{SimTime, stream};

use super::choices::PathChoices;
use super::ports::Ports;
use super::setting::MasterSetting;
use crate::host::{LabError, now_ns};
use crate::netlink::tcp;
use crate::plant::{Plant, PlantNic};
use crate::predict::Predictor;

/// Time from a search that found no port to the next, ns.
const RETRY_NS: u64 = 1_000_000_000;

/// A connection on the real fabric.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub lane: u32,
    to: SocketAddrV4,
    pub port: u16,
    /// Port that a move was asked for to, until it is told to be done.
    pub moving: Option<u16>,
    /// When a port is searched again, ns, after none was found.
    retry_ns: u64,
}

/// A port that a connection is to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub row: usize,
    pub port: u16,
}

/// All connections under one controller, by row of its choices.
#[derive(Debug)]
pub(super) struct Lanes<'p> {
    plant: &'p Plant,
    draw: u64,
    pub choices: PathChoices<'p>,
    predictor: Predictor<'p>,
    ports: Ports,
    pub lanes: Vec<Lane>,
}

impl<'p> Lanes<'p> {
    pub(super) fn new(plant: &'p Plant, setting: &MasterSetting) -> Result<Self, LabError> {
        Ok(Self {
            plant,
            draw: setting.draw,
            choices: PathChoices::new(&plant.fabric, setting.balancer, setting.ecmp, setting.draw),
            predictor: Predictor::new(plant)?,
            ports: Ports::default(),
            lanes: Vec::new(),
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
        let ports = source.interfaces.len() as u32;
        let rows = self.choices.open(now, job, (source.nic, ports, target.nic), count);
        self.lanes.extend((0..count).map(|lane| Lane { lane, to, port: 0, moving: None, retry_ns: 0 }));
        for row in rows.clone() {
            self.lanes[row].port = self.port_of(row)?.ok_or_else(|| {
                let text = "no source port leads along the chosen path";
                LabError(format!("{} to {to}: {text}", source.node))
            })?;
        }
        Ok(rows)
    }

    /// A port for a connection on its path; for one without a path any that leaves by its own port of the NIC.
    fn port_of(&mut self, row: usize) -> Result<Option<u16>, LabError> {
        let Some(queue_pair) = self.choices.queue_pair(row) else { return Ok(None) };
        let Some(source) = self.plant.nic_of(queue_pair.source) else { return Ok(None) };
        let wanted = self.choices.path(row);
        let own = self.plant.fabric.access_link(queue_pair.source, queue_pair.port);
        let is_wanted = |links: &[LinkId]| match &wanted {
            Some(wanted) => links == wanted.as_slice(),
            None => links.first().copied() == own,
        };
        // By what is asked for and not by who asked first, so that the same draw gives the same ports.
        let job = u64::from(queue_pair.job) << 32 | u64::from(queue_pair.target.0);
        let draw = stream::mix(self.draw ^ stream::mix(job));
        self.ports.find(&mut self.predictor, source, (6, self.lanes[row].to), draw, is_wanted)
    }

    /// Connections that are not on the path that was chosen for them, be it that another was chosen or that the fabric
    /// hashes otherwise than before, and a port for each that would lead there. One for which there is no such port now,
    /// as routes are still on their way, is asked for again the next time.
    pub(super) fn astray(&mut self) -> Result<Vec<Move>, LabError> {
        let mut moves = Vec::new();
        for row in 0..self.choices.rows() {
            let Some(wanted) = self.choices.path(row) else { continue };
            let Lane { port, moving, retry_ns, .. } = self.lanes[row];
            // A move that is not told to be done is asked for anew where it would no longer lead there.
            if now_ns() < retry_ns || self.path_by(row, moving.unwrap_or(port))? == wanted {
                continue;
            }
            match self.port_of(row)? {
                Some(port) => {
                    self.lanes[row].moving = Some(port);
                    moves.push(Move { row, port });
                }
                // A search asks the kernels thousands of times; others wait for it.
                None => self.lanes[row].retry_ns = now_ns() + RETRY_NS,
            }
        }
        Ok(moves)
    }

    fn path_by(&mut self, row: usize, port: u16) -> Result<Vec<LinkId>, LabError> {
        let mut links = Vec::new();
        let source = self.choices.queue_pair(row).and_then(|queue_pair| self.plant.nic_of(queue_pair.source));
        if let Some(source) = source {
            let to = self.lanes[row].to;
            self.predictor.path(source, &tcp(source.address, port, *to.ip(), to.port()), &mut links)?;
        }
        Ok(links)
    }

    /// Paths of all connections as the fabric hashes them now, by job, source, target and lane.
    pub(super) fn paths(&mut self) -> Result<Vec<LanePath>, LabError> {
        let mut all = Vec::new();
        for row in 0..self.choices.rows() {
            let Some(QueuePair { job, source, target, .. }) = self.choices.queue_pair(row) else { continue };
            let Lane { lane, port, .. } = self.lanes[row];
            let links = self.path_by(row, port)?;
            all.push(LanePath { row, job, source, target, lane, port, links });
        }
        Ok(all)
    }
}

/// The path of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanePath {
    /// Its row among all that registered.
    pub row: usize,
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
