//! The search space of path selection: fan-outs that decide a path, counted on built graphs (HPN section 6.1, table 1).
use std::cmp::Ordering;
use std::collections::BTreeSet;

use railtwin_fabric::name::tier_name;
use railtwin_fabric::preset::{FatTree, Hpn, SuperPod};
use railtwin_fabric::{DeviceId, Fabric, FabricError, HostId};
use serde::Serialize;

use super::rows::table;

/// One switch on the way from a NIC to another, and its equal-cost next links.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Stage {
    /// Tier of the switch and the direction of its next links, such as `leaf up`; `across` leads to the same tier.
    pub at: String,
    /// Equal-cost next links.
    pub fan_out: u32,
}

/// A figure of HPN table 1.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PrintedSpace {
    /// The formula as printed.
    pub formula: &'static str,
    /// Its value.
    pub value: u64,
    /// The reason for a difference to the computed product; empty where both agree.
    pub difference: &'static str,
}

/// The search space of one architecture.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SearchSpace {
    /// Name of the architecture.
    pub architecture: String,
    /// GPUs that it joins.
    pub gpus: u32,
    /// Tiers of switches.
    pub tiers: u32,
    /// Stages with more than one next link, from the source up and down again.
    pub stages: Vec<Stage>,
    /// Product of the fan-outs: the number of equal-cost paths.
    pub product: u64,
    /// The figure of HPN table 1, where it has one.
    pub printed: Option<PrintedSpace>,
    /// Whether the stages were counted on a built graph; false where a publication states them.
    pub is_counted: bool,
}

impl SearchSpace {
    /// Counts the fan-outs of a fabric between the first NIC of its first host and the same NIC of a host in the most
    /// distant place: another pod, or another segment where there is one pod.
    pub fn of(fabric: &Fabric) -> Self {
        let hosts = fabric.hosts();
        let gpus = hosts
            .iter()
            .filter(|host| !host.spare)
            .map(|host| fabric.host_models()[host.model as usize].gpus);
        let tiers: BTreeSet<u8> =
            fabric.switches().iter().map(|(_, place)| place.tier).filter(|&tier| tier <= 3).collect();
        let stages =
            distant_host(fabric).map_or_else(Vec::new, |target| stages(fabric, fabric.nic(target, 0)));
        Self {
            architecture: fabric.name().to_owned(),
            gpus: gpus.sum(),
            tiers: tiers.len() as u32,
            product: stages.iter().map(|stage| u64::from(stage.fan_out)).product(),
            stages: stages.into_iter().filter(|stage| stage.fan_out > 1).collect(),
            printed: None,
            is_counted: true,
        }
    }

    fn named(self, architecture: &str, formula: &'static str, value: u64, difference: &'static str) -> Self {
        let printed = Some(PrintedSpace { formula, value, difference });
        Self { architecture: architecture.to_owned(), printed, ..self }
    }

    /// The printed figure, or the product where nothing is printed.
    pub fn value(&self) -> u64 {
        self.printed.as_ref().map_or(self.product, |printed| printed.value)
    }
}

/// The rows of HPN table 1. Jupiter's direct-connect fabric is no Clos: its fan-outs are those that the table states.
///
/// # Errors
/// Those of the presets, which fit their chips.
pub fn table_1() -> Result<Vec<SearchSpace>, FabricError> {
    let hpn = SearchSpace::of(&Hpn::default().build()?).named("Pod in HPN", "O(60)", 60, "");
    let super_pod = SuperPod { su: 64, ..SuperPod::default() };
    let super_pod = SearchSpace::of(&super_pod.build()?).named("SuperPod", "O(32x32x4)", 4_096, "");
    let stage = |at: &str, fan_out: u32| Stage { at: at.to_owned(), fan_out };
    let jupiter = SearchSpace {
        architecture: String::new(),
        gpus: 26_000,
        tiers: 3,
        stages: vec![stage("leaf up", 8), stage("aggregation block up", 256)],
        product: 8 * 256,
        printed: None,
        is_counted: false,
    };
    let jupiter = jupiter.named("Jupiter", "O(8x256)", 2_048, "");
    let fat_tree = SearchSpace::of(&FatTree { k: 48, ..FatTree::default() }.build()?).named(
        "Fat tree (k=48)",
        "O(48x48)",
        2_304,
        "the table multiplies all 48 ports of both switches; only the 24 uplinks of each lead to another pod",
    );
    Ok(vec![hpn, super_pod, jupiter, fat_tree])
}

/// Prints the spaces, with the ratio of each to the first.
pub fn text(spaces: &[SearchSpace]) -> String {
    let first = spaces.first().map_or(1.0, |space| space.value() as f64);
    let rows = spaces.iter().map(|space| {
        let fan_outs: Vec<String> =
            space.stages.iter().map(|stage| format!("{} {}", stage.at, stage.fan_out)).collect();
        let printed = space
            .printed
            .as_ref()
            .map_or("-".to_owned(), |printed| format!("{} = {}", printed.formula, printed.value));
        vec![
            space.architecture.clone(),
            space.gpus.to_string(),
            space.tiers.to_string(),
            fan_outs.join(" x "),
            space.product.to_string(),
            printed,
            format!("{:.1}", space.value() as f64 / first),
        ]
    });
    let header = ["architecture", "GPUs", "tiers", "fan-outs", "product", "table 1", "ratio"];
    let mut text = table(&header, &rows.collect::<Vec<_>>());
    for space in spaces {
        let printed = space.printed.as_ref().filter(|printed| !printed.difference.is_empty());
        if let Some(printed) = printed {
            text.push_str(&format!("{}: {}\n", space.architecture, printed.difference));
        }
    }
    text
}

