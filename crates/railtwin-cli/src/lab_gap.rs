//! `railtwin lab gap`: the worst gap of flows through a fault.
use std::path::Path;

use clap::Args;
use railtwin_lab::Plant;
use railtwin_lab::faults::{self, LabFault};
use railtwin_lab::gap::{GapPlan, GapSummary, measure, summary};
use railtwin_lab::plant::{Frr, routes_within};
use serde_json::json;

use crate::table::TextTable;
use crate::{CliError, Streams};

/// Time for routes to stand behind a repair, ns.
const ROUTES_NS: u64 = 5_000_000_000;

/// Arguments of `lab gap`.
#[derive(Args, Debug)]
pub(crate) struct GapArgs {
    /// Host at one end [default: the first]
    #[arg(long, value_name = "HOST")]
    from: Option<String>,
    /// Host at the other end [default: the last]
    #[arg(long, value_name = "HOST")]
    to: Option<String>,
    /// The fault, as `lab fail` has it, such as "link leaf-0:up3"; none measures the noise of this machine
    #[arg(long, value_name = "FAULT")]
    fault: Option<LabFault>,
    /// Seconds to measure behind the fault
    #[arg(long, value_name = "SECONDS", default_value_t = 4.0, value_parser = seconds)]
    seconds: f64,
    /// Leave the fault there; else it is repaired
    #[arg(long)]
    keep: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A time to measure, s.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let is_good = |seconds: &f64| (0.1..=600.0).contains(seconds);
    text.parse().ok().filter(is_good).ok_or_else(|| format!("{text} is no time: write 0.1 to 600"))
}

pub(crate) fn run(
    plant: &Plant,
    (frr, folder): (&Frr, &Path),
    args: &GapArgs,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let ends = railtwin_lab::probe::ends(plant, args.from.as_deref(), args.to.as_deref())?;
    let fault = args.fault.as_ref().map(|fault| faults::fault(plant, fault)).transpose()?;
    let repair = match (&args.fault, args.keep) {
        (Some(fault), false) => Some(faults::repair(plant, fault.name())?),
        _ => None,
    };
    let plan = GapPlan { after_s: args.seconds, ..GapPlan::default() };
    let measured = measure(plant, ends, plan, fault.as_ref().map(|fault| (fault, frr, folder)));
    let repaired = repair.map_or(Ok(Ok(0.0)), |repair| {
        repair.carry_out(frr, folder).and_then(|()| routes_within(plant, ROUTES_NS))
    });
    let gaps = measured?;
    if let Err(missing) = repaired? {
        writeln!(streams.notes, "note: {missing} 5 s after the repair: is anything else broken?")?;
    }
    let links = fault.map_or_else(Vec::new, |fault| fault.links());
    let rows = summary(&gaps, &links);
    if args.json {
        return Ok(writeln!(streams.out, "{:#}", json!({ "summary": rows, "flows": gaps }))?);
    }
    Ok(write!(streams.out, "{}", text(&rows, !links.is_empty()))?)
}

fn text(rows: &[GapSummary], has_fault: bool) -> String {
    let mut table = TextTable::default();
    let head = [
        "from",
        "to",
        "packets",
        "on the fault",
        "worst gap",
        "lost",
        "open at the end",
        "worst of the others",
    ];
    table.row(head.map(str::to_owned));
    let ms = |seconds: f64| format!("{:.0} ms", seconds * 1e3);
    for row in rows {
        let open = if row.open > 0 { row.open.to_string() } else { String::new() };
        table.row([
            row.from.clone(),
            row.to.clone(),
            if row.is_tcp { "TCP" } else { "UDP" }.to_owned(),
            if has_fault { format!("{} flows", row.flows) } else { String::new() },
            row.worst_s.map_or_else(String::new, ms),
            if row.is_tcp { String::new() } else { row.lost.to_string() },
            open,
            ms(row.others_s),
        ]);
    }
    table.text()
}
