//! Networks that NCCL uses between hosts, by its own lines: TCP sockets in place of RDMA, GPUDirect RDMA that is off, and
//! ports of another link layer than the others.
//!
//! Rules rest on what NCCL prints with `NCCL_DEBUG=INFO`: areal-project/AReaL#639 (sockets), NVIDIA/nccl#1537, #1412 and #489
//! (GPUDirect RDMA), #302 (link layers).
use std::collections::{BTreeMap, BTreeSet};

use railtwin_formats::telemetry::{LogSays, NcclEvent, NcclSetup};
use railtwin_records::seen::{CauseSeen, SocketReason};
use railtwin_records::{Component, Evidence, Finding, Syndrome};

use super::causes::{self, by_host, finding};
use super::{Judgement, RowsView};
use crate::logs::Said;

/// Confidence in a cause that lines name outright.
const SURE: f64 = 0.8;
/// Confidence where lines show the state and not its cause.
const LIKELY: f64 = 0.6;
/// Products of data centers, whose hosts have RDMA devices.
const OF_CENTERS: [&str; 18] = [
    "H100", "H800", "H200", "H20", "A100", "A800", "B100", "B200", "B300", "GB200", "GB300", "GH200", "V100",
    "MI250", "MI300", "MI325", "MI350", "MI355",
];
/// Products without GPUDirect RDMA: NVIDIA supports it on data-center and professional GPUs.
const WITHOUT_DIRECT: [&str; 3] = ["GeForce", "TITAN", "RTX 40"];

/// Lines of one host.
type Lines<'v> = Vec<(Said<'v>, &'v NcclSetup)>;

/// Findings on networks of all hosts, and notes.
pub(super) fn judge(view: &RowsView<'_>) -> Judgement {
    let of = by_host(view);
    let mut verdict = Judgement::default();
    match sockets(view, &of) {
        Some(Ok(found)) => verdict.findings.push(found),
        Some(Err(note)) => verdict.notes.push(note),
        None => {}
    }
    let is_stopped = is_stopped(view);
    for (host, lines) in &of {
        match direct_rdma(view, host, lines) {
            Some(found) if is_stopped => verdict.notes.extend(found.evidence.first().map(Evidence::words)),
            found => verdict.findings.extend(found),
        }
        match mixed_ports(view, host, lines) {
            Some(Ok(found)) => verdict.findings.push(found),
            Some(Err(note)) => verdict.notes.push(note),
            None => {}
        }
    }
    verdict
}

/// Whether some line says that ranks are connected over this network.
fn is_via(lines: &Lines<'_>, network: &str) -> bool {
    lines.iter().any(|(_, setup)| matches!(setup, NcclSetup::Via { transport, .. } if transport == network))
}

/// Whether a host runs over sockets, and no line says that it has another network.
fn is_on_sockets(lines: &Lines<'_>) -> bool {
    let networks = lines.iter().filter_map(|(_, setup)| match setup {
        NcclSetup::Network(name) => Some(name.as_str()),
        _ => None,
    });
    let networks: BTreeSet<&str> = networks.collect();
    let is_other = lines.iter().any(|(_, setup)| match setup {
        NcclSetup::Via { transport, .. } => transport.starts_with("NET/") && transport != "NET/Socket",
        _ => false,
    });
    !is_other && (is_via(lines, "NET/Socket") || networks.len() == 1 && networks.contains("Socket"))
}

/// Whether ranks of several hosts are in one communicator or test: a host alone needs no network between hosts, though NCCL may
/// connect its ranks by one.
fn is_wide(view: &RowsView<'_>, of: &BTreeMap<String, Lines<'_>>) -> bool {
    let mut tests = view.merged.nccl_tests.iter().flat_map(|(_, tests)| tests);
    let mut communicators: BTreeMap<&str, (u32, BTreeSet<u32>, BTreeSet<String>)> = BTreeMap::new();
    for (_, event) in &view.events {
        if let LogSays::Nccl(NcclEvent::Rank { rank, ranks, communicator, .. }) = &event.what {
            let known = communicators.entry(communicator).or_default();
            known.0 = known.0.max(*ranks);
            known.1.insert(*rank);
            known.2.insert(view.who.host_of(event));
        }
    }
    let is_over_hosts = |hosts: usize| hosts > 1;
    let largest = communicators.values().max_by_key(|(size, ..)| *size);
    match largest {
        Some((_, _, hosts)) if is_over_hosts(hosts.len()) => true,
        // All of its ranks are on one host.
        Some((size, ranks, _)) if ranks.len() >= *size as usize => false,
        _ => {
            of.values().any(|lines| is_via(lines, "NET/Socket"))
                || tests.any(|test| {
                    is_over_hosts(
                        test.devices.iter().map(|device| &device.host).collect::<BTreeSet<_>>().len(),
                    )
                })
        }
    }
}

