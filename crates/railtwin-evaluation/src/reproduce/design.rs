//! Facts of designs: search spaces, buildings, pods, optics and switches of HPN, and counts that vendors print.
use railtwin_catalog::Catalog;
use railtwin_fabric::design::DesignReport;
use railtwin_fabric::frontend::Outside;
use railtwin_fabric::preset::{Generation, Hpn, Layout as _, SuperPod};
use railtwin_fabric::{Frontend, Storage};
use railtwin_planning::facts::buildings::BuildingCables;
use railtwin_planning::facts::chassis::SwitchClasses;
use railtwin_planning::facts::optics::OpticsPlan;
use railtwin_planning::facts::pod_cost::{NetworkPrices, PodComparison};
use railtwin_planning::facts::power::{BUILDING_GPUS, BUILDING_W, gpus_carried, per_gpu_w};
use railtwin_planning::facts::{paths, pod_cost};
use railtwin_store::Figure;

use super::sweep::Set;

/// Twelve digits: rates per GPU and hour times their inverse leave the last one or two to chance.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1e12).round() / 1e12
}

/// HPN, table 1: products of the fan-outs that decide a path.
pub(super) fn search_spaces() -> Vec<Figure> {
    let table = paths::table_1().expect("a test builds the presets");
    let names = ["hpn", "superpod", "jupiter", "fat_tree"];
    names.iter().zip(table).map(|(name, space)| Figure::new(name, space.product as f64, "")).collect()
}

/// HPN, appendix D: the share of links between buildings, by each way to count links.
pub(super) fn buildings(set: &Set) -> Vec<Figure> {
    let pods = set.number("pods", 2.0) as u32;
    let outside = Outside { frontend: Some(Frontend::default()), storage: Some(Storage::of(128)) };
    let spec = Hpn { pods, ..Hpn::default() }.spec().expect("the default counts fit");
    let fabric = outside.build(&spec).expect("a test builds the data center");
    let counts = BuildingCables::of(&fabric).counts;
    let name = |way: &str| format!("share_{}", way.replace('-', "_"));
    counts.iter().map(|count| Figure::new(&name(count.way), rounded(count.share), "")).collect()
}

/// HPN, section 6.2: what one pod saves against several under a third tier. Access cables are fibres of `access_m`,
/// those between switches of `fabric_m`.
pub(super) fn one_pod(set: &Set) -> Vec<Figure> {
    let both = PodComparison::hpn().expect("a test builds both designs");
    let lengths = (
        set.number("access_m", pod_cost::ASSUMED_ACCESS_M),
        set.number("fabric_m", pod_cost::ASSUMED_FABRIC_M),
    );
    let prices = NetworkPrices::of(&Catalog::builtin(), lengths.0, lengths.1).expect("the catalog reaches");
    let prices = prices.expect("the catalog has a switch of 51.2T");
    vec![
        Figure::new("switches_saved", rounded(both.switches_saved), ""),
        Figure::new("fabric_cables_saved", rounded(both.fabric_cables_saved), ""),
        Figure::new("cost_saved", rounded(both.cost_saved(&prices)), ""),
    ]
}

/// HPN, section 10: transceivers of a pod, and GPUs of a building.
pub(super) fn one_building() -> Vec<Figure> {
    let pod = Hpn::default().build().expect("the default counts fit");
    let plan = OpticsPlan::of(&pod, 0.0);
    let watts = per_gpu_w(BUILDING_W, BUILDING_GPUS);
    vec![
        Figure::new("transceiver_cost_saved", rounded(plan.saving), ""),
        Figure::new("longest_fibre", plan.total.longest_m, "m"),
        Figure::new("power_per_gpu", watts, "W"),
        Figure::new("gpus_carried", f64::from(gpus_carried(BUILDING_W, watts)), ""),
    ]
}

/// HPN, section 5.1: failures of multi-chip over those of single-chip switches.
pub(super) fn switch_failures() -> Vec<Figure> {
    let classes = SwitchClasses::HPN;
    vec![
        Figure::new("units_ratio", classes.units_ratio, ""),
        Figure::new("failures_ratio", classes.failures_ratio, ""),
        Figure::new("per_unit_ratio", rounded(classes.per_unit_ratio()), ""),
    ]
}

/// Counts of a line of `data/reference_counts/superpod_counts.csv` after design and scalable units.
const COLUMNS: [&str; 8] =
    ["hosts", "gpus", "leaves", "spines", "cores", "cables_access", "cables_leaf_spine", "cables_spine_core"];

/// The generations of that file, by the name there and in figures.
const DESIGNS: [(&str, &str, Generation, &[u32]); 3] = [
    ("B200-NDR", "b200_ndr", Generation::B200Ndr, &[2, 8, 32]),
    ("B300-SpectrumX", "b300_spectrum_x", Generation::B300SpectrumX, &[1, 4, 16]),
    ("B300-XDR", "b300_xdr", Generation::B300Xdr, &[1, 4]),
];

/// Switches and cables of SuperPODs, counted on the built fabrics. A physical cable is one, whatever its ports split into.
pub(super) fn reference_counts() -> Vec<Figure> {
    let mut figures = Vec::new();
    for (_, name, generation, units) in DESIGNS {
        for &su in units {
            let pod = SuperPod { su, generation, ..SuperPod::default() };
            let report = DesignReport::of(&pod.build().expect("a test builds each"));
            let tier = |row: usize| report.tiers.get(row).map_or(0, |tier| tier.switches);
            let cables = [report.cables_access, report.cables_leaf_spine, report.cables_spine_core];
            let counts = [report.hosts_active, report.gpus_active, tier(0), tier(1), tier(2)];
            let cables = cables.map(|cables| cables / report.breakout);
            for (column, count) in COLUMNS.iter().zip(counts.iter().chain(&cables)) {
                figures.push(Figure::new(&format!("{name}_{su}.{column}"), f64::from(*count), ""));
            }
        }
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::{CALCULATION, rows};

    /// The table has every cell of the vendor's file, and no other figure of it.
    #[test]
    fn rows_of_reference_counts_are_the_vendors_file() {
        let file = include_str!("../../../../data/reference_counts/superpod_counts.csv");
        let mut printed: Vec<(String, f64)> = Vec::new();
        for line in file.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            let (_, name, ..) = DESIGNS.iter().find(|(design, ..)| *design == cells[0]).unwrap();
            let counts = cells[2..].iter().map(|cell| cell.parse().unwrap_or(0.0));
            printed.extend(
                COLUMNS
                    .iter()
                    .zip(counts)
                    .map(|(column, count)| (format!("{name}_{}.{column}", cells[1]), count)),
            );
        }
        let source = format!("{CALCULATION}reference-counts");
        let of_table = rows().into_iter().filter(|row| row.source() == source);
        let of_table: Vec<(String, f64)> =
            of_table.flat_map(|row| row.figures).map(|wanted| (wanted.figure, wanted.paper)).collect();
        assert_eq!(of_table, printed);
    }
}
