//! `[fabric]`: a preset with what the text changes in it, or an imported fabric.
pub(crate) mod beyond;
pub(crate) mod caps;
mod experts;
mod groups;
pub mod host_caps;
pub(crate) mod host_costs;
mod idle_delays;
pub mod price;
mod resolve;
pub mod scaling;

use railtwin_fabric::clos::LARGEST_CHIP;
use railtwin_fabric::preset::Preset;
use railtwin_fabric::{FabricError, HostModel, HostSpec};
use railtwin_units::keys::{Kind, whole};
use railtwin_units::{Bytes, Rate, SimTime};
use railtwin_workload::{Algorithm, Collective, Protocol};

pub use scaling::ScalingSpec;

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

    /// Why nothing can run on the fabric, although it can be built and counted; none where it can.
    pub fn cannot_run(&self) -> Option<&'static str> {
        match self {
            Self::Preset(preset) => preset.layout().cannot_run(),
            Self::Lingjun(_) | Self::Htsim(_) => None,
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
    /// What hosts reach of one collective and algorithm, as a bus bandwidth, and what its steps cost them.
    #[derive(Clone, Debug, PartialEq)]
    pub struct CapSpec "[[cap]]" {
        /// The collective.
        pub collective: Collective,
        /// Its algorithm.
        pub algorithm: Algorithm,
        /// The host model; default every host.
        pub host: Option<String> [Kind::Choice(&HostModel::NAMES)] = None,
        /// Hosts of the communicator; of caps that differ in it the nearest holds, but never those of one host for several
        /// or the other way round; default any.
        #[key(sparse)]
        pub hosts: Option<u32> [whole(1..=1_000_000)] = None,
        /// Ranks of the communicator on a host; of caps that differ in it the next larger holds; default any.
        #[key(sparse)]
        pub gpus: Option<u32> [whole(1..=1024)] = None,
        /// Size from which it was measured; below, steps cost less, down to what NCCL takes them for. A size says that NCCL
        /// chose this algorithm here: it is the default then.
        #[key(sparse)]
        pub from: Option<Bytes> = None,
        /// Size from which the next one holds; default none.
        #[key(sparse)]
        pub until: Option<Bytes> = None,
        /// How bytes travel; default simple. What was measured has it in its bandwidth.
        #[key(sparse)]
        pub protocol: Option<Protocol> = None,
        /// Latency of each serial step that hosts add to the network's; default what NCCL's model has.
        #[key(sparse)]
        pub step: Option<SimTime> = None,
        /// Of dispatch and combine: time for each expert on other hosts, which a rank sends a count or a flag; default none.
        #[key(sparse)]
        pub message: Option<SimTime> = None,
        /// Bus bandwidth (as nccl-tests defines it) that hosts do not exceed; default what NCCL's model has. Of the
        /// algorithm forward what one NIC carries, or one GPU's NVLink where `hosts` is 1.
        pub busbw: Option<Rate> = None,
        /// Of point-to-point transfers: most of the channels that a small message is cut into.
        #[key(sparse)]
        pub channel: Option<Rate> = None,
        /// Message up to which these channels carry it; they double with each double of it.
        #[key(sparse)]
        pub channel_bytes: Option<Bytes> = None,
        /// Whether it was measured without a collective library, as perftest does: then it holds plain transfers (`traffic`,
        /// `connections`), in a file of caps too, and no collective; default no.
        #[key(sparse)]
        pub plain: Option<bool> = None,
    }
}

railtwin_units::section! {
    /// Caps in a file of their own.
    #[derive(Clone, Debug, PartialEq)]
    pub struct CapsFile "a file of caps" {
        /// Version of the format.
        pub schema: u32 [Kind::Version],
        /// What hosts reach, in the order in which they are looked at.
        pub caps as "cap": Vec<CapSpec>,
        /// What collectives take over any number of hosts.
        #[key(sparse)]
        pub scaling: Vec<ScalingSpec> = Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use railtwin_units::keys::Key;

    use super::*;

    /// What `Table::any_key` is asked for: whether a key holds a table or a list and which, who reads it, whether it is an
    /// axis. Single values may differ: `planes` of hpn says whether, of rail-optimised how many.
    fn shape(key: &Key) -> (String, String, bool) {
        let single = key.kind.table().is_none() && !matches!(key.kind, Kind::List(_) | Kind::AnyList(_));
        let kind = if single { "one value".to_owned() } else { format!("{:?}", key.kind) };
        (kind, format!("{:?}", key.reader), key.axis)
    }

    #[test]
    fn keys_of_one_name_have_one_shape_in_all_presets() {
        for variant in FabricSpec::TABLE.variants() {
            for one in variant.keys {
                let any = FabricSpec::TABLE.any_key(one.name).expect("it is in a variant");
                assert_eq!(shape(one), shape(any), "{}", one.name);
            }
        }
    }
}
