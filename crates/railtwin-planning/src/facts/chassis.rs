//! Failures of single-chip switches and of multi-chip chassis (HPN section 5.1).
use serde::Serialize;

use super::rows::table;

/// Single-chip switches in service for each multi-chip chassis (HPN section 5.1).
pub const UNITS_RATIO: f64 = 32.6;

/// Critical hardware failures of all chassis over those of all single-chip switches, as counts (HPN section 5.1).
pub const FAILURES_RATIO: f64 = 3.77;

/// Share of leaves with a critical error in a month (HPN section 2.3). It stands in for all single-chip switches: the
/// paper has no rate of spines.
pub const SINGLE_CHIP_FAILURES_PER_MONTH: f64 = 0.000_51;

/// Two classes of switches, compared by unit.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SwitchClasses {
    /// Single-chip switches in service for each chassis.
    pub units_ratio: f64,
    /// Failures of all chassis over those of all single-chip switches.
    pub failures_ratio: f64,
    /// Failures of one single-chip switch in a year.
    pub single_chip_per_year: f64,
}

impl SwitchClasses {
    /// The statistics of HPN.
    pub const HPN: Self = Self {
        units_ratio: UNITS_RATIO,
        failures_ratio: FAILURES_RATIO,
        single_chip_per_year: SINGLE_CHIP_FAILURES_PER_MONTH * 12.0,
    };

    /// Failures of one chassis over those of one single-chip switch: both ratios multiplied.
    pub fn per_unit_ratio(&self) -> f64 {
        self.units_ratio * self.failures_ratio
    }

    /// Failures of one chassis in a year.
    pub fn chassis_per_year(&self) -> f64 {
        self.single_chip_per_year * self.per_unit_ratio()
    }

    /// Compares a fabric of `switches` single-chip switches with one whose chassis replace `chips_per_chassis` of them
    /// each. The failures of a chassis do not grow with its chips here: the paper has one ratio for all of them.
    pub fn fabric(&self, switches: u32, chips_per_chassis: u32) -> FabricFailures {
        let chassis = switches.div_ceil(chips_per_chassis.max(1));
        FabricFailures {
            switches,
            chassis,
            single_chip_per_year: f64::from(switches) * self.single_chip_per_year,
            chassis_per_year: f64::from(chassis) * self.chassis_per_year(),
            base_rate: "0.051 % of leaves in a month, HPN section 2.3; assumed for all single-chip switches",
        }
    }
}

/// Expected critical failures of the switches of a fabric.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct FabricFailures {
    /// Single-chip switches.
    pub switches: u32,
    /// Chassis in their place.
    pub chassis: u32,
    /// Failures in a year with single-chip switches.
    pub single_chip_per_year: f64,
    /// Failures in a year with chassis.
    pub chassis_per_year: f64,
    /// Source of the base rate.
    pub base_rate: &'static str,
}

/// Prints the per-unit ratio and one line for each class.
pub fn text(classes: &SwitchClasses, failures: &FabricFailures) -> String {
    let row = |name: &str, units: u32, per_year: f64| {
        let per_unit = per_year / f64::from(units.max(1));
        vec![name.to_owned(), units.to_string(), format!("{per_unit:.4}"), format!("{per_year:.2}")]
    };
    let rows = [
        row("single-chip", failures.switches, failures.single_chip_per_year),
        row("chassis", failures.chassis, failures.chassis_per_year),
    ];
    let mut text = table(&["class", "units", "failures/unit/year", "failures/year"], &rows);
    text.push_str(&format!(
        "per unit: {} units x {} failures = {:.1} times\nbase rate: {}\n",
        classes.units_ratio,
        classes.failures_ratio,
        classes.per_unit_ratio(),
        failures.base_rate
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chassis_fails_123_times_as_often_as_a_single_chip_switch() {
        assert!((SwitchClasses::HPN.per_unit_ratio() - 122.902).abs() < 1e-9);
    }

    #[test]
    fn a_pod_of_hpn_loses_two_switches_a_year() {
        let pod = SwitchClasses::HPN.fabric(360, 9);
        assert!((pod.single_chip_per_year - 360.0 * 0.006_12).abs() < 1e-9);
        assert_eq!(pod.chassis, 40);
        // Nine chips behind one chassis save units, and still the chassis fail more often.
        let ratio = pod.chassis_per_year / pod.single_chip_per_year;
        assert!((ratio - 122.902 / 9.0).abs() < 1e-9);
        assert!(text(&SwitchClasses::HPN, &pod).contains("122.9 times"));
    }
}
