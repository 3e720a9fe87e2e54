//! Jobs that end by time: what ended before counts, what they sent is off the network, and controllers are told.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::path::Path;

use proptest::prelude::*;
use railtwin::engines::engine;
use railtwin::stops::Stop;
use railtwin::{Question, Run};
use railtwin_engine::{Case, IncidentKind, Outage, RunLog};
use railtwin_fabric::HostId;
use railtwin_scenario::EngineName;
use railtwin_units::SimTime;

const BOTH: [EngineName; 2] = [EngineName::Flow, EngineName::Packet];

/// Two jobs on the same two uplinks; each with keys of its own.
fn text(first: &str, second: &str) -> String {
    let job = |name: &str, hosts: &str, more: &str| {
        format!(
            "[[job]]\nname = \"{name}\"\nplacement = {{ hosts = [{hosts}] }}\n{more}\n\
             collective = {{ kind = \"all-reduce\", bytes = \"2 MB\", algorithm = \"ring\", compute = \"20 us\" }}\n"
        )
    };
    format!(
        "schema = 1\nname = \"ends\"\nseed = 7\n[fabric]\npreset = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 2\n\
         uplinks = 1\nparallel = 1\nrails_per_leaf = 1\nchip = \"51200 Gbps\"\nhost = {{ model = \"plain\" }}\n\
         [routing]\nqueue_pairs = 2\n[packet]\nstart_jitter = \"0 s\"\n{}{}",
        job("first", "0, 2", first),
        job("second", "1, 3", second)
    )
}

fn case(text: &str, name: EngineName) -> Case {
    let question = Question::of_text("ends.toml", text, Path::new(".")).with_engine(Some(name));
    let point = question.points().unwrap().remove(0);
    question.resolve(&point.scenario).unwrap().case
}

fn run(text: &str, name: EngineName) -> Run {
    let question = Question::of_text("ends.toml", text, Path::new(".")).with_engine(Some(name));
    let point = question.points().unwrap().remove(0);
    Run::of(question.resolve(&point.scenario).unwrap(), &|| ())
}

/// The same with messages that take long, and the second job on one host, where it computes for 10 ms.
fn beside_a_long_one(first: &str) -> String {
    let text = text(first, "steps = 10").replace("2 MB", "10 MB").replacen("[1, 3]", "[1]", 1);
    let (one, two) = text.split_at(text.find("name = \"second\"").unwrap());
    format!("{one}{}", two.replace("20 us", "1 ms"))
}

fn log(case: &Case, name: EngineName, threads: u32) -> RunLog {
    engine(name, threads).run(case, 0)
}

fn refused(text: &str) -> String {
    let question = Question::of_text("ends.toml", text, Path::new("."));
    match question.points() {
        Err(error) => error.to_string(),
        Ok(mut points) => question.resolve(&points.remove(0).scenario).unwrap_err().to_string(),
    }
}

fn us(us: u64) -> SimTime {
    SimTime::from_ns(us * 1_000)
}

/// Ends of the steps of a job that ended.
fn ends(case: &Case, row: usize, log: &RunLog) -> Vec<SimTime> {
    railtwin::exposed::steps_of(&case.work.jobs[row], &log.times).into_iter().map(|(.., end)| end).collect()
}

#[test]
fn what_ended_before_is_what_it_was_and_the_network_is_free_after() {
    for name in BOTH {
        let whole = case(&text("steps = 20", "steps = 20"), name);
        let all = log(&whole, name, 1);
        // In the middle of its sixth step.
        let of_first = ends(&whole, 0, &all);
        let until = SimTime::from_ps(of_first[4].ps().midpoint(of_first[5].ps()));
        let mut cut = whole.clone();
        cut.work.jobs[0].until = until;
        let log_of_cut = log(&cut, name, 1);
        assert_eq!(ends(&cut, 0, &log_of_cut), &of_first[..5], "{name:?}");
        assert_eq!((log_of_cut.unfinished, Stop::of(&cut, 0, &log_of_cut)), (0, None), "{name:?}");
        let sent = |log: &RunLog| log.link_bytes.iter().sum::<f64>();
        assert!(sent(&log_of_cut) < sent(&all), "{name:?}");
        // The other one is as it was until then, and soon after it has the links for itself.
        let (before, after) = (ends(&whole, 1, &all), ends(&cut, 1, &log_of_cut));
        let same = before.iter().filter(|&&end| end < until).count();
        assert_eq!(before[..same], after[..same], "{name:?}");
        let mut single = whole.clone();
        single.work.jobs[0].until = SimTime::from_ps(1);
        let alone = ends(&single, 1, &log(&single, name, 1));
        let step = |ends: &[SimTime], of: usize| ends[of].since(ends[of - 1]).seconds();
        let (last, lonely, crowded) = (step(&after, 18), step(&alone, 18), step(&before, 18));
        assert!((last / lonely - 1.0).abs() < 0.01, "{name:?}: {last} after, {lonely} alone");
        assert!(crowded > 1.2 * lonely, "{name:?}: {crowded} beside it, {lonely} alone");
    }
}

