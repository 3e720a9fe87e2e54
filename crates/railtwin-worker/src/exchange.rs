//! Runs a schedule over connections: sends and receives side by side, with the waits of each stage.
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt};

use crate::clock;
use crate::events::{Channel, Word};
use crate::schedule::{ELEMENT, Schedule, Transfer};

/// Connections of one algorithm by the rank at the other end.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    pub(crate) sends: BTreeMap<usize, TcpStream>,
    /// Those that are not both ways.
    pub(crate) receives: BTreeMap<usize, TcpStream>,
}

impl Connections {
    fn to(&self, peer: usize) -> &TcpStream {
        &self.sends[&peer]
    }

    fn from(&self, peer: usize) -> &TcpStream {
        self.receives.get(&peer).unwrap_or_else(|| &self.sends[&peer])
    }
}

/// A connection that broke.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Break {
    pub(crate) peer: usize,
    pub(crate) sends: bool,
    /// Error number of Linux; 0: end of file.
    pub(crate) errno: i32,
}

impl Break {
    fn of(sends: bool, peer: usize, error: &io::Error) -> Self {
        Self { peer, sends, errno: error.raw_os_error().unwrap_or(-1) }
    }
}

/// Executes schedules; its buffers are made once.
#[derive(Debug)]
pub(crate) struct Exchange {
    scratch: Vec<u8>,
    /// Waits of each stage of the newest run, us: to receive; until the piece to send has come; to send.
    pub(crate) waits: Vec<[u64; 3]>,
    /// Readings of the clock that only serve the records.
    pub(crate) clock_reads: u64,
}

/// POLLRDHUP: the other end has closed its side.
const PEER_CLOSED: PollFlags = PollFlags::from_bits_retain(0x2000);

/// Where a run stands.
struct Progress {
    received: usize,
    sent: usize,
    /// Bytes of the piece that is on its way.
    receiving: usize,
    sending: usize,
}

impl Exchange {
    pub(crate) fn for_schedules<'a>(schedules: impl Iterator<Item = &'a Schedule> + Clone) -> Self {
        let longest = |of: &Schedule| of.receives.iter().map(|one| one.end - one.begin).max().unwrap_or(0);
        let scratch = schedules.clone().map(longest).max().unwrap_or(0);
        let stages = schedules.map(Schedule::stages).max().unwrap_or(0);
        Self { scratch: vec![0; scratch], waits: Vec::with_capacity(stages), clock_reads: 0 }
    }

    /// Runs a schedule on a buffer.
    pub(crate) fn run(
        &mut self,
        schedule: &Schedule,
        connections: &Connections,
        buffer: &mut [u8],
        channel: &Channel,
    ) -> Result<(), Break> {
        self.waits.clear();
        self.waits.resize(schedule.stages(), [0; 3]);
        let mut at = Progress { received: 0, sent: 0, receiving: 0, sending: 0 };
        loop {
            let has_received = self.receive(schedule, connections, buffer, &mut at)?;
            if has_received {
                channel.set(Word::Received, at.received as u64);
            }
            let has_sent = send(schedule, connections, buffer, &mut at)?;
            if has_sent {
                channel.set(Word::Sent, at.sent as u64);
            }
            if at.received == schedule.receives.len() && at.sent == schedule.sends.len() {
                return Ok(());
            }
            if !has_received && !has_sent {
                self.wait(schedule, connections, &at)?;
            }
        }
    }

    /// Receives what has come; returns whether anything has.
    fn receive(
        &mut self,
        schedule: &Schedule,
        connections: &Connections,
        buffer: &mut [u8],
        at: &mut Progress,
    ) -> Result<bool, Break> {
        let mut has_moved = false;
        while let Some(one) = schedule.receives.get(at.received) {
            let length = one.end - one.begin;
            if at.receiving < length {
                let into = if one.adds {
                    &mut self.scratch[at.receiving..length]
                } else {
                    &mut buffer[one.begin + at.receiving..one.end]
                };
                match connections.from(one.peer).read(into) {
                    Ok(0) => return Err(Break { peer: one.peer, sends: false, errno: 0 }),
                    Ok(count) => at.receiving += count,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(has_moved),
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) => return Err(Break::of(false, one.peer, &error)),
                }
                has_moved = true;
            }
            if at.receiving == length {
                if one.adds {
                    add(&mut buffer[one.begin..one.end], &self.scratch[..length]);
                }
                (at.received, at.receiving) = (at.received + 1, 0);
                has_moved = true;
            }
        }
        Ok(has_moved)
    }

    /// Waits until something can go on, and books the wait to the stages that it held.
    fn wait(&mut self, schedule: &Schedule, connections: &Connections, at: &Progress) -> Result<(), Break> {
        let receive = schedule.receives.get(at.received);
        let send = schedule.sends.get(at.sent);
        let is_ready = send.is_some_and(|one| at.received >= one.needs);
        let from_ns = clock::monotonic_ns();
        let broken = wait_for(connections, receive, send, is_ready)?;
        let waited_us = (clock::monotonic_ns() - from_ns) / 1_000;
        self.clock_reads += 2;
        if receive.is_some() {
            self.waits[at.received][0] += waited_us;
        }
        if send.is_some() {
            self.waits[at.sent][1 + usize::from(is_ready)] += waited_us;
        }
        broken.map_or(Ok(()), Err)
    }
}

