//! Prints the simulation's side of the lab: bandwidth by balancer, the gap of each fault, the reaction of probes.
//!
//! `cargo run -p railtwin-lab --example beside_lab -- 40`: 40 draws of bandwidth (default). A second argument names a file
//! with a report of the lab as JSON, and a third one the page to write of it.
#![allow(clippy::disallowed_methods, reason = "an example reads and writes files")]
use railtwin_lab::LabError;
use railtwin_lab::page::{LabReport, render};
use railtwin_lab::simulated::{DrawOutcome, SimulatedFault, by_balancer, four_jobs, gap_of, probe_reaction};

fn main() -> Result<(), LabError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [_, report, page] = arguments.as_slice() {
        return write_page(report, page);
    }
    let draws = arguments.first().map_or(Ok(40), |count| count.parse::<u32>());
    let draws = draws.map_err(|_| LabError("write a number of draws, such as 40".into()))?;
    println!("balancer  mean of jobs and draws, Mbit/s (draws)      queue pairs on the most used link");
    for balancer in ["ecmp", "disjoint", "c4p"] {
        let all = by_balancer(&four_jobs(balancer)?.case, draws)?;
        let means: Vec<f64> = all.iter().map(DrawOutcome::mean_bit_per_s).map(|rate| rate / 1e6).collect();
        let least = means.iter().copied().fold(f64::INFINITY, f64::min);
        let most = means.iter().copied().fold(0.0, f64::max);
        let crowd = || all.iter().map(|draw| draw.most_on_a_link);
        println!(
            "{balancer:9} {:7.2} ({least:.2} to {most:.2})    {} to {}",
            means.iter().sum::<f64>() / means.len().max(1) as f64,
            crowd().min().unwrap_or(0),
            crowd().max().unwrap_or(0)
        );
    }
    println!("\nfault: gap in seconds, least mean most (accepted)");
    for fault in SimulatedFault::ALL {
        let gap = gap_of(fault, 400)?;
        let band =
            fault.accepted_s().map_or_else(|| "for ever".to_owned(), |(from, to)| format!("{from} to {to}"));
        println!("{}: {:.3} {:.3} {:.3} ({band})", fault.title(), gap.least_s, gap.mean_s, gap.most_s);
    }
    println!("\n{:?}", probe_reaction(20)?);
    Ok(())
}

fn write_page(report: &str, page: &str) -> Result<(), LabError> {
    let text = std::fs::read_to_string(report).map_err(|error| LabError(format!("{report}: {error}")))?;
    let report: LabReport =
        serde_json::from_str(&text).map_err(|error| LabError(format!("{report}: {error}")))?;
    std::fs::write(page, render(&report)).map_err(|error| LabError(format!("{page}: {error}")))
}
