//! The search for the cause that saves the most bits: simple shapes all, stars and groups by ascent.
use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::LN_2;

use crate::evidence::{Effect, Evidence, Sums};
use crate::layout::{Layout, Touched};
use crate::shape::{FaultShape, group_price};

/// Starts of ascents that are tried, the best first.
const STARTS: usize = 10;
/// Most hosts among which groups are searched.
pub(crate) const GROUP_HOSTS_MAX: usize = 256;
/// Fewest hosts on either side of a group of all rails: fewer are slow hosts.
const GROUP_MIN: usize = 3;
/// Most touched results that are well, as a part of those of the classes in which a cause shows.
const WELL_MAX: f64 = 0.2;
/// Nats for slow results from which groups are searched.
const GROUP_NATS: f64 = 6.0;

/// Shapes that touch the same tests, the cheapest first.
#[derive(Clone, Debug)]
pub(crate) struct Alike {
    pub touched: Touched,
    pub shapes: Vec<(FaultShape, f64)>,
}

/// A possible cause.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub shape: FaultShape,
    pub touched: Touched,
    /// Bits saved beyond the price.
    pub bits: f64,
}

/// The simple shapes of a layout, by the tests that they touch.
pub(crate) fn simple_shapes(layout: &Layout) -> Vec<Alike> {
    let places: BTreeSet<usize> = layout.ports.iter().map(|(_, place)| *place).collect();
    let hosts = || (0..layout.of_host.len()).filter(|&host| !layout.of_host[host].is_empty());
    let mut shapes: Vec<FaultShape> = hosts().map(FaultShape::Host).collect();
    shapes.extend(layout.ports.iter().map(|(host, place)| FaultShape::Port(*host, *place)));
    if layout.rails().next().is_some() {
        shapes
            .extend(places.iter().flat_map(|place| [FaultShape::Rail(*place), FaultShape::RailCut(*place)]));
    }
    shapes.extend(layout.pairs.iter().map(|pair| FaultShape::Pair(*pair)));
    if layout.has_one_way {
        shapes.extend(hosts().flat_map(|host| [FaultShape::Sends(host), FaultShape::Receives(host)]));
        shapes.extend(
            layout
                .pairs
                .iter()
                .flat_map(|[a, b]| [FaultShape::OneWay([*a, *b]), FaultShape::OneWay([*b, *a])]),
        );
    }
    let mut by_tests: BTreeMap<Touched, Vec<(FaultShape, f64)>> = BTreeMap::new();
    for shape in shapes {
        let touched = layout.touched(&shape);
        if !touched.is_empty() {
            let price = shape.price(layout.counts);
            by_tests.entry(touched).or_default().push((shape, price));
        }
    }
    let alike = |(touched, mut shapes): (Touched, Vec<(FaultShape, f64)>)| {
        shapes.sort_by(|a, b| a.1.total_cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
        Alike { touched, shapes }
    };
    by_tests.into_iter().map(alike).collect()
}

/// A search over evidence. `barred` are ways to die that the cause may not take.
pub(crate) struct Search<'a> {
    pub layout: &'a Layout,
    pub evidence: &'a Evidence,
    pub simple: &'a [Alike],
    pub barred: &'a [usize],
}

