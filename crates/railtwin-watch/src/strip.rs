//! The drawing of what ranks did around an incident: a row for each rank, a cell for each heartbeat.
use std::fmt::Write as _;

use crate::trail::{Doing, Picture};

/// Sizes of the drawing, pixels.
const LEFT: f64 = 64.0;
const WIDTH: f64 = 836.0;
const ROW: f64 = 20.0;
const TOP: f64 = 22.0;
/// Room for a word behind the newest heartbeat.
const RIGHT: f64 = 34.0;
const BOTTOM: f64 = 24.0;

/// The drawing as SVG.
pub(crate) fn strip(picture: &Picture) -> String {
    let span_ns = picture.until_ns.saturating_sub(picture.from_ns).max(1) as f64;
    let x = |ns: u64| LEFT + WIDTH * (ns.saturating_sub(picture.from_ns) as f64 / span_ns).min(1.0);
    let height = TOP + ROW * picture.rows.len() as f64 + BOTTOM;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {} {height}\" role=\"img\" aria-label=\"heartbeats of ranks around the incident\">",
        LEFT + WIDTH + RIGHT
    );
    for (at, (rank, beats)) in picture.rows.iter().enumerate() {
        let y = TOP + ROW * at as f64;
        let class = if picture.suspects.contains(rank) { "rank suspect" } else { "rank" };
        // Writing to a string does not fail.
        let _ = write!(
            svg,
            "<text class=\"{class}\" x=\"{}\" y=\"{}\">rank {rank}</text><rect class=\"none\" x=\"{LEFT}\" y=\"{y}\" \
             width=\"{WIDTH}\" height=\"{}\"/>",
            LEFT - 8.0,
            y + ROW - 6.0,
            ROW - 3.0
        );
        // A cell ends at its heartbeat, and begins at the one before, but not further back than is usual.
        let usual_ns = usual(beats);
        for (number, (time_ns, doing)) in beats.iter().enumerate() {
            let before_ns = if number == 0 { picture.from_ns } else { beats[number - 1].0 };
            let from = x(before_ns.max(time_ns.saturating_sub(usual_ns)));
            let class = match doing {
                Doing::Alone => "alone",
                Doing::Moves => "moves",
                Doing::Stands => "stands",
            };
            let wide = (x(*time_ns) - from - 0.6).max(0.4);
            let _ = write!(
                svg,
                "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{y}\" width=\"{wide:.1}\" height=\"{}\"/>",
                ROW - 3.0
            );
        }
    }
    let end = TOP + ROW * picture.rows.len() as f64;
    for (what, at_ns) in picture.marks.iter().filter(|(_, at)| *at >= picture.from_ns) {
        let at = x(*at_ns);
        let _ = write!(
            svg,
            "<line class=\"mark\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{}\" y2=\"{end}\"/><text class=\"mark\" \
             x=\"{at:.1}\" y=\"{}\">{what}</text>",
            TOP - 4.0,
            TOP - 8.0
        );
    }
    let opened_ns = picture.marks.first().map_or(picture.from_ns, |mark| mark.1);
    let step_s = if span_ns > 2e10 { 5 } else { 2 };
    for second in (-60_i64..=60).filter(|second| second % step_s == 0) {
        let at_ns = i128::from(opened_ns) + i128::from(second) * 1_000_000_000;
        let Ok(at_ns) = u64::try_from(at_ns) else { continue };
        if (picture.from_ns..=picture.until_ns).contains(&at_ns) {
            let _ = write!(
                svg,
                "<text class=\"tick\" x=\"{:.1}\" y=\"{}\">{second:+} s</text>",
                x(at_ns),
                end + 16.0
            );
        }
    }
    svg.push_str("</svg>");
    svg
}

/// One and a half times the median distance of heartbeats, ns.
fn usual(beats: &[(u64, Doing)]) -> u64 {
    let mut gaps: Vec<u64> = beats.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0)).collect();
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).map_or(u64::MAX, |gap| gap + gap / 2)
}
