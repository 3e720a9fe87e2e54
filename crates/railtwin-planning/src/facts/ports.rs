//! Port budgets of switch chips: how the capacity of a chip divides into ports (HPN section 5.1).
use railtwin_fabric::Fabric;
use railtwin_fabric::design::{DesignReport, TierReport};
use railtwin_units::Rate;
use serde::Serialize;

use super::rows::{ratio, table};

/// A generation of single-chip switches. Capacity doubles every two years (HPN section 10).
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct ChipGeneration {
    /// Capacity as people write it, such as `51.2T`.
    pub name: &'static str,
    /// Sum of the port capacities.
    pub capacity: Rate,
    /// Year of the first product.
    pub year: u32,
}

/// Chip generations: Broadcom Tomahawk 4 (2020), Tomahawk 5 (2023 in volume, HPN section 5.1), Tomahawk 6 (2025).
pub const GENERATIONS: [ChipGeneration; 3] = [
    ChipGeneration { name: "25.6T", capacity: Rate::from_gbps(25_600), year: 2020 },
    ChipGeneration { name: "51.2T", capacity: Rate::from_gbps(51_200), year: 2023 },
    ChipGeneration { name: "102.4T", capacity: Rate::from_gbps(102_400), year: 2025 },
];

/// Returns the chip generation of a name such as `51.2T`, none for an unknown name.
pub fn generation(name: &str) -> Option<ChipGeneration> {
    GENERATIONS.into_iter().find(|known| known.name.eq_ignore_ascii_case(name))
}

/// Equal ports of a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct PortGroup {
    /// Ports.
    pub count: u32,
    /// Capacity of one port.
    pub speed: Rate,
}

impl PortGroup {
    /// Capacity of all ports of the group.
    pub fn capacity(self) -> Rate {
        self.speed * u64::from(self.count)
    }
}

/// The ports of one switch against its chip.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PortBudget {
    /// `leaf`, `spine`, `core`, `frontend-leaf` and so on.
    pub tier: String,
    /// Capacity of the chip; none where unknown.
    pub chip: Option<Rate>,
    /// Ports towards active hosts or the tier below.
    pub down: PortGroup,
    /// Ports towards backup hosts.
    pub spare: PortGroup,
    /// Ports towards the tier above.
    pub up: PortGroup,
    /// Capacity of all ports.
    pub used: Rate,
    /// Chip capacity without a port.
    pub left: Option<Rate>,
    /// Capacity that the chip lacks; zero for a budget that fits.
    pub missing: Option<Rate>,
    /// Active down capacity over up capacity; none for the top tier.
    pub oversubscription: Option<f64>,
    /// The same with the backup hosts live.
    pub oversubscription_with_spares: Option<f64>,
}

impl PortBudget {
    /// Sums the ports of a switch.
    pub fn new(tier: &str, chip: Option<Rate>, down: PortGroup, spare: PortGroup, up: PortGroup) -> Self {
        let bits = |group: PortGroup| group.capacity().bits_per_s();
        let used = bits(down) + bits(spare) + bits(up);
        let over = |down: u64| (bits(up) > 0).then(|| down as f64 / bits(up) as f64);
        Self {
            tier: tier.to_owned(),
            chip,
            down,
            spare,
            up,
            used: Rate::from_bits_per_s(used),
            left: chip.map(|chip| Rate::from_bits_per_s(chip.bits_per_s().saturating_sub(used))),
            missing: chip.map(|chip| Rate::from_bits_per_s(used.saturating_sub(chip.bits_per_s()))),
            oversubscription: over(bits(down)),
            oversubscription_with_spares: over(bits(down) + bits(spare)),
        }
    }

    /// The budget of one tier of a built fabric.
    pub fn of_tier(tier: &TierReport, chip: Option<Rate>) -> Self {
        let down = PortGroup { count: tier.down_ports, speed: tier.down_capacity };
        let spare = PortGroup { count: tier.spare_ports, speed: tier.down_capacity };
        Self::new(tier.tier, chip, down, spare, PortGroup { count: tier.up_ports, speed: tier.up_capacity })
    }

    /// The budgets of all tiers of a built fabric; `chip` is the capacity of every switch.
    pub fn of_fabric(fabric: &Fabric, chip: Option<Rate>) -> Vec<Self> {
        DesignReport::of(fabric).tiers.iter().map(|tier| Self::of_tier(tier, chip)).collect()
    }

