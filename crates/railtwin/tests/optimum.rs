//! No policy does more work than the optimum that `railtwin schedule` prints beside it, on any number of levels.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::fmt::Write;

use proptest::prelude::*;
use railtwin::schedule::{Asked, SharingPolicy, optima, schedule};

/// Jobs of (GPUs, tenths of a second of computation, tenths of a GB) that may take either of two links.
fn file(levels: u32, seed: u64, jobs: &[(u32, u32, u32)]) -> String {
    let mut text = format!("schema = 1\nlevels = {levels}\nseed = {seed}\nwindow = \"40 s\"\n");
    for link in ["a", "b"] {
        let _ = write!(text, "[[link]]\nname = \"{link}\"\ncapacity = \"8 Gbps\"\n");
    }
    for (number, (gpus, compute, bytes)) in jobs.iter().enumerate() {
        let _ = write!(
            text,
            "[[job]]\nname = \"job-{number}\"\ngpus = {gpus}\ncompute = \"{} ms\"\noverlap_from = 0.5\n\
             [[job.transfer]]\nbytes = \"{} MB\"\npath = [{{ links = [\"a\"] }}, {{ links = [\"b\"] }}]\n",
            100 * compute,
            100 * bytes,
        );
    }
    text
}

/// Rounding of work that is summed in another order.
const ROUNDING: f64 = 1e-6;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn no_policy_does_more_work_than_the_optimum(
        levels in 1u32..4,
        seed in 0u64..50,
        jobs in prop::collection::vec((1u32..65, 1u32..20, 1u32..20), 2..5),
    ) {
        let asked = Asked::parse("jobs.toml", &file(levels, seed, &jobs)).unwrap();
        let best = optima(&asked).unwrap();
        let (within, any) = (&best[0], best.last().unwrap());
        prop_assert_eq!(best.len(), 1 + usize::from((levels as usize) < jobs.len()));
        prop_assert!(within.levels <= levels);
        prop_assert!(any.work_per_s >= within.work_per_s * (1.0 - ROUNDING));
        for policy in SharingPolicy::ALL {
            let plan = schedule(&asked, policy);
            let bound = if plan.levels <= levels { within } else { any };
            prop_assert!(
                plan.work_per_s <= bound.work_per_s * (1.0 + ROUNDING),
                "{} on {} levels: {} over {}", policy, plan.levels, plan.work_per_s, bound.work_per_s
            );
        }
    }
}

/// On one level `crux-pa` still gives each job a level: it is held against the optimum that may, too.
#[test]
fn a_policy_with_a_level_for_each_job_has_an_optimum_of_its_own() {
    let asked = Asked::parse("jobs.toml", &file(1, 1, &[(64, 4, 10), (1, 4, 10), (1, 4, 10)])).unwrap();
    let best = optima(&asked).unwrap();
    let names: Vec<&str> = best.iter().map(|best| best.policy.as_str()).collect();
    assert_eq!(names, ["optimum-within-levels", "optimum"]);
    let crux_pa = schedule(&asked, SharingPolicy::CruxPa);
    assert_eq!((crux_pa.levels, crux_pa.network_levels, best[0].levels), (3, 1, 1));
    assert!(crux_pa.work_per_s <= best[1].work_per_s * (1.0 + ROUNDING));
}
