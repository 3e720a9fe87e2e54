//! Communicators whose transfers take longer than those of their like, or than they did: communication slow, from
//! operations alone.
//!
//! The last rank to come waits for nobody: its duration is what the transfer takes.
use std::collections::BTreeMap;

use railtwin_records::seen::OperationSeen;
use railtwin_records::{Component, Directory, Evidence, FaultKind, Finding, Seen, Since, Suspect, Syndrome};

use crate::context::Context;
use crate::robust::spread;
use crate::settings::Settings;
use crate::slow::members::{Members, Pool};
use crate::slow::own_past::{MEDIAN_ERROR, OwnPast};
use crate::slow::windows::View;

/// Shapes of one communicator that are told apart; others are not measured.
const SHAPES: usize = 4;
/// Communicators below which a pool has no typical one, and only a communicator's own past is a measure.
const LIKE: usize = 4;
/// Windows in a row that make slowness; one does where it is this many times the threshold.
const STREAK: u32 = 2;
/// The same where transport messages tell of the communicator, however clear one window is: they place what is slow, and
/// come first.
const STREAK_BESIDE_MESSAGES: u32 = 2;
/// Most suspects that are worth a name.
const NAMED: usize = 4;
/// Times the excess that was told from which what lasts is told again: more than jitter makes of one fault.
const WORSE: f32 = 1.5;
/// Slow communicators that a finding names, the slowest first.
const LISTED: usize = 8;
/// Share of the time from operation to operation below which slowness does not matter.
const MATTERS: f64 = 0.01;

/// What transfers of one shape take in one communicator, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Shape {
    shape: u32,
    /// Operations of the last window; 0 before there is one.
    operations: u32,
    /// Their median and robust deviation.
    last: f32,
    deviation: f32,
    /// Of a window that was not judged yet.
    fresh: bool,
    past: OwnPast,
}

#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct State {
    shapes: [Shape; SHAPES],
    known: u8,
    streak: u32,
    slow: bool,
    /// Slow by its own past alone: its peers do not say so.
    alone: bool,
    /// Whether its own past is a measure.
    by_past: bool,
    measured: bool,
    told: bool,
    /// Excess when it was told.
    told_ns: f32,
    excess_ns: f32,
    usual_ns: f32,
    share: f32,
    since: Since,
    messages: bool,
}

impl State {
    /// Notes by how much it is slow, and what share of the time from operation to operation that is.
    fn set(&mut self, excess_ns: f64, usual_ns: f64, period_ns: f64) {
        self.excess_ns = excess_ns as f32;
        self.usual_ns = usual_ns as f32;
        self.share = (excess_ns / period_ns).min(1.0) as f32;
    }
}

/// All communicators.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Communicators {
    states: Vec<State>,
    values: Vec<f64>,
    told: Vec<Vec<Component>>,
    /// A run of slow operations has become clear since the last findings.
    news: bool,
}

impl Communicators {
    /// Room for so many.
    pub fn grow(&mut self, communicators: usize) {
        self.states.resize(communicators, State::default());
    }

    /// Transport messages tell of this communicator. They place what makes it slow, unless all of them are slow alike, as
    /// where everybody waits for a NIC that pauses: then it is told that it is slow, and nobody is named.
    pub fn has_messages(&mut self, communicator: u32) {
        if let Some(state) = self.states.get_mut(communicator as usize) {
            state.messages = true;
        }
    }

    /// Takes one transfer in, as it ends within `batch`. `period_ns` is the usual time from operation to operation.
    pub fn arrive(
        &mut self,
        settings: &Settings,
        communicator: u32,
        shape: u32,
        transfer_ns: f32,
        period_ns: f64,
        batch: Since,
    ) {
        let state = &mut self.states[communicator as usize];
        let known = &mut state.shapes[..usize::from(state.known)];
        let Some(Shape { past, .. }) = known.iter_mut().find(|known| known.shape == shape) else { return };
        let idle = !past.is_running();
        past.arrive(settings, transfer_ns);
        if idle && past.is_running() && !state.slow {
            state.since = batch;
        }
        let window_ns = period_ns * f64::from(settings.window);
        if let Some(excess) = past.run_excess_ns(settings, window_ns)
            && let Some(usual) = past.usual_ns(settings)
            && !state.slow
            && state.by_past
            && excess > MATTERS * period_ns
        {
            (state.slow, state.alone) = (true, true);
            state.set(excess, usual, period_ns);
            self.news |= !state.messages;
        }
    }

    /// Whether something became slow that no window has shown yet.
    pub fn has_news(&self) -> bool {
        self.news
    }

