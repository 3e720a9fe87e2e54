//! Clusters made up by the model: what was put in comes out, and what is wrong in them is named.
use std::collections::BTreeMap;

use proptest::prelude::*;
use railtwin_formats::telemetry::parse_nccl_tests_table;
use railtwin_workload::Algorithm;
use railtwin_workload::Collective;

use super::*;

/// Seconds of an all-reduce over hosts of 4: trees below 4 MiB a host, rings from there on.
fn seconds(hosts: u32, bytes: u64) -> f64 {
    let (ranks, bytes) = (f64::from(4 * hosts), bytes as f64);
    let tree = 20e-6 + bytes / 50e9 + f64::from(hosts).log2() * (15e-6 + bytes.min(8e6) / 40e9);
    let ring = 2.0 * (ranks - 1.0) * (40e-6 + bytes / ranks / 90e9);
    if hosts > 2 && bytes >= f64::from(hosts) * f64::from(1 << 22) { ring } else { tree }
}

fn table(most: u32, change: impl Fn(u32, u64) -> f64) -> ClusterTimes {
    let mut seconds_of: BTreeMap<u32, BTreeMap<u64, f64>> = BTreeMap::new();
    for hosts in [2, 4, 8, 16, 32, 64, 128].into_iter().filter(|hosts| *hosts <= most) {
        let sizes = (3..33).map(|power| 1_u64 << power);
        seconds_of.insert(
            hosts,
            sizes.map(|bytes| (bytes, seconds(hosts, bytes) * change(hosts, bytes))).collect(),
        );
    }
    ClusterTimes {
        collective: Collective::AllReduce,
        local: 4,
        product: String::new(),
        setting: String::new(),
        seconds: seconds_of,
    }
}

#[test]
fn switches_and_tables_come_out() {
    let fit = fit(&table(16, |_, _| 1.0)).unwrap();
    let from: Vec<(u32, u64)> = fit.model.switches.iter().map(|one| (one.hosts, one.bytes)).collect();
    assert_eq!(from, [(4, 16 << 20), (8, 32 << 20), (16, 64 << 20)]);
    assert_eq!((fit.outliers.len(), fit.priors.as_slice()), (0, &["distance", "share"][..]));
    let step = fit.model.steps.iter().find(|step| step.chunk == 1 << 20).unwrap();
    assert!((step.seconds / (40e-6 + f64::from(1 << 20) / 90e9) - 1.0).abs() < 1e-9);
    let tree = fit.model.trees.iter().find(|tree| tree.bytes == 1 << 20).unwrap();
    assert!((tree.level / (15e-6 + f64::from(1 << 20) / 40e9) - 1.0).abs() < 1e-6);
}

/// Larger clusters are told better than by the line through the two largest ones.
#[test]
fn larger_clusters_are_told_better_than_by_a_line() {
    let series = table(128, |_, _| 1.0);
    let held = held_back(&series, 16, &[32, 64, 128]);
    let (mut own, mut by_line) = (Vec::new(), Vec::new());
    for one in &held {
        for ((_, measured, predicted), line) in one.rows.iter().zip(&one.line) {
            own.push((predicted / measured - 1.0).abs());
            by_line.push((line.unwrap() / measured - 1.0).abs());
        }
    }
    own.sort_by(f64::total_cmp);
    by_line.sort_by(f64::total_cmp);
    let tail = own.len() * 9 / 10;
    assert!(
        own[own.len() / 2] < 0.05 && own[tail] < by_line[tail],
        "{} {} {}",
        own[45],
        own[tail],
        by_line[tail]
    );
}

#[test]
fn outliers_put_in_by_hand_are_named() {
    for (hosts, bytes) in [(8, 1_u64 << 12), (4, 1 << 20), (8, 1 << 28), (16, 1 << 15), (2, 1 << 24)] {
        let fit = fit(&table(16, |h, b| if (h, b) == (hosts, bytes) { 4.0 } else { 1.0 })).unwrap();
        let named: Vec<(u32, u64)> = fit.outliers.iter().map(|one| (one.hosts, one.bytes)).collect();
        assert_eq!(named, [(hosts, bytes)]);
        let from: Vec<u64> = fit.model.switches.iter().map(|one| one.bytes).collect();
        assert_eq!(from, [16 << 20, 32 << 20, 64 << 20], "{hosts} {bytes}");
    }
}

