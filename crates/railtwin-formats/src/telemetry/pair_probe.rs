//! Measurements between two hosts, whoever made them: delays, losses and bandwidths, as probes and as results of tests.

use std::collections::{BTreeMap, BTreeSet};

use railtwin_records::FlowInfo;

use super::Note;
use super::builder::Builder;
use super::{PerftestMeasure, PerftestRun, PerftestVerb, Telemetry};

/// The job whose ranks stand for hosts that were probed, one each.
const PROBED: &str = "probed-hosts";

/// Largest message whose time is a delay and not that of its bytes.
const SMALL_BYTES: u64 = 4096;

/// One end of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProbeEnd {
    /// Its host: a name or an address.
    pub host: String,
    /// Its NIC, such as `mlx5_0`; empty where it is not told.
    pub nic: String,
}

impl ProbeEnd {
    /// The name of its NIC, or of its host where that is all that is told.
    pub fn name(&self) -> String {
        if self.nic.is_empty() { self.host.clone() } else { format!("{}/{}", self.host, self.nic) }
    }
}

/// One measurement between two hosts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairProbe {
    /// Where it was read: `perftest`, `probes`, …
    pub table: &'static str,
    /// What was measured: only measurements of one kind and size are compared.
    pub kind: String,
    /// Bytes of a message; 0 where it is not told.
    pub bytes: u64,
    /// Who sent, and to whom.
    pub ends: [ProbeEnd; 2],
    /// Address of who sent, where it is told beside its name; else empty.
    pub local: String,
    /// UDP source port; 0 where it is not told.
    pub source_port: u16,
    /// When, in nanoseconds; 0 where it is not told.
    pub time_ns: u64,
    /// Messages sent; 0 where only a bandwidth was measured.
    pub sent: u32,
    /// Messages that were not answered.
    pub lost: u32,
    /// Time one way, or half of the round trip, in nanoseconds; 0 where all were lost or only a bandwidth was measured.
    pub delay_ns: u64,
    /// Bandwidth in bits per second; 0 where none was measured.
    pub bits_per_s: f64,
    /// What a test said of why it has no result; empty where it has one.
    pub failure: String,
    /// Whether it failed because its log ends without a result.
    pub is_cut_off: bool,
}

/// Measurements of runs of perftest whose hosts are told, and what is to be known of the others.
pub(super) fn pairs_of_perftest(files: &[(String, Vec<PerftestRun>)]) -> (Vec<PairProbe>, Vec<Note>) {
    let known = hosts_of_addresses(files.iter().flat_map(|(_, runs)| runs));
    let (mut pairs, mut nameless) = (Vec::new(), 0_u64);
    for run in files.iter().flat_map(|(_, runs)| runs) {
        let host = |side: usize| {
            let told = Some(&run.hosts[side]).filter(|host| !host.is_empty());
            let address = &run.addresses[side];
            told.or_else(|| known.get(address)).cloned().unwrap_or_else(|| address.clone())
        };
        let [first, second] = [host(0), host(1)];
        if first.is_empty() || second.is_empty() || first == second {
            nameless += 1;
            continue;
        }
        let end = |host: String, nic: &str| ProbeEnd { host, nic: nic.to_owned() };
        let one = PairProbe {
            table: "perftest",
            kind: kind_of(run),
            ends: [end(first, &run.device), end(second, "")],
            ..PairProbe::default()
        };
        if run.results.is_empty() {
            pairs.push(PairProbe { failure: run.failure.clone(), is_cut_off: run.is_cut_off, ..one });
            continue;
        }
        for result in &run.results {
            let one = PairProbe { bytes: result.bytes, ..one.clone() };
            pairs.push(match result.measure {
                PerftestMeasure::Bandwidth { bytes_per_s } => PairProbe {
                    kind: format!("{} bandwidth", one.kind),
                    bits_per_s: 8.0 * bytes_per_s,
                    ..one
                },
                PerftestMeasure::Latency { seconds } => PairProbe {
                    kind: format!("{} latency", one.kind),
                    sent: u32::try_from(result.iterations).unwrap_or(u32::MAX),
                    delay_ns: ((seconds * 1e9).round() as u64).max(1),
                    ..one
                },
            });
        }
        if !run.failure.is_empty() {
            pairs.push(PairProbe { failure: run.failure.clone(), is_cut_off: run.is_cut_off, ..one });
        }
    }
    let mut notes = Vec::new();
    if nameless > 0 {
        notes.push(Note::NamelessRuns(nameless));
    }
    (pairs, notes)
}

/// Names hosts that some files name and others know by address alone.
pub(super) fn name_addresses(pairs: &mut [PairProbe]) {
    let mut hosts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for pair in pairs.iter().filter(|pair| !pair.local.is_empty() && pair.local != pair.ends[0].host) {
        hosts.entry(&pair.local).or_default().insert(&pair.ends[0].host);
    }
    let known: BTreeMap<String, String> = hosts
        .into_iter()
        .filter(|(_, hosts)| hosts.len() == 1)
        .filter_map(|(address, hosts)| Some((address.to_owned(), (*hosts.first()?).to_owned())))
        .collect();
    for end in pairs.iter_mut().flat_map(|pair| &mut pair.ends) {
        if let Some(host) = known.get(&end.host) {
            end.host.clone_from(host);
        }
    }
}

