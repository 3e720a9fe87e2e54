//! The sentence on what binds: computation, latency, a cap of hosts, or links, and whether the balancer matters.
use super::known::Known;
use super::limits::{IN_FLIGHT, LATENCY, costliest};
use super::numbers::shown;

/// Utilization from which a place is at its limit: what is left, a tenth, is what headers, acknowledgements and the
/// first and last hop of an operation take.
const AT_LIMIT: f64 = 0.9;
/// Utilization up to which it does not matter which of its links a place uses: twice the load of the busiest one
/// would fit.
const HALF_EMPTY: f64 = 0.5;
/// Least over most used port of a NIC from which its ports are even.
const EVEN_PORTS: f64 = 0.9;
/// Most loaded over mean uplink of a leaf from which another balance would gain something worth having.
const UNEVEN: f64 = 1.1;

/// Places beyond NIC ports, as figures and people call them.
const BEYOND: [(&str, &str); 4] = [
    ("leaf_to_spine", "leaf uplinks"),
    ("spine_to_leaf", "spine downlinks"),
    ("spine_to_core", "spine uplinks"),
    ("core_to_spine", "core downlinks"),
];
/// Places inside hosts.
const INSIDE: [(&str, &str); 3] =
    [("nvlink", "NVLink"), ("pcie", "PCIe"), ("host_cap", "the cap that hosts set on the collective")];

/// What binds a run, by its figures, without a full stop; nothing where nothing was in flight.
pub fn binds(known: &Known<'_>) -> Option<String> {
    let most = |places: &[(&'static str, &'static str)]| {
        let values = places
            .iter()
            .filter_map(|(place, words)| Some((known.value(&format!("{IN_FLIGHT}{place}"))?, *words)));
        values.reduce(|a, b| if b.0 > a.0 { b } else { a })
    };
    let nic = ["nic_to_leaf", "leaf_to_nic"].into_iter();
    let nic = nic.filter_map(|place| Some((known.value(&format!("{IN_FLIGHT}{place}"))?, place)));
    let nic = nic.reduce(|a, b| if b.0 > a.0 { b } else { a });
    let (beyond, inside) = (most(&BEYOND), most(&INSIDE));
    let percent = |value: f64| shown(value, "ratio");
    let reach = |place: Option<(f64, &str)>| {
        place.map_or(String::new(), |(value, words)| {
            format!("; {words} {} {}", reach_verb(words), percent(value))
        })
    };
    let nic_words = nic.map(|nic| (nic.0, "NIC ports"));
    let links = match (nic, beyond, inside) {
        (Some((value, place)), ..) if value >= AT_LIMIT => {
            let limit = format!("NIC ports are the limit at {}", percent(value));
            format!("{limit}{}", matters(known, value, place, beyond))
        }
        (_, Some((value, words)), _) if value >= AT_LIMIT => {
            let limit = format!("{words} are the limit at {}", percent(value));
            format!("{limit}{}{}", reach(nic_words), balance(known, words))
        }
        (_, _, Some((value, words))) if value >= AT_LIMIT => {
            let verb = if words == "NVLink" || words == "PCIe" { "is the limit at" } else { "is reached at" };
            format!("{words} {verb} {}{}", percent(value), reach(nic_words))
        }
        _ => {
            let all = [nic_words, beyond, inside].into_iter().flatten();
            let busiest = all.reduce(|a, b| if b.0 > a.0 { b } else { a });
            let latency = known.value(LATENCY).filter(|share| *share >= HALF_EMPTY);
            match (busiest, latency) {
                (Some((value, words)), Some(share)) => format!(
                    "latency is the limit: hops take {} of the time in flight, whatever the bytes; {words} {} {}",
                    percent(share),
                    reach_verb(words),
                    percent(value)
                ),
                (Some((value, words)), None) => {
                    let verb = reach_verb(words);
                    format!("no link is at its limit: the busiest, {words}, {verb} {}", percent(value))
                }
                (None, _) => String::new(),
            }
        }
    };
    let most_of_step = most_of_step(known);
    let text = match (most_of_step, links.is_empty()) {
        (None, true) => return None,
        (None, false) => links,
        (Some(most), true) => most,
        (Some(most), false) => {
            let axis = costliest(known).map_or("anything".to_owned(), |axis| axis.name().replace('_', "-"));
            format!("{most}; while {axis} is in flight, {links}")
        }
    };
    Some(text)
}

fn reach_verb(words: &str) -> &'static str {
    if INSIDE.iter().any(|(_, inside)| *inside == words) { "reaches" } else { "reach" }
}

/// Whether the balancer matters where NIC ports are at their limit: no path beyond them makes an operation end before
/// its busiest port has sent or received all it has to.
fn matters(known: &Known<'_>, value: f64, place: &str, beyond: Option<(f64, &str)>) -> String {
    let least = known.value(&format!("{IN_FLIGHT}{place}_least"));
    if let Some(least) = least.filter(|least| *least < EVEN_PORTS * value) {
        return format!(
            ", the other port of the busiest NIC at {}: who chooses ports matters",
            shown(least, "ratio")
        );
    }
    let Some((other, words)) = beyond else { return String::new() };
    let verdict = if other <= HALF_EMPTY {
        "the balancer does not matter here"
    } else {
        "no other balancer would help"
    };
    format!("; {words} reach {}: {verdict}", shown(other, "ratio"))
}

