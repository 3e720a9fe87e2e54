//! Flows, moves, steps and balance as they stand in a page's payload.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use railtwin::{Question, Run};
use serde_json::Value;

fn run(text: &str) -> Run {
    let question = Question::of_text("payload.toml", text, std::path::Path::new("."));
    Run::of(question.resolve(&question.points().unwrap()[0].scenario).unwrap(), &|| ())
}

fn bytes(column: &Value) -> Vec<u8> {
    STANDARD.decode(column["data"].as_str().unwrap()).unwrap()
}

pub(crate) fn u32s(column: &Value) -> Vec<u32> {
    assert!(column["type"] == "u32" || column["type"] == "str", "{column}");
    bytes(column).chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().unwrap())).collect()
}

pub(crate) fn f64s(column: &Value) -> Vec<f64> {
    assert_eq!(column["type"], "f64");
    bytes(column).chunks_exact(8).map(|eight| f64::from_le_bytes(eight.try_into().unwrap())).collect()
}

/// Lists of link rows.
pub(crate) fn lists(ragged: &Value) -> Vec<Vec<u32>> {
    let (start, links) = (u32s(&ragged["start"]), u32s(&ragged["links"]));
    start.windows(2).map(|pair| links[pair[0] as usize..pair[1] as usize].to_vec()).collect()
}

/// Holds that each list of links is a walk from the source host to the target host.
fn assert_walks(payload: &Value, paths: &[Vec<u32>], flows: &[u32]) {
    let links = &payload["links"]["columns"];
    let (sources, targets) = (u32s(&links["source"]), u32s(&links["target"]));
    let columns = &payload["flows"]["columns"];
    let (from, to) = (u32s(&columns["source_host"]), u32s(&columns["target_host"]));
    for (path, &flow) in paths.iter().zip(flows).filter(|(path, _)| !path.is_empty()) {
        let ends = [path[0], path[path.len() - 1]].map(|link| link as usize);
        assert_eq!((sources[ends[0]], targets[ends[1]]), (from[flow as usize], to[flow as usize]));
        assert!(path.windows(2).all(|two| targets[two[0] as usize] == sources[two[1] as usize]), "{path:?}");
    }
}

#[test]
fn flows_carry_their_paths_and_moves_both_paths() {
    let text = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scenarios/smallest/one-uplink-down.toml"
    ));
    let payload = run(&text.unwrap()).payload().unwrap();
    let flows = &payload["flows"];
    assert_eq!(
        (&flows["rows"], &flows["total"], &flows["total_bytes"]),
        (&4.into(), &4.into(), &20e9.into())
    );
    assert_eq!(flows["columns"]["operation"]["dict"], serde_json::json!(["send-receive"]));
    assert_eq!(f64s(&flows["columns"]["bytes"]), [5e9; 4]);
    let paths = lists(&flows["path"]);
    assert_walks(&payload, &paths, &[0, 1, 2, 3]);
    let moves = &payload["moves"];
    let count = |epoch: usize, what: &str| moves["epochs"][epoch][what].as_u64().unwrap();
    assert_eq!([0, 1].map(|epoch| (count(epoch, "stayed"), count(epoch, "moved"))), [(2, 2), (2, 2)]);
    assert_eq!(moves["epochs"][0]["at_ps"], 50e9);
    assert_eq!(moves["epochs"][0]["routes_ps"], 60e9);
    assert_eq!(u32s(&moves["columns"]["epoch"]), [1, 1, 2, 2]);
    let flow = u32s(&moves["columns"]["flow"]);
    let (before, after) = (lists(&moves["before"]), lists(&moves["after"]));
    assert_walks(&payload, &before, &flow);
    assert_walks(&payload, &after, &flow);
    assert_eq!((&before[0], &before[2]), (&after[2], &after[0]));
    assert_eq!(before[0], paths[flow[0] as usize]);
    assert_ne!(before[0], after[0]);
    let kinds = payload["incidents"]["columns"]["kind"]["dict"].as_array().unwrap();
    assert!(["down", "stalled", "resumed", "up"].iter().all(|kind| kinds.contains(&(*kind).into())));
}

/// Packets spread over parallel cables and many spines: each row of links once, hop by hop, and fewer flows listed.
#[test]
fn spread_flows_list_each_link_once_in_order() {
    for balancer in ["spray", "adaptive"] {
        let text = format!(
            "schema = 1\nname = \"spread\"\nrouting = {{ balancer = \"{balancer}\" }}\n[fabric]\n\
             preset = \"dcn-plus\"\npods = 1\nsegments = 2\nhosts = 2\n\
             [[job]]\nhosts = 4\nplacement = \"spread\"\ncollective = {{ kind = \"all-to-all\", bytes = \"1 GB\" }}\n\
             [[fault]]\nat = \"1 us\"\ncable = \"leaf-0:uplink-1\"\nkind = \"down\"\n"
        );
        let payload = run(&text).payload().unwrap();
        let links = &payload["links"]["columns"];
        let (sources, targets) = (u32s(&links["source"]), u32s(&links["target"]));
        let from = u32s(&payload["flows"]["columns"]["source_host"]);
        let paths = lists(&payload["flows"]["path"]);
        assert!(paths.iter().any(|path| path.len() > 8), "{balancer}");
        for (path, &from) in paths.iter().zip(&from) {
            let mut reached = std::collections::BTreeSet::from([from]);
            let rows: std::collections::BTreeSet<u32> = path.iter().copied().collect();
            assert_eq!(rows.len(), path.len());
            for &link in path {
                assert!(reached.contains(&sources[link as usize]), "{balancer}: {path:?}");
                reached.insert(targets[link as usize]);
            }
        }
    }
}

