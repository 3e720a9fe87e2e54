//! Incidents of live records, as JSON and as text.
use railtwin::diagnose::LiveAnswer;
use railtwin::diagnose::answer::json_of;
use railtwin::diagnose::answer::measured;
use railtwin_store::one_line;
use serde_json::Value;

/// Incidents as JSON; times are ns on the clock of the records.
pub(crate) fn data(live: &LiveAnswer) -> Value {
    live.incidents.iter().map(|one| json_of::incident(one, |place| live.component(place))).collect()
}

/// Incidents as lines, with seconds since the first record.
pub(crate) fn shown(live: &LiveAnswer) -> String {
    if live.is_empty() {
        return String::new();
    }
    let seconds = |ns: u64| format!("{:.1} s", ns.saturating_sub(live.first_ns) as f64 / 1e9);
    let (count, records, ranks) = (live.incidents.len(), live.records, live.ranks);
    let mut text = format!("\n{count} incidents in {records} live records of {ranks} ranks\n");
    for one in &live.incidents {
        let times = [("confirmed", one.confirmed_ns), ("closed", one.closed_ns)];
        let times =
            times.map(|(what, at)| at.map_or(String::new(), |at| format!(", {what} at {}", seconds(at))));
        let (id, kind, opened) = (one.id, one.kind.name(), seconds(one.opened_ns));
        text.push_str(&format!("  {id}. {kind}, opened at {opened}{}\n", times.concat()));
        for suspect in &one.suspects {
            let component = live.component(suspect.place);
            let name = one_line(component.name()).into_owned();
            text.push_str(&format!("     {} {name}  {:.0} %\n", component.kind(), 100.0 * suspect.share));
        }
        for line in &one.evidence {
            text.push_str(&format!("     {}: {}\n", one_line(&line.words()), measured(line)));
        }
        text.push_str(&format!("     next: {}\n", one.kind.next_step()));
    }
    text
}
