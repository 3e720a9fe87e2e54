//! A record of all LACPDUs of the scene: what each port hears, and when.
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use railtwin_formats::frames::encode_capture;

use super::host_thread::HostThread;
use super::packet::{PacketSocket, SLOW};
use super::scene::within;
use crate::host::{LabError, now_ns};

/// A frame that a port heard.
#[derive(Clone, Debug)]
struct HeardFrame {
    at_ns: u64,
    port: usize,
    bytes: Vec<u8>,
}

/// The record, which goes on until it is dropped.
#[derive(Debug)]
pub(super) struct Record {
    ports: Vec<String>,
    heard: Arc<Mutex<Vec<HeardFrame>>>,
    _thread: HostThread,
}

impl Record {
    /// Listens at ports, each a namespace and an interface in it.
    ///
    /// # Errors
    /// One of them is missing.
    pub(super) fn start(ports: &[(&str, &str)]) -> Result<Self, LabError> {
        let open = |&(namespace, interface): &(&str, &str)| {
            within(namespace, || PacketSocket::open(interface, SLOW))
        };
        let sockets = ports.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let heard = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&heard);
        let thread = HostThread::start(move |is_stopped| {
            let mut buffer = [0; 2_048];
            while !is_stopped() {
                let mut waits: Vec<PollFd<'_>> =
                    sockets.iter().map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN)).collect();
                // Interrupted, it looks again.
                let _ = poll(&mut waits, PollTimeout::from(50_u16));
                for (port, socket) in sockets.iter().enumerate() {
                    while let Ok(Some(length)) = socket.receive(&mut buffer) {
                        let frame = HeardFrame { at_ns: now_ns(), port, bytes: buffer[..length].to_vec() };
                        into.lock().unwrap_or_else(PoisonError::into_inner).push(frame);
                    }
                }
            }
        });
        let names = ports.iter().map(|(namespace, interface)| format!("{namespace}/{interface}")).collect();
        Ok(Self { ports: names, heard, _thread: thread })
    }

    /// Time since a port, by its row, heard its last LACPDU before `at_ns`; none where it heard none.
    pub(super) fn age_ns(&self, port: usize, at_ns: u64) -> Option<u64> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let before = heard.iter().rev().find(|frame| frame.port == port && frame.at_ns <= at_ns);
        before.map(|frame| at_ns - frame.at_ns)
    }

    /// A capture (pcapng) of what each port heard, without frames that are the same as the one before.
    pub(super) fn capture(&self) -> Vec<u8> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |port: usize| {
            let own = heard.iter().filter(|frame| frame.port == port).map(|frame| frame.bytes.clone());
            let mut frames: Vec<Vec<u8>> = own.collect();
            frames.dedup();
            frames
        };
        let ports: Vec<_> =
            self.ports.iter().enumerate().map(|(port, name)| (name.clone(), of(port))).collect();
        encode_capture(&ports)
    }
}
