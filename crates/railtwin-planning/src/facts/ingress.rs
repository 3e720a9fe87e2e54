//! Storage ingress of a rack against the reads of a step (Meta RoCE section 3.2).
//!
//! Meta dimensions the ingress of the frontend rack switch so that it never slows training. The rule: hosts read the
//! samples of the next step during the present one, so a step is never held up while the reads of a rack take at most one
//! step: `GPUs × bytes per step ≤ ingress × step time`.
use railtwin_fabric::Fabric;
use railtwin_fabric::design::DesignReport;
use railtwin_units::{Bytes, Rate, SimTime};
use serde::Serialize;

use super::rows::{percent, table};

/// The reads of a training job.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct StepReads {
    /// Bytes that one GPU reads for one step.
    pub bytes_per_gpu: Bytes,
    /// Time of one step without waiting for reads.
    pub step: SimTime,
}

/// The storage ingress of a rack: the uplinks of its frontend switches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct RackIngress {
    /// GPUs of the rack.
    pub gpus: u32,
    /// Capacity from storage into the rack.
    pub ingress: Rate,
    /// Capacity from the rack switches to the frontend NICs of the hosts.
    pub access: Rate,
}

impl RackIngress {
    /// The rack of the first frontend leaf of a built fabric, with its GPUs and all leaves that they share; none without a
    /// frontend network. In a frontend of one leaf set storage stands under it, and its down ports are the ingress.
    pub fn of(fabric: &Fabric) -> Option<Self> {
        let report = DesignReport::of(fabric);
        let leaf = report.tiers.iter().find(|tier| tier.tier == "frontend-leaf")?;
        let model = fabric.host_models().first()?;
        let tors = if model.frontend.ports.is_multiple_of(2) { 2 } else { 1 };
        let ports_per_host = model.frontend_nics * model.frontend.ports / tors;
        let hosts = (leaf.down_ports + leaf.spare_ports) / ports_per_host.max(1);
        let access = leaf.down_capacity * u64::from((leaf.down_ports + leaf.spare_ports) * tors);
        let up = leaf.up_capacity * u64::from(leaf.up_ports * tors);
        let ingress = if leaf.up_ports == 0 { access } else { up };
        Some(Self { gpus: hosts * model.gpus, ingress, access })
    }

    /// Judges the rack against the reads of a job.
    pub fn judge(&self, reads: StepReads) -> IngressVerdict {
        let bottleneck = self.ingress.min(self.access);
        let bytes = Bytes(reads.bytes_per_gpu.0.saturating_mul(u64::from(self.gpus)));
        let read_time = bytes.time_at(bottleneck);
        let needed = rate_of(bytes, reads.step);
        let utilisation = needed.bits_per_s() as f64 / bottleneck.bits_per_s().max(1) as f64;
        let per_gpu = bottleneck.bytes_per_s() * reads.step.seconds() / f64::from(self.gpus.max(1));
        IngressVerdict {
            rack: *self,
            reads,
            needed,
            utilisation,
            read_time,
            stall: read_time.since(reads.step),
            holds_up: read_time > reads.step,
            largest_bytes_per_gpu: Bytes(per_gpu as u64),
            shortest_step: read_time,
        }
    }
}

/// A rack against the reads of a job.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct IngressVerdict {
    /// The rack.
    pub rack: RackIngress,
    /// The reads.
    pub reads: StepReads,
    /// Least ingress that never holds up a step, rounded up to whole bits per second.
    pub needed: Rate,
    /// Needed over present ingress.
    pub utilisation: f64,
    /// Time of the reads of one step at full ingress.
    pub read_time: SimTime,
    /// Time that each step waits for reads.
    pub stall: SimTime,
    /// Whether the ingress holds up a step.
    pub holds_up: bool,
    /// Most bytes that a GPU may read for a step of this time.
    pub largest_bytes_per_gpu: Bytes,
    /// Shortest step that these reads do not hold up.
    pub shortest_step: SimTime,
}

