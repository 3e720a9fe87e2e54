//! Devices that lines of a kernel prove to be at fault: NVLinks, slow PCIe links, drivers that give up, memory registrations.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_formats::telemetry::{KernelEvent, LogEvent, LogSays, is_gpu_driver};
use railtwin_records::seen::LogSeen;
use railtwin_records::{Component, Evidence, FaultKind, Finding, Since, SourceLine, Suspect, Syndrome};

use super::view::{Judgement, RowsView};
use crate::logs::Said;

/// Lines of evidence of one finding.
const ROWS: usize = 8;
/// The event of NVLink 5 that is of the link itself; the others tell what its loss does to engines (NVIDIA's catalog).
const LINK_EVENT: u32 = 149;
/// Confidence in a fatal NVLink and in a device that its driver gave up: the lines say so.
const PROVED: f64 = 0.85;
/// Confidence in a NIC whose PCIe link is slower than that of its like in the host, and without such.
const SLOWER_THAN_PEERS: f64 = 0.8;
const SLOW_ALONE: f64 = 0.6;
/// Confidence in a NIC that cannot register memory: its limits, or those of its host.
const REGISTRATION: f64 = 0.7;

/// Findings and notes about devices of kernels' logs.
pub(super) fn judge(view: &RowsView<'_>) -> Judgement {
    let boots = boots(view);
    let is_of_now = |event: &LogEvent| {
        let boot = boots.get(&view.who.host_of(event)).copied().unwrap_or(0);
        event.time_ns.is_none_or(|time| time >= boot)
    };
    let events: Vec<Said<'_>> = view.events.iter().copied().filter(|(_, event)| is_of_now(event)).collect();
    let mut findings = nvlinks(view, &events);
    let (links, notes) = pcie_links(view, &events);
    findings.extend(links);
    findings.extend(not_started(view, &events));
    findings.extend(registrations(view, &events));
    Judgement { findings, notes, failed_tests: 0 }
}

/// Last start of each host: what stands before it is of an earlier one.
fn boots(view: &RowsView<'_>) -> BTreeMap<String, u64> {
    let mut boots: BTreeMap<String, u64> = BTreeMap::new();
    for (_, event) in &view.events {
        if let (LogSays::Kernel(KernelEvent::Boot), Some(time)) = (&event.what, event.time_ns) {
            let last = boots.entry(view.who.host_of(event)).or_default();
            *last = time.max(*last);
        }
    }
    boots
}

pub(super) fn finding(
    component: Component,
    at_ns: u64,
    confidence: f64,
    faults: Vec<FaultKind>,
    evidence: Vec<Evidence>,
    advice: &str,
) -> Finding {
    Finding {
        at_ns,
        since: Since::at(at_ns),
        syndrome: Syndrome::Counter,
        faults,
        suspects: vec![Suspect { component, share: confidence }],
        confidence,
        severity: 1.0,
        cost: None,
        evidence: evidence.into_iter().take(ROWS).collect(),
        advice: advice.to_owned(),
    }
}

/// NVLinks that failed for good, and the GPUs that lost their channels because of them.
fn nvlinks(view: &RowsView<'_>, events: &[Said<'_>]) -> Vec<Finding> {
    let mut fatal: BTreeMap<String, Vec<(Component, u32, u32, Said<'_>)>> = BTreeMap::new();
    let mut victims: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for &(file, event) in events {
        let LogSays::Kernel(KernelEvent::Xid { bus, number, fatal_link, after, .. }) = &event.what else {
            continue;
        };
        let host = view.who.host_of(event);
        if after.is_some_and(|cause| (144..=150).contains(&cause)) {
            let gpu = view.who.gpu(&host, bus).name().to_owned();
            victims.entry(host.clone()).or_default().insert(gpu);
        }
        if let Some(link) = fatal_link {
            let gpu = view.who.gpu(&host, bus);
            fatal.entry(host).or_default().push((gpu, *link, *number, (file, event)));
        }
    }
    let mut findings = Vec::new();
    for (host, mut all) in fatal {
        // What others report beside a link that failed are requests over it that were not answered.
        if all.iter().any(|(_, _, number, _)| *number == LINK_EVENT) {
            all.retain(|(_, _, number, _)| *number == LINK_EVENT);
        }
        let mut by_gpu: BTreeMap<Component, Vec<Evidence>> = BTreeMap::new();
        let mut first: BTreeMap<Component, u64> = BTreeMap::new();
        for (gpu, link, number, (file, event)) in all {
            first.entry(gpu.clone()).or_insert(event.time_ns.unwrap_or(0));
            let seen = LogSeen::FatalNvlink { gpu: gpu.name().to_owned(), link, number };
            by_gpu
                .entry(gpu)
                .or_default()
                .push(Evidence::new(seen, 1.0, 0.0).at(SourceLine::new(file, event.line)));
        }
        for (gpu, mut evidence) in by_gpu {
            let lost: Vec<String> = victims.get(&host).into_iter().flatten().cloned().collect();
            if !lost.is_empty() {
                let count = lost.len() as f64;
                evidence.insert(1, Evidence::new(LogSeen::LostChannels { gpus: lost }, count, 0.0));
            }
            let advice = "drain its host for repair: reset GPUs and NVSwitches together, reseat or replace the board if it comes \
                          again; GPUs that lost channels are victims";
            let at_ns = first.get(&gpu).copied().unwrap_or(0);
            findings.push(finding(gpu, at_ns, PROVED, vec![FaultKind::GpuError], evidence, advice));
        }
    }
    findings
}

/// The PCIe link of a device as its driver last found it.
struct Link<'a> {
    said: Said<'a>,
    driver: &'a str,
    available: u64,
    capable: u64,
}

