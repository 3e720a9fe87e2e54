//! Which links a flow loads beyond its leaf, and how full they are.

use std::ops::Range;

use railtwin_fabric::{CableId, Fabric, LinkId, NONE};
use railtwin_routing::{Forwarding, TargetId};

use crate::te::flows::{Flow, Flows};

/// Loads within this share of the capacity above it still fit: rounding of sums.
pub(crate) const SLACK: f64 = 1e-9;

/// For each switch that a flow may enter next and each target, the parts of the flow on the links
/// from there on. Switches beyond the leaf have no entries and hash, so each member of a group
/// gets an equal part.
#[derive(Debug)]
pub(crate) struct Spread<'a> {
    fabric: &'a Fabric,
    forwarding: &'a Forwarding,
    /// By link: number among the switches above the leaves of the one that it enters; [`NONE`] if
    /// it enters a leaf or a NIC.
    upper: Vec<u32>,
    upper_count: usize,
    /// By target, then number of the switch: a run of `links`, from `NONE` on until it is known.
    /// Empty for targets that nobody sends to.
    known: Vec<Vec<Range<u32>>>,
    links: Vec<(LinkId, f64)>,
    /// Pairs of a leaf and a target, in order, with the parts on all links from the leaf on where no entry names the uplink.
    whole: Vec<((u32, TargetId), Range<u32>)>,
    sums: Sums,
}

/// Sums of parts by link, without putting what is summed in order first: on three tiers a link comes up once for each of
/// the many ways that lead to it.
#[derive(Debug)]
struct Sums {
    /// By link; 0 between two uses.
    by_link: Vec<f64>,
    touched: Vec<LinkId>,
}

impl Sums {
    #[inline]
    fn add(&mut self, link: LinkId, part: f64) {
        let sum = &mut self.by_link[link.index()];
        // Parts are above 0.
        if *sum == 0.0 {
            self.touched.push(link);
        }
        *sum += part;
    }

    /// Moves the sums to the end of `out`, in order of links.
    fn append_to(&mut self, out: &mut Vec<(LinkId, f64)>) {
        self.touched.sort_unstable();
        let Self { by_link, touched } = self;
        out.extend(touched.drain(..).map(|link| (link, std::mem::take(&mut by_link[link.index()]))));
    }
}

const UNKNOWN: Range<u32> = NONE..NONE;

impl<'a> Spread<'a> {
    /// Works out all that `flows` may need.
    pub(crate) fn new(fabric: &'a Fabric, forwarding: &'a Forwarding, flows: &Flows) -> Self {
        let (upper, upper_count) = number_upper(fabric);
        let known = vec![Vec::new(); forwarding.target_count()];
        let sums = Sums { by_link: vec![0.0; fabric.link_count()], touched: Vec::new() };
        let mut spread = Self {
            fabric,
            forwarding,
            upper,
            upper_count,
            known,
            links: Vec::new(),
            whole: Vec::new(),
            sums,
        };
        let targets = |flow| flows.parts(flow).iter().map(|part: &super::flows::Part| part.target);
        let mut pairs: Vec<(u32, TargetId)> =
            flows.list.iter().flat_map(|flow| targets(flow).map(|target| (flow.leaf, target))).collect();
        pairs.sort_unstable();
        pairs.dedup();
        for (leaf, target) in pairs {
            let group = forwarding.group(leaf, target);
            let beyond: Vec<Range<u32>> = group.iter().map(|&link| spread.learn(link, target)).collect();
            let range = spread.sum(group, beyond);
            spread.whole.push(((leaf, target), range));
        }
        spread
    }

    /// Row of the switch that a link between switches enters.
    pub(crate) fn row_beyond(&self, link: LinkId) -> u32 {
        self.fabric.switch_row(self.fabric.target(link)).expect("groups lead to switches")
    }

