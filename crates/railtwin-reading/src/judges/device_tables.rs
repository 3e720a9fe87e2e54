//! Tables of devices: GPUs without a near NIC, links that are narrower than they could be, storms of pauses.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_formats::telemetry::{DeviceTable, GidPort, GpuTopology, IbLink, IbPort, PciePath, PfcTables};
use railtwin_records::seen::DeviceSeen;
use railtwin_records::{Component, Evidence, FaultKind, Finding, SourceLine};

use super::kernel_devices::finding;
use super::view::{Judgement, RowsView};
use super::{device_states, gids};

/// Confidence in a GPU whose NICs are all further away than those of most GPUs: the host may be built so.
const FAR_NIC: f64 = 0.6;
/// Confidence in a link of which the tool, or most other links, say that it could be wider.
const NARROW: f64 = 0.8;
/// Confidence in a link that is up and was not made active.
const NOT_ACTIVE: f64 = 0.6;
/// Confidence in a port whose storm lasts, and in one whose storm is over: it is told, and accuses nobody.
const STORMED: f64 = 0.85;
const RESTORED: f64 = 0.45;
/// Links that are up before most of them tell what is usual.
const PEERS: usize = 3;
/// Ports that a note names.
const NOTED: usize = 4;

/// Findings and notes about all tables.
pub(super) fn judge(view: &RowsView<'_>) -> Judgement {
    let mut judged = Judgement::default();
    let mut switches: BTreeMap<&str, Vec<(&str, &PfcTables)>> = BTreeMap::new();
    let mut gids: Vec<(&str, &str, &GidPort)> = Vec::new();
    for (file, table) in &view.merged.devices {
        match table {
            DeviceTable::Topology(found) => judged.findings.extend(far_gpus(found)),
            DeviceTable::Links(links) => {
                judged.findings.extend(narrow_links(file, links));
                judged.notes.extend(polling(links));
            }
            DeviceTable::Pfc(found) => switches.entry(&found.switch).or_default().push((file, found)),
            DeviceTable::Ports(host, ports) => {
                judged.findings.extend(device_states::ports(file, host, ports))
            }
            DeviceTable::Gids(host, ports) => {
                gids.extend(ports.iter().map(|port| (file.as_str(), host.as_str(), port)));
            }
            DeviceTable::Gpus(host, gpus) => judged.findings.extend(device_states::gpus(file, host, gpus)),
            _ => {}
        }
    }
    judged.findings.extend(gids::judge(&gids));
    judged.findings.extend(switches.into_iter().flat_map(|(switch, tables)| storms(switch, &tables)));
    judged
}

/// GPUs whose nearest NIC is further away than that of more than half of the GPUs of the host: a host is built for the
/// paths that most of its GPUs have.
fn far_gpus(found: &GpuTopology) -> Vec<Finding> {
    let nearest: Vec<Option<PciePath>> =
        found.paths.iter().map(|row| row.iter().flatten().min().copied()).collect();
    let mut counts: BTreeMap<PciePath, usize> = BTreeMap::new();
    nearest.iter().flatten().for_each(|path| *counts.entry(*path).or_default() += 1);
    let usual = counts.into_iter().find(|(_, count)| count * 2 > found.gpus.len()).map(|(path, _)| path);
    let Some(usual) = usual else { return Vec::new() };
    let gpu_name = |gpu: u32| format!("{}/gpu-{gpu}", found.host);
    let near = |row: usize| -> Vec<String> {
        let paths = found.paths[row].iter().zip(&found.nics);
        paths.filter(|(path, _)| **path == nearest[row]).map(|(_, nic)| nic.clone()).collect()
    };
    let is_far = |row: usize| nearest[row].is_some_and(|path| path > usual);
    let mut findings = Vec::new();
    for row in (0..found.gpus.len()).filter(|&row| is_far(row)) {
        let Some(path) = nearest[row] else { continue };
        let (gpu, usual) = (gpu_name(found.gpus[row]), usual.word().to_owned());
        let seen = DeviceSeen::NearestNic { gpu: gpu.clone(), path: path.word().to_owned(), usual };
        let mut evidence = vec![Evidence::new(seen, 1.0, 0.0)];
        for other in (0..found.gpus.len()).filter(|&other| !is_far(other)) {
            let nics = near(other);
            let count = nics.len() as f64;
            let seen = DeviceSeen::NicsNear { gpu: gpu_name(found.gpus[other]), nics };
            evidence.push(Evidence::new(seen, count, count));
        }
        let advice = "see whether the NIC of its PCIe switch is missing or sits in another slot; else give this GPU's process the \
                      nearest NIC by hand, and expect less bandwidth";
        findings.push(finding(Component::Gpu(gpu), 0, FAR_NIC, vec![FaultKind::Slow], evidence, advice));
    }
    findings
}

/// A port as a name: `gpu-v1/HCA-1`, `leaf-1:2`.
fn port_name(port: &IbPort) -> String {
    let node = port.node.as_str();
    if port.is_switch || node.starts_with("MF0;") {
        // A managed switch describes itself as `MF0;name:model/unit`.
        let name = node.strip_prefix("MF0;").and_then(|rest| rest.split(':').next()).unwrap_or(node);
        return format!("{name}:{}", port.port);
    }
    match node.split_once(' ') {
        Some((host, device)) => format!("{host}/{}", device.trim()),
        None => node.to_owned(),
    }
}

/// A cable by both of its ends, the host's first.
fn cable_of(link: &IbLink) -> Option<String> {
    let to = link.to.as_ref()?;
    let mut ends = [&link.from, to];
    ends.sort_by_key(|end| (end.is_switch || end.node.starts_with("MF0;"), (*end).clone()));
    Some(format!("{} to {}", port_name(ends[0]), port_name(ends[1])))
}

