//! From slow queue pairs to what they have in common: link, cable, switch, NIC, host.
//!
//! Greedy: the part that covers the most slow flows with the fewest fast ones across it explains them; what is left is
//! explained by the next. SlowParts that cover the same flows cannot be told apart and are named together.
use std::collections::BTreeMap;

use railtwin_fabric::{CableClass, CableId, DeviceId, DeviceKind, LinkId};
use railtwin_records::{Component, Suspect};

use crate::context::Context;
use crate::delay::ends::Ends;
use crate::rules::explain::nic_or_host;

/// Most simultaneous causes that are looked for.
const CAUSES: usize = 16;
/// Share of suspicion below which a part is not named.
const LEAST: f64 = 0.04;
/// Share of slow flows among those that cross a part, below which the fast ones acquit it.
const ACQUITTED: f64 = 0.34;
/// SlowParts that score at least this share of the best are as good as it.
const AS_GOOD: f64 = 0.95;

/// Something that flows cross. Fewer parts come first: the order breaks ties.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// One direction of a cable.
    Link(u32),
    /// Both directions.
    Cable(u32),
    /// A port of a NIC that sends, where links are not known: NIC and port.
    Port(u32, u32),
    /// The way between two NICs, where links are not known.
    Connection(u32, u32),
    /// What a NIC sends.
    NicOut(u32),
    /// What a NIC receives.
    NicIn(u32),
    /// Both.
    Nic(u32),
    /// A switch.
    Switch(u32),
    /// All NICs of a host.
    Host(u32),
}

/// What explains some of the slow flows.
#[derive(Clone, PartialEq, Debug)]
pub struct Cause {
    /// The part that explains them best.
    pub part: Part,
    /// The part and all that cannot be told from it, the likeliest first.
    pub suspects: Vec<Suspect>,
    /// Rows of the slow flows that it explains.
    pub flows: Vec<u32>,
    /// Fast flows that cross it all the same.
    pub fast: usize,
    /// What it looks like in the delay matrix: row, column, cell, path.
    pub look: &'static str,
}

fn parts_of(context: &Context<'_>, ends: &Ends, flow: u32, parts: &mut Vec<Part>) {
    parts.clear();
    let (source, target) = (ends.source[flow as usize], ends.target[flow as usize]);
    let info = &context.directory.flows[flow as usize];
    match context.fabric {
        Some(fabric) if !info.links.is_empty() => {
            for &link in info.links.iter().filter(|&&link| (link as usize) < fabric.link_count()) {
                parts.push(Part::Link(link));
                parts.push(Part::Cable(LinkId(link).cable().0));
                let device = fabric.target(LinkId(link));
                if fabric.kind(device) == DeviceKind::Switch {
                    parts.push(Part::Switch(device.0));
                }
            }
        }
        _ => parts.extend([Part::Port(source, info.nic_port), Part::Connection(source, target)]),
    }
    parts.extend([Part::NicOut(source), Part::NicIn(target), Part::Nic(source), Part::Nic(target)]);
    let (from, to) = (ends.host[source as usize], ends.host[target as usize]);
    parts.push(Part::Host(from));
    if to != from {
        parts.push(Part::Host(to));
    }
}

impl Part {
    fn component(self, context: &Context<'_>, ends: &Ends) -> Component {
        let nic = |row: u32| ends.names[row as usize].clone();
        match (self, context.fabric) {
            (Self::Link(link), Some(fabric)) => Component::Cable(fabric.cable_name(LinkId(link).cable())),
            (Self::Cable(cable), Some(fabric)) => Component::Cable(fabric.cable_name(CableId(cable))),
            (Self::Switch(device), Some(fabric)) => Component::Switch(fabric.device_name(DeviceId(device))),
            (Self::Link(id) | Self::Cable(id), None) => Component::Cable(id.to_string()),
            (Self::Switch(id), None) => Component::Switch(id.to_string()),
            (Self::Port(row, port), _) => Component::Cable(format!("{}:port-{port}", nic(row))),
            (Self::Connection(from, to), _) => Component::Connection(format!("{} > {}", nic(from), nic(to))),
            (Self::NicOut(row) | Self::NicIn(row) | Self::Nic(row), _) => nic_or_host(&nic(row)),
            (Self::Host(row), _) => Component::Host(
                context.directory.hosts.get(row as usize).map_or_else(String::new, |h| h.name.clone()),
            ),
        }
    }

    /// How likely it is at fault, before anything is seen. Optics and NICs at hosts fail most (HPN section 2.3: access
    /// links; C4 Table I: NICs), whole switches and hosts least.
    fn prior(self, context: &Context<'_>) -> f64 {
        let of_cable = |cable: CableId| {
            context
                .fabric
                .map_or(0.3, |f| if f.cable_class(cable) == CableClass::Access { 0.35 } else { 0.15 })
        };
        match self {
            Self::Link(link) => of_cable(LinkId(link).cable()),
            Self::Cable(cable) => of_cable(CableId(cable)),
            Self::Port(..) => 0.3,
            Self::NicOut(_) | Self::NicIn(_) | Self::Nic(_) => 0.25,
            Self::Connection(..) => 0.2,
            Self::Switch(_) => 0.1,
            Self::Host(_) => 0.05,
        }
    }

