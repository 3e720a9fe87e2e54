//! DCQCN's reaction point (Zhu et al. 2015, section 3; equations and figure 7 by their numbers there).
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
    /// `R_C`.
    rate: f64,
    /// `R_T`.
    target: f64,
    line: f64,
    alpha: f64,
    /// When `alpha` last changed.
    alpha_since: u64,
    /// When the increase timer last ran out, and how often it did since the last cut: `T`.
    timer_since: u64,
    timer_rounds: u32,
    /// Bytes since the byte counter last ran out, and how often it did since the last cut: `BC`.
    bytes: u64,
    byte_rounds: u32,
    /// Cut at least once, and not yet back at the rate of the line.
    active: bool,
}

impl DcqcnControl {
    /// All that ran out up to `now`.
    fn on_timers(&self, state: &mut State, now: u64) {
        let Dcqcn { gain, alpha_timer, increase_timer, .. } = self.0;
        let decays = (now - state.alpha_since) / alpha_timer.ps().max(1);
        if decays > 0 {
            // Equation 2, once for each timer without a CNP: alpha = (1 - g) alpha.
            state.alpha *= (1.0 - gain).powi(decays.min(1 << 20) as i32);
            state.alpha_since += decays * alpha_timer.ps();
        }
        while state.active && now - state.timer_since >= increase_timer.ps() {
            state.timer_since += increase_timer.ps();
            state.timer_rounds += 1;
            self.increase(state);
        }
    }

    /// Bytes that leave.
    fn on_bytes(&self, state: &mut State, bytes: u64) {
        state.bytes += bytes;
        if state.bytes >= self.0.byte_counter.0 {
            state.bytes -= self.0.byte_counter.0;
            state.byte_rounds += 1;
            self.increase(state);
        }
    }

    /// A round of either clock (figure 7).
    fn increase(&self, state: &mut State) {
        let rounds = self.0.recovery_rounds;
        let (most, least) =
            (state.timer_rounds.max(state.byte_rounds), state.timer_rounds.min(state.byte_rounds));
        // max(T, BC) < F is fast recovery, equation 3: the target stays.
        if most >= rounds {
            let step = if least > rounds {
                // min(T, BC) > F is hyper increase: R_T = R_T + i R_HAI.
                self.0.hyper.bytes_per_s() * f64::from(least - rounds)
            } else {
                // Else additive increase, equation 4: R_T = R_T + R_AI.
                self.0.additive.bytes_per_s()
            };
            state.target = (state.target + step).min(state.line);
        }
        // Equations 3 and 4: R_C = (R_T + R_C) / 2.
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
    fn on_sent(&self, state: &mut State, path: &Path, now: u64, bytes: u64) -> u64 {
        if !state.active {
            return path.speed.time(bytes);
        }
        self.on_timers(state, now);
        self.on_bytes(state, bytes);
        path.speed.time(bytes).max((bytes as f64 / state.rate * 1e12) as u64)
    }

    fn on_cnp(&self, state: &mut State, now: u64) {
        // Timers run from the first notification on, and while the rate is below that of the line.
        if !state.active {
            state.alpha_since = now;
        }
        self.on_timers(state, now);
        let g = self.0.gain;
        // Equation 1: R_T = R_C, R_C = R_C (1 - alpha / 2), alpha = (1 - g) alpha + g.
        state.target = state.rate;
        state.rate = (state.rate * (1.0 - state.alpha / 2.0)).max(self.0.minimum.bytes_per_s());
        state.alpha = (1.0 - g) * state.alpha + g;
        (state.alpha_since, state.timer_since) = (now, now);
        (state.timer_rounds, state.byte_rounds, state.bytes) = (0, 0, 0);
        state.active = true;
    }
}

#[cfg(test)]
mod tests {
    use railtwin_units::{Bytes, Rate};

    use super::*;
    use crate::network::Speed;

    /// A line of 10^9 bytes per second: rates below are shares of it, and a byte takes 1 ns.
    const PATH: Path = Path { speed: Speed::NS_EACH, round_trip: 10_000_000, full: 1_000 };
    const US: u64 = 1_000_000;
    /// Both timers of Zhu et al.
    const TIMER: u64 = 55 * US;

    enum Event {
        Cnp,
        Sent(u64),
    }
    use Event::{Cnp, Sent};

    /// The rate after each event, as a share of the line.
    fn trace<const N: usize>(control: Dcqcn, events: [(u64, Event); N]) -> [f64; N] {
        let control = DcqcnControl(control);
        let mut state = control.start(&PATH);
        events.map(|(at, event)| {
            match event {
                Cnp => control.on_cnp(&mut state, at),
                Sent(bytes) => _ = control.on_sent(&mut state, &PATH, at, bytes),
            }
            state.rate / 1e9
        })
    }

    fn assert_near<const N: usize>(found: [f64; N], expected: [f64; N]) {
        let near = found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(near, "{found:?}, not {expected:?}");
    }

    #[test]
    fn a_queue_pair_has_the_line_until_it_is_notified() {
        let control = DcqcnControl(Dcqcn::default());
        let mut state = control.start(&PATH);
        assert_eq!(control.on_sent(&mut state, &PATH, 0, 1_000), US);
        control.on_cnp(&mut state, US);
        // Half of the rate, so twice the time.
        assert_eq!(control.on_sent(&mut state, &PATH, US, 1_000), 2 * US);
    }

