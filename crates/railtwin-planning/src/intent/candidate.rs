//! A fabric that meets an intent, with its counts, price and power.
use railtwin_catalog::{Bill, BillScope, Catalog, Money, PartKind, Power};
use railtwin_fabric::NicModel;
use railtwin_fabric::clos::{ClosSpec, Peers, SpineGroups};
use railtwin_units::Rate;
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

use super::counts::Counts;
use super::{Intent, Lengths, Style, SwitchModel};
use crate::loss::LossReport;

/// One choice from each list of an intent.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Combination {
    /// How NICs of a host share leaves.
    pub style: Style,
    /// The switch of every tier.
    pub switch: String,
    /// Tiers of switches.
    pub tiers: u32,
    /// Planes.
    pub planes: u32,
    /// Leaves that a NIC reaches.
    pub tors: u32,
    /// Most that the down capacity of a leaf may be of its up capacity.
    pub oversubscription: f64,
    /// The same of a spine; none without cores.
    pub core_oversubscription: Option<f64>,
}

impl Combination {
    /// In words, such as `rail-optimised 64x400G, 2 tiers, 1 plane, 1:1`.
    pub fn label(&self) -> String {
        format!("{} {}, {}", self.style, self.switch, self.short_label())
    }

    /// The same without style and switch.
    pub fn short_label(&self) -> String {
        let Self { tiers, planes, tors, oversubscription, core_oversubscription, .. } = self;
        let many = |count: u32, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let mut label = format!("{}, {}", many(*tiers, "tier"), many(*planes, "plane"));
        if *planes == 1 && *tors > 1 {
            label.push_str(&format!(", {tors} leaves a NIC"));
        }
        label.push_str(&format!(", {oversubscription}:1"));
        if let Some(core) = core_oversubscription.filter(|core| *core > 1.0) {
            label.push_str(&format!(", core {core}:1"));
        }
        label
    }
}

/// A fabric that meets an intent.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FabricCandidate {
    /// The combination that it is of.
    pub combination: Combination,
    /// The fabric spelled out; [`ClosSpec::build`] makes its graph.
    #[serde(rename = "fabric", serialize_with = "spelled")]
    pub spec: ClosSpec,
    /// Its counts.
    pub counts: Counts,
    /// Lengths of its cables.
    pub lengths: Lengths,
    /// The network's parts: switches, NICs, optics, cables.
    pub bill: Bill,
    /// Price of the hosts, which the bill does not have; none where the catalog does not know the model.
    pub hosts_price: Option<Money>,
    /// Power of the hosts, that of their NICs in it.
    pub hosts_power: Option<Power>,
    /// What each lost part takes.
    pub loss: LossReport,
    /// Parts that the catalog does not have, which the bill leaves out.
    pub notes: Vec<String>,
}

impl FabricCandidate {
    pub(crate) fn of(
        intent: &Intent,
        combination: Combination,
        switches: [&SwitchModel; 3],
        spec: ClosSpec,
        catalog: &Catalog,
    ) -> Self {
        let counts = Counts::of(&spec);
        let lengths = intent.lengths(spec.hosts);
        let mut notes = Vec::new();
        let bill = bill_of(&spec, &counts, (switches, lengths), catalog, &mut notes);
        let host = catalog.part(PartKind::Host, &spec.host.name);
        let hosts = counts.hosts as f64;
        Self {
            combination,
            loss: LossReport::of(&spec),
            hosts_price: host.map(|host| host.price(0.0) * hosts),
            hosts_power: host.map(|host| host.power() * hosts),
            spec,
            counts,
            lengths,
            bill,
            notes,
        }
    }

    /// Price of the network of active hosts; the bill has backup hosts and the frontend beside it.
    pub fn price(&self) -> Money {
        self.bill.of_scope(BillScope::Network).map(|line| line.price).sum()
    }

    /// Whether the price has all parts: none is missing in the catalog.
    pub fn is_priced(&self) -> bool {
        self.notes.is_empty() && self.price().usd > 0.0
    }

    /// Power of the network of active hosts.
    pub fn power(&self) -> Power {
        self.bill.of_scope(BillScope::Network).map(|line| line.power).sum()
    }

    /// US dollars of the network for each GPU.
    pub fn usd_per_gpu(&self) -> f64 {
        self.price().usd / self.counts.gpus.max(1) as f64
    }

    /// Watts of the network for each GPU.
    pub fn watts_per_gpu(&self) -> f64 {
        self.power().watts / self.counts.gpus.max(1) as f64
    }
}

