//! UDP from the host to the remote end, which notes by which leaf each datagram came and may answer it.
use std::collections::{BTreeMap, BTreeSet};
use std::io::IoSliceMut;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::net::if_::if_nametoindex;
use nix::sys::socket::sockopt::{Ipv4PacketInfo, RcvBufForce};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrIn, recvmsg, setsockopt};

use super::host_thread::HostThread;
use super::packet::send_without_checksums;
use super::scene::{REMOTE, within};
use crate::host::LabError;

/// Port of the remote end.
pub(super) const ECHO: u16 = 7_000;
/// First source port of the host.
pub(super) const FIRST: u16 = 40_000;
/// Bytes that a socket may hold before it loses datagrams.
const ROOM: usize = 8 << 20;
/// Time in which the last datagrams arrive.
const LAST: Duration = Duration::from_millis(300);

/// A datagram that arrived: source port, number, leaf.
pub(super) type Arrival = (u16, u32, usize);

/// The remote end. Dropping it closes it.
#[derive(Debug)]
pub(super) struct Far {
    arrivals: Arc<Mutex<Vec<Arrival>>>,
    answers: Arc<AtomicBool>,
    _thread: HostThread,
}

impl Far {
    /// Opens it.
    ///
    /// # Errors
    /// There is no such namespace, or its address is missing.
    pub(super) fn start() -> Result<Self, LabError> {
        let (socket, leaves) = within("remote", || {
            let failed = |errno: nix::errno::Errno| LabError(format!("the remote end: {errno}"));
            let leaves = [if_nametoindex("r0").map_err(failed)?, if_nametoindex("r1").map_err(failed)?];
            let socket = bound(REMOTE, ECHO)?;
            setsockopt(&socket, Ipv4PacketInfo, &true).map_err(failed)?;
            send_without_checksums(&socket).map_err(failed)?;
            Ok((socket, leaves))
        })?;
        let wait = socket.set_read_timeout(Some(Duration::from_millis(50)));
        wait.map_err(|error| LabError(format!("the remote end: {error}")))?;
        let arrivals = Arc::new(Mutex::new(Vec::new()));
        let answers = Arc::new(AtomicBool::new(true));
        let (into, answering) = (Arc::clone(&arrivals), Arc::clone(&answers));
        let thread = HostThread::start(move |is_stopped| {
            while !is_stopped() {
                let Some((from, number, index)) = next_datagram(&socket) else { continue };
                if let Some(leaf) = leaves.iter().position(|&leaf| leaf == index) {
                    into.lock().unwrap_or_else(PoisonError::into_inner).push((from.port(), number, leaf));
                }
                if answering.load(Ordering::Relaxed) {
                    // One that is lost is lost.
                    let _ = socket.send_to(&number.to_be_bytes(), from);
                }
            }
        });
        Ok(Self { arrivals, answers, _thread: thread })
    }

