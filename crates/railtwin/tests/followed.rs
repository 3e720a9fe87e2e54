//! Runs that are steered: what stopped the job, who went, who came, and the steps that were done again, in both engines.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::path::Path;

use proptest::prelude::*;
use railtwin::exposed::steps_of;
use railtwin::life::{Followed, follow};
use railtwin::{Question, Resolved, Run};
use railtwin_control::Action;
use railtwin_engine::IncidentKind;
use railtwin_fabric::HostId;
use railtwin_reliability::downtime::Part;
use railtwin_scenario::EngineName;
use railtwin_units::SimTime;

/// A job on two hosts of each of two segments, with a spare in each, and one beside it on the fourth host of each.
pub fn text(keys: &str, steering: &str, faults: &str) -> String {
    format!(
        "schema = 1\nname = \"followed\"\nseed = 3\n[fabric]\npreset = \"hpn\"\nsegments = 2\nhosts = 3\n\
         spare_hosts = 1\nspines = 2\n[packet]\nstart_jitter = \"0 s\"\n[transport]\ntimeout = 4\nretry_count = 3\n\
         [[job]]\nname = \"train\"\nplacement = {{ hosts = [0, 1, 4, 5] }}\n{keys}\n\
         collective = {{ kind = \"all-reduce\", bytes = \"8 MB\", compute = \"500 us\" }}\n\
         [steering]\ncheckpoint = \"2 ms\"\ndetection = \"3 ms\"\nisolation = \"2 ms\"\nrestart = \"4 ms\"\n\
         watchdog = \"9 ms\"\nanswer = \"20 ms\"\n{steering}\n\
         by_hand = {{ ecc_nvlink = \"30 ms\", cuda = \"30 ms\", ccl_timeout = \"30 ms\", ack_timeout = \"30 ms\", \
         unknown = \"30 ms\" }}\n{faults}"
    )
}

pub fn resolved(text: &str, name: EngineName) -> Resolved {
    let question = Question::of_text("followed.toml", text, Path::new(".")).with_engine(Some(name));
    let point = question.points().unwrap().remove(0);
    question.resolve(&point.scenario).unwrap()
}

pub fn followed(text: &str, name: EngineName) -> Followed {
    follow(&resolved(text, name)).unwrap()
}

pub fn ms(ms: u64) -> SimTime {
    SimTime::from_ns(ms * 1_000_000)
}

const GPU: &str = "[[fault]]\nat = \"12 ms\"\nkind = \"gpu-error\"\nrank = \"train/9\"\ncause = \"ecc\"\n";

pub fn actions(followed: &Followed) -> Vec<(&'static str, &'static str)> {
    followed.life.shown().done.iter().map(|done| (done.action.name(), done.reason)).collect()
}

/// Hosts of a row of the case in the order of ranks.
pub fn hosts(followed: &Followed, row: usize) -> Vec<HostId> {
    let mut hosts: Vec<HostId> =
        followed.resolved.case.placements[row].iter().map(|place| place.host).collect();
    hosts.dedup();
    hosts
}

