//! A window over sprayed packets: marks make it smaller in proportion, trimmed packets by their size.
use railtwin_engine::packet::Trimmed;

use super::{Control, Feedback, Path};

/// The scheme.
#[derive(Clone, Copy, Debug)]
pub struct TrimmedControl(pub Trimmed);

/// State of a queue pair.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// Bytes.
    window: f64,
}

impl TrimmedControl {
    fn most(&self, path: &Path) -> f64 {
        (self.0.window * path.product()).max(path.full as f64)
    }
}

impl Control for TrimmedControl {
    type State = State;

    fn start(&self, path: &Path) -> State {
        State { window: self.most(path) }
    }

    fn gap(&self, _state: &mut State, path: &Path, _now: u64, bytes: u64) -> u64 {
        path.speed.time(bytes)
    }

    fn window(&self, state: &State) -> u64 {
        state.window as u64
    }

    fn acknowledged(&self, state: &mut State, path: &Path, feedback: Feedback) {
        let bytes = feedback.bytes as f64;
        if feedback.marked {
            state.window -= self.0.decrease * bytes;
        } else {
            state.window += self.0.additive * path.full as f64 * bytes / state.window;
        }
        state.window = state.window.clamp(path.full as f64, self.most(path));
    }

    fn trimmed(&self, state: &mut State, path: &Path, bytes: u64) {
        state.window = (state.window - bytes as f64).max(path.full as f64);
    }
}
