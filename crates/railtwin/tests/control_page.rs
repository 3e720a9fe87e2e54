//! What a page tells of controllers: decisions in batches, what each moved, and what hosts and leaves held in time.
#![allow(clippy::unwrap_used, clippy::float_cmp, reason = "a test may fail, and times are whole")]
#![allow(clippy::disallowed_methods, reason = "a scenario is read")]
use std::collections::BTreeMap;

use railtwin::Run;
use railtwin_scenario::EngineName;
use serde_json::Value;

use crate::control::{resolved, scene};
use crate::payload::{f64s, lists, u32s};

fn run(routing: &str, control: &str) -> Run {
    let text = scene(routing, control).replace("queue_pairs = 2", "queue_pairs = 4");
    Run::of(resolved(&text, EngineName::Flow), &|| ())
}

fn words(column: &Value) -> Vec<String> {
    let dictionary = column["dict"].as_array().unwrap();
    u32s(column).iter().map(|&code| dictionary[code as usize].as_str().unwrap().to_owned()).collect()
}

/// Counts by place in each state.
fn states(track: &Value) -> Vec<BTreeMap<u32, u32>> {
    let (start, place, count) = (u32s(&track["start"]), u32s(&track["place"]), u32s(&track["count"]));
    let mut now = BTreeMap::new();
    let changes = start.windows(2).map(|pair| pair[0] as usize..pair[1] as usize);
    changes
        .map(|rows| {
            rows.for_each(|row| {
                now.insert(place[row], count[row]);
            });
            now.clone()
        })
        .collect()
}

/// The state that holds at a time.
fn at(control: &Value, time: f64) -> usize {
    f64s(&control["states"]["columns"]["at_ps"]).partition_point(|&at| at <= time) - 1
}

#[test]
fn decisions_wait_and_then_move_paths_off_the_dead_spine() {
    let run = run("balancer = \"c4p\"\nreplan = \"once\"", "report = \"4 us\"\nprogramming = \"6 us\"");
    let payload = run.payload().unwrap();
    let control = &payload["control"];
    let log = &run.simulation.as_ref().unwrap().log;
    assert_eq!(control["total"], log.actions.len());
    let batches = &control["batches"]["columns"];
    let moved = u32s(&batches["moved"]);
    assert_eq!(moved.iter().sum::<u32>(), log.actions.iter().map(|action| action.moved).sum::<u32>());
    let (decided, effective) = (f64s(&batches["decided_ps"]), f64s(&batches["effective_ps"]));
    assert_eq!((decided[0], effective[0]), (0.0, 0.0));
    // The spine dies at 40 us, leaves know at 44, the master at 48; what it decides holds at 54.
    let first = decided.iter().position(|&at| at > 0.0).unwrap();
    assert_eq!((decided[first], effective[first]), (48e6, 54e6));
    assert_eq!(words(&batches["controller"])[first], "c4p");

    let pending = u32s(&control["states"]["columns"]["pending"]);
    let on_their_way: u32 = (0..moved.len()).filter(|&row| decided[row] == 48e6).map(|row| moved[row]).sum();
    assert!(on_their_way > 0);
    assert_eq!([47e6, 48e6, 53e6, 54e6].map(|time| pending[at(control, time)]), {
        [0, on_their_way, on_their_way, 0]
    });

    // Every queue pair goes over one uplink at all times, and over none to the dead spine while leaves know of it.
    let counts = states(&control["states"]["uplinks"]);
    let all: u32 = counts[0].values().sum();
    assert_eq!(u64::from(all), payload["flows"]["total"].as_u64().unwrap());
    // Queue pairs of a job that has ended are on no path.
    let ended = log.job_ends(&run.resolved.case.work).into_iter().min().unwrap().ps() as f64;
    let begins = f64s(&control["states"]["columns"]["at_ps"]);
    for (state, at) in counts.iter().zip(begins) {
        let told: u32 = state.values().sum();
        assert!(told == all || at >= ended && told < all, "{told} of {all} at {at} ps");
    }
    let (targets, names) =
        (u32s(&payload["links"]["columns"]["target"]), words(&payload["devices"]["columns"]["name"]));
    let over = |state: usize, spine: &str| -> u32 {
        let links =
            counts[state].iter().filter(|(link, _)| names[targets[**link as usize] as usize] == spine);
        links.map(|(_, count)| count).sum()
    };
    assert!(over(0, "spine-2") > 0);
    assert_eq!(over(at(control, 44e6), "spine-2"), 0);
    assert_eq!(over(at(control, 54e6), "spine-2"), 0);
    let total = |state: usize| (0..4).map(|spine| over(state, &format!("spine-{spine}"))).sum::<u32>();
    assert_eq!(total(at(control, 54e6)), all);

    // What switches did until then is not the plan's: a decision leaves one path for another of the same length.
    let actions = &control["actions"];
    let (left, taken) = (lists(&actions["left"]), lists(&actions["taken"]));
    let of = u32s(&actions["columns"]["batch"]);
    let (before, after) = (words(&actions["columns"]["before"]), words(&actions["columns"]["after"]));
    let late: Vec<usize> = (0..of.len()).filter(|&row| effective[of[row] as usize] == 54e6).collect();
    assert_eq!(late.len() as u32, on_their_way);
    for &row in &late {
        assert_eq!(left[row].len(), taken[row].len());
        assert!(left[row].iter().all(|link| !taken[row].contains(link)));
        if !left[row].is_empty() {
            assert!(before[row].contains(":uplink-") && after[row].contains(":uplink-"), "{}", before[row]);
        }
    }
    assert!(late.iter().any(|&row| !left[row].is_empty()));
    let of_batch = &lists(&control["batches"]["left"])[first];
    assert!(
        late.iter()
            .filter(|&&row| of[row] as usize == first)
            .all(|&row| { left[row].iter().all(|link| of_batch.contains(link)) })
    );
    assert_eq!((&control["states"]["left_out"], &control["states"]["until_ps"]), (&0.into(), &Value::Null));
}

