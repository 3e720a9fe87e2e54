//! A floor plan: racks, rows, places of leaves, devices that share a building.
use crate::error::{CablingError, Refused};
use crate::fields::Fields;

railtwin_units::choice! {
    /// Where leaves stand.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum LeafPlace {
        /// On top of a rack of hosts that they serve, while there is room; then in the middle of the row.
        InRack = "in-rack",
        /// In racks of their own in the middle of the row of their hosts.
        MiddleOfRow = "middle-of-row",
        /// In racks of their own at the end of that row.
        EndOfRow = "end-of-row",
    }
}

railtwin_units::choice! {
    /// Which devices of the frontend stand in the buildings of pods.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum FrontendPlace {
        /// All switches of the frontend stand in the shared building: cables of frontend NICs cross.
        Shared = "shared",
        /// Leaves of the frontend stand beside their hosts: their uplinks cross.
        BesideHosts = "beside-hosts",
    }
}

/// A room and the buildings around it.
///
/// Heights and widths are those of EIA-310 racks. What a row holds, how far rows and buildings are apart, trays and slack
/// have no public source for the clusters of the HPN paper: these defaults are assumed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FloorPlan {
    /// Units of a rack (EIA-310: 42).
    pub rack_units: u32,
    /// Units of a host with GPUs (HGX of eight GPUs: 8).
    pub host_units: u32,
    /// Hosts in a rack; assumed, 4 of about 10 kW.
    pub hosts_per_rack: u32,
    /// Units of a switch (51.2 Tbps with 64 ports: 2).
    pub switch_units: u32,
    /// Switches in a rack of switches; assumed.
    pub switches_per_rack: u32,
    /// Racks of hosts in a row; assumed.
    pub racks_per_row: u32,
    /// Width of a rack, metres (EIA-310: 0.6).
    pub rack_width_m: f64,
    /// From one row to the next, metres; assumed, cold and hot aisle.
    pub row_pitch_m: f64,
    /// From the top of a rack to the tray, metres; assumed.
    pub tray_m: f64,
    /// Added to each cable, metres; assumed, both ends together.
    pub slack_m: f64,
    /// Where leaves stand.
    pub leaves: LeafPlace,
    /// Whether pods have a building each, beside a shared one for frontend, storage and cores (HPN, appendix D).
    pub buildings: bool,
    /// Which devices of the frontend stand beside hosts.
    pub frontend: FrontendPlace,
    /// From a building of a pod to the shared one, metres; assumed.
    pub building_m: f64,
}

impl Default for FloorPlan {
    fn default() -> Self {
        Self {
            rack_units: 42,
            host_units: 8,
            hosts_per_rack: 4,
            switch_units: 2,
            switches_per_rack: 16,
            racks_per_row: 20,
            rack_width_m: 0.6,
            row_pitch_m: 2.4,
            tray_m: 0.5,
            slack_m: 1.0,
            leaves: LeafPlace::MiddleOfRow,
            buildings: true,
            frontend: FrontendPlace::Shared,
            building_m: 200.0,
        }
    }
}

impl FloorPlan {
    /// Reads `[site]` of TOML over the default.
    ///
    /// # Errors
    /// [`CablingError`] at the line of a key that is none, a value out of range, hosts or switches that a rack cannot hold.
    pub fn parse(name: &str, text: &str) -> Result<Self, CablingError> {
        let mut root = Fields::parse(name, text)?;
        let mut keys = root.table("site")?;
        root.finish()?;
        let mut site = Self::default();
        for (key, value, most) in [
            ("rack_units", &mut site.rack_units, 100),
            ("host_units", &mut site.host_units, 50),
            ("hosts_per_rack", &mut site.hosts_per_rack, 100),
            ("switch_units", &mut site.switch_units, 50),
            ("switches_per_rack", &mut site.switches_per_rack, 100),
            ("racks_per_row", &mut site.racks_per_row, 1_000),
        ] {
            *value = keys.whole(key, 1, most)?.unwrap_or(*value);
        }
        for (key, value, most) in [
            ("rack_width_m", &mut site.rack_width_m, 10.0),
            ("row_pitch_m", &mut site.row_pitch_m, 100.0),
            ("tray_m", &mut site.tray_m, 10.0),
            ("slack_m", &mut site.slack_m, 100.0),
            ("building_m", &mut site.building_m, 10_000.0),
        ] {
            *value = keys.number(key, 0.0, most)?.unwrap_or(*value);
        }
        if let Some(word) = keys.text("leaves")? {
            site.leaves =
                LeafPlace::named(&word).ok_or_else(|| unknown(&keys, "leaves", &word, &LeafPlace::NAMES))?;
        }
        if let Some(word) = keys.text("frontend")? {
            site.frontend = FrontendPlace::named(&word)
                .ok_or_else(|| unknown(&keys, "frontend", &word, &FrontendPlace::NAMES))?;
        }
        if let Some(truth) = keys.truth("buildings")? {
            site.buildings = truth;
        }
        for (key, count, units) in [
            ("hosts_per_rack", site.hosts_per_rack, site.host_units),
            ("switches_per_rack", site.switches_per_rack, site.switch_units),
        ] {
            if count * units > site.rack_units {
                let problem = format!("{count} of {units} units do not fit");
                let accepted = format!("a rack has {} units", site.rack_units);
                return Err(keys.error(key, keys.line, Refused::new(problem, accepted)));
            }
        }
        keys.finish()?;
        Ok(site)
    }
}

fn unknown(keys: &Fields<'_>, key: &str, word: &str, names: &[&str]) -> CablingError {
    let refused = Refused::new(format!("`{word}` is none"), format!("write one of {}", names.join(", ")));
    keys.error(key, keys.line, refused)
}
