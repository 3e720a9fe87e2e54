//! Weeks of jobs from a scenario: every key is heard, threads change nothing, bad questions get one error.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::path::Path;

use railtwin::Question;
use railtwin::cluster::Told;
use railtwin::schedule::SharingPolicy;
use railtwin_scenario::{ClusterSpec, ClusterStream};

const BASE: &str = r#"
schema = 1
name = "weeks"
[fabric]
preset = "leaf-spine"
leaves = 8
hosts_per_leaf = 3
uplinks = 4
uplink_capacity = "200 Gbps"
host = { model = "hgx-a100", nics = 4 }
[cluster]
days = 0.5
queue = "backfill"
sharing = "crux"
[cluster.stream]
load = 1.2
median = "20 min"
sigma = 1.0
"#;

fn told(text: &str) -> Result<Vec<Told>, railtwin::Error> {
    let question = Question::of_text("weeks.toml", text, Path::new(env!("CARGO_MANIFEST_DIR")));
    let point = question.points()?.remove(0);
    let cluster = question.cluster(&point.scenario)?;
    let told = cluster.told(&[cluster.spec.sharing], &[cluster.seed], &|| ())?;
    assert!(told[0].jobs.len() > 5, "{} jobs", told[0].jobs.len());
    Ok(told)
}

#[test]
fn every_key_is_heard() {
    let base = told(BASE).unwrap();
    let lists = "[cluster]\njobs = \"../../data/job_traces/openb_twin.csv\"\ndays = 100\n";
    for (old, new) in [
        ("days = 0.5", "days = 0.7"),
        ("queue = \"backfill\"", "queue = \"fifo\""),
        ("sharing = \"crux\"", "sharing = \"sincronia\""),
        ("[cluster]", "[cluster]\nplacement = \"spread\""),
        ("[cluster]", "[cluster]\nplacement = \"random\""),
        ("[cluster]", "[cluster]\nplacement = \"segment-first\""),
        ("[cluster]", "[cluster]\nplacement = \"hived-like\""),
        ("[cluster]", "[cluster]\nplacement = \"muri-like\""),
        ("[cluster]", "[cluster]\nrank_order = \"topology\"\nplacement = \"spread\""),
        ("[cluster]", "[cluster]\nlevels = 2"),
        ("[cluster]", "[cluster]\nreplan = \"20 min\""),
        ("[cluster]", "[cluster]\nqueue_pairs = 4"),
        ("[cluster]", "[cluster]\npaths = 2"),
        ("[cluster]", "[cluster]\njitter = 0"),
        ("load = 1.2", "load = 0.7"),
        ("median = \"20 min\"", "median = \"30 min\""),
        ("sigma = 1.0", "sigma = 0.5"),
        ("sigma = 1.0", "sigma = 1.0\nlongest = \"10 min\""),
        ("sigma = 1.0", "sigma = 1.0\ntide = 0.8"),
        ("sigma = 1.0", "sigma = 1.0\ngpus = 64"),
        ("sigma = 1.0", "sigma = 1.0\narrivals = \"../../data/job_traces/openb_twin.csv\""),
        ("name = \"weeks\"", "name = \"weeks\"\nseed = 2"),
    ] {
        assert!(BASE.contains(old), "{old}");
        assert_ne!(told(&BASE.replacen(old, new, 1)).unwrap(), base, "{new} changes nothing");
    }
    let even = |steady: &str| {
        told(&BASE.replacen("[cluster]", &format!("[cluster]\njitter = 0\n{steady}"), 1)).unwrap()
    };
    // Jobs end at other times, not only with other effort.
    assert_ne!(even("steady = 0")[0].jobs, even("")[0].jobs);
    let with = |storage: &str, checkpoint: &str| {
        let keys = format!("[storage]\nhosts = {storage}\n[cluster]\ncheckpoint = {{ {checkpoint} }}");
        told(&BASE.replacen("[cluster]", &keys, 1)).unwrap()
    };
    let of = |bytes: u32, every: u32| {
        with("1", &format!("bytes_per_gpu = \"{bytes} GB\", every = \"{every} min\""))
    };
    let written = of(30, 60);
    assert!(written != base && written != of(15, 60) && written != of(30, 90));
    assert_ne!(written, with("2", "bytes_per_gpu = \"30 GB\", every = \"60 min\""));
    let unread =
        told(&BASE.replacen("[cluster]", "[storage]\nhosts = 1\n[cluster]", 1)).unwrap_err().to_string();
    assert!(unread.contains("`storage` beside [cluster]"), "{unread}");
    // Jobs move where segments are torn.
    let torn = BASE
        .replace("[cluster]", "[cluster]\nplacement = \"segment-first\"")
        .replace("hosts_per_leaf = 3", "hosts_per_leaf = 6");
    let moving = told(&torn.replacen("[cluster]", "[cluster]\ndefragment = \"2 min\"", 1)).unwrap();
    assert_ne!(moving, told(&torn).unwrap());
    assert!(moving[0].effort.moves > 0);
    // Rings of several jobs cross PCIe switches, where one is held back or not.
    let pcie = BASE.replace("nics = 4 }", "nics = 4, pcie_switches = 4, nvlink = \"0 Gbps\" }");
    let gated = told(&pcie).unwrap();
    assert_ne!(gated, told(&pcie.replacen("[cluster]", "[cluster]\ngate = false", 1)).unwrap());
    let list = BASE.split("[cluster]").next().unwrap().to_owned() + lists;
    assert!(told(&list).unwrap()[0].jobs[0].name.contains("pod"));
}

