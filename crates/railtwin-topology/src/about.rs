//! Facts of a device beside its name, its role and its ports.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_units::{Rate, SimTime};

/// Class of a device, as far as a file tells.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum DeviceClass {
    /// Nothing is told.
    #[default]
    Unknown,
    /// A host: whatever ends the network.
    Host,
    /// A switch of the network.
    Switch,
    /// An adapter within a switch that reduces data, such as SHARP's: neither host nor switch.
    Aggregation,
}

/// Facts of a device beside its name, role and ports.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct About {
    /// What it is.
    pub class: DeviceClass,
    /// Tier of a switch, from 1 next to hosts; none where nothing tells it. A tree of a scheduler may have more than three.
    pub tier: Option<u8>,
    /// GPUs of a host; none where nothing tells them.
    pub gpus: Option<u32>,
    /// NVLink of a GPU: rate in one direction, delay of a hop.
    pub nvlink: Option<(Rate, SimTime)>,
    /// Adapters of a host, by name or GUID.
    pub adapters: BTreeSet<String>,
    /// Scale-up domain of a host, such as an NVL72 rack; equal names are one domain.
    pub domain: Option<String>,
    /// Part of the scale-up domain, such as a rack of a larger one.
    pub subdomain: Option<String>,
    /// Model or description, such as `MF0;sw1:MQM9700/U1`.
    pub model: Option<String>,
    /// GUID, MAC or other name that hardware has.
    pub id: Option<String>,
    /// Labels, such as `topology.kubernetes.io/zone`.
    pub labels: BTreeMap<String, String>,
}
