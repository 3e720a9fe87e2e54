//! Ranks as threads of this process, a master that moves their lanes, and a proxy whose connections go silent.
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::sys::socket::{Backlog, SockaddrIn, bind, listen, setsockopt, sockopt};

use crate::closing::close_all;
use crate::collective::{fill, is_right, stop_votes};
use crate::connect::{algorithms, connect_all, doors};
use crate::connections::Interruption;
use crate::events::Channel;
use crate::exchange::Exchange;
use crate::job::Job;
use crate::schedule::Schedule;

/// Random numbers of a seed (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    /// Spends some time, so that what follows comes at any moment.
    fn pause(&mut self) {
        match self.below(4) {
            0 => {}
            1 => std::thread::yield_now(),
            _ => std::thread::sleep(Duration::from_micros(self.below(2_000) as u64)),
        }
    }
}

/// The part of an address that keeps two runs of these tests apart.
fn own_net() -> u8 {
    64 + (std::process::id() % 128) as u8
}

/// A job of which each test has addresses of its own, so that ports never meet.
fn job(folder: &Path, net: u8, ranks: usize, lanes: usize, algorithms: &[&str]) -> Job {
    let addresses: Vec<String> =
        (1..=ranks).map(|rank| format!("\"127.{}.{net}.{rank}\"", own_net())).collect();
    let collective =
        |name: &&str| format!("[[collectives]]\nalgorithm = \"{name}\"\nbytes = 399996\nchunk = 60000\n");
    let text = format!(
        "addresses = [{}]\nport = 21000\nsteps = 1\nrecords = \"r\"\nlanes = {lanes}\n\
         [tcp]\nwindow = 65536\nlinger = false\n[paths]\nsocket = \"{}\"\njob = 1\n{}",
        addresses.join(", "),
        folder.join("paths.sock").display(),
        algorithms.iter().map(collective).collect::<String>(),
    );
    Job::parse(&text, "job.toml").expect("the job is right")
}

/// Runs a rank until one votes to stop; each reads `stop`. Returns its operations.
fn rank(job: &Job, rank: usize, stop: &AtomicBool, seed: u64) -> Result<u64, String> {
    let channel = Channel::create().expect("the kernel has memory files");
    let mut links = connect_all(job, rank, &channel).map_err(|error| error.to_string())?;
    let ranks = job.ranks();
    let schedules: Vec<Schedule> =
        job.collectives.iter().map(|spec| Schedule::new(spec, ranks, rank)).collect();
    let mut exchange = Exchange::for_schedules(schedules.iter());
    let mut random = Random(seed + rank as u64 + 1);
    let mut operation = 0;
    let mut is_last = false;
    while !is_last {
        let stops = stop.load(Ordering::Relaxed);
        for schedule in &schedules {
            let mut buffer = vec![0; schedule.buffer];
            fill(schedule, ranks, rank, operation, stops, &mut buffer);
            let outcome = exchange.run(schedule, &mut links, &mut buffer, &channel);
            outcome.map_err(|interruption| match interruption {
                Interruption::Ended(message) => message,
                Interruption::Broken(broken) => format!("broken: {broken:?}"),
            })?;
            if !is_right(schedule, ranks, rank, operation, &buffer) {
                return Err(format!("rank {rank}: operation {operation} is wrong"));
            }
            is_last |= stop_votes(schedule, ranks, rank, &buffer) > 0;
            operation += 1;
        }
        if random.below(3) == 0 {
            random.pause();
        }
    }
    close_all(job, &mut links, &channel).map_err(|error| error.to_string())?;
    Ok(operation)
}

/// One lane as the master knows it: place of its rank's socket, rank, id, lane, port.
#[derive(Clone, Copy)]
struct MasterLane {
    socket: usize,
    rank: usize,
    id: u64,
    lane: usize,
    port: u16,
}

/// A master for one job: gives ports, and moves lanes as a test says.
struct Master {
    sockets: Vec<BufReader<UnixStream>>,
    lanes: Vec<MasterLane>,
    next_port: u16,
}

impl Master {
    fn listen(folder: &Path) -> UnixListener {
        UnixListener::bind(folder.join("paths.sock")).expect("the folder is new")
    }

