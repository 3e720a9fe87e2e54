//! From an explanation to an answer: alternatives, members, the next test, how results agree.
use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::LN_2;

use railtwin_units::robust;

use crate::TOLD_BITS;
use crate::advice::next_test;
use crate::answer::{Alternative, Answer, Membership, PairCause, Trend};
use crate::evidence::{Effect, Evidence};
use crate::infer::{Explained, Problem};
use crate::layout::{Layout, Touched};
use crate::leaves::Leaves;
use crate::shape::FaultShape;

/// Most confidence in a cause.
const CONFIDENCE_MAX: f64 = 0.95;
/// Most alternatives that touch different tests.
const ALTERNATIVES_MAX: usize = 3;
/// Bandwidth falls with size where the large sizes keep less than this part of what the small ones have, and the reverse.
const FALLS: f64 = 0.7;
/// A result is slow where it lacks this, as a natural logarithm, or this many deviations.
const SLOW: f64 = 0.0726;
const SLOW_DEVIATIONS: f64 = 4.0;

/// The answer of an explanation.
pub(crate) fn answer(problem: &Problem, explained: &Explained) -> Answer {
    let mut causes: Vec<PairCause> =
        (0..explained.list.len()).map(|at| cause(problem, explained, at)).collect();
    causes.sort_by(|a, b| b.bits.total_cmp(&a.bits).then_with(|| a.shape.cmp(&b.shape)));
    let layout = &problem.layout;
    let levels = &explained.levels;
    let (mut slow_left, mut slow, mut deaths, mut unexplained) = (0, 0, 0, Vec::new());
    for at in 0..layout.items.len() {
        if is_slow(explained, at) {
            slow += 1;
            slow_left += usize::from(!explained.known.is_slowed(at));
        }
        if let Some(way) = problem.way[at] {
            deaths += 1;
            if !explained.known.explains_death(at, way) {
                unexplained.push(layout.items[at].trial);
            }
        }
    }
    unexplained.sort_unstable();
    Answer {
        causes,
        leaves: leaves_of(layout, &explained.leaves),
        exit: problem.exit,
        results: levels.lack.iter().flatten().count(),
        slow_left: [slow_left, slow],
        deaths_left: [unexplained.len(), deaths],
        unexplained_deaths: unexplained,
    }
}

fn is_slow(explained: &Explained, at: usize) -> bool {
    let limit = SLOW.max(SLOW_DEVIATIONS * explained.levels.noise[at]);
    explained.levels.lack[at].is_some_and(|lack| lack < -limit)
}

/// Hosts by leaf, the largest leaf first, of which the leaf is known; nothing where there are not two.
fn leaves_of(layout: &Layout, known: &Leaves) -> Vec<Vec<usize>> {
    let mut leaves: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let is_told = |host: usize| !layout.of_host[host].is_empty() && known.is_known[host];
    for (host, leaf) in known.of_host.iter().enumerate().filter(|(host, _)| is_told(*host)) {
        leaves.entry(*leaf).or_default().push(host);
    }
    let mut leaves: Vec<Vec<usize>> = leaves.into_values().collect();
    leaves.sort_by_key(|hosts| std::cmp::Reverse(hosts.len()));
    if leaves.len() > 1 { leaves } else { Vec::new() }
}

/// One cause of the list, beside all others.
fn cause(problem: &Problem, explained: &Explained, at: usize) -> PairCause {
    let own = &explained.list[at];
    let known = problem.known_without(explained, at);
    let evidence = problem.evidence(&explained.densities, &known);
    let effect = problem.search(&evidence, &own.barred).effect_of(&own.touched);
    let telling = Telling { problem, evidence: &evidence, barred: &own.barred };
    let bits = effect.total() / LN_2 - own.shape.price(problem.layout.counts);
    let members = telling.members(&own.shape, &own.touched);
    let (alternatives, whole) = telling.alternatives(&own.shape, &own.touched, bits, &members);
    let confidence = (1.0 - (-bits.max(0.0)).exp2()) * whole;
    let next = next_test(&problem.layout, &alternatives, &members);
    let counts = counted(problem, explained, &own.touched, &effect);
    PairCause {
        shape: own.shape.clone(),
        bits,
        confidence: confidence.min(CONFIDENCE_MAX),
        left: counts.left,
        trend: counts.trend,
        slow: counts.slow,
        deaths: counts.deaths,
        touched: own.touched.iter().count(),
        trials: counts.trials,
        alternatives,
        members,
        next,
    }
}

