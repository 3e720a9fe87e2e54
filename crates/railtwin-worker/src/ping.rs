//! Pings between observers over the data network, with receive time stamps of the kernel.
//!
//! An echo carries when it came and when it went, so that the time in which an observer waits for a processor is no part of
//! a round trip.
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::cmsg_space;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, SockaddrIn, bind, recvmsg, sendmsg,
    setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;

use crate::clock;
use crate::job::Job;

/// Bytes of a packet: mark, kind, rank that asks, rank that is asked, round, three times.
const PACKET: usize = 40;
const MARK: [u8; 4] = *b"rtp1";
const ASK: u8 = 0;
const ECHO: u8 = 1;

/// An exchange with a rank: what one round trip tells of clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockSample {
    /// When, on the own clock, ns.
    pub(crate) at_ns: u64,
    /// The own clock less that of the other, ns.
    pub(crate) offset_ns: i64,
    /// Round trip, ns.
    pub(crate) trip_ns: u64,
}

/// Sends and answers pings of one observer.
#[derive(Debug)]
pub(crate) struct Pinger {
    socket: OwnedFd,
    rank: usize,
    peers: Vec<SockaddrIn>,
    round: u32,
    /// Round trips of the newest round, us.
    trips: Vec<Option<u64>>,
    /// Ranks that ever answered: before, an observer may not be up.
    answered: Vec<bool>,
    /// The newest exchange with rank 0.
    pub(crate) sample: Option<ClockSample>,
    control: Vec<u8>,
}

impl Pinger {
    /// Binds the UDP port of a rank.
    ///
    /// # Errors
    /// The address is none of this host, or the port is taken.
    pub(crate) fn open(job: &Job, rank: usize) -> nix::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Inet, SockType::Datagram, flags, None)?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        bind(socket.as_raw_fd(), &SockaddrIn::from(job.address(rank)))?;
        let ranks = job.ranks();
        Ok(Self {
            socket,
            rank,
            peers: (0..ranks).map(|rank| SockaddrIn::from(job.address(rank))).collect(),
            round: 0,
            trips: vec![None; ranks],
            answered: vec![false; ranks],
            sample: None,
            control: cmsg_space!(TimeSpec),
        })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Round trips of the newest round by rank, us; none for a rank that has never answered, and for the own one.
    pub(crate) fn trips(&self) -> impl Iterator<Item = (usize, Option<u64>)> {
        let known = (0..self.peers.len()).filter(|rank| *rank != self.rank && self.answered[*rank]);
        known.map(|rank| (rank, self.trips[rank]))
    }

    /// Whether all others have answered once.
    pub(crate) fn knows_all(&self) -> bool {
        (0..self.peers.len()).all(|rank| rank == self.rank || self.answered[rank])
    }

    /// Begins a round: asks all others.
    pub(crate) fn ask(&mut self) {
        self.round = self.round.wrapping_add(1);
        self.trips.iter_mut().for_each(|trip| *trip = None);
        // Not all at one moment in the order of ranks: each begins with the next one.
        for shift in 1..self.peers.len() {
            let to = (self.rank + shift) % self.peers.len();
            let mut packet = [0; PACKET];
            packet[..4].copy_from_slice(&MARK);
            (packet[4], packet[5], packet[6]) = (ASK, self.rank as u8, to as u8);
            packet[8..12].copy_from_slice(&self.round.to_le_bytes());
            packet[16..24].copy_from_slice(&clock::monotonic_ns().to_le_bytes());
            self.send(to, &packet);
        }
    }

    /// Takes all packets that have come: answers what is asked, books answers.
    pub(crate) fn serve(&mut self) {
        let ahead_ns = clock::real_ns().wrapping_sub(clock::monotonic_ns());
        while let Some((packet, came_ns)) = self.receive(ahead_ns) {
            let (from, to) = (usize::from(packet[5]), usize::from(packet[6]));
            match packet[4] {
                ASK if to == self.rank && from < self.peers.len() => {
                    let mut echo = packet;
                    echo[4] = ECHO;
                    echo[24..32].copy_from_slice(&came_ns.to_le_bytes());
                    echo[32..40].copy_from_slice(&clock::monotonic_ns().to_le_bytes());
                    self.send(from, &echo);
                }
                ECHO if from == self.rank && to < self.peers.len() => self.book(to, &packet, came_ns),
                _ => {}
            }
        }
    }

    fn book(&mut self, from: usize, packet: &[u8; PACKET], came_ns: u64) {
        let time = |at: usize| packet[at..at + 8].try_into().map_or(0, u64::from_le_bytes);
        let (asked, there, back) = (time(16), time(24), time(32));
        let trip_ns = came_ns.saturating_sub(asked).saturating_sub(back.saturating_sub(there));
        self.answered[from] = true;
        if packet[8..12] == self.round.to_le_bytes() {
            self.trips[from] = Some(trip_ns / 1_000);
        }
        if from == 0 {
            let ahead = i128::from(asked) - i128::from(there) + i128::from(came_ns) - i128::from(back);
            let offset_ns = i64::try_from(ahead / 2).unwrap_or(0);
            self.sample = Some(ClockSample { at_ns: came_ns, offset_ns, trip_ns });
        }
    }

    fn receive(&mut self, ahead_ns: u64) -> Option<([u8; PACKET], u64)> {
        loop {
            let mut packet = [0; PACKET];
            let mut into = [IoSliceMut::new(&mut packet)];
            let flags = MsgFlags::MSG_DONTWAIT;
            let control = Some(self.control.as_mut_slice());
            let message = recvmsg::<()>(self.socket.as_raw_fd(), &mut into, control, flags).ok()?;
            let stamp = message.cmsgs().ok().into_iter().flatten().find_map(|one| match one {
                ControlMessageOwned::ScmTimestampns(at) => {
                    Some(at.tv_sec() as u64 * 1_000_000_000 + at.tv_nsec() as u64)
                }
                _ => None,
            });
            let came_ns = stamp.map_or_else(clock::monotonic_ns, |stamp| stamp.wrapping_sub(ahead_ns));
            let length = message.bytes;
            if length == PACKET && packet.starts_with(&MARK) {
                return Some((packet, came_ns));
            }
            // Not of this job: passed over.
        }
    }

    fn send(&self, to: usize, packet: &[u8; PACKET]) {
        // A packet that cannot be sent is a lost one.
        let of = [IoSlice::new(packet)];
        let _ = sendmsg(self.socket.as_raw_fd(), &of, &[], MsgFlags::MSG_DONTWAIT, Some(&self.peers[to]));
    }
}
