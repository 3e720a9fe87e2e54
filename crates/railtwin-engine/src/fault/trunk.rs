//! Cables between switches: sessions of BGP, with BFD or without, whose ends learn of a fault and withdraw what they
//! lost.
use std::collections::BTreeSet;

use railtwin_fabric::{CableId, DeviceId, DeviceKind, Fabric, LinkId};
use railtwin_units::SimTime;

use super::moments::{
    FaultedNetwork, Lots, Moment, Unused, View, avoid, avoidances, dies, has_parallel, joined, spreads, taken,
};
use super::{CableState, Fault, Reaction};

/// When an end of a cable knows that it is dark, and from what.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Notice {
    /// [`SimTime::NEVER`] where it does not.
    at: SimTime,
    /// Whether its session ended, and not its port.
    by_session: bool,
}

/// A stretch in which a cable does not carry in both directions, and when the ports that send into it forward and
/// backward know of it.
#[derive(Clone, Copy, Debug)]
struct Dark {
    from: SimTime,
    until: SimTime,
    noticed: [Notice; 2],
}

/// All that the faults of a cable bring about.
pub(super) fn moments(
    network: &FaultedNetwork<'_>,
    cable: CableId,
    life: &[Fault],
    moments: &mut Vec<Moment>,
) {
    let links = [cable.forward(), cable.backward()];
    let [forward, backward] = links.map(|link| joined(taken(life, link)));
    dies(cable, &forward, &backward, moments);
    let fabric = network.fabric;
    if fabric.cable_class(cable) < railtwin_fabric::CableClass::Access {
        return;
    }
    let dark = dark(network, cable, life);
    for link in links {
        let unused: Vec<Unused> = dark.iter().map(|dark| unused(network, link, dark)).collect();
        avoid(link, View::All, &avoidances(&unused), moments);
    }
}

/// Stretches in which a cable is dark: first and last moment, and when the first of its ports knows.
pub(super) fn darknesses(
    network: &FaultedNetwork<'_>,
    cable: CableId,
    life: &[Fault],
) -> Vec<(SimTime, SimTime, SimTime)> {
    let all = dark(network, cable, life).into_iter();
    all.map(|dark| (dark.from, dark.until, dark.noticed[0].min(dark.noticed[1]).at)).collect()
}

/// From each fault to its repair.
fn dark(network: &FaultedNetwork<'_>, cable: CableId, life: &[Fault]) -> Vec<Dark> {
    let lots = Lots { seed: network.seed, cable };
    let mut all = Vec::new();
    let mut begun: Option<usize> = None;
    for (row, fault) in life.iter().enumerate() {
        match (fault.state, begun) {
            (CableState::Up, Some(first)) => {
                begun = None;
                let noticed = notices(&life[first..], network.reaction, lots);
                all.push(Dark { from: life[first].at, until: fault.at, noticed });
            }
            (CableState::Up, None) | (_, Some(_)) => {}
            (_, None) => begun = Some(row),
        }
    }
    if let Some(first) = begun {
        let noticed = notices(&life[first..], network.reaction, lots);
        all.push(Dark { from: life[first].at, until: SimTime::NEVER, noticed });
    }
    all.retain(|dark| dark.from < dark.until);
    all
}