/// Links that are narrower or slower than they could be, or up and not active.
fn narrow_links(file: &str, links: &[IbLink]) -> Vec<Finding> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    let up: Vec<&IbLink> = links.iter().filter(|link| link.to.is_some() && link.lanes.is_some()).collect();
    up.iter().filter_map(|link| link.lanes).for_each(|lanes| *counts.entry(lanes).or_default() += 1);
    let most = counts
        .into_iter()
        .find(|(_, count)| up.len() >= PEERS && count * 2 > up.len())
        .map(|(lanes, _)| lanes);
    let mut by_cable: BTreeMap<String, (f64, Vec<Evidence>)> = BTreeMap::new();
    for link in up {
        let (Some(cable), Some(lanes)) = (cable_of(link), link.lanes) else { continue };
        let could: Vec<&str> = link.possible.iter().flat_map(|text| text.split(&['/', ' '][..])).collect();
        let wider = could.iter().find_map(|word| word.strip_suffix(['X', 'x'])?.parse::<u32>().ok());
        let wider = wider.or(most).filter(|wider| *wider > lanes);
        let at = || SourceLine::new(file, link.line);
        let mut tell = |confidence: f64, line: Evidence| {
            let told = by_cable.entry(cable.clone()).or_default();
            told.0 = told.0.max(confidence);
            if !told.1.iter().any(|known| known.seen == line.seen) {
                told.1.push(line);
            }
        };
        if let Some(wider) = wider {
            let (width, possible) = (format!("{lanes}X"), format!("{wider}X"));
            let seen = DeviceSeen::LinkWidth { link: cable.clone(), width, possible };
            tell(NARROW, Evidence::new(seen, f64::from(lanes), f64::from(wider)).at(at()));
        } else if let Some(possible) = link.possible.as_ref().filter(|text| !text.is_empty()) {
            let (speed, possible) = (link.speed.clone(), possible.clone());
            let seen = DeviceSeen::LinkSpeed { link: cable.clone(), speed, possible };
            tell(NARROW, Evidence::new(seen, 1.0, 0.0).at(at()));
        }
        let state = link.state[0].as_str();
        if !state.is_empty() && state != "Active" {
            let seen = DeviceSeen::PortState { port: cable.clone(), state: link.state.join("/") };
            tell(NOT_ACTIVE, Evidence::new(seen, 1.0, 0.0).at(at()));
        }
    }
    let advice = "reseat the cable and its optics at both ends, then swap them; if it stays so it is the port of the NIC or of the switch";
    let one = |(cable, (confidence, evidence)): (String, (f64, Vec<Evidence>))| {
        finding(Component::Cable(cable), 0, confidence, vec![FaultKind::Slow], evidence, advice)
    };
    by_cable.into_iter().map(one).collect()
}

/// Ports at whose far end nothing answers: unused ones do so, too.
fn polling(links: &[IbLink]) -> Option<String> {
    let names: BTreeSet<String> =
        links.iter().filter(|link| link.state[1] == "Polling").map(|link| port_name(&link.from)).collect();
    let shown: Vec<&str> = names.iter().take(NOTED).map(String::as_str).collect();
    let more = if names.len() > shown.len() {
        format!(" and {} more", names.len() - shown.len())
    } else {
        String::new()
    };
    (!shown.is_empty()).then(|| {
        format!(
            "ports that poll, at whose far end nothing answers: {}{more}; unused ones do",
            shown.join(", ")
        )
    })
}

/// Ports of a switch at which its watchdog found storms of pauses.
fn storms(switch: &str, tables: &[(&str, &PfcTables)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut by_port: BTreeMap<&str, (bool, Vec<Evidence>)> = BTreeMap::new();
    for (file, table) in tables {
        for queue in table.queues.iter().filter(|queue| queue.is_stormed || queue.detected > 0) {
            let port = || format!("{switch}:{}", queue.port);
            let told = by_port.entry(&queue.port).or_default();
            told.0 |= queue.is_stormed;
            let seen = DeviceSeen::Storms { port: port(), queue: queue.queue, is_over: !queue.is_stormed };
            let at = SourceLine::new(*file, queue.line);
            told.1.push(Evidence::new(seen, queue.detected as f64, 0.0).at(at.clone()));
            if queue.dropped > 0 {
                let seen = DeviceSeen::StormDrops { port: port(), queue: queue.queue };
                told.1.push(Evidence::new(seen, queue.dropped as f64, 0.0).at(at));
            }
        }
    }
    for (port, (is_stormed, mut evidence)) in by_port {
        let name = format!("{switch}:{port}");
        let pauses = tables.iter().flat_map(|(_, table)| &table.pauses).filter(|pauses| pauses.port == port);
        evidence.extend(pauses.map(|pauses| {
            let (port, priority) = (name.clone(), pauses.priority);
            let seen = match pauses.is_sent {
                true => DeviceSeen::PausesSent { port, priority },
                false => DeviceSeen::PausesReceived { port, priority },
            };
            Evidence::new(seen, pauses.frames as f64, 0.0)
        }));
        let advice = if is_stormed {
            "what is plugged in at this port sends pauses without end: take that NIC or port down, see its host (PCIe, driver, \
             firmware), then let the watchdog restore the queue"
        } else {
            "its storm is over: see what happened at the host behind this port at that time"
        };
        let confidence = if is_stormed { STORMED } else { RESTORED };
        findings.push(finding(
            Component::Cable(name),
            0,
            confidence,
            vec![FaultKind::PauseStorm],
            evidence,
            advice,
        ));
    }
    findings
}