/// Whether another balance of leaf uplinks would help where they are the limit.
fn balance(known: &Known<'_>, words: &str) -> String {
    let ratio = known.value("max_mean_ratio_leaf_up").filter(|_| words == "leaf uplinks");
    match ratio {
        Some(ratio) if ratio >= UNEVEN => {
            format!(
                "; the busiest uplink of a leaf carries {} times the mean: the balancer matters",
                shown(ratio, "")
            )
        }
        Some(_) => "; they are even: only more of them would help".to_owned(),
        None => String::new(),
    }
}

/// What takes more than half of the step of the only job, where that is no communication.
fn most_of_step(known: &Known<'_>) -> Option<String> {
    if known.jobs.len() > 1 {
        return None;
    }
    let step = known.value("step_time")?;
    let most = |name: &str| known.value(name).is_some_and(|seconds| seconds > HALF_EMPTY * step);
    match (most("exposed_compute"), most("exposed_idle")) {
        (true, _) => Some("computing takes more than half of the step".to_owned()),
        (_, true) => Some("waiting for other ranks takes more than half of the step".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin_store::Figure;

    fn told(values: &[(&str, f64)]) -> String {
        let figures: Vec<Figure> = values
            .iter()
            .map(|(name, value)| {
                let flight = !(name.contains("step")
                    || name.contains("exposed")
                    || name.contains("ratio")
                    || name.contains("latency"));
                let name = if flight { format!("{IN_FLIGHT}{name}") } else { (*name).to_owned() };
                Figure::new(&name, *value, "")
            })
            .collect();
        binds(&Known { figures: &figures, jobs: &[] }).unwrap_or_default()
    }

    #[test]
    fn the_balancer_does_not_matter_only_where_ports_are_full_and_uplinks_half_empty() {
        let nic = ("nic_to_leaf", 0.998);
        assert_eq!(
            told(&[nic, ("leaf_to_spine", 0.25)]),
            "NIC ports are the limit at 99.8 %; leaf uplinks reach 25.0 %: the balancer does not matter here"
        );
        assert!(told(&[nic, ("leaf_to_spine", 0.7)]).ends_with("reach 70.0 %: no other balancer would help"));
        assert_eq!(told(&[nic]), "NIC ports are the limit at 99.8 %");
        let uneven = told(&[("leaf_to_nic", 0.998), ("leaf_to_nic_least", 0.5), ("leaf_to_spine", 0.25)]);
        assert!(
            uneven.ends_with("the other port of the busiest NIC at 50.0 %: who chooses ports matters"),
            "{uneven}"
        );
        let even = told(&[("leaf_to_nic", 0.998), ("leaf_to_nic_least", 0.99), ("leaf_to_spine", 0.25)]);
        assert!(even.ends_with("does not matter here"), "{even}");
    }

    #[test]
    fn uplinks_bind_by_their_number_or_by_their_balance() {
        let uneven = told(&[("nic_to_leaf", 0.5), ("leaf_to_spine", 0.999), ("max_mean_ratio_leaf_up", 2.0)]);
        assert_eq!(
            uneven,
            "leaf uplinks are the limit at 99.9 %; NIC ports reach 50.0 %; the busiest uplink of a leaf carries 2.000 \
             times the mean: the balancer matters"
        );
        let even = told(&[("nic_to_leaf", 0.5), ("leaf_to_spine", 0.999), ("max_mean_ratio_leaf_up", 1.0)]);
        assert!(even.ends_with("they are even: only more of them would help"), "{even}");
    }

    #[test]
    fn where_no_link_is_full_time_goes_elsewhere() {
        assert_eq!(
            told(&[("nic_to_leaf", 0.04), (LATENCY, 0.93)]),
            "latency is the limit: hops take 93.0 % of the time in flight, whatever the bytes; NIC ports reach 4.0 %"
        );
        let none = told(&[("nic_to_leaf", 0.4), ("leaf_to_spine", 0.6), (LATENCY, 0.03)]);
        assert_eq!(none, "no link is at its limit: the busiest, leaf uplinks, reach 60.0 %");
        assert_eq!(
            told(&[("nvlink", 0.95), ("nic_to_leaf", 0.1)]),
            "NVLink is the limit at 95.0 %; NIC ports reach 10.0 %"
        );
        let step =
            told(&[("step_time", 1.0), ("exposed_compute", 0.6), ("exposed_dp", 0.3), ("nic_to_leaf", 0.95)]);
        assert_eq!(
            step,
            "computing takes more than half of the step; while dp is in flight, NIC ports are the limit at 95.0 %"
        );
        assert_eq!(told(&[]), "");
    }
}
