//! What came out: how long a step takes and of what, or what bandwidth collectives reach.
use super::known::Known;
use super::numbers::{shown, time, whole};
use crate::figures::declared::Declared;
use crate::figures::declared::job::{
    BUSBW_AFTER_REPAIR, BUSBW_BEFORE_FAULT, BUSBW_HIT, BUSBW_UNDER_FAULT, STEP_TIME_AFTER_REPAIR,
    STEP_TIME_BEFORE_FAULT, STEP_TIME_HIT, STEP_TIME_UNDER_FAULT,
};
use crate::figures::declared::network::{
    TELEMETRY_STEP_TIME_AFTER_REPAIR, TELEMETRY_STEP_TIME_BEFORE_FAULT, TELEMETRY_STEP_TIME_HIT,
    TELEMETRY_STEP_TIME_UNDER_FAULT,
};

/// Parts of a step that are waiting or exposed communication.
const WAITING: [(&str, &str); 8] = [
    ("exposed_idle", "idle"),
    ("exposed_tp", "exposed tp"),
    ("exposed_ep", "exposed ep"),
    ("exposed_dp", "exposed dp"),
    ("exposed_dp_ep", "exposed dp-ep"),
    ("exposed_pp", "exposed pp"),
    ("exposed_other", "exposed communication"),
    ("exposed_storage", "exposed storage"),
];
/// Parts that are named, the longest first.
const PARTS: usize = 2;
/// Share of the step from which a part is named.
const NAMED: f64 = 0.01;

/// The result of a run with so many draws of the hash seeds, in clauses; of several jobs that of the worst. Where faults
/// change the state of the run it has a figure for each state.
pub fn result(known: &Known<'_>, draws: usize) -> Vec<String> {
    let own = known.jobs.len() - known.again;
    let several = own > 1;
    let jobs = 0..known.jobs.len().max(1);
    let slow = |name: &str, sign: f64| {
        let values = jobs.clone().filter_map(|job| Some((job, known.value_of_job(job, name)?)));
        values.reduce(|a, b| if sign * b.1 > sign * a.1 { b } else { a })
    };
    let busbw = slow("busbw_mean", -1.0);
    let step = slow("step_time", 1.0);
    match (busbw, step) {
        // Jobs that run collectives and nothing else beside others that train: the step tells of all.
        (Some((job, value)), Some(_))
            if !several || jobs.clone().all(|job| known.value_of_job(job, "busbw_mean").is_some()) =>
        {
            if let Some(states) = busbw_states(known, job) {
                let name = known.job_words(job);
                let states = states + &without_stalls(known, job);
                return vec![if several { format!("{name} is the slowest: {states}") } else { states }];
            }
            let rate = shown(value, "bits_per_s");
            let spread = match draws {
                0 | 1 => operations(known, job),
                draws => spread(over_draws(known, job), "bits_per_s", draws),
            };
            let spread = spread + &without_stalls(known, job);
            vec![match several {
                false => format!("{rate} of bus bandwidth{spread}"),
                true => {
                    let (name, count) = (known.job_words(job), whole(own as u64));
                    format!("{name} has the least bus bandwidth of {count} jobs, {rate}{spread}")
                }
            }]
        }
        (_, Some((job, value))) => {
            let seconds = time(value);
            let band = ["step_time_p5", "step_time_p95"].map(|name| known.value_of_job(job, name));
            let spread = spread(band, "s", draws);
            let parts = parts(known, job, value);
            let slowest = match several {
                true => format!("{} is the slowest of {}: ", known.job_words(job), whole(own as u64)),
                false => String::new(),
            };
            let states = step_states(known, job);
            // Where the engine's steps show nothing of the faults, what telemetry saw leads.
            let (first, last) = match states {
                None => (watched_states(known), None),
                Some(_) => (None, watched_states(known)),
            };
            let clauses = match states {
                None if parts.is_empty() => vec![format!("{slowest}a step takes {seconds}{spread}")],
                None => vec![format!("{slowest}a step takes {seconds}{spread}, of it {parts}")],
                Some(states) if parts.is_empty() => vec![format!("{slowest}{states}")],
                Some(states) => {
                    vec![format!("{slowest}{states}"), format!("the step of {seconds} has {parts}")]
                }
            };
            first.into_iter().chain(clauses).chain(last).collect()
        }
        _ => without_step(known, jobs),
    }
}

/// The result of a run in which no step came to its end.
fn without_step(known: &Known<'_>, jobs: std::ops::Range<usize>) -> Vec<String> {
    if let Some(states) = jobs.clone().find_map(|job| step_states(known, job)) {
        return vec![states];
    }
    let reasons = jobs.filter_map(|job| known.of_job(job, "step_time"));
    let reason = reasons.map(|figure| figure.reason.as_str()).find(|reason| !reason.is_empty());
    vec![
        reason.map_or("no step came to its end".to_owned(), |reason| {
            format!("there is no step time: {reason}")
        }),
    ]
}

