//! Tests as sets of flows, and the tests that a shape touches.
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::flows::{Edge, Exit, HOSTS_OF_TEST_MAX, edges};
use crate::input::{Trial, TrialOutcome, TrialSet};
use crate::shape::{Counts, FaultShape};

/// Both ends of a flow are on the rail; only the first; only the second.
const BOTH: u8 = 1;
const FIRST: u8 = 2;
const SECOND: u8 = 4;

/// One test with its flows as a range of [`Layout::edges`].
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// Index of the test in the input.
    pub trial: usize,
    pub class: usize,
    pub edges: Range<usize>,
    /// Whether all flows stay on one rail.
    pub one_rail: bool,
}

/// A set of tests: their indices, sorted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Touched(pub Vec<u32>);

impl Touched {
    pub fn of(tests: impl Iterator<Item = usize>) -> Self {
        Self(tests.map(|at| at as u32).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Part of the tests of either set that are in both.
    pub fn likeness(&self, other: &Self) -> f64 {
        let both = self.0.iter().filter(|at| other.0.binary_search(at).is_ok()).count();
        both as f64 / (self.0.len() + other.0.len() - both).max(1) as f64
    }

    pub fn iter(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        self.0.iter().map(|at| *at as usize)
    }
}

/// Tests between hosts, in an order that names do not change.
#[derive(Debug)]
pub(crate) struct Layout {
    pub counts: Counts,
    pub items: Vec<Item>,
    pub edges: Vec<Edge>,
    /// For all rails together and then for each place: what ends of flows of each edge are on it.
    rails: Vec<Vec<u8>>,
    /// Tests of each host.
    pub of_host: Vec<Vec<usize>>,
    /// Ports that are used, but for those of hosts of which all tests use the same places.
    pub ports: BTreeSet<(usize, usize)>,
    /// Whether some tests go one way only.
    pub has_one_way: bool,
    /// Class names.
    pub classes: Vec<String>,
    /// Pairs of hosts with a flow.
    pub pairs: BTreeSet<[usize; 2]>,
}

impl Layout {
    pub fn of(set: &TrialSet, exit: Exit) -> Self {
        let names: BTreeSet<&str> = set.trials.iter().map(|trial| trial.class.as_str()).collect();
        let classes: Vec<String> = names.into_iter().map(str::to_owned).collect();
        let mut order: Vec<usize> = (0..set.trials.len()).collect();
        order.sort_by(|a, b| canonical(&set.trials[*a], &set.trials[*b]));
        let (mut items, mut all): (Vec<Item>, Vec<Edge>) = Default::default();
        for at in order {
            let trial = &set.trials[at];
            let hosts: BTreeSet<usize> = trial.ports.iter().map(|port| port.host).collect();
            let is_known = trial.ports.iter().all(|port| {
                port.host < set.hosts.len() && port.place.is_none_or(|place| place < set.places.len())
            });
            if hosts.len() < 2 || hosts.len() > HOSTS_OF_TEST_MAX || !is_known {
                continue;
            }
            let own = edges(trial, exit);
            let one_rail = own.iter().all(|edge| edge.places.iter().all(|[a, b]| a == b));
            let class = classes.binary_search(&trial.class).unwrap_or(0);
            items.push(Item { trial: at, class, edges: all.len()..all.len() + own.len(), one_rail });
            all.extend(own);
        }
        Self::with(set, classes, items, all)
    }

    fn with(set: &TrialSet, classes: Vec<String>, items: Vec<Item>, edges: Vec<Edge>) -> Self {
        let mut of_host = vec![Vec::new(); set.hosts.len()];
        let mut uses: BTreeMap<usize, BTreeSet<Option<usize>>> = BTreeMap::new();
        for (at, item) in items.iter().enumerate() {
            let own = &edges[item.edges.clone()];
            let hosts: BTreeSet<usize> = own.iter().flat_map(|edge| edge.hosts).collect();
            hosts.iter().for_each(|host| of_host[*host].push(at));
            for edge in own {
                for places in &edge.places {
                    uses.entry(edge.hosts[0]).or_default().insert(places[0]);
                    uses.entry(edge.hosts[1]).or_default().insert(places[1]);
                }
            }
        }
        let places: BTreeSet<usize> = uses.values().flatten().flatten().copied().collect();
        let rails = if places.len() > 1 { set.places.len() } else { 0 };
        let ports = uses.iter().filter(|(_, places)| places.len() > 1);
        let ports: BTreeSet<(usize, usize)> =
            ports.flat_map(|(host, places)| places.iter().flatten().map(|place| (*host, *place))).collect();
        let on_rail = |edge: &Edge, rail: Option<usize>| {
            edge.places.iter().fold(0, |bits, ends| {
                bits | match ends.map(|place| rail.is_none() || place == rail) {
                    [true, true] => BOTH,
                    [true, false] => FIRST,
                    [false, true] => SECOND,
                    [false, false] => 0,
                }
            })
        };
        let of_rail = |rail: Option<usize>| edges.iter().map(|edge| on_rail(edge, rail)).collect();
        let table =
            std::iter::once(of_rail(None)).chain((0..rails).map(|rail| of_rail(Some(rail)))).collect();
        let has_one_way = edges.iter().any(|edge| edge.ways != [true, true]);
        let rail_count = if rails == 0 { 0 } else { places.len() };
        // Hosts, pairs, stars and groups; ports, rails and their cuts; three kinds of directions.
        let kinds = 4 + 3 * usize::from(rail_count > 0) + 3 * usize::from(has_one_way);
        Self {
            counts: Counts { hosts: uses.len(), ports: ports.len(), rails: rail_count, kinds },
            rails: table,
            of_host,
            ports,
            has_one_way,
            pairs: edges.iter().map(|edge| edge.hosts).collect(),
            classes,
            items,
            edges,
        }
    }

    /// Places that may be rails.
    pub fn rails(&self) -> impl Iterator<Item = usize> + use<> {
        0..self.rails.len().saturating_sub(1)
    }

    /// Whether a rail has the same ends of flows as all rails together.
    pub fn is_like_all(&self, rail: usize) -> bool {
        self.rails[rail + 1].iter().all(|bits| *bits & BOTH != 0 && bits & (FIRST | SECOND) == 0)
    }

    pub fn edges_of(&self, at: usize) -> &[Edge] {
        &self.edges[self.items[at].edges.clone()]
    }

    /// Whether all tests of a set are between the same two hosts.
    pub fn is_of_pair(&self, touched: &Touched) -> bool {
        let mut pairs = touched.iter().map(|at| match self.edges_of(at) {
            [edge] => Some(edge.hosts),
            _ => None,
        });
        pairs.next().flatten().is_some_and(|first| pairs.all(|pair| pair == Some(first)))
    }

    /// Whether all of some tests have a host in common.
    pub fn have_one_host(&self, tests: &[usize]) -> bool {
        let hosts = |at: usize| self.edges_of(at).iter().flat_map(|edge| edge.hosts);
        let Some(first) = tests.first() else { return false };
        hosts(*first).any(|host| tests.iter().all(|at| hosts(*at).any(|other| other == host)))
    }

    /// Whether a group touches a test; `is_member` is of each host.
    pub fn in_group(&self, at: usize, cut: bool, rail: Option<usize>, is_member: &[bool]) -> bool {
        let Some(bits) = self.rails.get(rail.map_or(0, |rail| rail + 1)) else { return false };
        self.items[at].edges.clone().any(|edge| {
            let [a, b] = self.edges[edge].hosts.map(|host| is_member[host]);
            let bits = bits[edge];
            let both = if cut { a != b } else { a || b };
            (bits & BOTH != 0 && both) || (bits & FIRST != 0 && a) || (bits & SECOND != 0 && b)
        })
    }

    /// The tests that a shape touches.
    pub fn touched(&self, shape: &FaultShape) -> Touched {
        let count = self.items.len();
        if let FaultShape::Group { cut, rail, hosts } = shape {
            let members: Vec<bool> = (0..self.of_host.len()).map(|host| hosts.contains(&host)).collect();
            return Touched::of((0..count).filter(|&at| self.in_group(at, *cut, *rail, &members)));
        }
        let is_in = |at: &usize| self.edges_of(*at).iter().any(|edge| touches(shape, edge));
        let first = match shape {
            FaultShape::Star(hub, _) => Some(*hub),
            _ => shape.hosts().first().copied(),
        };
        // All tests that a shape with a host touches are that host's.
        match first.map(|host| self.of_host.get(host)) {
            Some(Some(own)) => Touched::of(own.iter().copied().filter(is_in)),
            Some(None) => Touched(Vec::new()),
            None => Touched::of((0..count).filter(is_in)),
        }
    }
}

/// Whether a shape touches a flow of an edge.
pub(crate) fn touches(shape: &FaultShape, edge: &Edge) -> bool {
    let [a, b] = edge.hosts;
    let ends = |is: &dyn Fn([bool; 2]) -> bool, place: usize| {
        edge.places.iter().any(|ends| is(ends.map(|one| one == Some(place))))
    };
    match shape {
        FaultShape::Host(host) => a == *host || b == *host,
        FaultShape::Port(host, place) => ends(&|[at, bt]| (at && a == *host) || (bt && b == *host), *place),
        FaultShape::Rail(place) => ends(&|[at, bt]| at || bt, *place),
        FaultShape::RailCut(place) => ends(&|[at, bt]| at != bt, *place),
        FaultShape::Pair(hosts) => edge.hosts == *hosts,
        FaultShape::Star(hub, others) => {
            (a == *hub && others.contains(&b)) || (b == *hub && others.contains(&a))
        }
        FaultShape::Group { cut, rail, hosts } => edge.places.iter().any(|ends| {
            let in_set =
                |side: usize| hosts.contains(&edge.hosts[side]) && (rail.is_none() || ends[side] == *rail);
            let [a, b] = [in_set(0), in_set(1)];
            if *cut { a != b } else { a || b }
        }),
        FaultShape::Sends(host) => (a == *host && edge.ways[0]) || (b == *host && edge.ways[1]),
        FaultShape::Receives(host) => (a == *host && edge.ways[1]) || (b == *host && edge.ways[0]),
        FaultShape::OneWay([from, to]) => {
            (a == *from && b == *to && edge.ways[0]) || (b == *from && a == *to && edge.ways[1])
        }
    }
}

impl Trial {
    /// Whether a shape touches a flow of the test.
    pub fn is_touched(&self, shape: &FaultShape, exit: Exit) -> bool {
        edges(self, exit).iter().any(|edge| touches(shape, edge))
    }
}

/// An order of tests that does not depend on names of hosts: sums of floating point then do not, either.
fn canonical(a: &Trial, b: &Trial) -> std::cmp::Ordering {
    a.class.cmp(&b.class).then_with(|| match (&a.outcome, &b.outcome) {
        (TrialOutcome::Died(a), TrialOutcome::Died(b)) => a.cmp(b),
        (TrialOutcome::Died(_), TrialOutcome::Sizes(_)) => std::cmp::Ordering::Less,
        (TrialOutcome::Sizes(_), TrialOutcome::Died(_)) => std::cmp::Ordering::Greater,
        (TrialOutcome::Sizes(a), TrialOutcome::Sizes(b)) => {
            let rows = a.iter().zip(b).map(|(a, b)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            rows.fold(a.len().cmp(&b.len()), std::cmp::Ordering::then)
        }
    })
}
