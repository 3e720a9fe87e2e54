//! The presets: recipes that fill a [`ClosSpec`] with the counts of a known design, or build a fabric without tiers. Each is the
//! section `[fabric]` of a scenario with its `preset`.
mod ai_zone;
mod cables;
mod collapsed;
mod counts;
mod dcn_plus;
mod fat_tree;
mod generation_0;
mod hpn;
mod jupiter;
mod leaf_spine;
mod mesh;
mod rail_only;
mod rail_optimised;
mod rlft;
mod single_tor;
mod superpod;
mod torus;

use railtwin_units::Rate;

pub use self::ai_zone::AiZone;
pub use self::cables::Cables;
pub use self::collapsed::Collapsed;
pub use self::dcn_plus::DcnPlus;
pub use self::fat_tree::FatTree;
pub use self::generation_0::GenerationZero;
pub use self::hpn::{Hpn, Tier2};
pub use self::jupiter::Jupiter;
pub use self::leaf_spine::LeafSpine;
pub use self::mesh::Mesh;
pub use self::rail_only::RailOnly;
pub use self::rail_optimised::RailOptimised;
pub use self::rlft::Rlft;
pub use self::single_tor::SingleTor;
pub use self::superpod::{Generation, SuperPod};
pub use self::torus::Torus;
use crate::clos::ClosSpec;
use crate::error::FabricError;
use crate::graph::Fabric;
use crate::host::HostModel;
use crate::host_spec::HostSpec;

/// Bound of counts of switches, segments, pods.
const SWITCHES: i64 = 65_536;
/// Bound of hosts in a segment.
const HOSTS: i64 = 65_536;
/// Bound of parallel cables and of ports of one switch.
const PORTS: i64 = 4_096;

/// What every preset says of itself.
pub trait Layout {
    /// The fabric spelled out.
    ///
    /// # Errors
    /// [`FabricError`] naming the field where the counts do not fit together.
    fn spec(&self) -> Result<ClosSpec, FabricError>;

    /// What is changed in the host model; none where hosts are of the preset.
    fn host(&self) -> Option<&HostSpec> {
        None
    }

    /// Builds the graph, with `services` storage hosts and gateways that stand in it.
    ///
    /// # Errors
    /// As [`Layout::spec`] and [`ClosSpec::check`].
    fn fabric(&self, services: u32) -> Result<Fabric, FabricError> {
        ClosSpec { services, ..self.spec()? }.build()
    }

    /// The model of every host.
    ///
    /// # Errors
    /// As [`Layout::spec`].
    fn model(&self) -> Result<HostModel, FabricError> {
        Ok(self.spec()?.host)
    }

    /// Why nothing can run on the fabric, although it can be built and counted; none where it can.
    fn cannot_run(&self) -> Option<&'static str> {
        None
    }

    /// The capacity of a switch chip; none where nobody says it.
    fn chip(&self) -> Option<Rate> {
        None
    }
}

railtwin_units::variants! {
    /// A preset by its name.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Preset "[fabric]" by "preset", "A fabric by name." {
        /// Alibaba HPN.
        Hpn(Hpn) = "hpn",
        /// Alibaba DCN+.
        DcnPlus(DcnPlus) = "dcn-plus",
        /// Meta's AI zone.
        AiZone(AiZone) = "ai-zone",
        /// Two tiers.
        LeafSpine(LeafSpine) = "leaf-spine",
        /// The k-ary fat-tree.
        FatTree(FatTree) = "fat-tree",
        /// Real-life fat-tree.
        Rlft(Rlft) = "rlft",
        /// NVIDIA's DGX SuperPOD.
        SuperPod(SuperPod) = "superpod",
        /// Rail-optimised, of any size.
        RailOptimised(RailOptimised) = "rail-optimised",
        /// Rails alone between scale-up domains.
        RailOnly(RailOnly) = "rail-only",
        /// One ToR in each rack.
        SingleTor(SingleTor) = "single-tor",
        /// Meta's first RoCE network.
        GenerationZero(GenerationZero) = "generation-0",
        /// Google's Jupiter.
        Jupiter(Jupiter) = "jupiter",
        /// Few leaves and nothing above them.
        Collapsed(Collapsed) = "collapsed",
        /// Leaves with cables to each other.
        Mesh(Mesh) = "mesh",
        /// A torus of chips without switches.
        Torus(Torus) = "torus",
        /// A cable list.
        Cables(Cables) = "cables",
    }
}

macro_rules! layouts {
    ($($preset:ident),+) => {
        impl Preset {
            /// The one that it is.
            pub fn layout(&self) -> &dyn Layout {
                match self {
                    $(Self::$preset(preset) => preset),+
                }
            }

            /// Builds the graph.
            ///
            /// # Errors
            /// As [`Layout::fabric`].
            pub fn build(&self) -> Result<Fabric, FabricError> {
                self.layout().fabric(0)
            }
        }

        $(impl $preset {
            /// Builds the graph.
            ///
            /// # Errors
            /// As [`Layout::fabric`].
            pub fn build(&self) -> Result<Fabric, FabricError> {
                self.fabric(0)
            }
        })+
    };
}

layouts!(
    Hpn,
    DcnPlus,
    AiZone,
    LeafSpine,
    FatTree,
    Rlft,
    SuperPod,
    RailOptimised,
    RailOnly,
    SingleTor,
    GenerationZero,
    Jupiter,
    Collapsed,
    Mesh,
    Torus,
    Cables
);