/// The bus bandwidth without stalls, where the job stalled.
fn without_stalls(known: &Known<'_>, job: usize) -> String {
    let moving = known.value_of_job(job, "busbw_moving");
    moving.map_or(String::new(), |rate| format!(", {} without stalls", shown(rate, "bits_per_s")))
}

/// The band over draws in brackets; nothing where there is one draw.
fn spread(band: [Option<f64>; 2], unit: &str, draws: usize) -> String {
    let [Some(low), Some(high)] = band else { return String::new() };
    let [low, high] = [low, high].map(|value| shown(value, unit));
    match draws {
        0 | 1 => String::new(),
        _ if low == high => format!(" (the same in {} draws of the hashes)", whole(draws as u64)),
        _ => format!(" ({low} to {high} over {} draws of the hashes)", whole(draws as u64)),
    }
}

/// Lowest and highest mean bus bandwidth of a draw.
fn over_draws(known: &Known<'_>, job: usize) -> [Option<f64>; 2] {
    known.of_job(job, "busbw_mean").map_or([None; 2], |figure| [figure.low, figure.high])
}

/// The range of bus bandwidth over operations in brackets; nothing where all have the same.
fn operations(known: &Known<'_>, job: usize) -> String {
    let range = ["busbw_min", "busbw_max"].map(|name| known.value_of_job(job, name));
    let [Some(low), Some(high)] = range.map(|value| value.map(|value| shown(value, "bits_per_s"))) else {
        return String::new();
    };
    if low == high { String::new() } else { format!(" ({low} to {high} over operations)") }
}

/// The parts of a step that computes: computation, and the longest of what is not.
fn parts(known: &Known<'_>, job: usize, step: f64) -> String {
    let Some(compute) = known.value_of_job(job, "exposed_compute") else { return String::new() };
    let waiting = WAITING.iter().filter_map(|(name, words)| Some((*words, known.value_of_job(job, name)?)));
    let mut waiting: Vec<(&str, f64)> = waiting.filter(|(_, seconds)| *seconds >= NAMED * step).collect();
    // The sort keeps the order of equals.
    waiting.sort_by(|a, b| b.1.total_cmp(&a.1));
    let waiting = waiting.iter().take(PARTS).map(|(words, seconds)| format!("{} {words}", time(*seconds)));
    let words: Vec<String> = std::iter::once(format!("{} computing", time(compute))).chain(waiting).collect();
    words.join(", ")
}

/// Step times of a job by the state of faults; none where the state of the run does not change.
fn step_states(known: &Known<'_>, job: usize) -> Option<String> {
    let names = [STEP_TIME_BEFORE_FAULT, STEP_TIME_UNDER_FAULT, STEP_TIME_HIT, STEP_TIME_AFTER_REPAIR];
    by_state(names.map(|figure| known.value_of_job(job, figure.name)))
}

/// The same of the steps that telemetry saw, which jitter makes longer than the engine's.
fn watched_states(known: &Known<'_>) -> Option<String> {
    let names = [
        TELEMETRY_STEP_TIME_BEFORE_FAULT,
        TELEMETRY_STEP_TIME_UNDER_FAULT,
        TELEMETRY_STEP_TIME_HIT,
        TELEMETRY_STEP_TIME_AFTER_REPAIR,
    ];
    by_state(names.map(|figure| known.value(figure.name))).map(|states| format!("in telemetry, {states}"))
}

/// Seconds of a step before the fault, under it, in a step that it hits, and after repair, in words.
/// A step that is hit is told where it is longer than those of all states.
fn by_state([before, under, hit, after]: [Option<f64>; 4]) -> Option<String> {
    let longest = [before, under, after].into_iter().flatten().fold(0.0, f64::max);
    let hit = hit.filter(|hit| *hit > longest && time(*hit) != time(longest));
    let states = [
        before.map(|seconds| format!("{} before the fault", time(seconds))),
        under.map(|seconds| format!("{} under it", time(seconds))),
        hit.map(|seconds| format!("{} hit by it", time(seconds))),
        after.map(|seconds| format!("{} after repair", time(seconds))),
    ];
    let states: Vec<String> = states.into_iter().flatten().collect();
    let (first, rest) = states.split_first()?;
    let first = first.replace(" under it", " under the fault").replace(" hit by it", " hit by the fault");
    let rest: String = rest.iter().map(|state| format!(", {state}")).collect();
    Some(format!("a step takes {first}{rest}"))
}

