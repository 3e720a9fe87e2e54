//! Communicators whose operations take longer than those of their like, or than they did: communication slow, from
//! operations alone.
//!
//! The last rank to come waits for nobody: its duration is what communication takes.
use std::collections::BTreeMap;

use railtwin_records::{Component, Directory, Evidence, FaultKind, Finding, Suspect, Syndrome};

use crate::context::Context;
use crate::robust::spread;
use crate::slow::members::Members;
use crate::slow::windows::View;

/// Shapes of one communicator that are told apart; others are not measured.
const SHAPES: usize = 4;
/// Communicators below which a pool has no typical one, and only a communicator's own past is a measure.
const LIKE: usize = 4;
/// Windows in a row that make slowness; one does where it is this many times the threshold.
const STREAK: u32 = 2;
/// Most suspects that are worth a name.
const NAMED: usize = 4;
/// Windows that make a past.
const PAST: u32 = 4;
/// Standard error of the median of normal values, in standard deviations over the root of their number.
const MEDIAN_ERROR: f64 = 1.2533;
/// Share of the time from operation to operation below which slowness does not matter.
const MATTERS: f64 = 0.01;

/// What operations of one shape take in one communicator, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Shape {
    shape: u32,
    windows: u32,
    /// Median of the last window.
    last: f32,
    /// Median of the windows of the past, while not slow, and their mean distance from it.
    past: f32,
    scatter: f32,
    /// Standard error of that median, from the operations of the window.
    error: f32,
}

#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct State {
    shapes: [Shape; SHAPES],
    known: u8,
    streak: u32,
    slow: bool,
    measured: bool,
    told: bool,
    excess_ns: f32,
    usual_ns: f32,
    share: f32,
    since_ns: u64,
    messages: bool,
}

/// All communicators.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Communicators {
    states: Vec<State>,
    values: Vec<f64>,
    told: Vec<Vec<Component>>,
}

impl Communicators {
    /// Room for so many.
    pub fn grow(&mut self, communicators: usize) {
        self.states.resize(communicators, State::default());
    }

