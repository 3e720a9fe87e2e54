//! Configuration of the switches and hosts of a fabric, as text of the programs that run there.
//!
//! [`FabricPlan::new`] decides numbers that no fabric holds: AS numbers, addresses, hash seeds, LACP port ids, the
//! lossless class. Everything else is written from that plan:
//!
//! | target | function | what it writes |
//! | --- | --- | --- |
//! | FRR 8.4 on Linux | [`frr::files`] | `frr.conf`, `daemons`, `sysctl.conf`, `lacp.sh`, `bgp-watch.sh` of each switch |
//! | SONiC | [`sonic::files`] | `config_db.json`, `switch.json`, `beyond-sonic.json` of each switch |
//! | hosts | [`hosts::files`] | bonds, addresses, sysctls, RoCE and NCCL settings of each host |
//! | per-port hash of cores | [`core_hash::files`] | one CSV, as neither FRR nor SONiC can say it |
//!
//! [`frr::read`] and [`sonic::read`] read folders back; [`lint`] judges settings, be they read or written by hand.

mod address;
mod build;
pub mod core_hash;
pub mod frr;
pub mod hosts;
pub mod lint;
mod plan;
pub mod sonic;

pub use address::Subnet;
pub use build::PlanOptions;
pub use plan::{
    Attachment, BgpTimers, DualTor, FabricPlan, FabricPort, HostNic, HostPlan, LosslessClass, PinnedRoute,
    SwitchPlan,
};

/// One file of a configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigFile {
    /// Path below the folder of the export, with `/` between its parts.
    pub path: String,
    /// The content.
    pub text: String,
}

impl ConfigFile {
    fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into() }
    }
}
