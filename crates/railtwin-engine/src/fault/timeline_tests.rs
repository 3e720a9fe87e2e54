//! Stages of the reaction at each place of a fault, by hand.
use railtwin_fabric::preset::{Hpn, LeafSpine};

use super::*;

const MS: u64 = 1_000_000_000;

fn ms(ms: u64) -> SimTime {
    SimTime::from_ps(ms * MS)
}

fn reaction() -> Reaction {
    Reaction {
        detection: ms(1),
        lag_failover: ms(2),
        ecmp_regroup: ms(4),
        withdrawal: ms(8),
        convergence: ms(16),
        arp_proxy: true,
        mac_aging: ms(1_000),
        lacp: ms(32),
        arp: ms(64),
    }
}

fn told(fabric: &Fabric, name: &str, spans: &[(u64, u64)], reaction: &Reaction) -> Vec<String> {
    let cable = fabric.cable_named(name).unwrap();
    let outages: Vec<_> = spans
        .iter()
        .map(|&(from, until)| crate::Outage { cable, from: ms(from), until: ms(until) })
        .collect();
    let word = |moment: &Moment| {
        let at = moment.at.ps() / MS;
        let way = |link: LinkId| if link == cable.forward() { "up" } else { "down" };
        match moment.change {
            Change::Struck(_, CableState::Down) => format!("{at} down"),
            Change::Struck(_, CableState::Up) => format!("{at} up"),
            Change::Dies(_) => format!("{at} dies"),
            Change::Carries(_) => format!("{at} carries"),
            Change::Avoided(link, view) => format!("{at} {view:?} avoid {}", way(link)),
            Change::Used(link, view) => format!("{at} {view:?} use {}", way(link)),
        }
    };
    timeline(fabric, &crate::fault::events(&outages), reaction).iter().map(word).collect()
}

fn hpn() -> Fabric {
    Hpn { segments: Some(2), hosts: Some(2), spines: 2, ..Hpn::default() }.build().unwrap()
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
        // LACP and ARP; routes to the host converge again.
        "296 carries",
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
    let blink = Reaction { detection: ms(10), ..reaction() };
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
            "150 down",
            "152 up",
            "248 carries",
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
