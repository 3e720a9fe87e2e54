//! `railtwin worker`: real processes over loopback, their records and what the judge says of them.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test: processes, files and clocks are its matter"
)]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use railtwin_live::reader::{self, RankFile};
use railtwin_live::record::Body;
use railtwin_live::{JudgeSettings, LiveIncident, LiveKind, replay};

use crate::harness::{PROGRAM, railtwin};

const RANKS: usize = 4;
/// Attempts of a test in which observers are starved, which they say themselves.
const ATTEMPTS: usize = 3;

/// A base port of its own for each job: below the ports that the kernel chooses.
fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let own = (std::process::id() % 1_000) as u16 * 12;
    20_000 + (own + NEXT.fetch_add(RANKS as u16, Ordering::Relaxed)) % 12_000
}

fn job(folder: &Path, more: &str) -> String {
    let path = folder.join("job.toml");
    let port = port();
    let text = format!(
        "addresses = [\"127.0.0.1\", \"127.0.0.1\", \"127.0.0.1\", \"127.0.0.1\"]\nport = {port}\nrecords = \"records\"\n\
         {more}\n[data]\nms = 10\n[compute]\nms = 40\n[[collectives]]\nalgorithm = \"ring\"\nbytes = 262144\n\
         [[collectives]]\nalgorithm = \"ring\"\nbytes = 262144\n"
    );
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A job whose processes end with the test, whatever becomes of it.
struct RunningJob(Child);

impl RunningJob {
    fn start(job: &str) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["worker", job, "--all", "--cost"]).stdout(Stdio::piped()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn files(folder: &Path) -> Vec<RankFile> {
    let read = |rank: usize| {
        let bytes = std::fs::read(folder.join(format!("records/r{rank}.jsonl"))).unwrap_or_default();
        reader::read(&bytes, None)
    };
    (0..RANKS).map(read).collect()
}

fn incidents(folder: &Path) -> Vec<LiveIncident> {
    let records = reader::merged(files(folder));
    replay::incidents(&records, JudgeSettings { hang_ns: 2_000_000_000 })
}

fn is_starved(incidents: &[LiveIncident]) -> bool {
    incidents.iter().any(|one| one.kind == LiveKind::ObserverStarved)
}

/// Waits until a rank has ended some operations, and returns its process.
fn running(folder: &Path, rank: usize) -> String {
    let until = Instant::now() + Duration::from_secs(60);
    let path = folder.join(format!("records/r{rank}.jsonl"));
    while Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let pid = text.split_once("\"pid\":").and_then(|(_, rest)| rest.split_once('}'));
        if text.matches("\"k\":\"op\"").count() >= 30 {
            return pid.expect("the header has the process").0.to_owned();
        }
    }
    panic!("the job runs no operations");
}

fn signal(name: &str, pid: &str) {
    assert!(Command::new("kill").args([name, pid]).status().unwrap().success());
}

/// Runs a job until `act` is done with it, again where observers were starved, and returns the incidents.
fn incidents_of(seconds: &str, act: impl Fn(&Path, &mut RunningJob)) -> Option<Vec<LiveIncident>> {
    for _ in 0..ATTEMPTS {
        let folder = tempfile::tempdir().unwrap();
        let mut running = RunningJob::start(&job(folder.path(), seconds));
        act(folder.path(), &mut running);
        let found = incidents(folder.path());
        if !is_starved(&found) {
            return Some(found);
        }
    }
    eprintln!("SKIPPED: observers were starved {ATTEMPTS} times");
    None
}

#[test]
fn a_sound_job_leaves_whole_records_and_no_incident() {
    let found = incidents_of("seconds = 3.0", |folder, running| {
        assert!(running.0.wait().unwrap().success());
        let files = files(folder);
        for (rank, file) in files.iter().enumerate() {
            assert_eq!((file.damaged, file.unknown), (0, 0), "rank {rank}: {:?}", file.first_damaged);
            let count =
                |is_one: fn(&Body) -> bool| file.records.iter().filter(|one| is_one(&one.body)).count();
            let (entered, ended) =
                (count(|one| matches!(one, Body::Entered(_))), count(|one| matches!(one, Body::Ended(_))));
            assert!(entered == ended && ended >= 10, "rank {rank}: {entered} entered, {ended} ended");
            assert!(count(|one| matches!(one, Body::Heartbeat(_))) >= 5, "rank {rank}");
            assert_eq!(count(|one| matches!(one, Body::Left(left) if left.status == 0)), 1, "rank {rank}");
            let connection = file.records.iter().rev().find_map(|one| match &one.body {
                Body::Heartbeat(heartbeat) => heartbeat.s,
                _ => None,
            });
            let connection = connection.expect("a heartbeat shows the connection to send");
            assert_eq!(connection.peer, Some((rank as u32 + 1) % RANKS as u32));
            assert!(connection.ba > 0, "rank {rank}: {connection:?}");
            let answered = file.records.iter().any(|one| match &one.body {
                Body::Heartbeat(heartbeat) => {
                    heartbeat.ping.iter().filter(|trip| **trip >= 0).count() == RANKS - 1
                }
                _ => false,
            });
            assert!(answered, "rank {rank}: the others answered pings");
        }
        let mut text = String::new();
        std::io::Read::read_to_string(running.0.stdout.as_mut().unwrap(), &mut text).unwrap();
        assert!(text.contains("recording: mean") && text.lines().count() == RANKS + 2, "{text}");
    });
    if let Some(found) = found {
        assert_eq!(found, []);
    }
}

#[test]
fn a_killed_rank_is_named() {
    let found = incidents_of("seconds = 60.0", |folder, job| {
        signal("-KILL", &running(folder, 2));
        assert!(!job.0.wait().unwrap().success(), "a job with a killed rank did not end in order");
    });
    if let Some(found) = found {
        let named: Vec<(LiveKind, u32)> =
            found.iter().map(|one| (one.kind, one.suspects[0].place.rank())).collect();
        assert_eq!(named, [(LiveKind::KilledProcess, 2)], "{found:#?}");
        assert!(found[0].confirmed_ns.is_some());
    }
}

#[test]
fn a_stopped_rank_is_named_and_its_observer_goes_on() {
    let found = incidents_of("seconds = 60.0", |folder, job| {
        let pid = running(folder, 1);
        signal("-STOP", &pid);
        std::thread::sleep(Duration::from_secs(4));
        let before = files(folder)[1].records.len();
        std::thread::sleep(Duration::from_secs(1));
        assert!(files(folder)[1].records.len() > before, "records go on while the rank is stopped");
        let text = std::fs::read_to_string(folder.join("records/r1.jsonl")).unwrap();
        assert!(text.contains("\"state\":\"T\""));
        let now = incidents(folder);
        signal("-CONT", &pid);
        signal("-TERM", &job.0.id().to_string());
        assert!(job.0.wait().unwrap().success(), "a signal to stop ends the job in order");
        assert!(is_starved(&now) || now.iter().any(|one| one.confirmed_ns.is_some()), "{now:#?}");
    });
    if let Some(found) = found {
        let named: Vec<(LiveKind, u32)> =
            found.iter().map(|one| (one.kind, one.suspects[0].place.rank())).collect();
        assert_eq!(named, [(LiveKind::StoppedProcess, 1)], "{found:#?}");
    }
}

#[test]
fn wrong_jobs_are_refused_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = job(folder.path(), "steps = 3\nheartbeat = 5");
    railtwin(&["worker", &path, "--all"]).assert_refused(&["job.toml:5", "heartbeat", "heartbeat_ms"]);
    let path = job(folder.path(), "steps = 3");
    railtwin(&["worker", &path, "--rank", "9"]).assert_refused(&["--rank: 9", "ranks 0 to 3"]);
    assert_eq!(railtwin(&["worker", &path]).status, 2, "a rank or all");
}
