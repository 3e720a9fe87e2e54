//! The headline of two runs: the largest difference of what jobs get done, and all others as evidence.
//!
//! Every figure of which one value is better proposes a difference, by its declaration: lives of jobs, weeks, steps, costs
//! of faults, links, packets. [`difference`] orders them and leaves out what draws or lives explain; [`words`] writes
//! them; [`side`] reads the runs; [`scenarios`] finds the keys in which the runs differ.
//!
//! There is one base for percentages: the first run. A step of 8.460 s instead of 9.852 s takes 14.1 % less time, as
//! the page's tile and the table of `railtwin compare` have it.
mod difference;
mod scenarios;
mod side;
mod words;

use std::collections::BTreeMap;

use railtwin_scenario::Scenario;
use railtwin_store::RunInfo;
use railtwin_workload::Plan;

use super::binds::binds;
use super::evidence::rank;
use super::lines::{Headline, MOST_WORDS, words as count_words};
use super::numbers::{shown, time, whole};
use super::trouble::packets;
use super::words::{clause, sentence};
use crate::figures::declared::job::{STALL_TIME, STEP_TIME};
use difference::{Difference, Role, differences};
use scenarios::Scenarios;
use side::{Kind, Side};

/// Name of the fact that says how many draws of the hash seeds a run has.
pub const DRAWS: &str = "draws of the hash seeds";
/// First word of the names of facts that say what a job is.
pub const JOB: &str = "job ";
/// First words of such a fact of a job that goes on with the steps of another after a restart.
pub const RESTART: &str = "restart of job ";
/// Evidence lines of differences; others are counted.
const MOST_LINES: usize = 12;

/// What a step of a job is: how many GPUs do what, whatever the network. Jobs that say the same can be compared.
pub fn asked(plan: &Plan) -> String {
    let gpus = format!("{} GPUs", plan.ranks);
    if let Some(tokens) = plan.tokens {
        return format!("{gpus}, {tokens} tokens a step");
    }
    let mut bytes: BTreeMap<&str, f64> = BTreeMap::new();
    for (pattern, more) in plan.patterns.iter().zip(plan.bytes_by_pattern()) {
        *bytes.entry(pattern.collective.name()).or_default() += more;
    }
    let words = bytes.iter().map(|(collective, bytes)| format!(", {collective} of {bytes:.0} B a step"));
    std::iter::once(gpus).chain(words).collect()
}

/// The headline of two runs, `before` and `after`; none where they have nothing in common to hold against each other.
pub fn of_two(before: &RunInfo, after: &RunInfo) -> Option<Headline> {
    of_scenarios(before, after, None)
}

/// The same of runs whose scenarios are known: the headline names a comparison of two seeds as such, and a line has the keys
/// in which the scenarios differ.
pub fn of_scenarios(
    before: &RunInfo,
    after: &RunInfo,
    scenarios: Option<[&Scenario; 2]>,
) -> Option<Headline> {
    if before.name == after.name {
        // As the page calls them.
        let after = RunInfo { name: format!("{} (2)", after.name), ..after.clone() };
        return of_scenarios(before, &after, scenarios);
    }
    let sides = [Side::of(before), Side::of(after)];
    let kinds = [sides[0].kind()?, sides[1].kind()?];
    let scenarios = scenarios.map(Scenarios::of);
    // With another seed other jobs come.
    let other_jobs = kinds[0] == Kind::Weeks && before.seed != after.seed;
    let work = |side: &Side<'_>| if other_jobs { side.days() } else { side.work().join("\n") };
    if kinds[0] != kinds[1] || work(&sides[0]) != work(&sides[1]) {
        return Some(different_questions(&sides, kinds));
    }
    let (found, noise) = differences(&sides);
    let (lead, rest) = match without_an_end(&sides) {
        Some(text) => (vec![text], lines(&found, false)),
        None => ended(&sides, &found, noise, scenarios.as_ref())?,
    };
    let keys = scenarios.as_ref().filter(|keys| !keys.differ_by_seed_alone());
    let keys = keys.and_then(|keys| keys.clause([&before.name, &after.name]));
    let b = &sides[1];
    let faulty = b.known().largest(STALL_TIME.name).is_some();
    let binds = binds(&b.known(), faulty).into_iter().map(|binds| format!("{}: {binds}", b.info.name));
    Some(written(&sides, lead, rest.into_iter().chain(packets_alone(&sides)).chain(keys).chain(binds)))
}

