//! Causes that a bandwidth below the expected one, or a longer step, may have, each as a change to the scenario.
use std::collections::BTreeSet;

use railtwin::Resolved;
use railtwin_fabric::{CableClass, DeviceId, HostId, HostModel};
use railtwin_units::Rate;
use railtwin_workload::Work;
use toml::Value;

use super::edits::Edit;
use super::trial::Trials;

/// Part of a cluster in which a cause lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Area {
    /// Nothing is wrong.
    Expected,
    /// A setting of the collective library.
    Setting,
    /// The algorithm that the library chose.
    Algorithm,
    /// How bytes come from GPU to NIC and over the network.
    Transport,
    /// One host with its GPUs, NICs and cables.
    Host,
    /// Switches and the cables between them.
    Fabric,
    /// Flows that meet on a link.
    Collision,
}

impl Area {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Expected => "as expected",
            Self::Setting => "setting",
            Self::Algorithm => "algorithm",
            Self::Transport => "transport",
            Self::Host => "host",
            Self::Fabric => "fabric",
            Self::Collision => "collision",
        }
    }
}

/// Name of the hypothesis that a run over sockets explains.
pub const SOCKETS: &str = "sockets";
/// Name of the one that GPUDirect RDMA is off.
pub const NO_DIRECT_RDMA: &str = "gpudirect-off";
/// Name of the one that flows collide.
pub const COLLISIONS: &str = "collisions";
/// Name of the one that a NIC has a part of its rate.
pub const SLOW_NIC: &str = "slow-nic";

