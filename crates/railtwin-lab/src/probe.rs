//! Source ports and the paths that they take: predicted, and seen.
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, bind, connect, setsockopt, socket, sockopt,
};
use railtwin_fabric::LinkId;

use crate::host::{LabError, LabRefusal};
use crate::netlink::{LabFlow, tcp};
use crate::netns::within;
use crate::plant::{Plant, PlantNic};
use crate::predict::Predictor;
use crate::sniff::{Sniffer, key};

/// First of the ports that are probed: the first of RoCE v2 (RFC 6335's dynamic ports).
pub const FIRST_PORT: u16 = 49_152;
/// Port that answers probes.
pub(crate) const PROBE_PORT: u16 = 9_999;

/// Ports that are probed together.
const PART: usize = 1_024;
/// Time for a connection to come up. Its first packet tells the path, whether it does or not.
const LIMIT: Duration = Duration::from_millis(50);

/// Packets of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// A connection that is opened and closed.
    Tcp,
    /// A packet of a connected socket.
    Udp,
}

/// One source port: where it was predicted to go, and where its packets went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortPath {
    /// Source port.
    pub port: u16,
    /// Predicted links; empty where no way leads there.
    pub predicted: Vec<LinkId>,
    /// Links of the packets that were seen.
    pub seen: Vec<LinkId>,
}

impl PortPath {
    /// Whether the packets took exactly the predicted links.
    pub fn is_right(&self) -> bool {
        let sorted = |links: &[LinkId]| {
            let mut links = links.to_vec();
            links.sort_unstable();
            links
        };
        !self.predicted.is_empty() && sorted(&self.predicted) == sorted(&self.seen)
    }
}

/// The NICs between which a probe goes: those with the names, such as `host-0` or `host-0/nic-1`; by default the first
/// and the last.
///
/// # Errors
/// [`LabRefusal`] for an unknown name, and one NIC at both ends.
pub fn ends<'p>(
    plant: &'p Plant,
    from: Option<&str>,
    to: Option<&str>,
) -> Result<[&'p PlantNic; 2], LabRefusal> {
    let named = |name: &str| {
        let is_it = |nic: &&PlantNic| nic.node == name || plant.fabric.device_name(nic.nic) == name;
        plant.nics.iter().find(is_it).ok_or_else(|| {
            let some: Vec<&str> = plant.nics.iter().take(4).map(|nic| nic.node.as_str()).collect();
            LabRefusal::new(format!("there is no host {name:?}"), format!("hosts are {} …", some.join(", ")))
        })
    };
    let nothing = || LabRefusal::new("the fabric has no NIC", "write a fabric with hosts");
    let first = from.map_or_else(|| plant.nics.first().ok_or_else(nothing), named)?;
    let last = to.map_or_else(|| plant.nics.last().ok_or_else(nothing), named)?;
    match first.nic == last.nic {
        true => Err(LabRefusal::new(format!("{} is at both ends", first.node), "name two hosts")),
        false => Ok([first, last]),
    }
}

/// Predicts the paths of so many source ports, sends packets by them, and looks where they went.
///
/// # Errors
/// A socket is refused.
pub fn probe(
    plant: &Plant,
    [from, to]: [&PlantNic; 2],
    carrier: Carrier,
    ports: u16,
) -> Result<Vec<PortPath>, LabError> {
    let mut predictor = Predictor::new(plant)?;
    let protocol = if carrier == Carrier::Tcp { 6 } else { 17 };
    let flow = |port: u16| LabFlow { protocol, ..tcp(from.address, port, to.address, PROBE_PORT) };
    let mut all = Vec::new();
    for port in (0..ports).map(|step| FIRST_PORT + step) {
        let mut predicted = Vec::new();
        if !predictor.path(from, &flow(port), &mut predicted)? {
            predicted.clear();
        }
        all.push(PortPath { port, predicted, seen: Vec::new() });
    }
    let mut sniffer = Sniffer::new(plant)?;
    let mut seen: BTreeMap<_, _> = BTreeMap::new();
    // In parts, so that what is seen fits the buffers of the sockets.
    for part in all.chunks(PART) {
        send(from, to, carrier, part)?;
        std::thread::sleep(Duration::from_millis(50));
        seen.extend(sniffer.take());
    }
    for one in &mut all {
        let links = seen.get(&key(&flow(one.port))).cloned().unwrap_or_default();
        one.seen = in_order(plant, links);
    }
    Ok(all)
}

