//! An intent, and the smallest fabric of each combination that it allows.
//!
//! ```
//! use railtwin_catalog::Catalog;
//! use railtwin_planning::intent::Intent;
//! let intent = Intent { tiers: vec![2], oversubscription: vec![1.0], planes: vec![1], ..Intent::default() };
//! let plan = intent.plan(&Catalog::builtin());
//! let fabric = &plan.candidates[0];
//! assert_eq!((fabric.counts.leaves, fabric.counts.spines, fabric.counts.cores), (64, 32, 0));
//! ```
mod as_preset;
mod candidate;
mod counts;
mod frontend;
mod of_design;
mod shape;
mod size;

use railtwin_catalog::{Catalog, Part, PartKind};
use railtwin_fabric::HostModel;
use railtwin_units::Rate;
use serde::Serialize;

pub use candidate::{Combination, FabricCandidate};
pub(crate) use candidate::{counted, grouped};
pub use counts::{Counts, TierCounts};
pub(crate) use shape::Shape;

railtwin_units::choice! {
    /// How NICs of a host share leaves.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum Style {
        /// NIC `r` of every host goes to leaf `r` of its segment.
        RailOptimised = "rail-optimised",
        /// All NICs of a host go to one leaf.
        Clos = "clos",
    }
}

/// Lengths of cables by class, metres.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Lengths {
    /// From NIC to leaf.
    pub access_m: f64,
    /// From leaf to spine.
    pub leaf_spine_m: f64,
    /// From spine to core.
    pub spine_core_m: f64,
}

/// GPUs of one building: 18 MW carry about 15K (HPN section 10).
const GPUS_OF_A_BUILDING: u32 = 15_360;
/// Hosts of one rack; assumed, 4 of about 10 kW.
const HOSTS_OF_A_RACK: u32 = 4;

impl Lengths {
    /// Lengths where nobody says them, of leaves with so many hosts. A leaf of one rail stands at the end of its row; so
    /// does one of whole hosts, but where they all stand in one rack with it. Fibres inside a building stay within 100 m
    /// (HPN section 10); cores join buildings over 300 m.
    pub fn of(style: Style, gpus: u32, hosts: u32) -> Self {
        let is_in_rack = style == Style::Clos && hosts <= HOSTS_OF_A_RACK;
        Self {
            access_m: if is_in_rack { 3.0 } else { 20.0 },
            leaf_spine_m: 50.0,
            spine_core_m: if gpus <= GPUS_OF_A_BUILDING { 100.0 } else { 300.0 },
        }
    }
}

/// A fabric that someone wants. Lists are alternatives: each combination is a candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Intent {
    /// How NICs of a host share leaves.
    pub style: Style,
    /// GPUs that the fabric carries at least.
    pub gpus: u32,
    /// What a host is.
    pub host: HostModel,
    /// Switches, each as a part of the catalog or as `64x400G`.
    pub switches: Vec<String>,
    /// Tiers of switches, 1 to 3.
    pub tiers: Vec<u32>,
    /// Most that the down capacity of a leaf may be of its up capacity.
    pub oversubscription: Vec<f64>,
    /// Most that the down capacity of a spine may be of its up capacity.
    pub core_oversubscription: Vec<f64>,
    /// Planes; each has a leaf of its own for every NIC, so a NIC has a port in each.
    pub planes: Vec<u32>,
    /// Leaves that a NIC reaches where there is one plane; 2 is dual-ToR.
    pub tors: Vec<u32>,
    /// Capacity of a cable between switches; none is that of a port of the switch, and where such a fabric ends, ports
    /// of switches split as those of NICs are.
    pub uplink: Option<Rate>,
    /// Lengths of cables; none is [`Lengths::of`].
    pub lengths: Option<Lengths>,
}

impl Default for Intent {
    /// The newcomer's question: 2,048 H100 behind 400 Gbps, switches of 64 ports.
    fn default() -> Self {
        Self {
            style: Style::RailOptimised,
            gpus: 2_048,
            host: HostModel::dgx_h100(),
            switches: vec!["64x400G".to_owned()],
            tiers: vec![2, 3],
            oversubscription: vec![1.0, 2.0],
            core_oversubscription: vec![1.0],
            planes: vec![1, 2],
            tors: vec![1],
            uplink: None,
            lengths: None,
        }
    }
}

/// A combination that no fabric meets.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Refusal {
    /// The combination.
    pub combination: Combination,
    /// Why not.
    pub reason: String,
}

/// The fabrics that meet an intent.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Plan {
    /// GPUs asked for.
    pub gpus: u32,
    /// Name of the host model.
    pub host: String,
    /// How NICs of a host share leaves.
    pub style: Style,
    /// A fabric of each combination that has one, in the order of the intent's lists.
    pub candidates: Vec<FabricCandidate>,
    /// The other combinations.
    pub refused: Vec<Refusal>,
}

