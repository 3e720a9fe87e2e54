//! What figures say of jobs that did not end, of several jobs, and of the parts of a step.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::path::Path;

use proptest::prelude::*;
use railtwin::simulate::mean_step;
use railtwin::{Question, Run};
use railtwin_engine::RunLog;

const FABRIC: &str = "[fabric]\npreset = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 2\nuplinks = 2\nhost = { model = \"plain\" }\n";

fn run(text: &str) -> Run {
    let text = format!("schema = 1\nname = \"f\"\n{text}");
    let question = Question::of_text("f.toml", &text, Path::new("."));
    let point = question.points().unwrap().remove(0);
    Run::of(question.resolve(&point.scenario).unwrap(), &|| ())
}

/// Every figure has a value or says why it has none.
fn all_say_why(run: &Run) {
    for figure in &run.info.figures {
        assert_eq!(figure.value.is_some(), figure.reason.is_empty(), "{figure:?}");
    }
}

fn reason<'a>(run: &'a Run, name: &str) -> &'a str {
    let figure = run.info.figure(name).unwrap_or_else(|| panic!("no {name}"));
    assert_eq!(figure.value, None, "{name}");
    &figure.reason
}

fn training(before: &str, after: &str) -> String {
    let host = "host = { model = \"hgx-h800\", nic_ports = 1, nic_port_capacity = \"400 Gbps\" }";
    format!(
        "[run]\nsteps = 4\n{before}[fabric]\npreset = \"hpn\"\nsegments = 1\nhosts = 2\nspare_hosts = 0\nspines = 4\n\
         {host}\n[[job]]\nname = \"train\"\n\
         workload = {{ recipe = \"llama-7b\", tp = 8, dp = 2, micro_batch = 4 }}\n{after}"
    )
}

const FLAP: &str =
    "[[fault]]\nat = \"300 ms\"\ncable = \"host-0/nic-0:port-0\"\nkind = \"flap\"\nlength = \"2 s\"\n";

#[test]
fn a_job_that_halts_is_not_the_fastest() {
    let short = run(&training("", &format!("{FLAP}[transport]\ntimeout = 14\n")));
    let long = run(&training("", &format!("{FLAP}[transport]\ntimeout = 18\n")));
    assert_eq!((short.figure("halted"), long.figure("halted")), (Some(1.0), Some(0.0)));
    assert!(!short.simulation.as_ref().unwrap().replicates[0].steps.is_empty(), "some steps ended before");
    let why = reason(&short, "step_time");
    assert!(why.starts_with("halted at ") && why.ends_with(" ms"), "{why}");
    let whole = ["step_time_p5", "step_time_p95", "tokens_per_s", "mfu", "exposed_compute", "exposed_idle"];
    for name in whole.into_iter().chain(["worst_link_utilization", "time_lost_share", "time_lost"]) {
        assert_eq!(reason(&short, name), why, "{name}");
        assert!(long.figure(name).is_some(), "{name}");
    }
    all_say_why(&short);
    all_say_why(&long);
    let lead: Vec<&str> = short.info.figures[..4].iter().map(|figure| figure.name.as_str()).collect();
    assert_eq!(lead, ["halted", "stall_time", "time_lost_share", "step_time"]);
    let page = short.payload().unwrap();
    assert_eq!(page["seeds"].as_array().unwrap().len(), 0, "no step time of a job that did not end");
}

#[test]
fn an_expectation_of_a_missing_figure_says_why() {
    let after = format!(
        "{FLAP}[transport]\ntimeout = 14\n[expect]\nstep_time = {{ at_most = \"9 s\" }}\nspeed = {{ at_least = 1 }}\n"
    );
    let missed: Vec<String> =
        run(&training("", &after)).unexpected().iter().map(ToString::to_string).collect();
    assert!(missed[1].starts_with("step_time is missing (halted at "), "{missed:?}");
    assert_eq!(missed[0], "speed is missing (the run has no such figure), expected at least 1");
}

#[test]
fn other_ends_have_their_reasons() {
    let job = "[[job]]\nhosts = 4\ncollective = { kind = \"all-reduce\", bytes = \"1 GB\" }\n";
    let hung = run(&format!(
        "{FABRIC}{job}[[fault]]\nat = \"1 ms\"\nrank = \"job-0/3\"\nkind = \"hang\"\n[run]\nsteps = 2\n"
    ));
    assert_eq!(reason(&hung, "step_time"), "hung from 1 ms on");
    assert_eq!(reason(&hung, "busbw_mean"), "hung from 1 ms on");
    assert_eq!(hung.figure("halted"), Some(0.0));
    all_say_why(&hung);
    let ended = run(&format!("{FABRIC}{job}"));
    assert!(ended.figure("step_time").is_some() && ended.info.figure("halted").is_none());
    all_say_why(&ended);
}

#[test]
fn simulated_time_that_ends_is_a_reason() {
    let mut run = run(&format!(
        "{FABRIC}[[job]]\nhosts = 4\ncollective = {{ kind = \"all-reduce\", bytes = \"1 GB\" }}\n"
    ));
    let case = &run.resolved.case;
    let log: &mut RunLog = &mut run.simulation.as_mut().unwrap().log;
    assert_eq!(railtwin::stops::of_run(case, log), None);
    *log.times.end.last_mut().unwrap() = railtwin_units::SimTime::NEVER;
    assert!(railtwin::stops::of_run(case, log).unwrap().starts_with("stood still from "));
    log.time_up = true;
    assert_eq!(railtwin::stops::of_run(case, log).unwrap(), "not ended at the end of simulated time");
}

