//! The sockets of a measurement, who sends by them and who listens.
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::host::{LabError, command, now_ns};
use crate::netlink::{LabFlow, tcp};
use crate::netns::within;
use crate::plant::PlantNic;
use crate::probe::{Carrier, opened};

/// Port that listens.
const PORT: u16 = 9_998;
/// Source ports of UDP, and of TCP.
const FIRST: [u16; 2] = [52_000, 53_000];
/// Time from one packet of a flow to the next, ns.
const TICK_NS: u64 = 1_000_000;
/// Bytes of a packet: number of the flow and of the packet.
const MESSAGE: usize = 16;

/// A flow of the measurement.
#[derive(Clone, Copy, Debug)]
pub(super) struct GapFlow {
    pub flow: LabFlow,
    pub carrier: Carrier,
    /// Whether it goes from the second NIC to the first.
    pub is_back: bool,
}

/// The flow of UDP with a number.
pub(super) fn udp(from: Ipv4Addr, to: Ipv4Addr, step: u16) -> LabFlow {
    LabFlow { protocol: 17, from: SocketAddrV4::new(from, FIRST[0] + step), to: SocketAddrV4::new(to, PORT) }
}

/// The connection with a number.
pub(super) fn tcp_flow(from: Ipv4Addr, to: Ipv4Addr, step: u16) -> LabFlow {
    tcp(from, FIRST[1] + step, to, PORT)
}

#[derive(Debug)]
pub(super) enum Sender {
    Udp(UdpSocket),
    Tcp(TcpStream),
}

/// Sockets that listen: one of UDP for each way, one of TCP for each connection with its flow.
#[derive(Debug)]
pub(super) struct Receivers {
    udp: Vec<UdpSocket>,
    tcp: Vec<(usize, TcpStream)>,
    flows: usize,
}

/// All flows with their sockets.
#[derive(Debug)]
pub(super) struct Flows {
    flows: Vec<GapFlow>,
    senders: Vec<Sender>,
    receivers: Receivers,
}

impl Flows {
    /// Opens so many flows of UDP and TCP each way.
    pub(super) fn open(ends: [&PlantNic; 2], udp_flows: u16, tcp_flows: u16) -> Result<Self, LabError> {
        let receivers = Receivers { udp: Vec::new(), tcp: Vec::new(), flows: 0 };
        let mut all = Self { flows: Vec::new(), senders: Vec::new(), receivers };
        for (is_back, [from, to]) in [(false, ends), (true, [ends[1], ends[0]])] {
            let target = SocketAddrV4::new(to.address, PORT);
            let failed =
                |what: &str, error: std::io::Error| LabError(format!("{}: {what}: {error}", from.node));
            let (sink, listener) = within(&to.node, || {
                let sink = UdpSocket::bind(target).map_err(|error| failed("socket of UDP", error))?;
                sink.set_nonblocking(true).map_err(|error| failed("socket of UDP", error))?;
                let listener = TcpListener::bind(target).map_err(|error| failed("listener", error))?;
                Ok((sink, listener))
            })?;
            all.receivers.udp.push(sink);
            for step in 0..udp_flows {
                let own = udp(from.address, to.address, step).from;
                let socket = within(&from.node, || {
                    let make = || {
                        let socket = UdpSocket::bind(own)?;
                        socket.set_nonblocking(true)?;
                        socket.connect(SocketAddr::V4(target)).map(|()| socket)
                    };
                    make().map_err(|error| failed("socket of UDP", error))
                })?;
                let flow = udp(from.address, to.address, step);
                all.flows.push(GapFlow { flow, carrier: Carrier::Udp, is_back });
                all.senders.push(Sender::Udp(socket));
            }
            for step in 0..tcp_flows {
                let flow = tcp_flow(from.address, to.address, step);
                let own = flow.from;
                let limit = Duration::from_secs(2);
                let here = within(&from.node, || {
                    opened(own, target, limit).map_err(|error| failed("connection", error))
                })?;
                let (there, _) = listener.accept().map_err(|error| failed("listener", error))?;
                let set = [&here, &there].into_iter().try_for_each(|stream| {
                    stream.set_nodelay(true).and_then(|()| stream.set_nonblocking(true))
                });
                set.map_err(|error| failed("connection", error))?;
                all.receivers.tcp.push((all.flows.len(), there));
                all.flows.push(GapFlow { flow, carrier: Carrier::Tcp, is_back });
                all.senders.push(Sender::Tcp(here));
            }
        }
        all.receivers.flows = all.flows.len();
        Ok(all)
    }

