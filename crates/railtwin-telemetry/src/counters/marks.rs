//! How much of what passes a bottleneck is marked: the operating point of DCQCN.
use railtwin_engine::packet::{CongestionControl, Dcqcn, DcqcnLaw, Packets};

/// What marks depend on besides the rates of queue pairs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marking {
    control: DcqcnLaw,
    /// Bytes of a full packet.
    packet: f64,
    /// Notifications that a NIC sends for one queue pair, a second at most.
    notifications: f64,
}

impl Marking {
    /// The case's DCQCN, or that of NICs as shipped where senders are slowed by something else or by nothing that is
    /// simulated: most RoCE clusters run it.
    pub(super) fn new(packets: &Packets) -> Self {
        let control = if let CongestionControl::Dcqcn(control) = packets.congestion_control {
            control.law()
        } else {
            Dcqcn::default().law()
        };
        let interval = packets.cnp_interval().seconds();
        let packet = packets.payload.0 as f64;
        Self { control, packet, notifications: if interval > 0.0 { 1.0 / interval } else { f64::INFINITY } }
    }

    /// Share of packets that a port marks whose queue pairs settle at `rate` bytes a second each: the fixed point of
    /// DCQCN's rates (Zhu et al. 2016, «ECN or delay», theorem 1, for small shares),
    /// `p³ = A / (τ R²) · (1/B + 1/(T R))²` with additive increase A and rate R in packets a second, byte counter B in
    /// packets, timers τ of the estimate and T of the increase.
    pub(super) fn share(&self, rate: f64) -> f64 {
        let (control, rate) = (&self.control, rate / self.packet);
        let seconds = |timer: railtwin_units::SimTime| timer.seconds().max(1e-9);
        let additive = control.additive.bytes_per_s() / self.packet;
        let counter = (control.byte_counter.0 as f64 / self.packet).max(1.0);
        let increases = 1.0 / counter + 1.0 / (seconds(control.increase_timer) * rate);
        let cube = additive / (seconds(control.alpha_timer) * rate * rate) * increases * increases;
        if rate > 0.0 { cube.cbrt().min(1.0) } else { 0.0 }
    }

    /// Packets that carry so many bytes.
    pub(super) fn packets(&self, bytes: f64) -> f64 {
        bytes / self.packet
    }

    /// Notifications that a sender gets for so many marked packets that come within so many seconds: one for each, and
    /// no more than the receiver's NIC sends.
    pub(super) fn notifications(&self, marked: f64, seconds: f64) -> f64 {
        marked.min(seconds * self.notifications)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slower_queue_pairs_are_marked_more_and_the_fixed_point_balances() {
        let marking = Marking::new(&Packets::default());
        let (slow, fast) = (marking.share(2.5e9), marking.share(12.5e9));
        assert!(slow > fast && fast > 0.0 && slow < 0.1, "{slow} {fast}");
        // What marks take away in a second is what the timers give back (the rates of change of the fluid model).
        let DcqcnLaw { alpha_timer, increase_timer, byte_counter, additive, .. } = Dcqcn::default().law();
        let packet = Packets::default().payload.0 as f64;
        let (rate, p) = (2.5e9 / packet, slow);
        let alpha = p * alpha_timer.seconds() * rate;
        let falls = 0.5 * alpha * rate * p * rate;
        let events = packet / byte_counter.0 as f64 + 1.0 / (increase_timer.seconds() * rate);
        let above = additive.bytes_per_s() / packet * events / p;
        let grows = 0.5 * above * rate * events;
        assert!((falls / grows - 1.0).abs() < 1e-9, "{falls} {grows}");
    }
}
