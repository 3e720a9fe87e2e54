//! How evenly flows spread over the uplinks of leaves: Meta's max-mean ratio (Meta RoCE section 4.1.1); and the
//! paths that are left when a spine is lost (HPN section 6.1).
use railtwin_engine::lower::{FlowPath, Lowering};
use railtwin_fabric::{Fabric, HostId, LinkId, PortRole};
use railtwin_routing::{Forwarding, LinkMask, NicPort, Routing, max_mean_ratio};
use railtwin_store::Figure;

use crate::figures::quantile;
use crate::question::Resolved;

/// Queue pairs up to which every replicate is counted; larger cases count the chosen one alone.
const EVERY_REPLICATE_MAX: usize = 50_000;

/// Mean over leaves and replicates of the most loaded uplink's flows over the mean uplink's; none where no
/// flow leaves a leaf upward.
pub fn leaf_uplinks(resolved: &Resolved, flows: &[FlowPath]) -> Option<Figure> {
    let case = &resolved.case;
    let mut ratios = ratios(&case.fabric, flows);
    if flows.len() <= EVERY_REPLICATE_MAX && !ratios.is_empty() {
        ratios.clear();
        for replicate in 0..resolved.scenario.run.replicates {
            let lowering = Lowering::new(case, replicate);
            let (_, flows) = lowering.table(&LinkMask::none(&case.fabric), true);
            ratios.extend(self::ratios(&case.fabric, &flows));
        }
    }
    if ratios.is_empty() {
        return None;
    }
    ratios.sort_by(f64::total_cmp);
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    let mut figure = Figure::new("leaf_uplink_max_mean_ratio", mean, "ratio");
    figure.note = format!("flows of the most loaded uplink over the mean, {} leaves and draws", ratios.len());
    (figure.low, figure.high) = (quantile(&ratios, 0.05), quantile(&ratios, 0.95));
    Some(figure)
}

/// With the first spine gone: paths from a NIC port of the first host to a host of another segment, and what its
/// leaf can still send there over what it could.
pub fn after_spine_loss(resolved: &Resolved) -> Vec<Figure> {
    spine_loss(resolved).unwrap_or_default()
}

fn spine_loss(resolved: &Resolved) -> Option<Vec<Figure>> {
    let (case, fabric) = (&resolved.case, &*resolved.case.fabric);
    let first = fabric.hosts().first()?;
    let other = fabric.hosts().iter().position(|h| h.pod == first.pod && h.segment != first.segment)?;
    let (spine, _) = fabric.switches().iter().find(|(_, place)| place.tier == 2)?;
    let mut mask = LinkMask::none(fabric);
    mask.set_device(fabric, *spine, true);
    let forwarding = Forwarding::new(fabric, &mask);
    let routing = Routing::new(fabric, &forwarding, &case.routing.ecmp);
    let source = NicPort { nic: fabric.nic(HostId(0), 0), port: 0 };
    let target = fabric.nic(HostId::from_index(other), 0);
    let paths = routing.count_paths(source, target).unwrap_or(0);
    let mut figures = vec![Figure::new("paths_after_spine_loss", paths as f64, "count")];
    let healthy = Forwarding::new(fabric, &LinkMask::none(fabric));
    let leaf = fabric.switch_row(fabric.target(fabric.access_link(source.nic, source.port)?))?;
    let capacity = |tables: &Forwarding| -> u64 {
        tables.next_links(leaf, target).iter().map(|&link| fabric.capacity(link).bits_per_s()).sum()
    };
    let (left, all) = (capacity(&forwarding), capacity(&healthy));
    if all > 0 {
        let mut share = Figure::new("capacity_after_spine_loss", left as f64 / all as f64, "ratio");
        share.note = "of a leaf towards another segment".to_owned();
        figures.push(share);
    }
    Some(figures)
}

/// One ratio for each leaf with flows on its uplinks.
fn ratios(fabric: &Fabric, flows: &[FlowPath]) -> Vec<f64> {
    let mut count = vec![0_u64; fabric.link_count()];
    for link in flows.iter().flat_map(|flow| &flow.links) {
        count[link.index()] += 1;
    }
    let leaves = fabric.switches().iter().filter(|(_, place)| place.tier == 1);
    leaves
        .filter_map(|&(leaf, _)| {
            let up = fabric.ports(leaf).filter(|&port| fabric.port_role(port) == PortRole::Up);
            let links =
                up.filter_map(|port| fabric.cable_at(port).map(|cable| fabric.link_from(cable, port)));
            let loads: Vec<u64> = links.map(|link: LinkId| count[link.index()]).collect();
            (loads.iter().sum::<u64>() > 0).then(|| max_mean_ratio(&loads))
        })
        .collect()
}