/// A change with a share as its parameter, which is fitted to what was measured.
#[derive(Clone, PartialEq, Debug)]
pub enum SlowPart {
    /// Rate of NICs, cables or switches, by key of a fault and name.
    Rate(Vec<(&'static str, String)>),
    /// Computing speed of all GPUs of a host.
    Compute(String),
}

impl SlowPart {
    /// The change for a share of the rate or speed.
    pub fn edits(&self, share: f64) -> Vec<Edit> {
        match self {
            Self::Rate(names) => names.iter().map(|(key, name)| Edit::slow(key, name, share)).collect(),
            Self::Compute(host) => vec![Edit::Fault(vec![
                ("host", Value::from(host.as_str())),
                ("kind", Value::from("slow-gpu")),
                ("factor", Value::from(1.0 / share)),
            ])],
        }
    }
}

/// How a hypothesis is simulated.
#[derive(Clone, PartialEq, Debug)]
pub enum Experiment {
    /// Each of these changes is simulated; their figures span its band.
    Edits(Vec<Vec<Edit>>),
    /// The changes are simulated with so many draws of hash seeds.
    Draws(Vec<Edit>, u32),
    /// A share of a part's rate is fitted, with changes beside it.
    SlowPart(SlowPart, Vec<Edit>),
    /// It is not: no model says what it costs.
    Unknown(String),
}

/// A cause that what was measured may have.
#[derive(Clone, PartialEq, Debug)]
pub struct Hypothesis {
    /// Name, the same in each answer.
    pub name: String,
    /// Where the cause lies.
    pub area: Area,
    /// The cause in a few words.
    pub says: String,
    /// Direct sign of the cause; empty where there is none.
    pub sign: &'static str,
    /// How it is simulated.
    pub trial: Experiment,
}

/// Share of a GPU's PCIe that a NIC gets without GPUDirect RDMA, at least and at most. A byte crosses PCIe twice then, so
/// that half of it is the most; nccl-tests over two A100 hosts without it had 5 GB/s at each NIC of 31.5 GB/s of PCIe
/// (NVIDIA/nccl#1537), which is 0.16.
const STAGED: [f64; 2] = [0.15, 0.5];
/// Rates of the Ethernet port that sockets use, where nobody says: of a host's management network and of its frontend.
const ETHERNET_GBPS: [u64; 2] = [25, 200];

/// Facts of a scenario that its hypotheses depend on.
pub struct Scene {
    host: HostModel,
    last: String,
    leaf: Option<Leaf>,
    hosts: usize,
    computes: bool,
    collective: Option<String>,
    algorithm: Option<String>,
    balancer: String,
    has_own_caps: bool,
}

struct Leaf {
    name: String,
    uplinks: Vec<String>,
}

impl Scene {
    /// The scene of a resolved scenario.
    pub fn of(resolved: &Resolved, trials: &Trials<'_>) -> Self {
        let (case, job) = (&resolved.case, trials.job());
        let fabric = &case.fabric;
        let hosts: BTreeSet<_> = case.placements[job].iter().map(|place| place.host).collect();
        let last = hosts.last().copied().unwrap_or(HostId(0));
        let nic = fabric.nic(last, 0);
        let leaf = fabric.ports(nic).filter_map(|port| fabric.cable_at(port)).find_map(|cable| {
            let access = fabric.cable_class(cable) >= CableClass::Access;
            let [near, far] = fabric.cable_ports(cable);
            let other = [near, far].map(|port| fabric.port_device(port)).into_iter().find(|one| *one != nic);
            other.filter(|_| access).map(|leaf| Leaf::of(resolved, leaf))
        });
        let text = |section: &str, key: &str| {
            let value = trials.table().get(section)?.get(key)?;
            value.as_str().map(str::to_owned)
        };
        let collective = trials.table().get("job").and_then(|jobs| jobs.get(job)?.get("collective"));
        let word = |key: &str| collective.and_then(|one| one.get(key)?.as_str()).map(str::to_owned);
        let caps = trials.table().get("fabric").and_then(|fabric| fabric.get("host")?.get("caps")?.as_str());
        Self {
            host: fabric.host_model(last).clone(),
            last: fabric.host_name(last),
            leaf,
            hosts: hosts.len(),
            computes: case.work.jobs[job]
                .plan
                .operations
                .iter()
                .any(|one| matches!(one.work, Work::Compute { .. })),
            collective: word("kind"),
            algorithm: word("algorithm"),
            balancer: text("routing", "balancer").unwrap_or_else(|| "ecmp".to_owned()),
            has_own_caps: caps.is_some_and(|caps| caps != "measured"),
        }
    }

    /// The changes that make paths even: what is expected of a network whose flows do not collide.
    fn even(&self) -> Vec<Edit> {
        let hashed = ["ecmp", "e-ecmp"].contains(&self.balancer.as_str()) && self.hosts > 1;
        if hashed { vec![Edit::Balancer("spray")] } else { Vec::new() }
    }

    /// A change on even paths, once with what collectives cost hosts and once with links alone: what is true lies between.
    fn both(&self, change: &[Edit]) -> Vec<Vec<Edit>> {
        let with = |more: &[Edit]| [&self.even()[..], change, more].concat();
        match self.has_own_caps {
            true => vec![with(&[])],
            false => vec![with(&[]), with(&[Edit::Host("caps", Value::from("none"))])],
        }
    }

    fn edits(&self, change: &[Edit]) -> Experiment {
        Experiment::Edits(self.both(change))
    }

    /// The hypothesis that nothing is wrong.
    pub fn expected(&self) -> Hypothesis {
        Hypothesis {
            name: "expected".to_owned(),
            area: Area::Expected,
            says: "nothing is wrong".to_owned(),
            sign: "",
            trial: self.edits(&[]),
        }
    }

    /// All hypotheses but that nothing is wrong; `draws` draws of hash seeds for collisions.
    pub fn hypotheses(&self, draws: u32) -> Vec<Hypothesis> {
        let mut all = Vec::new();
        if self.hosts > 1 {
            all.push(self.collisions(draws));
            all.extend(self.settings());
            all.extend(self.transports());
        }
        all.extend(self.algorithms());
        if self.hosts > 1 {
            all.extend(self.rates());
        } else {
            all.extend(self.nvlink());
        }
        if self.computes {
            all.push(Hypothesis {
                name: "slow-compute".to_owned(),
                area: Area::Host,
                says: "one host computes, or loads its data, more slowly than the others".to_owned(),
                sign: "times of computing by rank: a trace of the profiler, or `nvidia-smi -q -d CLOCK,PERFORMANCE`",
                trial: Experiment::SlowPart(SlowPart::Compute(self.last.clone()), self.even()),
            });
        }
        all
    }

    fn collisions(&self, draws: u32) -> Hypothesis {
        Hypothesis {
            name: COLLISIONS.to_owned(),
            area: Area::Collision,
            says: "flows collide on uplinks, since switches hash them (ECMP)".to_owned(),
            sign: "bytes by uplink of a leaf: some carry several flows, others none",
            trial: Experiment::Draws(vec![Edit::Balancer("ecmp")], draws),
        }
    }

    fn settings(&self) -> Vec<Hypothesis> {
        let nics = i64::from(self.host.nics);
        let some = |name: &str, count: i64, says: String| Hypothesis {
            name: name.to_owned(),
            area: Area::Setting,
            says,
            sign: "NCCL_DEBUG=INFO: the line «NET/IB : Using» names the NICs",
            trial: self.edits(&[Edit::Host("nics", Value::from(count))]),
        };
        let mut all = Vec::new();
        if nics >= 4 {
            let half = nics / 2;
            all.push(some(
                "half-of-the-nics",
                half,
                format!("NCCL uses {half} of {nics} NICs (NCCL_IB_HCA)"),
            ));
        }
        if nics >= 2 {
            all.push(some("one-nic", 1, format!("NCCL uses one of {nics} NICs (NCCL_IB_HCA)")));
        }
        all
    }

    fn transports(&self) -> Vec<Hypothesis> {
        let gbps = |rate: f64| Value::from(format!("{} Gbps", rate.round().max(1.0)));
        let staged = STAGED.map(|share| {
            [&self.even()[..], &[Edit::Host("pcie", gbps(self.host.pcie.gbps() * share))]].concat()
        });
        let port = |rate: u64| {
            let keys = [
                ("nics", Value::from(1)),
                ("nic_ports", Value::from(1)),
                ("nic_port_capacity", Value::from(format!("{} Gbps", Rate::from_gbps(rate).gbps()))),
            ];
            [self.even(), keys.map(|(key, value)| Edit::Host(key, value)).to_vec()].concat()
        };
        vec![
            Hypothesis {
                name: NO_DIRECT_RDMA.to_owned(),
                area: Area::Transport,
                says: "GPUDirect RDMA is off: bytes cross the memory of the host".to_owned(),
                sign: "NCCL_DEBUG=INFO: «GPU Direct RDMA Disabled», or no /GDRDMA behind NET/IB",
                trial: Experiment::Edits(staged.to_vec()),
            },
            Hypothesis {
                name: SOCKETS.to_owned(),
                area: Area::Transport,
                says: "NCCL runs over TCP sockets on an Ethernet port".to_owned(),
                sign: "NCCL_DEBUG=INFO: channels «via NET/Socket»",
                trial: Experiment::Edits(ETHERNET_GBPS.map(port).to_vec()),
            },
        ]
    }

    fn algorithms(&self) -> Vec<Hypothesis> {
        let known: &[&str] = match (self.collective.as_deref(), self.hosts > 1) {
            (Some("all-reduce"), true) => &["ring", "tree", "nvls-tree"],
            (Some("all-reduce"), false) => &["ring", "nvls"],
            _ => &[],
        };
        let others = known.iter().filter(|name| Some(**name) != self.algorithm.as_deref());
        others
            .map(|name| Hypothesis {
                name: (*name).to_owned(),
                area: Area::Algorithm,
                says: format!("NCCL chose the algorithm {name} (NCCL_ALGO)"),
                sign: "NCCL_DEBUG_SUBSYS=TUNING with NCCL_DEBUG=INFO: algorithm and protocol by size",
                trial: self.edits(&[Edit::Collective("algorithm", Value::from(*name))]),
            })
            .collect()
    }

    /// Causes inside a host.
    fn nvlink(&self) -> Option<Hypothesis> {
        let half = self.host.nvlink?.gbps() / 2.0;
        Some(Hypothesis {
            name: "nvlink-at-half".to_owned(),
            area: Area::Host,
            says: "GPUs have half of their NVLink: links are down".to_owned(),
            sign: "`nvidia-smi nvlink --status`: links that are inactive",
            trial: self.edits(&[Edit::Host("nvlink", Value::from(format!("{half} Gbps")))]),
        })
    }

    fn rates(&self) -> Vec<Hypothesis> {
        let nic = format!("{}/nic-0", self.last);
        let at = |name: &str, share: f64, says: &str| Hypothesis {
            name: name.to_owned(),
            area: Area::Host,
            says: says.to_owned(),
            sign: "port speed and PCIe width of each NIC: ibstat, ethtool, lspci -vv (LnkSta)",
            trial: self.edits(&[Edit::slow("nic", &nic, share)]),
        };
        let mut all = vec![
            at(
                "nic-at-half",
                0.5,
                "one NIC or its cable has half of its rate: a port or half of its lanes is down",
            ),
            at(
                "nic-at-quarter",
                0.25,
                "one NIC or its cable has a quarter of its rate: PCIe or port fell back",
            ),
            Hypothesis {
                name: SLOW_NIC.to_owned(),
                area: Area::Host,
                says: "one NIC or one cable has another part of its rate".to_owned(),
                sign: "send/receive between pairs of hosts: all pairs of one host, or of one rail of it, are slow",
                trial: Experiment::SlowPart(SlowPart::Rate(vec![("nic", nic)]), self.even()),
            },
        ];
        if let Some(Leaf { name, uplinks }) = &self.leaf
            && uplinks.len() >= 2
        {
            let half = uplinks.len() / 2;
            let down = |name: &String| {
                Edit::Fault(vec![("cable", Value::from(name.as_str())), ("kind", Value::from("down"))])
            };
            all.push(Hypothesis {
                name: "uplinks-down".to_owned(),
                area: Area::Fabric,
                says: format!("half of the uplinks of one leaf ({half} of {}) are down", uplinks.len()),
                sign: "interface state of the leaf: uplinks that are down",
                trial: self.edits(&uplinks[..half].iter().map(down).collect::<Vec<_>>()),
            });
            all.push(Hypothesis {
                name: "leaf-at-half".to_owned(),
                area: Area::Fabric,
                says: format!("all ports of one leaf, such as {name}, have half of their rate"),
                sign: "interface speed of the leaf, or its chip's own counters of discards",
                trial: self.edits(&[Edit::slow("leaf", name, 0.5)]),
            });
        }
        all
    }

    /// The changes that make paths even, for hypotheses made elsewhere.
    pub fn even_paths(&self) -> Vec<Edit> {
        self.even()
    }

    /// The first `count` NICs of a host, of the last one of the job where none is given.
    pub fn nics(&self, host: Option<&str>, count: u32) -> SlowPart {
        let host = host.unwrap_or(&self.last);
        SlowPart::Rate(
            (0..count.min(self.host.nics)).map(|nic| ("nic", format!("{host}/nic-{nic}"))).collect(),
        )
    }

    /// The slow part of a host: its computing, where the job computes and that is doubted, else all its NICs.
    pub fn of_host(&self, host: Option<&str>, is_computing: bool) -> SlowPart {
        match is_computing && self.computes {
            true => SlowPart::Compute(host.unwrap_or(&self.last).to_owned()),
            false => self.nics(host, self.host.nics),
        }
    }

    /// The algorithm that the scenario names.
    pub fn algorithm(&self) -> Option<&str> {
        self.algorithm.as_deref()
    }

    /// The collective, as scenarios name it.
    pub fn collective(&self) -> Option<&str> {
        self.collective.as_deref()
    }
}

impl Leaf {
    fn of(resolved: &Resolved, leaf: DeviceId) -> Self {
        let fabric = &resolved.case.fabric;
        let ports =
            fabric.ports(leaf).filter_map(|port| fabric.cable_at(port).map(|_| fabric.port_name(port)));
        Self {
            name: fabric.device_name(leaf),
            uplinks: ports.filter(|name| name.contains(":uplink-")).collect(),
        }
    }
}
