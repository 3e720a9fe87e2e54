//! TCP_INFO of another process's connections, by `sock_diag` of the network namespace: it needs no privilege, and holds no
//! connection open, which a descriptor of it would do after its rank was killed.
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};

use crate::events::ConnectionName;
use crate::json::Lines;

/// Length of a request: header, then `inet_diag_req_v2`.
const REQUEST: usize = 72;
/// Message type `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
/// Attribute with `struct tcp_info`.
const INFO: u16 = 2;
/// Where attributes begin behind the message header: `inet_diag_msg`.
const MESSAGE: usize = 72;
/// Least length of `struct tcp_info` up to the fields that are read (Linux 4.19).
const INFO_LENGTH: usize = 224;

/// Connections that are asked for at once: the answers must fit into the receive buffer of the socket.
const ASKED: usize = 64;

/// TCP_INFO of one connection; fields as the record schema has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpReading {
    state: u64,
    unacked: u64,
    backoff: u64,
    retransmits: u64,
    retransmits_all: u64,
    rtt: u64,
    least_rtt: u64,
    window: u64,
    delivery_rate: u64,
    last_sent: u64,
    pub(crate) last_received: u64,
    last_ack: u64,
    pub(crate) busy: u64,
    pub(crate) receiver_limited: u64,
    buffer_limited: u64,
    acked: u64,
    received: u64,
    not_sent: u64,
    queue: u64,
    lost: u64,
    dsacks: u64,
    reordered: u64,
    bytes_resent: u64,
}

impl TcpReading {
    /// Adds another lane of the same group: packets, bytes, rates and times in work are summed; of round trips, states and
    /// timers the worst counts, of times since something happened the latest.
    pub(crate) fn add_lane(&mut self, lane: &Self) {
        self.state = self.state.max(lane.state);
        self.backoff = self.backoff.max(lane.backoff);
        self.rtt = self.rtt.max(lane.rtt);
        self.least_rtt = self.least_rtt.min(lane.least_rtt);
        self.last_sent = self.last_sent.min(lane.last_sent);
        self.last_received = self.last_received.min(lane.last_received);
        self.last_ack = self.last_ack.min(lane.last_ack);
        self.unacked += lane.unacked;
        self.retransmits += lane.retransmits;
        self.window += lane.window;
        self.delivery_rate += lane.delivery_rate;
        self.not_sent += lane.not_sent;
        self.queue += lane.queue;
        self.lost += lane.lost;
        self.add_counters(lane);
    }

    /// Adds what only grows while a connection lasts.
    pub(crate) const fn add_counters(&mut self, of: &Self) {
        self.retransmits_all += of.retransmits_all;
        self.busy += of.busy;
        self.receiver_limited += of.receiver_limited;
        self.buffer_limited += of.buffer_limited;
        self.acked += of.acked;
        self.received += of.received;
        self.dsacks += of.dsacks;
        self.reordered += of.reordered;
        self.bytes_resent += of.bytes_resent;
    }

    /// Makes sums of times in work their means over lanes, so that they remain times.
    pub(crate) const fn average_times(&mut self, lanes: u64) {
        if lanes > 1 {
            self.busy /= lanes;
            self.receiver_limited /= lanes;
            self.buffer_limited /= lanes;
        }
    }

    /// Writes its fields into an object that is open.
    pub(crate) fn write(&self, peer: u32, lines: &mut Lines) {
        let fields = [
            ("peer", u64::from(peer)),
            ("st", self.state),
            ("una", self.unacked),
            ("bko", self.backoff),
            ("rtr", self.retransmits),
            ("rtx", self.retransmits_all),
            ("rtt", self.rtt),
            ("mrtt", self.least_rtt),
            ("cw", self.window),
            ("dr", self.delivery_rate),
            ("lds", self.last_sent),
            ("ldr", self.last_received),
            ("lar", self.last_ack),
            ("busy", self.busy),
            ("rwl", self.receiver_limited),
            ("sbl", self.buffer_limited),
            ("ba", self.acked),
            ("br", self.received),
            ("ns", self.not_sent),
            ("q", self.queue),
            ("lost", self.lost),
            ("dsk", self.dsacks),
            ("reo", self.reordered),
            ("brt", self.bytes_resent),
        ];
        for (key, value) in fields {
            lines.number(key, value);
        }
    }
}

/// A socket that asks for connections.
#[derive(Debug)]
pub(crate) struct TcpTable {
    socket: OwnedFd,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl TcpTable {
    /// # Errors
    /// The kernel has no `sock_diag`.
    pub(crate) fn open() -> nix::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket =
            socket(AddressFamily::Netlink, SockType::Datagram, flags, SockProtocol::NetlinkSockDiag)?;
        Ok(Self { socket, request: Vec::new(), answer: vec![0; 4096] })
    }

    /// Reads all connections; none of those that are gone.
    pub(crate) fn read(&mut self, names: &[ConnectionName], into: &mut Vec<Option<TcpReading>>) {
        into.clear();
        into.resize(names.len(), None);
        for (turn, names) in names.chunks(ASKED).enumerate() {
            self.request.clear();
            let number = |at: usize| (turn * ASKED + at) as u32;
            names.iter().enumerate().for_each(|(at, name)| request(&mut self.request, number(at), name));
            let kernel = NetlinkAddr::new(0, 0);
            if sendto(self.socket.as_raw_fd(), &self.request, &kernel, MsgFlags::empty()).is_err() {
                return;
            }
            // The kernel has answered before `sendto` returned.
            while let Ok(length) = recv(self.socket.as_raw_fd(), &mut self.answer, MsgFlags::MSG_DONTWAIT) {
                if let Some((at, reading)) = parse(&self.answer[..length])
                    && let Some(slot) = into.get_mut(at as usize)
                {
                    *slot = Some(reading);
                }
            }
        }
    }
}

