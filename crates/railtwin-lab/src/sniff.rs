//! Which way packets went: sockets that see all IPv4 packets which leave the interfaces of every node.
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, LinkAddr, SockFlag, SockProtocol, SockType, recvfrom, setsockopt, socket, sockopt,
};
use railtwin_fabric::LinkId;

use crate::host::LabError;
use crate::netlink::{LabFlow, interfaces};
use crate::netns::within;
use crate::plant::Plant;

/// Kind of a packet that leaves (PACKET_OUTGOING of `packet(7)`).
const OUTGOING: u8 = 4;
/// Bytes of a packet that are looked at: IPv4 and TCP headers.
const SEEN: usize = 96;
/// Buffer of a socket, bytes.
const BUFFER: usize = 8 << 20;

/// Sockets in all nodes.
#[derive(Debug)]
pub(crate) struct Sniffer {
    nodes: Vec<(OwnedFd, BTreeMap<usize, LinkId>)>,
}

impl Sniffer {
    /// Begins to look in all nodes of a plant.
    ///
    /// # Errors
    /// A socket is refused.
    pub(crate) fn new(plant: &Plant) -> Result<Self, LabError> {
        let mut nodes = Vec::new();
        for node in plant.nodes() {
            let out = interfaces(node)?.into_iter();
            let out =
                out.filter_map(|(name, index)| Some((index as usize, plant.link(node, &name)?))).collect();
            let socket = within(node, || {
                // Packets that leave are shown to sockets of all protocols alone.
                let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
                let made = socket(AddressFamily::Packet, SockType::Datagram, flags, SockProtocol::EthAll);
                let made = made.map_err(|errno| LabError(format!("{node}: no packet socket: {errno}")))?;
                setsockopt(&made, sockopt::RcvBufForce, &BUFFER)
                    .map_err(|errno| LabError(format!("{node}: packet socket: {errno}")))?;
                Ok(made)
            })?;
            nodes.push((socket, out));
        }
        Ok(Self { nodes })
    }

    /// Links that the packets took which were seen since the last call, by flow, each link once.
    pub(crate) fn take(&mut self) -> BTreeMap<FlowKey, Vec<LinkId>> {
        let mut all: BTreeMap<FlowKey, Vec<LinkId>> = BTreeMap::new();
        let mut bytes = [0_u8; SEEN];
        for (socket, out) in &self.nodes {
            while let Ok((count, from)) = recvfrom::<LinkAddr>(socket.as_raw_fd(), &mut bytes) {
                let link =
                    from.filter(|from| from.pkttype() == OUTGOING).and_then(|from| out.get(&from.ifindex()));
                let (Some(&link), Some(flow)) = (link, flow_of(&bytes[..count.min(SEEN)])) else { continue };
                let links = all.entry(key(&flow)).or_default();
                if !links.contains(&link) {
                    links.push(link);
                }
            }
        }
        all
    }
}

/// A flow as a key of maps: protocol, from, to.
pub(crate) type FlowKey = (u8, SocketAddrV4, SocketAddrV4);

/// The key of a flow.
pub(crate) fn key(flow: &LabFlow) -> FlowKey {
    (flow.protocol, flow.from, flow.to)
}

/// The flow of an IPv4 packet with TCP or UDP; none where it is neither.
fn flow_of(packet: &[u8]) -> Option<LabFlow> {
    let first = *packet.first()?;
    let header = usize::from(first & 15) * 4;
    let protocol = *packet.get(9)?;
    if first >> 4 != 4 || header < 20 || !matches!(protocol, 6 | 17) {
        return None;
    }
    let address = |at: usize| Some(Ipv4Addr::from(<[u8; 4]>::try_from(packet.get(at..at + 4)?).ok()?));
    let port = |at: usize| Some(u16::from_be_bytes(packet.get(at..at + 2)?.try_into().ok()?));
    Some(LabFlow {
        protocol,
        from: SocketAddrV4::new(address(12)?, port(header)?),
        to: SocketAddrV4::new(address(16)?, port(header + 2)?),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_flow_is_read() {
        let mut packet = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 2, 10, 0, 1, 2];
        packet.extend(50_000_u16.to_be_bytes());
        packet.extend(9_000_u16.to_be_bytes());
        let flow = flow_of(&packet).expect("it is TCP");
        assert_eq!(
            (flow.from.to_string(), flow.to.to_string()),
            ("10.0.0.2:50000".into(), "10.0.1.2:9000".into())
        );
        packet[9] = 1;
        assert_eq!(flow_of(&packet), None);
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..96)) {
            let _ = flow_of(&bytes);
        }
    }
}