/// What packets suffered in a run whose other engine knows none.
fn packets_alone(sides: &[Side<'_>; 2]) -> Vec<String> {
    if sides[0].info.engine == sides[1].info.engine {
        return Vec::new();
    }
    let of = |side: &Side<'_>| {
        let mut all = packets(&side.known());
        rank(&mut all);
        all.iter().map(|evidence| format!("{}: {}", side.info.name, clause(evidence))).collect::<Vec<_>>()
    };
    sides.iter().flat_map(of).collect()
}

/// The first clause, and those after it that fit, as the headline; the others as evidence. Names of runs stay as they are.
fn written(sides: &[Side<'_>; 2], lead: Vec<String>, rest: impl Iterator<Item = String>) -> Headline {
    let line = |clause: String| {
        let rest = |side: &Side<'_>| clause.strip_prefix(side.info.name.as_str());
        let named = sides.iter().filter_map(rest).any(|rest| rest.starts_with([' ', ':', ',']));
        if named { format!("{clause}.") } else { sentence(&[clause]) }
    };
    let mut headline = Headline::default();
    for clause in lead.into_iter().map(line) {
        if headline.text.is_empty() {
            headline.text = clause;
        } else if count_words(&headline.text) + count_words(&clause) <= MOST_WORDS {
            headline.text = format!("{} {clause}", headline.text);
        } else {
            headline.evidence.push(clause);
        }
    }
    headline.evidence.extend(rest.map(line));
    headline
}

/// Clauses of the headline of two runs that have an end, and evidence lines; none where nothing sums them up.
fn ended(
    sides: &[Side<'_>; 2],
    found: &[Difference],
    noise: bool,
    scenarios: Option<&Scenarios>,
) -> Option<(Vec<String>, Vec<String>)> {
    let [a, b] = sides;
    let names = [a, b].map(|side| side.info.name.as_str());
    if let Some(scenarios) = scenarios.filter(|scenarios| scenarios.differ_by_seed_alone()) {
        let [x, y] = scenarios.seeds;
        let (apart, rest) = match found {
            [first, rest @ ..] if first.role == Role::Outcome => {
                (format!("{}, by the luck of the draw", first.line(true)), rest)
            }
            _ => (steady(sides, noise)?, found),
        };
        let lead = format!("{} and {} differ in the seed alone ({x} and {y})", names[0], names[1]);
        return Some((vec![lead, apart], lines(rest, true)));
    }
    let Some(first) = found.first() else {
        return Some((vec![steady(sides, noise)?], Vec::new()));
    };
    let mut lead = vec![first.lead(names)];
    let mut others: Vec<Difference> = found[1..].to_vec();
    if first.role != Role::Outcome {
        lead.extend(steady(sides, noise));
    }
    if *first.of == STEP_TIME
        && let Some(explained) = words::explained([a, b], first.values[0] - first.values[1])
    {
        lead.push(explained);
        others.retain(|of| *of.of != crate::figures::declared::job::EXPOSED);
    }
    let rest = first.spread().into_iter().chain(lines(&others, true)).collect();
    Some((lead, rest))
}

/// Evidence lines of differences.
fn lines(found: &[Difference], percentages: bool) -> Vec<String> {
    let more = found.len().saturating_sub(MOST_LINES);
    let lines = found.iter().take(MOST_LINES).map(|of| of.line(percentages));
    let noun = if more == 1 { "figure differs" } else { "figures differ" };
    lines.chain((more > 0).then(|| format!("{} more {noun}", whole(more as u64)))).collect()
}

/// The clause of two runs whose main figure is the same, or differs by no more than draws do; none where that is neither.
fn steady(sides: &[Side<'_>; 2], noise: bool) -> Option<String> {
    let [a, b] = sides;
    let (of, job) = b.main()?;
    let [old, new] = [a.value(job, of.name)?, b.value(job, of.name)?];
    let several = b.jobs.len() > 1 && job.is_some();
    let job = job.filter(|_| several).map_or(String::new(), |job| format!(" in job {job}"));
    let [name_a, name_b] = [a, b].map(|side| side.info.name.as_str());
    let (x, y) = (shown(old, of.unit.name()), words::summed(of, new));
    if !noise || old == new {
        return Some(format!("{name_a} and {name_b} come to the same{job}: {}", words::summed(of, old)));
    }
    let draws = match (a.has_life(), a.draws == b.draws) {
        (true, _) => " of lives".to_owned(),
        (false, true) => format!(" of {} draws", whole(a.draws)),
        (false, false) => String::new(),
    };
    Some(format!("no difference between {name_a} and {name_b}{job} beyond the noise{draws}: {x} and {y}"))
}

/// Runs that do different things: never a percentage.
fn different_questions(sides: &[Side<'_>; 2], kinds: [Kind; 2]) -> Headline {
    let begin = "different questions, so no percentage";
    let each = |of: &dyn Fn(&Side<'_>, Kind) -> String| {
        let [a, b] = [0, 1].map(|at| format!("{} asks {}", sides[at].info.name, of(&sides[at], kinds[at])));
        format!("{begin}: {a}, {b}")
    };
    let short = each(&|side, kind| match (kind, side.work().len()) {
        (Kind::Weeks, _) => "weeks of jobs".to_owned(),
        (Kind::Steps, 1) => "steps of 1 job".to_owned(),
        (Kind::Steps, jobs) => format!("steps of {jobs} jobs"),
    });
    if kinds[0] != kinds[1] {
        return written(sides, vec![short], std::iter::empty());
    }
    let long = each(&|side, kind| match (kind, &side.work()[..]) {
        (Kind::Weeks, [days, jobs, ..]) => format!("{jobs} jobs in {days} days"),
        (_, work) => work.join(" and "),
    });
    if count_words(&long) <= MOST_WORDS {
        return written(sides, vec![long], std::iter::empty());
    }
    let asks =
        |side: &Side<'_>| side.work().iter().map(|work| format!("{} asks {work}", side.info.name)).collect();
    let asks: Vec<Vec<String>> = sides.iter().map(asks).collect();
    written(sides, vec![short], asks.into_iter().flatten())
}

/// The first clause where one run, or both, have no end: never a percentage.
fn without_an_end(sides: &[Side<'_>; 2]) -> Option<String> {
    let ends = sides.each_ref().map(Side::without_end);
    let [a, b] = sides.each_ref().map(|side| side.info.name.as_str());
    let has = |side: &Side<'_>| {
        let step = side
            .worst(&STEP_TIME)
            .map_or_else(|| side.value(None, STEP_TIME.name), |job| side.value(Some(job), STEP_TIME.name));
        step.map_or(String::new(), |step| format!(", {} takes {} a step", side.info.name, time(step)))
    };
    match ends {
        [None, None] => None,
        [Some(x), Some(y)] => Some(format!("neither run ends: {a} {x}, {b} {y}")),
        [None, Some(y)] => Some(format!("{b} does not end, so no percentage: {y}{}", has(&sides[0]))),
        [Some(x), None] => Some(format!("{a} does not end, so no percentage: {x}{}", has(&sides[1]))),
    }
}

#[cfg(test)]
mod tests;
