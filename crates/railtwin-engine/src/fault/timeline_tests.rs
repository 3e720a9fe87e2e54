//! Stages of the reaction at each place of a fault, by hand.
use railtwin_fabric::preset::{Hpn, LeafSpine};

use railtwin_fabric::Fabric;
use railtwin_fabric::LinkId;
use railtwin_routing::protocol::set::DualTor;
use railtwin_units::TimeRange;

use super::*;
use crate::fault::{Reaction, View, Ways};

const MS: u64 = 1_000_000_000;
const BOTH: Option<Ways> = Some(Ways::Both);

fn ms(ms: u64) -> SimTime {
    SimTime::from_ps(ms * MS)
}

fn reaction() -> Reaction {
    Reaction {
        detection: ms(1).into(),
        lag_failover: ms(2).into(),
        ecmp_regroup: ms(4).into(),
        withdrawal: ms(8).into(),
        convergence: ms(16).into(),
        arp_proxy: true,
        mac_aging: ms(1_000),
        lacp: ms(32),
        arp: ms(64),
        ..Reaction::default()
    }
}

fn told(fabric: &Fabric, name: &str, spans: &[(u64, u64)], reaction: &Reaction) -> Vec<String> {
    let loud: Vec<_> = spans.iter().map(|&(from, until)| (from, until, None)).collect();
    told_of(fabric, name, &loud, reaction)
}

fn told_of(
    fabric: &Fabric,
    name: &str,
    spans: &[(u64, u64, Option<Ways>)],
    reaction: &Reaction,
) -> Vec<String> {
    let cable = fabric.cable_named(name).unwrap();
    let outages: Vec<_> = spans
        .iter()
        .map(|&(from, until, silent)| crate::Outage { cable, from: ms(from), until: ms(until), silent })
        .collect();
    let word = |moment: &Moment| {
        let at = moment.at.ps() / MS;
        let way = |link: LinkId| if link == cable.forward() { "up" } else { "down" };
        match moment.change {
            Change::Struck(_, CableState::Down) => format!("{at} down"),
            Change::Struck(_, CableState::Silent(Ways::Both)) => format!("{at} silent"),
            Change::Struck(_, CableState::Silent(ways)) => format!("{at} silent {ways:?}"),
            Change::Struck(_, CableState::Up) => format!("{at} up"),
            Change::Struck(_, state) => format!("{at} {state:?}"),
            Change::Dies(_, Ways::Both) => format!("{at} dies"),
            Change::Carries(_, Ways::Both) => format!("{at} carries"),
            Change::Dies(_, ways) => format!("{at} dies {ways:?}"),
            Change::Carries(_, ways) => format!("{at} carries {ways:?}"),
            Change::Avoided(link, view) => format!("{at} {view:?} avoid {}", way(link)),
            Change::Used(link, view) => format!("{at} {view:?} use {}", way(link)),
        }
    };
    let network = FaultedNetwork { fabric, reaction, set: &DualTor::default(), seed: 1 };
    timeline(&network, &crate::fault::events(&outages)).iter().map(word).collect()
}

fn hpn() -> Fabric {
    Hpn { segments: Some(2), hosts: Some(2), spines: Some(2), ..Hpn::default() }.build().unwrap()
}

#[test]
fn a_nic_cable_passes_through_the_bond_and_the_routes() {
    let told = told(&hpn(), "host-0/nic-0:port-0", &[(100, 200)], &reaction());
    let expected = [
        "100 down",
        "100 dies",
        // Detection and failover of the bond; detection, withdrawal and convergence.
        "103 All avoid up",
        "125 All avoid down",
        "200 up",
        // LACP: the port is in the bond. ARP: the leaf knows the host again, and routes to it converge.
        "232 carries Forward",
        "296 carries Backward",
        "296 All use up",
        "312 All use down",
    ];
    assert_eq!(told, expected);
}