    /// Transport messages tell of this communicator: they say more.
    pub fn has_messages(&mut self, communicator: u32) {
        if let Some(state) = self.states.get_mut(communicator as usize) {
            state.messages = true;
        }
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
            for (row, durations) in view.duration.chunks_exact(view.members).enumerate() {
                // A missing rank may be the last one.
                if view.shape[row] == shape && durations.iter().all(|duration| !duration.is_nan()) {
                    self.values.push(f64::from(durations.iter().copied().fold(f32::INFINITY, f32::min)));
                }
            }
            let operations = self.values.len() as f64;
            if let Some((median, deviation)) = spread(&mut self.values) {
                state.shapes[at].last = median as f32;
                state.shapes[at].error = (MEDIAN_ERROR * deviation / operations.sqrt()) as f32;
                state.shapes[at].windows += 1;
            }
        }
    }

    /// Judges the communicators of one pool by each other and by their past.
    pub fn judge_pool(
        &mut self,
        context: &Context<'_>,
        communicators: &[u32],
        period_ns: impl Fn(u32) -> f64,
        since_ns: u64,
    ) {
        let settings = context.settings;
        let mut typical = BTreeMap::<u32, (f64, f64, usize)>::new();
        for &communicator in communicators {
            let state = &self.states[communicator as usize];
            for shape in &state.shapes[..usize::from(state.known)] {
                typical.entry(shape.shape).or_default();
            }
        }
        for (&wanted, entry) in &mut typical {
            self.values.clear();
            for &communicator in communicators {
                let state = &self.states[communicator as usize];
                let found =
                    state.shapes[..usize::from(state.known)].iter().find(|shape| shape.shape == wanted);
                self.values
                    .extend(found.filter(|shape| shape.windows > 0).map(|shape| f64::from(shape.last)));
            }
            let count = self.values.len();
            let (center, deviation) = spread(&mut self.values).unwrap_or_default();
            *entry = (center, deviation, count);
        }
        for &communicator in communicators {
            let state = &mut self.states[communicator as usize];
            let (mut slow, mut clear, mut usual, mut excess) = (false, false, 0.0, 0.0);
            for shape in &mut state.shapes[..usize::from(state.known)] {
                if shape.windows == 0 {
                    continue;
                }
                state.measured = true;
                let last = f64::from(shape.last);
                let (center, deviation, count) = typical[&shape.shape];
                let error = f64::from(shape.error);
                let (reference, least) = if count >= LIKE {
                    (center, (settings.slow_share * center).max(settings.deviations * deviation.max(error)))
                } else if shape.windows > PAST {
                    let (past, scatter) = (f64::from(shape.past), f64::from(shape.scatter));
                    (
                        past,
                        (settings.slow_share * past)
                            .max(settings.deviations * (MEDIAN_ERROR * scatter).max(error)),
                    )
                } else {
                    (last, f64::INFINITY)
                };
                if last > reference + least {
                    slow = true;
                    clear |= last > reference + 2.0 * least;
                    if last - reference > excess {
                        (excess, usual) = (last - reference, reference);
                    }
                } else {
                    let weight = 1.0 / shape.windows.min(8) as f32;
                    let distance = (shape.last - shape.past).abs();
                    if shape.windows > 1 {
                        shape.scatter += weight * (distance - shape.scatter);
                    }
                    shape.past += weight * (shape.last - shape.past);
                }
            }
            let period = period_ns(communicator).max(1.0);
            slow &= excess / period > MATTERS;
            state.streak = if slow { state.streak + 1 } else { 0 };
            if state.streak == 1 {
                state.since_ns = since_ns;
            }
            state.slow = state.streak >= STREAK || slow && clear;
            (state.excess_ns, state.usual_ns, state.share) =
                (excess as f32, usual as f32, (excess / period).min(1.0) as f32);
        }
    }

    /// Findings of what is slow and not told yet: parts that slow communicators share and others do not.
    pub fn tell(
        &mut self,
        context: &Context<'_>,
        members: &Members,
        now_ns: u64,
        findings: &mut Vec<Finding>,
    ) {
        let slow = |state: &State| state.slow && !state.messages;
        if !self.states.iter().any(slow) {
            self.told.clear();
            self.states.iter_mut().for_each(|state| state.told = false);
            return;
        }
        let directory = context.directory;
        let mut parts = BTreeMap::<Component, (Vec<u32>, usize)>::new();
        for (row, state) in self.states.iter().enumerate() {
            if slow(state) {
                for component in parts_of(directory, members, row as u32) {
                    parts.entry(component).or_default().0.push(row as u32);
                }
            }
        }
        for (row, state) in self.states.iter().enumerate() {
            if state.measured && state.streak == 0 {
                for component in parts_of(directory, members, row as u32) {
                    if let Some(part) = parts.get_mut(&component) {
                        part.1 += 1;
                    }
                }
            }
        }
        let mut left: Vec<u32> =
            (0..self.states.len() as u32).filter(|&row| slow(&self.states[row as usize])).collect();
        let mut lasting = Vec::new();
        while !left.is_empty() {
            let covers = |rows: &[u32]| rows.iter().filter(|row| left.contains(row)).count() as f64;
            let score = |(rows, fast): &(Vec<u32>, usize)| {
                let covered = covers(rows);
                covered * covered / (covered + *fast as f64).max(1.0)
            };
            let best = parts.values().map(score).fold(0.0, f64::max);
            let same: Vec<&Component> =
                parts.iter().filter(|(_, part)| best > 0.0 && score(part) >= best).map(|(c, _)| c).collect();
            let (suspects, rows) = match same.first() {
                Some(first) => {
                    let rows: Vec<u32> =
                        parts[*first].0.iter().copied().filter(|row| left.contains(row)).collect();
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
                None => (Vec::new(), left.clone()),
            };
            left.retain(|row| !rows.contains(row));
            let mut key = suspects.clone();
            if key.is_empty() {
                key.extend(
                    rows.iter().map(|&row| {
                        Component::Connection(directory.communicators[row as usize].name.clone())
                    }),
                );
            }
            let fresh = rows.iter().any(|&row| !self.states[row as usize].told) && !self.told.contains(&key);
            lasting.push(key);
            if fresh {
                findings.push(self.finding(context, &rows, suspects, now_ns));
            }
            rows.iter().for_each(|&row| self.states[row as usize].told = true);
        }
        self.told = lasting;
        self.states.iter_mut().filter(|state| !state.slow).for_each(|state| state.told = false);
    }

    fn finding(&self, context: &Context<'_>, rows: &[u32], suspects: Vec<Component>, now_ns: u64) -> Finding {
        let state = |row: &u32| &self.states[*row as usize];
        let worst =
            *rows.iter().max_by(|a, b| state(a).share.total_cmp(&state(b).share)).expect("some are slow");
        let info = &context.directory.communicators[worst as usize];
        let (usual, excess) = (f64::from(state(&worst).usual_ns), f64::from(state(&worst).excess_ns));
        let share = 1.0 / suspects.len().max(1) as f64;
        let advice = if suspects.len() == 1 {
            String::new()
        } else {
            format!(
                "operations do not tell which of the {} ranks of {}: transport messages or pairwise bandwidth probes \
                 between their NICs do",
                info.ranks.len(),
                info.name
            )
        };
        Finding {
            at_ns: now_ns,
            since_ns: rows.iter().map(|row| state(row).since_ns).min().unwrap_or(now_ns),
            syndrome: Syndrome::CommunicationSlow,
            faults: vec![FaultKind::Slow, FaultKind::Lossy, FaultKind::Latency],
            confidence: if suspects.is_empty() {
                0.0
            } else {
                0.5 + 0.4 * (1.0 - 0.5_f64.powf(rows.len() as f64))
            },
            suspects: suspects.into_iter().map(|component| Suspect { component, share }).collect(),
            severity: f64::from(state(&worst).share),
            evidence: vec![
                Evidence {
                    table: "operations",
                    what: format!(
                        "duration of the last rank to come, {} communicator {}",
                        info.axis, info.name
                    ),
                    value: (usual + excess) / 1e3,
                    expected: usual / 1e3,
                    unit: "us",
                },
                Evidence {
                    table: "operations",
                    what: "communicators that are slow by the same cause".into(),
                    value: rows.len() as f64,
                    expected: 0.0,
                    unit: "communicators",
                },
            ],
            advice,
        }
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.states.capacity() * size_of::<State>() + 8 * self.values.capacity()
    }
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
