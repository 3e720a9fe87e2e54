//! Differences in words: the first one as the headline, the others as evidence lines.
use super::difference::Difference;
use super::side::Side;
use crate::figures::declared::job::{
    BUSBW_MEAN, EXPOSED, STALL_TIME, STEP_TIME, STEPS_ENDED, THROUGHPUT_LOSS, TIME_LOST_SHARE,
};
use crate::figures::declared::life::{
    ACCUSED, AGAIN_AFTER, CHECKPOINTING, DETECTED_AFTER, DETECTED_AFTER_MOST, DETECTION, DIAGNOSIS, DOWNTIME,
    POST_CHECKPOINT, PRODUCTIVE, REINITIALISATION, SLOW, STEPS, WAITING,
};
use crate::figures::declared::network::{ACCUSATIONS, OPERATIONS_UNFINISHED};
use crate::figures::declared::{Declared, Unit, cluster};
use crate::headline::numbers::{apart, shown, time};

/// Names of figures in sentences; others are called by their names.
const LABELS: [(&Declared, &str); 31] = [
    (&DOWNTIME, "downtime"),
    (&PRODUCTIVE, "productive time"),
    (&STEPS, "kept steps"),
    (&POST_CHECKPOINT, "downtime for repeated work"),
    (&DETECTION, "downtime until detection"),
    (&DIAGNOSIS, "downtime for diagnosis and isolation"),
    (&REINITIALISATION, "downtime for restarts"),
    (&WAITING, "downtime without a spare host"),
    (&CHECKPOINTING, "time for checkpoints"),
    (&SLOW, "time lost to slow steps"),
    (&ACCUSED, "wrongly accused hosts"),
    (&DETECTED_AFTER, "median time to detect a crash"),
    (&DETECTED_AFTER_MOST, "longest time to detect a crash"),
    (&AGAIN_AFTER, "median time until steps run again"),
    (&STEP_TIME, "step time"),
    (&BUSBW_MEAN, "bus bandwidth"),
    (&STEPS_ENDED, "ended steps"),
    (&TIME_LOST_SHARE, "share of time lost to faults"),
    (&STALL_TIME, "stall of queue pairs"),
    (&THROUGHPUT_LOSS, "throughput lost after the fault"),
    (&ACCUSATIONS, "accusations by diagnosis"),
    (&OPERATIONS_UNFINISHED, "unfinished operations"),
    (&cluster::GPU_UTILIZATION, "GPU utilization"),
    (&cluster::COMPLETION_MEAN, "mean job completion time"),
    (&cluster::WAITING_MEAN, "mean queueing time"),
    (&cluster::WAITING_P95, "95th percentile of queueing time"),
    (&cluster::SLOWDOWN_MEAN, "mean slowdown of jobs"),
    (&cluster::SLOWDOWN_P95, "95th percentile of slowdown"),
    (&cluster::OWN_COLLISIONS, "collisions of own flows"),
    (&cluster::THROUGHPUT_MEAN, "throughput of jobs over that alone"),
    (&cluster::JOBS_ENDED, "ended jobs"),
];

/// A figure as the subject of a sentence.
fn label(of: &Declared, name: &str) -> String {
    let known = LABELS.iter().find(|(figure, _)| *figure == of);
    known.map_or_else(|| name.replace('_', " "), |(_, label)| (*label).to_owned())
}

/// Two values with their unit, with as many digits as tell them apart.
fn values(of: &Declared, values: [f64; 2]) -> [String; 2] {
    let unit = if of.unit == Unit::Ratio { "" } else { of.unit.name() };
    if of.unit == Unit::Count && values.iter().any(|value| value.fract() != 0.0) {
        // A median over lives may lie between two counts.
        return values.map(|value| value.to_string());
    }
    apart(values, unit)
}

/// A change as a part of the first run's value; how many times that where it is more than doubled.
fn change([old, new]: [f64; 2]) -> Option<Change> {
    let part = (new - old) / old.abs();
    // From 0 there is no percentage, and to 0 it says nothing.
    if new * old <= 0.0 {
        return None;
    }
    Some(match part {
        _ if part > 1.0 => Change::Times(shown(new / old, "")),
        _ if part > 0.0 => Change::More(shown(part, "ratio")),
        _ => Change::Less(shown(-part, "ratio")),
    })
}

enum Change {
    More(String),
    Less(String),
    Times(String),
}

impl Difference {
    /// The job where runs have several, as words that follow.
    fn job_words(&self) -> String {
        self.job.as_ref().map_or(String::new(), |job| format!(" in job {job}"))
    }

