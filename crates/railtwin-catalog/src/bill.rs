//! Parts counted, with their price and power.
use serde::Serialize;

use crate::media::LinkMedia;
use crate::money::{Money, Power};
use crate::part::Part;

railtwin_units::choice! {
    /// Purpose of parts of a bill.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum BillScope {
        /// The network of active hosts.
        Network = "network",
        /// Backup hosts: their NICs and cables.
        Spare = "spare",
        /// The frontend network: its switches, NICs and cables.
        Frontend = "frontend",
    }
}

/// So many of a part.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BillLine {
    /// Purpose of the parts.
    pub scope: BillScope,
    /// Purpose of the parts, such as `leaf` or `leaf-spine cable`; of other scopes with their name before it.
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
            scope: BillScope::Network,
            role: role.to_owned(),
            part: part.to_owned(),
            count,
            price: price * times,
            power: power * times,
        };
        self.lines.push(line);
    }

    /// Adds the lines of another bill as those of a scope, such as `spare NIC`.
    pub fn add_scope(&mut self, scope: BillScope, bill: Self) {
        let lines = bill.lines.into_iter().map(|line| BillLine {
            scope,
            role: format!("{scope} {}", line.role),
            ..line
        });
        self.lines.extend(lines);
    }

    /// Lines of a scope.
    pub fn of_scope(&self, scope: BillScope) -> impl Iterator<Item = &BillLine> {
        self.lines.iter().filter(move |line| line.scope == scope)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalog;

    #[test]
    fn scopes_are_lines_of_their_own_and_all_are_in_the_total() {
        let catalog = Catalog::builtin();
        let nic = catalog.nic_of(1, railtwin_units::Rate::from_gbps(400)).unwrap();
        let (mut bill, mut spare) = (Bill::default(), Bill::default());
        bill.add("NIC", nic, 8);
        spare.add("NIC", nic, 2);
        bill.add_scope(BillScope::Spare, spare);
        let counts =
            |scope| bill.of_scope(scope).map(|line| (line.role.as_str(), line.count)).collect::<Vec<_>>();
        assert_eq!(
            (counts(BillScope::Network), counts(BillScope::Spare)),
            (vec![("NIC", 8)], vec![("spare NIC", 2)])
        );
        assert!((bill.price().usd - 10.0 * nic.usd).abs() < 1e-6);
    }
}