    /// Takes one window in.
    pub fn take(&mut self, communicator: u32, view: &View<'_>) {
        let state = &mut self.states[communicator as usize];
        let mut done = [false; SHAPES];
        for &shape in view.shape {
            let known = &state.shapes[..usize::from(state.known)];
            let at = match known.iter().position(|known| known.shape == shape) {
                Some(at) => at,
                None if known.len() < SHAPES => {
                    state.shapes[known.len()] = Shape { shape, ..Shape::default() };
                    state.known += 1;
                    usize::from(state.known) - 1
                }
                None => continue,
            };
            if std::mem::replace(&mut done[at], true) {
                continue;
            }
            self.values.clear();
            let rows = (0..view.shape.len()).filter(|&row| view.shape[row] == shape);
            self.values.extend(rows.filter_map(|row| view.transfer_ns(row)).map(f64::from));
            let operations = self.values.len();
            if let Some((median, deviation)) = spread(&mut self.values) {
                let known = &mut state.shapes[at];
                (known.last, known.deviation) = (median as f32, deviation as f32);
                (known.operations, known.fresh) = (operations as u32, true);
            }
        }
    }

    /// Judges the communicators of one pool by each other and by their past.
    pub fn judge_pool(
        &mut self,
        context: &Context<'_>,
        pool: &Pool,
        period_ns: impl Fn(u32) -> f64,
        window: Since,
    ) {
        let settings = context.settings;
        let typical = self.typical(&pool.communicators);
        // How many bytes an expert gets, its load decides, and no record tells: its past is no measure.
        let by_past = pool.axis != "ep";
        for &communicator in &pool.communicators {
            let state = &mut self.states[communicator as usize];
            state.by_past = by_past;
            let period = period_ns(communicator).max(1.0);
            let window_ns = period * f64::from(settings.window);
            let (mut slow, mut clear, mut peers, mut runs) = (false, false, false, false);
            let (mut usual, mut excess) = (0.0, 0.0);
            for shape in &mut state.shapes[..usize::from(state.known)] {
                if shape.operations == 0 {
                    continue;
                }
                state.measured = true;
                let last = f64::from(shape.last);
                let (deviation, operations) = (f64::from(shape.deviation), shape.operations as usize);
                let mut beyond = |reference: f64, least: f64| {
                    clear |= last > reference + 2.0 * least;
                    let is_slow = last > reference + least;
                    if is_slow && last - reference > excess {
                        (excess, usual) = (last - reference, reference);
                    }
                    is_slow
                };
                let (center, among, count) = typical[&shape.shape];
                let error = MEDIAN_ERROR * deviation / f64::from(shape.operations).sqrt();
                let least = (settings.slow_share * center).max(settings.deviations * among.max(error));
                let by_peers = count >= LIKE && beyond(center, least);
                let past = shape.past.usual_ns(settings).filter(|_| by_past);
                let least = shape.past.least_ns(settings, deviation, operations);
                let by_past = past.is_some_and(|past| beyond(past, least));
                (slow, peers) = (slow | by_peers | by_past, peers | by_peers);
                runs |= past.is_some() && shape.past.run_excess_ns(settings, window_ns).is_some();
                if std::mem::replace(&mut shape.fresh, false)
                    && !by_peers
                    && !by_past
                    && !shape.past.is_running()
                {
                    shape.past.learn(last, deviation, operations);
                }
            }
            slow &= excess / period > MATTERS;
            let began = state.slow || state.streak > 0;
            state.streak = if slow { state.streak + 1 } else { 0 };
            if slow && !began {
                state.since = window;
            }
            state.slow = state.streak >= STREAK || slow && clear || state.slow && runs;
            state.alone = !peers;
            if slow || !runs {
                state.set(excess, usual, period);
            }
        }
    }

    /// Median of the last windows of communicators alike, its robust deviation and their number, by shape.
    fn typical(&mut self, communicators: &[u32]) -> BTreeMap<u32, (f64, f64, usize)> {
        let known = |state: &State| state.shapes[..usize::from(state.known)].to_vec();
        let mut last = BTreeMap::<u32, Vec<f64>>::new();
        for &communicator in communicators {
            for shape in known(&self.states[communicator as usize]) {
                let values = last.entry(shape.shape).or_default();
                values.extend((shape.operations > 0).then_some(f64::from(shape.last)));
            }
        }
        let of = |values: &mut Vec<f64>| {
            let count = values.len();
            let (center, deviation) = spread(values).unwrap_or_default();
            (center, deviation, count)
        };
        last.into_iter().map(|(shape, mut values)| (shape, of(&mut values))).collect()
    }

