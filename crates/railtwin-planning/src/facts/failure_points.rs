//! Switches whose loss alone cuts NICs off: goal G3 of HPN (section 2.4), checked as section 9.3 observes it.
use railtwin_fabric::connectivity::single_points_of_failure;
use railtwin_fabric::name::tier_name;
use railtwin_fabric::{DeviceKind, Fabric};
use serde::Serialize;

use super::rows::table;

/// Names that a result lists at most; the count is of all.
const NAMED: usize = 8;

/// Single points of failure of one tier.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TierFailurePoints {
    /// `leaf`, `spine` or `core`, of the frontend network `frontend-leaf` and so on.
    pub tier: &'static str,
    /// Switches of the tier.
    pub switches: u32,
    /// Switches whose loss alone cuts a NIC off or splits the fabric.
    pub single_points: u32,
    /// The first of them by name.
    pub first: Vec<String>,
    /// NICs with a cable into one of them.
    pub nics_at_risk: u32,
}

/// Single points of failure of all tiers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FailurePoints {
    /// The tiers, leaf first.
    pub tiers: Vec<TierFailurePoints>,
    /// Goal G3: every pair of NICs stays joined after the loss of any one leaf of the backend.
    pub survives_any_leaf: bool,
    /// The same for any one switch of any tier.
    pub survives_any_switch: bool,
}

impl FailurePoints {
    /// Removes each switch by itself and looks at the connectivity left.
    pub fn of(fabric: &Fabric) -> Self {
        let tiers: Vec<TierFailurePoints> = (1..=6).filter_map(|tier| of_tier(fabric, tier)).collect();
        let is_safe = |tier: &TierFailurePoints| tier.single_points == 0;
        Self {
            survives_any_leaf: tiers.iter().filter(|tier| tier.tier == "leaf").all(is_safe),
            survives_any_switch: tiers.iter().all(is_safe),
            tiers,
        }
    }

    /// Prints one line for each tier and the verdict on G3.
    pub fn text(&self) -> String {
        let rows = self.tiers.iter().map(|tier| {
            let counts =
                [tier.switches, tier.single_points, tier.nics_at_risk].map(|count| count.to_string());
            std::iter::once(tier.tier.to_owned()).chain(counts).collect()
        });
        let header = ["tier", "switches", "single points", "NICs at risk"];
        let mut text = table(&header, &rows.collect::<Vec<_>>());
        let verdict = match self.tiers.iter().any(|tier| tier.tier == "leaf") {
            false => "there are no leaves",
            true if self.survives_any_leaf => "met",
            true => "not met",
        };
        text.push_str(&format!("G3, any one leaf may fail: {verdict}\n"));
        text
    }
}

fn of_tier(fabric: &Fabric, tier: u8) -> Option<TierFailurePoints> {
    let switches = fabric.switches().iter().filter(|(_, place)| place.tier == tier).count() as u32;
    if switches == 0 {
        return None;
    }
    let points = single_points_of_failure(fabric, tier);
    let is_nic = |device| fabric.kind(device) == DeviceKind::Nic;
    let nics = points.iter().flat_map(|&point| fabric.neighbors(point).iter().map(|&(_, device)| device));
    let mut nics: Vec<_> = nics.filter(|&device| is_nic(device)).collect();
    nics.sort_unstable();
    nics.dedup();
    Some(TierFailurePoints {
        tier: tier_name(tier),
        switches,
        single_points: points.len() as u32,
        first: points.iter().take(NAMED).map(|&point| fabric.device_name(point)).collect(),
        nics_at_risk: nics.len() as u32,
    })
}

#[cfg(test)]
mod tests {
    use railtwin_fabric::preset::Hpn;

    use super::*;

    #[test]
    fn dual_tor_meets_goal_g3_and_single_tor_does_not() {
        let points = |dual_tor: bool| {
            let spec =
                Hpn { segments: Some(2), hosts: Some(4), spare_hosts: Some(0), dual_tor, ..Hpn::default() };
            FailurePoints::of(&spec.build().unwrap())
        };
        let (dual, single) = (points(true), points(false));
        assert!(dual.survives_any_leaf && dual.survives_any_switch);
        assert!(!single.survives_any_leaf);
        let leaf = &single.tiers[0];
        // Two segments of eight rails, each leaf with the NICs of four hosts.
        assert_eq!(
            (leaf.switches, leaf.single_points, leaf.nics_at_risk, leaf.first.len()),
            (16, 16, 64, NAMED)
        );
        assert_eq!(leaf.first[0], "leaf-0");
        assert!(single.text().ends_with("not met\n"));
    }
}