/// When the two ends of a cable know of what befell it, from the first of these events to its repair: both by the loss of
/// light, where that lasts; where the software of one end died, the other by the reset of its session, and that end never,
/// since nobody is left to know; else by what [`railtwin_routing::protocol::session::Keeper::given_up`] says of silence.
fn notices(life: &[Fault], reaction: &Reaction, lots: Lots) -> [Notice; 2] {
    let cable = life[0].cable;
    let keeper = reaction.keeper();
    // What an end hears comes over the link that the other end sends into.
    let heard = [cable.backward(), cable.forward()];
    let mut deaf: [Option<SimTime>; 2] = [None; 2];
    let mut noticed = [Notice { at: SimTime::NEVER, by_session: true }; 2];
    for (row, fault) in life.iter().enumerate() {
        let next = life.get(row + 1).map_or(SimTime::NEVER, |next| next.at);
        let is_deaf = |link: LinkId| match fault.state {
            CableState::Down | CableState::Silent(_) => fault.state.takes(link),
            _ => false,
        };
        for (since, link) in deaf.iter_mut().zip(heard) {
            *since = is_deaf(link).then(|| since.unwrap_or(fault.at));
        }
        match fault.state {
            CableState::Up => break,
            CableState::Mute(_) => {}
            CableState::Down => {
                let seen = fault.at + lots.draw("detection", fault.at, reaction.detection);
                if seen <= next {
                    noticed = noticed.map(|known| known.min(Notice { at: seen, by_session: false }));
                }
            }
            CableState::Headless(ways) => {
                for (end, link) in heard.into_iter().enumerate().filter(|(_, link)| ways.has(*link)) {
                    debug_assert_eq!(link.cable(), cable);
                    noticed[end] = noticed[end].min(Notice { at: fault.at, by_session: true });
                }
            }
            CableState::Silent(_) => {
                let first = deaf[0].or(deaf[1]);
                let ages = [(0, "forward"), (1, "backward")].map(|(end, name)| {
                    let since = deaf[end].or(first).unwrap_or(fault.at);
                    keeper.limit().since(lots.draw(name, since, reaction.silence(false)))
                });
                for (end, given_up) in keeper.given_up(deaf, ages).into_iter().enumerate() {
                    if given_up <= next && given_up < SimTime::NEVER {
                        let at = given_up.max(fault.at);
                        noticed[end] = noticed[end].min(Notice { at, by_session: true });
                    }
                }
            }
        }
    }
    noticed
}

/// When paths avoid a link of a cable that is dark.
fn unused(network: &FaultedNetwork<'_>, link: LinkId, dark: &Dark) -> Unused {
    let FaultedNetwork { fabric, reaction, seed, .. } = *network;
    let lots = Lots { seed, cable: link.cable() };
    let Dark { from, until, noticed } = *dark;
    // The port that sends into the link is the one that has to know.
    let noticed = noticed[usize::from(link != link.cable().forward())];
    let draw = |stage: &str, range| lots.draw_of(link, stage, from, range);
    let Notice { at, by_session } = noticed;
    // A port that is dead is left out of its groups at once; of a session that ended, routes have to be gone first.
    let avoided = match (is_regrouped(fabric, link), by_session) {
        (true, false) => at.saturating_add(draw("group", reaction.ecmp_regroup)),
        (true, true) => at.saturating_add(draw("withdrawal", reaction.withdrawal)),
        (false, _) => {
            let withdrawn = draw("withdrawal", reaction.withdrawal);
            at.saturating_add(withdrawn).saturating_add(spreads(network, link, from, "convergence"))
        }
    };
    Unused { from, avoided, until, returns: spreads(network, link, from, "return") }
}

/// Whether the switch that sends into a link has others to choose in its place: those to a switch above, any beside another
/// cable to the same one, and those to other leaves of all hosts below it.
fn is_regrouped(fabric: &Fabric, link: LinkId) -> bool {
    let (source, target) = (fabric.source(link), fabric.target(link));
    let tier = |device| fabric.place(device).map_or(0, |place| place.tier);
    has_parallel(fabric, link) || tier(source) < tier(target) || has_siblings(fabric, source, target)
}

/// Whether each NIC at a leaf is at another one, too, that `spine` has a cable to: the spine has the NIC's /32 from both.
fn has_siblings(fabric: &Fabric, spine: DeviceId, leaf: DeviceId) -> bool {
    let below = |device: DeviceId| fabric.neighbors(device).iter().map(|&(_, far)| far);
    let of = |device: DeviceId, kind: DeviceKind| below(device).filter(move |&far| fabric.kind(far) == kind);
    let others: BTreeSet<DeviceId> = of(spine, DeviceKind::Switch).filter(|&other| other != leaf).collect();
    let mut nics = of(leaf, DeviceKind::Nic).peekable();
    nics.peek().is_some() && nics.all(|nic| of(nic, DeviceKind::Switch).any(|other| others.contains(&other)))
}
