//! A sample of the trials of slowdowns in few steps; `--example sooner` runs all of them.
#[path = "../examples/sooner/trials.rs"]
mod trials;

use trials::{accused, is_accused, is_found, is_quiet, runs, slowed, trace};

#[test]
fn five_percent_in_three_steps_of_a_quiet_run_is_found_and_healthy_beginnings_are_not() {
    let (mut quiet, mut found) = (0, 0);
    for run in runs() {
        for end in (12..=run.steps.len()).step_by(7) {
            assert!(!is_accused(&run, end), "{}, run {}: {end} steps", run.job, run.run);
            if is_quiet(&run) {
                quiet += 1;
                found += usize::from(is_found(&run, end, 0.05));
            }
        }
    }
    println!("{found} of {quiet}");
    assert!(quiet > 500 && 100 * found >= 99 * quiet, "{found} of {quiet}");
}

#[test]
fn a_rank_twice_as_slow_is_named_from_three_steps_on_and_two_show_nothing() {
    let work = trace();
    let mut before = 0.0;
    for count in 2..=7 {
        let mut least = 1.0_f64;
        for rank in 0..8 {
            let (named, confidence) = accused(&slowed(&work, 3, count, Some((rank, 2.0))));
            assert_eq!(named, if count == 2 { vec![] } else { vec![rank] }, "{count} steps, rank {rank}");
            least = least.min(confidence);
        }
        if count > 2 {
            assert!(least >= before && least > 0.9, "{count} steps: {least} after {before}");
            before = least;
        }
    }
}

#[test]
fn smaller_slowdowns_need_more_steps_and_healthy_parts_name_nobody() {
    let work = trace();
    let first =
        |times: f64| (2..=12).find(|&count| accused(&slowed(&work, 5, count, Some((4, times)))).0 == [4]);
    assert_eq!([2.0, 1.3].map(first), [Some(3), Some(4)]);
    for count in 2..=32 {
        let named = accused(&slowed(&work, (32 - count) / 2, count, None)).0;
        assert!(named.is_empty(), "{count} steps: {named:?}");
    }
}
