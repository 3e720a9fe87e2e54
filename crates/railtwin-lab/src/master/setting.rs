//! Balancers of a lab, and the settings of its master.
use std::sync::Arc;
use std::time::Duration;

use railtwin_control::controller::{Controller, Replan};
use railtwin_control::paths::{C4p, Hosts, Probing};
use railtwin_fabric::Fabric;
use railtwin_routing::EcmpConfig;
use railtwin_units::SimTime;

/// Who chooses paths in a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabBalancer {
    /// Nobody: source ports by lot, and switches hash.
    Ecmp,
    /// C4P's master, with or without probes.
    C4p(Option<SimTime>),
    /// HPN's hosts, each for its own connections (HPN appendix B).
    Disjoint,
}

impl LabBalancer {
    /// Its name, as scenarios have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ecmp => "ecmp",
            Self::C4p(_) => "c4p",
            Self::Disjoint => "disjoint",
        }
    }

    /// The controller; none where switches choose. `draw` says what is chosen by lot.
    pub(super) fn controller(
        self,
        fabric: &Fabric,
        ecmp: EcmpConfig,
        draw: u64,
    ) -> Option<Box<dyn Controller + '_>> {
        match self {
            Self::Ecmp => None,
            Self::C4p(probes) => {
                let master = C4p::new(fabric, ecmp, Replan::AtOnce, false);
                Some(match probes {
                    Some(period) => Box::new(master.with_probing(probing(period, draw))),
                    None => Box::new(master),
                })
            }
            Self::Disjoint => Some(Box::new(Hosts::new(fabric, ecmp, Replan::AtOnce, false, draw))),
        }
    }
}

/// Surveys of a lab: three packets along each path, so that one loss of ten packets in a hundred is no dead link for long.
fn probing(period: SimTime, seed: u64) -> Probing {
    Probing { period, packets: 3, paths: 64, clean: 3, seed }
}

/// Setting of a master.
#[derive(Clone, Debug)]
pub struct MasterSetting {
    /// Who chooses.
    pub balancer: LabBalancer,
    /// Hash of the model's switches, by which controllers think.
    pub ecmp: EcmpConfig,
    /// Lot of ports and of what controllers draw.
    pub draw: u64,
    /// Time after which a probe is lost.
    pub timeout: Duration,
}

/// The fabric as controllers take it.
pub(super) fn shared(fabric: &Fabric) -> Arc<Fabric> {
    Arc::new(fabric.clone())
}
