//! Lanes: the connections that share what one rank sends to another. A lane is a stream of bytes that outlives connections.
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

use crate::attempt::Attempt;
use crate::replay::ReplayRing;
use crate::schedule::{ELEMENT, Transfer, part};
use crate::tcp_options::{clamp_window, close_at_once};

/// Most lanes between two ranks.
pub(crate) const LANES_MAX: usize = 16;

/// Written back by a rank that has read all that it ever reads of a lane.
const GOODBYE: [u8; 1] = [0x42];

/// The part of a transfer that lane `at` of `lanes` carries: whole elements, as equal as possible; a range of the buffer.
pub(crate) fn lane_part(one: &Transfer, lanes: usize, at: usize) -> (usize, usize) {
    if lanes == 1 {
        return (one.begin, one.end);
    }
    let (begin, end) = part(one.begin / ELEMENT, one.end / ELEMENT, lanes, at);
    (begin * ELEMENT, end * ELEMENT)
}

/// The sending end of a lane.
#[derive(Debug)]
pub(crate) struct SendLane {
    /// The connection that carries data now.
    pub(crate) stream: TcpStream,
    /// Place in the list of connections that the observer reads.
    pub(crate) slot: Option<usize>,
    /// Bytes of the stream that were taken from the rank.
    pub(crate) position: u64,
    /// Bytes of the stream up to which the present connection has been given them.
    pub(crate) given: u64,
    /// The newest bytes, of a lane that can move.
    pub(crate) replay: Option<ReplayRing>,
    /// Connections that are to replace the present one, the oldest first.
    pub(crate) attempts: Vec<Attempt>,
    /// Generation of the newest greeting.
    pub(crate) generation: u32,
    /// Error number of the present connection, once it broke; 0: the peer closed it.
    pub(crate) errno: Option<i32>,
    /// Whether the receiver has read all that it ever reads.
    pub(crate) is_over: bool,
}

impl SendLane {
    pub(crate) fn new(stream: TcpStream, slot: Option<usize>, replay: Option<ReplayRing>) -> Self {
        Self {
            stream,
            slot,
            position: 0,
            given: 0,
            replay,
            attempts: Vec::new(),
            generation: 0,
            errno: None,
            is_over: false,
        }
    }

    /// Sends bytes; returns how many.
    ///
    /// # Errors
    /// `WouldBlock` where none can be sent now; or the connection broke, and no other one can be under way.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.replay.is_some() && !self.catch_up()? {
            return Err(ErrorKind::WouldBlock.into());
        }
        match (&self.stream).write(bytes) {
            Ok(count) => {
                if let Some(replay) = &mut self.replay {
                    replay.push(self.position, &bytes[..count]);
                }
                self.position += count as u64;
                self.given = self.position;
                Ok(count)
            }
            Err(error) if is_passing(&error) => Err(error),
            Err(error) => Err(self.broke(error)),
        }
    }

    /// Sends again what the receiver lacks; returns whether all of it is given.
    ///
    /// # Errors
    /// As [`SendLane::write`].
    pub(crate) fn catch_up(&mut self) -> io::Result<bool> {
        if let Some(errno) = self.errno {
            let is_awaited = self.has_greeted();
            return if is_awaited { Ok(false) } else { Err(io::Error::from_raw_os_error(errno)) };
        }
        while let Some(replay) = self.replay.as_ref().filter(|_| self.given < self.position) {
            match (&self.stream).write(replay.from(self.given, self.position)) {
                Ok(count) => self.given += count as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.broke(error)),
            }
        }
        Ok(true)
    }

    /// Goes over to another connection, whose receiver has read `consumed` bytes of the lane.
    ///
    /// # Errors
    /// The receiver lacks bytes that are kept no more, or has read some that were never sent.
    pub(crate) fn go_over(&mut self, stream: TcpStream, consumed: u64) -> Result<(), String> {
        let kept = self.replay.as_ref().map_or(0, ReplayRing::capacity).min(self.position);
        if consumed > self.position || self.position - consumed > kept {
            return Err(format!(
                "a lane cannot move: its receiver has read {consumed} of {} bytes, the newest {kept} of which are kept",
                self.position
            ));
        }
        let before = std::mem::replace(&mut self.stream, stream);
        close_at_once(&before);
        (self.given, self.errno) = (consumed, None);
        Ok(())
    }

    /// Notes that the present connection broke. A receiver that has read the greeting of another one closes it, so this is
    /// no error then.
    fn broke(&mut self, error: io::Error) -> io::Error {
        self.errno = Some(error.raw_os_error().unwrap_or(0));
        if self.has_greeted() { ErrorKind::WouldBlock.into() } else { error }
    }

    /// Whether the receiver may have gone over to a connection that has not answered yet.
    pub(crate) fn has_greeted(&self) -> bool {
        self.attempts.iter().any(Attempt::has_greeted)
    }

    /// Whether it waits for another connection, as the present one broke.
    pub(crate) const fn is_stalled(&self) -> bool {
        self.errno.is_some()
    }

    /// Whether bytes must be sent again, and can be.
    pub(crate) const fn is_behind(&self) -> bool {
        self.given < self.position && self.errno.is_none()
    }

    /// Whether something is to be done for it besides sending what the rank gives.
    pub(crate) const fn is_active(&self) -> bool {
        !self.attempts.is_empty() || self.is_behind()
    }
}

/// Whether an error says nothing of the connection.
pub(crate) fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// The receiving end of a lane.
#[derive(Debug)]
pub(crate) struct ReceiveLane {
    /// Its number.
    pub(crate) lane: usize,
    /// The connection that carries data now.
    pub(crate) stream: TcpStream,
    /// Place in the list of connections that the observer reads.
    pub(crate) slot: Option<usize>,
    /// Bytes of the stream that the rank has read.
    pub(crate) consumed: u64,
    /// Generation of the present connection.
    pub(crate) generation: u32,
    /// Largest window of the job, bytes.
    window: Option<u32>,
    /// Byte of the stream at which the window is clamped again, and how many bytes later after that.
    clamp_at: u64,
    clamp_after: u64,
}

impl ReceiveLane {
    pub(crate) fn new(lane: usize, stream: TcpStream, slot: Option<usize>, window: Option<u32>) -> Self {
        let clamp_at = if window.is_some() { 1 } else { u64::MAX };
        Self { lane, stream, slot, consumed: 0, generation: 0, window, clamp_at, clamp_after: 1 }
    }

    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = (&self.stream).read(into)?;
        self.consumed += count as u64;
        if self.consumed >= self.clamp_at {
            self.clamp();
        }
        Ok(count)
    }

    /// Tells the sender that everything was read that ever will be.
    pub(crate) fn say_goodbye(&self) {
        // A peer that is gone needs none.
        let _ = (&self.stream).write(&GOODBYE);
    }

    /// Clamps the window, ever more seldom: packets have their length soon.
    fn clamp(&mut self) {
        if let Some(bytes) = self.window {
            clamp_window(&self.stream, bytes);
            self.clamp_at = self.consumed + self.clamp_after;
            self.clamp_after *= 2;
        }
    }

    /// Goes over to another connection; returns the one before.
    pub(crate) fn go_over(&mut self, stream: TcpStream, generation: u32) -> TcpStream {
        self.generation = generation;
        if self.window.is_some() {
            (self.clamp_at, self.clamp_after) = (self.consumed + 1, 1);
        }
        std::mem::replace(&mut self.stream, stream)
    }
}
