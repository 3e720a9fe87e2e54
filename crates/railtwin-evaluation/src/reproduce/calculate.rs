//! Calculations that rows of the reproduction table name instead of a scenario: models without a run.
use railtwin_reliability::downtime::leaves::Pairs;
use railtwin_reliability::downtime::table3::{Stated, Table3, ratios};
use railtwin_reliability::downtime::{Account, Part, Plan};
use railtwin_reliability::failure_rates::{Cause, Crash, FailureRates, MONTH_H};
use railtwin_store::Figure;

use super::crux::{self, Cases};
use super::design::rounded;
use super::pick::{Label, Point};
use super::sweep::Set;
use super::{
    bursts, co_tuning, cross_segment, design, detect, experts, job_sizes, relay, sauron, tenants, testbed,
    weeks,
};

/// Parameters that calculations take, beside keys of the scenarios that they run.
#[cfg(test)]
pub(super) const PARAMETERS: &[(&str, &[&str])] = &[
    ("network-crashes", &["gpus_per_leaf"]),
    ("dual-leaf", &["repair_h"]),
    ("downtime-table", &["june_interval_h", "december_detection_s", "december_isolation_min"]),
    ("job-sizes", &["load", "weeks"]),
    ("response-time", &["ranks"]),
    ("co-tuning", &["hosts_most", "hosts_least"]),
    ("picks", &["hosts_most", "hosts_least"]),
    ("crux-examples", &["computes_first"]),
    ("crux-long-run", &["job_1_s", "job_2_s"]),
    ("crux-cases", &["seed"]),
    ("buildings", &["pods"]),
    ("one-pod", &["access_m", "fabric_m"]),
];

/// Months that failures are drawn for.
const MONTHS: f64 = 4000.0;
/// Seed of the draws.
const SEED: u64 = 1;
/// Hours until a failed leaf or cable of HPN works again; the paper does not say.
const REPAIR_H: f64 = 24.0;

/// The labels of a calculation's points, before any has run; one without axes where it has no points.
pub(super) fn labels(calculation: &str, cases: Cases, set: &Set) -> Vec<Label> {
    match calculation {
        "crux-cases" => crux::labels(cases),
        "crux-testbed-gpt-bert" | "crux-testbed-mixed" | "crux-testbed-pcie" => {
            testbed::labels(calculation, set)
        }
        "gpt3-and-bert" | "gpt3-and-bert-settings" => tenants::labels(calculation, set),
        _ => vec![Label::new()],
    }
}

/// The points of a calculation, in the order of their [`labels`] and without figures where they are not wanted; none where
/// there is none of that name.
pub(super) fn points(calculation: &str, cases: Cases, set: &Set, wanted: &[bool]) -> Option<Vec<Point>> {
    match calculation {
        "crux-cases" => Some(crux::cases(cases, set, wanted)),
        "crux-clos" | "crux-double-sided" => {
            Some(vec![Point { label: Vec::new(), figures: weeks::figures(calculation, cases, set) }])
        }
        "crux-clos-losses" => {
            Some(vec![Point { label: Vec::new(), figures: weeks::losses("crux-clos", set) }])
        }
        "crux-testbed-gpt-bert" | "crux-testbed-mixed" | "crux-testbed-pcie" => {
            Some(testbed::points(calculation, set, wanted))
        }
        "crux-schedulers" => {
            Some(vec![Point { label: Vec::new(), figures: testbed::schedulers(cases, set) }])
        }
        "gpt3-and-bert" => Some(tenants::points("gpt3-and-bert", 50, set, wanted)),
        "gpt3-and-bert-settings" => Some(tenants::points("gpt3-and-bert-settings", 20, set, wanted)),
        _ => figures(calculation, set).map(|figures| vec![Point { label: Vec::new(), figures }]),
    }
}

fn figures(calculation: &str, set: &Set) -> Option<Vec<Figure>> {
    Some(match calculation {
        "crux-examples" => crux::examples(set),
        "crux-long-run" => crux::long_run(set),
        "crux-compression" => crux::compression(),
        "crash-mix" => crash_mix(),
        "downtime-table" => downtime_table(set),
        "downtime-ratios" => downtime_ratios(),
        "network-crashes" => network_crashes(set),
        "failure-cost" => failure_cost(),
        "dual-leaf" => dual_leaf(set),
        "job-sizes" => job_sizes::job_sizes(set),
        "rail-only" => relay::rail_only(),
        "co-tuning" => co_tuning::gains(set),
        "picks" => co_tuning::picks(set),
        "watchdogs" => detect::watchdogs(),
        "response-time" => detect::response_time(set),
        "cross-segment" => cross_segment::traffic(set),
        "nic-bursts" => bursts::of_nic(set),
        "wasted-gpus" => wasted_gpus(),
        "sauron-pairs" => sauron::pairs(set),
        "sauron-arithmetic" => sauron::arithmetic(),
        "search-spaces" => design::search_spaces(),
        "buildings" => design::buildings(set),
        "one-pod" => design::one_pod(set),
        "one-building" => design::one_building(),
        "experts-low-latency" => experts::low_latency(set),
        "experts-normal" => experts::normal(set),
        "switch-failures" => design::switch_failures(),
        "reference-counts" => design::reference_counts(),
        _ => return None,
    })
}

