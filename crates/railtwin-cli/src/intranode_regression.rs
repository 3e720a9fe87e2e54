//! `railtwin intranode --regress`: models of throughput, ours beside the paper's.
use railtwin::intranode::{Model, Regression};

use crate::intranode::label_of;
use crate::table::TextTable;

/// Models of one choice on the other axes, as text.
pub(crate) fn shown(found: &Regression) -> String {
    let of = label_of(&found.label);
    let mut text = format!(
        "Throughput y of a host in Gbps over the percent x of traffic that leaves it{}{of}; equation 2: overhead {:.4}\n",
        if of.is_empty() { "" } else { ", " },
        found.traffic_overhead
    );
    let mut points = TextTable::default();
    let cells = |head: &str, of: &dyn Fn(&railtwin::intranode::Throughput) -> String| {
        std::iter::once(head.to_owned()).chain(found.points.iter().map(of)).collect::<Vec<_>>()
    };
    points.row(cells("percent", &|point| format!("{}", round(point.inter_percent))));
    points.row(cells("Gbps", &|point| format!("{:.1}", point.host_gbps)));
    if found.points.iter().any(|point| !point.is_saturated) {
        points.row(cells("", &|point| if point.is_saturated { "" } else { "not saturated" }.to_owned()));
    }
    text.push_str(&points.text());
    let mut table = TextTable::default();
    table.row(["", "R²", "RMSE", "A", "y"].map(str::to_owned));
    for model in &found.models {
        table.row([
            model.name.clone(),
            format!("{:.4}", model.r_squared),
            format!("{:.2}", model.rmse),
            model.adjustment.map_or(String::new(), |adjustment| format!("{adjustment:.1}")),
            formula(model),
        ]);
    }
    text.push('\n');
    text.push_str(&table.text());
    text.push_str(
        "Models are of saturated points alone: none knows what GPUs can send. A is the paper's Model_adjustment, Gbps times \
         percent; it prints 15703.9 (section 3.5) and computes with 16384 (section 4.5), which makes its 17.54 % of the \
         capacity the identity 0.2 / 1.14.\n",
    );
    text
}

/// Six digits, without zeros at the end.
fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

fn formula(model: &Model) -> String {
    let name = model.name.as_str();
    let four = |value: f64| {
        let digits = (4 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
        if value == 0.0 { "0".to_owned() } else { format!("{value:.digits$}") }
    };
    match &model.coefficients[..] {
        [factor, exponent] if name != "linear" => format!("{} x^{}", four(*factor), four(*exponent)),
        all => {
            let of = all.iter().zip(0..).map(|(value, power)| match power {
                0 => four(*value),
                1 => format!("{} x", four(*value)),
                _ => format!("{} x^{power}", four(*value)),
            });
            of.collect::<Vec<_>>().join(" + ").replace("+ -", "- ")
        }
    }
}
