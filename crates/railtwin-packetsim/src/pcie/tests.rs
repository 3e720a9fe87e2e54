//! Shares of PCIe links: max-min fair at all times, and no byte lost or won.
use proptest::prelude::*;

use super::*;

/// Links of so many bytes in a nanosecond each.
fn shares(rates: &[u32], ways: &[Vec<u16>]) -> Shares {
    let rates = rates.iter().map(|&rate| f64::from(rate) / 1e3).collect();
    Shares::new(rates, ways.iter().map(|way| Crosser::over(way)).collect())
}

fn begin(shares: &mut Shares, now: u64, crosser: usize, bytes: u64) {
    shares.begin(now, crosser, bytes);
    shares.settle(now);
}

/// Works off all that is under way: who is over, and when.
fn ends(shares: &mut Shares) -> Vec<(u64, usize)> {
    let mut ends = Vec::new();
    while shares.next() < NEVER {
        let now = shares.next();
        while let Some(row) = shares.over(now) {
            ends.push((now, row));
        }
        shares.settle(now);
    }
    ends
}

#[test]
fn two_on_a_link_have_half_each_and_who_stays_has_all() {
    let mut shares = shares(&[10], &[vec![0], vec![0]]);
    begin(&mut shares, 0, 0, 1_000);
    begin(&mut shares, 0, 1, 3_000);
    assert_eq!(ends(&mut shares), [(200_000, 0), (400_000, 1)]);
}

#[test]
fn who_comes_later_takes_half_from_then_on() {
    let mut shares = shares(&[10], &[vec![0], vec![0]]);
    begin(&mut shares, 0, 0, 1_000);
    begin(&mut shares, 50_000, 1, 1_000);
    // 500 B alone, 500 B at half; then the other has 500 B left.
    assert_eq!(ends(&mut shares), [(150_000, 0), (200_000, 1)]);
}

#[test]
fn a_nic_beside_n_pieces_has_a_share_of_n_and_one() {
    for pieces in 0..8 {
        // Each piece comes from a link of its own; the last row is the way into the NIC.
        let ways: Vec<Vec<u16>> =
            (0..pieces).map(|row| vec![1 + row, 0]).chain([vec![1 + pieces, 0]]).collect();
        let mut shares = shares(&vec![12; 2 + usize::from(pieces)], &ways);
        for row in 0..usize::from(pieces) {
            begin(&mut shares, 0, row, 1 << 40);
        }
        begin(&mut shares, 0, usize::from(pieces), 12_000);
        assert_eq!(shares.next(), 1_000_000 * (u64::from(pieces) + 1));
    }
}

#[test]
fn what_one_cannot_take_is_left_to_the_others() {
    // Three on the second link; one of them is also on the first, which is wide, with a fourth.
    let mut shares = shares(&[10, 3], &[vec![0, 1], vec![1], vec![1], vec![0]]);
    (0..4).for_each(|row| begin(&mut shares, 0, row, 9_000));
    let rates: Vec<f64> = shares.crossers.iter().map(|one| (one.rate * 1e3).round()).collect();
    assert_eq!(rates, [1.0, 1.0, 1.0, 9.0]);
}

#[test]
fn who_goes_on_at_once_keeps_its_share() {
    let mut shares = shares(&[10], &[vec![0], vec![0]]);
    begin(&mut shares, 0, 0, 1_000);
    begin(&mut shares, 0, 1, 10_000);
    assert_eq!(shares.over(200_000), Some(0));
    shares.begin(200_000, 0, 1_000);
    shares.settle(200_000);
    assert_eq!(shares.next(), 400_000);
}

#[test]
fn packets_of_a_way_are_handed_on_in_order_and_those_of_another_pass() {
    let links = HostLinks::of(&[8_000_000_000, 2_000_000_000], &[&[0], &[0, 1]]);
    let mut pcie = Pcie::new(&links, [0].into_iter(), (1, 1), 0);
    let mut agenda = Agenda::default();
    for (way, bytes, message) in [(1, 1_000, 7), (1, 500, 8), (0, 1_500, 9)] {
        pcie.hand_on(0, 0, way, bytes, &mut agenda);
        pcie.handing_on[way as usize].ends(message);
    }
    assert_eq!(pcie.waiting, [3_000]);
    // One way has a quarter of a byte in a nanosecond, the other what that leaves of one.
    let mut seen = Vec::new();
    while let Some((now, _)) = agenda.pop() {
        pcie.comes(now);
        while let Some(moved) = pcie.take_moved(now) {
            let Moved::HandedOn(0, way) = moved else { panic!("{moved:?}") };
            let whole = std::iter::from_fn(|| pcie.handing_on[way as usize].take_whole());
            seen.push((now, way, whole.collect::<Vec<_>>()));
        }
        pcie.all_moved(now, &mut agenda);
    }
    assert_eq!(seen, [(2_000_000, 0, vec![9]), (4_000_000, 1, vec![7]), (6_000_000, 1, vec![8])]);
    assert_eq!(pcie.waiting, [0]);
}

