//! Which fault of a run that is steered is found, who goes for it, and what its time is booked as.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use railtwin::Run;
use railtwin::life::Followed;
use railtwin_fabric::HostId;
use railtwin_records::FaultKind;
use railtwin_reliability::downtime::Part;
use railtwin_scenario::EngineName;

use super::followed::{actions, followed, hosts, ms, resolved, text};

/// A fault at so many milliseconds.
fn fault(at: &str, kind: &str, subject: &str) -> String {
    format!("[[fault]]\nat = \"{at} ms\"\nkind = \"{kind}\"\n{subject}\n")
}

fn slow(at: &str, subject: &str) -> String {
    fault(at, "slow-gpu", &format!("factor = 2.0\n{subject}"))
}

fn crash(at: &str, subject: &str) -> String {
    fault(at, "crash", &format!("cause = \"bug\"\n{subject}"))
}

fn in_flows(keys: &str, faults: &str) -> Followed {
    followed(
        &text(
            keys,
            "automatic = [\"unknown\", \"cuda\", \"ecc-nvlink\", \"ack-timeout\", \"ccl-timeout\"]",
            faults,
        ),
        EngineName::Flow,
    )
}

/// Seconds of a part.
fn spent(done: &Followed, part: Part) -> f64 {
    done.life.shown().shares[part] * done.life.span.since(done.resolved.case.work.jobs[0].start).seconds()
}

/// Hosts that were taken out, in order.
fn out(done: &Followed) -> Vec<u32> {
    let gone = |one: &railtwin_reliability::lifetime::Done| match one.action {
        railtwin_control::Action::Isolate(HostId(host)) => Some(host),
        _ => None,
    };
    done.life.shown().done.iter().filter_map(gone).collect()
}

#[test]
fn a_crash_before_a_slow_host_goes_is_a_crash() {
    // Of the same host, between the decision (9 ms) and the isolation (11 ms).
    let done =
        in_flows("steps = 30", &(slow("6", "rank = \"train/20\"") + &crash("10", "rank = \"train/20\"")));
    let [one] = &done.life.shown().standstills[..] else { panic!("{:?}", done.life.shown().standstills) };
    assert_eq!((one.failed, one.kind, one.detected), (ms(10), Some(FaultKind::Crash), Some(ms(10))));
    assert_eq!((one.isolated, done.life.shown().steps), (Some(ms(11)), 30));
    assert!((spent(&done, Part::Diagnosis(one.cause)) - 1e-3).abs() < 1e-9);
    // Of another host: that one is found by itself.
    let done = in_flows("steps = 30", &(slow("6", "rank = \"train/20\"") + &crash("8", "host = \"host-1\"")));
    let first = &done.life.shown().standstills[0];
    assert_eq!((first.failed, first.detected), (ms(8), Some(ms(11))));
    assert_eq!(done.life.shown().steps, 30);
    // What comes much later than a crash does not hide it.
    let later = crash("12", "rank = \"train/9\"") + &slow("26", "gpu = \"host-1/gpu-2\"");
    let done = in_flows("steps = 60", &later);
    let failed: Vec<_> = done.life.shown().standstills.iter().map(|one| one.failed).collect();
    assert_eq!((failed, out(&done)), (vec![ms(12)], vec![1]));
}

#[test]
fn a_queue_pair_that_dies_after_its_port_healed_is_seen_to() {
    let healed = fault("10", "down", "until = \"10.60 ms\"\nnic = \"host-4/nic-2\"");
    let done = followed(&text("steps = 16", "", &healed), EngineName::Packet);
    let lived = done.life.shown();
    let [one] = &lived.standstills[..] else { panic!("{:?}", lived.standstills) };
    assert!(one.failed > ms(10) && one.failed < ms(11), "{}", one.failed);
    assert_eq!((lived.steps, out(&done)), (16, vec![4]));
}

#[test]
fn who_stopped_the_job_goes_and_not_the_latest_fault() {
    let dead = fault("12", "down", "nic = \"host-4/nic-2\"");
    let harmless = fault("12.1", "latency", "delay = \"1 ns\"\nnic = \"host-0/nic-0\"");
    let done = in_flows("steps = 30", &(dead + &harmless));
    assert_eq!((out(&done), done.life.shown().standstills.len()), (vec![4], 1));
    assert_eq!(done.life.shown().steps, 30);
}

#[test]
fn a_spine_that_flaps_does_so_no_more_once_people_saw_to_it() {
    let flap = "[[fault]]\nat = \"12 ms\"\nkind = \"flap\"\nspine = \"spine-0\"\nflaps = 50\nperiod = \"20 ms\"\n\
                length = \"10 ms\"\n";
    let scenario = text("steps = 60", "", flap);
    let fabric = &scenario[scenario.find("[fabric]").unwrap()..scenario.find("[packet]").unwrap()];
    let thin = "[fabric]\npreset = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 2\nuplinks = 1\nparallel = 1\n\
                rails_per_leaf = 1\nchip = \"51200 Gbps\"\nhost = { model = \"plain\" }\n";
    let done = followed(&scenario.replace(fabric, thin).replace("[0, 1, 4, 5]", "[0, 2]"), EngineName::Flow);
    assert_eq!((done.life.shown().standstills.len(), done.life.shown().steps), (1, 60));
}