    /// Divides a leaf's chip as HPN does: half of the capacity goes to active hosts, one backup port is added for
    /// 16 active ports, and the rest goes up. At 51.2T with ports of 200 and 400 Gbps: 128 + 8 down and 60 up.
    pub fn plan_leaf(chip: Rate, access: Rate, uplink: Rate) -> Self {
        let ports = |capacity: u64, speed: Rate| (capacity / speed.bits_per_s().max(1)) as u32;
        let down = PortGroup { count: ports(chip.bits_per_s() / 2, access), speed: access };
        let spare = PortGroup { count: down.count / 16, speed: access };
        let taken = down.capacity().bits_per_s() + spare.capacity().bits_per_s();
        let up = PortGroup { count: ports(chip.bits_per_s().saturating_sub(taken), uplink), speed: uplink };
        Self::new("leaf", Some(chip), down, spare, up)
    }

    /// Returns whether the chip carries all ports; true without a chip.
    pub fn fits(&self) -> bool {
        self.missing.is_none_or(|missing| missing == Rate::ZERO)
    }
}

/// Prints one line for each budget.
pub fn text(budgets: &[PortBudget]) -> String {
    let group = |group: PortGroup| match group.count {
        0 => "-".to_owned(),
        count => format!("{count} x {}", group.speed),
    };
    let rate = |rate: Option<Rate>| rate.map_or_else(|| "-".to_owned(), |rate| rate.to_string());
    let rows = budgets.iter().map(|budget| {
        let left = if budget.fits() { rate(budget.left) } else { format!("-{}", rate(budget.missing)) };
        vec![
            budget.tier.clone(),
            rate(budget.chip),
            group(budget.down),
            group(budget.spare),
            group(budget.up),
            budget.used.to_string(),
            left,
            ratio(budget.oversubscription),
        ]
    });
    let header = ["tier", "chip", "down", "spare", "up", "used", "left", "down/up"];
    table(&header, &rows.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use railtwin_fabric::preset::Hpn;

    use super::*;

    const ACCESS: Rate = Rate::from_gbps(200);
    const UPLINK: Rate = Rate::from_gbps(400);

    #[test]
    fn a_leaf_of_hpn_uses_its_chip_to_the_last_bit() {
        let chip = generation("51.2T").unwrap().capacity;
        let plan = PortBudget::plan_leaf(chip, ACCESS, UPLINK);
        assert_eq!((plan.down.count, plan.spare.count, plan.up.count), (128, 8, 60));
        assert_eq!((plan.used, plan.left), (chip, Some(Rate::ZERO)));
        assert!((plan.oversubscription.unwrap() - 16.0 / 15.0).abs() < 1e-12);
        let built = PortBudget::of_fabric(&Hpn::default().build().unwrap(), Some(Rate::from_gbps(51_200)));
        assert_eq!(built[0], plan);
        assert_eq!((built[1].up.count, built[1].left), (8, Some(Rate::ZERO)));
        assert!(text(&built).contains("128 x 200 Gbps"), "{}", text(&built));
    }

    #[test]
    fn other_generations_divide_alike() {
        let counts = |name: &str| {
            let plan = PortBudget::plan_leaf(generation(name).unwrap().capacity, ACCESS, UPLINK);
            (plan.down.count, plan.spare.count, plan.up.count)
        };
        assert_eq!(counts("25.6t"), (64, 4, 30));
        assert_eq!(counts("102.4T"), (256, 16, 120));
        assert_eq!(generation("1T"), None);
    }

    #[test]
    fn a_budget_beyond_the_chip_names_what_is_missing() {
        let spec = Hpn { segments: Some(1), ..Hpn::default() }.build().unwrap();
        let budgets = PortBudget::of_fabric(&spec, Some(Rate::from_gbps(25_600)));
        assert!(!budgets[0].fits());
        assert_eq!(budgets[0].missing, Some(Rate::from_gbps(25_600)));
    }

    proptest! {
        #[test]
        fn a_plan_never_exceeds_its_chip(chip in 800_u64..200_000, access in 25_u64..800, uplink in 25_u64..1600) {
            let chip = Rate::from_gbps(chip);
            let plan = PortBudget::plan_leaf(chip, Rate::from_gbps(access), Rate::from_gbps(uplink));
            prop_assert!(plan.fits());
            prop_assert!(plan.left.unwrap() < Rate::from_gbps(uplink), "another uplink would fit");
        }
    }
}