#[test]
fn a_gpu_fails_a_spare_comes_and_steps_since_the_checkpoint_are_done_again() {
    let done = followed(&text("steps = 30", "", GPU), EngineName::Flow);
    let (life, lived) = (&done.life, done.life.shown());
    assert_eq!(
        actions(&done).iter().map(|(action, _)| *action).collect::<Vec<_>>(),
        ["isolate", "swap", "restart"]
    );
    let [one] = &lived.standstills[..] else { panic!("{:?}", lived.standstills) };
    assert_eq!((one.failed, one.detected, one.isolated), (ms(12), Some(ms(15)), Some(ms(17))));
    assert_eq!((one.replaced, one.restarted), (Some(ms(17)), Some(ms(21))));
    // Rank 9 was on the second host of the job; the spare of its segment has its ranks, and nobody else moved.
    let [before, after] = [0, 1].map(|row| hosts(&done, row));
    assert_eq!(before, [0, 1, 4, 5].map(HostId));
    assert_eq!(after, [0, 3, 4, 5].map(HostId), "{:?}", lived.done);
    let gpus =
        |row: usize| done.resolved.case.placements[row].iter().map(|place| place.gpu).collect::<Vec<_>>();
    assert_eq!(gpus(0), gpus(1));
    // Steps up to the last checkpoint stay: one after so many steps as take 2 ms.
    let run = Run::of(resolved(&text("steps = 30", "", GPU), EngineName::Flow), &|| ());
    let (case, log) = (&run.resolved.case, &run.simulation.as_ref().unwrap().log);
    let every = 2e-3_f64 / life.step.seconds();
    let every = every.ceil() as usize;
    let ended = steps_of(&case.work.jobs[0], &log.times);
    let kept = ended.len() / every * every;
    assert!(kept > 0 && ended.len() > kept, "{} steps, a checkpoint after {every}", ended.len());
    assert_eq!(one.checkpoint, ended[kept - 1].2);
    assert_eq!(
        (case.work.jobs[1].name.as_str(), case.work.jobs[1].steps as usize),
        ("train-again-1", 30 - kept)
    );
    assert_eq!(lived.steps, 30);
    // Nothing else is on the network, so that its end is known: as the healthy run, but for what was lost.
    let again = steps_of(&case.work.jobs[1], &log.times);
    assert_eq!((again.len(), again[0].1), (30 - kept, ms(21)));
    let end = ms(21).seconds() + (30 - kept) as f64 * life.step.seconds();
    assert!((life.span.seconds() / end - 1.0).abs() < 1e-6, "{} of {end}", life.span);
    let hours = life.span.seconds();
    let share = |part: Part| lived.shares[part] * hours;
    assert!(
        (share(Part::Detection) - 3e-3).abs() < 1e-9 && (share(Part::Reinitialisation) - 4e-3).abs() < 1e-9
    );
    let productive = 30.0 * life.step.seconds();
    assert!((share(Part::Productive) - productive).abs() < 1e-6 * productive, "{}", share(Part::Productive));
    assert!((share(Part::PostCheckpoint) - (12e-3 - kept as f64 * life.step.seconds())).abs() < 1e-6);
    // Figures, tables and the headline tell of it, and no job hangs.
    assert_eq!(
        (run.figure("crashes"), run.figure("swaps"), run.figure("steps_kept")),
        (Some(1.0), Some(1.0), Some(30.0))
    );
    assert!((run.figure("downtime").unwrap() - (1.0 - productive / hours)).abs() < 1e-6);
    assert!(run.figure("train-again-1.step_time").is_some() && run.figure("train.step_time").is_some());
    assert!(
        run.info.headline.contains(" of the time is downtime") && !run.info.headline.contains("hung"),
        "{}",
        run.info.headline
    );
    let rows =
        |name: &str| run.tables().iter().find(|table| table.name == name).map(railtwin_records::Table::rows);
    assert_eq!((rows("actions"), rows("standstills")), (Some(3), Some(1)));
}

#[test]
fn who_shares_the_fabric_has_it_for_itself_while_the_job_stands_still() {
    let beside = "[[job]]\nname = \"beside\"\nplacement = { hosts = [2, 6] }\nduration = \"30 ms\"\n\
                  collective = { kind = \"all-reduce\", bytes = \"4 MB\", compute = \"10 us\" }\n";
    let narrow = text("steps = 12", "", &format!("{GPU}{beside}"))
        .replace("spines = 2\n", "spines = 1\nuplink = \"100 Gbps\"\n")
        .replace("8 MB", "64 MB")
        // What waits behind the other's packets is not to die of it.
        .replace("timeout = 4", "timeout = 8");
    for name in [EngineName::Flow, EngineName::Packet] {
        // Packets know no GPU that dies: there its NIC does.
        let narrow = match name {
            EngineName::Packet => {
                narrow.replace(GPU, "[[fault]]\nat = \"12 ms\"\nkind = \"down\"\nnic = \"host-1/nic-1\"\n")
            }
            EngineName::Flow => narrow.clone(),
        };
        let run = Run::of(resolved(&narrow, name), &|| ());
        let (case, log) = (&run.resolved.case, &run.simulation.as_ref().unwrap().log);
        assert_eq!(
            case.work.jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>(),
            ["train", "beside", "train-again-1"]
        );
        let one = &run.life.as_ref().unwrap().shown().standstills[0];
        let (out, again) = (one.isolated.unwrap(), one.restarted.unwrap());
        let mean = |from: SimTime, to: SimTime| {
            let steps = steps_of(&case.work.jobs[1], &log.times).into_iter();
            let took: Vec<f64> = steps
                .filter(|(_, start, end)| *start >= from && *end <= to)
                .map(|(_, start, end)| end.since(start).seconds())
                .collect();
            assert!(!took.is_empty(), "{name:?}: no step of the other within {from} to {to}");
            took.iter().sum::<f64>() / took.len() as f64
        };
        let (crowded, alone) = (mean(SimTime::ZERO, ms(12)), mean(out, again));
        assert!(crowded > 1.1 * alone, "{name:?}: {crowded} beside the job, {alone} while it stood still");
    }
}

