//! `[fabric]`: a preset with what the text changes in it, or an imported fabric.
pub(crate) mod caps;
mod host_caps;
mod resolve;

use railtwin_fabric::clos::LARGEST_CHIP;
use railtwin_fabric::preset::Preset;
use railtwin_fabric::{FabricError, HostModel, HostSpec};
use railtwin_units::Rate;
use railtwin_units::keys::Kind;
use railtwin_workload::{Algorithm, Collective};

railtwin_units::section! {
    /// A fabric of the `lingjun` data set.
    #[derive(Clone, Debug, PartialEq)]
    pub struct LingjunSpec "[fabric]" {
        /// Path of a lingjun topo.csv to import.
        pub lingjun: String,
        /// What a host is; default hgx-h800.
        pub host: HostSpec = HostSpec::default(),
    }
}

impl LingjunSpec {
    /// The model of the imported hosts.
    ///
    /// # Errors
    /// [`FabricError::OutOfRange`] for an unknown host model.
    pub fn host_model(&self) -> Result<HostModel, FabricError> {
        self.host.over(HostModel::hgx_h800())
    }
}

railtwin_units::section! {
    /// A fat-tree of htsim: hosts of one GPU behind one NIC port.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct HtsimSpec "[fabric]" {
        /// Path of an htsim .topo file to import.
        pub htsim: String,
    }
}

railtwin_units::either! {
    /// What the jobs run on.
    #[derive(Clone, Debug, PartialEq)]
    pub enum FabricSpec "[fabric]" {
        /// A preset.
        Preset(Preset),
        /// An imported fabric.
        Lingjun(LingjunSpec),
        /// An imported fat-tree.
        Htsim(HtsimSpec),
    }
}

impl FabricSpec {
    /// What is changed in the host model; none where the fabric has no such table.
    pub fn host(&self) -> Option<&HostSpec> {
        match self {
            Self::Preset(preset) => preset.layout().host(),
            Self::Lingjun(spec) => Some(&spec.host),
            Self::Htsim(_) => None,
        }
    }

    /// What to say of a chip that nobody builds.
    pub(crate) fn note_of_chip(&self) -> Option<String> {
        let Self::Preset(preset) = self else { return None };
        let chip = preset.layout().chip().filter(|chip| *chip > LARGEST_CHIP)?;
        Some(format!("fabric.chip: no switch chip has {chip}; the largest that there is has {LARGEST_CHIP}"))
    }
}

railtwin_units::section! {
    /// A limit inside a host for one collective and algorithm, as a bus bandwidth.
    #[derive(Clone, Debug, PartialEq)]
    pub struct CapSpec "[[cap]]" {
        /// The collective.
        pub collective: Collective,
        /// Its algorithm.
        pub algorithm: Algorithm,
        /// The host model; default every host.
        pub host: Option<String> [Kind::Choice(&HostModel::NAMES)] = None,
        /// Bus bandwidth (as nccl-tests defines it) that a host does not exceed.
        pub busbw: Rate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_one_name_are_of_one_kind_in_all_presets() {
        for variant in FabricSpec::TABLE.variants() {
            for one in variant.keys {
                let any = FabricSpec::TABLE.any_key(one.name).expect("it is in a variant");
                assert_eq!(format!("{:?}", one.kind), format!("{:?}", any.kind));
            }
        }
    }
}
