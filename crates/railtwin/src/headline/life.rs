//! The life of a job over weeks in a headline: share of downtime, its largest part, and crashes.
use super::known::Known;
use super::numbers::{shown, time};
use crate::figures::declared::life::{
    AGAIN_AFTER, CRASHES, DETECTION, DIAGNOSIS, DOWNTIME, DOWNTIME_LEAST, DOWNTIME_MOST, LIVES,
    POST_CHECKPOINT, REINITIALISATION, WAITING,
};

/// Clauses of a sentence; none where the run has no life of its job.
pub fn lived(known: &Known<'_>) -> Vec<String> {
    let Some(downtime) = known.value(DOWNTIME.name) else { return Vec::new() };
    let words = |name: &str| known.value(name).map(|value| shown(value, "ratio"));
    let parts = [
        (POST_CHECKPOINT, "repeated work"),
        (DETECTION, "detection"),
        (DIAGNOSIS, "diagnosis and isolation"),
        (WAITING, "missing spares"),
        (REINITIALISATION, "restarts"),
    ];
    let parts = parts.into_iter().filter_map(|(of, name)| Some((known.value(of.name)?, name)));
    let most = parts.filter(|(share, _)| *share > 0.0).reduce(|a, b| if b.0 > a.0 { b } else { a });
    let mut text = format!("{} of the time is downtime", shown(downtime, "ratio"));
    if let (Some(least), Some(highest)) = (words(DOWNTIME_LEAST.name), words(DOWNTIME_MOST.name))
        && least != highest
    {
        let lives = known.value(LIVES.name).map_or("all".to_owned(), |lives| shown(lives, "count"));
        text = format!("{text} ({least} to {highest} over {lives} sampled lives)");
    }
    // A share of the time, as the downtime itself is.
    if let Some((share, name)) = most {
        text = format!("{text}, {} of the time {name}", shown(share, "ratio"));
    }
    let mut clauses = vec![text];
    if let Some(crashes) = known.value(CRASHES.name).filter(|crashes| *crashes > 0.0) {
        let noun = if crashes == 1.0 { "crash" } else { "crashes" };
        let again = known.value(AGAIN_AFTER.name);
        let again =
            again.map_or_else(String::new, |seconds| format!(", running again after {}", time(seconds)));
        // A median over lives may lie between two counts.
        let crashes = if crashes.fract() == 0.0 { shown(crashes, "count") } else { crashes.to_string() };
        clauses.push(format!("{crashes} {noun}{again}"));
    }
    clauses
}

#[cfg(test)]
mod tests {
    use railtwin_store::Figure;

    use super::*;

    fn said(figures: &[(&str, f64)]) -> Vec<String> {
        let figures: Vec<Figure> =
            figures.iter().map(|(name, value)| Figure::new(name, *value, "")).collect();
        lived(&Known { figures: &figures, jobs: &[], again: 0 })
    }

    #[test]
    fn downtime_its_largest_part_and_crashes() {
        let all = [
            ("downtime", 0.0281),
            ("downtime_least", 0.0108),
            ("downtime_most", 0.0834),
            ("downtime_post_checkpoint", 0.0023),
            ("downtime_diagnosis", 0.0207),
            ("lives", 20.0),
            ("crashes", 20.5),
            ("running_again_after", 1230.0),
        ];
        assert_eq!(
            said(&all),
            [
                "2.8 % of the time is downtime (1.1 % to 8.3 % over 20 sampled lives), 2.1 % of the time diagnosis and \
                 isolation",
                "20.5 crashes, running again after 1230 s"
            ]
        );
        assert_eq!(said(&[("downtime", 0.0)]), ["0 % of the time is downtime"]);
        assert!(said(&[("step_time", 1.0)]).is_empty());
    }
}
