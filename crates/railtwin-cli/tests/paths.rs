//! `railtwin paths`: tables of paths, and what is refused.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test: files are written for the command to read"
)]

use crate::harness;
use std::collections::BTreeMap;
use std::path::Path;

use harness::{Outcome, railtwin, shown, written};
use railtwin_records::ColumnData;

const HPN: &str = "schema = 1\nname = \"a\"\n[fabric]\npreset = \"hpn\"\nsegments = 2\nhosts = 4\nspare_hosts = 0\n\
                   spines = 8\n[routing]\nseeds = \"per-tier\"\n";

/// Calls `paths` on a small HPN.
fn paths(folder: &Path, demands: &str, more: &[&str]) -> Outcome {
    let scenario = written(folder, "scenario.toml", HPN);
    let demands = written(folder, "demands.csv", demands);
    let mut args = vec!["paths", &scenario, &demands];
    args.extend(more);
    railtwin(&args)
}

/// The rows of a CSV, fields by column.
fn rows(out: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = out.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let header = lines.next().unwrap();
    lines.map(|line| header.iter().cloned().zip(line).collect()).collect()
}

/// Queue pairs over each uplink of a leaf that is not the target's.
fn uplinks(rows: &[BTreeMap<String, String>]) -> BTreeMap<String, usize> {
    let mut uses = BTreeMap::new();
    for row in rows {
        let uplink = row["path"].split('>').nth(1).unwrap();
        *uses.entry(uplink.to_owned()).or_insert(0) += 1;
    }
    uses
}

#[test]
fn hosts_are_paired_rail_by_rail_and_spines_carry_alike() {
    let folder = tempfile::tempdir().unwrap();
    let demands = "source,target\nhost-0,host-4\nhost-1,host-5\nhost-2,host-6\nhost-3,host-7\n";
    let c4p = paths(folder.path(), demands, &["--balancer", "c4p", "--queue-pairs", "4"]);
    assert_eq!(c4p.status, 0, "{}", c4p.notes);
    let table = rows(&c4p.out);
    assert_eq!(table.len(), 4 * 8 * 2 * 4);
    for row in &table {
        assert_eq!(row["port"], row["landed_port"]);
        assert_eq!((row["job"].as_str(), row["reason"].as_str()), ("job-0", "least-used"));
        let port: u16 = row["source_port"].parse().unwrap();
        assert!(port >= 0xC000);
        let ends: Vec<&str> = row["path"].split('>').collect();
        assert_eq!(ends.len(), 4);
        assert_eq!(ends[0], format!("{}:port-{}", row["source"], row["port"]));
        assert_eq!(ends[3], format!("{}:port-{}", row["target"], row["port"]));
    }
    // Sixteen queue pairs through a leaf with eight uplinks.
    assert!(uplinks(&table).values().all(|&uses| uses == 2));
    let hashed = paths(folder.path(), demands, &["--queue-pairs", "4"]);
    assert!(uplinks(&rows(&hashed.out)).values().any(|&uses| uses > 2), "the scenario's balancer is ecmp");
    let disjoint =
        rows(&paths(folder.path(), demands, &["--balancer", "disjoint", "--queue-pairs", "9"]).out);
    let shared = disjoint.iter().filter(|row| row["reason"] == "shared").count();
    assert_eq!(shared, disjoint.len() / 9, "eight paths for nine queue pairs");
}

