//! A building's power limit against hosts, switches and optics (HPN section 10).
use railtwin_catalog::{Catalog, PartKind};
use railtwin_fabric::{CableClass, Fabric, HostId};
use railtwin_units::Rate;
use serde::Serialize;

use super::buildings::Building;
use super::rows::{percent, table};

/// Power limit of a building in W (HPN section 10).
pub const BUILDING_W: f64 = 18e6;

/// GPUs that such a building holds (HPN section 10).
pub const BUILDING_GPUS: f64 = 15_000.0;

/// Power of the building over that of its equipment.
pub const ASSUMED_OVERHEAD: f64 = 1.2;

/// Power of the parts of a cluster.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct PartPower {
    /// One host in W.
    pub host_w: f64,
    /// One switch without optics in W.
    pub switch_w: f64,
    /// One transceiver of 400 Gbps in W; others draw in proportion to their rate.
    pub optic_400g_w: f64,
    /// Power of the building over that of its equipment: cooling and losses.
    pub overhead: f64,
}

impl PartPower {
    /// Powers of a catalog: hosts of eight H100 at their nameplate (an H800 has the power of an H100), 51.2T switches of
    /// 128 ports and multimode transceivers of 400 Gbps. None where the catalog lacks one of them.
    pub fn of(catalog: &Catalog) -> Option<Self> {
        Some(Self {
            host_w: catalog.part(PartKind::Host, "dgx-h100")?.watts,
            switch_w: catalog.switch_of(128, Rate::from_gbps(400))?.watts,
            optic_400g_w: catalog.part(PartKind::Optic, "400g-sr4")?.watts,
            overhead: ASSUMED_OVERHEAD,
        })
    }

    /// The same with the power of a host model and of a switch, where the catalog has them by these names.
    pub fn with(self, catalog: &Catalog, host: &str, switch: Option<&str>) -> Self {
        let watts = |kind, name: &str| catalog.part(kind, name).map(|part| part.watts);
        Self {
            host_w: watts(PartKind::Host, host).unwrap_or(self.host_w),
            switch_w: switch.and_then(|name| watts(PartKind::Switch, name)).unwrap_or(self.switch_w),
            ..self
        }
    }
}

/// Power of one kind of part.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PowerRow {
    /// Kind of part.
    pub part: &'static str,
    /// Parts.
    pub count: u64,
    /// Power of all of them in W.
    pub watts: f64,
    /// Share of the building's power.
    pub share: f64,
}

/// A pod against the power limit of its building.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PowerBudget {
    /// Limit of the building in W.
    pub limit_w: f64,
    /// What the parts draw.
    pub parts: PartPower,
    /// GPUs of the pod, those of backup hosts among them.
    pub gpus: u32,
    /// Hosts, switches, optics, and the building's overhead.
    pub rows: Vec<PowerRow>,
    /// Sum of the rows in W.
    pub total_w: f64,
    /// Whether the sum is within the limit.
    pub fits: bool,
    /// Power of the building for each GPU in W, of this cluster.
    pub per_gpu_w: f64,
    /// GPUs that the limit carries at that power.
    pub gpus_carried: u32,
    /// Power of a host in W at which this cluster meets the limit exactly.
    pub host_w_at_limit: f64,
}

impl PowerBudget {
    /// Sums the power of a pod's building: its hosts, leaves, spines, and the transceivers at their ends of cables.
    /// Frontend, storage and cores stand elsewhere ([`Building`]). Every cable between devices has transceivers.
    pub fn of_pod(fabric: &Fabric, pod: u32, limit_w: f64, parts: PartPower) -> Self {
        let is_here = |device| Building::of(fabric, device) == Building::Pod(pod);
        let hosts = (0..fabric.all_hosts().len()).map(HostId::from_index);
        let hosts: Vec<HostId> = hosts.filter(|&host| is_here(fabric.nic(host, 0))).collect();
        let gpus: u32 = hosts.iter().map(|&host| fabric.host_model(host).gpus).sum();
        let (mut optics, mut optic_w) = (0, 0.0);
        for cable in fabric.cables().filter(|&cable| is_network(fabric.cable_class(cable))) {
            let ends =
                fabric.cable_ports(cable).into_iter().filter(|&port| is_here(fabric.port_device(port)));
            let ends = ends.count() as u64;
            optics += ends;
            optic_w += ends as f64 * parts.optic_400g_w * fabric.capacity(cable.forward()).gbps() / 400.0;
        }
        let switches = fabric.switches().iter().filter(|&&(device, _)| is_here(device)).count() as u64;
        let hosts = hosts.len() as u64;
        let beside = switches as f64 * parts.switch_w + optic_w;
        let host_w = hosts as f64 * parts.host_w;
        let equipment = host_w + beside;
        let total_w = equipment * parts.overhead;
        let per_gpu_w = total_w / f64::from(gpus.max(1));
        let row = |part, count, watts: f64| PowerRow { part, count, watts, share: watts / total_w };
        Self {
            limit_w,
            parts,
            gpus,
            rows: vec![
                row("hosts", hosts, host_w),
                row("switches", switches, switches as f64 * parts.switch_w),
                row("optics", optics, optic_w),
                row("overhead", 1, total_w - equipment),
            ],
            total_w,
            fits: total_w <= limit_w,
            per_gpu_w,
            gpus_carried: (limit_w / per_gpu_w) as u32,
            host_w_at_limit: (limit_w / parts.overhead - beside) / hosts.max(1) as f64,
        }
    }