    #[test]
    fn the_first_notification_halves_the_rate_and_recovery_halves_the_gap() {
        // alpha = 1: R_C = 1/2, R_T = 1. Each timer then takes half of what is missing (equation 3).
        let at = |round| round * TIMER;
        let events = [(0, Cnp), (at(1) - 1, Sent(0)), (at(1), Sent(0)), (at(2), Sent(0)), (at(4), Sent(0))];
        assert_near(trace(Dcqcn::default(), events), [0.5, 0.5, 0.75, 0.875, 1.0 - 0.5 / 16.0]);
    }

    #[test]
    fn a_thousandth_below_the_line_counts_as_the_line() {
        // The target is at the line, so additive increase adds nothing: 1/2 / 2^8 is missing, then 1/2 / 2^9 < 1/1000.
        let events = [(0, Cnp), (8 * TIMER, Sent(0)), (9 * TIMER, Sent(0))];
        assert_near(trace(Dcqcn::default(), events), [0.5, 1.0 - 0.5 / 256.0, 1.0]);
    }

    #[test]
    fn alpha_decays_for_each_timer_without_a_notification() {
        // g = 1/2. alpha after the first cut is 1/2 + 1/2 = 1, after three timers 1/8. The rate has recovered to 15/16
        // meanwhile, so the cut is by a sixteenth: 15/16 * 15/16. Then alpha = 1/16 + 1/2 = 9/16: at once again 23/32.
        let half = Dcqcn { gain: 0.5, ..Dcqcn::default() };
        let events = [(0, Cnp), (3 * TIMER, Cnp), (3 * TIMER, Cnp)];
        let second = 15.0 / 16.0 * 15.0 / 16.0;
        assert_near(trace(half, events), [0.5, second, second * 23.0 / 32.0]);
    }

    #[test]
    fn a_second_notification_takes_the_target_down_too_as_equation_1_reads_literally() {
        // R_T is the rate before the last cut, 1/2, and not that before both: recovery leads to 1/2.
        let events = [(0, Cnp), (50 * US, Cnp), (50 * US + TIMER, Sent(0)), (50 * US + 2 * TIMER, Sent(0))];
        assert_near(trace(Dcqcn::default(), events), [0.5, 0.25, 0.375, 0.4375]);
    }

    #[test]
    fn additive_increase_follows_fast_recovery() {
        // R_AI = 40 Mbps is 1/200 of the line. R_C = 1/4, R_T = 1/2; four rounds leave 1/4 / 16 of the gap; in the fifth
        // R_T = 0.505, in the sixth 0.51.
        let fourth = 0.5 - 0.25 / 16.0;
        let fifth = (0.505 + fourth) / 2.0;
        let events = [(0, Cnp), (0, Cnp), (4 * TIMER, Sent(0)), (5 * TIMER, Sent(0)), (6 * TIMER, Sent(0))];
        assert_near(trace(Dcqcn::default(), events), [0.5, 0.25, fourth, fifth, (0.51 + fifth) / 2.0]);
    }

    #[test]
    fn bytes_count_rounds_as_time_does() {
        // Rounds of 3 kB, and what is beyond them counts for the next.
        let counted = Dcqcn { byte_counter: Bytes(3_000), ..Dcqcn::default() };
        let events = [(0, Cnp), (1, Sent(2_000)), (2, Sent(2_000)), (3, Sent(1_999)), (4, Sent(1))];
        assert_near(trace(counted, events), [0.5, 0.5, 0.75, 0.75, 0.875]);
    }

    #[test]
    fn hyper_increase_begins_when_both_clocks_are_beyond_recovery() {
        // F = 1, R_AI = 1/200, R_HAI = 1/20 of the line. Each packet ends a timer, then a round of bytes:
        // (T, BC) = (1, 0), (1, 1) and (2, 1) are additive, (2, 2) and (3, 2) add R_HAI once, (3, 3) twice.
        let quick = Dcqcn { recovery_rounds: 1, byte_counter: Bytes(1_000), ..Dcqcn::default() };
        let packet = |round| (round * TIMER, Sent(1_000));
        let up = |rate: f64, targets: [f64; 2]| {
            targets.into_iter().fold(rate, |rate, target| (rate + target) / 2.0)
        };
        let first = up(0.25, [0.505, 0.51]);
        let second = up(first, [0.515, 0.565]);
        let third = up(second, [0.615, 0.715]);
        let events = [(0, Cnp), (0, Cnp), packet(1), packet(2), packet(3)];
        assert_near(trace(quick, events), [0.5, 0.25, first, second, third]);
    }

    #[test]
    fn no_cut_goes_below_the_least_rate() {
        // 3/8 of the line: the second half would be a quarter.
        let bounded = Dcqcn { minimum: Rate::from_gbps(3), ..Dcqcn::default() };
        assert_near(trace(bounded, [(0, Cnp), (1, Cnp), (2, Cnp)]), [0.5, 0.375, 0.375]);
    }
}
