//! Moments of a timeline, and what cables of NICs and cables between switches have in common.
use std::collections::BTreeMap;

use railtwin_fabric::{CableId, DeviceId, DeviceKind, Fabric, LinkId};
use railtwin_routing::protocol::set::DualTor;
use railtwin_routing::protocol::spread::followed;
use railtwin_units::{SimTime, TimeRange};

use super::{CableState, Fault, Reaction, Ways};

/// Whose knowledge changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum View {
    /// All traffic.
    All,
    /// What is routed.
    Routed,
    /// What a leaf bridges between NICs of its own, without an ARP proxy.
    Bridged,
}

/// What happens at a moment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Change {
    /// The fault itself: nothing but a note.
    Struck(CableId, CableState),
    /// From now on these links of a cable carry nothing.
    Dies(CableId, Ways),
    /// From now on they carry.
    Carries(CableId, Ways),
    /// Paths avoid a link.
    Avoided(LinkId, View),
    /// Paths use a link again.
    Used(LinkId, View),
}

/// A change in time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Moment {
    /// When.
    pub at: SimTime,
    /// What.
    pub change: Change,
}

/// What a network is and how it reacts: all that a timeline follows from but the faults.
#[derive(Clone, Copy, Debug)]
pub struct FaultedNetwork<'a> {
    /// The fabric.
    pub fabric: &'a Fabric,
    /// Spans of the stages.
    pub reaction: &'a Reaction,
    /// The leaves that hosts are bonded to.
    pub set: &'a DualTor,
    /// Of the replicate: what the reaction has as ranges is drawn from it.
    pub seed: u64,
}

/// What is drawn for the faults of one cable: names go by the cable and the moment, so that one more fault elsewhere
/// changes nothing here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lots {
    pub(super) seed: u64,
    pub(super) cable: CableId,
}

impl Lots {
    /// The time that `stage` takes after what happened at `at`.
    pub(super) fn draw(self, stage: &str, at: SimTime, range: TimeRange) -> SimTime {
        range.draw(self.seed, || format!("reaction/{stage}/{}/{}", self.cable.0, at.ps()))
    }

    /// The same where each of the cable's links has its own.
    pub(super) fn draw_of(self, link: LinkId, stage: &str, at: SimTime, range: TimeRange) -> SimTime {
        range.draw(self.seed, || format!("reaction/{stage}/link/{}/{}", link.0, at.ps()))
    }
}

/// Events of each cable, in order of time.
pub(super) type Lives = BTreeMap<CableId, Vec<Fault>>;

pub(super) fn lives(faults: &[Fault]) -> Lives {
    let mut sorted = faults.to_vec();
    sorted.sort_by_key(|fault| (fault.cable, fault.at));
    sorted.chunk_by(|a, b| a.cable == b.cable).map(|life| (life[0].cable, life.to_vec())).collect()
}

/// Spans of time, each from its first moment to the one after its last.
pub(super) type Spans = Vec<(SimTime, SimTime)>;

/// Spans in order of time, with those joined that touch; empty ones are left out.
pub(super) fn joined(spans: impl IntoIterator<Item = (SimTime, SimTime)>) -> Spans {
    let mut all: Spans = spans.into_iter().filter(|(from, until)| from < until).collect();
    all.sort_unstable();
    let mut joined: Spans = Vec::new();
    for (from, until) in all {
        match joined.last_mut() {
            Some(last) if last.1 >= from => last.1 = last.1.max(until),
            _ => joined.push((from, until)),
        }
    }
    joined
}

/// When a link's cable has a state that takes it.
pub(super) fn taken(life: &[Fault], link: LinkId) -> impl Iterator<Item = (SimTime, SimTime)> {
    life.iter()
        .enumerate()
        .filter(move |(_, fault)| fault.state.takes(link))
        .map(|(row, fault)| (fault.at, life.get(row + 1).map_or(SimTime::NEVER, |next| next.at)))
}

