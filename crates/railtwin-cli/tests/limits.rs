//! Where a run has its limits: the end of simulated time, memory, and work that sends nothing.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test: files are written and looked at")]

use crate::harness;
use harness::{railtwin, shown, written};

/// Two plain hosts under two leaves whose uplinks have a rate; `rest` are further tables.
fn slow(rate: &str, rest: &str) -> String {
    format!(
        "schema = 1\nname = \"slow\"\n[fabric]\npreset = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 1\nuplinks = 1\n\
         uplink_capacity = \"{rate}\"\nhost = {{ model = \"plain\" }}\n{rest}"
    )
}

const SHIFT: &str =
    "[[job]]\nname = \"a\"\ngpus = 2\nworkload = { traffic = \"shift\", bytes = \"2310 kB\" }\n";

#[test]
fn the_end_of_simulated_time_is_said_by_both_engines() {
    let folder = tempfile::tempdir().unwrap();
    // By packets a timer of hours keeps queue pairs alive, over packets of a few hundred seconds.
    let packet = "[transport]\ntimeout = 31\n[packet]\npayload = \"64 B\"\nheader = \"0 B\"\ncontrol = \"1 B\"\n\
                  window = \"64 B\"\n[routing]\nmessage = \"64 B\"\n";
    for (engine, more) in [("flow", ""), ("packet", packet)] {
        let scenario = written(folder.path(), "slow.toml", &slow("1 bps", &format!("{SHIFT}{more}")));
        let runs = shown(&folder.path().join(engine));
        let call = ["run", &scenario, "--engine", engine, "--out", &runs, "--json"];
        for again in [false, true] {
            let outcome = railtwin(&call);
            assert_eq!(outcome.status, 1, "{engine} {again}: {}", outcome.notes);
            let notes =
                outcome.notes.split_whitespace().filter(|piece| *piece != "│").collect::<Vec<_>>().join(" ");
            let said =
                ["213.5 days, which was not enough", "job a ended 0 of 1 steps", "at 1 bps", "send less"];
            for words in said {
                assert!(notes.contains(words), "{engine}: {words:?} is missing in {notes}");
            }
            assert!(notes.contains("leaf-") && notes.contains("213.9 days"), "{notes}");
            let answer: serde_json::Value = serde_json::from_str(&outcome.out).unwrap();
            assert!(answer["runs"][0]["warnings"][0].as_str().unwrap().contains("213.5 days"), "{answer}");
            assert_eq!(answer["figures"]["operations_unfinished"], 1.0);
        }
    }
}

#[test]
fn what_ends_in_time_says_nothing_and_what_halts_says_that() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = written(folder.path(), "slow.toml", &slow("1 Mbps", SHIFT));
    for engine in ["flow", "packet"] {
        let outcome = railtwin(&["run", &scenario, "--engine", engine, "--no-folder"]);
        assert_eq!((outcome.status, outcome.notes.as_str()), (0, ""), "{engine}");
    }
    // Down for good: a queue pair dies, and time has nothing to do with it.
    let dead = "[[fault]]\nat = \"1 ms\"\ncable = \"leaf-0:uplink-0\"\nkind = \"down\"\n";
    let scenario = written(folder.path(), "dead.toml", &slow("1 Mbps", &format!("{SHIFT}{dead}")));
    let outcome = railtwin(&["run", &scenario, "--no-folder"]);
    assert_eq!(outcome.status, 0, "{}", outcome.notes);
    assert!(!outcome.notes.contains("simulated time"), "{}", outcome.notes);
}

#[test]
fn steps_that_are_too_many_for_simulated_time_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let work = "[run]\nsteps = 3\n[[job]]\nname = \"a\"\ngpus = 2\n\
                collective = { kind = \"all-reduce\", bytes = \"1 MB\", compute = \"2400 h\" }\n";
    let scenario = written(folder.path(), "long.toml", &slow("100 Gbps", work));
    for engine in ["flow", "packet"] {
        let outcome = railtwin(&["run", &scenario, "--engine", engine, "--no-folder"]);
        assert_eq!(outcome.status, 1, "{engine}: {}", outcome.notes);
        let notes =
            outcome.notes.split_whitespace().filter(|piece| *piece != "│").collect::<Vec<_>>().join(" ");
        assert!(
            notes.contains("job a ended 2 of 3 steps, its compute takes 100.0 days"),
            "{engine}: {notes}"
        );
    }
}