/// Sends what can be sent; returns whether anything could.
fn send(
    schedule: &Schedule,
    connections: &Connections,
    buffer: &[u8],
    at: &mut Progress,
) -> Result<bool, Break> {
    let mut has_moved = false;
    while let Some(one) = schedule.sends.get(at.sent).filter(|one| at.received >= one.needs) {
        let begin = one.begin + at.sending;
        if begin < one.end {
            match connections.to(one.peer).write(&buffer[begin..one.end]) {
                Ok(count) => at.sending += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(has_moved),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(Break::of(true, one.peer, &error)),
            }
            has_moved = true;
        }
        if one.begin + at.sending == one.end {
            (at.sent, at.sending) = (at.sent + 1, 0);
            has_moved = true;
        }
    }
    Ok(has_moved)
}

/// Waits for the two connections. Also returns a break of the one to send over: a peer that closed it takes nothing more, and
/// nobody would notice before the next send.
fn wait_for(
    connections: &Connections,
    receive: Option<&Transfer>,
    send: Option<&Transfer>,
    is_ready: bool,
) -> Result<Option<Break>, Break> {
    let gone = PollFlags::POLLERR | PollFlags::POLLHUP | PEER_CLOSED;
    let out = if is_ready { PollFlags::POLLOUT } else { PollFlags::empty() };
    let anything = receive.or(send).map_or(0, |one| one.peer);
    let first = match receive {
        Some(one) => PollFd::new(connections.from(one.peer).as_fd(), PollFlags::POLLIN),
        None => PollFd::new(connections.to(anything).as_fd(), PollFlags::empty()),
    };
    let second = match send {
        Some(one) => PollFd::new(connections.to(one.peer).as_fd(), out | PEER_CLOSED),
        None => PollFd::new(first_fd(connections, receive, anything), PollFlags::empty()),
    };
    let mut both = [first, second];
    match poll(&mut both, PollTimeout::NONE) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => {}
        Err(errno) => return Err(Break { peer: anything, sends: send.is_some(), errno: errno as i32 }),
    }
    let Some(one) = send else { return Ok(None) };
    if !both[1].revents().is_some_and(|seen| seen.intersects(gone)) {
        return Ok(None);
    }
    let errno = getsockopt(connections.to(one.peer), sockopt::SocketError).unwrap_or(0);
    Ok(Some(Break { peer: one.peer, sends: true, errno }))
}

fn first_fd<'a>(
    connections: &'a Connections,
    receive: Option<&Transfer>,
    anything: usize,
) -> std::os::fd::BorrowedFd<'a> {
    match receive {
        Some(one) => connections.from(one.peer).as_fd(),
        None => connections.to(anything).as_fd(),
    }
}

