//! Failover of a small fabric beside one that was measured: four leaves in two sets, four spines, four hosts, as network
//! namespaces with FRR 8.4.4 on one Linux machine.
//!
//! `UPDATE_DOCS=1 cargo test -p railtwin-evaluation --test all failover` writes docs/reference/failover.md.
use std::fmt::Write as _;
use std::path::Path;

use railtwin_lab::simulated::{SimulatedFault, gap_of};

/// Draws of each fault.
const DRAWS: u32 = 400;

/// The fabric and its timers.
const BASE: &str = include_str!("../../../scenarios/lab/failover.toml");

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
    for fault in SimulatedFault::ALL {
        let gap = gap_of(fault, DRAWS).expect("the scenario of a fault is right");
        let (least, median, most) = (gap.least_s, gap.median_s, gap.most_s);
        let is_in = match fault.accepted_s() {
            None => least.is_infinite(),
            Some((from, to)) => from <= median && median <= to,
        };
        if !is_in {
            wrong.push(format!("{}: {least} {median} {most}", fault.title()));
        }
        let ours = if most.is_infinite() {
            "for ever".to_owned()
        } else {
            format!("{} ({} to {})", span(median), span(least), span(most))
        };
        let accepted = fault.accepted_s();
        let band =
            accepted.map_or("for ever".to_owned(), |(from, to)| format!("{} to {}", span(from), span(to)));
        writeln!(table, "| {} | {ours} | {} | {band} |", fault.title(), fault.measured())
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
         ```toml\n{BASE}```\n"
    );
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/failover.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &page).expect("the page can be written");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(known, page, "docs/reference/failover.md is old: UPDATE_DOCS=1 writes it");
}
