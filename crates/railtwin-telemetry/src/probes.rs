//! What probes between NICs find: delay, loss and rate of one path.
use railtwin_engine::Impairment;
use railtwin_fabric::LinkId;
use railtwin_records::telemetry::ProbeColumns;

use crate::jitter::Draws;
use crate::replay::Replay;

/// Probes of one round over one path.
const ROUND: u32 = 100;

impl Replay {
    /// Probes the paths of some flows of the directory at `now_ns`, as a controller asks NICs to, and appends a row for
    /// each. `paths` are flows with their links (see [`railtwin_records::FlowInfo::links`]); `impairments` and `down`
    /// say what is wrong then.
    ///
    /// Delay is propagation, switches and what impairments add, with the jitter of a message; bandwidth is what the
    /// narrowest link carries when nothing else does.
    pub fn probe(
        &self,
        paths: &[(u32, &[u32])],
        (impairments, down): (&[Impairment], &[LinkId]),
        loaded: bool,
        now_ns: u64,
        out: &mut ProbeColumns,
    ) {
        let draws = Draws::new(self.settings.seed, "telemetry-probes");
        for &(flow, links) in paths {
            let (mut delay, mut arrives, mut rate) = (0.0_f64, 1.0_f64, f64::INFINITY);
            for &link in links {
                let link = LinkId(link);
                let switch = self.fabric.place(self.fabric.target(link)).is_some();
                delay += self.fabric.delay(link).ps() as f64;
                delay += if switch { self.fabric.switch_latency().ps() as f64 } else { 0.0 };
                let mut capacity = self.fabric.capacity(link).bits_per_s() as f64;
                let now_ps = now_ns.saturating_mul(1_000);
                let holds = |one: &&Impairment| one.from.ps() <= now_ps && now_ps < one.until.ps();
                for one in impairments.iter().filter(|one| one.link == link).filter(holds) {
                    delay += one.delay.ps() as f64;
                    arrives *= 1.0 - one.loss;
                    capacity *= one.capacity * (1.0 - one.loss);
                }
                if down.contains(&link) {
                    arrives = 0.0;
                }
                rate = rate.min(capacity);
            }
            // There and back for the answer: only the way there is judged.
            let lost = (0..ROUND).filter(|&probe| {
                draws.unit(now_ns ^ u64::from(flow).rotate_left(32), u64::from(probe)) >= arrives
            });
            let lost = lost.count() as u32;
            let unit = draws.unit(now_ns, u64::from(flow) | 1 << 40);
            let noise = 1.0 + self.settings.jitter.message * (2.0 * unit - 1.0);
            let (delay, rate) = if lost == ROUND || links.is_empty() {
                (0, 0.0)
            } else {
                ((delay / 1e3 * noise) as u64, rate)
            };
            let lost = if links.is_empty() { ROUND } else { lost };
            out.push(now_ns, flow, loaded, ROUND, lost, delay, rate);
        }
    }
}
