//! Planned cables against those that were seen: paths and cycles in which the two kinds alternate.
//!
//! A port has at most one planned and one seen cable. Cables that are in the plan and were not seen, and those that were seen
//! and are not in the plan, so form paths and cycles of ports.
use railtwin_fabric::NONE;

use super::blueprint::Blueprint;
use super::observe::Observed;

/// A path or a cycle of ports: between neighbors a seen cable and a planned one, by turns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    /// The ports in order; of a path that has both, beginning with a seen cable.
    pub(super) ports: Vec<u32>,
    /// Cables that were seen and are not planned, in order.
    pub(super) seen: Vec<[u32; 2]>,
    /// Cables that are planned and were not seen, in order.
    pub(super) planned: Vec<[u32; 2]>,
    /// Whether the last port joins the first by a planned cable.
    pub(super) is_cycle: bool,
    /// Whether the first and the last port are not observed: they may well be joined with each other.
    pub(super) open: [bool; 2],
}

impl Shape {
    /// Whether cables exchanged their ends: in a cycle, or in a path both of whose ends nobody saw.
    pub(super) fn is_exchange(&self) -> bool {
        self.is_cycle || self.is_presumed()
    }

    /// Whether a cable that nobody saw is presumed to close the cycle.
    pub(super) fn is_presumed(&self) -> bool {
        !self.is_cycle
            && self.planned.len() > self.seen.len()
            && !self.seen.is_empty()
            && self.open == [true; 2]
    }
}

/// The cables of a plan by what was seen of them.
#[derive(Debug)]
pub(super) struct Difference {
    /// Planned cables that were seen.
    pub(super) right: usize,
    /// Planned cables of which no end was seen.
    pub(super) not_observed: Vec<[u32; 2]>,
    /// All others.
    pub(super) shapes: Vec<Shape>,
}

/// The graph of what differs.
struct Graph<'a> {
    blueprint: &'a Blueprint,
    observed: &'a Observed,
    /// Whether the planned cable of a port was not seen where it should be, though one of its ends was.
    absent: Vec<bool>,
    visited: Vec<bool>,
}

impl Difference {
    pub(super) fn of(blueprint: &Blueprint, observed: &Observed) -> Self {
        let mut right = 0;
        let mut not_observed = Vec::new();
        let mut absent = vec![false; observed.partner.len()];
        for cable in blueprint.list.cables() {
            let [a, b] = cable.ports;
            if observed.partner[a as usize] == b {
                right += 1;
                continue;
            }
            let is_observed =
                |port: u32| observed.partner[port as usize] != NONE || observed.is_free[port as usize];
            if is_observed(a) || is_observed(b) {
                (absent[a as usize], absent[b as usize]) = (true, true);
            } else {
                not_observed.push([a, b]);
            }
        }
        let visited = vec![false; observed.partner.len()];
        let mut graph = Graph { blueprint, observed, absent, visited };
        Self { right, not_observed, shapes: graph.shapes() }
    }
}

impl Graph<'_> {
    /// The port that a seen cable which is not planned leads to.
    fn seen(&self, port: u32) -> Option<u32> {
        let far = self.observed.partner[port as usize];
        (far != NONE && self.blueprint.planned(port) != Some(far)).then_some(far)
    }

    /// The port that a planned cable which was not seen leads to.
    fn planned(&self, port: u32) -> Option<u32> {
        self.blueprint.planned(port).filter(|_| self.absent[port as usize])
    }

    fn shapes(&mut self) -> Vec<Shape> {
        let mut shapes = Vec::new();
        let ports = 0..self.observed.partner.len() as u32;
        for port in ports.clone() {
            if !self.visited[port as usize] && self.seen(port).is_some() != self.planned(port).is_some() {
                shapes.push(self.walk(port));
            }
        }
        for port in ports {
            if !self.visited[port as usize] && self.seen(port).is_some() {
                shapes.push(self.walk(port));
            }
        }
        shapes
    }

    /// The path that begins at a port, or the cycle that it is in.
    fn walk(&mut self, first: u32) -> Shape {
        let mut ports = vec![first];
        self.visited[first as usize] = true;
        let starts_seen = self.seen(first).is_some();
        let (mut at, mut by_seen) = (first, starts_seen);
        let mut is_cycle = false;
        while let Some(next) = if by_seen { self.seen(at) } else { self.planned(at) } {
            if next == first {
                is_cycle = true;
                break;
            }
            self.visited[next as usize] = true;
            ports.push(next);
            (at, by_seen) = (next, !by_seen);
        }
        // A path that has as many of both begins with a seen cable.
        let mut begins_seen = starts_seen;
        if !is_cycle && !starts_seen && ports.len() % 2 == 1 {
            ports.reverse();
            begins_seen = true;
        }
        let (mut seen, mut planned) = (Vec::new(), Vec::new());
        for (row, pair) in ports.windows(2).enumerate() {
            let of = if (row % 2 == 0) == begins_seen { &mut seen } else { &mut planned };
            of.push([pair[0], pair[1]]);
        }
        if is_cycle {
            planned.push([ports[ports.len() - 1], ports[0]]);
        }
        let is_open = |port: Option<&u32>| {
            port.is_some_and(|&port| {
                self.observed.partner[port as usize] == NONE && !self.observed.is_free[port as usize]
            })
        };
        let open = [is_open(ports.first()), is_open(ports.last())];
        Shape { ports, seen, planned, is_cycle, open }
    }
}
