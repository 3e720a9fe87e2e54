//! A connection that is to replace the present one of a lane: opened and greeted without blocking.
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::errno::Errno;
use nix::poll::PollFlags;
use nix::sys::socket::{SockFlag, SockaddrIn, bind, connect, getsockopt, setsockopt, sockopt};

use crate::greeting::Greeting;
use crate::job::Job;
use crate::tcp_options::{close_at_once, tcp_socket};

/// Time for a connection to come up before it is tried again, ns.
const COMES_UP_NS: u64 = 500_000_000;
/// Bytes of an answer: how many bytes of the lane the receiver has read.
pub(crate) const ANSWER: usize = 8;

#[derive(Debug)]
enum AttemptState {
    /// It is tried again, or given up, at this time.
    Connecting { stream: TcpStream, until_ns: u64 },
    /// The receiver may have gone over to it.
    Greeted { stream: TcpStream, answer: [u8; ANSWER], filled: usize },
    /// It failed, and is tried again at this time.
    Paused { until_ns: u64 },
}

/// An attempt to go on from another source port.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) port: u16,
    state: AttemptState,
}

/// Where an attempt stands.
#[derive(Debug)]
pub(crate) enum AttemptOutcome {
    Pending,
    /// The receiver went over to this connection, and has read so many bytes of the lane.
    Answered(TcpStream, u64),
    /// It cannot succeed: why.
    Refused(String),
}

/// The ends of a lane's connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneEnds<'a> {
    pub(crate) job: &'a Job,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

impl LaneEnds<'_> {
    fn open(&self, port: u16, now_ns: u64) -> io::Result<AttemptState> {
        let fd = tcp_socket(self.job, SockFlag::SOCK_NONBLOCK)?;
        setsockopt(&fd, sockopt::ReuseAddr, &true)?;
        bind(fd.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(self.job.addresses[self.from], port)))?;
        match connect(fd.as_raw_fd(), &SockaddrIn::from(self.job.address(self.to))) {
            Ok(()) | Err(Errno::EINPROGRESS | Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        close_at_once(&fd);
        Ok(AttemptState::Connecting { stream: fd.into(), until_ns: now_ns + COMES_UP_NS })
    }
}

impl Attempt {
    /// Begins to connect from a port.
    ///
    /// # Errors
    /// The port is in use, or the kernel has no route.
    pub(crate) fn start(ends: LaneEnds<'_>, port: u16, now_ns: u64) -> io::Result<Self> {
        Ok(Self { port, state: ends.open(port, now_ns)? })
    }

    pub(crate) const fn has_greeted(&self) -> bool {
        matches!(self.state, AttemptState::Greeted { .. })
    }

    /// Its socket, and what to wait for.
    pub(crate) fn awaited(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        match &self.state {
            AttemptState::Connecting { stream, .. } => Some((stream.as_fd(), PollFlags::POLLOUT)),
            AttemptState::Greeted { stream, .. } => Some((stream.as_fd(), PollFlags::POLLIN)),
            AttemptState::Paused { .. } => None,
        }
    }

    /// When it goes on without anything coming, ns.
    pub(crate) const fn due_ns(&self) -> Option<u64> {
        match self.state {
            AttemptState::Connecting { until_ns, .. } | AttemptState::Paused { until_ns } => Some(until_ns),
            AttemptState::Greeted { .. } => None,
        }
    }

    /// Goes on as far as it can. `greeting` is the greeting of a connection that stands.
    pub(crate) fn go_on(
        &mut self,
        ends: LaneEnds<'_>,
        greeting: impl FnOnce() -> Greeting,
        now_ns: u64,
    ) -> AttemptOutcome {
        if let AttemptState::Connecting { stream, .. } = &self.state {
            match connected(stream, ends.job.address(ends.to)) {
                Ok(false) => {}
                Ok(true) => self.greet(&greeting(), now_ns),
                Err(error) if error.kind() == ErrorKind::TimedOut => self.pause(now_ns),
                Err(error) => return AttemptOutcome::Refused(error.to_string()),
            }
        }
        if let AttemptState::Greeted { stream, answer, filled } = &mut self.state {
            match read_into(stream, answer, filled) {
                Ok(false) => {}
                Ok(true) => {
                    let consumed = u64::from_le_bytes(*answer);
                    let paused = AttemptState::Paused { until_ns: 0 };
                    return match std::mem::replace(&mut self.state, paused) {
                        AttemptState::Greeted { stream, .. } => AttemptOutcome::Answered(stream, consumed),
                        _ => AttemptOutcome::Pending,
                    };
                }
                // A receiver that still connects closes what it does not await.
                Err(_) => self.pause(now_ns),
            }
        }
        if self.due_ns().is_none_or(|due_ns| now_ns < due_ns) {
            return AttemptOutcome::Pending;
        }
        // The socket of the attempt before is closed first: its port is needed.
        self.state = AttemptState::Paused { until_ns: 0 };
        match ends.open(self.port, now_ns) {
            Ok(state) => {
                self.state = state;
                AttemptOutcome::Pending
            }
            Err(error) => AttemptOutcome::Refused(error.to_string()),
        }
    }

