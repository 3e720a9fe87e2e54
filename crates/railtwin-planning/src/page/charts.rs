//! Price as bars, and price against bisection as a curve.
use std::fmt::Write as _;

use railtwin_catalog::BillScope;

use super::escaped;
use crate::intent::FabricCandidate;
use crate::numbers::{money, percent};
use crate::search::{ParetoPoint, SearchResult};

const WIDTH: f64 = 1_070.0;
/// Where bars begin and end.
const FROM: f64 = 250.0;
const TO: f64 = 980.0;
const ROW: f64 = 30.0;
const BAR: f64 = 18.0;
const AXIS: f64 = 26.0;

/// Groups of bill lines in the order of the bar: class in the style, name in the legend, end of the line's role.
const GROUPS: [(&str, &str); 4] =
    [("switch", "switches"), ("nic", "NICs"), ("optic", "transceivers"), ("cable", "cables and fibre")];

fn group(role: &str) -> usize {
    match role {
        "leaf" | "spine" | "core" => 0,
        "NIC" => 1,
        role if role.ends_with("optic") => 2,
        _ => 3,
    }
}

/// A bar for each candidate, its groups side by side, the assumed part of each hatched.
pub(super) fn write_prices(html: &mut String, candidates: &[FabricCandidate], labels: &[String]) {
    let most = candidates.iter().map(|one| one.price().usd).fold(0.0, f64::max);
    if most <= 0.0 {
        return;
    }
    html.push_str("<h2>Price of the network</h2><p class=\"legend\">");
    for (class, name) in GROUPS {
        let _ = write!(html, "<span class=\"key {class}\"></span>{name}");
    }
    html.push_str("<span class=\"key assumed\"></span>assumed</p>");
    let step = tick(most);
    let end = (most / step).ceil() * step;
    let height = ROW * candidates.len() as f64 + AXIS;
    let x = |usd: f64| FROM + (TO - FROM) * usd / end;
    let _ = write!(
        html,
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Price of each network by kind of part\"><defs>\
         <pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
         <line class=\"hatch\" x1=\"1\" x2=\"1\" y1=\"0\" y2=\"6\"/></pattern></defs>"
    );
    for number in 0..=(end / step).round() as u32 {
        let usd = f64::from(number) * step;
        let _ = write!(
            html,
            "<line class=\"grid\" x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"0\" y2=\"{1}\"/><text class=\"tick\" x=\"{0:.1}\" \
             y=\"{2}\">{3}</text>",
            x(usd),
            height - AXIS,
            height - 8.0,
            round_money(usd)
        );
    }
    for (row, candidate) in candidates.iter().enumerate() {
        write_bar(html, candidate, (row, &labels[row]), &x);
    }
    html.push_str("</svg>");
}

fn write_bar(
    html: &mut String,
    candidate: &FabricCandidate,
    (row, label): (usize, &str),
    x: &dyn Fn(f64) -> f64,
) {
    let top = ROW * row as f64 + (ROW - BAR) / 2.0;
    let _ =
        write!(html, "<text class=\"row\" x=\"0\" y=\"{:.1}\">{} · {}</text>", top + 13.0, row + 1, label);
    let mut from = 0.0;
    for (index, (class, name)) in GROUPS.into_iter().enumerate() {
        let network = candidate.bill.of_scope(BillScope::Network);
        let lines = network.filter(|line| group(&line.role) == index);
        let (usd, assumed) =
            lines.fold((0.0, 0.0), |sum, line| (sum.0 + line.price.usd, sum.1 + line.price.assumed_usd));
        if usd <= 0.0 {
            continue;
        }
        let (left, width) = (x(from), x(from + usd) - x(from));
        let hatched = width * assumed / usd;
        let title = format!("{name}: {}, {} assumed", money(usd), percent(assumed / usd));
        let _ = write!(
            html,
            "<g><title>{title}</title><rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" \
             height=\"{BAR}\"/><rect fill=\"url(#hatch)\" x=\"{:.1}\" y=\"{top:.1}\" width=\"{hatched:.1}\" \
             height=\"{BAR}\"/></g>",
            left + width - hatched
        );
        from += usd;
    }
    let price = candidate.price();
    let _ =
        write!(html, "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", x(from) + 8.0, top + 13.0, money(price.usd));
}

const CURVE_HEIGHT: f64 = 340.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 1_040.0;
const FOOT: f64 = 44.0;
const HEAD: f64 = 18.0;

