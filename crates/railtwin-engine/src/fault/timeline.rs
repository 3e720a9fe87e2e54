//! From faults and the network's reaction to what happens when, in order of time.
//!
//! A cable carries two links, and each is avoided when those who choose it know that it is dead:
//!
//! | dead link | who chooses | avoided after |
//! | --- | --- | --- |
//! | NIC to leaf | the bond of that NIC | `detection + lag_failover` |
//! | switch to a switch above | that switch | `detection + ecmp_regroup` |
//! | switch to a switch below, or to a NIC | everybody, by routes | `detection + withdrawal + convergence` |
//! | the same with another cable between the two | that switch | `detection + ecmp_regroup` |
//!
//! `detection` is of a cable that lost its carrier. One that is silent is given up by each end that hears nothing for
//! itself, after what [`Reaction::silence`] says; it tells the other end, where the way there is not silent too.
//!
//! So one set of avoided links says both what a switch knows of its own ports and what others know by BGP.
use railtwin_fabric::{CableClass, CableId, DeviceId, DeviceKind, Fabric, LinkId};
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

/// A stretch in which a cable does not carry in both directions.
#[derive(Clone, Copy, Debug)]
struct Dark {
    from: SimTime,
    /// When both links carry again.
    until: SimTime,
    /// When the ports that send into the cable forward and backward know of it; [`SimTime::NEVER`] where one does not.
    noticed: [SimTime; 2],
}

/// What is drawn for the faults of one cable: names go by the cable and the moment, so that one more fault elsewhere
/// changes nothing here.
#[derive(Clone, Copy, Debug)]
struct Lots {
    seed: u64,
    cable: CableId,
}

impl Lots {
    /// The time that `stage` takes after what happened at `at`.
    fn draw(self, stage: &str, at: SimTime, range: TimeRange) -> SimTime {
        range.draw(self.seed, || format!("reaction/{stage}/{}/{}", self.cable.0, at.ps()))
    }

    /// The same where each of the cable's links has its own.
    fn draw_of(self, link: LinkId, stage: &str, at: SimTime, range: TimeRange) -> SimTime {
        range.draw(self.seed, || format!("reaction/{stage}/link/{}/{}", link.0, at.ps()))
    }
}

/// Everything that faults bring about, in order of time; `faults` in order of time for each cable. What is
/// down from time zero on was down long before: it is avoided from the start. `seed` is of the replicate: what the
/// reaction has as ranges is drawn from it.
pub fn timeline(fabric: &Fabric, faults: &[Fault], reaction: &Reaction, seed: u64) -> Vec<Moment> {
    let mut sorted = faults.to_vec();
    sorted.sort_by_key(|fault| (fault.cable, fault.at));
    let mut moments = Vec::new();
    for life in sorted.chunk_by(|a, b| a.cable == b.cable) {
        let cable = life[0].cable;
        let lots = Lots { seed, cable };
        moments.extend(
            life.iter().map(|fault| Moment { at: fault.at, change: Change::Struck(cable, fault.state) }),
        );
        let dark = darkness(life, fabric.cable_class(cable) == CableClass::Access, reaction, lots);
        for (ways, from, until) in deaths(life, &dark, fabric.cable_class(cable) == CableClass::Access) {
            moments.push(Moment { at: from, change: Change::Dies(cable, ways) });
            if until < SimTime::NEVER {
                moments.push(Moment { at: until, change: Change::Carries(cable, ways) });
            }
        }
        if fabric.cable_class(cable) < CableClass::Access {
            continue;
        }
        for link in [cable.forward(), cable.backward()] {
            for (view, way, announced) in ways(fabric, link, reaction) {
                let stage = |dark| stage(dark, link, way, announced, reaction, lots);
                let stages: Vec<Stage> = dark.iter().map(stage).collect();
                known(link, view, &dark, &stages, &mut moments);
            }
        }
    }
    moments.sort_unstable();
    moments
}

/// A stretch in which a cable carries nothing, and what passes in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Darkness {
    /// The fault.
    pub from: SimTime,
    /// When the first of its ports knows of it; [`SimTime::NEVER`] where neither does.
    pub noticed: SimTime,
    /// The last repair; [`SimTime::NEVER`] without one. What is left until `until` is LACP, then ARP.
    pub repaired: SimTime,
    /// When both links carry again.
    pub until: SimTime,
}

/// The stretches of a cable, in order of time, for the same faults and seed as [`timeline()`].
pub fn darknesses(
    (fabric, cable): (&Fabric, CableId),
    faults: &[Fault],
    reaction: &Reaction,
    seed: u64,
) -> Vec<Darkness> {
    let mut life: Vec<Fault> = faults.iter().filter(|fault| fault.cable == cable).copied().collect();
    life.sort_by_key(|fault| fault.at);
    let access = fabric.cable_class(cable) == CableClass::Access;
    let dark = darkness(&life, access, reaction, Lots { seed, cable });
    let of = |dark: Dark| {
        let repairs = life.iter().filter(|fault| fault.state == CableState::Up && fault.at <= dark.until);
        let repaired = if dark.until == SimTime::NEVER { None } else { repairs.map(|fault| fault.at).max() };
        Darkness {
            from: dark.from,
            noticed: dark.noticed[0].min(dark.noticed[1]),
            repaired: repaired.unwrap_or(SimTime::NEVER),
            until: dark.until,
        }
    };
    dark.into_iter().map(of).collect()
}

