//! What controllers did in a run, as the page reads it: decisions in batches, what each moved, and what hosts and leaves
//! held in time (docs/reference/report-payload.md).
mod history;

use std::collections::BTreeMap;

use railtwin_control::controller::Action;
use railtwin_engine::lower::Lowering;
use railtwin_engine::{ActionRow, Case, RunLog};
use railtwin_fabric::{LinkId, NONE};
use railtwin_units::SimTime;
use serde_json::{Value, json};

use crate::columns::{PageTable, lists, u32_column};
use history::{History, Rows, Track, Way};

/// Batches that a page lists at most.
const BATCHES_MAX: usize = 400;
/// Actions that a page lists at most, over all batches.
const ACTIONS_MAX: usize = 2_000;
/// Links that the batches list at most, all together.
const LINKS_MAX: usize = 40_000;

/// What one controller decided at one time for one reason, and what holds at one time.
#[derive(Debug)]
struct Batch<'a> {
    first: &'a ActionRow,
    /// Rows of the log's actions.
    rows: Vec<usize>,
}

/// The page's `control` of `actions`, in which are those of the log; none where no controller decided anything.
/// `link_rows` is [`crate::map::Map::link_rows`].
///
/// Work: the controllers of the run once more, and the paths of all queue pairs at each time at which they change.
pub fn control(
    case: &Case,
    log: &RunLog,
    actions: &[ActionRow],
    replicate: u32,
    link_rows: &[u32],
) -> Option<Value> {
    if actions.is_empty() {
        return None;
    }
    let lowering = Lowering::new(case, replicate).with_ends(&log.job_ends(&case.work));
    let rows = Rows { links: link_rows, hosts: case.fabric.all_hosts().len() as u32 };
    let history = History::of(case, (log, actions), &lowering, replicate, rows);
    let all = batches(actions);
    let total = all.len();
    let listed = &listed_batches(all, &history)[..];
    Some(json!({
        "total": actions.len(),
        "batches": batch_table(actions, listed, &history, link_rows, total - listed.len()),
        "actions": action_table(case, actions, &lowering, listed, &history, link_rows),
        "states": state_table(&history),
    }))
}

/// Actions that were decided and hold at the same times, by the same controller, of the same kind and for the same
/// reason; in the order of their first.
fn batches(actions: &[ActionRow]) -> Vec<Batch<'_>> {
    let mut known: BTreeMap<(SimTime, SimTime, &str, &str, &str), usize> = BTreeMap::new();
    let mut all: Vec<Batch<'_>> = Vec::new();
    for (row, first) in actions.iter().enumerate() {
        let key = (first.decided, first.effective, first.controller, first.action.name(), first.reason);
        match known.get(&key) {
            Some(&batch) => all[batch].rows.push(row),
            None => {
                known.insert(key, all.len());
                all.push(Batch { first, rows: vec![row] });
            }
        }
    }
    all
}

/// As many as there is room for: before all others those that moved something, hosts too, or were not taken, then the
/// earliest. In
/// the order of before.
fn listed_batches<'a>(all: Vec<Batch<'a>>, history: &History) -> Vec<Batch<'a>> {
    let is_quiet = |batch: &Batch<'_>| {
        let is_empty = |&row: &usize| history.ways[row].left.is_empty() && history.ways[row].taken.is_empty();
        let is_of_paths = !batch.first.is_of_hosts();
        is_of_paths && batch.first.effective != SimTime::NEVER && batch.rows.iter().all(is_empty)
    };
    let mut order: Vec<(bool, usize)> =
        all.iter().enumerate().map(|(number, batch)| (is_quiet(batch), number)).collect();
    order.sort_unstable();
    order.truncate(BATCHES_MAX);
    let mut chosen: Vec<usize> = order.into_iter().map(|(_, number)| number).collect();
    chosen.sort_unstable();
    let mut chosen = chosen.into_iter().peekable();
    let numbered = all.into_iter().enumerate();
    numbered.filter(|(number, _)| chosen.next_if_eq(number).is_some()).map(|(_, batch)| batch).collect()
}

