//! `railtwin watch` as a program: killed and started again, once for files of the past, and under a real Prometheus.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test: files are written and looked at")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{Outcome, railtwin};

/// Time in which something must happen that takes a second on an idle machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Copies the dumps of a hung job.
fn dumps_into(folder: &Path) {
    let from = repository().join("data/telemetry/flight_recorder/gpu_error_1st");
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
}

/// A program that is killed when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn watch(folder: &Path, state: &Path, more: &[&str]) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_railtwin"));
    command.arg("watch").arg(folder).arg("--state").arg(state);
    command.args(["--every", "200ms", "--json"]).args(more);
    Running(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

fn journal(state: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(state.join("incidents.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_watch_that_is_killed_tells_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let (live, state) = (folder.path().join("live"), folder.path().join("state"));
    std::fs::create_dir_all(&live).unwrap();
    let first = watch(&live, &state, &[]);
    std::thread::sleep(Duration::from_millis(300));
    dumps_into(&live);
    until("two incidents are opened", || journal(&state).len() >= 2);
    // Dropping kills it, by SIGKILL.
    drop(first);
    let before = journal(&state);
    for _ in 0..3 {
        let again = watch(&live, &state, &[]);
        std::thread::sleep(Duration::from_millis(400));
        drop(again);
    }
    assert_eq!(journal(&state), before, "nothing new happened");
    let told: Vec<(u64, &str, u64)> = (before.iter())
        .map(|line| {
            let number = line["event"].as_u64().unwrap();
            (number, line["what"].as_str().unwrap(), line["incident"]["id"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(told, [(1, "opened", 1), (2, "opened", 2)]);
}

#[test]
fn once_tells_what_is_new_and_says_by_its_status_whether_somebody_is_accused() {
    let folder = tempfile::tempdir().unwrap();
    let (live, state) = (folder.path().join("live"), folder.path().join("state"));
    std::fs::create_dir_all(&live).unwrap();
    let call = || railtwin(&["watch", live.to_str().unwrap(), "--once", "--state", state.to_str().unwrap()]);
    assert_eq!(call().status, 0);
    dumps_into(&live);
    let Outcome { status, out, .. } = call();
    assert_eq!(status, 1);
    assert!(out.contains("incident 1 opened: non-communication-hang: rank job/12 (80 %)"), "{out}");
    let Outcome { status, out, .. } = call();
    assert_eq!((status, out.as_str()), (1, ""));
}

#[test]
fn wrong_calls_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (at, state) = (folder.path().to_str().unwrap(), folder.path().join("state"));
    let state = state.to_str().unwrap();
    let call = |more: &[&str]| railtwin(&[&["watch", at, "--state", state], more].concat());
    call(&["--webhook", "chat.example"]).assert_refused(&["--webhook chat.example", "http://HOST/PATH"]);
    call(&["--metrics", "nowhere"]).assert_refused(&["--metrics nowhere", "HOST:PORT"]);
    let soon = call(&["--every", "soon"]);
    assert_eq!(soon.status, 2);
    assert!(soon.notes.contains("--every") && soon.notes.contains("is not a time"), "{}", soon.notes);
    call(&["--names", "missing.csv"]).assert_refused(&["missing.csv"]);
    railtwin(&["watch", "missing", "--state", state])
        .assert_refused(&["missing", "name a folder that is there"]);
}

/// A program of Prometheus: on the path, or unpacked by `scripts/need`.
fn tool(name: &str) -> Option<PathBuf> {
    let unpacked = repository().join("target/tools/usr/bin").join(name);
    let known = std::env::var_os("PATH")
        .into_iter()
        .flat_map(|path| std::env::split_paths(&path).map(|folder| folder.join(name)).collect::<Vec<_>>());
    let found = known.chain([unpacked]).find(|path| path.is_file());
    if found.is_none() {
        let loud = format!("SKIPPED: there is no {name} (apt-get install prometheus)\n");
        std::io::stderr().write_all(loud.as_bytes()).unwrap();
    }
    found
}

fn get(address: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text.split_once("\r\n\r\n")?.1.to_owned())
}

/// The address that a watch says it serves metrics at.
fn address_of(watch: &mut Running) -> String {
    let mut lines = BufReader::new(watch.0.stderr.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    // Its other lines are read away, so that it never waits for who reads them.
    std::thread::spawn(move || lines.for_each(drop));
    let at = line.strip_prefix("metrics at http://").unwrap();
    at.split('/').next().unwrap().to_owned()
}

/// A watch of the dumps of a hung job, and the address of its metrics.
fn watch_of_dumps(folder: &Path) -> (Running, String) {
    let live = folder.join("live");
    std::fs::create_dir_all(&live).unwrap();
    dumps_into(&live);
    let mut watch = watch(&live, &folder.join("state"), &["--metrics", "127.0.0.1:0"]);
    let address = address_of(&mut watch);
    (watch, address)
}

#[test]
fn promtool_accepts_the_metrics_and_the_alert_rules() {
    let Some(promtool) = tool("promtool") else { return };
    let rules = repository().join("deploy/prometheus");
    let tests =
        Command::new(&promtool).args(["test", "rules", "tests.yml"]).current_dir(&rules).output().unwrap();
    assert!(tests.status.success(), "{}", String::from_utf8_lossy(&tests.stdout));
    let folder = tempfile::tempdir().unwrap();
    let (_watch, address) = watch_of_dumps(folder.path());
    until("an incident is open", || {
        get(&address, "/metrics").is_some_and(|text| text.contains("railtwin_watch_suspect_share{"))
    });
    let mut check = Command::new(&promtool);
    let check =
        check.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut check = check.spawn().unwrap();
    check.stdin.take().unwrap().write_all(get(&address, "/metrics").unwrap().as_bytes()).unwrap();
    let checked = check.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert!(checked.status.success() && said.trim().is_empty(), "{said}");
}

#[test]
fn a_real_prometheus_scrapes_the_watch_and_raises_the_alert() {
    let Some(prometheus) = tool("prometheus") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (_watch, address) = watch_of_dumps(folder.path());
    let shipped = repository().join("deploy/prometheus");
    let config = std::fs::read_to_string(shipped.join("prometheus.yml")).unwrap();
    let config = config.replace("127.0.0.1:9925", &address).replace("15s", "1s");
    std::fs::write(folder.path().join("prometheus.yml"), config).unwrap();
    std::fs::copy(shipped.join("alerts.yml"), folder.path().join("alerts.yml")).unwrap();
    // A port that is free now; Prometheus does not tell the one that it takes.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let at = format!("127.0.0.1:{port}");
    let mut command = Command::new(prometheus);
    command.current_dir(folder.path()).arg("--config.file=prometheus.yml").arg("--storage.tsdb.path=data");
    command.arg(format!("--web.listen-address={at}")).stdout(Stdio::null()).stderr(Stdio::null());
    let _prometheus = Running(command.spawn().unwrap());
    until("Prometheus raises the alert", || {
        let alerts = get(&at, "/api/v1/alerts").and_then(|text| serde_json::from_str::<Value>(&text).ok());
        let list = alerts.map_or(Value::Null, |alerts| alerts["data"]["alerts"].clone());
        list.as_array().is_some_and(|list| {
            list.iter().any(|alert| {
                alert["labels"]["alertname"] == "RailtwinSuspect" && alert["labels"]["component"] == "job/12"
            })
        })
    });
}
