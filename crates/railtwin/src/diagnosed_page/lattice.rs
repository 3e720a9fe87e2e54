//! The lattice of a hang as the page reads it: columns of ranks, rows of communicators, cells, and what is open or missing in
//! those that do not go on.
use std::collections::BTreeMap;

use railtwin_diagnosis::hang::dumps::{Cell, CellState, Lattice};
use railtwin_records::{Component, Finding};
use serde_json::{Value, json};

use crate::columns::PageTable;

/// Ranks for whom one waits that are named.
const NAMED: usize = 8;
/// Marks of ranks: named by a finding that accuses, by one that does not.
const CULPRIT: u8 = 2;
const SUSPECT: u8 = 1;

/// The section.
pub(super) fn data(lattice: &Lattice, findings: &[Finding]) -> Value {
    let marks = marks(findings);
    let ranks = &lattice.ranks;
    let waits: Vec<String> = ranks
        .iter()
        .map(|rank| {
            let named: Vec<String> = rank.waits_for.iter().take(NAMED).map(u32::to_string).collect();
            let more = rank.waits_for.len().saturating_sub(named.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{}{more}", named.join(", "))
        })
        .collect();
    let mark: Vec<u32> =
        ranks.iter().map(|rank| marks.get(&rank.rank).copied().unwrap_or(0).into()).collect();
    let columns = PageTable::new(ranks.len())
        .u32("rank", &ranks.iter().map(|rank| rank.rank).collect::<Vec<_>>())
        .u32("mark", &mark)
        .text("standing", ranks.iter().map(|rank| rank.standing.as_str()))
        .text("waits_for", waits.iter().map(String::as_str))
        .finish();
    let mut kinds: Vec<&str> = Vec::new();
    let of_kind: Vec<u32> = lattice
        .groups
        .iter()
        .map(|group| {
            let known = kinds.iter().position(|kind| *kind == group.kind);
            known.unwrap_or_else(|| {
                kinds.push(&group.kind);
                kinds.len() - 1
            }) as u32
        })
        .collect();
    let rows = PageTable::new(lattice.groups.len())
        .text("name", lattice.groups.iter().map(|group| group.name.as_str()))
        .u32("kind", &of_kind)
        .u32("ranks", &lattice.groups.iter().map(|group| group.ranks as u32).collect::<Vec<_>>())
        .finish();
    let state =
        |cell: &Cell| CellState::ALL.iter().position(|state| *state == cell.state).unwrap_or(0) as u32;
    let cells = PageTable::new(lattice.cells.len())
        .u32("rank", &lattice.cells.iter().map(|cell| cell.rank).collect::<Vec<_>>())
        .u32("group", &lattice.cells.iter().map(|cell| cell.group).collect::<Vec<_>>())
        .u32("state", &lattice.cells.iter().map(state).collect::<Vec<_>>())
        .finish();
    json!({
        "states": CellState::ALL.map(CellState::name),
        "kinds": kinds,
        "unused": lattice.unused,
        "ranks": columns,
        "groups": rows,
        "cells": cells,
        "open": open(lattice),
    })
}

/// What is open or missing, for the cells that have something.
fn open(lattice: &Lattice) -> Value {
    let told: Vec<(u32, &Cell, _)> = (0_u32..)
        .zip(&lattice.cells)
        .filter_map(|(row, cell)| Some((row, cell, cell.operation.as_ref()?)))
        .collect();
    let number = |value: Option<u64>| value.map_or(f64::NAN, |value| value as f64);
    let started = |told: Option<bool>| match told {
        Some(true) => "begun",
        Some(false) => "not begun",
        None => "",
    };
    PageTable::new(told.len())
        .u32("cell", &told.iter().map(|(row, ..)| *row).collect::<Vec<_>>())
        .text("name", told.iter().map(|(.., open)| open.name.as_str()))
        .f64("sequence", &told.iter().map(|(.., open)| open.sequence as f64).collect::<Vec<_>>())
        .f64("count", &told.iter().map(|(.., open)| open.count as f64).collect::<Vec<_>>())
        .text("started", told.iter().map(|(.., open)| started(open.started)))
        .text("frame", told.iter().map(|(.., open)| open.frame.as_deref().unwrap_or("")))
        .f64("enqueued", &told.iter().map(|(_, cell, _)| number(cell.last[0])).collect::<Vec<_>>())
        .f64("ended", &told.iter().map(|(_, cell, _)| number(cell.last[1])).collect::<Vec<_>>())
        .finish()
}

/// Ranks that findings of hangs name.
fn marks(findings: &[Finding]) -> BTreeMap<u32, u8> {
    let mut marks = BTreeMap::new();
    for finding in findings.iter().filter(|finding| finding.evidence.iter().any(|line| line.table == "dumps"))
    {
        let mark = if finding.accuses() { CULPRIT } else { SUSPECT };
        for suspect in &finding.suspects {
            if let Component::Rank(name) = &suspect.component
                && let Some(rank) = name.rsplit('/').next().and_then(|rank| rank.parse::<u32>().ok())
            {
                let known = marks.entry(rank).or_insert(mark);
                *known = mark.max(*known);
            }
        }
    }
    marks
}