struct Counts {
    left: Vec<(String, f64)>,
    trend: Trend,
    slow: [usize; 2],
    deaths: Vec<(String, usize)>,
    trials: Vec<usize>,
}

/// How the touched results agree with an effect.
fn counted(problem: &Problem, explained: &Explained, touched: &Touched, effect: &Effect) -> Counts {
    let layout = &problem.layout;
    let left: Vec<(String, f64)> = effect
        .depth
        .iter()
        .zip(&layout.classes)
        .filter_map(|(depth, class)| Some((class.clone(), (-(*depth)?).exp())))
        .collect();
    let (mut slow, mut trials) = ([0, 0], Vec::new());
    let mut ends: [Vec<f64>; 2] = Default::default();
    let mut deaths: BTreeMap<usize, usize> = BTreeMap::new();
    for at in touched.iter() {
        if let (Some(depth), Some(lack)) = (effect.depth[layout.items[at].class], explained.levels.lack[at]) {
            slow[1] += 1;
            // Nearer to the depth than to the level.
            if lack < -depth / 2.0 {
                slow[0] += 1;
                trials.push(layout.items[at].trial);
                let of = explained.levels.ends[at].unwrap_or_default();
                ends[0].push(of[0]);
                ends[1].push(of[1]);
            }
        }
        if let Some(way) = problem.way[at].filter(|way| effect.ways.contains(way)) {
            *deaths.entry(way).or_default() += 1;
            trials.push(layout.items[at].trial);
        }
    }
    let [small, large] = ends.map(|mut values| robust::median(&mut values).unwrap_or(0.0).exp());
    let trend = if large < FALLS * small {
        Trend::FallsWithSize
    } else if small < FALLS * large {
        Trend::SmallOnly
    } else {
        Trend::Constant
    };
    let deaths = deaths.into_iter().map(|(way, count)| (problem.ways[way].clone(), count)).collect();
    Counts { left, trend, slow, deaths, trials }
}

struct Telling<'a> {
    problem: &'a Problem,
    evidence: &'a Evidence,
    barred: &'a [usize],
}

