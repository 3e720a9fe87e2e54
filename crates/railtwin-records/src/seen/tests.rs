//! Evidence from nccl-tests and perftest.
use super::seen;

seen! {
    /// Results of nccl-tests and perftest.
    TestSeen in "nccl-tests":
    WithinHost { class: String, bytes: u64 } [""]
        format!("bandwidth within the host in {class}, {bytes} bytes, as a share of what is usual");
    AllPairs { slow: usize, tests: usize, pattern: String } [""] format!(
        "bandwidth of all its pairs in {slow} of {tests} tests, as a share of what is usual: {pattern}"
    );
    AllPairsAt { class: String, bytes: u64 } [""]
        format!("bandwidth of all its pairs in {class}, {bytes} bytes, as a share of what is usual");
    PairAt { hosts: [String; 2], class: String, bytes: u64 } [""] format!(
        "bandwidth between {} and {} in {class}, {bytes} bytes, as a share of what is usual",
        hosts[0], hosts[1]
    );
    PairResults { slow: usize, results: usize, pattern: String } [""] format!(
        "bandwidth of {slow} of {results} results between the two, as a share of what is usual: {pattern}"
    );
    SlowPairs { place: String, tested: usize, chance: String } ["pairs"] format!(
        "slow pairs {place}, of {tested} that were tested; chance gives one of all as many with {chance}"
    );
    PairsShare { pattern: String } [""]
        format!("bandwidth of these pairs, as a share of what is usual: {pattern}");
    PairHosts { hosts: Vec<String>, are_others: bool } ["hosts"] format!(
        "{} of these pairs: {}",
        if *are_others { "the other hosts" } else { "hosts" },
        hosts.join(", ")
    );
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
            Self::AllPairs { pattern, .. }
            | Self::PairResults { pattern, .. }
            | Self::PairsShare { pattern } => Some(pattern),
            _ => None,
        }
    }
}
