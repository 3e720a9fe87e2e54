//! Connections between ranks: opened with retry until a time limit, told by a greeting.
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;

use nix::sys::socket::{Backlog, SockFlag, SockaddrIn, bind, connect, listen, setsockopt, sockopt};

use crate::attempt::ANSWER;
use crate::clock;
use crate::connections::Connections;
use crate::error::WorkerError;
use crate::events::{Channel, ConnectionName, ends_of};
use crate::greeting::{GREETING, Greeting};
use crate::job::{Algorithm, Job};
use crate::lane::{ReceiveLane, SendLane};
use crate::links::Links;
use crate::moves::PathService;
use crate::path_master::{LaneGroup, PathMaster};
use crate::replay::ReplayRing;
use crate::schedule::neighbors;
use crate::tcp_options::{outstanding_max, tcp_socket};

/// Time between attempts.
const RETRY: Duration = Duration::from_millis(50);

/// Algorithms of a job, each once.
pub(crate) fn algorithms(job: &Job) -> Vec<Algorithm> {
    let mut all: Vec<Algorithm> = job.collectives.iter().map(|one| one.algorithm).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Ranks that a rank opens connections to, and those that it accepts them from.
pub(crate) fn doors(job: &Job, algorithm: Algorithm, rank: usize) -> (Vec<usize>, Vec<usize>) {
    let (mut opens, mut accepts) = neighbors(algorithm, job.ranks(), rank);
    if job.is_one_way() && algorithm != Algorithm::Ring {
        // Both send to each other: a connection for each direction.
        opens.append(&mut accepts);
        opens.sort_unstable();
        accepts.clone_from(&opens);
    }
    (opens, accepts)
}

/// A lane that a rank waits for.
type AwaitedLane = (Algorithm, usize, usize);

/// Opens and accepts all connections of a rank.
///
/// # Errors
/// A rank did not come up within the time to connect, or the path master refuses.
pub(crate) fn connect_all(job: &Job, rank: usize, channel: &Channel) -> Result<Links, WorkerError> {
    let until_ns = clock::monotonic_ns() + (job.connect_s * 1e9) as u64;
    let listener = listener(job, rank)?;
    let mut groups = Vec::new();
    let mut awaited: Vec<AwaitedLane> = Vec::new();
    for algorithm in algorithms(job) {
        let (opens, accepts) = doors(job, algorithm, rank);
        groups.extend(opens.into_iter().map(|to| LaneGroup { algorithm, to }));
        let lanes = |from| (0..job.lanes).map(move |lane| (algorithm, from, lane));
        awaited.extend(accepts.into_iter().flat_map(lanes));
    }
    let mut all: Vec<(Algorithm, Connections)> =
        algorithms(job).into_iter().map(|algorithm| (algorithm, Connections::default())).collect();
    let master = PathMaster::join(job, rank, &groups, until_ns)?;
    for (at, group) in groups.iter().enumerate() {
        let LaneGroup { algorithm, to } = *group;
        for lane in 0..job.lanes {
            let port = match &master {
                Some((_, ports)) => ports[at].get(lane).copied(),
                None => job.source_port(algorithm, rank, to, lane),
            };
            let greeting = Greeting { algorithm, from: rank, to, ranks: job.ranks(), lane, generation: 0 };
            let stream = open(job, greeting, port, until_ns)?;
            enter(job, &mut all, channel, greeting, true, stream)?;
        }
    }
    while !awaited.is_empty() {
        let (greeting, stream) = accept(job, rank, &listener, &awaited, until_ns)?;
        awaited.retain(|one| *one != (greeting.algorithm, greeting.from, greeting.lane));
        enter(job, &mut all, channel, greeting, false, stream)?;
    }
    let service = master.map(|(master, _)| PathService::new(job.clone(), rank, listener, master, groups));
    Ok(Links { all, service })
}

/// Enters a connection that this rank opened or accepted, and lists it for the observer.
fn enter(
    job: &Job,
    all: &mut [(Algorithm, Connections)],
    channel: &Channel,
    greeting: Greeting,
    opened: bool,
    stream: TcpStream,
) -> Result<(), WorkerError> {
    let Greeting { algorithm, from, to, lane, generation, .. } = greeting;
    let peer = if opened { to } else { from };
    let broke = |error: io::Error| failed(format!("the connection with rank {peer} broke"), &error);
    let is_both = algorithm != Algorithm::Ring && !job.is_one_way();
    let (local, remote) = ends_of(&stream).map_err(broke)?;
    let slot = channel.list(ConnectionName {
        local,
        remote,
        peer: peer as u32,
        sends: opened || is_both,
        receives: !opened || is_both,
        algorithm: algorithm as u8,
        lane: lane as u8,
    });
    let Some((_, connections)) = all.iter_mut().find(|one| one.0 == algorithm) else { return Ok(()) };
    let mut receives = |lane: usize, stream: TcpStream| {
        let lanes = connections.receives.entry(peer).or_default();
        // Lanes come in any order.
        let at = lanes.partition_point(|one: &ReceiveLane| one.lane < lane);
        let mut receives = ReceiveLane::new(lane, stream, slot, job.tcp.window);
        receives.generation = generation;
        lanes.insert(at, receives);
    };
    match (opened, is_both) {
        (false, false) => {
            receives(lane, stream);
            return Ok(());
        }
        (_, true) => receives(lane, stream.try_clone().map_err(broke)?),
        (true, false) => {}
    }
    let replay = job.paths.is_some().then(|| ReplayRing::new(outstanding_max(job, &stream)));
    connections.sends.entry(peer).or_default().push(SendLane::new(stream, slot, replay));
    Ok(())
}

pub(crate) fn failed(what: String, error: &dyn std::fmt::Display) -> WorkerError {
    WorkerError::Failed(format!("{what}: {error}"))
}

fn listener(job: &Job, rank: usize) -> Result<TcpListener, WorkerError> {
    let address = job.address(rank);
    let make = || -> io::Result<TcpListener> {
        let fd = tcp_socket(job, SockFlag::SOCK_NONBLOCK)?;
        setsockopt(&fd, sockopt::ReuseAddr, &true)?;
        bind(fd.as_raw_fd(), &SockaddrIn::from(address))?;
        listen(&fd, Backlog::MAXALLOWABLE)?;
        Ok(fd.into())
    };
    make().map_err(|error| failed(format!("rank {rank} cannot listen on {address}"), &error))
}

fn open(job: &Job, greeting: Greeting, port: Option<u16>, until_ns: u64) -> Result<TcpStream, WorkerError> {
    let Greeting { from: rank, to, .. } = greeting;
    let address = job.address(to);
    loop {
        let error = match open_once(job, rank, port, address) {
            Ok(mut stream) => {
                let greeted = stream.write_all(&greeting.bytes());
                match greeted.and_then(|()| stream.set_nonblocking(true)) {
                    Ok(()) => return Ok(stream),
                    Err(error) => error,
                }
            }
            Err(error) => error,
        };
        if clock::monotonic_ns() >= until_ns {
            let from = port.map_or(String::new(), |port| format!(" from port {port}"));
            let what = format!("rank {to} did not come up at {address} within {} s{from}", job.connect_s);
            return Err(failed(what, &error));
        }
        std::thread::sleep(RETRY);
    }
}

/// One attempt to connect, with an own timeout: the address may be of a host that is not up.
fn open_once(job: &Job, rank: usize, port: Option<u16>, to: SocketAddrV4) -> io::Result<TcpStream> {
    let fd = tcp_socket(job, SockFlag::empty())?;
    let wait = nix::sys::time::TimeVal::new(1, 0);
    setsockopt(&fd, sockopt::SendTimeout, &wait)?;
    if port.is_some() {
        setsockopt(&fd, sockopt::ReuseAddr, &true)?;
    }
    let own = SocketAddrV4::new(job.addresses[rank], port.unwrap_or(0));
    bind(fd.as_raw_fd(), &SockaddrIn::from(own))?;
    connect(fd.as_raw_fd(), &SockaddrIn::from(to))?;
    let stream = TcpStream::from(fd);
    if stream.local_addr()? == SocketAddr::V4(to) {
        // A port that nobody listens on yet, and that the kernel chose for this end, connects to itself.
        return Err(io::Error::from(ErrorKind::ConnectionRefused));
    }
    Ok(stream)
}

fn accept(
    job: &Job,
    rank: usize,
    listener: &TcpListener,
    awaited: &[AwaitedLane],
    until_ns: u64,
) -> Result<(Greeting, TcpStream), WorkerError> {
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                if let Ok(greeting) = greeted(job, rank, &stream, awaited) {
                    let set = stream
                        .set_nodelay(true)
                        .and_then(|()| stream.set_nonblocking(true))
                        .and_then(|()| answer(&stream, greeting));
                    let from = greeting.from;
                    set.map_err(|error| failed(format!("the connection with rank {from} broke"), &error))?;
                    return Ok((greeting, stream));
                }
                // Anything else that connects is no rank of this job, and is closed.
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if clock::monotonic_ns() >= until_ns {
                    let missing = awaited.first().map_or(0, |one| one.1);
                    let (address, limit) = (job.address(missing), job.connect_s);
                    let text =
                        format!("rank {missing} ({address}) did not connect to rank {rank} within {limit} s");
                    return Err(WorkerError::Failed(text));
                }
                std::thread::sleep(RETRY / 10);
            }
            Err(error) => return Err(failed(format!("rank {rank} cannot accept connections"), &error)),
        }
    }
}

/// Answers a lane that moved before it was ever accepted: nothing of it was read.
fn answer(mut stream: &TcpStream, greeting: Greeting) -> io::Result<()> {
    if greeting.generation > 0 { stream.write_all(&[0; ANSWER]) } else { Ok(()) }
}

fn greeted(job: &Job, rank: usize, mut stream: &TcpStream, awaited: &[AwaitedLane]) -> io::Result<Greeting> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    let mut bytes = [0; GREETING];
    stream.read_exact(&mut bytes)?;
    let is_meant = |one: &Greeting| {
        (one.to, one.ranks) == (rank, job.ranks())
            && (one.generation == 0 || job.paths.is_some())
            && awaited.contains(&(one.algorithm, one.from, one.lane))
    };
    Greeting::read(&bytes).filter(is_meant).ok_or_else(|| io::Error::from(ErrorKind::InvalidData))
}
