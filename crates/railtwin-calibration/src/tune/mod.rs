//! Which algorithm, protocol, channels and channel buffer suit a network: NCCL's model with the network's own round trip,
//! and what a user measured.
//!
//! NCCL's tuner takes the network for a fast one: its figures hold to round trips of about 10 us (Meta RoCE section 6.1).
//! Over slower ones a crossing costs more, and what waits for the receiver's buffer (two-stage copy, Meta RoCE section
//! 5.2.2) needs more of it: bytes in flight are no more than channels times buffer.
use railtwin_fabric::HostModel;
use railtwin_scenario::{CapSpec, cost_of, host_of, protocol_of};
use railtwin_units::{Bytes, SimTime};
use railtwin_workload::nccl::{CHANNELS as NCCL_CHANNELS, Host, Prediction};
use railtwin_workload::{Algorithm, Collective, Group, Protocol, collective::bus_factor};

use crate::bandwidth::bounds::payload_share;

/// Round trip up to which NCCL's figures hold (Meta RoCE section 6.1).
pub const ASSUMED: SimTime = SimTime::from_ns(10_000);
/// Slots of a channel's buffer (NCCL's `NCCL_STEPS`).
const SLOTS: f64 = 8.0;
/// Channels of a host over all its NICs that are tried; NCCL has at most 32.
const CHANNELS: [u32; 6] = [1, 2, 4, 8, 16, 32];
/// Channel buffers that are tried, 512 KiB to 16 MiB; NCCL's default is 4 MiB.
const BUFFERS: [u64; 6] = [512 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20];
/// NCCL's default buffer.
pub const BUFFER: u64 = 4 << 20;

/// NCCL's default buffer of a protocol (its src/init.cc and src/include/device.h): 8 lines of 16 B of 512 threads in 8
/// slots, 120 elements of 8 B of 640 threads in 8 slots, 4 MiB.
pub const fn default_buffer(protocol: Protocol) -> u64 {
    match protocol {
        Protocol::Ll => 8 * 512 * 8 * 16,
        Protocol::Ll128 => 120 * 640 * 8 * 8,
        Protocol::Simple => BUFFER,
    }
}
/// What more channels or a larger buffer must gain to be worth SMs and memory.
const WORTH: f64 = 0.005;

/// What is to be tuned.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// The collective.
    pub collective: Collective,
    /// Its ranks on hosts.
    pub group: Group,
    /// The hosts.
    pub host: HostModel,
    /// Round trip of the network while nothing queues.
    pub round_trip: SimTime,
    /// What was measured; comes before NCCL's model.
    pub caps: Vec<CapSpec>,
}

/// One way to run a collective.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Choice {
    /// Algorithm.
    pub algorithm: Algorithm,
    /// Protocol.
    pub protocol: Protocol,
    /// Channels of a host.
    pub channels: u32,
    /// Buffer of a channel, bytes.
    pub buffer: u64,
    /// Time, seconds.
    pub time: f64,
    /// Latency of all steps in it, seconds.
    pub latency: f64,
    /// Whether the bytes that may be in flight limit it.
    pub in_flight: bool,
}

impl Choice {
    /// Whether the same is to be set.
    pub fn is_same(&self, other: &Self) -> bool {
        (self.algorithm, self.protocol, self.channels, self.buffer)
            == (other.algorithm, other.protocol, other.channels, other.buffer)
    }

    /// Bus bandwidth, bytes per second.
    pub fn busbw(&self, tuning: &Tuning, bytes: u64) -> f64 {
        bytes as f64 / self.time * bus_factor(tuning.collective, tuning.group.ranks)
    }
}

impl Tuning {
    /// The host as NCCL's model sees it behind this network.
    ///
    /// # Errors
    /// What is missing.
    fn nccl(&self) -> Result<Host, String> {
        let host = host_of(&self.host, payload_share());
        let host = host.ok_or_else(|| format!("nobody says what the GPUs of {} are", self.host.name))?;
        let beyond = self.round_trip.since(ASSUMED);
        Ok(Host { crossing: SimTime::from_ps(beyond.ps() / 2), ..host })
    }

