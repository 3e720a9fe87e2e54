//! How an answer to a synthetic case is scored, and the case under other names.
use std::collections::BTreeSet;

use railtwin_pairs::{Answer, Exit, FaultShape, PairCause, Port, TrialSet};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use super::cases::Case;

/// Verdict on an answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// Exactly the faults.
    Right,
    /// Each fault is among the alternatives of a cause.
    Honest,
    /// Nothing is told, or not all, and nothing false.
    Silent,
    /// Something is told that is not so.
    Wrong,
}

/// Scores an answer.
pub fn score(case: &Case, answer: &Answer) -> Verdict {
    if case.truth.is_empty() {
        return if answer.causes.is_empty() { Verdict::Right } else { Verdict::Wrong };
    }
    // All results have the hub: nothing is beside them.
    if case.is_untold && answer.causes.is_empty() {
        return Verdict::Right;
    }
    if let ([cause], true) = (&answer.causes[..], case.truth.len() > 1) {
        // Several slow hosts may be told as one group of them.
        let hosts: BTreeSet<usize> = case.truth.iter().flat_map(FaultShape::hosts).collect();
        if cause.shape == (FaultShape::Group { cut: false, rail: None, hosts }) {
            return Verdict::Right;
        }
    }
    let mut left = case.truth.clone();
    let mut verdict = Verdict::Right;
    for cause in &answer.causes {
        let Some((at, one)) =
            left.iter().enumerate().find_map(|(at, truth)| Some((at, fits(case, cause, truth)?)))
        else {
            return Verdict::Wrong;
        };
        verdict = verdict.max(one);
        left.remove(at);
    }
    if left.is_empty() { verdict } else { Verdict::Silent }
}

/// How a cause fits a fault; none where it does not.
fn fits(case: &Case, cause: &PairCause, truth: &FaultShape) -> Option<Verdict> {
    let touched = |shape: &FaultShape| -> Vec<bool> {
        case.set.trials.iter().map(|trial| trial.is_touched(shape, Exit::ReceiverRail)).collect()
    };
    // The ports of a host that is told are no further alternative.
    let is_part = |shape: &FaultShape| match shape {
        FaultShape::Port(host, _) => {
            cause.alternatives.iter().any(|other| other.shape == FaultShape::Host(*host))
        }
        _ => false,
    };
    let several = cause.alternatives.iter().filter(|one| !is_part(&one.shape)).count() > 1;
    let has_untested = cause.members.iter().any(|member| !member.is_tested());
    let told = |shape: &FaultShape| cause.alternatives.iter().any(|one| one.shape == *shape);
    let same = |shapes: &[&FaultShape]| {
        let own = touched(truth);
        shapes.iter().any(|shape| touched(shape) == own)
    };
    let all: Vec<&FaultShape> = cause.alternatives.iter().map(|one| &one.shape).collect();
    if cause.shape == *truth && !several && !has_untested {
        Some(Verdict::Right)
    } else if told(truth) || same(&all) || is_untested_variant(cause, truth) {
        let differ = cause.alternatives.iter().filter(|one| !one.is_same).count();
        (differ == 0 || cause.alternatives.len() <= 3).then_some(Verdict::Honest)
    } else {
        None
    }
}

/// Whether a group differs from the truth only in hosts whose place the answer leaves open.
fn is_untested_variant(cause: &PairCause, truth: &FaultShape) -> bool {
    let FaultShape::Group { cut, rail, hosts } = truth else { return false };
    cause.alternatives.iter().any(|one| match &one.shape {
        FaultShape::Group { cut: own_cut, rail: own_rail, hosts: own } => {
            let untested =
                |host: &usize| cause.members.iter().any(|member| member.host == *host && !member.is_tested());
            own_cut == cut && own_rail == rail && own.symmetric_difference(hosts).all(untested)
        }
        _ => false,
    })
}

/// The same case with other names and in another order, and how hosts and places are renamed.
pub fn renamed(case: &Case, seed: u64) -> (TrialSet, Vec<usize>, Vec<usize>) {
    let mut random = Pcg64::seed_from_u64(seed);
    let permutation = |count: usize, random: &mut dyn Rng| {
        let mut order: Vec<usize> = (0..count).collect();
        order.shuffle(random);
        order
    };
    let hosts = permutation(case.set.hosts.len(), &mut random);
    let places = permutation(case.set.places.len(), &mut random);
    let mut trials = case.set.trials.clone();
    for port in trials.iter_mut().flat_map(|trial| &mut trial.ports) {
        *port = Port { host: hosts[port.host], place: port.place.map(|place| places[place]) };
    }
    trials.shuffle(&mut random);
    (TrialSet { trials, ..case.set.clone() }, hosts, places)
}

/// A shape under other names.
pub fn rename(shape: &FaultShape, hosts: &[usize], places: &[usize]) -> FaultShape {
    let all = |of: &BTreeSet<usize>| of.iter().map(|host| hosts[*host]).collect();
    let sorted = |pair: &[usize; 2]| {
        let [a, b] = pair.map(|host| hosts[host]);
        [a.min(b), a.max(b)]
    };
    match shape {
        FaultShape::Host(host) => FaultShape::Host(hosts[*host]),
        FaultShape::Port(host, place) => FaultShape::Port(hosts[*host], places[*place]),
        FaultShape::Rail(place) => FaultShape::Rail(places[*place]),
        FaultShape::RailCut(place) => FaultShape::RailCut(places[*place]),
        FaultShape::Pair(pair) => FaultShape::Pair(sorted(pair)),
        FaultShape::Star(hub, others) => FaultShape::Star(hosts[*hub], all(others)),
        FaultShape::Group { cut, rail, hosts: own } => {
            let own: BTreeSet<usize> = all(own);
            let others = (0..hosts.len()).filter(|host| !own.contains(host)).collect();
            // Both sides of a cut of all rails name it.
            let own = if *cut && rail.is_none() { own.min(others) } else { own };
            FaultShape::Group { cut: *cut, rail: rail.map(|rail| places[rail]), hosts: own }
        }
        FaultShape::Sends(host) => FaultShape::Sends(hosts[*host]),
        FaultShape::Receives(host) => FaultShape::Receives(hosts[*host]),
        FaultShape::OneWay(pair) => FaultShape::OneWay(pair.map(|host| hosts[host])),
    }
}
