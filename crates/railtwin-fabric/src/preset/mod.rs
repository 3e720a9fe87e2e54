//! The presets: recipes that fill a [`ClosSpec`] with the counts of a known design. Each is the section `[fabric]` of a
//! scenario with its `preset`.
mod ai_zone;
mod cables;
mod counts;
mod dcn_plus;
mod fat_tree;
mod hpn;
mod leaf_spine;
mod rail_optimised;
mod rlft;
mod superpod;

use railtwin_units::Rate;

pub use self::ai_zone::AiZone;
pub use self::cables::Cables;
pub use self::dcn_plus::DcnPlus;
pub use self::fat_tree::FatTree;
pub use self::hpn::{Hpn, Tier2};
pub use self::leaf_spine::LeafSpine;
pub use self::rail_optimised::RailOptimised;
pub use self::rlft::Rlft;
pub use self::superpod::{Generation, SuperPod};
use crate::clos::ClosSpec;
use crate::error::FabricError;
use crate::graph::Fabric;
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
            /// As [`Layout::spec`] and [`ClosSpec::check`].
            pub fn build(&self) -> Result<Fabric, FabricError> {
                self.layout().spec()?.build()
            }
        }

        $(impl $preset {
            /// Builds the graph.
            ///
            /// # Errors
            /// As [`Layout::spec`] and [`ClosSpec::check`].
            pub fn build(&self) -> Result<Fabric, FabricError> {
                self.spec()?.build()
            }
        })+
    };
}

layouts!(Hpn, DcnPlus, AiZone, LeafSpine, FatTree, Rlft, SuperPod, RailOptimised, Cables);
