//! Plain transfers between two NICs, from perftest: how long the first byte takes, and what a port carries.
//!
//! A run for latency has one message in flight: t = l + B / b is what a transfer of B bytes takes one way. A run for
//! bandwidth has many: t = B / bandwidth is the time between two messages, l what each costs beside its bytes.
use std::collections::BTreeMap;

use railtwin_fabric::HostModel;
use railtwin_formats::telemetry::{PerftestMeasure, PerftestRun, PerftestVerb};
use railtwin_scenario::CapSpec;
use railtwin_units::{Bytes, SimTime};
use railtwin_workload::{Algorithm, Collective, Group};

use super::fit::{self, Fit, Range};
use super::gather::Samples;
use super::{AT_THE_LIMIT, errors_of, network, rate};

/// Bytes of headers, preamble and gap beside the payload of a packet of RoCE v2.
const HEADERS: f64 = 82.0;

/// Runs that can be compared.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PlainKind {
    /// What they did.
    pub verb: PerftestVerb,
    /// Whether one message was in flight and its time taken; else many, and their bandwidth.
    pub latency: bool,
    /// Whether both sides sent.
    pub bidirectional: bool,
    /// Kind of connection; empty where logs do not say.
    pub connection: String,
    /// Bytes of a packet; 0 where logs do not say.
    pub mtu: u32,
    /// Queue pairs; 0 where logs do not say.
    pub queue_pairs: u32,
}

/// Runs of one kind with what was fitted to them.
#[derive(Clone, PartialEq, Debug)]
pub struct Plain {
    /// The kind.
    pub kind: PlainKind,
    /// Runs.
    pub runs: usize,
    /// Sizes.
    pub sizes: usize,
    /// What sizes take, seconds of a message. Of a single size one range without a latency for bandwidths and without an
    /// end of bandwidth for latencies.
    pub fit: Fit,
    /// Bytes per second of the largest size.
    pub reached: f64,
    /// What the port carries of payload by its line rate, bytes per second; none where nobody says what hosts are.
    pub line: Option<f64>,
    /// One way through the network that a simulation has itself, seconds.
    pub network: f64,
    /// Relative errors over the sizes that it was fitted to.
    pub errors: Vec<f64>,
    /// Relative errors over sizes that were left out, once the odd and once the even ones.
    pub left_out: [Vec<f64>; 2],
}

impl PlainKind {
    /// In words: `write latency, RC, 1 queue pair, packets of 4096 B`.
    pub fn words(&self) -> String {
        let both = if self.bidirectional { " both ways" } else { "" };
        let what = if self.latency { "latency" } else { "bandwidth" };
        let mut words = format!("{}{both} {what}", self.verb.name());
        if !self.connection.is_empty() {
            words.push_str(&format!(", {}", self.connection));
        }
        if self.queue_pairs > 0 {
            let s = if self.queue_pairs > 1 { "s" } else { "" };
            words.push_str(&format!(", {} queue pair{s}", self.queue_pairs));
        }
        if self.mtu > 0 {
            words.push_str(&format!(", packets of {} B", self.mtu));
        }
        words
    }

    /// Whether its times are those of a transfer one way: half of a round trip, which reads are not.
    fn is_one_way(&self) -> bool {
        self.latency && matches!(self.verb, PerftestVerb::Write | PerftestVerb::Send)
    }

    /// Whether its bandwidth is that of one direction.
    fn is_rate(&self) -> bool {
        !self.latency && !self.bidirectional && self.verb != PerftestVerb::Other
    }
}

impl Plain {
    /// Share of the line rate's payload that the largest size reached, of both directions together where both sent; none
    /// where nobody says what hosts are.
    pub fn share(&self) -> Option<f64> {
        Some(self.reached / self.line?)
    }

    /// Whether the wire limits it rather than its hosts.
    pub fn at_the_limit(&self) -> Option<bool> {
        Some(self.share()? >= AT_THE_LIMIT)
    }

    /// Seconds that hosts add to the start of a transfer in a range.
    pub fn start(&self, range: &Range) -> f64 {
        (range.latency - self.network).max(0.0)
    }
}

/// What a port carries of payload, bytes per second: of NICs with several ports all of them where one would not do.
fn line(model: &HostModel, mtu: u32, bidirectional: bool, reached: f64) -> f64 {
    let payload = if mtu > 0 { f64::from(mtu) } else { 4096.0 };
    let ways = if bidirectional { 2.0 } else { 1.0 };
    let port = model.nic.port_capacity.bytes_per_s() * payload / (payload + HEADERS) * ways;
    if reached > port / AT_THE_LIMIT { port * f64::from(model.nic.ports.max(1)) } else { port }
}

