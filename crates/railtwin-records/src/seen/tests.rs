//! Evidence from nccl-tests and perftest.
use super::{counted_list, seen};

seen! {
    /// Results of nccl-tests and perftest.
    TestSeen in "nccl-tests":
    WithinHost { class: String, bytes: u64 } [""]
        format!("bandwidth within the host in {class}, {bytes} bytes, as a share of what is usual");
    PairAt { hosts: [String; 2], class: String, bytes: u64 } [""] format!(
        "bandwidth between {} and {} in {class}, {bytes} bytes, as a share of what is usual",
        hosts[0], hosts[1]
    );
    SlowFlows { place: String, way: &'static str, compared: usize, left: usize, all: usize } ["results"] format!(
        "slow results, of {compared} with flows {place} ({way}); of all {all} slow results no cause explains {left}"
    );
    DeadFlows { place: String, ways: Vec<String>, touched: usize } ["tests"] format!(
        "tests that failed, of {touched} with flows {place}: {}",
        ways.join(", ")
    );
    ClassShare { class: String } [""]
        format!("bandwidth of these flows in {class}, as a share of what is usual");
    GroupHosts { hosts: Vec<String>, is_member: bool, bits: u32 } ["hosts"] format!(
        "hosts that {} it, each with {bits} bits or more: {}",
        if *is_member { "belong to" } else { "do not belong to" },
        hosts.join(", ")
    );
    UntestedHosts { hosts: Vec<String> } ["hosts"]
        format!("hosts of which no test tells whether they belong to it: {}", hosts.join(", "));
    OtherCauses { others: Vec<String>, is_same: bool } ["causes"] format!(
        "other causes that explain {}: {}",
        if *is_same { "exactly the same results" } else { "the results as well" },
        counted_list(others)
    );
    PairsShare { pattern: String } [""]
        format!("bandwidth of these pairs, as a share of what is usual: {pattern}");
    WrongElements { test: String, hosts: Vec<String> } ["elements"]
        format!("wrong elements in {test} over {}", hosts.join(", "));
    HostFailures { host: String, in_failed: usize, failed: usize, end: &'static str, logs: usize } ["logs"] format!(
        "host {host}: in {in_failed} of {failed} logs of tests that {end}; of {logs} logs with it, those of tests that failed"
    );
    HostPasses { host: String } ["logs"] format!("host {host}: logs with it in which all tests came to their end");
    Failed { test: String, hosts: String, end: &'static str, after_bytes: Option<u64>, line: String } ["tests"] {
        let over = if hosts.is_empty() { String::new() } else { format!(" over {hosts}") };
        let after = match after_bytes {
            Some(bytes) => format!(" after {bytes} bytes"),
            None => " before its first result".to_owned(),
        };
        format!("tests of {test}{over} that {end}{after}")
    };
}

impl TestSeen {
    /// How bandwidth depends on size, kind and direction, where a line sums that up.
    pub fn pattern(&self) -> Option<&str> {
        match self {
            Self::PairsShare { pattern } => Some(pattern),
            _ => None,
        }
    }
}
