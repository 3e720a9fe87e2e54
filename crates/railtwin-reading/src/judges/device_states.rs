//! Ports and GPUs by the state that tools print: ports beside their like, GPUs by what they report of themselves.
use std::collections::BTreeMap;

use railtwin_formats::telemetry::{GpuStatus, GpuTrouble, PortStatus};
use railtwin_records::seen::DeviceSeen;
use railtwin_records::{Component, Evidence, FaultKind, Finding, SourceLine};

use super::kernel_devices::finding;

/// Ports of one model that are up before the only one that is not is a fault: unused ports come in twos and fours.
const LIKE: usize = 3;
/// Confidence in the only port of its model that is down, slow or not active; and in what firmware reports itself.
const ALONE: f64 = 0.6;
const REPORTED: f64 = 0.7;
/// Confidence in a GPU that reports a fault of its own, and in NVLinks of which its peers have more.
const GPU: f64 = 0.75;

/// Ports in trouble, or unlike all others of their model in the host.
pub(super) fn ports(file: &str, host: &str, all: &[PortStatus]) -> Vec<Finding> {
    let mut models: BTreeMap<&str, Vec<&PortStatus>> = BTreeMap::new();
    all.iter().for_each(|port| models.entry(&port.model).or_default().push(port));
    let mut findings = Vec::new();
    let mut tell =
        |port: &PortStatus, seen: DeviceSeen, figures: (f64, f64), confidence: f64, fault: FaultKind| {
            let evidence = Evidence::new(seen, figures.0, figures.1).at(SourceLine::new(file, port.line));
            let nic = Component::Nic(format!("{host}/{}", port.device));
            let advice =
                "see its cable and optics, then the port at the far end and the subnet manager (InfiniBand)";
            findings.push(finding(nic, 0, confidence, vec![fault], vec![evidence], advice));
        };
    for ports in models.values() {
        let name = |port: &PortStatus| format!("{host}/{}", port.device);
        let is_up = |port: &&&PortStatus| port.state == "Active";
        let up: Vec<&&PortStatus> = ports.iter().filter(is_up).collect();
        for port in ports {
            if let Some(text) = &port.trouble {
                let seen = DeviceSeen::PortTrouble { port: name(port), text: text.clone() };
                tell(port, seen, (1.0, 0.0), REPORTED, FaultKind::Down);
            }
        }
        let others: Vec<&&PortStatus> = ports.iter().filter(|port| port.state != "Active").collect();
        if let ([port], true) = (&others[..], up.len() >= LIKE) {
            let state = format!("{}, {}", port.state, port.physical);
            tell(port, DeviceSeen::PortState { port: name(port), state }, (1.0, 0.0), ALONE, FaultKind::Down);
        }
        let mut rates: Vec<f64> = up.iter().filter_map(|port| port.gbps).collect();
        rates.sort_by(f64::total_cmp);
        let Some(&usual) = rates.get(rates.len() / 2).filter(|_| rates.len() >= LIKE) else { continue };
        for port in up.iter().filter(|port| port.gbps.is_some_and(|gbps| gbps < usual)) {
            let figures = (port.gbps.unwrap_or(0.0), usual);
            tell(port, DeviceSeen::PortRate { port: name(port) }, figures, ALONE, FaultKind::Slow);
        }
    }
    findings
}

/// GPUs that report a fault, and GPUs with fewer NVLinks than most of their host.
pub(super) fn gpus(file: &str, host: &str, all: &[GpuStatus]) -> Vec<Finding> {
    let mut active: Vec<u32> = all.iter().map(|gpu| gpu.active_links).collect();
    active.sort_unstable();
    let usual = active.get(active.len() / 2).copied().unwrap_or(0);
    let mut findings = Vec::new();
    for gpu in all {
        let is_number = gpu.gpu.bytes().all(|digit| digit.is_ascii_digit());
        let name = match (gpu.gpu.is_empty(), is_number) {
            (true, _) => host.to_owned(),
            (false, true) => format!("{host}/gpu-{}", gpu.gpu),
            (false, false) => format!("{host}/{}", gpu.gpu),
        };
        let (mut evidence, mut inactive) = (Vec::new(), Vec::new());
        for (trouble, line) in &gpu.troubles {
            let at = || SourceLine::new(file, *line);
            match trouble {
                GpuTrouble::Reports { field, text } => {
                    let (gpu, field, text) = (name.clone(), field.clone(), text.clone());
                    evidence
                        .push(Evidence::new(DeviceSeen::GpuReports { gpu, field, text }, 1.0, 0.0).at(at()));
                }
                GpuTrouble::NvlinkErrors { link, what: counter, count } if counter == "Recovery" => {
                    // Replays and CRC errors heal by themselves; a recovery is a link that was trained anew.
                    let seen =
                        DeviceSeen::NvlinkErrorsOf { gpu: name.clone(), link: *link, what: counter.clone() };
                    evidence.push(Evidence::new(seen, *count as f64, 0.0).at(at()));
                }
                GpuTrouble::NvlinkErrors { .. } => {}
                GpuTrouble::NvlinkInactive(link) => inactive.push(*link),
            }
        }
        if gpu.active_links < usual && !inactive.is_empty() {
            let count = inactive.len() as f64;
            let seen = DeviceSeen::NvlinksInactive { gpu: name.clone(), links: inactive };
            evidence.push(Evidence::new(seen, count, 0.0));
        }
        if !evidence.is_empty() {
            let is_slow = gpu.troubles.iter().any(|(trouble, _)| {
                matches!(trouble, GpuTrouble::Reports { field, .. } if field.ends_with("Slowdown"))
            });
            let fault = if is_slow { FaultKind::SlowGpu } else { FaultKind::GpuError };
            let advice = "take the GPU out of the job: reset it, see its cooling and power, replace it if it comes again";
            let component = if gpu.gpu.is_empty() { Component::Host(name) } else { Component::Gpu(name) };
            findings.push(finding(component, 0, GPU, vec![fault], evidence, advice));
        }
    }
    findings
}
