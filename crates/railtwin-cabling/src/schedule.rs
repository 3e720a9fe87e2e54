//! Every cable with both ends: device, port, rack, unit, optic; its length, length class and medium.
use std::collections::BTreeMap;

use railtwin_catalog::{Catalog, LinkMedia, Medium, Money, PartKind};
use railtwin_fabric::cable_list::{CableList, CableNetwork, DeviceRole, Inference, list_of};
use railtwin_fabric::{CableClass, Fabric};
use railtwin_units::Rate;

use crate::error::CablingError;
use crate::floor::{RackPosition, positions};
use crate::site::FloorPlan;

/// Lengths that cables are sold in, metres: a cable is the shortest that is long enough. Longer ones count in kilometres.
pub const LENGTH_CLASSES_M: [f64; 17] =
    [0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0, 70.0, 100.0, 150.0, 200.0, 300.0, 500.0];

/// Columns of a schedule as CSV. It is a cable list too: those who read one pass over the other columns.
pub const SCHEDULE_COLUMNS: [&str; 17] = [
    "device_a",
    "port_a",
    "rack_a",
    "unit_a",
    "optic_a",
    "device_b",
    "port_b",
    "rack_b",
    "unit_b",
    "optic_b",
    "rate",
    "length",
    "routed_m",
    "medium",
    "cable",
    "tier",
    "buildings",
];

/// Shortest length class that holds a length, metres.
pub fn length_class_m(metres: f64) -> f64 {
    let class = LENGTH_CLASSES_M.into_iter().find(|&class| class >= metres);
    class.unwrap_or_else(|| (metres / 1_000.0).ceil() * 1_000.0)
}

/// A cable of a schedule.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ScheduledCable {
    /// Rows of its ports in the list.
    pub ports: [u32; 2],
    /// Its class.
    pub class: CableClass,
    /// Way along racks and trays with slack, metres.
    pub routed_m: f64,
    /// Length class, metres.
    pub length_m: f64,
    /// Row in [`CableSchedule::media`]; none where the catalog has no part for rate and length, or the list no rate.
    pub media: Option<u32>,
}

/// All cables of a network with positions, lengths and parts.
#[derive(Clone, PartialEq, Debug)]
pub struct CableSchedule {
    /// The network by name.
    pub list: CableList,
    /// Positions of devices, by row of the list.
    pub positions: Vec<RackPosition>,
    /// Cables in the order of the list.
    pub cables: Vec<ScheduledCable>,
    /// Optics and cable by rate and length class.
    pub media: Vec<LinkMedia>,
}

/// Counts of a schedule.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ScheduleSummary {
    /// Cables by medium and length class in decimetres; no medium where the catalog has no part.
    pub lengths: BTreeMap<(Option<Medium>, u64), u32>,
    /// Parts by name: transceivers of both ends, cables, fibres.
    pub parts: BTreeMap<String, u32>,
    /// Cables by rate in bits per second for which the catalog has no part; 0 for cables without a rate.
    pub without_part: BTreeMap<u64, u32>,
    /// Cables by what they join: all, and those between two buildings.
    pub tiers: BTreeMap<CableClass, (u32, u32)>,
    /// Longest way inside a building, metres.
    pub longest_inside_m: f64,
}

impl CableSchedule {
    /// The schedule of a fabric.
    pub fn of(fabric: &Fabric, site: &FloorPlan, catalog: &Catalog) -> Self {
        let (list, found) = list_of(fabric);
        Self::placed(list, &found, site, catalog)
    }

    /// The schedule of a cable list.
    ///
    /// # Errors
    /// [`CablingError`] for a device whose role nothing tells.
    pub fn of_list(list: CableList, site: &FloorPlan, catalog: &Catalog) -> Result<Self, CablingError> {
        let found = Inference::of(&list).map_err(|error| CablingError {
            source_name: list.title.clone().unwrap_or_else(|| "cable list".to_owned()),
            line: 0,
            field: String::new(),
            problem: error.to_string(),
            accepted: "state the role of each device".to_owned(),
        })?;
        Ok(Self::placed(list, &found, site, catalog))
    }

