//! A job that does not end: what `run`, `sweep` and `compare` say in the place of its figures.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test: files are written and looked at")]

use crate::harness;
use harness::{folder_of, railtwin, shown, written};

/// A cable of a single-port NIC flaps in the second of four steps; a short timeout gives up, a long one waits.
const FLAP: &str = "schema = 1\nname = \"flap\"\n[run]\nsteps = 4\n[fabric]\npreset = \"hpn\"\nsegments = 1\nhosts = 2\n\
    spare_hosts = 0\nspines = 4\nhost = { nic_ports = 1, nic_port_capacity = \"400 Gbps\" }\n\
    [transport]\ntimeout = [14, 18]\n[[job]]\nhosts = 2\n\
    collective = { kind = \"all-reduce\", bytes = \"1 GB\", compute = \"1 s\" }\n\
    [[fault]]\nat = \"2 s\"\ncable = \"host-0/nic-0:port-0\"\nkind = \"flap\"\nlength = \"2 s\"\n";

#[test]
fn a_point_that_halts_does_not_win_a_sweep() {
    let folder = tempfile::tempdir().unwrap();
    let gain = "[gain]\nfigure = \"step_time\"\naxis = \"transport.timeout\"\nover = \"18\"\n";
    let scenario = written(folder.path(), "flap.toml", &format!("{FLAP}{gain}"));
    let runs = shown(&folder.path().join("runs"));
    let text = railtwin(&["sweep", &scenario, "--out", &runs]);
    assert_eq!(text.status, 0, "{}", text.notes);
    let lines: Vec<&str> = text.out.lines().collect();
    let head: Vec<&str> = lines[0].split_whitespace().take(5).collect();
    assert_eq!(head, ["transport.timeout", "halted", "stall_time", "time_lost_share", "step_time"]);
    let cells = |line: &str| -> Vec<String> {
        line.split("  ").filter(|cell| !cell.is_empty()).map(|cell| cell.trim().to_owned()).collect()
    };
    let (short, long) = (cells(lines[1]), cells(lines[2]));
    assert_eq!((short[1].as_str(), short[3].as_str(), short[4].as_str()), ("1", "– halted", "– halted"));
    assert_eq!(long[1], "0");
    assert!(long[4].ends_with(" s"), "{}", text.out);
    let below = lines[3];
    assert!(below.starts_with("transport.timeout=14  time_lost_share, step_time"), "{below}");
    assert!(below.contains(": halted at 2.") && below.ends_with(" s"), "{below}");
    assert!(text.out.contains("gain_mean  – transport.timeout=14: step_time halted at 2."), "{}", text.out);

    let answer = railtwin(&["sweep", &scenario, "--out", &runs, "--json"]).json();
    let [short, long] = [&answer["runs"][0], &answer["runs"][1]];
    assert!(short["figures"]["step_time"].is_null());
    assert!(short["reasons"]["step_time"].as_str().unwrap().starts_with("halted at 2."));
    assert!(long["figures"]["step_time"].is_number() && long["reasons"]["step_time"].is_null());
    assert!(answer["reasons"]["gain_mean"].as_str().unwrap().contains("halted"));
    for run in [short, long] {
        let figures = run["figures"].as_object().unwrap();
        for (name, value) in figures {
            assert_eq!(value.is_null(), run["reasons"][name].is_string(), "{name}");
        }
    }

    let (a, b) = (shown(&folder_of(&answer, 0)), shown(&folder_of(&answer, 1)));
    let page = shown(&folder.path().join("both.html"));
    let both = railtwin(&["compare", &a, &b, "--report", &page]);
    assert_eq!(both.status, 0, "{}", both.notes);
    let row = both.out.lines().find(|line| line.starts_with("step_time ")).unwrap();
    assert!(row.contains("– halted"), "{row}");
    assert!(both.out.contains("A  time_lost_share, step_time"), "{}", both.out);
    let json = railtwin(&["compare", &a, &b, "--report", &page, "--json"]).json();
    let step = json["figures"].as_array().unwrap().iter().find(|f| f["name"] == "step_time").unwrap();
    assert!(step["left"].is_null() && step["left_reason"].as_str().unwrap().starts_with("halted at 2."));
    assert!(step["right"].is_number() && step.get("right_reason").is_none());
}

#[test]
fn run_says_why_behind_the_dash_and_in_what_was_expected() {
    let folder = tempfile::tempdir().unwrap();
    let expect = "[expect]\nstep_time = { at_most = \"9 s\" }\n";
    let text = format!("{}{expect}", FLAP.replace("[14, 18]", "14"));
    let scenario = written(folder.path(), "flap.toml", &text);
    let run = railtwin(&["run", &scenario, "--no-folder"]);
    assert_eq!(run.status, 1, "{}", run.notes);
    let line = run.out.lines().find(|line| line.starts_with("step_time ")).unwrap();
    assert!(line.contains(" – halted at 2.") && line.ends_with(" s"), "{line}");
    let [headline, first] = [0, 1].map(|row| run.out.lines().nth(row).unwrap());
    assert!(headline.contains("halted at 2."), "{headline}");
    assert!(first.starts_with("halted ") && first.ends_with(" 1"), "{first}");
    let words: Vec<&str> = run.notes.split_whitespace().collect();
    assert!(words.join(" ").contains("step_time is missing (halted at 2."), "{}", run.notes);
}

#[test]
fn a_figure_of_one_run_alone_is_not_in_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let runs = shown(&folder.path().join("runs"));
    let plain = FLAP.replace("[14, 18]", "18").replace("\"flap\"\n[run]", "\"plain\"\n[run]");
    let plain = plain.split("[[fault]]").next().unwrap().to_owned();
    let texts = [FLAP.replace("[14, 18]", "18"), plain];
    let [a, b] = [0, 1].map(|i: usize| {
        let scenario = written(folder.path(), &format!("{i}.toml"), &texts[i]);
        shown(&folder_of(&railtwin(&["run", &scenario, "--out", &runs, "--json"]).json(), 0))
    });
    let both = railtwin(&["compare", &a, &b, "--report", &shown(&folder.path().join("both.html"))]);
    let row = both.out.lines().find(|line| line.starts_with("stall_time ")).unwrap();
    assert!(row.contains("– not in this run"), "{row}");
}
