//! Flows and their paths as the page's tables: who sends to whom over which links, and what moved after a fault.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_engine::lower::FlowPath;
use railtwin_engine::{Case, Incident, IncidentKind, RunLog};
use railtwin_fabric::{CableClass, DeviceId, Fabric, LinkId, NONE};
use railtwin_units::{SimTime, stream};
use serde_json::{Value, json};

use crate::columns::{PageTable, lists};
use crate::moves::{Epoch, Move, Moves};

/// Flows that a page lists at most; about 100 bytes each.
pub const FLOWS_MAX: usize = 12_000;
/// Moves that a page lists at most, over all epochs; their flows are among those listed.
pub const MOVES_MAX: usize = 5_000;
/// Links of a flow up to which so many are listed; of longer ones, which packets are spread over, fewer.
const LINKS_EACH: usize = 8;

/// Flows and moves as the page lists them.
#[derive(Debug)]
pub struct Paths<'a> {
    case: &'a Case,
    log: &'a RunLog,
    flows: &'a [FlowPath],
    moves: &'a Moves,
    /// Rows of `flows` that are listed, ascending.
    listed: Vec<u32>,
    /// Epoch (from 1) and move of those that are listed.
    listed_moves: Vec<(u32, &'a Move)>,
    /// Row of the page's table of links, by link id.
    link_rows: &'a [u32],
}

/// Flows being chosen until there is no room.
#[derive(Debug)]
struct Choice<'a> {
    flows: &'a [FlowPath],
    link_rows: &'a [u32],
    chosen: Vec<bool>,
    /// By row of the page's links: a chosen flow crosses it.
    covered: Vec<bool>,
    room: usize,
}

impl Choice<'_> {
    /// Takes a flow, unless it is taken or there is no room.
    fn take(&mut self, flow: u32) {
        if self.room == 0 || self.chosen[flow as usize] {
            return;
        }
        (self.chosen[flow as usize], self.room) = (true, self.room - 1);
        for link in &self.flows[flow as usize].links {
            self.covered[self.link_rows[link.index()] as usize] = true;
        }
    }

    /// Whether a flow crosses a link of a class that no chosen flow crosses, and there is room for it.
    fn adds(&self, case: &Case, flow: u32, class: CableClass) -> bool {
        let bare = |link: &LinkId| {
            case.fabric.cable_class(link.cable()) == class
                && !self.covered[self.link_rows[link.index()] as usize]
        };
        self.room > 0 && self.flows[flow as usize].links.iter().any(bare)
    }
}

/// Bytes that a flow carries in the run, under a static split; a dynamic one shifts them between the queue pairs
/// of a connection.
pub fn bytes_of(log: &RunLog, flow: &FlowPath) -> f64 {
    log.pattern_bytes[flow.pattern as usize] * flow.share
}

impl<'a> Paths<'a> {
    /// Chooses what is listed: flows that moved; then, from the top tier down, the largest flow over each link that
    /// has none listed yet; then the largest. Among equals a draw that is the same every time, so that they come from
    /// everywhere. `link_rows` is [`crate::map::Map::link_rows`].
    pub fn new(
        case: &'a Case,
        log: &'a RunLog,
        flows: &'a [FlowPath],
        moves: &'a Moves,
        link_rows: &'a [u32],
    ) -> Self {
        let bytes: Vec<f64> = flows.iter().map(|flow| bytes_of(log, flow)).collect();
        let larger = |&a: &u32, &b: &u32| {
            bytes[b as usize]
                .total_cmp(&bytes[a as usize])
                .then_with(|| stream::mix(a.into()).cmp(&stream::mix(b.into())))
        };
        let longest = flows.iter().map(|flow| flow.links.len()).max().unwrap_or(0).max(LINKS_EACH);
        let mut listed_moves = listed_moves(&moves.epochs, MOVES_MAX * LINKS_EACH / longest, larger);
        listed_moves.sort_by_key(|&(epoch, found)| (epoch, found.flow));
        let mut choice = Choice {
            flows,
            link_rows,
            chosen: vec![false; flows.len()],
            covered: vec![false; link_rows.len()],
            room: FLOWS_MAX * LINKS_EACH / longest,
        };
        listed_moves.iter().for_each(|(_, found)| choice.take(found.flow));
        let mut order: Vec<u32> = (0..flows.len() as u32).collect();
        order.sort_unstable_by(larger);
        for class in [CableClass::SpineCore, CableClass::LeafSpine, CableClass::Access] {
            for &flow in &order {
                if choice.adds(case, flow, class) {
                    choice.take(flow);
                }
            }
        }
        order.iter().for_each(|&flow| choice.take(flow));
        let listed = (0..flows.len() as u32).filter(|&row| choice.chosen[row as usize]).collect();
        Self { case, log, flows, moves, listed, listed_moves, link_rows }
    }

