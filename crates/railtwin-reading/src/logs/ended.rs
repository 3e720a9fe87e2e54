//! Processes of the job that ended by themselves: with an exception of their own, or by a signal that nobody of the job sends.
//!
//! When one ends its peers see their connections close, run out of time, or are ended by whoever began them. Their exceptions
//! and statuses follow, whatever order the lines are in. A stack may be of an exception that was caught: one is taken for an end
//! where something else shows that the job died, and the last one of its process.
use std::collections::BTreeMap;

use railtwin_formats::telemetry::{ClusterLog, LogSays, NcclEvent};
use railtwin_records::seen::LogSeen;
use railtwin_records::{Component, Evidence, FaultKind, Finding, Since, SourceLine, Syndrome};

use super::who::Who;
use super::{LITTLE, Said, finding};

/// Confidence in the one process that ended by itself.
const ALONE: f64 = 0.85;
/// Processes that are told one by one.
const TOLD_MOST: usize = 8;
/// SIGABRT, by which PyTorch's watchdog ends its own process.
const ABORT: i32 = 6;
/// The status with which Python ends for any exception, those of victims too.
const OF_ANY_EXCEPTION: i32 = 1;

/// Parts of exceptions that a process has because another ended or did not come, or because it is told to end.
const OF_OTHERS: [&str; 31] = [
    "distbackenderror",
    "distnetworkerror",
    "diststoreerror",
    "nccl",
    "gloo/",
    "gloo ",
    "tcpstore",
    "connection closed",
    "connection reset by peer [",
    "connection was",
    "socket timeout",
    "wait timeout",
    "timed out waiting",
    "timeout waiting",
    "before timing out",
    "monitoredbarrier",
    "mismatch between collectives",
    "recvvalue",
    "the client socket",
    "rendezvous",
    "transport endpoint",
    "actordied",
    "checkpointexception",
    "killed by signal: terminated",
    "watchdog",
    "childfailederror",
    "signalexception",
    "sigtermexception",
    "keyboardinterrupt",
    "systemexit",
    "process group",
];

/// Classes of Python itself that other ends of connections bring about, be they of the job or of a storage.
const OF_ENDS: [&str; 6] = [
    "connectionreseterror",
    "connectionabortederror",
    "connectionrefusederror",
    "brokenpipeerror",
    "timeouterror",
    "eoferror",
];

/// Classes of Python itself that no end of another process brings about, whatever they say.
const OF_PROGRAMS: [&str; 14] = [
    "assertionerror",
    "attributeerror",
    "filenotfounderror",
    "importerror",
    "indexerror",
    "keyerror",
    "memoryerror",
    "modulenotfounderror",
    "nameerror",
    "notimplementederror",
    "permissionerror",
    "typeerror",
    "unicodedecodeerror",
    "valueerror",
];

/// Signals that a launcher or a person sends, and those with which PyTorch's watchdog ends its own process.
const SENT: [i32; 5] = [1, 2, ABORT, 10, 15];

/// How a process ended.
struct End {
    said: Vec<Evidence>,
    /// Whether it is surely by itself.
    is_own: bool,
    is_signal: bool,
}

