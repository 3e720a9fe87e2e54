//! Telemetry of packet runs is what the engine did: counters are its totals, times its own, whatever threads there are.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::collections::BTreeMap;

use railtwin::telemetry_run::packets::PacketWatch;
use railtwin::{Question, Run};
use railtwin_engine::{Case, Engine, RunLog};
use railtwin_fabric::LinkId;
use railtwin_packetsim::PacketEngine;
use railtwin_records::{Batch, Component, Counter, Directory};
use railtwin_units::SimTime;

const JOB: &str = r#"
schema = 1
name = "a"
engine = "packet"
run = { steps = 40 }
fabric = { preset = "leaf-spine", leaves = 2, hosts_per_leaf = 4, uplinks = 4, host = { model = "plain" } }
[transport]
timeout = 12
[[job]]
name = "train"
hosts = 8
collective = { kind = "all-reduce", bytes = "4 MB", compute = "200 us" }
[telemetry]
counters = "1 ms"
"#;
const LOSSY: &str = r#"
[[fault]]
at = "8 ms"
cable = "host-5/nic-0:port-0"
kind = "lossy"
loss = 0.01
direction = "out"
"#;

fn run(text: &str) -> Run {
    let question = Question::of_text("a.toml", text, std::path::Path::new("."));
    Run::of(question.resolve(&question.points().unwrap()[0].scenario).unwrap(), &|| ())
}

fn case(text: &str) -> Case {
    let question = Question::of_text("a.toml", text, std::path::Path::new("."));
    question.resolve(&question.points().unwrap()[0].scenario).unwrap().case
}

/// Last values of counters by link that leaves the port, or by NIC.
fn last(directory: &Directory, batch: &Batch) -> BTreeMap<(u32, Counter), f64> {
    let rows = &batch.counters;
    let all = (0..rows.len()).map(|row| {
        let entity = &directory.entities[rows.entity[row] as usize];
        let who = entity.link.or(entity.device).unwrap();
        let is_port = matches!(entity.component, Component::Cable(_));
        ((if is_port { who } else { who | 1 << 31 }, rows.counter[row]), rows.value[row])
    });
    all.collect()
}

#[test]
fn counters_are_the_totals_of_the_engine() {
    for text in [JOB.to_owned(), format!("{JOB}{LOSSY}")] {
        let run = run(&text);
        let told = run.telemetry.as_ref().unwrap();
        assert_eq!((told.source, told.steps), ("packet", 40));
        let case = &run.resolved.case;
        let log = &run.simulation.as_ref().unwrap().log;
        let packets = log.packets.as_ref().unwrap();
        let values = last(&told.directory, &told.records);
        let sum = |counter: Counter| -> f64 {
            values.iter().filter(|((_, one), _)| *one == counter).map(|(_, value)| value).sum()
        };
        let counts = packets.counts;
        assert_eq!(sum(Counter::OutOfSequence) as u64, counts.out_of_sequence);
        assert_eq!(sum(Counter::AckTimeouts) as u64, counts.ack_timeouts);
        assert_eq!(sum(Counter::Drops) as u64, counts.dropped);
        assert_eq!(sum(Counter::EcnMarks) as u64, counts.marked, "each was marked at one port");
        assert_eq!(sum(Counter::ReceiveErrors) as u64, counts.lost, "no cable was dead");
        assert_eq!(sum(Counter::PauseFramesSent) as u64, counts.pause_frames);
        let cnps: u32 = packets.links.cnps.iter().sum();
        assert_eq!(sum(Counter::Cnps) as u64, u64::from(cnps));
        let mut ports = 0;
        for link in (0..case.fabric.link_count()).map(|link| LinkId(link as u32)) {
            let Some(&sent) = values.get(&(link.0, Counter::BytesSent)) else { continue };
            let at = link.index();
            assert_eq!(sent as u64, log.link_bytes[at] as u64 + packets.links.late_bytes[at], "{link:?}");
            assert_eq!(values[&(link.0, Counter::Drops)] as u32, packets.links.dropped[at ^ 1]);
            ports += usize::from(sent > 0.0);
        }
        assert!(ports > 16, "{ports} ports sent something");
        assert_eq!(counts.lost > 0, text.contains("lossy"));
        // All payload of the operations went over queue pairs that tell of it.
        let bytes: u64 = told.records.messages.bytes.iter().sum();
        let flows: u64 = packets.flows.iter().map(|flow| flow.bytes).sum();
        assert_eq!(bytes, flows);
    }
}