/// C4, Table I, from the shipped rates, and drawn: 4,000 months of a job of 4,096 GPUs.
fn crash_mix() -> Vec<Figure> {
    let rates = FailureRates::c4();
    let (all, local) = (rates.by_cause(4096.0), rates.local_by_cause(4096.0));
    let total: f64 = all.iter().sum();
    let drawn = rates.crashes(4096, MONTHS * MONTH_H, SEED);
    let mut figures = vec![
        Figure::new("crashes_per_month", rounded(total * MONTH_H), ""),
        Figure::new("crashes_per_month_drawn", drawn.len() as f64 / MONTHS, ""),
        Figure::new("local_share", rounded(rates.local_share()), ""),
        Figure::new("local_share_drawn", share(&drawn, |crash| crash.local), ""),
    ];
    for cause in Cause::ALL {
        let name = cause.name().replace('-', "_");
        let c = cause.index();
        figures.push(Figure::new(&format!("share_{name}"), rounded(all[c] / total), ""));
        figures.push(Figure::new(&format!("local_{name}"), rounded(local[c] / all[c]), ""));
        let of_cause = share(&drawn, |crash| crash.cause == cause);
        figures.push(Figure::new(&format!("share_{name}_drawn"), of_cause, ""));
    }
    figures
}

fn share(crashes: &[Crash], is: impl Fn(&Crash) -> bool) -> f64 {
    crashes.iter().filter(|crash| is(crash)).count() as f64 / crashes.len() as f64
}

/// C4, Table III: June and December as stated and predicted, and June over December; shares in percent.
fn downtime_table(set: &Set) -> Vec<Figure> {
    let usual = Stated::default();
    let stated = Stated {
        june_interval: set.number("june_interval_h", usual.june_interval),
        december_detection: set.number("december_detection_s", usual.december_detection * 3600.0) / 3600.0,
        december_isolation: set.number("december_isolation_min", usual.december_isolation * 60.0) / 60.0,
        ..usual
    };
    let table = Table3::of(stated);
    let [fitted, stated] = table.ratios();
    let mut figures = vec![
        Figure::new("june_over_december", fitted, ""),
        Figure::new("june_stated_over_december", stated, ""),
        Figure::new("implied_june_interval", table.implied_june_interval(), "h"),
    ];
    for (month, account) in [("june", &table.june), ("december", &table.december)] {
        for (name, share) in parts(account) {
            figures.push(Figure::new(&format!("{month}_{name}"), share * 100.0, "%"));
        }
    }
    figures
}

fn parts(account: &Account) -> [(&'static str, f64); 10] {
    let diagnosis = |cause| account[Part::Diagnosis(cause)];
    [
        ("post_checkpoint", account[Part::PostCheckpoint]),
        ("detection", account[Part::Detection]),
        ("diagnosis", account.diagnosis()),
        ("diagnosis_ecc_nvlink", diagnosis(Cause::EccNvlink)),
        ("diagnosis_cuda", diagnosis(Cause::Cuda)),
        ("diagnosis_ccl_timeout", diagnosis(Cause::CclTimeout)),
        ("diagnosis_ack_timeout", diagnosis(Cause::AckTimeout)),
        ("diagnosis_unknown", diagnosis(Cause::Unknown)),
        ("reinitialisation", account[Part::Reinitialisation]),
        ("downtime", account.downtime()),
    ]
}

/// C4, section IV-B1: the ratios that the text draws from Table III.
fn downtime_ratios() -> Vec<Figure> {
    let ratios = ratios();
    vec![
        Figure::new("post_checkpoint", ratios.post_checkpoint, ""),
        Figure::new("diagnosis", ratios.diagnosis, ""),
        Figure::new("diagnosis_gpu", ratios.gpu, ""),
        Figure::new("diagnosis_others", ratios.others, ""),
        Figure::new("crashes", ratios.crashes, ""),
    ]
}

/// HPN, section 2.3: crashes of a job of 3,000 GPUs whose NICs have one leaf each.
fn network_crashes(set: &Set) -> Vec<Figure> {
    let mut rates = FailureRates::hpn();
    // The second is that of leaves, 64 GPUs to each.
    rates.rates[1].per_gpu_month *= 64.0 / set.number("gpus_per_leaf", 64.0);
    let drawn = rates.crashes(3000, MONTHS * MONTH_H, SEED).len() as f64 / MONTHS;
    vec![
        Figure::new("crashes_per_month", rates.per_hour(3000.0) * MONTH_H, ""),
        Figure::new("crashes_per_month_drawn", drawn, ""),
    ]
}

/// HPN, section 2.3: what the work since the last checkpoint costs, at the middle of the intervals of Figure 4.
fn failure_cost() -> Vec<Figure> {
    let plan = Plan::new(FailureRates::hpn(), 3000);
    let per_hour = plan.price * 3000.0;
    // Where the interval is short against the time between crashes, a crash falls anywhere in it alike.
    vec![
        Figure::new("dollars_per_hour", rounded(per_hour), ""),
        Figure::new("dollars_per_crash", rounded(per_hour * plan.interval / 2.0), ""),
    ]
}

/// HPN, section 1: crashes by leaves in eight months of a pod, with one leaf to a NIC and with two.
fn dual_leaf(set: &Set) -> Vec<Figure> {
    let repair = set.number("repair_h", REPAIR_H);
    let (leaves, access) = (Pairs::hpn_leaves(repair), Pairs::hpn_access(repair));
    let eight = 8.0;
    let drawn = leaves.simulate(eight, 10_000, SEED);
    vec![
        Figure::new("leaf_failures_single", leaves.expected(eight).single, ""),
        Figure::new("leaf_failures_single_drawn", drawn.single, ""),
        Figure::new("leaf_failures_both", leaves.expected(eight).both, ""),
        Figure::new("leaf_failures_both_drawn", drawn.both, ""),
        Figure::new("access_failures_both", access.expected(eight).both, ""),
    ]
}

/// Zhai et al., section 1.2: GPUs of a cluster of 1,000 that a utilization lower by 12.8 points stands for.
fn wasted_gpus() -> Vec<Figure> {
    let (gpus, points) = (1_000.0, 12.8);
    vec![Figure::new("gpus_wasted", gpus * points / 100.0, "")]
}