/// What weeks of jobs do not read is said by name, and changes nothing.
#[test]
fn keys_without_effect_are_named() {
    let base = told(BASE).unwrap().remove(0);
    let named = |text: &str| {
        let mut one = told(text).unwrap().remove(0);
        let notes = std::mem::replace(&mut one.notes, base.notes.clone());
        // A note of its own says this, too.
        one.idle_gate = None;
        (one == base, notes.into_iter().filter(|note| !base.notes.contains(note)).collect::<Vec<_>>())
    };
    let host = |keys: &str| BASE.replace("nics = 4 }", &format!("{keys} }}"));
    for key in
        ["nvlink_delay = \"9 us\"", "pcie_delay = \"9 us\"", "gpu_memory = \"1 GB\"", "caps = \"none\""]
    {
        let (is_same, notes) = named(&host(&format!("nics = 4, {key}")));
        let name = key.split(' ').next().unwrap();
        assert!(is_same && notes.len() == 1, "{key}: {notes:?}");
        assert!(notes[0].starts_with(&format!("fabric.host.{name} changes nothing: ")), "{notes:?}");
    }
    for key in ["delay", "switch_latency"] {
        let found = named(&BASE.replace("uplinks = 4", &format!("uplinks = 4\n{key} = \"9 us\"")));
        let why = "contention over weeks is a fluid without delays";
        assert_eq!(found, (true, vec![format!("fabric.{key} changes nothing: {why}")]));
    }
    // Over NVLink jobs meet on no link inside a host; over PCIe switches they do, and other policies have no gate.
    let gate = |text: &str| text.replacen("[cluster]", "[cluster]\ngate = false", 1);
    let met =
        "cluster.gate changes nothing: no two jobs met on a link inside a host that is too narrow for both";
    assert_eq!(named(&gate(BASE)), (true, vec![met.to_owned()]));
    let pcie = host("nics = 4, pcie_switches = 4, nvlink = \"0 Gbps\"");
    assert_eq!(named(&gate(&pcie)), (false, Vec::new()));
    // Pairs of GPUs share a NIC, whose port is narrower than PCIe.
    let list = "[cluster]\ndays = 0.1\nsharing = \"crux\"\njobs = \"../../data/crux_testbed/pcie-resnet-8-bert-16.csv\"\n";
    let list = host("nics = 4, pcie_switches = 4").split("[cluster]").next().unwrap().to_owned() + list;
    let question = |text: &str| {
        let question = Question::of_text("weeks.toml", text, Path::new(env!("CARGO_MANIFEST_DIR")));
        let cluster = question.cluster(&question.points().unwrap().remove(0).scenario).unwrap();
        cluster.told(&[SharingPolicy::Crux], &[1], &|| ()).unwrap().remove(0)
    };
    let (mut ungated, gated) = (question(&gate(&list)), question(&list));
    let notes = std::mem::replace(&mut ungated.notes, gated.notes.clone());
    ungated.idle_gate = None;
    assert!(ungated == gated && notes.iter().any(|note| note == met), "{notes:?}");
    let (_, notes) = named(&gate(&BASE.replace("\"crux\"", "\"ecmp\"")));
    assert_eq!(notes, ["cluster.gate changes nothing: ecmp has no gate"]);
}

