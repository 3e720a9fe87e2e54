//! What moved after a fault: every queue pair's path before and after each incident.
use railtwin_engine::choose::View;
use railtwin_engine::lower::{FlowPath, Lowering, PathLinks};
use railtwin_engine::{Case, Incident, IncidentKind, Replan, RunLog};
use railtwin_fabric::{Fabric, LinkId};
use railtwin_routing::LinkMask;
use railtwin_units::SimTime;

/// Changes of routes that are looked at; later ones are counted and left out.
const EPOCHS_MAX: usize = 24;
/// Paths that are computed for all changes of routes together.
const PATHS_MAX: usize = 4_000_000;
/// Links up to which a path counts as one.
const LINKS_EACH: usize = 8;

/// A queue pair whose path is another after an incident.
#[derive(Clone, PartialEq, Debug)]
pub struct Move {
    /// Row of the queue pair among the flows before any fault.
    pub flow: u32,
    /// Its links until then; empty where it had no route.
    pub before: Vec<LinkId>,
    /// Its links from then on; empty where no route is left.
    pub after: Vec<LinkId>,
}

/// A time between two changes of routes: what the incidents at its start did to paths.
#[derive(Clone, PartialEq, Debug)]
pub struct Epoch {
    /// When the incidents acted; routes follow after the time that they take to converge.
    pub at: SimTime,
    /// The incidents, as rows of the log.
    pub incidents: std::ops::Range<usize>,
    /// Queue pairs that kept their path, or kept having none.
    pub stayed: usize,
    /// Queue pairs that went to another path.
    pub moved: usize,
    /// Queue pairs that lost their route and found no other.
    pub lost: usize,
    /// Queue pairs that have a route again.
    pub found: usize,
    /// All of those that did not stay, in order of their rows.
    pub moves: Vec<Move>,
}

/// All epochs of a run after the one before any fault.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Moves {
    /// In order of time.
    pub epochs: Vec<Epoch>,
    /// Later changes of routes that were not looked at.
    pub left_out: usize,
}

/// The links that are dead once `incidents`, all from the start of the run, have acted.
pub fn mask_after(fabric: &Fabric, incidents: &[Incident]) -> LinkMask {
    let mut mask = LinkMask::none(fabric);
    for incident in incidents {
        match incident.kind {
            IncidentKind::Down(cable) => mask.set_cable(cable, true),
            IncidentKind::Up(cable) => mask.set_cable(cable, false),
            _ => {}
        }
    }
    mask
}

impl Moves {
    /// Compares the paths of `replicate` before and after each incident of its log; `flows` are its paths before
    /// any fault. Incidents at the same time count as one.
    pub fn of(case: &Case, log: &RunLog, replicate: u32, flows: &[FlowPath]) -> Self {
        let changes = changes(&log.incidents);
        if changes.is_empty() || flows.is_empty() {
            return Self::default();
        }
        // Packets that are spread take many links.
        let links: usize = flows.iter().map(|flow| flow.links.len()).sum();
        let size = flows.len().max(links / LINKS_EACH);
        let kept = changes.len().min(EPOCHS_MAX).min(PATHS_MAX / size);
        let lowering = Lowering::new(case, replicate).with_ends(&log.job_ends(&case.work));
        // What is dead from the start was known to who planned, even where that happens only once.
        let at_start = log.incidents.partition_point(|incident| incident.at == SimTime::ZERO);
        let first = mask_after(&case.fabric, &log.incidents[..at_start]);
        let order = Order::of(flows);
        let mut paths: Vec<PathLinks> = flows.iter().map(|flow| flow.links.clone()).collect();
        let mut epochs = Vec::with_capacity(kept);
        for incidents in &changes[..kept] {
            let mask = mask_after(&case.fabric, &log.incidents[..incidents.end]);
            let planned = if case.routing.replan == Replan::Never { &first } else { &mask };
            let next = order.paths_of(flows, lowering.table_of(View { mask: &mask, planned }, true).1);
            epochs.push(epoch(log.incidents[incidents.start].at, incidents.clone(), &paths, &next));
            paths = next;
        }
        Self { epochs, left_out: changes.len() - kept }
    }
}

/// Whether a cable died or came back: pauses happen to links too, and change no routes.
const fn is_fault(kind: IncidentKind) -> bool {
    matches!(kind, IncidentKind::Down(_) | IncidentKind::Up(_))
}

/// Runs of incidents at the same time, where one of them killed or mended a cable.
fn changes(incidents: &[Incident]) -> Vec<std::ops::Range<usize>> {
    let mut changes: Vec<std::ops::Range<usize>> = Vec::new();
    for (row, incident) in incidents.iter().enumerate() {
        match changes.last_mut() {
            Some(last) if incidents[last.start].at == incident.at => last.end = row + 1,
            _ => changes.push(row..row + 1),
        }
    }
    changes.retain(|rows| incidents[rows.clone()].iter().any(|incident| is_fault(incident.kind)));
    changes
}

fn epoch(at: SimTime, incidents: std::ops::Range<usize>, old: &[PathLinks], new: &[PathLinks]) -> Epoch {
    let mut epoch = Epoch { at, incidents, stayed: 0, moved: 0, lost: 0, found: 0, moves: Vec::new() };
    for (flow, (before, after)) in old.iter().zip(new).enumerate() {
        if before == after {
            epoch.stayed += 1;
            continue;
        }
        *match (before.is_empty(), after.is_empty()) {
            (true, _) => &mut epoch.found,
            (_, true) => &mut epoch.lost,
            _ => &mut epoch.moved,
        } += 1;
        epoch.moves.push(Move { flow: flow as u32, before: before.to_vec(), after: after.to_vec() });
    }
    epoch
}

