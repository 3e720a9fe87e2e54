//! The inference: causes are added while they save bits, then taken away again where the others suffice.
use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::LN_2;

use crate::TOLD_BITS;
use crate::evidence::{Densities, Effect, Evidence, Known};
use crate::flows::Exit;
use crate::input::{TrialOutcome, TrialSet};
use crate::layout::{Layout, Touched};
use crate::leaves::{Leaves, leaves};
use crate::level::{Curve, Levels, curves, levels};
use crate::search::{Alike, Candidate, Search, simple_shapes};
use crate::shape::FaultShape;

/// Most causes of one answer.
const CAUSES_MAX: usize = 12;
/// Likeness of the tests of two causes from which they are one.
const SAME_TESTS: f64 = 0.7;
/// Bits by which a first cause may be worse than the best one before it is given up.
const BEHIND_BITS: f64 = 64.0;
/// Most causes that are put in the place of others.
const REFINEMENTS: usize = 4;
/// First causes that are tried where one does not explain all.
const BEAM: usize = 4;

/// A cause of a list, with the ways to die that it may not take.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub shape: FaultShape,
    pub touched: Touched,
    pub barred: Vec<usize>,
}

/// A list of causes with all that follows from it.
#[derive(Clone, Debug)]
pub(crate) struct Explained {
    pub list: Vec<Listed>,
    pub effects: Vec<Effect>,
    /// Bits of each beyond its price, beside those before it.
    pub bits: Vec<f64>,
    pub leaves: Leaves,
    pub levels: Levels,
    pub densities: Densities,
    pub known: Known,
    /// Bits of the description of all results: less is better.
    pub length: f64,
}

/// Tests under one assumption on the way of flows.
pub(crate) struct Problem {
    pub exit: Exit,
    pub layout: Layout,
    pub curves: Vec<Curve>,
    pub simple: Vec<Alike>,
    /// Ways to die, and that of each test.
    pub ways: Vec<String>,
    pub way: Vec<Option<usize>>,
}

impl Problem {
    pub fn of(set: &TrialSet, exit: Exit) -> Self {
        let layout = Layout::of(set, exit);
        let died = |at: usize| match &set.trials[layout.items[at].trial].outcome {
            TrialOutcome::Died(way) => Some(way.clone()),
            TrialOutcome::Sizes(_) => None,
        };
        let deaths: Vec<Option<String>> = (0..layout.items.len()).map(died).collect();
        // Where every test died nothing tells a place from the way in which tests were started.
        let all_died = deaths.iter().all(Option::is_some);
        let names: BTreeSet<&String> = deaths.iter().flatten().filter(|_| !all_died).collect();
        let ways: Vec<String> = names.into_iter().cloned().collect();
        let way = deaths.iter().map(|way| ways.binary_search(way.as_ref()?).ok()).collect();
        let (curves, simple) = (curves(set, &layout), simple_shapes(&layout));
        Self { exit, layout, curves, simple, ways, way }
    }

    pub fn evidence(&self, densities: &Densities, known: &Known) -> Evidence {
        Evidence::of(&self.layout, densities, &self.way, self.ways.len(), known)
    }

