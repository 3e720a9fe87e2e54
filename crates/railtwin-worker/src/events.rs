//! Events of a rank: fixed-size words in a ring in shared memory, written without system calls and allocation.
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::shared::SharedMemory;

/// Words of an event.
const EVENT: usize = 6;
/// Events that the ring holds: some seconds of a job with 1,000 stages a second.
const CAPACITY: u64 = 16_384;
/// Most connections of a rank: with 64 ranks and 16 lanes, of a ring 2 x 16, of a tree 6 x 16, of an all-to-all 126 x 16.
pub(crate) const CONNECTIONS: usize = 2_144;
/// Words of a connection.
const CONNECTION: usize = 3;

/// Words of the header.
#[derive(Clone, Copy)]
pub(crate) enum Word {
    /// Events written.
    Head,
    /// Events read.
    Tail,
    /// Events lost, as the ring was full.
    Lost,
    /// Phase of the step, [`StepPhase`].
    Phase,
    /// Number of the newest step.
    Step,
    /// Number of the newest operation that the rank has entered.
    Operation,
    /// 1 within an operation.
    Inside,
    /// Stages received and sent in it.
    Received,
    Sent,
    /// Connections that are listed.
    Connections,
    /// How often one of them was replaced.
    Replaced,
    /// 1 once the rank is connected and steps.
    Running,
    /// 1 when the observer asks the job to stop.
    Stop,
    /// Events that the observer has written to its file.
    Flushed,
    /// Steps that the rank has ended, and the time that they took, ns.
    Steps,
    StepsNs,
    /// CPU time of recording in the rank, ns.
    CostNs,
    Count,
}

/// Phases, as `ph` has them.
#[derive(Clone, Copy)]
pub(crate) enum StepPhase {
    Connecting,
    Data,
    Compute,
    Communication,
    Checkpoint,
}

const HEADER: usize = Word::Count as usize;
const RING: usize = HEADER + CONNECTIONS * CONNECTION;
const WORDS: usize = RING + CAPACITY as usize * EVENT;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Event {
    /// The phases that the rank spends alone ended at `t`, ns; their lengths in us.
    Step {
        t: u64,
        step: u64,
        data: u64,
        comp: u64,
    },
    Entered {
        t: u64,
        seq: u64,
        bytes: u64,
    },
    /// Waits of a stage of the operation that ends next, us.
    Stage {
        waits: [u64; 3],
    },
    Ended {
        t: u64,
        seq: u64,
        entered: u64,
        to: Option<u32>,
        from: Option<u32>,
    },
    Broken {
        t: u64,
        seq: u64,
        sends: bool,
        peer: u32,
        errno: i32,
    },
}

fn packed(rank: Option<u32>) -> u64 {
    rank.map_or(0, |rank| u64::from(rank) + 1)
}

fn unpacked(word: u64) -> Option<u32> {
    u32::try_from(word).ok()?.checked_sub(1)
}

impl Event {
    fn words(self) -> [u64; EVENT] {
        match self {
            Self::Step { t, step, data, comp } => [1, t, step, data, comp, 0],
            Self::Entered { t, seq, bytes } => [2, t, seq, bytes, 0, 0],
            Self::Stage { waits: [a, b, c] } => [3, a, b, c, 0, 0],
            Self::Ended { t, seq, entered, to, from } => [4, t, seq, entered, packed(to), packed(from)],
            Self::Broken { t, seq, sends, peer, errno } => {
                [5, t, seq, u64::from(sends), u64::from(peer), errno as u64]
            }
        }
    }

    fn of(words: [u64; EVENT]) -> Option<Self> {
        let [kind, a, b, c, d, e] = words;
        match kind {
            1 => Some(Self::Step { t: a, step: b, data: c, comp: d }),
            2 => Some(Self::Entered { t: a, seq: b, bytes: c }),
            3 => Some(Self::Stage { waits: [a, b, c] }),
            4 => Some(Self::Ended { t: a, seq: b, entered: c, to: unpacked(d), from: unpacked(e) }),
            5 => Some(Self::Broken { t: a, seq: b, sends: c > 0, peer: d as u32, errno: e as i32 }),
            _ => None,
        }
    }
}

/// A connection of a rank, for the observer to find it in the kernel's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionName {
    /// IPv4 address and port, here and there.
    pub(crate) local: (u32, u16),
    pub(crate) remote: (u32, u16),
    /// Rank at the other end.
    pub(crate) peer: u32,
    /// Whether the rank sends and receives over it.
    pub(crate) sends: bool,
    pub(crate) receives: bool,
    /// Algorithm that it serves, and its lane.
    pub(crate) algorithm: u8,
    pub(crate) lane: u8,
}

/// Both ends of a connection: IPv4 address and port, here and there.
///
/// # Errors
/// The connection is gone.
pub(crate) fn ends_of(stream: &TcpStream) -> io::Result<((u32, u16), (u32, u16))> {
    let end = |address: SocketAddr| match address {
        SocketAddr::V4(address) => (u32::from(*address.ip()), address.port()),
        SocketAddr::V6(address) => (u32::from(Ipv4Addr::UNSPECIFIED), address.port()),
    };
    Ok((end(stream.local_addr()?), end(stream.peer_addr()?)))
}

const fn end_word((address, port): (u32, u16)) -> u64 {
    (address as u64) << 16 | port as u64
}

/// The memory between a rank and its observer.
#[derive(Debug)]
pub(crate) struct Channel {
    memory: SharedMemory,
}