/// Findings of processes that ended by themselves, and notes.
pub(crate) fn of_ends(
    events: &[Said<'_>],
    logs: &[(String, ClusterLog)],
    who: &Who<'_>,
    job: &str,
) -> (Vec<Finding>, Vec<String>) {
    let roots = Roots::of(events);
    let chains = last_chains(events, logs);
    let has_timeouts = logs.iter().any(|(_, log)| !log.timeouts.is_empty());
    let mut ends = roots.ends(&chains, has_timeouts, who, job);
    let by_signal = ends.values().any(|end| end.is_own && end.is_signal);
    let has_closed = has_closed(&chains, events);
    for (rank, chain) in &chains {
        // What came of the end of another follows from it, whatever the process makes of it.
        if chain.iter().any(|(_, text)| is_of_others(text)) {
            continue;
        }
        let Some((_, event)) = chain.last().map(|(said, _)| said) else { continue };
        let Some(component) = who.process_of(event, job) else { continue };
        let said =
            chain.iter().rev().map(|((file, event), text)| ended((*text).to_owned(), file, event.line));
        let is_end = chain.iter().any(|(_, text)| is_of_an_end(text));
        let died = has_closed || roots.is_of(*rank);
        let is_own = died && !is_end && !roots.is_another(*rank, &chains);
        let known = ends.get_mut(&component);
        match known {
            Some(end) => end.said.extend(said),
            // Beside one that a signal ended an exception may be of whoever lost it.
            None => {
                let end = End { said: said.collect(), is_own: is_own && !by_signal, is_signal: false };
                ends.insert(component, end);
            }
        }
    }
    if ends.values().any(|end| end.is_own) {
        ends.retain(|_, end| end.is_own);
    }
    if ends.len() > TOLD_MOST {
        return (Vec::new(), vec![too_many(&ends)]);
    }
    let is_alone = ends.len() == 1;
    (ends.into_iter().map(|(component, end)| told(component, end, is_alone)).collect(), Vec::new())
}

/// A job that died of which logs tell nothing but who lost others by it. It names nobody: they are victims.
pub fn of_victims(logs: &[(String, ClusterLog)]) -> Option<Finding> {
    let events = super::events(logs);
    let mut chains = last_chains(&events, logs);
    chains.retain(|_, chain| chain.iter().any(|(_, text)| is_of_others(text)));
    let ((file, event), text) = *chains.values().next()?.last()?;
    let seen = LogSeen::EndedByOthers { ranks: chains.keys().copied().collect(), first: text.to_owned() };
    let evidence = Evidence::new(seen, chains.len() as f64, 0.0).at(SourceLine::new(file, event.line));
    Some(Finding {
        at_ns: 0,
        since: Since::default(),
        syndrome: Syndrome::Crash,
        faults: Vec::new(),
        suspects: Vec::new(),
        confidence: 0.0,
        severity: 1.0,
        cost: None,
        evidence: vec![evidence],
        advice: "another process ended or stood still, and which one these lines do not tell: look at ranks of which no exception \
                 is told, at what the launcher says, and at the kernel's logs of their hosts"
            .into(),
    })
}

/// The note on more processes that ended by themselves than are told one by one.
fn too_many(ends: &BTreeMap<Component, End>) -> String {
    let names: Vec<&str> = ends.keys().take(TOLD_MOST).map(Component::name).collect();
    let first = ends.values().next().and_then(|end| end.said.first());
    let first = first.map_or(String::new(), Evidence::words);
    format!(
        "{} processes ended by themselves: {}, …; one {first}: see the program first",
        ends.len(),
        names.join(", ")
    )
}

/// The end of a process, with the line that says so.
fn ended(how: String, file: &str, line: u64) -> Evidence {
    Evidence::new(LogSeen::Ended { how }, 1.0, 0.0).at(SourceLine::new(file, line))
}

fn told(component: Component, end: End, is_alone: bool) -> Finding {
    let confidence = if is_alone && end.is_own { ALONE } else { LITTLE };
    // Of an exception the program is to blame, and not what it runs on.
    let faults = if end.is_signal { vec![FaultKind::Crash] } else { Vec::new() };
    let mut one = finding(component, confidence, faults, Vec::new());
    one.evidence = end.said.into_iter().take(4).collect();
    one.syndrome = Syndrome::Crash;
    one.advice = match end.is_signal && end.is_own {
        true => "its process ended by itself, the others follow: the kernel's log of its host tells why (memory, a fault)",
        false if end.is_signal => "its process was sent a signal: see who ended it, and its log before that",
        false => "its process ended by itself, the others follow: see the stack in its log",
    }
    .into();
    one
}

/// What `torchrun` calls root causes.
struct Roots<'a> {
    told: Vec<(Said<'a>, i32)>,
}

impl<'a> Roots<'a> {
    fn of(events: &[Said<'a>]) -> Self {
        let told: Vec<(Said<'a>, i32)> = (events.iter())
            .filter_map(|&(file, event)| match event.what {
                LogSays::Exit(code) => Some(((file, event), code)),
                _ => None,
            })
            .collect();
        Self { told }
    }

    /// The ends of these processes, as far as they are no victims.
    fn ends(
        &self,
        chains: &BTreeMap<u32, Vec<Excepted<'_>>>,
        has_timeouts: bool,
        who: &Who<'_>,
        job: &str,
    ) -> BTreeMap<Component, End> {
        let mut ends: BTreeMap<Component, End> = BTreeMap::new();
        for ((file, event), code) in &self.told {
            let is_signal = *code < 0 && !SENT.contains(&-code);
            // Each host has a root cause of its own: beside others a status may be what a victim ends with, and so is the signal
            // with which a watchdog ends its process. An exception of the same rank tells more.
            let has_none = event.rank.is_none_or(|rank| !chains.contains_key(&rank));
            let is_told = has_none && self.told.len() == 1 && !(*code == -ABORT && has_timeouts);
            if !is_signal && !is_told {
                continue;
            }
            let how = match code {
                code if *code < 0 => format!("signal {}{}", -code, signal_name(-code)),
                code => format!("status {code}"),
            };
            let Some(component) = who.process_of(event, job) else { continue };
            let said = vec![ended(how, file, event.line)];
            // Victims end with a status of 1, too, and by signals that are sent.
            let is_own = is_signal || *code > OF_ANY_EXCEPTION;
            ends.insert(component, End { said, is_own, is_signal: *code < 0 });
        }
        ends
    }

    /// Whether one of them is this rank.
    fn is_of(&self, rank: u32) -> bool {
        self.told.iter().any(|((_, event), _)| event.rank == Some(rank))
    }

    /// Whether the only one is another rank that did not end as victims do, or of which no exception is told.
    fn is_another(&self, rank: u32, chains: &BTreeMap<u32, Vec<Excepted<'_>>>) -> bool {
        match &self.told[..] {
            [((_, event), code)] => {
                let is_silent = event.rank.is_some_and(|root| !chains.contains_key(&root));
                event.rank != Some(rank) && (is_silent || *code != OF_ANY_EXCEPTION && !SENT.contains(&-code))
            }
            _ => false,
        }
    }
}

/// A line of an exception, and the exception.
type Excepted<'a> = (Said<'a>, &'a str);

/// The last exceptions of each rank that belong together: what was before was caught, and so was what a rank tells of before it
/// goes on.
fn last_chains<'a>(events: &[Said<'a>], logs: &[(String, ClusterLog)]) -> BTreeMap<u32, Vec<Excepted<'a>>> {
    let mut chains: BTreeMap<u32, Vec<Excepted<'a>>> = BTreeMap::new();
    for &(file, event) in events {
        let (LogSays::Exception { text, joined }, Some(rank)) = (&event.what, event.rank) else { continue };
        let chain = chains.entry(rank).or_default();
        if !joined {
            chain.clear();
        }
        chain.push(((file, event), text));
    }
    let goes_on = |rank: u32, (file, event): Said<'_>| {
        let of_file = || logs.iter().filter(move |(name, _)| name == file).map(|(_, log)| log);
        let waited = of_file().flat_map(|log| &log.timeouts).map(|one| (one.rank, one.line));
        let stood = of_file().flat_map(|log| &log.states).map(|one| (one.rank, one.line));
        waited.chain(stood).any(|(of, line)| of == Some(rank) && line > event.line)
    };
    chains.retain(|rank, chain| chain.last().is_some_and(|(said, _)| !goes_on(*rank, *said)));
    chains
}

