//! How evenly traffic spreads over the links of switches: Meta's max-mean ratio (Meta RoCE section 4.1.1); and the
//! paths that are left when a spine is lost (HPN section 6.1).
use railtwin_engine::lower::{FlowPath, Lowering};
use railtwin_engine::{Case, RunLog};
use railtwin_fabric::{DeviceId, Fabric, HostId, LinkId, PortRole};
use railtwin_routing::{Forwarding, LinkMask, NicPort, Routing, max_mean_ratio};
use railtwin_store::Figure;
use serde_json::{Value, json};

use crate::figures::declared::{fabric as of_fabric, network as of_network};
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
    let note = format!("flows of the most loaded uplink over the mean, {} leaves and draws", ratios.len());
    let mut figure = of_network::LEAF_UPLINK_MAX_MEAN_RATIO.figure(mean, &note);
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
    let mut figures = vec![of_fabric::PATHS_AFTER_SPINE_LOSS.figure(paths as f64, "")];
    let healthy = Forwarding::new(fabric, &LinkMask::none(fabric));
    let leaf = fabric.switch_row(fabric.target(fabric.access_link(source.nic, source.port)?))?;
    let capacity = |tables: &Forwarding| -> u64 {
        tables.next_links(leaf, target).iter().map(|&link| fabric.capacity(link).bits_per_s()).sum()
    };
    let (left, all) = (capacity(&forwarding), capacity(&healthy));
    if all > 0 {
        let share = left as f64 / all as f64;
        figures.push(of_fabric::CAPACITY_AFTER_SPINE_LOSS.figure(share, "of a leaf towards another segment"));
    }
    Some(figures)
}

/// One ratio for each leaf with flows on its uplinks.
fn ratios(fabric: &Fabric, flows: &[FlowPath]) -> Vec<f64> {
    let mut count = vec![0_u64; fabric.link_count()];
    for link in flows.iter().flat_map(|flow| &flow.links) {
        count[link.index()] += 1;
    }
    of_tier(fabric, 1, PortRole::Up, |link| count[link.index()]).into_iter().map(|(_, ratio)| ratio).collect()
}

/// Max-mean ratio over a switch's links of one role, for each switch of a tier whose links carry anything. All links
/// of the role count, also dead and unused ones.
fn of_tier(fabric: &Fabric, tier: u8, role: PortRole, load: impl Fn(LinkId) -> u64) -> Vec<(DeviceId, f64)> {
    let switches = fabric.switches().iter().filter(|(_, place)| place.tier == tier);
    switches
        .filter_map(|&(switch, _)| {
            let ports = fabric.ports(switch).filter(|&port| fabric.port_role(port) == role);
            let links =
                ports.filter_map(|port| fabric.cable_at(port).map(|cable| fabric.link_from(cable, port)));
            let loads: Vec<u64> = links.map(&load).collect();
            (loads.iter().sum::<u64>() > 0).then(|| (switch, max_mean_ratio(&loads)))
        })
        .collect()
}

/// Where paths are chosen among links: tier and direction. A leaf's links to hosts are left out: what they carry is
/// decided by where ranks stand.
pub(crate) const CHOICES: [(u8, &str, PortRole); 4] = [
    (1, "leaf_up", PortRole::Up),
    (2, "spine_up", PortRole::Up),
    (2, "spine_down", PortRole::Down),
    (3, "core_down", PortRole::Down),
];

/// Max-mean ratios of one tier and direction, over its switches that carry anything.
#[derive(Clone, PartialEq, Debug)]
pub struct TierBalance {
    /// `leaf_up`, `spine_up`, `spine_down` or `core_down`.
    pub place: &'static str,
    /// `bytes` that links carried in the run, or `flows`: queue pairs before any fault.
    pub by: &'static str,
    /// Mean over switches.
    pub mean: f64,
    /// 5th percentile over switches.
    pub low: f64,
    /// 95th percentile over switches.
    pub high: f64,
    /// The most uneven switch.
    pub worst: DeviceId,
    /// Its ratio.
    pub max: f64,
    /// Switches that carry anything.
    pub switches: usize,
}

