//! `[fabric]`: a preset with the counts that the text gives, or an imported fabric.
use railtwin_fabric::clos::ClosSpec;
use railtwin_fabric::preset::{DcnPlus, FatTree, Hpn, LeafSpine, Tier2};
use railtwin_fabric::{Fabric, FabricError, HostModel};
use railtwin_units::{Rate, SimTime};
use serde::{Deserialize, Serialize};

use crate::ai_zone_spec::AiZoneSpec;
use crate::fabric_bounds::check_bounds;
use crate::host_spec::HostSpec;

/// What the jobs run on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FabricSpec {
    /// A preset.
    Preset(PresetSpec),
    /// An imported fabric.
    Lingjun(LingjunSpec),
    /// An imported fat-tree.
    Htsim(HtsimSpec),
}

impl FabricSpec {
    /// What is changed in the host model; none where the fabric has no such table.
    pub fn host(&self) -> Option<&HostSpec> {
        match self {
            Self::Preset(PresetSpec::Hpn(spec)) => Some(&spec.host),
            Self::Preset(PresetSpec::DcnPlus(spec)) => Some(&spec.host),
            Self::Preset(PresetSpec::LeafSpine(spec)) => Some(&spec.host),
            Self::Preset(PresetSpec::AiZone(spec)) => Some(&spec.host),
            Self::Preset(PresetSpec::FatTree(_)) | Self::Htsim(_) => None,
            Self::Lingjun(spec) => Some(&spec.host),
        }
    }
}

/// A fabric of the `lingjun` data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LingjunSpec {
    /// Path of `topo.csv`.
    pub lingjun: String,
    /// What its hosts are.
    #[serde(default, skip_serializing_if = "HostSpec::is_empty")]
    pub host: HostSpec,
}

/// A fat-tree of htsim: hosts of one GPU behind one NIC port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HtsimSpec {
    /// Path of the `.topo` file.
    pub htsim: String,
}

/// A preset with what is changed in it. A field that is `None` takes the preset's default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "preset", rename_all = "kebab-case")]
pub enum PresetSpec {
    /// Alibaba HPN.
    Hpn(HpnSpec),
    /// Alibaba DCN+.
    DcnPlus(DcnPlusSpec),
    /// Meta's AI zone.
    AiZone(AiZoneSpec),
    /// Two tiers.
    LeafSpine(LeafSpineSpec),
    /// The k-ary fat-tree.
    FatTree(FatTreeSpec),
}

impl PresetSpec {
    /// Names of the presets.
    pub const NAMES: [&'static str; 5] = ["hpn", "dcn-plus", "ai-zone", "leaf-spine", "fat-tree"];

    /// The preset's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hpn(_) => Self::NAMES[0],
            Self::DcnPlus(_) => Self::NAMES[1],
            Self::AiZone(_) => Self::NAMES[2],
            Self::LeafSpine(_) => Self::NAMES[3],
            Self::FatTree(_) => Self::NAMES[4],
        }
    }

    /// The capacity of a switch chip that the text says.
    pub fn chip(&self) -> Option<Rate> {
        match self {
            Self::Hpn(spec) => spec.chip,
            Self::DcnPlus(spec) => spec.chip,
            Self::AiZone(spec) => spec.chip,
            Self::LeafSpine(spec) => spec.chip,
            Self::FatTree(_) => None,
        }
    }

    /// The fabric spelled out, within what 32-bit ids and a machine's memory hold.
    ///
    /// # Errors
    /// [`FabricError`] naming the field under `[fabric]`.
    pub fn spec(&self) -> Result<ClosSpec, FabricError> {
        let spec = match self {
            Self::Hpn(spec) => spec.filled()?.spec(),
            Self::DcnPlus(spec) => spec.filled()?.spec(),
            Self::AiZone(spec) => spec.filled()?.spec()?,
            Self::LeafSpine(spec) => spec.filled()?.spec()?,
            Self::FatTree(spec) => spec.filled()?.spec()?,
        };
        check_bounds(&spec)?;
        Ok(spec)
    }

    /// Builds the graph.
    ///
    /// # Errors
    /// As [`PresetSpec::spec`] and [`ClosSpec::check`].
    pub fn build(&self) -> Result<Fabric, FabricError> {
        self.spec()?.build()
    }
}

pub(crate) fn set<T: Copy>(slot: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *slot = value;
    }
}

/// What is changed in [`Hpn`]; the fields mean what they mean there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // the fields of `Hpn`, one to one
pub struct HpnSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spare_hosts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planes: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dual_tor: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier2: Option<Tier2>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spines: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spine_up: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink: Option<Rate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chip: Option<Rate>,
    #[serde(skip_serializing_if = "HostSpec::is_empty")]
    pub host: HostSpec,
}

