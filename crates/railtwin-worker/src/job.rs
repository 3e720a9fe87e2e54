//! The job file: strict TOML.
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::WorkerError;
use crate::network_spec::{PathsSpec, Refusal, TcpSpec};

/// Most ranks of a job: all of them ping each other.
pub const RANKS_MAX: usize = 64;
/// Most bytes of a collective: a rank holds two buffers of this size.
const BYTES_MAX: u64 = 1 << 30;
/// Longest phase, ms.
const PHASE_MAX_MS: u64 = 600_000;

/// A job, as its file has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// IPv4 address of each rank on the data network.
    pub addresses: Vec<Ipv4Addr>,
    /// Base port. Rank R listens on TCP port `port + R`, and answers pings on the UDP port of that number.
    pub port: u16,
    /// Number of steps. Either this or `seconds` is given.
    pub steps: Option<u64>,
    /// Time to run, s. All ranks stop after the same step.
    pub seconds: Option<f64>,
    /// Loading of data, the first phase of a step.
    #[serde(default)]
    pub data: PhaseSpec,
    /// Computation, the second phase of a step.
    #[serde(default)]
    pub compute: PhaseSpec,
    /// Collectives of a step in their order.
    pub collectives: Vec<CollectiveSpec>,
    /// Checkpoints; none without it.
    pub checkpoint: Option<CheckpointSpec>,
    /// Folder of the records, one file for each rank.
    pub records: PathBuf,
    /// Distance of heartbeats, ms.
    #[serde(default = "default_heartbeat_ms")]
    pub heartbeat_ms: u64,
    /// Whether observers ping each other over the data network.
    #[serde(default = "default_pings")]
    pub pings: bool,
    /// Connections for each direction between two neighbors, 1 to 16. Each carries an equal part of each transfer.
    #[serde(default = "default_lanes")]
    pub lanes: usize,
    /// Options of TCP.
    #[serde(default)]
    pub tcp: TcpSpec,
    /// The path master that chooses source ports; none without it.
    pub paths: Option<PathsSpec>,
    /// Source ports of connections. The kernel chooses those that are not listed.
    #[serde(default)]
    pub source_ports: Vec<SourcePort>,
    /// Time for all ranks to connect, s.
    #[serde(default = "default_connect_s")]
    pub connect_s: f64,
    /// Every so many collectives each rank compares the whole result with the expected one.
    #[serde(default = "default_check_every")]
    pub check_every: u64,
    /// Folder of control files, which slow single ranks down while the job runs; none without it.
    pub control: Option<PathBuf>,
}

const fn default_heartbeat_ms() -> u64 {
    200
}

const fn default_pings() -> bool {
    true
}

const fn default_lanes() -> usize {
    1
}

const fn default_connect_s() -> f64 {
    20.0
}

const fn default_check_every() -> u64 {
    16
}

/// A phase that a rank spends alone.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseSpec {
    /// Its length, ms.
    pub ms: f64,
    /// How the rank spends the time.
    #[serde(default)]
    pub how: Spending,
}

/// How a rank spends the time of a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spending {
    /// Asleep: the processor is free.
    #[default]
    Sleep,
    /// In a loop that keeps a processor busy.
    Spin,
}

/// A collective of each step.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectiveSpec {
    /// Algorithm.
    pub algorithm: Algorithm,
    /// Bytes that each rank brings in, a multiple of 4.
    pub bytes: u64,
    /// Most bytes of one stage, a multiple of 4. A larger collective runs in several loops.
    #[serde(default = "default_chunk")]
    pub chunk: u64,
}

const fn default_chunk() -> u64 {
    128 << 10
}

/// Algorithm of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// All-reduce over a ring: reduce-scatter, then all-gather.
    Ring,
    /// All-reduce over a binary tree: up to rank 0, then down again.
    Tree,
    /// All-to-all: block j of rank i becomes block i of rank j.
    AllToAll,
}

impl Algorithm {
    /// Its name in the job file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Tree => "tree",
            Self::AllToAll => "all-to-all",
        }
    }
}

/// Checkpoints of a job.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckpointSpec {
    /// A checkpoint after every so many steps.
    pub every: u64,
    /// Bytes that each rank writes.
    pub bytes: u64,
    /// Folder of the checkpoints. A job that finds some resumes from the last complete one.
    pub folder: PathBuf,
}

/// The source port of one connection.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourcePort {
    /// Rank that opens the connection.
    pub from: usize,
    /// Rank that accepts it.
    pub to: usize,
    /// Port that `from` binds.
    pub port: u16,
    /// Algorithm that the connection serves; without it, the first one of the job.
    pub algorithm: Option<Algorithm>,
    /// Lane of the connection.
    #[serde(default)]
    pub lane: usize,
}

