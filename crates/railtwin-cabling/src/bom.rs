//! The bill of materials of a blueprint: what stands in racks and what is plugged, counted by part.
//!
//! Columns and order are those of the bills that the OCP training fabrics ship. Servers and switches are counted by class,
//! NICs that carry a link, and transceivers by part. A cage of a switch has one transceiver, however many lanes of it are in
//! use. Cables with both ends on them are counted at the servers; their ends at switches are suppressed and counted apart.
use std::collections::{BTreeMap, BTreeSet};

use crate::blueprint::{Blueprint, WireEnd};
use crate::error::{CablingError, Refused};
use crate::fields::{Fields, Item};

/// Columns of a bill.
pub const BOM_COLUMNS: [&str; 19] = [
    "section",
    "module_type_model",
    "module_type_description",
    "hedgehog_class",
    "manufacturer",
    "quantity",
    "cage_type",
    "medium",
    "connector",
    "standard",
    "reach_class",
    "wavelength_nm",
    "host_lane_count",
    "host_serdes_gbps_per_lane",
    "optical_lane_pattern",
    "gearbox_present",
    "cable_assembly_type",
    "breakout_topology",
    "is_cable_assembly",
];

/// Columns that describe a transceiver, which a table of parts may have as keys.
const DESCRIBED: [&str; 11] = [
    "cage_type",
    "medium",
    "connector",
    "standard",
    "reach_class",
    "wavelength_nm",
    "host_lane_count",
    "host_serdes_gbps_per_lane",
    "optical_lane_pattern",
    "cable_assembly_type",
    "breakout_topology",
];

/// A part that a bill may list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BomPart {
    /// Model.
    pub model: String,
    /// Manufacturer.
    pub manufacturer: String,
    /// What it is, in words.
    pub description: String,
    /// Whether it has a gearbox; none where nobody says.
    pub gearbox: Option<bool>,
    /// Columns that describe a transceiver, by name.
    pub columns: BTreeMap<&'static str, String>,
}

impl BomPart {
    /// Whether the part is a cable with its ends on it.
    pub fn is_cable(&self) -> bool {
        let column = |name| self.columns.get(name).map_or("", String::as_str);
        matches!(column("medium"), "DAC" | "ACC")
            || matches!(column("cable_assembly_type"), "DAC" | "ACC" | "AOC")
    }
}

/// The table of parts that a design names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BomParts {
    parts: BTreeMap<String, BomPart>,
}

impl BomParts {
    /// Reads a table: `[part.NAME]` with `model`, `manufacturer`, and what else a bill has of it.
    ///
    /// # Errors
    /// [`CablingError`] at the line of a key that is none or has another kind of value.
    pub fn parse(name: &str, text: &str) -> Result<Self, CablingError> {
        let mut root = Fields::parse(name, text)?;
        let mut table = root.table("part")?;
        root.finish()?;
        let mut parts = BTreeMap::new();
        for entry in table.rest() {
            let id = entry.key.clone();
            let mut fields = table.inner(entry)?;
            let mut part = BomPart {
                model: fields.needed("model")?,
                manufacturer: fields.needed("manufacturer")?,
                description: fields.text("description")?.unwrap_or_default(),
                ..BomPart::default()
            };
            part.gearbox = fields.truth("gearbox_present")?;
            for column in DESCRIBED {
                let Some(entry) = fields.take(column) else { continue };
                let text = match entry.item {
                    Item::Text(text) => text,
                    Item::Whole(number) => number.to_string(),
                    _ => {
                        return Err(fields.error(
                            column,
                            entry.line,
                            Refused::new("is no text", "write a text or number"),
                        ));
                    }
                };
                part.columns.insert(column, text);
            }
            fields.finish()?;
            parts.insert(id, part);
        }
        Ok(Self { parts })
    }

    /// A part by its name in the table, or by its model.
    pub fn find(&self, name: &str) -> Option<&BomPart> {
        self.parts.get(name).or_else(|| self.parts.values().find(|part| part.model == name))
    }
}

railtwin_units::choice! {
    /// Sections of a bill, in order.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum BomSection {
        /// Servers by class.
        Server = "server",
        /// Switches by class.
        Switch = "switch",
        /// NICs.
        Nic = "nic",
        /// Transceivers at servers.
        ServerTransceiver = "server_transceiver",
        /// Transceivers at switches.
        SwitchTransceiver = "switch_transceiver",
    }
}

/// A row of a bill.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BomRow {
    /// Section.
    pub section: BomSection,
    /// Class of servers or switches; empty for other sections.
    pub class: String,
    /// The part.
    pub part: BomPart,
    /// How many.
    pub quantity: u32,
}

/// A bill of materials.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bom {
    /// Rows by section, class, manufacturer and model.
    pub rows: Vec<BomRow>,
    /// Ends of cables at switches, which are counted at the servers.
    pub suppressed_cable_ends: u32,
}