fn request(into: &mut Vec<u8>, number: u32, name: &ConnectionName) {
    into.extend_from_slice(&(REQUEST as u32).to_ne_bytes());
    into.extend_from_slice(&BY_FAMILY.to_ne_bytes());
    into.extend_from_slice(&1_u16.to_ne_bytes());
    into.extend_from_slice(&number.to_ne_bytes());
    into.extend_from_slice(&0_u32.to_ne_bytes());
    // AF_INET, TCP, with INFO, padding; states: all.
    into.extend_from_slice(&[2, 6, 1 << (INFO - 1), 0]);
    into.extend_from_slice(&u32::MAX.to_ne_bytes());
    into.extend_from_slice(&name.local.1.to_be_bytes());
    into.extend_from_slice(&name.remote.1.to_be_bytes());
    for address in [name.local.0, name.remote.0] {
        into.extend_from_slice(&address.to_be_bytes());
        into.extend_from_slice(&[0; 12]);
    }
    into.extend_from_slice(&0_u32.to_ne_bytes());
    // No cookie: any connection of these ends.
    into.extend_from_slice(&[0xFF; 8]);
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    number(bytes, at).map(u16::from_ne_bytes)
}

fn int(bytes: &[u8], at: usize) -> Option<u64> {
    number(bytes, at).map(|bytes| u64::from(u32::from_ne_bytes(bytes)))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    number(bytes, at).map(u64::from_ne_bytes)
}

/// The number of the request that a message answers, with the reading.
fn parse(message: &[u8]) -> Option<(u32, TcpReading)> {
    if short(message, 4)? != BY_FAMILY {
        return None;
    }
    let at = int(message, 8)? as u32;
    let queue = int(message, 16 + 60)?;
    let mut rest = message.get(16 + MESSAGE..)?;
    loop {
        let (length, kind) = (usize::from(short(rest, 0)?), short(rest, 2)?);
        if kind == INFO {
            return Some((at, reading(rest.get(4..length)?, queue)?));
        }
        rest = rest.get(length.max(4).next_multiple_of(4)..)?;
    }
}

/// Fields of `struct tcp_info` by their offsets in `linux/tcp.h`.
fn reading(info: &[u8], queue: u64) -> Option<TcpReading> {
    if info.len() < INFO_LENGTH {
        return None;
    }
    let byte = |at: usize| info.get(at).map(|byte| u64::from(*byte));
    Some(TcpReading {
        state: byte(0)?,
        retransmits: byte(2)?,
        backoff: byte(4)?,
        unacked: int(info, 24)?,
        lost: int(info, 32)?,
        last_sent: int(info, 44)?,
        last_received: int(info, 52)?,
        last_ack: int(info, 56)?,
        rtt: int(info, 68)?,
        window: int(info, 80)?,
        retransmits_all: int(info, 100)?,
        acked: long(info, 120)?,
        received: long(info, 128)?,
        not_sent: int(info, 144)?,
        least_rtt: int(info, 148)?,
        delivery_rate: long(info, 160)?,
        busy: long(info, 168)?,
        receiver_limited: long(info, 176)?,
        buffer_limited: long(info, 184)?,
        bytes_resent: long(info, 208)?,
        dsacks: int(info, 216)?,
        reordered: int(info, 220)?,
        queue,
    })
}

#[cfg(test)]
impl TcpReading {
    pub(crate) fn sample(scale: u64) -> Self {
        Self { acked: 100 * scale, busy: 10 * scale, ..Self::default() }
    }

    pub(crate) const fn acked(&self) -> u64 {
        self.acked
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_is_read_and_one_that_is_gone_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
        let mut here = TcpStream::connect(listener.local_addr().expect("it is bound")).expect("it listens");
        let (mut there, _) = listener.accept().expect("it connects");
        here.write_all(&[7; 1000]).expect("it takes bytes");
        there.read_exact(&mut [0; 1000]).expect("they arrive");
        there.write_all(&[7; 10]).expect("it takes bytes");
        here.read_exact(&mut [0; 10]).expect("they arrive");
        let end = |address: SocketAddr| match address {
            SocketAddr::V4(address) => (u32::from(*address.ip()), address.port()),
            SocketAddr::V6(_) => panic!("an IPv4 socket"),
        };
        let (local, remote) = (end(here.local_addr().expect("open")), end(here.peer_addr().expect("open")));
        let name =
            ConnectionName { local, remote, peer: 1, sends: true, receives: true, algorithm: 0, lane: 0 };
        let gone = ConnectionName { remote: (remote.0, 1), ..name };
        let mut table = TcpTable::open().expect("the kernel has sock_diag");
        let mut readings = Vec::new();
        table.read(&[gone, name], &mut readings);
        assert_eq!(readings[0], None);
        let reading = readings[1].expect("the connection is there");
        assert_eq!((reading.state, reading.acked, reading.received), (1, 1000 + 1, 10), "{reading:?}");
    }
}
