//! Inference in weeks of jobs: against the flow engine, every key heard, and what cannot be served.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and writes files")]
use std::path::Path;

use proptest::prelude::*;
use railtwin::Question;
use railtwin::cluster::Told;
use railtwin::engines::engine;
use railtwin_clustersim::plant::Plant;
use railtwin_clustersim::{Ask, ClusterJob, Inference, QueuePolicy, Serving, live};
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_control::{Place, PlacementPolicy, RankOrder};
use railtwin_engine::Case;
use railtwin_fabric::HostId;
use railtwin_scenario::EngineName;
use railtwin_units::{Bytes, SimTime};
use railtwin_workload::job_class::ClassStep;

use crate::control::resolved;

/// Steps of each job.
pub(crate) const STEPS: u32 = 40;
/// Bytes a second of an uplink.
const UPLINK: f64 = 25e9;

/// Two ranks, on either side of the one uplink of two leaves.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub compute_ms: u64,
    pub megabytes: u64,
}

/// Hosts of each pair; host 1 serves, and the gateway is under the other leaf.
pub(crate) const HOSTS: [[u32; 2]; 2] = [[0, 4], [2, 5]];

fn case(pairs: &[Pair], share: f64) -> Case {
    let job = |(row, pair): (usize, &Pair)| {
        format!(
            "[[job]]\nname = \"job-{row}\"\nplacement = {{ hosts = {:?} }}\nsteps = {STEPS}\n\
             collective = {{ kind = \"all-reduce\", bytes = \"{} MB\", algorithm = \"ring\", compute = \"{} ms\" }}\n",
            HOSTS[row], pair.megabytes, pair.compute_ms
        )
    };
    let jobs: String = pairs.iter().enumerate().map(job).collect();
    // Beats of a millisecond, far shorter than steps, for longer than these take.
    let requests = share * UPLINK / 1e6;
    let text = format!(
        "schema = 1\nname = \"beside\"\nseed = 1\n[fabric]\npreset = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 4\n\
         uplinks = 1\nuplink_capacity = \"200 Gbps\"\nhost = {{ model = \"plain\" }}\n[storage]\nhosts = 1\n\
         gateways = 1\non = \"backend\"\n{jobs}[[job]]\nname = \"serve\"\nplacement = {{ hosts = [1] }}\n\
         steps = 20000\nworkload = {{ requests_per_s = {requests}, request = \"1 MB\", response = \"1 MB\", \
         beat = \"1 ms\" }}\n"
    );
    let mut case = resolved(&text, EngineName::Flow).case;
    case.wire_share = 1.0;
    case
}

/// A pair as weeks have it.
pub(crate) fn cluster_job((row, pair): (usize, &Pair)) -> ClusterJob {
    let step = ClassStep {
        compute: SimTime::from_ns(pair.compute_ms * 1_000_000),
        overlap_from: 1.0,
        tensor: 1,
        pipeline: 1,
        data: 2,
        reduced: Bytes(pair.megabytes * 1_000_000),
        passed: Bytes(0),
        exchanged: Bytes(0),
        among: 1,
    };
    let alone = pair.compute_ms as f64 / 1e3 + pair.megabytes as f64 / 50e3;
    ClusterJob {
        name: format!("job-{row}"),
        class: String::new(),
        submitted: 0.0,
        gpus: 2,
        duration: f64::from(STEPS) * alone,
        step,
        places: HOSTS[row].map(|host| Place { host: HostId(host), gpu: 0 }).to_vec(),
        placement: None,
        checkpoints: 0.0,
    }
}

/// Weeks in which who comes is there at once, step by step.
pub(crate) fn ask() -> Ask {
    Ask {
        span: 1e5,
        queue: QueuePolicy::Fifo,
        placement: PlacementPolicy::Packed,
        rank_order: RankOrder::Given,
        defragment: None,
        checkpoints: None,
        reads: None,
        serving: None,
        sharing: SharingPolicy::Ecmp,
        levels: 8,
        gate: true,
        replan: 0.0,
        queue_pairs: 1,
        jitter: 0.0,
        steady: 0.0,
        seed: 1,
    }
}

