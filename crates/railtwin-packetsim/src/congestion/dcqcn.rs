//! DCQCN's reaction point (Zhu et al. 2015, section 3; equations and figure 7 by their numbers there), and what NICs do
//! otherwise: they estimate alpha by periods, cut at most once in a while, and lower the target only after an increase.
//!
//! Timers are worked off when something asks for the rate: what happens between two packets of a queue pair can be
//! seen by nobody else. A packet that waits for its rate waits until the rate, as it will rise by then, has let its
//! bytes through; only a notification changes that, and [`Control::on_cnp`] gives the new time.
use railtwin_engine::packet::{AlphaUpdate, ClampTarget, DcqcnLaw};

use super::{Control, Path};
use crate::agenda::NEVER;

/// The scheme.
#[derive(Clone, Copy, Debug)]
pub struct DcqcnControl(pub DcqcnLaw);

/// State of a queue pair. Rates in bytes per second.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// `R_C`.
    rate: f64,
    /// `R_T`.
    target: f64,
    line: f64,
    alpha: f64,
    /// When `alpha` last changed; never before the first notification.
    alpha_since: u64,
    /// A notification came in this period of `alpha`.
    notified: bool,
    /// When the rate was last cut, and whether a notification waits for the next time that it may be.
    cut_at: u64,
    pending: bool,
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
    /// When the state next changes by itself.
    #[inline]
    fn next_change(&self, state: &State) -> u64 {
        let timer =
            if state.active { state.timer_since.saturating_add(self.0.increase_timer.ps()) } else { NEVER };
        if state.pending { timer.min(self.next_cut(state)) } else { timer }
    }

    fn next_cut(&self, state: &State) -> u64 {
        state.cut_at.saturating_add(self.0.cut_interval.ps())
    }

    /// All that ran out up to `now`, in its order.
    #[inline]
    fn advance(&self, state: &mut State, now: u64) {
        loop {
            let next = self.next_change(state);
            if next > now || next == NEVER {
                return;
            }
            if state.pending && self.next_cut(state) == next {
                self.estimate(state, next);
                self.cut(state, next);
            } else {
                state.timer_since = next;
                state.timer_rounds = state.timer_rounds.saturating_add(1);
                self.increase(state);
            }
        }
    }

    /// `alpha` at `now`, which is not before the last time.
    fn estimate(&self, state: &mut State, now: u64) {
        let (gain, timer) = (self.0.gain, self.0.alpha_timer.ps().max(1));
        let periods = now.saturating_sub(state.alpha_since) / timer;
        if periods == 0 {
            return;
        }
        state.alpha_since += periods * timer;
        // Equation 2, once for each timer without a CNP: alpha = (1 - g) alpha.
        state.alpha *= (1.0 - gain).powi(i32::try_from(periods).unwrap_or(i32::MAX));
        if state.notified {
            // The first of these periods saw one: alpha = (1 - g) alpha + g, and all later ones fade it.
            state.alpha += gain * (1.0 - gain).powi(i32::try_from(periods - 1).unwrap_or(i32::MAX));
            state.notified = false;
        }
    }

    /// Equation 1: R_T = R_C, R_C = R_C (1 - alpha / 2).
    fn cut(&self, state: &mut State, now: u64) {
        let lowers = match self.0.clamp_target {
            ClampTarget::Always => true,
            ClampTarget::AfterIncrease => state.timer_rounds > 0,
        };
        if lowers || !state.active {
            state.target = state.rate;
        }
        state.rate =
            (state.rate * (1.0 - state.alpha / 2.0)).max(self.0.minimum.bytes_per_s().min(state.line));
        (state.cut_at, state.pending) = (now, false);
        state.timer_since = now;
        (state.timer_rounds, state.byte_rounds, state.bytes) = (0, 0, 0);
        state.active = true;
    }

    /// Bytes that leave.
    fn on_bytes(&self, state: &mut State, bytes: u64) {
        state.bytes += bytes;
        while state.active && state.bytes >= self.0.byte_counter.0 {
            state.bytes -= self.0.byte_counter.0;
            state.byte_rounds = state.byte_rounds.saturating_add(1);
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
            (state.rate, state.target, state.active) = (state.line, state.line, false);
        }
    }

    /// When `bytes` have gone that begin at `now`, where nothing but timers changes the rate.
    #[inline]
    fn gone(&self, state: &State, now: u64, bytes: f64) -> u64 {
        let whole = |now: u64, bytes: f64, rate: f64| now.saturating_add((bytes / rate * 1e12) as u64);
        let end = whole(now, bytes, state.rate);
        if end <= self.next_change(state) {
            return end;
        }
        let (mut ahead, mut now, mut bytes) = (*state, now, bytes);
        loop {
            let (end, next) = (whole(now, bytes, ahead.rate), self.next_change(&ahead));
            if end <= next {
                return end;
            }
            bytes -= ahead.rate * (next - now) as f64 * 1e-12;
            now = next;
            self.advance(&mut ahead, now);
        }
    }

    /// Bytes that go between two times, where nothing but timers changes the rate.
    fn going(&self, state: &State, from: u64, to: u64) -> f64 {
        let (mut ahead, mut now, mut bytes) = (*state, from, 0.0);
        while now < to {
            let next = self.next_change(&ahead).min(to);
            bytes += ahead.rate * (next - now) as f64 * 1e-12;
            now = next;
            self.advance(&mut ahead, now);
        }
        bytes
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
            alpha_since: NEVER,
            notified: false,
            cut_at: 0,
            pending: false,
            timer_since: 0,
            timer_rounds: 0,
            bytes: 0,
            byte_rounds: 0,
            active: false,
        }
    }

    #[inline]
    fn on_sent(&self, state: &mut State, path: &Path, now: u64, bytes: u64) -> u64 {
        let line = path.speed.time(bytes);
        if !state.active && !state.pending {
            return line;
        }
        self.advance(state, now);
        if state.active {
            self.on_bytes(state, bytes);
        }
        line.max(self.gone(state, now, bytes as f64) - now)
    }

    fn window(&self, state: &State) -> u64 {
        self.0.window.map_or(u64::MAX, |window| (window.0 as f64 * state.rate / state.line) as u64)
    }

    fn on_cnp(&self, state: &mut State, now: u64, not_before: u64) -> u64 {
        self.advance(state, now);
        let waits = if not_before > now { self.going(state, now, not_before) } else { 0.0 };
        let first = state.alpha_since == NEVER;
        if first {
            // The first cut is by the initial alpha, and its timer starts.
            state.alpha_since = now;
        } else {
            self.estimate(state, now);
        }
        let may_cut = first || now >= self.next_cut(state);
        if may_cut {
            self.cut(state, now);
        } else {
            state.pending = true;
        }
        match self.0.alpha_update {
            AlphaUpdate::Notification => {
                // Equation 1: alpha = (1 - g) alpha + g.
                state.alpha += self.0.gain * (1.0 - state.alpha);
                state.alpha_since = now;
            }
            AlphaUpdate::Period => state.notified = true,
        }
        if waits > 0.0 { self.gone(state, now, waits) } else { not_before }
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
    fn trace<const N: usize>(control: DcqcnLaw, events: [(u64, Event); N]) -> [f64; N] {
        let control = DcqcnControl(control);
        let mut state = control.start(&PATH);
        events.map(|(at, event)| {
            match event {
                Cnp => _ = control.on_cnp(&mut state, at, 0),
                Sent(bytes) => _ = control.on_sent(&mut state, &PATH, at, bytes),
            }
            control.advance(&mut state, at);
            state.rate / 1e9
        })
    }

    fn assert_near<const N: usize>(found: [f64; N], expected: [f64; N]) {
        let near = found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(near, "{found:?}, not {expected:?}");
    }

    #[test]
    fn a_queue_pair_has_the_line_until_it_is_notified() {
        let control = DcqcnControl(DcqcnLaw::PUBLISHED);
        let mut state = control.start(&PATH);
        assert_eq!(control.on_sent(&mut state, &PATH, 0, 1_000), US);
        _ = control.on_cnp(&mut state, US, 0);
        // Half of the rate, so twice the time.
        assert_eq!(control.on_sent(&mut state, &PATH, US, 1_000), 2 * US);
    }

    #[test]
    fn the_first_notification_halves_the_rate_and_recovery_halves_the_gap() {
        // alpha = 1: R_C = 1/2, R_T = 1. Each timer then takes half of what is missing (equation 3).
        let at = |round| round * TIMER;
        let events = [(0, Cnp), (at(1) - 1, Sent(0)), (at(1), Sent(0)), (at(2), Sent(0)), (at(4), Sent(0))];
        assert_near(trace(DcqcnLaw::PUBLISHED, events), [0.5, 0.5, 0.75, 0.875, 1.0 - 0.5 / 16.0]);
    }

    #[test]
    fn a_thousandth_below_the_line_counts_as_the_line() {
        // The target is at the line, so additive increase adds nothing: 1/2 / 2^8 is missing, then 1/2 / 2^9 < 1/1000.
        let events = [(0, Cnp), (8 * TIMER, Sent(0)), (9 * TIMER, Sent(0))];
        assert_near(trace(DcqcnLaw::PUBLISHED, events), [0.5, 1.0 - 0.5 / 256.0, 1.0]);
    }

    #[test]
    fn alpha_decays_for_each_timer_without_a_notification() {
        // g = 1/2. alpha after the first cut is 1/2 + 1/2 = 1, after three timers 1/8. The rate has recovered to 15/16
        // meanwhile, so the cut is by a sixteenth: 15/16 * 15/16. Then alpha = 1/16 + 1/2 = 9/16: at once again 23/32.
        let half = DcqcnLaw { gain: 0.5, ..DcqcnLaw::PUBLISHED };
        let events = [(0, Cnp), (3 * TIMER, Cnp), (3 * TIMER, Cnp)];
        let second = 15.0 / 16.0 * 15.0 / 16.0;
        assert_near(trace(half, events), [0.5, second, second * 23.0 / 32.0]);
    }

    #[test]
    fn a_second_notification_takes_the_target_down_too_as_equation_1_reads_literally() {
        // R_T is the rate before the last cut, 1/2, and not that before both: recovery leads to 1/2.
        let events = [(0, Cnp), (50 * US, Cnp), (50 * US + TIMER, Sent(0)), (50 * US + 2 * TIMER, Sent(0))];
        assert_near(trace(DcqcnLaw::PUBLISHED, events), [0.5, 0.25, 0.375, 0.4375]);
    }

    #[test]
    fn additive_increase_follows_fast_recovery() {
        // R_AI = 40 Mbps is 1/200 of the line. R_C = 1/4, R_T = 1/2; four rounds leave 1/4 / 16 of the gap; in the fifth
        // R_T = 0.505, in the sixth 0.51.
        let fourth = 0.5 - 0.25 / 16.0;
        let fifth = (0.505 + fourth) / 2.0;
        let events = [(0, Cnp), (0, Cnp), (4 * TIMER, Sent(0)), (5 * TIMER, Sent(0)), (6 * TIMER, Sent(0))];
        assert_near(trace(DcqcnLaw::PUBLISHED, events), [0.5, 0.25, fourth, fifth, (0.51 + fifth) / 2.0]);
    }

    #[test]
    fn bytes_count_rounds_as_time_does() {
        // Rounds of 3 kB, and what is beyond them counts for the next.
        let counted = DcqcnLaw { byte_counter: Bytes(3_000), ..DcqcnLaw::PUBLISHED };
        let events = [(0, Cnp), (1, Sent(2_000)), (2, Sent(2_000)), (3, Sent(1_999)), (4, Sent(1))];
        assert_near(trace(counted, events), [0.5, 0.5, 0.75, 0.75, 0.875]);
    }

    #[test]
    fn hyper_increase_begins_when_both_clocks_are_beyond_recovery() {
        // F = 1, R_AI = 1/200, R_HAI = 1/20 of the line. Each packet ends a timer, then a round of bytes:
        // (T, BC) = (1, 0), (1, 1) and (2, 1) are additive, (2, 2) and (3, 2) add R_HAI once, (3, 3) twice.
        let quick = DcqcnLaw { recovery_rounds: 1, byte_counter: Bytes(1_000), ..DcqcnLaw::PUBLISHED };
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
        let bounded = DcqcnLaw { minimum: Rate::from_gbps(3), ..DcqcnLaw::PUBLISHED };
        assert_near(trace(bounded, [(0, Cnp), (1, Cnp), (2, Cnp)]), [0.5, 0.375, 0.375]);
    }

    #[test]
    fn one_notification_halves_the_gap_with_each_timer_and_three_leave_an_eighth() {
        // R(k T) = R_0 (1 - 2^-(k + 1)) while the target is the line, under either rule.
        for law in [
            DcqcnLaw::PUBLISHED,
            DcqcnLaw { increase_timer: DcqcnLaw::PUBLISHED.increase_timer, ..DcqcnLaw::CONNECTX },
        ] {
            let law = DcqcnLaw { additive: Rate::from_bits_per_s(1), ..law };
            let control = DcqcnControl(law);
            let mut state = control.start(&PATH);
            _ = control.on_cnp(&mut state, 0, 0);
            for k in 0..8 {
                control.advance(&mut state, k * TIMER);
                assert!(
                    (state.rate / 1e9 - (1.0 - 0.5_f64.powi(k as i32 + 1))).abs() < 1e-8,
                    "{k} {state:?}"
                );
            }
        }
        let events = [(0, Cnp), (0, Cnp), (0, Cnp)];
        assert_near(trace(DcqcnLaw::PUBLISHED, events), [0.5, 0.25, 0.125]);
    }

    #[test]
    fn nics_keep_the_target_until_the_timer_has_raised_the_rate() {
        // The gain is so small that alpha stays one. Two cuts within a timer: the target is still the line, and the
        // next timer leads half of the way to it, where equation 1 leads to half of the line alone.
        let law = DcqcnLaw { gain: 1e-12, ..DcqcnLaw::CONNECTX };
        let timer = law.increase_timer.ps();
        let events = [
            (0, Cnp),
            (10 * US, Cnp),
            (10 * US + timer, Sent(0)),
            (20 * US + timer, Cnp),
            (20 * US + 2 * timer, Sent(0)),
        ];
        let (raised, step) = (0.625, 0.005 / 8.0);
        // The third cut comes after an increase: the target is 0.625 then, and one step more after its timer.
        let last = (raised + step + raised / 2.0) / 2.0;
        assert_near(trace(law, events), [0.5, 0.25, raised, raised / 2.0, last]);
    }

    #[test]
    fn nics_cut_at_most_once_in_a_while_and_late_rather_than_never() {
        let law = DcqcnLaw { gain: 1e-12, ..DcqcnLaw::CONNECTX };
        let events =
            [(0, Cnp), (US, Cnp), (2 * US, Cnp), (4 * US - 1, Sent(0)), (4 * US, Sent(0)), (7 * US, Sent(0))];
        assert_near(trace(law, events), [0.5, 0.5, 0.5, 0.5, 0.25, 0.25]);
    }

    #[test]
    fn nics_estimate_alpha_by_periods() {
        // g = 1/2, periods of 1 us: alpha is 1 at the first notification; the period saw it: 1 again; two periods
        // without one: 1/4. So the cut at 3.5 us takes an eighth of the half. Then a period that saw one: 5/8.
        let law = DcqcnLaw { gain: 0.5, cut_interval: railtwin_units::SimTime::ZERO, ..DcqcnLaw::CONNECTX };
        let events = [(0, Cnp), (7 * US / 2, Cnp), (9 * US / 2, Cnp)];
        let second = 0.5 * (1.0 - 0.125);
        assert_near(trace(law, events), [0.5, second, second * (1.0 - 5.0 / 16.0)]);
    }

    #[test]
    fn alpha_fades_while_a_queue_pair_is_free() {
        // g = 1/2: after 12 timers the rate is the line again, and alpha (1 after the first cut) is 2^-12.
        let half = DcqcnLaw { gain: 0.5, ..DcqcnLaw::PUBLISHED };
        let events = [(0, Cnp), (11 * TIMER, Sent(0)), (12 * TIMER, Cnp)];
        assert_near(trace(half, events), [0.5, 1.0, 1.0 - 0.5_f64.powi(13)]);
    }

    #[test]
    fn a_packet_that_waits_goes_earlier_when_the_rate_rises_and_later_after_a_notification() {
        // At half of the line 110,000 bytes take 220 us; with the rate at 1/2, 3/4, 7/8, ... for a timer each, 55,000
        // bytes a timer at the line: 27,500 + 41,250 and the rest, 41,250, at 7/8.
        let control = DcqcnControl(DcqcnLaw::PUBLISHED);
        let mut state = control.start(&PATH);
        _ = control.on_cnp(&mut state, 0, 0);
        let gap = control.on_sent(&mut state, &PATH, 0, 110_000);
        let expected = 2 * TIMER + (41_250.0 / 0.875e9 * 1e12) as u64;
        assert!(gap.abs_diff(expected) < 10, "{gap} {expected}");
        // A notification after one timer: 82,500 are left, R_C = 3/8 and R_T = 3/4 (alpha is 1 - g = 255/256 by then,
        // with the first rise to 1).
        let alpha = 255.0 / 256.0;
        let cut = 0.75 * (1.0 - alpha / 2.0);
        let later = control.on_cnp(&mut state, TIMER, gap);
        let rates = [cut, (0.75 + cut) / 2.0, (0.75 * 1.5 + cut / 2.0) / 2.0];
        let left = 82_500.0 - 55_000.0 * (rates[0] + rates[1]);
        let expected = 3 * TIMER + (left / (rates[2] * 1e9) * 1e12) as u64;
        assert!(later.abs_diff(expected) < 10, "{later} {expected}");
    }

    #[test]
    fn a_notification_that_waits_cuts_a_queue_pair_that_is_free_again_too() {
        // Cuts a millisecond apart: by then nine timers have led back to the line.
        let law =
            DcqcnLaw { cut_interval: railtwin_units::SimTime::from_ns(1_000_000), ..DcqcnLaw::PUBLISHED };
        let control = DcqcnControl(law);
        let mut state = control.start(&PATH);
        _ = control.on_cnp(&mut state, 0, 0);
        _ = control.on_cnp(&mut state, US, 0);
        for at in (0..20).map(|round| round * TIMER) {
            _ = control.on_sent(&mut state, &PATH, at, 100);
        }
        assert!(state.active && state.cut_at == 1_000 * US, "{state:?}");
    }
}
