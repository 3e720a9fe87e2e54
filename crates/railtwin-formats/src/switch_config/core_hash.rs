//! The per-port hash of cores as a table (HPN section 7), which neither FRR nor SONiC can say.
//!
//! For each pod of destinations a core sends by a fixed port what came in by a port, whatever the five-tuple. Where that port
//! is down, the packets of the ingress port fall back to the five-tuple hash over the ports that are left.
use std::fmt::Write as _;

use railtwin_fabric::{Fabric, LinkId, NONE};
use railtwin_routing::{Forwarding, LinkMask};

use super::ConfigFile;
use crate::error::FormatError;

/// Header of the table.
const HEADER: &str = "core,target_pod,ingress,egress,action\n";

/// `core-hash.csv`: a row for each core, pod of destinations and ingress port of another pod. `action` is `fixed`, or
/// `hash` where the egress port is down in `mask` and the five-tuple decides.
///
/// # Errors
/// [`FormatError`] where the fabric has no core.
pub fn files(fabric: &Fabric, mask: &LinkMask) -> Result<Vec<ConfigFile>, FormatError> {
    let rows = rows(fabric, mask);
    if rows.is_empty() {
        let (problem, accepted) = ("has no core, as it has one pod", "write a fabric with two pods or more");
        return Err(FormatError::new("per-port hash", fabric.name(), problem, accepted));
    }
    let port = |link: LinkId, is_leaving: bool| {
        let [near, far] = fabric.cable_ports(link.cable());
        let leaves_near = fabric.link_from(link.cable(), near) == link;
        let name = fabric.port_name(if leaves_near == is_leaving { near } else { far });
        name.rsplit(':').next().unwrap_or(&name).to_owned()
    };
    let mut text = HEADER.to_owned();
    for row in &rows {
        let core = fabric.device_name(fabric.switches()[row.core as usize].0);
        let action = if row.is_fixed { "fixed" } else { "hash" };
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{core},{},{},{},{action}",
            row.pod,
            port(row.ingress, false),
            port(row.egress, true)
        );
    }
    Ok(vec![ConfigFile::new("core-hash.csv", text)])
}

/// One ingress port of a core and a pod of destinations.
struct PortRow {
    core: u32,
    pod: u32,
    /// The link into the core.
    ingress: LinkId,
    /// The link out of it.
    egress: LinkId,
    is_fixed: bool,
}

fn rows(fabric: &Fabric, mask: &LinkMask) -> Vec<PortRow> {
    let forwarding = Forwarding::new(fabric, mask);
    let mut rows = Vec::new();
    for (core, (device, place)) in (0..).zip(fabric.switches()) {
        if place.tier != 3 {
            continue;
        }
        for pod in 0..fabric.pods() {
            for &(link, spine) in fabric.neighbors(*device) {
                let own = fabric.place(spine).map_or(NONE, |place| place.pod);
                if own == pod {
                    continue;
                }
                if let Some(egress) = forwarding.core_link(fabric, core, link.reverse(), pod) {
                    let is_fixed = !mask.is_down(egress);
                    rows.push(PortRow { core, pod, ingress: link.reverse(), egress, is_fixed });
                }
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use railtwin_fabric::preset::Hpn;

    use super::*;

    fn fabric(pods: u32) -> Fabric {
        Hpn { pods, segments: Some(1), hosts: Some(1), spines: Some(4), cores: Some(4), ..Hpn::default() }
            .build()
            .expect("small")
    }

    /// From each pod to each other one, every ingress port has an egress port of its own (H41).
    #[test]
    fn the_table_is_one_to_one_for_each_pod() {
        let fabric = fabric(3);
        let mut maps: BTreeMap<(u32, u32, u32), Vec<LinkId>> = BTreeMap::new();
        for row in rows(&fabric, &LinkMask::none(&fabric)) {
            assert!(row.is_fixed);
            let from = fabric.place(fabric.source(row.ingress)).expect("a spine").pod;
            assert_eq!(fabric.place(fabric.target(row.egress)).expect("a spine").pod, row.pod);
            maps.entry((row.core, from, row.pod)).or_default().push(row.egress);
        }
        assert_eq!(maps.len(), 8 * 3 * 2, "cores of both planes, ordered pairs of pods");
        for ((core, _, pod), egress) in maps {
            let device = fabric.switches()[core as usize].0;
            let into = |spine| fabric.place(spine).is_some_and(|place| place.pod == pod);
            let all: BTreeSet<LinkId> = fabric
                .neighbors(device)
                .iter()
                .filter(|&&(_, spine)| into(spine))
                .map(|&(link, _)| link)
                .collect();
            assert_eq!(egress.len(), all.len());
            assert_eq!(egress.into_iter().collect::<BTreeSet<_>>(), all);
        }
    }

    #[test]
    fn only_ports_whose_egress_is_down_fall_back() {
        let fabric = fabric(2);
        let whole = rows(&fabric, &LinkMask::none(&fabric));
        let mut mask = LinkMask::none(&fabric);
        let dead = whole[5].egress.cable();
        mask.set_cable(dead, true);
        let after = rows(&fabric, &mask);
        assert_eq!(whole.len(), after.len());
        for (before, after) in whole.iter().zip(&after) {
            assert_eq!((before.ingress, before.egress), (after.ingress, after.egress), "no port moves");
            assert_eq!(after.is_fixed, after.egress.cable() != dead);
        }
        assert_eq!(after.iter().filter(|row| !row.is_fixed).count(), 1);
        let text = &files(&fabric, &mask).expect("two pods")[0].text;
        assert_eq!(text.lines().filter(|line| line.ends_with(",hash")).count(), 1, "{text}");
        assert!(text.contains("core-0,1,downlink-0,"), "{text}");
    }

    #[test]
    fn a_fabric_of_one_pod_has_no_such_table() {
        let fabric = fabric(1);
        let error = files(&fabric, &LinkMask::none(&fabric)).expect_err("no core").to_string();
        assert!(error.contains("has no core") && error.contains("two pods"), "{error}");
    }
}
