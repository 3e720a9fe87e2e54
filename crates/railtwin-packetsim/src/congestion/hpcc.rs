//! HPCC (Li et al. 2019, algorithm 1) on telemetry that switches average (PINT, Ben Basat et al. 2020).
use railtwin_engine::packet::Hpcc;

use super::{Control, Feedback, Path};
use crate::packet::FULL;

/// The scheme.
#[derive(Clone, Copy, Debug)]
pub struct HpccControl(pub Hpcc);

/// State of a queue pair.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// Window, bytes.
    window: f64,
    /// The window that changes are counted from, renewed each round trip.
    reference: f64,
    stage: u32,
    /// When the reference was last renewed.
    since: u64,
}

impl Control for HpccControl {
    type State = State;

    fn start(&self, path: &Path) -> State {
        let window = path.product();
        State { window, reference: window, stage: 0, since: 0 }
    }

    fn gap(&self, state: &mut State, path: &Path, _now: u64, bytes: u64) -> u64 {
        let rate = state.window / (path.round_trip as f64 * 1e-12);
        path.speed.time(bytes).max((bytes as f64 / rate * 1e12) as u64)
    }

    fn window(&self, state: &State) -> u64 {
        state.window as u64
    }

    fn acknowledged(&self, state: &mut State, path: &Path, feedback: Feedback) {
        let used = f64::from(feedback.telemetry) / FULL;
        let step = self.0.additive.bytes_per_s() * path.round_trip as f64 * 1e-12;
        let renew = feedback.now - state.since >= path.round_trip;
        if used >= self.0.target || state.stage >= self.0.stages {
            state.window = state.reference / (used / self.0.target).max(1e-3) + step;
            if renew {
                state.stage = 0;
            }
        } else {
            state.window = state.reference + step;
            if renew {
                state.stage += 1;
            }
        }
        state.window = state.window.clamp(path.full as f64, path.product().max(path.full as f64));
        if renew {
            state.reference = state.window;
            state.since = feedback.now;
        }
    }
}
