//! Where jobs of a scenario go: hosts by placement, ranks by their order, backup hosts for lost ones.
#![allow(clippy::unwrap_used, clippy::result_large_err, reason = "a test")]
use std::collections::BTreeSet;

use railtwin_engine::Case;
use railtwin_scenario::{Scenario, ScenarioError, Source};

/// Resolves jobs on an HPN of two pods of two segments of three hosts, each with a backup host behind them: hosts 0 to
/// 15, of which 3, 7, 11 and 15 are spare.
fn resolve(jobs: &str) -> Result<Case, ScenarioError> {
    let text = format!(
        "schema = 1\nname = \"s\"\nseed = 5\nfabric = {{ preset = \"hpn\", pods = 2, segments = 2, hosts = 3, \
         spare_hosts = 1, spines = 4, cores = 4, spine_up = 2 }}\n{jobs}"
    );
    let scenario = Scenario::parse("s.toml", &text)?;
    scenario.resolve(Source { file: "s.toml", text: &text }, &|path: &str| Err(path.to_owned()))
}

const RING: &str = "collective = { kind = \"all-reduce\", bytes = \"1 MB\" }\n";

/// Hosts of the last job in the order of its ranks.
fn hosts(jobs: &str) -> Vec<u32> {
    let case = resolve(jobs).unwrap();
    case.placements.last().unwrap().iter().step_by(8).map(|place| place.host.0).collect()
}

fn one(size: u32, keys: &str) -> String {
    format!("[[job]]\nhosts = {size}\n{keys}\n{RING}")
}

fn wrong(jobs: &str) -> String {
    resolve(jobs).unwrap_err().to_string()
}

#[test]
fn each_placement_takes_its_hosts() {
    let first = one(2, "");
    let behind = |keys: &str| hosts(&format!("{first}{}", one(3, keys)));
    assert_eq!(behind(""), [2, 4, 5]);
    assert_eq!(behind("placement = \"segment-first\""), [4, 5, 6]);
    assert_eq!(behind("placement = \"spread\""), [2, 4, 8]);
    assert_eq!(behind("placement = { near = [9] }"), [9, 8, 10]);
    assert_eq!(behind("placement = { near = [0] }"), [2, 4, 5]);
    assert_eq!(behind("placement = { hosts = [9, 2, 4] }"), [9, 2, 4]);
    assert_eq!(behind("placement = { hosts = [9, 2, 4] }\nrank_order = \"topology\""), [2, 4, 9]);
    let lots = BTreeSet::from_iter(behind("placement = \"random\""));
    assert_eq!(lots.len(), 3);
    assert!(lots.iter().all(|host| ![0, 1, 3, 7, 11, 15].contains(host)));
    let drawn = behind("placement = { hosts = [9, 2, 4] }\nrank_order = \"random\"");
    assert_eq!(BTreeSet::from_iter(drawn), BTreeSet::from([2, 4, 9]));
}

#[test]
fn a_minimum_cut_brings_ranks_that_talk_into_a_pod() {
    // Ranks 0 and 2 of hosts, 1 and 3: pairs that are strided over the job.
    let job = "[[job]]\nhosts = 4\nplacement = { hosts = [0, 1, 8, 9] }\nrank_order = \"ORDER\"\n\
               workload = { traffic = \"shift\", bytes = \"1 MB\", shift = 16 }\n";
    assert_eq!(hosts(&job.replace("ORDER", "given")), [0, 1, 8, 9]);
    let cut = hosts(&job.replace("ORDER", "min-cut"));
    let pod = |row: usize| cut[row] / 8;
    assert_eq!((pod(0), pod(1)), (pod(2), pod(3)), "{cut:?}");
}

#[test]
fn stages_stay_in_pods() {
    let job = |placement: &str| {
        format!(
            "[[job]]\nplacement = \"{placement}\"\n\
             workload = {{ recipe = \"llama-7b\", tp = 8, pp = 2, dp = 4, micro_batches = 2 }}\n"
        )
    };
    // Two stages of four hosts, and pods of six.
    assert_eq!(hosts(&job("pp-across-pods")), [0, 1, 2, 4, 8, 9, 10, 12]);
    assert_eq!(hosts(&job("packed")), [0, 1, 2, 4, 5, 6, 8, 9]);
    let taken = format!("{}{}", one(3, ""), job("pp-across-pods"));
    assert!(wrong(&taken).contains("2 parts of 32 GPUs that are to stay in a pod each"), "{}", wrong(&taken));
    let none = wrong(&one(2, "placement = \"pp-across-pods\""));
    assert!(none.contains("no pipeline stages") && none.contains("write segment-first"), "{none}");
}

#[test]
fn a_backup_host_has_the_ranks_of_a_lost_one() {
    assert_eq!(hosts(&one(4, "lost = [1]")), [0, 3, 2, 4]);
    assert_eq!(hosts(&one(4, "lost = [4, 2]")), [0, 1, 3, 7]);
    // A segment has one, whichever job takes it.
    let twice = wrong(&one(4, "lost = [0, 2]"));
    assert!(twice.contains("names host 2: its segment has no backup host left"), "{twice}");
    let others = wrong(&format!("{}{}", one(2, "lost = [0]"), one(2, "lost = [2]")));
    assert!(others.contains("names host 2: its segment has no backup host left"), "{others}");
    let elsewhere = wrong(&one(2, "lost = [9]"));
    assert!(elsewhere.contains("names host 9: the job is not placed on it"), "{elsewhere}");
    let unknown = wrong(&one(2, "placement = { near = [99] }"));
    assert!(unknown.contains("names host 99: the fabric has hosts 0 to 15"), "{unknown}");
}