    /// Accepts all ranks and gives them ports.
    fn open(listener: &UnixListener, job: &Job) -> Self {
        let mut master = Self { sockets: Vec::new(), lanes: Vec::new(), next_port: 22_000 };
        for at in 0..job.ranks() {
            let (stream, _) = listener.accept().expect("ranks connect");
            let mut socket = BufReader::new(stream);
            let mut missing = 1;
            while missing > 0 {
                let line = read(&mut socket).expect("ranks ask for ports");
                let open = &line["open"];
                assert_eq!((open["job"].as_u64(), open["lanes"].as_u64()), (Some(1), Some(job.lanes as u64)));
                let id = open["id"].as_u64().expect("a group has an id");
                let from = open["from"].as_str().and_then(|from| from.rsplit('.').next());
                let rank =
                    from.and_then(|from| from.parse::<usize>().ok()).expect("ranks have addresses") - 1;
                if id == 0 {
                    missing = algorithms(job).into_iter().map(|one| doors(job, one, rank).0.len()).sum();
                }
                missing -= 1;
                let ports: Vec<u16> = (0..job.lanes).map(|_| master.port()).collect();
                let of = |(lane, port): (usize, &u16)| MasterLane { socket: at, rank, id, lane, port: *port };
                master.lanes.extend(ports.iter().enumerate().map(of));
                let text = format!("{{\"ports\":{{\"id\":{id},\"ports\":{ports:?}}}}}\n");
                socket.get_mut().write_all(text.as_bytes()).expect("ranks read");
            }
            master.sockets.push(socket);
        }
        master
    }

    fn port(&mut self) -> u16 {
        self.next_port += 1;
        self.next_port
    }

    fn ask(&mut self, at: usize, port: u16) {
        let MasterLane { socket, id, lane, .. } = self.lanes[at];
        let text = format!("{{\"move\":{{\"id\":{id},\"lane\":{lane},\"port\":{port}}}}}\n");
        self.sockets[socket].get_mut().write_all(text.as_bytes()).expect("ranks read");
    }

    /// Waits for the answer to the newest move of a lane; those to earlier ones are passed over. Returns the error, if any.
    fn answer(&mut self, at: usize, port: u16) -> Option<String> {
        let MasterLane { socket, id, lane, .. } = self.lanes[at];
        loop {
            let line = read(&mut self.sockets[socket]).expect("ranks answer");
            let is_it = |of: &serde_json::Value| {
                (of["id"].as_u64(), of["lane"].as_u64(), of["port"].as_u64())
                    == (Some(id), Some(lane as u64), Some(port.into()))
            };
            if is_it(&line["moved"]) {
                self.lanes[at].port = port;
                return None;
            }
            if is_it(&line["failed"]) {
                return Some(line["failed"]["message"].to_string());
            }
        }
    }
}

fn read(socket: &mut BufReader<UnixStream>) -> Option<serde_json::Value> {
    let mut line = String::new();
    socket.read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

/// Lets ranks stop, also after an assertion failed: the others wait for them.
struct EndOfJob<'a>(&'a AtomicBool);

impl Drop for EndOfJob<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs all ranks of a job with a master; returns the operations of each rank.
fn run(
    jobs: &[Job],
    seed: u64,
    act: impl FnOnce(&mut Master, &mut Random, &AtomicBool),
) -> Vec<Result<u64, String>> {
    let folder = jobs[0].paths.as_ref().and_then(|paths| paths.socket.parent()).map(PathBuf::from);
    let listener = Master::listen(&folder.expect("the job has a master"));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let start = |(number, job)| {
            let stop = &stop;
            scope.spawn(move || rank(job, number, stop, seed))
        };
        let ranks: Vec<_> = jobs.iter().enumerate().map(start).collect();
        let mut master = Master::open(&listener, &jobs[0]);
        let end = EndOfJob(&stop);
        act(&mut master, &mut Random(seed), &stop);
        drop(end);
        ranks.into_iter().map(|one| one.join().expect("no rank panics")).collect()
    })
}

#[test]
fn lanes_that_move_at_random_moments_carry_right_sums() {
    let cases: [(usize, usize, &[&str]); 4] =
        [(2, 1, &["ring"]), (2, 4, &["ring", "tree"]), (3, 2, &["all-to-all"]), (4, 3, &["tree", "ring"])];
    for (at, (ranks, lanes, algorithms)) in cases.into_iter().enumerate() {
        for seed in 1..=3 {
            let folder = tempfile::tempdir().expect("the disk has room");
            let job = job(folder.path(), (10 * at + seed) as u8, ranks, lanes, algorithms);
            let jobs = vec![job; ranks];
            let ended = run(&jobs, 77 * seed as u64, |master, random, _| {
                for _ in 0..60 {
                    let lane = random.below(master.lanes.len());
                    let times = 1 + random.below(3);
                    let mut port = 0;
                    for _ in 0..times {
                        port = master.port();
                        master.ask(lane, port);
                        random.pause();
                    }
                    assert_eq!(master.answer(lane, port), None, "fresh ports are free");
                    random.pause();
                }
            });
            for one in ended {
                assert!(
                    one.as_ref().is_ok_and(|operations| *operations > 0),
                    "{algorithms:?}, seed {seed}: {one:?}"
                );
            }
        }
    }
}