/// Hosts by address, where logs that tell their host tell one.
fn hosts_of_addresses<'a>(runs: impl Iterator<Item = &'a PerftestRun>) -> BTreeMap<String, String> {
    let mut hosts: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for run in runs {
        // With two names the log may be that of either side.
        let one = run.hosts[1].is_empty() && !run.hosts[0].is_empty() && !run.addresses[0].is_empty();
        if one {
            hosts.entry(run.addresses[0].clone()).or_default().insert(&run.hosts[0]);
        }
    }
    let one = |(address, hosts): (String, BTreeSet<&str>)| match hosts.first() {
        Some(host) if hosts.len() == 1 => Some((address, (*host).to_owned())),
        _ => None,
    };
    hosts.into_iter().filter_map(one).collect()
}

fn kind_of(run: &PerftestRun) -> String {
    let verb = match run.verb {
        PerftestVerb::Other => "perftest",
        verb => verb.name(),
    };
    let mut kind = format!("ib_{verb}").replace("ib_perftest", "perftest");
    if run.bidirectional {
        kind.push_str(" both ways");
    }
    if run.queue_pairs > 1 {
        kind.push_str(&format!(", {} queue pairs", run.queue_pairs));
    }
    kind
}

/// Rounds of probes of measurements of delay and loss: a flow for each path, hosts as ranks of a job of their own. Of a
/// pair that was measured at several sizes the smallest is the delay.
pub(super) fn telemetry_of_pairs(pairs: &[PairProbe]) -> Telemetry {
    let mut least: BTreeMap<(&str, &[ProbeEnd; 2]), u64> = BTreeMap::new();
    let probes = || pairs.iter().filter(|pair| pair.sent > 0 && pair.bytes <= SMALL_BYTES);
    for pair in probes() {
        let bytes = least.entry((&pair.kind, &pair.ends)).or_insert(pair.bytes);
        *bytes = pair.bytes.min(*bytes);
    }
    let hosts: BTreeSet<&str> =
        probes().flat_map(|pair| pair.ends.iter().map(|end| end.host.as_str())).collect();
    let mut builder = Builder::default();
    let mut rows: BTreeMap<&str, u32> = BTreeMap::new();
    if !hosts.is_empty() {
        let job = builder.job(PROBED);
        for (number, host) in (0_u32..).zip(hosts) {
            rows.insert(host, builder.rank(job, number, Some(host), None));
        }
    }
    for pair in probes().filter(|pair| least.get(&(pair.kind.as_str(), &pair.ends)) == Some(&pair.bytes)) {
        let [source, target] = &pair.ends;
        let row = |end: &ProbeEnd| rows.get(end.host.as_str()).copied().unwrap_or_default();
        let flow = FlowInfo {
            source: row(source),
            target: row(target),
            source_nic: source.name(),
            target_nic: target.name(),
            nic_port: 0,
            queue_pair: 0,
            source_port: pair.source_port,
            links: Vec::new(),
        };
        builder.probe(flow, pair.time_ns, (pair.sent, pair.lost), pair.delay_ns);
    }
    let (directory, batch) = builder.finish();
    Telemetry { directory, batch, ..Telemetry::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::parse_perftest;

    fn log(name: &str, local: u8, remote: u8, us: f64) -> (String, Vec<PerftestRun>) {
        let gid = |host: u8| format!(" GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:00:00:{host:02}\n");
        let text = format!(
            "RDMA_Write Latency Test\n Device : mlx5_1\n local address: LID 0000 QPN 1\n{} remote address: LID 0000 QPN 1\n{}\
             #bytes #iterations t_typical[usec]\n2 1000 {us}\n",
            gid(local),
            gid(remote)
        );
        let log = parse_perftest(name, text.as_bytes()).expect("a log");
        (name.to_owned(), log.runs)
    }

    #[test]
    fn hosts_come_from_names_and_else_from_addresses() {
        let files = [log("n1.log", 1, 2, 1.5), log("n2.log", 2, 3, 1.5), log("n4_n5.log", 9, 8, 1.5)];
        let (pairs, notes) = pairs_of_perftest(&files);
        let ends: Vec<[&str; 2]> =
            pairs.iter().map(|pair| pair.ends.each_ref().map(|end| &*end.host)).collect();
        assert_eq!(ends, [["n1", "n2"], ["n2", "10.0.0.3"], ["n4", "n5"]]);
        assert_eq!((pairs[0].ends[0].name(), pairs[0].delay_ns), ("n1/mlx5_1".to_owned(), 1500));
        assert!(notes.is_empty());
        let telemetry = telemetry_of_pairs(&pairs);
        assert_eq!((telemetry.batch.probes.len(), telemetry.directory.flows.len()), (3, 3));
        assert_eq!(telemetry.directory.hosts.len(), 5);
    }

    #[test]
    fn runs_whose_hosts_nobody_knows_are_counted() {
        let mut file = log("perftest.log", 0, 0, 1.0);
        file.1[0].addresses = Default::default();
        let (pairs, notes) = pairs_of_perftest(&[file]);
        assert!(pairs.is_empty() && notes[0] == Note::NamelessRuns(1), "{notes:?}");
    }
}
