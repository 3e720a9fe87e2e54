//! What binds, in clauses: computation, latency, a cap of hosts, or links; and what other paths could save at most.
use super::known::Known;
use super::limits::{FAULT_DELAY, FAULT_DELAY_MAX, IN_FLIGHT, LATENCY, costliest};
use super::numbers::{shown, time};
use crate::figures::declared::job::BALANCER_SAVES_MOST;

/// Part of the time that latency leaves from which a place is at its limit: the tenth that is left is what headers and
/// acknowledgements take, and the ends of operations in which not all ranks send.
const AT_LIMIT: f64 = 0.9;
/// Share of latency from which it is told beside a limit.
const TOLD: f64 = 0.05;
/// Share of latency from which latency itself is the limit, and of a step from which computing or waiting is.
const HALF: f64 = 0.5;
/// Share of a job's time from which a saving is worth another balancer.
const WORTH: f64 = 0.05;
/// Least over most used port of a NIC from which its ports are even.
const EVEN_PORTS: f64 = 0.9;
/// Most loaded over mean uplink of a leaf from which its uplinks are uneven.
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

/// A place and its utilization.
type Place = (f64, &'static str);

/// The places that are nearest to their limits.
struct Places {
    /// NIC ports, and the name of the hop.
    nic: Option<Place>,
    /// Links beyond them.
    beyond: Option<Place>,
    /// Inside hosts.
    inside: Option<Place>,
    /// Share of the time in flight that goes by whatever the bytes.
    latency: f64,
}

impl Places {
    fn of(known: &Known<'_>) -> Self {
        let most = |places: &[(&'static str, &'static str)]| {
            let value = |place: &str| known.value(&format!("{IN_FLIGHT}{place}"));
            let values = places.iter().filter_map(|(place, words)| Some((value(place)?, *words)));
            values.reduce(|a, b| if b.0 > a.0 { b } else { a })
        };
        let nic = most(&["nic_to_leaf", "leaf_to_nic"].map(|hop| (hop, hop)));
        Self { nic, beyond: most(&BEYOND), inside: most(&INSIDE), latency: known.count(LATENCY) }
    }

    /// NIC ports as people call them.
    fn nic_ports(&self) -> Option<Place> {
        self.nic.map(|(value, _)| (value, "NIC ports"))
    }

    /// Whether a place has as much to do as the time that latency leaves lets it do.
    fn at_limit(&self, place: Option<Place>) -> Option<Place> {
        place.filter(|(value, _)| self.latency < HALF && *value >= AT_LIMIT * (1.0 - self.latency))
    }

    /// The busiest of the network.
    fn network(&self) -> Option<Place> {
        let all = [self.nic_ports(), self.beyond].into_iter().flatten();
        all.reduce(|a, b| if b.0 > a.0 { b } else { a })
    }
}

/// What binds a run, by its figures, in clauses without a full stop; none where nothing was in flight. Where something was
/// `faulty` it does not say what other paths could save: they would have to go around the fault.
pub fn binds(known: &Known<'_>, faulty: bool) -> Vec<String> {
    let places = Places::of(known);
    let links = links(known, &places, faulty);
    let mut clauses: Vec<String> = match (most_of_step(known), links) {
        (most, None) => most.into_iter().collect(),
        (None, links) => links.into_iter().collect(),
        (Some(most), Some(links)) => {
            let axis = costliest(known).map_or("data".to_owned(), |axis| axis.name().replace('_', "-"));
            vec![most, format!("while {axis} is in flight, {links}")]
        }
    };
    clauses.splice(..0, delay_of_faults(known));
    if !faulty {
        clauses.extend(savings(known));
    }
    clauses
}

/// What other paths could save each job at most, the largest first; nothing of a job that sends nothing through the
/// network, which no paths can help.
fn savings(known: &Known<'_>) -> Vec<String> {
    let jobs = 0..known.jobs.len().max(1);
    let bound = |job: usize| known.value_of_job(job, BALANCER_SAVES_MOST.name);
    let mut all: Vec<(usize, f64)> = jobs.filter_map(|job| Some((job, bound(job)?))).collect();
    // The sort keeps the order of equals.
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    let most = all.first().map_or(0.0, |all| all.1);
    if all.len() > 1 && most < 1e-4 {
        return vec!["no choice of paths saves any job time".to_owned()];
    }
    if all.len() > 1 && most < WORTH {
        return vec![format!("no choice of paths saves any job more than {} of its time", percent(most))];
    }
    let words = |(name, bound): (String, f64)| match bound < WORTH {
        // Less than the digits that are shown.
        true if bound < 1e-4 => format!("no choice of paths saves {name} time"),
        true => format!("no choice of paths saves {name} more than {} of its time", percent(bound)),
        false => format!("other paths could save {name} up to {} of its time", percent(bound)),
    };
    // Jobs of one bound are told together where there are many.
    let alike = |a: &(usize, f64), b: &(usize, f64)| percent(a.1) == percent(b.1);
    let told = all.chunk_by(alike).flat_map(|own| match own {
        [(_, bound), _, _, ..] if own.len() == all.len() => {
            vec![(format!("each of {} jobs", own.len()), *bound)]
        }
        [(first, bound), _, _, ..] => {
            vec![(format!("{} and {} jobs like it", known.job_words(*first), own.len() - 1), *bound)]
        }
        few => few.iter().map(|&(job, bound)| (known.job_words(job), bound)).collect(),
    });
    told.map(words).collect()
}

/// The place at its limit, or that there is none.
fn links(known: &Known<'_>, places: &Places, faulty: bool) -> Option<String> {
    let latency = Some(places.latency).filter(|share| *share >= TOLD);
    let beside = latency.map_or(String::new(), |share| format!(", beside latency with {}", percent(share)));
    let limit = |(value, words): Place| {
        let verb = if is_one(words) { "is" } else { "are" };
        format!("{words} {verb} the limit at {}{beside}", percent(value))
    };
    if let Some(inside) = places.at_limit(places.inside) {
        return Some(match places.network() {
            Some(network) if network.0 > inside.0 => format!("{}{}", limit(network), reaches(inside)),
            Some(network) => format!("{}{}", limit(inside), reaches(network)),
            None => limit(inside),
        });
    }
    if let Some((value, hop)) = places.at_limit(places.nic) {
        return Some(format!(
            "{}{}",
            limit((value, "NIC ports")),
            ports(known, (value, hop), places.beyond, faulty)
        ));
    }
    if let Some(beyond) = places.at_limit(places.beyond) {
        let nic = places.nic_ports().map_or(String::new(), reaches);
        let balance = if faulty { String::new() } else { balance(known, beyond.1) };
        return Some(format!("{}{nic}{balance}", limit(beyond)));
    }
    let (value, words) =
        places.inside.into_iter().chain(places.network()).reduce(|a, b| if b.0 > a.0 { b } else { a })?;
    let busiest = format!(
        "nearest to it {} {words} at {}",
        if is_one(words) { "comes" } else { "come" },
        percent(value)
    );
    Some(if places.latency >= HALF {
        let share = percent(places.latency);
        format!(
            "latency is the limit: hops take {share} of the time in flight, whatever the bytes{}",
            reaches((value, words))
        )
    } else {
        format!("nothing is at its limit; {busiest}{beside}")
    })
}

/// The delay that faults add, where its share of the time in flight is one to name.
fn delay_of_faults(known: &Known<'_>) -> Option<String> {
    let (share, most) = (known.value(FAULT_DELAY)?, known.value(FAULT_DELAY_MAX)?);
    let (most, percent) = (time(most), percent(share));
    (share >= TOLD)
        .then(|| format!("faults add up to {most} of delay to an operation, {percent} of the time in flight"))
}

fn percent(value: f64) -> String {
    shown(value, "ratio")
}

fn is_one(words: &str) -> bool {
    INSIDE.iter().any(|(_, inside)| *inside == words)
}

fn reaches((value, words): Place) -> String {
    format!("; {words} {} {}", if is_one(words) { "reaches" } else { "reach" }, percent(value))
}

/// Where NIC ports are at their limit: whether both ports of the busiest NIC are, or what links beyond them reach.
fn ports(known: &Known<'_>, (value, hop): Place, beyond: Option<Place>, faulty: bool) -> String {
    let least = known.value(&format!("{IN_FLIGHT}{hop}_least"));
    match least.filter(|least| *least < EVEN_PORTS * value) {
        Some(_) if faulty => String::new(),
        Some(least) => format!(", the other port of the busiest NIC at {}", percent(least)),
        None => beyond.map_or(String::new(), reaches),
    }
}

/// How even leaf uplinks are where they are the limit.
fn balance(known: &Known<'_>, words: &str) -> String {
    let ratio = known.value("max_mean_ratio_leaf_up").filter(|_| words == "leaf uplinks");
    match ratio {
        Some(ratio) if ratio >= UNEVEN => {
            format!("; the busiest uplink of a leaf carries {} times the mean", shown(ratio, ""))
        }
        Some(_) => "; uplinks of a leaf carry the same".to_owned(),
        None => String::new(),
    }
}

/// What takes more than half of the step of the only job, where that is no communication.
fn most_of_step(known: &Known<'_>) -> Option<String> {
    if known.jobs.len() > 1 {
        return None;
    }
    let step = known.value("step_time")?;
    let most = |name: &str| known.value(name).is_some_and(|seconds| seconds > HALF * step);
    match (most("exposed_compute"), most("exposed_idle")) {
        (true, _) => Some("computing takes more than half of the step".to_owned()),
        (_, true) => Some("waiting takes more than half of the step".to_owned()),
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
                    || name.contains("latency")
                    || name.contains("saves")
                    || name.contains("fault"));
                let name = if flight { format!("{IN_FLIGHT}{name}") } else { (*name).to_owned() };
                Figure::new(&name, *value, "")
            })
            .collect();
        binds(&Known { figures: &figures, jobs: &[], again: 0 }, false).join("; ")
    }

    #[test]
    fn ports_that_are_full_come_before_the_links_beyond() {
        let nic = ("nic_to_leaf", 0.998);
        assert_eq!(
            told(&[nic, ("leaf_to_spine", 0.25)]),
            "NIC ports are the limit at 99.8 %; leaf uplinks reach 25.0 %"
        );
        assert_eq!(told(&[nic]), "NIC ports are the limit at 99.8 %");
        let uneven = told(&[("leaf_to_nic", 0.998), ("leaf_to_nic_least", 0.5), ("leaf_to_spine", 0.25)]);
        assert_eq!(uneven, "NIC ports are the limit at 99.8 %, the other port of the busiest NIC at 50.0 %");
        let even = told(&[("leaf_to_nic", 0.998), ("leaf_to_nic_least", 0.99), ("leaf_to_spine", 0.25)]);
        assert!(even.ends_with("leaf uplinks reach 25.0 %"), "{even}");
    }

    #[test]
    fn what_other_paths_could_save_is_of_each_job() {
        assert!(
            told(&[("nic_to_leaf", 0.998), ("balancer_saves_most", 0.004)])
                .ends_with("; no choice of paths saves the job more than 0.40 % of its time")
        );
        let figures = [("a", 0.02), ("b", 0.4), ("c", 0.04)]
            .map(|(job, value)| Figure::new(&format!("{job}.balancer_saves_most"), value, ""));
        let jobs = ["a", "b", "c"].map(str::to_owned);
        let said =
            |figures: &[Figure], jobs: &[String], faulty| binds(&Known { figures, jobs, again: 0 }, faulty);
        assert_eq!(
            said(&figures, &jobs, false),
            [
                "other paths could save job b up to 40.0 % of its time",
                "no choice of paths saves job c more than 4.0 % of its time",
                "no choice of paths saves job a more than 2.0 % of its time"
            ]
        );
        let [first, _, last] = figures.clone();
        assert_eq!(
            said(&[first, last], &["a".to_owned(), "c".to_owned()], false),
            ["no choice of paths saves any job more than 4.0 % of its time"]
        );
        assert!(said(&figures, &jobs, true).is_empty(), "they would have to go around the fault");
    }

    #[test]
    fn uplinks_bind_evenly_or_not() {
        let uneven = told(&[("nic_to_leaf", 0.5), ("leaf_to_spine", 0.999), ("max_mean_ratio_leaf_up", 2.0)]);
        assert_eq!(
            uneven,
            "leaf uplinks are the limit at 99.9 %; NIC ports reach 50.0 %; the busiest uplink of a leaf carries 2.000 \
             times the mean"
        );
        let even = told(&[("nic_to_leaf", 0.5), ("leaf_to_spine", 0.999), ("max_mean_ratio_leaf_up", 1.0)]);
        assert!(even.ends_with("uplinks of a leaf carry the same"), "{even}");
    }

    #[test]
    fn delay_that_faults_add_is_told() {
        let late = |share| {
            told(&[
                ("nic_to_leaf", 0.4),
                (LATENCY, share + 0.001),
                (FAULT_DELAY, share),
                (FAULT_DELAY_MAX, 0.08),
            ])
        };
        assert_eq!(
            late(0.968),
            "faults add up to 80.00 ms of delay to an operation, 96.8 % of the time in flight; \
             latency is the limit: hops take 96.9 % of the time in flight, whatever the bytes; NIC ports reach 40.0 %"
        );
        let some =
            "faults add up to 80.00 ms of delay to an operation, 20.0 % of the time in flight; nothing is at";
        assert!(late(0.2).starts_with(some), "{}", late(0.2));
        assert!(!late(0.03).contains("faults"), "{}", late(0.03));
    }

    #[test]
    fn where_no_link_is_full_time_goes_elsewhere() {
        assert_eq!(
            told(&[("nic_to_leaf", 0.04), (LATENCY, 0.93)]),
            "latency is the limit: hops take 93.0 % of the time in flight, whatever the bytes; NIC ports reach 4.0 %"
        );
        let none = told(&[("nic_to_leaf", 0.4), ("leaf_to_spine", 0.6), (LATENCY, 0.03)]);
        assert_eq!(none, "nothing is at its limit; nearest to it come leaf uplinks at 60.0 %");
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
        // Where hosts are as busy inside, no choice of ports would help.
        assert_eq!(
            told(&[("pcie", 0.99), ("leaf_to_nic", 0.998), ("leaf_to_nic_least", 0.0)]),
            "NIC ports are the limit at 99.8 %; PCIe reaches 99.0 %"
        );
        // All the time that latency leaves.
        assert_eq!(
            told(&[("nic_to_leaf", 0.882), (LATENCY, 0.118)]),
            "NIC ports are the limit at 88.2 %, beside latency with 11.8 %"
        );
    }
}
