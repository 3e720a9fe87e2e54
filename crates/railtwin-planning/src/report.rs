//! A report on one fabric: the questions that the papers ask of a design, section by section.
use std::fmt::Display;

use railtwin_catalog::Catalog;
use railtwin_fabric::Fabric;
use railtwin_fabric::clos::{Chip, ClosSpec};
use railtwin_units::Rate;
use serde::Serialize;
use serde_json::{Value, json};

use crate::facts::{
    buildings::BuildingCables,
    chassis::{self, SwitchClasses},
    direct::DirectNetwork,
    failure_points::FailurePoints,
    ingress::{RackIngress, StepReads},
    ladder::{self, LadderBase},
    optics::OpticsPlan,
    paths::{self, SearchSpace},
    pod_cost::{self, NetworkPrices, PodComparison},
    ports::{self, PortBudget},
    power::{BUILDING_W, PartPower, PowerBudget},
    rail_only, thermal,
};
use crate::intent::FabricCandidate;
use crate::loss::Goals;
use crate::search::core_curve;
use crate::text::core_curve_text;

/// Chips of a chassis that stands for single-chip switches: an eight-slot chassis of one chip a line card.
const ASSUMED_CHIPS_PER_CHASSIS: u32 = 8;

/// Air at the heat sinks of switches, in °C.
const ASSUMED_AIR_C: f64 = 35.0;

/// Limits that a report judges against.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// Power of a building, W.
    pub building_w: f64,
    /// Reads of a job's step, for the ingress of frontend racks; none leaves that section out.
    pub reads: Option<StepReads>,
    /// Longest copper cable, metres.
    pub copper_m: f64,
}

impl Default for Limits {
    /// The building of HPN section 10, copper to 3 m.
    fn default() -> Self {
        Self { building_w: BUILDING_W, reads: None, copper_m: 3.0 }
    }
}

/// A section of a report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Section {
    /// Key in JSON.
    pub key: &'static str,
    /// Title for people.
    pub title: String,
    /// Text for a terminal.
    pub text: String,
    /// The same for programs.
    pub value: Value,
}

impl Section {
    fn new(key: &'static str, title: impl Display, text: String, value: impl Serialize) -> Self {
        Self { key, title: title.to_string(), text, value: json!(value) }
    }
}

/// All sections of a fabric. Those that follow from counts alone need its `spec`, which a fabric that was read from a
/// file does not have.
pub fn sections(
    fabric: &Fabric,
    spec: Option<&ClosSpec>,
    catalog: &Catalog,
    limits: &Limits,
) -> Vec<Section> {
    let mut all = Vec::new();
    let candidate = spec.map(|spec| {
        let mut candidate = FabricCandidate::of_design(spec.clone(), catalog);
        candidate.add_frontend(fabric, catalog);
        candidate
    });
    if let Some((spec, candidate)) = spec.zip(candidate.as_ref()) {
        of_counts(spec, candidate, &mut all);
    }
    of_graph(fabric, spec, limits, &mut all);
    if let Some(parts) = PartPower::of(catalog) {
        let host = fabric.host_models().first().map_or("", |model| model.name.as_str());
        let switch = candidate.as_ref().map(|candidate| candidate.combination.switch.as_str());
        let parts = parts.with(catalog, host, switch);
        let budget = PowerBudget::of_pod(fabric, 0, limits.building_w, parts);
        all.push(Section::new(
            "power",
            "power of the first pod against its building",
            budget.text(),
            &budget,
        ));
    }
    of_hardware(fabric, spec, &mut all);
    of_papers(spec, catalog, &mut all);
    all
}

/// Goals, price, power, losses.
fn of_counts(spec: &ClosSpec, candidate: &FabricCandidate, all: &mut Vec<Section>) {
    let goals = Goals::of(spec);
    all.push(Section::new("goals", "goals of HPN (section 2.4)", goals.to_text(), &goals));
    let mut notes = candidate.bill_text();
    for note in &candidate.notes {
        notes.push_str(&format!("note: {note}\n"));
    }
    let price = json!({
        "bill": candidate.bill, "price": candidate.price(), "price_of_bill": candidate.bill.price(), "power": candidate.power(),
        "usd_per_gpu": candidate.usd_per_gpu(), "watts_per_gpu": candidate.watts_per_gpu(), "notes": candidate.notes,
    });
    all.push(Section::new("price", "price and power of the network, hosts left out", notes, price));
    let loss = &candidate.loss;
    all.push(Section::new("losses", "what one lost part takes", loss.to_text(), loss));
    let curve = core_curve(spec);
    if !curve.is_empty() {
        let text = core_curve_text(&curve);
        all.push(Section::new(
            "core_curve",
            "largest pod by oversubscription of the core (HPN section 7)",
            text,
            &curve,
        ));
    }
}