impl HpnSpec {
    /// The preset with the changes.
    ///
    /// # Errors
    /// [`FabricError::OutOfRange`] for an unknown host model.
    pub fn filled(&self) -> Result<Hpn, FabricError> {
        let mut hpn = Hpn {
            segments: self.segments,
            hosts: self.hosts,
            spare_hosts: self.spare_hosts,
            ..Hpn::default()
        };
        hpn.host = self.host.over(&hpn.host)?;
        set(&mut hpn.pods, self.pods);
        set(&mut hpn.planes, self.planes);
        set(&mut hpn.dual_tor, self.dual_tor);
        set(&mut hpn.tier2, self.tier2);
        set(&mut hpn.spines, self.spines);
        set(&mut hpn.spine_up, self.spine_up);
        set(&mut hpn.cores, self.cores);
        set(&mut hpn.uplink, self.uplink);
        set(&mut hpn.chip, self.chip);
        Ok(hpn)
    }
}

/// What is changed in [`DcnPlus`]; the fields mean what they mean there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // the fields of `DcnPlus`, one to one
pub struct DcnPlusSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spines: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink: Option<Rate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chip: Option<Rate>,
    #[serde(skip_serializing_if = "HostSpec::is_empty")]
    pub host: HostSpec,
}

impl DcnPlusSpec {
    /// The preset with the changes.
    ///
    /// # Errors
    /// [`FabricError::OutOfRange`] for an unknown host model.
    pub fn filled(&self) -> Result<DcnPlus, FabricError> {
        let mut dcn = DcnPlus::default();
        dcn.host = self.host.over(&dcn.host)?;
        set(&mut dcn.pods, self.pods);
        set(&mut dcn.segments, self.segments);
        set(&mut dcn.hosts, self.hosts);
        set(&mut dcn.spines, self.spines);
        set(&mut dcn.parallel, self.parallel);
        set(&mut dcn.cores, self.cores);
        set(&mut dcn.uplink, self.uplink);
        set(&mut dcn.chip, self.chip);
        let ports = dcn.segments.checked_mul(2).map(|leaves| leaves.checked_mul(dcn.parallel));
        match ports.flatten() {
            Some(_) => Ok(dcn),
            None => Err(FabricError::TooLarge { what: "ports" }),
        }
    }
}

/// What is changed in [`LeafSpine`]; the fields mean what they mean there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // the fields of `LeafSpine`, one to one
pub struct LeafSpineSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaves: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts_per_leaf: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rails_per_leaf: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplinks: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink_capacity: Option<Rate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chip: Option<Rate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<SimTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch_latency: Option<SimTime>,
    #[serde(skip_serializing_if = "HostSpec::is_empty")]
    pub host: HostSpec,
}

impl LeafSpineSpec {
    /// The preset with the changes.
    ///
    /// # Errors
    /// [`FabricError::OutOfRange`] for an unknown host model.
    pub fn filled(&self) -> Result<LeafSpine, FabricError> {
        let mut fabric =
            LeafSpine { chip: self.chip, rails_per_leaf: self.rails_per_leaf, ..LeafSpine::default() };
        fabric.host = self.host.over(&fabric.host)?;
        set(&mut fabric.leaves, self.leaves);
        set(&mut fabric.hosts_per_leaf, self.hosts_per_leaf);
        set(&mut fabric.uplinks, self.uplinks);
        set(&mut fabric.parallel, self.parallel);
        set(&mut fabric.uplink_capacity, self.uplink_capacity);
        set(&mut fabric.delay, self.delay);
        set(&mut fabric.switch_latency, self.switch_latency);
        Ok(fabric)
    }
}

/// What is changed in [`FatTree`]; the fields mean what they mean there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // the fields of `FatTree`, one to one
pub struct FatTreeSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Rate>,
}

impl FatTreeSpec {
    /// The preset with the changes.
    ///
    /// # Errors
    /// [`FabricError::TooLarge`] for a capacity whose switch leaves 64 bits.
    pub fn filled(&self) -> Result<FatTree, FabricError> {
        let mut tree = FatTree::default();
        set(&mut tree.k, self.k);
        set(&mut tree.capacity, self.capacity);
        match tree.capacity.bits_per_s().checked_mul(u64::from(tree.k)) {
            Some(_) => Ok(tree),
            None => Err(FabricError::TooLarge { what: "bits per second in one switch" }),
        }
    }
}

impl LingjunSpec {
    /// The host model of the imported hosts.
    ///
    /// # Errors
    /// [`FabricError::OutOfRange`] for an unknown host model.
    pub fn host_model(&self) -> Result<HostModel, FabricError> {
        self.host.over(&HostModel::hgx_h800())
    }
}