#[test]
fn a_dead_cable_is_on_no_path_and_a_dead_end_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let demands =
        "source,target,queue_pairs,job\nhost-0/nic-0,host-4/nic-0,8,left\nhost-1/nic-0,host-5/nic-0,,right\n";
    for balancer in ["c4p", "disjoint", "ecmp"] {
        let down = ["--balancer", balancer, "--down", "leaf-0:uplink-3", "--down", "host-1/nic-0:port-1"];
        let outcome = paths(folder.path(), demands, &down);
        assert_eq!(outcome.status, 0, "{}", outcome.notes);
        let table = rows(&outcome.out);
        assert_eq!(table.len(), 2 * 8 + 2);
        assert!(!outcome.out.contains("leaf-0:uplink-3>"));
        let moved: Vec<_> = table.iter().filter(|row| row["reason"] == "bond").collect();
        assert_eq!(moved.len(), 1, "the bond moves the queue pair to the other port, as in a run");
        assert_eq!((moved[0]["job"].as_str(), moved[0]["port"].as_str()), ("right", "0"));
        assert!(moved[0]["path"].starts_with("host-1/nic-0:port-0>"));
        let both = [&down[..], &["--down", "host-1/nic-0:port-0"]].concat();
        let table = rows(&paths(folder.path(), demands, &both).out);
        let stranded: Vec<_> = table.iter().filter(|row| row["reason"] == "stranded").collect();
        assert_eq!(stranded.len(), 2);
        for row in stranded {
            let empty = ["path", "source_port", "landed_port"].iter().all(|column| row[*column].is_empty());
            assert!(row["job"] == "right" && empty);
        }
    }
}

/// Number columns of a table of a run folder.
fn numbers(table: &railtwin_records::Table, name: &str) -> Vec<u32> {
    match table.column(name) {
        Some(ColumnData::U32(values)) => values.clone(),
        _ => panic!("no numbers in {name}"),
    }
}

/// Text columns.
fn texts(table: &railtwin_records::Table, name: &str) -> Vec<String> {
    match table.column(name) {
        Some(ColumnData::Text { dictionary, codes }) => {
            codes.iter().map(|&code| dictionary[code as usize].clone()).collect()
        }
        _ => panic!("no text in {name}"),
    }
}

/// Without a list of demands the jobs are needed, and what decides paths of `[control]` is read.
#[test]
fn without_demands_the_jobs_are_asked() {
    let folder = tempfile::tempdir().unwrap();
    let text = |jobs: &str, control: &str| {
        format!("{HPN}balancer = \"disjoint\"\nqueue_pairs = 4\n[control]\n{control}\n{jobs}")
    };
    let job = "[[job]]\nname = \"late\"\nhosts = 8\nstart = \"5 ms\"\n\
               collective = { kind = \"all-reduce\", bytes = \"64 MiB\" }\n";
    let out = |text: &str, more: &[&str]| {
        let scenario = written(folder.path(), "own.toml", text);
        railtwin(&[&["paths", scenario.as_str()][..], more].concat())
    };
    let whole = out(&text(job, "report = \"1 ms\""), &[]);
    assert_eq!(whole.status, 0, "{}", whole.notes);
    assert!(rows(&whole.out).iter().all(|row| row["job"] == "late"));
    let leaf = out(&text(job, "hosts = \"leaf\""), &[]);
    assert_ne!(whole.out, leaf.out, "hosts plan by what they know");
    let two = out(&text(job, ""), &["--queue-pairs", "2"]);
    assert_eq!(rows(&two.out).len() * 2, rows(&whole.out).len());
    out(&text(job, ""), &["--queue-pairs", "none"]).assert_refused(&["--queue-pairs", "none"]);
    out(&text("", ""), &[]).assert_refused(&["own.toml"]);
}