/// Adds elements; sums wrap.
fn add(sums: &mut [u8], more: &[u8]) {
    for (sum, one) in sums.chunks_exact_mut(ELEMENT).zip(more.chunks_exact(ELEMENT)) {
        let (Ok(left), Ok(right)) = (<[u8; ELEMENT]>::try_from(&*sum), <[u8; ELEMENT]>::try_from(one)) else {
            continue;
        };
        let total = u32::from_le_bytes(left).wrapping_add(u32::from_le_bytes(right));
        sum.copy_from_slice(&total.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::collective::{fill, is_right, stop_votes};
    use crate::job::{Algorithm, CollectiveSpec};
    use crate::schedule::neighbors;

    /// Connections between all ranks of an algorithm, within this process.
    fn connected(algorithm: Algorithm, ranks: usize) -> Vec<Connections> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
        let address = listener.local_addr().expect("it is bound");
        let mut all: Vec<Connections> = (0..ranks).map(|_| Connections::default()).collect();
        for rank in 0..ranks {
            for to in neighbors(algorithm, ranks, rank).0 {
                let here = TcpStream::connect(address).expect("it listens");
                let (there, _) = listener.accept().expect("it connects");
                for one in [&here, &there] {
                    one.set_nonblocking(true).expect("sockets can be nonblocking");
                }
                all[rank].sends.insert(to, here);
                match algorithm {
                    Algorithm::Ring => all[to].receives.insert(rank, there),
                    _ => all[to].sends.insert(rank, there),
                };
            }
        }
        all
    }

    fn results(algorithm: Algorithm, ranks: usize, bytes: u64, chunk: u64) -> Vec<(bool, bool)> {
        let spec = CollectiveSpec { algorithm, bytes, chunk };
        let connections = connected(algorithm, ranks);
        std::thread::scope(|scope| {
            let run = |(rank, connections): (usize, Connections)| {
                scope.spawn(move || {
                    let schedule = Schedule::new(&spec, ranks, rank);
                    let channel = Channel::create().expect("the kernel has memory files");
                    let mut exchange = Exchange::for_schedules(std::iter::once(&schedule));
                    let mut buffer = vec![0; schedule.buffer];
                    let mut right = true;
                    let mut votes = Vec::new();
                    for operation in 0..3 {
                        fill(
                            &schedule,
                            ranks,
                            rank,
                            operation,
                            operation == 2 && rank == ranks - 1,
                            &mut buffer,
                        );
                        exchange.run(&schedule, &connections, &mut buffer, &channel).expect("nobody closes");
                        right &= is_right(&schedule, ranks, rank, operation, &buffer);
                        votes.push(stop_votes(&schedule, ranks, rank, &buffer) > 0);
                    }
                    (right, votes == [false, false, true])
                })
            };
            let threads: Vec<_> = connections.into_iter().enumerate().map(run).collect();
            threads.into_iter().map(|thread| thread.join().expect("no rank fails")).collect()
        })
    }

    #[test]
    fn collectives_are_right_for_several_sizes_of_world_and_data() {
        for algorithm in [Algorithm::Ring, Algorithm::Tree, Algorithm::AllToAll] {
            for ranks in [2, 3, 4, 5, 8] {
                for (bytes, chunk) in
                    [(4, 4), (20, 8), (4_000, 1_024), (1 << 20, 128 << 10), (999_996, 64_000)]
                {
                    let all = results(algorithm, ranks, bytes, chunk);
                    let right = vec![(true, true); ranks];
                    assert_eq!(all, right, "{algorithm:?} of {ranks} ranks, {bytes} bytes in {chunk}");
                }
            }
        }
    }

    #[test]
    fn a_wrong_result_is_found() {
        for algorithm in [Algorithm::Ring, Algorithm::Tree, Algorithm::AllToAll] {
            let spec = CollectiveSpec { algorithm, bytes: 400, chunk: 64 };
            let schedule = Schedule::new(&spec, 2, 0);
            let mut buffer = vec![0; schedule.buffer];
            fill(&schedule, 2, 0, 7, false, &mut buffer);
            assert!(!is_right(&schedule, 2, 0, 7, &buffer), "{algorithm:?}: nothing was exchanged");
        }
    }

    #[test]
    fn a_peer_that_closes_is_found() {
        let mut all = connected(Algorithm::Ring, 2);
        drop(all.pop());
        let spec = CollectiveSpec { algorithm: Algorithm::Ring, bytes: 4_000_000, chunk: 4_000_000 };
        let schedule = Schedule::new(&spec, 2, 0);
        let mut exchange = Exchange::for_schedules(std::iter::once(&schedule));
        let channel = Channel::create().expect("the kernel has memory files");
        let found = exchange.run(&schedule, &all[0], &mut vec![0; schedule.buffer], &channel);
        assert_eq!(found.expect_err("the peer has closed").peer, 1);
    }
}
