//! What controllers hear of a run, and what they make of it: weights by completion times, paths by marks, under both
//! engines.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use railtwin::engines::engine;
use railtwin_control::controller::{Action, Controller, Decision, Event};
use railtwin_control::paths::load_balance::WHOLE;
use railtwin_engine::own::{Own, Site};
use railtwin_engine::{ActionRow, RunLog};
use railtwin_scenario::EngineName::{self, Flow, Packet};
use railtwin_units::SimTime;

use crate::control::resolved;

/// Jobs of two hosts each with a NIC of 400 Gbps, one under each of two leaves, whose uplinks have so many Gbps.
fn scene((uplinks, gbps): (u32, u32), routing: &str, control: &str, jobs: u32, more: &str) -> String {
    let marks = "ecn = { min = \"100 kB\", max = \"400 kB\", probability = 0.2 }\n";
    let mut text = format!(
        "schema = 1\nname = \"fed\"\nseed = 1\n[fabric]\npreset = \"leaf-spine\"\nleaves = 2\n\
         hosts_per_leaf = {jobs}\nuplinks = {uplinks}\nparallel = 1\nrails_per_leaf = 1\n\
         uplink_capacity = \"{gbps} Gbps\"\nchip = \"51200 Gbps\"\nhost = {{ model = \"plain\" }}\n\
         [routing]\n{routing}\n[control]\n{control}\n[switch.leaf]\n{marks}[switch.spine]\n{marks}{more}"
    );
    for job in 0..jobs {
        text += &format!(
            "[[job]]\nname = \"job-{job}\"\nplacement = {{ hosts = [{job}, {}] }}\n\
             collective = {{ kind = \"all-reduce\", bytes = \"32 MB\", algorithm = \"ring\" }}\n",
            job + jobs
        );
    }
    text
}

const DCQCN: &str = "[packet]\ncongestion_control = { kind = \"dcqcn\", preset = \"dcqcn-2015\" }\n";

fn log_of(text: &str, name: EngineName, threads: u32) -> RunLog {
    engine(name, threads).run(&resolved(text, name).case, 0)
}

/// The same on one thread and on two.
fn log_on_both(text: &str, name: EngineName) -> RunLog {
    let log = log_of(text, name, 1);
    assert_eq!(log, log_of(text, name, 2));
    log
}

fn us(us: u64) -> SimTime {
    SimTime::from_ns(us * 1_000)
}

/// Shares of a whole as they were told, by queue pair, each with the times.
fn shares(log: &RunLog) -> BTreeMap<u32, Vec<(SimTime, f64)>> {
    let mut all: BTreeMap<u32, Vec<(SimTime, f64)>> = BTreeMap::new();
    for row in &log.actions {
        if let Action::Weight { queue_pair, share } = row.action {
            let share = f64::from(share) / f64::from(WHOLE);
            all.entry(queue_pair).or_default().push((row.decided, share));
        }
    }
    all
}

fn weights(log: &RunLog) -> impl Iterator<Item = &ActionRow> {
    log.actions.iter().filter(|row| row.action.name() == "weight")
}

#[test]
fn shares_settle_at_the_ratio_of_two_paths_and_time_follows() {
    // One of two uplinks at half its rate: with even shares 2 × 100 Gbps, with 2 : 1 they are 200 and 100.
    let slow = "[run]\nsteps = 20\n[[fault]]\nat = \"0 s\"\ncable = \"leaf-0:uplink-0\"\nkind = \"slow\"\n\
                capacity = 0.5\n";
    let text = |control: &str| scene((2, 200), "balancer = \"c4p\"\nqueue_pairs = 2", control, 1, slow);
    let (even, fed) = (log_of(&text(""), Flow, 1), log_of(&text("feedback = \"50 us\""), Flow, 1));
    assert_eq!(weights(&even).count(), 0);
    let shares = shares(&fed);
    assert_eq!(shares.len(), 4, "two connections of two queue pairs: {shares:?}");
    let last: Vec<f64> = shares.values().map(|told| told.last().unwrap().1).collect();
    for pair in last.chunks(2) {
        // A twentieth of an even share is sure, the rest is in proportion.
        let (slow, fast) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
        assert!((slow - (0.025 + 0.95 / 3.0)).abs() < 2e-3, "{pair:?}");
        assert!((slow + fast - 1.0).abs() < 1e-9, "{pair:?}");
    }
    // Two shares of the slower path's 100 Gbps each over the bytes of the slower: 1.5 but for the floor, and the first
    // periods.
    let gain = even.end.seconds() / fed.end.seconds();
    assert!((1.42..1.5).contains(&gain), "{gain}");
}

