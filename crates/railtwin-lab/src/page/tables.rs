//! Tables of the page.
use std::fmt::Write as _;

use super::report::{AvoidedLink, BandwidthDraw, BondCheck, FaultGap, GapLength, PathPrediction};
use super::{escaped, megabits, seconds_text};

/// Share by which a measured mean may differ from the simulated one.
const MEAN_WITHIN: f64 = 0.1;

/// A mark with a word, readable without color.
fn mark(is_ok: Option<bool>) -> &'static str {
    match is_ok {
        Some(true) => "<span class=\"ok\">✓ yes</span>",
        Some(false) => "<span class=\"bad\">✗ no</span>",
        None => "<span class=\"soft\">-</span>",
    }
}

/// A row for each draw.
pub(super) fn write_draws(html: &mut String, draws: &[BandwidthDraw]) {
    html.push_str(
        "<details><summary>All draws</summary><table><tr><th>balancer</th><th>draw</th><th>measured, Mbit/s, by job</th>\
         <th>simulated on the same paths</th><th>mean ratio</th><th>ratios of jobs</th><th>most on a link</th>\
         <th>mean within 10 %</th></tr>",
    );
    let rates = |all: &[f64]| match all {
        [] => "-".to_owned(),
        all => all.iter().map(|&rate| megabits(rate)).collect::<Vec<_>>().join(" "),
    };
    for draw in draws {
        let ratio = draw.ratio();
        let jobs = draw.job_ratios();
        let _ = write!(
            html,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>",
            escaped(&draw.balancer),
            draw.draw,
            rates(&draw.measured),
            rates(&draw.simulated),
            ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}")),
            jobs.map_or_else(|| "-".to_owned(), |(least, most)| format!("{least:.2} to {most:.2}")),
            draw.most_on_a_link,
            mark(ratio.map(|ratio| (ratio - 1.0).abs() <= MEAN_WITHIN)),
        );
    }
    html.push_str("</table></details>");
}

fn length(gap: GapLength) -> String {
    match gap {
        GapLength::NotMeasured => "-".to_owned(),
        GapLength::Forever => "for ever".to_owned(),
        GapLength::Seconds(seconds) => seconds_text(seconds),
    }
}

fn band([least, most]: [GapLength; 2]) -> String {
    match (least, most) {
        (GapLength::Forever, _) | (_, GapLength::NotMeasured) => length(least),
        (least, most) => format!("{} to {}", length(least), length(most)),
    }
}

/// A row for each fault.
pub(super) fn write_gaps(html: &mut String, gaps: &[FaultGap]) {
    if gaps.is_empty() {
        return;
    }
    html.push_str(
        "<h2 id=\"gaps\">Gap of each fault</h2><p class=\"soft\">A gap lasts from the fault until traffic arrives again. UDP sends each \
         millisecond; TCP adds its retransmission timer.</p><table><tr><th>fault</th><th>direction</th>\
         <th>UDP, worst</th><th>TCP, worst</th><th>simulated</th><th>accepted</th><th>inside</th></tr>",
    );
    for gap in gaps {
        let _ = write!(
            html,
            "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td>{}</td></tr>",
            escaped(&gap.fault),
            escaped(&gap.direction),
            length(gap.udp),
            length(gap.tcp),
            band(gap.simulated),
            band(gap.accepted),
            mark(gap.is_ok),
        );
    }
    html.push_str("</table>");
}

/// The silent link.
pub(super) fn write_avoided(html: &mut String, avoided: Option<&AvoidedLink>) {
    let Some(AvoidedLink { link, measured_s, simulated_s: [least, mean, most], is_ok }) = avoided else {
        return;
    };
    let _ = write!(
        html,
        "<h2>Silent link</h2><table><tr><th>link</th><th>avoided after</th><th>simulated mean</th><th>simulated range</th>\
         <th>soon enough</th></tr><tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
         <td class=\"n\">{} to {}</td><td>{}</td></tr></table>",
        escaped(link),
        seconds_text(*measured_s),
        seconds_text(*mean),
        seconds_text(*least),
        seconds_text(*most),
        mark(Some(*is_ok)),
    );
}

/// Predicted paths, and some of them.
pub(super) fn write_prediction(html: &mut String, prediction: Option<&PathPrediction>) {
    let Some(PathPrediction { asked, right, policies, map }) = prediction else { return };
    let _ = write!(
        html,
        "<h2>Paths by source port</h2><p>{right} of {asked} source ports took the predicted path. Hash policies: {}.</p>",
        escaped(policies)
    );
    if map.is_empty() {
        return;
    }
    html.push_str("<table><tr><th>source port</th><th>leaf</th><th>spine</th><th>far leaf</th></tr>");
    for one in map {
        let _ = write!(
            html,
            "<tr><td class=\"n\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            one.port,
            escaped(&one.leaf),
            escaped(&one.spine),
            escaped(&one.far_leaf)
        );
    }
    html.push_str("</table>");
}

/// A row for each bond.
pub(super) fn write_bonds(html: &mut String, bonds: &[BondCheck]) {
    if bonds.is_empty() {
        return;
    }
    html.push_str(
        "<h2>Bonds</h2><table><tr><th>settings</th><th>expected</th><th>observed</th><th>agrees</th></tr>",
    );
    for bond in bonds {
        let _ = write!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&bond.name),
            escaped(&bond.expected),
            escaped(&bond.observed),
            mark(Some(bond.is_ok))
        );
    }
    html.push_str("</table>");
}