    fn greet(&mut self, greeting: &Greeting, now_ns: u64) {
        let paused = AttemptState::Paused { until_ns: now_ns + COMES_UP_NS };
        if let AttemptState::Connecting { mut stream, .. } = std::mem::replace(&mut self.state, paused)
            // A new connection has room for a greeting; one that broke is tried again.
            && stream.write_all(&greeting.bytes()).is_ok()
        {
            self.state = AttemptState::Greeted { stream, answer: [0; ANSWER], filled: 0 };
        }
    }

    fn pause(&mut self, now_ns: u64) {
        self.state = AttemptState::Paused { until_ns: now_ns + COMES_UP_NS };
    }
}

/// Whether a socket has connected.
fn connected(stream: &TcpStream, to: SocketAddrV4) -> io::Result<bool> {
    match getsockopt(stream, sockopt::SocketError)? {
        0 => {}
        errno => return Err(io::Error::from_raw_os_error(errno)),
    }
    match stream.peer_addr() {
        // A port that nobody listens on, and that is its own source port, connects to itself.
        Ok(_) if stream.local_addr()? == SocketAddr::V4(to) => Err(ErrorKind::ConnectionRefused.into()),
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotConnected => Ok(false),
        Err(error) => Err(error),
    }
}

/// Reads into what is left of an array; returns whether it is full.
///
/// # Errors
/// The other end closed, or the connection broke.
pub(crate) fn read_into(mut stream: &TcpStream, bytes: &mut [u8], filled: &mut usize) -> io::Result<bool> {
    while *filled < bytes.len() {
        match stream.read(&mut bytes[*filled..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => *filled += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::OwnedFd;

    use nix::sys::socket::{AddressFamily, Backlog, SockType, listen, socket};

    use super::*;
    use crate::greeting::GREETING;
    use crate::job::Algorithm;

    /// A socket that connects without waiting: a place in the queue of a listener.
    fn connecting(to: SocketAddrV4) -> OwnedFd {
        let fd =
            socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_NONBLOCK, None).expect("a socket");
        let _ = connect(fd.as_raw_fd(), &SockaddrIn::from(to));
        fd
    }

    #[test]
    fn a_connection_that_does_not_come_up_is_tried_again() {
        let own = 192 + (std::process::id() % 60) as u8;
        let text = format!(
            "addresses = [\"127.{own}.1.1\", \"127.{own}.1.2\"]\nport = 21000\nsteps = 1\nrecords = \"r\"\n\
             [[collectives]]\nalgorithm = \"ring\"\nbytes = 64\n"
        );
        let job = Job::parse(&text, "job.toml").expect("the job is right");
        let ends = LaneEnds { job: &job, from: 0, to: 1 };
        let fd = socket(AddressFamily::Inet, SockType::Stream, SockFlag::empty(), None).expect("a socket");
        bind(fd.as_raw_fd(), &SockaddrIn::from(job.address(1))).expect("the address is free");
        listen(&fd, Backlog::new(0).expect("a short queue")).expect("it is bound");
        let listener = TcpListener::from(fd);
        // The kernel drops whatever more wants to connect.
        let others: Vec<OwnedFd> = (0..4).map(|_| connecting(job.address(1))).collect();
        let greeting =
            || Greeting { algorithm: Algorithm::Ring, from: 0, to: 1, ranks: 2, lane: 3, generation: 7 };
        let mut attempt = Attempt::start(ends, 22_000, 0).expect("the port is free");
        assert!(matches!(attempt.go_on(ends, greeting, 1), AttemptOutcome::Pending));
        assert_eq!((attempt.due_ns(), attempt.has_greeted()), (Some(COMES_UP_NS), false));
        assert!(matches!(attempt.go_on(ends, greeting, COMES_UP_NS), AttemptOutcome::Pending));
        assert_eq!(attempt.due_ns(), Some(2 * COMES_UP_NS), "another connection from the same port");
        drop(others);
        listener.set_nonblocking(true).expect("sockets can be nonblocking");
        let mut now_ns = COMES_UP_NS;
        let mut accepted = Vec::new();
        let answered = loop {
            now_ns += COMES_UP_NS;
            while let Ok((stream, _)) = listener.accept() {
                stream.set_nonblocking(true).expect("sockets can be nonblocking");
                accepted.push((stream, [0; GREETING], 0));
            }
            for (stream, bytes, filled) in &mut accepted {
                if *filled < GREETING && matches!(read_into(stream, bytes, filled), Ok(true)) {
                    assert_eq!(Greeting::read(bytes), Some(greeting()));
                    stream.write_all(&77_u64.to_le_bytes()).expect("it is connected");
                }
            }
            match attempt.go_on(ends, greeting, now_ns) {
                AttemptOutcome::Pending => std::thread::yield_now(),
                outcome => break outcome,
            }
        };
        assert!(matches!(&answered, AttemptOutcome::Answered(_, 77)), "{answered:?}");
    }
}