    /// The page's `flows`.
    pub fn flows(&self) -> Value {
        let flows: Vec<&FlowPath> = self.listed.iter().map(|&row| &self.flows[row as usize]).collect();
        let fabric = &self.case.fabric;
        let mut names: BTreeMap<DeviceId, String> = BTreeMap::new();
        for device in flows.iter().flat_map(|flow| [flow.source, flow.target]) {
            names.entry(device).or_insert_with(|| fabric.device_name(device));
        }
        let host = |device: DeviceId| fabric.host_of(device).map_or(NONE, |host| host.0);
        let column = |of: &dyn Fn(&FlowPath) -> u32| flows.iter().map(|flow| of(flow)).collect::<Vec<u32>>();
        let of_pattern: Vec<(&str, String)> = pattern_words(self.case);
        let bytes: Vec<f64> = flows.iter().map(|flow| bytes_of(self.log, flow)).collect();
        let mut value = PageTable::new(flows.len())
            .text("job", flows.iter().map(|flow| of_pattern[flow.pattern as usize].0))
            .text("operation", flows.iter().map(|flow| of_pattern[flow.pattern as usize].1.as_str()))
            .u32("pattern", &column(&|flow| flow.pattern))
            .text("source", flows.iter().map(|flow| names[&flow.source].as_str()))
            .text("target", flows.iter().map(|flow| names[&flow.target].as_str()))
            .u32("source_host", &column(&|flow| host(flow.source)))
            .u32("target_host", &column(&|flow| host(flow.target)))
            .u32("queue_pair", &column(&|flow| flow.queue_pair))
            .u32("source_port", &column(&|flow| flow.source_port.into()))
            .u32("landed_port", &column(&|flow| flow.landed_port))
            .f64("bytes", &bytes)
            .finish();
        value["total"] = json!(self.flows.len());
        value["total_bytes"] = json!(self.flows.iter().map(|flow| bytes_of(self.log, flow)).sum::<f64>());
        value["path"] = self.ragged(flows.iter().map(|flow| &flow.links[..]));
        value
    }

    /// The page's `moves`; none where no incident changed routes.
    pub fn moves(&self) -> Option<Value> {
        if self.moves.epochs.is_empty() && self.moves.left_out == 0 {
            return None;
        }
        let row = |found: &Move| {
            self.listed.binary_search(&found.flow).expect("flows of listed moves are listed") as u32
        };
        let moves = &self.listed_moves;
        let mut value = PageTable::new(moves.len())
            .u32("epoch", &moves.iter().map(|(epoch, _)| *epoch).collect::<Vec<_>>())
            .u32("flow", &moves.iter().map(|(_, found)| row(found)).collect::<Vec<_>>())
            .finish();
        value["before"] = self.ragged(moves.iter().map(|(_, found)| &found.before[..]));
        value["after"] = self.ragged(moves.iter().map(|(_, found)| &found.after[..]));
        value["epochs"] = self.moves.epochs.iter().map(|epoch| self.epoch(epoch)).collect();
        value["left_out"] = json!(self.moves.left_out);
        Some(value)
    }

