//! The headline of two runs: trouble in either, then what the second takes of the first, or that there is no difference.
//!
//! There is one base for percentages: the first run. A step of 8.460 s instead of 9.852 s takes 14.1 % less time, as
//! the page's tile and the table of `railtwin compare` have it.
use std::collections::BTreeMap;

use railtwin_store::RunInfo;
use railtwin_workload::Plan;

use super::binds::binds;
use super::evidence::rank;
use super::known::Known;
use super::lines::Headline;
use super::numbers::{shown, time, whole};
use super::trouble::{faults, packets};
use super::words::clause;
use crate::figures::declared::{Better, declared};

/// Relative difference below which two runs are called the same where no draws tell how much is noise; the page's
/// rows do so too.
const SAME: f64 = 5e-4;
/// Name of the fact that says how many draws of the hash seeds a run has.
pub const DRAWS: &str = "draws of the hash seeds";
/// First word of the names of facts that say what a job is.
pub const JOB: &str = "job ";

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

/// One side of a comparison.
struct Side<'a> {
    info: &'a RunInfo,
    jobs: Vec<String>,
}

impl<'a> Side<'a> {
    fn of(info: &'a RunInfo) -> Self {
        let jobs = info.facts.keys().filter_map(|name| name.strip_prefix(JOB)).map(str::to_owned).collect();
        Self { info, jobs }
    }

    fn known(&self) -> Known<'_> {
        Known { figures: &self.info.figures, jobs: &self.jobs, again: 0 }
    }

    /// What its jobs are, whatever they are called.
    fn work(&self) -> Vec<&str> {
        let mut work: Vec<&str> = self
            .info
            .facts
            .iter()
            .filter(|(name, _)| name.starts_with(JOB))
            .map(|(_, text)| text.as_str())
            .collect();
        work.sort_unstable();
        work
    }

    /// The largest value of a figure over jobs.
    fn largest(&self, name: &str) -> f64 {
        let known = self.known();
        known.largest(name).map_or_else(|| known.count(name), |(_, value)| value)
    }

    /// Why it has no end; none where it has one.
    fn standing(&self) -> Option<String> {
        let known = self.known();
        let jobs = 0..self.jobs.len().max(1);
        let reason =
            jobs.filter_map(|job| known.of_job(job, "step_time")).find(|figure| figure.value.is_none());
        let reason = reason.map(|figure| figure.reason.clone()).filter(|reason| !reason.is_empty());
        let unfinished = known.count("operations_unfinished");
        let halted = self.largest("halted") > 0.0;
        if reason.is_none() && unfinished == 0.0 && !halted {
            return None;
        }
        if let Some(reason) = reason {
            return Some(format!("has no step time ({reason})"));
        }
        let word = if halted { "halted" } else { "never came to its end" };
        let operations =
            (unfinished > 0.0).then(|| format!(" ({} operations unfinished)", whole(unfinished as u64)));
        Some(format!("{word}{}", operations.unwrap_or_default()))
    }

    /// What befell it: accusations, what faults and packets cost; the worst first.
    fn troubles(&self) -> Vec<String> {
        let known = self.known();
        let accusations = known.count("accusations") as u64;
        let word = if accusations == 1 { "accusation" } else { "accusations" };
        let mut clauses = Vec::new();
        if accusations > 0 {
            clauses.push(format!("{} {word} by diagnosis", whole(accusations)));
        }
        // The length of a run is not among its figures; its steps are at most as long.
        let mut all = faults(&known, self.largest("step_time"));
        all.extend(packets(&known));
        rank(&mut all);
        clauses.extend(all.iter().map(clause));
        clauses
    }

    /// What stands before the names of figures: nothing where there is a bare one, else the job that is worst in it.
    fn worst(&self, name: &str) -> Option<String> {
        if self.value(name).is_some() {
            return Some(String::new());
        }
        let more = declared(name).is_some_and(|figure| figure.better == Better::More);
        let sign = if more { -1.0 } else { 1.0 };
        let values = self
            .jobs
            .iter()
            .filter_map(|job| Some((format!("{job}."), self.value(&format!("{job}.{name}"))?)));
        values.reduce(|a, b| if sign * b.1 > sign * a.1 { b } else { a }).map(|(prefix, _)| prefix)
    }

    fn value(&self, name: &str) -> Option<f64> {
        self.info.figure(name).and_then(|figure| figure.value)
    }

    /// Lowest, middle and highest step time over draws.
    fn band(&self, prefix: &str) -> Option<[f64; 3]> {
        let names = ["step_time_p5", "step_time", "step_time_p95"];
        let [low, median, high] = names.map(|name| self.value(&format!("{prefix}{name}")));
        Some([low?, median?, high?])
    }
}