/// Who is slowed most ends last, so those that still run are told of, too.
#[test]
fn those_that_still_run_are_told_of() {
    let mut running = 0.0;
    for sharing in ["ecmp", "crux", "varys"] {
        let text = BASE.replace("\"crux\"", &format!("\"{sharing}\"")).replace("200 Gbps", "25 Gbps");
        let one =
            told(&text.replacen("[cluster]", "[cluster]\nplacement = \"spread\"", 1)).unwrap().remove(0);
        let value = |name: &str| one.value(name).unwrap();
        let span = one.days * 86_400.0;
        let had = |job: &&railtwin::cluster::JobTold| {
            let (ran, alone) = (job.ended_s.unwrap_or(span) - job.started_s.unwrap(), job.step_alone_s);
            (job.ended_s.is_some() || ran >= 10.0 * alone).then(|| job.steps * alone / ran)
        };
        let started: Vec<_> = one.jobs.iter().filter(|job| job.started_s.is_some()).collect();
        let all: Vec<f64> = started.iter().filter_map(had).collect();
        assert!((value("throughput_mean") - all.iter().sum::<f64>() / all.len() as f64).abs() < 1e-9);
        assert_eq!(value("jobs_starved"), all.iter().filter(|one| **one < 0.1).count() as f64);
        let left: Vec<_> = started.iter().filter(|job| job.ended_s.is_none()).collect();
        assert_eq!(value("jobs_running"), left.len() as f64);
        running += value("jobs_running");
        let least = left.iter().filter_map(|job| had(job)).fold(1.0, f64::min);
        assert!((value("throughput_loss_worst_running") - (1.0 - least)).abs() < 1e-9, "{sharing}");
        assert!(value("throughput_loss_worst_running") > 0.0, "{sharing}");
        assert!(one.figures.iter().filter_map(|figure| figure.value).all(f64::is_sign_positive));
    }
    assert!(running > 3.0);
}

#[test]
fn threads_and_order_change_nothing() {
    let question = Question::of_text("weeks.toml", BASE, Path::new("."));
    let point = question.points().unwrap().remove(0);
    let cluster = question.cluster(&point.scenario).unwrap();
    let policies = [SharingPolicy::Ecmp, SharingPolicy::Cassini, SharingPolicy::Crux];
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| cluster.told(&policies, &[1, 2], &|| ()).unwrap())
    };
    let told = on(1);
    assert_eq!(told, on(4));
    let names: Vec<&str> = told.iter().map(|one| one.policy).collect();
    assert_eq!(names, ["ecmp", "ecmp", "cassini", "cassini", "crux", "crux"]);
    // The same jobs under every policy.
    let jobs = |one: &Told| -> Vec<(String, f64)> {
        one.jobs.iter().map(|job| (job.name.clone(), job.submitted_s)).collect()
    };
    assert_eq!(jobs(&told[0]), jobs(&told[4]));
    assert_ne!(jobs(&told[0]), jobs(&told[1]));
}

#[test]
fn what_cannot_be_asked_is_said_in_one_error() {
    let wrong = |old: &str, new: &str| told(&BASE.replacen(old, new, 1)).unwrap_err().to_string();
    let both = wrong("[cluster]", "[run]\nsteps = 3\n[cluster]");
    assert!(both.contains("`run` beside [cluster]"), "{both}");
    let plain = wrong("model = \"hgx-a100\"", "model = \"plain\"");
    assert!(plain.contains("nothing says how fast they compute"), "{plain}");
    let missing =
        wrong("[cluster.stream]\nload = 1.2\nmedian = \"20 min\"\nsigma = 1.0", "jobs = \"nowhere.csv\"");
    assert!(missing.contains("nowhere.csv") && missing.contains("name a list of jobs"), "{missing}");
    let arrivals = wrong("sigma = 1.0", "sigma = 1.0\narrivals = \"nowhere.csv\"");
    assert!(arrivals.contains("cluster.stream.arrivals: cannot read nowhere.csv"), "{arrivals}");
    let list = "arrivals = \"../../data/job_traces/openb_twin.csv\"";
    let tide = wrong("sigma = 1.0", &format!("sigma = 1.0\ntide = 0.5\n{list}"));
    assert!(tide.contains("a tide beside a list of arrivals"), "{tide}");
    let wide = wrong("sigma = 1.0", "sigma = 5.1");
    assert!(wide.contains("5.1"), "{wide}");
    // Who asks for steps is told who does weeks.
    let question = Question::of_text("weeks.toml", BASE, Path::new("."));
    let point = question.points().unwrap().remove(0);
    let steps = question.resolve(&point.scenario).unwrap_err().to_string();
    assert!(steps.contains("[cluster]"), "{steps}");
}