/// Whether the job hangs or ended: then a slow network is not what is wrong with it.
fn is_stopped(view: &RowsView<'_>) -> bool {
    let is_end = |(_, event): &Said<'_>| {
        matches!(event.what, LogSays::Exception { .. } | LogSays::Exit(_) | LogSays::WatchdogStuck(_))
    };
    view.dumps.is_some()
        || view.merged.logs.iter().any(|(_, log)| !log.timeouts.is_empty() || !log.states.is_empty())
        || view.events.iter().any(is_end)
}

/// The confidence that sockets are not meant, by their reason and the GPUs of the tests; none for a note.
fn confidence_of(view: &RowsView<'_>, reason: &SocketReason) -> Option<f64> {
    let tests = view.merged.nccl_tests.iter().flat_map(|(_, tests)| tests);
    let products: BTreeSet<&str> = tests
        .flat_map(|test| &test.devices)
        .map(|device| device.product.as_str())
        .filter(|name| !name.is_empty())
        .collect();
    let is_center = products.iter().any(|product| OF_CENTERS.iter().any(|name| product.contains(name)));
    let is_named = matches!(reason, SocketReason::NoDevice | SocketReason::NoLibrary);
    match (is_center, is_named) {
        _ if is_stopped(view) => None,
        (true, true) => Some(SURE),
        (true, false) => Some(LIKELY),
        (false, true) if products.is_empty() => Some(LIKELY),
        _ => None,
    }
}

/// Jobs over several hosts whose ranks are connected over TCP sockets; a note where that may be meant.
fn sockets(view: &RowsView<'_>, of: &BTreeMap<String, Lines<'_>>) -> Option<Result<Finding, String>> {
    let on: Vec<(&String, &Lines<'_>)> = of.iter().filter(|(_, lines)| is_on_sockets(lines)).collect();
    if on.is_empty() || !is_wide(view, of) {
        return None;
    }
    let told = on.iter().find_map(|(_, lines)| reason_of(lines));
    let (reason, said) = told.unwrap_or((SocketReason::Untold, None));
    let shows = |setup: &NcclSetup| match setup {
        NcclSetup::Network(_) => true,
        NcclSetup::Via { transport, .. } => transport == "NET/Socket",
        _ => false,
    };
    let mut lines: Vec<Said<'_>> = said.into_iter().collect();
    for (_, of_host) in &on {
        lines.extend(of_host.iter().find(|(_, setup)| shows(setup)).map(|(said, _)| *said));
    }
    let names: Vec<String> = on.iter().map(|(host, _)| (*host).clone()).collect();
    let cause = CauseSeen::Sockets { hosts: names.clone(), reason: reason.clone() };
    let Some(confidence) = confidence_of(view, &reason) else {
        return Some(Err(format!("{}: {}", names.join(", "), cause.words())));
    };
    let suspects = names.iter().cloned().map(Component::Host).collect();
    let mut one =
        finding(Syndrome::CommunicationSlow, suspects, confidence, cause, names.len() as f64, &lines);
    one.advice = remedy(&reason);
    Some(Ok(one))
}

/// Advice where NCCL runs over sockets.
fn remedy(reason: &SocketReason) -> String {
    match reason {
        SocketReason::Setting { name, .. } => format!("take {name} away, or name the RDMA devices that the hosts have"),
        SocketReason::Untold => {
            "see NCCL_NET, NCCL_IB_DISABLE and NCCL_IB_HCA, and whether ibv_devices lists a device inside the container".into()
        }
        _ => "give the container its RDMA devices (/dev/infiniband, libibverbs, CAP_IPC_LOCK) and see that ibv_devices lists \
              them there"
            .into(),
    }
}

/// Why a host runs over sockets, and the line that tells.
fn reason_of<'v>(lines: &Lines<'v>) -> Option<(SocketReason, Option<Said<'v>>)> {
    let setting = |wanted: fn(&str, &str) -> bool| {
        lines.iter().find_map(|(said, setup)| match setup {
            NcclSetup::Setting { name, value } if wanted(name, value) => {
                let reason = SocketReason::Setting { name: name.clone(), value: value.clone() };
                Some((reason, Some(*said)))
            }
            _ => None,
        })
    };
    let off = setting(|name, value| {
        name == "NCCL_IB_DISABLE" && value != "0"
            || name == "NCCL_NET" && value.eq_ignore_ascii_case("socket")
    });
    let missing = lines.iter().find_map(|(said, setup)| match setup {
        NcclSetup::NoDevice { without_library: true } => Some((SocketReason::NoLibrary, Some(*said))),
        NcclSetup::NoDevice { without_library: false } => Some((SocketReason::NoDevice, Some(*said))),
        _ => None,
    });
    // A list of devices of which the host has none leaves no device.
    let listed = || setting(|name, value| name == "NCCL_IB_HCA" && !value.starts_with('^'));
    off.or_else(|| missing.as_ref().and_then(|_| listed())).or(missing)
}