/// The counts of a fabric by the names of its fields; rates in bit/s, delays in picoseconds.
fn spelled<S: Serializer>(spec: &ClosSpec, output: S) -> Result<S::Ok, S::Error> {
    let groups = match spec.groups {
        SpineGroups::Single => "single",
        SpineGroups::PerTor => "per-tor",
        SpineGroups::PerLeaf => "per-leaf",
    };
    let counts = [
        ("gpus_per_host", spec.host.gpus),
        ("nics_per_host", spec.host.nics),
        ("nic_ports", spec.host.nic.ports),
        ("pods", spec.pods),
        ("segments", spec.segments),
        ("hosts", spec.hosts),
        ("spare_hosts", spec.spare_hosts),
        ("rails_per_leaf", spec.rails_per_leaf),
        ("tors", spec.tors),
        ("spines", spec.spines),
        ("parallel", spec.parallel),
        ("spine_up", spec.spine_up),
        ("cores", spec.cores),
    ];
    let rates = [
        ("nic_port_bps", spec.host.nic.port_capacity),
        ("uplink_bps", spec.uplink),
        ("core_link_bps", spec.core_link),
    ];
    let delays = [
        ("access_delay_ps", spec.access_delay),
        ("leaf_spine_delay_ps", spec.leaf_spine_delay),
        ("spine_core_delay_ps", spec.spine_core_delay),
    ];
    let mut map = output.serialize_map(None)?;
    map.serialize_entry("name", &spec.name)?;
    map.serialize_entry("host", &spec.host.name)?;
    map.serialize_entry("groups", groups)?;
    counts.iter().try_for_each(|(key, count)| map.serialize_entry(key, count))?;
    rates.iter().try_for_each(|(key, rate)| map.serialize_entry(key, &rate.bits_per_s()))?;
    delays.iter().try_for_each(|(key, delay)| map.serialize_entry(key, &delay.ps()))?;
    map.end()
}

/// The bill of a fabric whose leaves, spines and cores are of three models. Backup hosts have lines of their own.
fn bill_of(
    spec: &ClosSpec,
    counts: &Counts,
    (switches, lengths): ([&SwitchModel; 3], Lengths),
    catalog: &Catalog,
    notes: &mut Vec<String>,
) -> Bill {
    let mut bill = Bill::default();
    let tiers = [("leaf", counts.leaves), ("spine", counts.spines), ("core", counts.cores)];
    for ((role, count), model) in tiers.into_iter().zip(switches) {
        match &model.part {
            Some(part) => bill.add(role, part, count),
            None if count > 0 => {
                let note = format!("the catalog has no switch {}: its price is left out", model.name);
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
            None => {}
        }
    }
    let access = (spec.host.nic, lengths.access_m);
    add_access(&mut bill, counts.hosts * u64::from(spec.host.nics), access, catalog, notes);
    let (peer, peer_m) = match spec.peers {
        Peers::Spines(_) => (spec.core_link, lengths.spine_core_m),
        _ => (spec.uplink, lengths.leaf_spine_m),
    };
    for (role, rate, metres, count) in [
        ("leaf-spine", spec.uplink, lengths.leaf_spine_m, counts.cables_leaf_spine),
        ("spine-core", spec.core_link, lengths.spine_core_m, counts.cables_spine_core),
        ("peer", peer, peer_m, counts.cables_peer),
    ] {
        add_links(&mut bill, role, (rate, metres, count), catalog, notes);
    }
    let spare_hosts = u64::from(spec.pods) * u64::from(spec.segments) * u64::from(spec.spare_hosts);
    let mut spare = Bill::default();
    add_access(&mut spare, spare_hosts * u64::from(spec.host.nics), access, catalog, notes);
    bill.add_scope(BillScope::Spare, spare);
    bill
}

/// NICs, and the cables from their ports.
pub(super) fn add_access(
    bill: &mut Bill,
    count: u64,
    (nic, metres): (NicModel, f64),
    catalog: &Catalog,
    notes: &mut Vec<String>,
) {
    match catalog.nic_of(nic.ports, nic.port_capacity) {
        Some(part) => bill.add("NIC", part, count),
        None if count > 0 => {
            let note = format!(
                "the catalog has no NIC of {} x {}: its price is left out",
                nic.ports, nic.port_capacity
            );
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        None => {}
    }
    add_links(bill, "access", (nic.port_capacity, metres, count * u64::from(nic.ports)), catalog, notes);
}

/// Optics and cables of so many links.
pub(super) fn add_links(
    bill: &mut Bill,
    role: &str,
    (rate, metres, count): (Rate, f64, u64),
    catalog: &Catalog,
    notes: &mut Vec<String>,
) {
    if count == 0 {
        return;
    }
    match catalog.media(rate, metres) {
        Ok(media) => bill.add_links(role, &media, count),
        Err(error) => {
            let note = format!("{role}: {error}");
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
}

/// A count with its noun, such as `1 switch` or `3 switches`.
pub(crate) fn counted(count: u32, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A whole number with commas between groups of three digits.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