    /// Findings of what is slow and not told yet, or has become worse: parts that slow communicators share and others do
    /// not. `late` says of each rank whether it is late: what is slow by its own past alone is not told while one of its
    /// ranks is, as that may be why.
    pub fn tell(
        &mut self,
        context: &Context<'_>,
        members: &Members,
        late: &[bool],
        now_ns: u64,
        findings: &mut Vec<Finding>,
    ) {
        self.news = false;
        let mut left = self.to_be_told(members, late);
        if left.is_empty() {
            self.told.clear();
            self.states.iter_mut().for_each(|state| state.told = false);
            return;
        }
        let directory = context.directory;
        let shared = self.shared_parts(directory, members, &left);
        let mut lasting = Vec::new();
        while !left.is_empty() {
            let (suspects, rows) = shared.explain(&left);
            left.retain(|row| !rows.contains(row));
            let mut key = suspects.clone();
            if key.is_empty() {
                key.extend(
                    rows.iter().map(|&row| {
                        Component::Connection(directory.communicators[row as usize].name.clone())
                    }),
                );
            }
            let state = |row: &u32| &self.states[*row as usize];
            let fresh = rows.iter().any(|row| !state(row).told) && !self.told.contains(&key);
            let worse = rows.iter().any(|row| {
                let state = state(row);
                state.told && state.excess_ns > WORSE * state.told_ns
            });
            lasting.push(key);
            if fresh || worse {
                // Which NIC or host it is, messages tell, and did not.
                let messages = rows.iter().any(|row| state(row).messages);
                let named = if messages { Vec::new() } else { suspects };
                findings.push(self.finding(context, &rows, named, now_ns));
            }
            for &row in &rows {
                let state = &mut self.states[row as usize];
                if fresh || worse || !state.told {
                    (state.told, state.told_ns) = (true, state.excess_ns);
                }
            }
        }
        self.told = lasting;
        self.states.iter_mut().filter(|state| !state.slow).for_each(|state| state.told = false);
    }

    /// Rows of slow communicators that a finding may be about.
    fn to_be_told(&self, members: &Members, late: &[bool]) -> Vec<u32> {
        let is_late = |slot: usize| late.get(members.rank(slot) as usize).is_some_and(|&late| late);
        let slow = |row: usize, state: &State| {
            let told = state.slow && (!state.messages || state.streak >= STREAK_BESIDE_MESSAGES);
            told && !(state.alone && members.slots(row as u32).any(is_late))
        };
        let rows = (0..).zip(&self.states);
        rows.filter(|&(row, state)| slow(row as usize, state)).map(|(row, _)| row).collect()
    }

    /// The parts of slow communicators, each with these and with how many fast ones have it.
    fn shared_parts(&self, directory: &Directory, members: &Members, slow: &[u32]) -> SharedParts {
        let mut parts = BTreeMap::<Component, (Vec<u32>, usize)>::new();
        for &row in slow {
            for component in parts_of(directory, members, row) {
                parts.entry(component).or_default().0.push(row);
            }
        }
        for (row, state) in self.states.iter().enumerate() {
            if state.measured && !state.slow && state.streak == 0 {
                for component in parts_of(directory, members, row as u32) {
                    if let Some(part) = parts.get_mut(&component) {
                        part.1 += 1;
                    }
                }
            }
        }
        SharedParts { parts }
    }

