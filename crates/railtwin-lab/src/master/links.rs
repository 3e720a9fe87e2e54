//! News of links, as the kernel of each node tells them.
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, socket,
};
use railtwin_fabric::LinkId;

use crate::host::LabError;
use crate::netlink::interfaces;
use crate::netns::within;
use crate::plant::Plant;

const RTM_NEWLINK: u16 = 16;
/// Group of news of links (RTMGRP_LINK).
const GROUP_LINK: u32 = 1;
/// Flag of an interface that has light (IFF_RUNNING).
const RUNNING: u32 = 0x40;

/// Sockets that hear of interfaces.
#[derive(Debug)]
pub(super) struct LinkNews {
    nodes: Vec<(OwnedFd, BTreeMap<u32, LinkId>)>,
    /// Links that have no light, as far as was told.
    dark: BTreeMap<LinkId, bool>,
}

impl LinkNews {
    pub(super) fn new(plant: &Plant) -> Result<Self, LabError> {
        let mut nodes = Vec::new();
        for node in plant.nodes() {
            let out = interfaces(node)?.into_iter();
            let out = out.filter_map(|(name, index)| Some((index, plant.link(node, &name)?))).collect();
            let socket = within(node, || {
                let failed = |errno: nix::errno::Errno| LabError(format!("{node}: news of links: {errno}"));
                let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
                let made = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute);
                let made = made.map_err(failed)?;
                bind(made.as_raw_fd(), &NetlinkAddr::new(0, GROUP_LINK)).map_err(failed)?;
                // What is dark already is told like news.
                send(made.as_raw_fd(), &all_links(), MsgFlags::empty()).map_err(failed)?;
                Ok(made)
            })?;
            nodes.push((socket, out));
        }
        Ok(Self { nodes, dark: BTreeMap::new() })
    }

    /// Links whose light went or came since the last call: each as its sending end tells it.
    pub(super) fn take(&mut self) -> Vec<(LinkId, bool)> {
        let mut news = Vec::new();
        let mut bytes = [0; 32_768];
        for (socket, out) in &self.nodes {
            while let Ok(count) = recv(socket.as_raw_fd(), &mut bytes, MsgFlags::empty()) {
                for (index, is_up) in told(&bytes[..count]) {
                    let Some(&link) = out.get(&index) else { continue };
                    if self.dark.insert(link, !is_up).unwrap_or(false) == is_up {
                        news.push((link, is_up));
                    }
                }
            }
        }
        news
    }
}

/// A request for all interfaces: RTM_GETLINK with NLM_F_REQUEST and NLM_F_DUMP.
fn all_links() -> [u8; 32] {
    let mut request = [0; 32];
    request[..4].copy_from_slice(&32_u32.to_ne_bytes());
    request[4..6].copy_from_slice(&18_u16.to_ne_bytes());
    request[6..8].copy_from_slice(&0x301_u16.to_ne_bytes());
    request
}

/// Indices of interfaces of which messages tell, and whether each has light.
fn told(bytes: &[u8]) -> Vec<(u32, bool)> {
    let number = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let (mut at, mut all) = (0, Vec::new());
    while let (Some(length), Some(kind)) = (number(at), bytes.get(at + 4..at + 6)) {
        if kind == RTM_NEWLINK.to_ne_bytes() {
            // Behind the header of 16 bytes: family and type, the index, the flags.
            all.extend(
                number(at + 20).zip(number(at + 24)).map(|(index, flags)| (index, flags & RUNNING != 0)),
            );
        }
        at += (length.max(16) as usize).next_multiple_of(4);
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::told;

    proptest! {
        #[test]
        fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = told(&bytes);
        }
    }

    #[test]
    fn a_message_is_read() {
        let mut message = vec![0; 32];
        message[..4].copy_from_slice(&32_u32.to_ne_bytes());
        message[4..6].copy_from_slice(&16_u16.to_ne_bytes());
        message[20..24].copy_from_slice(&7_u32.to_ne_bytes());
        message[24..28].copy_from_slice(&0x41_u32.to_ne_bytes());
        let two = [message.clone(), message].concat();
        assert_eq!(told(&two), [(7, true), (7, true)]);
    }
}
