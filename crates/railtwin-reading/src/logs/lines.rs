//! Which lines of logs a reading of a counter was taken from, for whoever wants to look for themselves.
use std::collections::BTreeMap;

use railtwin_formats::telemetry::{ClusterLog, KernelEvent, LogEvent, LogSays, NcclEvent, NcclTest};
use railtwin_records::seen::CounterSeen;
use railtwin_records::{Component, Directory, Evidence, Seen};

use super::Said;
use super::who::Who;

/// What a line is read as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reading {
    Xid(u32),
    Ecc,
    Kill,
    /// A link that goes up or down.
    Link {
        up: bool,
    },
}

impl Reading {
    fn of(event: &LogEvent) -> Option<Self> {
        match &event.what {
            LogSays::Kernel(KernelEvent::Xid { number, .. }) => Some(Self::Xid(*number)),
            LogSays::Kernel(KernelEvent::OutOfMemory { .. }) => Some(Self::Kill),
            LogSays::Kernel(KernelEvent::Link { up, .. }) | LogSays::Nccl(NcclEvent::Port { up, .. }) => {
                Some(Self::Link { up: *up })
            }
            LogSays::Cuda(error) | LogSays::Nccl(NcclEvent::Cuda { error }) => {
                error.to_ascii_lowercase().contains("ecc error").then_some(Self::Ecc)
            }
            _ => None,
        }
    }

    /// Whether counters of this kind were read from such a line. A link that is up rests on the line that says so, all
    /// else about links on a loss.
    const fn is_told_by(self, seen: &CounterSeen, is_up: bool) -> bool {
        match (self, seen) {
            (Self::Xid(read), CounterSeen::Xid { number, .. } | CounterSeen::NewXid { number, .. }) => {
                read == *number
            }
            (Self::Ecc, CounterSeen::EccErrors { .. })
            | (Self::Kill, CounterSeen::OutOfMemoryKills { .. }) => true,
            (Self::Link { up }, CounterSeen::LinkUp { .. }) => up == is_up,
            (
                Self::Link { up },
                CounterSeen::LinkLosses { .. }
                | CounterSeen::LinkDownFarUp { .. }
                | CounterSeen::PortsLost { .. }
                | CounterSeen::PortLost { .. },
            ) => !up,
            _ => false,
        }
    }
}

/// One line of a log.
#[derive(Debug)]
struct Line {
    file: String,
    number: u64,
    reading: Reading,
}

/// All lines of logs from which counters are read, by names of components.
#[derive(Debug)]
pub struct Lines(BTreeMap<String, Vec<Line>>);

impl Lines {
    /// Of logs, with the same names of components as their counters have.
    pub fn of(
        logs: &[(String, ClusterLog)],
        tests: &[(String, Vec<NcclTest>)],
        directory: &Directory,
    ) -> Self {
        let events: Vec<Said<'_>> = (logs.iter())
            .flat_map(|(file, log)| log.events.iter().map(move |event| (file.as_str(), event)))
            .collect();
        let who = Who::of(&events, tests, directory);
        let mut lines: BTreeMap<String, Vec<Line>> = BTreeMap::new();
        for &(file, event) in &events {
            if let (Some(component), Some(reading)) = (component(&who, event), Reading::of(event)) {
                let line = Line { file: file.to_owned(), number: event.line, reading };
                lines.entry(component.name().to_owned()).or_default().push(line);
            }
        }
        Self(lines)
    }

    /// Files and numbers of the lines on which one of evidence rests.
    pub fn behind<'a>(&'a self, evidence: &'a Evidence) -> impl Iterator<Item = (&'a str, u64)> {
        let seen = match &evidence.seen {
            Seen::Counter(seen) => Some(seen),
            _ => None,
        };
        let of = seen.and_then(|seen| Some((seen, self.0.get(device(seen)?)?))).into_iter();
        of.flat_map(|(seen, lines)| lines.iter().map(move |line| (seen, line)))
            .filter(|(seen, line)| line.reading.is_told_by(seen, evidence.value == 1.0))
            .map(|(_, line)| (line.file.as_str(), line.number))
    }
}