/// The headline of two runs, `before` and `after`; none where they have nothing in common to hold against each other.
pub fn of_two(before: &RunInfo, after: &RunInfo) -> Option<Headline> {
    if before.name == after.name {
        // As the page calls them.
        return of_two(before, &RunInfo { name: format!("{} (2)", after.name), ..after.clone() });
    }
    let sides = [Side::of(before), Side::of(after)];
    let [a, b] = &sides;
    let [name_a, name_b] = [&before.name, &after.name];
    if let Some(text) = without_an_end(&sides) {
        return Some(Headline::of("", &[text]));
    }
    let mut sentences = Vec::new();
    for (side, other) in [(b, a), (a, b)] {
        let others = other.troubles();
        let own: Vec<String> =
            side.troubles().into_iter().filter(|trouble| !others.contains(trouble)).take(1).collect();
        if let [worst] = &own[..] {
            sentences.push(format!("{}: {worst}", side.info.name));
        }
    }
    if a.work() != b.work() {
        let each = [a, b].map(|side| format!("{} asks {}", side.info.name, side.work().join(" and ")));
        sentences.push(format!("Different questions, so no percentage: {}", each.join(", ")));
        return Some(Headline::of("", &sentences));
    }
    // The worst job of the second run, and the same job of the first.
    let pick = |name: &'static str| {
        let prefix = b.worst(name)?;
        let values = [a, b].map(|side| side.value(&format!("{prefix}{name}")));
        Some((prefix, values[0]?, values[1]?))
    };
    let busbw = pick("busbw_mean");
    let bandwidth = busbw.is_some();
    let (prefix, old, new) = busbw.or_else(|| pick("step_time"))?;
    let unit = if bandwidth { "bits_per_s" } else { "s" };
    let values = [old, new].map(|value| shown(value, unit));
    let what = if bandwidth { "of bus bandwidth" } else { "a step" };
    let job = prefix.strip_suffix('.').map_or(String::new(), |job| format!(" in job {job}"));
    match verdict([a, b], &prefix, old, new) {
        Verdict::Same => {
            sentences.push(format!("{name_a} and {name_b} come to the same{job}: {} {what}", values[0]))
        }
        Verdict::Noise(draws) => {
            let draws = draws.map_or(String::new(), |draws| format!(" of {} draws", whole(draws)));
            sentences.push(format!(
                "No difference between {name_a} and {name_b}{job} beyond the noise{draws}: {} and {} {what}",
                values[0], values[1]
            ));
        }
        Verdict::Differ => {
            let change = (new - old) / old;
            let more = if change > 0.0 { "more" } else { "less" };
            let share = shown(change.abs(), "ratio");
            let saved = if bandwidth { None } else { explained(a, b, old - new) };
            let saved = saved.map_or(String::new(), |text| format!("; {text}"));
            let text = if bandwidth {
                format!("{name_b} has {share} {more} bus bandwidth than {name_a}{job}")
            } else {
                format!("{name_b} takes {share} {more} time a step than {name_a}{job}")
            };
            sentences.push(format!("{text}: {} instead of {}{saved}", values[1], values[0]));
        }
    }
    // Figures of what faults cost are there where anything broke.
    let faulty = b.known().largest("stall_time").is_some();
    sentences.extend(binds(&b.known(), faulty).into_iter().map(|binds| format!("{name_b}: {binds}")));
    Some(Headline::of("", &sentences))
}

