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
    /// `W`, bytes.
    window: f64,
    /// `W_c`, the window that changes are counted from, renewed once a flight.
    reference: f64,
    /// `incStage`.
    stage: u32,
    /// `lastUpdateSeq`: the next packet to send when the reference was last renewed.
    renewed: u32,
}

impl Control for HpccControl {
    type State = State;

    fn start(&self, path: &Path) -> State {
        let window = path.product();
        State { window, reference: window, stage: 0, renewed: 0 }
    }

    /// The end of `NewAck`: R = W / T.
    fn on_sent(&self, state: &mut State, path: &Path, _now: u64, bytes: u64) -> u64 {
        let rate = state.window / (path.round_trip as f64 * 1e-12);
        path.speed.time(bytes).max((bytes as f64 / rate * 1e12) as u64)
    }

    fn window(&self, state: &State) -> u64 {
        state.window as u64
    }

    /// `NewAck`. Switches have done `MeasureInflight`: packets bring U with them.
    fn on_ack(&self, state: &mut State, path: &Path, feedback: Feedback) {
        let used = f64::from(feedback.telemetry) / FULL;
        let step = self.0.additive.bytes_per_s() * path.round_trip as f64 * 1e-12;
        // `updateWc`: ack.seq > lastUpdateSeq, once per flight of packets.
        let renew = feedback.number > state.renewed;
        // `ComputeWind`: if U >= eta or incStage >= maxStage
        if used >= self.0.target || state.stage >= self.0.stages {
            // W = W_c / (U / eta) + W_AI
            state.window = state.reference / (used / self.0.target).max(1e-3) + step;
            if renew {
                // incStage = 0
                state.stage = 0;
            }
        } else {
            // else W = W_c + W_AI
            state.window = state.reference + step;
            if renew {
                // incStage++
                state.stage += 1;
            }
        }
        state.window = state.window.clamp(path.full as f64, path.product().max(path.full as f64));
        if renew {
            // W_c = W, in both cases.
            state.reference = state.window;
            state.renewed = feedback.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use railtwin_units::Rate;

    use super::*;
    use crate::network::Speed;

    const US: u64 = 1_000_000;
    /// 10^9 bytes per second and 10 us: a product of 10,000 bytes.
    const PATH: Path = Path { speed: Speed::NS_EACH, round_trip: 10 * US, full: 1_000 };
    /// eta = 1/2; 40 Mbps over the round trip are 50 bytes.
    const CONTROL: HpccControl =
        HpccControl(Hpcc { target: 0.5, stages: 2, additive: Rate::from_bits_per_s(40_000_000) });

    /// The window after each acknowledgement: of which packet, the next one to send, and the utilization that it tells.
    fn trace<const N: usize>(acknowledgements: [(u32, u32, f64); N]) -> [f64; N] {
        let mut state = CONTROL.start(&PATH);
        acknowledgements.map(|(number, next, used)| {
            let telemetry = (used * FULL) as u16;
            let feedback = Feedback { number, next, bytes: 1_000, marked: false, telemetry };
            CONTROL.on_ack(&mut state, &PATH, feedback);
            state.window
        })
    }

    fn assert_near<const N: usize>(found: [f64; N], expected: [f64; N]) {
        let near = found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(near, "{found:?}, not {expected:?}");
    }

    #[test]
    fn a_queue_pair_begins_with_the_product_at_the_line() {
        let mut state = CONTROL.start(&PATH);
        assert_eq!(CONTROL.window(&state), 10_000);
        assert_eq!(CONTROL.on_sent(&mut state, &PATH, 0, 1_000), US);
    }

    #[test]
    fn within_a_flight_every_answer_counts_from_the_same_window() {
        // U = 1 is twice eta, U = 3/4 one and a half times. The first answer renews W_c: 10,000 / 2 + 50. Then
        // 5,050 / 1.5 + 50 and 5,050 / 2 + 50, however late they are.
        let answers = [(1, 10, 1.0), (2, 10, 0.75), (10, 12, 1.0)];
        assert_near(trace(answers), [5_050.0, 5_050.0 / 1.5 + 50.0, 2_575.0]);
    }

    #[test]
    fn the_answer_to_what_was_sent_after_a_renewal_renews_again() {
        // The answer beyond 10, the next to send at the first one, makes W_c 2,575; that beyond 14 makes it 1,337.5: half of that
        // is less than a packet.
        let answers =
            [(1, 10, 1.0), (11, 14, 1.0), (12, 14, 1.0), (14, 16, 1.0), (15, 18, 1.0), (16, 18, 1.0)];
        let third = 2_575.0 / 2.0 + 50.0;
        assert_near(trace(answers), [5_050.0, 2_575.0, third, third, third, 1_000.0]);
    }

    #[test]
    fn below_the_target_it_adds_for_some_flights_and_then_multiplies() {
        // First U = 2, four times eta: 10,000 / 4 + 50 = 2,550. Two flights add 50 each, and within the second nothing
        // is added twice; in the third incStage = 2 and U = 1/4 is half of eta: 2,650 / (1/2) + 50. That begins the
        // stages anew: 5,350 + 50.
        let answers =
            [(1, 10, 2.0), (11, 20, 0.25), (15, 20, 0.25), (21, 30, 0.25), (31, 40, 0.25), (41, 50, 0.25)];
        assert_near(trace(answers), [2_550.0, 2_600.0, 2_650.0, 2_650.0, 5_350.0, 5_400.0]);
    }

    #[test]
    fn the_window_is_between_a_packet_and_the_product() {
        // U = 15 leaves 10,000 / 30 + 50 bytes, less than a packet; idle links ask for more than the product.
        assert_near(trace([(1, 1, 15.0)]), [1_000.0]);
        let answers = [(1, 1, 0.25), (2, 2, 0.25), (3, 3, 0.25)];
        assert_near(trace(answers), [10_000.0; 3]);
    }

    #[test]
    fn packets_are_paced_by_the_window_over_the_round_trip() {
        let mut state = CONTROL.start(&PATH);
        let feedback = Feedback { number: 1, next: 1, bytes: 1_000, marked: false, telemetry: FULL as u16 };
        CONTROL.on_ack(&mut state, &PATH, feedback);
        // 5,050 bytes in 10 us: 1,000 bytes in 1.980198 us.
        assert_eq!(CONTROL.on_sent(&mut state, &PATH, US, 1_000), 1_980_198);
    }
}