#[test]
fn entries_of_leaves_are_told_in_time() {
    let run = run("balancer = \"te\"\nreplan = \"once\"", "programming = \"2 us\"");
    let payload = run.payload().unwrap();
    let control = &payload["control"];
    let held = states(&control["states"]["leaves"]);
    let kinds = words(&payload["devices"]["columns"]["kind"]);
    assert!(held[0].keys().all(|&device| kinds[device as usize] == "leaf"));
    let placed = u32s(&control["batches"]["columns"]["moved"])[0];
    assert_eq!(held[0].values().sum::<u32>(), placed);
    // A replaced entry is one entry; an action leaves one uplink of its leaf for another.
    let actions = words(&control["batches"]["columns"]["action"]);
    let replaced = actions.iter().position(|action| action == "entry-replace").unwrap();
    let (left, taken) =
        (&lists(&control["batches"]["left"])[replaced], &lists(&control["batches"]["taken"])[replaced]);
    let sources = u32s(&payload["links"]["columns"]["source"]);
    assert!(!left.is_empty() && !taken.is_empty());
    assert!(left.iter().chain(taken).all(|&link| kinds[sources[link as usize] as usize] == "leaf"));
}

#[test]
fn a_run_without_controllers_tells_nothing_of_them() {
    let payload = run("balancer = \"ecmp\"", "").payload().unwrap();
    assert!(payload.get("control").is_none());
}

/// Twelve thousand queue pairs decided one by one: some are listed, and how many there are is told.
#[test]
fn what_is_left_out_is_told() {
    let text = "schema = 1\nname = \"many\"\n[routing]\nbalancer = \"disjoint\"\nqueue_pairs = 4\nreplan = \"once\"\n\
                [fabric]\npreset = \"leaf-spine\"\nleaves = 8\nhosts_per_leaf = 8\nuplinks = 8\n\
                host = { model = \"plain\" }\n\
                [[job]]\nhosts = 64\ncollective = { kind = \"all-to-all\", bytes = \"1 GB\" }\n\
                [[fault]]\nat = \"1 us\"\nspine = \"spine-0\"\nkind = \"down\"\n";
    let run = Run::of(resolved(text, EngineName::Flow), &|| ());
    let control = &run.payload().unwrap()["control"];
    let rows = control["actions"]["rows"].as_u64().unwrap();
    assert!(control["total"].as_u64().unwrap() > rows && rows == 2_000, "{} of {}", rows, control["total"]);
    let moved: u32 = u32s(&control["batches"]["columns"]["moved"]).iter().sum();
    assert!(u64::from(moved) > rows);
}

