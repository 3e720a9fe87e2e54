//! Waits until a connection of a run can go on: one poll over all lanes, and over what moves need.
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt};
use std::os::fd::{AsFd, BorrowedFd};

use crate::clock;
use crate::connections::{Break, Connections, Interruption};
use crate::events::Channel;
use crate::lane::{LANES_MAX, lane_part};
use crate::links::Links;
use crate::schedule::Transfer;

/// POLLRDHUP: the other end has closed its side.
const PEER_CLOSED: PollFlags = PollFlags::from_bits_retain(0x2000);
/// Lanes of one receive and one send, the listener, the master.
const POLLED: usize = 2 * LANES_MAX + 2;

/// A transfer that is on its way, with the bytes of each lane that are done.
#[derive(Clone, Copy)]
pub(crate) struct UnderWay<'a> {
    pub(crate) transfer: &'a Transfer,
    pub(crate) done: &'a [usize; LANES_MAX],
}

impl UnderWay<'_> {
    fn is_done(&self, lanes: usize, at: usize) -> bool {
        let (begin, end) = lane_part(self.transfer, lanes, at);
        begin + self.done[at] == end
    }
}

/// Lanes to send over that a poll looks at: their numbers, in the order of the poll.
struct Polled {
    first: usize,
    count: usize,
    lanes: [u8; LANES_MAX],
}

