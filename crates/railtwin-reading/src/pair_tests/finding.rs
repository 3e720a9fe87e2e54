//! Causes of an answer as findings, with typed evidence and advice.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_diagnosis::robust;
use railtwin_formats::telemetry::{NcclTest, NcclTestEnd};
use railtwin_pairs::{Alternative, Answer, FaultShape, PairCause, Trend, TrialOutcome, TrialSet};
use railtwin_records::seen::TestSeen;
use railtwin_records::{Component, Evidence, FaultKind, Finding, Since, SourceLine, Suspect, Syndrome};

use super::place::{components, is_cut, list, of_port, of_shape, of_some_rail, without_parts};

/// Confidence in a cause of one result.
const ONE: f64 = 0.8;
/// Confidence in several components of which nothing tells which it is.
const UNTOLD: f64 = 0.45;
/// Most suspects of a finding, and most lines of single results.
const SUSPECTS: usize = 24;
const LINES: usize = 90;
/// Rails of the same hosts from which they are told as one.
const RAILS: usize = 2;
/// A share of the usual bandwidth that counts as exactly half.
const HALF: f64 = 0.05;

/// The file and the test of a trial.
type Lines<'a, 'b> = &'b dyn Fn(usize) -> (&'a str, &'a NcclTest);

/// Findings of all causes.
pub(super) fn findings(set: &TrialSet, answer: &Answer, lines: Lines<'_, '_>) -> Vec<Finding> {
    let usual = usual(set, answer);
    answer.causes.iter().map(|cause| finding(set, answer, cause, &usual, lines)).collect()
}

/// Median bandwidth by class and size of results that no cause slows.
fn usual<'a>(set: &'a TrialSet, answer: &Answer) -> BTreeMap<(&'a str, u64), f64> {
    let mut values: BTreeMap<(&str, u64), [Vec<f64>; 2]> = BTreeMap::new();
    for (at, trial) in set.trials.iter().enumerate() {
        let is_slowed = answer.causes.iter().any(|cause| cause.trials.contains(&at));
        if let TrialOutcome::Sizes(sizes) = &trial.outcome {
            for (bytes, value) in sizes.iter().filter(|size| size.1 > 0.0) {
                values.entry((&trial.class, *bytes)).or_default()[usize::from(is_slowed)].push(*value);
            }
        }
    }
    let median = |(key, [free, all]): (_, [Vec<f64>; 2])| {
        let mut values = if free.is_empty() { all } else { free };
        Some((key, robust::median(&mut values)?))
    };
    values.into_iter().filter_map(median).collect()
}

fn finding(
    set: &TrialSet,
    answer: &Answer,
    cause: &PairCause,
    usual: &BTreeMap<(&str, u64), f64>,
    lines: Lines<'_, '_>,
) -> Finding {
    let told = without_parts(&cause.alternatives);
    let suspects = suspects(set, &told);
    let several = told.len() > 1 && !is_one_place(cause, &told);
    let mut confidence = if cause.trials.len() > 1 { cause.confidence } else { cause.confidence.min(ONE) };
    if several {
        confidence = confidence.min(UNTOLD);
    }
    let count = suspects.len().max(1) as f64;
    let dead: usize = cause.deaths.iter().map(|(_, count)| count).sum();
    let is_slow = cause.slow[0] > 0;
    let died = cause.trials.iter().filter_map(|at| lines(*at).1.failure.as_ref());
    let died = died.filter(|failure| failure.end == NcclTestEnd::Died).count();
    let (syndrome, faults) = if is_slow {
        (Syndrome::CommunicationSlow, vec![FaultKind::Slow, FaultKind::Lossy])
    } else if 2 * died > dead {
        (Syndrome::Crash, vec![FaultKind::GpuError, FaultKind::Crash, FaultKind::Down, FaultKind::Lossy])
    } else {
        (
            Syndrome::CommunicationHang,
            vec![FaultKind::Down, FaultKind::Lossy, FaultKind::Hang, FaultKind::GpuError],
        )
    };
    let deepest = cause.left.iter().map(|(_, left)| *left).fold(1.0, f64::min);
    let of_suspect = |(component, share): (Component, f64)| {
        // A star or a group of hosts is one cause with several parts.
        let share = if several { share * confidence } else { confidence / count };
        Suspect { component, share }
    };
    let mut evidence = whole(set, answer, cause, dead);
    evidence.extend(of_groups(set, cause, &told));
    evidence.extend(of_results(set, cause, usual));
    evidence.extend(of_deaths(set, cause, lines));
    Finding {
        at_ns: 0,
        since: Since::default(),
        syndrome,
        faults,
        suspects: suspects.into_iter().take(SUSPECTS).map(of_suspect).collect(),
        confidence,
        severity: if dead > 0 { 1.0 } else { 1.0 - deepest },
        cost: None,
        evidence,
        advice: advice(set, cause, &told),
    }
}

