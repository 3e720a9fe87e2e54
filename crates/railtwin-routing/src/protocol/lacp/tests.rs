//! Bonds by hand: who joins when, and who leaves when nothing is heard.
use super::*;
use crate::protocol::lacp::{LacpRate, Mac, PortInfo};

fn ms(ms: u64) -> SimTime {
    SimTime::from_ns(ms * 1_000_000)
}

fn info(system: u8, key: u16, port: u16) -> PortInfo {
    PortInfo { system: Mac([0, 0, 0, 0, 0, system]), key, port, ..PortInfo::default() }
}

/// Two cables of a bond whose ends agree, with carrier since 0.
fn pair(rate: LacpRate) -> Cables {
    let machine = |info| Machine::new(info, rate, ms(2_000));
    let ports = [1, 2].map(|port| (machine(info(9, 1, port)), machine(info(5, 7, 300 * port))));
    let mut cables = Cables::new(SelectionRule::Strict, ports);
    for port in [0, 1] {
        cables.set(port, Wire::WELL, || unreachable!("nothing was settled"));
    }
    cables
}

/// Turns as (ms, port, end, distributes).
fn told(cables: &Cables) -> Vec<(u64, usize, End, bool)> {
    let word = |turn: &PortTurn| (turn.at.ps() / 1_000_000_000, turn.port, turn.end, turn.distributes);
    cables.turns().iter().map(word).collect()
}

#[test]
fn ports_join_together_after_they_waited_for_each_other() {
    let mut cables = pair(LacpRate::Fast);
    cables.pass(ms(10_000));
    let expected = [0, 1].map(|port| [(2_000, port, End::Host, true), (2_000, port, End::Leaf, true)]);
    assert_eq!(told(&cables), expected.concat());
    assert!(cables.host().ports.iter().all(|port| port.partner().system == Mac([0, 0, 0, 0, 0, 5])));
}

#[test]
fn who_hears_nothing_leaves_after_three_periods_and_tells_who_still_hears_three_seconds_later() {
    for (rate, timeout) in [(LacpRate::Fast, 3_000), (LacpRate::Slow, 90_000)] {
        let mut cables = pair(rate);
        cables.pass(ms(500_000));
        // LACPDUs to the host get lost. It heard the last one 400 ms ago.
        cables.set(1, Wire { down: false, ..Wire::WELL }, || [ms(400), ms(700)]);
        cables.pass(ms(900_000));
        let left = 500_000 - 400 + timeout;
        assert_eq!(
            told(&cables)[4..],
            // Expired, the host says that it is still in the bond: its own state is, its partner's is not. When it
            // goes by defaults it has left, and says so.
            [(left, 1, End::Host, false), (left + 3_000, 1, End::Leaf, false)],
            "{rate}"
        );
        // The first LACPDU after the repair comes within a period, then both wait again.
        cables.set(1, Wire::WELL, || unreachable!("nothing was settled"));
        cables.pass(ms(1_200_000));
        let back: Vec<_> = told(&cables)[6..].to_vec();
        assert_eq!(back.len(), 2, "{back:?}");
        let period = rate.period().ps() / 1_000_000_000;
        assert!(back.iter().all(|turn| (902_000..=902_000 + period).contains(&turn.0) && turn.3), "{back:?}");
    }
}

#[test]
fn a_silence_shorter_than_the_timeout_is_not_noticed() {
    let mut cables = pair(LacpRate::Fast);
    cables.pass(ms(60_000));
    cables.set(0, Wire { up: false, down: false, carrier: true }, || [ms(0), ms(900)]);
    cables.pass(ms(61_500));
    cables.set(0, Wire::WELL, || unreachable!("nothing was settled"));
    cables.pass(ms(90_000));
    assert_eq!(told(&cables).len(), 4, "{:?}", told(&cables));
}

#[test]
fn an_expired_port_that_hears_again_in_time_waits_for_nobody() {
    let mut cables = pair(LacpRate::Fast);
    cables.pass(ms(60_000));
    cables.set(0, Wire { down: false, ..Wire::WELL }, || [ms(0), ms(0)]);
    cables.pass(ms(64_000));
    cables.set(0, Wire::WELL, || unreachable!("nothing was settled"));
    cables.pass(ms(90_000));
    let told = told(&cables);
    assert_eq!(told[4], (63_000, 0, End::Host, false));
    assert!(told.len() == 6 && (64_000..=65_000).contains(&told[5].0) && told[5].3, "{told:?}");
}

#[test]
fn a_lost_carrier_is_left_at_once_by_both_ends() {
    let mut cables = pair(LacpRate::Slow);
    cables.pass(ms(60_000));
    cables.set(0, Wire { carrier: false, up: false, down: false }, || [ms(0), ms(0)]);
    cables.pass(ms(70_000));
    cables.set(0, Wire::WELL, || unreachable!("nothing was settled"));
    cables.pass(ms(200_000));
    let expected = [
        (60_000, 0, End::Host, false),
        (60_000, 0, End::Leaf, false),
        (72_000, 0, End::Host, true),
        (72_000, 0, End::Leaf, true),
    ];
    assert_eq!(told(&cables)[4..], expected);
}

#[test]
fn a_second_port_stands_by_where_it_is_not_of_the_bond() {
    // Two leaves with different keys: the host uses one, and takes the other when that is gone.
    let machine = |info| Machine::new(info, LacpRate::Fast, ms(2_000));
    let ports =
        [(1, 7), (2, 8)].map(|(port, key)| (machine(info(9, 1, port)), machine(info(5, key, 300 * port))));
    let mut cables = Cables::new(SelectionRule::LagId, ports);
    for port in [0, 1] {
        cables.set(port, Wire::WELL, || unreachable!());
    }
    cables.pass(ms(50_000));
    assert!(told(&cables).iter().all(|turn| turn.1 == 0), "{:?}", told(&cables));
    cables.set(0, Wire { carrier: false, up: false, down: false }, || [ms(0), ms(0)]);
    cables.pass(ms(60_000));
    let late: Vec<_> = told(&cables).into_iter().filter(|turn| turn.1 == 1).collect();
    assert_eq!(late, [(52_000, 1, End::Host, true), (52_000, 1, End::Leaf, true)]);
}

/// LACPDUs that are skipped while nothing changes are as if they had been sent: a bond whose cables are never still gives
/// the same turns.
#[test]
fn skipping_what_changes_nothing_changes_nothing() {
    for age in [0, 250, 999] {
        let run = |eager: bool| {
            let mut cables = pair(LacpRate::Fast);
            cables.pass(ms(2_000));
            for step in 0..40 {
                cables.still.iter_mut().for_each(|still| *still &= !eager);
                cables.pass(ms(2_000 + 100 * step));
            }
            let since = ms(5_900 + age % 100);
            cables.still.iter_mut().for_each(|still| *still &= !eager);
            cables.pass(since);
            // Eager ports have sent at 2 s, 3 s, 4 s and 5 s.
            let heard = ms((since.ps() / 1_000_000_000) % 1_000);
            cables.set(0, Wire { up: false, down: false, carrier: true }, || [heard; 2]);
            cables.pass(ms(30_000));
            told(&cables)
        };
        assert_eq!(run(true), run(false), "{age}");
    }
}
