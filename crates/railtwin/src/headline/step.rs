//! What came out: how long a step takes and of what, or what bandwidth collectives reach.
use super::known::Known;
use super::numbers::{shown, time, whole};

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

/// The result of a run with so many draws of the hash seeds; of several jobs that of the worst.
pub fn result(known: &Known<'_>, draws: usize) -> String {
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
            let rate = shown(value, "bits_per_s");
            let spread = spread(known, job, ["busbw_min", "busbw_max"], "bits_per_s", draws);
            let spread = spread + &without_stalls(known, job);
            match several {
                false => format!("{rate} of bus bandwidth{spread}"),
                true => {
                    let (name, count) = (known.job_words(job), whole(own as u64));
                    format!("{name} has the least bus bandwidth of {count} jobs, {rate}{spread}")
                }
            }
        }
        (_, Some((job, value))) => {
            let seconds = time(value);
            let spread = spread(known, job, ["step_time_p5", "step_time_p95"], "s", draws);
            let parts = parts(known, job, value);
            match several {
                false => format!("a step takes {seconds}{spread}{parts}"),
                true => {
                    let (name, count) = (known.job_words(job), whole(own as u64));
                    format!("{name} is the slowest of {count}: a step takes {seconds}{spread}{parts}")
                }
            }
        }
        _ => {
            let reasons = jobs.clone().filter_map(|job| known.of_job(job, "step_time"));
            let reason = reasons.map(|figure| figure.reason.as_str()).find(|reason| !reason.is_empty());
            reason.map_or("no step came to its end".to_owned(), |reason| {
                format!("there is no step time: {reason}")
            })
        }
    }
}

/// The bus bandwidth without stalls, where the job stalled.
fn without_stalls(known: &Known<'_>, job: usize) -> String {
    let moving = known.value_of_job(job, "busbw_moving");
    moving.map_or(String::new(), |rate| format!(", {} without stalls", shown(rate, "bits_per_s")))
}

/// The band over draws in brackets; nothing where there is one draw.
fn spread(known: &Known<'_>, job: usize, names: [&str; 2], unit: &str, draws: usize) -> String {
    let [low, high] = names.map(|name| known.value_of_job(job, name));
    let (Some(low), Some(high)) = (low, high) else { return String::new() };
    let [low, high] = [low, high].map(|value| shown(value, unit));
    match draws {
        0 | 1 if low == high => String::new(),
        // One draw: what spreads is over jobs and operations.
        0 | 1 => format!(" ({low} to {high})"),
        _ if low == high => format!(" (the same in {} draws of the hashes)", whole(draws as u64)),
        _ => format!(" ({low} to {high} over {} draws of the hashes)", whole(draws as u64)),
    }
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
    format!(", of it {}", words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin_store::Figure;

    fn told(values: &[(&str, f64)], jobs: &[&str], draws: usize) -> String {
        let figures: Vec<Figure> = values.iter().map(|(name, value)| Figure::new(name, *value, "")).collect();
        let jobs: Vec<String> = jobs.iter().map(|job| (*job).to_owned()).collect();
        result(&Known { figures: &figures, jobs: &jobs, again: 0 }, draws)
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
    fn a_figure_without_a_value_tells_its_reason() {
        let figures = [Figure::missing("step_time", "s", "halted at 12.5 s")];
        let told = result(&Known { figures: &figures, jobs: &[], again: 0 }, 1);
        assert_eq!(told, "there is no step time: halted at 12.5 s");
    }
}