/// Components of all alternatives with their parts of the weight, the most likely first.
fn suspects(set: &TrialSet, told: &[&Alternative]) -> Vec<(Component, f64)> {
    let rails_of = |shape: &FaultShape| match shape {
        FaultShape::Group { rail: Some(_), hosts, .. } => {
            let same = |one: &&&Alternative| matches!(&one.shape, FaultShape::Group { rail: Some(_), hosts: own, .. } if own == hosts);
            told.iter().filter(same).count()
        }
        _ => 0,
    };
    let all: f64 = told.iter().map(|one| one.share).sum();
    let mut shares: BTreeMap<Component, f64> = BTreeMap::new();
    for one in told {
        // Many rails of the same hosts are one suspect: nothing tells which.
        let own = match &one.shape {
            FaultShape::Group { hosts, .. } if rails_of(&one.shape) > RAILS => vec![of_some_rail(set, hosts)],
            shape => components(set, shape),
        };
        let part = one.share / all.max(f64::MIN_POSITIVE) / own.len().max(1) as f64;
        own.into_iter().for_each(|component| *shares.entry(component).or_default() += part);
    }
    let mut list: Vec<(Component, f64)> = shares.into_iter().collect();
    list.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    list
}

/// Whether all alternatives part the hosts alike, or are the same rail: the place is known but for the side or the rail.
fn is_one_place(cause: &PairCause, told: &[&Alternative]) -> bool {
    let tested: BTreeSet<usize> = cause.members.iter().map(|one| one.host).collect();
    let place = |one: &Alternative| match &one.shape {
        FaultShape::Group { hosts, .. } => {
            let others: BTreeSet<usize> = tested.difference(hosts).copied().collect();
            Some((None, hosts.clone().min(others)))
        }
        FaultShape::Rail(rail) | FaultShape::RailCut(rail) => Some((Some(*rail), BTreeSet::new())),
        _ => None,
    };
    let first = told.first().and_then(|one| place(one));
    first.is_some() && told.iter().all(|one| place(one) == first)
}

/// Evidence of the cause as a whole: results that it slows, tests that it kills.
fn whole(set: &TrialSet, answer: &Answer, cause: &PairCause, dead: usize) -> Vec<Evidence> {
    let place = of_shape(set, &cause.shape);
    let mut evidence = Vec::new();
    let [slow, compared] = cause.slow;
    if slow > 0 {
        let [left, all] = answer.slow_left;
        let way = if is_cut(&cause.shape) { "cut" } else { "touched" };
        let seen = TestSeen::SlowFlows { place: place.clone(), way, compared, left, all };
        let mut shares: Vec<f64> = cause.left.iter().map(|(_, left)| *left).collect();
        let share = robust::median(&mut shares).unwrap_or(1.0);
        let pattern = pattern(cause, share).to_owned();
        evidence.push(Evidence::new(TestSeen::PairsShare { pattern }, share, 1.0));
        evidence.push(Evidence::new(seen, slow as f64, 0.0));
        let classes = cause.left.iter().filter(|_| cause.left.len() > 1);
        evidence.extend(
            classes.map(|(class, left)| {
                Evidence::new(TestSeen::ClassShare { class: class.clone() }, *left, 1.0)
            }),
        );
    }
    if dead > 0 {
        let of_way = |(way, count): &(String, usize)| {
            if way.contains(':') { format!("{count} at {way}") } else { format!("{count} {way}") }
        };
        let ways = cause.deaths.iter().map(of_way).collect();
        let seen = TestSeen::DeadFlows { place, ways, touched: cause.touched };
        evidence.push(Evidence::new(seen, dead as f64, 0.0));
    }
    evidence
}

/// How bandwidth is lost.
fn pattern(cause: &PairCause, left: f64) -> &'static str {
    match cause.trend {
        Trend::FallsWithSize => "falling with size",
        Trend::SmallOnly => "little at small sizes only",
        Trend::Constant if (left - 0.5).abs() <= HALF => "half of what is usual",
        Trend::Constant => "at all sizes alike",
    }
}