    /// The uplinks that an entry of the flow may name, in order of ports.
    pub(crate) fn candidates(&self, flows: &Flows, flow: &Flow) -> &'a [LinkId] {
        self.forwarding.group(flow.leaf, flows.main_target(flow))
    }

    /// What lies beyond a link on the way to a target.
    fn learn(&mut self, link: LinkId, target: TargetId) -> Range<u32> {
        let number = self.upper[link.index()];
        if number == NONE {
            return 0..0;
        }
        if self.known[target.index()].is_empty() {
            self.known[target.index()] = vec![UNKNOWN; self.upper_count];
        }
        let known = &self.known[target.index()][number as usize];
        if *known != UNKNOWN {
            return known.clone();
        }
        let group = self.forwarding.group(self.row_beyond(link), target);
        let beyond: Vec<Range<u32>> = group.iter().map(|&link| self.learn(link, target)).collect();
        let range = self.sum(group, beyond);
        self.known[target.index()][number as usize] = range.clone();
        range
    }

    /// Equal parts over the links of a group, and over what lies beyond each: appended to `links`, in their order.
    fn sum(&mut self, group: &[LinkId], beyond: Vec<Range<u32>>) -> Range<u32> {
        let part = 1.0 / group.len() as f64;
        for (&link, beyond) in group.iter().zip(beyond) {
            self.sums.add(link, part);
            for &(link, share) in &self.links[beyond.start as usize..beyond.end as usize] {
                self.sums.add(link, share * part);
            }
        }
        let start = self.links.len() as u32;
        self.sums.append_to(&mut self.links);
        start..self.links.len() as u32
    }

    /// The parts on all links from a leaf on, where no entry names the uplink.
    fn whole(&self, leaf: u32, target: TargetId) -> &[(LinkId, f64)] {
        match self.whole.binary_search_by_key(&(leaf, target), |(pair, _)| *pair) {
            Ok(row) => {
                let range = &self.whole[row].1;
                &self.links[range.start as usize..range.end as usize]
            }
            Err(_) => &[],
        }
    }

    #[inline]
    fn beyond(&self, link: LinkId, target: TargetId) -> &[(LinkId, f64)] {
        match self.upper[link.index()] {
            NONE => &[],
            number => {
                let range = &self.known[target.index()][number as usize];
                &self.links[range.start as usize..range.end as usize]
            }
        }
    }

    /// Fills `out` with the links between switches that `flow` loads and by how many bits per
    /// second, if its entry names `next`. Parts that `next` does not serve, or all of them without
    /// an entry, are spread over their groups. The uplink comes first for a flow of one part.
    pub(crate) fn loads(
        &self,
        flows: &Flows,
        flow: &Flow,
        next: Option<LinkId>,
        out: &mut Vec<(LinkId, f64)>,
    ) {
        out.clear();
        let parts = flows.parts(flow);
        for part in parts {
            let group = self.forwarding.group(flow.leaf, part.target);
            match next.filter(|next| parts.len() == 1 || group.contains(next)) {
                Some(next) => self.add(next, part.target, part.rate, out),
                None => {
                    let whole = self.whole(flow.leaf, part.target);
                    out.extend(whole.iter().map(|&(link, share)| (link, part.rate * share)));
                }
            }
        }
        if parts.len() > 1 {
            merge(out);
        }
    }

    fn add(&self, uplink: LinkId, target: TargetId, rate: f64, out: &mut Vec<(LinkId, f64)>) {
        out.push((uplink, rate));
        out.extend(self.beyond(uplink, target).iter().map(|&(link, share)| (link, rate * share)));
    }
}

/// For each link the number of the switch above the leaves that it enters, and how many there are.
fn number_upper(fabric: &Fabric) -> (Vec<u32>, usize) {
    let mut upper = vec![NONE; fabric.link_count()];
    let above = fabric.switches().iter().filter(|(_, place)| place.tier > 1);
    let mut count = 0;
    for &(device, _) in above {
        for &(link, _) in fabric.neighbors(device) {
            upper[link.reverse().index()] = count;
        }
        count += 1;
    }
    (upper, count as usize)
}

/// Puts links in order, each once.
fn merge(links: &mut Vec<(LinkId, f64)>) {
    links.sort_by_key(|&(link, _)| link);
    links.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
}

/// How full links are.
#[derive(Debug)]
pub(crate) struct Loads {
    /// By cable: bits per second.
    capacity: Vec<f64>,
    /// By link: bits per second.
    pub(crate) by_link: Vec<f64>,
}

impl Loads {
    pub(crate) fn new(fabric: &Fabric) -> Self {
        let capacity = |cable: CableId| fabric.capacity(cable.forward()).bits_per_s() as f64;
        Self { capacity: fabric.cables().map(capacity).collect(), by_link: vec![0.0; fabric.link_count()] }
    }

    pub(crate) fn add(&mut self, links: &[(LinkId, f64)]) {
        links.iter().for_each(|&(link, rate)| self.by_link[link.index()] += rate);
    }

    pub(crate) fn subtract(&mut self, links: &[(LinkId, f64)]) {
        links.iter().for_each(|&(link, rate)| self.by_link[link.index()] -= rate);
    }

    /// Load ÷ capacity with `rate` more bits per second.
    #[inline]
    pub(crate) fn with(&self, link: LinkId, rate: f64) -> f64 {
        (self.by_link[link.index()] + rate) / self.capacity[link.cable().index()]
    }

    #[inline]
    pub(crate) fn is_over(&self, link: LinkId) -> bool {
        self.with(link, 0.0) > 1.0 + SLACK
    }

    /// How full the fullest of `links` would be with what they add, then how full they would be
    /// together: what to keep least, in this order.
    #[inline]
    pub(crate) fn cost(&self, links: &[(LinkId, f64)]) -> (f64, f64) {
        let utilization = links.iter().map(|&(link, rate)| self.with(link, rate));
        utilization.fold((0.0, 0.0), |(most, sum), next| (next.max(most), sum + next))
    }
}