#[test]
fn both_engines_take_a_host_out_whose_nic_is_dead() {
    // Both ports of a NIC: queue pairs die after their last retransmission.
    let dead = "[[fault]]\nat = \"10 ms\"\nkind = \"down\"\nnic = \"host-4/nic-2\"\n";
    let mut told = Vec::new();
    for name in [EngineName::Flow, EngineName::Packet] {
        let run = Run::of(resolved(&text("steps = 16", "", dead), name), &|| ());
        let done = Followed { resolved: run.resolved.clone(), life: run.life.clone().unwrap() };
        let lived = done.life.shown();
        let [one] = &lived.standstills[..] else { panic!("{name:?}: {:?}", lived.standstills) };
        // It stands still since its queue pair waits, and not since it died: 4.096 us times 2^4, four times.
        assert!(one.failed >= ms(10) && one.failed < ms(20), "{name:?}: {}", one.failed);
        let log = &run.simulation.as_ref().unwrap().log;
        let at = |wanted: IncidentKind| log.incidents.iter().find(|one| one.kind == wanted).unwrap().at;
        let (waits, died) = (at(IncidentKind::Stalled(0)), at(IncidentKind::Halted(0)));
        assert_eq!(one.failed, waits.max(ms(10)), "{name:?}");
        assert!(died.since(one.failed) > SimTime::from_ns(100_000), "{name:?}: {died}");
        assert_eq!(one.detected, Some(one.failed.saturating_add(ms(3))), "{name:?}");
        assert_eq!(hosts(&done, 1), [0, 1, 7, 5].map(HostId), "{name:?}");
        assert_eq!(lived.steps, 16, "{name:?}");
        told.push(actions(&done));
    }
    assert_eq!(told[0], told[1]);
    let run = |threads| {
        let mut resolved = resolved(&text("steps = 16", "", dead), EngineName::Packet);
        resolved.threads = threads;
        Run::of(resolved, &|| ())
    };
    let [one, two] = [1, 2].map(run);
    assert_eq!(one.simulation.as_ref().unwrap().log, two.simulation.as_ref().unwrap().log);
    // Its queue pair died, and the figure says so beside the incident.
    let has_halted =
        |run: &Run| run.tables().iter().any(|table| table.name == "incidents" && table.rows() > 0);
    assert!(has_halted(&one));
    assert_eq!((one.figure("train.halted"), one.figure("train-again-1.halted")), (Some(1.0), Some(0.0)));
}

/// Who follows operations live is done before the last retransmission, where that comes later.
#[test]
fn c4d_acts_while_queue_pairs_still_try() {
    let dead = "[[fault]]\nat = \"10 ms\"\nkind = \"down\"\nnic = \"host-4/nic-2\"\n";
    // Four times 8.4 ms until it dies: the host is out 5 ms after the fault.
    let text = text("steps = 16", "", dead).replace("timeout = 4", "timeout = 11");
    for name in [EngineName::Flow, EngineName::Packet] {
        let run = Run::of(resolved(&text, name), &|| ());
        let lived = run.life.as_ref().unwrap().shown();
        let [one] = &lived.standstills[..] else { panic!("{name:?}: {:?}", lived.standstills) };
        assert!(one.failed >= ms(10) && one.failed < ms(11), "{name:?}: {}", one.failed);
        assert_eq!(one.isolated, Some(one.failed.saturating_add(ms(5))), "{name:?}");
        assert_eq!((lived.steps, run.figure("train.halted")), (16, Some(0.0)), "{name:?}");
    }
}

#[test]
fn what_only_slows_a_job_is_taken_out_while_it_runs() {
    let slow = "[[fault]]\nat = \"6 ms\"\nkind = \"slow-gpu\"\nrank = \"train/20\"\nfactor = 2.0\n";
    let done = followed(&text("steps = 30", "automatic = [\"unknown\", \"cuda\"]", slow), EngineName::Flow);
    let lived = done.life.shown();
    let [one] = &lived.standstills[..] else { panic!("{:?} {:?}", lived.standstills, lived.done) };
    // Found after 3 ms, out 2 ms later, and until then it ran.
    assert_eq!((one.failed, one.kind), (ms(11), None));
    assert_eq!(hosts(&done, 1), [0, 1, 7, 5].map(HostId));
    let slow = lived.shares[Part::SlowCommunication] + lived.shares[Part::SlowOther];
    assert!(slow > 0.0, "{:?}", lived.shares);
    assert!((lived.shares.total() - 1.0).abs() < 1e-9);
    // A policy that leaves it to people leaves it where it is.
    let left = text("steps = 30", "automatic = []", slow_fault()).replace("20 ms", "90 h");
    let left = followed(&left, EngineName::Flow);
    assert_eq!((left.life.shown().standstills.len(), left.resolved.case.work.jobs.len()), (0, 1));
}