/// Price against bisection: each candidate as its number, and the curve of the search.
pub(super) fn write_curve(html: &mut String, candidates: &[FabricCandidate], found: Option<&SearchResult>) {
    let points: Vec<ParetoPoint> =
        candidates.iter().map(ParetoPoint::of).filter(|point| point.usd > 0.0).collect();
    let (curve, surviving): (&[ParetoPoint], &[ParetoPoint]) =
        found.map_or((&[], &[]), |found| (&found.pareto, &found.pareto_surviving));
    let all = || points.iter().chain(curve).chain(surviving);
    let most = all().map(|point| point.usd).fold(0.0, f64::max);
    if most <= 0.0 {
        return;
    }
    let widest = all().map(|point| point.bisection_share).fold(1.0, f64::max);
    let step = tick(most);
    let end = (most * 1.03 / step).ceil() * step;
    let x = |usd: f64| LEFT + (RIGHT - LEFT) * usd / end;
    let y = |share: f64| CURVE_HEIGHT - FOOT - (CURVE_HEIGHT - FOOT - HEAD) * share / widest;
    html.push_str(
        "<h2>Price against bisection</h2><p class=\"soft\">Each number is a fabric of the table; filled ones survive the loss \
         of any leaf. Lines join fabrics of a search over the whole catalog that no other one beats in both: dashed of all, \
         solid of those that survive.</p>",
    );
    let _ = write!(
        html,
        "<svg viewBox=\"0 0 {WIDTH} {CURVE_HEIGHT}\" role=\"img\" aria-label=\"Price of each network against its bisection\">"
    );
    write_axes(html, (end, step), widest, &x, &y);
    for (class, curve) in [("curve", curve), ("curve lives", surviving)] {
        let place = |point: &ParetoPoint| (x(point.usd), y(point.bisection_share));
        let path: Vec<String> = curve.iter().map(place).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = write!(html, "<polyline class=\"{class}\" points=\"{}\"/>", path.join(" "));
        curve.iter().for_each(|point| write_dot(html, point, place(point), None));
    }
    for (row, point) in points.iter().enumerate() {
        // Fabrics of one place stand beside each other.
        let at = |other: &&ParetoPoint| {
            (x(other.usd) - x(point.usd)).abs() < 14.0
                && (y(other.bisection_share) - y(point.bisection_share)).abs() < 14.0
        };
        let before = points[..row].iter().filter(at).count() as f64;
        write_dot(html, point, (x(point.usd), y(point.bisection_share) + 20.0 * before), Some(row + 1));
    }
    html.push_str("</svg>");
}

/// Grid, ticks and names of the axes of the curve.
fn write_axes(
    html: &mut String,
    (end, step): (f64, f64),
    widest: f64,
    x: &dyn Fn(f64) -> f64,
    y: &dyn Fn(f64) -> f64,
) {
    for number in 0..=(end / step).round() as u32 {
        let usd = f64::from(number) * step;
        let _ = write!(
            html,
            "<line class=\"grid\" x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{HEAD}\" y2=\"{1}\"/><text class=\"tick\" x=\"{0:.1}\" \
             y=\"{2}\">{3}</text>",
            x(usd),
            CURVE_HEIGHT - FOOT,
            CURVE_HEIGHT - FOOT + 18.0,
            round_money(usd)
        );
    }
    for quarter in 0..=(widest / 0.25).floor() as u32 {
        let share = f64::from(quarter) * 0.25;
        let _ = write!(
            html,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{0:.1}\" y2=\"{0:.1}\"/><text class=\"end\" \
             x=\"{1}\" y=\"{2:.1}\">{3}</text>",
            y(share),
            LEFT - 8.0,
            y(share) + 4.0,
            percent(share)
        );
    }
    let _ = write!(
        html,
        "<text class=\"end\" x=\"{RIGHT}\" y=\"{}\">price of the network</text><text class=\"unit\" x=\"0\" y=\"10\">\
         bisection, of full</text>",
        CURVE_HEIGHT - 6.0
    );
}

fn write_dot(html: &mut String, point: &ParetoPoint, (x, y): (f64, f64), number: Option<usize>) {
    let lives = if point.survives_leaf { " lives" } else { "" };
    let title = escaped(&format!(
        "{}: {}, bisection {}",
        point.label,
        money(point.usd),
        percent(point.bisection_share)
    ));
    let _ = match number {
        None => write!(
            html,
            "<circle class=\"far{lives}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{title}</title></circle>"
        ),
        Some(number) => write!(
            html,
            "<g><title>{title}</title><circle class=\"dot{lives}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"9\"/><text \
             class=\"point{lives}\" x=\"{x:.1}\" y=\"{:.1}\">{number}</text></g>",
            y + 3.6
        ),
    };
}

/// US dollars at a tick.
fn round_money(usd: f64) -> String {
    match usd {
        usd if usd >= 1e6 => format!("${} M", usd / 1e6),
        usd => money(usd),
    }
}

/// A round distance between ticks, so that there are 4 to 8 up to `most`.
fn tick(most: f64) -> f64 {
    let size = 10.0_f64.powf((most / 5.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * size);
    steps.into_iter().find(|step| most / step <= 6.0).unwrap_or(10.0 * size)
}