/// When a cable carries nothing: from each fault to its repair, and for the cable of a NIC, once its loss was
/// noticed, until the port is back in its bond. A fault before that begins it anew.
fn darkness(life: &[Fault], access: bool, reaction: &Reaction, lots: Lots) -> Vec<Dark> {
    let mut all: Vec<Dark> = Vec::new();
    let mut begun: Option<usize> = None;
    for (row, fault) in life.iter().enumerate() {
        match (fault.state, begun) {
            (CableState::Down | CableState::Silent(_), None) => {
                begun = Some(row);
                let noticed = notices(&life[row..], access, reaction, lots);
                match all.last_mut() {
                    // The port is not back in its bond yet.
                    Some(last) if last.until >= fault.at => {
                        last.until = SimTime::NEVER;
                        for (at, again) in last.noticed.iter_mut().zip(noticed) {
                            *at = again.min(*at);
                        }
                    }
                    _ => all.push(Dark { from: fault.at, until: SimTime::NEVER, noticed }),
                }
            }
            (CableState::Up, Some(first)) => {
                begun = None;
                let last = all.last_mut().expect("a fault came before its repair");
                let known = last.noticed.iter().any(|&at| at <= fault.at);
                let join = if access && (known || last.from < life[first].at) {
                    reaction.lacp.saturating_add(reaction.arp)
                } else {
                    SimTime::ZERO
                };
                last.until = fault.at.saturating_add(join);
            }
            _ => {}
        }
    }
    all.retain(|dark| dark.from < dark.until);
    all
}

/// When links of a cable carry nothing: while its state takes them and, for the cable of a NIC, from the moment in which
/// its port left the bond until it is back. What a port that is out of its bond hears is thrown away, whatever the link
/// carries (IEEE 802.1AX section 6.4.15: it neither collects nor distributes).
fn deaths(life: &[Fault], dark: &[Dark], access: bool) -> Vec<(Ways, SimTime, SimTime)> {
    let cable = life[0].cable;
    let of = |link: LinkId| {
        let states = life
            .iter()
            .enumerate()
            .filter(|(_, fault)| fault.state.takes(link))
            .map(|(row, fault)| (fault.at, life.get(row + 1).map_or(SimTime::NEVER, |next| next.at)));
        let out = dark.iter().filter(|_| access).filter_map(|dark| {
            let left = dark.noticed[0].min(dark.noticed[1]);
            (left < dark.until).then_some((left, dark.until))
        });
        let mut all: Vec<(SimTime, SimTime)> =
            states.chain(out).filter(|(from, until)| from < until).collect();
        all.sort_unstable();
        let mut joined: Vec<(SimTime, SimTime)> = Vec::new();
        for (from, until) in all {
            match joined.last_mut() {
                Some(last) if last.1 >= from => last.1 = last.1.max(until),
                _ => joined.push((from, until)),
            }
        }
        joined
    };
    let [forward, backward] = [of(cable.forward()), of(cable.backward())];
    let alone = |own: &[(SimTime, SimTime)], other: &[(SimTime, SimTime)], ways: Ways| {
        own.iter()
            .filter(|span| !other.contains(span))
            .map(move |&(from, until)| (ways, from, until))
            .collect()
    };
    let mut all: Vec<_> = alone(&forward, &backward, Ways::Forward);
    all.extend(alone(&backward, &forward, Ways::Backward));
    let both = forward.iter().filter(|span| backward.contains(span));
    all.extend(both.map(|&(from, until)| (Ways::Both, from, until)));
    all
}

/// When the two ends of a cable know of what befell it, from the first of these events to its repair: both by the loss
/// of light, where that lasts, and each for itself by what it no longer hears, or by what the other, which hears
/// nothing, tells it over the direction that is left. LACP, BFD and BGP all do: the machine of IEEE 802.1AX section
/// 6.4.12 that expires takes its partner for out of sync and says so in its own LACPDUs; RFC 5880 section 6.8.4 has the
/// session go down and say so, RFC 4271 section 6.5 has a notification sent.
fn notices(life: &[Fault], access: bool, reaction: &Reaction, lots: Lots) -> [SimTime; 2] {
    let cable = life[0].cable;
    // What an end hears comes over the link that the other end sends into.
    let heard = [cable.backward(), cable.forward()];
    let mut deaf = [None; 2];
    let mut noticed = [SimTime::NEVER; 2];
    for (row, fault) in life.iter().enumerate() {
        let next = life.get(row + 1).map_or(SimTime::NEVER, |next| next.at);
        for (since, link) in deaf.iter_mut().zip(heard) {
            *since = fault.state.takes(link).then(|| since.unwrap_or(fault.at));
        }
        match fault.state {
            CableState::Up => break,
            CableState::Down => {
                let seen = fault.at + lots.draw("detection", fault.at, reaction.detection);
                if seen <= next {
                    noticed = noticed.map(|at| at.min(seen));
                }
            }
            // Messages have stayed away since the link carries nothing, with light or without.
            CableState::Silent(_) => {
                for (end, name) in ["forward", "backward"].into_iter().enumerate() {
                    let Some(since) = deaf[end] else { continue };
                    let given_up = since + lots.draw(name, since, reaction.silence(access));
                    if given_up > next {
                        continue;
                    }
                    let at = given_up.max(fault.at);
                    noticed[end] = noticed[end].min(at);
                    let other = 1 - end;
                    if !fault.state.takes(heard[other]) {
                        noticed[other] = noticed[other].min(at);
                    }
                }
            }
        }
    }
    noticed
}