fn slow_fault() -> &'static str {
    "[[fault]]\nat = \"6 ms\"\nkind = \"slow-gpu\"\nrank = \"train/20\"\nfactor = 2.0\n"
}

#[test]
fn people_see_to_what_is_in_no_host_and_the_job_goes_on_where_it_was() {
    // All leaves of a segment: nobody of it reaches anybody else.
    let bug = "[[fault]]\nat = \"12 ms\"\nkind = \"size-mismatch\"\nrank = \"train/3\"\n";
    let done = followed(&text("steps = 30", "", bug), EngineName::Flow);
    let lived = done.life.shown();
    let [one] = &lived.standstills[..] else { panic!("{:?}", lived.standstills) };
    assert_eq!(hosts(&done, 1), hosts(&done, 0));
    assert!(one.isolated.unwrap() > one.detected.unwrap(), "people take their time");
    assert_eq!((lived.steps, actions(&done)), (30, vec![("restart", "cleared")]));
}

#[test]
fn faults_meet_whoever_is_there_when_they_come() {
    // The host that went fails again, which nobody feels; the spare fails, and the segment has none left: one of the pod.
    let later = |host: &str, at: &str| {
        format!("[[fault]]\nat = \"{at}\"\nkind = \"crash\"\nhost = \"{host}\"\ncause = \"bug\"\n")
    };
    let faults = format!("{GPU}{}{}", later("host-1", "24 ms"), later("host-3", "26 ms"));
    let done = followed(&text("steps = 40", "", &faults), EngineName::Flow);
    let lived = done.life.shown();
    assert_eq!(lived.standstills.len(), 2, "{:?}", lived.standstills);
    assert_eq!([0, 1, 2].map(|row| hosts(&done, row)[1]), [1, 3, 7].map(HostId));
    // What comes while it stands still shows when it starts, and is found at once.
    let meanwhile = format!("{GPU}{}", later("host-5", "19 ms"));
    let done = followed(&text("steps = 40", "", &meanwhile), EngineName::Flow);
    let found: Vec<&str> = done.life.shown().standstills.iter().map(|one| one.finder.name()).collect();
    assert_eq!(found, ["detectors", "start"]);
    assert_eq!(hosts(&done, 2), [0, 3, 4, 7].map(HostId));
    assert_eq!(done.life.shown().steps, 40);
}

#[test]
fn without_a_spare_it_stands_still_and_says_so() {
    let without = text("steps = 30", "", GPU).replace("spare_hosts = 1", "spare_hosts = 0");
    let without = without.replace("[0, 1, 4, 5]", "[0, 1, 3, 4]");
    let run = Run::of(resolved(&without, EngineName::Flow), &|| ());
    let life = run.life.as_ref().unwrap();
    let [one] = &life.shown().standstills[..] else { panic!("{:?}", life.shown().standstills) };
    assert_eq!((one.isolated, one.restarted), (Some(ms(17)), None));
    assert_eq!(run.resolved.case.work.jobs.len(), 1);
    assert!(run.figure("step_time").is_none(), "it never ended");
}