#[test]
fn a_fault_that_slows_nothing_hides_none_that_does() {
    // Ranks use two NICs of the third host; the eighth is nobody's.
    let slow = |at: &str, nic: &str| fault(at, "slow", &format!("capacity = 0.01\nnic = \"host-4/{nic}\""));
    let scenario = text("gpus = 18\nsteps = 40", "", &(slow("5", "nic-7") + &slow("6", "nic-0")));
    let done = followed(&scenario.replace("[0, 1, 4, 5]", "[0, 1, 4]"), EngineName::Flow);
    assert_eq!((out(&done), done.life.shown().steps), (vec![4], 40));
}

#[test]
fn a_fault_of_a_host_is_of_that_host_alone() {
    // The GPU that becomes slow is of a host that has left: whoever has its place stays.
    let gone = slow("6", "rank = \"train/9\"") + &slow("20", "gpu = \"host-1/gpu-2\"");
    let done = in_flows("steps = 60", &gone);
    assert_eq!((out(&done), hosts(&done, 1)), (vec![1], [0, 3, 4, 5].map(HostId).to_vec()));
    assert_eq!(done.life.shown().idle, 1);
    // The spare that comes is slow: it goes, too.
    let spare = slow("1", "gpu = \"host-7/gpu-0\"") + &slow("6", "rank = \"train/20\"");
    let done = in_flows("steps = 60", &spare);
    assert_eq!(out(&done), [4, 7]);
    assert_eq!(done.life.shown().steps, 60);
}

#[test]
fn faults_before_a_job_begins_are_found_when_it_runs() {
    let done = in_flows("steps = 30\nstart = \"50 ms\"", &slow("1", "rank = \"train/20\""));
    assert!(done.resolved.case.work.jobs[1].start > ms(50));
    assert!((done.life.shown().shares.total() - 1.0).abs() < 1e-9, "{:?}", done.life.shown().shares);
    // A slow GPU is no matter of the network.
    assert!(spent(&done, Part::SlowOther) > 1e-3 && spent(&done, Part::SlowCommunication) == 0.0);
}

#[test]
fn hangs_that_end_and_storage_that_stalls_are_found() {
    let hang = fault("12", "hang", "until = \"2012 ms\"\nrank = \"train/3\"");
    let done = in_flows("steps = 40", &hang);
    let [one] = &done.life.shown().standstills[..] else { panic!("{:?}", done.life.shown().standstills) };
    assert_eq!((one.failed, one.detected, out(&done)), (ms(12), Some(ms(15)), vec![0]));
    // One that is over before anybody finds it is a slow step.
    let short = fault("12", "hang", "until = \"14 ms\"\nrank = \"train/3\"");
    let done = in_flows("steps = 40", &short);
    assert!(done.life.shown().standstills.is_empty() && done.life.shown().steps == 40);
    let stall = fault("12", "storage-stall", "host = \"host-1\"\ndelay = \"100 ms\"");
    assert_eq!(out(&in_flows("steps = 40", &stall)), [1]);
}

#[test]
fn steps_that_are_long_by_design_are_not_slow() {
    // Every fourth step waits for its checkpoint.
    let keys = "steps = 16\ncheckpoint = { bytes_per_gpu = \"200 MB\", every = 4, blocking = true }";
    let storage = text(keys, "", &crash("30", "rank = \"train/3\""))
        .replace("[packet]", "[storage]\nhosts = 2\non = \"backend\"\n[packet]");
    for scenario in
        [storage, text("steps = 30\ncompute_jitter = 0.2", "", &fault("5", "down", "nic = \"host-2/nic-0\""))]
    {
        let done = followed(&scenario, EngineName::Flow);
        let slow =
            done.life.shown().shares[Part::SlowCommunication] + done.life.shown().shares[Part::SlowOther];
        assert!(slow < 1e-6, "{slow}, {:?}", actions(&done));
    }
}

#[test]
fn nothing_starts_after_the_end_of_the_job() {
    for faults in [slow("6", "rank = \"train/20\""), crash("8", "rank = \"train/9\"")] {
        let done = in_flows("duration = \"10 ms\"", &faults);
        assert_eq!(done.resolved.case.work.jobs.len(), 1);
        assert_eq!(done.life.span, ms(10));
        assert!((done.life.shown().shares.total() - 1.0).abs() < 1e-9);
    }
}

#[test]
fn a_fault_of_a_rank_meets_who_has_its_place_before_it_starts() {
    // The spare has it from 17 ms on, steps run from 21 ms on.
    let faults =
        fault("12", "gpu-error", "rank = \"train/9\"\ncause = \"ecc\"") + &crash("19", "rank = \"train/9\"");
    let done = in_flows("steps = 40", &faults);
    assert_eq!((done.life.shown().standstills.len(), out(&done)), (2, vec![1, 3]));
}

#[test]
fn a_run_of_one_job_is_told_as_one() {
    let both = crash("12", "rank = \"train/9\"")
        + &crash("12", "rank = \"train/20\"")
        + &crash("400", "host = \"host-3\"");
    let run = Run::of(resolved(&text("steps = 40", "", &both), EngineName::Flow), &|| ());
    assert!(!run.info.headline.contains("slowest of"), "{}", run.info.headline);
    assert!(run.figure("jobs.step_time_max").is_some());
    assert!(run.info.warnings.iter().all(|one| !one.contains("acts on nothing")), "{:?}", run.info.warnings);
}