#[test]
fn both_engines_shift_bytes_the_same_way() {
    // Three uplinks for four queue pairs: one carries two.
    let text = |feedback: &str| {
        let control = format!("report = \"5 us\"\nprogramming = \"7 us\"\n{feedback}");
        scene(
            (3, 200),
            "balancer = \"c4p\"\nqueue_pairs = 2",
            &control,
            2,
            &format!("[run]\nsteps = 6\n{DCQCN}"),
        )
    };
    let (flows, packets) = (
        log_on_both(&text("feedback = \"100 us\""), Flow),
        log_on_both(&text("feedback = \"100 us\""), Packet),
    );
    for log in [&flows, &packets] {
        let first = weights(log).next().expect("paths differ");
        assert_eq!((first.decided, first.effective), (us(105), us(112)), "{first:?}");
        assert_eq!(
            (first.controller, first.reason, first.job.is_some()),
            ("balancing", "completion-time", true)
        );
        // What is told of a connection at one time is a whole.
        let mut sums: BTreeMap<(SimTime, u32), u32> = BTreeMap::new();
        for row in weights(log) {
            let Action::Weight { queue_pair, share } = row.action else { unreachable!() };
            *sums.entry((row.decided, queue_pair / 2)).or_default() += share;
        }
        assert!(sums.values().all(|&sum| sum == WHOLE), "{sums:?}");
    }
    // Late shares, mean over time: near each other where flows settle off the middle. DCQCN leaves less than half of a
    // shared link to each of two, so packets go further.
    let mean = |told: &Vec<(SimTime, f64)>| {
        let late = told.iter().skip(told.len() / 4).map(|&(_, share)| share);
        late.clone().sum::<f64>() / late.count() as f64
    };
    let (of_flows, of_packets) = (shares(&flows), shares(&packets));
    let mut shifted = 0;
    for (queue_pair, told) in &of_flows {
        let (flow, packet) = (mean(told), mean(&of_packets[queue_pair]));
        if (flow - 0.5).abs() > 0.1 {
            shifted += 1;
            assert!((flow - packet).abs() < 0.15, "queue pair {queue_pair}: {flow} against {packet}");
        }
    }
    assert!(shifted >= 4, "{of_flows:?}");
    for (log, name) in [(&flows, Flow), (&packets, Packet)] {
        let even = log_of(&text(""), name, 1);
        assert!(log.end.seconds() < 0.8 * even.end.seconds(), "{name:?}: {} against {}", log.end, even.end);
    }
}

#[test]
fn marked_queue_pairs_take_other_paths_under_both_engines() {
    let routing = "balancer = \"multipath-ecn\"";
    let text = |control: &str| scene((6, 400), routing, control, 3, "[run]\nsteps = 8\n");
    let told = text("feedback = \"100 us\"\nrounds = 2");
    let (flows, packets) = (log_on_both(&told, Flow), log_on_both(&told, Packet));
    let first = |log: &RunLog| -> Vec<(u32, Option<u16>)> {
        let at = log.actions.first().expect("two share an uplink").decided;
        assert_eq!(at, us(200));
        let rows = log.actions.iter().filter(|row| row.decided == at);
        let path = |row: &ActionRow| match row.action {
            Action::Path { queue_pair, source_port } => (queue_pair, source_port),
            other => panic!("{other:?}"),
        };
        rows.map(path).collect()
    };
    assert_eq!(first(&flows), first(&packets));
    assert!(flows.actions.iter().all(|row| (row.controller, row.reason) == ("repathing", "marked")));
    // Never told: static shares on the first paths. Not said at all: what it comes to when all has settled.
    let stays = "feedback = \"1000 s\"";
    for (log, name) in [(&flows, Flow), (&packets, Packet)] {
        let never = log_of(&text(stays), name, 1);
        assert!(never.actions.is_empty());
        assert!(log.end < never.end, "{name:?}: {} against {}", log.end, never.end);
    }
    // Switches that mark nothing tell hosts nothing, and that is said.
    let deaf = told.replace("ecn = {", "# ecn = {");
    for name in [Flow, Packet] {
        assert!(log_of(&deaf, name, 1).actions.is_empty(), "{name:?}");
    }
    let words = resolved(&deaf, Flow).case.warnings.join("\n");
    let nothing = "control.feedback and control.rounds change nothing without `ecn` in any [switch]";
    assert!(words.contains(nothing), "{words}");
    let case = |control: &str| resolved(&text(control), Flow).case;
    assert!(case("").routing.is_dynamic() && !case(stays).routing.is_dynamic());
}