fn distant_host(fabric: &Fabric) -> Option<HostId> {
    let hosts = fabric.hosts();
    let first = hosts.first()?;
    let pod = hosts.iter().position(|host| host.pod != first.pod);
    let segment = || hosts.iter().position(|host| host.segment != first.segment);
    pod.or_else(segment).map(HostId::from_index)
}

/// Walks from the first leaf of NIC 0 of host 0 along shortest ways to `target`; all stages between switches, fan-outs of 1
/// among them. Any leaf of the target will do; the cables from it to the target are not counted.
fn stages(fabric: &Fabric, target: DeviceId) -> Vec<Stage> {
    let distance = distances(fabric, target);
    let row = |device: DeviceId| fabric.switch_row(device).map(|row| row as usize);
    let start = fabric.neighbors(fabric.nic(HostId(0), 0)).iter().map(|&(_, device)| device);
    let Some(leaf) =
        start.into_iter().find(|&device| row(device).is_some_and(|row| distance[row] != u32::MAX))
    else {
        return Vec::new();
    };
    let (mut frontier, mut stages) = (BTreeSet::from([leaf]), Vec::new());
    while let Some(&first) = frontier.first() {
        let at = row(first).map_or(0, |row| distance[row]);
        let closer = |&device: &DeviceId| match row(device) {
            Some(row) => distance[row] + 1 == at,
            None => device == target && at == 1,
        };
        let next =
            |switch: DeviceId| fabric.neighbors(switch).iter().map(|&(_, device)| device).filter(closer);
        let fan_out = frontier.iter().map(|&switch| next(switch).count()).max().unwrap_or(0);
        let after: BTreeSet<DeviceId> = frontier.iter().flat_map(|&switch| next(switch)).collect();
        frontier = after.into_iter().filter(|&device| row(device).is_some()).collect();
        let tier = |device: DeviceId| fabric.place(device).map_or(0, |place| place.tier);
        let Some(&above) = frontier.first() else { break };
        let direction = match tier(above).cmp(&tier(first)) {
            Ordering::Greater => "up",
            Ordering::Equal => "across",
            Ordering::Less => "down",
        };
        stages.push(Stage { at: format!("{} {direction}", tier_name(tier(first))), fan_out: fan_out as u32 });
    }
    stages
}

/// Hops from each switch row to `target` over switches; [`u32::MAX`] where no way leads there.
fn distances(fabric: &Fabric, target: DeviceId) -> Vec<u32> {
    let mut distance = vec![u32::MAX; fabric.switches().len()];
    let (mut frontier, mut hops) = (vec![target], 0);
    while !frontier.is_empty() {
        hops += 1;
        let mut next = Vec::new();
        for &device in &frontier {
            for &(_, other) in fabric.neighbors(device) {
                let Some(row) = fabric.switch_row(other) else { continue };
                if distance[row as usize] == u32::MAX {
                    distance[row as usize] = hops;
                    next.push(other);
                }
            }
        }
        frontier = next;
    }
    distance
}

#[cfg(test)]
mod tests {
    use railtwin_fabric::design::DesignReport;
    use railtwin_fabric::preset::{DcnPlus, LeafSpine};

    use super::*;

    #[test]
    fn table_1_is_counted_and_its_ratios_are_one_to_two_magnitudes() {
        let table = table_1().unwrap();
        let products: Vec<(u32, u32, u64)> =
            table.iter().map(|space| (space.gpus, space.tiers, space.product)).collect();
        assert_eq!(products, [(15_360, 2, 60), (16_384, 3, 4_096), (26_000, 3, 2_048), (27_648, 3, 576)]);
        let fan_outs: Vec<u32> = table[1].stages.iter().map(|stage| stage.fan_out).collect();
        assert_eq!(fan_outs, [32, 32, 4]);
        assert_eq!(table[3].stages[1], Stage { at: "spine up".to_owned(), fan_out: 24 });
        let ratios: Vec<f64> = table[1..].iter().map(|space| space.value() as f64 / 60.0).collect();
        assert!(ratios.iter().all(|ratio| (34.0..69.0).contains(ratio)), "{ratios:?}");
        assert!(text(&table).contains("24 uplinks"), "{}", text(&table));
        // Only the fat tree differs from its printed figure.
        let different =
            |space: &&SearchSpace| space.printed.as_ref().is_some_and(|p| p.value != space.product);
        assert_eq!(table.iter().filter(different).count(), 1);
    }

    #[test]
    fn the_search_space_is_the_design_reports_path_choices_in_one_pod() {
        for planes in [true, false] {
            let fabric = Hpn { segments: Some(2), hosts: Some(2), planes, ..Hpn::default() }.build().unwrap();
            assert_eq!(SearchSpace::of(&fabric).product, u64::from(DesignReport::of(&fabric).path_choices));
        }
        let fabric = LeafSpine::default().build().unwrap();
        assert_eq!(SearchSpace::of(&fabric).product, u64::from(DesignReport::of(&fabric).path_choices));
    }

    #[test]
    fn parallel_cables_are_choices_of_their_own() {
        let dcn = DcnPlus { pods: 2, hosts: 1, cores: 64, ..DcnPlus::default() }.build().unwrap();
        let space = SearchSpace::of(&dcn);
        assert_eq!((space.stages[0].fan_out, space.stages[0].at.as_str()), (64, "leaf up"));
        let single =
            SearchSpace::of(&Hpn { segments: Some(1), hosts: Some(2), ..Hpn::default() }.build().unwrap());
        assert_eq!((single.product, single.stages), (1, Vec::new()));
    }
}
