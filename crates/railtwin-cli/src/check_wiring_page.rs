//! The page of `check wiring`: devices with the cables to touch, then every wrong cable; no script, no network, for print.
use std::collections::BTreeSet;
use std::fmt::Write as _;

use railtwin_diagnosis::wiring::Audit;
use railtwin_fabric::cable_list::natural;
use railtwin_watch::escaped;

use crate::check_wiring_observed::Seen;
use crate::check_wiring_work::{answer, fault_rows, work_of};

const STYLE: &str = include_str!("check_wiring_page.css");
/// Devices up to which the strip shows each.
const STRIP: usize = 4_096;

/// The page.
pub(crate) fn page(blueprint: &str, audit: &Audit<'_>, seen: &Seen) -> String {
    let mut html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"generator\" content=\"railtwin\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>Cables to touch: {0}</title><style>{STYLE}</style>\
         </head><body><main><h1>Cables to touch</h1><p class=\"lead\">{1}</p><p class=\"soft\">Blueprint: {0}</p>",
        escaped(blueprint),
        escaped(&answer(audit))
    );
    write_strip(&mut html, audit);
    write_work(&mut html, audit);
    write_faults(&mut html, audit);
    // Writing to a string does not fail.
    for (ports, problem) in &audit.contradictions {
        let names: Vec<String> = ports.iter().map(|&port| audit.port_name(port)).collect();
        let _ = write!(html, "<p class=\"note\">Not judged: {}: {problem}</p>", escaped(&names.join(", ")));
    }
    if !audit.not_observed.is_empty() {
        let _ = write!(html, "<h2>Not observed</h2><table><tr><th>one end</th><th>other end</th></tr>");
        for ports in &audit.not_observed {
            let [a, b] = ports.map(|port| escaped(&audit.port_name(port)));
            let _ = write!(html, "<tr><td>{a}</td><td>{b}</td></tr>");
        }
        html.push_str("</table>");
    }
    for note in &seen.notes {
        let _ = write!(html, "<p class=\"note\">Note: {}</p>", escaped(note));
    }
    html.push_str("</main></body></html>\n");
    html
}

/// A square for each device of the blueprint, red where a cable is to be touched.
fn write_strip(html: &mut String, audit: &Audit<'_>) {
    let moves = audit.repairs.iter().flat_map(|repair| &repair.moves);
    let touched: BTreeSet<u32> =
        moves.flat_map(|one| [one.from, one.to]).map(|port| audit.device_of(port)).collect();
    let count = audit.devices();
    if count > STRIP || touched.is_empty() {
        return;
    }
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.sort_by_cached_key(|&device| (audit.rack(device).map(natural), natural(audit.device_name(device))));
    html.push_str("<div class=\"strip\" aria-label=\"devices; red: a cable to touch\">");
    for device in order {
        let class = if touched.contains(&device) { " class=\"wrong\"" } else { "" };
        let _ = write!(html, "<i{class} title=\"{}\"></i>", escaped(audit.device_name(device)));
    }
    html.push_str("</div>");
}

/// A card for each device with the moves at it.
fn write_work(html: &mut String, audit: &Audit<'_>) {
    let work = work_of(audit);
    if work.is_empty() {
        return;
    }
    html.push_str(
        "<h2>Work list</h2><p class=\"soft\">Of one number do .1 first. Of an exchange unplug all ends before plugging one \
         in.</p><div class=\"racks\">",
    );
    let mut at: Option<(&Option<String>, &str)> = None;
    for one in &work {
        let place = (&one.rack, one.device.as_str());
        if at != Some(place) {
            html.push_str(if at.is_some() { "</div>" } else { "" });
            let rack = one.rack.as_ref().map_or(String::new(), |rack| format!("rack {rack}, "));
            let _ =
                write!(html, "<div class=\"device\"><h3>{}</h3>", escaped(&format!("{rack}{}", one.device)));
            at = Some(place);
        }
        let look =
            if one.presumed { " <span class=\"look\">look first: an end was not seen</span>" } else { "" };
        let [repair, step] = one.label;
        let _ = write!(
            html,
            "<p><span class=\"box\"></span><span class=\"label\">{repair}.{step}</span>{}{look}</p>",
            escaped(&one.what)
        );
    }
    html.push_str("</div></div>");
}

/// A row for each wrong cable.
fn write_faults(html: &mut String, audit: &Audit<'_>) {
    if audit.faults.is_empty() {
        return;
    }
    html.push_str("<h2>Wrong cables</h2><table><tr><th>repair</th><th>what</th><th>ends</th></tr>");
    for fault in &audit.faults {
        let (kinds, rows) = fault_rows(audit, fault);
        let rows: Vec<String> = rows.iter().map(|row| escaped(row)).collect();
        let _ = write!(
            html,
            "<tr><td>{}</td><td class=\"kind\">{kinds}</td><td>{}</td></tr>",
            fault.repair + 1,
            rows.join("<br>")
        );
    }
    html.push_str("</table>");
}
