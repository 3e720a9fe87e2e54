//! The page of a sweep over loads: its sentence, and the data that it carries (docs/reference/report-payload.md).
use railtwin_engine::intranode::PARTS;
use serde_json::{Value, json};

use super::saturation::{LOAD, Saturation};
use super::{IntranodeQuestion, Label, SHORT_OF, Told, groups, orders, saturations};
use crate::columns::PageTable;
use crate::error::Error;
use crate::report::filled;

/// Figures of a point that the page draws, beside the parts of latencies.
const DRAWN: [&str; 9] = [
    "capacity",
    "offered_rate",
    "intra_rate",
    "inter_rate",
    "network_rate",
    "carried_share",
    "refused_share",
    "intra_latency",
    "inter_latency",
];

/// A part of [`PARTS`] in words.
pub fn part_words(part: &str) -> &'static str {
    match part {
        "source_gpu" => "source GPU",
        "source_intra" => "source intra",
        "source_nic" => "source NIC",
        "inter" => "network",
        "target_nic" => "target NIC",
        "target_intra" => "target intra",
        _ => "target GPU",
    }
}

/// The page with what came of all points of a sweep over loads.
///
/// # Errors
/// [`Error::Argument`] where there are fewer than two loads.
pub fn page(asked: &[(Label, IntranodeQuestion)], description: &str, told: &[Told]) -> Result<String, Error> {
    let first = &asked[0].1;
    let mut fabrics: Vec<&str> = Vec::new();
    for (_, question) in asked {
        if !fabrics.contains(&question.fabric_name.as_str()) {
            fabrics.push(&question.fabric_name);
        }
    }
    let data = data((&first.name, &fabrics.join(", "), description), told)?;
    Ok(filled(&first.name, "intranode", data))
}

/// The number that stands on the axis of loads.
fn load_of(point: &Told) -> Option<f64> {
    point.label.iter().find(|(axis, _)| axis == LOAD)?.1.parse().ok()
}

fn data((name, fabric, description): (&str, &str, &str), told: &[Told]) -> Result<Value, Error> {
    let mut loads: Vec<f64> = told.iter().filter_map(load_of).collect();
    loads.sort_by(f64::total_cmp);
    loads.dedup();
    if loads.len() < 2 || told.iter().any(|point| load_of(point).is_none()) {
        let message =
            "--report draws over loads, and the scenario has none: write intranode.load = [0.2, 0.4, …]";
        return Err(Error::Argument(message.to_owned()));
    }
    let choices = groups(told.iter().map(|point| &point.label), |axis| axis != LOAD);
    let mut axes: Vec<(String, Vec<String>)> = Vec::new();
    for (axis, value) in choices.iter().flat_map(|(label, _)| label) {
        match axes.iter_mut().find(|(name, _)| name == axis) {
            Some((_, values)) if values.contains(value) => {}
            Some((_, values)) => values.push(value.clone()),
            None => axes.push((axis.clone(), vec![value.clone()])),
        }
    }
    let place = |label: &Label| -> Vec<usize> {
        let value = |axis: &String| label.iter().find(|(name, _)| name == axis).map(|(_, value)| value);
        axes.iter()
            .map(|(axis, values)| values.iter().position(|one| Some(one) == value(axis)).unwrap_or(0))
            .collect()
    };
    // A row for each choice and load, whether there is a point or not.
    let point =
        |rows: &[usize], load: f64| rows.iter().map(|&row| &told[row]).find(|one| load_of(one) == Some(load));
    let points: Vec<Option<&Told>> =
        choices.iter().flat_map(|(_, rows)| loads.iter().map(|&load| point(rows, load))).collect();
    let column = |name: &str| -> Vec<f64> {
        points.iter().map(|point| point.and_then(|one| one.value(name)).unwrap_or(f64::NAN)).collect()
    };
    let latencies = ["intra", "inter"]
        .iter()
        .flat_map(|class| PARTS.iter().map(move |part| format!("{class}_latency_{part}")));
    let names: Vec<String> = DRAWN.iter().map(|name| (*name).to_owned()).chain(latencies).collect();
    let mut table = PageTable::new(points.len());
    for name in &names {
        table = table.f64(name, &column(name));
    }
    // A choice that offers nothing, as a GPU alone in its host where no message leaves it, has no saturation.
    let found = saturations(told);
    let saturation = |label: &Label| found.iter().find(|(one, _)| one == label).and_then(|(_, load)| *load);
    let saturated: Vec<Option<f64>> = choices.iter().map(|(label, _)| saturation(label)).collect();
    let orders: Vec<Vec<Value>> = orders(told)
        .iter()
        .map(|order| {
            let part = |part: &str| PARTS.iter().position(|one| *one == part);
            order.parts.iter().map(|one| json!({ "part": part(one.part), "load": one.load })).collect()
        })
        .collect();
    let labels: Vec<&Label> = choices.iter().map(|(label, _)| label).collect();
    Ok(json!({
        "name": name, "fabric_name": fabric, "description": description,
        "version": env!("CARGO_PKG_VERSION"), "headline": headline(&found, &loads, told),
        "axes": axes.iter().map(|(name, values)| json!({ "name": name, "values": values })).collect::<Vec<_>>(),
        "loads": loads, "choices": labels.iter().map(|label| place(label)).collect::<Vec<_>>(),
        "parts": PARTS.map(part_words), "points": table.finish(),
        "saturated": saturated, "orders": orders, "short_of": SHORT_OF,
    }))
}

