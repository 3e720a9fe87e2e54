//! The records themselves: one truth in all of their fields, and the engine's own step.
use std::collections::BTreeMap;

use railtwin::{Question, Run};
use railtwin_live::reader;
use railtwin_live::record::{Body, Record};
use railtwin_replay::{LiveReplay, ReplaySettings};

use crate::beside::{Told, as_recorded, fault, scenario, simulated};

fn of_rank(records: &[Record], rank: u32) -> impl Iterator<Item = &Record> {
    records.iter().filter(move |record| record.rank == rank)
}

#[test]
fn a_step_takes_what_the_engine_says() {
    let path = scenario();
    let question = Question::read(&path).expect("the scenario is there");
    let point = question.points().expect("the scenario is right").remove(0);
    let run = Run::of(question.resolve(&point.scenario).expect("it resolves"), &|| ());
    assert!(run.unexpected().is_empty(), "the scenario comes to what it expects");
    let step_ms = run.figure("step_time").expect("a run has a step time") * 1e3;
    let job = simulated(1, "", &ReplaySettings::default(), str::to_owned);
    let told = Told { records: job.records(), fault_ns: u64::MAX };
    let measured = told.measured(false).step_ms.expect("steps ended");
    assert!((measured / step_ms - 1.0).abs() < 1e-3, "{measured} ms, by the engine {step_ms} ms");
}

#[test]
fn operations_end_rank_by_rank() {
    // Behind a link that is slow in one direction the last stage is not there for all at once.
    let told = Told::simulated(1, "thr_up", 0);
    let mut ends: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut entered: BTreeMap<(u64, u32), u64> = BTreeMap::new();
    for record in &told.records {
        match &record.body {
            Body::Ended(ended) => ends.entry(ended.seq).or_default().push(record.time_ns),
            Body::Entered(one) => {
                entered.insert((one.seq, record.rank), record.time_ns);
            }
            _ => {}
        }
    }
    let apart = |ends: &Vec<u64>| ends.iter().max().unwrap_or(&0) - ends.iter().min().unwrap_or(&0);
    let most = ends.values().filter(|ends| ends.len() == 8).map(apart).max();
    assert!(most > Some(100_000_000), "{most:?}");
    // Nobody ends what somebody has not entered.
    for (seq, ends) in &ends {
        let last = (0..8).filter_map(|rank| entered.get(&(*seq, rank))).max();
        assert!(ends.iter().min() > last, "operation {seq}");
    }
}

#[test]
fn heartbeats_agree_with_operations_and_counters_only_grow() {
    for name in ["none", "thr_down", "drop2", "silent1", "stop"] {
        let told = Told::simulated(2, name, 3);
        for rank in 0..8 {
            let (mut entered, mut ended, mut before) = (0, 0, [0; 3]);
            let mut beats = 0;
            for record in of_rank(&told.records, rank) {
                match &record.body {
                    Body::Entered(one) => entered = one.seq + 1,
                    Body::Ended(one) => {
                        ended = one.seq + 1;
                        assert_eq!((one.succ, one.pred), (Some((rank + 1) % 8), Some((rank + 7) % 8)));
                        let waited: u64 = one.w.iter().map(|stage| stage[0]).sum();
                        let took = (record.time_ns - one.en.expect("it entered")) / 1_000;
                        assert!(waited <= took + 14, "{name}: waited {waited} of {took} us");
                    }
                    Body::Heartbeat(beat) => {
                        beats += 1;
                        assert_eq!(beat.inside == 1, entered > ended, "{name} at {}", record.time_ns);
                        assert_eq!(beat.seq, entered.saturating_sub(1), "{name} at {}", record.time_ns);
                        assert!(beat.rs <= 14 && beat.ss <= 14);
                        let send = beat.s.expect("it sends");
                        let now = [send.ba, send.busy, send.rtx];
                        assert!(now.iter().zip(before).all(|(now, before)| *now >= before), "{name} {now:?}");
                        assert!(send.busy <= record.time_ns / 1_000, "{name}");
                        before = now;
                    }
                    _ => {}
                }
            }
            let least = if name == "stop" && rank == 3 { 20 } else { 55 };
            assert!(beats >= least, "{name}: {beats} heartbeats of rank {rank}");
        }
    }
}

#[test]
fn losses_are_what_the_fault_says() {
    let told = Told::simulated(1, "drop2", 6);
    let after = told.measured(true);
    // 8 s of steps of 197 ms with 28 stages of 91 packets.
    let sent = 8.0 / 0.1955 * 28.0 * 91.0;
    let share = after.resent as f64 / sent;
    assert!((0.017..0.025).contains(&share), "{} resent, {share}", after.resent);
    // A quarter of the pairs has the rank, and a round trip crosses its way out once.
    assert!((0.002..0.009).contains(&after.lost), "{}", after.lost);
    assert_eq!(told.measured(false).resent, 0);
}

#[test]
fn an_observer_outside_tells_states_of_processes() {
    let settings = ReplaySettings { has_observer: true, ..as_recorded() };
    let states = |name: &str| -> Vec<(u32, String)> {
        let job = simulated(1, &fault(name, 4), &settings, str::to_owned);
        let told = job.records().into_iter().filter_map(|record| match record.body {
            Body::Process(process) => Some((record.rank, process.state)),
            _ => None,
        });
        told.collect()
    };
    assert_eq!(states("stop"), [(4, "T".to_owned())]);
    let killed = states("kill");
    assert_eq!(killed[0], (4, "Z".to_owned()));
    assert_eq!(killed.len(), 8, "all others find their connections closed and end: {killed:?}");
}

#[test]
fn the_same_scenario_gives_the_same_bytes_at_any_number_of_threads() {
    let text = |threads: usize| -> Vec<String> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
        pool.install(|| {
            let job: LiveReplay = simulated(3, &fault("drop05", 1), &as_recorded(), str::to_owned);
            (0..job.ranks()).map(|rank| job.lines(rank)).collect()
        })
    };
    let one = text(1);
    assert_eq!(one, text(4));
    assert!(one[3].starts_with("{\"k\":\"hd\""), "a header comes first");
    assert!(one[3].lines().next().is_some_and(|line| line.contains("\"host\":\"host-3\",\"nic\":\"nic-0\"")));
    for lines in &one {
        let file = reader::read(lines.as_bytes(), None);
        assert_eq!((file.damaged, file.unknown, file.newest), (0, 0, Some(1)), "all lines are records");
    }
}

#[test]
fn a_longer_way_makes_operations_and_pings_longer() {
    let text =
        "[[fault]]\nat = \"5 s\"\nport = \"host-2/nic-0:port-0\"\nkind = \"latency\"\ndelay = \"1 ms\"\n";
    let job = simulated(1, text, &ReplaySettings::default(), str::to_owned);
    let told = Told { records: job.records(), fault_ns: 5_100_000_000 };
    let [before, after] = [false, true].map(|after| told.measured(after));
    let [short, long] = [before, after].map(|one| one.operation_ms.expect("operations ended"));
    // A piece goes round the ring in 14 stages, and so over each of the two edges twice.
    assert!((long - short - 4.0).abs() < 0.1, "{short} {long}");
    let slowest = |one: crate::beside::Measured| one.pings_us.expect("pings came back")[2];
    assert!(slowest(after) >= 2_000.0 && slowest(before) < slowest(after) + 1.0, "{:?}", after.pings_us);
}
