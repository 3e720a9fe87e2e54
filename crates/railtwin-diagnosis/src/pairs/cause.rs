//! What many slow pairs have in common: a host, a rail, or a port (the NIC beside one GPU of one host).
//!
//! A cause explains pairs where chance would not give it a part in so many of them: at the rate of slow ones among all
//! others, the binomial tail over its own, times the number of causes of its kind. The least likely by chance is told
//! first, its pairs are taken away, and the rest is looked at again.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_records::seen::TestSeen;
use railtwin_records::{Component, Evidence, Finding};
use railtwin_units::probability::binomial_above;

use super::signature::{Beside, signature};
use super::{CONFIRMED, OF_HOST_MIN, finding, is_slow, lines};

/// A cause explains slow pairs where chance would give one of all as many of them less often than this.
const CHANCE: f64 = 0.05;
/// Advice for a rail.
const RAIL: &str = "GPUs at this address share a rail in all hosts: look at its leaf, at the cables from it to the tiers above \
                    and at how traffic leaves it for other rails, then test pairs within the rail";

/// The same where tests name NICs.
const RAIL_OF_NICS: &str = "NICs of this name share a rail in all hosts: look at its leaf, at the cables from it to the tiers \
                            above and at how traffic leaves it for other rails, then test pairs within the rail";

