//! `[switch.leaf]`, `[switch.spine]`, `[switch.core]`: the switches of each tier, for the packet engine.
use railtwin_engine::packet::{Buffer, Credit, Ecn, MOST_BYTES, Pfc, SwitchModel};
use railtwin_fabric::preset::Preset;
use railtwin_units::keys::{Kind, or_none, sizes};
use railtwin_units::{Bytes, SimTime};

use crate::section::fabric::FabricSpec;

/// Names of the tiers, in the order of [`switch_models`].
pub(crate) const TIERS: [&str; 3] = ["leaf", "spine", "core"];

/// What the switches of leaf, spine and core are where the scenario does not say otherwise. The only place that knows.
pub(crate) fn switch_models(fabric: &FabricSpec) -> [SwitchModel; 3] {
    match fabric {
        // Deep-buffer spines, carved per port (Meta RoCE section 5.2.3).
        FabricSpec::Preset(Preset::AiZone(_)) => [SwitchModel::LEAF, SwitchModel::DEEP, SwitchModel::LEAF],
        FabricSpec::Preset(_) | FabricSpec::Lingjun(_) | FabricSpec::Htsim(_) => [SwitchModel::LEAF; 3],
    }
}

railtwin_units::section! {
    /// The switches of each tier.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct SwitchesSpec "[switch]" {
        /// Leaves; default model leaf.
        pub leaf: SwitchSpec [Kind::Section(&SwitchSpec::TABLE)] = SwitchSpec::default(),
        /// Spines; default model leaf, on the preset ai-zone deep.
        pub spine: SwitchSpec [Kind::Section(&SwitchSpec::TABLE)] = SwitchSpec::default(),
        /// Cores; default model leaf.
        pub core: SwitchSpec [Kind::Section(&SwitchSpec::TABLE)] = SwitchSpec::default(),
    }
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

railtwin_units::section! {
    /// What is changed in one tier's switches. A field that is `None` takes the model's value; the fields mean what
    /// they mean in [`SwitchModel`].
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct SwitchSpec "a tier of [switch]" {
        /// What the other keys change: a buffer shared by all ports or carved per port, or a model by name.
        pub model: Option<SwitchModelName> = None,
        /// The shared pool, or the buffer of each ingress port; leaf 64 MB, deep 16 MB.
        pub buffer: Option<Bytes> = None,
        /// Of a shared pool, what each ingress port has for itself; 10 kB.
        pub reserved: Option<Bytes> [Kind::Size { zero: true }] = None,
        /// Share of the free pool that one ingress port may take; 0.125.
        pub alpha: Option<f64> [Kind::Share(0.0, 1024.0)] = None,
        /// Whether it sends pause frames; default true.
        pub pfc: Option<bool> = None,
        /// Bytes that arrive while a pause travels; default by delay, rate, response.
        pub headroom: Option<Bytes> = None,
        /// Bytes below the threshold at which a paused neighbor may go on; default 20 kB.
        pub resume_offset: Option<Bytes> [Kind::Size { zero: true }] = None,
        /// From the arrival of a pause frame until the neighbor stops; default 500 ns.
        pub response: Option<SimTime> = None,
        /// Marking by the length of the egress queue; default none. Flows read whether it is there where marks feed a
        /// controller (`control.feedback`), and its `min` where controllers probe.
        pub ecn: Option<Ecn> [
            or_none(&Ecn::TABLE, "{ min = \"100 kB\", max = \"400 kB\", probability = 0.2 }")
        ] = None,
        /// Egress queue beyond which packets lose their payload; default never.
        pub trim: Option<Bytes> [sizes(1..=MOST_BYTES)] = None,
        /// Virtual output queues with credits; default none.
        pub credit: Option<Credit> [
            or_none(&Credit::TABLE, "{ latency = \"5 us\", initial = \"64 KiB\", ramp = 2 }")
        ] = None,
        /// Whether packets leave while they still arrive; default false.
        pub cut_through: Option<bool> = None,
    }
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

impl SwitchSpec {
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
        SwitchModel {
            buffer,
            pfc,
            ecn: self.ecn.or(base.ecn),
            trim: self.trim.map(|bytes| bytes.0).or(base.trim),
            credit: self.credit.or(base.credit),
            cut_through: self.cut_through.unwrap_or(base.cut_through),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_keys_call_default_is_the_default() {
        let pfc = SwitchModel::LEAF.pfc.expect("leaves pause");
        assert_eq!((pfc.headroom, pfc.resume_offset, pfc.response.ps()), (None, 20_000, 500_000));
        let sizes = [SwitchModel::LEAF.buffer, SwitchModel::DEEP.buffer];
        let shared = Buffer::Shared { bytes: 64_000_000, reserved: 10_000, alpha: 0.125 };
        assert_eq!(sizes, [shared, Buffer::Carved { bytes: 16_000_000 }]);
    }
}