    fn epoch(&self, epoch: &Epoch) -> Value {
        let what: Vec<String> =
            self.log.incidents[epoch.incidents.clone()].iter().map(|i| words(self.case, i)).collect();
        json!({
            "at_ps": epoch.at.ps() as f64,
            "routes_ps": self.routes_complete(epoch.at).ps() as f64,
            "what": what.join(", "),
            "stayed": epoch.stayed, "moved": epoch.moved, "lost": epoch.lost, "found": epoch.found,
        })
    }

    /// When all switches follow what happened to cables at `at`, at the latest.
    fn routes_complete(&self, at: SimTime) -> SimTime {
        let here = self.case.faults.iter().filter(|fault| fault.at == at);
        let after = here.map(|fault| self.case.reaction.complete_after(at, fault.state));
        after.max().unwrap_or(at)
    }

    /// Lists of different lengths. Each row once in a list, as packets may be spread over parallel cables, which share
    /// one.
    fn ragged<'b>(&self, all: impl Iterator<Item = &'b [LinkId]>) -> Value {
        let mut seen = BTreeSet::new();
        let rows: Vec<Vec<u32>> = all
            .map(|list| {
                seen.clear();
                let rows = list.iter().map(|link| self.link_rows[link.index()]);
                rows.filter(|&row| seen.insert(row)).collect()
            })
            .collect();
        lists(rows.iter().map(Vec::as_slice))
    }
}

/// What an incident did, in words.
pub fn words(case: &Case, incident: &Incident) -> String {
    let (fabric, what) = (&case.fabric, incident.kind.name());
    match incident.kind {
        IncidentKind::Down(cable) | IncidentKind::Up(cable) => format!("{} {what}", fabric.cable_name(cable)),
        IncidentKind::Paused(link) => {
            let ends = [fabric.source(link), fabric.target(link)].map(|device| fabric.device_name(device));
            format!("link from {} to {} {what}", ends[0], ends[1])
        }
        IncidentKind::Filled(row) => format!("buffer of {} {what}", switch_name(fabric, row)),
        other => {
            let job = other.job().and_then(|job| case.work.jobs.get(job as usize));
            job.map_or_else(|| what.to_owned(), |job| format!("{} {what}", job.name))
        }
    }
}

/// The name of a switch by its row; empty where there is none of that row.
pub fn switch_name(fabric: &Fabric, row: u32) -> String {
    fabric.switches().get(row as usize).map_or_else(String::new, |&(device, _)| fabric.device_name(device))
}

/// The largest moves of each epoch, the room shared evenly between epochs that need it.
fn listed_moves(
    epochs: &[Epoch],
    most: usize,
    larger: impl Fn(&u32, &u32) -> std::cmp::Ordering,
) -> Vec<(u32, &Move)> {
    let mut by_size: Vec<(usize, &Epoch)> = epochs.iter().enumerate().collect();
    by_size.sort_by_key(|(number, epoch)| (epoch.moves.len(), *number));
    let (mut room, mut listed) = (most, Vec::new());
    for (done, &(number, epoch)) in by_size.iter().enumerate() {
        let share = room / (by_size.len() - done);
        let mut moves: Vec<&Move> = epoch.moves.iter().collect();
        if share < moves.len() {
            moves.sort_by(|a, b| larger(&a.flow, &b.flow));
            moves.truncate(share);
        }
        room -= moves.len();
        listed.extend(moves.into_iter().map(|found| (number as u32 + 1, found)));
    }
    listed
}

/// Job and operation of each pattern of the case, in words.
pub(crate) fn pattern_words(case: &Case) -> Vec<(&str, String)> {
    let jobs = case.work.jobs.iter();
    jobs.flat_map(|job| {
        job.plan.patterns.iter().map(move |pattern| {
            let (axis, kind) = (pattern.axis.name(), pattern.collective.name());
            let axis = axis.replace('_', "+").to_uppercase();
            let text = if axis == "OTHER" { kind.to_owned() } else { format!("{axis} {kind}") };
            (job.name.as_str(), text)
        })
    })
    .collect()
}