/// Max-mean ratios of all tiers and directions of one replicate, by bytes and by flows (`flows`: queue pairs by
/// link); those without any load are left out.
pub fn by_tier(case: &Case, log: &RunLog, flows: &[u32]) -> Vec<TierBalance> {
    let bytes = |link: LinkId| log.link_bytes[link.index()].round() as u64;
    let count = |link: LinkId| u64::from(flows[link.index()]);
    CHOICES
        .iter()
        .flat_map(|&(tier, place, role)| {
            let by_bytes = of_tier(&case.fabric, tier, role, bytes);
            [(place, "bytes", by_bytes), (place, "flows", of_tier(&case.fabric, tier, role, count))]
        })
        .filter_map(|(place, by, ratios)| {
            let &(worst, max) = ratios.iter().reduce(|a, b| if b.1 > a.1 { b } else { a })?;
            let mut sorted: Vec<f64> = ratios.iter().map(|(_, ratio)| *ratio).collect();
            sorted.sort_by(f64::total_cmp);
            let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
            let (low, high) = (quantile(&sorted, 0.05)?, quantile(&sorted, 0.95)?);
            Some(TierBalance { place, by, mean, low, high, worst, max, switches: sorted.len() })
        })
        .collect()
}

/// The figures `max_mean_ratio_PLACE` (by bytes) and `max_mean_ratio_PLACE_flows`: mean over switches of the chosen
/// replicate, p5 to p95.
pub fn figures(balance: &[TierBalance]) -> Vec<Figure> {
    let figure = |of: &TierBalance| {
        let declared =
            if of.by == "flows" { of_network::MAX_MEAN_RATIO_FLOWS } else { of_network::MAX_MEAN_RATIO };
        let (tier, way) = of.place.split_once('_').unwrap_or((of.place, ""));
        let note = format!(
            "{} on the most loaded {way} link over the mean, mean over {} {tier} switches, p5 to p95",
            of.by, of.switches
        );
        let mut figure = declared.of(of.place).figure(of.mean, &note);
        (figure.low, figure.high) = (Some(of.low), Some(of.high));
        figure
    };
    balance.iter().map(figure).collect()
}

/// The page's `balance`.
pub fn page(case: &Case, balance: &[TierBalance]) -> Value {
    let row = |of: &TierBalance| {
        json!({
            "place": of.place, "by": of.by, "mean": of.mean, "low": of.low, "high": of.high, "max": of.max,
            "worst": case.fabric.device_name(of.worst), "switches": of.switches,
        })
    };
    balance.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use crate::{Question, Run};

    /// Hosts of two leaves with four uplinks each, one flow each way: one uplink of four carries all.
    #[test]
    fn one_flow_over_four_uplinks_has_a_ratio_of_four() {
        let text = "schema = 1\nname = \"b\"\n[fabric]\npreset = \"leaf-spine\"\nleaves = 2\n\
                    hosts_per_leaf = 1\nuplinks = 4\nhost = { model = \"plain\" }\n\
                    [[job]]\nhosts = 2\ncollective = { kind = \"send-receive\", bytes = \"1 GB\" }\n";
        let question = Question::of_text("b.toml", text, std::path::Path::new("."));
        let run = Run::of(question.resolve(&question.points().unwrap()[0].scenario).unwrap(), &|| ());
        for name in ["max_mean_ratio_leaf_up", "max_mean_ratio_leaf_up_flows"] {
            assert_eq!(run.figure(name), Some(4.0), "{name}");
        }
        let flows = run.figure("max_mean_ratio_leaf_up_flows");
        assert_eq!(flows, run.figure("leaf_uplink_max_mean_ratio"));
        // Both flows meet at one spine and leave it towards different leaves.
        assert_eq!(run.figure("max_mean_ratio_spine_down"), Some(1.0));
        assert_eq!(run.figure("max_mean_ratio_core_down"), None, "there are no cores");
        let page = run.payload().unwrap();
        assert_eq!(page["balance"].as_array().unwrap().len(), 4);
        assert_eq!(
            (&page["balance"][0]["place"], &page["balance"][0]["worst"]),
            (&"leaf_up".into(), &"leaf-0".into())
        );
    }
}
