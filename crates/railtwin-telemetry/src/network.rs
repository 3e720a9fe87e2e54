//! The network as operations meet it: its states in time, and other jobs' flows that cross a link for a while.
use railtwin_engine::EdgeRates;

use crate::jitter::{Draws, Jitter};
use crate::layout::{PatternPlace, Role};

/// No edge of the bundle is much slower than the others.
pub(crate) const EVEN: u32 = u32::MAX;
/// The slowest edge of a bundle stands out when it takes so many times the time of the median one.
const STANDS_OUT: f64 = 1.1;

/// What a pattern finds.
#[derive(Clone, Debug, Default)]
pub(crate) struct PatternState {
    /// Serial latency in nanoseconds.
    pub(crate) latency_ns: f64,
    /// Nanoseconds for each byte of the operation, by message; infinite where nothing moves.
    pub(crate) message_ns: Vec<f64>,
    /// Flow of each message.
    pub(crate) flow: Vec<u32>,
    /// Times as long as in the healthy network, by group.
    pub(crate) group_ratio: Vec<f64>,
    /// The same by member, where each ends for itself.
    pub(crate) member_ratio: Vec<f64>,
    /// By edge: hops after the slowest edge of its ring; [`EVEN`] where none stands out.
    pub(crate) downstream: Vec<u32>,
}

/// A link that another job uses for a while.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Collision {
    /// The link.
    pub link: u32,
    /// First nanosecond.
    pub from_ns: u64,
    /// When the other job is gone.
    pub until_ns: u64,
    /// How many times as long messages over the link then take, at least 1.
    pub factor: f64,
}

/// One state of the network.
#[derive(Debug)]
struct State {
    from_ns: u64,
    rates: EdgeRates,
    /// Flow of each message of each pattern.
    flows: Vec<Vec<u32>>,
}

/// All states of the network and what holds now.
#[derive(Debug)]
pub(crate) struct Network {
    states: Vec<State>,
    /// Healthy seconds for each byte by group, and by member where each ends for itself.
    healthy: Vec<(Vec<f64>, Vec<f64>)>,
    current: Vec<PatternState>,
    /// Row of the state that holds.
    row: usize,
    collisions: Vec<Collision>,
    /// Links of the collisions that hold and their factors, by link.
    met: Vec<(u32, f64)>,
    next_change_ns: u64,
    factor: f64,
    /// First pattern of the job in the case.
    first_pattern: usize,
    /// Links between switches that the job's queue pairs cross, as often as they do: where other jobs can be met.
    shared: Vec<u32>,
}

impl Network {
    /// States in order of time, the first healthy, with the flows of the job's patterns in each.
    pub(crate) fn new(
        places: &[PatternPlace],
        states: Vec<(u64, EdgeRates, Vec<Vec<u32>>)>,
        first_pattern: usize,
        factor: f64,
        is_shared: impl Fn(u32) -> bool,
    ) -> Self {
        let states: Vec<State> =
            states.into_iter().map(|(from_ns, rates, flows)| State { from_ns, rates, flows }).collect();
        let healthy = places.iter().enumerate();
        let healthy = healthy
            .map(|(row, place)| seconds(place, &states[0].rates, first_pattern + row, &no_change))
            .collect();
        let rows = places.iter().flat_map(|place| place.first_row..place.first_row + place.messages);
        let links = rows.flat_map(|row| states[0].rates.links_of(row as usize));
        let shared = links.copied().filter(|&link| is_shared(link)).collect();
        let mut network = Self {
            current: vec![PatternState::default(); places.len()],
            healthy,
            states,
            row: 0,
            collisions: Vec::new(),
            met: Vec::new(),
            next_change_ns: 0,
            factor,
            first_pattern,
            shared,
        };
        network.find(places, 0);
        network
    }

    /// What a pattern of the job finds now.
    pub(crate) fn of(&self, pattern: usize) -> &PatternState {
        &self.current[pattern]
    }

    /// Rates of the state that holds.
    pub(crate) fn rates(&self) -> &EdgeRates {
        &self.states[self.row].rates
    }

    /// All states in order of time: when each begins, in nanoseconds, and its rates. The first is that without faults.
    pub(crate) fn states(&self) -> impl Iterator<Item = (u64, &EdgeRates)> {
        self.states.iter().map(|state| (state.from_ns, &state.rates))
    }

