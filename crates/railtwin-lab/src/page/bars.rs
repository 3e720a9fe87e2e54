//! Bars of bandwidth as SVG: for each draw the measured mean above the simulated one, with a dot for each job.
use std::fmt::Write as _;

use super::report::{BandwidthDraw, LabReport};
use super::{balancers, escaped, megabits};

/// Units of the drawing: all of it, and where bars begin and end.
const WIDTH: f64 = 760.0;
const FROM: f64 = 110.0;
const TO: f64 = 700.0;
/// Height of a draw, of a bar in it, and of the title of a balancer.
const ROW: f64 = 30.0;
const BAR: f64 = 10.0;
const TITLE: f64 = 26.0;
/// Height of the axis below.
const AXIS: f64 = 24.0;

/// Writes the drawing with its legend.
pub(super) fn write(html: &mut String, report: &LabReport) {
    let all =
        || report.bandwidth.iter().flat_map(|draw| draw.measured.iter().chain(&draw.simulated)).copied();
    let most = all().filter(|rate| rate.is_finite()).fold(0.0, f64::max);
    if most <= 0.0 {
        return;
    }
    let step = tick(most);
    let end = (most / step).ceil() * step;
    let names = balancers(report);
    let height = TITLE * names.len() as f64 + ROW * report.bandwidth.len() as f64 + AXIS;
    html.push_str(
        "<p class=\"legend\"><span class=\"key measured\"></span>measured <span class=\"key simulated\"></span>simulated on \
         the same paths <span class=\"key dot\"></span>each job</p>",
    );
    let _ = write!(
        html,
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"bars-title\"><title id=\"bars-title\">Mean bus \
         bandwidth of the jobs in each draw, measured and simulated, in Mbit/s; the table below has the numbers</title>"
    );
    let x = |rate: f64| FROM + (TO - FROM) * rate / end;
    for number in 0..=(end / step).round() as u32 {
        let rate = f64::from(number) * step;
        let _ = write!(
            html,
            "<line class=\"grid\" x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"0\" y2=\"{1}\"/><text class=\"tick\" x=\"{0:.1}\" \
             y=\"{2}\">{3}</text>",
            x(rate),
            height - AXIS,
            height - 7.0,
            megabits(rate)
        );
    }
    let _ = write!(html, "<text class=\"unit\" x=\"{WIDTH}\" y=\"{}\">Mbit/s</text>", height - 7.0);
    let mut y = 0.0;
    for name in names {
        let _ = write!(html, "<text class=\"name\" x=\"0\" y=\"{}\">{}</text>", y + 18.0, escaped(name));
        y += TITLE;
        for draw in report.bandwidth.iter().filter(|draw| draw.balancer == name) {
            write_draw(html, draw, y, &x);
            y += ROW;
        }
    }
    html.push_str("</svg>");
}

/// A draw's two bars.
fn write_draw(html: &mut String, draw: &BandwidthDraw, y: f64, x: &dyn Fn(f64) -> f64) {
    let _ =
        write!(html, "<text class=\"row\" x=\"{}\" y=\"{}\">draw {}</text>", FROM - 8.0, y + 14.0, draw.draw);
    let bars = [
        ("measured", draw.measured_mean(), &draw.measured),
        ("simulated", draw.simulated_mean(), &draw.simulated),
    ];
    for (row, (class, mean, jobs)) in bars.into_iter().enumerate() {
        let top = y + 2.0 + row as f64 * (BAR + 2.0);
        let Some(mean) = mean.filter(|mean| mean.is_finite()) else { continue };
        let _ = write!(
            html,
            "<rect class=\"{class}\" x=\"{FROM}\" y=\"{top}\" width=\"{:.1}\" height=\"{BAR}\" rx=\"1.5\"><title>{class}: {} \
             Mbit/s</title></rect>",
            x(mean) - FROM,
            megabits(mean)
        );
        for &job in jobs.iter().filter(|rate| rate.is_finite()) {
            let _ = write!(html, "<circle cx=\"{:.1}\" cy=\"{}\" r=\"2.6\"/>", x(job), top + BAR / 2.0);
        }
    }
}

/// A round distance between ticks, so that there are 4 to 8 up to `most`.
fn tick(most: f64) -> f64 {
    let size = 10.0_f64.powf((most / 5.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * size);
    steps.into_iter().find(|step| most / step <= 6.0).unwrap_or(10.0 * size)
}