#[test]
fn detectors_and_people_differ_by_what_they_take() {
    let time = |steering: &str| followed(&text("steps = 30", steering, GPU), EngineName::Flow).life.span;
    let (with, without) = (time(""), time("c4d = false"));
    assert!(without > with.saturating_add(ms(6)), "{with} with C4D, {without} without");
    // Nobody waits for detectors that take longer than the watchdog.
    let late = text("steps = 30", "", GPU).replace("detection = \"3 ms\"", "detection = \"90 ms\"");
    let late = followed(&late, EngineName::Flow);
    let one = &late.life.shown().standstills[0];
    assert_eq!((one.finder.name(), one.detected), ("watchdog", Some(ms(12 + 9))));
    let swept = |key: &str, short: &str, long: &str| {
        let text = |value: &str| {
            let plain = text("steps = 30", "", GPU);
            let line = plain.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
            plain.replace(&line, &format!("{key} = \"{value}\""))
        };
        [short, long].map(|value| followed(&text(value), EngineName::Flow).life.span)
    };
    for key in ["detection", "isolation", "restart", "checkpoint"] {
        let [short, long] = swept(key, "1 ms", "8 ms");
        assert!(long > short, "{key}: {short} and {long}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let plain = text("steps = 30", "", GPU);
    for (text, told) in [
        (text("steps = 30", "", ""), "[steering] of a scenario in which nothing fails"),
        (plain.clone() + "[telemetry]\njob = \"train-again-0\"\n", "no job is called `train-again-0`"),
        (plain.clone() + "[run]\nreplicates = 2\n", "[steering] follows one run, and there are 2 replicates"),
        (
            text("count = 2", "", &GPU.replace("train/9", "train-0/9"))
                .replace("placement = { hosts = [0, 1, 4, 5] }", "hosts = 2"),
            "[steering] follows the first job, of which there are 2",
        ),
    ] {
        let question = Question::of_text("followed.toml", &text, Path::new("."));
        let told_is = question.points().unwrap_err().to_string();
        assert!(told_is.contains(told), "{told_is}");
    }
    // The backup host of the segment has the ranks of a host that another job has lost.
    let spare = "[[job]]\nname = \"other\"\nplacement = { hosts = [2] }\nlost = [2]\n\
                 collective = { kind = \"all-reduce\", bytes = \"1 MB\" }\n";
    let error = follow(&resolved(&format!("{plain}{spare}"), EngineName::Flow)).unwrap_err().to_string();
    assert!(error.contains("host-3 is a spare and job `other` runs on it"), "{error}");
    let idle = text("steps = 30", "lives = 3\ncheckpoint_cost = \"1 s\"\nfalse_alarms = 2.0", GPU);
    let warnings = resolved(&idle, EngineName::Flow).case.all_warnings();
    let told = "steering.lives, steering.checkpoint_cost and steering.false_alarms change nothing";
    assert!(warnings.iter().any(|one| one.starts_with(told)), "{warnings:?}");
    let tests = text("steps = 30", "tests = \"1 s\"", GPU);
    let warnings = resolved(&tests, EngineName::Flow).case.all_warnings();
    let told = "steering.tests changes nothing: with `[[fault]]` nobody is accused wrongly";
    assert!(warnings.iter().any(|one| one == told), "{warnings:?}");
    let [short, long] =
        [tests.as_str(), &text("steps = 30", "", GPU)].map(|text| followed(text, EngineName::Flow).life);
    assert_eq!(short.shown().done, long.shown().done, "and it changes nothing");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn whatever_fails_every_moment_is_booked_and_every_step_is_done(
        faults in prop::collection::vec((1_u64..90, 0_u32..8, 0_u8..4), 1..5), spares in 1_u32..3, c4d in any::<bool>(),
    ) {
        let fault = |&(at, host, kind): &(u64, u32, u8)| {
            let what = match kind {
                0 => format!("kind = \"hang\"\nrank = \"train/{}\"", 4 * host),
                1 => format!("kind = \"gpu-error\"\ngpu = \"host-{host}/gpu-1\"\ncause = \"cuda\""),
                2 => format!("kind = \"down\"\nnic = \"host-{host}/nic-0\""),
                _ => format!("kind = \"slow-gpu\"\nhost = \"host-{host}\"\nfactor = 1.5"),
            };
            format!("[[fault]]\nat = \"{at} ms\"\n{what}\n")
        };
        let faults: String = faults.iter().map(fault).collect();
        let text = text("steps = 30", &format!("c4d = {c4d}"), &faults)
            .replace("spare_hosts = 1", &format!("spare_hosts = {spares}"))
            .replace("[0, 1, 4, 5]", &format!("[0, 1, {}, {}]", 3 + spares, 4 + spares));
        let done = followed(&text, EngineName::Flow);
        let lived = done.life.shown();
        prop_assert!((lived.shares.total() - 1.0).abs() < 1e-6, "{}", lived.shares.total());
        let parts = [Part::Detection, Part::Waiting, Part::PostCheckpoint, Part::Productive];
        prop_assert!(parts.iter().all(|&part| lived.shares[part] > -1e-9), "{:?}", lived.shares);
        let jobs = &done.resolved.case.work.jobs;
        let run = Run::of(resolved(&text, EngineName::Flow), &|| ());
        let log = &run.simulation.as_ref().unwrap().log;
        let last = jobs.last().unwrap();
        let whole = steps_of(last, &log.times).len() == last.steps as usize;
        prop_assert_eq!(whole, lived.steps == 30, "{} steps, {:?}", lived.steps, lived.standstills);
        // Nobody runs on a host that was taken out and not repaired.
        let out: Vec<HostId> = lived.done.iter().filter_map(|one| match one.action {
            Action::Isolate(host) => Some(host),
            _ => None,
        }).collect();
        let of_last = hosts(&done, jobs.len() - 1);
        prop_assert!(out.is_empty() || whole || lived.standstills.iter().any(|one| one.restarted.is_none())
            || of_last.iter().all(|host| !out.contains(host)));
    }
}