impl Job {
    /// Reads and checks a job file. Paths in it are relative to its folder.
    ///
    /// # Errors
    /// The file cannot be read, or a key has a wrong name or value: with file, line, value and what is accepted.
    pub fn read(path: &Path) -> Result<Self, WorkerError> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| {
            WorkerError::input(format!("cannot read {shown}: {error}"), "name a job file")
        })?;
        let mut job = Self::parse(&text, &shown.to_string())?;
        let folder = path.parent().unwrap_or(Path::new(""));
        job.records = folder.join(&job.records);
        if let Some(paths) = &mut job.paths {
            paths.socket = folder.join(&paths.socket);
        }
        job.control = job.control.map(|control| folder.join(control));
        if let Some(checkpoint) = &mut job.checkpoint {
            checkpoint.folder = folder.join(&checkpoint.folder);
        }
        Ok(job)
    }

    /// Parses and checks the text of a job file; `shown` is its name in errors.
    ///
    /// # Errors
    /// As [`Job::read`].
    pub fn parse(text: &str, shown: &str) -> Result<Self, WorkerError> {
        let job: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(text, span.start));
            let message = error.message().lines().collect::<Vec<_>>().join(", ");
            WorkerError::input(format!("{shown}:{line}: {message}"), KEYS)
        })?;
        job.check().map_err(|(key, problem, accepted)| {
            let line =
                text.lines().position(|line| line.trim_start().trim_start_matches('[').starts_with(key));
            WorkerError::input(format!("{shown}:{}: {key}: {problem}", line.unwrap_or(0) + 1), accepted)
        })?;
        Ok(job)
    }

    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.addresses.len()
    }

    /// Data-network address of a rank, for TCP and for UDP.
    pub fn address(&self, rank: usize) -> SocketAddrV4 {
        SocketAddrV4::new(self.addresses[rank], self.port + rank as u16)
    }

    /// Source port of the connection that `from` opens to `to` for a lane of an algorithm, where the job chooses one.
    pub(crate) fn source_port(
        &self,
        algorithm: Algorithm,
        from: usize,
        to: usize,
        lane: usize,
    ) -> Option<u16> {
        let first = self.collectives.first().map(|one| one.algorithm);
        let is_of = |one: &&SourcePort| {
            (one.from, one.to, one.lane) == (from, to, lane) && one.algorithm.or(first) == Some(algorithm)
        };
        self.source_ports.iter().find(is_of).map(|one| one.port)
    }

    fn check(&self) -> Result<(), Refusal> {
        let ranks = self.ranks();
        if !(2..=RANKS_MAX).contains(&ranks) {
            return Err(("addresses", format!("{ranks} ranks"), "write 2 to 64 addresses"));
        }
        if usize::from(self.port) + ranks > usize::from(u16::MAX) || self.port == 0 {
            return Err((
                "port",
                self.port.to_string(),
                "write a port from 1 on with room for one of each rank",
            ));
        }
        match (self.steps, self.seconds) {
            (Some(0), None) => return Err(("steps", "0".into(), "write 1 or more")),
            (Some(_), None) => {}
            (None, Some(seconds)) if seconds > 0.0 && seconds.is_finite() => {}
            (None, Some(seconds)) => return Err(("seconds", seconds.to_string(), "write more than 0")),
            (Some(_), Some(_)) => {
                return Err(("steps", "both steps and seconds".into(), "write one of the two"));
            }
            (None, None) => {
                return Err(("steps", "neither steps nor seconds".into(), "write one of the two"));
            }
        }
        for (key, ms) in [("data", self.data.ms), ("compute", self.compute.ms)] {
            if !(0.0..=PHASE_MAX_MS as f64).contains(&ms) {
                return Err((key, format!("ms = {ms}"), "write 0 to 600000 ms"));
            }
        }
        if self.collectives.is_empty() {
            return Err(("collectives", "none".into(), "write at least one [[collectives]]"));
        }
        for one in &self.collectives {
            if one.bytes == 0 || one.bytes % 4 != 0 || one.bytes > BYTES_MAX {
                return Err(("bytes", one.bytes.to_string(), "write a multiple of 4 up to 1073741824"));
            }
            if one.chunk == 0 || one.chunk % 4 != 0 {
                return Err(("chunk", one.chunk.to_string(), "write a multiple of 4 from 4 on"));
            }
        }
        self.check_rest()
    }

    fn check_rest(&self) -> Result<(), Refusal> {
        if !(10..=60_000).contains(&self.heartbeat_ms) {
            return Err(("heartbeat_ms", self.heartbeat_ms.to_string(), "write 10 to 60000"));
        }
        if !(self.connect_s > 0.0 && self.connect_s <= 3600.0) {
            return Err(("connect_s", self.connect_s.to_string(), "write more than 0, up to 3600"));
        }
        if self.check_every == 0 {
            return Err(("check_every", "0".into(), "write 1 or more"));
        }
        if let Some(checkpoint) = &self.checkpoint
            && (checkpoint.every == 0 || checkpoint.bytes > BYTES_MAX)
        {
            let accepted = "write every = 1 or more, bytes up to 1073741824";
            return Err(("[checkpoint", format!("every = {}", checkpoint.every), accepted));
        }
        self.check_network()
    }
}