/// Bus bandwidths of a job by the state of faults; none where the state of the run does not change.
fn busbw_states(known: &Known<'_>, job: usize) -> Option<String> {
    let of = |figure: Declared| known.value_of_job(job, figure.name).map(|rate| shown(rate, "bits_per_s"));
    let states = [
        (of(BUSBW_BEFORE_FAULT), "before the fault"),
        (of(BUSBW_UNDER_FAULT), "under it"),
        (of(BUSBW_HIT), "in the slowest operation that the fault hits"),
        (of(BUSBW_AFTER_REPAIR), "after repair"),
    ];
    let mut states = states.into_iter().filter_map(|(rate, when)| Some((rate?, when)));
    let (rate, when) = states.next()?;
    let when = if when == "under it" { "under the fault" } else { when };
    let rest: String = states.map(|(rate, when)| format!(", {rate} {when}")).collect();
    Some(format!("{rate} of bus bandwidth {when}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin_store::Figure;

    fn told(values: &[(&str, f64)], jobs: &[&str], draws: usize) -> String {
        let figures: Vec<Figure> = values.iter().map(|(name, value)| Figure::new(name, *value, "")).collect();
        let jobs: Vec<String> = jobs.iter().map(|job| (*job).to_owned()).collect();
        result(&Known { figures: &figures, jobs: &jobs, again: 0 }, draws).join("; ")
    }

    const STEP: [(&str, f64); 7] = [
        ("step_time", 2.0),
        ("step_time_p5", 2.0),
        ("step_time_p95", 2.0),
        ("exposed_compute", 1.15),
        ("exposed_dp", 0.22),
        ("exposed_idle", 0.588),
        ("exposed_pp", 0.001),
    ];

    #[test]
    fn the_bubble_is_told_before_what_is_shorter_and_one_draw_is_not_counted() {
        let told = told(&STEP, &["a"], 1);
        assert_eq!(told, "a step takes 2.000 s, of it 1.150 s computing, 588.0 ms idle, 220.0 ms exposed dp");
    }

    #[test]
    fn waiting_for_storage_is_told() {
        let mut waits = STEP;
        waits[6] = ("exposed_storage", 0.3);
        assert!(told(&waits, &["a"], 1).ends_with("588.0 ms idle, 300.0 ms exposed storage"));
    }

    #[test]
    fn draws_are_told_where_there_are_several() {
        assert!(told(&STEP, &["a"], 20).contains("2.000 s (the same in 20 draws of the hashes), of it"));
        let mut apart = STEP;
        apart[2].1 = 2.2;
        assert!(
            told(&apart, &["a"], 20).contains("2.000 s (2.000 s to 2.200 s over 20 draws of the hashes)")
        );
    }

    #[test]
    fn a_range_over_draws_is_one_of_means() {
        let range = [("step_time", 1.0), ("busbw_min", 196e9), ("busbw_max", 392e9)];
        let mut figures: Vec<Figure> = range.map(|(name, value)| Figure::new(name, value, "")).into();
        figures.push(Figure { low: Some(330e9), high: Some(350e9), ..Figure::new("busbw_mean", 339e9, "") });
        let told = |draws| result(&Known { figures: &figures, jobs: &[], again: 0 }, draws);
        assert_eq!(told(5), ["339 Gbps of bus bandwidth (330 Gbps to 350 Gbps over 5 draws of the hashes)"]);
        assert_eq!(told(1), ["339 Gbps of bus bandwidth (196 Gbps to 392 Gbps over operations)"]);
    }

    #[test]
    fn of_several_jobs_the_worst_is_named() {
        let steps = [("a.step_time", 1.0), ("b.step_time", 2_000.0), ("c.step_time", 3.0)];
        assert_eq!(told(&steps, &["a", "b", "c"], 1), "job b is the slowest of 3: a step takes 2000 s");
        let rates =
            [("a.step_time", 1.0), ("a.busbw_mean", 3e11), ("b.step_time", 1.0), ("b.busbw_mean", 2e11)];
        assert_eq!(told(&rates, &["a", "b"], 1), "job b has the least bus bandwidth of 2 jobs, 200 Gbps");
        // One of them trains: bandwidth is not what all have.
        assert!(told(&rates[..3], &["a", "b"], 1).contains("a step takes 1.000 s"));
    }

    #[test]
    fn each_state_of_faults_has_its_own_figure() {
        let steps = [
            ("step_time", 1.074),
            ("exposed_compute", 1.0),
            ("exposed_other", 0.074),
            ("step_time_before_fault", 1.074),
            ("step_time_hit", 9.664),
            ("step_time_after_repair", 1.075),
        ];
        assert_eq!(
            told(&steps, &["a"], 1),
            "a step takes 1.074 s before the fault, 9.664 s hit by it, 1.075 s after repair; \
             the step of 1.074 s has 1.000 s computing, 74.00 ms exposed communication"
        );
        let rates = [
            ("step_time", 1.0),
            ("busbw_mean", 4e11),
            ("busbw_hit", 1e11),
            ("busbw_under_fault", 2e11),
            ("busbw_before_fault", 4e11),
        ];
        assert_eq!(
            told(&rates, &["a"], 1),
            "400 Gbps of bus bandwidth before the fault, 200 Gbps under it, 100 Gbps in the slowest operation that the \
             fault hits"
        );
        assert_eq!(
            told(&rates[..3], &["a"], 1),
            "100 Gbps of bus bandwidth in the slowest operation that the fault hits"
        );
    }

    #[test]
    fn a_figure_without_a_value_tells_its_reason() {
        let figures = [Figure::missing("step_time", "s", "halted at 12.5 s")];
        let told = result(&Known { figures: &figures, jobs: &[], again: 0 }, 1);
        assert_eq!(told, ["there is no step time: halted at 12.5 s"]);
    }
}
