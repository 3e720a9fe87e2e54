//! Ranks that compute or load data for longer than their peers.
use railtwin_diagnosis::Settings;
use railtwin_records::Evidence;
use railtwin_records::seen::{LivePhase, LiveSeen};
use railtwin_units::robust::{median, spread};

use super::state::{Rank, State, StepSeen};
use crate::incident::{LiveKind, Sign, Suspect, SuspectPlace};

/// Steps on end that must be long, and by which share of a step: three by a tenth, twice the share from which slowness
/// matters; or eight by that share. A step is long by chance where the machine is busy, and three are so by less; and who
/// waits for more steps answers later.
const LONG: [(usize, f64); 2] = [(3, 2.0), (8, 1.0)];
/// Peers without whom nothing is usual.
const PEERS: usize = 2;

/// Ranks that are slow now.
pub(super) fn signs(state: &State) -> Vec<Sign> {
    let settings = Settings::default();
    [LivePhase::Compute, LivePhase::Data]
        .into_iter()
        .filter_map(|phase| sign(state, phase, &settings))
        .collect()
}

const fn of_phase(step: &StepSeen, phase: LivePhase) -> u64 {
    match phase {
        LivePhase::Data => step.data_us,
        LivePhase::Compute => step.compute_us,
    }
}

/// The newest times of a phase, us.
fn newest(rank: &Rank, phase: LivePhase, count: usize) -> Option<Vec<f64>> {
    let steps = rank.steps.iter().rev().take(count);
    let times: Vec<f64> = steps.map(|step| of_phase(step, phase) as f64).collect();
    (times.len() == count).then_some(times)
}

/// The rank whose least time of a phase is furthest above what its peers take, where that is no chance.
fn sign(state: &State, phase: LivePhase, settings: &Settings) -> Option<Sign> {
    LONG.iter().find_map(|&(count, times)| {
        let all: Vec<(u32, Vec<f64>)> =
            state.living().filter_map(|(rank, seen)| Some((rank, newest(seen, phase, count)?))).collect();
        if all.len() <= PEERS {
            return None;
        }
        let least = |of: &[f64]| of.iter().copied().fold(f64::INFINITY, f64::min);
        let (rank, own) =
            all.iter().map(|(rank, of)| (*rank, least(of))).max_by(|a, b| a.1.total_cmp(&b.1))?;
        let mut others: Vec<f64> =
            all.iter().filter(|(other, _)| *other != rank).flat_map(|(_, of)| of.iter().copied()).collect();
        let (usual, deviation) = spread(&mut others)?;
        let beyond = (settings.deviations * deviation).max(times * settings.slow_share * step_us(state)?);
        (own - usual > beyond).then(|| {
            let kind = match phase {
                LivePhase::Data => LiveKind::SlowData,
                LivePhase::Compute => LiveKind::SlowCompute,
            };
            let line = LiveSeen::PhaseLonger { rank, phase, steps: count };
            Sign {
                kind,
                suspects: vec![Suspect { place: SuspectPlace::Rank(rank), share: 0.9 }],
                edge: None,
                evidence: vec![Evidence::new(line, own / 1e3, usual / 1e3)],
                is_sure: false,
            }
        })
    })
}

/// The usual time of a step, us: between the newest two ends of phases, the median of all ranks.
fn step_us(state: &State) -> Option<f64> {
    let of = |rank: &Rank| {
        let mut newest = rank.steps.iter().rev().map(|step| step.time_ns);
        let (last, before) = (newest.next()?, newest.next()?);
        Some(last.saturating_sub(before) as f64 / 1e3)
    };
    let mut steps: Vec<f64> = state.living().filter_map(|(_, rank)| of(rank)).collect();
    median(&mut steps)
}