#[test]
fn a_run_that_is_slow_as_a_whole_is_found_and_says_nothing_of_larger_ones() {
    let slow = |hosts: u32, bytes: u64| if hosts == 16 && bytes >= 1 << 20 { 2.0 } else { 1.0 };
    let runs = judge(&[table(32, slow)], &[]);
    let found: Vec<(u32, bool)> = runs.iter().map(|run| (run.hosts, run.is_slow())).collect();
    assert_eq!(found, [(8, false), (16, true), (32, false)]);
    let run = runs.iter().find(|run| run.is_slow()).unwrap();
    assert!((run.ratio - 2.0).abs() < 0.4 && run.typical.1 > 1.5 * run.typical.2, "{run:?}");
    assert!(run.sentence().starts_with("all-reduce over 64 GPUs is slow as a whole"), "{}", run.sentence());
    // A model of other logs tells the same of the cluster alone.
    let model = fit(&table(8, |_, _| 1.0)).unwrap().model;
    let alone = ClusterTimes { seconds: table(32, slow).seconds.split_off(&16), ..table(32, slow) };
    let of = |run: &WholeRun| (run.hosts, run.is_slow());
    assert_eq!(judge(&[alone], &[model]).iter().map(of).collect::<Vec<_>>(), [(16, true), (32, false)]);
}

/// One size of a larger cluster sets what small clusters cannot tell.
#[test]
fn a_probe_replaces_the_prior() {
    let mut series = table(8, |_, _| 1.0);
    let share = |series: &ClusterTimes| {
        let fit = fit(series).unwrap();
        (fit.model.large.unwrap().per_byte, fit.priors, fit.probes)
    };
    let (before, priors, probes) = share(&series);
    assert_eq!((priors.len(), probes.len()), (2, 0));
    series.seconds.insert(
        128,
        BTreeMap::from([(1_u64 << 28, 2.5 * seconds(128, 1 << 28)), (1024, seconds(128, 1024))]),
    );
    let (after, priors, probes) = share(&series);
    assert!(priors.is_empty() && probes == [128] && after != before, "{priors:?} {before} {after}");
}

#[test]
fn settings_are_series_and_bands_cover_most() {
    let mut text = "setting,gpus,hosts,bytes,time_us\n".to_owned();
    for (setting, factor) in [("a", 1.0), ("b", 1.05), ("c", 0.93)] {
        for (hosts, of) in table(64, |_, _| factor).seconds {
            for (bytes, seconds) in of {
                // Noise that a formula gives: the same for everybody.
                let noise = 1.0 + 0.1 * ((bytes.ilog2() * 7 + hosts * 13) % 11) as f64 / 11.0;
                text.push_str(&format!(
                    "{setting},{},{hosts},{bytes},{}\n",
                    4 * hosts,
                    seconds * noise * 1e6
                ));
            }
        }
    }
    let logs = [("t.csv".to_owned(), parse_nccl_tests_table("t.csv", text.as_bytes()).unwrap().tests)];
    let all = series(&logs);
    assert_eq!(all.iter().map(|one| one.setting.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    let backtests: Vec<Backtest> = all.iter().flat_map(backtest).collect();
    let (within, of) = coverage(&backtests, Collective::AllReduce).unwrap();
    let share = within as f64 / of as f64;
    assert!((0.7..=0.95).contains(&share), "{share}");
    assert!(bands(&backtests, Collective::AllReduce).iter().all(|band| band.low <= band.high));
}

#[test]
fn other_collectives_need_one_number_of_hosts() {
    let gather = |hosts: u32| {
        let of = (10..30).map(|power| {
            (1_u64 << power, f64::from(4 * hosts - 1) * 5e-6 + f64::from(1_u32 << power) / 80e9)
        });
        BTreeMap::from([(hosts, of.collect())])
    };
    let series =
        ClusterTimes { collective: Collective::AllGather, seconds: gather(4), ..table(2, |_, _| 1.0) };
    let model = fit(&series).unwrap().model;
    let far = model.predict(series.group(64), 1 << 28).unwrap();
    assert_eq!(far.algorithm, Algorithm::Ring);
    assert!((far.seconds / gather(64)[&64][&(1 << 28)] - 1.0).abs() < 0.15, "{}", far.seconds);
    assert!(fit(&ClusterTimes { collective: Collective::AllReduce, ..series }).is_none());
}

proptest! {
    /// Any times give a model or none, and its prices are times.
    #[test]
    fn nothing_breaks_it(
        times in prop::collection::vec(1e-7..10.0_f64, 0..40),
        shapes in prop::collection::vec((2..300_u32, 0..36_u32), 40),
        asked in 2..5_000_u32,
    ) {
        let mut seconds: BTreeMap<u32, BTreeMap<u64, f64>> = BTreeMap::new();
        for (time, (hosts, power)) in times.iter().zip(shapes) {
            seconds.entry(hosts % 5 + 2).or_default().insert(1 << power, *time);
        }
        for collective in Collective::ALL {
            let series = ClusterTimes { collective, seconds: seconds.clone(), ..table(2, |_, _| 1.0) };
            let Some(fit) = fit(&series) else { continue };
            for power in 0..40 {
                if let Some(scaled) = fit.model.predict(series.group(asked), 1 << power) {
                    prop_assert!(scaled.seconds > 0.0 && scaled.seconds.is_finite());
                    let (latency, busbw) = fit.model.cost(series.group(asked), 1 << power, scaled.algorithm).unwrap();
                    prop_assert!(latency.is_finite() && latency >= 0.0 && busbw.is_none_or(|rate| rate > 0.0));
                }
            }
        }
    }
}