/// What tells a queue pair from the others of its case, whatever path it takes.
type Key = (u32, u32, u32, u32, u32);

fn key(flow: &FlowPath) -> Key {
    (flow.pattern, flow.bundle, flow.source.0, flow.target.0, flow.queue_pair)
}

/// The rows of the first flows, sorted by their keys: a queue pair without a route has no row in later ones.
#[derive(Debug)]
struct Order(Vec<u32>);

impl Order {
    fn of(flows: &[FlowPath]) -> Self {
        let mut rows: Vec<u32> = (0..flows.len() as u32).collect();
        rows.sort_by_key(|&row| (key(&flows[row as usize]), row));
        Self(rows)
    }

    /// Paths in `now`, in the order of `first`; empty where a queue pair is not in `now`.
    fn paths_of(&self, first: &[FlowPath], mut now: Vec<FlowPath>) -> Vec<PathLinks> {
        now.sort_by_key(key);
        let mut now = now.into_iter().peekable();
        let mut paths = vec![PathLinks::default(); first.len()];
        for &row in &self.0 {
            let wanted = key(&first[row as usize]);
            while now.next_if(|flow| key(flow) < wanted).is_some() {}
            if let Some(flow) = now.next_if(|flow| key(flow) == wanted) {
                paths[row as usize] = flow.links;
            }
        }
        paths
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Question, Run};

    /// Two leaves, two uplinks each; each way a queue pair on both; one uplink down from 50 ms to 160 ms.
    fn run() -> Run {
        let text = "schema = 1\nname = \"moves\"\nrouting = { balancer = \"disjoint\", queue_pairs = 2 }\n\
             [fabric]\npreset = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 1\nuplinks = 2\n\
             host = { model = \"plain\" }\n\
             [[job]]\nhosts = 2\ncollective = { kind = \"send-receive\", bytes = \"10 GB\" }\n\
             [[fault]]\nat = \"50 ms\"\ncable = \"leaf-0:uplink-1\"\nkind = \"down\"\nuntil = \"160 ms\"\n";
        let question = Question::of_text("moves.toml", text, std::path::Path::new("."));
        let point = question.points().unwrap().remove(0);
        Run::of(question.resolve(&point.scenario).unwrap(), &|| ())
    }

    #[test]
    fn a_dead_uplink_moves_its_queue_pair_and_the_repair_moves_it_back() {
        let run = run();
        let moves = run.moves();
        let counts: Vec<_> =
            moves.epochs.iter().map(|e| (e.at.ps(), e.stayed, e.moved, e.lost, e.found)).collect();
        assert_eq!(counts, [(50_000_000_000, 2, 2, 0, 0), (160_000_000_000, 2, 2, 0, 0)]);
        let [down, up] = &moves.epochs[..] else { panic!("{moves:?}") };
        assert_eq!((&down.moves[0].before, &down.moves[0].after), (&up.moves[0].after, &up.moves[0].before));
        let case = &run.resolved.case;
        let log = &run.simulation.as_ref().unwrap().log;
        let dead = mask_after(&case.fabric, &log.incidents[..1]);
        assert!(down.moves[0].before.iter().any(|&link| dead.is_down(link)));
        assert!(!down.moves[0].after.iter().any(|&link| dead.is_down(link)));
        assert_eq!(mask_after(&case.fabric, &log.incidents).down_count(), 0);
    }

    #[test]
    fn a_queue_pair_without_a_route_is_lost_and_found() {
        let run = run();
        let (case, log) = (&run.resolved.case, &run.simulation.as_ref().unwrap().log);
        // The same flows with all but the first gone, as where no route is left.
        let (_, flows) = Lowering::new(case, 0).table(&LinkMask::none(&case.fabric), true);
        let order = Order::of(&flows);
        let all = order.paths_of(&flows, flows.clone());
        let one = order.paths_of(&flows, flows[..1].to_vec());
        let at = log.incidents[0].at;
        let (gone, back) = (epoch(at, 0..1, &all, &one), epoch(at, 0..1, &one, &all));
        assert_eq!((gone.stayed, gone.moved, gone.lost, gone.found), (1, 0, 3, 0));
        assert_eq!((back.stayed, back.moved, back.lost, back.found), (1, 0, 0, 3));
        assert_eq!((gone.moves[0].flow, gone.moves[0].after.len()), (1, 0));
    }

    #[test]
    fn incidents_at_one_time_are_one_change() {
        let run = run();
        let log = &run.simulation.as_ref().unwrap().log;
        let cables = log.incidents.iter().filter(|incident| incident.kind.cable().is_some());
        let incidents: Vec<Incident> = cables.cloned().collect();
        let twice = [incidents[0], incidents[0], incidents[1]];
        assert_eq!(changes(&twice), [0..2, 2..3]);
        assert!(changes(&[]).is_empty());
        let paused = Incident { kind: IncidentKind::Paused(LinkId(0)), ..incidents[0] };
        assert!(changes(&[paused]).is_empty());
    }
}
