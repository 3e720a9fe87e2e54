//! Records as text: JSON lines of schema version 1, one file a rank, in the order of time.
use railtwin_live::record::VERSION;
use serde_json::{Value, json};

use crate::beats::Beat;
use crate::closing::Found;
use crate::network::Network;
use crate::trace::{EdgeTrace, Operation, RankTrace, Trace};

/// Parts of the file of a rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfRank<'a> {
    pub(crate) network: &'a Network,
    pub(crate) trace: &'a Trace,
    pub(crate) rank: usize,
    pub(crate) beats: &'a [Beat],
    pub(crate) found: &'a [Found],
    /// When its process ended.
    pub(crate) gone: f64,
    /// States of the process that an observer outside of it saw: when, and the letter.
    pub(crate) states: &'a [(f64, &'static str)],
    /// Up to when records go.
    pub(crate) until: f64,
    pub(crate) start: f64,
    pub(crate) every: f64,
}

fn us(ns: f64) -> u64 {
    (ns / 1e3).round().max(0.0) as u64
}

impl OfRank<'_> {
    /// The text of the file.
    pub(crate) fn text(&self) -> String {
        let mut rows: Vec<(f64, Value)> = Vec::new();
        let rank = &self.trace.ranks[self.rank];
        rows.extend(rank.alone.iter().map(|alone| {
            let (data, comp) = (us(alone.data_ns), us(alone.compute_ns));
            (
                alone.end,
                json!({ "k": "st", "t": alone.end as u64, "step": alone.step, "data": data, "comp": comp }),
            )
        }));
        for (seq, one) in rank.operations.iter().enumerate().filter(|(_, one)| one.entered.is_finite()) {
            let row = json!({ "k": "en", "t": one.entered as u64, "seq": seq, "b": one.bytes });
            rows.push((one.entered, row));
            if one.ended.is_finite() {
                rows.push((one.ended, self.ended(rank, seq, one)));
            }
        }
        rows.extend(self.beats.iter().map(|beat| (beat.at, self.beat(beat))));
        rows.extend(self.found.iter().filter(|found| found.rank == self.rank).map(|found| {
            let side = if found.sends { "s" } else { "r" };
            let (seq, peer, errno) = (self.newest(rank, found.at), found.peer, found.errno);
            let t = found.at as u64;
            (found.at, json!({ "k": "err", "t": t, "seq": seq, "side": side, "peer": peer, "errno": errno }))
        }));
        rows.retain(|row| row.0 <= self.until.min(self.gone));
        let seen = self.states.iter().filter(|seen| seen.0 <= self.until);
        rows.extend(seen.map(|(at, state)| (*at, json!({ "k": "ps", "t": *at as u64, "state": state }))));
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut text = self.header().to_string() + "\n";
        for (_, row) in rows {
            text.push_str(&row.to_string());
            text.push('\n');
        }
        text
    }

    fn header(&self) -> Value {
        let (host, nic) = (format!("host-{}", self.network.hosts[self.rank]), &self.network.nics[self.rank]);
        // The header names the host beside it.
        let nic = nic.rsplit('/').next().unwrap_or(nic);
        let (t, every) = (self.start as u64, (self.every / 1e6) as u64);
        json!({ "k": "hd", "t": t, "v": VERSION, "rank": self.rank, "every_ms": every, "host": host, "nic": nic })
    }

    fn newest(&self, rank: &RankTrace, at: f64) -> usize {
        rank.operations.partition_point(|one| one.entered <= at).saturating_sub(1)
    }

    fn ended(&self, rank: &RankTrace, seq: usize, one: &Operation) -> Value {
        let stages = seq * self.network.stages..(seq + 1) * self.network.stages;
        let waits = waits(one, &rank.got[stages.clone()], &self.trace.edges[self.rank], stages);
        json!({
            "k": "op", "t": one.ended as u64, "en": one.entered as u64, "seq": seq, "b": one.bytes,
            "succ": self.network.successor[self.rank], "pred": self.network.predecessor[self.rank], "w": waits,
        })
    }

    fn beat(&self, beat: &Beat) -> Value {
        let (sends, sent) = (&beat.sending, self.network.successor[self.rank]);
        let mut row = json!({
            "k": "hb", "t": beat.at as u64, "step": beat.step, "seq": beat.operation,
            "in": u8::from(beat.is_inside), "rs": beat.received, "ss": beat.sent,
            "s": {
                "peer": sent, "una": sends.unacknowledged, "bko": sends.timeouts, "rtx": sends.resent,
                "lds": sends.idle_ms, "busy": sends.busy_us, "ba": sends.bytes,
            },
            "r": {
                "peer": self.network.predecessor[self.rank], "ldr": beat.receiving.0, "br": beat.receiving.1,
            },
        });
        if !beat.pings.is_empty() {
            row["ping"] = json!(beat.pings);
        }
        row
    }
}

/// Waits of each stage, us: to receive; waited as the piece to send had not come, at most what was waited for that; waited to
/// send.
fn waits(one: &Operation, got: &[f64], edge: &EdgeTrace, stages: std::ops::Range<usize>) -> Vec<[u64; 3]> {
    let (mut before, mut received) = (one.entered, 0.0);
    let of = got.iter().zip(&edge.stages[stages]).map(|(got, sent)| {
        let data = received;
        received = got - before;
        before = *got;
        [us(received), us(data), us(sent.start - sent.ready)]
    });
    of.collect()
}