impl Plan {
    /// The cheapest candidate; none where there is none or nothing has a price.
    pub fn cheapest(&self) -> Option<&FabricCandidate> {
        let priced = self.candidates.iter().filter(|candidate| candidate.is_priced());
        priced.min_by(|a, b| a.price().usd.total_cmp(&b.price().usd))
    }
}

/// Most ports of a switch: the largest chassis has 576 of 800 Gbps.
const MOST_SWITCH_PORTS: u32 = 1_152;

/// A switch: its ports, and the part of the catalog where there is one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SwitchModel {
    pub(crate) name: String,
    pub(crate) ports: u32,
    pub(crate) rate: Rate,
    pub(crate) part: Option<Part>,
}

impl SwitchModel {
    /// A part of the catalog by name, else its cheapest of such ports, else ports without a price.
    pub(crate) fn find(name: &str, catalog: &Catalog) -> Result<Self, String> {
        if let Some(part) = catalog.part(PartKind::Switch, &name.to_lowercase()) {
            let part = part.clone();
            return Ok(Self { name: name.to_owned(), ports: part.ports, rate: part.rate, part: Some(part) });
        }
        let refuse = || {
            format!(
                "switch {name:?} is no part of the catalog; write a name of it, or ports and rate such as 64x400G"
            )
        };
        let (ports, rate) = name.split_once(['x', 'X']).ok_or_else(refuse)?;
        let ports = ports.trim().parse().ok().filter(|&ports: &u32| (1..=MOST_SWITCH_PORTS).contains(&ports));
        let gbps = rate
            .trim()
            .strip_suffix(['G', 'g'])
            .unwrap_or(rate.trim())
            .parse()
            .ok()
            .filter(|&g: &u64| (1..=100_000).contains(&g));
        let (ports, gbps) = ports.zip(gbps).ok_or_else(refuse)?;
        let rate = Rate::from_gbps(gbps);
        let part = catalog.switch_of(ports, rate).cloned();
        Ok(Self { name: name.to_owned(), ports, rate, part })
    }

    pub(crate) fn capacity(&self) -> Rate {
        self.rate * u64::from(self.ports)
    }
}

impl Intent {
    /// Checks the switches by name.
    ///
    /// # Errors
    /// What is wrong with the first that is none, in words.
    pub fn check(&self, catalog: &Catalog) -> Result<(), String> {
        self.switches.iter().try_for_each(|name| SwitchModel::find(name, catalog).map(|_| ()))
    }

    /// The smallest fabric of each combination, and why the others have none.
    pub fn plan(&self, catalog: &Catalog) -> Plan {
        let mut plan = Plan {
            gpus: self.gpus,
            host: self.host.name.clone(),
            style: self.style,
            candidates: Vec::new(),
            refused: Vec::new(),
        };
        for combination in self.combinations() {
            match self.candidate(&combination, catalog) {
                Ok(candidate) => plan.candidates.push(candidate),
                Err(reason) => plan.refused.push(Refusal { combination, reason }),
            }
        }
        plan
    }

    /// The fabric of one combination.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub fn candidate(&self, combination: &Combination, catalog: &Catalog) -> Result<FabricCandidate, String> {
        let switch = SwitchModel::find(&combination.switch, catalog)?;
        if combination.style != self.style {
            return Err(format!("the intent is {}, the combination {}", self.style, combination.style));
        }
        let spec = size::smallest(self, combination, &switch)?;
        Ok(FabricCandidate::of(self, combination.clone(), [&switch; 3], spec, catalog))
    }

    /// All combinations of the lists, without those that mean the same twice: a plane has a leaf of its own, so
    /// `tors` counts where there is one plane, and the core's oversubscription where there are three tiers.
    pub fn combinations(&self) -> Vec<Combination> {
        let mut all: Vec<Combination> = Vec::new();
        for (switch, &tiers) in self.switches.iter().flat_map(|s| self.tiers.iter().map(move |t| (s, t))) {
            for (&planes, &tors) in self.planes.iter().flat_map(|p| self.tors.iter().map(move |t| (p, t))) {
                for &oversubscription in &self.oversubscription {
                    for &core in &self.core_oversubscription {
                        let combination = Combination {
                            style: self.style,
                            switch: switch.clone(),
                            tiers,
                            planes,
                            tors: if planes > 1 { planes } else { tors },
                            oversubscription: if tiers > 1 { oversubscription } else { 1.0 },
                            core_oversubscription: (tiers == 3).then_some(core),
                        };
                        if !all.contains(&combination) {
                            all.push(combination);
                        }
                    }
                }
            }
        }
        all
    }

    /// Lengths of cables where a leaf has so many hosts.
    pub fn lengths(&self, hosts: u32) -> Lengths {
        self.lengths.unwrap_or_else(|| Lengths::of(self.style, self.gpus, hosts))
    }
}
