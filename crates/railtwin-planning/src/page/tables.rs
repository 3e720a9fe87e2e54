//! Tables of the page.
use std::fmt::Write as _;

use super::escaped;
use crate::intent::{FabricCandidate, Plan};
use crate::loss::{Loss, LostPart};
use crate::numbers::{money, number, percent, rate};
use crate::search::{SearchResult, survives_leaf};

/// A row for each candidate.
pub(super) fn write_candidates(html: &mut String, plan: &Plan, labels: &[String]) {
    if plan.candidates.is_empty() {
        return;
    }
    html.push_str(
        "<h2>Side by side</h2><p class=\"soft\">Ports left and real oversubscription from the leaf up. Hops are switches on \
         the shortest path between GPUs of different hosts, worst and mean. Hash stages are switches on the longest path \
         that choose among ports.</p><div class=\"scroll\"><table><thead><tr><th class=\"l\">fabric</th><th>GPUs</th><th>leaves</th>\
         <th>spines</th><th>cores</th><th>cables</th><th>ports<br>left</th><th>real<br>ratio</th><th>hops</th>\
         <th>hash<br>stages</th><th>path<br>choices</th><th>bisection</th><th>price</th><th>$/GPU</th><th>W/GPU</th>\
         <th>survives<br>a leaf</th></tr></thead><tbody>",
    );
    let cheapest = plan.cheapest();
    for (row, candidate) in plan.candidates.iter().enumerate() {
        let counts = &candidate.counts;
        let left = counts.tiers.iter().filter_map(|tier| tier.ports_left).map(|ports| ports.to_string());
        let ratios =
            counts.tiers.iter().filter_map(|tier| tier.oversubscription).map(|ratio| format!("{ratio:.2}"));
        let is_best = cheapest.is_some_and(|best| std::ptr::eq(best, candidate));
        let survives = if survives_leaf(candidate) {
            "<span class=\"ok\" title=\"yes\">✓</span>"
        } else {
            "<span class=\"bad\" title=\"no\">✗</span>"
        };
        let _ = write!(
            html,
            "<tr{}><td class=\"l\"><span class=\"no\">{}</span>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{}</td><td>{}</td><td>{} · {:.2}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.1}</td>\
             <td>{survives}</td></tr>",
            if is_best { " class=\"best\"" } else { "" },
            row + 1,
            labels[row],
            number(counts.gpus as f64),
            number(counts.leaves as f64),
            number(counts.spines as f64),
            number(counts.cores as f64),
            number(counts.cables() as f64),
            left.collect::<Vec<_>>().join(" / "),
            ratios.collect::<Vec<_>>().join(" / "),
            counts.hops_worst,
            counts.hops_mean,
            counts.hash_stages,
            counts.path_choices,
            rate(counts.bisection.bits_per_s() as f64),
            money(candidate.price().usd),
            money(candidate.usd_per_gpu()),
            candidate.watts_per_gpu(),
        );
    }
    html.push_str("</tbody></table></div>");
}

const PARTS: [(LostPart, &str); 7] = [
    (LostPart::Leaf, "leaf"),
    (LostPart::Spine, "spine"),
    (LostPart::Core, "core"),
    (LostPart::NicPort, "NIC port<br>or its cable"),
    (LostPart::LeafSpineCable, "leaf-spine<br>cable"),
    (LostPart::SpineCoreCable, "spine-core<br>cable"),
    (LostPart::Plane, "plane"),
];

/// Losses of one part: a cell for each class.
pub(super) fn write_losses(html: &mut String, candidates: &[FabricCandidate], labels: &[String]) {
    if candidates.is_empty() {
        return;
    }
    html.push_str(
        "<h2>What a lost part takes</h2><p class=\"soft\">The share of its bandwidth that the worst GPU keeps in its worst \
         direction, while all GPUs send; below it GPUs that are cut off, or bisection that is left. A job on all GPUs stops \
         where GPUs are cut off.</p><div class=\"scroll\"><table><thead><tr><th class=\"l\">fabric</th>",
    );
    for (_, name) in PARTS {
        let _ = write!(html, "<th class=\"c\">{name}</th>");
    }
    html.push_str("</tr></thead><tbody>");
    for (row, candidate) in candidates.iter().enumerate() {
        let _ = write!(html, "<tr><td class=\"l\"><span class=\"no\">{}</span>{}</td>", row + 1, labels[row]);
        for (part, _) in PARTS {
            match candidate.loss.of_part(part) {
                Some(loss) => write_loss(html, loss),
                None => html.push_str("<td class=\"k\"><small>has none</small></td>"),
            }
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
}

fn write_loss(html: &mut String, loss: &Loss) {
    let worst = loss.worst();
    let class = match worst {
        _ if loss.pairs_cut > 0 => 0,
        worst if worst < 0.5 - 1e-9 => 1,
        worst if worst < 0.9 => 2,
        worst if worst < 1.0 - 1e-9 => 3,
        _ => 4,
    };
    let below = match (loss.gpus_cut, loss.pairs_cut) {
        (0, 0) => format!("bisection {}", percent(loss.bisection)),
        (0, _) => "stops: splits the fabric".to_owned(),
        (gpus, _) => {
            format!("stops: {} GPU{} cut off", number(gpus as f64), if gpus == 1 { "" } else { "s" })
        }
    };
    let _ = write!(html, "<td class=\"k k{class}\">{}<small>{below}</small></td>", percent(worst));
}

/// Combinations that no fabric meets, and remarks.
pub(super) fn write_refused(html: &mut String, plan: &Plan, found: Option<&SearchResult>) {
    let mut lines: Vec<String> =
        plan.refused.iter().map(|one| format!("{}: {}", one.combination.label(), one.reason)).collect();
    let notes = plan.candidates.iter().flat_map(|one| &one.notes);
    for note in notes {
        if !lines.contains(note) {
            lines.push(note.clone());
        }
    }
    if let Some(found) = found {
        lines.push(format!(
            "The search tried {} combinations of the catalog's switches: {} have a fabric, {} of them survive a lost leaf.",
            found.tried, found.feasible, found.surviving
        ));
    }
    if lines.is_empty() {
        return;
    }
    html.push_str("<h2>Notes</h2><ul>");
    for line in lines {
        let _ = write!(html, "<li>{}</li>", escaped(&line));
    }
    html.push_str("</ul>");
}
