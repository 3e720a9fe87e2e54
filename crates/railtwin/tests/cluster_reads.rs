//! Reads in weeks of jobs: against the flow engine, and from a scenario.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::path::Path;

use proptest::prelude::*;
use railtwin::Question;
use railtwin::cluster::Told;
use railtwin::engines::engine;
use railtwin_clustersim::plant::Plant;
use railtwin_clustersim::{Ask, live};
use railtwin_scenario::EngineName;
use railtwin_units::Bytes;

use crate::cluster_inference::{HOSTS, Pair, STEPS, ask, cluster_job};
use crate::control::resolved;

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// One or two jobs that read beside their steps end when flows say: over the uplinks they are in their own way and in
    /// each other's. A step has microseconds of hops that weeks do not know.
    #[test]
    fn jobs_that_read_end_when_flows_say(
        drawn in prop::collection::vec((20u64..120, 400u64..2_500), 1..3),
        read in 100u64..4_000,
    ) {
        let pairs: Vec<Pair> = drawn.iter().map(|&(compute_ms, megabytes)| Pair { compute_ms, megabytes }).collect();
        let job = |(row, pair): (usize, &Pair)| {
            format!(
                "[[job]]\nname = \"job-{row}\"\nplacement = {{ hosts = {:?} }}\nsteps = {STEPS}\n\
                 collective = {{ kind = \"all-reduce\", bytes = \"{} MB\", algorithm = \"ring\", compute = \"{} ms\" }}\n\
                 read = {{ bytes_per_gpu = \"{read} MB\" }}\n",
                HOSTS[row], pair.megabytes, pair.compute_ms
            )
        };
        let jobs: String = pairs.iter().enumerate().map(job).collect();
        let text = format!(
            "schema = 1\nname = \"reads\"\nseed = 1\n[fabric]\npreset = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 4\n\
             uplinks = 1\nuplink_capacity = \"200 Gbps\"\nhost = {{ model = \"plain\" }}\n[storage]\nhosts = 2\n\
             on = \"backend\"\n{jobs}"
        );
        let mut case = resolved(&text, EngineName::Flow).case;
        case.wire_share = 1.0;
        let log = engine(EngineName::Flow, 1).run(&case, 0);
        // Who ends last is never told of.
        let flows: Vec<f64> = log.job_ends(&case.work).iter().map(|&end| end.min(log.end).seconds()).collect();
        let plant = Plant::new(&case.fabric, 4);
        let jobs: Vec<_> = pairs.iter().enumerate().map(cluster_job).collect();
        let of = |reads| {
            let lived = live(&jobs, &plant, &Ask { reads, ..ask() });
            lived.jobs.iter().map(|job| job.ended.unwrap()).collect::<Vec<f64>>()
        };
        let weeks = of(Some(Bytes(read * 1_000_000)));
        for (row, (weeks, flows)) in weeks.iter().zip(&flows).enumerate() {
            prop_assert!((weeks - flows).abs() < 0.02 * flows, "job {row}: {weeks} {flows} {drawn:?} {read}");
        }
        // One job alone waits for what is not read while it computes, or this would say nothing.
        let without = of(None);
        let waits = (read as f64 / 25e3 - drawn[0].0 as f64 / 1e3).max(0.0) * f64::from(STEPS);
        let exact = without[0] + waits;
        prop_assert!(drawn.len() > 1 || (weeks[0] - exact).abs() < 1e-6 * exact, "{weeks:?} {without:?} {waits}");
    }
}

const BASE: &str = r#"
schema = 1
name = "reads"
[fabric]
preset = "leaf-spine"
leaves = 8
hosts_per_leaf = 3
uplinks = 4
uplink_capacity = "200 Gbps"
host = { model = "hgx-a100", nics = 4 }
[storage]
hosts = 4
on = "backend"
[cluster]
days = 0.5
queue = "backfill"
placement = "spread"
read = { bytes_per_gpu = "2 GB" }
[cluster.stream]
load = 1.0
median = "20 min"
sigma = 1.0
"#;

fn told(text: &str) -> Result<Told, railtwin::Error> {
    let question = Question::of_text("weeks.toml", text, Path::new(env!("CARGO_MANIFEST_DIR")));
    let point = question.points()?.remove(0);
    let cluster = question.cluster(&point.scenario)?;
    Ok(cluster.told(&[cluster.spec.sharing], &[1], &|| ())?.remove(0))
}

#[test]
fn what_jobs_read_is_heard_and_costs_them() {
    let read = |old: &str, new: &str| told(&BASE.replacen(old, new, 1)).unwrap();
    let base = read("", "");
    let cost = |told: &Told| told.value("read_slowdown").unwrap();
    assert!(cost(&base) > 1.05, "{}", cost(&base));
    let more = read("2 GB", "3 GB");
    assert!(cost(&more) > cost(&base) && more.jobs != base.jobs);
    assert!(cost(&read("hosts = 4", "hosts = 8")) < cost(&base));
    assert!(cost(&read("2 GB", "1 kB")) < 1.001);
}

#[test]
fn what_cannot_be_read_is_said_in_one_error() {
    let wrong = |old: &str, new: &str| {
        assert!(BASE.contains(old), "{old}");
        told(&BASE.replacen(old, new, 1)).unwrap_err().to_string()
    };
    for (old, new, words) in [
        ("[storage]\nhosts = 4\non = \"backend\"\n", "", "there is no storage for what jobs read"),
        ("bytes_per_gpu = \"2 GB\"", "", "bytes_per_gpu"),
        ("bytes_per_gpu = \"2 GB\"", "bytes_per_gpu = \"2 GB\", every = 2", "every"),
        ("bytes_per_gpu = \"2 GB\"", "bytes_per_gpu = \"0 GB\"", "`bytes_per_gpu` cannot be zero"),
    ] {
        let message = wrong(old, new);
        assert!(message.contains(words), "{new}: {words}: {message}");
    }
}
