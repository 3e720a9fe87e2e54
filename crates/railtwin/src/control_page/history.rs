//! A run's controllers once more: what hosts and leaves held, and on which paths queue pairs were, at each time at which
//! that changed.
//!
//! Engines keep decisions, not the paths that came of them. Without feedback what controllers are told depends on faults
//! alone, never on what the work does, so the same mediator over the same timeline makes the same decisions here; with
//! it the decisions of the log are played.
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use railtwin_control::controller::Action;
use railtwin_control::te::Change;
use railtwin_engine::choose::ChosenPaths;
use railtwin_engine::lower::Lowering;
use railtwin_engine::{ActionRow, Case, Mediator, RunLog};
use railtwin_fabric::{CableClass, Fabric, LinkId};
use railtwin_routing::EntryTable;
use railtwin_units::SimTime;

/// Paths that are computed for all times together.
const PATHS_MAX: usize = 4_000_000;
/// Times that are told.
const STATES_MAX: usize = 1_000;
/// Counts that are told over all times together.
const COUNTS_MAX: usize = 200_000;

/// Counts by place, such as paths by uplink, told as what changed from one state to the next.
#[derive(Clone, PartialEq, Debug)]
pub struct Track {
    /// `start[i]..start[i + 1]` of the rest is what state `i` changed.
    pub start: Vec<u32>,
    /// Where: a row of the page's table of links or devices.
    pub place: Vec<u32>,
    /// What is counted there from then on.
    pub count: Vec<u32>,
}

impl Default for Track {
    fn default() -> Self {
        Self { start: vec![0], place: Vec::new(), count: Vec::new() }
    }
}

/// What is counted at one time, by place; places without anything are left out.
type Counts = BTreeMap<u32, u32>;

impl Track {
    /// Adds a state that has `now` where the one before had `before`.
    fn push(&mut self, before: &Counts, now: &Counts) {
        let gone = before.keys().filter(|place| !now.contains_key(place)).map(|&place| (place, 0));
        let other = now.iter().filter(|(place, count)| before.get(place) != Some(count));
        let mut changes: Vec<(u32, u32)> = other.map(|(&place, &count)| (place, count)).chain(gone).collect();
        changes.sort_unstable();
        self.place.extend(changes.iter().map(|change| change.0));
        self.count.extend(changes.iter().map(|change| change.1));
        self.start.push(self.place.len() as u32);
    }
}

/// What holds at one time.
#[derive(Clone, PartialEq, Debug)]
struct Held {
    pending: u32,
    no_path: u32,
    /// Paths by row of links, of those from leaves up to spines.
    uplinks: Counts,
    /// Entries by row of devices.
    leaves: Counts,
}

/// Links that an action made a queue pair or an entry leave, and those that it took up instead.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Way {
    /// Given up.
    pub left: Vec<LinkId>,
    /// Taken up.
    pub taken: Vec<LinkId>,
}

/// The states of a run, and what each action moved.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct History {
    /// When each state begins; the first at 0.
    pub at: Vec<SimTime>,
    /// Decisions on their way.
    pub pending: Vec<u32>,
    /// Queue pairs without a path.
    pub no_path: Vec<u32>,
    /// Queue pairs by uplink of a leaf, as rows of links.
    pub uplinks: Track,
    /// Entries by leaf, as rows of devices.
    pub leaves: Track,
    /// By row of the actions; nothing where it took no effect in what is told.
    pub ways: Vec<Way>,
    /// Later times at which something changed that are not told, for want of room, and the first of them.
    pub left_out: usize,
    /// From when on nothing is told; none where all is.
    pub until: Option<SimTime>,
}

/// Counts of a fabric by rows of the page.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Row of links by link id.
    pub links: &'a [u32],
    /// Hosts, which stand before switches in the table of devices.
    pub hosts: u32,
}

impl History {
    /// Plays the timeline of a replicate up to the end of its run. `actions` are those of the log and those about hosts.
    pub fn of(
        case: &Case,
        (log, actions): (&RunLog, &[ActionRow]),
        lowering: &Lowering<'_>,
        replicate: u32,
        rows: Rows<'_>,
    ) -> Self {
        let moments = case.timeline(replicate);
        let mut mediator = lowering.mediator(&moments).replaying(&log.actions);
        let mut history = Self { ways: vec![Way::default(); actions.len()], ..Self::default() };
        let queue_pairs = lowering.queue_pair_numbers().len();
        let mut paths_left = PATHS_MAX / queue_pairs.max(1);
        let holding = acting(actions, log.counted());
        let of_hosts: Vec<&ActionRow> = actions.iter().filter(|row| row.is_of_hosts()).collect();
        let mut paths = paths_of(lowering, &mediator);
        let mut held = None;
        let mut surveys = log.surveys.iter();
        let lives: Vec<Range<SimTime>> =
            case.work.jobs.iter().zip(log.job_ends(&case.work)).map(|(job, end)| job.start..end).collect();
        let borders = lives.iter().flat_map(|life| [life.start, life.end]);
        let decided = of_hosts.iter().flat_map(|row| [row.decided, row.effective]);
        let borders: BTreeSet<SimTime> = borders.chain(decided).collect();
        let mut borders = borders.into_iter().filter(|&at| at <= log.counted()).peekable();
        let mut now = SimTime::ZERO;
        let mut changed = true;
        loop {
            for mut survey in mediator.take_surveys() {
                // What was not answered when the run ended is not.
                if let Some(known) = surveys.next() {
                    mediator.answer_as(&mut survey, known);
                }
            }
            let next = mediator.next_time_while(true).filter(|&at| at <= log.counted());
            if next != Some(now) && changed {
                history.keep(now, &mut held, || {
                    state(case, lowering, &mediator, (&paths, &lives, &of_hosts), (now, rows))
                });
            }
            // Jobs that come and go in between, and hosts.
            while let Some(at) = borders.next_if(|&at| next.is_none_or(|next| at < next)) {
                history.keep(at, &mut held, || {
                    state(case, lowering, &mediator, (&paths, &lives, &of_hosts), (at, rows))
                });
            }
            let Some(at) = next else { break };
            changed = (at == now && changed) || borders.next_if_eq(&at).is_some();
            now = at;
            let before = mediator.pending();
            let reroutes = mediator.pass(now).reroutes;
            changed |= reroutes || mediator.pending() != before;
            if reroutes && history.until.is_none() {
                if paths_left == 0 {
                    history.until = Some(now);
                    continue;
                }
                paths_left -= 1;
                let other = paths_of(lowering, &mediator);
                for &row in holding.get(&now).into_iter().flatten() {
                    history.ways[row] = way(&actions[row], &paths, &other);
                }
                paths = other;
            }
        }
        history
    }

