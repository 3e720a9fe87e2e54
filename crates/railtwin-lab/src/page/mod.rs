//! The page of the lab: measured beside simulated, one file without script or network.
mod bars;
mod report;
mod tables;

use std::fmt::Write as _;

pub use report::{
    AvoidedLink, BandwidthDraw, BondCheck, FaultGap, GapLength, LabReport, PathPrediction, ShownPath,
};

use report::mean;

const STYLE: &str = include_str!("style.css");

/// Gain of C4P over ECMP with eight jobs at full bisection (C4, figure 10a), as a factor.
const PAPER_GAIN: f64 = 1.703;

/// The report as one HTML page.
pub fn render(report: &LabReport) -> String {
    let mut html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"generator\" content=\"railtwin\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>Lab beside simulation: {0}</title>\
         <style>{STYLE}</style></head><body><main><h1>Lab beside simulation</h1><p class=\"lead\">{1}</p>\
         <p class=\"soft\">Fabric {0}: {2}.",
        escaped(&report.fabric),
        escaped(&answer(report)),
        escaped(&report.sizes.join(", "))
    );
    // Writing to a string does not fail.
    if let Some(seconds) = report.up_s {
        let _ = write!(html, " Up in {}.", seconds_text(seconds));
    }
    html.push_str("</p>");
    write_bandwidth(&mut html, report);
    tables::write_gaps(&mut html, &report.gaps);
    tables::write_avoided(&mut html, report.avoided.as_ref());
    tables::write_prediction(&mut html, report.prediction.as_ref());
    tables::write_bonds(&mut html, &report.bonds);
    if !report.notes.is_empty() {
        html.push_str("<h2>Notes</h2><ul>");
        for note in &report.notes {
            let _ = write!(html, "<li>{}</li>", escaped(note));
        }
        html.push_str("</ul>");
    }
    html.push_str("</main></body></html>\n");
    html
}

/// The first line: gain, gaps, the silent link, bonds.
fn answer(report: &LabReport) -> String {
    let mut parts = Vec::new();
    if let (Some(ecmp), Some(c4p)) = (Balance::of(report, "ecmp"), Balance::of(report, "c4p"))
        && ecmp.measured > 0.0
    {
        let mut part = format!(
            "C4P carries {:.2} times what ECMP does, {} against {} Mbit/s a job",
            c4p.measured / ecmp.measured,
            megabits(c4p.measured),
            megabits(ecmp.measured)
        );
        if let (Some(above), Some(below)) = (c4p.simulated, ecmp.simulated.filter(|&rate| rate > 0.0)) {
            let _ = write!(part, "; simulated {:.2} times", above / below);
        }
        parts.push(part + ".");
    }
    let judged: Vec<bool> = report.gaps.iter().filter_map(|gap| gap.is_ok).collect();
    if !judged.is_empty() {
        let right = judged.iter().filter(|ok| **ok).count();
        parts.push(format!("{right} of {} gaps lie in their bands.", judged.len()));
    }
    if let Some(avoided) = &report.avoided {
        parts.push(format!("Probes led around a silent link in {}.", seconds_text(avoided.measured_s)));
    }
    if !report.bonds.is_empty() {
        let right = report.bonds.iter().filter(|bond| bond.is_ok).count();
        parts.push(format!("{right} of {} bonds are as expected.", report.bonds.len()));
    }
    if parts.is_empty() { "Nothing was measured.".to_owned() } else { parts.join(" ") }
}

/// All draws of one balancer.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Balance {
    /// Means over draws of the means over jobs, bit/s.
    measured: f64,
    simulated: Option<f64>,
    /// Least and most queue pairs on the most used link.
    crowd: (u32, u32),
}

impl Balance {
    fn of(report: &LabReport, balancer: &str) -> Option<Self> {
        let draws: Vec<&BandwidthDraw> =
            report.bandwidth.iter().filter(|draw| draw.balancer == balancer).collect();
        let measured: Vec<f64> = draws.iter().filter_map(|draw| draw.measured_mean()).collect();
        let simulated: Vec<f64> = draws.iter().filter_map(|draw| draw.simulated_mean()).collect();
        let crowd = || draws.iter().map(|draw| draw.most_on_a_link);
        Some(Self {
            measured: mean(&measured)?,
            simulated: mean(&simulated),
            crowd: (crowd().min().unwrap_or(0), crowd().max().unwrap_or(0)),
        })
    }

    fn crowd_text(&self) -> String {
        let (least, most) = self.crowd;
        if least == most { most.to_string() } else { format!("{least} to {most}") }
    }
}

/// Balancers of a report in the order in which they come.
fn balancers(report: &LabReport) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for draw in &report.bandwidth {
        if !names.contains(&draw.balancer.as_str()) {
            names.push(&draw.balancer);
        }
    }
    names
}

fn write_bandwidth(html: &mut String, report: &LabReport) {
    if report.bandwidth.is_empty() {
        return;
    }
    html.push_str("<h2>Bandwidth of each balancer</h2>");
    bars::write(html, report);
    write_gain(html, report);
    tables::write_draws(html, &report.bandwidth);
}

/// The gain of C4P over ECMP, and its reason: queue pairs on the most used link.
fn write_gain(html: &mut String, report: &LabReport) {
    html.push_str(
        "<table><caption>Means over draws and jobs, and queue pairs on the most used link between switches</caption>\
         <tr><th>balancer</th><th>measured, Mbit/s</th><th>simulated, Mbit/s</th><th>measured / simulated</th>\
         <th>most on a link</th></tr>",
    );
    for name in balancers(report) {
        let Some(all) = Balance::of(report, name) else { continue };
        let crowd = all.crowd_text();
        let _ = write!(
            html,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{crowd}</td></tr>",
            escaped(name),
            megabits(all.measured),
            all.simulated.map_or_else(|| "-".to_owned(), megabits),
            all.simulated
                .filter(|&rate| rate > 0.0)
                .map_or_else(|| "-".to_owned(), |rate| format!("{:.3}", all.measured / rate)),
        );
    }
    html.push_str("</table>");
    let (Some(ecmp), Some(c4p)) = (Balance::of(report, "ecmp"), Balance::of(report, "c4p")) else { return };
    if ecmp.measured <= 0.0 {
        return;
    }
    let gain = c4p.measured / ecmp.measured;
    let sign = if (gain > 1.0) == (PAPER_GAIN > 1.0) { "the same sign" } else { "another sign" };
    let _ = write!(
        html,
        "<p>C4P over ECMP: {gain:.2} times measured. C4 (figure 10a) has {PAPER_GAIN:.2} times with eight jobs on larger \
         hosts: {sign}. A job waits for its slowest queue pair, so it runs as fast as the most crowded link that it \
         crosses: {} queue pairs there under ECMP, {} under C4P.</p>",
        ecmp.crowd_text(),
        c4p.crowd_text()
    );
}

/// Text as HTML shows it.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
    out
}

/// A rate in Mbit/s.
fn megabits(bit_per_s: f64) -> String {
    format!("{:.0}", bit_per_s / 1e6)
}

/// A time: milliseconds below a second.
fn seconds_text(seconds: f64) -> String {
    if seconds < 0.9995 { format!("{:.0} ms", seconds * 1e3) } else { format!("{seconds:.2} s") }
}

#[cfg(test)]
mod tests;
