//! Evidence from probes.
use serde::Serialize;

use super::seen;

/// The delay that a probe is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Usual {
    /// That of the other pairs of the same data.
    Peers,
    /// That of the same pair in a baseline, and of the other pairs.
    Baseline,
}

impl Usual {
    /// The words for it in a sentence.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Peers => "what is usual",
            Self::Baseline => "what its baseline says and the others have",
        }
    }
}

const fn load(is_loaded: bool) -> &'static str {
    if is_loaded { "loaded" } else { "unloaded" }
}

seen! {
    /// Probes between NICs or hosts.
    ProbeSeen in "probes":
    SharedDelay { paths: usize, loaded: bool } ["ns"]
        format!("delay that {paths} {} paths share, added to their baselines: median", load(*loaded));
    PathDelay { from: String, to: String, source_port: u16, loaded: bool } ["ns"] format!(
        "median {} delay from {from} to {to} over source port {source_port}, beside its baseline",
        load(*loaded)
    );
    Lost { from: String, to: String, source_port: Option<u16>, sent: u64 } [""] match source_port {
        Some(port) => format!("share of {sent} probes lost from {from} to {to} over source port {port}"),
        None => format!("share of {sent} probes lost from {from} to {to}"),
    };
    LostOtherWay { from: String, to: String, sent: u64 } [""]
        format!("share of {sent} probes lost the other way, from {from} to {to}: one direction alone");
    HostDelay { host: String, pairs: usize, class: String, usual: Usual } ["times"]
        format!("delay of all {pairs} ways of {host} in {class}, times {}", usual.words());
    PairDelay { from: String, to: String, class: String, one_way: bool } ["times"] format!(
        "delay from {from} to {to} in {class}, times the longer half of a way round: {}",
        if *one_way { "one way" } else { "the way" }
    );
}

impl ProbeSeen {
    /// Says that a delay is compared with a baseline.
    pub fn set_usual(&mut self, to: Usual) {
        if let Self::HostDelay { usual, .. } = self {
            *usual = to;
        }
    }
}