impl Bom {
    /// Counts the parts of a blueprint. Switches and servers without a part are not listed, nor NICs and ports without one.
    ///
    /// # Errors
    /// As [`Blueprint::cables`]; a part that the table does not have.
    pub fn of(blueprint: &Blueprint, parts: &BomParts) -> Result<Self, CablingError> {
        let mut tally = Tally { blueprint, parts, counts: BTreeMap::new(), suppressed: 0 };
        for class in &blueprint.servers {
            if let Some(part) = &class.part {
                tally.add(BomSection::Server, &class.name, part, class.count)?;
            }
        }
        for class in &blueprint.switches {
            if let Some(part) = &class.part {
                tally.add(BomSection::Switch, &class.name, part, class.count)?;
            }
        }
        tally.nics()?;
        tally.transceivers()?;
        let Tally { counts, suppressed, .. } = tally;
        let rows = counts.into_iter().map(|(key, (part, quantity))| BomRow {
            section: key.0,
            class: key.1,
            part: part.clone(),
            quantity,
        });
        Ok(Self { rows: rows.collect(), suppressed_cable_ends: suppressed })
    }

    /// The bill as CSV, with [`BOM_COLUMNS`] and a last line of suppressed ends.
    pub fn to_csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        // Writing to memory does not fail.
        let _ = writer.write_record(BOM_COLUMNS);
        for row in &self.rows {
            let _ = writer.write_record(row.fields());
        }
        let bytes = writer.into_inner().unwrap_or_default();
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        text.push_str(&format!("# suppressed_switch_cable_assembly_count,{}\n", self.suppressed_cable_ends));
        text
    }
}

impl BomRow {
    fn fields(&self) -> [String; 19] {
        let is_device = matches!(self.section, BomSection::Server | BomSection::Switch);
        BOM_COLUMNS.map(|column| match column {
            "section" => self.section.name().to_owned(),
            "module_type_model" => self.part.model.clone(),
            "module_type_description" => self.part.description.clone(),
            "hedgehog_class" => self.class.clone(),
            "manufacturer" => self.part.manufacturer.clone(),
            "quantity" => self.quantity.to_string(),
            "gearbox_present" => match self.part.gearbox {
                _ if is_device => String::new(),
                None => "Unknown".to_owned(),
                Some(truth) => truth.to_string(),
            },
            "is_cable_assembly" => self.part.is_cable().to_string(),
            described => self.part.columns.get(described).cloned().unwrap_or_default(),
        })
    }
}

/// Section, class, manufacturer, model: the order of rows.
type RowKey = (BomSection, String, String, String);

struct Tally<'a> {
    blueprint: &'a Blueprint,
    parts: &'a BomParts,
    counts: BTreeMap<RowKey, (&'a BomPart, u32)>,
    suppressed: u32,
}

impl Tally<'_> {
    fn add(
        &mut self,
        section: BomSection,
        class: &str,
        part: &str,
        quantity: u32,
    ) -> Result<(), CablingError> {
        let Some(found) = self.parts.find(part) else {
            let refused =
                Refused::new(format!("`{part}` is no part"), "add a table [part.NAME] to the table of parts");
            return Err(self.blueprint.error(class.to_owned(), 0, refused));
        };
        if section == BomSection::SwitchTransceiver && found.is_cable() {
            self.suppressed += quantity;
            return Ok(());
        }
        let key = (section, class.to_owned(), found.manufacturer.clone(), found.model.clone());
        self.counts.entry(key).or_insert((found, 0)).1 += quantity;
        Ok(())
    }

    /// NICs that carry a link.
    fn nics(&mut self) -> Result<(), CablingError> {
        let blueprint = self.blueprint;
        for class in &blueprint.servers {
            let interfaces = || class.links.iter().flat_map(|link| &link.interfaces);
            for (nic, part) in &class.nics {
                let carries =
                    |name: &str| name.strip_prefix(nic.as_str()).is_some_and(|rest| rest.starts_with('-'));
                if interfaces().any(|(name, _)| carries(name)) {
                    self.add(BomSection::Nic, "", part, class.count)?;
                }
            }
        }
        Ok(())
    }

    /// Transceivers of interfaces, and of cages of switches with a cable.
    fn transceivers(&mut self) -> Result<(), CablingError> {
        let blueprint = self.blueprint;
        let mut cages = BTreeSet::new();
        let mut counts: BTreeMap<(BomSection, &str), u32> = BTreeMap::new();
        for end in blueprint.wires()?.iter().flat_map(|wire| wire.ends) {
            let (section, optic) = match end {
                WireEnd::Server { class, link, .. } => {
                    let link = &blueprint.servers[class as usize].links[link as usize];
                    (BomSection::ServerTransceiver, &link.optic)
                }
                WireEnd::Switch { class, index, zone, slot } => {
                    let zone = &blueprint.switches[class as usize].zones[zone as usize];
                    if !cages.insert((class, index, zone.slot(slot).0)) {
                        continue;
                    }
                    (BomSection::SwitchTransceiver, &zone.optic)
                }
            };
            if let Some(optic) = optic {
                *counts.entry((section, optic)).or_insert(0) += 1;
            }
        }
        for ((section, optic), count) in counts {
            self.add(section, "", optic, count)?;
        }
        Ok(())
    }
}
