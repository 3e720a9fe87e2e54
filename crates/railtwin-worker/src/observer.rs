//! The observer of a rank: starts the rank, goes on while it is stopped, writes its records.
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, Command};

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::{TimeSpec, TimeValLike};

use crate::busiest::Busiest;
use crate::clock;
use crate::error::WorkerError;
use crate::events::{Channel, StepPhase, Word};
use crate::host_clock::HostClock;
use crate::job::Job;
use crate::lane_groups::LaneGroups;
use crate::ping::Pinger;
use crate::process::ProcFile;
use crate::program::Program;
use crate::rank_cost::RankCost;
use crate::record_file::RecordFile;
use crate::tcp_info::{TcpReading, TcpTable};

/// Heartbeats from one record `ps` and `ob` to the next.
const STATE_BEATS: u64 = 5;
/// Time for which an observer goes on after its rank was killed, ns: it answers pings meanwhile, so that its NIC is not
/// taken for a dead one.
const AFTER_DEATH_NS: u64 = 2_000_000_000;
/// The same after an end in order.
const AFTER_END_NS: u64 = 300_000_000;
/// A second signal to stop ends the rank at once where it comes so much later, ns: a terminal and a parent may both send one.
const AGAIN_NS: u64 = 1_000_000_000;

/// How a rank ended.
#[derive(Clone, Copy, Debug)]
enum End {
    Status(i32),
    Killed(i32),
}

struct Observer<'a> {
    job: &'a Job,
    rank: usize,
    channel: Channel,
    child: Child,
    signals: SignalFd,
    file: RecordFile,
    path: PathBuf,
    pinger: Option<Pinger>,
    table: TcpTable,
    lanes: LaneGroups,
    /// How often connections were listed and replaced when the list was last read.
    listed: (u64, u64),
    readings: Vec<Option<TcpReading>>,
    busiest: Busiest,
    clock: HostClock,
    process: ProcFile,
    pressure: ProcFile,
    /// Class of the process's state that was written last.
    state: Option<char>,
    beats: u64,
    late_ns: u64,
    end: Option<(u64, End)>,
    asked_to_stop_ns: Option<u64>,
    /// CPU time of this process when the rank began its steps, ns.
    running_cpu_ns: Option<u64>,
}

/// Starts a rank and observes it to its end. Returns what recording cost.
///
/// # Errors
/// The rank did not end in order, or records cannot be written.
pub(crate) fn run(job: &Job, rank: usize, program: &Program) -> Result<RankCost, WorkerError> {
    let mut observer = Observer::start(job, rank, program)?;
    let every_ns = job.heartbeat_ms * 1_000_000;
    // Observers of one host take turns.
    let phase_ns = every_ns * rank as u64 / job.ranks() as u64;
    let next = |now_ns: u64| (now_ns.saturating_sub(phase_ns) / every_ns + 1) * every_ns + phase_ns;
    let mut due_ns = next(clock::monotonic_ns());
    loop {
        observer.wait_until(due_ns);
        let now_ns = clock::monotonic_ns();
        if let Some(pinger) = &mut observer.pinger {
            pinger.serve();
        }
        observer.take_signals(now_ns)?;
        if now_ns >= due_ns {
            observer.late_ns = observer.late_ns.max(now_ns - due_ns);
            observer.heartbeat(now_ns)?;
            due_ns = next(now_ns);
        }
        if let Some((ended_ns, end)) = observer.end {
            let is_good = matches!(end, End::Status(0));
            let lasts_ns = if is_good { AFTER_END_NS } else { AFTER_DEATH_NS };
            if now_ns >= ended_ns + lasts_ns {
                return observer.finish(end);
            }
        }
    }
}

fn failed(what: impl std::fmt::Display, error: &dyn std::fmt::Display) -> WorkerError {
    WorkerError::Failed(format!("{what}: {error}"))
}

impl<'a> Observer<'a> {
    fn start(job: &'a Job, rank: usize, program: &Program) -> Result<Self, WorkerError> {
        let mut set = SigSet::empty();
        for signal in [Signal::SIGCHLD, Signal::SIGUSR1, Signal::SIGTERM, Signal::SIGINT] {
            set.add(signal);
        }
        set.thread_block().map_err(|errno| failed("cannot block signals", &errno))?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let signals =
            SignalFd::with_flags(&set, flags).map_err(|errno| failed("cannot read signals", &errno))?;
        let channel = Channel::create().map_err(|error| failed("cannot share memory", &error))?;
        let (file, path) = RecordFile::create(&job.records, rank)
            .map_err(|error| failed(format!("cannot write records in {}", job.records.display()), &error))?;
        let address = job.address(rank);
        let pinger = job.pings.then(|| Pinger::open(job, rank)).transpose();
        let pinger = pinger
            .map_err(|errno| failed(format!("rank {rank} cannot answer pings at {address}"), &errno))?;
        let table = TcpTable::open().map_err(|errno| failed("cannot read TCP connections", &errno))?;
        let mut command: Command = program.command();
        command.arg("--rank").arg(rank.to_string()).arg("--shared").arg(channel.name());
        let child = command.spawn().map_err(|error| failed(format!("cannot start rank {rank}"), &error))?;
        let process = ProcFile::open(&format!("/proc/{}/stat", child.id()));
        let mut observer = Self {
            job,
            rank,
            channel,
            signals,
            file,
            path,
            pinger,
            table,
            lanes: LaneGroups::default(),
            listed: (0, 0),
            readings: Vec::new(),
            busiest: Busiest::default(),
            clock: HostClock::default(),
            process,
            pressure: ProcFile::open("/proc/pressure/cpu"),
            state: None,
            beats: 0,
            late_ns: 0,
            end: None,
            asked_to_stop_ns: None,
            running_cpu_ns: None,
            child,
        };
        observer.header()?;
        Ok(observer)
    }