/// Seconds at which the pairs end in weeks of jobs.
fn ends_of_weeks(case: &Case, pairs: &[Pair], share: f64) -> Vec<f64> {
    let jobs: Vec<ClusterJob> = pairs.iter().enumerate().map(cluster_job).collect();
    let plant = Plant::new(&case.fabric, 4);
    let (request, response) = (Bytes(1_000_000), Bytes(1_000_000));
    let asked = Inference { requests_per_s: share * UPLINK / 1e6, request, response, tide: 0.0 };
    let serving = Serving::new(&plant, vec![Place { host: HostId(1), gpu: 0 }], &asked, 1, (1e5, 1)).unwrap();
    let lived = live(&jobs, &plant, &Ask { serving: Some(serving), ..ask() });
    assert!(lived.jobs.iter().all(|job| job.steps == f64::from(STEPS)));
    lived.jobs.iter().map(|job| job.ended.unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// One or two jobs beside requests and answers end when flows say, where each beat's bytes come and go at their fair
    /// share: below it they take what they ask for, as in weeks. A step has microseconds of hops that weeks do not know, and
    /// ends within a beat. Up to a quarter of the uplink they agree within 0.2 % on all that was looked at; near a third, which
    /// is the fair share beside two jobs, a beat may last longer in flows, and jobs of equal steps lock in other ways.
    #[test]
    fn jobs_beside_inference_end_when_flows_say(
        drawn in prop::collection::vec((20u64..120, 400u64..2_500), 1..3),
        share in 0.02..0.25f64,
    ) {
        let pairs: Vec<Pair> = drawn.iter().map(|&(compute_ms, megabytes)| Pair { compute_ms, megabytes }).collect();
        let case = case(&pairs, share);
        let log = engine(EngineName::Flow, 1).run(&case, 0);
        let flows = log.job_ends(&case.work);
        for (row, (weeks, flows)) in ends_of_weeks(&case, &pairs, share).iter().zip(&flows).enumerate() {
            let flows = flows.seconds();
            prop_assert!((weeks - flows).abs() < 0.02 * flows, "job {row}: {weeks} {flows} {drawn:?} {share}");
        }
        // What they cost one job alone is the closed form, or the comparison might say nothing.
        let (without, with) = (ends_of_weeks(&case, &pairs, 0.0), ends_of_weeks(&case, &pairs, share));
        let communicates = f64::from(STEPS) * drawn[0].1 as f64 * 1e6 / UPLINK;
        let exact = without[0] + communicates * share / (1.0 - share);
        prop_assert!(drawn.len() > 1 || (with[0] - exact).abs() < 1e-6 * exact, "{with:?} {exact}");
    }
}

const BASE: &str = r#"
schema = 1
name = "beside"
[fabric]
preset = "leaf-spine"
leaves = 8
hosts_per_leaf = 4
uplinks = 4
uplink_capacity = "200 Gbps"
host = { model = "hgx-a100", nics = 4 }
[storage]
hosts = 4
gateways = 4
on = "backend"
[cluster]
days = 0.8
queue = "backfill"
placement = "spread"
[cluster.inference]
gpus = 24
requests_per_s = 400
request = "1 MB"
response = "2 MB"
tide = 0.5
[cluster.stream]
load = 1.0
median = "20 min"
sigma = 1.0
"#;

fn told_of(text: &str, seeds: &[u64]) -> Result<Vec<Told>, railtwin::Error> {
    let question = Question::of_text("weeks.toml", text, Path::new(env!("CARGO_MANIFEST_DIR")));
    let point = question.points()?.remove(0);
    let cluster = question.cluster(&point.scenario)?;
    cluster.told(&[cluster.spec.sharing], seeds, &|| ())
}

fn told(text: &str) -> Told {
    told_of(text, &[1]).unwrap().remove(0)
}

#[test]
fn every_key_of_inference_is_heard() {
    let base = told(BASE);
    assert!(base.value("inference_slowdown").unwrap() > 1.0, "{:?}", base.figures);
    let share = base.value("inference_link_share").unwrap();
    assert!(share > 0.02 && share < 1.0, "{share}");
    for (old, new) in [
        ("gpus = 24", "gpus = 16"),
        ("gpus = 24", "hosts = [0, 5, 9]"),
        ("requests_per_s = 400", "requests_per_s = 500"),
        ("request = \"1 MB\"", "request = \"2 MB\""),
        ("response = \"2 MB\"", "response = \"1 MB\""),
        ("tide = 0.5", "tide = 0.9"),
        ("gateways = 4", "gateways = 8"),
    ] {
        assert!(BASE.contains(old), "{old}");
        assert_ne!(told(&BASE.replacen(old, new, 1)).jobs, base.jobs, "{new} changes nothing");
    }
    // With nobody asking the same GPUs are none of jobs', and nothing else.
    let quiet = told(&BASE.replace("requests_per_s = 400", "requests_per_s = 0"));
    assert!(
        quiet.notes[0].contains("24 GPUs that nobody asks anything, and a tide of nothing"),
        "{:?}",
        quiet.notes
    );
    assert_eq!((quiet.gpus, quiet.value("inference_slowdown")), (base.gpus, Some(1.0)));
    assert_eq!(quiet.value("inference_link_share"), Some(0.0));
    let arrived = |told: &Told| told.jobs.iter().map(|job| job.submitted_s).collect::<Vec<f64>>();
    assert_eq!(arrived(&quiet), arrived(&base));
    let start = BASE.find("[cluster.inference]").unwrap();
    let end = BASE.find("[cluster.stream]").unwrap();
    let nobody = format!("{}{}", &BASE[..start], &BASE[end..])
        .replace("[storage]\nhosts = 4\ngateways = 4\non = \"backend\"\n", "");
    let nobody = told(&nobody);
    assert_eq!(nobody.value("inference_slowdown"), None);
    assert!(nobody.gpus > base.gpus + 23);
}

/// Hour by hour the share of the fullest link is that of the tide, whose top is at 15 o'clock.
#[test]
fn the_tide_is_told_hour_by_hour() {
    let base = told(BASE);
    let shares: Vec<f64> = base.hours.inference_link_share.iter().map(|share| share.unwrap()).collect();
    assert_eq!(shares.len(), 20, "0.8 days are 19 hours and a part of one");
    let most = shares.iter().copied().fold(0.0, f64::max);
    assert_eq!(Some(most), base.value("inference_link_share"));
    assert!(shares[14] == most || shares[15] == most, "{shares:?}");
    let day = told(&BASE.replace("days = 0.8", "days = 1.5")).hours.inference_link_share;
    assert_eq!((day.len(), &day[..20]), (36, &base.hours.inference_link_share[..]));
    assert_eq!(day[..12], day[24..], "every day is alike");
    // 1 - tide at its lowest and 1 + tide at its top, within half an hour of either.
    let least = day.iter().map(|share| share.unwrap()).fold(f64::INFINITY, f64::min);
    assert!((least / most / (0.5 / 1.5) - 1.0).abs() < 0.02, "{least} {most}");
    let nobody = &BASE[..BASE.find("[cluster.inference]").unwrap()]
        .replace("[storage]\nhosts = 4\ngateways = 4\non = \"backend\"\n", "");
    let nobody = told(&format!("{nobody}[cluster.stream]\nload = 1.0\nmedian = \"20 min\"\n"));
    assert!(nobody.hours.inference_link_share.iter().all(Option::is_none));
}

#[test]
fn what_cannot_be_served_is_said_in_one_error() {
    let wrong = |old: &str, new: &str| {
        assert!(BASE.contains(old), "{old}");
        told_of(&BASE.replacen(old, new, 1), &[1]).unwrap_err().to_string()
    };
    for (old, new, words) in [
        ("gpus = 24\n", "", "nobody serves"),
        ("gpus = 24", "gpus = 24\nhosts = [1]", "gpus beside hosts"),
        ("gpus = 24", "gpus = 0", "gpus"),
        ("gpus = 24", "gpus = 4000", "cluster.inference.gpus: 4000 GPUs serve, and the cluster has"),
        ("gpus = 24", "hosts = [99]", "cluster.inference.hosts has host 99, but the fabric has hosts 0 to"),
        ("gpus = 24", "hosts = [3, 3]", "cluster.inference.hosts has host 3 twice"),
        ("gateways = 4\n", "", "there is no gateway by which requests come"),
        ("requests_per_s = 400", "requests_per_s = -1", "requests_per_s"),
        ("requests_per_s = 400\n", "", "requests_per_s"),
        ("tide = 0.5", "tide = 1.5", "tide"),
        ("tide = 0.5", "tide = 0.5\nbeat = \"1 ms\"", "beat"),
        ("requests_per_s = 400", "requests_per_s = 100000", "o'clock requests and answers ask"),
        ("placement = \"spread\"", "placement = \"own\"", "puts no GPUs that serve"),
        (
            "[cluster]\n",
            "[frontend]\n[cluster]\n",
            "`frontend` beside [cluster], of which nothing goes over it",
        ),
    ] {
        let message = wrong(old, new);
        assert!(message.contains(words), "{new}: {words}: {message}");
    }
    // The message says a rate that is carried.
    let message = wrong("requests_per_s = 400", "requests_per_s = 100000");
    let less = message.split("write less than ").nth(1).unwrap().split(',').next().unwrap();
    let less: f64 = less.parse().unwrap();
    let near = |rate: f64| {
        let text = BASE.replace("requests_per_s = 400", &format!("requests_per_s = {rate}"));
        told_of(&text, &[1]).map(|told| told[0].value("inference_link_share").unwrap())
    };
    assert!(near(less * 0.99).unwrap() > 0.98);
    assert!(near(less * 1.01).is_err());
}

#[test]
fn a_list_puts_no_job_on_gpus_that_serve() {
    let folder = std::env::temp_dir().join(format!("railtwin-inference-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("jobs.csv"),
        "name,submitted,gpus,duration,class,places\na,0,8,600,bert-large,2:0-7\n",
    )
    .unwrap();
    let start = BASE.find("[cluster.stream]").unwrap();
    let of = |hosts: &str| {
        let text = BASE[..start]
            .replace("gpus = 24", hosts)
            .replace("days = 0.8", "days = 0.8\njobs = \"jobs.csv\"");
        let question = Question::of_text("weeks.toml", &text, &folder);
        let point = question.points()?.remove(0);
        let cluster = question.cluster(&point.scenario)?;
        cluster.told(&[cluster.spec.sharing], &[1], &|| ())
    };
    let error = of("hosts = [2]").unwrap_err().to_string();
    let lived = of("hosts = [3]").unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(error.contains("places job \"a\" on GPU 0 of host 2, which serves inference"), "{error}");
    assert_eq!(lived[0].jobs[0].held, [(16, 23)]);
}