impl IngressVerdict {
    /// Prints the rack, its need and the verdict.
    pub fn text(&self) -> String {
        let row = vec![
            self.rack.gpus.to_string(),
            self.rack.ingress.to_string(),
            self.needed.to_string(),
            percent(self.utilisation),
            self.read_time.to_string(),
            if self.holds_up { "holds up steps" } else { "never holds up a step" }.to_owned(),
        ];
        table(&["GPUs", "ingress", "needed", "utilisation", "reads take", "verdict"], &[row])
    }
}

/// Returns the least rate at which `bytes` take at most `time`.
fn rate_of(bytes: Bytes, time: SimTime) -> Rate {
    let bits_ps = u128::from(bytes.0) * 8 * 1_000_000_000_000;
    let rate = bits_ps.div_ceil(u128::from(time.ps().max(1)));
    Rate::from_bits_per_s(u64::try_from(rate).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use railtwin_fabric::frontend::Outside;
    use railtwin_fabric::preset::{Hpn, Layout as _};
    use railtwin_fabric::{Frontend, Storage};

    use super::*;

    fn rack(oversubscription: f64) -> RackIngress {
        let frontend = Frontend { leaf_oversubscription: oversubscription, ..Frontend::default() };
        let outside = Outside { frontend: Some(frontend), storage: Some(Storage::of(96)) };
        let fabric = outside.build(&Hpn { segments: Some(2), ..Hpn::default() }.spec().unwrap()).unwrap();
        RackIngress::of(&fabric).unwrap()
    }

    #[test]
    fn the_rack_of_hpn_has_400_gbps_for_each_host() {
        let even = rack(1.0);
        assert_eq!((even.gpus, even.ingress), (512, Rate::from_gbps(64 * 400)));
        assert_eq!(rack(4.0).ingress, Rate::from_gbps(16 * 400));
        assert_eq!(RackIngress::of(&Hpn { segments: Some(1), ..Hpn::default() }.build().unwrap()), None);
    }

    #[test]
    fn images_hold_up_a_step_where_tokens_do_not() {
        let step = SimTime::from_seconds(1.0);
        // 4,096 tokens of 4 bytes; 10 GB of video.
        let tokens = rack(1.0).judge(StepReads { bytes_per_gpu: Bytes(16_384), step });
        assert!(!tokens.holds_up && tokens.utilisation < 1e-5, "{}", tokens.text());
        let video = rack(1.0).judge(StepReads { bytes_per_gpu: Bytes(10_000_000_000), step });
        assert!(video.holds_up);
        // 50 Gbps a GPU are 6.25 GB/s.
        assert_eq!(video.largest_bytes_per_gpu, Bytes(6_250_000_000));
        assert_eq!((video.read_time, video.stall), (SimTime::from_seconds(1.6), SimTime::from_seconds(0.6)));
        assert!(video.text().contains("holds up steps"), "{}", video.text());
    }

    proptest! {
        #[test]
        fn the_needed_ingress_holds_up_no_step(
            gpus in 1_u32..1_024, bytes in 1_u64..20_000_000_000, ms in 1_u64..60_000,
        ) {
            let step = SimTime::from_ns(ms * 1_000_000);
            let reads = StepReads { bytes_per_gpu: Bytes(bytes), step };
            let wide = Rate::from_gbps(1_000_000_000);
            let needed = RackIngress { gpus, ingress: wide, access: wide }.judge(reads).needed;
            let met = RackIngress { gpus, ingress: needed, access: wide }.judge(reads);
            prop_assert!(!met.holds_up && (met.utilisation - 1.0).abs() < 1e-6);
            let less = Rate::from_bits_per_s(needed.bits_per_s() / 2);
            let half = RackIngress { gpus, ingress: less, access: wide }.judge(reads);
            prop_assert!(half.holds_up);
        }
    }
}