impl Search<'_> {
    fn nats(&self, sums: &Sums) -> f64 {
        sums.nats(self.evidence.ways, self.barred, false)
    }

    /// Nats for a cause that touches these tests.
    pub fn nats_of(&self, touched: &Touched) -> f64 {
        let is_pair = self.layout.is_of_pair(touched);
        self.evidence.sums_of(touched).nats(self.evidence.ways, self.barred, is_pair)
    }

    /// The effect of a cause that touches these tests.
    pub fn effect_of(&self, touched: &Touched) -> Effect {
        let is_pair = self.layout.is_of_pair(touched);
        self.evidence.sums_of(touched).effect(self.evidence.ways, self.barred, is_pair)
    }

    /// Bits that a shape saves beyond its price.
    pub fn bits(&self, shape: &FaultShape, touched: &Touched) -> f64 {
        self.nats_of(touched) / LN_2 - shape.price(self.layout.counts)
    }

    /// All candidates that save bits, the best first, one for each set of tests.
    pub fn candidates(&self) -> Vec<Candidate> {
        let mut found: BTreeMap<Touched, Candidate> = BTreeMap::new();
        for candidate in self.all() {
            if candidate.bits > 0.0
                && found.get(&candidate.touched).is_none_or(|one| one.bits < candidate.bits)
            {
                found.insert(candidate.touched.clone(), candidate);
            }
        }
        let mut list: Vec<Candidate> = found.into_values().filter(|one| self.agrees(one)).collect();
        list.sort_by(|a, b| b.bits.total_cmp(&a.bits).then_with(|| a.shape.cmp(&b.shape)));
        list
    }

    /// All candidates: several may touch the same tests.
    pub fn all(&self) -> Vec<Candidate> {
        let (mut nats, mut found): (Vec<f64>, Vec<Candidate>) = Default::default();
        for alike in self.simple {
            let own = self.nats_of(&alike.touched);
            nats.push(own);
            let (shape, price) = &alike.shapes[0];
            let bits = own / LN_2 - price;
            found.push(Candidate { shape: shape.clone(), touched: alike.touched.clone(), bits });
        }
        let all: f64 = (0..self.layout.items.len()).map(|at| self.evidence.vote(at).max(0.0)).sum();
        if all > GROUP_NATS {
            found.extend(self.stars(&nats));
            if self.layout.counts.hosts <= GROUP_HOSTS_MAX && self.layout.counts.hosts > 2 {
                found.extend(self.groups());
            }
        }
        found
    }

    /// Whether the results of a candidate agree that it slows them: what spares many is no cause.
    fn agrees(&self, candidate: &Candidate) -> bool {
        let effect = self.effect_of(&candidate.touched);
        let [agree, well] = self.evidence.agreement(&candidate.touched, &effect);
        well as f64 <= WELL_MAX * (agree + well) as f64
    }

    /// For each hub, its star with the legs that say most: pairs of it in the order of their nats.
    fn stars(&self, nats: &[f64]) -> Vec<Candidate> {
        let mut legs: BTreeMap<usize, Vec<(f64, usize, &Touched)>> = BTreeMap::new();
        for (alike, nats) in self.simple.iter().zip(nats) {
            let pair = alike.shapes.iter().find_map(|(shape, _)| match shape {
                FaultShape::Pair(hosts) => Some(*hosts),
                _ => None,
            });
            if let (Some([a, b]), true) = (pair, *nats > 0.0) {
                legs.entry(a).or_default().push((*nats, b, &alike.touched));
                legs.entry(b).or_default().push((*nats, a, &alike.touched));
            }
        }
        let mut found = Vec::new();
        for (hub, mut legs) in legs {
            // A star of most partners of a hub is the hub; where all tests have the hub, nothing is beside it.
            let partners = self.layout.pairs.iter().filter(|pair| pair.contains(&hub)).count();
            let is_in_all = self.layout.of_host[hub].len() == self.layout.items.len();
            let most = if is_in_all { 0 } else { partners / 2 };
            legs.sort_by(|a, b| b.0.total_cmp(&a.0));
            let (mut sums, mut others) = (self.evidence.sums(), BTreeSet::new());
            let mut is_in: BTreeSet<usize> = BTreeSet::new();
            for (_, other, touched) in legs.into_iter().take(most) {
                // A test over three hosts and more has several legs.
                touched.iter().filter(|at| is_in.insert(*at)).for_each(|at| sums.add(self.evidence, at, 1.0));
                others.insert(other);
                if others.len() < 2 {
                    continue;
                }
                let shape = FaultShape::Star(hub, others.clone());
                let bits = self.nats(&sums) / LN_2 - shape.price(self.layout.counts);
                let touched = Touched::of(is_in.iter().copied());
                found.push(Candidate { shape, touched, bits });
            }
        }
        found
    }

    /// Groups at which ascents end, from the best starts.
    fn groups(&self) -> Vec<Candidate> {
        let rows = self.slow_rows();
        let mut starts: Vec<(f64, bool, Option<usize>, Vec<bool>)> = Vec::new();
        for rail in std::iter::once(None).chain(self.layout.rails().map(Some)) {
            if rail.is_some_and(|rail| self.layout.is_like_all(rail)) {
                continue;
            }
            let mut sets: BTreeSet<Vec<bool>> = rows.iter().cloned().collect();
            sets.extend(rail.map(|rail| self.slow_ports(rail)));
            for (cut, set) in sets.iter().flat_map(|set| [(true, set), (false, set)]) {
                let members = set.iter().filter(|is| **is).count();
                if members == 0 {
                    continue;
                }
                let sums = self.sums_of_group(cut, rail, set);
                let bits = self.nats(&sums) / LN_2 - group_price(self.layout.counts, members);
                starts.push((bits, cut, rail, set.clone()));
            }
        }
        starts.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (b.1, a.2, &a.3).cmp(&(a.1, b.2, &b.3))));
        starts.truncate(STARTS);
        let ends = starts.into_iter().map(|(_, cut, rail, set)| self.ascend(cut, rail, set));
        ends.filter(|one| self.is_group(&one.shape)).collect()
    }

    /// Whether a shape is not better told as a few hosts.
    pub fn is_group(&self, shape: &FaultShape) -> bool {
        match shape {
            FaultShape::Group { rail: None, hosts, .. } => {
                let others = self.layout.counts.hosts.saturating_sub(hosts.len());
                hosts.len() >= GROUP_MIN && others >= GROUP_MIN
            }
            _ => true,
        }
    }

    /// For each host, the hosts with which it looks slow.
    fn slow_rows(&self) -> BTreeSet<Vec<bool>> {
        let hosts = self.layout.of_host.len();
        let mut votes = vec![0.0_f64; hosts * hosts];
        for at in 0..self.layout.items.len() {
            let edges = self.layout.edges_of(at);
            let vote = self.evidence.vote(at) / edges.len().max(1) as f64;
            for [a, b] in edges.iter().map(|edge| edge.hosts) {
                votes[a * hosts + b] += vote;
                votes[b * hosts + a] += vote;
            }
        }
        votes.chunks(hosts.max(1)).map(|row| row.iter().map(|vote| *vote > 0.0).collect()).collect()
    }

    /// Hosts whose ports on a rail look slow towards other rails.
    fn slow_ports(&self, rail: usize) -> Vec<bool> {
        let mut votes = vec![0.0_f64; self.layout.of_host.len()];
        for at in 0..self.layout.items.len() {
            let vote = self.evidence.vote(at);
            for edge in self.layout.edges_of(at) {
                for ends in &edge.places {
                    let on = ends.map(|place| place == Some(rail));
                    if on[0] != on[1] {
                        votes[edge.hosts[usize::from(on[1])]] += vote;
                    }
                }
            }
        }
        votes.into_iter().map(|vote| vote > 0.0).collect()
    }

    fn sums_of_group(&self, cut: bool, rail: Option<usize>, set: &[bool]) -> Sums {
        let mut sums = self.evidence.sums();
        let tests = (0..self.layout.items.len()).filter(|&at| self.layout.in_group(at, cut, rail, set));
        tests.for_each(|at| sums.add(self.evidence, at, 1.0));
        sums
    }

    /// Moves the host in or out of a group that gains most, until none gains.
    fn ascend(&self, cut: bool, rail: Option<usize>, mut set: Vec<bool>) -> Candidate {
        let layout = self.layout;
        let mut sums = self.sums_of_group(cut, rail, &set);
        let price = |set: &[bool]| group_price(layout.counts, set.iter().filter(|is| **is).count());
        let mut bits = self.nats(&sums) / LN_2 - price(&set);
        let movable: Vec<usize> = (0..set.len()).filter(|&host| !layout.of_host[host].is_empty()).collect();
        for _ in 0..2 * set.len() {
            let mut best: Option<(f64, usize, Sums)> = None;
            for &host in &movable {
                let mut moved = sums.clone();
                let before: Vec<bool> =
                    layout.of_host[host].iter().map(|&at| layout.in_group(at, cut, rail, &set)).collect();
                set[host] = !set[host];
                for (&at, was) in layout.of_host[host].iter().zip(before) {
                    let is = layout.in_group(at, cut, rail, &set);
                    if is != was {
                        moved.add(self.evidence, at, if is { 1.0 } else { -1.0 });
                    }
                }
                let gained = self.nats(&moved) / LN_2 - price(&set);
                set[host] = !set[host];
                if gained > bits + 1e-6 && best.as_ref().is_none_or(|one| gained > one.0 + 1e-9) {
                    best = Some((gained, host, moved));
                }
            }
            let Some((gained, host, moved)) = best else { break };
            (bits, sums) = (gained, moved);
            set[host] = !set[host];
        }
        let size = |is: bool| movable.iter().filter(|host| set[**host] == is).count();
        // Both sides of a cut of all rails are one cut: the smaller one names it.
        let side = !(cut && rail.is_none() && size(true) > size(false));
        let hosts = movable.iter().copied().filter(|host| set[*host] == side).collect();
        let shape = FaultShape::Group { cut, rail, hosts };
        let touched = layout.touched(&shape);
        let bits = self.bits(&shape, &touched);
        Candidate { shape, touched, bits }
    }
}