/// What pairs may have in common. Of two that explain as much the first is told: it leaves more open.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Place<'a> {
    Host(&'a str),
    Rail(&'a str),
    Port(&'a str, &'a str),
}

impl<'a> Place<'a> {
    fn holds(self, host: &str, slot: &str) -> bool {
        match self {
            Self::Host(name) => name == host,
            Self::Rail(name) => name == slot,
            Self::Port(name, at) => name == host && at == slot,
        }
    }

    fn component(self) -> Component {
        match self {
            Self::Host(name) => Component::Host(name.to_owned()),
            Self::Rail(slot) => Component::Rail(slot.to_owned()),
            Self::Port(host, slot) => Component::Nic(format!("{host}/{slot}")),
        }
    }

    fn words(self) -> String {
        match self {
            Self::Host(name) => format!("of host {name}"),
            Self::Rail(slot) if is_gpu(slot) => format!("with the GPU at {slot} of one of their hosts"),
            Self::Port(host, slot) if is_gpu(slot) => {
                format!("with the GPU at {slot} of host {host}, and the NIC beside it")
            }
            Self::Rail(slot) => format!("with the NIC {slot} of one of their hosts"),
            Self::Port(host, slot) => format!("with the NIC {slot} of host {host}"),
        }
    }
}

/// Whether a slot is a GPU's: tests of GPUs tell its PCI address, such as `0000:1b:00`, those of NICs the NIC's name.
fn is_gpu(slot: &str) -> bool {
    let parts = slot.split(':');
    let is_hex = |part: &str| part.split('.').all(|part| part.bytes().all(|digit| digit.is_ascii_hexdigit()));
    slot.contains(':') && parts.into_iter().all(is_hex)
}

/// A pair as it was tested: with these GPUs.
#[derive(Clone, Debug)]
struct Case<'a, 'b> {
    pair: [&'a str; 2],
    slots: [&'a str; 2],
    rows: Vec<&'b Beside<'a>>,
    slow: bool,
}

impl Case<'_, '_> {
    fn at(&self, place: Place<'_>) -> bool {
        (0..2).any(|end| place.holds(self.pair[end], self.slots[end]))
    }
}

/// All pairs as they were tested. What a cause explains is slow no more.
#[derive(Debug)]
pub(super) struct Cases<'a, 'b> {
    cases: Vec<Case<'a, 'b>>,
    places: BTreeSet<Place<'a>>,
}

/// A cause of slow pairs.
#[derive(Debug)]
pub(super) struct Cause<'a, 'b> {
    place: Place<'a>,
    /// Chance that one of all such has as many.
    chance: f64,
    /// Cases with it.
    all: usize,
    own: Vec<Case<'a, 'b>>,
    /// Of a port, results of pairs with its host that name no NIC of it, where the host has no other: logs of perftest
    /// name the NIC at which a test begins only.
    back: Vec<&'b Beside<'a>>,
}

impl<'a, 'b> Cases<'a, 'b> {
    pub(super) fn of(pairs: &'b BTreeMap<[&'a str; 2], Vec<Beside<'a>>>) -> Self {
        let mut cases = Vec::new();
        for (pair, rows) in pairs {
            let several = is_slow(rows.iter());
            let mut by_slots: BTreeMap<[&str; 2], Vec<&Beside<'a>>> = BTreeMap::new();
            rows.iter().for_each(|row| by_slots.entry(row.slots).or_default().push(row));
            cases.extend(by_slots.into_iter().map(|(slots, rows)| {
                let slow = several && is_slow(rows.iter().copied());
                Case { pair: *pair, slots, rows, slow }
            }));
        }
        let mut slots_of: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for case in &cases {
            for end in 0..2 {
                slots_of.entry(case.pair[end]).or_default().insert(case.slots[end]);
            }
        }
        let mut places = BTreeSet::new();
        for (host, slots) in slots_of {
            places.insert(Place::Host(host));
            // What all tests of a host share cannot be told from the host.
            let told = |slot: &&&str| slots.len() > 1 && !slot.is_empty();
            for slot in slots.iter().filter(told) {
                places.extend([Place::Rail(slot), Place::Port(host, slot)]);
            }
        }
        Self { cases, places }
    }

    /// The cause that chance gives least; its cases are slow no more.
    pub(super) fn common(&mut self) -> Option<Cause<'a, 'b>> {
        let count = |of: fn(&Place<'_>) -> bool| self.places.iter().filter(|place| of(place)).count();
        let hosts = count(|place| matches!(place, Place::Host(_)));
        let rails = count(|place| matches!(place, Place::Rail(_)));
        let ports = count(|place| matches!(place, Place::Port(..)));
        let slow_all = self.cases.iter().filter(|case| case.slow).count();
        let mut best: Option<(f64, Place<'a>)> = None;
        for &place in &self.places {
            let own = || self.cases.iter().filter(|case| case.at(place));
            let (taken, part) = (own().count(), own().filter(|case| case.slow).count());
            if part < OF_HOST_MIN {
                continue;
            }
            let (others, slow_others) = (self.cases.len() - taken, slow_all - part);
            // One more of each: that no other pair is slow does not say that none can be.
            let rate = (slow_others + 1) as f64 / (others + 2) as f64;
            let tail = binomial_above(taken as u32, rate, (part as u32).saturating_sub(1));
            let several = match place {
                Place::Host(_) => hosts,
                Place::Rail(_) => rails,
                Place::Port(..) => ports,
            };
            let chance = several as f64 * tail;
            if chance < CHANCE && best.is_none_or(|(least, _)| chance < least) {
                best = Some((chance, place));
            }
        }
        let (chance, place) = best?;
        let all = self.cases.iter().filter(|case| case.at(place)).count();
        let mut own = Vec::new();
        for case in self.cases.iter_mut().filter(|case| case.slow && case.at(place)) {
            own.push(case.clone());
            case.slow = false;
        }
        Some(Cause { place, chance, all, own, back: self.back(place) })
    }

    fn back(&self, place: Place<'a>) -> Vec<&'b Beside<'a>> {
        let Place::Port(host, slot) = place else { return Vec::new() };
        let at_host = |case: &Case<'a, 'b>, is: &dyn Fn(&str) -> bool| {
            (0..2).any(|end| case.pair[end] == host && is(case.slots[end]))
        };
        if self.cases.iter().any(|case| at_host(case, &|at| !at.is_empty() && at != slot)) {
            return Vec::new();
        }
        let unnamed = self.cases.iter().filter(|case| at_host(case, &str::is_empty));
        unnamed.flat_map(|case| case.rows.iter().copied()).collect()
    }

    /// Slow pairs that no cause explains.
    pub(super) fn left(&self) -> BTreeSet<[&'a str; 2]> {
        self.cases.iter().filter(|case| case.slow).map(|case| case.pair).collect()
    }
}

impl Cause<'_, '_> {
    /// The finding, and the logarithm of the least share.
    pub(super) fn told(&self) -> (f64, Finding) {
        let rows: Vec<Beside<'_>> =
            self.own.iter().flat_map(|case| case.rows.iter().copied().cloned()).collect();
        let host = match self.place {
            Place::Host(host) | Place::Port(host, _) => Some(host),
            Place::Rail(_) => None,
        };
        let how = signature(&rows, host, &self.back);
        let others: BTreeSet<&str> = match self.place {
            Place::Host(host) | Place::Port(host, _) => {
                let of = self.own.iter().flat_map(|case| case.pair);
                of.filter(|other| *other != host).collect()
            }
            Place::Rail(_) => self.own.iter().flat_map(|case| case.pair).collect(),
        };
        let hosts: Vec<String> = others.into_iter().map(str::to_owned).collect();
        let count = hosts.len() as f64;
        let pairs = TestSeen::SlowPairs {
            place: self.place.words(),
            tested: self.all,
            chance: format!("{:.1e}", self.chance),
        };
        let mut evidence = vec![
            Evidence::new(pairs, self.own.len() as f64, 0.0),
            Evidence::new(TestSeen::PairsShare { pattern: how.words }, how.share, 1.0),
            Evidence::new(
                TestSeen::PairHosts { hosts, are_others: !matches!(self.place, Place::Rail(_)) },
                count,
                0.0,
            ),
        ];
        for case in &self.own {
            evidence.extend(lines(&case.pair, case.rows.iter().copied()));
        }
        let worst = rows.iter().map(|row| row.share).fold(1.0, f64::min).max(f64::MIN_POSITIVE).ln();
        let confidence = (1.0 - self.chance).min(CONFIRMED);
        let advice = match self.place {
            Place::Rail(slot) if is_gpu(slot) => RAIL,
            Place::Rail(_) => RAIL_OF_NICS,
            _ => how.advice,
        };
        (worst, finding(self.place.component(), confidence, worst, evidence, advice))
    }
}