#[test]
fn a_sweep_says_which_of_its_points_had_too_little_time() {
    let folder = tempfile::tempdir().unwrap();
    let text = slow("1 bps", SHIFT).replace("\"1 bps\"", "[\"1 bps\", \"1 Mbps\"]");
    let scenario = written(folder.path(), "slow.toml", &text);
    let runs = shown(&folder.path().join("runs"));
    let outcome = railtwin(&["sweep", &scenario, "--out", &runs]);
    assert_eq!(outcome.status, 1, "{}", outcome.notes);
    assert!(outcome.notes.contains("fabric.uplink_capacity=1 bps: simulated time ends"), "{}", outcome.notes);
    assert_eq!(outcome.notes.matches("simulated time ends").count(), 1, "{}", outcome.notes);
}

#[test]
fn work_that_sends_nothing_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let told = |work: &str| {
        let scenario = written(folder.path(), "one.toml", &slow("100 Gbps", work));
        let outcome = railtwin(&["run", &scenario, "--no-folder"]);
        assert_eq!(outcome.status, 0, "{}", outcome.notes);
        outcome.notes
    };
    let collective = |more: &str| format!("[[job]]\nname = \"a\"\n{more} }}\n");
    let one = told(&collective("gpus = 1\ncollective = { kind = \"all-reduce\", bytes = \"1 MB\""));
    assert_eq!(one, "warning: job a: the all-reduce sends nothing and takes 0 s: the job has one rank\n");
    let rail =
        told(&collective("gpus = 1\ncollective = { kind = \"all-gather\", per = \"rail\", bytes = \"1 MB\""));
    assert!(rail.contains("the all-gather sends nothing"), "{rail}");
    assert_eq!(told(&collective("gpus = 2\ncollective = { kind = \"all-reduce\", bytes = \"1 MB\"")), "");
    // In training an axis of one rank is normal.
    let text = "schema = 1\nname = \"dp\"\n[fabric]\npreset = \"hpn\"\n[[job]]\n\
                workload = { recipe = \"llama-7b\", tp = 8, micro_batches = 1, micro_batch = 1 }\n";
    let scenario = written(folder.path(), "dp.toml", text);
    let outcome = railtwin(&["run", &scenario, "--no-folder"]);
    assert!(!outcome.notes.contains("sends nothing"), "{}", outcome.notes);
}

#[test]
fn settings_of_packets_that_cannot_be_meant_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let told = |more: &str| {
        let text = slow("100 Gbps", &format!("{SHIFT}{more}")).replace("2310 kB", "1 MB");
        let scenario = written(folder.path(), "p.toml", &text);
        let outcome = railtwin(&["run", &scenario, "--engine", "packet", "--no-folder"]);
        assert_eq!(outcome.status, 0, "{}", outcome.notes);
        outcome.notes
    };
    let crawls = told("[packet]\nacknowledge_every = 64\nwindow = \"100 kB\"\n");
    let words =
        ["acknowledge_every = 64", "23 packets", "window of 100 kB", "timeout of 4.295 s", "up to 23"];
    assert!(words.iter().all(|word| crawls.contains(word)), "{crawls}");
    // One message fits into the window: its last packet is acknowledged.
    let fits =
        told("[packet]\nacknowledge_every = 64\nwindow = \"100 kB\"\n[routing]\nmessage = \"64 KiB\"\n");
    assert_eq!(fits, "");
    assert_eq!(told("[packet]\nacknowledge_every = 16\nwindow = \"100 kB\"\n"), "");
    let marks = told(
        "[switch.leaf]\nbuffer = \"1 MB\"\necn = { min = \"2 MB\", max = \"3 MB\", probability = 1.0 }\n",
    );
    assert!(marks.contains("switch.leaf: ecn.min = 2 MB is no less than the buffer of 1 MB"), "{marks}");
    let samples = told("[packet]\nsamples = \"50 ns\"\n");
    assert!(samples.contains("packet.samples = 50.000 ns is less than"), "{samples}");
}