/// Links in the order in which a packet takes them: each begins where the one before it ends.
fn in_order(plant: &Plant, mut links: Vec<LinkId>) -> Vec<LinkId> {
    for at in 0..links.len() {
        let follows = |&link: &LinkId| match at {
            0 => plant.fabric.place(plant.fabric.source(link)).is_none(),
            _ => plant.fabric.source(link) == plant.fabric.target(links[at - 1]),
        };
        if let Some(found) = links[at..].iter().position(follows) {
            links.swap(at, at + found);
        }
    }
    links
}

fn send(from: &PlantNic, to: &PlantNic, carrier: Carrier, all: &[PortPath]) -> Result<(), LabError> {
    let target = SocketAddrV4::new(to.address, PROBE_PORT);
    let failed = |what: &str, error: &dyn std::fmt::Display| LabError(format!("{what}: {error}"));
    let listener =
        within(&to.node, || TcpListener::bind(target).map_err(|error| failed("probe listener", &error)))?;
    let sink = within(&to.node, || UdpSocket::bind(target).map_err(|error| failed("probe socket", &error)))?;
    listener.set_nonblocking(true).map_err(|error| failed("probe listener", &error))?;
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Connections that nobody takes fill the listener's queue, and the next ones wait.
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                if listener.accept().is_err() {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        });
        let sent =
            within(&from.node, || all.iter().try_for_each(|one| send_one(from, one.port, target, carrier)));
        is_done.store(true, Ordering::Relaxed);
        sent
    })?;
    drop(sink);
    Ok(())
}

fn send_one(from: &PlantNic, port: u16, target: SocketAddrV4, carrier: Carrier) -> Result<(), LabError> {
    let own = SocketAddrV4::new(from.address, port);
    match carrier {
        // The first packet shows the path, also where the connection does not come up.
        Carrier::Tcp => drop(opened(own, target, LIMIT)),
        Carrier::Udp => {
            let send = || {
                let socket = UdpSocket::bind(own)?;
                socket.connect(SocketAddr::V4(target))?;
                socket.send(b"probe").map(drop)
            };
            send().or_else(unreachable_is_well).map_err(|error| LabError(format!("probe: {error}")))?;
        }
    }
    Ok(())
}

fn unreachable_is_well(error: io::Error) -> io::Result<()> {
    match error.kind() {
        ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable | ErrorKind::ConnectionRefused => Ok(()),
        _ => Err(error),
    }
}

/// Opens a TCP connection from a port; its end by a reset leaves the port free at once.
///
/// # Errors
/// It is refused, or does not come up within `limit`.
pub(crate) fn opened(own: SocketAddrV4, to: SocketAddrV4, limit: Duration) -> io::Result<TcpStream> {
    let fd = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(&fd, sockopt::ReuseAddr, &true)?;
    let end = nix::libc::linger { l_onoff: 1, l_linger: 0 };
    setsockopt(&fd, sockopt::Linger, &end)?;
    let micros = i64::try_from(limit.as_micros()).unwrap_or(i64::MAX);
    let wait = nix::sys::time::TimeVal::new(micros / 1_000_000, micros % 1_000_000);
    setsockopt(&fd, sockopt::SendTimeout, &wait)?;
    bind(fd.as_raw_fd(), &SockaddrIn::from(own))?;
    let begin = Instant::now();
    match connect(fd.as_raw_fd(), &SockaddrIn::from(to)) {
        Ok(()) => Ok(TcpStream::from(fd)),
        Err(nix::errno::Errno::EINPROGRESS) => {
            Err(io::Error::new(ErrorKind::TimedOut, format!("no answer within {:?}", begin.elapsed())))
        }
        Err(errno) => Err(errno.into()),
    }
}
