//! Additive increase, multiplicative decrease (Chiu and Jain 1989) of a window: marks make it smaller in proportion,
//! trimmed packets by their size.
use railtwin_engine::packet::Aimd;

use super::{Control, Feedback, Path};

/// The scheme.
#[derive(Clone, Copy, Debug)]
pub struct AimdControl(pub Aimd);

/// State of a queue pair.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// Bytes.
    window: f64,
}

impl AimdControl {
    fn most(&self, path: &Path) -> f64 {
        (self.0.window * path.product()).max(path.full as f64)
    }
}

impl Control for AimdControl {
    type State = State;

    fn start(&self, path: &Path) -> State {
        State { window: self.most(path) }
    }

    fn on_sent(&self, _state: &mut State, path: &Path, _now: u64, bytes: u64) -> u64 {
        path.speed.time(bytes)
    }

    fn window(&self, state: &State) -> u64 {
        state.window as u64
    }

    fn on_ack(&self, state: &mut State, path: &Path, feedback: Feedback) {
        let bytes = feedback.bytes as f64;
        if feedback.marked {
            state.window -= self.0.decrease * bytes;
        } else {
            // A window of them adds `additive` packets.
            state.window += self.0.additive * path.full as f64 * bytes / state.window;
        }
        state.window = state.window.clamp(path.full as f64, self.most(path));
    }

    fn on_trimmed(&self, state: &mut State, path: &Path, bytes: u64) {
        state.window = (state.window - bytes as f64).max(path.full as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Speed;

    /// 10^9 bytes per second and 10 us: a product of 10,000 bytes.
    const PATH: Path = Path { speed: Speed::NS_EACH, round_trip: 10_000_000, full: 1_000 };
    const CONTROL: AimdControl = AimdControl(Aimd { window: 1.25, additive: 1.0, decrease: 0.5 });

    #[derive(Clone, Copy)]
    enum Event {
        Ack,
        MarkedAck,
        Trimmed,
    }
    use Event::{Ack, MarkedAck, Trimmed as Cut};

    /// The window after each packet of 1,000 bytes.
    fn trace(events: &[Event]) -> Vec<f64> {
        let mut state = CONTROL.start(&PATH);
        let after = |event: &Event| {
            let ack = |marked| Feedback { number: 1, next: 1, bytes: 1_000, marked, telemetry: 0 };
            match event {
                Ack => CONTROL.on_ack(&mut state, &PATH, ack(false)),
                MarkedAck => CONTROL.on_ack(&mut state, &PATH, ack(true)),
                Cut => CONTROL.on_trimmed(&mut state, &PATH, 1_000),
            }
            state.window
        };
        events.iter().map(after).collect()
    }

    fn assert_near(found: &[f64], expected: &[f64]) {
        let near = found.len() == expected.len();
        let near = near && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(near, "{found:?}, not {expected:?}");
    }

    #[test]
    fn a_queue_pair_begins_with_its_greatest_window_at_the_line() {
        let mut state = CONTROL.start(&PATH);
        assert_eq!(
            (CONTROL.window(&state), CONTROL.on_sent(&mut state, &PATH, 0, 1_000)),
            (12_500, 1_000_000)
        );
        assert_near(&trace(&[Ack]), &[12_500.0]);
    }

    #[test]
    fn marks_take_half_a_packet_and_trimmed_packets_a_whole_one() {
        // After it 1,000 * 1,000 / 10,000 = 100 bytes more for a packet without a mark, then 10^6 / 10,100.
        assert_near(
            &trace(&[MarkedAck, MarkedAck, MarkedAck, Cut, Ack, Ack]),
            &[12_000.0, 11_500.0, 11_000.0, 10_000.0, 10_100.0, 10_100.0 + 1e6 / 10_100.0],
        );
    }

    #[test]
    fn one_packet_always_remains() {
        assert_eq!(trace(&[Cut; 12]).last(), Some(&1_000.0));
        assert_eq!(trace(&[MarkedAck; 24]).last(), Some(&1_000.0));
    }
}
