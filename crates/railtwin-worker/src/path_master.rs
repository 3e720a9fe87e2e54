//! A rank's socket to the path master.
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::clock;
use crate::error::WorkerError;
use crate::job::{Algorithm, Job};
use crate::path_lines::{MasterLine, RankLine, parse};

/// Longest line, bytes.
const LINE_MAX: usize = 64 << 10;
/// Time between attempts to connect.
const RETRY: Duration = Duration::from_millis(50);

/// The lanes of an algorithm to one rank: what a master gives ports to. Its number is its place in the list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneGroup {
    pub(crate) algorithm: Algorithm,
    pub(crate) to: usize,
}

/// The socket, and lines that wait on it.
#[derive(Debug)]
pub(crate) struct PathMaster {
    /// None once the master has gone away.
    stream: Option<UnixStream>,
    shown: String,
    received: Vec<u8>,
    lines: u64,
    to_send: Vec<u8>,
    /// Moves that came before all connections stood.
    early: Vec<MasterLine>,
}

/// A master, and the ports that it gave to each group, by lane.
pub(crate) type JoinedMaster = (PathMaster, Vec<Vec<u16>>);

impl PathMaster {
    /// Connects to the master of a job, asks for the ports of all groups of a rank, and waits for them. Returns the ports of
    /// each group.
    ///
    /// # Errors
    /// The job's time to connect is over, the master refuses, or it sends anything else.
    pub(crate) fn join(
        job: &Job,
        rank: usize,
        groups: &[LaneGroup],
        until_ns: u64,
    ) -> Result<Option<JoinedMaster>, WorkerError> {
        let Some(spec) = &job.paths else { return Ok(None) };
        let shown = spec.socket.display().to_string();
        let failed = |error: &dyn std::fmt::Display| {
            WorkerError::Failed(format!("rank {rank}: path master {shown}: {error}"))
        };
        let stream = loop {
            match UnixStream::connect(&spec.socket) {
                Ok(stream) => break stream,
                Err(error) if clock::monotonic_ns() >= until_ns => return Err(failed(&error)),
                Err(_) => std::thread::sleep(RETRY),
            }
        };
        stream.set_nonblocking(true).map_err(|error| failed(&error))?;
        let mut master = Self {
            stream: Some(stream),
            shown: shown.clone(),
            received: Vec::new(),
            lines: 0,
            to_send: Vec::new(),
            early: Vec::new(),
        };
        for (id, group) in groups.iter().enumerate() {
            let (from, to) = (job.addresses[rank], job.address(group.to));
            master.send(&RankLine::Open { id: id as u64, job: spec.job, from, to, lanes: job.lanes });
        }
        let mut ports = vec![Vec::new(); groups.len()];
        loop {
            for line in master.receive().map_err(WorkerError::Failed)? {
                master.book(line, job.lanes, &mut ports).map_err(|message| failed(&message))?;
            }
            if !ports.iter().any(Vec::is_empty) {
                return Ok(Some((master, ports)));
            }
            if master.stream.is_none() {
                return Err(failed(&"it closed the connection before it gave ports"));
            }
            let now_ns = clock::monotonic_ns();
            if now_ns >= until_ns {
                let missing = ports.iter().position(Vec::is_empty).map_or(0, |at| groups[at].to);
                let address: SocketAddrV4 = job.address(missing);
                let limit = job.connect_s;
                return Err(failed(&format!("no ports for rank {missing} ({address}) within {limit} s")));
            }
            master.wait(until_ns - now_ns);
        }
    }

    /// Books a line that came before all groups had ports.
    fn book(&mut self, line: MasterLine, lanes: usize, ports: &mut [Vec<u16>]) -> Result<(), String> {
        match line {
            MasterLine::Ports { id, ports: given } => {
                let of = usize::try_from(id).ok().and_then(|id| ports.get_mut(id));
                let of = of.ok_or_else(|| format!("ports of id {id}, which nobody asked for"))?;
                let mut sorted = given.clone();
                sorted.sort_unstable();
                sorted.dedup();
                if given.len() != lanes || sorted.len() != lanes || sorted.first() == Some(&0) {
                    return Err(format!(
                        "ports {given:?} of id {id}; accepted: {lanes} different ports from 1 on"
                    ));
                }
                *of = given;
            }
            MasterLine::Error { message, .. } => return Err(message),
            MasterLine::Move { .. } => self.early.push(line),
        }
        Ok(())
    }

    /// Waits until lines may have come or gone out, at most so long.
    fn wait(&self, left_ns: u64) {
        let Some((fd, flags)) = self.awaited() else { return };
        let ms = u16::try_from(left_ns / 1_000_000 + 1).unwrap_or(u16::MAX);
        // Interrupted or not: the caller looks at the time.
        let _ = poll(&mut [PollFd::new(fd, flags)], PollTimeout::from(ms));
    }

    /// The socket, and what to wait for on it.
    pub(crate) fn awaited(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        let out = if self.to_send.is_empty() { PollFlags::empty() } else { PollFlags::POLLOUT };
        self.stream.as_ref().map(|stream| (stream.as_fd(), PollFlags::POLLIN | out))
    }

    /// Sends a line, now or when the master reads again.
    pub(crate) fn send(&mut self, line: &RankLine<'_>) {
        if self.stream.is_some()
            && let Ok(text) = serde_json::to_string(line)
        {
            self.to_send.extend_from_slice(text.as_bytes());
            self.to_send.push(b'\n');
        }
        self.flush();
    }

    /// Sends what can be sent of the lines that wait.
    pub(crate) fn flush(&mut self) {
        while let Some(stream) = self.stream.as_mut().filter(|_| !self.to_send.is_empty()) {
            match stream.write(&self.to_send) {
                Ok(count) => drop(self.to_send.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return self.gone(&error),
            }
        }
    }

    /// Receives all lines that have come.
    ///
    /// # Errors
    /// A line that is none of the master's, by its number and text.
    pub(crate) fn receive(&mut self) -> Result<Vec<MasterLine>, String> {
        let mut bytes = [0; 4_096];
        let mut lines = Vec::new();
        while let Some(stream) = &mut self.stream {
            match stream.read(&mut bytes) {
                Ok(0) => self.gone(&io::Error::from(ErrorKind::UnexpectedEof)),
                Ok(count) => self.received.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => self.gone(&error),
            }
            self.cut(&mut lines)?;
        }
        Ok(lines)
    }

    /// Takes whole lines out of what was received.
    fn cut(&mut self, lines: &mut Vec<MasterLine>) -> Result<(), String> {
        while let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
            self.lines += 1;
            let line = &self.received[..end];
            if !line.trim_ascii().is_empty() {
                lines.push(parse(line, self.lines, &self.shown)?);
            }
            self.received.drain(..=end);
        }
        if self.received.len() > LINE_MAX {
            let (shown, number) = (&self.shown, self.lines + 1);
            return Err(format!("path master {shown}: line {number} is longer than {LINE_MAX} bytes"));
        }
        Ok(())
    }

    /// Whether moves wait that came before all connections stood.
    pub(crate) const fn has_early(&self) -> bool {
        !self.early.is_empty()
    }

    /// Moves that came before all connections stood; once.
    pub(crate) fn early(&mut self) -> Vec<MasterLine> {
        std::mem::take(&mut self.early)
    }

    fn gone(&mut self, error: &io::Error) {
        eprintln!("path master {} is gone ({error}): source ports stay as they are", self.shown);
        self.stream = None;
        self.to_send.clear();
    }
}
