//! The kernel's own answer to «by which interface»: route look-ups over rtnetlink.
//!
//! A message RTM_GETROUTE with addresses, protocol and ports makes the kernel choose a next hop as for a packet of that
//! flow, including the hash of its multipath routes (`rtnetlink(7)`; attributes of `linux/rtnetlink.h`).
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};

use crate::host::LabError;
use crate::netns::within;

const RTM_NEWROUTE: u16 = 24;
const RTM_GETROUTE: u16 = 26;
const NLM_F_REQUEST: u16 = 1;
const NLMSG_ERROR: u16 = 2;
const RTA_DST: u16 = 1;
const RTA_SRC: u16 = 2;
const RTA_IIF: u16 = 3;
const RTA_OIF: u16 = 4;
const RTA_IP_PROTO: u16 = 27;
const RTA_SPORT: u16 = 28;
const RTA_DPORT: u16 = 29;
/// Bytes of the header of a message, and of that of a route.
const HEADERS: usize = 16 + 12;

/// A flow as switches hash it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LabFlow {
    /// Protocol number: 6 for TCP, 17 for UDP.
    pub protocol: u8,
    /// Address and port that sends.
    pub from: SocketAddrV4,
    /// Address and port that receives.
    pub to: SocketAddrV4,
}

impl LabFlow {
    /// The flow of the answers.
    pub(crate) fn reversed(&self) -> Self {
        Self { from: self.to, to: self.from, ..*self }
    }
}

/// A socket that asks one namespace for routes.
#[derive(Debug)]
pub(crate) struct RouteSocket {
    socket: OwnedFd,
    node: String,
    sequence: u32,
}

impl RouteSocket {
    /// A socket of a namespace.
    ///
    /// # Errors
    /// The namespace cannot be entered.
    pub(crate) fn new(node: &str) -> Result<Self, LabError> {
        let socket = within(node, || {
            socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)
                .map_err(|errno| LabError(format!("{node}: no netlink socket: {errno}")))
        })?;
        Ok(Self { socket, node: node.to_owned(), sequence: 0 })
    }

    /// Index of the interface by which a flow leaves that this node sends, or that arrives by the interface with index
    /// `from`; none where no route leads there.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub(crate) fn interface(&mut self, flow: &LabFlow, from: Option<u32>) -> Result<Option<u32>, LabError> {
        self.sequence += 1;
        let failed = |what: &str| LabError(format!("{}: route look-up: {what}", self.node));
        let message = request(flow, from, self.sequence);
        send(self.socket.as_raw_fd(), &message, MsgFlags::empty()).map_err(|errno| failed(errno.desc()))?;
        let mut answer = [0_u8; 4096];
        loop {
            let count = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty())
                .map_err(|errno| failed(errno.desc()))?;
            match answer_of(&answer[..count], self.sequence) {
                Some(outcome) => return Ok(outcome),
                // An answer to an earlier question that was given up.
                None if count > 0 => {}
                None => return Err(failed("the kernel closed the socket")),
            }
        }
    }
}

fn request(flow: &LabFlow, from: Option<u32>, sequence: u32) -> Vec<u8> {
    let mut message = vec![0; HEADERS];
    let mut add = |kind: u16, value: &[u8]| {
        message.extend_from_slice(&(4 + value.len() as u16).to_ne_bytes());
        message.extend_from_slice(&kind.to_ne_bytes());
        message.extend_from_slice(value);
        message.resize(message.len().next_multiple_of(4), 0);
    };
    add(RTA_DST, &flow.to.ip().octets());
    add(RTA_SRC, &flow.from.ip().octets());
    add(RTA_IP_PROTO, &[flow.protocol]);
    add(RTA_SPORT, &flow.from.port().to_be_bytes());
    add(RTA_DPORT, &flow.to.port().to_be_bytes());
    if let Some(index) = from {
        add(RTA_IIF, &index.to_ne_bytes());
    }
    let length = message.len() as u32;
    message[..4].copy_from_slice(&length.to_ne_bytes());
    message[4..6].copy_from_slice(&RTM_GETROUTE.to_ne_bytes());
    message[6..8].copy_from_slice(&NLM_F_REQUEST.to_ne_bytes());
    message[8..12].copy_from_slice(&sequence.to_ne_bytes());
    // Family, and how many bits of the addresses count.
    message[16] = AddressFamily::Inet as u8;
    message[17] = 32;
    message[18] = 32;
    message
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The interface of an answer, or none where there is no route; none at all where it answers another question.
fn answer_of(bytes: &[u8], sequence: u32) -> Option<Option<u32>> {
    if number(bytes, 8)? != sequence {
        return None;
    }
    match word(bytes, 4)? {
        NLMSG_ERROR => Some(None),
        RTM_NEWROUTE => {
            let mut at = HEADERS;
            while let (Some(length), Some(kind)) = (word(bytes, at), word(bytes, at + 2)) {
                if kind == RTA_OIF {
                    return Some(number(bytes, at + 4));
                }
                at += usize::from(length.max(4)).next_multiple_of(4);
            }
            Some(None)
        }
        _ => None,
    }
}

/// Names and indices of the interfaces of a namespace.
///
/// # Errors
/// The namespace cannot be entered.
pub(crate) fn interfaces(node: &str) -> Result<Vec<(String, u32)>, LabError> {
    within(node, || {
        let failed = |errno| LabError(format!("{node}: interfaces: {errno}"));
        let all = nix::net::if_::if_nameindex().map_err(failed)?;
        let of = |one: &nix::net::if_::Interface| (one.name().to_string_lossy().into_owned(), one.index());
        Ok(all.iter().map(of).collect())
    })
}

/// A TCP flow between two addresses.
pub(crate) fn tcp(from: Ipv4Addr, from_port: u16, to: Ipv4Addr, to_port: u16) -> LabFlow {
    LabFlow { protocol: 6, from: SocketAddrV4::new(from, from_port), to: SocketAddrV4::new(to, to_port) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_request_says_its_length_and_its_flow() {
        let flow = tcp(Ipv4Addr::new(10, 0, 0, 2), 50_000, Ipv4Addr::new(10, 0, 1, 2), 9_000);
        let message = request(&flow, Some(7), 3);
        assert_eq!(number(&message, 0), Some(message.len() as u32));
        assert_eq!((word(&message, 4), number(&message, 8)), (Some(RTM_GETROUTE), Some(3)));
        let port = [&6_u16.to_ne_bytes()[..], &RTA_SPORT.to_ne_bytes(), &50_000_u16.to_be_bytes()].concat();
        assert!(message.windows(6).any(|six| six == port));
    }

    #[test]
    fn answers_are_told_apart() {
        let mut answer = vec![0; HEADERS];
        answer[4..6].copy_from_slice(&RTM_NEWROUTE.to_ne_bytes());
        answer[8..12].copy_from_slice(&5_u32.to_ne_bytes());
        answer.extend(8_u16.to_ne_bytes());
        answer.extend(RTA_OIF.to_ne_bytes());
        answer.extend(42_u32.to_ne_bytes());
        assert_eq!(answer_of(&answer, 5), Some(Some(42)));
        assert_eq!(answer_of(&answer, 6), None);
        answer[4..6].copy_from_slice(&NLMSG_ERROR.to_ne_bytes());
        assert_eq!(answer_of(&answer, 5), Some(None));
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..200), sequence in any::<u32>()) {
            let _ = answer_of(&bytes, sequence);
        }
    }
}
