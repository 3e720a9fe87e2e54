//! Frames of one kind at one interface: packet sockets of Linux (packet(7)).
//!
//! The one place with `unsafe` in this crate: the address of a packet socket and its membership in a group, for which
//! `nix` has no other way.
#![allow(
    unsafe_code,
    reason = "an address and an option that nix cannot make; what is sound stands at each block"
)]
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::libc;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockType, SockaddrLike, bind, recv, send, socket,
};
use railtwin_routing::protocol::lacp::Mac;

use crate::host::LabError;

/// EtherType of Slow Protocols, of which LACP is one.
pub(super) const SLOW: u16 = 0x8809;
/// EtherType of ARP.
pub(super) const ARP: u16 = 0x0806;

/// A socket for frames of one EtherType at one interface of the namespace that opened it. It does not block.
#[derive(Debug)]
pub(super) struct PacketSocket {
    socket: OwnedFd,
    interface: String,
    index: i32,
    mac: Mac,
}

impl PacketSocket {
    /// Opens it.
    ///
    /// # Errors
    /// There is no such interface, or this process may not.
    pub(super) fn open(interface: &str, kind: u16) -> Result<Self, LabError> {
        let failed = |errno: Errno| LabError(format!("packet socket at {interface}: {errno}"));
        let link = link_of(interface)?;
        let index = link.ifindex() as i32;
        let mac = Mac(link.addr().unwrap_or_default());
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, None).map_err(failed)?;
        let address = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: kind.to_be(),
            sll_ifindex: index,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        // SAFETY: the pointer is to a whole `sockaddr_ll` of this frame, of the length that is given; it is copied.
        let address = unsafe {
            LinkAddr::from_raw((&raw const address).cast(), Some(size_of::<libc::sockaddr_ll>() as u32))
        };
        let address = address.ok_or_else(|| failed(Errno::EINVAL))?;
        bind(socket.as_raw_fd(), &address).map_err(failed)?;
        Ok(Self { socket, interface: interface.to_owned(), index, mac })
    }

    /// Lets the interface take in frames for a group address, as long as the socket is open.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(super) fn join(&self, group: Mac) -> Result<(), LabError> {
        let mut address = [0; 8];
        address[..6].copy_from_slice(&group.0);
        let request = libc::packet_mreq {
            mr_ifindex: self.index,
            mr_type: libc::PACKET_MR_MULTICAST as u16,
            mr_alen: 6,
            mr_address: address,
        };
        set_option(&self.socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
            .map_err(|errno| LabError(format!("group {group} at {}: {errno}", self.interface)))
    }

    /// Address of the interface.
    pub(super) const fn mac(&self) -> Mac {
        self.mac
    }

    /// Sends a whole frame. One that the kernel does not take, such as without carrier, is lost, as on a wire.
    pub(super) fn send(&self, frame: &[u8]) {
        let _ = send(self.socket.as_raw_fd(), frame, MsgFlags::empty());
    }

    /// The next frame that came, where one did: its length in `buffer`.
    ///
    /// # Errors
    /// The interface is gone.
    pub(super) fn receive(&self, buffer: &mut [u8]) -> Result<Option<usize>, LabError> {
        match recv(self.socket.as_raw_fd(), buffer, MsgFlags::empty()) {
            Ok(length) => Ok(Some(length)),
            // Nothing there, or the carrier went.
            Err(Errno::EAGAIN | Errno::ENETDOWN | Errno::EINTR) => Ok(None),
            Err(errno) => Err(LabError(format!("frames at {}: {errno}", self.interface))),
        }
    }

    /// Whether the interface sees a carrier.
    ///
    /// # Errors
    /// The interface is gone.
    pub(super) fn has_carrier(&self) -> Result<bool, LabError> {
        let all = getifaddrs().map_err(|errno| LabError(format!("interfaces: {errno}")))?;
        let flags = all.filter(|one| one.interface_name == self.interface).map(|one| one.flags).next();
        let flags =
            flags.ok_or_else(|| LabError(format!("there is no interface {} any more", self.interface)))?;
        Ok(flags.contains(InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING))
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Lets a UDP socket send without checksums, which a receiver then does not check (RFC 768). Between two `veth` the kernel
/// leaves a checksum to the card, which is none; a switch in user space hands on what it finds there.
///
/// # Errors
/// The kernel refuses.
pub(super) fn send_without_checksums(socket: &impl AsFd) -> nix::Result<()> {
    set_option(socket, libc::SOL_SOCKET, libc::SO_NO_CHECK, &1_i32)
}

/// Sets an option of a socket; `T` is the type that the option has in C.
fn set_option<T: Copy>(socket: &impl AsFd, level: i32, name: i32, value: &T) -> nix::Result<()> {
    // SAFETY: the pointer is to a whole value of this type, of the length that is given; the kernel reads no more and
    // keeps no pointer.
    let done = unsafe {
        let value = std::ptr::from_ref(value).cast();
        libc::setsockopt(socket.as_fd().as_raw_fd(), level, name, value, size_of::<T>() as u32)
    };
    Errno::result(done).map(drop)
}

fn link_of(interface: &str) -> Result<LinkAddr, LabError> {
    let all = getifaddrs().map_err(|errno| LabError(format!("interfaces: {errno}")))?;
    all.filter(|one| one.interface_name == interface)
        .find_map(|one| one.address.as_ref().and_then(|address| address.as_link_addr().copied()))
        .ok_or_else(|| LabError(format!("there is no interface {interface} here")))
}