#[test]
fn an_uplink_is_regrouped_here_and_withdrawn_there() {
    let told = told(&hpn(), "leaf-0:uplink-0", &[(100, 200)], &reaction());
    let expected = [
        "100 down",
        "100 dies",
        "105 All avoid up",
        "125 All avoid down",
        "200 up",
        "200 carries",
        "216 All use up",
        "216 All use down",
    ];
    assert_eq!(told, expected);
}

#[test]
fn parallel_cables_are_regrouped_at_both_ends() {
    let two = LeafSpine { leaves: 2, uplinks: 1, parallel: 2, ..LeafSpine::default() }.build().unwrap();
    let told = told(&two, "leaf-0:uplink-0", &[(100, 200)], &reaction());
    assert_eq!(told[2..4], ["105 All avoid up", "105 All avoid down"]);
}

#[test]
fn without_an_arp_proxy_a_segment_waits_for_its_mac_table() {
    let reaction = Reaction { arp_proxy: false, ..reaction() };
    let long = told(&hpn(), "host-0/nic-0:port-0", &[(100, 5_000)], &reaction);
    let avoided: Vec<_> = long.iter().filter(|word| word.contains("avoid")).collect();
    assert_eq!(avoided, ["103 All avoid up", "125 Routed avoid down", "1100 Bridged avoid down"]);
    let short = told(&hpn(), "host-0/nic-0:port-0", &[(100, 200)], &reaction);
    assert!(!short.iter().any(|word| word.contains("Bridged")), "the port is back before: {short:?}");
}

#[test]
fn what_is_shorter_than_a_stage_never_passes_it() {
    // Shorter than detection: the port never leaves its bond.
    let blink = Reaction { detection: ms(10).into(), ..reaction() };
    assert_eq!(
        told(&hpn(), "host-0/nic-0:port-0", &[(100, 105)], &blink),
        ["100 down", "100 dies", "105 up", "105 carries"]
    );
    // Noticed: the port leaves the bond; the cable returns, and falls again before the port is back.
    assert_eq!(
        told(&hpn(), "host-0/nic-0:port-0", &[(100, 102), (150, 152)], &reaction()),
        [
            "100 down",
            "100 dies",
            "102 up",
            "103 All avoid up",
            "125 All avoid down",
            "134 carries Forward",
            // The bond had the port again, the leaf did not know the host yet.
            "150 down",
            "150 dies Forward",
            "152 up",
            "184 carries Forward",
            "248 carries Backward",
            "248 All use up",
            "264 All use down",
        ]
    );
}

#[test]
fn what_is_down_from_the_start_is_known_from_the_start() {
    let told = told(&hpn(), "leaf-0:uplink-0", &[(0, 200)], &reaction());
    assert_eq!(told[..4], ["0 down", "0 dies", "0 All avoid up", "0 All avoid down"]);
}

#[test]
fn a_port_that_dies_before_routes_return_stays_avoided() {
    let told = told(&hpn(), "leaf-0:uplink-0", &[(100, 200), (210, 300)], &reaction());
    let known: Vec<_> = told.iter().filter(|word| word.contains("All")).collect();
    assert_eq!(known, ["105 All avoid up", "125 All avoid down", "316 All use up", "316 All use down"]);
}

/// Seconds, in a reaction whose LACP is fast and whose BGP holds for 9 s.
fn quick() -> Reaction {
    Reaction { lacp_rate: crate::LacpRate::Fast, bgp_hold: ms(9_000), ..reaction() }
}

