//! Links that lose packets.
use railtwin_records::Evidence;
use railtwin_records::seen::LiveSeen;
use railtwin_units::robust::median;

use super::state::{Rank, State};
use crate::incident::{LiveKind, Sign, Suspect, SuspectPlace};

/// The window in which heartbeats with a loss are counted, in heartbeats: 3 s of the common 200 ms.
const WINDOW_BEATS: u64 = 15;
/// Heartbeats of the window with a loss: on sound links here one in a minute has one, a burst that was resent although it had
/// arrived, so that four in three seconds are no chance; a link that loses 0.5 % has eleven.
const LOSSES: usize = 4;
/// So many times the losses of the median of the others: what all have is congestion.
const OTHERS: f64 = 4.0;
/// Pings of which one is lost where all is well: less than one in ten thousand.
const SOUND: f64 = 1e-4;
/// A share below which a NIC is no suspect any more.
const NO_SUSPECT: f64 = 0.05;
/// Bytes of a packet on the common link.
const PACKET: f64 = 1448.0;

/// The connection that loses most, with the NIC at either end. A loss at one NIC also loses pings with ranks other than the
/// one at the other end of the connection.
pub(super) fn sign(now_ns: u64, interval_ns: u64, state: &State) -> Option<Sign> {
    let from_ns = now_ns.saturating_sub(WINDOW_BEATS * interval_ns);
    let losses = |rank: &Rank| {
        let of = rank.resent.iter().filter(|(time_ns, _)| *time_ns >= from_ns);
        of.fold((0_usize, 0_u64), |(beats, packets), (_, resent)| (beats + 1, packets + resent))
    };
    let all: Vec<(u32, usize, u64)> = state
        .living()
        .map(|(rank, seen)| {
            let (beats, packets) = losses(seen);
            (rank, beats, packets)
        })
        .collect();
    let &(from, beats, packets) = all.iter().max_by_key(|(_, beats, packets)| (*beats, *packets))?;
    let to = state.ranks[&from].successor?;
    let others = || all.iter().filter(|(rank, _, _)| *rank != from);
    let usual = median(&mut others().map(|(_, beats, _)| *beats as f64).collect::<Vec<_>>())?;
    if beats < LOSSES || (beats as f64) < OTHERS * usual {
        return None;
    }
    let usual_packets = median(&mut others().map(|(_, _, packets)| *packets as f64).collect::<Vec<_>>())?;
    let resent = LiveSeen::Resent { from, to, heartbeats: beats };
    let mut evidence = vec![Evidence::new(resent, packets as f64, usual_packets)];
    let (shares, lost) = shares(from, to, loss_share(&state.ranks[&from]), state);
    let lines = [(from, to), (to, from)].into_iter().zip(lost).filter(|(_, lost)| *lost > 0);
    evidence.extend(lines.map(|((rank, other), lost)| {
        Evidence::new(LiveSeen::PingsLostBeside { rank, other }, f64::from(lost), 0.0)
    }));
    let mut suspects: Vec<Suspect> = [from, to]
        .into_iter()
        .zip(shares)
        .map(|(rank, share)| Suspect { place: SuspectPlace::Nic(rank), share })
        .filter(|suspect| suspect.share >= NO_SUSPECT)
        .collect();
    suspects.sort_by(|a, b| b.share.total_cmp(&a.share));
    Some(Sign { kind: LiveKind::LossyLink, suspects, edge: Some((from, to)), evidence, is_sure: false })
}

/// The share of packets that were resent for good, over all heartbeats that are kept.
fn loss_share(rank: &Rank) -> f64 {
    let packets: u64 = rank.resent.iter().map(|(_, packets)| packets).sum();
    let from_ns = rank.resent.front().map_or(0, |(time_ns, _)| *time_ns);
    let mut beats = rank.beats_since(from_ns).filter_map(|beat| beat.send);
    let first = beats.next().map_or(0, |connection| connection.ba);
    let last = beats.next_back().map_or(first, |connection| connection.ba);
    let sent = last.saturating_sub(first) as f64 / PACKET;
    (packets as f64 / sent.max(1.0)).clamp(SOUND, 0.5)
}

/// Shares of the two NICs of a connection, and the pings with either that were lost, those between the two left out. Losses
/// are Poisson: at the NIC at fault as many as it loses packets, at the other as many as where all is well.
fn shares(from: u32, to: u32, share: f64, state: &State) -> ([f64; 2], [u32; 2]) {
    let since_ns = state.ranks[&from].resent.front().map_or(0, |(time_ns, _)| *time_ns);
    let counted = |rank: u32, other: u32| {
        let (mut sent, mut lost) = (0_u64, 0_u32);
        for (at, seen) in state.living() {
            let beats = seen.beats_since(since_ns).count() as u64;
            let peers = (state.ranks.len() as u64).saturating_sub(2);
            match at {
                at if at == other => {}
                at if at == rank => {
                    sent += beats * peers;
                    lost += lost_since(seen, since_ns, |to| to != other);
                }
                _ => {
                    sent += beats;
                    lost += lost_since(seen, since_ns, |to| to == rank);
                }
            }
        }
        (sent as f64, lost)
    };
    let ends = [counted(from, to), counted(to, from)];
    // The logarithm of the likelihood that the first of two ends is at fault; what both have in common is left out.
    let log_of = |bad: (f64, u32), good: (f64, u32)| {
        f64::from(bad.1) * share.ln() - bad.0 * share + f64::from(good.1) * SOUND.ln() - good.0 * SOUND
    };
    let apart = (log_of(ends[0], ends[1]) - log_of(ends[1], ends[0])).clamp(-30.0, 30.0);
    let first = 1.0 / (1.0 + (-apart).exp());
    // A tenth is left for what is between the NICs.
    ([0.9 * first, 0.9 * (1.0 - first)], [ends[0].1, ends[1].1])
}

fn lost_since(rank: &Rank, from_ns: u64, is_of: impl Fn(u32) -> bool) -> u32 {
    rank.lost.iter().filter(|(time_ns, to)| *time_ns >= from_ns && is_of(*to)).count() as u32
}