/// NICs of a host that do not reach memory of GPUs.
fn direct_rdma(view: &RowsView<'_>, host: &str, lines: &Lines<'_>) -> Option<Finding> {
    let mut nics: BTreeMap<&str, (bool, Said<'_>)> = BTreeMap::new();
    for (said, setup) in lines {
        if let NcclSetup::DirectRdma { device, is_on } = setup {
            let known = nics.entry(device).or_insert((false, *said));
            known.0 |= *is_on;
        }
    }
    let off: Vec<(&str, Said<'_>)> =
        nics.iter().filter(|(_, (is_on, _))| !is_on).map(|(nic, (_, said))| (*nic, *said)).collect();
    let with = nics.len() - off.len();
    let is_direct = lines.iter().any(|(_, setup)| matches!(setup, NcclSetup::Via { is_direct: true, .. }));
    if off.is_empty() || is_direct && with == 0 || is_via(lines, "NET/Socket") || !may_be_direct(view, host) {
        return None;
    }
    let said: Vec<Said<'_>> = off.iter().map(|(_, said)| *said).collect();
    let names: Vec<String> = off.iter().map(|(nic, _)| (*nic).to_owned()).collect();
    let count = names.len() as f64;
    let own = |nics: Vec<String>, host: &str| {
        nics.into_iter().map(|nic| Component::Nic(format!("{host}/{nic}"))).collect()
    };
    let mut one = if with == 0 {
        let cause = CauseSeen::DirectRdmaOff { host: host.to_owned(), nics: names };
        finding(
            Syndrome::CommunicationSlow,
            vec![Component::Host(host.to_owned())],
            SURE,
            cause,
            count,
            &said,
        )
    } else {
        let suspects = own(names.clone(), host);
        let cause = CauseSeen::DirectRdmaOffOnSome { host: host.to_owned(), nics: names, with };
        finding(Syndrome::CommunicationSlow, suspects, LIKELY, cause, count, &said)
    };
    one.advice = "load nvidia_peermem (or nv_peer_mem), or use a kernel and driver with dma-buf; then NCCL says GPU Direct RDMA \
                  Enabled"
        .into();
    Some(one)
}

/// Whether the GPUs of a host may have GPUDirect RDMA, by their products.
fn may_be_direct(view: &RowsView<'_>, host: &str) -> bool {
    let tests = view.merged.nccl_tests.iter().flat_map(|(_, tests)| tests);
    let mut devices = tests.flat_map(|test| &test.devices).filter(|device| device.host == host);
    !devices.any(|device| WITHOUT_DIRECT.iter().any(|product| device.product.contains(product)))
}

/// Network devices with their numbers and the lines that tell them.
type Devices<'v> = BTreeMap<&'v str, (u32, Said<'v>)>;

/// A port of another link layer than most others of its host that NCCL uses. Without a failure of a queue pair it is a note.
fn mixed_ports(view: &RowsView<'_>, host: &str, lines: &Lines<'_>) -> Option<Result<Finding, String>> {
    let mut links: BTreeMap<&str, Devices<'_>> = BTreeMap::new();
    for (said, setup) in lines {
        if let NcclSetup::Port { row, device, link } = setup {
            links.entry(link).or_default().entry(device).or_insert((*row, *said));
        }
    }
    let mut by_count: Vec<(&str, Devices<'_>)> = links.into_iter().collect();
    by_count.sort_by_key(|(_, nics)| nics.len());
    let [(link, few), (others, many)] = &by_count[..] else { return None };
    if few.len() >= many.len() {
        return None;
    }
    let failures = failures_of(view, host);
    let used = used_of(few, lines, &failures);
    if used.is_empty() || failures.is_empty() {
        let all: Vec<&str> = few.keys().copied().collect();
        return Some(Err(format!(
            "{host}: {} is a {link} port among {others} ports: leave it out by NCCL_IB_HCA if they are of another network",
            all.join(", ")
        )));
    }
    let names: Vec<&str> = used.iter().map(|(nic, _)| *nic).collect();
    let names = names.join(", ");
    let said: Vec<Said<'_>> =
        failures.iter().copied().take(2).chain(used.iter().map(|(_, said)| *said)).collect();
    let cause = CauseSeen::MixedPorts {
        host: host.to_owned(),
        nic: names.clone(),
        link: (*link).to_owned(),
        others: (*others).to_owned(),
    };
    let suspects = used.iter().map(|(nic, _)| Component::Nic(format!("{host}/{nic}"))).collect();
    let mut one = finding(Syndrome::Crash, suspects, SURE, cause, used.len() as f64, &said);
    let kept: Vec<&str> = many.keys().copied().collect();
    one.advice = format!("leave {names} out: NCCL_IB_HCA={}", kept.join(","));
    Some(Ok(one))
}

/// Queue pairs of a host that failed.
fn failures_of<'v>(view: &'v RowsView<'_>, host: &str) -> Vec<Said<'v>> {
    let is_it = |what: &LogSays| matches!(what, LogSays::Nccl(NcclEvent::Verbs { call, .. }) if call.contains("modify_qp"));
    let failed =
        view.events.iter().filter(|(_, event)| is_it(&event.what) && view.who.host_of(event) == host);
    failed.map(|&(file, event)| (file, event)).collect()
}

/// Those of some devices that NCCL uses: the ones that failures name, else the ones of connections.
fn used_of<'v>(few: &Devices<'v>, lines: &Lines<'_>, failures: &[Said<'_>]) -> Vec<(&'v str, Said<'v>)> {
    let rows: BTreeSet<u32> = lines
        .iter()
        .filter_map(|(_, setup)| match setup {
            NcclSetup::Via { transport, row, .. } if transport == "NET/IB" => *row,
            _ => None,
        })
        .collect();
    let named: BTreeSet<&str> = failures
        .iter()
        .filter_map(|(_, event)| match &event.what {
            LogSays::Nccl(NcclEvent::Verbs { device, .. }) if !device.is_empty() => Some(device.as_str()),
            _ => None,
        })
        .collect();
    let is_used =
        |nic: &str, row: u32| if named.is_empty() { rows.contains(&row) } else { named.contains(nic) };
    few.iter().filter(|(nic, (row, _))| is_used(nic, *row)).map(|(nic, (_, said))| (*nic, *said)).collect()
}

/// The choices of NCCL: a note on all hosts, notes on a host that differs from all others, and a finding where it has another
/// network.
pub(super) fn choices(view: &RowsView<'_>) -> Judgement {
    let of = by_host(view);
    let mut verdict = Judgement::default();
    verdict.notes.extend(note(view));
    let facts: [(&str, Fact); 4] = [
        ("version of NCCL", version),
        ("NICs that NCCL uses", nics),
        ("NICs with GPUDirect RDMA", direct),
        ("settings of NCCL", settings),
    ];
    for (what, fact) in facts {
        verdict.notes.extend(odd_one(what, fact, &of).map(|(_, cause)| cause.words()));
    }
    // One that runs over sockets is a finding of its own.
    let odd = odd_one("network of NCCL", network, &of);
    if let Some((host, cause)) = odd.filter(|(host, _)| !is_on_sockets(&of[*host])) {
        let said: Vec<Said<'_>> = of[host]
            .iter()
            .find(|(_, setup)| matches!(setup, NcclSetup::Network(_)))
            .map(|(said, _)| *said)
            .into_iter()
            .collect();
        let suspects = vec![Component::Host(host.to_owned())];
        let mut one = finding(Syndrome::CommunicationSlow, suspects, LIKELY, cause, 1.0, &said);
        one.advice = "give the host the image, modules and settings of the others".into();
        verdict.findings.push(one);
    }
    verdict
}

/// A fact of a host, by its lines; none where they do not tell it.
type Fact = fn(&Lines<'_>) -> Option<String>;

/// Least hosts that must agree for another one to differ.
const PEERS: usize = 2;

/// The one host that differs from all others.
fn odd_one<'o>(what: &str, fact: Fact, of: &'o BTreeMap<String, Lines<'_>>) -> Option<(&'o str, CauseSeen)> {
    let mut values: BTreeMap<String, Vec<&'o str>> = BTreeMap::new();
    for (host, lines) in of {
        if let Some(value) = fact(lines) {
            values.entry(value).or_default().push(host);
        }
    }
    let mut sorted: Vec<(String, Vec<&str>)> = values.into_iter().collect();
    sorted.sort_by_key(|(_, hosts)| hosts.len());
    let [(own, odd), (others, peers)] = &sorted[..] else { return None };
    let [host] = odd[..] else { return None };
    let cause = CauseSeen::HostDiffers {
        host: host.to_owned(),
        what: what.to_owned(),
        own: own.clone(),
        others: others.clone(),
        of: peers.len(),
    };
    (peers.len() >= PEERS).then_some((host, cause))
}

fn version(lines: &Lines<'_>) -> Option<String> {
    let told = lines.iter().filter_map(|(_, setup)| match setup {
        NcclSetup::Version(version) => Some(version.as_str()),
        _ => None,
    });
    joined(told)
}

fn network(lines: &Lines<'_>) -> Option<String> {
    let told = lines.iter().filter_map(|(_, setup)| match setup {
        NcclSetup::Network(name) => Some(name.as_str()),
        _ => None,
    });
    joined(told)
}

fn nics(lines: &Lines<'_>) -> Option<String> {
    let told = lines.iter().filter_map(|(_, setup)| match setup {
        NcclSetup::Port { device, .. } => Some(device.as_str()),
        _ => None,
    });
    let nics: BTreeSet<&str> = told.collect();
    (!nics.is_empty()).then(|| nics.len().to_string())
}

fn direct(lines: &Lines<'_>) -> Option<String> {
    let told = lines.iter().filter_map(|(_, setup)| match setup {
        NcclSetup::DirectRdma { device, is_on } => Some((device.as_str(), *is_on)),
        _ => None,
    });
    let nics: BTreeMap<&str, bool> = told.collect();
    (!nics.is_empty()).then(|| nics.values().filter(|is_on| **is_on).count().to_string())
}

/// Settings that hosts must share; names of interfaces and devices may differ.
fn settings(lines: &Lines<'_>) -> Option<String> {
    const OWN: [&str; 5] =
        ["NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_DEBUG_FILE", "NCCL_TOPO_FILE", "NCCL_HOSTID"];
    let told = lines.iter().filter_map(|(_, setup)| match setup {
        NcclSetup::Setting { name, value } if !OWN.contains(&name.as_str()) => {
            Some(format!("{name}={value}"))
        }
        _ => None,
    });
    let told: BTreeSet<String> = told.collect();
    (!told.is_empty()).then(|| told.into_iter().collect::<Vec<_>>().join(" "))
}

fn joined<'a>(told: impl Iterator<Item = &'a str>) -> Option<String> {
    let told: BTreeSet<&str> = told.collect();
    (!told.is_empty()).then(|| told.into_iter().collect::<Vec<_>>().join(", "))
}

/// The choices of NCCL in a few words, where some line tells it and nothing is wrong with it.
fn note(view: &RowsView<'_>) -> Option<String> {
    let all: Lines<'_> = causes::setups(view).collect();
    let of = |fact: Fact, what: &str| fact(&all).map(|told| format!("{what} {told}"));
    let rates: BTreeSet<u64> = all
        .iter()
        .filter_map(|(_, setup)| match setup {
            NcclSetup::Rate { mbit_per_s, .. } => Some(mbit_per_s / 1000),
            _ => None,
        })
        .collect();
    let rates: Vec<String> = rates.iter().map(|rate| format!("{rate} Gbps")).collect();
    let ways = all.iter().filter_map(|(_, setup)| match setup {
        NcclSetup::Via { transport, .. } => Some(transport.as_str()),
        _ => None,
    });
    let ways: BTreeSet<&str> = ways.collect();
    let ways: Vec<&str> = ways.into_iter().collect();
    let parts: Vec<String> = [
        of(version, "NCCL"),
        of(network, "network"),
        (!ways.is_empty()).then(|| format!("transports {}", ways.join(", "))),
        (!rates.is_empty()).then(|| format!("NICs of {}", rates.join(", "))),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!ways.is_empty() && parts.len() > 1).then(|| format!("NCCL's choices: {}", parts.join("; ")))
}