/// Whether some process saw another close its connection: one ended. Who only waited until its time was over saw no end.
fn has_closed(chains: &BTreeMap<u32, Vec<Excepted<'_>>>, events: &[Said<'_>]) -> bool {
    const CLOSED: [&str; 6] =
        ["closed", "reset", "remote process", "remoteerror", "broken pipe", "connection was"];
    let is_closed = |text: &str| {
        let small = text.to_ascii_lowercase();
        is_of_others(text) && CLOSED.iter().any(|words| small.contains(words))
    };
    chains.values().flatten().any(|(_, text)| is_closed(text))
        || events.iter().any(|(_, event)| matches!(event.what, LogSays::Nccl(NcclEvent::Closed { .. })))
}

/// Whether an exception follows from the end of another process. Errors of CUDA are told by themselves.
fn is_of_others(text: &str) -> bool {
    let small = text.to_ascii_lowercase();
    let class = small.split(':').next().unwrap_or(&small);
    if OF_PROGRAMS.contains(&class) {
        return false;
    }
    small.contains("cuda error: ") || OF_OTHERS.iter().any(|words| small.contains(words))
}

/// Whether it may be of the other end of a connection, of the job or of a storage.
fn is_of_an_end(text: &str) -> bool {
    let small = text.to_ascii_lowercase();
    let class = small.split(':').next().unwrap_or(&small);
    OF_ENDS.iter().any(|name| class.ends_with(name))
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        4 => " (SIGILL)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        6 => " (SIGABRT)",
        15 => " (SIGTERM)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_of_victims_are_told_from_own_ones() {
        for text in [
            "torch.distributed.DistBackendError: NCCL error in: …",
            "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:561] Connection closed by peer [::1]:1",
            "RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running …",
            "RuntimeError: Rank 1 successfully reached monitoredBarrier, but received errors while waiting",
            "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError",
            "RuntimeError: DataLoader worker (pid 7) is killed by signal: Terminated.",
        ] {
            assert!(is_of_others(text), "{text}");
        }
        for text in [
            "ValueError: sample 5 cannot be decoded",
            "torch.OutOfMemoryError: CUDA out of memory.",
            "FileNotFoundError: [Errno 2] No such file or directory: '/data/gloo/shard-1'",
            "ValueError: invalid process group layout in the config",
            "KeyError: 'watchdog'",
            "RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed.",
        ] {
            assert!(!is_of_others(text) && !is_of_an_end(text), "{text}");
        }
        assert!(is_of_an_end("TimeoutError: reading s3://x"));
        assert!(is_of_an_end("ConnectionResetError: [Errno 104] Connection reset by peer"));
    }
}