/// Evidence of groups and alternatives: members, hosts whose place is not tested, other causes.
fn of_groups(set: &TrialSet, cause: &PairCause, told: &[&Alternative]) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    let hosts = |is: &dyn Fn(&railtwin_pairs::Membership) -> bool| {
        list(set, cause.members.iter().filter(|one| is(one)).map(|one| one.host))
    };
    if !cause.members.is_empty() {
        for is_member in [true, false] {
            let own: Vec<_> =
                cause.members.iter().filter(|one| one.is_member == is_member && one.is_tested()).collect();
            let names = list(set, own.iter().map(|one| one.host));
            let least = own.iter().map(|one| one.bits).fold(f64::INFINITY, f64::min);
            if !names.is_empty() {
                let (count, bits) = (names.len() as f64, least.round() as u32);
                let seen = TestSeen::GroupHosts { hosts: names, is_member, bits };
                evidence.push(Evidence::new(seen, count, 0.0));
            }
        }
        let untested = hosts(&|one| !one.is_tested());
        if !untested.is_empty() {
            let count = untested.len() as f64;
            evidence.push(Evidence::new(TestSeen::UntestedHosts { hosts: untested }, count, 0.0));
        }
    }
    if told.len() > 1 {
        let others: Vec<String> = told[1..].iter().map(|one| of_shape(set, &one.shape)).collect();
        let is_same = told[1..].iter().all(|one| one.is_same);
        let count = others.len() as f64;
        evidence.push(Evidence::new(TestSeen::OtherCauses { others, is_same }, count, 0.0));
    }
    evidence
}

/// Single results that the cause slows, beside the median of those that no cause slows.
fn of_results(set: &TrialSet, cause: &PairCause, usual: &BTreeMap<(&str, u64), f64>) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    // Some sizes of each result, and no result without one.
    let most = (LINES / cause.trials.len().max(1)).max(1);
    for trial in cause.trials.iter().filter_map(|at| set.trials.get(*at)) {
        let TrialOutcome::Sizes(sizes) = &trial.outcome else { continue };
        let hosts = list(set, trial.ports.iter().map(|port| port.host));
        let mut hosts = hosts;
        hosts.dedup();
        let Ok(hosts) = <[String; 2]>::try_from(hosts) else { continue };
        let step = sizes.len().div_ceil(most).max(1);
        for (bytes, value) in sizes.iter().rev().step_by(step) {
            let Some(level) = usual.get(&(trial.class.as_str(), *bytes)) else { continue };
            let seen = TestSeen::PairAt { hosts: hosts.clone(), class: trial.class.clone(), bytes: *bytes };
            evidence.push(Evidence::new(seen, value / level, 1.0));
        }
    }
    evidence.truncate(LINES);
    evidence
}

/// Single tests that the cause kills.
fn of_deaths(set: &TrialSet, cause: &PairCause, lines: Lines<'_, '_>) -> Vec<Evidence> {
    let dead = cause.trials.iter().filter(|at| matches!(set.trials[**at].outcome, TrialOutcome::Died(_)));
    let evidence = dead.filter_map(|at| {
        let (file, test) = lines(*at);
        let failure = test.failure.as_ref()?;
        let mut hosts = list(set, set.trials[*at].ports.iter().map(|port| port.host));
        hosts.dedup();
        let seen = TestSeen::Failed {
            test: test.name.clone(),
            hosts: hosts.join(", "),
            end: failure.end.name(),
            after_bytes: failure.after_bytes,
            line: failure.line.clone(),
        };
        Some(Evidence::new(seen, 1.0, 0.0).at(SourceLine::new(file, failure.number)))
    });
    evidence.take(LINES).collect()
}

/// What to do: first where to look, then the test that parts the alternatives.
fn advice(set: &TrialSet, cause: &PairCause, told: &[&Alternative]) -> String {
    let look = match (&cause.shape, cause.trend) {
        (FaultShape::Group { cut: true, .. }, _) => {
            "look at the leaf of this rail that serves these hosts, at its uplinks and at how traffic leaves it"
        }
        (FaultShape::Rail(_) | FaultShape::RailCut(_), _) => {
            "NICs at this place share a rail: look at its leaves, at the cables from them to the tiers above and at how traffic leaves it"
        }
        (FaultShape::Group { rail: Some(_), .. }, _) => {
            "look at the leaf of this rail that serves these hosts"
        }
        (_, Trend::FallsWithSize) => {
            "loss or pauses, which long transfers meet more often: read drops, pauses, out-of-sequence packets and \
             retransmissions of both NICs, and of the switches between, before and after a large test"
        }
        (FaultShape::Star(..) | FaultShape::Pair(_) | FaultShape::OneWay(_), _) if cause.slow[0] == 0 => {
            "run the test between these hosts again, then over other NICs: what stays with a path is the path's"
        }
        (FaultShape::Star(..) | FaultShape::Pair(_) | FaultShape::OneWay(_), _) => {
            "test both hosts with others and over other source ports: what stays with a path is the path's"
        }
        (FaultShape::Port(..), _) => "look at this NIC, its cable and its PCIe link",
        _ => "test the NICs of the host one by one to tell which of them it is",
    };
    let Some(next) =
        cause.next.filter(|_| told.len() > 1 || cause.members.iter().any(|one| !one.is_tested()))
    else {
        return look.to_owned();
    };
    let [first, second] = next.ports.map(|port| of_port(set, port));
    let [slow, all] = next.parts;
    format!("{look}; next test: {first} with {second}, which is slow under {slow} of {all} explanations")
}
