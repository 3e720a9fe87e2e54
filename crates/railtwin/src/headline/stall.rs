//! Evidence of stalls by cause: what queue pairs waited for.
use super::evidence::{Evidence, What};
use super::known::Known;
use crate::stall_causes::Cause;

/// Share of the run that a stall takes from which its causes are told.
const NOTABLE: f64 = 0.01;

/// Causes of the stall of each job, the longest first, in a run of `end` seconds.
pub fn causes(known: &Known<'_>, end: f64) -> Vec<Evidence> {
    let of_job = |job: usize| {
        let whole = known.value_of_job(job, "stall_time")?;
        let value = |cause: &Cause| known.value_of_job(job, &format!("stalled_{}", cause.name()));
        let parts = Cause::ALL.iter().filter_map(|cause| Some((cause.words(), value(cause)?)));
        let mut parts: Vec<(&'static str, f64)> = parts.collect();
        // The sort keeps the order of equals.
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        let cost = if end > 0.0 { whole / end } else { 0.0 };
        let subject = known.job_words(job);
        let what = What::StallCauses(parts);
        Some(Evidence { subject, what, cost, at: None, certainty: 1.0 })
    };
    let all = (0..known.jobs.len().max(1)).filter_map(of_job);
    all.filter(|e| e.cost >= NOTABLE && !matches!(&e.what, What::StallCauses(parts) if parts.is_empty()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headline::words::clause;
    use railtwin_store::Figure;

    #[test]
    fn the_longest_cause_is_told_first() {
        let figures = [
            ("stall_time", 12.0),
            ("stalled_repair", 2.0),
            ("stalled_lacp", 6.0),
            ("stalled_arp", 1.0),
            ("stalled_retransmission", 3.0),
        ];
        let figures: Vec<Figure> =
            figures.iter().map(|(name, value)| Figure::new(name, *value, "s")).collect();
        let known = Known { figures: &figures, jobs: &[], again: 0 };
        let all = causes(&known, 100.0);
        assert_eq!(
            clause(&all[0]),
            "the job waited 6.000 s for LACP, 3.000 s for the retransmission timeout, 2.000 s until the repair, \
             1.000 s for ARP"
        );
        assert!(causes(&known, 1e4).is_empty());
    }
}