    fn take(&self) -> Vec<Arrival> {
        std::mem::take(&mut *self.arrivals.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sends `rounds` datagrams from each of `ports` sources, 40 ms apart, and waits for answers: what arrived, and which
    /// sources had an answer.
    ///
    /// # Errors
    /// The host has no address.
    pub(super) fn ask(
        &self,
        host: Ipv4Addr,
        ports: &[u16],
        rounds: u32,
    ) -> Result<(Vec<Arrival>, BTreeSet<u16>), LabError> {
        self.answers.store(true, Ordering::Relaxed);
        self.take();
        let sockets = sources(host, ports)?;
        let mut answered = BTreeSet::new();
        let mut buffer = [0; 64];
        for round in 0..rounds {
            send_all(&sockets, round);
            std::thread::sleep(if round + 1 == rounds { LAST } else { Duration::from_millis(40) });
            for (socket, &port) in sockets.iter().zip(ports) {
                while socket.recv(&mut buffer).is_ok() {
                    answered.insert(port);
                }
            }
        }
        Ok((self.take(), answered))
    }

    /// Sends a datagram from each source each millisecond, for `ms` of them, without answers. `meanwhile` runs beside it.
    /// Returns the numbers that arrived of each source.
    ///
    /// # Errors
    /// The host has no address; else as `meanwhile`.
    pub(super) fn stream<T>(
        &self,
        host: Ipv4Addr,
        ports: &[u16],
        ms: u32,
        meanwhile: impl FnOnce() -> Result<T, LabError>,
    ) -> Result<(BTreeMap<u16, BTreeSet<u32>>, T), LabError> {
        self.answers.store(false, Ordering::Relaxed);
        self.take();
        let sockets = sources(host, ports)?;
        let done = std::thread::scope(|scope| {
            let sender = scope.spawn(move || {
                let started = Instant::now();
                for number in 0..ms {
                    let due = Duration::from_millis(number.into());
                    std::thread::sleep(due.saturating_sub(started.elapsed()));
                    send_all(&sockets, number);
                }
            });
            let done = meanwhile();
            // It panics nowhere.
            let _ = sender.join();
            done
        })?;
        std::thread::sleep(LAST);
        let mut heard: BTreeMap<u16, BTreeSet<u32>> =
            ports.iter().map(|&port| (port, BTreeSet::new())).collect();
        for (port, number, _) in self.take() {
            heard.entry(port).or_default().insert(number);
        }
        Ok((heard, done))
    }
}

/// The leaf of each source by its last datagram.
pub(super) fn leaf_of_each(arrivals: &[Arrival]) -> BTreeMap<u16, usize> {
    arrivals.iter().map(|&(port, _, leaf)| (port, leaf)).collect()
}

/// The longest row of numbers below `count` of which none was heard.
pub(super) fn longest_gap(count: u32, heard: &BTreeSet<u32>) -> u32 {
    let mut longest = 0;
    let mut next = 0;
    for &number in heard.range(..count).chain([&count]) {
        longest = longest.max(number - next);
        next = number + 1;
    }
    longest
}

fn sources(host: Ipv4Addr, ports: &[u16]) -> Result<Vec<UdpSocket>, LabError> {
    within("host", || {
        let open = |&port: &u16| {
            let socket = bound(host, port)?;
            let done = socket.set_nonblocking(true);
            done.map(|()| socket).map_err(|error| LabError(format!("port {port} of the host: {error}")))
        };
        ports.iter().map(open).collect()
    })
}

fn bound(address: Ipv4Addr, port: u16) -> Result<UdpSocket, LabError> {
    let socket = UdpSocket::bind(SocketAddrV4::new(address, port));
    let socket = socket.map_err(|error| LabError(format!("UDP at {address}:{port}: {error}")))?;
    // With less room it works, too.
    let _ = setsockopt(&socket, RcvBufForce, &ROOM);
    Ok(socket)
}

fn send_all(sockets: &[UdpSocket], number: u32) {
    for socket in sockets {
        // One that is lost is what is measured.
        let _ = socket.send_to(&number.to_be_bytes(), SocketAddrV4::new(REMOTE, ECHO));
    }
}

/// The next datagram, within 50 ms: its source, its number, the interface that it came by.
fn next_datagram(socket: &UdpSocket) -> Option<(SocketAddrV4, u32, u32)> {
    let mut buffer = [0; 64];
    let mut parts = [IoSliceMut::new(&mut buffer)];
    let mut control = nix::cmsg_space!(nix::libc::in_pktinfo);
    let got = recvmsg::<SockaddrIn>(socket.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::empty());
    let got = got.ok()?;
    let index = got.cmsgs().ok()?.find_map(|one| match one {
        ControlMessageOwned::Ipv4PacketInfo(info) => u32::try_from(info.ipi_ifindex).ok(),
        _ => None,
    })?;
    let from = got.address?;
    let bytes = got.iovs().next()?.get(..4)?;
    let number = u32::from_be_bytes(bytes.try_into().ok()?);
    Some((SocketAddrV4::new(from.ip(), from.port()), number, index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_the_longest_row_of_what_was_not_heard() {
        let gap = |heard: &[u32]| longest_gap(10, &heard.iter().copied().collect());
        assert_eq!(gap(&[]), 10);
        assert_eq!(gap(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), 0);
        assert_eq!(gap(&[0, 4, 5, 9]), 3);
        assert_eq!(gap(&[3, 4, 5]), 4);
        // What is beyond the end does not count.
        assert_eq!(gap(&[0, 1, 2, 12]), 7);
    }

    #[test]
    fn a_source_is_at_the_leaf_of_its_last_datagram() {
        let all = [(40_000, 0, 1), (40_001, 0, 0), (40_000, 1, 0)];
        assert_eq!(leaf_of_each(&all), BTreeMap::from([(40_000, 0), (40_001, 0)]));
    }
}