/// A plan that is made once knows what is dead by then, in the run and on the page.
#[test]
fn what_is_dead_from_the_start_is_planned_around_once() {
    let text = "schema = 1\nname = \"once\"\n[routing]\nbalancer = \"c4p\"\nreplan = \"never\"\nqueue_pairs = 3\n\
                [fabric]\npreset = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 1\nuplinks = 4\nhost = { model = \"plain\" }\n\
                [[job]]\nhosts = 2\ncollective = { kind = \"send-receive\", bytes = \"1 GB\" }\n\
                [[fault]]\nat = \"0 s\"\ncable = \"leaf-0:uplink-1\"\nkind = \"down\"\n";
    let run = run(text);
    let after = &run.moves().epochs[0];
    let moved: Vec<_> = after.moves.iter().map(|one| &one.after[1]).collect();
    let unmoved = 6 - moved.len();
    assert_eq!(unmoved, after.stayed);
    let log = &run.simulation.as_ref().unwrap().log;
    for one in &after.moves {
        assert!(
            log.link_bytes[one.after[1].index()] > 0.0,
            "the page says {:?}, the run went elsewhere",
            one.after
        );
    }
}

#[test]
fn a_run_without_faults_has_no_moves_and_lists_its_steps() {
    let text = "schema = 1\nname = \"steps\"\n[run]\nsteps = 3\n[fabric]\npreset = \"fat-tree\"\nk = 4\n\
                [[job]]\nname = \"a\"\ngpus = 4\ncollective = { kind = \"all-reduce\", bytes = \"1 MB\" }\n";
    let payload = run(text).payload().unwrap();
    assert!(payload.get("moves").is_none() && payload.get("throughput").is_none());
    assert_eq!(payload["jobs"], serde_json::json!(["a"]));
    let steps = &payload["steps"]["columns"];
    assert_eq!((u32s(&steps["first"]), u32s(&steps["steps"])), (vec![0, 1, 2], vec![1, 1, 1]));
    let (start, end) = (f64s(&steps["start_ps"]), f64s(&steps["end_ps"]));
    assert!(start[0] == 0.0 && (1..3).all(|step| start[step] == end[step - 1]));
    let total = payload["flows"]["total"].as_u64().unwrap();
    assert!(total > 0 && payload["flows"]["rows"] == total);
}

/// 160 hosts, everyone to everyone: more flows than a page lists.
#[test]
fn a_page_lists_the_largest_flows_and_stays_small() {
    let text = "schema = 1\nname = \"many\"\n[fabric]\npreset = \"leaf-spine\"\nleaves = 16\nhosts_per_leaf = 10\n\
                uplinks = 8\nhost = { model = \"plain\" }\n\
                [[job]]\nhosts = 160\ncollective = { kind = \"all-to-all\", bytes = \"1 GB\" }\n";
    let payload = run(text).payload().unwrap();
    let flows = &payload["flows"];
    let most = railtwin::paths::FLOWS_MAX;
    assert_eq!(flows["rows"].as_u64(), Some(most as u64));
    assert_eq!(flows["total"].as_u64(), Some(160 * 159));
    let listed: f64 = f64s(&flows["columns"]["bytes"]).iter().sum();
    let part = listed / flows["total_bytes"].as_f64().unwrap();
    assert!((part / (most as f64 / (160.0 * 159.0)) - 1.0).abs() < 1e-9, "{part}");
    let mut sources = u32s(&flows["columns"]["source_host"]);
    sources.dedup();
    assert_eq!(sources.len(), 160, "equals are drawn from everywhere");
    let paths = lists(&flows["path"]);
    let crossed: std::collections::BTreeSet<u32> = paths.iter().flatten().copied().collect();
    let carrying = u32s(&payload["links"]["columns"]["flows"]).into_iter().filter(|&flows| flows > 0).count();
    assert_eq!(crossed.len(), carrying, "every link that carries flows has one listed");
    assert_walks(&payload, &paths, &(0..most as u32).collect::<Vec<_>>());
    assert!(payload.to_string().len() < 5_000_000, "{}", payload.to_string().len());
}

/// The bins of each link stand for its bytes: every link that carried anything has some, 255 at its peak, and none is
/// above what it can carry.
#[test]
fn link_bins_cover_every_link_that_carried_anything() {
    let text = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scenarios/smallest/one-uplink-down.toml"
    ));
    let payload = run(&text.unwrap()).payload().unwrap();
    let bins = &payload["link_bins"];
    let rows = u32s(&bins["link_rows"]);
    let carried = f64s(&payload["links"]["columns"]["bytes"]);
    let wanted: Vec<u32> = (0..carried.len() as u32).filter(|&row| carried[row as usize] > 0.0).collect();
    assert_eq!(rows, wanted);
    let count = bins["bins"].as_u64().unwrap() as usize;
    let values = bytes(&bins["utilization"]);
    assert_eq!(values.len(), rows.len() * count);
    assert!(values.chunks(count).all(|series| series.iter().max() == Some(&255)));
    let peaks = bytes(&bins["peak"]);
    assert_eq!(peaks.len(), 4 * rows.len());
    for four in peaks.chunks_exact(4) {
        let peak = f32::from_le_bytes(four.try_into().unwrap());
        assert!(peak > 0.0 && peak <= 1.0 + 1e-6, "{peak}");
    }
}