/// Waits for the connections of a run, and goes on with moves. A transfer to send that is not `is_ready` waits for a receive.
///
/// # Errors
/// The peer to send to has closed a connection: it takes nothing more, and nobody would notice before the next send.
pub(crate) fn wait_for(
    links: &mut Links,
    place: usize,
    receive: Option<UnderWay<'_>>,
    send: Option<UnderWay<'_>>,
    is_ready: bool,
    channel: &Channel,
) -> Result<(), Interruption> {
    let (gone, is_woken) = {
        let Some((_, connections)) = links.all.get(place) else { return Ok(()) };
        let Some(any) = any_fd(links, connections, receive.or(send)) else { return Ok(()) };
        let mut fds: [PollFd<'_>; POLLED] = std::array::from_fn(|_| PollFd::new(any, PollFlags::empty()));
        let polled = fill(&mut fds, connections, receive, send, is_ready);
        let mut count = polled.first + polled.count;
        let run = count;
        match &links.service {
            None => (look(&mut fds[..count], PollTimeout::NONE, &polled, send)?, false),
            Some(service) => {
                service.watch(|fd| {
                    fds[count] = fd;
                    count += 1;
                });
                if service.is_quiet() {
                    let gone = look(&mut fds[..count], PollTimeout::NONE, &polled, send)?;
                    (gone, fds[run..count].iter().any(|fd| fd.any() == Some(true)))
                } else {
                    let mut all = fds[..count].to_vec();
                    let due_ns = service.watch_moves(&links.all, &mut all);
                    (look(&mut all, timeout(due_ns), &polled, send)?, true)
                }
            }
        }
    };
    if let (Some(at), Some(send)) = (gone, send) {
        let peer = send.transfer.peer;
        let lane = links.all.get_mut(place).and_then(|one| one.1.outgoing_mut(peer).get_mut(at));
        let Some(lane) = lane else { return Ok(()) };
        let errno = getsockopt(&lane.stream, sockopt::SocketError).unwrap_or(0);
        if !lane.has_greeted() {
            return Err(Break { peer, sends: true, errno }.into());
        }
        // The receiver has gone over to another connection, whose answer is on its way.
        lane.errno = Some(errno);
    }
    if is_woken { serve(links, channel) } else { Ok(()) }
}

/// Goes on with moves.
///
/// # Errors
/// The path master ended the job, or a lane lost bytes.
pub(crate) fn serve(links: &mut Links, channel: &Channel) -> Result<(), Interruption> {
    match &mut links.service {
        Some(service) => service.serve(&mut links.all, channel, clock::monotonic_ns()),
        None => Ok(()),
    }
}

/// Looks at the listener and the master without waiting, and goes on with moves where something came.
///
/// # Errors
/// As [`serve`].
pub(crate) fn serve_what_came(links: &mut Links, channel: &Channel) -> Result<(), Interruption> {
    let Some(service) = &links.service else { return Ok(()) };
    let is_woken = !service.is_quiet() || {
        let any = service.any_fd();
        let mut fds: [PollFd<'_>; 2] = std::array::from_fn(|_| PollFd::new(any, PollFlags::empty()));
        let mut count = 0;
        service.watch(|fd| {
            fds[count] = fd;
            count += 1;
        });
        poll(&mut fds[..count], PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    };
    if is_woken { serve(links, channel) } else { Ok(()) }
}

/// A descriptor that is open, to fill the array with.
fn any_fd<'a>(
    links: &'a Links,
    connections: &'a Connections,
    under_way: Option<UnderWay<'_>>,
) -> Option<BorrowedFd<'a>> {
    let peer = under_way.map_or(0, |one| one.transfer.peer);
    let lane = connections.incoming(peer).first().map(|lane| lane.stream.as_fd());
    let lane = lane.or_else(|| connections.outgoing(peer).first().map(|lane| lane.stream.as_fd()));
    lane.or_else(|| links.service.as_ref().map(|service| service.any_fd()))
}

/// Fills in the lanes of both transfers: those to receive first, then those to send.
fn fill<'a>(
    fds: &mut [PollFd<'a>; POLLED],
    connections: &'a Connections,
    receive: Option<UnderWay<'_>>,
    send: Option<UnderWay<'_>>,
    is_ready: bool,
) -> Polled {
    let mut polled = Polled { first: 0, count: 0, lanes: [0; LANES_MAX] };
    if let Some(receive) = receive {
        let lanes = connections.incoming(receive.transfer.peer);
        for (_, lane) in lanes.iter().enumerate().filter(|(at, _)| !receive.is_done(lanes.len(), *at)) {
            fds[polled.first] = PollFd::new(lane.stream.as_fd(), PollFlags::POLLIN);
            polled.first += 1;
        }
    }
    if let Some(send) = send {
        let out = if is_ready { PollFlags::POLLOUT } else { PollFlags::empty() };
        let lanes = connections.outgoing(send.transfer.peer);
        for (at, lane) in lanes.iter().enumerate() {
            if lane.is_stalled() || (is_ready && send.is_done(lanes.len(), at)) {
                continue;
            }
            fds[polled.first + polled.count] = PollFd::new(lane.stream.as_fd(), out | PEER_CLOSED);
            polled.lanes[polled.count] = at as u8;
            polled.count += 1;
        }
    }
    polled
}

/// Polls. Returns the first lane to send over whose connection is gone.
fn look(
    fds: &mut [PollFd<'_>],
    timeout: PollTimeout,
    polled: &Polled,
    send: Option<UnderWay<'_>>,
) -> Result<Option<usize>, Interruption> {
    match poll(fds, timeout) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => {}
        Err(errno) => {
            let peer = send.map_or(0, |one| one.transfer.peer);
            return Err(Break { peer, sends: send.is_some(), errno: errno as i32 }.into());
        }
    }
    let gone = PollFlags::POLLERR | PollFlags::POLLHUP | PEER_CLOSED;
    let sends = fds[polled.first..].iter().zip(&polled.lanes[..polled.count]);
    let is_gone = |fd: &PollFd<'_>| fd.revents().is_some_and(|seen| seen.intersects(gone));
    Ok(sends.into_iter().find(|(fd, _)| is_gone(fd)).map(|(_, lane)| usize::from(*lane)))
}

/// Time until something is due, rounded up.
fn timeout(due_ns: Option<u64>) -> PollTimeout {
    let Some(due_ns) = due_ns else { return PollTimeout::NONE };
    let left_ms = due_ns.saturating_sub(clock::monotonic_ns()).div_ceil(1_000_000);
    PollTimeout::from(u16::try_from(left_ms).unwrap_or(u16::MAX))
}
