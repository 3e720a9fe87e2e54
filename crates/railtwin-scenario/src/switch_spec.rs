//! `[switch.leaf]`, `[switch.spine]`, `[switch.core]`: the switches of each tier, for the packet engine.
use railtwin_engine::packet::{Buffer, Credit, Ecn, Pfc, SwitchModel};
use railtwin_units::{Bytes, SimTime};
use serde::{Deserialize, Serialize};

use crate::fabric_spec::{FabricSpec, PresetSpec};
use crate::packet_spec::none_or_table;

/// Names of the tiers, in the order of [`switch_models`].
pub(crate) const TIERS: [&str; 3] = ["leaf", "spine", "core"];

/// What the switches of leaf, spine and core are where the scenario does not say otherwise. The only place that knows.
pub(crate) fn switch_models(fabric: &FabricSpec) -> [SwitchModel; 3] {
    match fabric {
        // Deep-buffer spines, carved per port (Meta RoCE section 5.2.3).
        FabricSpec::Preset(PresetSpec::AiZone(_)) => {
            [SwitchModel::LEAF, SwitchModel::DEEP, SwitchModel::LEAF]
        }
        FabricSpec::Preset(_) | FabricSpec::Lingjun(_) | FabricSpec::Htsim(_) => [SwitchModel::LEAF; 3],
    }
}

/// The switches of each tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SwitchesSpec {
    /// Leaves.
    #[serde(skip_serializing_if = "SwitchSpec::is_empty")]
    pub leaf: SwitchSpec,
    /// Spines.
    #[serde(skip_serializing_if = "SwitchSpec::is_empty")]
    pub spine: SwitchSpec,
    /// Cores.
    #[serde(skip_serializing_if = "SwitchSpec::is_empty")]
    pub core: SwitchSpec,
}

impl SwitchesSpec {
    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What is changed in each tier, in the order of [`TIERS`].
    pub(crate) fn tiers(&self) -> [&SwitchSpec; 3] {
        [&self.leaf, &self.spine, &self.core]
    }

    /// The switches of leaf, spine and core on a fabric.
    pub fn over(&self, fabric: &FabricSpec) -> [SwitchModel; 3] {
        let [leaf, spine, core] = switch_models(fabric);
        [self.leaf.over(leaf), self.spine.over(spine), self.core.over(core)]
    }
}

/// What is changed in one tier's switches. A field that is `None` takes the model's value; the fields mean what they
/// mean in [`SwitchModel`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SwitchSpec {
    /// What the other keys change; none = what the fabric's switches are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<SwitchModelName>,
    /// Bytes of the shared pool, or of each ingress port where the buffer is carved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Bytes>,
    /// Bytes of a shared pool that each ingress port has for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Bytes>,
    /// Share of the free pool that one ingress port may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Whether it sends pause frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pfc: Option<bool>,
    /// Bytes that arrive while a pause travels; none = from delay, rate and response time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Bytes>,
    /// Bytes below the threshold at which a paused neighbor may go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume_offset: Option<Bytes>,
    /// From the arrival of a pause frame until the neighbor stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<SimTime>,
    /// Marking at egress.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "none_or_table")]
    pub ecn: Option<EcnSpec>,
    /// Egress queue beyond which packets are trimmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<Bytes>,
    /// Virtual output queues with credits.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "none_or_table")]
    pub credit: Option<CreditSpec>,
    /// Whether packets leave while they still arrive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_through: Option<bool>,
}

railtwin_units::choice! {
    /// A switch model by name.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SwitchModelName {
        /// What the fabric has, with one pool for all ports.
        Shared = "shared",
        /// What the fabric has, with a buffer carved per ingress port.
        Carved = "carved",
        /// [`SwitchModel::LEAF`].
        Leaf = "leaf",
        /// [`SwitchModel::DEEP`].
        Deep = "deep",
    }
}

/// Marking by the length of the egress queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EcnSpec {
    /// Up to which nothing is marked.
    pub min: Bytes,
    /// From which everything is marked.
    pub max: Bytes,
    /// Probability just below `max`.
    pub probability: f64,
}

/// Virtual output queues with credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreditSpec {
    /// From the request of an ingress port until the grant of the egress is there.
    pub latency: SimTime,
    /// Bytes that a queue is granted without asking.
    pub initial: Bytes,
    /// Factor by which grants grow from round to round.
    pub ramp: u32,
}

impl SwitchSpec {
    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The named model, or `default`, with the changes. Keys that the model has no use for change nothing: the text
    /// that says them is refused before.
    pub fn over(&self, default: SwitchModel) -> SwitchModel {
        let base = match self.model {
            None => default,
            Some(SwitchModelName::Leaf) => SwitchModel::LEAF,
            Some(SwitchModelName::Deep) => SwitchModel::DEEP,
            Some(SwitchModelName::Shared) => match default.buffer {
                Buffer::Shared { .. } => default,
                Buffer::Carved { .. } => SwitchModel { buffer: SwitchModel::LEAF.buffer, ..default },
            },
            Some(SwitchModelName::Carved) => match default.buffer {
                Buffer::Carved { .. } => default,
                Buffer::Shared { .. } => SwitchModel { buffer: SwitchModel::DEEP.buffer, ..default },
            },
        };
        let or = |written: Option<Bytes>, bytes: u64| written.map_or(bytes, |written| written.0);
        let buffer = match base.buffer {
            Buffer::Shared { bytes, reserved, alpha } => Buffer::Shared {
                bytes: or(self.buffer, bytes),
                reserved: or(self.reserved, reserved),
                alpha: self.alpha.unwrap_or(alpha),
            },
            Buffer::Carved { bytes } => Buffer::Carved { bytes: or(self.buffer, bytes) },
        };
        let pfc = base.pfc.or(SwitchModel::LEAF.pfc).filter(|_| self.pfc.unwrap_or(base.pfc.is_some()));
        let pfc = pfc.map(|pfc| Pfc {
            headroom: self.headroom.map(|bytes| bytes.0).or(pfc.headroom),
            resume_offset: or(self.resume_offset, pfc.resume_offset),
            response: self.response.unwrap_or(pfc.response),
        });
        let ecn = |ecn: EcnSpec| Ecn { min: ecn.min.0, max: ecn.max.0, probability: ecn.probability };
        let credit = |credit: CreditSpec| Credit {
            latency: credit.latency,
            initial: credit.initial.0,
            ramp: credit.ramp,
        };
        SwitchModel {
            buffer,
            pfc,
            ecn: self.ecn.map(ecn).or(base.ecn),
            trim: self.trim.map(|bytes| bytes.0).or(base.trim),
            credit: self.credit.map(credit).or(base.credit),
            cut_through: self.cut_through.unwrap_or(base.cut_through),
        }
    }
}
