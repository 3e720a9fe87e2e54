//! Values with units for people, in the short form of a notebook.

/// Prefixes of units by powers of a thousand, from 10^-12.
const PREFIXES: [&str; 10] = ["p", "n", "u", "m", "", "k", "M", "G", "T", "P"];
/// Where the empty prefix stands.
const NONE_AT: i32 = 4;

/// Time counts in whole picoseconds: what is nearer to 0 than half of one is what floats leave behind.
const NO_TIME: f64 = 0.5e-12;

/// A figure's value with four digits: `382.1 Gbps`, `1.25 ms`, `0.97`; `–` and why where there is none.
pub(crate) fn shown(value: Option<f64>, unit: &str, reason: &str) -> String {
    let Some(value) = value else { return format!("– {reason}").trim_end().to_owned() };
    // Not -0 either.
    let value = if value == 0.0 || (unit == "s" && value.abs() < NO_TIME) { 0.0 } else { value };
    match unit {
        "s" => scaled(value, "s"),
        "bits_per_s" => scaled(value, "bps"),
        "bytes" => scaled(value, "B"),
        "count" | "ratio" | "" => plain(value),
        other => format!("{} {other}", plain(value)),
    }
}

fn scaled(value: f64, unit: &str) -> String {
    if value == 0.0 {
        return format!("0 {unit}");
    }
    let power =
        ((value.abs().log10() / 3.0).floor() as i32).clamp(-NONE_AT, PREFIXES.len() as i32 - NONE_AT - 1);
    let prefix = PREFIXES[(power + NONE_AT) as usize];
    format!("{} {prefix}{unit}", plain(value / 1000_f64.powi(power)))
}

/// Four significant digits, whole numbers whole.
fn plain(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.digits$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text inside HTML.
pub(crate) fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