/// Tenants come when others have gone: the master has their paths to give, as in the run.
#[test]
fn who_comes_when_others_have_gone_gets_what_the_run_gives() {
    let folder = tempfile::tempdir().unwrap();
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/control/c4p-tenants.toml");
    let text = std::fs::read_to_string(shipped).unwrap();
    let text = text.replace("[\"c4p\", \"ecmp\"]", "\"c4p\"").replace("replicates = 5", "replicates = 1");
    let scenario = written(folder.path(), "tenants.toml", text.split("[expect]").next().unwrap());
    let answer = railtwin(&["run", &scenario, "--json", "--out", &shown(&folder.path().join("runs"))]).json();
    let run = railtwin_store::RunFolder::open(&harness::folder_of(&answer, 0)).unwrap();
    let flows = run.table("flows").unwrap();
    let (sources, ports) = (texts(&flows, "source"), numbers(&flows, "source_port"));
    let of_run: BTreeMap<_, _> = sources.into_iter().zip(ports).collect();
    let outcome = railtwin(&["paths", &scenario]);
    assert_eq!(outcome.status, 0, "{}", outcome.notes);
    let rows = rows(&outcome.out);
    let planned: BTreeMap<_, _> =
        rows.iter().map(|row| (row["source"].clone(), row["source_port"].parse::<u32>().unwrap())).collect();
    assert_eq!((planned.len(), rows.len()), (20, 20), "a ring each");
    assert_eq!(planned, of_run);
    // Two tenants are there at any time, and each leaf has two uplinks: none is shared by two that are there.
    let uplink = |host: u32| {
        let row = rows.iter().find(|row| row["source"] == format!("host-{host}/nic-0")).unwrap();
        row["path"].split('>').nth(1).unwrap().to_owned()
    };
    (1..5).for_each(|late| assert_ne!(uplink(late), uplink(0), "tenant {late}"));
}

/// What `flows` of a run says of its connections is what `paths` says of the same, under every balancer whose queue
/// pairs have a path of their own.
#[test]
fn ports_are_those_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for balancer in ["ecmp", "e-ecmp", "pinned", "te", "d-mod-k", "multipath-ecn", "disjoint", "c4p"] {
        let text = format!(
            "{HPN}balancer = \"{balancer}\"\nqueue_pairs = 2\n[[job]]\nname = \"train\"\nhosts = 8\n\
             collective = {{ kind = \"all-reduce\", bytes = \"64 MiB\" }}\n"
        );
        let scenario = written(folder.path(), "run.toml", &text);
        let answer =
            railtwin(&["run", &scenario, "--json", "--out", &shown(&folder.path().join("runs"))]).json();
        let run = railtwin_store::RunFolder::open(&harness::folder_of(&answer, 0)).unwrap();
        let flows = run.table("flows").unwrap();
        let (sources, targets) = (texts(&flows, "source"), texts(&flows, "target"));
        let [index, port, landed] =
            ["queue_pair", "source_port", "landed_port"].map(|name| numbers(&flows, name));
        let (mut csv, mut of_run) = ("source,target,job\n".to_owned(), BTreeMap::new());
        for row in 0..flows.rows() {
            let line = format!("{},{},train\n", sources[row], targets[row]);
            if !csv.contains(&line) {
                csv += &line;
            }
            let key = (sources[row].clone(), targets[row].clone(), index[row]);
            of_run.insert(key, (port[row], landed[row]));
        }
        let demands = written(folder.path(), "demands.csv", &csv);
        let outcome = railtwin(&["paths", &scenario, &demands]);
        assert_eq!(outcome.status, 0, "{}", outcome.notes);
        let planned: BTreeMap<_, _> = rows(&outcome.out)
            .iter()
            .map(|row| {
                let number = |column: &str| row[column].parse::<u32>().unwrap();
                let key = (row["source"].clone(), row["target"].clone(), number("index"));
                (key, (number("source_port"), number("landed_port")))
            })
            .collect();
        assert!(planned.len() > 16);
        assert_eq!(planned, of_run, "{balancer}");
        // The jobs themselves need no list: the same rows, in the order in which they are opened.
        let own = railtwin(&["paths", &scenario]);
        assert_eq!(own.status, 0, "{balancer}: {}", own.notes);
        let lines = |out: &str| out.lines().map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(lines(&own.out), lines(&outcome.out), "{balancer}");
        seen.insert(outcome.out);
    }
    assert_eq!(seen.len(), 8, "every balancer has a plan of its own");
    for balancer in ["spray", "adaptive", "flowlet"] {
        let more = ["--balancer", balancer];
        paths(folder.path(), "source,target\nhost-0,host-4\n", &more).assert_refused(&[
            balancer,
            "no path of their own",
            "choose another one with --balancer",
        ]);
    }
}