    fn placed(list: CableList, found: &Inference, site: &FloorPlan, catalog: &Catalog) -> Self {
        let positions = positions(&list, found, site);
        let mut choice = MediaChoice { catalog, media: Vec::new(), rows: BTreeMap::new() };
        let cables = list.cables().iter().map(|cable| {
            let devices = cable.ports.map(|port| list.device_of(port) as usize);
            let [a, b] = devices.map(|device| &positions[device]);
            let routed_m = a.metres_to(b, site);
            let length_m = length_class_m(routed_m);
            // The slower end of a cable sets its rate.
            let rate = cable.ports.iter().filter_map(|&port| list.ports()[port as usize].rate).min();
            let media = rate.and_then(|rate| choice.row(rate, length_m));
            let class = class_of(found, devices);
            ScheduledCable { ports: cable.ports, class, routed_m, length_m, media }
        });
        let cables = cables.collect();
        Self { positions, cables, media: choice.media, list }
    }

    /// Rack position of a port.
    pub fn position(&self, port: u32) -> RackPosition {
        self.positions[self.list.device_of(port) as usize]
    }

    /// Whether a cable joins two buildings.
    pub fn crosses(&self, cable: &ScheduledCable) -> bool {
        let [a, b] = cable.ports.map(|port| self.position(port).building);
        a != b
    }

    /// Optics and cable of a cable.
    pub fn media_of(&self, cable: &ScheduledCable) -> Option<&LinkMedia> {
        cable.media.map(|row| &self.media[row as usize])
    }

    /// Counts by length class, part and tier.
    pub fn summary(&self) -> ScheduleSummary {
        let mut summary = ScheduleSummary::default();
        for cable in &self.cables {
            let media = self.media_of(cable);
            let key = (media.map(|media| media.medium), (cable.length_m * 10.0).round() as u64);
            *summary.lengths.entry(key).or_insert(0) += 1;
            match media {
                None => {
                    let rate = self.list.ports()[cable.ports[0] as usize].rate.map_or(0, Rate::bits_per_s);
                    *summary.without_part.entry(rate).or_insert(0) += 1;
                }
                Some(media) => {
                    if let Some(optic) = &media.optic {
                        *summary.parts.entry(optic.name.clone()).or_insert(0) += 2;
                    }
                    *summary.parts.entry(media.cable.name.clone()).or_insert(0) += 1;
                }
            }
            let crosses = self.crosses(cable);
            let tier = summary.tiers.entry(cable.class).or_insert((0, 0));
            tier.0 += 1;
            tier.1 += u32::from(crosses);
            if !crosses {
                summary.longest_inside_m = summary.longest_inside_m.max(cable.routed_m);
            }
        }
        summary
    }

    /// Price of all transceivers, and what single-mode ones of the same links would cost: the cheapest of their rate that
    /// reach. HPN section 10 has multimode transceivers cost 70 % less. Links without a single-mode part are in neither.
    pub fn transceiver_prices(&self, catalog: &Catalog) -> [Money; 2] {
        let single_mode = |media: &LinkMedia| {
            let optics =
                catalog.parts(PartKind::Optic).filter(|part| part.medium == Some(Medium::SingleMode));
            let reaching = optics.filter(|part| {
                Some(part.rate) == media.optic.as_ref().map(|optic| optic.rate)
                    && part.reach_m >= media.metres
            });
            reaching.min_by(|a, b| a.usd.total_cmp(&b.usd)).map(|part| part.price(0.0) * 2.0)
        };
        let prices: Vec<Option<[Money; 2]>> = self
            .media
            .iter()
            .map(|media| Some([media.optic.as_ref()?.price(0.0) * 2.0, single_mode(media)?]))
            .collect();
        let of_cables = self.cables.iter().filter_map(|cable| prices[cable.media? as usize]);
        of_cables.fold([Money::default(); 2], |sum, price| [sum[0] + price[0], sum[1] + price[1]])
    }

