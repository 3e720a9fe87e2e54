//! What each figure is: the one place that says its name, unit and meaning, which way is better, what it is of and
//! which engine gives it.
//!
//! Code that makes figures makes them of these declarations, so no figure is without one. A declaration that nothing
//! makes is dead code to the compiler: [`GROUPS`] holds copies, so that standing in it is no use.
pub(crate) mod cluster;
pub(crate) mod fabric;
pub(crate) mod job;
pub(crate) mod life;
pub(crate) mod network;
pub(crate) mod packets;
pub(crate) mod storage;
mod words;

use railtwin_store::Figure;
use serde_json::{Value, json};

pub use words::words;

use super::parts_of;

/// What a figure counts or measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Things, and ratios that are written as plain numbers.
    Count,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Bits per second.
    BitsPerSecond,
    /// Events or things per second.
    PerSecond,
    /// Part of a whole, 0..1, or a change: people read percent.
    Share,
    /// One amount over another of which it is no part: percent would mislead.
    Ratio,
}

impl Unit {
    /// As it stands in `run.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Seconds => "s",
            Self::Bytes => "bytes",
            Self::BitsPerSecond => "bits_per_s",
            Self::PerSecond => "1/s",
            Self::Share | Self::Ratio => "ratio",
        }
    }
}

railtwin_units::choice! {
    /// Which way a figure is better, where the rest of a run is the same.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Better {
        /// Less is better.
        Less = "less",
        /// More is better.
        More = "more",
        /// Neither: it tells how things are.
        Neither = "neither",
    }
}

/// What a figure is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// The fabric's design; the same whatever runs on it.
    Fabric,
    /// One job.
    Job,
    /// All jobs together, where there are several.
    AllJobs,
    /// The network, or the run as a whole.
    Run,
    /// The points of a sweep; in no run.
    Sweep,
}

/// What gives a figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// Either engine, and what is counted before one runs.
    Both,
    /// The packet engine alone.
    Packet,
    /// The detectors of `[telemetry]`, whichever engine ran.
    Diagnosis,
    /// `[steering]`, from a step of whichever engine.
    Life,
    /// `[gain]` of a scenario.
    Gain,
    /// Weeks of jobs, `[cluster]`.
    Cluster,
}

impl By {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Packet => "packet",
            Self::Diagnosis => "both, `[telemetry]`",
            Self::Life => "both, `[steering]`",
            Self::Gain => "both, `[gain]`",
            Self::Cluster => "`[cluster]`",
        }
    }
}

/// What a figure is, or a family of figures whose names differ in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Declared {
    /// The name; in a family one word stands in angle brackets, such as `<tier>_switches` (see [`words`]).
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// What it is of.
    pub scope: Scope,
    /// What gives it.
    pub by: By,
    lines: &'static str,
}

impl Declared {
    const fn new(
        of: (Scope, By),
        lines: &'static str,
        name: &'static str,
        unit: Unit,
        better: Better,
    ) -> Self {
        Self { name, unit, better, scope: of.0, by: of.1, lines }
    }

    /// What it means.
    pub fn meaning(&self) -> &'static str {
        self.lines.trim_start()
    }

    /// What stands before the word of a family, the place of that word, and what stands behind it.
    pub fn family(&self) -> Option<(&'static str, &'static str, &'static str)> {
        let (before, rest) = self.name.split_once('<')?;
        let (place, behind) = rest.split_once('>')?;
        Some((before, place, behind))
    }

    /// Whether a figure of this bare name is the declared one.
    fn has(&self, name: &str) -> bool {
        let Some((before, place, behind)) = self.family() else { return self.name == name };
        let word = name.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind));
        word.is_some_and(|word| words(place).is_none_or(|known| known.iter().any(|known| known == word)))
    }

    /// The figure.
    pub(crate) fn figure(&self, value: f64, note: &str) -> Figure {
        self.given(Ok(value), note)
    }

    /// The figure, or why it has no value.
    pub(crate) fn given(&self, value: Result<f64, String>, note: &str) -> Figure {
        debug_assert!(self.family().is_none(), "{} is a family", self.name);
        make(self.name, value, self.unit, note)
    }

    /// The figure of a family by its word.
    pub(crate) fn of(&self, word: &str) -> Named {
        let name = match self.family() {
            Some((before, _, behind)) => format!("{before}{word}{behind}"),
            None => self.name.to_owned(),
        };
        debug_assert!(self.family().is_some() && self.has(&name), "{} has no `{word}`", self.name);
        Named { name, unit: self.unit }
    }
}

