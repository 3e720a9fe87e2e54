//! Probes by real packets: sent from hosts by chosen ports, told by the host that they reach.
//!
//! The answer goes over the management network and not back over the fabric: a probe tells of its way there alone. Here
//! both ends are sockets of one process.
use std::collections::BTreeMap;
use std::net::{SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, setsockopt, socket, sockopt};
use railtwin_control::controller::Answer;
use railtwin_fabric::{DeviceId, LinkId};
use railtwin_units::SimTime;

use super::ports::Ports;
use crate::host::{LabError, now_ns};
use crate::netlink::LabFlow;
use crate::netns::within;
use crate::plant::{Plant, PlantNic};
use crate::predict::Predictor;

/// Port that listens.
const PORT: u16 = 9_997;
/// Bytes of a probe: number of the survey, row of the probe, time of sending.
const MESSAGE: usize = 24;

/// A probe that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub source: DeviceId,
    pub target: DeviceId,
    /// Links that it is to take.
    pub links: Vec<LinkId>,
    pub packets: u32,
}

/// Sockets of probes, and the port that leads along each path.
#[derive(Debug)]
pub(super) struct LabProber<'p> {
    plant: &'p Plant,
    predictor: Predictor<'p>,
    ports: Ports,
    known: BTreeMap<(DeviceId, DeviceId, Vec<LinkId>), (u16, UdpSocket)>,
    sinks: Vec<UdpSocket>,
    survey: u64,
    timeout: Duration,
}

impl<'p> LabProber<'p> {
    /// A prober that waits so long for the last packet of a survey.
    pub(super) fn new(plant: &'p Plant, timeout: Duration) -> Result<Self, LabError> {
        let sink = |nic: &PlantNic| {
            within(&nic.node, || {
                let make = || {
                    let socket = UdpSocket::bind(SocketAddrV4::new(nic.address, PORT))?;
                    socket.set_nonblocking(true).map(|()| socket)
                };
                make().map_err(|error: std::io::Error| LabError(format!("{}: probes: {error}", nic.node)))
            })
        };
        let sinks = plant.nics.iter().map(sink).collect::<Result<_, LabError>>()?;
        let (predictor, ports, known) = (Predictor::new(plant)?, Ports::default(), BTreeMap::new());
        Ok(Self { plant, predictor, ports, known, sinks, survey: 0, timeout })
    }

    /// Sends all probes of a survey, and says what became of each. One for which no port takes the path counts as lost:
    /// the real fabric has no such way.
    pub(super) fn survey(&mut self, asked: &[Asked]) -> Result<Vec<Answer>, LabError> {
        self.survey += 1;
        // Packets of surveys before this one.
        self.hear(&mut BTreeMap::new());
        let mut sent = 0;
        for (row, one) in asked.iter().enumerate() {
            if !self.prepare(one)? {
                continue;
            }
            let Some((_, socket)) = self.known.get(&key(one)) else { continue };
            for _ in 0..one.packets {
                let mut message = [0; MESSAGE];
                message[..8].copy_from_slice(&self.survey.to_le_bytes());
                message[8..16].copy_from_slice(&(row as u64).to_le_bytes());
                message[16..].copy_from_slice(&now_ns().to_le_bytes());
                // A way that refuses the packet loses it.
                sent += usize::from(socket.send(&message).is_ok());
            }
        }
        let mut heard: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        let until_ns = now_ns() + self.timeout.as_nanos() as u64;
        while heard.values().map(Vec::len).sum::<usize>() < sent && now_ns() < until_ns {
            self.wait((until_ns - now_ns()) / 1_000_000 + 1);
            self.hear(&mut heard);
        }
        let answer = |(row, one): (usize, &Asked)| {
            let mut times = heard.remove(&row).unwrap_or_default();
            times.sort_unstable();
            let mut answer = Answer::of(one.packets, one.packets.saturating_sub(times.len() as u32));
            if let (Some(&middle), Some(&last)) = (times.get(times.len() / 2), times.last()) {
                (answer.delay, answer.delay_max) = (SimTime::from_ns(middle), SimTime::from_ns(last));
            }
            answer
        };
        Ok(asked.iter().enumerate().map(answer).collect())
    }

    /// Makes sure that the port of a probe leads along its path; whether there is one.
    fn prepare(&mut self, asked: &Asked) -> Result<bool, LabError> {
        if asked.links.is_empty() {
            return Ok(false);
        }
        let plant = self.plant;
        let Some((source, target)) = plant.nic_of(asked.source).zip(plant.nic_of(asked.target)) else {
            return Ok(false);
        };
        let to = SocketAddrV4::new(target.address, PORT);
        if let Some((port, _)) = self.known.get(&key(asked)) {
            let flow = LabFlow { protocol: 17, from: SocketAddrV4::new(source.address, *port), to };
            let mut links = Vec::new();
            if self.predictor.path(source, &flow, &mut links)? && links == asked.links {
                return Ok(true);
            }
            self.known.remove(&key(asked));
        }
        let wanted = |links: &[LinkId]| links == asked.links;
        let Some(port) = self.ports.find(&mut self.predictor, source, (17, to), 0, wanted)? else {
            return Ok(false);
        };
        let own = SocketAddrV4::new(source.address, port);
        let socket = within(&source.node, || {
            sender(own, to)
                .map_err(|error| LabError(format!("{}: probe from port {port}: {error}", source.node)))
        })?;
        self.known.insert(key(asked), (port, socket));
        Ok(true)
    }

    fn wait(&self, ms: u64) {
        let mut fds: Vec<PollFd<'_>> =
            self.sinks.iter().map(|sink| PollFd::new(sink.as_fd(), PollFlags::POLLIN)).collect();
        // An interrupted wait is a short one.
        let _ = poll(&mut fds, PollTimeout::from(u16::try_from(ms).unwrap_or(u16::MAX)));
    }

    /// Takes what has come: times under way of the packets of this survey, by row, ns.
    fn hear(&self, heard: &mut BTreeMap<usize, Vec<u64>>) {
        let mut bytes = [0; MESSAGE + 1];
        for sink in &self.sinks {
            while let Ok(count) = sink.recv(&mut bytes) {
                let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
                let words = word(0).zip(word(8)).zip(word(16)).filter(|_| count == MESSAGE);
                let Some(((survey, row), sent_ns)) = words else { continue };
                if survey == self.survey {
                    heard.entry(row as usize).or_default().push(now_ns().saturating_sub(sent_ns));
                }
            }
        }
    }
}

/// A socket that sends from a port; probes to several hosts may share it.
fn sender(own: SocketAddrV4, to: SocketAddrV4) -> std::io::Result<UdpSocket> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let fd = socket(AddressFamily::Inet, SockType::Datagram, flags, None)?;
    setsockopt(&fd, sockopt::ReuseAddr, &true)?;
    bind(fd.as_raw_fd(), &SockaddrIn::from(own))?;
    let socket = UdpSocket::from(fd);
    socket.connect(SocketAddr::V4(to)).map(|()| socket)
}

fn key(asked: &Asked) -> (DeviceId, DeviceId, Vec<LinkId>) {
    (asked.source, asked.target, asked.links.clone())
}
