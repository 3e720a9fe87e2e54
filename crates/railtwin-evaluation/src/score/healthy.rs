//! Hours in which nothing is wrong: jitter, stalls of checkpoints, uneven experts, collisions with other jobs, and nobody
//! to accuse.
use railtwin_diagnosis::Detector;
use railtwin_diagnosis::join::{Places, join};
use railtwin_records::{Finding, Syndrome};
use railtwin_telemetry::Jitter;

use super::bench::Bench;
use railtwin::Error;
use railtwin::watch::{Rhythm, Watch};

/// What a run without faults came to.
#[derive(Clone, PartialEq, Debug)]
pub struct Healthy {
    /// Simulated hours.
    pub hours: f64,
    /// Records that went through the detectors: operations, messages, counters, probes.
    pub records: [u64; 4],
    /// Steps.
    pub steps: u64,
    /// Visits of other jobs' flows that there were.
    pub visits: usize,
    /// Collisions told: they are there, and are no accusation.
    pub collisions: usize,
    /// Rounds of pairwise probes that findings asked for.
    pub asked: u32,
    /// Findings that accuse somebody, those of an hour joined: false alarms.
    pub accusations: Vec<Finding>,
}

impl Healthy {
    /// False alarms in a day of such a job.
    pub fn alarms_a_day(&self) -> f64 {
        self.accusations.len() as f64 * 24.0 / self.hours
    }
}

/// Seconds between readings of counters: the coarser of the two rhythms that clusters use, so that hours stay short.
const COUNTERS_S: f64 = 60.0;
/// Seconds between rounds of the mesh. Rules over probes count rounds, not seconds: 16 for a baseline and 5 for a verdict,
/// so this gives them more than a thousand verdicts in 100 hours.
const MESH_S: f64 = 300.0;
/// What is found within this time about the same thing is one alarm to whoever reads it; later it is another.
pub(super) const ALARM_S: f64 = 3_600.0;

/// Runs so many hours of the bench's job with all signals.
///
/// # Errors
/// What the replay says of a case that it cannot go through.
pub fn healthy(
    bench: &Bench,
    hours: f64,
    detectors: &dyn Fn() -> Vec<Box<dyn Detector>>,
) -> Result<Healthy, Error> {
    let rhythm = Rhythm { counters: Some(COUNTERS_S), probes: Some(MESH_S), asked_from: Some(0.0) };
    let mut watch = quiet(bench, Jitter::default(), bench.case.seed, rhythm, detectors())?;
    let (mut records, mut collisions, mut accusations) = ([0; 4], 0, Vec::new());
    let mut joined_at = ALARM_S;
    let until = hours * 3_600.0;
    while watch.now < until {
        watch.turn();
        let batch = &watch.batch;
        let rows = [batch.operations.len(), batch.messages.len(), batch.counters.len(), batch.probes.len()];
        records.iter_mut().zip(rows).for_each(|(sum, rows)| *sum += rows as u64);
        if watch.now >= joined_at || watch.now >= until {
            joined_at += ALARM_S;
            let told = std::mem::take(&mut watch.findings);
            collisions += alarms(&watch.places(), &told, &mut accusations);
        }
    }
    let (steps, visits) = (watch.replay.steps(), watch.replay.collisions().len());
    Ok(Healthy { hours, records, steps, visits, collisions, asked: watch.orders(), accusations })
}

/// The bench's job without a fault, watched.
pub(super) fn quiet(
    bench: &Bench,
    jitter: Jitter,
    seed: u64,
    rhythm: Rhythm,
    detectors: Vec<Box<dyn Detector>>,
) -> Result<Watch<'_>, Error> {
    let settings = railtwin_telemetry::Settings { axes: bench.axes(), messages: true, jitter, seed };
    let rates = vec![bench.rates.clone()];
    Watch::new(&bench.case, 0, bench.durations.clone(), rates, settings, rhythm, detectors)
}

/// Adds what accuses among findings of an hour, joined; gives the collisions among them.
pub(super) fn alarms(places: &Places<'_>, told: &[Finding], accusations: &mut Vec<Finding>) -> usize {
    let joined = join(places, told);
    let collisions = joined.iter().filter(|finding| finding.syndrome == Syndrome::Collision).count();
    accusations.extend(joined.into_iter().filter(Finding::accuses));
    collisions
}

#[cfg(test)]
mod tests {
    use railtwin_workload::Axis;

    use super::*;
    use crate::score::detectors;

    #[test]
    fn a_healthy_hour_has_all_signals_and_accuses_nobody() {
        let bench = Bench::of(128).unwrap().unwrap();
        let healthy = healthy(&bench, 1.0, &detectors).unwrap();
        let [operations, messages, counters, probes] = healthy.records;
        assert!(operations > 100_000 && messages > operations, "{healthy:?}");
        assert!(counters > 0 && probes > 1_000, "{healthy:?}");
        assert!(healthy.steps > 3_000, "{healthy:?}");
        assert_eq!(healthy.accusations, []);
        assert_eq!(healthy.alarms_a_day(), 0.0);
    }

    #[test]
    fn uneven_experts_beside_a_neighbor_accuse_nobody() {
        let bench = Bench::with_experts().unwrap();
        assert_eq!(bench.axes(), [Axis::Dp, Axis::Ep, Axis::DpEp]);
        let healthy = healthy(&bench, 0.05, &detectors).unwrap();
        assert!(healthy.steps > 20, "{healthy:?}");
        assert_eq!(healthy.accusations, []);
    }
}