/// One of a family.
pub(crate) struct Named {
    pub(crate) name: String,
    unit: Unit,
}

impl Named {
    /// The figure.
    pub(crate) fn figure(&self, value: f64, note: &str) -> Figure {
        self.given(Ok(value), note)
    }

    /// The figure, or why it has no value.
    pub(crate) fn given(&self, value: Result<f64, String>, note: &str) -> Figure {
        make(&self.name, value, self.unit, note)
    }
}

impl From<Declared> for Named {
    fn from(declared: Declared) -> Self {
        debug_assert!(declared.family().is_none(), "{} is a family", declared.name);
        Self { name: declared.name.to_owned(), unit: declared.unit }
    }
}

fn make(name: &str, value: Result<f64, String>, unit: Unit, note: &str) -> Figure {
    let figure = match value {
        Ok(value) if value.is_finite() => Figure::new(name, value, unit.name()),
        Ok(_) => Figure::missing(name, unit.name(), "not a finite number"),
        Err(reason) => Figure::missing(name, unit.name(), &reason),
    };
    Figure { note: note.to_owned(), ..figure }
}

/// Declares figures of one kind: `/// meaning` and `NAME = "name": Unit, Better;` of each.
macro_rules! declare {
    (
        $all:ident: $scope:ident, $by:ident;
        $($(#[doc = $line:literal])+ $name:ident = $text:literal: $unit:ident, $better:ident;)+
    ) => {
        $(
            $(#[doc = $line])+
            pub(crate) const $name: $crate::figures::declared::Declared =
                $crate::figures::declared::declare!(@one $scope, $by, ($($line),+), $text, $unit, $better);
        )+
        /// All of them.
        pub(super) const $all: &[$crate::figures::declared::Declared] = &[$(
            $crate::figures::declared::declare!(@one $scope, $by, ($($line),+), $text, $unit, $better)
        ),+];
    };
    (@one $scope:ident, $by:ident, ($($line:literal),+), $text:literal, $unit:ident, $better:ident) => {
        $crate::figures::declared::Declared::new(
            ($crate::figures::declared::Scope::$scope, $crate::figures::declared::By::$by),
            concat!($($line),+),
            $text,
            $crate::figures::declared::Unit::$unit,
            $crate::figures::declared::Better::$better,
        )
    };
}
pub(crate) use declare;

/// Figures that belong together.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// What they are of, as a heading.
    pub title: &'static str,
    /// When a run has them.
    pub when: &'static str,
    /// The figures, in the order of the reference.
    pub figures: &'static [Declared],
}

/// All figures that there are.
pub const GROUPS: [Group; 14] = [
    Group { title: "Of a job", when: "Of every job.", figures: job::JOB },
    Group {
        title: "Of a job that computes",
        when: "Of jobs that do more than collectives.",
        figures: job::STEP,
    },
    Group {
        title: "Of a job of collectives",
        when: "Of jobs that run collectives and nothing else.",
        figures: job::BUSBW,
    },
    Group {
        title: "Of a job where something breaks",
        when: "With faults, or where a queue pair died.",
        figures: job::COSTS,
    },
    Group {
        title: "Of storage",
        when: "Where a job has `checkpoint` or `read`, or serves inference.",
        figures: storage::STORAGE,
    },
    Group { title: "Of all jobs together", when: "Of several jobs.", figures: job::ALL_JOBS },
    Group { title: "Of the network and the run", when: "Of every run with jobs.", figures: network::NETWORK },
    Group { title: "Of packets", when: "Of the packet engine.", figures: packets::PACKETS },
    Group { title: "Of drawn faults", when: "With `[failures]`.", figures: network::DRAWN },
    Group {
        title: "Of the life of a job",
        when: "With `[steering]`: medians over sampled lives.",
        figures: life::LIFE,
    },
    Group {
        title: "Of diagnosis",
        when: "With `[telemetry]`, where detectors look.",
        figures: network::DIAGNOSIS,
    },
    Group { title: "Of weeks of jobs", when: "With `[cluster]`.", figures: cluster::CLUSTER },
    Group {
        title: "Of the fabric",
        when: "Of every fabric, with jobs and without.",
        figures: fabric::FABRIC,
    },
    Group {
        title: "Of a sweep",
        when: "With `[gain]`; below the points, in no run.",
        figures: network::GAIN,
    },
];

/// What a figure of this name is, with the name of a job before it or without; none of a name that is not ours.
pub fn declared(name: &str) -> Option<&'static Declared> {
    let all = || GROUPS.iter().flat_map(|group| group.figures);
    // What is of all jobs has `jobs.` in its name; a point of a sweep may have any point in it.
    all().find(|figure| figure.has(name)).or_else(|| {
        let (job, bare) = parts_of(name);
        job.and_then(|_| all().find(|figure| figure.scope == Scope::Job && figure.has(bare)))
    })
}

/// Figures as the page reads them: says of each in a list which way is better, and of which ratio percent would
/// mislead. What a figure says of itself stays.
pub fn tell(figures: &mut Value) {
    for figure in figures.as_array_mut().into_iter().flatten() {
        let Some(of) = figure["name"].as_str().and_then(declared) else { continue };
        if of.better != Better::Neither && figure.get("better").is_none() {
            figure["better"] = json!(of.better.name());
        }
        if of.unit == Unit::Ratio && figure.get("plain").is_none() {
            figure["plain"] = json!(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of all that is declared; a family by each of its words.
    fn names(of: &Declared) -> Vec<String> {
        let Some((before, place, behind)) = of.family() else { return vec![of.name.to_owned()] };
        let words = words(place).unwrap_or_else(|| vec!["balancer=c4p hosts=2.5".to_owned()]);
        words.iter().map(|word| format!("{before}{word}{behind}")).collect()
    }

    #[test]
    fn every_name_is_of_one_declaration_and_every_declaration_is_whole() {
        let all: Vec<&Declared> = GROUPS.iter().flat_map(|group| group.figures).collect();
        for of in &all {
            for name in names(of) {
                let found: Vec<_> = all.iter().filter(|other| other.has(&name)).collect();
                assert_eq!((found.len(), declared(&name)), (1, Some(*of)), "{name}");
            }
            assert!(of.meaning().ends_with('.') && of.meaning().len() < 200, "{}", of.name);
            let totals = of.name.starts_with(&format!("{}.", crate::figures::TOTALS));
            assert_eq!(totals, of.scope == Scope::AllJobs, "{}", of.name);
        }
    }

    #[test]
    fn a_figure_of_a_job_is_known_by_its_bare_name_too() {
        for name in ["step_time", "train.step_time", "v1.2.exposed_dp_ep", "a-0.gpu_memory_weights"] {
            assert_eq!(declared(name).map(|of| of.scope), Some(Scope::Job), "{name}");
        }
        // What is of the network has no job before it, and families have no words that nobody has.
        for name in ["train.fct_mean", "exposed_", "exposed_moon", "moon_switches", "step_time_max", ""] {
            assert_eq!(declared(name), None, "{name}");
        }
        assert_eq!(declared("jobs.step_time_max").map(|of| of.scope), Some(Scope::AllJobs));
        assert_eq!(declared("jobs.halted").map(|of| of.scope), Some(Scope::AllJobs));
    }

    #[test]
    fn the_better_way_of_what_people_know() {
        let better = |name: &str| declared(name).unwrap_or_else(|| panic!("no {name}")).better;
        for name in [
            "step_time",
            "train.step_time_p95",
            "jobs.step_time_max",
            "exposed_idle",
            "worst_link_utilization",
            "fct_p99",
            "halted",
            "stall_time",
            "time_lost",
            "packets_dropped",
            "pause_frames_nic_to_leaf",
            "paused_share_leaf_to_nic_max",
            "queue_bytes_max_leaf_down",
            "core_buffer_bytes_mean",
            "round_trip_p50",
            "max_mean_ratio_leaf_up_flows",
            "nic_port_ratio_max",
            "gpu_memory_share",
            "operations_unfinished",
            "throughput_loss",
            "busbw_per_nic_spread",
            "found_after",
        ] {
            assert_eq!(better(name), Better::Less, "{name}");
        }
        for name in [
            "tokens_per_s",
            "mfu",
            "busbw_min",
            "jobs.busbw_per_nic_mean",
            "throughput_at_end",
            "truth_in_set",
        ] {
            assert_eq!(better(name), Better::More, "{name}");
        }
        for name in ["gpus_active", "leaf_switches", "volume_dp", "packets_sent", "cnps", "drawn_slow_gpu"] {
            assert_eq!(better(name), Better::Neither, "{name}");
        }
    }
}
