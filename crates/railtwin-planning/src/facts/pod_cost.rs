//! One pod of two tiers against several pods under a third tier, for each GPU and with the same chips (HPN section 6.2).
//!
//! The paper saves about 30 % of the network by one pod, without naming the alternative. Here it is DCN+, the design
//! before HPN: 32 pods, three tiers of the same 51.2T chips with full bisection. It joins 16,384 GPUs, a pod of HPN
//! 15,360: all shares are those for one GPU.
use railtwin_catalog::{Catalog, MediaError};
use railtwin_fabric::design::DesignReport;
use railtwin_fabric::preset::{DcnPlus, Hpn};
use railtwin_fabric::{Fabric, FabricError};
use railtwin_units::Rate;
use serde::Serialize;

use super::rows::{percent, table};

/// Parts of a network.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NetworkCounts {
    /// Name of the fabric.
    pub fabric: String,
    /// Active GPUs.
    pub gpus: u32,
    /// Tiers of switches.
    pub tiers: u32,
    /// Switches.
    pub switches: u32,
    /// Cables from active hosts to leaves.
    pub access_cables: u32,
    /// Cables between switches.
    pub fabric_cables: u32,
}

impl NetworkCounts {
    /// Counts a built backend. Cables of backup hosts are left out: both designs would have them.
    pub fn of(fabric: &Fabric) -> Self {
        let report = DesignReport::of(fabric);
        let backend = report.tiers.iter().filter(|tier| !tier.tier.starts_with("frontend"));
        Self {
            fabric: report.fabric,
            gpus: report.gpus_active,
            tiers: backend.clone().count() as u32,
            switches: backend.map(|tier| tier.switches).sum(),
            access_cables: report.cables_access,
            fabric_cables: report.cables_leaf_spine + report.cables_spine_core,
        }
    }
}

/// Prices in US dollars.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct NetworkPrices {
    /// One switch without transceivers.
    pub switch_usd: f64,
    /// One access cable with both of its ends.
    pub access_usd: f64,
    /// One cable between switches with both of its ends.
    pub fabric_usd: f64,
    /// Whether a price without a source is among them.
    pub has_assumed: bool,
}

/// Length of an access cable in m. Leaves of rails stand apart from the racks of hosts; the paper prints no length.
pub const ASSUMED_ACCESS_M: f64 = 30.0;

/// Length of a cable between switches of one building in m. The paper keeps all below 100 m.
pub const ASSUMED_FABRIC_M: f64 = 60.0;

/// Ports of a 51.2T switch at 400 Gbps.
const SWITCH_PORTS: u32 = 128;
const UPLINK: Rate = Rate::from_gbps(400);

impl NetworkPrices {
    /// Prices of a catalog: a switch of 128 ports of 400 Gbps, access cables of 200 Gbps and cables between switches of
    /// 400 Gbps in the cheapest medium of their lengths in m. None without such a switch.
    ///
    /// # Errors
    /// [`MediaError`] for a length that no part reaches.
    pub fn of(catalog: &Catalog, access_m: f64, fabric_m: f64) -> Result<Option<Self>, MediaError> {
        let access = catalog.media(Rate::from_gbps(200), access_m)?.price();
        let fabric = catalog.media(UPLINK, fabric_m)?.price();
        let switch = catalog.switch_of(SWITCH_PORTS, UPLINK).map(|part| part.price(0.0));
        Ok(switch.map(|switch| Self {
            switch_usd: switch.usd,
            access_usd: access.usd,
            fabric_usd: fabric.usd,
            has_assumed: [switch, access, fabric].iter().any(|price| price.assumed_usd > 0.0),
        }))
    }

    /// Price of a network.
    pub fn cost(&self, counts: &NetworkCounts) -> f64 {
        f64::from(counts.switches) * self.switch_usd
            + f64::from(counts.access_cables) * self.access_usd
            + f64::from(counts.fabric_cables) * self.fabric_usd
    }
}

/// Two designs, compared by GPU.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PodComparison {
    /// One pod, two tiers.
    pub one_pod: NetworkCounts,
    /// Several pods, three tiers.
    pub several_pods: NetworkCounts,
    /// Share of the switches for each GPU that one pod saves.
    pub switches_saved: f64,
    /// Share of the cables between switches for each GPU that it saves.
    pub fabric_cables_saved: f64,
}

