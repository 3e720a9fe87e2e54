//! Values of `[intranode]` that contradict each other, whatever the fabric.
use super::{IntranodeSpec, Measure};

/// A key below `intranode`, what is wrong there, and what would do.
pub type Contradiction = (&'static str, String, &'static str);

impl IntranodeSpec {
    /// All that contradict each other.
    pub fn contradictions(&self) -> Vec<Contradiction> {
        let mut all = Vec::new();
        if let Some(pair) = &self.pair {
            if self.load != 1.0 || self.inter.is_some() {
                let message = "a pair of hosts has neither load nor pattern".to_owned();
                all.push(("pair", message, "leave one of both away"));
            }
            if pair.messages < 2 && pair.measure == Measure::Bandwidth {
                let message = format!(
                    "{} message has no bandwidth: it counts from one arrival to the next",
                    pair.messages
                );
                all.push(("pair.messages", message, "write at least 2, or measure = \"latency\""));
            }
        } else if self.warm_up >= self.duration {
            let message = format!("the warm-up takes {}, and all of it {}", self.warm_up, self.duration);
            all.push(("warm_up", message, "write less than duration"));
        }
        let payload = self.packet().1;
        if self.inter_payload.0 < payload {
            let message = format!(
                "packets of a host carry {payload} B, and one between hosts {}: NICs join packets and do not cut them",
                self.inter_payload
            );
            all.push(("inter_payload", message, "write no less than the payload of a packet of a host"));
        }
        if self.pcie.is_some() && self.link.is_some() {
            let message = "[intranode.pcie] says what links carry".to_owned();
            all.push(("link", message, "leave one of both away"));
        }
        all
    }
}