    pub(super) fn flows(&self) -> impl Iterator<Item = &GapFlow> {
        self.flows.iter()
    }

    /// Senders and receivers.
    pub(super) fn split(&mut self) -> (&mut Vec<Sender>, &mut Receivers) {
        (&mut self.senders, &mut self.receivers)
    }
}

/// Lets the calling thread go before all others, so that what it measures is the network. Without leave for that the
/// measurement is as noisy as the machine.
fn hurry() {
    let _ = command(&format!("chrt -f -p 50 {}", nix::unistd::gettid()));
}

/// Sends a packet of each flow every millisecond until it is told to stop; how many each sent.
pub(super) fn send(senders: &mut [Sender], is_done: &AtomicBool) -> Vec<u64> {
    hurry();
    let mut sent = vec![0; senders.len()];
    let (begin_ns, mut tick) = (now_ns(), 0_u64);
    while !is_done.load(Ordering::Relaxed) {
        for (row, sender) in senders.iter_mut().enumerate() {
            let mut message = [0; MESSAGE];
            message[..8].copy_from_slice(&(row as u64).to_le_bytes());
            message[8..].copy_from_slice(&tick.to_le_bytes());
            // What a dead way refuses counts as lost: the gap is what is measured.
            let _ = match sender {
                Sender::Udp(socket) => socket.send(&message).map(drop),
                Sender::Tcp(stream) => stream.write(&message).map(drop),
            };
            sent[row] += 1;
        }
        tick = (now_ns() - begin_ns) / TICK_NS + 1;
        let wait_ns = (begin_ns + tick * TICK_NS).saturating_sub(now_ns());
        std::thread::sleep(Duration::from_nanos(wait_ns));
    }
    sent
}

/// Arrivals of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrivals {
    pub count: u64,
    pub last_ns: u64,
    pub worst_ns: u64,
}

impl Arrivals {
    fn note(&mut self, now_ns: u64) {
        if self.count > 0 {
            self.worst_ns = self.worst_ns.max(now_ns - self.last_ns);
        }
        (self.count, self.last_ns) = (self.count + 1, now_ns);
    }
}

/// Listens until it is told to stop.
pub(super) fn receive(receivers: &mut Receivers, is_done: &AtomicBool) -> Vec<Arrivals> {
    hurry();
    let mut arrivals = vec![Arrivals { last_ns: now_ns(), ..Arrivals::default() }; receivers.flows];
    let mut bytes = [0; 4096];
    while !is_done.load(Ordering::Relaxed) {
        let sockets = receivers.udp.iter().map(AsFd::as_fd);
        let streams = receivers.tcp.iter().map(|(_, stream)| stream.as_fd());
        let mut fds: Vec<PollFd<'_>> =
            sockets.chain(streams).map(|fd: BorrowedFd<'_>| PollFd::new(fd, PollFlags::POLLIN)).collect();
        if poll(&mut fds, PollTimeout::from(50_u8)).is_err() {
            continue;
        }
        let ready: Vec<bool> = fds.iter().map(|fd| fd.any().unwrap_or(false)).collect();
        drop(fds);
        let count = receivers.udp.len();
        for socket in receivers.udp.iter().zip(&ready).filter_map(|(socket, &ready)| ready.then_some(socket))
        {
            while let Ok(length) = socket.recv(&mut bytes) {
                let row = bytes.get(..8).filter(|_| length == MESSAGE).and_then(|row| row.try_into().ok());
                let row = row.map_or(usize::MAX, |row| u64::from_le_bytes(row) as usize);
                if let Some(arrival) = arrivals.get_mut(row) {
                    arrival.note(now_ns());
                }
            }
        }
        for ((row, stream), _) in receivers.tcp.iter_mut().zip(&ready[count..]).filter(|(_, ready)| **ready) {
            loop {
                match stream.read(&mut bytes) {
                    Ok(0) => break,
                    Ok(_) => arrivals[*row].note(now_ns()),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
        }
    }
    arrivals
}