    /// The best choice for a size, of one algorithm if given: the least time, and of those within half a percent the fewest
    /// channels and the smallest buffer.
    ///
    /// # Errors
    /// Where the GPUs are not known or nothing can carry out the collective.
    pub fn best(&self, algorithm: Option<Algorithm>, bytes: u64) -> Result<Choice, String> {
        let all = self.choices(bytes)?;
        let all = || all.iter().filter(|one| algorithm.is_none_or(|wanted| wanted == one.algorithm));
        let least = all().map(|one| one.time).min_by(f64::total_cmp);
        let least = least.ok_or_else(|| format!("no algorithm is known for {}", self.collective))?;
        let worth = all().filter(|one| one.time <= least * (1.0 + WORTH));
        let cheap = worth.min_by_key(|one| (u64::from(one.channels) * one.buffer, one.channels));
        cheap.copied().ok_or_else(|| "no choice".to_owned())
    }

    /// All choices for a size, in the order of NCCL's algorithms and protocols.
    ///
    /// # Errors
    /// Where the GPUs are not known.
    pub fn choices(&self, bytes: u64) -> Result<Vec<Choice>, String> {
        let host = self.nccl()?;
        let mut all = Vec::new();
        for way in self.ways(&host, bytes) {
            for channels in CHANNELS {
                all.extend(BUFFERS.map(|buffer| self.choice(&host, way, (channels, buffer), bytes)));
            }
        }
        Ok(all)
    }

    /// What NCCL runs untuned: algorithm and protocol as its model picks them for a near network, the channels that it
    /// lays at least and its default buffers; with the time that they take over this network.
    ///
    /// # Errors
    /// As [`Self::best`].
    pub fn untuned(&self, bytes: u64) -> Result<Choice, String> {
        let host = self.nccl()?;
        let near = Host { crossing: SimTime::ZERO, ..host };
        let none = || format!("no algorithm is known for {}", self.collective);
        let pick = near.pick(self.collective, None, self.group, bytes).ok_or_else(none)?;
        let mut ways = self.ways(&host, bytes).into_iter();
        let way = ways.find(|way| (way.algorithm, way.protocol) == (pick.algorithm, pick.protocol));
        let size = (NCCL_CHANNELS, default_buffer(pick.protocol));
        Ok(self.choice(&host, way.ok_or_else(none)?, size, bytes))
    }

    /// All algorithms and protocols with their latency and bandwidth over this network, what was measured in place of
    /// NCCL's model.
    fn ways(&self, host: &Host, bytes: u64) -> Vec<Prediction> {
        let near = Host { crossing: SimTime::ZERO, ..*host };
        let mut all = Vec::new();
        for one in host.predictions(self.collective, self.group, bytes) {
            let Prediction { algorithm, protocol, mut latency, mut bandwidth, time } = one;
            let way = (self.collective, algorithm);
            // What was measured ran with the protocol that it says, else with the one that NCCL picks over a near network;
            // a farther one adds to it.
            let ran = match protocol_of(&self.caps, &self.host, way, self.group, bytes) {
                Some(told) => near.predict(self.collective, algorithm, told, self.group, bytes),
                None => near.pick(self.collective, Some(algorithm), self.group, bytes),
            };
            let modelled = SimTime::from_seconds(ran.map_or(0.0, |ran| ran.latency));
            let known = cost_of(&self.caps, &self.host, way, self.group, bytes, modelled);
            if let Some((steps, busbw)) = known {
                let Some(ran) = ran.filter(|ran| ran.protocol == protocol) else { continue };
                latency = steps.map_or(latency, |steps| steps.seconds() + latency - ran.latency);
                if let Some(busbw) = busbw {
                    bandwidth = busbw.bytes_per_s() / bus_factor(self.collective, self.group.ranks);
                }
            }
            all.push(Prediction { algorithm, protocol, latency, bandwidth, time });
        }
        all
    }