/// Every key that stands in `[cluster]` and `[cluster.stream]` is in a test of this file or of those beside it.
#[test]
fn no_key_of_weeks_is_left_out() {
    const TESTS: [&str; 4] = [
        include_str!("cluster.rs"),
        include_str!("cluster_inference.rs"),
        include_str!("cluster_ranks.rs"),
        include_str!("cluster_reads.rs"),
    ];
    for key in ClusterSpec::TABLE.keys.iter().chain(ClusterStream::TABLE.keys) {
        let written = [format!("{} = ", key.name), format!("[cluster.{}]", key.name)];
        let is_tested = TESTS.iter().any(|test| written.iter().any(|written| test.contains(written)));
        assert!(is_tested, "{} is in no test", key.name);
    }
}

/// A key that is named in a warning changes nothing: the runs are the judge. Policies without priorities name both.
#[test]
fn keys_that_a_policy_does_not_read_are_named() {
    let short = BASE.replace("days = 0.5", "days = 0.3");
    for policy in SharingPolicy::ALL {
        let own = short.replace("sharing = \"crux\"", &format!("sharing = \"{policy}\""));
        let base = told(&own).unwrap().remove(0);
        assert!(base.notes.is_empty(), "{policy}: {:?}", base.notes);
        for (key, written) in [("cluster.levels", "levels = 1"), ("cluster.replan", "replan = \"20 min\"")] {
            let one =
                told(&own.replacen("[cluster]", &format!("[cluster]\n{written}"), 1)).unwrap().remove(0);
            let is_idle = (&one.jobs, &one.figures) == (&base.jobs, &base.figures);
            let is_named = one.notes.iter().any(|note| note.split(' ').any(|word| word == key));
            assert!(is_idle || !is_named, "{policy}: {written}: {:?}", one.notes);
            // What others read may happen to change nothing in a few hours; these plan no priorities at all.
            let plans_none = ["ecmp", "cassini"].contains(&policy.name());
            assert!(is_named || !plans_none, "{policy}: {written}: {:?}", one.notes);
        }
    }
}

/// Twice as many jobs as GPUs serve, first come first served: a queue is left, and figures say so.
#[test]
fn jobs_that_still_wait_are_in_figures() {
    let text = BASE.replace("queue = \"backfill\"", "queue = \"fifo\"").replace("load = 1.2", "load = 3.0");
    let one = told(&text).unwrap().remove(0);
    let (value, span) = (|name: &str| one.value(name), one.days * 86_400.0);
    let waiting: Vec<_> =
        one.jobs.iter().filter(|job| job.started_s.is_none() && job.gpus <= one.gpus).collect();
    assert!(waiting.len() > 3, "{}", waiting.len());
    assert_eq!(value("jobs_waiting"), Some(waiting.len() as f64));
    assert_eq!(value("gpus_waiting"), Some(waiting.iter().map(|job| f64::from(job.gpus)).sum()));
    let so_far: Vec<f64> = waiting.iter().map(|job| span - job.submitted_s).collect();
    let started: Vec<f64> =
        one.jobs.iter().filter_map(|job| Some(job.started_s? - job.submitted_s)).collect();
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    let near = |name: &str, expected: f64| {
        assert!((value(name).unwrap() - expected).abs() < 1e-6 * expected, "{name}: {:?}", value(name));
    };
    near("waiting_so_far_mean", mean(&so_far));
    near("waiting_mean", mean(&started));
    near("waiting_at_least_mean", mean(&[started, so_far].concat()));
    assert!(value("waiting_at_least_mean") > value("waiting_mean"));
    let note = |name: &str| one.figures.iter().find(|figure| figure.name == name).unwrap().note.clone();
    let wanted = format!("over jobs that started, without {} jobs still waiting", waiting.len());
    assert!(note("waiting_mean").starts_with(&wanted), "{}", note("waiting_mean"));
    let running = one.jobs.iter().filter(|job| job.started_s.is_some() && job.ended_s.is_none()).count();
    assert!(
        note("completion_mean").contains(&format!("without {running} job")),
        "{}",
        note("completion_mean")
    );
    // Where nobody is left waiting nothing is left out, and the mean is the mean.
    let idle = told(&BASE.replace("load = 1.2", "load = 0.3")).unwrap().remove(0);
    assert_eq!(idle.value("jobs_waiting"), Some(0.0));
    assert_eq!(idle.value("waiting_at_least_mean"), idle.value("waiting_mean"));
    assert_eq!(idle.reasons["waiting_so_far_mean"], "no job waits at the end");
    let plain = idle.figures.iter().find(|figure| figure.name == "waiting_mean").unwrap();
    assert_eq!(plain.note, "");
}
