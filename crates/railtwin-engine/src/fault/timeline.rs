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
//! So one set of avoided links says both what a switch knows of its own ports and what others know by BGP.
use railtwin_fabric::{CableClass, CableId, DeviceId, DeviceKind, Fabric, LinkId};
use railtwin_units::SimTime;

use super::{CableState, Fault, Reaction};

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
    /// From now on both links of a cable carry nothing.
    Dies(CableId),
    /// From now on both carry.
    Carries(CableId),
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

/// A stretch in which a cable carries nothing.
#[derive(Clone, Copy, Debug)]
struct Dark {
    from: SimTime,
    /// When both links carry again.
    until: SimTime,
}

/// Everything that faults bring about, in order of time; `faults` in order of time for each cable. What is
/// down from time zero on was down long before: it is avoided from the start.
pub fn timeline(fabric: &Fabric, faults: &[Fault], reaction: &Reaction) -> Vec<Moment> {
    let mut sorted = faults.to_vec();
    sorted.sort_by_key(|fault| (fault.cable, fault.at));
    let mut moments = Vec::new();
    for life in sorted.chunk_by(|a, b| a.cable == b.cable) {
        let cable = life[0].cable;
        moments.extend(
            life.iter().map(|fault| Moment { at: fault.at, change: Change::Struck(cable, fault.state) }),
        );
        let dark = darkness(life, fabric.cable_class(cable) == CableClass::Access, reaction);
        for Dark { from, until } in &dark {
            moments.push(Moment { at: *from, change: Change::Dies(cable) });
            if *until < SimTime::NEVER {
                moments.push(Moment { at: *until, change: Change::Carries(cable) });
            }
        }
        if fabric.cable_class(cable) < CableClass::Access {
            continue;
        }
        for link in [cable.forward(), cable.backward()] {
            for (view, stage) in stages(fabric, link, reaction) {
                known(link, view, stage, &dark, &mut moments);
            }
        }
    }
    moments.sort_unstable();
    moments
}

/// When a cable carries nothing: from each fault to its repair, and for the cable of a NIC, once its loss was
/// noticed, until the port is back in its bond. A fault before that begins it anew.
fn darkness(life: &[Fault], access: bool, reaction: &Reaction) -> Vec<Dark> {
    let mut all: Vec<Dark> = Vec::new();
    let mut since = None;
    for fault in life {
        match (fault.state, since) {
            (CableState::Down, None) => {
                since = Some(fault.at);
                match all.last_mut() {
                    Some(last) if last.until >= fault.at => last.until = SimTime::NEVER,
                    _ => all.push(Dark { from: fault.at, until: SimTime::NEVER }),
                }
            }
            (CableState::Up, Some(from)) => {
                since = None;
                let last = all.last_mut().expect("a fault came before its repair");
                let noticed = last.from < from || fault.at.since(from) >= reaction.detection;
                let join = if access && noticed {
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

/// How long after a link died it is avoided, and how long after it carries again it is used.
#[derive(Clone, Copy, Debug)]
struct Stage {
    avoided: SimTime,
    used: SimTime,
}

fn stages(fabric: &Fabric, link: LinkId, reaction: &Reaction) -> Vec<(View, Stage)> {
    let (source, target) = (fabric.source(link), fabric.target(link));
    let after =
        |spans: &[SimTime]| spans.iter().fold(reaction.detection, |sum, &span| sum.saturating_add(span));
    let here = after(&[reaction.ecmp_regroup]);
    let everywhere = after(&[reaction.withdrawal, reaction.convergence]);
    let beside = fabric.neighbors(source).iter().filter(|(_, far)| *far == target).count() > 1;
    let announced = reaction.convergence;
    let tier = |device: DeviceId| fabric.place(device).map_or(0, |place| place.tier);
    if fabric.kind(source) == DeviceKind::Nic {
        let avoided = after(&[reaction.lag_failover]);
        return vec![(View::All, Stage { avoided, used: SimTime::ZERO })];
    }
    if fabric.kind(target) != DeviceKind::Nic {
        let avoided = if beside || tier(source) < tier(target) { here } else { everywhere };
        return vec![(View::All, Stage { avoided, used: announced })];
    }
    // Towards a NIC. One that has no other leaf is also reached by the route to its subnet, which stays.
    let leaves =
        || fabric.neighbors(target).iter().filter(|(_, far)| fabric.kind(*far) == DeviceKind::Switch);
    let only = leaves().all(|(_, far)| *far == source);
    let avoided = if beside { here } else { everywhere };
    let routed = Stage { avoided, used: if only { SimTime::ZERO } else { announced } };
    if reaction.arp_proxy || beside {
        return vec![(View::All, routed)];
    }
    let bridged = Stage { avoided: reaction.mac_aging, used: SimTime::ZERO };
    vec![(View::Routed, routed), (View::Bridged, bridged)]
}

/// When a link is avoided and used again. A link that carries again before its loss is known was never avoided;
/// one that dies again before it is used stays avoided.
fn known(link: LinkId, view: View, stage: Stage, dark: &[Dark], moments: &mut Vec<Moment>) {
    let mut open: Option<SimTime> = None;
    for Dark { from, until } in dark {
        if open.is_some_and(|used| used >= *from) {
            open = Some(until.saturating_add(stage.used));
            continue;
        }
        if let Some(used) = open.take() {
            moments.push(Moment { at: used, change: Change::Used(link, view) });
        }
        let avoided = if *from == SimTime::ZERO { *from } else { from.saturating_add(stage.avoided) };
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
