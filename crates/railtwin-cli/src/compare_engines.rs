//! What `railtwin compare` says of two runs that different engines made.
use std::collections::BTreeMap;

use railtwin_records::{ColumnData, Table};
use railtwin_scenario::{EngineName, Scenario};
use railtwin_store::compare::FigureComparison;
use railtwin_store::{RunFolder, RunInfo, StoreError};
use serde_json::{Value, json};

use crate::units;

/// Two runs by different engines.
pub(crate) struct Engines {
    /// Whether the scenarios say the same but for the engine and what is expected of it; none where one of them cannot be read.
    same_scenario: Option<bool>,
    names: [String; 2],
    links: Option<LinkBytes>,
}

/// Bytes over the links of the network.
struct LinkBytes {
    /// Of all links, in both runs.
    sums: [u64; 2],
    /// The link on which the runs are furthest apart, and its bytes in both; none where they are nowhere.
    furthest: Option<(String, [u64; 2])>,
}

impl Engines {
    /// What there is to say; none where one engine made both.
    ///
    /// # Errors
    /// Those of reading either run.
    pub(crate) fn of(folders: [&RunFolder; 2], infos: [&RunInfo; 2]) -> Result<Option<Self>, StoreError> {
        let [left, right] = infos;
        if left.engine == right.engine {
            return Ok(None);
        }
        let mut scenarios = Vec::new();
        let mut tables = Vec::new();
        for folder in folders {
            scenarios.extend(
                Scenario::parse("scenario.toml", &folder.scenario()?)
                    // Each engine has expectations of its own.
                    .map(|s| Scenario { engine: EngineName::Flow, expect: BTreeMap::new(), ..s }),
            );
            if folder.table_names()?.iter().any(|name| name == "links") {
                tables.push(folder.table("links")?);
            }
        }
        let same_scenario = match &scenarios[..] {
            [left, right] => Some(left == right),
            _ => None,
        };
        let links = match &tables[..] {
            [left, right] => LinkBytes::of(left, right),
            _ => None,
        };
        let names = infos.map(|info| info.engine.clone());
        Ok(Some(Self { same_scenario, names, links }))
    }

    /// The first line.
    pub(crate) fn text(&self) -> String {
        let [left, right] = &self.names;
        let of = match self.same_scenario {
            Some(true) => "one scenario",
            Some(false) => "two scenarios",
            None => "two runs",
        };
        format!("{of}, two engines: A by {left}, B by {right}")
    }

    /// The bytes of all links as a figure.
    pub(crate) fn link_bytes(&self) -> Option<FigureComparison> {
        let [left, right] = self.links.as_ref()?.sums;
        let values = [left as f64, right as f64];
        Some(FigureComparison {
            name: "link_bytes".to_owned(),
            unit: "bytes".to_owned(),
            right_unit: None,
            left: Some(values[0]),
            right: Some(values[1]),
            left_reason: String::new(),
            right_reason: String::new(),
            difference: Some(values[1] - values[0]),
            ratio: (left > 0).then(|| values[1] / values[0]),
            same: left == right,
        })
    }

    /// Where the runs are furthest apart; none where no link says so.
    pub(crate) fn furthest_text(&self) -> Option<String> {
        let (link, [left, right]) = self.links.as_ref()?.furthest.as_ref()?;
        let shown = |bytes: u64| units::shown(Some(bytes as f64), "bytes");
        Some(format!("furthest apart is the link {link}: {} | {}", shown(*left), shown(*right)))
    }

    /// The same as JSON.
    pub(crate) fn json(&self) -> Value {
        let links = self.links.as_ref().map(|links| {
            let furthest = links.furthest.as_ref();
            let furthest =
                furthest.map(|(link, [left, right])| json!({ "link": link, "left": left, "right": right }));
            json!({ "left": links.sums[0], "right": links.sums[1], "furthest": furthest })
        });
        json!({ "same_scenario": self.same_scenario, "link_bytes": links })
    }
}

impl LinkBytes {
    /// Both `links` tables; none where they are of different networks.
    fn of(left: &Table, right: &Table) -> Option<Self> {
        let same = |name| left.column(name).is_some() && left.column(name) == right.column(name);
        let (Some(ColumnData::U64(a)), Some(ColumnData::U64(b))) =
            (left.column("bytes"), right.column("bytes"))
        else {
            return None;
        };
        if !["link", "source", "target"].into_iter().all(same) {
            return None;
        }
        let pairs = || a.iter().copied().zip(b.iter().copied()).enumerate();
        let furthest = pairs().filter(|(_, (a, b))| a != b);
        // The first of those that are equally far.
        let furthest = furthest.rev().max_by_key(|(_, (a, b))| a.abs_diff(*b));
        let name = |row| Some(format!("{} to {}", text(left, "source", row)?, text(left, "target", row)?));
        Some(Self {
            sums: [a.iter().sum(), b.iter().sum()],
            furthest: furthest.and_then(|(row, (a, b))| Some((name(row)?, [a, b]))),
        })
    }
}

fn text<'a>(table: &'a Table, column: &str, row: usize) -> Option<&'a str> {
    match table.column(column)? {
        ColumnData::Text { dictionary, codes } => {
            dictionary.get(*codes.get(row)? as usize).map(String::as_str)
        }
        _ => None,
    }
}

/// The runs with names that tell them apart: with the engine where that is all that does.
pub(crate) fn told_apart(infos: [&RunInfo; 2]) -> [RunInfo; 2] {
    let [left, right] = infos;
    let engine = left.name == right.name && left.engine != right.engine;
    infos.map(|info| {
        let mut info = info.clone();
        if engine {
            info.name = format!("{} ({} engine)", info.name, info.engine);
        }
        info
    })
}
