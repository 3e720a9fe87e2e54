//! Pages of incidents: one each, and a list; no script, no network.
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use railtwin_store::atomic::write_whole;
use serde_json::Value;

use crate::board::{Board, IncidentState};
use crate::event::{EventKind, IncidentEvent};
use crate::strip::strip;
use crate::trail::Picture;

/// Suspects that a sentence names.
const NAMED: usize = 3;
const STYLE: &str = include_str!("page.css");

/// The file of the page of an incident.
pub(crate) fn path(state: &Path, id: u64) -> PathBuf {
    state.join("pages").join(format!("{id}.html"))
}

/// Text as HTML shows it.
pub fn escaped(text: &str) -> String {
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

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Names of suspects, `rank job/3 (95 %)`.
fn suspects(incident: &Value) -> Vec<String> {
    let name = |suspect: &Value| {
        let component = &suspect["component"];
        let share = 100.0 * suspect["share"].as_f64().unwrap_or(0.0);
        format!("{} {} ({share:.0} %)", text(&component["kind"]), text(&component["name"]))
    };
    list(&incident["suspects"]).iter().map(name).collect()
}

/// An event in one sentence.
pub fn sentence(event: &IncidentEvent) -> String {
    let incident = &event.incident;
    let all = suspects(incident);
    let more = if all.len() > NAMED { format!(" and {} more", all.len() - NAMED) } else { String::new() };
    let named = all.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ") + &more;
    let who = if all.is_empty() { "nobody is named".to_owned() } else { named };
    let job = incident["job"].as_str().map_or(String::new(), |job| format!(" in {job}"));
    let (what, id, kind) = (event.what.name(), event.id(), text(&incident["kind"]));
    let next = match event.what {
        EventKind::Closed => incident["closed_why"].as_str().map_or(String::new(), |why| format!("; {why}")),
        _ => match text(&incident["next_step"]) {
            "" => String::new(),
            step => format!("; next: {step}"),
        },
    };
    format!("incident {id} {what}: {kind}{job}: {who}{next}")
}

/// Writes the page of an incident after an event of it. An event without a picture keeps the one before.
///
/// # Errors
/// The error of the system.
pub(crate) fn write(
    state: &Path,
    event: &IncidentEvent,
    standing: &IncidentState,
    picture: Option<&Picture>,
) -> std::io::Result<()> {
    let path = path(state, event.id());
    let folder = path.parent().unwrap_or(state);
    std::fs::create_dir_all(folder)?;
    let drawing = folder.join(format!("{}.svg", event.id()));
    if let Some(picture) = picture {
        std::fs::write(&drawing, strip(picture))?;
    }
    let drawn = std::fs::read_to_string(&drawing).unwrap_or_default();
    write_whole(&path, incident(event.id(), standing, &drawn).as_bytes())
}

fn head(title: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{0}</title><style>{STYLE}</style></head><body><main>",
        escaped(title)
    )
}

fn incident(id: u64, standing: &IncidentState, drawn: &str) -> String {
    let one = &standing.incident;
    let state = if standing.is_open() { "open" } else { "closed" };
    let kind = text(&one["kind"]);
    let mut html = head(&format!("Incident {id}: {kind}"));
    let job = one["job"].as_str().map_or(String::new(), |job| format!(" in <b>{}</b>", escaped(job)));
    // Writing to a string does not fail.
    let _ = write!(
        html,
        "<p class=\"up\"><a href=\"../\">all incidents</a></p><h1>{} <span class=\"{state}\">{state}</span></h1>\
         <p class=\"lead\">Incident {id}{job}, from {}</p>",
        escaped(kind),
        if text(&one["source"]) == "records" { "live records" } else { "files" }
    );
    html.push_str(&cards(one, standing));
    if !drawn.is_empty() {
        let _ = write!(
            html,
            "<section><h2>What the ranks did</h2>{drawn}<p class=\"key\"><i class=\"alone\"></i> alone: loads data, \
             computes, writes a checkpoint <i class=\"moves\"></i> in an operation that moves <i class=\"stands\"></i> in \
             an operation that stands still <i class=\"none\"></i> no heartbeat</p></section>"
        );
    }
    html.push_str(&evidence(one));
    let next = text(&one["next_step"]);
    if !next.is_empty() {
        let _ = write!(html, "<section><h2>Next step</h2><p>{}</p></section>", escaped(next));
    }
    html.push_str("<section><h2>History</h2><table>");
    for (what, wall) in &standing.history {
        let _ = write!(html, "<tr><td>{}</td><td>{}</td></tr>", escaped(wall), what.name());
    }
    html.push_str("</table></section></main></body></html>\n");
    html
}

