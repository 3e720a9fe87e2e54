//! What logs of processes and kernels say, as records and findings.
//!
//! * `who`: hosts, GPUs, NICs and ranks behind the addresses and numbers that lines have.
//! * `counters`: what a kernel or NCCL says of a GPU, a link or memory, as readings of counters: the rules of counters judge
//!   them as they judge those of exporters.
//! * `ended`: processes that ended by themselves, with an exception or a signal.
//! * `lines`: which lines those were.
//! * `members`: which ranks process groups have.
//! * `standstill`: how far ranks were when an operation ran out of its time, as dumps have it.
//! * errors between hosts: [`railtwin_diagnosis::ends`].
mod counters;
mod ended;
mod lines;
mod members;
mod standstill;
mod subnet;
mod who;

use std::collections::{BTreeMap, BTreeSet};

use railtwin_diagnosis::ends::{End, Fault, Report, UNKNOWN_HOST, findings_of_reports};
use railtwin_diagnosis::rules::{Xid, xid_meaning};
use railtwin_formats::telemetry::{ClusterLog, KernelEvent, LogEvent, LogSays, NcclEvent, NcclTest};
use railtwin_records::seen::LogSeen;
use railtwin_records::{
    Batch, Component, Directory, Evidence, FaultKind, Finding, Since, SourceLine, Suspect, Syndrome,
};

pub(crate) use ended::of_ends as judge_ends;
pub use ended::of_victims;
pub(crate) use lines::Lines;
pub use standstill::{are_quiet, of_states, of_timeouts, silent, timeouts_note};
pub(crate) use subnet::subnet;
pub(crate) use who::Who;

/// How long before the end of logs something that may have passed is still of now, in nanoseconds.
const RECENT_NS: u64 = 3_600_000_000_000;
/// Confidence in what a line says that more than one thing explains.
const LITTLE: f64 = 0.45;

/// An event with its file.
pub(crate) type Said<'a> = (&'a str, &'a LogEvent);

/// Events of all logs, each with its file.
pub(crate) fn events(logs: &[(String, ClusterLog)]) -> Vec<Said<'_>> {
    logs.iter().flat_map(|(file, log)| log.events.iter().map(move |event| (file.as_str(), event))).collect()
}

/// Adds readings of counters to the batch, and hosts and ranks to the directory; gives notes.
pub(crate) fn take_counters(
    logs: &[(String, ClusterLog)],
    tests: &[(String, Vec<NcclTest>)],
    job: &str,
    directory: &mut Directory,
    batch: &mut Batch,
) -> Vec<String> {
    let events = events(logs);
    if events.is_empty() {
        return Vec::new();
    }
    let who = Who::of(&events, tests, directory);
    who.fill(job, directory);
    let now_ns = now_ns(&events, batch.until_ns);
    counters::take(&events, &who, now_ns, directory, batch)
}

/// A line of a log as evidence.
fn quoted((file, event): Said<'_>) -> Evidence {
    let text = event.text.clone();
    let seen = match event.what {
        LogSays::Kernel(KernelEvent::SwitchXid { number, fatal: true, .. }) => {
            LogSeen::SwitchXid { number, text }
        }
        _ => LogSeen::Quoted { text },
    };
    Evidence::new(seen, 1.0, 0.0).at(SourceLine::new(file, event.line))
}

fn finding(component: Component, confidence: f64, faults: Vec<FaultKind>, said: Vec<Evidence>) -> Finding {
    Finding {
        at_ns: 0,
        since: Since::default(),
        syndrome: Syndrome::Counter,
        faults,
        suspects: vec![Suspect { component, share: confidence }],
        confidence,
        severity: 1.0,
        cost: None,
        evidence: said.into_iter().take(8).collect(),
        advice: String::new(),
    }
}