#[test]
fn paths_are_those_of_jobs_that_run() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/control/c4p-tenants.toml");
    let text = std::fs::read_to_string(path).unwrap().replace("[\"c4p\", \"ecmp\"]", "\"c4p\"");
    let text = text[..text.find("[expect]").unwrap()].replace("replicates = 5", "replicates = 1");
    let run = Run::of(resolved(&text, EngineName::Flow), &|| ());
    let payload = run.payload().unwrap();
    let control = &payload["control"];
    let counts = states(&control["states"]["uplinks"]);
    let work = &run.resolved.case.work;
    let ends = run.simulation.as_ref().unwrap().log.job_ends(work);
    // A ring over four leaves has a queue pair up from each; two tenants are there at most.
    for tenth in 1..65_u64 {
        let now = 1e11 * tenth as f64;
        let lives = work.jobs.iter().zip(&ends);
        let there =
            lives.filter(|(job, end)| job.start.ps() as f64 <= now && (end.ps() as f64) > now).count();
        let told = &counts[at(control, now)];
        assert_eq!(told.values().sum::<u32>() as usize, 4 * there, "at {now} ps");
        // Each tenant has uplinks of its own.
        assert!(told.values().all(|&paths| paths <= 1), "at {now} ps: {told:?}");
    }
}

#[test]
fn decisions_about_hosts_of_a_followed_run_are_among_the_others_and_once() {
    let gpu = "[routing]\nbalancer = \"c4p\"\n\
               [[fault]]\nat = \"12 ms\"\nkind = \"gpu-error\"\nrank = \"train/9\"\ncause = \"ecc\"\n";
    let text = crate::followed::text("steps = 30", "", gpu);
    let run = Run::of(crate::followed::resolved(&text, EngineName::Flow), &|| ());
    let payload = run.payload().unwrap();
    let control = &payload["control"];
    let batches = &control["batches"]["columns"];
    let told: Vec<_> = words(&batches["controller"])
        .into_iter()
        .zip(words(&batches["action"]))
        .zip(f64s(&batches["decided_ps"]).into_iter().zip(f64s(&batches["effective_ps"])))
        .zip(u32s(&batches["moved"]))
        .map(|(((controller, action), times), moved)| (controller, action, times, moved))
        .filter(|(controller, ..)| controller == "steering")
        .collect();
    let steering = |action: &str, effective: f64, moved| {
        ("steering".to_owned(), action.to_owned(), (15e9, effective), moved)
    };
    assert_eq!(
        told,
        [steering("isolate", 17e9, 8), steering("swap", 17e9, 8), steering("restart", 21e9, 32)]
    );
    let actions = &control["actions"]["columns"];
    let column = |name: &str| words(&actions[name]);
    let swapped = column("after").iter().position(|after| after == "host-3").unwrap();
    assert_eq!(
        (column("subject")[swapped].as_str(), column("before")[swapped].as_str()),
        ("host-1", "host-1")
    );
    // On its way from the decision to its effect.
    let pending = u32s(&control["states"]["columns"]["pending"]);
    assert_eq!([14e9, 16e9, 20e9, 22e9].map(|time| pending[at(control, time)]), [0, 3, 1, 0]);
    // The table has the same rows, C4P's before and after those about hosts, in the order of time.
    let tables = run.tables();
    let table = tables.iter().find(|table| table.name == "actions").unwrap();
    assert_eq!(control["total"], table.rows());
    let decided: Vec<u64> = run.decisions().iter().map(|row| row.decided.ps()).collect();
    assert!(decided.is_sorted() && decided.len() == table.rows(), "{decided:?}");
    assert!(decided[0] == 0 && *decided.last().unwrap() > 15_000_000_000, "{decided:?}");
}
