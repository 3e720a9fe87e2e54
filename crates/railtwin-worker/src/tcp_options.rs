//! Sockets of a job with the options that its file asks for.
#![allow(
    unsafe_code,
    reason = "TCP_WINDOW_CLAMP is unknown to nix; its macro for further options calls setsockopt"
)]
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};

use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, getsockopt, setsockopt, socket, sockopt};

use crate::error::WorkerError;
use crate::job::Job;
use crate::network_spec::TcpSpec;

/// Receive window of connections that may move to other paths, where the job names none, bytes.
const WINDOW: u32 = 256 << 10;
/// Room of a replay ring beyond both buffers, bytes: a kernel takes one packet more than a buffer holds, of 64 KiB at most.
const PACKETS: usize = 4 * (64 << 10);

#[derive(Clone, Copy, Debug)]
struct WindowClamp;
nix::setsockopt_impl!(WindowClamp, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, usize, sockopt::SetUsize);

/// Creates a TCP socket with the options of the job. A listener hands them on to the connections that it accepts.
///
/// # Errors
/// The kernel refuses an option; a congestion control by name, with those that it has.
pub(crate) fn tcp_socket(job: &Job, flags: SockFlag) -> io::Result<OwnedFd> {
    let fd = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC | flags, None)?;
    let TcpSpec { congestion, window, send_buffer, linger } = &job.tcp;
    setsockopt(&fd, sockopt::SndBuf, &(*send_buffer as usize))?;
    setsockopt(&fd, sockopt::TcpNoDelay, &true)?;
    if let Some(name) = congestion {
        let set = setsockopt(&fd, sockopt::TcpCongestion, &name.into());
        set.map_err(|errno| io::Error::other(format!("congestion = {name:?} is refused: {errno}")))?;
    }
    if let Some(bytes) = receive_window(job) {
        // A fixed buffer: the kernel's automatic one raises the clamp as it grows. It is twice as large as the window, so that
        // the clamp limits, whatever the overhead of packets.
        setsockopt(&fd, sockopt::RcvBuf, &(2 * bytes as usize))?;
    }
    if let Some(bytes) = window {
        setsockopt(&fd, WindowClamp, &(*bytes as usize))?;
    }
    if !linger {
        close_at_once(&fd);
    }
    Ok(fd)
}

/// Holds the receive window of a connection. The kernel forgets the clamp when it first sees how long packets are.
pub(crate) fn clamp_window(stream: &TcpStream, bytes: u32) {
    // A connection that is gone has no window.
    let _ = setsockopt(stream, WindowClamp, &(bytes as usize));
}

/// Receive window that the job fixes, bytes.
fn receive_window(job: &Job) -> Option<u32> {
    job.tcp.window.or(job.paths.as_ref().map(|_| WINDOW))
}

/// Most bytes of a connection that its sender has handed over and its receiver has not read: both buffers. The kernel makes
/// them twice as large as asked for.
pub(crate) fn outstanding_max(job: &Job, stream: &TcpStream) -> usize {
    let asked = job.tcp.send_buffer as usize;
    let send = getsockopt(stream, sockopt::SndBuf).unwrap_or(0).max(2 * asked);
    send + 4 * receive_window(job).unwrap_or(WINDOW) as usize + PACKETS
}

/// Makes the end of a connection free its ports at once, with nothing sent that still waits.
pub(crate) fn close_at_once(socket: &impl AsFd) {
    // A connection that is gone has freed them already.
    let _ = setsockopt(socket, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 });
}

/// Checks that the kernel accepts the options of a job; `shown` is its file in errors.
///
/// # Errors
/// An option is refused, with what is available.
pub(crate) fn check(job: &Job, shown: &str) -> Result<(), WorkerError> {
    tcp_socket(job, SockFlag::empty()).map(drop).map_err(|error| {
        let list = |name: &str| {
            let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/tcp_{name}_congestion_control"));
            text.map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
        };
        let accepted =
            format!("available: {}; allowed without privilege: {}", list("available"), list("allowed"));
        WorkerError::input(format!("{shown}: [tcp]: {error}"), accepted)
    })
}
