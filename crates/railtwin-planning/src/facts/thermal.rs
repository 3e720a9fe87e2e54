//! What keeps a switch chip below its junction limit (HPN section 5.1, figures 9 and 10).
//!
//! Steady state: junction temperature = air temperature + power × thermal resistance. Above the limit the chip stops all
//! forwarding.
//!
//! The paper prints verdicts, no resistances. They bound the resistance of the stock vapour chamber: it fails at the full
//! power of a 51.2T chip, so it is above `limit - air` over that power; 15 % more cooling suffices, so it is at most 1.15
//! times that. The heat pipe cooled the generation before, whose chip draws less by a factor of 1.45. Each cooler takes
//! the geometric middle of its bounds. Verdicts at full power of 51.2T are therefore input; power, load and air at which a
//! cooler gives out elsewhere are what the model adds.
use serde::Serialize;

use super::rows::{percent, table};

/// Junction temperature at which a chip stops forwarding, in °C (HPN section 5.1).
pub const JUNCTION_LIMIT_C: f64 = 105.0;

/// Power of a chip over that of the generation before (HPN section 5.1, 51.2T over 25.6T).
pub const GENERATION_POWER_RATIO: f64 = 1.45;

/// Cooling efficiency of the optimised vapour chamber over that of the stock one (HPN section 5.1).
pub const OPTIMISED_GAIN: f64 = 1.15;

/// Full power of a 51.2T chip in W: Broadcom states less than 500 W for Tomahawk 5.
pub const ASSUMED_CHIP_51T_W: f64 = 500.0;

/// Air temperature at the heat sink in °C: the upper recommended inlet of ASHRAE class A1 (27 °C) and 8 °C of preheating.
pub const ASSUMED_AIR_C: f64 = 35.0;

/// A heat sink on a switch chip.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Cooler {
    /// Name.
    pub name: &'static str,
    /// Thermal resistance from junction to air in K/W.
    pub resistance: f64,
}

impl Cooler {
    /// Junction temperature in °C.
    pub fn junction_c(&self, power_w: f64, air_c: f64) -> f64 {
        air_c + power_w * self.resistance
    }

    /// Largest power in W below the junction limit.
    pub fn largest_power_w(&self, air_c: f64) -> f64 {
        (JUNCTION_LIMIT_C - air_c).max(0.0) / self.resistance
    }

    /// Hottest air in °C at which a power stays below the limit.
    pub fn hottest_air_c(&self, power_w: f64) -> f64 {
        JUNCTION_LIMIT_C - power_w * self.resistance
    }
}

/// Returns heat pipe, stock vapour chamber and optimised vapour chamber, as the paper's verdicts bound them.
pub fn coolers() -> [Cooler; 3] {
    let needed = (JUNCTION_LIMIT_C - ASSUMED_AIR_C) / ASSUMED_CHIP_51T_W;
    let stock = needed * OPTIMISED_GAIN.sqrt();
    let heat_pipe = (stock * needed * GENERATION_POWER_RATIO).sqrt();
    [
        Cooler { name: "heat pipe", resistance: heat_pipe },
        Cooler { name: "stock vapour chamber", resistance: stock },
        Cooler { name: "optimised vapour chamber", resistance: stock / OPTIMISED_GAIN },
    ]
}

/// Full power in W of a chip by generations after 51.2T; negative for those before. The ratio between later generations
/// is assumed to stay that of the last two.
pub fn chip_power_w(generations: i32) -> f64 {
    ASSUMED_CHIP_51T_W * GENERATION_POWER_RATIO.powi(generations)
}

/// A cooler on a chip at full power.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct CoolingVerdict {
    /// The cooler.
    pub cooler: Cooler,
    /// Full power of the chip in W.
    pub power_w: f64,
    /// Air at the heat sink in °C.
    pub air_c: f64,
    /// Junction temperature at full power in °C.
    pub junction_c: f64,
    /// Share of full power at which the chip reaches the limit; above 1 for a cooler that suffices.
    pub share_at_limit: f64,
    /// Hottest air in °C for full power.
    pub hottest_air_c: f64,
    /// Whether the chip runs at full power. A chip without it shuts down: all its ports are lost at once.
    pub suffices: bool,
}

impl CoolingVerdict {
    /// Judges one cooler.
    pub fn new(cooler: Cooler, power_w: f64, air_c: f64) -> Self {
        let junction_c = cooler.junction_c(power_w, air_c);
        Self {
            cooler,
            power_w,
            air_c,
            junction_c,
            share_at_limit: cooler.largest_power_w(air_c) / power_w,
            hottest_air_c: cooler.hottest_air_c(power_w),
            suffices: junction_c <= JUNCTION_LIMIT_C,
        }
    }

    /// Judges all [`coolers`] on a chip.
    pub fn all(power_w: f64, air_c: f64) -> Vec<Self> {
        coolers().into_iter().map(|cooler| Self::new(cooler, power_w, air_c)).collect()
    }
}

/// Prints one line for each verdict.
pub fn text(verdicts: &[CoolingVerdict]) -> String {
    let rows = verdicts.iter().map(|of| {
        vec![
            of.cooler.name.to_owned(),
            format!("{:.0} W", of.power_w),
            format!("{:.1} C", of.junction_c),
            percent(of.share_at_limit),
            format!("{:.1} C", of.hottest_air_c),
            if of.suffices { "runs" } else { "shuts down" }.to_owned(),
        ]
    });
    let header = ["cooler", "chip", "junction", "limit at load", "hottest air", "at full power"];
    let mut text = table(&header, &rows.collect::<Vec<_>>());
    text.push_str(
        "assumed: 500 W for a 51.2T chip, 35 C at the heat sink, resistances in the middle of their bounds\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn verdicts(generations: i32, air_c: f64) -> Vec<bool> {
        CoolingVerdict::all(chip_power_w(generations), air_c).iter().map(|one| one.suffices).collect()
    }

    #[test]
    fn verdicts_at_full_power_are_the_papers() {
        assert_eq!(verdicts(0, ASSUMED_AIR_C), [false, false, true]);
        assert_eq!(
            verdicts(-1, ASSUMED_AIR_C),
            [true, true, true],
            "all coolers served the generation before"
        );
        assert_eq!(verdicts(1, ASSUMED_AIR_C), [false, false, false], "102.4T needs another cooler");
        assert!((chip_power_w(0) / chip_power_w(-1) - 1.45).abs() < 1e-12);
    }

    #[test]
    fn the_optimised_chamber_carries_15_percent_more_heat() {
        let [_, stock, optimised] = coolers();
        let ratio = optimised.largest_power_w(30.0) / stock.largest_power_w(30.0);
        assert!((ratio - 1.15).abs() < 1e-12);
        assert!(text(&CoolingVerdict::all(500.0, 35.0)).contains("shuts down"));
    }

    proptest! {
        #[test]
        fn a_chip_at_the_limits_of_its_cooler_is_at_the_junction_limit(air in 0.0..100.0_f64, power in 1.0..2_000.0_f64) {
            for cooler in coolers() {
                let largest = cooler.largest_power_w(air);
                prop_assert!((cooler.junction_c(largest, air) - JUNCTION_LIMIT_C).abs() < 1e-9);
                let hottest = cooler.hottest_air_c(power);
                prop_assert!((cooler.junction_c(power, hottest) - JUNCTION_LIMIT_C).abs() < 1e-9);
            }
        }
    }
}