/// Who chooses a link, and so what has to pass until it is avoided.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// The bond of the NIC that it leaves.
    Bond,
    /// The switch that it leaves, by its groups.
    Here,
    /// Everybody, by routes.
    Everywhere,
    /// Nobody, until the address of the NIC ages.
    Aging,
}

/// When a link that died is avoided, and how long after it carries again it is used.
#[derive(Clone, Copy, Debug)]
struct Stage {
    avoided: SimTime,
    used: SimTime,
}

/// `announced` says whether others use the link again by routes alone.
fn stage(dark: &Dark, link: LinkId, way: Way, announced: bool, reaction: &Reaction, lots: Lots) -> Stage {
    let Dark { from, noticed, .. } = *dark;
    // The port that sends into the link is the one that has to know.
    let noticed = noticed[usize::from(link != link.cable().forward())];
    let draw = |stage: &str, range: TimeRange| lots.draw_of(link, stage, from, range);
    let everywhere = || {
        let withdrawn = draw("withdrawal", reaction.withdrawal);
        withdrawn.saturating_add(draw("convergence", reaction.convergence))
    };
    let avoided = match way {
        Way::Bond => noticed.saturating_add(draw("bond", reaction.lag_failover)),
        Way::Here => noticed.saturating_add(draw("group", reaction.ecmp_regroup)),
        Way::Everywhere => noticed.saturating_add(everywhere()),
        Way::Aging => from.saturating_add(reaction.mac_aging),
    };
    let used = if announced { draw("return", reaction.convergence) } else { SimTime::ZERO };
    Stage { avoided, used }
}

/// Who avoids a link, how, and whether its return has to be announced.
fn ways(fabric: &Fabric, link: LinkId, reaction: &Reaction) -> Vec<(View, Way, bool)> {
    let (source, target) = (fabric.source(link), fabric.target(link));
    let beside = fabric.neighbors(source).iter().filter(|(_, far)| *far == target).count() > 1;
    let tier = |device: DeviceId| fabric.place(device).map_or(0, |place| place.tier);
    if fabric.kind(source) == DeviceKind::Nic {
        return vec![(View::All, Way::Bond, false)];
    }
    if fabric.kind(target) != DeviceKind::Nic {
        let here = beside || tier(source) < tier(target);
        return vec![(View::All, if here { Way::Here } else { Way::Everywhere }, true)];
    }
    // Towards a NIC. One that has no other leaf is also reached by the route to its subnet, which stays.
    let leaves =
        || fabric.neighbors(target).iter().filter(|(_, far)| fabric.kind(*far) == DeviceKind::Switch);
    let only = leaves().all(|(_, far)| *far == source);
    let way = if beside { Way::Here } else { Way::Everywhere };
    if reaction.arp_proxy || beside {
        return vec![(View::All, way, !only)];
    }
    vec![(View::Routed, way, !only), (View::Bridged, Way::Aging, false)]
}

/// When a link is avoided and used again. A link that carries again before its loss is known was never avoided;
/// one that dies again before it is used stays avoided.
fn known(link: LinkId, view: View, dark: &[Dark], stages: &[Stage], moments: &mut Vec<Moment>) {
    let mut open: Option<SimTime> = None;
    for (Dark { from, until, .. }, stage) in dark.iter().zip(stages) {
        if open.is_some_and(|used| used >= *from) {
            open = Some(until.saturating_add(stage.used));
            continue;
        }
        if let Some(used) = open.take() {
            moments.push(Moment { at: used, change: Change::Used(link, view) });
        }
        let avoided = if *from == SimTime::ZERO { *from } else { stage.avoided };
        if avoided < *until {
            moments.push(Moment { at: avoided, change: Change::Avoided(link, view) });
            open = Some(until.saturating_add(stage.used));
        }
    }
    if let Some(used) = open.filter(|used| *used < SimTime::NEVER) {
        moments.push(Moment { at: used, change: Change::Used(link, view) });
    }
}

#[cfg(test)]
#[path = "timeline_tests.rs"]
mod tests;
