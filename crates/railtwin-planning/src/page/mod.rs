//! One HTML file without script or network: candidates side by side, their price, what lost parts take, and the curve of
//! price against bisection.
mod charts;
mod core_chart;
mod tables;

use std::fmt::Write as _;

use crate::intent::{FabricCandidate, Plan};
use crate::numbers::{money, number, percent, watts};
use crate::report::Section;
use crate::search::{SearchResult, survives_leaf};

const STYLE: &str = include_str!("style.css");

/// The page of a plan; with a search its curve is drawn beside the candidates.
pub fn render(plan: &Plan, found: Option<&SearchResult>) -> String {
    let title = format!("Fabrics for {} GPUs", number(plan.gpus.into()));
    let mut html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"generator\" content=\"railtwin\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title><style>{STYLE}</style></head>\
         <body><main><h1>{title}</h1><p class=\"lead\">{}</p><p class=\"soft\">Hosts {}, style {}{}. Prices are those of the \
         catalog, which you can edit; hatched parts are assumed, not sourced. Hosts are not in the price.</p>",
        escaped(&answer(plan)),
        escaped(&plan.host),
        plan.style,
        match switch_of_all(plan) {
            Some(switch) => format!(", switches {}", escaped(switch)),
            None => String::new(),
        }
    );
    write_tiles(&mut html, plan);
    let labels = labels(plan);
    tables::write_candidates(&mut html, plan, &labels);
    charts::write_prices(&mut html, &plan.candidates, &labels);
    tables::write_losses(&mut html, &plan.candidates, &labels);
    charts::write_curve(&mut html, &plan.candidates, found);
    if let Some(found) = found {
        core_chart::write(&mut html, &found.core_curve);
    }
    tables::write_refused(&mut html, plan, found);
    html.push_str("</main></body></html>\n");
    html
}

/// The page of a report: its sections one below the other.
pub fn render_report(name: &str, sections: &[Section]) -> String {
    let title = escaped(name);
    let mut html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"generator\" content=\"railtwin\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>Design of {title}</title><style>{STYLE}</style>\
         </head><body><main><h1>Design of {title}</h1>"
    );
    for section in sections {
        let _ = write!(
            html,
            "<section><h2>{}</h2><div class=\"scroll\"><pre>{}</pre></div></section>",
            escaped(&section.title),
            escaped(&section.text)
        );
    }
    html.push_str("</main></body></html>\n");
    html
}

/// The switch of all candidates, where there is one.
fn switch_of_all(plan: &Plan) -> Option<&str> {
    let first = &plan.candidates.first()?.combination.switch;
    plan.candidates.iter().all(|one| one.combination.switch == *first).then_some(first)
}

/// Names of the candidates, without the switch where it is that of all.
fn labels(plan: &Plan) -> Vec<String> {
    let is_short = switch_of_all(plan).is_some();
    let label = |one: &FabricCandidate| {
        escaped(&if is_short { one.combination.short_label() } else { one.combination.label() })
    };
    plan.candidates.iter().map(label).collect()
}

/// The answer in a sentence or two.
fn answer(plan: &Plan) -> String {
    let Some(cheapest) = plan.cheapest() else {
        return match plan.refused.first() {
            Some(refusal) => format!("No fabric carries them: {}.", refusal.reason),
            None => "No combination was asked for.".to_owned(),
        };
    };
    let named = |one: &FabricCandidate| {
        format!(
            "{} for {} ({} a GPU)",
            one.combination.label(),
            money(one.price().usd),
            money(one.usd_per_gpu())
        )
    };
    let mut text = format!("The cheapest fabric is {}.", named(cheapest));
    match cheapest_survivor(plan) {
        Some(survivor) if std::ptr::eq(survivor, cheapest) => {
            text.push_str(" It survives the loss of any leaf.");
        }
        Some(survivor) => {
            let _ = write!(text, " The cheapest that survives the loss of any leaf is {}.", named(survivor));
        }
        None => text.push_str(" None of these fabrics survives the loss of a leaf: a job on all GPUs stops."),
    }
    text
}

fn cheapest_survivor(plan: &Plan) -> Option<&FabricCandidate> {
    let survivors = plan.candidates.iter().filter(|one| survives_leaf(one) && one.is_priced());
    survivors.min_by(|a, b| a.price().usd.total_cmp(&b.price().usd))
}

fn write_tiles(html: &mut String, plan: &Plan) {
    let Some(best) = cheapest_survivor(plan).or_else(|| plan.cheapest()) else { return };
    let (counts, price) = (&best.counts, best.price());
    let tiles = [
        (
            money(best.usd_per_gpu()),
            format!("network for each GPU, {} of it assumed", percent(price.assumed_share())),
        ),
        (watts(best.watts_per_gpu()), "power of the network for each GPU".to_owned()),
        (percent(counts.bisection_share()), "of full bisection".to_owned()),
        (number(counts.switches() as f64), format!("switches and {} cables", number(counts.cables() as f64))),
    ];
    html.push_str("<div class=\"tiles\">");
    for (figure, what) in tiles {
        let _ = write!(html, "<div class=\"tile\"><b>{figure}</b><span>{}</span></div>", escaped(&what));
    }
    let _ = write!(html, "</div><p class=\"soft\">Figures of {}.</p>", escaped(&best.combination.label()));
}

/// Text as it may stand in HTML.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '&' => html.push_str("&amp;"),
            '"' => html.push_str("&quot;"),
            letter => html.push(letter),
        }
    }
    html
}