#[test]
fn files_hold_what_the_stream_would() {
    let folder = tempfile::tempdir().unwrap();
    let demands = "source,target\nhost-0,host-4\n";
    let stream = paths(folder.path(), demands, &["--balancer", "c4p"]).out;
    let csv = shown(&folder.path().join("table.csv"));
    let parquet = shown(&folder.path().join("table.parquet"));
    let to_csv = paths(folder.path(), demands, &["--balancer", "c4p", "--output", &csv]);
    assert_eq!((to_csv.status, to_csv.out.as_str()), (0, ""));
    assert_eq!(std::fs::read_to_string(&csv).unwrap(), stream);
    assert_eq!(paths(folder.path(), demands, &["--balancer", "c4p", "--output", &parquet]).status, 0);
    let bytes = std::fs::read(&parquet).unwrap();
    let table = railtwin_store::parquet_read::decode(parquet.as_ref(), bytes).unwrap();
    let rows = rows(&stream);
    assert_eq!(table.rows(), rows.len());
    let Some(ColumnData::U32(ports)) = table.column("source_port") else { panic!("a column of numbers") };
    let expected: Vec<u32> = rows.iter().map(|row| row["source_port"].parse().unwrap()).collect();
    assert_eq!(*ports, expected);
}

#[test]
fn wrong_input_is_one_error_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let good = "source,target\nhost-0,host-4\n";
    let output = shown(&folder.path().join("table.csv"));
    for (demands, more, words) in [
        (
            "source,target\nhost-0,host-99\n",
            &[][..],
            &["demands.csv:2", "\"host-99\"", "host-0 to host-7"][..],
        ),
        (
            "source,target\nhost-0,host-4\nhost-0/nic-8,host-1/nic-0\n",
            &[],
            &["demands.csv:3", "host-0/nic-7"],
        ),
        ("source,target\nhost-0,host-4/nic-0\n", &[], &["demands.csv:2", "has 8 NICs, this has 1"]),
        ("source,target,queue_pairs\nhost-0,host-4,x\n", &[], &["demands.csv:2", "\"x\"", "from 1 to 4096"]),
        ("source\n", &[], &["demands.csv:1", "no column target"]),
        (good, &["--queue-pairs", "0"], &["--queue-pairs", "\"0\"", "from 1 to 4096"]),
        (good, &["--down", "leaf-99:uplink-0"], &["--down leaf-99:uplink-0", "no such cable"]),
    ] {
        let mut more = more.to_vec();
        more.extend(["--output", &output]);
        paths(folder.path(), demands, &more).assert_refused(words);
        assert!(!Path::new(&output).exists());
    }
    let axes = written(folder.path(), "axes.toml", &HPN.replace("spines = 8", "spines = [4, 8]"));
    let demands = written(folder.path(), "demands.csv", good);
    railtwin(&["paths", &axes, &demands]).assert_refused(&["has 2 fabrics, routings and seeds"]);
    let scenario = shown(&folder.path().join("scenario.toml"));
    railtwin(&["paths", &scenario, "missing.csv"]).assert_refused(&["cannot read missing.csv"]);
    let wrong = written(folder.path(), "wrong.toml", &HPN.replace("spines", "spins"));
    railtwin(&["paths", &wrong, &demands]).assert_refused(&["unknown key `spins`", "did you mean `spines`?"]);
}

#[test]
fn a_table_is_written_over_nothing_that_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let demands = "source,target\nhost-0/nic-0,host-4/nic-0\n";
    for name in ["demands.csv", "scenario.toml"] {
        let file = shown(&folder.path().join(name));
        let told = paths(folder.path(), demands, &["--output", &file]);
        told.assert_refused(&["--output", name, "would replace", "name another file"]);
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("demands.csv")).unwrap(), demands);
}