    /// A way with so many channels of such a buffer.
    fn choice(&self, host: &Host, way: Prediction, (channels, buffer): (u32, u64), bytes: u64) -> Choice {
        let Prediction { algorithm, protocol, latency, bandwidth, .. } = way;
        let (share, in_flight) = self.reach(host, protocol, channels, buffer);
        let time = latency + bytes as f64 / (bandwidth * share.min(1.0));
        Choice { algorithm, protocol, channels, buffer, time, latency, in_flight }
    }

    /// Share of what links carry that so many channels of such buffers reach, and whether bytes in flight limit it.
    ///
    /// A slot is copied in, waits for the receiver's word, crosses, and is copied out before it is free again: half a round
    /// trip each way, and two copies (Meta RoCE section 5.2.2).
    fn reach(&self, host: &Host, protocol: Protocol, channels: u32, buffer: u64) -> (f64, bool) {
        let several = self.group.hosts > 1;
        let line = if several { host.line(self.group.local) } else { host.inside() };
        let count = f64::from(channels);
        let copies = count * host.channel() / protocol.expansion();
        let slot = buffer as f64 / SLOTS;
        let round_trip = if several { self.round_trip.seconds() } else { 0.0 };
        let cycle = round_trip + slot * count / line + 2.0 * slot / host.channel();
        let flight = count * buffer as f64 / cycle;
        (copies.min(flight) / line, flight < copies.min(line))
    }
}

/// A range of sizes with one choice.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Range {
    /// First size.
    pub from: Bytes,
    /// Last size.
    pub until: Bytes,
    /// What to set, with the time of the last size.
    pub choice: Choice,
}

