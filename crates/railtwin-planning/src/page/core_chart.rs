//! The chart of pods by oversubscription of the core: a bar for each ratio.
use std::fmt::Write as _;

use crate::numbers::{number, percent};
use crate::search::CorePoint;

const ROW: f64 = 26.0;
const LEFT: f64 = 90.0;
const WIDEST: f64 = 640.0;

/// Writes a bar for each point: GPUs of the largest pod, and the bandwidth that a GPU keeps to other pods.
pub(super) fn write(html: &mut String, points: &[CorePoint]) {
    let most = points.iter().map(|point| point.gpus_per_pod).max().unwrap_or(0);
    if most == 0 {
        return;
    }
    html.push_str(
        "<h2>Pod size against oversubscription of the core</h2><p class=\"soft\">The largest pod of the cheapest fabric that \
         survives, by how much of the spines' capacity goes up to cores; beside it what a GPU keeps to other pods while all \
         send.</p>",
    );
    let height = ROW * points.len() as f64 + 8.0;
    let _ = write!(
        html,
        "<svg viewBox=\"0 0 1100 {height}\" role=\"img\" aria-label=\"GPUs of a pod by oversubscription of the core\">"
    );
    for (row, point) in points.iter().enumerate() {
        let top = ROW * row as f64 + 4.0;
        let width = WIDEST * point.gpus_per_pod as f64 / most as f64;
        let _ = write!(
            html,
            "<text class=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}:1</text><rect class=\"switch\" x=\"{LEFT}\" y=\"{top:.1}\" \
             width=\"{width:.1}\" height=\"16\"/><text x=\"{:.1}\" y=\"{:.1}\">{} GPUs, {} kept to other pods</text>",
            LEFT - 8.0,
            top + 13.0,
            (point.oversubscription * 10.0).round() / 10.0,
            LEFT + width + 8.0,
            top + 13.0,
            number(point.gpus_per_pod as f64),
            percent(point.to_pods)
        );
    }
    html.push_str("</svg>");
}
