//! The buffer of a switch, counted by ingress port: reserve, share of the pool, headroom.
//!
//! What an ingress port holds beyond its reserve comes from the pool, up to `alpha` times what is free of it; beyond
//! that its neighbor is paused, and what still arrives goes into the headroom. Without pause frames it is the egress
//! queue that is bounded so. Carved buffers have no pool.
use railtwin_engine::packet::{Buffer, Pfc, SwitchModel};

use crate::network::Line;

/// Bytes of a pause frame with preamble and gap.
pub const PAUSE_BYTES: u64 = 84;

/// What became of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    /// It has a place.
    Taken,
    /// It has a place, and the neighbor has to stop.
    TakenPause,
    /// It is dropped.
    None,
}

#[derive(Clone, Copy, Debug, Default)]
struct Ingress {
    bytes: u64,
    headroom: u64,
    headroom_max: u64,
    reserved: u64,
    pausing: bool,
}

/// The buffer of one switch.
#[derive(Debug)]
pub struct SharedBuffer {
    /// By port, and within it by level.
    ingress: Vec<Ingress>,
    levels: usize,
    alpha: f64,
    /// Bytes of the pool, and how many of them are taken.
    pool: u64,
    shared: u64,
    pfc: Option<Pfc>,
    /// A pool without pause frames.
    lossy: bool,
    /// Bytes that wait, and most that ever did.
    pub used: u64,
    /// Most bytes that waited at once.
    pub used_max: u64,
    /// The same since the last reading.
    pub read_max: u64,
    /// All bytes.
    pub bytes: u64,
    /// Bytes beyond which everything is dropped, for switches that believe their buffer to be smaller.
    pub limit: u64,
}

/// Bytes that arrive at a port after a neighbor was told to stop: what both ends are sending, what is on the cable
/// both ways, what the neighbor sends until it reacts (IEEE 802.1Qbb, annex O), and what is inside the switch, which
/// takes `latency` until it counts a packet.
pub fn headroom(line: &Line, pfc: &Pfc, full: u64, latency: u64) -> u64 {
    let wire = line.propagation.saturating_mul(2).saturating_add(line.speed.time(PAUSE_BYTES));
    let time = wire.saturating_add(latency).saturating_add(pfc.response.ps());
    (line.speed.bytes_per_s() * time as f64 * 1e-12).ceil() as u64 + 3 * full
}

impl SharedBuffer {
    /// An empty buffer for so many levels of priority, each of which has a reserve and a headroom at every port; `full`
    /// are the bytes of a full packet on the wire, `latency` is the switch's.
    pub fn new(model: &SwitchModel, lines: &[Line], levels: usize, full: u64, latency: u64) -> Self {
        let room = |line: &Line| {
            model.pfc.map_or(0, |pfc| pfc.headroom.unwrap_or_else(|| headroom(line, &pfc, full, latency)))
        };
        let of =
            |line| std::iter::repeat_n(Ingress { headroom_max: room(line), ..Ingress::default() }, levels);
        let mut ingress: Vec<Ingress> = lines.iter().flat_map(of).collect();
        let mut buffer = Self {
            alpha: 0.0,
            pool: 0,
            shared: 0,
            pfc: model.pfc,
            lossy: model.pfc.is_none() && matches!(model.buffer, Buffer::Shared { .. }),
            used: 0,
            used_max: 0,
            read_max: 0,
            bytes: 0,
            limit: u64::MAX,
            ingress: Vec::new(),
            levels,
        };
        match model.buffer {
            Buffer::Shared { bytes, reserved, alpha } => {
                let held: u64 = ingress.iter().map(|port| port.headroom_max + reserved).sum();
                buffer.pool = bytes.saturating_sub(held);
                buffer.alpha = alpha;
                buffer.bytes = bytes;
                ingress.iter_mut().for_each(|port| port.reserved = reserved);
            }
            Buffer::Carved { bytes } => {
                buffer.bytes = bytes * lines.len() as u64;
                let part = bytes / levels as u64;
                for port in &mut ingress {
                    port.headroom_max = port.headroom_max.min(part / 2);
                    port.reserved = part - port.headroom_max;
                }
            }
        }
        buffer.ingress = ingress;
        buffer
    }

    /// Bytes that one port may take of the pool now.
    #[inline]
    fn share(&self) -> u64 {
        (self.alpha * (self.pool - self.shared) as f64) as u64
    }

    /// Takes a packet of a level in that joins a queue of `queued` bytes.
    ///
    /// Without pause frames a pool bounds what waits at an egress, however many ports it came in by: beyond its reserve
    /// a queue may take `alpha` times what is free (dynamic threshold, Choudhury and Hahne 1998).
    #[inline]
    pub fn take(&mut self, (port, level): (usize, usize), bytes: u64, queued: u64) -> Room {
        if self.used + bytes > self.limit {
            return Room::None;
        }
        let share = self.share();
        let ingress = &mut self.ingress[port * self.levels + level];
        let (old, new) = (ingress.bytes, ingress.bytes + bytes);
        let mut room = Room::Taken;
        // With `alpha` above one a port may take more than is free: the pool itself is the limit then.
        let taken = new.saturating_sub(ingress.reserved) - old.saturating_sub(ingress.reserved);
        let bounded = if self.lossy { queued + bytes } else { new };
        if bounded <= ingress.reserved + share && taken <= self.pool - self.shared && ingress.headroom == 0 {
            self.shared += taken;
            ingress.bytes = new;
        } else if self.pfc.is_some() && ingress.headroom + bytes <= ingress.headroom_max {
            ingress.headroom += bytes;
            if !ingress.pausing {
                ingress.pausing = true;
                room = Room::TakenPause;
            }
        } else {
            return Room::None;
        }
        self.used += bytes;
        self.used_max = self.used_max.max(self.used);
        self.read_max = self.read_max.max(self.used);
        room
    }

    /// Lets a packet go; true where the neighbor may go on.
    #[inline]
    pub fn give(&mut self, (port, level): (usize, usize), bytes: u64) -> bool {
        self.used -= bytes;
        let row = port * self.levels + level;
        let ingress = &mut self.ingress[row];
        let from_headroom = bytes.min(ingress.headroom);
        ingress.headroom -= from_headroom;
        let (old, new) = (ingress.bytes, ingress.bytes - (bytes - from_headroom));
        self.shared -= old.saturating_sub(ingress.reserved) - new.saturating_sub(ingress.reserved);
        ingress.bytes = new;
        if !ingress.pausing || ingress.headroom > 0 {
            return false;
        }
        let share = self.share();
        let offset = self.pfc.map_or(0, |pfc| pfc.resume_offset);
        let ingress = &mut self.ingress[row];
        // What is empty may always go on, whatever others take.
        let go_on = ingress.bytes == 0
            || ingress.bytes + offset.min(ingress.reserved + share) <= ingress.reserved + share;
        ingress.pausing = !go_on;
        go_on
    }

    /// Levels on which the neighbor at a port is to stand still, bit by bit.
    pub fn pauses(&self, port: usize) -> u8 {
        let own = &self.ingress[port * self.levels..(port + 1) * self.levels];
        own.iter().rev().fold(0, |all, level| all << 1 | u8::from(level.pausing))
    }

    /// How long the neighbor takes to react, ps.
    pub fn response(&self) -> u64 {
        self.pfc.map_or(0, |pfc| pfc.response.ps())
    }
}
