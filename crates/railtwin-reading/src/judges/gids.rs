//! GIDs of ports: one without a GID for RoCE v2, and one whose index differs from that of the others.
//!
//! `NCCL_IB_GID_INDEX` is one number for all ports of a job. An index changes when a link toggles while something holds the old
//! entry, which leaves a hole in the table: then a job that was well cannot connect.
use std::collections::BTreeMap;

use railtwin_formats::telemetry::GidPort;
use railtwin_records::seen::DeviceSeen;
use railtwin_records::{Component, Evidence, FaultKind, Finding, SourceLine};

use super::kernel_devices::finding;

/// Ports that agree before one that differs stands out.
const AGREE: usize = 3;
/// Confidence in a port that has no such GID, and in one whose index differs: a job may name none.
const NONE: f64 = 0.7;
const DIFFERS: f64 = 0.6;

/// Findings about ports with file and host.
pub(super) fn judge(ports: &[(&str, &str, &GidPort)]) -> Vec<Finding> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for (.., port) in ports {
        port.v2_over_ipv4.iter().for_each(|index| *counts.entry(*index).or_default() += 1);
    }
    let most = counts.iter().max_by_key(|(index, count)| (**count, std::cmp::Reverse(**index)));
    let usual = most.map(|(index, count)| (*index, *count)).filter(|(_, count)| *count >= AGREE);
    let Some((usual, count)) = usual.filter(|(_, count)| 2 * count > ports.len()) else { return Vec::new() };
    let mut findings = Vec::new();
    for (file, host, port) in ports.iter().filter(|(.., port)| !port.v2_over_ipv4.contains(&usual)) {
        let name = format!("{host}/{}", port.device);
        let at = SourceLine::new(*file, port.line);
        let (seen, figures, confidence, advice) = match port.v2_over_ipv4.first() {
            // An InfiniBand port has none, nor does one without an address: of a few the others tell that it should.
            None => (
                DeviceSeen::NoGid { port: name.clone() },
                (0.0, 1.0),
                NONE,
                "give its interface an IPv4 address, or leave the NIC out (NCCL_IB_HCA)",
            ),
            Some(&index) => (
                DeviceSeen::GidIndex { port: name.clone(), index, usual },
                (f64::from(index), f64::from(usual)),
                DIFFERS,
                "leave NCCL_IB_GID_INDEX out (NCCL from 2.21 finds the index), or restart the host so that the table is made anew",
            ),
        };
        let evidence = Evidence::new(seen, figures.0, figures.1).at(at);
        findings.push(finding(
            Component::Nic(name),
            0,
            confidence,
            vec![FaultKind::Down],
            vec![evidence],
            advice,
        ));
    }
    // Many that differ are a table that is made so.
    if findings.len() > count { Vec::new() } else { findings }
}