/// Errors between hosts.
pub(crate) fn judge_connections(events: &[Said<'_>], who: &Who<'_>) -> (Vec<Finding>, Vec<String>) {
    let (mut reports, mut notes) = (Vec::new(), Vec::new());
    let mut own: BTreeMap<String, (u64, Evidence)> = BTreeMap::new();
    // Transfers that did not arrive, of which an old version does not say whom they were to.
    let mut nameless: Vec<Said<'_>> = Vec::new();
    let of_known: BTreeSet<&LogSays> = (events.iter())
        .filter(|(_, event)| who.host_of(event) != UNKNOWN_HOST)
        .map(|(_, event)| &event.what)
        .collect();
    for &(file, event) in events {
        let LogSays::Nccl(nccl) = &event.what else { continue };
        let host = who.host_of(event);
        // PyTorch repeats in an exception what NCCL has said in a line of its own.
        if host == UNKNOWN_HOST && of_known.contains(&event.what) {
            continue;
        }
        let (fault, to, nic) = match nccl {
            // A queue pair that is in error flushes what it still has: that follows.
            NcclEvent::Completion { status: 5, .. } => continue,
            // Wrong lengths, queue pairs and keys are the process's own.
            NcclEvent::Completion { status: 1 | 2 | 4 | 6, .. } => {
                own.entry(host).or_insert((0, quoted((file, event)))).0 += 1;
                continue;
            }
            NcclEvent::Completion { peer, .. } if peer.is_empty() => {
                nameless.push((file, event));
                continue;
            }
            NcclEvent::Completion { peer, local_gid, remote_gid, device, .. } => {
                let nic = Some(device.clone()).filter(|name| !name.is_empty());
                (Fault::NotArriving, who.end_of(peer, remote_gid), nic.or_else(|| who.nic_of_gid(local_gid)))
            }
            NcclEvent::Closed { peer } => (Fault::Closed, who.end_of(peer, ""), None),
            NcclEvent::Refused { peer, error } => {
                let refused = error.to_ascii_lowercase().contains("refused");
                let fault = if refused { Fault::Closed } else { Fault::NotArriving };
                (fault, who.end_of(peer, ""), None)
            }
            NcclEvent::Verbs { device, gids, .. } if is_within_subnet(nccl) => {
                let nic = Some(device.clone()).filter(|name| !name.is_empty());
                (Fault::NotArriving, who.end_of(&gids[1], &gids[1]), nic)
            }
            NcclEvent::Verbs { call, error, .. } => {
                notes.push(format!("{file}:{}: {host}: {call} failed: {error}", event.line));
                continue;
            }
            _ => continue,
        };
        let said = quoted((file, event));
        let (port, time_ns) = (port_of(nccl, nic.as_deref()), event.time_ns);
        reports.push(Report { from: End { host, nic }, to, fault, time_ns, said, port });
    }
    let heard = events.iter().map(|(_, event)| who.host_of(event)).collect();
    let (mut findings, told) = findings_of_reports(&reports, &heard);
    notes.extend(told);
    if reports.is_empty() && !nameless.is_empty() {
        findings.push(lost_by_nobody(&nameless, who));
    }
    if reports.is_empty() {
        findings.extend(own.into_iter().map(|(host, (_, said))| {
            let mut one = finding(Component::Host(host), LITTLE, vec![FaultKind::Crash], vec![said]);
            one.advice = "its NIC refused what its own process asked for: see NCCL and driver versions, and limits of \
                          memory that may be locked"
                .into();
            one
        }));
    }
    notes.truncate(16);
    (findings, notes)
}

/// Whether a queue pair between ports of one subnet timed out: as a transfer that does not arrive.
fn is_within_subnet(event: &NcclEvent) -> bool {
    match event {
        NcclEvent::Verbs { call, error, gids: [local, remote], .. } => {
            call.contains("modify_qp")
                && error.contains("timed out")
                && subnet(local).is_some_and(|own| subnet(remote) == Some(own))
        }
        _ => false,
    }
}

/// The port at this end of a report: its address, else its device.
fn port_of(event: &NcclEvent, nic: Option<&str>) -> String {
    match event {
        NcclEvent::Completion { local_gid, .. } if !local_gid.is_empty() => local_gid.clone(),
        NcclEvent::Verbs { gids: [local, _], .. } if !local.is_empty() => local.clone(),
        _ => nic.unwrap_or_default().to_owned(),
    }
}

/// Transfers that did not arrive at whoever they were for: a host that says so is one of the two ends, and its other end is
/// not told. So nobody is a suspect.
fn lost_by_nobody(said: &[Said<'_>], who: &Who<'_>) -> Finding {
    let hosts: BTreeSet<String> =
        said.iter().map(|(_, event)| who.host_of(event)).filter(|host| host != UNKNOWN_HOST).collect();
    let mut one = finding(
        Component::Host(String::new()),
        0.0,
        vec![FaultKind::Down, FaultKind::Lossy, FaultKind::Crash],
        said.iter().map(|&said| quoted(said)).collect(),
    );
    one.suspects.clear();
    one.syndrome = Syndrome::Unreachable;
    let count = hosts.len().max(1);
    let seen = LogSeen::LostTransfers { hosts: hosts.into_iter().collect() };
    one.evidence.insert(0, Evidence::new(seen, count as f64, 0.0));
    one.advice = "this version of NCCL does not name the other end: see dmesg and the counters of the NICs of these hosts and of \
                  those they talk to (link down, errors, retransmissions), and whose process ended first"
        .into();
    one
}

/// Errors of CUDA that are those of the program.
pub(crate) fn judge_processes(events: &[Said<'_>], who: &Who<'_>, job: &str) -> (Vec<Finding>, Vec<String>) {
    // What a process says when it is on its way out, or what counters tell.
    const PASSED: [&str; 5] =
        ["driver shutting down", "ecc error", "already", "peer access", "invalid argument"];
    let mut told: BTreeMap<Component, (Option<u64>, Vec<Evidence>)> = BTreeMap::new();
    for &(file, event) in events {
        let (LogSays::Cuda(error) | LogSays::Nccl(NcclEvent::Cuda { error })) = &event.what else { continue };
        let small = error.to_ascii_lowercase();
        if PASSED.iter().any(|words| small.contains(words)) && who.gpu_of(event).is_some() {
            continue;
        }
        let Some(component) = who.process_of(event, job) else { continue };
        let entry = told.entry(component).or_default();
        entry.0 = entry.0.into_iter().chain(event.time_ns).min();
        entry.1.push(quoted((file, event)));
    }
    // Who went first, where times tell.
    if let Some(first) = told.values().filter_map(|(time, _)| *time).min()
        && told.values().all(|(time, _)| time.is_some())
    {
        told.retain(|_, (time, _)| time.is_some_and(|time| time <= first + 1_000_000_000));
    }
    let alone = told.len() == 1;
    if told.len() > 8 {
        let names: Vec<&str> = told.keys().take(8).map(Component::name).collect();
        let note = format!(
            "{} processes ended with errors of CUDA: {}, …: see the program first",
            told.len(),
            names.join(", ")
        );
        return (Vec::new(), vec![note]);
    }
    let one = |(component, (time, said)): (Component, (Option<u64>, Vec<Evidence>))| {
        let confidence = if alone { 0.7 } else { LITTLE };
        let mut one = finding(component, confidence, vec![FaultKind::Crash, FaultKind::GpuError], said);
        one.syndrome = Syndrome::Crash;
        one.at_ns = time.unwrap_or(0);
        one.since = Since::at(one.at_ns);
        one.advice =
            "its process ended with an error of CUDA: see the program first, and Xid of its GPU".into();
        one
    };
    (told.into_iter().map(one).collect(), Vec::new())
}

/// NICs, PCIe and memory of which a kernel says that they fail.
pub(crate) fn judge_devices(
    events: &[Said<'_>],
    who: &Who<'_>,
    until_ns: u64,
) -> (Vec<Finding>, Vec<String>) {
    let now_ns = now_ns(events, until_ns);
    let mut told: BTreeMap<Component, Reasons> = BTreeMap::new();
    let switches = NvSwitches::of(events, who);
    for &(file, event) in events {
        let host = who.host_of(event);
        let recent = event.time_ns.is_none_or(|time| time.saturating_add(RECENT_NS) >= now_ns);
        let nic = |bus: &Option<String>, name: &Option<String>| {
            Component::Nic(format!("{host}/{}", who.nic(&host, bus.as_deref(), name.as_deref())))
        };
        let (component, reason, confidence) = match &event.what {
            LogSays::Nccl(NcclEvent::DeviceFailed { device }) => {
                (Component::Nic(format!("{host}/{device}")), "failed", 0.85)
            }
            LogSays::Kernel(KernelEvent::Nic { bus, name, firmware: true }) => {
                (nic(bus, name), "firmware", 0.85)
            }
            LogSays::Kernel(KernelEvent::Nic { bus, name, firmware: false }) if recent => {
                (nic(bus, name), "queue", LITTLE)
            }
            LogSays::Kernel(KernelEvent::Pcie { bus, driver, fatal }) if recent || *fatal => {
                let component = match driver.as_deref() {
                    Some("mlx5_core") => nic(&Some(bus.clone()), &None),
                    Some("nvidia") => who.gpu(&host, bus),
                    _ => Component::Host(host.clone()),
                };
                (component, "PCIe", if *fatal { 0.7 } else { LITTLE })
            }
            LogSays::Kernel(KernelEvent::MachineCheck) => (Component::Host(host), "machine check", 0.8),
            LogSays::Kernel(KernelEvent::SwitchXid { fatal: true, .. }) if switches.fail(event, &host) => {
                (Component::Host(host), "NVSwitch", 0.85)
            }
            _ => continue,
        };
        told.entry(component).or_default().entry(reason).or_insert((confidence, quoted((file, event))));
    }
    let findings = told.into_iter().map(|(component, reasons)| of_device(component, reasons));
    (findings.collect(), of_switches(events, who).into_iter().collect())
}

/// Why a device is said to fail: confidence and line by reason.
type Reasons = BTreeMap<&'static str, (f64, Evidence)>;

/// The finding of a device that fails.
fn of_device(component: Component, reasons: Reasons) -> Finding {
    let doubt: f64 = reasons.values().map(|(confidence, _)| 1.0 - confidence).product();
    let (faults, advice) = match &component {
        Component::Nic(_) => (
            vec![FaultKind::Down, FaultKind::Slow],
            "see its counters and its firmware; reset it, then replace it",
        ),
        Component::Gpu(_) => {
            (vec![FaultKind::GpuError], "reset the GPU; seat or replace it if it comes again")
        }
        _ if reasons.contains_key("NVSwitch") => (
            vec![FaultKind::Crash, FaultKind::Down],
            "an NVSwitch of the host failed: drain it and reset GPUs and switches together; replace the board if it comes again",
        ),
        _ => (
            vec![FaultKind::Crash],
            "see the log of the baseboard controller; test memory and PCIe of the host",
        ),
    };
    let said = reasons.into_values().map(|(_, said)| said).collect();
    let mut one = finding(component, 1.0 - doubt, faults, said);
    one.advice = advice.into();
    one
}

/// When errors of NVSwitches are their own.
struct NvSwitches {
    /// Hosts of which a GPU fails by itself.
    with_gpu: BTreeSet<String>,
    /// Last start of each host, in nanoseconds.
    boots: BTreeMap<String, u64>,
}

impl NvSwitches {
    fn of(events: &[Said<'_>], who: &Who<'_>) -> Self {
        let with_gpu: BTreeSet<String> = (events.iter())
            .filter(|(_, event)| match &event.what {
                // Links of GPUs fail with their switch, and what is then to be done with the GPUs (154) follows.
                LogSays::Kernel(KernelEvent::Xid { number, harmless: false, .. }) if *number != 154 => {
                    xid_meaning(*number).is_some_and(|xid| xid != Xid::NvLink && xid.hardware() > 0.5)
                }
                _ => false,
            })
            .map(|(_, event)| who.host_of(event))
            .collect();
        let mut boots: BTreeMap<String, u64> = BTreeMap::new();
        let starts = events.iter().filter(|(_, event)| event.what == LogSays::Kernel(KernelEvent::Boot));
        for (_, event) in starts {
            let last = boots.entry(who.host_of(event)).or_default();
            *last = event.time_ns.unwrap_or(0).max(*last);
        }
        Self { with_gpu, boots }
    }

    /// Whether an error of a host's switch shows that the switch failed: a GPU that fails shows at the switch that it is on, and
    /// a start of the host resets its switches.
    fn fail(&self, event: &LogEvent, host: &str) -> bool {
        let is_of_this_start =
            event.time_ns.is_none_or(|time| self.boots.get(host).is_none_or(|boot| time >= *boot));
        !self.with_gpu.contains(host) && is_of_this_start
    }
}

/// The end of logs and records, in nanoseconds: at least two seconds, so that times before it have a place.
fn now_ns(events: &[Said<'_>], until_ns: u64) -> u64 {
    let last_ns = events.iter().filter_map(|(_, event)| event.time_ns).max();
    last_ns.unwrap_or(0).max(until_ns).max(2_000_000_000)
}

/// Errors of NVSwitches that ended nothing, by host: no accusation, and what a failure is looked at beside.
fn of_switches(events: &[Said<'_>], who: &Who<'_>) -> Option<String> {
    let mut hosts: BTreeMap<String, (usize, BTreeSet<u32>)> = BTreeMap::new();
    for (_, event) in events {
        if let LogSays::Kernel(KernelEvent::SwitchXid { number, fatal: false, .. }) = &event.what {
            let told = hosts.entry(who.host_of(event)).or_default();
            told.0 += 1;
            told.1.insert(*number);
        }
    }
    let one = |(host, (count, numbers)): (&String, &(usize, BTreeSet<u32>))| {
        let numbers: Vec<String> = numbers.iter().take(4).map(u32::to_string).collect();
        format!("{host}: {count} (SXid {})", numbers.join(", "))
    };
    let told: Vec<String> = hosts.iter().take(8).map(one).collect();
    let more = if hosts.len() > told.len() { ", …" } else { "" };
    (!told.is_empty()).then(|| format!("errors of NVSwitches that are not fatal: {}{more}", told.join("; ")))
}

/// Hosts that lines name, for [`Finding`]s and counters alike.
fn hosts(events: &[Said<'_>]) -> BTreeSet<String> {
    events.iter().filter_map(|(_, event)| event.host.clone()).collect()
}
