//! From faults and the network's reaction to what happens when, in order of time.
//!
//! A cable carries two links, and each is avoided when those who choose it know that it is dead:
//!
//! | dead link | who chooses | avoided after |
//! | --- | --- | --- |
//! | NIC to leaf | the bond of that NIC | its port left the bond, and `lag_failover` |
//! | leaf to NIC | everybody, by host routes | the leaf's port left, `withdrawal + convergence` |
//! | switch to a switch above | that switch | `detection + ecmp_regroup` |
//! | switch to a switch below | everybody, by routes | `detection + withdrawal + convergence` |
//! | one of several cables between two devices | the sender | `detection + ecmp_regroup` |
//!
//! When ports leave bonds and join them, and which leaves have a host's route, comes from the machines of
//! [`railtwin_routing::protocol`]: see `access` for cables of NICs, `trunk` for those between switches. `detection` is of
//! a cable that lost its carrier; one that is silent is given up by the protocols that hear nothing over it.
//!
//! So one set of avoided links says both what a switch knows of its own ports and what others know by BGP.
use std::collections::BTreeSet;

use railtwin_fabric::{CableClass, CableId, DeviceId};
use railtwin_units::SimTime;

use super::moments::{Change, FaultedNetwork, Moment, lives};
use super::{CableState, Fault, access, trunk};

/// Everything that faults bring about, in order of time; `faults` in order of time for each cable. What is
/// down from time zero on was down long before: it is avoided from the start.
pub fn timeline(network: &FaultedNetwork<'_>, faults: &[Fault]) -> Vec<Moment> {
    let fabric = network.fabric;
    let lives = lives(faults);
    let mut moments = Vec::new();
    let mut nics: BTreeSet<DeviceId> = access::unbonded(network);
    for (&cable, life) in &lives {
        moments.extend(
            life.iter().map(|fault| Moment { at: fault.at, change: Change::Struck(cable, fault.state) }),
        );
        match fabric.cable_class(cable) == CableClass::Access {
            true => nics.extend(access::nic_of(fabric, cable)),
            false => trunk::moments(network, cable, life, &mut moments),
        }
    }
    for nic in nics {
        access::moments(network, nic, &lives, &mut moments);
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

/// The stretches of a cable, in order of time, for the same faults as [`timeline()`].
pub fn darknesses(network: &FaultedNetwork<'_>, cable: CableId, faults: &[Fault]) -> Vec<Darkness> {
    let of = |wanted: &dyn Fn(CableId) -> bool| {
        lives(&faults.iter().filter(|fault| wanted(fault.cable)).copied().collect::<Vec<_>>())
    };
    let fabric = network.fabric;
    let access =
        (fabric.cable_class(cable) == CableClass::Access).then(|| access::nic_of(fabric, cable)).flatten();
    let (lives, spans) = match access {
        Some(nic) => {
            let lives = of(&|other| access::nic_of(fabric, other) == Some(nic));
            let spans = access::darknesses(network, nic, cable, &lives);
            (lives, spans)
        }
        None => {
            let lives = of(&|other| other == cable);
            let spans = lives.get(&cable).map_or(Vec::new(), |life| trunk::darknesses(network, cable, life));
            (lives, spans)
        }
    };
    let life = lives.get(&cable).map_or(&[][..], |life| life);
    let of = |(from, until, noticed): (SimTime, SimTime, SimTime)| {
        let repairs = life.iter().filter(|fault| fault.state == CableState::Up && fault.at <= until);
        let repaired = if until == SimTime::NEVER { None } else { repairs.map(|fault| fault.at).max() };
        Darkness { from, noticed, repaired: repaired.unwrap_or(SimTime::NEVER), until }
    };
    spans.into_iter().map(of).collect()
}

#[cfg(test)]
#[path = "timeline_tests.rs"]
mod tests;
