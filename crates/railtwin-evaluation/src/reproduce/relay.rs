//! HPN section 10: what a rail-only tier 2 joins, and who may not train on it.
use std::path::Path;

use railtwin_fabric::preset::{Hpn, Tier2};
use railtwin_fabric::{HostId, Reach};
use railtwin_scenario::JobSize;
use railtwin_store::Figure;

use super::PAPERS;
use railtwin::Question;

/// Pairs of NICs of two hosts in different segments that switches join, by tier 2; and whether experts on two hosts are
/// refused without relays, and an all-to-all whose last host is another tenant's by half.
pub(super) fn rail_only() -> Vec<Figure> {
    let mut figures = Vec::new();
    for (tier2, name) in [(Tier2::AnyToAny, "any_to_any"), (Tier2::RailOnly, "rail_only")] {
        figures.push(Figure::new(&format!("{name}_pairs_joined"), joined(tier2), ""));
        let refused = |half: bool| f64::from(u8::from(is_refused(tier2, half)));
        figures.push(Figure::new(&format!("{name}_refused_without_relays"), refused(false), ""));
        figures.push(Figure::new(&format!("{name}_refused_beside_a_tenant"), refused(true), ""));
    }
    figures
}

fn joined(tier2: Tier2) -> f64 {
    let hpn = Hpn { tier2, segments: Some(2), hosts: Some(4), spare_hosts: Some(0), ..Hpn::default() };
    let fabric = hpn.build().expect("a test builds it");
    let (reach, last) = (Reach::of(&fabric), HostId::from_index(fabric.hosts().len() - 1));
    let nics = fabric.host_model(last).nics;
    let pairs = (0..nics).flat_map(|a| (0..nics).map(move |b| (a, b)));
    let met = pairs.filter(|&(a, b)| reach.meets(fabric.nic(HostId(0), a), fabric.nic(last, b))).count();
    met as f64 / f64::from(nics * nics)
}

/// Whether the scenario of experts is refused with PXN off, or that of an all-to-all with PXN over all of seven hosts and
/// half of an eighth.
fn is_refused(tier2: Tier2, half: bool) -> bool {
    let name = if half { "relay-spares-spines" } else { "rail-only-experts" };
    let text = PAPERS.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| *text);
    let tier = format!("preset = \"hpn\"\ntier2 = \"{}\"", tier2.name());
    let axes = "tier2 = [\"any-to-any\", \"rail-only\"]\n";
    let text = text.replace(axes, "").replace("preset = \"hpn\"", &tier);
    let question = Question::of_text(name, &text, Path::new("."));
    let mut points = question.points().expect("a test reads it");
    let scenario = &mut points[0].scenario;
    scenario.routing.pxn = half;
    if half {
        scenario.jobs[0].size = Some(JobSize::Gpus(60));
    }
    question.resolve(scenario).is_err()
}
