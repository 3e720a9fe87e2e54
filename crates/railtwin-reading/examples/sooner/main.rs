//! How soon slowdowns are found: 5 % in the last three steps of real runs, and a slow rank in few steps of a real trace.
//!
//! `cargo run --release -p railtwin-reading --example sooner`
mod trials;

use railtwin_diagnosis::steps::sensitivity;
use trials::{accused, is_accused, is_found, is_quiet, runs, slowed, trace};

/// Fewest steps of a run that the trials leave.
const FEWEST: usize = 12;

fn main() {
    of_runs();
    of_trace();
}

fn of_runs() {
    let (mut cuts, mut accusing, mut quiet, mut found_in_quiet) = (0, 0, 0, 0);
    let all = runs();
    for run in &all {
        let ends = FEWEST..=run.steps.len();
        let healthy = ends.clone().filter(|&end| is_accused(run, end)).count();
        let found = ends.clone().filter(|&end| is_found(run, end, 0.05)).count();
        let count = ends.count();
        (cuts, accusing) = (cuts + count, accusing + healthy);
        if is_quiet(run) {
            (quiet, found_in_quiet) = (quiet + count, found_in_quiet + found);
        }
        let told = sensitivity(run).expect("a long run");
        println!(
            "{}, run {}: shows {:.1} % within three steps, stalls at {:.1} % of places; 5 % found at {found} of {count} ends",
            run.job,
            run.run,
            100.0 * told.share,
            100.0 * told.stalled
        );
    }
    println!("5 % in the last three steps of quiet runs: found at {found_in_quiet} of {quiet} ends");
    println!("{accusing} of {cuts} healthy beginnings of {} runs lead to a finding", all.len());
}

fn of_trace() {
    let work = trace();
    for times in [1.1, 1.3, 2.0] {
        for count in 2..=7 {
            let (mut all, mut right, mut wrong, mut least) = (0, 0, 0, 1.0_f64);
            for first in (0..32 - count).step_by(3) {
                for rank in 0..8 {
                    let (named, confidence) = accused(&slowed(&work, first, count, Some((rank, times))));
                    let is_right = named == [rank];
                    all += 1;
                    right += usize::from(is_right);
                    wrong += usize::from(!named.is_empty() && !is_right);
                    least = least.min(if is_right { confidence } else { 1.0 });
                }
            }
            println!(
                "a rank {times} times as slow, {count} steps: named alone in {right} of {all}, another in {wrong}, confidence {least:.2}"
            );
        }
    }
    let parts = (2..=32).flat_map(|count| (0..=32 - count).map(move |first| (first, count)));
    let accusing = parts
        .clone()
        .filter(|&(first, count)| !accused(&slowed(&work, first, count, None)).0.is_empty())
        .count();
    println!("{accusing} of {} healthy parts of the trace lead to an accusation", parts.count());
}
