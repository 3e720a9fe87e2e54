//! What waits for a port, how full the port was lately, and whether what finds a queue is marked.
use railtwin_engine::packet::{Ecn, MarkAt};
use railtwin_units::stream;

use crate::packet::{FULL, Kind, MARKED, Packet};
use crate::ports::{Chain, Port};

/// Packets of a level that wait for a port; what concerns the port as a whole stands with its lowest level.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Queue {
    /// Of the port: what goes before all data.
    pub(super) high: Chain,
    /// Data, and what is not before data.
    pub(super) data: Chain,
    /// Bytes of the level's packets in both.
    pub(super) bytes: u64,
    /// Of the port: its utilization as HPCC's switches estimate it, and when it was last updated.
    utilization: (f64, u64),
    /// Of the port: bytes sent lately, and when that was last updated.
    recent: (f64, u64),
}

const _: () = assert!(size_of::<Queue>() == 64);

impl Queue {
    /// Nothing.
    pub(super) const EMPTY: Self =
        Self { high: Chain::EMPTY, data: Chain::EMPTY, bytes: 0, utilization: (0.0, 0), recent: (0.0, 0) };

    /// Bytes sent lately, fading over `time` (discounting rate estimator, Alizadeh et al. 2014).
    pub(super) fn recent(&self, now: u64, time: u64) -> f64 {
        let age = (now - self.recent.1) as f64 / time.max(1) as f64;
        self.recent.0 * (-age).exp()
    }

    pub(super) fn add_recent(&mut self, now: u64, time: u64, bytes: f64) {
        self.recent = (self.recent(now, time) + bytes, now);
    }

    /// Writes the greatest utilization on the way into the packet: queue over bandwidth-delay product plus rate over
    /// capacity, averaged over a round trip (HPCC, Li et al. 2019, equation 2, averaged by switches as in PINT, Ben
    /// Basat et al. 2020, section 4.3).
    pub(super) fn observe(
        &mut self,
        now: u64,
        port: &Port,
        waiting: u64,
        packet: &mut Packet,
        round_trip: f64,
    ) {
        // What goes back carries what its data packet saw.
        let data = packet.kind == Kind::Data;
        let (old, then) = self.utilization;
        let passed = ((now - then) as f64).min(round_trip);
        let capacity = port.line.speed.bytes_per_s() * 1e-12;
        let sent = f64::from(packet.bytes) / (capacity * round_trip);
        let queued = waiting as f64 * passed / (capacity * round_trip * round_trip);
        let new = old * (1.0 - passed / round_trip) + sent + queued;
        self.utilization = (new, now);
        let seen = (new * FULL).min(f64::from(u16::MAX)) as u16;
        if data {
            packet.telemetry = packet.telemetry.max(seen);
        }
    }
}

/// Marks data packets of one switch.
#[derive(Clone, Copy, Debug)]
pub struct Marker {
    ecn: Option<Ecn>,
    /// Draws of this switch alone, and how many it has made.
    draw: u64,
    draws: u64,
    /// Data packets marked here that were not marked before.
    pub marked: u64,
}

impl Marker {
    pub(super) fn new(ecn: Option<Ecn>, draw: u64) -> Self {
        Self { ecn, draw, draws: 0, marked: 0 }
    }

    /// Marks a data packet by the bytes of a queue, where the switch marks there; whether it did.
    #[inline]
    pub(super) fn mark(&mut self, at: MarkAt, bytes: u64, packet: &mut Packet) -> bool {
        let Some(ecn) = &self.ecn else { return false };
        if ecn.at != at || bytes <= ecn.min.0 || !matches!(packet.kind, Kind::Data | Kind::Probe) {
            return false;
        }
        // Each packet has a draw of its own: what any two share would mark them together.
        self.draws += 1;
        let marks = marks(ecn, bytes, draw(self.draw, self.draws));
        if marks {
            self.marked += u64::from(!packet.has(MARKED));
            packet.flags |= MARKED;
        }
        marks
    }
}

/// The `n`-th draw of a switch: uniform over 64 bits, and no two of them have anything in common.
#[inline]
pub(super) fn draw(switch: u64, n: u64) -> u64 {
    stream::mix(switch ^ stream::mix(n))
}

/// Whether a packet is marked by the `bytes` of its queue; `draw` is uniform.
pub(super) fn marks(ecn: &Ecn, bytes: u64, draw: u64) -> bool {
    if bytes >= ecn.max.0 {
        return true;
    }
    let share = (bytes - ecn.min.0) as f64 / (ecn.max.0 - ecn.min.0) as f64 * ecn.probability;
    (draw >> 11) as f64 / ((1_u64 << 53) as f64) < share
}

#[cfg(test)]
mod tests {
    use railtwin_units::Bytes;

    use super::*;

    #[test]
    fn draws_are_uniform_and_tell_nothing_of_the_next_ones() {
        // Marks at a fixed queue, a quarter of all: over 64 runs of 1,024 draws the counts vary as binomials do, and
        // of pairs of draws up to 32 apart, as packets of flows in lockstep are, a sixteenth is marked twice.
        let ecn = Ecn { min: Bytes(0), max: Bytes(400), probability: 1.0, at: MarkAt::Dequeue };
        for switch in [0, 1, stream::mix(7)] {
            let marked: Vec<bool> = (1..=65_536).map(|n| marks(&ecn, 100, draw(switch, n))).collect();
            let count = |run: &[bool]| run.iter().filter(|&&mark| mark).count() as f64;
            let chi: f64 = marked.chunks(1_024).map(|run| (count(run) - 256.0).powi(2) / 192.0).sum();
            // 64 degrees of freedom: one of a thousand is beyond 104.7, one below 33.
            assert!((33.0..104.7).contains(&chi), "{chi}");
            for apart in 1..=32 {
                let both = marked.iter().zip(&marked[apart..]).filter(|(a, b)| **a && **b).count() as f64;
                let pairs = (marked.len() - apart) as f64;
                let deviation = (both - pairs / 16.0) / (pairs * 15.0 / 256.0).sqrt();
                // Pairs overlap, which widens the spread by a half at most.
                assert!(deviation.abs() < 6.0, "{apart}: {deviation}");
            }
        }
    }
}