    pub fn search<'a>(&'a self, evidence: &'a Evidence, barred: &'a [usize]) -> Search<'a> {
        Search { layout: &self.layout, evidence, simple: &self.simple, barred }
    }

    /// Takes levels, leaves and effects for a list of causes. Levels come from tests that no cause slows, so two rounds do it.
    pub fn explain(&self, list: &[Listed]) -> Explained {
        let mut slowed = vec![false; self.layout.items.len()];
        let mut explained = self.explain_beside(list, &slowed);
        for _ in 0..usize::from(!list.is_empty()) {
            (0..slowed.len()).for_each(|at| slowed[at] = explained.known.is_slowed(at));
            explained = self.explain_beside(list, &slowed);
        }
        explained
    }

    fn explain_beside(&self, list: &[Listed], slowed: &[bool]) -> Explained {
        let leaves = leaves(&self.layout, &self.curves, slowed);
        let levels = levels(&self.layout, &self.curves, slowed, &leaves.local(&self.layout));
        let densities = Densities::of(&levels);
        let mut known = self.nothing();
        let mut length = -self.evidence(&densities, &known).base / LN_2;
        let (mut effects, mut bits) = (Vec::new(), Vec::new());
        for one in list {
            let evidence = self.evidence(&densities, &known);
            let effect = self.search(&evidence, &one.barred).effect_of(&one.touched);
            let gain = effect.total() / LN_2 - one.shape.price(self.layout.counts);
            known.add(&one.touched, &effect, &levels, &evidence.class);
            length -= gain;
            bits.push(gain);
            effects.push(effect);
        }
        Explained { list: list.to_vec(), effects, bits, leaves, levels, densities, known, length }
    }

    pub fn nothing(&self) -> Known {
        Known::nothing(self.layout.items.len(), self.ways.len())
    }

    /// Adds the best cause while it saves enough bits. None where the first cause explains much less than another one, of
    /// the length `leader`, or leads to causes that were `seen`.
    fn greedy(&self, first: Listed, leader: f64, seen: &mut BTreeSet<Vec<Touched>>) -> Option<Explained> {
        let mut explained = self.explain(&[first]);
        if explained.length > leader + BEHIND_BITS {
            return None;
        }
        while explained.list.len() < CAUSES_MAX {
            let evidence = self.evidence(&explained.densities, &explained.known);
            let candidates = self.search(&evidence, &[]).candidates();
            // A second cause of nearly the same tests only refines the depth of the first.
            let is_new = |one: &Candidate| {
                explained.list.iter().all(|known| known.touched.likeness(&one.touched) < SAME_TESTS)
            };
            let Some(best) = candidates.into_iter().find(is_new) else { break };
            if best.bits < TOLD_BITS {
                break;
            }
            let mut list = explained.list.clone();
            list.push(best.into());
            let mut sets: Vec<Touched> = list.iter().map(|one: &Listed| one.touched.clone()).collect();
            sets.sort();
            if !seen.insert(sets) {
                return None;
            }
            let longer = self.explain(&list);
            if longer.length > explained.length - TOLD_BITS {
                break;
            }
            explained = longer;
        }
        Some(self.without_idle(explained))
    }

    /// Puts the cause first with which the description is shortest: an earlier cause takes what a later one explains better.
    fn reordered(&self, explained: Explained) -> Explained {
        let orders = (1..explained.list.len()).map(|at| {
            let mut list = explained.list.clone();
            list[..=at].rotate_right(1);
            self.explain(&list)
        });
        let best = orders.min_by(|a, b| a.length.total_cmp(&b.length));
        best.filter(|best| best.length < explained.length - 1e-6).unwrap_or(explained)
    }

    /// Puts a host in the place of several of its ports, where that explains nearly as much.
    fn joined(&self, explained: Explained) -> Explained {
        let mut ports: BTreeMap<usize, usize> = BTreeMap::new();
        for one in &explained.list {
            if let FaultShape::Port(host, _) = one.shape {
                *ports.entry(host).or_default() += 1;
            }
        }
        let mut best = explained;
        for host in ports.into_iter().filter(|(_, count)| *count > 1).map(|(host, _)| host) {
            let is_port = |one: &Listed| matches!(one.shape, FaultShape::Port(own, _) if own == host);
            let shape = FaultShape::Host(host);
            let touched = self.layout.touched(&shape);
            let mut list: Vec<Listed> = best.list.iter().filter(|one| !is_port(one)).cloned().collect();
            list.insert(0, Listed { shape, touched, barred: Vec::new() });
            let joined = self.explain(&list);
            // Several NICs of one host seldom fail by themselves: the host may explain less, but not nothing.
            if joined.bits[0] >= TOLD_BITS {
                best = joined;
            }
        }
        best
    }

    /// Puts a better cause in the place of one, as levels that came later show it.
    fn refined(&self, mut explained: Explained) -> Explained {
        for _ in 0..REFINEMENTS {
            let Some(better) = (0..explained.list.len()).find_map(|at| self.replaced(&explained, at)) else {
                break;
            };
            explained = better;
        }
        explained
    }

    /// The explanation with another cause in the place of one, where it is shorter.
    fn replaced(&self, explained: &Explained, at: usize) -> Option<Explained> {
        let known = self.known_without(explained, at);
        let evidence = self.evidence(&explained.densities, &known);
        let own = &explained.list[at];
        let search = self.search(&evidence, &own.barred);
        let bits = search.bits(&own.shape, &own.touched);
        let better = search.candidates().into_iter().next().filter(|one| one.bits > bits + 1.0)?;
        let mut list = explained.list.clone();
        list[at] = Listed { barred: own.barred.clone(), ..better.into() };
        let other = self.explain(&list);
        (other.length < explained.length - 1.0).then_some(other)
    }

    /// The results that all causes but one explain.
    pub fn known_without(&self, explained: &Explained, at: usize) -> Known {
        let class: Vec<usize> = self.layout.items.iter().map(|item| item.class).collect();
        let mut known = self.nothing();
        for other in (0..explained.list.len()).filter(|other| *other != at) {
            known.add(&explained.list[other].touched, &explained.effects[other], &explained.levels, &class);
        }
        known
    }

    /// Takes causes away without which the description is no longer, or hardly.
    fn without_idle(&self, mut explained: Explained) -> Explained {
        loop {
            let shorter = (0..explained.list.len())
                .filter(|_| explained.list.len() > 1)
                .map(|at| {
                    let mut list = explained.list.clone();
                    list.remove(at);
                    self.explain(&list)
                })
                .min_by(|a, b| a.length.total_cmp(&b.length));
            match shorter {
                Some(shorter) if shorter.length < explained.length + TOLD_BITS => explained = shorter,
                _ => return explained,
            }
        }
    }

    /// The shortest explanation that is found; one without causes where none saves enough.
    pub fn solve(&self) -> Explained {
        let healthy = self.explain(&[]);
        let mut starts = self.starts(&healthy, &[]).into_iter();
        let Some(first) = starts.next() else { return healthy };
        let leader = self.explain(std::slice::from_ref(&first)).length;
        let mut seen = BTreeSet::new();
        let mut best = self.greedy(first, leader, &mut seen).unwrap_or_else(|| healthy.clone());
        let has_deaths = best.effects.iter().any(|effect| !effect.ways.is_empty());
        if best.list.len() > 1 || has_deaths {
            // A large cause may take deaths that are others'.
            let ways = best.effects.first().map(|effect| effect.ways.clone()).unwrap_or_default();
            let mut barred: Vec<Vec<usize>> = ways.iter().map(|way| vec![*way]).collect();
            barred.extend((ways.len() > 1).then_some(ways));
            let fewer = barred.iter().filter_map(|barred| self.starts(&healthy, barred).into_iter().next());
            for start in starts.chain(fewer) {
                if let Some(other) = self.greedy(start, leader, &mut seen)
                    && other.length < best.length - 1e-6
                {
                    best = other;
                }
            }
        }
        let best = self.reordered(self.without_idle(self.joined(self.refined(best))));
        // Beside the levels of the tests that it does not touch, a cause may be worth nothing.
        if best.list.len() == 1 && best.bits[0] < TOLD_BITS { healthy } else { best }
    }

    /// The first causes that are tried, the best first.
    fn starts(&self, healthy: &Explained, barred: &[usize]) -> Vec<Listed> {
        let evidence = self.evidence(&healthy.densities, &healthy.known);
        let candidates = self.search(&evidence, barred).candidates().into_iter();
        let good = candidates.filter(|one| one.bits >= TOLD_BITS).take(BEAM);
        good.map(|one| Listed { barred: barred.to_vec(), ..one.into() }).collect()
    }
}

impl From<Candidate> for Listed {
    fn from(candidate: Candidate) -> Self {
        Self { shape: candidate.shape, touched: candidate.touched, barred: Vec::new() }
    }
}
