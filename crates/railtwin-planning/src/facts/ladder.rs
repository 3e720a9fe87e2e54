//! The scale ladder: what each mechanism adds to the GPUs of tier 1 and tier 2 (HPN section 6.2, table 2).
//!
//! Closed form. A chip has `n = chip / uplink` ports of uplink speed. Half of a leaf's capacity goes to GPUs, so a leaf
//! holds `n / 2` GPUs of one uplink speed each, and a set of two leaves twice as many. A spine gives `d` of its ports to
//! leaves, one cable to each leaf; a leaf set has one leaf under a spine with planes, all of them without. Tier 2 holds
//! `d / leaves of a set under a spine` sets.
use railtwin_units::Rate;
use serde::Serialize;

use super::rows::table;

/// Mechanisms of HPN table 2 that can be switched on and off.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Mechanisms {
    /// The two ports of a NIC end on two leaves.
    pub dual_tor: bool,
    /// Each rail of a host has a leaf set of its own.
    pub rail_optimised: bool,
    /// The two leaves of a set stand in separate planes; without effect on a single ToR.
    pub dual_plane: bool,
    /// Down capacity of a spine over its uplinks.
    pub spine_oversubscription: f64,
}

impl Mechanisms {
    /// A plain Clos.
    pub const CLOS: Self =
        Self { dual_tor: false, rail_optimised: false, dual_plane: false, spine_oversubscription: 1.0 };
    /// All mechanisms of HPN.
    pub const HPN: Self =
        Self { dual_tor: true, rail_optimised: true, dual_plane: true, spine_oversubscription: 15.0 };
}

/// Chip, speeds and hosts that the ladder stands on.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct LadderBase {
    /// Capacity of a switch chip.
    pub chip: Rate,
    /// Capacity of a GPU's NIC, and of a leaf-spine cable.
    pub uplink: Rate,
    /// GPUs of a host, one rail each.
    pub rails: u32,
}

impl LadderBase {
    /// 400 Gbps for each GPU and 8 GPUs in a host (HPN section 3) on a chip.
    pub const fn hpn(chip: Rate) -> Self {
        Self { chip, uplink: Rate::from_gbps(400), rails: 8 }
    }

    /// Returns the scale with some mechanisms.
    pub fn scale(&self, on: Mechanisms) -> Scale {
        let ports = (self.chip.bits_per_s() / self.uplink.bits_per_s().max(1)) as u32;
        let tors = if on.dual_tor { 2 } else { 1 };
        let set = ports / 2 * tors;
        let ratio = on.spine_oversubscription;
        let down = (f64::from(ports) * ratio / (ratio + 1.0)).floor() as u32;
        let under_spine = if on.dual_plane { 1 } else { tors };
        let sets = down / under_spine;
        let tier1 = set * if on.rail_optimised { self.rails } else { 1 };
        // Whole segments only: a rail-optimised segment needs a set for each rail.
        let segments = if on.rail_optimised { sets / self.rails } else { sets };
        Scale { tier1, tier2: segments * tier1 }
    }
}

/// GPUs that a design joins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Scale {
    /// GPUs under one leaf set, or under the leaf sets of all rails.
    pub tier1: u32,
    /// GPUs of a pod.
    pub tier2: u32,
}

/// A rung of the ladder.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Rung {
    /// The mechanism that the rung adds, or that it takes away.
    pub mechanism: &'static str,
    /// All mechanisms that are on.
    pub on: Mechanisms,
    /// GPUs.
    pub scale: Scale,
    /// Tier 1 over that of the rung before, or over the full design.
    pub tier1_factor: f64,
    /// Tier 2 likewise.
    pub tier2_factor: f64,
    /// Tier 1 as HPN table 2 prints it.
    pub printed_tier1: Option<u32>,
    /// Tier 2 as HPN table 2 prints it, in thousands as the table has them.
    pub printed_tier2: Option<&'static str>,
}

/// Returns the rungs of table 2, each with the mechanisms below it. The printed figures are those of 51.2T.
///
/// The first printed tier 2, 2K, is half of ours: one cable from each leaf to each spine gives 4,096, and a Clos with two
/// parallel cables gives 2,048. The table's own factors start from 2K.
pub fn ladder(base: LadderBase) -> Vec<Rung> {
    let clos = Mechanisms::CLOS;
    let dual_tor = Mechanisms { dual_tor: true, ..clos };
    let rail = Mechanisms { rail_optimised: true, ..dual_tor };
    let plane = Mechanisms { dual_plane: true, ..rail };
    let steps: [(&'static str, Mechanisms, Option<u32>, Option<&'static str>); 5] = [
        ("Clos", clos, Some(64), Some("2K")),
        ("dual-ToR", dual_tor, Some(128), Some("4K")),
        ("rail-optimised", rail, Some(1_024), None),
        ("dual-plane", plane, None, Some("8K")),
        ("15:1 oversubscription", Mechanisms::HPN, None, Some("15K")),
    ];
    let mut before = base.scale(clos);
    let rung =
        |(mechanism, on, tier1, tier2): (&'static str, Mechanisms, Option<u32>, Option<&'static str>)| {
            let scale = base.scale(on);
            let rung = compared(mechanism, on, scale, before);
            before = scale;
            let is_printed = base == LadderBase::hpn(Rate::from_gbps(51_200));
            Rung {
                printed_tier1: tier1.filter(|_| is_printed),
                printed_tier2: tier2.filter(|_| is_printed),
                ..rung
            }
        };
    steps.into_iter().map(rung).collect()
}