    /// Prints one line for each kind of part, and the verdict.
    pub fn text(&self) -> String {
        let rows = self.rows.iter().map(|row| {
            vec![
                row.part.to_owned(),
                row.count.to_string(),
                format!("{:.3} MW", row.watts / 1e6),
                percent(row.share),
            ]
        });
        let mut text = table(&["part", "count", "power", "share"], &rows.collect::<Vec<_>>());
        let verdict = if self.fits { "fits" } else { "does not fit" };
        text.push_str(&format!(
            "{:.2} MW of {:.2} MW: {verdict}; {:.0} W for each of {} GPUs, {} GPUs carried\n",
            self.total_w / 1e6,
            self.limit_w / 1e6,
            self.per_gpu_w,
            self.gpus,
            self.gpus_carried
        ));
        text.push_str(&format!("the limit is met at {:.0} W a host\n", self.host_w_at_limit));
        text.push_str("assumed: overhead of the building; all hosts at the power of their nameplate\n");
        text
    }
}

/// Returns the building's power for each GPU in W, all included.
pub fn per_gpu_w(building_w: f64, gpus: f64) -> f64 {
    building_w / gpus
}

/// Returns the GPUs that a building carries at a power of so many W each, all included.
pub fn gpus_carried(building_w: f64, per_gpu_w: f64) -> u32 {
    (building_w / per_gpu_w) as u32
}

fn is_network(class: CableClass) -> bool {
    !matches!(class, CableClass::NvLink | CableClass::Pcie)
}

#[cfg(test)]
mod tests {
    use railtwin_fabric::frontend::Outside;
    use railtwin_fabric::preset::{Hpn, Layout as _};
    use railtwin_fabric::{Frontend, Storage};

    use super::*;

    fn parts() -> PartPower {
        PartPower::of(&Catalog::builtin()).unwrap()
    }

    fn pod(storage: Option<Storage>) -> Fabric {
        let outside = Outside { frontend: Some(Frontend::default()), storage };
        outside.build(&Hpn { segments: Some(2), ..Hpn::default() }.spec().unwrap()).unwrap()
    }

    #[test]
    fn a_building_of_18_mw_has_1200_w_for_each_of_15000_gpus() {
        assert_eq!(per_gpu_w(BUILDING_W, BUILDING_GPUS), 1_200.0);
        assert_eq!(gpus_carried(BUILDING_W, 1_200.0), 15_000);
        assert_eq!(gpus_carried(2.0 * BUILDING_W, 1_200.0), 30_000);
    }

    #[test]
    fn rows_add_up_and_a_host_at_its_limit_meets_it() {
        let fabric = pod(None);
        let limit = 2.5e6;
        let budget = PowerBudget::of_pod(&fabric, 0, limit, parts());
        let sum: f64 = budget.rows.iter().map(|row| row.watts).sum();
        assert!((sum - budget.total_w).abs() < 1e-3);
        // 272 hosts of 16 ports, 32 leaves of 60 uplinks; of the frontend the end at the host.
        let counts: Vec<u64> = budget.rows.iter().map(|row| row.count).collect();
        assert_eq!(counts, [272, 32 + 120, 2 * (272 * 16 + 1_920) + 272 * 2, 1]);
        assert!(!budget.fits && budget.rows[0].share > 0.7, "{}", budget.text());
        let power = PartPower { host_w: budget.host_w_at_limit, ..parts() };
        let met = PowerBudget::of_pod(&fabric, 0, limit, power);
        assert!((met.total_w - limit).abs() < 1e-3);
        assert!((met.per_gpu_w * f64::from(met.gpus) - limit).abs() < 1e-3);
    }

    #[test]
    fn storage_stands_in_another_building() {
        let watts = |storage| PowerBudget::of_pod(&pod(storage), 0, BUILDING_W, parts()).total_w;
        assert_eq!(watts(Some(Storage::of(128))), watts(None));
    }

    #[test]
    fn a_pod_of_hosts_at_their_nameplate_exceeds_its_building() {
        let fabric = Hpn::default().build().unwrap();
        let budget = PowerBudget::of_pod(&fabric, 0, BUILDING_W, parts());
        assert!(!budget.fits && budget.gpus_carried < 15_000, "{}", budget.text());
        // At 6.9 kW a host, two thirds of the nameplate, all 16,320 GPUs fit.
        assert!((6_000.0..7_500.0).contains(&budget.host_w_at_limit), "{}", budget.text());
    }
}
