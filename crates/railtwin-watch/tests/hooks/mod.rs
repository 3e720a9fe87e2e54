//! Outputs of a watch: posts of a webhook, metrics and pages.
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use railtwin_units::SimTime;
use railtwin_watch::{LookTime, Outbox, Watch, WatchSettings, serve};

fn watch_of(evidence: &str, at: &Path) -> Watch {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/telemetry").join(evidence);
    Watch::open(WatchSettings {
        folder: from,
        state: at.to_owned(),
        hang: SimTime::from_ps(30_000_000_000_000),
        keep_s: 1_000_000_000,
        fabric: None,
        names: None,
        job: "job".to_owned(),
    })
    .expect("opened")
}

const AT: LookTime = LookTime { own_ns: 0, wall_ns: 1_900_000_000_000_000_000 };

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("connected");
    write!(stream, "GET {path} HTTP/1.0\r\nHost: x\r\n\r\n").expect("asked");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("answered");
    text
}

#[test]
fn metrics_and_pages_show_what_is_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut watch = watch_of("flight_recorder/gpu_error_1st", folder.path());
    watch.settle(AT).expect("settled");
    let shown = Arc::new(Mutex::new(watch.board().clone()));
    let address = serve("127.0.0.1:0", folder.path(), shown).expect("served");
    let metrics = get(&address, "/metrics");
    assert!(metrics.starts_with("HTTP/1.0 200") || metrics.starts_with("HTTP/1.1 200"), "{metrics}");
    for line in [
        "railtwin_watch_open_incidents{accuses=\"true\",kind=\"non-communication-hang\"} 2",
        "railtwin_watch_events_total{what=\"opened\"} 2",
        "component=\"job/12\"",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    assert!(get(&address, "/").contains("2 open"));
    assert!(get(&address, "/incidents/1").contains("job/12"));
    assert!(get(&address, "/incidents").contains("\"open\": true"));
    assert!(get(&address, "/incidents/99").contains("404"));
    assert!(get(&address, "/incidents/../state").contains("404"));
}

/// Keys and bodies of what a hook took.
type Taken = Arc<Mutex<Vec<(String, String)>>>;

/// A hook that refuses the first calls: its address, and what it took.
fn hook(refuses: usize) -> (String, Taken) {
    let server = tiny_http::Server::http("127.0.0.1:0").expect("served");
    let address = format!("http://{}/hook", server.server_addr());
    let taken = Arc::new(Mutex::new(Vec::new()));
    let into = taken.clone();
    std::thread::spawn(move || {
        for (number, mut request) in server.incoming_requests().enumerate() {
            let mut body = String::new();
            request.as_reader().read_to_string(&mut body).expect("a body");
            let key = request.headers().iter().find(|header| header.field.equiv("Idempotency-Key"));
            let key = key.map_or(String::new(), |key| key.value.to_string());
            let status = if number < refuses { 503 } else { 200 };
            if status == 200 {
                into.lock().expect("whole").push((key, body));
            }
            request.respond(tiny_http::Response::empty(status)).expect("answered");
        }
    });
    (address, taken)
}

fn waits_for(outbox: &Outbox) {
    let until = Instant::now() + Duration::from_secs(20);
    while outbox.pending_and_failures().0 > 0 {
        assert!(Instant::now() < until, "the hook takes everything in time");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_webhook_that_fails_is_called_again_and_gets_each_event_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let (address, taken) = hook(1);
    let mut watch = watch_of("flight_recorder/gpu_error_1st", folder.path());
    let outbox = Outbox::open(folder.path(), &address).expect("opened");
    let events = watch.settle(AT).expect("settled");
    outbox.wake(events.last().expect("told").number);
    waits_for(&outbox);
    assert_eq!(outbox.pending_and_failures(), (0, 1));
    assert!(outbox.problem().expect("said").contains("did not take event 1"));
    drop(outbox);
    // Started again, with nothing new: nothing is posted.
    let outbox = Outbox::open(folder.path(), &address).expect("opened");
    waits_for(&outbox);
    let taken = taken.lock().expect("whole");
    let keys: Vec<&str> = taken.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["railtwin-watch-1", "railtwin-watch-2"]);
    assert!(taken[0].1.contains("\"text\":\"incident 1 opened: non-communication-hang"), "{}", taken[0].1);
}