/// When the lines with these words say that they happen, in ms.
fn at(told: &[String], words: &str) -> u64 {
    let line = told.iter().find(|line| line.ends_with(words)).unwrap_or_else(|| panic!("{words}: {told:?}"));
    line.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn a_silent_cable_is_given_up_by_each_end_for_itself() {
    // The bond of the NIC and the leaf miss three LACPDUs, each with the phase that the other sends with.
    let told = told_of(&hpn(), "host-0/nic-0:port-0", &[(100, 10_000, BOTH)], &quick());
    assert_eq!(told[..2], ["100 silent", "100 dies"]);
    let (bond, leaf) = (at(&told, "All avoid up") - 2, at(&told, "All avoid down") - 8 - 16);
    assert!((2_100..=3_100).contains(&bond) && (2_100..=3_100).contains(&leaf), "{told:?}");
    assert_ne!(bond, leaf);
    // After the repair the first LACPDU comes within a period; then both wait for others to join.
    let back = at(&told, "carries Forward");
    assert!((10_032..=11_032).contains(&back), "{told:?}");
    assert_eq!(at(&told, "carries Backward"), back + 64);
    // Between switches BGP tells, or BFD.
    let told = told_of(&hpn(), "leaf-0:uplink-0", &[(100, 20_000, BOTH)], &quick());
    assert!((6_100..=9_100).contains(&(at(&told, "All avoid up") - 8)), "{told:?}");
    let bfd = Reaction { bfd: Some(ms(150)), ..quick() };
    let told = told_of(&hpn(), "leaf-0:uplink-0", &[(100, 20_000, BOTH)], &bfd);
    assert!((200..=250).contains(&(at(&told, "All avoid up") - 8)), "{told:?}");
    assert!((200..=250).contains(&(at(&told, "All avoid down") - 8 - 16)), "{told:?}");
}

#[test]
fn a_silent_cable_that_is_mended_before_two_periods_never_left_its_bond() {
    let told = told_of(&hpn(), "host-0/nic-0:port-0", &[(100, 2_000, BOTH)], &quick());
    assert_eq!(told, ["100 silent", "100 dies", "2000 up", "2000 carries"]);
}

#[test]
fn what_is_silent_and_loses_its_light_is_noticed_by_what_comes_first() {
    let spans = |loud: (u64, u64)| [(100, 9_000, BOTH), (loud.0, loud.1, None)];
    let early = told_of(&hpn(), "host-0/nic-0:port-0", &spans((500, 600)), &quick());
    assert_eq!((at(&early, "All avoid up"), at(&early, "All avoid down")), (503, 525));
    assert_eq!(early.iter().filter(|line| line.ends_with("dies")).count(), 1, "{early:?}");
    // Light that is away for less than detection takes tells nothing; what was not heard still does.
    let slow = Reaction { detection: ms(200).into(), ..quick() };
    let blink = told_of(&hpn(), "host-0/nic-0:port-0", &spans((500, 600)), &slow);
    assert!((2_102..=3_102).contains(&at(&blink, "All avoid up")), "{blink:?}");
    // Silence after the light was away counts from when nothing came any more.
    let after = told_of(&hpn(), "host-0/nic-0:port-0", &[(100, 150, None), (150, 9_000, BOTH)], &slow);
    assert!((2_102..=3_102).contains(&at(&after, "All avoid up")), "{after:?}");
}

#[test]
fn a_range_is_drawn_for_each_cable_and_each_fault() {
    let fabric = hpn();
    let reaction = Reaction { detection: TimeRange::between(ms(5), ms(20)), ..reaction() };
    let cables: Vec<CableId> =
        fabric.cables().filter(|&cable| fabric.cable_class(cable) == CableClass::Access).collect();
    let avoided = |cables: &[CableId], seed| -> Vec<u64> {
        let outage = |&cable| crate::Outage { cable, from: ms(100), until: SimTime::NEVER, silent: None };
        let events = crate::fault::events(&cables.iter().map(outage).collect::<Vec<_>>());
        let network = FaultedNetwork { fabric: &fabric, reaction: &reaction, set: &DualTor::default(), seed };
        let moments = timeline(&network, &events);
        let of = |link: LinkId| {
            let avoids = |moment: &&Moment| moment.change == Change::Avoided(link, View::All);
            moments.iter().find(avoids).map(|moment| moment.at.ps())
        };
        cables.iter().map(|cable| of(cable.forward()).or_else(|| of(cable.backward())).unwrap()).collect()
    };
    let all = avoided(&cables, 1);
    assert!(all.iter().any(|at| *at != all[0]), "each cable has its own: {all:?}");
    assert_eq!(all, avoided(&cables, 1));
    assert_ne!(all, avoided(&cables, 2), "another replicate");
    assert_eq!(all[..1], avoided(&cables[..1], 1), "other faults change nothing");
}

#[test]
fn one_silent_direction_is_noticed_by_who_hears_nothing_and_told_to_the_other() {
    for ways in [Ways::Forward, Ways::Backward] {
        // The deaf end leaves the bond when it has missed three messages. The other hears that it goes by defaults 3 s
        // later; until then it sends into what nobody takes in.
        let told = told_of(&hpn(), "host-0/nic-0:port-0", &[(100, 20_000, Some(ways))], &quick());
        assert_eq!(told[0], format!("100 silent {ways:?}"));
        assert_eq!(told[1], format!("100 dies {ways:?}"));
        let (host, leaf) = (at(&told, "All avoid up") - 2, at(&told, "All avoid down") - 8 - 16);
        let (deaf, other) = if ways == Ways::Forward { (leaf, host) } else { (host, leaf) };
        assert!((2_100..=3_100).contains(&deaf), "{told:?}");
        assert_eq!(other, deaf + 3_000);
        // The way that still carries ends when the leaf leaves: it neither sends nor takes in.
        let not_taken = if ways == Ways::Forward { Ways::Backward } else { Ways::Forward };
        assert_eq!(at(&told, &format!("dies {not_taken:?}")), leaf, "{told:?}");
        let back = at(&told, "carries Forward");
        assert!((20_032..=21_032).contains(&back), "{told:?}");
        assert_eq!(at(&told, "carries Backward"), back + 64);
        // Between switches the other direction carries on; routes leave both. TCP lets the deaf end say nothing, so the
        // other gives it up by its own hold time, from the keepalive after the fault on.
        let told = told_of(&hpn(), "leaf-0:uplink-0", &[(100, 20_000, Some(ways))], &quick());
        assert_eq!(told.iter().filter(|line| line.contains("dies")).count(), 1, "{told:?}");
        let (leaf, spine) = (at(&told, "All avoid up") - 8, at(&told, "All avoid down") - 8 - 16);
        let (deaf, other) = if ways == Ways::Forward { (spine, leaf) } else { (leaf, spine) };
        assert!((6_100..=9_100).contains(&deaf) && (9_100..=12_100).contains(&other), "{told:?}");
        assert_eq!((at(&told, &format!("carries {ways:?}")), at(&told, "All use up")), (20_000, 20_016));
        // Mended before anybody gave up, nobody leaves it.
        let told = told_of(&hpn(), "host-0/nic-0:port-0", &[(100, 2_000, Some(ways))], &quick());
        let expected = ["100 silent", "100 dies", "2000 up", "2000 carries"];
        assert!(told.iter().zip(expected).all(|(line, word)| line.starts_with(word)), "{told:?}");
        assert_eq!(told.len(), 4);
    }
}

#[test]
fn two_directions_that_go_silent_one_after_the_other_are_heard_each_from_its_own_moment() {
    let bfd = Reaction { bfd: Some(ms(150)), ..quick() };
    // The second direction dies before the first end could tell: it counts from 120 for itself.
    let spans = [(100, 20_000, Some(Ways::Forward)), (120, 20_000, Some(Ways::Backward))];
    let told = told_of(&hpn(), "leaf-0:uplink-0", &spans, &bfd);
    let (first, second) = (at(&told, "All avoid down") - 24, at(&told, "All avoid up") - 8);
    assert!((200..=250).contains(&first) && (220..=270).contains(&second), "{told:?}");
}