/// Forwards connections to a rank. Those whose source ports are `silent` are held open, and nothing passes them any more.
struct Proxy {
    silent: Arc<Mutex<BTreeSet<u16>>>,
    swallowed: Arc<AtomicU64>,
}

impl Proxy {
    fn start(at: SocketAddr, to: SocketAddr) -> Self {
        let silent = Arc::new(Mutex::new(BTreeSet::new()));
        let swallowed = Arc::new(AtomicU64::new(0));
        let listener = small_listener(at);
        let proxy = Self { silent: silent.clone(), swallowed: swallowed.clone() };
        std::thread::spawn(move || {
            for here in listener.incoming().flatten() {
                let there = loop {
                    match TcpStream::connect(to) {
                        Ok(there) => break there,
                        // The rank does not listen yet.
                        Err(_) => std::thread::sleep(Duration::from_millis(10)),
                    }
                };
                let _ = setsockopt(&there, sockopt::SndBuf, &8_192);
                let port = here.peer_addr().map_or(0, |address| address.port());
                for (from, into) in [(here.try_clone(), there.try_clone()), (Ok(there), Ok(here))] {
                    let (Ok(from), Ok(into)) = (from, into) else { continue };
                    let (silent, swallowed) = (silent.clone(), swallowed.clone());
                    std::thread::spawn(move || pump(from, into, port, &silent, &swallowed));
                }
            }
        });
        proxy
    }
}

/// A listener whose connections hold little: what a rank has sent must be what it keeps.
fn small_listener(at: SocketAddr) -> TcpListener {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
    let SocketAddr::V4(at) = at else { panic!("an IPv4 address") };
    let fd = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).expect("a socket");
    setsockopt(&fd, sockopt::RcvBuf, &8_192).expect("buffers can be small");
    bind(fd.as_raw_fd(), &SockaddrIn::from(at)).expect("the address is free");
    listen(&fd, Backlog::MAXALLOWABLE).expect("it is bound");
    fd.into()
}

fn pump(
    mut from: TcpStream,
    mut into: TcpStream,
    port: u16,
    silent: &Mutex<BTreeSet<u16>>,
    swallowed: &AtomicU64,
) {
    let mut bytes = [0; 4_096];
    loop {
        let count = from.read(&mut bytes).unwrap_or(0);
        if silent.lock().expect("nobody panics").contains(&port) {
            // Neither data nor the end of the connection passes; both sockets stay open.
            swallowed.fetch_add(count as u64, Ordering::Relaxed);
            std::thread::sleep(Duration::from_secs(600));
            return;
        }
        if count == 0 || into.write_all(&bytes[..count]).is_err() {
            let _ = into.shutdown(Shutdown::Both);
            return;
        }
    }
}

#[test]
fn a_lane_whose_path_goes_silent_goes_on_from_another_port() {
    for (seed, lanes) in [(1, 1), (2, 1), (3, 2), (4, 4)] {
        let folder = tempfile::tempdir().expect("the disk has room");
        let job_1 = job(folder.path(), 100 + seed as u8, 2, lanes, &["ring"]);
        let mut job_0 = job_1.clone();
        // Rank 0 reaches rank 1 through the proxy alone.
        job_0.addresses[1] = std::net::Ipv4Addr::new(127, own_net(), 200, seed as u8);
        let proxy = Proxy::start(job_0.address(1).into(), job_1.address(1).into());
        let ended = run(&[job_0, job_1], 1_000 + seed, |master, random, stop| {
            let of_rank_0: Vec<usize> =
                (0..master.lanes.len()).filter(|at| master.lanes[*at].rank == 0).collect();
            if seed > 1 {
                // Once it has moved a lane, rank 0 has all connections. Before, a path may go silent as well.
                let port = master.port();
                master.ask(of_rank_0[0], port);
                assert_eq!(master.answer(of_rank_0[0], port), None);
            }
            for turn in 0..12 {
                let lane = of_rank_0[random.below(of_rank_0.len())];
                let silent = master.lanes[lane].port;
                proxy.silent.lock().expect("nobody panics").insert(silent);
                if turn == 11 {
                    // The last operations may be the ones that lack bytes.
                    stop.store(true, Ordering::Relaxed);
                }
                random.pause();
                let port = master.port();
                master.ask(lane, port);
                assert_eq!(master.answer(lane, port), None, "fresh ports are free");
                random.pause();
            }
        });
        for one in ended {
            assert!(one.is_ok(), "{lanes} lanes, seed {seed}: {one:?}");
        }
        assert!(proxy.swallowed.load(Ordering::Relaxed) > 0, "seed {seed}: the proxy swallowed nothing");
    }
}