fn batch_table(
    actions: &[ActionRow],
    all: &[Batch<'_>],
    history: &History,
    link_rows: &[u32],
    left_out: usize,
) -> Value {
    let times = |of: fn(&ActionRow) -> SimTime| -> Vec<f64> {
        let ps = |at: SimTime| if at == SimTime::NEVER { f64::NAN } else { at.ps() as f64 };
        all.iter().map(|batch| ps(of(batch.first))).collect()
    };
    let moved = |batch: &Batch<'_>| batch.rows.iter().map(|&row| actions[row].moved).sum();
    let left = Links::of(all, |row| &history.ways[row].left, link_rows);
    let taken = Links::of(all, |row| &history.ways[row].taken, link_rows);
    let mut value = PageTable::new(all.len())
        .f64("decided_ps", &times(|row| row.decided))
        .f64("effective_ps", &times(|row| row.effective))
        .text("controller", all.iter().map(|batch| batch.first.controller))
        .text("action", all.iter().map(|batch| batch.first.action.name()))
        .text("reason", all.iter().map(|batch| batch.first.reason))
        .u32("moved", &all.iter().map(moved).collect::<Vec<u32>>())
        .u32("left_total", &left.totals)
        .u32("taken_total", &taken.totals)
        .finish();
    value["left"] = lists(left.listed.iter().map(Vec::as_slice));
    value["taken"] = lists(taken.listed.iter().map(Vec::as_slice));
    value["left_out"] = json!(left_out);
    value
}

/// Rows of links by batch.
#[derive(Debug)]
struct Links {
    /// Those that most actions of the batch left or took, as far as there is room.
    listed: Vec<Vec<u32>>,
    /// How many there are.
    totals: Vec<u32>,
}

impl Links {
    fn of<'h>(all: &[Batch<'_>], links: impl Fn(usize) -> &'h [LinkId], link_rows: &[u32]) -> Self {
        let room = LINKS_MAX / 2 / all.len().max(1);
        let (mut listed, mut totals) = (Vec::with_capacity(all.len()), Vec::with_capacity(all.len()));
        for batch in all {
            let mut uses: BTreeMap<u32, u32> = BTreeMap::new();
            for &row in &batch.rows {
                for link in row_list(links(row), link_rows) {
                    *uses.entry(link).or_default() += 1;
                }
            }
            let mut most: Vec<u32> = uses.keys().copied().collect();
            most.sort_by_key(|link| (std::cmp::Reverse(uses[link]), *link));
            totals.push(most.len() as u32);
            most.truncate(room);
            listed.push(most);
        }
        Self { listed, totals }
    }
}

