//! Paths where leaves bridge their own segment: without an ARP proxy a leaf forwards by MAC address to a port that
//! died, long after the rest of the network routes around it (HPN section 4.2).
use railtwin_fabric::LinkId;
use railtwin_workload::PatternId;

use crate::bundles::BundleTable;
use crate::lower::FlowPath;

/// Bundles with a queue pair whose path enters and leaves the network at one leaf by a link for which `lost`
/// holds. `flows` are the paths that leaves bridge by, which name bundles as they were before classes joined them, the
/// first of each pattern as in `first_bundles`; bundles are those of `table`, joined by rank class or not.
pub fn bridged(
    table: &BundleTable,
    flows: &[FlowPath],
    first_bundles: &[u32],
    lost: &dyn Fn(LinkId) -> bool,
) -> Vec<bool> {
    let mut caught = vec![false; table.bundles()];
    for flow in flows {
        if let [_, last] = flow.links[..]
            && lost(last)
        {
            let rows = table.bundles_of(PatternId(flow.pattern));
            // A class moves at its slowest.
            let of_pattern = (flow.bundle - first_bundles[flow.pattern as usize]) as usize;
            caught[if rows.len() == 1 { rows.start } else { rows.start + of_pattern }] = true;
        }
    }
    caught
}

/// `routed` with the bundles that are `caught` as in `bridged`.
pub fn join(routed: &BundleTable, bridged: &BundleTable, caught: &[bool]) -> BundleTable {
    let mut table = BundleTable { pattern_start: vec![0], link_start: vec![0], ..BundleTable::default() };
    let dynamic = routed.is_dynamic();
    if dynamic {
        table.strands.slots = routed.strands.slots;
        table.strands.bundle_start.push(0);
        table.strands.link_start.push(0);
    }
    for pattern in 0..routed.patterns() {
        for bundle in routed.bundles_of(PatternId::from_index(pattern)) {
            let from = if caught[bundle] { bridged } else { routed };
            table.volume.push(from.volume[bundle]);
            table.weight.push(from.weight[bundle]);
            table.cap.push(from.cap[bundle]);
            for (link, share) in from.links_of(bundle) {
                table.links.push(link);
                table.shares.push(share);
            }
            if from.link_start[bundle] == from.link_start[bundle + 1] {
                table.stranded.push(bundle as u32);
            }
            table.link_start.push(table.links.len() as u32);
            if dynamic {
                table.strands.extend_from(&from.strands, bundle, 0, 1.0);
                table.strands.close_bundle();
            }
        }
        table.pattern_start.push(table.volume.len() as u32);
        table.latency.push(routed.latency[pattern].max(bridged.latency[pattern]));
    }
    table
}