const TWO: &str = "[[job]]\nname = \"a\"\nhosts = 2\nplacement = { hosts = [0, 2] }\n\
    collective = { kind = \"all-reduce\", bytes = \"1 GB\" }\n\
    [[job]]\nname = \"b\"\nhosts = 2\nplacement = { hosts = [1, 3] }\nstart = \"5 s\"\n\
    collective = { kind = \"all-reduce\", bytes = \"1 MB\", compute = \"2000 s\" }\n";

#[test]
fn figures_of_several_jobs_have_their_names() {
    let both = run(&format!("{FABRIC}{TWO}"));
    let value = |name: &str| both.figure(name).unwrap_or_else(|| panic!("no {name}"));
    assert!(value("a.step_time") < 1.0);
    assert!((value("b.step_time") - 2000.0).abs() < 1.0, "the wait for its start is no part of its step");
    assert_eq!(value("jobs.step_time_max"), value("b.step_time"));
    assert_eq!(value("jobs.busbw_mean"), value("a.busbw_mean"));
    assert!(value("b.exposed_idle") < 1e-3, "{}", value("b.exposed_idle"));
    assert!((value("b.exposed_compute") - 2000.0).abs() < 1e-6 && value("b.exposed_other") < 1.0);
    let of_job = ["step_time", "busbw", "exposed", "halted", "stall_time", "throughput_", "mfu", "volume"];
    for figure in &both.info.figures {
        assert!(
            figure.name.contains('.') || !of_job.iter().any(|name| figure.name.starts_with(name)),
            "{figure:?}"
        );
    }
    assert!(both.info.figure("a.exposed_compute").is_none() && both.info.figure("b.busbw_mean").is_none());
    assert_eq!(value("operations_unfinished"), 0.0);
    all_say_why(&both);
    let names: std::collections::BTreeSet<&str> = both.info.figures.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names.len(), both.info.figures.len());
}

#[test]
fn one_job_of_several_that_halts_leaves_the_others_their_figures() {
    let fault = "[[fault]]\nat = \"1 ms\"\nnic = \"host-0/nic-0\"\nkind = \"down\"\n";
    let both = run(&format!("{FABRIC}{TWO}{fault}[transport]\ntimeout = 14\n"));
    let why = reason(&both, "a.step_time");
    assert!(why.starts_with("halted at "), "{why}");
    for total in ["jobs.step_time_max", "jobs.busbw_mean", "worst_link_utilization"] {
        assert_eq!(reason(&both, total), format!("a {why}"), "{total}");
    }
    assert_eq!((both.figure("a.halted"), both.figure("b.halted")), (Some(1.0), Some(0.0)));
    assert_eq!(both.figure("jobs.halted"), Some(1.0));
    assert!(both.figure("b.step_time").is_some());
    all_say_why(&both);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Every moment of a step belongs to one axis or to none: the parts are the step time, for any number of steps,
    /// jobs and lanes, and wherever jobs begin.
    #[test]
    fn the_parts_of_a_step_are_the_step(
        steps in 1_u32..6,
        late_ms in 0_u32..5_000,
        pp in 1_u32..3,
        micro_batches in 1_u32..4,
        compute_us in 0_u32..50_000,
        slow in any::<bool>(),
    ) {
        let fault = if slow { "[[fault]]\nat = \"10 ms\"\nrank = \"train/3\"\nkind = \"slow-gpu\"\nfactor = 3.0\n" } else { "" };
        let run = run(&format!(
            "[run]\nsteps = {steps}\nreplicates = 3\n[fabric]\npreset = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 8\n\
             uplinks = 2\n[[job]]\nname = \"train\"\nstart = \"{late_ms} ms\"\nplacement = \"spread\"\n\
             workload = {{ recipe = \"llama-7b\", tp = 8, pp = {pp}, dp = 2, micro_batches = {micro_batches} }}\n\
             [[job]]\nname = \"ring\"\nhosts = 2\nplacement = \"spread\"\n\
             collective = {{ kind = \"all-reduce\", bytes = \"64 MB\", compute = \"{compute_us} us\" }}\n{fault}"
        ));
        let simulation = run.simulation.as_ref().unwrap();
        for (row, job) in ["train", "ring"].into_iter().enumerate() {
            for replicate in &simulation.replicates {
                let step = mean_step(replicate, row).unwrap();
                let sum: f64 = replicate.exposed[row].iter().map(|part| part.exposed).sum();
                prop_assert!((sum - step).abs() <= 1e-9 * step, "{job}: {sum} of {step}");
            }
            let start = format!("{job}.exposed_");
            let parts = run.info.figures.iter().filter(|figure| figure.name.starts_with(&start));
            let sum: f64 = parts.map(|figure| figure.value.unwrap()).sum();
            let chosen = mean_step(&simulation.replicates[simulation.chosen as usize], row).unwrap();
            prop_assert!(sum == 0.0 || (sum - chosen).abs() <= 1e-9 * chosen, "{job}: {sum} of {chosen}");
            prop_assert!(row > 0 || sum > 0.0);
        }
        all_say_why(&run);
    }
}
