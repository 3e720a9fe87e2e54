//! The parts by name.
use std::collections::BTreeMap;

use railtwin_units::Rate;
use serde::Serialize;

use crate::error::CatalogError;
use crate::part::{Part, PartKind, PriceShare};
use crate::read::{Line, lines};

const BUILTIN: &str = include_str!("table/parts.toml");

/// Parts by name.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Catalog {
    parts: BTreeMap<String, Part>,
}

impl Catalog {
    /// The table of this crate.
    ///
    /// # Panics
    /// Never: the tests read the table.
    pub fn builtin() -> Self {
        Self::default().with(BUILTIN).expect("the table of the crate is read by its tests")
    }

    /// The text of [`Catalog::builtin`], to be edited.
    pub const fn builtin_text() -> &'static str {
        BUILTIN
    }

    /// The catalog with the lines of a table over its own. A line of a known name changes the keys that it has and
    /// keeps the others, but says anew where its figures come from. Lines of new names are added.
    ///
    /// # Errors
    /// [`CatalogError`] with line, key, value and what is accepted.
    pub fn with(mut self, text: &str) -> Result<Self, CatalogError> {
        let mut shares = Vec::new();
        for Line { line, kind, name, apply } in lines(text)? {
            let old = self.parts.remove(&name);
            if let Some(old) = old.as_ref().filter(|old| old.kind != kind) {
                let accepted = format!("the name is that of a {}: write another", old.kind);
                return Err(CatalogError {
                    line,
                    key: "name".to_owned(),
                    value: format!("{name:?}"),
                    problem: "is taken".to_owned(),
                    accepted,
                });
            }
            let part = apply(old.unwrap_or_else(|| Part::new(kind, &name)))?;
            if part.share_of.is_some() {
                shares.push((line, name.clone()));
            }
            self.parts.insert(name, part);
        }
        self.settle_shares(&shares)?;
        Ok(self)
    }

    /// Prices that are a share of another part's.
    fn settle_shares(&mut self, lines: &[(usize, String)]) -> Result<(), CatalogError> {
        let shared: Vec<(String, PriceShare)> = self
            .parts
            .values()
            .filter_map(|part| part.share_of.clone().map(|share| (part.name.clone(), share)))
            .collect();
        for (name, share) in shared {
            let whole = self.parts.get(&share.of).filter(|whole| whole.share_of.is_none());
            let Some((usd, is_assumed)) = whole.map(|whole| (whole.usd, whole.is_usd_assumed)) else {
                let line = lines.iter().find(|(_, written)| *written == name).map_or(1, |(line, _)| *line);
                return Err(CatalogError {
                    line,
                    key: "share_of".to_owned(),
                    value: format!("{:?}", share.of),
                    problem: "is no part with a price of its own".to_owned(),
                    accepted: "write the name of a line that has `usd`".to_owned(),
                });
            };
            let part = self.parts.get_mut(&name).expect("the name was listed above");
            part.usd = usd * share.share;
            part.is_usd_assumed = share.is_assumed || is_assumed;
        }
        Ok(())
    }

    /// All parts of a kind, by name.
    pub fn parts(&self, kind: PartKind) -> impl Iterator<Item = &Part> {
        self.parts.values().filter(move |part| part.kind == kind)
    }

    /// A part of a kind by name.
    pub fn part(&self, kind: PartKind, name: &str) -> Option<&Part> {
        self.parts.get(name).filter(|part| part.kind == kind)
    }

    /// The cheapest switch of so many ports of a rate; one whose price has a source comes before those assumed.
    pub fn switch_of(&self, ports: u32, rate: Rate) -> Option<&Part> {
        self.cheapest(PartKind::Switch, ports, rate)
    }

    /// The cheapest NIC of so many ports of a rate; one whose price has a source comes before those assumed.
    pub fn nic_of(&self, ports: u32, rate: Rate) -> Option<&Part> {
        self.cheapest(PartKind::Nic, ports, rate)
    }

    fn cheapest(&self, kind: PartKind, ports: u32, rate: Rate) -> Option<&Part> {
        let fitting = self.parts(kind).filter(|part| part.ports == ports && part.rate == rate);
        fitting.min_by(|a, b| a.is_usd_assumed.cmp(&b.is_usd_assumed).then(a.usd.total_cmp(&b.usd)))
    }
}