    /// Adds what holds from `at` on, if it is not what held before.
    fn keep(&mut self, at: SimTime, before: &mut Option<Held>, now: impl FnOnce() -> Held) {
        let told = self.uplinks.count.len() + self.leaves.count.len();
        if self.until.is_none() && (self.at.len() >= STATES_MAX || told >= COUNTS_MAX) {
            self.until = Some(at);
        }
        if self.until.is_some() {
            self.left_out += 1;
            return;
        }
        let now = now();
        if before.as_ref() == Some(&now) {
            return;
        }
        self.at.push(at);
        self.pending.push(now.pending);
        self.no_path.push(now.no_path);
        let none = Counts::new();
        let [uplinks, leaves] =
            before.as_ref().map_or([&none, &none], |before| [&before.uplinks, &before.leaves]);
        self.uplinks.push(uplinks, &now.uplinks);
        self.leaves.push(leaves, &now.leaves);
        *before = Some(now);
    }
}

fn paths_of(lowering: &Lowering<'_>, mediator: &Mediator<'_>) -> ChosenPaths {
    lowering.paths_by(&mediator.known().routed, mediator.programmed())
}

/// Rows of the actions that take effect while the run goes on, by when. What was decided before it began moved nothing:
/// nobody sent yet.
fn acting(actions: &[ActionRow], until: SimTime) -> BTreeMap<SimTime, Vec<usize>> {
    let mut rows: BTreeMap<SimTime, Vec<usize>> = BTreeMap::new();
    for (row, action) in actions.iter().enumerate() {
        if action.effective > SimTime::ZERO && action.effective <= until {
            rows.entry(action.effective).or_default().push(row);
        }
    }
    rows
}

/// What an action moved: of a queue pair the links in which its path differs, of an entry its next links.
fn way(row: &ActionRow, before: &ChosenPaths, after: &ChosenPaths) -> Way {
    match row.action {
        Action::Path { queue_pair, .. } => {
            let [old, new] = [before, after].map(|paths| paths.path(queue_pair).links);
            let without = |all: &[LinkId], other: &[LinkId]| {
                all.iter().copied().filter(|link| !other.contains(link)).collect()
            };
            Way { left: without(old, new), taken: without(new, old) }
        }
        Action::Entry(Change::Add(entry)) => Way { left: Vec::new(), taken: vec![entry.next] },
        Action::Entry(Change::Replace { was, entry }) => Way { left: vec![was], taken: vec![entry.next] },
        Action::Entry(Change::Remove(entry)) => Way { left: vec![entry.next], taken: Vec::new() },
        _ => Way::default(),
    }
}

/// What holds at `now`, with the queue pairs of the jobs that run then.
fn state(
    case: &Case,
    lowering: &Lowering<'_>,
    mediator: &Mediator<'_>,
    (paths, lives, of_hosts): (&ChosenPaths, &[Range<SimTime>], &[&ActionRow]),
    (now, rows): (SimTime, Rows<'_>),
) -> Held {
    let fabric = &*case.fabric;
    let (mut no_path, mut uplinks) = (0, Counts::new());
    let open = lowering.connections().iter().filter(|one| lives[one.job as usize].contains(&now));
    for queue_pair in open.flat_map(|one| one.first..one.first + one.count) {
        let links = paths.path(queue_pair).links;
        no_path += u32::from(links.is_empty());
        for link in links.iter().filter(|&&link| is_uplink(fabric, link)) {
            *uplinks.entry(rows.links[link.index()]).or_default() += 1;
        }
    }
    let mut leaves = Counts::new();
    for entry in mediator.programmed().entries().into_iter().flat_map(EntryTable::iter) {
        if let Some(leaf) = fabric.switch_row(fabric.target(entry.ingress)) {
            *leaves.entry(rows.hosts + leaf).or_default() += 1;
        }
    }
    // A restart that never comes is on no way.
    let is_pending =
        |row: &&&ActionRow| row.effective != SimTime::NEVER && (row.decided..row.effective).contains(&now);
    let pending = mediator.pending() + of_hosts.iter().filter(is_pending).count();
    Held { pending: pending as u32, no_path, uplinks, leaves }
}

/// Whether a link goes from a leaf up to a spine.
pub(super) fn is_uplink(fabric: &Fabric, link: LinkId) -> bool {
    let tier = |device| fabric.place(device).map_or(0, |place| place.tier);
    fabric.cable_class(link.cable()) == CableClass::LeafSpine
        && tier(fabric.source(link)) < tier(fabric.target(link))
}