impl PodComparison {
    /// Compares a pod of HPN with DCN+.
    ///
    /// # Errors
    /// Those of the presets, which fit their chips.
    pub fn hpn() -> Result<Self, FabricError> {
        let one_pod = NetworkCounts::of(&Hpn::default().build()?);
        let several_pods = NetworkCounts::of(&DcnPlus::default().build()?);
        let saved = |part: fn(&NetworkCounts) -> u32| {
            let per_gpu = |of: &NetworkCounts| f64::from(part(of)) / f64::from(of.gpus);
            1.0 - per_gpu(&one_pod) / per_gpu(&several_pods)
        };
        Ok(Self {
            switches_saved: saved(|of| of.switches),
            fabric_cables_saved: saved(|of| of.fabric_cables),
            one_pod,
            several_pods,
        })
    }

    /// Share of the network's price for each GPU that one pod saves.
    pub fn cost_saved(&self, prices: &NetworkPrices) -> f64 {
        let per_gpu = |of: &NetworkCounts| prices.cost(of) / f64::from(of.gpus);
        1.0 - per_gpu(&self.one_pod) / per_gpu(&self.several_pods)
    }

    /// Prints counts and prices of both designs.
    pub fn text(&self, prices: &NetworkPrices) -> String {
        let row = |of: &NetworkCounts| {
            let counts = [of.gpus, of.tiers, of.switches, of.access_cables, of.fabric_cables];
            let cells = std::iter::once(of.fabric.clone()).chain(counts.map(|count| count.to_string()));
            cells.chain([format!("{:.1} M", prices.cost(of) / 1e6)]).collect::<Vec<_>>()
        };
        let header = ["design", "GPUs", "tiers", "switches", "access", "between switches", "USD"];
        let mut text = table(&header, &[row(&self.one_pod), row(&self.several_pods)]);
        text.push_str(&format!(
            "one pod saves, for each GPU, {} of the switches, {} of the cables between switches, {} of the price\n",
            percent(self.switches_saved),
            percent(self.fabric_cables_saved),
            percent(self.cost_saved(prices))
        ));
        if prices.has_assumed {
            text.push_str("assumed: some of the prices\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison() -> PodComparison {
        PodComparison::hpn().unwrap()
    }

    #[test]
    fn one_pod_saves_two_fifths_of_the_switches_and_half_of_the_cables() {
        let both = comparison();
        assert_eq!((both.one_pod.gpus, both.several_pods.gpus), (15_360, 16_384));
        assert_eq!((both.one_pod.tiers, both.several_pods.tiers), (2, 3));
        assert_eq!((both.one_pod.switches, both.several_pods.switches), (360, 640));
        assert_eq!((both.one_pod.fabric_cables, both.several_pods.fabric_cables), (14_400, 32_768));
        assert!(
            (both.switches_saved - 0.4).abs() < 1e-12 && (both.fabric_cables_saved - 0.531_25).abs() < 1e-12
        );
    }

    #[test]
    fn access_cables_take_from_the_saving() {
        let both = comparison();
        let prices = |access_usd: f64| NetworkPrices {
            switch_usd: 0.0,
            access_usd,
            fabric_usd: 1.0,
            has_assumed: true,
        };
        assert!((both.cost_saved(&prices(0.0)) - both.fabric_cables_saved).abs() < 1e-12);
        assert!(both.cost_saved(&prices(1.0)) < both.fabric_cables_saved / 1.5);
        let switches =
            NetworkPrices { switch_usd: 1.0, access_usd: 0.0, fabric_usd: 0.0, has_assumed: false };
        assert!((both.cost_saved(&switches) - 0.4).abs() < 1e-12);
    }

    #[test]
    fn the_catalog_prices_the_saving_near_the_papers() {
        let prices =
            NetworkPrices::of(&Catalog::builtin(), ASSUMED_ACCESS_M, ASSUMED_FABRIC_M).unwrap().unwrap();
        let saved = comparison().cost_saved(&prices);
        assert!((0.25..0.45).contains(&saved), "{saved}: {}", comparison().text(&prices));
    }
}
