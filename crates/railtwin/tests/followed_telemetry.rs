//! What ranks record, and detectors make of it, of each time that processes of a steered job run.
use railtwin::Run;
use railtwin::telemetry_run::TelemetryRun;
use railtwin_records::Component;
use railtwin_scenario::EngineName;

use crate::followed::resolved;

/// A job whose GPU dies after 20 s, and after it started again both ports of a NIC.
fn run(job: &str, faults: &str) -> Run {
    let text = format!(
        "schema = 1\nname = \"told\"\n[fabric]\npreset = \"hpn\"\nsegments = 2\nhosts = 3\nspare_hosts = 1\n\
         spines = 2\n[[job]]\nname = \"train\"\nplacement = {{ hosts = [0, 1, 4, 5] }}\nsteps = 60\n\
         collective = {{ kind = \"all-reduce\", bytes = \"4 GB\", algorithm = \"ring\", compute = \"1500 ms\" }}\n\
         [steering]\ncheckpoint = \"10 s\"\nisolation = \"20 s\"\nrestart = \"20 s\"\n\
         by_hand = {{ ecc_nvlink = \"15 min\", ack_timeout = \"15 min\", unknown = \"15 min\" }}\n\
         automatic = [\"ecc-nvlink\", \"ack-timeout\", \"unknown\", \"cuda\"]\n\
         {faults}[telemetry]\ncounters = \"1 s\"\n{job}"
    );
    Run::of(resolved(&text, EngineName::Flow), &|| ())
}

const TWO: &str = "[[fault]]\nat = \"20 s\"\nkind = \"gpu-error\"\nrank = \"train/9\"\ncause = \"ecc\"\n\
                   [[fault]]\nat = \"140 s\"\nkind = \"down\"\nnic = \"host-4/nic-3\"\n";

fn named(told: &TelemetryRun) -> Vec<&Component> {
    let accusing = told.findings.iter().filter(|finding| finding.accuses());
    accusing.map(|finding| &finding.suspects[0].component).collect()
}

#[test]
fn records_are_of_the_time_that_processes_ran_and_name_what_ended_it() {
    for (job, host) in [("", "host-1/gpu-1"), ("job = \"train-again-1\"\n", "host-4/nic-3")] {
        let run = run(job, TWO);
        let told = run.telemetry.as_ref().unwrap();
        let number = usize::from(!job.is_empty());
        let one = &run.life.as_ref().unwrap().shown().standstills[number];
        let isolated = one.isolated.unwrap().ps() / 1_000;
        assert!(told.span_ns[1] <= isolated, "told until {} ns, ended at {isolated} ns", told.span_ns[1]);
        assert!(told.span_ns[1] > one.failed.ps() / 1_000, "they stood still before they were ended");
        let names: Vec<String> = named(told).iter().map(|component| component.name().to_owned()).collect();
        assert_eq!(names, [host], "{:?}", told.findings);
        // The other fault was not there yet, or is in a host that is out.
        assert_eq!(run.figure("truth_in_set"), Some(1.0));
        assert!(told.warnings.iter().any(|one| one.contains("stands still")), "{:?}", told.warnings);
    }
    let last = run("job = \"train-again-2\"\n", TWO);
    let told = last.telemetry.as_ref().unwrap();
    assert_eq!((told.steps, told.stop), (u64::from(last.resolved.case.work.jobs[2].steps), None));
    assert_eq!(last.figure("truth_in_set"), None, "both faults are in hosts that are out");
}

#[test]
fn who_was_at_work_until_a_host_went_stands_still_nowhere() {
    let slow = "[[fault]]\nat = \"10 s\"\nkind = \"slow-gpu\"\nrank = \"train/9\"\nfactor = 2.0\n";
    let run = run("", slow);
    let one = &run.life.as_ref().unwrap().shown().standstills[0];
    let told = run.telemetry.as_ref().unwrap();
    assert_eq!((one.kind, told.stop.is_none()), (None, true), "the controller took it out");
    assert!(told.steps > 0 && told.span_ns[1] <= one.failed.ps() / 1_000);
    assert!(told.warnings.iter().all(|one| !one.contains("stands still")), "{:?}", told.warnings);
}

#[test]
fn a_time_that_never_came_is_told() {
    let run = run("job = \"train-again-7\"\n", TWO);
    assert!(run.telemetry.is_none());
    let told = "no telemetry: no job is called `train-again-7`: the first started again 2 times";
    assert!(run.info.warnings.iter().any(|one| one == told), "{:?}", run.info.warnings);
}
