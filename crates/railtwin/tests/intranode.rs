//! Traffic inside hosts from a scenario: every key is heard, threads change nothing, bad questions get one error.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::path::Path;

use railtwin::Question;
use railtwin_engine::IntranodeLog;

const BASE: &str = r#"
schema = 1
name = "inside"
[fabric]
preset = "rlft"
ports = 4
host = { gpus = 4, nics = 1, nvlink = "256 Gbps" }
[intranode]
unpack = "8 ns"
duration = "12 us"
warm_up = "4 us"
"#;

const PAIR: &str = "pcie = {}\npair = { messages = 20 }\n";

fn log(text: &str, threads: u32) -> Result<IntranodeLog, railtwin::Error> {
    let question = Question::of_text("inside.toml", text, Path::new("."));
    let point = question.points()?.remove(0);
    Ok(question.intranode(&point.scenario, threads)?.run())
}

#[test]
fn every_key_is_heard() {
    let base = log(BASE, 1).unwrap();
    assert_eq!(base, log(BASE, 2).unwrap());
    let changed = |key: &str| log(&format!("{BASE}{key}\n"), 1).unwrap();
    for key in [
        "pattern = \"c2\"",
        "inter = 0.4",
        "load = 0.7",
        "message = \"8 KiB\"",
        "arrivals = \"poisson\"",
        "link = \"300 Gbps\"",
        "link_delay = \"3 ns\"",
        "header = \"30 B\"",
        "payload = \"256 B\"",
        "inter_header = \"80 B\"",
        "inter_payload = \"2 KiB\"",
        "pack = \"9 ns\"",
        "buffer = \"40 KiB\"",
        "arbiter = \"age\"",
        "pcie = {}",
        PAIR,
    ] {
        assert_ne!(changed(key), base, "{key} changes nothing");
    }
    for (old, new) in [
        ("unpack = \"8 ns\"", "unpack = \"9 ns\""),
        ("duration = \"12 us\"", "duration = \"13 us\""),
        ("warm_up = \"4 us\"", "warm_up = \"5 us\""),
        ("name = \"inside\"", "name = \"inside\"\nseed = 2"),
    ] {
        assert_ne!(log(&BASE.replacen(old, new, 1), 1).unwrap(), base, "{new} changes nothing");
    }
    // GPUs queue once buffers are full.
    let full = "buffer = \"24 KiB\"\nduration = \"40 us\"\n";
    let of_queue = |queue: &str| {
        log(&BASE.replacen("duration = \"12 us\"\n", &format!("{full}queue = \"{queue}\"\n"), 1), 1).unwrap()
    };
    let (short, long) = (of_queue("8 KiB"), of_queue("128 KiB"));
    assert!(short.refused_bytes > long.refused_bytes, "{} {}", short.refused_bytes, long.refused_bytes);
    let pair = changed(PAIR);
    for (old, new) in [
        ("pcie = {}", "pcie = { generation = \"gen5\" }"),
        ("pcie = {}", "pcie = { lanes = 8 }"),
        ("pcie = {}", "pcie = { max_payload = \"256 B\" }"),
        ("pcie = {}", "pcie = { tlp_overhead = \"20 B\" }"),
        ("pcie = {}", "pcie = { dllp = \"16 B\" }"),
        ("pcie = {}", "pcie = { ack_factor = 1 }"),
        ("messages = 20", "messages = 21"),
        ("messages = 20", "measure = \"latency\""),
        ("messages = 20", "messages = 20, gap = \"2 us\""),
        ("messages = 20", "messages = 20, overhead = \"1 us\""),
    ] {
        assert_ne!(changed(&PAIR.replacen(old, new, 1)), pair, "{new} changes nothing");
    }
}

#[test]
fn bad_questions_get_one_error_with_its_place() {
    let error = |text: &str| log(text, 1).unwrap_err().to_string();
    for (old, new, part) in [
        ("duration = \"12 us\"", "duration = \"12 us\"\nbuffer = \"1 KiB\"", "inside.toml:11:"),
        ("duration = \"12 us\"", "duration = \"12 us\"\ninter_payload = \"64 B\"", "does not fit"),
        ("warm_up = \"4 us\"", "warm_up = \"14 us\"", "inside.toml:11:"),
        ("nics = 1", "nics = 4", "share one NIC"),
        ("gpus = 4", "gpus = 100", "1 to 63 GPUs"),
        (
            "[intranode]",
            "[[job]]\nname = \"j\"\ncollective = { kind = \"all-reduce\", bytes = \"1 MB\" }\n[intranode]",
            "`job` beside",
        ),
        ("warm_up = \"4 us\"", "pcie = {}\nlink = \"1 Gbps\"", "says what links carry"),
        ("warm_up = \"4 us\"", "pair = {}\nload = 0.5", "neither load nor pattern"),
    ] {
        let text = BASE.replacen(old, new, 1);
        let said = error(&text);
        assert!(said.contains(part), "{new}: {said}");
    }
}
