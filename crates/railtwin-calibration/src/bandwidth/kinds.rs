//! Tests of nccl-tests sorted into kinds: the same collective over as many hosts and GPUs of one product.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_formats::telemetry::{NcclTest, NcclTestMeasure};

use super::bounds::Operation;

/// What tests have in common that are compared with each other.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Kind {
    /// The collective, such as `all-reduce`; the program's name where no bound of it is known.
    pub collective: String,
    /// Hosts; 0 where the log does not say.
    pub hosts: u32,
    /// Ranks on each host; none where hosts have different numbers.
    pub gpus: Option<u32>,
    /// Ranks of all hosts.
    pub ranks: u32,
    /// Groups that ran the collective at the same time; 1 as a rule.
    pub groups: u32,
    /// Product name of the GPUs; all of them where there are several.
    pub product: String,
    /// Name of the setting; empty where nothing tells settings apart.
    pub setting: String,
}

impl Kind {
    /// The kind of a test.
    pub fn of(test: &NcclTest) -> Self {
        let mut on_host: BTreeMap<&str, u32> = BTreeMap::new();
        for device in &test.devices {
            *on_host.entry(&device.host).or_default() += 1;
        }
        let counts: BTreeSet<u32> = on_host.values().copied().collect();
        let groups: BTreeSet<u32> = test.devices.iter().map(|device| device.group).collect();
        let products: BTreeSet<&str> = test.devices.iter().map(|device| device.product.as_str()).collect();
        let known = Operation::of_program(&test.name);
        Self {
            collective: known.map_or_else(|| program(&test.name), |operation| operation.name().to_owned()),
            hosts: on_host.len() as u32,
            gpus: counts.first().copied().filter(|_| counts.len() == 1),
            ranks: test.devices.len() as u32,
            groups: groups.len().max(1) as u32,
            product: Vec::from_iter(products).join(", "),
            setting: test.setting.clone(),
        }
    }

    /// Hosts and ranks on each, such as `2 x 8`.
    pub fn shape(&self) -> String {
        let groups = if self.groups > 1 { format!(" in {} groups", self.groups) } else { String::new() };
        let setting = if self.setting.is_empty() { String::new() } else { format!(" ({})", self.setting) };
        match (self.hosts, self.gpus) {
            (0, _) => "hosts unknown".to_owned(),
            (hosts, Some(gpus)) => format!("{hosts} x {gpus}{groups}{setting}"),
            (hosts, None) => format!("{hosts} hosts, {} GPUs{groups}{setting}", self.ranks),
        }
    }
}

fn program(name: &str) -> String {
    match name.strip_suffix("_perf").unwrap_or(name) {
        "" => "unnamed test".to_owned(),
        bare => bare.to_owned(),
    }
}

/// A test of a log with what it measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Test {
    /// The log.
    pub file: String,
    /// Number of the test in its log, from 1.
    pub number: usize,
    /// Its hosts in order of their names.
    pub hosts: Vec<String>,
    /// Bus bandwidths in GB/s by size in bytes, as measured: out of place, in place.
    pub sizes: BTreeMap<u64, Vec<f64>>,
    /// Algorithm bandwidths in GB/s by size in bytes.
    pub algorithm: BTreeMap<u64, Vec<f64>>,
    /// Wrong elements of all sizes.
    pub wrong: u64,
}

impl Test {
    /// What `test` of `file` measured. A bandwidth of 0 is none: a size that no GPU had a byte of.
    pub fn of(file: &str, number: usize, test: &NcclTest) -> Self {
        let hosts: BTreeSet<&str> = test.devices.iter().map(|device| device.host.as_str()).collect();
        let mut read = Self {
            file: file.to_owned(),
            number,
            hosts: hosts.into_iter().map(str::to_owned).collect(),
            sizes: BTreeMap::new(),
            algorithm: BTreeMap::new(),
            wrong: 0,
        };
        for result in &test.results {
            for measure in [&result.out_of_place, &result.in_place].into_iter().flatten() {
                read.take(result.bytes, measure);
            }
        }
        read
    }

    fn take(&mut self, bytes: u64, measure: &NcclTestMeasure) {
        self.wrong = self.wrong.saturating_add(measure.wrong.unwrap_or(0));
        let bandwidth = measure.bus_gb_per_s;
        if bytes > 0 && bandwidth.is_finite() && bandwidth > 0.0 {
            self.sizes.entry(bytes).or_default().push(bandwidth);
            self.algorithm.entry(bytes).or_default().push(measure.algorithm_gb_per_s);
        }
    }
}