    fn header(&mut self) -> Result<(), WorkerError> {
        let host = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
        let address = self.job.addresses[self.rank];
        let is_own = |one: &nix::ifaddrs::InterfaceAddress| {
            one.address.as_ref().and_then(|at| at.as_sockaddr_in()).is_some_and(|at| at.ip() == address)
        };
        let nic = nix::ifaddrs::getifaddrs()
            .ok()
            .and_then(|mut all| all.find(is_own))
            .map(|one| one.interface_name);
        let host = host.unwrap_or_else(|| "localhost".into());
        let (every_ms, pid) = (self.job.heartbeat_ms, self.child.id());
        self.file.header(clock::monotonic_ns(), self.rank, every_ms, &host, nic.as_deref(), pid);
        self.flush()
    }

    fn flush(&mut self) -> Result<(), WorkerError> {
        let head = self.channel.get(Word::Head);
        let file = &mut self.file;
        self.channel.drain(|event| file.event(event));
        self.file.flush().map_err(|error| failed(format!("cannot write {}", self.path.display()), &error))?;
        self.channel.set(Word::Flushed, head);
        Ok(())
    }

    fn wait_until(&self, due_ns: u64) {
        let left_ns = due_ns.saturating_sub(clock::monotonic_ns());
        let timeout = TimeSpec::nanoseconds(i64::try_from(left_ns).unwrap_or(i64::MAX));
        let signals = PollFd::new(self.signals.as_fd(), PollFlags::POLLIN);
        // Interrupted or not: the caller looks at the time.
        let _ = match &self.pinger {
            Some(pinger) => {
                ppoll(&mut [PollFd::new(pinger.fd(), PollFlags::POLLIN), signals], Some(timeout), None)
            }
            None => ppoll(&mut [signals], Some(timeout), None),
        };
    }

    fn take_signals(&mut self, now_ns: u64) -> Result<(), WorkerError> {
        while let Ok(Some(signal)) = self.signals.read_signal() {
            match Signal::try_from(signal.ssi_signo as i32) {
                Ok(Signal::SIGCHLD) => {
                    self.flush()?;
                    self.look_at_process(now_ns, false);
                    self.look_at_end(now_ns)?;
                }
                Ok(Signal::SIGUSR1) => self.flush()?,
                Ok(Signal::SIGTERM | Signal::SIGINT) => match self.asked_to_stop_ns {
                    Some(asked_ns) if now_ns.saturating_sub(asked_ns) >= AGAIN_NS => {
                        // A rank that has just ended needs no signal.
                        let _ = self.child.kill();
                    }
                    Some(_) => {}
                    None => {
                        self.asked_to_stop_ns = Some(now_ns);
                        self.channel.set(Word::Stop, 1);
                        if self.channel.get(Word::Running) == 0 {
                            let _ = self.child.kill();
                        }
                    }
                },
                _ => {}
            }
        }
        Ok(())
    }

    /// Writes the state of the process where its class changed, and where `always` says so.
    fn look_at_process(&mut self, now_ns: u64, always: bool) {
        if self.end.is_some() {
            return;
        }
        // How a process ended is only known once it has been waited for.
        let Some(state) = self.process.state().filter(|state| !matches!(state, 'Z' | 'X')) else { return };
        // Running and sleeping change all the time and say nothing.
        let class = if matches!(state, 'R' | 'S') { 'S' } else { state };
        if always || self.state != Some(class) {
            let mut letter = [0; 4];
            self.file.lines.begin("ps", now_ns).text("state", state.encode_utf8(&mut letter)).end();
        }
        self.state = Some(class);
    }

    fn look_at_end(&mut self, now_ns: u64) -> Result<(), WorkerError> {
        use std::os::unix::process::ExitStatusExt;
        if self.end.is_some() {
            return Ok(());
        }
        let Ok(Some(status)) = self.child.try_wait() else { return self.flush() };
        // What the rank wrote last comes before its end.
        self.flush()?;
        let end = match (status.code(), status.signal()) {
            (Some(code), _) => End::Status(code),
            (None, signal) => End::Killed(signal.unwrap_or(0)),
        };
        let lines = &mut self.file.lines;
        match end {
            End::Status(code) => lines.begin("by", now_ns).signed("status", i64::from(code)).end(),
            End::Killed(signal) => {
                lines.begin("ps", now_ns).text("state", "X").signed("signal", i64::from(signal)).end();
            }
        }
        self.end = Some((now_ns, end));
        self.flush()
    }