impl Channel {
    pub(crate) fn create() -> io::Result<Self> {
        Ok(Self { memory: SharedMemory::create(WORDS)? })
    }

    pub(crate) fn open(name: &Path) -> io::Result<Self> {
        Ok(Self { memory: SharedMemory::open(name, WORDS)? })
    }

    pub(crate) fn name(&self) -> PathBuf {
        self.memory.name()
    }

    fn word(&self, word: Word) -> &AtomicU64 {
        &self.memory.words()[word as usize]
    }

    pub(crate) fn get(&self, word: Word) -> u64 {
        self.word(word).load(Acquire)
    }

    pub(crate) fn set(&self, word: Word, value: u64) {
        self.word(word).store(value, Release);
    }

    pub(crate) fn add(&self, word: Word, value: u64) {
        self.word(word).fetch_add(value, Relaxed);
    }

    /// Lists a connection; returns its place. Those beyond [`CONNECTIONS`] are not observed, and have none.
    pub(crate) fn list(&self, name: ConnectionName) -> Option<usize> {
        let at = self.get(Word::Connections) as usize;
        if at >= CONNECTIONS {
            return None;
        }
        let words = &self.memory.words()[HEADER + at * CONNECTION..];
        words[0].store(end_word(name.local), Relaxed);
        words[1].store(end_word(name.remote), Relaxed);
        let flags = u64::from(name.sends) | u64::from(name.receives) << 1;
        let carried = u64::from(name.algorithm) << 56 | u64::from(name.lane) << 48;
        words[2].store(carried | u64::from(name.peer) << 2 | flags, Relaxed);
        self.set(Word::Connections, at as u64 + 1);
        Some(at)
    }

    /// Puts another connection in the place of one. Its ends differ in one port alone, so no reader sees half of each.
    pub(crate) fn relist(&self, at: Option<usize>, stream: &TcpStream) {
        // One that is gone already stays out; the next one takes its place.
        let (Some(at), Ok((local, remote))) = (at, ends_of(stream)) else { return };
        let words = &self.memory.words()[HEADER + at * CONNECTION..];
        words[0].store(end_word(local), Relaxed);
        words[1].store(end_word(remote), Relaxed);
        self.word(Word::Replaced).fetch_add(1, Release);
    }

    /// The connections that are listed.
    pub(crate) fn connections(&self) -> Vec<ConnectionName> {
        let count = (self.get(Word::Connections) as usize).min(CONNECTIONS);
        let end = |word: &AtomicU64| {
            let word = word.load(Relaxed);
            ((word >> 16) as u32, word as u16)
        };
        let rows = self.memory.words()[HEADER..].chunks(CONNECTION).take(count);
        let of = |row: &[AtomicU64]| {
            let flags = row[2].load(Relaxed);
            ConnectionName {
                local: end(&row[0]),
                remote: end(&row[1]),
                peer: (flags >> 2) as u32 & 0xFFFF,
                sends: flags & 1 > 0,
                receives: flags & 2 > 0,
                algorithm: (flags >> 56) as u8,
                lane: (flags >> 48) as u8,
            }
        };
        rows.map(of).collect()
    }

    /// Writes an event. A full ring loses and counts it.
    pub(crate) fn write(&self, event: Event) {
        let words = self.memory.words();
        let head = words[Word::Head as usize].load(Relaxed);
        if head - words[Word::Tail as usize].load(Acquire) >= CAPACITY {
            words[Word::Lost as usize].fetch_add(1, Relaxed);
            return;
        }
        let slot = &words[RING + (head % CAPACITY) as usize * EVENT..];
        for (word, value) in slot.iter().zip(event.words()) {
            word.store(value, Relaxed);
        }
        words[Word::Head as usize].store(head + 1, Release);
    }

    /// Reads all events that have come.
    pub(crate) fn drain(&self, mut take: impl FnMut(Event)) {
        let words = self.memory.words();
        let head = words[Word::Head as usize].load(Acquire);
        let mut tail = words[Word::Tail as usize].load(Relaxed);
        while tail < head {
            let slot = &words[RING + (tail % CAPACITY) as usize * EVENT..];
            let event = std::array::from_fn(|at| slot[at].load(Relaxed));
            if let Some(event) = Event::of(event) {
                take(event);
            }
            tail += 1;
        }
        words[Word::Tail as usize].store(tail, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_pass_through_another_mapping_and_a_full_ring_counts() {
        let observer = Channel::create().expect("the kernel has memory files");
        let rank = Channel::open(&observer.name()).expect("the memory is open");
        let events = [
            Event::Step { t: 1, step: 2, data: 3, comp: 4 },
            Event::Ended { t: 9, seq: 0, entered: 5, to: Some(0), from: None },
            Event::Broken { t: 9, seq: 0, sends: true, peer: 7, errno: -1 },
        ];
        events.iter().for_each(|event| rank.write(*event));
        let mut read = Vec::new();
        observer.drain(|event| read.push(event));
        assert_eq!(read, events);
        for t in 0..CAPACITY + 5 {
            rank.write(Event::Entered { t, seq: t, bytes: 0 });
        }
        assert_eq!(observer.get(Word::Lost), 5);
        let mut count = 0;
        observer.drain(|_| count += 1);
        assert_eq!(count, CAPACITY);
        let name = ConnectionName {
            local: (1, 2),
            remote: (u32::MAX, 4),
            peer: 63,
            sends: true,
            receives: false,
            algorithm: 2,
            lane: 15,
        };
        assert_eq!(rank.list(name), Some(0));
        assert_eq!(observer.connections(), [name]);
    }
}