#[test]
fn moves_that_cannot_be_are_answered_and_the_job_goes_on() {
    let folder = tempfile::tempdir().expect("the disk has room");
    let job = job(folder.path(), 90, 2, 2, &["ring"]);
    let taken = TcpListener::bind((job.addresses[0], 23_999)).expect("the port is free");
    let ended = run(&vec![job; 2], 5, |master, _, _| {
        let of_rank_0 = (0..4).find(|at| master.lanes[*at].rank == 0).expect("rank 0 has lanes");
        let own = master.lanes[of_rank_0].port;
        master.ask(of_rank_0, own);
        assert_eq!(master.answer(of_rank_0, own), None, "a lane is where it is");
        for port in [0, master.lanes[of_rank_0 + 1].port, 23_999] {
            master.ask(of_rank_0, port);
            assert!(master.answer(of_rank_0, port).is_some(), "port {port}");
        }
        for (id, lane) in [(0, 2), (7, 0)] {
            let text = format!("{{\"move\":{{\"id\":{id},\"lane\":{lane},\"port\":24000}}}}\n");
            master.sockets[0].get_mut().write_all(text.as_bytes()).expect("ranks read");
            let line = read(&mut master.sockets[0]).expect("ranks answer");
            assert_eq!(line["failed"]["id"].as_u64(), Some(id), "{line}");
        }
    });
    drop(taken);
    assert!(ended.iter().all(Result::is_ok), "{ended:?}");
}

#[test]
fn a_master_ends_the_job_or_goes_away() {
    for (net, line, expected) in [
        (91, "{\"error\":{\"id\":0,\"message\":\"no path is left\"}}\n", Some("no path is left")),
        (92, "{\"mov\":{\"id\":0}}\n", Some("line 3: unknown variant `mov`")),
        (93, "", None),
    ] {
        let folder = tempfile::tempdir().expect("the disk has room");
        let job = job(folder.path(), net, 2, 1, &["ring"]);
        let ended = run(&vec![job; 2], 5, |master, _, _| {
            // Once both have moved a lane, both are connected.
            for at in 0..2 {
                let port = master.port();
                master.ask(at, port);
                assert_eq!(master.answer(at, port), None);
            }
            if expected.is_none() {
                master.sockets.clear();
            }
            for socket in &mut master.sockets {
                socket.get_mut().write_all(line.as_bytes()).expect("ranks read");
            }
            if expected.is_some() {
                // They read it before a vote to stop ends them.
                for socket in &mut master.sockets {
                    let mut rest = String::new();
                    let _ = socket.read_to_string(&mut rest);
                }
            }
        });
        match expected {
            None => assert!(ended.iter().all(Result::is_ok), "{ended:?}"),
            Some(text) => {
                let has = |one: &Result<u64, String>| one.as_ref().is_err_and(|error| error.contains(text));
                assert!(ended.iter().any(has), "{ended:?}");
            }
        }
    }
}

#[test]
fn a_peer_that_dies_during_a_move_is_found() {
    let folder = tempfile::tempdir().expect("the disk has room");
    let job = job(folder.path(), 94, 2, 2, &["ring"]);
    let listener = Master::listen(folder.path());
    let stop = AtomicBool::new(false);
    let found = std::thread::scope(|scope| {
        let survivor = scope.spawn(|| rank(&job, 0, &stop, 1));
        let victim = scope.spawn(|| {
            let channel = Channel::create().expect("the kernel has memory files");
            connect_all(&job, 1, &channel)
        });
        let mut master = Master::open(&listener, &job);
        let links = victim.join().expect("no rank panics").expect("both connect");
        let lane = (0..4).find(|at| master.lanes[*at].rank == 0).expect("rank 0 has lanes");
        let port = master.port();
        // The victim never answers.
        master.ask(lane, port);
        std::thread::sleep(Duration::from_millis(100));
        drop(links);
        survivor.join().expect("no rank panics")
    });
    assert!(found.as_ref().is_err_and(|error| error.contains("peer: 1")), "{found:?}");
}