    fn heartbeat(&mut self, now_ns: u64) -> Result<(), WorkerError> {
        if self.running_cpu_ns.is_none() && self.channel.get(Word::Running) > 0 {
            self.running_cpu_ns = Some(clock::process_cpu_ns());
        }
        if matches!(self.end, Some((_, End::Status(_)))) {
            return Ok(());
        }
        let listed = (self.channel.get(Word::Connections), self.channel.get(Word::Replaced));
        if listed != self.listed {
            self.lanes.rename(self.channel.connections());
            self.listed = listed;
        }
        self.table.read(&self.lanes.names, &mut self.readings);
        self.lanes.take(&self.readings);
        let is_often = self.beats.is_multiple_of(STATE_BEATS);
        self.look_at_process(now_ns, is_often);
        self.write_heartbeat(now_ns);
        if is_often {
            self.write_own_state(now_ns);
        }
        self.beats += 1;
        if let Some(pinger) = &mut self.pinger {
            let reading = pinger.sample.take().and_then(|sample| self.clock.take(sample));
            pinger.ask();
            if let Some((offset, drift)) = reading {
                let line = self.file.lines.begin("ck", now_ns).signed("offset_ns", offset);
                line.signed("drift_ppb", drift).end();
            }
        }
        self.flush()
    }

    fn write_heartbeat(&mut self, now_ns: u64) {
        let channel = &self.channel;
        let line = self.file.lines.begin("hb", now_ns);
        for (key, word) in [
            ("step", Word::Step),
            ("seq", Word::Operation),
            ("in", Word::Inside),
            ("rs", Word::Received),
            ("ss", Word::Sent),
            ("ph", Word::Phase),
        ] {
            line.number(key, channel.get(word));
        }
        let LaneGroups { groups, readings, .. } = &self.lanes;
        let (sends, receives) = self.busiest.choose(groups, readings);
        for (key, at) in [("s", sends), ("r", receives)] {
            if let Some((at, reading)) = at.and_then(|at| Some((at, readings[at]?))) {
                line.key(key).mark(b'{');
                reading.write(groups[at].peer, line);
                line.mark(b'}');
            }
        }
        // A ring's two connections are in `s` and `r` already.
        let is_several = groups.iter().filter(|name| name.sends).count() > 1
            || groups.iter().filter(|name| name.receives).count() > 1;
        if is_several {
            line.key("cs").mark(b'[');
            for (name, reading) in groups.iter().zip(readings) {
                let Some(reading) = reading else { continue };
                line.item().mark(b'{');
                reading.write(name.peer, line);
                line.mark(b'}');
            }
            line.mark(b']');
        }
        let is_running = channel.get(Word::Phase) != StepPhase::Connecting as u64;
        if let Some(pinger) = self.pinger.as_ref().filter(|_| is_running) {
            let trip = |trip: Option<u64>| trip.map_or(-1, |us| i64::try_from(us).unwrap_or(i64::MAX));
            line.key("ping").mark(b'[');
            if pinger.knows_all() {
                let mut trips = pinger.trips();
                for rank in 0..self.job.ranks() {
                    let of = if rank == self.rank { None } else { trips.next().and_then(|one| one.1) };
                    line.item().signed_digits(trip(of));
                }
                line.mark(b']');
            } else {
                pinger.trips().for_each(|one| {
                    line.item().signed_digits(trip(one.1));
                });
                line.mark(b']').key("to").mark(b'[');
                pinger.trips().for_each(|one| {
                    line.item().digits(one.0 as u64);
                });
                line.mark(b']');
            }
        }
        line.end();
    }

    /// The observer's record of itself.
    fn write_own_state(&mut self, now_ns: u64) {
        let stall = self.pressure.stall();
        let line = self.file.lines.begin("ob", now_ns).number("late_us", self.late_ns / 1_000);
        if let Some(stall) = stall {
            line.hundredths("stall", stall);
        }
        let lost = self.channel.get(Word::Lost);
        if lost > 0 {
            line.number("lost", lost);
        }
        line.end();
        self.late_ns = 0;
    }

    fn finish(mut self, end: End) -> Result<RankCost, WorkerError> {
        self.flush()?;
        let rank = self.rank;
        match end {
            End::Status(0) => {
                let steps = self.channel.get(Word::Steps);
                let observer_ns = clock::process_cpu_ns() - self.running_cpu_ns.unwrap_or(0);
                let step_ns = self.channel.get(Word::StepsNs) / steps.max(1);
                let rank_ns = self.channel.get(Word::CostNs) / steps.max(1);
                Ok(RankCost { rank, steps, rank_ns, observer_ns: observer_ns / steps.max(1), step_ns })
            }
            End::Status(status) => {
                Err(WorkerError::Failed(format!("rank {rank} ended with status {status}")))
            }
            End::Killed(signal) => {
                Err(WorkerError::Failed(format!("rank {rank} was ended by signal {signal}")))
            }
        }
    }
}