/// Returns the full design, then the design without each mechanism alone.
pub fn without_each(base: LadderBase) -> Vec<Rung> {
    let full = Mechanisms::HPN;
    let steps = [
        ("all", full),
        ("no dual-ToR", Mechanisms { dual_tor: false, dual_plane: false, ..full }),
        ("no rails", Mechanisms { rail_optimised: false, ..full }),
        ("no dual-plane", Mechanisms { dual_plane: false, ..full }),
        ("no oversubscription", Mechanisms { spine_oversubscription: 1.0, ..full }),
    ];
    let all = base.scale(full);
    steps.into_iter().map(|(name, on)| compared(name, on, base.scale(on), all)).collect()
}

fn compared(mechanism: &'static str, on: Mechanisms, scale: Scale, other: Scale) -> Rung {
    let factor = |now: u32, then: u32| f64::from(now) / f64::from(then.max(1));
    Rung {
        mechanism,
        on,
        scale,
        tier1_factor: factor(scale.tier1, other.tier1),
        tier2_factor: factor(scale.tier2, other.tier2),
        printed_tier1: None,
        printed_tier2: None,
    }
}

/// Prints one line for each rung.
pub fn text(rungs: &[Rung]) -> String {
    let rows = rungs.iter().map(|rung| {
        let printed = rung.printed_tier1.map_or("-".to_owned(), |gpus| gpus.to_string());
        vec![
            rung.mechanism.to_owned(),
            rung.scale.tier1.to_string(),
            format!("x{:.3}", rung.tier1_factor),
            rung.scale.tier2.to_string(),
            format!("x{:.3}", rung.tier2_factor),
            format!("{printed} / {}", rung.printed_tier2.unwrap_or("-")),
        ]
    });
    let header = ["mechanism", "tier 1", "factor", "tier 2", "factor", "table 2"];
    table(&header, &rows.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use railtwin_fabric::design::DesignReport;
    use railtwin_fabric::preset::Hpn;

    use super::*;

    const HPN: LadderBase = LadderBase::hpn(Rate::from_gbps(51_200));

    fn scales(rungs: &[Rung]) -> Vec<(u32, u32)> {
        rungs.iter().map(|rung| (rung.scale.tier1, rung.scale.tier2)).collect()
    }

    #[test]
    fn the_rungs_are_those_of_table_2() {
        let rungs = ladder(HPN);
        let expected = [(64, 4_096), (128, 4_096), (1_024, 4_096), (1_024, 8_192), (1_024, 15_360)];
        assert_eq!(scales(&rungs), expected);
        assert_eq!((rungs[1].tier1_factor, rungs[2].tier1_factor), (2.0, 8.0));
        assert_eq!((rungs[3].tier2_factor, rungs[4].tier2_factor), (2.0, 1.875));
        assert!(text(&rungs).contains("64 / 2K"));
    }

    #[test]
    fn the_last_rung_is_the_built_pod() {
        let report = DesignReport::of(&Hpn::default().build().unwrap());
        let scale = HPN.scale(Mechanisms::HPN);
        assert_eq!((scale.tier1, scale.tier2), (report.gpus_per_segment, report.gpus_per_pod));
        let even = Hpn { segments: Some(8), spine_up: Some(64), ..Hpn::default() };
        let even = DesignReport::of(&even.build().unwrap());
        assert_eq!(
            HPN.scale(Mechanisms { spine_oversubscription: 1.0, ..Mechanisms::HPN }).tier2,
            even.gpus_per_pod
        );
    }

    #[test]
    fn twice_the_chip_holds_twice_the_segment_and_four_times_the_pod() {
        let next = LadderBase::hpn(Rate::from_gbps(102_400));
        let expected = [(128, 16_384), (256, 16_384), (2_048, 16_384), (2_048, 32_768), (2_048, 61_440)];
        assert_eq!(scales(&ladder(next)), expected);
        assert!(ladder(next).iter().all(|rung| rung.printed_tier1.is_none()));
        // Twice the speed of every port leaves the ports of a chip, and so the scale, as they are.
        let faster = LadderBase { uplink: Rate::from_gbps(800), ..next };
        assert_eq!(faster.scale(Mechanisms::HPN), HPN.scale(Mechanisms::HPN));
    }

    #[test]
    fn each_mechanism_taken_away_costs_scale() {
        let rungs = without_each(HPN);
        assert_eq!(rungs[0].scale.tier2, 15_360);
        assert!(
            rungs[1..].iter().all(|rung| rung.tier1_factor < 1.0 || rung.tier2_factor < 1.0),
            "{rungs:?}"
        );
        assert_eq!(rungs[3].tier2_factor, 7.0 / 15.0);
    }
}