    fn finding(&self, context: &Context<'_>, rows: &[u32], suspects: Vec<Component>, now_ns: u64) -> Finding {
        let state = |row: &u32| &self.states[*row as usize];
        let mut worst = rows.to_vec();
        worst.sort_by(|a, b| state(b).share.total_cmp(&state(a).share).then(a.cmp(b)));
        let info = |row: &u32| &context.directory.communicators[*row as usize];
        let first = info(&worst[0]);
        let share = 1.0 / suspects.len().max(1) as f64;
        let advice = if suspects.len() == 1 {
            String::new()
        } else {
            format!(
                "operations do not tell which of the {} ranks of {}: transport messages do, or bandwidth probes between \
                 pairs of their NICs, each sending to and receiving from several of its rail over each port",
                first.ranks.len(),
                first.name
            )
        };
        let listed = worst.iter().take(LISTED).map(|row| {
            let (usual, excess) = (f64::from(state(row).usual_ns), f64::from(state(row).excess_ns));
            let (axis, communicator) = (info(row).axis.clone(), info(row).name.clone());
            let seen = OperationSeen::LastToCome { axis, communicator };
            Evidence::new(seen, (usual + excess) / 1e3, usual / 1e3)
        });
        let of_job = |row: usize| context.directory.communicators[row].job == first.job;
        let others = self.states.iter().enumerate();
        let sound = others.filter(|(row, state)| state.measured && !state.slow && of_job(*row)).count();
        let mut evidence: Vec<Evidence> = listed.collect();
        evidence.push(Evidence::new(OperationSeen::SlowCommunicators {}, rows.len() as f64, 0.0));
        if sound > 0 {
            evidence.push(Evidence::new(OperationSeen::SoundCommunicators {}, sound as f64, 0.0));
        }
        Finding {
            at_ns: now_ns,
            since: Since::earliest(rows.iter().map(|row| state(row).since), now_ns),
            syndrome: Syndrome::CommunicationSlow,
            faults: vec![FaultKind::Slow, FaultKind::Lossy, FaultKind::Latency],
            confidence: if suspects.is_empty() {
                0.0
            } else {
                0.5 + 0.4 * (1.0 - 0.5_f64.powf(rows.len() as f64))
            },
            suspects: suspects.into_iter().map(|component| Suspect { component, share }).collect(),
            severity: f64::from(state(&worst[0]).share),
            cost: None,
            evidence,
            advice,
        }
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.states.capacity() * size_of::<State>() + 8 * self.values.capacity()
    }
}

/// Parts of slow communicators: rows of these, and the number of fast ones that have the part, too.
struct SharedParts {
    parts: BTreeMap<Component, (Vec<u32>, usize)>,
}

impl SharedParts {
    /// What explains most of the communicators that are `left`, and which of them it does; nobody, and all of them, where
    /// nothing does.
    fn explain(&self, left: &[u32]) -> (Vec<Component>, Vec<u32>) {
        let parts = &self.parts;
        let covers = |rows: &[u32]| rows.iter().filter(|row| left.contains(row)).count() as f64;
        let score = |(rows, fast): &(Vec<u32>, usize)| {
            let covered = covers(rows);
            covered * covered / (covered + *fast as f64).max(1.0)
        };
        let best = parts.values().map(score).fold(0.0, f64::max);
        let same: Vec<&Component> =
            parts.iter().filter(|(_, part)| best > 0.0 && score(part) >= best).map(|(c, _)| c).collect();
        let Some(first) = same.first() else { return (Vec::new(), left.to_vec()) };
        let rows: Vec<u32> = parts[*first].0.iter().copied().filter(|row| left.contains(row)).collect();
        let same: Vec<&&Component> =
            same.iter().filter(|c| rows.iter().all(|r| parts[**c].0.contains(r))).collect();
        let nics = same.iter().filter(|c| matches!(c, Component::Nic(_))).count();
        // Where a NIC explains as much as its host, the host says no more.
        let named: Vec<Component> = same
            .into_iter()
            .filter(|c| nics == 0 || matches!(c, Component::Nic(_)))
            .map(|c| (**c).clone())
            .collect();
        (if named.len() > NAMED { Vec::new() } else { named }, rows)
    }
}

/// Rows of the communicators that a finding without suspects calls slow, the slowest first, at most 8; empty where it is
/// about something else. Probes between NICs of their ranks would tell who it is.
pub fn unplaced(directory: &Directory, finding: &Finding) -> Vec<u32> {
    if finding.syndrome != Syndrome::CommunicationSlow || !finding.suspects.is_empty() {
        return Vec::new();
    }
    let row_of = |line: &Evidence| {
        let Seen::Operation(OperationSeen::LastToCome { axis, communicator }) = &line.seen else {
            return None;
        };
        let known = directory.communicators.iter();
        known.zip(0..).find(|(info, _)| info.axis == *axis && info.name == *communicator).map(|(_, row)| row)
    };
    finding.evidence.iter().filter_map(row_of).collect()
}

/// NICs and hosts that a communicator's messages cross; none of one within a host.
fn parts_of(directory: &Directory, members: &Members, communicator: u32) -> Vec<Component> {
    let ranks: Vec<_> = members
        .slots(communicator)
        .filter_map(|slot| directory.ranks.get(members.rank(slot) as usize))
        .collect();
    if ranks.iter().all(|info| info.host == ranks[0].host) {
        return Vec::new();
    }
    let name = |host: u32| directory.hosts[host as usize].name.as_str();
    let mut parts: Vec<Component> = ranks
        .iter()
        .flat_map(|info| {
            let host = name(info.host);
            [Component::Nic(format!("{host}/nic-{}", info.nic)), Component::Host(host.to_owned())]
        })
        .collect();
    parts.sort();
    parts.dedup();
    parts
}