/// Fits runs by kind.
pub fn plain(logs: &[(String, Vec<PerftestRun>)], model: Option<&HostModel>) -> Vec<Plain> {
    let mut kinds: BTreeMap<PlainKind, Samples> = BTreeMap::new();
    for (number, run) in logs.iter().flat_map(|(_, runs)| runs).enumerate() {
        for result in &run.results {
            let (latency, seconds) = match result.measure {
                PerftestMeasure::Latency { seconds } => (true, seconds),
                PerftestMeasure::Bandwidth { bytes_per_s } => (false, result.bytes as f64 / bytes_per_s),
            };
            let kind = PlainKind {
                verb: run.verb,
                latency,
                bidirectional: run.bidirectional,
                connection: run.connection.clone(),
                mtu: run.mtu,
                queue_pairs: run.queue_pairs,
            };
            let samples = kinds.entry(kind).or_default();
            samples.take(number, result.bytes, seconds);
        }
    }
    let network = model.map_or(0.0, |model| {
        network::latency(model, Collective::SendReceive, Algorithm::Direct, Group::of(2, 1))
    });
    let fitted = |(kind, samples): (PlainKind, Samples)| {
        let points = samples.points();
        let last = points.last()?;
        let reached = last.bytes as f64 / last.seconds;
        let single = || {
            let (latency, bandwidth) = match kind.latency {
                true => (last.seconds, f64::MAX),
                false => (0.0, reached),
            };
            Fit { ranges: vec![Range { from: last.bytes, until: None, latency, bandwidth }], channels: None }
        };
        let fit = fit::fit(&points, f64::INFINITY, false).unwrap_or_else(single);
        let (errors, left_out) = errors_of(&fit, &points, f64::INFINITY, false);
        Some(Plain {
            runs: samples.runs(),
            sizes: points.len(),
            line: model.map(|model| line(model, kind.mtu, kind.bidirectional, reached)),
            network: if kind.is_one_way() { network } else { 0.0 },
            kind,
            fit,
            reached,
            errors,
            left_out,
        })
    };
    kinds.into_iter().filter_map(fitted).collect()
}

/// The runs whose latency the caps have: those of most sizes, writes before sends.
pub fn timed(all: &[Plain]) -> Option<&Plain> {
    let of = all.iter().filter(|one| one.kind.is_one_way());
    of.min_by_key(|one| (std::cmp::Reverse(one.sizes), one.kind.clone()))
}

/// The runs whose bandwidth the caps have: those that reached most.
pub fn fastest(all: &[Plain]) -> Option<&Plain> {
    let of = all.iter().filter(|one| one.kind.is_rate());
    of.max_by(|a, b| a.reached.total_cmp(&b.reached).then_with(|| b.kind.cmp(&a.kind)))
}

/// Caps of plain transfers between hosts. What the wire limits is no cap of hosts.
pub fn caps(all: &[Plain]) -> Vec<CapSpec> {
    let (timed, fastest) = (timed(all), fastest(all));
    let most = fastest.filter(|one| one.at_the_limit() != Some(true)).map(|one| rate(one.reached));
    let cap = |range: Option<(usize, &Range)>, step, busbw| CapSpec {
        collective: Collective::SendReceive,
        algorithm: Algorithm::Direct,
        host: None,
        hosts: Some(2),
        gpus: None,
        // The smallest sizes take as long as those below.
        from: range.filter(|(row, _)| *row > 0).map(|(_, range)| Bytes(range.from)),
        until: range.and_then(|(_, range)| range.until).map(Bytes),
        protocol: None,
        step,
        message: None,
        busbw,
        channel: None,
        channel_bytes: None,
        plain: Some(true),
    };
    let Some(timed) = timed else {
        return most.map(|most| cap(None, None, Some(most))).into_iter().collect();
    };
    let of = |(row, range): (usize, &Range)| {
        // One size alone has its bytes in its time.
        let bytes = match fastest.filter(|_| timed.sizes == 1) {
            Some(fastest) => range.from as f64 / fastest.reached,
            None => 0.0,
        };
        let step = SimTime::from_ns(((timed.start(range) - bytes).max(0.0) * 1e9).round() as u64);
        // What many messages reach together holds the large end; below, each is as slow as one alone.
        let wire = fastest.map_or(f64::INFINITY, |one| one.reached) * AT_THE_LIMIT;
        let own = (range.bandwidth < f64::MAX
            && range.bandwidth < wire.min(timed.line.unwrap_or(f64::INFINITY) * AT_THE_LIMIT))
        .then(|| rate(range.bandwidth));
        let busbw = if range.until.is_none() && fastest.is_some() { most } else { own.or(most) };
        cap(Some((row, range)), Some(step), busbw)
    };
    timed.fit.ranges.iter().enumerate().map(of).collect()
}