/// Whom a line is about.
fn component(who: &Who<'_>, event: &LogEvent) -> Option<Component> {
    let host = who.host_of(event);
    let nic = |device: &str| Component::Nic(format!("{host}/{device}"));
    match &event.what {
        LogSays::Kernel(KernelEvent::Xid { bus, .. }) => Some(who.gpu(&host, bus)),
        LogSays::Kernel(KernelEvent::OutOfMemory { .. }) => Some(Component::Host(host)),
        LogSays::Kernel(KernelEvent::Link { bus, name, .. }) => {
            Some(nic(who.nic(&host, bus.as_deref(), name.as_deref())))
        }
        LogSays::Nccl(NcclEvent::Port { device, .. }) => Some(nic(device)),
        LogSays::Cuda(_) | LogSays::Nccl(NcclEvent::Cuda { .. }) => who.gpu_of(event),
        _ => None,
    }
}

/// The component of a counter that logs tell of.
fn device(seen: &CounterSeen) -> Option<&str> {
    match seen {
        CounterSeen::Xid { gpu, .. }
        | CounterSeen::NewXid { gpu, .. }
        | CounterSeen::EccErrors { gpu, .. } => Some(gpu),
        CounterSeen::OutOfMemoryKills { host } => Some(host),
        CounterSeen::LinkUp { port }
        | CounterSeen::LinkLosses { port }
        | CounterSeen::LinkDownFarUp { port } => Some(port),
        CounterSeen::PortsLost { nic } | CounterSeen::PortLost { nic } => Some(nic),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(host: &str, line: u64, what: KernelEvent) -> LogEvent {
        let (host, what) = (Some(host.to_owned()), LogSays::Kernel(what));
        LogEvent { host, rank: None, device: None, time_ns: None, line, text: String::new(), what }
    }

    #[test]
    fn a_reading_leads_to_the_lines_that_say_it() {
        let link = |bus: &str, name: Option<&str>, up| KernelEvent::Link {
            bus: Some(bus.to_owned()),
            name: name.map(str::to_owned),
            up,
        };
        let xid = |bus: &str| KernelEvent::Xid {
            bus: bus.to_owned(),
            number: 79,
            harmless: false,
            fatal_link: None,
            after: None,
        };
        let events = vec![
            event("a", 1, link("0000:9a:00.0", Some("mlx5_0"), true)),
            event("a", 2, link("0000:9a:00.0", None, false)),
            event("a", 3, link("0000:9b:00.0", Some("mlx5_1"), false)),
            event("a", 4, xid("0000:9d:00")),
            event("b", 5, xid("0000:9d:00")),
            event("a", 6, KernelEvent::OutOfMemory { process: "python".into() }),
        ];
        let logs = [("syslog".to_owned(), ClusterLog { events, ..ClusterLog::default() })];
        let lines = Lines::of(&logs, &[], &Directory::default());
        let behind = |seen: CounterSeen, value: f64| -> Vec<u64> {
            lines.behind(&Evidence::new(seen, value, 0.0)).map(|(_, number)| number).collect()
        };
        let port = || "a/mlx5_0".to_owned();
        assert_eq!(behind(CounterSeen::LinkLosses { port: port() }, 1.0), [2]);
        assert_eq!(behind(CounterSeen::LinkUp { port: port() }, 0.0), [2]);
        assert_eq!(behind(CounterSeen::LinkUp { port: port() }, 1.0), [1]);
        assert!(behind(CounterSeen::FarLinkUp { port: port() }, 1.0).is_empty());
        let xid =
            |gpu: &str, number: u32| CounterSeen::Xid { gpu: gpu.into(), number, meaning: "off the bus" };
        assert_eq!(behind(xid("a/0000:9d:00", 79), 79.0), [4]);
        assert!(behind(xid("a/0000:9d:00", 48), 48.0).is_empty());
        assert!(behind(xid("a/gpu-0", 79), 79.0).is_empty());
        assert_eq!(behind(CounterSeen::OutOfMemoryKills { host: "a".into() }, 1.0), [6]);
    }
}