/// The best choices for powers of two from one size to another, joined where they are the same.
///
/// # Errors
/// As [`Tuning::best`].
pub fn ranges(tuning: &Tuning, from: Bytes, until: Bytes) -> Result<Vec<Range>, String> {
    let mut all: Vec<Range> = Vec::new();
    let mut bytes = from.0.max(1).next_power_of_two();
    while bytes <= until.0 {
        let choice = tuning.best(None, bytes)?;
        match all.last_mut().filter(|last| last.choice.is_same(&choice)) {
            Some(last) => (last.until, last.choice) = (Bytes(bytes), choice),
            None => all.push(Range { from: Bytes(bytes), until: Bytes(bytes), choice }),
        }
        let Some(next) = bytes.checked_mul(2) else { break };
        bytes = next;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuning(round_trip_ns: u64) -> Tuning {
        Tuning {
            collective: Collective::AllReduce,
            group: Group::of(16, 8),
            host: HostModel::grand_teton(),
            round_trip: SimTime::from_ns(round_trip_ns),
            caps: Vec::new(),
        }
    }

    /// Meta RoCE section 6.1: with 22 us where NCCL assumes less than 10, trees and LL128 are chosen at larger sizes.
    #[test]
    fn a_longer_round_trip_moves_the_choice() {
        let (near, far) = (tuning(10_000), tuning(22_000));
        let pick = |tuning: &Tuning, bytes| tuning.best(None, bytes).unwrap();
        let sizes = (10..36).map(|power| 1_u64 << power);
        let changed = sizes.clone().filter(|&bytes| !pick(&near, bytes).is_same(&pick(&far, bytes))).count();
        assert!(changed > 0);
        // The last size that leaves rings alone is no smaller over the longer way.
        let last = |tuning: &Tuning| {
            let not_ring = |bytes: &u64| pick(tuning, *bytes).algorithm != Algorithm::Ring;
            sizes.clone().filter(not_ring).max()
        };
        assert!(last(&far) >= last(&near), "{:?} {:?}", last(&far), last(&near));
        for bytes in sizes.clone() {
            assert!(pick(&far, bytes).time >= pick(&near, bytes).time, "{bytes}");
        }
    }

    /// Channels times buffer over a cycle: with one channel of 512 KiB not much more than its own bytes a round trip.
    #[test]
    fn bytes_in_flight_are_bounded() {
        let far = tuning(22_000);
        let all = far.choices(1 << 30).unwrap();
        let of = |channels, buffer| {
            let fit = |one: &&Choice| {
                one.algorithm == Algorithm::Ring
                    && one.protocol == Protocol::Simple
                    && (one.channels, one.buffer) == (channels, buffer)
            };
            *all.iter().find(fit).unwrap()
        };
        let (small, large) = (of(1, 512 << 10), of(32, 16 << 20));
        assert!(small.in_flight && !large.in_flight);
        assert!(small.time > 10.0 * large.time);
        // Buffers beyond need are not asked for.
        assert!(far.best(None, 1 << 30).unwrap().buffer < 16 << 20);
    }

    /// The untuned choice is among those that are searched but for its buffer, and no better than the best by more than
    /// what larger buffers must gain.
    #[test]
    fn untuned_is_what_nccl_runs_over_a_near_network() {
        let far = tuning(22_000);
        for bytes in (10..35).map(|power| 1_u64 << power) {
            let (untuned, best) = (far.untuned(bytes).unwrap(), far.best(None, bytes).unwrap());
            assert_eq!((untuned.channels, untuned.buffer), (16, default_buffer(untuned.protocol)));
            assert!(untuned.time > best.time / (1.0 + WORTH) / 1.05, "{bytes}: {untuned:?} {best:?}");
            let near = tuning(10_000).untuned(bytes).unwrap();
            assert_eq!((near.algorithm, near.protocol), (untuned.algorithm, untuned.protocol));
            assert!(near.time < untuned.time);
        }
    }

    #[test]
    fn what_was_measured_comes_first() {
        let caps = railtwin_scenario::CapsFile::parse(
            "caps.toml",
            "schema = 1\n[[cap]]\ncollective = \"all-reduce\"\nalgorithm = \"nvls-tree\"\nhosts = 16\nbusbw = \"1 GB/s\"\n",
        );
        let measured = Tuning { caps: caps.unwrap().caps, ..tuning(10_000) };
        assert_ne!(measured.best(None, 64 << 20).unwrap().algorithm, Algorithm::NvlsTree);
        assert_eq!(tuning(10_000).best(None, 64 << 20).unwrap().algorithm, Algorithm::NvlsTree);
    }

    #[test]
    fn a_protocol_that_was_told_is_the_one_that_ran() {
        let told = |protocol: &str| {
            let text = format!(
                "schema = 1\n[[cap]]\ncollective = \"all-reduce\"\nalgorithm = \"ring\"\nhosts = 16\nstep = \"1 ns\"\n\
                 protocol = \"{protocol}\"\n"
            );
            let caps = railtwin_scenario::CapsFile::parse("caps.toml", &text).unwrap().caps;
            let best = Tuning { caps, ..tuning(10_000) }.best(Some(Algorithm::Ring), 64 << 10).unwrap();
            best.protocol.name()
        };
        assert_eq!([told("ll"), told("ll128"), told("simple")], ["ll", "ll128", "simple"]);
    }

    /// NCCL has aggregated trees from 2.23 on: what ran on H100 was later, on H800 earlier.
    #[test]
    fn small_gathers_over_single_ranks_go_by_aggregated_trees() {
        let best = |host, bytes| {
            let gather =
                Tuning { collective: Collective::AllGather, group: Group::of(16, 1), host, ..tuning(10_000) };
            gather.best(None, bytes).unwrap().algorithm
        };
        assert_eq!(best(HostModel::grand_teton(), 1 << 20), Algorithm::Pat);
        assert_eq!(best(HostModel::grand_teton(), 1 << 30), Algorithm::Ring);
        assert_eq!(best(HostModel::named("hgx-h800").unwrap(), 1 << 20), Algorithm::Ring);
    }

    #[test]
    fn unknown_gpus_are_told() {
        let host = HostModel::plain(railtwin_units::Rate::from_gbps(100));
        let error = Tuning { host, ..tuning(10_000) }.best(None, 1).unwrap_err();
        assert!(error.contains("plain"), "{error}");
    }
}
