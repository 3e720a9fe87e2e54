//! Switches under Linux with FRR: one folder for each.
//!
//! Written for FRR 8.4.4, whose `vtysh -C` accepts each `frr.conf`. The settings that a fabric needs beyond the defaults:
//!
//! * `no zebra nexthop kernel enable`: with next-hop objects a link that flapped does not come back into its group.
//! * `timers bgp 1 3`, `timers connect 1` and `advertisement-interval 0`: repair in about a second.
//! * `bestpath as-path multipath-relax`: routes by different spines are one group.
//! * Only static routes with the tag of hosts go into BGP: host routes and the network of the leaf.
//! * Hash policy 3 in forwarding. Policy 1 trusts a hash that the sending socket drew at random.

mod conf;
mod read;
mod system;

use super::ConfigFile;
use super::plan::FabricPlan;

pub use read::{FrrSwitch, read};

/// Tag of static routes that BGP announces: routes of hosts and of their network.
const HOST_TAG: u32 = 100;
/// Most paths of a group: the limit that Debian builds FRR with.
const MOST_PATHS: usize = 256;

/// Folders of all switches: `leaf-0/frr.conf` and so on. The `vtysh` of FRR reads `frr.conf`; the other files are for the
/// system below it.
pub fn files(plan: &FabricPlan) -> Vec<ConfigFile> {
    let mut files = Vec::new();
    for switch in &plan.switches {
        let mut add =
            |name: &str, text: String| files.push(ConfigFile::new(format!("{}/{name}", switch.name), text));
        add("frr.conf", conf::frr_conf(switch));
        add("daemons", system::daemons(switch));
        add("sysctl.conf", system::sysctl(switch));
        if switch.attachments.iter().any(|one| one.lacp_key.is_some()) {
            add("lacp.sh", system::lacp(switch));
            add("carrier.sh", system::carrier(switch));
        }
        if !switch.attachments.is_empty() {
            add("bgp-watch.sh", system::bgp_watch(switch));
        }
    }
    files
}