    /// Collisions so far and to come.
    pub(crate) fn collisions(&self) -> &[Collision] {
        &self.collisions
    }

    pub(crate) fn add_collision(&mut self, collision: Collision) {
        self.collisions.push(collision);
        self.next_change_ns = 0;
    }

    /// Draws another job's visit for the time from `from_ns` on for `span_ns`: on a link that queue pairs cross.
    pub(crate) fn draw_collisions(
        &mut self,
        jitter: &Jitter,
        draws: Draws,
        step: u64,
        from_ns: u64,
        span_ns: u64,
    ) {
        let expected = jitter.collisions_per_hour * span_ns as f64 / 3.6e12;
        if expected <= 0.0 || draws.unit(step, 0) >= expected.min(1.0) {
            return;
        }
        let links = &self.shared;
        if links.is_empty() {
            return;
        }
        let link = links[(draws.bits(step, 1) % links.len() as u64) as usize];
        let minutes = -jitter.collision_minutes * (1.0 - draws.unit(step, 2)).ln();
        let start = from_ns + (draws.unit(step, 3) * span_ns as f64) as u64;
        let until_ns = start.saturating_add((minutes * 60e9) as u64);
        self.add_collision(Collision { link, from_ns: start, until_ns, factor: self.factor });
    }

    /// Makes what patterns find true for `now_ns`.
    pub(crate) fn advance(&mut self, places: &[PatternPlace], now_ns: u64) {
        if now_ns >= self.next_change_ns {
            self.find(places, now_ns);
        }
    }

    fn find(&mut self, places: &[PatternPlace], now_ns: u64) {
        let row = self.states.partition_point(|state| state.from_ns <= now_ns).max(1) - 1;
        let holds = |one: &Collision| one.from_ns <= now_ns && now_ns < one.until_ns;
        let met = self.collisions.iter().filter(|one| holds(one)).map(|one| (one.link, one.factor.max(1.0)));
        let mut met: Vec<(u32, f64)> = met.collect();
        met.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        // Two visits to one link count as the greater.
        met.dedup_by_key(|one| one.0);
        let ends = self.collisions.iter().flat_map(|one| [one.from_ns, one.until_ns]);
        let changes = ends.chain(self.states.iter().map(|state| state.from_ns));
        let first = self.next_change_ns == 0 && self.current.iter().all(|state| state.group_ratio.is_empty());
        self.next_change_ns = changes.filter(|&change| change > now_ns).min().unwrap_or(u64::MAX);
        if !first && row == self.row && met == self.met {
            return;
        }
        (self.row, self.met) = (row, met);
        for (pattern, place) in places.iter().enumerate() {
            self.current[pattern] = self.state_of(pattern, place, row);
        }
    }

    fn state_of(&self, pattern: usize, place: &PatternPlace, row: usize) -> PatternState {
        let State { rates, flows, .. } = &self.states[row];
        let slower = |message: usize| {
            if self.met.is_empty() {
                return 1.0;
            }
            let factor = |link: &u32| {
                let at = self.met.binary_search_by_key(link, |one| one.0);
                at.map_or(1.0, |at| self.met[at].1)
            };
            rates.links_of(message).iter().map(factor).fold(1.0, f64::max)
        };
        let (groups, members) = seconds(place, rates, self.first_pattern + pattern, &slower);
        let (healthy_groups, healthy_members) = &self.healthy[pattern];
        let messages = place.first_row as usize..(place.first_row + place.messages) as usize;
        let message_ns: Vec<f64> = messages.map(|at| message_seconds(rates, at) * slower(at) * 1e9).collect();
        PatternState {
            latency_ns: rates.latency[self.first_pattern + pattern].ps() as f64 / 1e3,
            downstream: downstream(place, &message_ns),
            message_ns,
            flow: flows[pattern].clone(),
            group_ratio: ratios(&groups, healthy_groups),
            member_ratio: ratios(&members, healthy_members),
        }
    }

    /// When a state after the present one lets a group move again, and how many times as long it then takes.
    pub(crate) fn relief(&self, pattern: usize, place: &PatternPlace, group: usize) -> Option<(u64, f64)> {
        self.states[self.row + 1..].iter().find_map(|state| {
            let (groups, _) = seconds(place, &state.rates, self.first_pattern + pattern, &no_change);
            let ratio = ratios(&groups[group..=group], &self.healthy[pattern].0[group..=group])[0];
            ratio.is_finite().then_some((state.from_ns, ratio))
        })
    }
}