/// The first moment of the trouble that a moment is in: when the cable was last well until.
pub(super) fn began(life: &[Fault], at: SimTime) -> SimTime {
    let so_far = life.partition_point(|fault| fault.at <= at);
    let trouble = life[..so_far].iter().rev().skip_while(|fault| fault.state == CableState::Up);
    trouble.take_while(|fault| fault.state != CableState::Up).last().map_or(SimTime::ZERO, |fault| fault.at)
}

/// Notes when the links of a cable carry nothing: `forward` and `backward`, both joined.
pub(super) fn dies(cable: CableId, forward: &Spans, backward: &Spans, moments: &mut Vec<Moment>) {
    let mut note = |of: &dyn Fn(&(SimTime, SimTime)) -> SimTime, change: &dyn Fn(CableId, Ways) -> Change| {
        let mut ways: BTreeMap<SimTime, Ways> =
            forward.iter().map(|span| (of(span), Ways::Forward)).collect();
        for at in backward.iter().map(of) {
            ways.entry(at).and_modify(|ways| *ways = Ways::Both).or_insert(Ways::Backward);
        }
        let real = ways.into_iter().filter(|(at, _)| *at < SimTime::NEVER);
        moments.extend(real.map(|(at, ways)| Moment { at, change: change(cable, ways) }));
    };
    note(&|span| span.0, &Change::Dies);
    note(&|span| span.1, &Change::Carries);
}

/// A stretch in which a link is not to be used, and who learns of it when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unused {
    pub(super) from: SimTime,
    /// When paths avoid it.
    pub(super) avoided: SimTime,
    /// When it is well again.
    pub(super) until: SimTime,
    /// Then, until paths use it.
    pub(super) returns: SimTime,
}

/// When a link is avoided, and used again. A link that is well again before its loss is known was never avoided; one that
/// is lost again before it is used stays avoided.
pub(super) fn avoidances(unused: &[Unused]) -> Spans {
    let mut spans: Spans = Vec::new();
    for &Unused { from, avoided, until, returns } in unused {
        let used = until.saturating_add(returns);
        if let Some(last) = spans.last_mut()
            && last.1 >= from
        {
            last.1 = used;
            continue;
        }
        let avoided = if from == SimTime::ZERO { from } else { avoided };
        if avoided < until {
            spans.push((avoided, used));
        }
    }
    spans
}

/// Notes that paths avoid a link in these spans.
pub(super) fn avoid(link: LinkId, view: View, spans: &Spans, moments: &mut Vec<Moment>) {
    for &(avoided, used) in spans {
        moments.push(Moment { at: avoided, change: Change::Avoided(link, view) });
        if used < SimTime::NEVER {
            moments.push(Moment { at: used, change: Change::Used(link, view) });
        }
    }
}

/// How long a change of routes that a link's fault at `from` brings about takes from its switch to all others.
pub(super) fn spreads(network: &FaultedNetwork<'_>, link: LinkId, from: SimTime, stage: &str) -> SimTime {
    let FaultedNetwork { fabric, reaction, seed, .. } = *network;
    let lots = Lots { seed, cable: link.cable() };
    let Some(hop) = reaction.hop else {
        return lots.draw_of(link, stage, from, reaction.convergence);
    };
    let between = |near: DeviceId, far: DeviceId| {
        lots.draw_of(link, &format!("{stage}/{}/{}", near.0, far.0), from, hop)
    };
    let switches = [fabric.source(link), fabric.target(link)];
    let origin = switches.into_iter().find(|&device| fabric.kind(device) == DeviceKind::Switch);
    let times = origin.map(|origin| followed(fabric, origin, between));
    times.and_then(|times| times.into_values().max()).unwrap_or(SimTime::ZERO)
}

/// Whether other cables join the same two devices as a link's.
pub(super) fn has_parallel(fabric: &Fabric, link: LinkId) -> bool {
    let (source, target) = (fabric.source(link), fabric.target(link));
    debug_assert_ne!(fabric.kind(source), DeviceKind::Gpu);
    fabric.neighbors(source).iter().filter(|(_, far)| *far == target).count() > 1
}
