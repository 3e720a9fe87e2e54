//! Tests as the inference reads them: ports, the kind of traffic, results by size or a way to die.

/// A port: the NIC beside one GPU of a host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Port {
    /// Index of the host in [`TrialSet::hosts`].
    pub host: usize,
    /// Index of the place in [`TrialSet::places`]; none where the log does not name it.
    pub place: Option<usize>,
}

/// Traffic of a test, which decides its flows between ports.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TrialTraffic {
    /// Each GPU sends to each GPU: `alltoall_perf`.
    AllToAll,
    /// Each rank sends to the next one: `sendrecv_perf`.
    SendReceive,
    /// Rings over all hosts, one for each GPU of a host: `all_reduce_perf` and the like.
    Rings,
    /// The first port sends to the second: `ib_write_bw`.
    OneWay,
}

/// Result of a test.
#[derive(Clone, PartialEq, Debug)]
pub enum TrialOutcome {
    /// Bandwidth for each size in bytes. The unit is free, but one class of tests shares it.
    Sizes(Vec<(u64, f64)>),
    /// The test died, by the way that is named: the source line of its first error, or silence.
    Died(String),
}

/// One test.
#[derive(Clone, PartialEq, Debug)]
pub struct Trial {
    /// Class of the test: results are compared within it.
    pub class: String,
    /// Traffic.
    pub traffic: TrialTraffic,
    /// Ports that take part, in the order of their ranks.
    pub ports: Vec<Port>,
    /// Result.
    pub outcome: TrialOutcome,
}

/// All tests of a cluster.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct TrialSet {
    /// Names of hosts.
    pub hosts: Vec<String>,
    /// Names of places, such as PCI addresses of GPUs: the same place of all hosts is a rail.
    pub places: Vec<String>,
    /// Tests.
    pub trials: Vec<Trial>,
}

impl TrialSet {
    /// Index of a host; a new name is added.
    pub fn host(&mut self, name: &str) -> usize {
        index(&mut self.hosts, name)
    }

    /// Index of a place; a new name is added, an empty one is unknown.
    pub fn place(&mut self, name: &str) -> Option<usize> {
        (!name.is_empty()).then(|| index(&mut self.places, name))
    }
}

fn index(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}
