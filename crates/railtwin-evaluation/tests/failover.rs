//! Failover of a small fabric beside one that was measured: four leaves in two sets, four spines, four hosts, as network
//! namespaces with FRR 8.4.4 on one Linux machine.
//!
//! `UPDATE_DOCS=1 cargo test -p railtwin-evaluation --test all failover` writes docs/reference/failover.md.
use std::fmt::Write as _;
use std::path::Path;

use railtwin::question::Question;
use railtwin_engine::fault::{Change, Moment};
use railtwin_engine::{Case, Fault};
use railtwin_fabric::{DeviceKind, LinkId};

/// Draws of each fault.
const DRAWS: u32 = 400;

/// The fabric and its timers. A leaf's and a spine's software hold what they process for 50 ms, and their kernel gets it
/// 10 ms later; the kernel itself leaves dead ports out of its groups.
const BASE: &str = r#"
schema = 1
name = "failover"

[fabric]
preset = "leaf-spine"
leaves = 4
hosts_per_leaf = 2
uplinks = 4
uplink_capacity = "100 Mbps"
host = { model = "plain", gpus = 2, nics = 1, nic_ports = 2, nic_port_capacity = "200 Mbps", pcie_switches = 1 }

[reaction]
detection = "0 s to 10 ms"
lag_failover = "0 s to 5 ms"
ecmp_regroup = "3 ms to 80 ms"
withdrawal = "50 ms to 70 ms"
hop = "60 ms to 80 ms"
lacp_rate = "fast"
bgp_hold = "3 s"

[[job]]
hosts = 4
collective = { kind = "all-reduce", bytes = "1 MiB", algorithm = "ring" }
"#;

/// A fault, whose links are looked at, what was measured in words, and the band that medians lie in; none for ever.
struct Row {
    title: &'static str,
    keys: &'static str,
    fault: &'static str,
    /// Whether a link is one of those whose traffic is looked at, by the kinds of devices and names at its ends.
    looks_at: fn(&str, &str) -> bool,
    measured: &'static str,
    band: Option<(f64, f64)>,
}

const ROWS: [Row; 11] = [
    Row {
        title: "cable of a host down: towards the host",
        keys: "",
        fault: "cable = \"host-0/nic-0:port-0\"\nkind = \"down\"",
        looks_at: |from, to| from.starts_with("leaf") && to == "host-0/nic-0",
        measured: "125 to 208 ms",
        band: Some((0.1, 0.3)),
    },
    Row {
        title: "the same: from the host",
        keys: "",
        fault: "cable = \"host-0/nic-0:port-0\"\nkind = \"down\"",
        looks_at: |from, to| from == "host-0/nic-0" && to.starts_with("leaf"),
        measured: "within noise, 2 to 7 ms",
        band: Some((0.0, 0.02)),
    },
    Row {
        title: "cable of a spine down",
        keys: "",
        fault: "cable = \"leaf-0:uplink-0\"\nkind = \"down\"",
        looks_at: |from, to| from == "leaf-0" && to.starts_with("spine"),
        measured: "3 to 80 ms",
        band: Some((0.0, 0.1)),
    },
    Row {
        title: "software of a spine killed",
        keys: "",
        fault: "spine = \"spine-0\"\nkind = \"control-plane\"",
        looks_at: |from, to| from.starts_with("leaf") && to == "spine-0",
        measured: "46 to 83 ms",
        band: Some((0.0, 0.15)),
    },
    Row {
        title: "software of a leaf killed: from the host",
        keys: "",
        fault: "leaf = \"leaf-0\"\nkind = \"control-plane\"",
        looks_at: |from, to| from == "host-0/nic-0" && to == "leaf-0",
        measured: "for ever",
        band: None,
    },
    Row {
        title: "the same, LACP stops with it",
        keys: "[dual_tor]\nremedy = \"lacp\"",
        fault: "leaf = \"leaf-0\"\nkind = \"control-plane\"",
        looks_at: |from, to| from == "host-0/nic-0" && to == "leaf-0",
        measured: "2.6 s (a bond of Open vSwitch; detached after 5.6 s)",
        band: Some((2.0, 3.2)),
    },
    Row {
        title: "the same, a watcher takes host ports down after 3 s",
        keys: "[dual_tor]\nremedy = \"watcher\"\nremedy_after = \"3 s\"",
        fault: "leaf = \"leaf-0\"\nkind = \"control-plane\"",
        looks_at: |from, to| from == "host-0/nic-0" && to == "leaf-0",
        measured: "not measured",
        band: Some((0.0, 6.0)),
    },
    Row {
        title: "the same, started again after 5 s",
        keys: "[dual_tor]\nremedy = \"restart\"\nremedy_after = \"5 s\"",
        fault: "leaf = \"leaf-0\"\nkind = \"control-plane\"",
        looks_at: |from, to| from == "leaf-0" && to.starts_with("spine"),
        measured: "not measured",
        band: Some((0.0, 6.0)),
    },
    Row {
        title: "silent drop leaf to spine, hold time 3 s",
        keys: "",
        fault: "cable = \"leaf-0:uplink-0\"\nkind = \"down\"\ncarrier = true\ndirection = \"out\"",
        looks_at: |from, to| from == "leaf-0" && to.starts_with("spine"),
        measured: "3.6 to 3.9 s",
        band: Some((3.0, 4.5)),
    },
    Row {
        title: "the same, both directions",
        keys: "",
        fault: "cable = \"leaf-0:uplink-0\"\nkind = \"down\"\ncarrier = true",
        looks_at: |from, to| from == "leaf-0" && to.starts_with("spine"),
        measured: "not measured",
        band: Some((2.0, 3.2)),
    },
    Row {
        title: "silent drop leaf to spine, BFD 100 ms × 3",
        keys: "bfd = \"300 ms\"",
        fault: "cable = \"leaf-0:uplink-0\"\nkind = \"down\"\ncarrier = true\ndirection = \"out\"",
        looks_at: |from, to| from == "leaf-0" && to.starts_with("spine"),
        measured: "473 ms",
        band: Some((0.3, 1.0)),
    },
];

