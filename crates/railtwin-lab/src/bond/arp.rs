//! The agent of a host on two leaves: its address to both of them (HPN section 4.2).
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use railtwin_routing::protocol::lacp::Mac;

use super::host_thread::HostThread;
use super::packet::{ARP, PacketSocket};
use super::scene::within;
use crate::host::LabError;

/// Time from one announcement to the next, as the hook of an export has it.
const PERIOD: Duration = Duration::from_secs(1);

/// A gratuitous ARP reply (RFC 5227 section 3, as `arping -A` sends it): `address` is at `mac`. A frame of 42 bytes.
pub(super) fn announcement(mac: Mac, address: Ipv4Addr) -> Vec<u8> {
    let mut frame = Vec::with_capacity(42);
    frame.extend([0xff; 6]);
    frame.extend(mac.0);
    frame.extend(ARP.to_be_bytes());
    // Ethernet and IPv4 with the lengths of their addresses; a reply.
    frame.extend([0, 1, 8, 0, 6, 4, 0, 2]);
    for _ in ["sender", "target"] {
        frame.extend(mac.0);
        frame.extend(address.octets());
    }
    frame
}

/// Announces the host's address by each port of its bond, every second until it is stopped. A bond alone sends a frame by
/// one port.
///
/// # Errors
/// There is no such namespace or interface.
pub(super) fn announce(
    namespace: &str,
    ports: &[&str],
    mac: Mac,
    address: Ipv4Addr,
) -> Result<HostThread, LabError> {
    let open = || ports.iter().map(|port| PacketSocket::open(port, ARP)).collect::<Result<Vec<_>, _>>();
    let sockets = within(namespace, open)?;
    let frame = announcement(mac, address);
    Ok(HostThread::start(move |is_stopped| {
        let mut last = None::<Instant>;
        while !is_stopped() {
            if last.is_none_or(|at| at.elapsed() >= PERIOD) {
                sockets.iter().for_each(|socket| socket.send(&frame));
                last = Some(Instant::now());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_announcement_is_a_gratuitous_reply() {
        let frame = announcement(Mac([2, 0, 0, 0, 2, 1]), Ipv4Addr::new(10, 0, 0, 2));
        let who = [2, 0, 0, 0, 2, 1, 10, 0, 0, 2];
        let expected = [
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff][..],
            &who[..6],
            &[0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 2],
            &who,
            &who,
        ];
        assert_eq!(frame, expected.concat());
    }
}
