//! Transceivers of a fabric by the length of its cables (HPN section 10).
//!
//! A fibre below 100 m takes multimode transceivers, which cost 70 % less than single-mode ones. Costs are relative: a
//! single-mode transceiver of 400 Gbps costs 1, others in proportion to their rate (assumed).
use std::collections::BTreeMap;

use railtwin_fabric::{CableClass, CableId, Fabric};
use railtwin_units::SimTime;
use serde::Serialize;

use super::buildings::is_crossing;
use super::rows::{percent, table};

/// Longest multimode fibre in m: HPN section 10 keeps the fibres of a building below.
pub const MULTIMODE_REACH_M: f64 = 100.0;

/// Cost of a multimode transceiver over that of a single-mode one (HPN section 10: 70 % less).
pub const MULTIMODE_COST: f64 = 0.3;

/// Delay of one meter of fibre.
pub const FIBRE_DELAY_PER_M: SimTime = SimTime::from_ns(5);

/// Length of a cable between buildings in m, at least.
pub const ASSUMED_BETWEEN_BUILDINGS_M: f64 = 300.0;

/// Transceivers of one class of cables.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct ClassOptics {
    /// Cables with transceivers.
    pub cables: u64,
    /// Length of the longest one in m.
    pub longest_m: f64,
    /// Multimode transceivers, two for each cable within reach.
    pub multimode: u64,
    /// Single-mode transceivers.
    pub single_mode: u64,
    /// Relative cost with multimode where it reaches.
    pub cost: f64,
    /// Relative cost with single-mode everywhere.
    pub cost_single_mode: f64,
}

/// Transceivers of a fabric.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct OpticsPlan {
    /// Cables up to this length in m are copper and have no transceivers; 0 without copper.
    pub copper_reach_m: f64,
    /// Copper cables.
    pub copper: u64,
    /// Transceivers by class of cables.
    pub classes: BTreeMap<&'static str, ClassOptics>,
    /// Sum of all classes.
    pub total: ClassOptics,
    /// Cost saved against single-mode transceivers everywhere.
    pub saving: f64,
}

impl OpticsPlan {
    /// Plans the transceivers of all cables outside hosts.
    pub fn of(fabric: &Fabric, copper_reach_m: f64) -> Self {
        let mut classes: BTreeMap<&'static str, ClassOptics> = BTreeMap::new();
        let (mut total, mut copper) = (ClassOptics::default(), 0);
        for cable in fabric.cables() {
            let class = fabric.cable_class(cable);
            if matches!(class, CableClass::NvLink | CableClass::Pcie) {
                continue;
            }
            let length = length_m(fabric, cable);
            if length <= copper_reach_m {
                copper += 1;
                continue;
            }
            let rate = fabric.capacity(cable.forward()).gbps() / 400.0;
            classes.entry(class.name()).or_default().add(length, rate);
            total.add(length, rate);
        }
        let saving =
            if total.cost_single_mode > 0.0 { 1.0 - total.cost / total.cost_single_mode } else { 0.0 };
        Self { copper_reach_m, copper, classes, total, saving }
    }

    /// Prints one line for each class of cables.
    pub fn text(&self) -> String {
        let row = |name: &str, of: &ClassOptics| {
            vec![
                name.to_owned(),
                of.cables.to_string(),
                format!("{:.0} m", of.longest_m),
                of.multimode.to_string(),
                of.single_mode.to_string(),
                format!("{:.0}", of.cost),
                format!("{:.0}", of.cost_single_mode),
            ]
        };
        let mut rows: Vec<_> = self.classes.iter().map(|(name, of)| row(name, of)).collect();
        rows.push(row("all", &self.total));
        let header = ["cables", "count", "longest", "multimode", "single-mode", "cost", "all single-mode"];
        let mut text = table(&header, &rows);
        text.push_str(&format!("multimode saves {}\n", percent(self.saving)));
        text.push_str("cost 1 = a single-mode transceiver of 400 Gbps; assumed in proportion to the rate\n");
        text
    }
}

impl ClassOptics {
    fn add(&mut self, length_m: f64, rate: f64) {
        self.cables += 1;
        self.longest_m = self.longest_m.max(length_m);
        self.cost_single_mode += 2.0 * rate;
        if length_m < MULTIMODE_REACH_M {
            self.multimode += 2;
            self.cost += 2.0 * rate * MULTIMODE_COST;
        } else {
            self.single_mode += 2;
            self.cost += 2.0 * rate;
        }
    }
}

/// Returns the length of a cable in m: its delay as fibre, between buildings at least
/// [`ASSUMED_BETWEEN_BUILDINGS_M`].
pub fn length_m(fabric: &Fabric, cable: CableId) -> f64 {
    let of_delay = fabric.delay(cable.forward()).ps() as f64 / FIBRE_DELAY_PER_M.ps() as f64;
    if is_crossing(fabric, cable) { of_delay.max(ASSUMED_BETWEEN_BUILDINGS_M) } else { of_delay }
}

#[cfg(test)]
mod tests {
    use railtwin_fabric::frontend::Outside;
    use railtwin_fabric::preset::{Hpn, Layout as _};

    use super::*;
    use railtwin_fabric::Frontend;

    fn hpn(pods: u32) -> Hpn {
        Hpn { pods, segments: Some(2), hosts: Some(8), spare_hosts: Some(0), ..Hpn::default() }
    }

    #[test]
    fn a_pod_in_one_building_saves_70_percent() {
        let plan = OpticsPlan::of(&hpn(1).build().unwrap(), 0.0);
        assert!((plan.saving - 0.7).abs() < 1e-12);
        // 16 hosts of 16 ports of 200 Gbps, 32 leaves of 60 uplinks of 400 Gbps.
        assert_eq!((plan.total.cables, plan.total.multimode), (256 + 1_920, 2 * (256 + 1_920)));
        assert_eq!((plan.total.cost_single_mode, plan.total.longest_m), (256.0 + 2.0 * 1_920.0, 60.0));
        let copper = OpticsPlan::of(&hpn(1).build().unwrap(), 3.0);
        assert_eq!((copper.copper, copper.total.cables), (256, 1_920));
        assert!((copper.saving - 0.7).abs() < 1e-12);
    }

    #[test]
    fn cables_between_buildings_are_single_mode() {
        let outside = Outside { frontend: Some(Frontend::default()), storage: None };
        let plan = OpticsPlan::of(&outside.build(&hpn(2).spec().unwrap()).unwrap(), 0.0);
        let of = |name: &str| plan.classes[name];
        assert_eq!((of("spine-core").multimode, of("spine-core").single_mode), (0, 2 * 1_920));
        assert_eq!((of("frontend-access").multimode, of("frontend-access").longest_m), (0, 300.0));
        assert_eq!(of("access").single_mode, 0);
        assert!(plan.saving < 0.7 && plan.saving > 0.0, "{}", plan.text());
    }
}