/// What is said where one run, or both, have no end: never a percentage.
fn without_an_end(sides: &[Side<'_>; 2]) -> Option<String> {
    let standing = sides.each_ref().map(Side::standing);
    let [a, b] = sides.each_ref().map(|side| side.info.name.as_str());
    let has = |side: &Side<'_>| {
        let step = side.worst("step_time").and_then(|prefix| side.value(&format!("{prefix}step_time")));
        step.map_or(String::new(), |step| format!("; {} takes {} a step", side.info.name, time(step)))
    };
    match standing {
        [None, None] => None,
        [Some(x), Some(y)] => Some(format!("Neither run has an end to compare: {a} {x}, {b} {y}")),
        [None, Some(y)] => {
            Some(format!("{b} {y}{}. A run without an end has no percentage", has(&sides[0])))
        }
        [Some(x), None] => {
            Some(format!("{a} {x}{}. A run without an end has no percentage", has(&sides[1])))
        }
    }
}

/// How two values stand to each other.
enum Verdict {
    /// Equal as far as people read them.
    Same,
    /// Within what seeds of the hashes give, of so many draws where both runs have as many.
    Noise(Option<u64>),
    /// Apart.
    Differ,
}

/// Bands of step times decide whether values of `prefix` are apart; a side without draws has none.
fn verdict(sides: [&Side<'_>; 2], prefix: &str, old: f64, new: f64) -> Verdict {
    if old == new {
        return Verdict::Same;
    }
    if let [Some(a), Some(b)] = sides.map(|side| side.band(prefix))
        && (a[0] < a[2] || b[0] < b[2])
        && (a[0]..=a[2]).contains(&b[1])
        && (b[0]..=b[2]).contains(&a[1])
    {
        let draws = sides.map(|side| side.info.facts.get(DRAWS).and_then(|text| text.parse::<u64>().ok()));
        return Verdict::Noise(draws[0].filter(|_| draws[0] == draws[1]));
    }
    if ((new - old) / old).abs() < SAME { Verdict::Same } else { Verdict::Differ }
}

/// The exposed time that tells most of `saved` seconds a step.
fn explained(a: &Side<'_>, b: &Side<'_>, saved: f64) -> Option<String> {
    let axes = ["tp", "ep", "dp", "dp_ep", "pp", "other", "storage", "idle", "compute"];
    let value = |side: &Side<'_>, axis: &str| side.known().value_of_job(0, &format!("exposed_{axis}"));
    // What one run does not have at all took none of its time.
    let part = |axis: &'static str| {
        let (x, y) = (value(a, axis), value(b, axis));
        (x.is_some() || y.is_some()).then(|| (axis, x.unwrap_or(0.0) - y.unwrap_or(0.0)))
    };
    let parts = axes.into_iter().filter_map(part).filter(|_| a.jobs.len() < 2 && b.jobs.len() < 2);
    let along = parts.filter(|(_, seconds)| seconds * saved > 0.0);
    let (axis, seconds) = along.reduce(|x, y| if y.1.abs() > x.1.abs() { y } else { x })?;
    let words = match axis {
        "idle" => "idle time".to_owned(),
        "compute" => "computing".to_owned(),
        axis => format!("exposed {}", axis.replace('_', "-")),
    };
    Some(format!("{} of the {} between them is {words}", time(seconds.abs()), time(saved.abs())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin_store::Figure;

    fn info(name: &str, values: &[(&str, f64)]) -> RunInfo {
        let mut info = RunInfo::starting("", "", name, "flow", 1);
        info.figures = values.iter().map(|(name, value)| Figure::new(name, *value, "s")).collect();
        info.facts.insert("job train".to_owned(), "64 GPUs".to_owned());
        info.facts.insert(DRAWS.to_owned(), "20".to_owned());
        info
    }

    fn steps(name: &str, [low, median, high]: [f64; 3]) -> RunInfo {
        info(name, &[("step_time", median), ("step_time_p5", low), ("step_time_p95", high)])
    }

    fn told(a: &RunInfo, b: &RunInfo) -> String {
        let Headline { text, evidence } = of_two(a, b).unwrap();
        std::iter::once(text).chain(evidence).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn percentages_are_of_the_first_run() {
        let mut a = steps("dcn", [9.84, 9.852, 9.86]);
        let mut b = steps("hpn", [8.45, 8.46, 8.47]);
        a.figures.push(Figure::new("exposed_dp_ep", 2.243, "s"));
        b.figures.push(Figure::new("exposed_dp_ep", 1.113, "s"));
        assert_eq!(
            told(&a, &b),
            "hpn takes 14.1 % less time a step than dcn: 8.460 s instead of 9.852 s; 1.130 s of the 1.392 s between \
             them is exposed dp-ep."
        );
        assert!(
            told(&b, &a)
                .starts_with("dcn takes 16.5 % more time a step than hpn: 9.852 s instead of 8.460 s")
        );
    }

    #[test]
    fn waiting_for_storage_is_told() {
        let [mut a, mut b] = [("a", 3.0), ("b", 2.0)].map(|(name, step)| steps(name, [step; 3]));
        a.figures.push(Figure::new("exposed_storage", 1.5, "s"));
        b.figures.push(Figure::new("exposed_storage", 0.5, "s"));
        assert!(
            told(&a, &b).ends_with("1.000 s of the 1.000 s between them is exposed storage."),
            "{}",
            told(&a, &b)
        );
    }

    #[test]
    fn ties_are_no_difference() {
        let a = steps("a", [1.0, 1.1, 1.2]);
        assert_eq!(told(&a, &a), "a and a (2) come to the same: 1.100 s a step.");
        let b = steps("b", [1.05, 1.12, 1.3]);
        assert_eq!(
            told(&a, &b),
            "No difference between a and b beyond the noise of 20 draws: 1.100 s and 1.120 s a step."
        );
        // One draw of each: what page and table call the same.
        let [x, y, z] = [2.0, 2.0005, 2.002].map(|step| steps("x", [step; 3]));
        assert!(told(&x, &y).contains("come to the same"), "{}", told(&x, &y));
        assert!(told(&x, &z).contains("0.10 % more time"), "{}", told(&x, &z));
        // A median within the other's band is no tie where the other's is not.
        let narrow = steps("n", [1.15, 1.16, 1.17]);
        assert!(told(&a, &narrow).contains("5.5 % more"), "{}", told(&a, &narrow));
    }

    #[test]
    fn a_run_without_an_end_has_no_percentage() {
        let a = steps("a", [9.9, 9.93, 10.0]);
        let mut b = info("b", &[("halted", 1.0), ("operations_unfinished", 278_984.0)]);
        b.figures.push(Figure::new("step_time", 9.0, "s"));
        assert_eq!(
            told(&a, &b),
            "b halted (278,984 operations unfinished); a takes 9.930 s a step. A run without an end has no percentage"
        );
        b.figures[2] = Figure::missing("step_time", "s", "halted at 12.5 s");
        assert!(told(&b, &a).starts_with("b has no step time (halted at 12.5 s); a takes 9.930 s a step."));
        assert!(told(&b, &b).starts_with("Neither run has an end"));
    }

    #[test]
    fn trouble_comes_first_and_different_jobs_are_different_questions() {
        let a = info("a", &[("step_time", 1.0), ("busbw_mean", 1e11)]);
        let mut b = a.clone();
        b.name = "b".to_owned();
        b.figures[1].value = Some(0.9e11);
        let pauses = [("pause_frames", 15_183.0), ("paused_share_nic_to_leaf_max", 0.4)];
        b.figures.extend(pauses.map(|(name, value)| Figure::new(name, value, "")));
        assert_eq!(
            told(&a, &b),
            "b: 15,183 pause frames: links from leaf to NIC stood still for up to 40.0 % of the run. \
             b has 10.0 % less bus bandwidth than a: 90.0 Gbps instead of 100 Gbps."
        );
        b.facts.insert("job train".to_owned(), "128 GPUs".to_owned());
        let text = told(&a, &b);
        assert!(
            text.ends_with("Different questions, so no percentage: a asks 64 GPUs, b asks 128 GPUs."),
            "{text}"
        );
    }

    #[test]
    fn of_several_jobs_the_worst_is_compared_with_itself() {
        let both = |name: &str, x: f64, y: f64| {
            let mut info = info(name, &[("x.step_time", x), ("y.step_time", y)]);
            info.facts = ["job x", "job y"].map(|job| (job.to_owned(), "8 GPUs".to_owned())).into();
            info
        };
        let (a, b) = (both("a", 9.0, 2.0), both("b", 1.0, 3.0));
        assert_eq!(
            told(&a, &b),
            "b takes 50.0 % more time a step than a in job y: 3.000 s instead of 2.000 s."
        );
    }
}