fn no_change(_: usize) -> f64 {
    1.0
}

fn ratios(now: &[f64], healthy: &[f64]) -> Vec<f64> {
    let ratio = |(now, healthy): (&f64, &f64)| if *healthy > 0.0 { now / healthy } else { 1.0 };
    now.iter().zip(healthy).map(ratio).collect()
}

/// Seconds of one message for each byte of the operation when nothing holds it back.
fn message_seconds(rates: &EdgeRates, row: usize) -> f64 {
    if rates.rate[row] > 0.0 { rates.share[row] / rates.rate[row] } else { f64::INFINITY }
}

/// Seconds for each byte of the operation: by group its slowest bundle, and by member, where each ends for itself,
/// the slowest bundle that it sends or receives.
fn seconds(
    place: &PatternPlace,
    rates: &EdgeRates,
    pattern_row: usize,
    slower: &dyn Fn(usize) -> f64,
) -> (Vec<f64>, Vec<f64>) {
    let mut groups = vec![0.0_f64; place.group_start.len() - 1];
    let pairs = place.collective == railtwin_workload::Collective::SendReceive;
    for bundle in rates.bundles_of(pattern_row) {
        let group = if pairs { rates.channel[bundle] } else { rates.communicator[bundle] };
        let mut own = rates.seconds_per_byte[bundle];
        for row in rates.rows_of(bundle) {
            let factor = slower(row);
            if factor > 1.0 {
                own = own.max(message_seconds(rates, row) * factor);
            }
        }
        let slowest = &mut groups[group as usize];
        *slowest = slowest.max(own);
    }
    if !place.own_ends {
        return (groups, Vec::new());
    }
    let mut members = vec![0.0_f64; place.members.len()];
    for bundle in &place.bundles {
        let rows = rates.rows_of(bundle.row as usize);
        let met =
            rows.map(|row| message_seconds(rates, row) * if slower(row) > 1.0 { slower(row) } else { 0.0 });
        let own = met
            .filter(|seconds| seconds.is_finite())
            .fold(rates.seconds_per_byte[bundle.row as usize], f64::max);
        let first = place.group_start[bundle.group as usize] as usize;
        let ranks = place.group(bundle.group as usize);
        let mut touch = |rank: u32| {
            if let Some(at) = ranks.iter().position(|&member| member == rank) {
                members[first + at] = members[first + at].max(own);
            }
        };
        for edge in &place.edges[bundle.edges.start as usize..bundle.edges.end as usize] {
            match edge.role {
                Role::Relayed { node, target } => {
                    place.node(node as usize).iter().for_each(|&rank| touch(rank));
                    touch(target);
                }
                Role::Pair { source, target } => [source, target].into_iter().for_each(&mut touch),
                Role::Ring { .. } | Role::Up { .. } | Role::Down => {}
            }
        }
    }
    (groups, members)
}

/// By edge of rings, its hops after the slowest edge where one stands out.
fn downstream(place: &PatternPlace, message_ns: &[f64]) -> Vec<u32> {
    let mut out = vec![EVEN; place.edges.len()];
    let mut times: Vec<f64> = Vec::new();
    for bundle in &place.bundles {
        let edges = bundle.edges.start as usize..bundle.edges.end as usize;
        let hops = bundle.nodes.len() as u32;
        let ring = |edge: usize| match place.edges[edge].role {
            Role::Ring { target } => Some(target),
            _ => None,
        };
        let time = |edge: usize| message_ns[place.messages_of(edge)].iter().copied().fold(0.0, f64::max);
        times.clear();
        times.extend(edges.clone().map(time));
        let slowest = (0..times.len()).max_by(|&a, &b| times[a].total_cmp(&times[b]));
        let Some((slowest, target)) = slowest.and_then(|at| Some((at, ring(edges.start + at)?))) else {
            continue;
        };
        let time = times[slowest];
        let middle = times.len() / 2;
        let (_, median, _) = times.select_nth_unstable_by(middle, f64::total_cmp);
        if time < STANDS_OUT * *median {
            continue;
        }
        for edge in edges {
            if let Some(own) = ring(edge) {
                out[edge] = (own + hops - target) % hops.max(1);
            }
        }
    }
    out
}