#[test]
fn a_time_says_how_many_steps_there_are() {
    for name in BOTH {
        for key in ["until = \"2 ms\"", "duration = \"2 ms\""] {
            let text = text(key, "steps = 3");
            let made = case(&text, name);
            assert_eq!((made.work.jobs[0].until, made.work.jobs[0].steps), (us(2_000), 100));
            let question = Question::of_text("ends.toml", &text, Path::new(".")).with_engine(Some(name));
            let point = question.points().unwrap().remove(0);
            let run = Run::of(question.resolve(&point.scenario).unwrap(), &|| ());
            let ended = ends(&made, 0, &log(&made, name, 1)).len();
            assert!((5..100).contains(&ended), "{ended}");
            assert_eq!(run.figure("first.steps_ended"), Some(ended as f64), "{:?}", run.info.figures);
            assert!(run.figure("first.step_time").is_some() && run.figure("second.steps_ended").is_none());
            assert!(!run.info.headline.contains("first"), "{}", run.info.headline);
        }
        let late = case(&text("start = \"1 ms\"\nduration = \"2 ms\"", ""), name);
        assert_eq!(late.work.jobs[0].until, us(3_000));
        // Too short for a step: a figure says so.
        let question = Question::of_text("ends.toml", &text("until = \"30 us\"", ""), Path::new("."));
        let question = question.with_engine(Some(name));
        let point = question.points().unwrap().remove(0);
        let run = Run::of(question.resolve(&point.scenario).unwrap(), &|| ());
        let figure = run.info.figure("first.step_time").unwrap();
        assert_eq!((figure.value, figure.reason.as_str()), (None, "no step ended by 30 us"));
    }
}

#[test]
fn a_job_that_hangs_before_its_end_hangs() {
    let fault = "[[fault]]\nat = \"500 us\"\nkind = \"crash\"\nrank = \"first/1\"\ncause = \"bug\"\n";
    let made = case(&format!("{}{fault}", text("duration = \"2 ms\"", "steps = 20")), EngineName::Flow);
    let done = log(&made, EngineName::Flow, 1);
    let words = |row| Stop::of(&made, row, &done).map(Stop::words);
    assert_eq!((words(0).as_deref(), words(1)), (Some("hung from 500 us on"), None));
    let never = |end: &&SimTime| **end == SimTime::NEVER;
    assert_eq!(
        done.unfinished,
        done.times.end[made.work.jobs[0].operations()].iter().filter(never).count() as u64
    );
    let late = fault.replace("500 us", "2500 us");
    let made = case(&format!("{}{late}", text("duration = \"2 ms\"", "steps = 20")), EngineName::Flow);
    assert_eq!(Stop::of(&made, 0, &log(&made, EngineName::Flow, 1)), None, "it had ended");
}