#[test]
fn a_job_that_does_not_fit_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let all = "[[job]]\nname = \"a\"\ngpus = 64\n\
               collective = { kind = \"all-gather\", bytes = \"1 MB\", algorithm = \"direct\" }\n\
               [routing]\nqueue_pairs = [1, 4]\n";
    let text = slow("100 Gbps", all).replace("hosts_per_leaf = 1", "hosts_per_leaf = 32");
    let scenario = written(folder.path(), "all.toml", &text);
    let runs = folder.path().join("runs");
    let out = shown(&runs);
    for verb in ["run", "sweep"] {
        let call = [verb, &scenario, "--out", &out, "--memory", "1MiB"];
        let outcome = railtwin(&call);
        outcome.assert_refused(&[
            "4032 edges with 4032 queue pairs",
            "links each",
            "1 MiB may be used",
            "algorithm = \"ring\"",
            "--memory",
        ]);
        assert!(!runs.exists(), "{verb}");
        let outcome = railtwin(&[&call[..5], &["256MiB"]].concat());
        assert_eq!(outcome.status, 0, "{verb}: {}", outcome.notes);
        // What is there takes no memory any more.
        assert_eq!(railtwin(&call).status, 0, "{verb}");
        std::fs::remove_dir_all(&runs).unwrap();
    }
}

#[test]
fn a_job_of_billions_of_edges_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let text = "schema = 1\nname = \"all\"\n[fabric]\npreset = \"fat-tree\"\nk = 48\n[[job]]\n\
                collective = { kind = \"all-to-all\", bytes = \"1 GB\" }\n[routing]\nqueue_pairs = 64\n";
    let scenario = written(folder.path(), "all.toml", text);
    let runs = folder.path().join("runs");
    let out = shown(&runs);
    for engine in ["flow", "packet"] {
        railtwin(&["run", &scenario, "--engine", engine, "--out", &out])
            .assert_refused(&["764.4 million edges with 48.9 billion queue pairs", "32 bits number"]);
    }
    assert!(!runs.exists());
}

/// The number before `MiB` that follows `words`.
fn mebibytes(text: &str, words: &str) -> f64 {
    let text = text.split_whitespace().filter(|piece| *piece != "│").collect::<Vec<_>>().join(" ");
    let after =
        &text[text.find(words).unwrap_or_else(|| panic!("{words:?} is missing in {text}")) + words.len()..];
    let (number, _) = after.trim_start().split_once(" MiB").unwrap_or_else(|| panic!("{text}"));
    number.parse().unwrap_or_else(|_| panic!("{number:?} in {text}"))
}

#[test]
fn memory_is_foretold_within_a_factor_of_two() {
    let folder = tempfile::tempdir().unwrap();
    let hpn = "schema = 1\nname = \"hpn\"\nfabric = { preset = \"hpn\" }\n";
    let direct = "[[job]]\ngpus = 512\ncollective = { kind = \"all-to-all\", bytes = \"1 GB\", algorithm = \"direct\" }\n";
    let plain = slow("100 Gbps", "").replace("hosts_per_leaf = 1", "hosts_per_leaf = 96");
    let traffic = "[[job]]\nworkload = { traffic = \"all-to-all\", bytes = \"1 kB\" }\n";
    let cases =
        [("flow", hpn.to_owned() + direct), ("flow", plain.clone() + traffic), ("packet", plain + traffic)];
    for (engine, text) in cases {
        let scenario = written(folder.path(), "a.toml", &text);
        let call = ["run", &scenario, "--engine", engine, "--no-folder"];
        let refused = railtwin(&[&call[..], &["--memory", "1 KiB"]].concat());
        assert_eq!(refused.status, 2, "{}", refused.notes);
        let foretold = mebibytes(&refused.notes, "take about");
        // A process of its own: the peak is that of this run alone.
        let outcome = std::process::Command::new(harness::PROGRAM).args(call).output().unwrap();
        let out = String::from_utf8(outcome.stdout).unwrap();
        let seconds = out.find("simulated in").unwrap();
        let there = mebibytes(&out[seconds..].replace(',', ""), " s");
        assert!(
            (0.5..2.0).contains(&(foretold / there)),
            "{engine}: {foretold} MiB foretold, {there} MiB there"
        );
    }
}
