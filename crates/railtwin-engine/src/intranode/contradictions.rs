//! Values of `[intranode]` that contradict each other, whatever the fabric.
use super::{Destinations, IntranodeSpec, Measure};

/// A key below `intranode`, what is wrong there, and what would do.
pub type Contradiction = (&'static str, String, &'static str);

impl IntranodeSpec {
    /// All that contradict each other.
    pub fn contradictions(&self) -> Vec<Contradiction> {
        let mut all = Vec::new();
        if let Some(pair) = &self.pair {
            if self.load != 1.0 || self.inter.is_some() || self.destinations != Destinations::Uniform {
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
        } else if let Some(longest) = self.longest.filter(|longest| longest.ps() / 2 < self.duration.ps()) {
            let message = format!("at most {longest}, and a run takes {}: none is longer", self.duration);
            all.push(("longest", message, "write at least twice the duration"));
        }
        all.extend(self.contradictions_of_destinations());
        all.extend(self.contradictions_of_units());
        let payload = self.packet().1;
        if self.inter_payload.0 < payload {
            let message = format!(
                "packets of a host carry {payload} B, and one between hosts {}: NICs join packets and do not cut them",
                self.inter_payload
            );
            all.push(("inter_payload", message, "write no less than the payload of a packet of a host"));
        }
        if self.pcie.is_some() && !self.conversion {
            let message = "TLPs of [intranode.pcie] have sizes of their own".to_owned();
            all.push(("conversion", message, "leave one of both away"));
        }
        if self.pcie.is_some() && self.link.is_some() {
            let message = "[intranode.pcie] says what links carry".to_owned();
            all.push(("link", message, "leave one of both away"));
        }
        all
    }

    fn contradictions_of_units(&self) -> Option<Contradiction> {
        let units = self.units?;
        if self.pair.is_some() {
            return Some((
                "units",
                "a pair of hosts has no others that send".to_owned(),
                "leave one of both away",
            ));
        }
        if units.to <= 0.0 && units.from <= 0.0 {
            let message = "units that neither send nor receive".to_owned();
            return Some(("units", message, "write to or from, above 0"));
        }
        let inter = self.inter_share();
        (inter + units.to > 1.0).then(|| {
            let message =
                format!("of the messages of a GPU {inter} leave its host and {} are for units", units.to);
            ("units.to", message, "write no more than 1 for both")
        })
    }

    fn contradictions_of_destinations(&self) -> Vec<Contradiction> {
        let mut all = Vec::new();
        let said = format!("destinations are {}", self.destinations.name());
        if self.shift.is_some() && self.destinations != Destinations::Permutation {
            all.push(("shift", said.clone(), "write destinations = \"permutation\""));
        }
        if self.hotspot.is_some() != (self.destinations == Destinations::Hotspot) {
            let (key, hint) = match self.hotspot {
                Some(_) => ("hotspot", "write destinations = \"hotspot\""),
                None => ("destinations", "say where it is: hotspot = { share = 0.2, host = 0 }"),
            };
            all.push((key, said, hint));
        } else if self.hotspot.is_some() && self.inter_share() <= 0.0 {
            let message = "no message leaves its host, and those that stay know no hot spot".to_owned();
            all.push(("hotspot", message, "write another pattern than c5, or inter above 0"));
        }
        all
    }
}
