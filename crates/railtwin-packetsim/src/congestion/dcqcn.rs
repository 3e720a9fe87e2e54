//! DCQCN's reaction point (Zhu et al. 2015, section 3).
//!
//! Timers are worked off when something asks for the rate: what happens between two packets of a queue pair can be
//! seen by nobody else.
use railtwin_engine::packet::Dcqcn;

use super::{Control, Path};

/// The scheme.
#[derive(Clone, Copy, Debug)]
pub struct DcqcnControl(pub Dcqcn);

/// State of a queue pair. Rates in bytes per second.
#[derive(Clone, Copy, Debug)]
pub struct State {
    rate: f64,
    target: f64,
    line: f64,
    alpha: f64,
    /// When `alpha` last changed.
    alpha_since: u64,
    /// When the increase timer last ran out, and how often it did since the last cut.
    timer_since: u64,
    timer_rounds: u32,
    bytes: u64,
    byte_rounds: u32,
    /// Cut at least once, and not yet back at the rate of the line.
    active: bool,
}

impl DcqcnControl {
    /// Works off the timers up to `now`.
    fn advance(&self, state: &mut State, now: u64) {
        let Dcqcn { gain, alpha_timer, increase_timer, .. } = self.0;
        let decays = (now - state.alpha_since) / alpha_timer.ps().max(1);
        if decays > 0 {
            state.alpha *= (1.0 - gain).powi(decays.min(1 << 20) as i32);
            state.alpha_since += decays * alpha_timer.ps();
        }
        while state.active && now - state.timer_since >= increase_timer.ps() {
            state.timer_since += increase_timer.ps();
            state.timer_rounds += 1;
            self.increase(state);
        }
    }

    fn increase(&self, state: &mut State) {
        let rounds = self.0.recovery_rounds;
        let (most, least) =
            (state.timer_rounds.max(state.byte_rounds), state.timer_rounds.min(state.byte_rounds));
        if most >= rounds {
            let step = if least > rounds {
                self.0.hyper.bytes_per_s() * f64::from(least - rounds)
            } else {
                self.0.additive.bytes_per_s()
            };
            state.target = (state.target + step).min(state.line);
        }
        state.rate = ((state.target + state.rate) / 2.0).min(state.line);
        // Halving the distance never ends; a thousandth is as good.
        if state.rate > 0.999 * state.line {
            (state.rate, state.active) = (state.line, false);
        }
    }
}

impl Control for DcqcnControl {
    type State = State;

    fn start(&self, path: &Path) -> State {
        let line = path.speed.bytes_per_s();
        State {
            rate: line,
            target: line,
            line,
            alpha: 1.0,
            alpha_since: 0,
            timer_since: 0,
            timer_rounds: 0,
            bytes: 0,
            byte_rounds: 0,
            active: false,
        }
    }

    #[inline]
    fn gap(&self, state: &mut State, path: &Path, now: u64, bytes: u64) -> u64 {
        if !state.active {
            return path.speed.time(bytes);
        }
        self.advance(state, now);
        state.bytes += bytes;
        if state.bytes >= self.0.byte_counter.0 {
            state.bytes -= self.0.byte_counter.0;
            state.byte_rounds += 1;
            self.increase(state);
        }
        path.speed.time(bytes).max((bytes as f64 / state.rate * 1e12) as u64)
    }

    fn notified(&self, state: &mut State, now: u64) {
        // Timers run from the first notification on, and while the rate is below that of the line.
        if !state.active {
            state.alpha_since = now;
        }
        self.advance(state, now);
        let g = self.0.gain;
        state.target = state.rate;
        state.rate = (state.rate * (1.0 - state.alpha / 2.0)).max(self.0.minimum.bytes_per_s());
        state.alpha = (1.0 - g) * state.alpha + g;
        (state.alpha_since, state.timer_since) = (now, now);
        (state.timer_rounds, state.byte_rounds, state.bytes) = (0, 0, 0);
        state.active = true;
    }
}