/// Suspects and cost.
fn cards(one: &Value, standing: &IncidentState) -> String {
    let mut html = String::from("<div class=\"cards\"><section><h2>Suspects</h2>");
    let all = list(&one["suspects"]);
    if all.is_empty() {
        html.push_str("<p>nobody: the evidence names none</p>");
    }
    for suspect in all {
        let component = &suspect["component"];
        let share = 100.0 * suspect["share"].as_f64().unwrap_or(0.0);
        let _ = write!(
            html,
            "<p class=\"suspect\"><span class=\"bar\" style=\"width:{share:.0}%\"></span><b>{} {}</b> <em>{share:.0} \
             %</em></p>",
            escaped(text(&component["kind"])),
            escaped(text(&component["name"]))
        );
    }
    html.push_str("</section><section><h2>Cost</h2>");
    let cost = &one["cost"];
    let share = cost["time_lost_share"].as_f64().map(|share| format!("{:.0} % of the time", 100.0 * share));
    let lost = cost["time_lost_s"].as_f64().map(|lost| format!("{lost:.1} s lost so far"));
    let told: Vec<String> = [share, lost].into_iter().flatten().collect();
    let told = if told.is_empty() { "not known".to_owned() } else { told.join(", ") };
    let since = standing.history.first().map_or("", |(_, wall)| wall);
    let _ = write!(html, "<p>{told}</p><p class=\"small\">opened {}</p></section></div>", escaped(since));
    html
}

fn evidence(one: &Value) -> String {
    let mut html = String::from("<section><h2>Evidence</h2><table>");
    let sources = list(&one["sources"]);
    for (at, line) in list(&one["evidence"]).iter().enumerate() {
        let figure = |value: &Value| value.as_f64().map_or(String::new(), |value| format!("{value:.4}"));
        let plain = |value: &Value| {
            let text = figure(value);
            if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                text
            }
        };
        let places = sources.get(at).map_or(&[][..], list);
        let place = |place: &Value| format!("{} {}", text(&place["file"]), text(&place["place"]));
        let places: Vec<String> = places.iter().map(place).collect();
        let _ = write!(
            html,
            "<tr><td>{}<div class=\"small\">{}</div></td><td class=\"figure\">{} {}</td><td class=\"small\">expected {}\
             </td></tr>",
            escaped(text(&line["what"])),
            escaped(&places.join(", ")),
            plain(&line["value"]),
            escaped(text(&line["unit"])),
            plain(&line["expected"])
        );
    }
    html.push_str("</table></section>");
    html
}

/// The list of all incidents.
pub(crate) fn index(board: &Board) -> String {
    let mut html = head("Incidents");
    let open = board.incidents().filter(|(_, standing)| standing.is_open()).count();
    let _ = write!(html, "<h1>Incidents</h1><p class=\"lead\">{open} open</p>");
    if let Some(problem) = &board.problem {
        let _ = write!(html, "<p class=\"problem\">The files are not judged: {}</p>", escaped(problem));
    }
    html.push_str("<table>");
    for (id, standing) in board.incidents().rev() {
        let one = &standing.incident;
        let state = if standing.is_open() { "open" } else { "closed" };
        let since = standing.history.first().map_or("", |(_, wall)| wall);
        let _ = write!(
            html,
            "<tr><td><a href=\"incidents/{id}\">{id}</a></td><td><span class=\"{state}\">{state}</span></td>\
             <td>{}</td><td>{}</td><td>{}</td><td class=\"small\">{}</td></tr>",
            escaped(text(&one["kind"])),
            escaped(one["job"].as_str().unwrap_or("")),
            escaped(&suspects(one).iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ")),
            escaped(since)
        );
    }
    html.push_str("</table></main></body></html>\n");
    html
}