impl Telling<'_> {
    fn layout(&self) -> &Layout {
        &self.problem.layout
    }

    fn nats(&self, touched: &Touched) -> f64 {
        self.problem.search(self.evidence, self.barred).nats_of(touched)
    }

    /// Evidence for each host of the tests that it belongs to a group, or a star, or does not.
    fn members(&self, shape: &FaultShape, touched: &Touched) -> Vec<Membership> {
        let own = self.nats(touched);
        let hosts = (0..self.layout().of_host.len()).filter(|&host| !self.layout().of_host[host].is_empty());
        let flipped = |host: usize| -> Option<(bool, FaultShape)> {
            match shape {
                FaultShape::Group { cut, rail, hosts } => {
                    let (is_member, hosts) = without(hosts, host);
                    Some((is_member, FaultShape::Group { cut: *cut, rail: *rail, hosts }))
                }
                FaultShape::Star(hub, others) if *hub != host => {
                    let (is_member, others) = without(others, host);
                    Some((is_member, FaultShape::Star(*hub, others)))
                }
                _ => None,
            }
        };
        hosts
            .filter_map(|host| {
                let (is_member, other) = flipped(host)?;
                let bits = (own - self.nats(&self.layout().touched(&other))) / LN_2;
                Some(Membership { host, is_member, bits })
            })
            .collect()
    }

    /// All causes that explain as much, the cause first, and the part of their weight that is told.
    fn alternatives(
        &self,
        shape: &FaultShape,
        touched: &Touched,
        bits: f64,
        members: &[Membership],
    ) -> (Vec<Alternative>, f64) {
        let counts = self.layout().counts;
        let nats = self.nats(touched) / LN_2;
        let mut found: Vec<Alternative> = Vec::new();
        let mut add = |other: FaultShape, bits: f64, is_same: bool| {
            if other != *shape && !found.iter().any(|one| one.shape == other) {
                found.push(Alternative { shape: other, bits, is_same, share: 0.0 });
            }
        };
        let alike = self.problem.simple.iter().find(|alike| alike.touched == *touched);
        for (other, price) in alike.iter().flat_map(|alike| &alike.shapes) {
            add(other.clone(), nats - price, true);
        }
        let is_simple = alike.is_some();
        let search = self.problem.search(self.evidence, self.barred);
        for other in self.variants(shape, is_simple).into_iter().filter(|other| search.is_group(other)) {
            let tests = self.layout().touched(&other);
            let is_same = tests == *touched;
            let own = if is_same { nats } else { self.nats(&tests) / LN_2 };
            let own = own - other.price(counts);
            if is_same || own > bits - TOLD_BITS {
                add(other, own, is_same);
            }
        }
        // Groups and stars that touch the same tests, of which the search keeps the cheapest.
        if matches!(shape, FaultShape::Star(..) | FaultShape::Group { .. }) {
            for other in search.all().into_iter().filter(|other| other.touched == *touched) {
                if !is_untested_variant(&other.shape, shape, members) {
                    add(other.shape, other.bits, true);
                }
            }
        }
        for other in search.candidates().into_iter().take_while(|other| other.bits > bits - TOLD_BITS) {
            if other.touched != *touched && !is_untested_variant(&other.shape, shape, members) {
                add(other.shape, other.bits, false);
            }
        }
        found.sort_by(|a, b| {
            b.is_same.cmp(&a.is_same).then(b.bits.total_cmp(&a.bits)).then_with(|| a.shape.cmp(&b.shape))
        });
        found.insert(0, Alternative { shape: shape.clone(), bits, is_same: true, share: 0.0 });
        // Several ports of one host: the host is the name that holds in any case.
        if let Some(host) = only_host(&found) {
            let (shape, bits) = (FaultShape::Host(host), bits - TOLD_BITS);
            found.insert(1, Alternative { shape, bits, is_same: false, share: 0.0 });
        }
        let weight = |one: &Alternative| (one.bits - bits).exp2();
        let all: f64 = found.iter().map(weight).sum();
        let same = found.iter().filter(|one| one.is_same).count();
        found.truncate(
            (same + usize::from(found.get(1).is_some_and(|one| !one.is_same))).max(ALTERNATIVES_MAX),
        );
        let told: f64 = found.iter().map(weight).sum();
        found.iter_mut().for_each(|one| one.share = weight(one) / told);
        (found, told / all)
    }

    /// The same hosts as another kind of group: cut or touch, each rail or all.
    fn variants(&self, shape: &FaultShape, is_simple: bool) -> Vec<FaultShape> {
        let FaultShape::Group { hosts, .. } = shape else { return Vec::new() };
        if is_simple {
            return Vec::new();
        }
        let used = |host: &usize| !self.layout().of_host[*host].is_empty();
        let others: BTreeSet<usize> =
            (0..self.layout().of_host.len()).filter(used).filter(|host| !hosts.contains(host)).collect();
        let mut variants = Vec::new();
        for rail in std::iter::once(None).chain(self.layout().rails().map(Some)) {
            for (cut, hosts) in [(true, hosts), (false, hosts), (true, &others), (false, &others)] {
                // Both sides of a cut of all rails are one cut.
                let is_twice = cut && rail.is_none() && std::ptr::eq(hosts, &raw const others);
                if !hosts.is_empty() && !is_twice {
                    variants.push(FaultShape::Group { cut, rail, hosts: hosts.clone() });
                }
            }
        }
        variants
    }
}

/// The one host of which several ports are the alternatives.
fn only_host(found: &[Alternative]) -> Option<usize> {
    let mut hosts = found.iter().map(|one| match one.shape {
        FaultShape::Port(host, _) => Some(host),
        _ => None,
    });
    let first = hosts.next().flatten()?;
    (found.len() > 1 && hosts.all(|host| host == Some(first))).then_some(first)
}

/// Whether a set has a host, and the set with that changed.
fn without(hosts: &BTreeSet<usize>, host: usize) -> (bool, BTreeSet<usize>) {
    let mut changed = hosts.clone();
    let is_member = changed.remove(&host);
    if !is_member {
        changed.insert(host);
    }
    (is_member, changed)
}

/// Whether two groups differ only in hosts of which the tests tell nothing.
fn is_untested_variant(other: &FaultShape, shape: &FaultShape, members: &[Membership]) -> bool {
    let differ = |a: &BTreeSet<usize>, b: &BTreeSet<usize>| -> bool {
        let untested = |host: &usize| members.iter().any(|one| one.host == *host && !one.is_tested());
        a.symmetric_difference(b).all(untested)
    };
    match (other, shape) {
        (FaultShape::Group { hosts: a, .. }, FaultShape::Group { hosts: b, .. }) => differ(a, b),
        (FaultShape::Star(a, legs), FaultShape::Star(b, others)) => a == b && differ(legs, others),
        _ => false,
    }
}
