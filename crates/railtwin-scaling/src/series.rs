//! The times of one collective by the number of hosts.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_diagnosis::robust::median;
use railtwin_formats::telemetry::NcclTest;
use railtwin_workload::{Collective, Group};

/// No operation takes a day, seconds.
const LONGEST: f64 = 86_400.0;

/// Times of a collective over hosts of so many ranks, of one product and setting.
#[derive(Clone, PartialEq, Debug)]
pub struct ClusterTimes {
    /// The collective.
    pub collective: Collective,
    /// Ranks of a host.
    pub local: u32,
    /// Product name of the GPUs; empty where logs do not say.
    pub product: String,
    /// Name of the setting; empty where there is one only.
    pub setting: String,
    /// Median seconds by hosts and bytes; several hosts only.
    pub seconds: BTreeMap<u32, BTreeMap<u64, f64>>,
}

impl ClusterTimes {
    /// Ranks of so many of its hosts.
    pub fn group(&self, hosts: u32) -> Group {
        Group::of(hosts, self.local)
    }

    /// The same without clusters of more than `most` hosts.
    pub fn up_to(&self, most: u32) -> Self {
        let seconds = self.seconds.iter().filter(|(hosts, _)| **hosts <= most);
        Self { seconds: seconds.map(|(hosts, of)| (*hosts, of.clone())).collect(), ..self.clone() }
    }

    /// Its name in words, with its setting.
    pub fn name(&self) -> String {
        let setting = if self.setting.is_empty() { String::new() } else { format!(" ({})", self.setting) };
        format!("{} x {}{setting}", self.collective.name(), self.local)
    }
}

/// All series of some logs, in the order of their names. Times in place and out of place are repeats.
pub fn series(logs: &[(String, Vec<NcclTest>)]) -> Vec<ClusterTimes> {
    type Times = BTreeMap<u32, BTreeMap<u64, Vec<f64>>>;
    let mut found: BTreeMap<(Collective, u32, String, String), Times> = BTreeMap::new();
    for test in logs.iter().flat_map(|(_, tests)| tests) {
        let (Some(collective), Some((hosts, local))) = (collective_of(&test.name), shape(test)) else {
            continue;
        };
        let products: BTreeSet<&str> = test.devices.iter().map(|device| device.product.as_str()).collect();
        let key = (collective, local, Vec::from_iter(products).join(", "), test.setting.clone());
        let sizes = found.entry(key).or_default().entry(hosts).or_default();
        for result in &test.results {
            for measure in [&result.out_of_place, &result.in_place].into_iter().flatten() {
                let seconds = measure.time_us * 1e-6;
                if result.bytes > 0 && seconds > 0.0 && seconds < LONGEST {
                    sizes.entry(result.bytes).or_default().push(seconds);
                }
            }
        }
    }
    let of = |((collective, local, product, setting), times): ((Collective, u32, String, String), Times)| {
        let middle = |mut of: BTreeMap<u64, Vec<f64>>| {
            of.iter_mut()
                .filter_map(|(bytes, times)| Some((*bytes, median(times)?)))
                .collect::<BTreeMap<u64, f64>>()
        };
        let seconds =
            times.into_iter().map(|(hosts, of)| (hosts, middle(of))).filter(|(_, of)| !of.is_empty());
        ClusterTimes { collective, local, product, setting, seconds: seconds.collect() }
    };
    found.into_iter().map(of).filter(|one| !one.seconds.is_empty()).collect()
}

/// Hosts and ranks of each; none within one host, where hosts differ, and where groups share them.
fn shape(test: &NcclTest) -> Option<(u32, u32)> {
    let mut on_host: BTreeMap<&str, u32> = BTreeMap::new();
    for device in &test.devices {
        *on_host.entry(&device.host).or_default() += 1;
    }
    let (first, hosts) = (*on_host.values().next()?, on_host.len() as u32);
    let one_group = test.devices.iter().all(|device| device.group == test.devices[0].group);
    (hosts > 1 && one_group && on_host.values().all(|&count| count == first)).then_some((hosts, first))
}

/// The collective of a program of nccl-tests.
fn collective_of(program: &str) -> Option<Collective> {
    match program.strip_suffix("_perf").unwrap_or(program) {
        "alltoall" => Some(Collective::AllToAll),
        "sendrecv" => Some(Collective::SendReceive),
        other => Collective::named(&other.replace('_', "-"))
            .filter(|one| *one != Collective::Broadcast && !one.is_of_experts()),
    }
}