const KEYS: &str = "keys: addresses, port, steps or seconds, [data], [compute], [[collectives]], [checkpoint], records, \
                    heartbeat_ms, pings, lanes, source_ports, [tcp], [paths], connect_s, check_every, control";

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "addresses = [\"127.0.0.1\", \"127.0.0.1\"]\nport = 47000\nsteps = 3\nrecords = \"records\"\n\
                        [data]\nms = 1\n[[collectives]]\nalgorithm = \"ring\"\nbytes = 64\n";

    fn refused(text: &str) -> String {
        Job::parse(text, "job.toml").expect_err("the job is refused").to_string()
    }

    #[test]
    fn a_job_is_read() {
        let job = Job::parse(GOOD, "job.toml").expect("the job is right");
        assert_eq!((job.ranks(), job.heartbeat_ms, job.pings), (2, 200, true));
        assert_eq!(job.address(1).port(), 47001);
        assert_eq!(
            (job.lanes, job.tcp.send_buffer, job.tcp.linger, job.paths.is_some()),
            (1, 65_536, true, false)
        );
        let more = "\n[tcp]\ncongestion = \"reno\"\nwindow = 65536\nlinger = false\n[paths]\nsocket = \"m.sock\"\njob = 2\n";
        let job = Job::parse(&format!("lanes = 4\n{GOOD}{more}"), "job.toml").expect("the job is right");
        assert_eq!((job.lanes, job.tcp.window, job.paths.map(|paths| paths.job)), (4, Some(65_536), Some(2)));
    }

    #[test]
    fn errors_have_a_line_and_what_is_accepted() {
        let unknown = refused(&GOOD.replace("steps = 3", "stepps = 3"));
        assert!(unknown.starts_with("job.toml:3: unknown field `stepps`"), "{unknown}");
        let odd = refused(&GOOD.replace("bytes = 64", "bytes = 63"));
        assert!(odd.starts_with("job.toml:9: bytes: 63"), "{odd}");
        let algorithm = refused(&GOOD.replace("ring", "star"));
        assert!(algorithm.contains("job.toml:8") && algorithm.contains("star"), "{algorithm}");
        let both = refused(&GOOD.replace("steps = 3", "steps = 3\nseconds = 3.0"));
        assert!(both.contains("both steps and seconds"), "{both}");
    }

    #[test]
    fn keys_of_connections_are_refused_with_their_line() {
        let ports = |rows: &str| format!("lanes = 2\n{GOOD}{rows}");
        let row = "[[source_ports]]\nfrom = 0\nto = 1\nport = 5000\n";
        let cases = [
            (format!("lanes = 17\n{GOOD}"), "job.toml:1: lanes: 17"),
            (format!("{GOOD}[tcp]\nwindow = 10\n"), "job.toml:11: window: 10"),
            (format!("{GOOD}[tcp]\nsend_buffer = 1\n"), "job.toml:11: send_buffer: 1"),
            (format!("{GOOD}[tcp]\ncongestion = \"\"\n"), "job.toml:11: congestion: \"\""),
            (format!("{GOOD}[tcp]\nlingers = false\n"), "job.toml:11: unknown field `lingers`"),
            (format!("{GOOD}[paths]\njob = -1\nsocket = \"m\"\n"), "job.toml:11: invalid value"),
            (format!("{GOOD}[paths]\nsocket = \"\"\njob = 1\n"), "job.toml:11: socket: \"\""),
            (
                format!("{GOOD}{row}[paths]\nsocket = \"m\"\njob = 1\n"),
                "job.toml:10: source_ports: given beside",
            ),
            (ports(&format!("{row}lane = 2\n")), "job.toml:11: source_ports: lane = 2 of 2 lanes"),
            (ports(&format!("{row}{row}")), "job.toml:11: source_ports: from = 0, to = 1, lane = 0 twice"),
        ];
        for (text, expected) in cases {
            let error = refused(&text);
            assert!(error.starts_with(expected), "{error}\nexpected: {expected}");
        }
        assert!(Job::parse(&ports(&format!("{row}{row}lane = 1\n")), "job.toml").is_ok());
    }
}