    fn look(self, ends: &Ends, flows: &[u32]) -> &'static str {
        let one = |row: &[u32]| flows.iter().all(|&flow| row[flow as usize] == row[flows[0] as usize]);
        match (one(&ends.source), one(&ends.target)) {
            (true, true) => "cell",
            (true, false) => "row",
            (false, true) => "column",
            (false, false) => "path",
        }
    }

    /// Whether it is only a name for more of the same, where `smaller` explains as much: a host all of whose flows go
    /// by one NIC. A switch that only one of its cables speaks for is another thing than the cable, and stays.
    fn contains(self, smaller: Self) -> bool {
        matches!(self, Self::Host(_)) && !matches!(smaller, Self::Host(_) | Self::Switch(_))
    }
}

/// What the slow flows have in common that fast flows do not cross, the cause of the most slow flows first.
///
/// Both lists are rows of flows; `weights` are what counters say of components (1 where nothing), as
/// [`crate::Hints::weights`] gives them.
pub fn localize(
    context: &Context<'_>,
    ends: &Ends,
    slow: &[u32],
    fast: &[u32],
    weights: &BTreeMap<Component, f64>,
) -> Vec<Cause> {
    let parts = SlowParts::of(context, ends, slow);
    let mut crossed = vec![0_usize; parts.all.len()];
    parts.each_crossing(context, ends, fast, |row, _| crossed[row] += 1);
    let mut left = slow.to_vec();
    left.sort_unstable();
    left.dedup();
    let mut causes = Vec::new();
    while !left.is_empty() && causes.len() < CAUSES {
        let mut covers = vec![Vec::new(); parts.all.len()];
        parts.each_crossing(context, ends, &left, |row, flow| covers[row].push(flow));
        let score = |row: usize| {
            let covered = covers[row].len() as f64;
            covered * covered / (covered + crossed[row] as f64).max(1.0)
        };
        let rows = 0..parts.all.len();
        let Some(best) = rows.clone().max_by(|&a, &b| score(a).total_cmp(&score(b)).then(b.cmp(&a))) else {
            break;
        };
        let flows = covers[best].clone();
        // What covers the same flows as well: nothing tells it apart.
        let same: Vec<Part> = rows
            .filter(|&row| {
                score(row) >= AS_GOOD * score(best) && flows.iter().all(|flow| covers[row].contains(flow))
            })
            .map(|row| parts.all[row])
            .collect();
        let suspects = if (flows.len() as f64) < ACQUITTED * (flows.len() + crossed[best]) as f64 {
            // Every part is crossed by more fast flows than slow ones: only the pair itself can be named.
            let flow = flows[0] as usize;
            let pair = Part::Connection(ends.source[flow], ends.target[flow]);
            vec![Suspect { component: pair.component(context, ends), share: 1.0 }]
        } else {
            suspects_of(context, ends, &same, weights)
        };
        left.retain(|flow| !flows.contains(flow));
        let part = parts.all[best];
        causes.push(Cause { part, suspects, look: part.look(ends, &flows), flows, fast: crossed[best] });
    }
    causes
}

/// The parts that slow flows cross, in order.
struct SlowParts {
    all: Vec<Part>,
}

impl SlowParts {
    fn of(context: &Context<'_>, ends: &Ends, slow: &[u32]) -> Self {
        let (mut all, mut mine) = (Vec::new(), Vec::new());
        for &flow in slow {
            parts_of(context, ends, flow, &mut mine);
            all.extend_from_slice(&mine);
        }
        all.sort_unstable();
        all.dedup();
        Self { all }
    }

    /// Hands out every row of a part with every one of these flows that crosses it.
    fn each_crossing(
        &self,
        context: &Context<'_>,
        ends: &Ends,
        flows: &[u32],
        mut take: impl FnMut(usize, u32),
    ) {
        let mut mine = Vec::new();
        for &flow in flows {
            parts_of(context, ends, flow, &mut mine);
            mine.sort_unstable();
            mine.dedup();
            for part in &mine {
                if let Ok(row) = self.all.binary_search(part) {
                    take(row, flow);
                }
            }
        }
    }
}

/// Components of parts that explain the same, the likeliest first.
fn suspects_of(
    context: &Context<'_>,
    ends: &Ends,
    same: &[Part],
    weights: &BTreeMap<Component, f64>,
) -> Vec<Suspect> {
    let mut shares = BTreeMap::<Component, f64>::new();
    for &part in same {
        if same.iter().any(|&smaller| part.contains(smaller)) {
            continue;
        }
        let component = part.component(context, ends);
        let weight = weights.get(&component).copied().unwrap_or(1.0);
        let share = shares.entry(component).or_default();
        *share = share.max(part.prior(context) * weight);
    }
    let total: f64 = shares.values().sum();
    let mut suspects: Vec<Suspect> = shares
        .into_iter()
        .map(|(component, share)| Suspect { component, share: share / total })
        .filter(|suspect| suspect.share >= LEAST)
        .collect();
    suspects.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.component.cmp(&b.component)));
    suspects
}
