//! Connections between ranks: opened with retry until a time limit, told by a greeting.
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, connect, listen, setsockopt, socket,
    sockopt,
};

use crate::clock;
use crate::error::WorkerError;
use crate::events::{Channel, ConnectionName};
use crate::exchange::Connections;
use crate::job::{Algorithm, Job};
use crate::schedule::neighbors;

/// Send buffer of a connection. The kernel's automatic size takes a whole operation, so that no wait to send is seen.
const SEND_BUFFER: usize = 64 << 10;
/// Greeting: its mark, the algorithm, the rank that opens, the rank that is meant, the number of ranks.
const GREETING: usize = 12;
const MARK: [u8; 4] = *b"rtw1";
/// Time between attempts.
const RETRY: Duration = Duration::from_millis(50);

/// Algorithms of a job, each once.
pub(crate) fn algorithms(job: &Job) -> Vec<Algorithm> {
    let mut all: Vec<Algorithm> = job.collectives.iter().map(|one| one.algorithm).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn greeting(algorithm: Algorithm, from: usize, to: usize, ranks: usize) -> [u8; GREETING] {
    let mut bytes = [0; GREETING];
    bytes[..4].copy_from_slice(&MARK);
    bytes[4] = algorithm as u8;
    bytes[5] = from as u8;
    bytes[6] = to as u8;
    bytes[7] = ranks as u8;
    bytes
}

/// Opens and accepts all connections of a rank; those of each algorithm, in the order of [`algorithms`].
pub(crate) fn connect_all(
    job: &Job,
    rank: usize,
    channel: &Channel,
) -> Result<Vec<(Algorithm, Connections)>, WorkerError> {
    let until_ns = clock::monotonic_ns() + (job.connect_s * 1e9) as u64;
    let listener = listener(job, rank)?;
    let mut all: Vec<(Algorithm, Connections)> =
        algorithms(job).into_iter().map(|algorithm| (algorithm, Connections::default())).collect();
    let mut awaited = Vec::new();
    for (algorithm, connections) in &mut all {
        let (opens, accepts) = neighbors(*algorithm, job.ranks(), rank);
        for to in opens {
            let stream = open(job, *algorithm, rank, to, until_ns)?;
            note(channel, &stream, to, *algorithm, true)?;
            connections.sends.insert(to, stream);
        }
        awaited.extend(accepts.into_iter().map(|from| (*algorithm, from)));
    }
    while !awaited.is_empty() {
        let (algorithm, from, stream) = accept(job, rank, &listener, &awaited, until_ns)?;
        note(channel, &stream, from, algorithm, false)?;
        awaited.retain(|one| *one != (algorithm, from));
        let of = all.iter_mut().find(|one| one.0 == algorithm);
        let Some((_, connections)) = of else { continue };
        match algorithm {
            Algorithm::Ring => connections.receives.insert(from, stream),
            _ => connections.sends.insert(from, stream),
        };
    }
    Ok(all)
}

fn failed(what: String, error: &dyn std::fmt::Display) -> WorkerError {
    WorkerError::Failed(format!("{what}: {error}"))
}

fn listener(job: &Job, rank: usize) -> Result<TcpListener, WorkerError> {
    let address = job.address(rank);
    let make = || -> nix::Result<OwnedFd> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let fd = socket(AddressFamily::Inet, SockType::Stream, flags, None)?;
        setsockopt(&fd, sockopt::ReuseAddr, &true)?;
        setsockopt(&fd, sockopt::SndBuf, &SEND_BUFFER)?;
        bind(fd.as_raw_fd(), &SockaddrIn::from(address))?;
        listen(&fd, Backlog::MAXALLOWABLE)?;
        Ok(fd)
    };
    make()
        .map(TcpListener::from)
        .map_err(|errno| failed(format!("rank {rank} cannot listen on {address}"), &errno))
}

/// Notes a connection for the observer.
fn note(
    channel: &Channel,
    stream: &TcpStream,
    peer: usize,
    algorithm: Algorithm,
    opened: bool,
) -> Result<(), WorkerError> {
    let end = |address: io::Result<SocketAddr>| match address {
        Ok(SocketAddr::V4(address)) => Ok((u32::from(*address.ip()), address.port())),
        Ok(SocketAddr::V6(address)) => Ok((u32::from(Ipv4Addr::UNSPECIFIED), address.port())),
        Err(error) => Err(failed(format!("the connection with rank {peer} broke"), &error)),
    };
    let is_both = algorithm != Algorithm::Ring;
    channel.list(ConnectionName {
        local: end(stream.local_addr())?,
        remote: end(stream.peer_addr())?,
        peer: peer as u32,
        sends: opened || is_both,
        receives: !opened || is_both,
    });
    Ok(())
}

fn open(
    job: &Job,
    algorithm: Algorithm,
    rank: usize,
    to: usize,
    until_ns: u64,
) -> Result<TcpStream, WorkerError> {
    let address = job.address(to);
    let port = job.source_port(algorithm, rank, to);
    loop {
        let error = match open_once(job.addresses[rank], port, address) {
            Ok(mut stream) => {
                let greeted = stream.write_all(&greeting(algorithm, rank, to, job.ranks()));
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
fn open_once(own: Ipv4Addr, port: Option<u16>, to: SocketAddrV4) -> io::Result<TcpStream> {
    let fd = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(&fd, sockopt::SndBuf, &SEND_BUFFER)?;
    setsockopt(&fd, sockopt::TcpNoDelay, &true)?;
    let wait = nix::sys::time::TimeVal::new(1, 0);
    setsockopt(&fd, sockopt::SendTimeout, &wait)?;
    if port.is_some() {
        setsockopt(&fd, sockopt::ReuseAddr, &true)?;
    }
    bind(fd.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(own, port.unwrap_or(0))))?;
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
    awaited: &[(Algorithm, usize)],
    until_ns: u64,
) -> Result<(Algorithm, usize, TcpStream), WorkerError> {
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                if let Ok((algorithm, from)) = greeted(job, rank, &stream, awaited) {
                    let set = stream.set_nodelay(true).and_then(|()| stream.set_nonblocking(true));
                    set.map_err(|error| failed(format!("the connection with rank {from} broke"), &error))?;
                    return Ok((algorithm, from, stream));
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

fn greeted(
    job: &Job,
    rank: usize,
    mut stream: &TcpStream,
    awaited: &[(Algorithm, usize)],
) -> io::Result<(Algorithm, usize)> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    let mut bytes = [0; GREETING];
    stream.read_exact(&mut bytes)?;
    let is_meant = |one: &&(Algorithm, usize)| bytes == greeting(one.0, one.1, rank, job.ranks());
    awaited.iter().find(is_meant).copied().ok_or_else(|| io::Error::from(ErrorKind::InvalidData))
}