#[test]
fn a_sender_that_was_let_go_and_could_not_send_is_the_first_again() {
    let links = HostLinks::of(&[8_000_000_000], &[&[0]]);
    let mut pcie = Pcie::new(&links, [0].into_iter(), (1, 1), 0);
    (0..3).for_each(|sender| pcie.hold(0, (0, 0), sender, false));
    assert_eq!(pcie.let_go(0, (0, 0)), Some(0));
    pcie.hold(0, (0, 0), 0, false);
    assert_eq!(pcie.let_go(0, (0, 0)), Some(0));
    pcie.has_sent(0, (0, 0));
    pcie.hold(0, (0, 0), 0, false);
    let order: Vec<u32> = std::iter::from_fn(|| pcie.let_go(0, (0, 0))).collect();
    assert_eq!(order, [1, 2, 0]);
}

/// No link carries more than it can, and each that has something to move crosses a full link on which nobody is faster:
/// that is what max-min fairness is (Bertsekas and Gallager, section 6.5.2).
fn assert_fair(shares: &Shares) -> Result<(), TestCaseError> {
    let on = |link: usize| {
        let rows = shares.crossers.iter().filter(|one| one.busy);
        rows.filter(move |one| one.links().contains(&(link as u16))).map(|one| one.rate)
    };
    let full: Vec<bool> = shares
        .rates
        .iter()
        .enumerate()
        .map(|(link, &rate)| {
            let sum: f64 = on(link).sum();
            assert!(sum <= rate * (1.0 + 1e-9), "link {link} carries {sum} of {rate}");
            sum >= rate * (1.0 - 1e-9)
        })
        .collect();
    for one in shares.crossers.iter().filter(|one| one.busy) {
        let bound = one.links().iter().any(|&link| {
            full[usize::from(link)] && on(usize::from(link)).all(|rate| rate <= one.rate * (1.0 + 1e-9))
        });
        prop_assert!(bound, "{one:?} {shares:?}");
    }
    Ok(())
}

proptest! {
    /// Whatever begins and ends in any order: rates are max-min fair after each, and bytes are neither lost nor won.
    #[test]
    fn rates_are_fair_at_all_times(
        rates in prop::collection::vec(1u32..40, 1..7),
        ways in prop::collection::vec(prop::collection::vec(0u16..7, 1..5), 1..9),
        begins in prop::collection::vec((0usize..9, 1u64..1_000_000, 0u64..50_000_000), 1..40),
    ) {
        let ways: Vec<Vec<u16>> = ways.into_iter().map(|mut way| {
            way.iter_mut().for_each(|link| *link %= rates.len() as u16);
            way.sort_unstable();
            way.dedup();
            way
        }).collect();
        let mut shares = shares(&rates, &ways);
        let (mut now, mut moved, mut asked) = (0, 0.0, 0.0);
        let step = |shares: &mut Shares, moved: &mut f64, from: u64, until: u64| {
            *moved += shares.crossers.iter().filter(|one| one.busy).map(|one| one.rate).sum::<f64>()
                * (until - from) as f64;
        };
        for (who, bytes, wait) in begins {
            let until = now + wait;
            while shares.next() <= until {
                let next = shares.next();
                step(&mut shares, &mut moved, now, next);
                now = next;
                while shares.over(now).is_some() {}
                shares.settle(now);
                assert_fair(&shares)?;
            }
            step(&mut shares, &mut moved, now, until);
            now = until;
            let who = who % ways.len();
            if !shares.is_busy(who) {
                begin(&mut shares, now, who, bytes);
                asked += bytes as f64;
                assert_fair(&shares)?;
            }
        }
        while shares.next() < NEVER {
            let next = shares.next();
            step(&mut shares, &mut moved, now, next);
            now = next;
            while shares.over(now).is_some() {}
            shares.settle(now);
            assert_fair(&shares)?;
        }
        // Each end is rounded to a picosecond, in which a crosser moves 0.04 B at most.
        prop_assert!((moved - asked).abs() < 40.0 * 0.04 + 1e-9 * asked, "{moved} {asked}");
    }
}