#[test]
fn controllers_hear_that_a_job_was_ended() {
    // Paths of the second are weighed anew once the first is gone.
    let control = "[control]\nfeedback = \"50 us\"\nreport = \"1 us\"\n";
    let text = |more: &str| {
        let text = text(more, "steps = 20").replace("uplinks = 1", "uplinks = 2");
        text.replace("queue_pairs = 2\n", "queue_pairs = 2\nbalancer = \"crux\"\n") + control
    };
    for name in BOTH {
        let made = case(&text("duration = \"1 ms\""), name);
        let (one, two) = (log(&made, name, 1), log(&made, name, 2));
        assert_eq!(one, two, "{name:?}");
        let last = |log: &RunLog| ends(&made, 1, log).len();
        assert_eq!((last(&one), one.unfinished), (20, 0), "{name:?}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    for (first, told) in [
        ("until = \"1 ms\"\nduration = \"1 ms\"", "until beside duration, which both say when the job ends"),
        ("start = \"2 ms\"\nuntil = \"1 ms\"", "the job starts at 2 ms and is to end at 1 ms"),
        ("until = \"3 h\"", "there is time for up to 540000000 steps of 2 operations"),
        ("duration = \"0 s\"", "duration"),
    ] {
        let told_is = refused(&text(first, ""));
        assert!(told_is.contains(told), "{first}: {told_is}");
    }
    let bare = text("until = \"1 ms\"", "").replace(", compute = \"20 us\"", "");
    assert!(refused(&bare).contains("a step computes nothing"), "{}", refused(&bare));
    case(&bare.replace("until = \"1 ms\"", "until = \"1 ms\"\nsteps = 50"), EngineName::Flow);
}

#[test]
fn what_is_cut_off_counts_for_as_long_and_as_much_as_it_moved() {
    for name in BOTH {
        let whole = run(&beside_a_long_one("steps = 4"), name);
        let times = &whole.simulation.as_ref().unwrap().log.times;
        // Two fifths into the fourth all-reduce.
        let (start, end) = (times.start[7].ps(), times.end[7].ps());
        let until = (start + (end - start) * 2 / 5) / 1_000;
        let cut = run(&beside_a_long_one(&format!("until = \"{until} ns\"")), name);
        let figure = "utilization_in_flight_leaf_to_spine";
        let (of_whole, of_cut) = (whole.figure(figure).unwrap(), cut.figure(figure).unwrap());
        assert!((of_cut / of_whole - 1.0).abs() < 0.05, "{name:?}: {of_cut} of {of_whole}");
        let headline = &cut.info.headline;
        assert!(!headline.contains("Nothing is at its limit"), "{headline}");
        assert!(!headline.contains("never arrived"), "{headline}");
        assert_eq!(cut.figure("packet_flows_unfinished").unwrap_or_default(), 0.0);
        let bytes = cut.simulation.as_ref().unwrap().log.pattern_bytes[0];
        assert!((bytes - 34e6).abs() < 1e6, "{name:?}: {bytes}");
    }
}

#[test]
fn a_stall_lasts_until_the_processes_are_ended_in_both_engines() {
    let fault = "[[fault]]\nat = \"1 ms\"\nkind = \"down\"\nspine = \"spine-0\"\n";
    let text = beside_a_long_one("until = \"2 ms\"") + fault;
    let stall = BOTH.map(|name| run(&text, name).figure("first.stall_time").unwrap());
    assert!(stall.iter().all(|seconds| (0.95e-3..1.05e-3).contains(seconds)), "{stall:?}");
    // Who lost nothing did not wait for it.
    for name in BOTH {
        let mut made = case(&beside_a_long_one("until = \"1 ms\""), name);
        let nic = made.fabric.nic(HostId(3), 0);
        let cable = made.fabric.ports(nic).find_map(|port| made.fabric.cable_at(port)).unwrap();
        let outage = Outage { cable, from: us(500), until: SimTime::NEVER, silent: None };
        made.faults = railtwin_engine::fault::events(&[outage]);
        let stalled = |kind| matches!(kind, IncidentKind::Stalled(_));
        assert!(!log(&made, name, 1).incidents.iter().any(|one| stalled(one.kind)), "{name:?}");
    }
}

#[test]
fn an_end_that_comes_after_the_job_stood_still_changes_nothing() {
    let halts = "[[fault]]\nat = \"300 us\"\nkind = \"down\"\nspine = \"spine-0\"\n\
                 [transport]\ntimeout = 4\nretry_count = 3\n";
    let crash = "[[fault]]\nat = \"500 us\"\nkind = \"crash\"\nrank = \"first/1\"\ncause = \"bug\"\n";
    // Packets know no rank that is gone.
    let all = [(BOTH[0], halts), (BOTH[1], halts), (BOTH[0], crash)];
    for (name, fault) in all {
        let of = |first: &str| {
            let made = case(&format!("{}{fault}", beside_a_long_one(first)), name);
            let done = log(&made, name, 1);
            let words = Stop::of(&made, 0, &done).map(Stop::words);
            (words, done)
        };
        let ((words, whole), (same, late)) = (of("steps = 20"), of("steps = 20\nuntil = \"100 s\""));
        assert!(words.is_some() && words == same, "{name:?}: {words:?} {same:?}");
        assert!(late.unfinished > 0, "{name:?}");
        let of_log = |log: &RunLog| (log.unfinished, log.end, log.counted(), log.incidents.clone());
        assert_eq!(of_log(&whole), of_log(&late), "{name:?}");
        assert_eq!(whole.link_bytes, late.link_bytes, "{name:?}");
    }
}

#[test]
fn nothing_breaks_after_the_last_job_was_ended() {
    let fault = "[[fault]]\nat = \"1200 us\"\nkind = \"down\"\nspine = \"spine-0\"\n";
    let text = text("until = \"1 ms\"", "until = \"1 ms\"").replace("20 us", "700 us") + fault;
    for name in BOTH {
        let run = run(&text, name);
        let simulation = run.simulation.as_ref().unwrap();
        assert_eq!(simulation.log.incidents, [], "{name:?}");
        let lost = run.info.figure("first.time_lost").unwrap();
        assert_eq!(
            (lost.value, lost.reason.as_str()),
            (None, "no fault begins or ends within the run"),
            "{name:?}"
        );
    }
}

#[test]
fn telemetry_tells_of_the_steps_that_ended() {
    let telemetry = |more: &str, name| {
        let run = run(&format!("{}[telemetry]\n{more}", text("until = \"2 ms\"", "steps = 20")), name);
        let told = run.telemetry.as_ref().unwrap();
        (told.steps, told.stop.map(|(_, stop)| stop.words()), told.span_ns[1], run)
    };
    let late = "[[fault]]\nat = \"3 ms\"\nkind = \"crash\"\nrank = \"first/1\"\ncause = \"bug\"\n";
    for (name, more) in [(BOTH[0], ""), (BOTH[0], late), (BOTH[1], "")] {
        let (steps, stop, _, run) = telemetry(more, name);
        assert_eq!((Some(steps as f64), stop), (run.figure("first.steps_ended"), None), "{name:?}");
        assert!(run.figure("first.step_time").is_some(), "{name:?}: {:?}", run.info.figures);
        assert_eq!(run.figure("accusations"), Some(0.0), "{name:?}");
    }
    let early = late.replace("3 ms", "500 us");
    let (_, stop, span, _) = telemetry(&early, BOTH[0]);
    assert_eq!(stop.as_deref(), Some("hung from 500 us on"));
    assert!(span < 2_000_000, "watched for {span} ns");
}

#[test]
fn a_number_of_steps_that_nobody_goes_by_is_told() {
    let warned = |first: &str, second: &str| {
        let run = run(&format!("{}[run]\nsteps = 5\n", text(first, second)), BOTH[0]);
        run.info.warnings.iter().any(|warning| warning.contains("no job goes by run.steps"))
    };
    assert!(warned("until = \"1 ms\"", "duration = \"1 ms\""));
    assert!(warned("until = \"1 ms\"", "steps = 3"));
    assert!(!warned("until = \"1 ms\"", ""));
    assert!(!warned("steps = 2\nuntil = \"1 ms\"", "steps = 3"));
    let jitter = refused(&text("until = \"1 ms\"\ncompute_jitter = 1.0", ""));
    assert!(jitter.contains("with compute_jitter = 1 a step may compute nothing"), "{jitter}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn whenever_jobs_end_what_ended_before_the_first_end_is_what_it_was(
        until in prop::array::uniform2(20_000_u64..3_000_000), starts in prop::array::uniform2(0_u64..400_000),
    ) {
        for name in BOTH {
            let mut whole = case(&text("steps = 20", "steps = 20"), name);
            for (job, start) in whole.work.jobs.iter_mut().zip(starts) {
                job.start = SimTime::from_ns(start);
            }
            let mut made = whole.clone();
            for (job, until) in made.work.jobs.iter_mut().zip(until) {
                job.until = SimTime::from_ps(job.start.ps() + 1_000 * until);
            }
            let (all, done) = (log(&whole, name, 1), log(&made, name, 1));
            prop_assert_eq!(&done, &log(&made, name, 2));
            prop_assert_eq!((done.unfinished, done.time_up), (0, false));
            let first = made.work.jobs.iter().map(|job| job.until).min().unwrap();
            for (row, job) in made.work.jobs.iter().enumerate() {
                prop_assert_eq!(Stop::of(&made, row, &done), None);
                let ended = done.times.end[job.operations()].iter().filter(|&&end| end < SimTime::NEVER);
                prop_assert!(ended.max().is_none_or(|&end| end <= job.until));
                let before = |case: &Case, log: &RunLog| {
                    ends(case, row, log).into_iter().filter(|&end| end < first).collect::<Vec<_>>()
                };
                prop_assert_eq!(before(&whole, &all), before(&made, &done));
            }
        }
    }
}