    /// The schedule as CSV with [`SCHEDULE_COLUMNS`].
    pub fn to_csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::with_capacity(self.cables.len() * 160));
        // Writing to memory does not fail.
        let _ = writer.write_record(SCHEDULE_COLUMNS);
        for cable in &self.cables {
            let _ = writer.write_record(self.fields(cable));
        }
        String::from_utf8_lossy(&writer.into_inner().unwrap_or_default()).into_owned()
    }

    fn fields(&self, cable: &ScheduledCable) -> [String; 17] {
        let media = self.media_of(cable);
        let optic = media.map_or("", |media| media.optic.as_ref().map_or("", |optic| optic.name.as_str()));
        let end = |port: u32| {
            let at = self.position(port);
            let port = &self.list.ports()[port as usize];
            let device = self.list.devices()[port.device as usize].name.clone();
            [device, port.name.clone(), at.rack_name(), at.unit.to_string(), optic.to_owned()]
        };
        let ([a0, a1, a2, a3, a4], [b0, b1, b2, b3, b4]) = (end(cable.ports[0]), end(cable.ports[1]));
        let rate = cable.ports.iter().filter_map(|&port| self.list.ports()[port as usize].rate).min();
        let rate = rate.map_or(String::new(), |rate| rate.to_string());
        let medium = media.map_or(String::new(), |media| media.medium.to_string());
        let part = media.map_or(String::new(), |media| media.cable.name.clone());
        let buildings = if self.crosses(cable) { "2" } else { "1" }.to_owned();
        let (length, routed) = (format!("{} m", cable.length_m), format!("{:.2}", cable.routed_m));
        let tier = cable.class.name().to_owned();
        [a0, a1, a2, a3, a4, b0, b1, b2, b3, b4, rate, length, routed, medium, part, tier, buildings]
    }
}

impl ScheduleSummary {
    /// Cables between two buildings over all cables of the tiers that are counted.
    ///
    /// HPN appendix D prints 12.9 % of all links without saying which count. Two pods with the default frontend in a shared
    /// building and 128 storage hosts give 8.9 % of all cables, 9.7 % without those between switches of the frontend, and
    /// 2.0 % of the backend alone.
    pub fn crossing_share(&self, counts: impl Fn(CableClass) -> bool) -> f64 {
        let counted = self.tiers.iter().filter(|(class, _)| counts(**class)).map(|(_, tier)| *tier);
        let (all, crossing) = counted.fold((0, 0), |sum, tier| (sum.0 + tier.0, sum.1 + tier.1));
        if all == 0 { 0.0 } else { f64::from(crossing) / f64::from(all) }
    }
}

/// Class of a cable, by the roles and networks of its ends.
fn class_of(found: &Inference, devices: [usize; 2]) -> CableClass {
    let places = devices.map(|device| &found.places[device]);
    let tiers = places.map(|place| place.role.tier());
    let switch = if tiers[0] >= tiers[1] { places[0] } else { places[1] };
    let is_frontend = switch.network != CableNetwork::Backend;
    match (tiers[0].min(tiers[1]), switch.role, is_frontend) {
        (0, _, false) => CableClass::Access,
        (0, _, true) => CableClass::FrontendAccess,
        (_, DeviceRole::Core, false) => CableClass::SpineCore,
        (_, DeviceRole::Core, true) => CableClass::FrontendSpineCore,
        (_, _, false) => CableClass::LeafSpine,
        (_, _, true) => CableClass::FrontendLeafSpine,
    }
}

/// Parts by rate and length, each asked for once.
struct MediaChoice<'a> {
    catalog: &'a Catalog,
    media: Vec<LinkMedia>,
    rows: BTreeMap<(u64, u64), Option<u32>>,
}

impl MediaChoice<'_> {
    fn row(&mut self, rate: Rate, length_m: f64) -> Option<u32> {
        let key = (rate.bits_per_s(), length_m.to_bits());
        if let Some(&row) = self.rows.get(&key) {
            return row;
        }
        let row = self.catalog.media(rate, length_m).ok().map(|media| {
            self.media.push(media);
            self.media.len() as u32 - 1
        });
        self.rows.insert(key, row);
        row
    }
}