/// What was chosen, in words: `nvlink 512 Gbps, pattern c1`.
fn words(label: &Label) -> String {
    let one =
        |(axis, value): &(String, String)| format!("{} {value}", axis.rsplit('.').next().unwrap_or(axis));
    label.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn percent(share: f64) -> String {
    // Loads are written by people: no digits that they did not write.
    format!("{}\u{a0}%", (share * 1e6).round() / 1e4)
}

/// The answer: who saturates first and where, how many do not.
fn headline(found: &[Saturation], loads: &[f64], told: &[Told]) -> String {
    let most = loads.last().copied().unwrap_or(1.0);
    let Some(least) = found.iter().filter_map(|(_, load)| *load).min_by(f64::total_cmp) else {
        let carried = percent(1.0 - SHORT_OF);
        return format!(
            "Nothing saturates: up to a load of {} at least {carried} of the offer arrives.",
            percent(most)
        );
    };
    let first: Vec<&Label> =
        found.iter().filter(|(_, load)| *load == Some(least)).map(|(label, _)| label).collect();
    let order = orders(told).into_iter().find(|order| order.label == *first[0]);
    let part = order.and_then(|order| order.parts.into_iter().next());
    let part = part.map_or(String::new(), |one| format!(", the {} first", part_words(one.part)));
    if found.len() > 1 && first.len() == found.len() {
        return format!("All {} choices saturate at {} of the load{part}.", found.len(), percent(least));
    }
    let who = match (first[0].is_empty(), first.len()) {
        (true, _) => "Hosts saturate".to_owned(),
        (false, 1) => format!("{} saturates first,", words(first[0])),
        (false, 2) => format!("{} and one choice more saturate first,", words(first[0])),
        (false, many) => format!("{} and {} choices more saturate first,", words(first[0]), many - 1),
    };
    let never = found.iter().filter(|(_, load)| load.is_none()).count();
    let others = match (found.len(), never) {
        (1, _) => String::new(),
        (all, 0) => format!(" All {all} choices do by {}.", percent(most)),
        (all, never) => format!(" {never} of {all} choices never do."),
    };
    format!("{who} at {} of the load{part}.{others}", percent(least))
}

#[cfg(test)]
mod tests {
    use railtwin_store::Figure;

    use super::*;

    fn point(pattern: &str, load: &str, carried: f64, nic: f64) -> Told {
        let label = [("intranode.pattern", pattern), (LOAD, load)];
        let figures = [("inter_carried_share", carried, "ratio"), ("inter_latency", 1e-6 + nic, "s")];
        let figures = figures.into_iter().chain([("inter_latency_target_nic", nic, "s")]);
        Told {
            label: label.map(|(axis, value)| (axis.to_owned(), value.to_owned())).to_vec(),
            figures: figures.map(|(name, value, unit)| Figure::new(name, value, unit)).collect(),
            ..Told::default()
        }
    }

    fn of(told: &[Told]) -> Value {
        data(("sweep", "rlft", "when?"), told).unwrap()
    }

    #[test]
    fn a_choice_that_offers_nothing_keeps_its_row() {
        let nothing = |load: &str| {
            let mut one = point("c5", load, 1.0, 0.0);
            one.figures.clear();
            one
        };
        let points = [
            nothing("0.5"),
            nothing("1"),
            point("c1", "0.5", 0.9, 5e-6),
            point("c1", "1", 0.5, 9e-6),
            point("c2", "0.5", 1.0, 0.0),
            point("c2", "1", 1.0, 0.0),
        ];
        let data = of(&points);
        assert_eq!(data["saturated"], json!([null, 0.5, null]));
        let headline = data["headline"].as_str().unwrap();
        assert!(headline.starts_with("pattern c1 saturates first, at 50"), "{headline}");
        assert!(headline.ends_with("1 of 2 choices never do."), "{headline}");
    }

    #[test]
    fn who_saturates_first_is_said() {
        let calm = point("c5", "0.5", 1.0, 0.0);
        let points = [
            point("c1", "1", 0.5, 9e-6),
            point("c1", "0.5", 0.9, 5e-6),
            point("c1", "0.1", 1.0, 0.0),
            calm.clone(),
        ];
        let data = of(&points);
        assert_eq!(
            data["headline"],
            "pattern c1 saturates first, at 50\u{a0}% of the load, the target NIC first. 1 of 2 choices never do."
        );
        assert_eq!(data["loads"], json!([0.1, 0.5, 1.0]));
        assert_eq!(data["choices"], json!([[0], [1]]));
        assert_eq!(data["saturated"], json!([0.5, null]));
        assert_eq!(data["orders"], json!([[{ "part": 4, "load": 0.5 }], []]));
        // Points that are not there have rows of their own.
        assert_eq!(data["points"]["rows"], 6);
        let both =
            of(&[point("c1", "0.1", 0.9, 0.0), point("c1", "1", 0.5, 9e-6), point("c2", "0.1", 0.8, 0.0)]);
        let said = "All 2 choices saturate at 10\u{a0}% of the load, the target NIC first.";
        assert_eq!(both["headline"], said);
        let data = of(&[calm.clone(), point("c5", "1", 0.98, 0.0)]);
        assert_eq!(
            data["headline"],
            "Nothing saturates: up to a load of 100\u{a0}% at least 97\u{a0}% of the offer arrives."
        );
        let refused = super::data(("sweep", "rlft", ""), &[calm]).unwrap_err().to_string();
        assert!(refused.contains("draws over loads"), "{refused}");
    }
}