#[test]
fn keys_of_feedback_that_nobody_goes_by_are_told() {
    let warned = |balancer: &str, control: &str| {
        let text = scene((2, 200), &format!("balancer = \"{balancer}\""), control, 1, "");
        resolved(&text, Flow).case.warnings.join("\n")
    };
    let all = "feedback = \"1 ms\"\nsmoothing = 0.25\nrounds = 5";
    let nothing = "control.feedback, control.smoothing and control.rounds change nothing under balancer ecmp";
    assert!(warned("ecmp", all).contains(nothing), "{}", warned("ecmp", all));
    assert!(warned("c4p", all).contains("control.rounds changes nothing under balancer c4p"));
    assert!(warned("multipath-ecn", all).contains("control.smoothing changes nothing under"));
    let dynamic = warned("c4p\"\nsplit = \"dynamic", "feedback = \"1 ms\"");
    assert!(dynamic.contains("control.feedback changes nothing"), "{dynamic}");
    assert!(!warned("c4p", "feedback = \"1 ms\"\nfloor = 0.1").contains("changes nothing"));
}

/// Sums up what it is told.
#[derive(Default, Debug)]
struct Sums {
    completed: u64,
    /// Bytes into NICs of the first jobs' hosts, at most.
    links: BTreeMap<u32, u64>,
    times: Vec<(SimTime, SimTime)>,
    marked: f64,
    most: f64,
}

#[derive(Debug)]
struct Listens(Arc<Mutex<Sums>>);

impl Controller for Listens {
    fn name(&self) -> &'static str {
        "listens"
    }
    fn on_event(&mut self, now: SimTime, event: &Event<'_>) {
        let mut sums = self.0.lock().unwrap();
        match event {
            Event::Completed(all) => {
                assert!(all.windows(2).all(|two| two[0].queue_pair < two[1].queue_pair));
                sums.completed += all.iter().map(|one| one.bytes).sum::<u64>();
            }
            Event::Counters(counters) => {
                sums.times.push((now, counters.period));
                for one in counters.links {
                    *sums.links.entry(one.link.0).or_default() += one.bytes;
                    assert!((0.0..=1.0).contains(&one.utilization) && (0.0..=1.0).contains(&one.marked));
                    sums.most = sums.most.max(one.utilization);
                }
                let marked = counters.queue_pairs.iter().map(|one| one.marked).fold(0.0, f64::max);
                sums.marked = sums.marked.max(marked);
            }
            _ => {}
        }
    }
    fn decide(&mut self, _now: SimTime, _decisions: &mut Vec<Decision>) {}
}

#[test]
fn a_controller_of_ones_own_hears_what_completes_and_what_is_counted() {
    let text = scene((1, 200), "", "feedback = \"50 us\"\nreport = \"3 us\"", 2, "");
    for name in [Flow, Packet] {
        let sums = Arc::new(Mutex::new(Sums::default()));
        let heard = Arc::clone(&sums);
        let own = Own::new(&["listens"], move |_: &Site| {
            vec![Box::new(Listens(Arc::clone(&heard))) as Box<dyn Controller>]
        });
        let resolved = resolved(&text, name).with_controllers(own).unwrap();
        let log = engine(name, 2).run(&resolved.case, 0);
        let sums = sums.lock().unwrap();
        // Two jobs of two ranks send 32 MB each way, 2 (n − 1) / n of the bytes. What completes after the last period is
        // not told: packets are acknowledged through the queues of the other way, hundreds of microseconds later.
        let all = 4.0 * 32e6;
        let least = if name == Flow { 0.95 } else { 0.75 };
        assert!(
            (least * all..=1.0001 * all).contains(&(sums.completed as f64)),
            "{name:?}: {}",
            sums.completed
        );
        assert!(sums.times.iter().all(|&(at, _)| (at.ps() - us(3).ps()).is_multiple_of(us(50).ps())));
        assert!(sums.times.iter().all(|&(_, period)| period == us(50)), "{:?}", sums.times);
        for (&link, &bytes) in &sums.links {
            let whole = log.link_bytes[link as usize];
            assert!(
                (0.85 * whole..=1.02 * whole + 1e4).contains(&(bytes as f64)),
                "{link}: {bytes} of {whole}"
            );
        }
        // Both jobs want 400 Gbps through an uplink of 200.
        assert!(sums.most > 0.95 && sums.marked > 0.5, "{name:?}: {} {}", sums.most, sums.marked);
    }
}