/// Sections counted on the built graph.
fn of_graph(fabric: &Fabric, spec: Option<&ClosSpec>, limits: &Limits, all: &mut Vec<Section>) {
    let chip = spec.and_then(|spec| match spec.chip {
        Chip::Of(chip) => Some(chip),
        _ => None,
    });
    let budgets = PortBudget::of_fabric(fabric, chip);
    all.push(Section::new(
        "ports",
        "port budget of each tier (HPN section 5.1)",
        ports::text(&budgets),
        &budgets,
    ));
    if let Some(direct) = DirectNetwork::of(fabric) {
        all.push(Section::new("direct", "paths of a network without switches", direct.text(), &direct));
    }
    let space = SearchSpace::of(fabric);
    let text = paths::text(std::slice::from_ref(&space));
    all.push(Section::new("search_space", "search space of path selection (HPN table 1)", text, &space));
    let points = FailurePoints::of(fabric);
    all.push(Section::new("failure_points", "single points of failure", points.text(), &points));
    let buildings = BuildingCables::of(fabric);
    let title = "cables between buildings (HPN appendix D)";
    all.push(Section::new("buildings", title, buildings.text(), &buildings));
    let optics = OpticsPlan::of(fabric, limits.copper_m);
    all.push(Section::new("optics", "transceivers by length (HPN section 10)", optics.text(), &optics));
    if let Some((rack, reads)) = RackIngress::of(fabric).zip(limits.reads) {
        let verdict = rack.judge(reads);
        let title = "ingress of a frontend rack against a step's reads (Meta RoCE section 3.2)";
        all.push(Section::new("ingress", title, verdict.text(), verdict));
    }
}

/// Cooling and failures of switches.
fn of_hardware(fabric: &Fabric, spec: Option<&ClosSpec>, all: &mut Vec<Section>) {
    let generation = spec.map_or(0, |spec| match spec.chip {
        // Capacity doubles with each generation after 51.2T.
        Chip::Of(chip) => (chip.gbps() / 51_200.0).log2().round() as i32,
        _ => 0,
    });
    let verdicts = thermal::CoolingVerdict::all(thermal::chip_power_w(generation), ASSUMED_AIR_C);
    let title = "cooling of a switch chip at full power (HPN section 5.1)";
    all.push(Section::new("cooling", title, thermal::text(&verdicts), &verdicts));
    let classes = SwitchClasses::HPN;
    let failures = classes.fabric(fabric.switches().len() as u32, ASSUMED_CHIPS_PER_CHASSIS);
    let title = "single-chip against multi-chip switches (HPN section 5.1)";
    all.push(Section::new(
        "chassis",
        title,
        chassis::text(&classes, &failures),
        json!({
            "classes": classes, "per_unit_ratio": classes.per_unit_ratio(), "failures": failures,
        }),
    ));
}

/// What stands in the papers beside any one design: the scale ladder, the search spaces, one pod against several.
fn of_papers(spec: Option<&ClosSpec>, catalog: &Catalog, all: &mut Vec<Section>) {
    let own = spec.and_then(|spec| match spec.chip {
        Chip::Of(chip) => Some(chip),
        _ => None,
    });
    for generation in ["51.2T", "102.4T"].into_iter().filter_map(ports::generation) {
        let rungs = ladder::ladder(LadderBase::hpn(generation.capacity));
        let ours = if own == Some(generation.capacity) { ", the chip of this design" } else { "" };
        let title = format!("scale ladder of {}{ours} (HPN table 2)", generation.name);
        let key = if generation.name == "51.2T" { "ladder" } else { "ladder_102t" };
        all.push(Section::new(key, title, ladder::text(&rungs), &rungs));
    }
    let base = LadderBase::hpn(own.unwrap_or(Rate::from_gbps(51_200)));
    let without = ladder::without_each(base);
    let title = "scale of HPN without each of its mechanisms";
    all.push(Section::new("without_each", title, ladder::text(&without), &without));
    let chips = ports::GENERATIONS.iter().map(|generation| {
        PortBudget::plan_leaf(generation.capacity, Rate::from_gbps(200), Rate::from_gbps(400))
    });
    let leaves: Vec<PortBudget> = chips.collect();
    let title = "leaf of each chip, divided as HPN does: hosts at 200 Gbps, uplinks at 400 Gbps";
    all.push(Section::new("leaf_of_chip", title, ports::text(&leaves), &leaves));
    if let Ok(designs) = rail_only::table_4() {
        let title = "any-to-any against rail-only tier 2 (HPN table 4)";
        all.push(Section::new("rail_only", title, rail_only::text(&designs), designs));
    }
    if let Ok(spaces) = paths::table_1() {
        let title = "search spaces of architectures (HPN table 1)";
        all.push(Section::new("search_spaces", title, paths::text(&spaces), &spaces));
    }
    let prices =
        NetworkPrices::of(catalog, pod_cost::ASSUMED_ACCESS_M, pod_cost::ASSUMED_FABRIC_M).ok().flatten();
    if let Some((comparison, prices)) = PodComparison::hpn().ok().zip(prices) {
        let value =
            json!({ "counts": comparison, "prices": prices, "saved": comparison.cost_saved(&prices) });
        let title = "one pod of two tiers against several under a third (HPN section 6.2)";
        all.push(Section::new("one_pod", title, comparison.text(&prices), value));
    }
}
