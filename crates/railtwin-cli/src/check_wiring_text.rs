//! `check wiring` for people: wrong cables, the work list, what was not seen.
use std::fmt::Write as _;

use railtwin_diagnosis::wiring::Audit;
use railtwin_store::one_line;

use crate::check_wiring_observed::Seen;
use crate::check_wiring_work::{answer, fault_rows, work_of};

/// Cables that are not observed, as many as the text lists.
const LISTED: usize = 8;

/// The answer as text.
pub(crate) fn shown(blueprint: &str, audit: &Audit<'_>, seen: &Seen) -> String {
    let mut text = format!("{}\n{}\n", answer(audit), sources(blueprint, seen));
    // Writing to a string does not fail.
    for (number, repair) in (1_usize..).zip(&audit.repairs) {
        let of = audit.faults.iter().filter(|fault| fault.repair as usize + 1 == number);
        let mut above = None;
        for fault in of {
            let (kinds, rows) = fault_rows(audit, fault);
            if above.as_ref() != Some(&kinds) {
                let _ = writeln!(text, "\n{number}. {kinds}");
            }
            above = Some(kinds);
            for row in rows {
                let _ = writeln!(text, "   {}", one_line(&row));
            }
        }
        if repair.either_way {
            text.push_str(
                "   either end of these cables may be moved: both give the plan with as few moves\n",
            );
        }
    }
    let work = work_of(audit);
    if !work.is_empty() {
        text.push_str("\nwork list, by rack and device; of one number do .1 first, and unplug all ends of an exchange before\n");
    }
    let mut at: Option<(Option<&str>, &str)> = None;
    for one in &work {
        let place = (one.rack.as_deref(), one.device.as_str());
        if at != Some(place) {
            let rack = one.rack.as_ref().map_or(String::new(), |rack| format!("rack {rack}, "));
            let _ = writeln!(text, "{}", one_line(&format!("{rack}{}", one.device)));
            at = Some(place);
        }
        let presumed = if one.presumed { "; look first: an end was not seen" } else { "" };
        let [repair, step] = one.label;
        let _ = writeln!(text, "  [ ] {repair}.{step} {}{presumed}", one_line(&one.what));
    }
    write_rest(&mut text, audit, seen);
    text
}

fn sources(blueprint: &str, seen: &Seen) -> String {
    let files: Vec<String> = seen.files.iter().map(|(kind, count)| format!("{kind}: {count}")).collect();
    one_line(&format!("blueprint {blueprint}; files: {}", files.join(", "))).into_owned()
}

fn write_rest(text: &mut String, audit: &Audit<'_>, seen: &Seen) {
    if !audit.contradictions.is_empty() {
        text.push_str("\nnot judged: ends that contradict each other\n");
    }
    for (ports, problem) in &audit.contradictions {
        let names: Vec<String> = ports.iter().map(|&port| audit.port_name(port)).collect();
        let _ = writeln!(text, "  {}: {problem}", one_line(&names.join(", ")));
    }
    let unseen = audit.not_observed.len();
    if unseen > 0 {
        let _ = writeln!(text, "\nnot observed: {unseen} planned cables of which neither end was seen");
        for [a, b] in audit.not_observed.iter().take(LISTED) {
            let pair = format!("{} and {}", audit.port_name(*a), audit.port_name(*b));
            let _ = writeln!(text, "  {}", one_line(&pair));
        }
        if unseen > LISTED {
            let _ = writeln!(text, "  … {} more; --json has all", unseen - LISTED);
        }
        text.push_str(
            "  where the files hold all that is plugged in, --complete takes these cables for missing\n",
        );
    }
    for note in &seen.notes {
        let _ = writeln!(text, "note: {}", one_line(note));
    }
}
