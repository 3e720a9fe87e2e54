//! The scenario of a test of nccl-tests, where nobody gives one.
use railtwin_calibration::bandwidth::Kind;
use railtwin_fabric::HostModel;
use toml::{Table, Value};

/// Hosts under a leaf, where nobody says what the network is: those of a leaf of 64 ports down with eight NICs each.
const HOSTS_PER_LEAF: u32 = 8;

/// A test: the collective, its size, its ranks.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// The collective, as scenarios name it.
    pub collective: String,
    /// Size of the buffer, bytes.
    pub bytes: u64,
    /// Hosts.
    pub hosts: u32,
    /// Ranks on each host.
    pub gpus: u32,
    /// Host model.
    pub host: HostModel,
}

impl Setting {
    /// The setting of a kind of tests of which `bytes` was measured.
    ///
    /// # Errors
    /// The reason where a scenario cannot describe it.
    pub fn of_kind(kind: &Kind, bytes: u64, host: HostModel) -> Result<Self, String> {
        let collective = match kind.collective.as_str() {
            "send/receive" => "send-receive",
            known @ ("all-reduce" | "all-gather" | "reduce-scatter" | "all-to-all" | "broadcast") => known,
            other => return Err(format!("no scenario runs {other}")),
        };
        if kind.hosts == 0 {
            return Err("the log names no hosts".to_owned());
        }
        let gpus = kind.gpus.ok_or("hosts have different numbers of GPUs")?;
        Ok(Self { collective: collective.to_owned(), bytes, hosts: kind.hosts, gpus, host })
    }

    /// Lines that say what is assumed of the network.
    pub fn assumed(&self) -> Vec<String> {
        let rate = self.host.nic.port_capacity.gbps() * f64::from(self.host.nic.ports);
        vec![
            format!(
                "hosts are {}: {} GPUs, {} NICs of {rate} Gbps (--host, --scenario)",
                self.host.name, self.host.gpus, self.host.nics
            ),
            format!(
                "leaves of {HOSTS_PER_LEAF} hosts, as much uplink as downlink, hosts in the order of leaves (--scenario)"
            ),
        ]
    }

    /// The text of a scenario: hosts under leaves of equal capacity up and down.
    pub fn text(&self) -> String {
        let rate = self.host.nic.port_capacity.gbps() * f64::from(self.host.nic.ports);
        let rate = Value::from(format!("{rate} Gbps"));
        // GPUs that take no part leave their NICs unused.
        let gpus = self.gpus.min(self.host.gpus).max(1);
        let nics = (self.host.nics * gpus / self.host.gpus.max(1)).max(1);
        let table = |pairs: Vec<(&str, Value)>| {
            Table::from_iter(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)))
        };
        let host = table(vec![
            ("model", Value::from(self.host.name.as_str())),
            ("gpus", Value::from(i64::from(gpus))),
            ("nics", Value::from(i64::from(nics))),
            ("nic_ports", Value::from(1)),
            ("nic_port_capacity", rate.clone()),
        ]);
        let per_leaf = self.hosts.min(HOSTS_PER_LEAF);
        let fabric = table(vec![
            ("preset", Value::from("leaf-spine")),
            ("leaves", Value::from(i64::from(self.hosts.div_ceil(per_leaf)))),
            ("hosts_per_leaf", Value::from(i64::from(per_leaf))),
            ("uplinks", Value::from(i64::from(per_leaf * nics))),
            ("uplink_capacity", rate),
            ("host", Value::Table(host)),
        ]);
        let collective = table(vec![
            ("kind", Value::from(self.collective.as_str())),
            ("bytes", Value::from(format!("{} B", self.bytes))),
        ]);
        let job = table(vec![
            ("name", Value::from("test")),
            ("hosts", Value::from(i64::from(self.hosts))),
            ("collective", Value::Table(collective)),
        ]);
        let run = table(vec![("steps", Value::from(1))]);
        let all = table(vec![
            ("schema", Value::from(1)),
            ("name", Value::from("explained")),
            ("run", Value::Table(run)),
            ("fabric", Value::Table(fabric)),
            ("job", Value::Array(vec![Value::Table(job)])),
        ]);
        all.to_string()
    }
}