    /// The difference as the first sentence of the headline: runs first, then the change.
    pub(super) fn lead(&self, [a, b]: [&str; 2]) -> String {
        let ([old, new], job) = (values(self.of, self.values), self.job_words());
        let share = [
            (&DOWNTIME, "is down for", " of the time"),
            (&PRODUCTIVE, "does work that counts for", " of the time"),
        ];
        if *self.of == cluster::GPU_UTILIZATION {
            return format!(
                "GPUs of {b} compute for {new} of the time that jobs hold them, those of {a} for {old}"
            );
        }
        if let Some((_, verb, rest)) = share.iter().find(|(of, ..)| *of == self.of) {
            return format!("{b} {verb} {new}{rest}, {a} for {old}");
        }
        let label = label(self.of, &self.name);
        let change = if self.of.unit == Unit::Share { None } else { change(self.values) };
        let noun = if *self.of == STEP_TIME { "time a step".to_owned() } else { label.clone() };
        let verb = if *self.of == STEP_TIME { "takes" } else { "has" };
        let is_length = self.of.unit == Unit::Seconds && *self.of != STEP_TIME;
        let [more, less] = if is_length { ["longer", "shorter"] } else { ["more", "less"] };
        match change {
            Some(Change::More(part)) => {
                format!("{b} {verb} {part} {more} {noun} than {a}{job}: {new} instead of {old}")
            }
            Some(Change::Less(part)) => {
                format!("{b} {verb} {part} {less} {noun} than {a}{job}: {new} instead of {old}")
            }
            Some(Change::Times(times)) => {
                format!("{b} {verb} {times} times the {noun} of {a}{job}: {new} instead of {old}")
            }
            None => format!("{b} and {a} differ in {label}{job}: {new} instead of {old}"),
        }
    }

    /// The difference as an evidence line; without percentages where one of the runs has no end.
    pub(super) fn line(&self, percentages: bool) -> String {
        let ([old, new], job) = (values(self.of, self.values), self.job_words());
        let change = change(self.values).filter(|_| percentages && self.of.unit != Unit::Share);
        let change = match change {
            Some(Change::More(part)) => format!(" ({part} more)"),
            Some(Change::Less(part)) => format!(" ({part} less)"),
            Some(Change::Times(times)) => format!(" ({times} times)"),
            None => String::new(),
        };
        format!("{}{job}: {new} instead of {old}{change}", label(self.of, &self.name))
    }

    /// The spread of both values over draws or lives; none where neither run has one.
    pub(super) fn spread(&self) -> Option<String> {
        let [Some(a), Some(b)] = self.bands else { return None };
        if a[0] == a[1] && b[0] == b[1] {
            return None;
        }
        let over =
            if self.of.by == crate::figures::declared::By::Life { "lives" } else { "draws of the hashes" };
        let [a, b] = [a, b].map(|band| values(self.of, band).join(" to "));
        Some(format!("{}{} over {over}: {b} instead of {a}", label(self.of, &self.name), self.job_words()))
    }
}

/// The value of the figure that sums up a run.
pub(super) fn summed(of: &Declared, value: f64) -> String {
    let value = shown(value, of.unit.name());
    match of {
        _ if *of == DOWNTIME => format!("{value} downtime"),
        _ if *of == cluster::GPU_UTILIZATION => format!("{value} GPU utilization"),
        _ if *of == BUSBW_MEAN => format!("{value} of bus bandwidth"),
        _ => format!("{value} a step"),
    }
}

/// The exposed time that explains most of `saved` seconds a step; none where runs have several jobs.
pub(super) fn explained([a, b]: [&Side<'_>; 2], saved: f64) -> Option<String> {
    if a.jobs.len() > 1 || b.jobs.len() > 1 {
        return None;
    }
    let job = a.jobs.first().map(String::as_str);
    let names = || [a, b].into_iter().flat_map(|side| &side.info.figures);
    let (before, _, _) = EXPOSED.family()?;
    let axes: std::collections::BTreeSet<&str> =
        names().filter_map(|figure| crate::figures::parts_of(&figure.name).1.strip_prefix(before)).collect();
    let parts = axes.into_iter().map(|axis| {
        // No time of a run is exposed for an axis that it lacks.
        let [x, y] = [a, b].map(|side| side.value(job, &format!("{before}{axis}")).unwrap_or(0.0));
        (axis, x - y)
    });
    let along = parts.filter(|(_, seconds)| seconds * saved > 0.0);
    let (axis, seconds) = along.reduce(|x, y| if y.1.abs() > x.1.abs() { y } else { x })?;
    let words = match axis {
        "idle" => "idle time".to_owned(),
        "compute" => "computing".to_owned(),
        axis => format!("exposed {}", axis.replace('_', "-")),
    };
    Some(format!("{} of the {} between them is {words}", time(seconds.abs()), time(saved.abs())))
}
