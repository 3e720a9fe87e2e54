//! Parts counted, with their price and power.
use serde::Serialize;

use crate::media::LinkMedia;
use crate::money::{Money, Power};
use crate::part::Part;

/// So many of a part.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BillLine {
    /// Purpose of the parts, such as `leaf` or `leaf-spine cable`.
    pub role: String,
    /// Name of the part.
    pub part: String,
    /// How many.
    pub count: u64,
    /// Price of all.
    pub price: Money,
    /// Power of all.
    pub power: Power,
}

/// A bill of materials.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Bill {
    /// Lines in the order in which they were added.
    pub lines: Vec<BillLine>,
}

impl Bill {
    /// Adds so many of a part; none of it adds no line.
    pub fn add(&mut self, role: &str, part: &Part, count: u64) {
        self.push(role, &part.name, count, part.price(0.0), part.power());
    }

    /// Adds so many links, transceivers and cables on lines of their own.
    pub fn add_links(&mut self, role: &str, media: &LinkMedia, count: u64) {
        if let Some(optic) = &media.optic {
            self.push(&format!("{role} optic"), &optic.name, 2 * count, optic.price(0.0), optic.power());
        }
        let cable = &media.cable;
        self.push(&format!("{role} cable"), &cable.name, count, cable.price(media.metres), cable.power());
    }

    fn push(&mut self, role: &str, part: &str, count: u64, price: Money, power: Power) {
        if count == 0 {
            return;
        }
        let times = count as f64;
        let line = BillLine {
            role: role.to_owned(),
            part: part.to_owned(),
            count,
            price: price * times,
            power: power * times,
        };
        self.lines.push(line);
    }

    /// Price of all lines.
    pub fn price(&self) -> Money {
        self.lines.iter().map(|line| line.price).sum()
    }

    /// Power of all lines.
    pub fn power(&self) -> Power {
        self.lines.iter().map(|line| line.power).sum()
    }
}