/// Rows of links, each once: parallel ones share one.
fn row_list(links: &[LinkId], link_rows: &[u32]) -> Vec<u32> {
    let mut rows: Vec<u32> = Vec::with_capacity(links.len());
    for link in links {
        let row = link_rows[link.index()];
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows
}

/// The actions that are listed: batches share the room evenly, what the small ones do not need is for the large.
fn listed_actions(all: &[Batch<'_>]) -> Vec<(u32, usize)> {
    let mut by_size: Vec<(usize, &Batch<'_>)> = all.iter().enumerate().collect();
    by_size.sort_by_key(|(number, batch)| (batch.rows.len(), *number));
    let (mut room, mut listed) = (ACTIONS_MAX, Vec::new());
    for (done, &(number, batch)) in by_size.iter().enumerate() {
        let share = batch.rows.len().min(room / (by_size.len() - done));
        room -= share;
        listed.extend(batch.rows[..share].iter().map(|&row| (number as u32, row)));
    }
    listed.sort_unstable();
    listed
}

fn action_table(
    case: &Case,
    decided: &[ActionRow],
    lowering: &Lowering<'_>,
    all: &[Batch<'_>],
    history: &History,
    link_rows: &[u32],
) -> Value {
    let listed = listed_actions(all);
    let actions: Vec<&ActionRow> = listed.iter().map(|&(_, row)| &decided[row]).collect();
    let told: Vec<[String; 3]> =
        listed.iter().map(|&(_, row)| words(case, lowering, &decided[row], &history.ways[row])).collect();
    let column = |at: usize| told.iter().map(move |told| told[at].as_str());
    let rows_of = |links: fn(&Way) -> &Vec<LinkId>| {
        let rows: Vec<Vec<u32>> =
            listed.iter().map(|&(_, row)| row_list(links(&history.ways[row]), link_rows)).collect();
        lists(rows.iter().map(Vec::as_slice))
    };
    let mut value = PageTable::new(listed.len())
        .u32("batch", &listed.iter().map(|&(batch, _)| batch).collect::<Vec<_>>())
        .u32("job", &actions.iter().map(|row| row.job.unwrap_or(NONE)).collect::<Vec<_>>())
        .u32("moved", &actions.iter().map(|row| row.moved).collect::<Vec<_>>())
        .text("subject", column(0))
        .text("before", column(1))
        .text("after", column(2))
        .finish();
    value["left"] = rows_of(|way| &way.left);
    value["taken"] = rows_of(|way| &way.taken);
    value
}

/// What an action acts on, what that was and what it is then: as the table `actions` says, a queue pair with its NICs and
/// its cable out of the leaf.
fn words(case: &Case, lowering: &Lowering<'_>, row: &ActionRow, way: &Way) -> [String; 3] {
    let [subject, before, after] = row.told(case);
    let Action::Path { queue_pair, .. } = row.action else { return [subject, before, after] };
    if row.moved > 1 {
        return [subject, before, after];
    }
    let connections = lowering.connections();
    let at = connections.partition_point(|one| one.first <= queue_pair).saturating_sub(1);
    let Some(one) = connections.get(at) else { return [subject, before, after] };
    let [source, target] = [one.source, one.target].map(|nic| case.fabric.device_name(nic));
    let via = |text: String, links: &[LinkId]| {
        let uplink = links.iter().find(|&&link| history::is_uplink(&case.fabric, link));
        match uplink.map(|link| case.fabric.cable_name(link.cable())) {
            Some(cable) if text.is_empty() => cable,
            Some(cable) => format!("{cable}, {text}"),
            None => text,
        }
    };
    let subject = format!("{source} to {target}, {subject}");
    [subject, via(before, &way.left), via(after, &way.taken)]
}

fn state_table(history: &History) -> Value {
    let at: Vec<f64> = history.at.iter().map(|at| at.ps() as f64).collect();
    let mut value = PageTable::new(at.len())
        .f64("at_ps", &at)
        .u32("pending", &history.pending)
        .u32("no_path", &history.no_path)
        .finish();
    value["uplinks"] = track(&history.uplinks);
    value["leaves"] = track(&history.leaves);
    value["left_out"] = json!(history.left_out);
    value["until_ps"] = json!(history.until.map(|at| at.ps() as f64));
    value
}

fn track(track: &Track) -> Value {
    json!({
        "start": u32_column(&track.start),
        "place": u32_column(&track.place),
        "count": u32_column(&track.count),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(at: u64) -> ActionRow {
        ActionRow {
            decided: SimTime::from_ps(at),
            effective: SimTime::from_ps(at),
            controller: "c4p",
            action: Action::Path { queue_pair: 0, source_port: None },
            reason: "least-used",
            job: None,
            before: None,
            moved: 1,
        }
    }

    /// A late decision that moved something is listed though early ones that did not fill the page.
    #[test]
    fn decisions_that_moved_something_are_listed_first() {
        let actions: Vec<ActionRow> = (1..=BATCHES_MAX as u64 + 9).map(row).collect();
        let mut history = History { ways: vec![Way::default(); actions.len()], ..History::default() };
        history.ways[BATCHES_MAX + 4].taken.push(LinkId(1));
        let listed = listed_batches(batches(&actions), &history);
        assert_eq!(listed.len(), BATCHES_MAX);
        let rows: Vec<usize> = listed.iter().map(|batch| batch.rows[0]).collect();
        assert_eq!(
            (rows[0], rows[BATCHES_MAX - 2], rows[BATCHES_MAX - 1]),
            (0, BATCHES_MAX - 2, BATCHES_MAX + 4)
        );
    }

    /// Small batches are listed whole, large ones share what they leave.
    #[test]
    fn batches_share_the_room_for_single_decisions() {
        let actions: Vec<ActionRow> =
            (0..3 * ACTIONS_MAX).map(|at| row(if at < 10 { 1 } else { 2 + (at % 2) as u64 })).collect();
        let all = batches(&actions);
        let listed = listed_actions(&all);
        assert_eq!(listed.len(), ACTIONS_MAX);
        let of = |wanted: u32| listed.iter().filter(|(batch, _)| *batch == wanted).count();
        assert_eq!([of(0), of(1), of(2)], [10, (ACTIONS_MAX - 10) / 2, (ACTIONS_MAX - 10) / 2]);
    }
}