/// NICs and GPUs whose PCIe link carries less than the device can; a note where all of their like do.
fn pcie_links(view: &RowsView<'_>, events: &[Said<'_>]) -> (Vec<Finding>, Vec<String>) {
    let mut links: BTreeMap<(String, &str), Link<'_>> = BTreeMap::new();
    for &said in events {
        if let LogSays::Kernel(KernelEvent::PcieLink { bus, driver, available, capable, .. }) = &said.1.what {
            let link = Link { said, driver, available: *available, capable: *capable };
            links.insert((view.who.host_of(said.1), bus), link);
        }
    }
    let (mut findings, mut notes) = (Vec::new(), Vec::new());
    for ((host, bus), link) in links.iter().filter(|(_, link)| link.available < link.capable) {
        let like = links.iter().filter(|((other, other_bus), one)| {
            other == host && other_bus != bus && (one.driver, one.capable) == (link.driver, link.capable)
        });
        let faster = like.clone().filter(|(_, one)| one.available > link.available).count();
        let device = match is_gpu_driver(link.driver) {
            true => view.who.gpu(host, bus),
            false => Component::Nic(format!("{host}/{}", view.who.nic(host, Some(bus), None))),
        };
        let gbps = |mbps: u64| mbps as f64 / 1e3;
        // Slots of all alike are built so, unless something tells of a faster one.
        if like.count() > 0 && faster == 0 {
            notes.push(format!(
                "{}: its PCIe link carries {:.0} of {:.0} Gb/s, like those of its kind in the host",
                device.name(),
                gbps(link.available),
                gbps(link.capable)
            ));
            continue;
        }
        let LogSays::Kernel(KernelEvent::PcieLink { speed, possible, at, .. }) = &link.said.1.what else {
            continue;
        };
        let seen = LogSeen::PcieLink {
            device: device.name().to_owned(),
            speed: speed.clone(),
            at: at.clone(),
            possible: possible.clone(),
        };
        let (file, event) = link.said;
        let evidence = Evidence::new(seen, gbps(link.available), gbps(link.capable))
            .at(SourceLine::new(file, event.line));
        let confidence = if faster > 0 { SLOWER_THAN_PEERS } else { SLOW_ALONE };
        let advice = "see in which slot it is and what the slot can do (lspci -vv: LnkCap, LnkSta); reseat card and riser, see the \
                      speed that the BIOS allows";
        let at_ns = event.time_ns.unwrap_or(0);
        let mut one = finding(device, at_ns, confidence, vec![FaultKind::Slow], vec![evidence], advice);
        one.severity = 1.0 - link.available as f64 / link.capable as f64;
        findings.push(one);
    }
    (findings, notes)
}

/// Devices that their drivers gave up, unless they were started later.
fn not_started(view: &RowsView<'_>, events: &[Said<'_>]) -> Vec<Finding> {
    let mut gone: BTreeMap<(String, &str), (Said<'_>, &str)> = BTreeMap::new();
    for &said in events {
        let host = view.who.host_of(said.1);
        match &said.1.what {
            LogSays::Kernel(KernelEvent::NotStarted { bus, driver }) => {
                gone.entry((host, bus)).or_insert((said, driver));
            }
            LogSays::Kernel(KernelEvent::DriverStarted { bus }) => {
                gone.remove(&(host, bus.as_str()));
            }
            _ => {}
        }
    }
    let one = |((host, bus), ((file, event), driver)): ((String, &str), (Said<'_>, &str))| {
        let (device, fault) = match is_gpu_driver(driver) {
            true => (view.who.gpu(&host, bus), FaultKind::GpuError),
            false => {
                (Component::Nic(format!("{host}/{}", view.who.nic(&host, Some(bus), None))), FaultKind::Down)
            }
        };
        let seen = LogSeen::NotStarted { device: device.name().to_owned(), driver: driver.to_owned() };
        let evidence = Evidence::new(seen, 1.0, 0.0).at(SourceLine::new(file, event.line));
        let advice = "the host runs without it: power it off and on, see versions of firmware and driver, then reseat or replace it";
        finding(device, event.time_ns.unwrap_or(0), PROVED, vec![fault], vec![evidence], advice)
    };
    gone.into_iter().map(one).collect()
}

/// RDMA devices that could not register memory.
fn registrations(view: &RowsView<'_>, events: &[Said<'_>]) -> Vec<Finding> {
    let mut failed: BTreeMap<(Component, i32), Vec<Said<'_>>> = BTreeMap::new();
    for &said in events {
        if let LogSays::Kernel(KernelEvent::RegistrationFailed { bus, name, error }) = &said.1.what {
            let host = view.who.host_of(said.1);
            let nic = view.who.nic(&host, bus.as_deref(), name.as_deref());
            failed.entry((Component::Nic(format!("{host}/{nic}")), *error)).or_default().push(said);
        }
    }
    let one = |((nic, error), said): ((Component, i32), Vec<Said<'_>>)| {
        let seen = LogSeen::RegistrationFailed { device: nic.name().to_owned(), error };
        let mut evidence = Evidence::new(seen, said.len() as f64, 0.0);
        for (file, event) in said.iter().take(ROWS) {
            evidence = evidence.at(SourceLine::new(*file, event.line));
        }
        let advice = "see how much memory its processes register and in pages of which size (huge pages need fewer entries), limits \
                      of locked memory, and the versions of its driver and firmware";
        let at_ns = said.first().and_then(|(_, event)| event.time_ns).unwrap_or(0);
        finding(nic, at_ns, REGISTRATION, vec![FaultKind::Crash], vec![evidence], advice)
    };
    failed.into_iter().map(one).collect()
}