#[test]
fn ranks_enter_and_leave_as_their_hosts_did() {
    let run = run(&JOB.replace("[telemetry]", "[telemetry]\njitter = \"none\""));
    let told = run.telemetry.as_ref().unwrap();
    let log = &run.simulation.as_ref().unwrap().log;
    let rows = &told.records.operations;
    assert_eq!(rows.len(), 8 * 40);
    let first = run.resolved.case.work.jobs[0].first_operation as usize;
    let length = run.resolved.case.work.jobs[0].plan.operations.len();
    for step in 0..40_u32 {
        let of_step: Vec<usize> = (0..rows.len()).filter(|&row| rows.sequence[row] == step).collect();
        let communication = first + step as usize * length + length - 1;
        let end = of_step.iter().map(|&row| rows.end_ns[row]).max().unwrap();
        let start = of_step.iter().map(|&row| rows.enter_ns[row]).min().unwrap();
        assert_eq!(end, log.times.end[communication].ps() / 1_000, "step {step}");
        assert_eq!(start, log.times.start[communication].ps() / 1_000, "step {step}");
    }
}

#[test]
fn the_same_bytes_at_one_thread_and_two() {
    let case = case(&format!("{JOB}{LOSSY}"));
    let tables = |threads: u32| {
        let engine = PacketEngine { threads };
        let log: RunLog = engine.run(&case, 0);
        let settings = railtwin_telemetry::Settings::default();
        let with = (Vec::new(), railtwin_diagnosis::Settings::default());
        let mut watch = PacketWatch::new(&case, (0, 0), &log, &settings, true, with).unwrap();
        let mut all = Batch::default();
        while watch.turn().is_some() {
            all.operations.append(&watch.batch.operations);
            all.messages.append(&watch.batch.messages);
            all.counters.append(&watch.batch.counters);
        }
        assert!(all.counters.len() > 300 && all.messages.len() > 300);
        format!("{all:?} {:?}", watch.directory)
    };
    assert_eq!(tables(1), tables(2));
}

#[test]
fn without_a_fault_nobody_is_accused_and_a_lossy_link_is_named() {
    let healthy = run(JOB);
    assert_eq!(healthy.figure("accusations"), Some(0.0), "{:?}", healthy.telemetry.unwrap().findings);
    let lossy = run(&format!("{JOB}{LOSSY}"));
    assert_eq!(lossy.figure("truth_in_set"), Some(1.0), "{:?}", lossy.telemetry.unwrap().findings);
    let told = lossy.telemetry.unwrap();
    let named = |finding: &railtwin_records::Finding| {
        finding.accuses() && finding.suspects[0].component.name().contains("host-5/nic-0")
    };
    assert!(told.findings.iter().all(named), "{:?}", told.findings);
}

#[test]
fn a_cable_that_dies_tells_so_and_a_job_that_stands_still_is_watched_on() {
    // No other way: the job halts once its queue pairs have given up.
    let down = "[[fault]]\nat = \"8 ms\"\ncable = \"host-5/nic-0:port-0\"\nkind = \"down\"\n";
    let run = run(&format!("{JOB}{down}"));
    let told = run.telemetry.as_ref().unwrap();
    assert!(told.steps < 40 && told.stop.is_some(), "{} steps", told.steps);
    assert_eq!(run.figure("truth_in_set"), Some(1.0), "{:?}", told.findings);
    let values = last(&told.directory, &told.records);
    let downs = values.iter().filter(|((_, counter), value)| *counter == Counter::LinkDowns && **value > 0.0);
    assert_eq!(downs.count(), 2, "both ends of the cable");
    let log = &run.simulation.as_ref().unwrap().log;
    let timeouts: f64 =
        values.iter().filter(|((_, one), _)| *one == Counter::AckTimeouts).map(|(_, value)| value).sum();
    assert_eq!(timeouts as u64, log.packets.as_ref().unwrap().counts.ack_timeouts);
    assert!(timeouts > 0.0);
}

#[test]
fn more_steps_than_packets_ran_are_a_replay_and_say_so() {
    let run = run(&JOB.replace("[telemetry]", "[telemetry]\nsteps = 60"));
    let told = run.telemetry.as_ref().unwrap();
    assert_eq!((told.source, told.steps), ("packet-replay", 60));
    assert!(
        run.info.warnings.iter().any(|one| one.contains("repeats the last of 40")),
        "{:?}",
        run.info.warnings
    );
}

#[test]
fn what_nobody_asks_for_is_not_kept() {
    let mut case = case(JOB);
    assert_eq!(case.packets.records, Some(SimTime::from_ns(1_000_000)));
    case.packets.records = None;
    let log = PacketEngine::default().run(&case, 0);
    assert!(log.packets.unwrap().records.is_none());
}