/// When the fault strikes, seconds.
const AT_S: f64 = 10.0;

fn case_of(row: &Row) -> Case {
    let text = match row.keys.strip_prefix("bfd") {
        Some(_) => BASE.replacen("bgp_hold", &format!("{}\nbgp_hold", row.keys), 1),
        None => format!("{BASE}{}\n", row.keys),
    };
    let text = format!("{text}[[fault]]\nat = \"10 s\"\n{}\n", row.fault);
    let question = Question::of_text("failover.toml", &text, Path::new("."));
    let point = question.points().expect("the text is a scenario").remove(0);
    question.resolve(&point.scenario).expect("the scenario is a case").case
}

/// How long, in a draw, the longest of the links that are looked at is both dead and in use, seconds; infinite for ever.
fn gap(case: &Case, row: &Row, draw: u32) -> f64 {
    let fabric = &case.fabric;
    let moments = case.timeline(draw);
    let looked_at = |link: LinkId| {
        (row.looks_at)(&fabric.device_name(fabric.source(link)), &fabric.device_name(fabric.target(link)))
    };
    let first = |is_it: &dyn Fn(&Change) -> bool| {
        let found = moments.iter().find(|moment: &&Moment| is_it(&moment.change));
        found.map_or(f64::INFINITY, |moment| moment.at.seconds() - AT_S)
    };
    let mut links: Vec<LinkId> = case
        .faults
        .iter()
        .map(|fault: &Fault| fault.cable)
        .flat_map(|cable| [cable.forward(), cable.backward()])
        .filter(|&link| fabric.kind(fabric.source(link)) != DeviceKind::Gpu && looked_at(link))
        .collect();
    links.sort_unstable();
    links.dedup();
    // The host that sends to a leaf without routes is helped by its own port alone.
    if links.is_empty() {
        return f64::INFINITY;
    }
    let of = |&link: &LinkId| {
        let avoided = first(&|change| matches!(change, Change::Avoided(other, _) if *other == link));
        let carries = first(
            &|change| matches!(change, Change::Carries(cable, ways) if *cable == link.cable() && ways.has(link)),
        );
        avoided.min(carries)
    };
    links.iter().map(of).fold(0.0, f64::max)
}

fn span(seconds: f64) -> String {
    match seconds {
        s if s.is_infinite() => "for ever".to_owned(),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a test reads and writes its page")]
fn failover_lies_in_the_bands_that_were_measured() {
    let mut table = String::new();
    let mut wrong = Vec::new();
    for row in &ROWS {
        let case = case_of(row);
        let mut gaps: Vec<f64> = (0..DRAWS).map(|draw| gap(&case, row, draw)).collect();
        gaps.sort_by(f64::total_cmp);
        let [least, median, most] = [0, gaps.len() / 2, gaps.len() - 1].map(|at| gaps[at]);
        let is_in = match row.band {
            None => least.is_infinite(),
            Some((from, to)) => from <= median && median <= to,
        };
        if !is_in {
            wrong.push(format!("{}: {least} {median} {most}", row.title));
        }
        let ours = if most.is_infinite() {
            "for ever".to_owned()
        } else {
            format!("{} ({} to {})", span(median), span(least), span(most))
        };
        let band =
            row.band.map_or("for ever".to_owned(), |(from, to)| format!("{} to {}", span(from), span(to)));
        writeln!(table, "| {} | {ours} | {} | {band} |", row.title, row.measured)
            .expect("a string takes text");
    }
    let page = format!(
        "# Failover beside a fabric that was measured\n\n\
         Four leaves in two sets, four spines and four hosts with two ports each, once as network namespaces with FRR 8.4.4 \
         on one Linux machine (November 2026, UDP each millisecond), once as the scenario below. A gap lasts from the fault \
         until nothing is sent into it any more, or it carries again. Ours are the median and the range of {DRAWS} draws; \
         the last column is what the median is held against.\n\n\
         | fault | ours | measured | accepted |\n| --- | --- | --- | --- |\n{table}\n\
         The timers are FRR's: its BGP process holds what it has heard for 50 ms before it acts, zebra for 10 ms; the kernel \
         leaves a dead port out of its groups after 3 to 80 ms (measured). They come from FRR's source by memory, not from \
         these measurements; what the machine's load adds is in none of them. The measured gap under BFD is longer than \
         ours, which knows no load. The direction that is silent in one way is given up after 1 to 4/3 of the hold time, since \
         TCP keeps the deaf end from speaking: see [faults](../models/faults.md#loss-without-loss-of-carrier).\n\n\
         Written by `UPDATE_DOCS=1 cargo test -p railtwin-evaluation --test all failover`.\n\n\
         ```toml{BASE}```\n"
    );
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/failover.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &page).expect("the page can be written");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(known, page, "docs/reference/failover.md is old: UPDATE_DOCS=1 writes it");
}
