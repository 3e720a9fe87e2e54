//! The sources that each kind of case depends on: whole crates (`railtwin-units`), or modules of a crate
//! (`railtwin/cluster`, a file or a folder).
//!
//! A superfluous name costs a run of `make reproduce`; a missing name lets a stale figure stand. A test requires each source
//! file of the façade and of the crates below it in at least one list, and at least one source file for each name.
use railtwin_scenario::{EngineName, Scenario};

/// Sources of every run.
const EVERY: &[&str] = &[
    "railtwin-units",
    "railtwin-fabric",
    "railtwin-routing",
    "railtwin-workload",
    "railtwin-control",
    "railtwin-engine",
    "railtwin-flowsim",
    "railtwin-scenario",
    "railtwin-records/fault",
    "railtwin-records/table",
    "railtwin/assumed",
    "railtwin/balance",
    "railtwin/busbw",
    "railtwin/capacity",
    "railtwin/engines",
    "railtwin/exposed",
    "railtwin/fault_states",
    "railtwin/faults",
    "railtwin/figures",
    "railtwin/gain",
    "railtwin/headline",
    "railtwin/job_figures",
    "railtwin/link_bins",
    "railtwin/links",
    "railtwin/memory_figures",
    "railtwin/movement",
    "railtwin/moves",
    "railtwin/nic_ports",
    "railtwin/question",
    "railtwin-evaluation/reproduce/mod",
    "railtwin-evaluation/reproduce/pick",
    "railtwin-evaluation/reproduce/points",
    "railtwin-evaluation/reproduce/robust",
    "railtwin-evaluation/reproduce/sweep",
    "railtwin/run",
    "railtwin/simulate",
    "railtwin/simulation",
    "railtwin/stall_causes",
    "railtwin/stops",
    "railtwin/storage",
    "railtwin/tables",
    "railtwin/time_up",
];

/// Additional sources of scenarios that read a file.
const READ: &[&str] = &[
    "railtwin-formats/cable_list",
    "railtwin-formats/chakra",
    "railtwin-formats/chakra_convert",
    "railtwin-formats/chakra_groups",
    "railtwin-formats/chakra_match",
    "railtwin-formats/chakra_order",
    "railtwin-formats/chakra_plan",
    "railtwin-formats/chakra_proto",
    "railtwin-formats/chakra_set",
    "railtwin-formats/chakra_wire",
    "railtwin-formats/htsim_connections",
    "railtwin-formats/htsim_lines",
    "railtwin-formats/htsim_topology",
    "railtwin-formats/job_list",
    "railtwin-formats/lingjun",
    "railtwin-formats/lingjun_fabric",
    "railtwin-formats/simai",
    "railtwin-formats/simai_header",
    "railtwin-formats/simai_parse",
    "railtwin-formats/simai_plan",
];

/// Additional sources of runs of the packet engine.
const PACKETS: &[&str] =
    &["railtwin-packetsim", "railtwin/packet_figures", "railtwin/packet_sample", "railtwin/packet_tables"];

/// Additional sources of traffic inside hosts.
const INSIDE: &[&str] = &["railtwin-packetsim", "railtwin/intranode", "railtwin-calibration/least_squares"];

/// Additional sources of weeks of jobs.
const WEEKS: &[&str] = &["railtwin-clustersim", "railtwin/cluster"];

/// Additional sources of random failures, and of a job's lifetime under them.
const RELIABILITY: &[&str] = &["railtwin-reliability", "railtwin/life"];

/// Additional sources of cases with telemetry and its diagnosis.
const JUDGED: &[&str] = &[
    "railtwin-diagnosis",
    "railtwin-packetsim",
    "railtwin-records",
    "railtwin-telemetry",
    "railtwin/probe_rounds",
    "railtwin/probe_tables",
    "railtwin-evaluation/score",
    "railtwin/telemetry_run",
    "railtwin/watch",
    "railtwin/wiring",
];

/// Additional sources of two jobs that share a fabric.
const NEIGHBORS: &[&str] = &["railtwin/interference", "railtwin-evaluation/reproduce/tenants"];

/// The calculations, and sources of calculations alone.
const CALCULATED: &[&str] = &[
    "railtwin-calibration/bandwidth/bounds",
    "railtwin-evaluation/reproduce/bursts",
    "railtwin-evaluation/reproduce/calculate",
    "railtwin-evaluation/reproduce/co_tuning",
    "railtwin-evaluation/reproduce/cross_segment",
    "railtwin-evaluation/reproduce/crux",
    "railtwin-evaluation/reproduce/detect",
    "railtwin-evaluation/reproduce/experts",
    "railtwin-evaluation/reproduce/job_sizes",
    "railtwin-evaluation/reproduce/relay",
    "railtwin-evaluation/reproduce/sauron",
    "railtwin-evaluation/reproduce/testbed",
    "railtwin-evaluation/reproduce/weeks",
    "railtwin-calibration/least_squares",
    "railtwin-calibration/tune",
];

/// Sources of quick calculations alone, which tests compute in every run.
#[cfg(test)]
const QUICK: &[&str] = &["railtwin-catalog", "railtwin-evaluation/reproduce/design", "railtwin-planning"];

/// Sources that change no figure of the table: words, pages, output files, estimates before a run, and answers to other
/// questions.
#[cfg(test)]
const NOT_NEEDED: &[&str] = &[
    "railtwin-cabling",
    "railtwin-topology",
    "railtwin-formats/error",
    "railtwin-formats/lib",
    "railtwin-formats/simai_topology",
    "railtwin-formats/simai_warn",
    "railtwin-formats/simai_write",
    "railtwin-formats/telemetry",
    "railtwin-live",
    "railtwin-pairs",
    "railtwin-reading",
    "railtwin-scaling",
    "railtwin-store",
    "railtwin-calibration/bandwidth",
    "railtwin-calibration/calibrate",
    "railtwin-calibration/lib",
    "railtwin-calibration/products",
    "railtwin-evaluation/lib",
    "railtwin/columns",
    "railtwin/control_page",
    "railtwin/cost",
    "railtwin/cost_json",
    "railtwin/diagnose",
    "railtwin/diagnosed_page",
    "railtwin/diagnosis_page",
    "railtwin/error",
    "railtwin/estimate",
    "railtwin/events",
    "railtwin/host_model",
    "railtwin/impact",
    "railtwin/lib",
    "railtwin/map",
    "railtwin/memory",
    "railtwin/packet_page",
    "railtwin/paths",
    "railtwin/progress",
    "railtwin/queue_pairs",
    "railtwin/report",
    // Keys and words of the table itself. The quick rows, which every test run computes, check how numbers are printed.
    "railtwin-evaluation/reproduce/agreed",
    "railtwin-evaluation/reproduce/cost",
    "railtwin-evaluation/reproduce/keys",
    "railtwin-evaluation/reproduce/page",
    "railtwin-evaluation/reproduce/rows",
    "railtwin/runnable",
    "railtwin/schedule",
    "railtwin/site",
    "railtwin/stand_in",
    "railtwin/what_if",
    // Frames and hops of neighbors, and configuration, which no row reads.
    "railtwin-formats/frames",
    "railtwin-formats/int_hops",
    "railtwin-formats/switch_config",
];

/// Crates that the evaluation does not depend on.
#[cfg(test)]
const BESIDE: &[&str] = &[
    "railtwin-answers",
    "railtwin-cli",
    "railtwin-features",
    "railtwin-lab",
    "railtwin-python",
    "railtwin-replay",
    "railtwin-testkit",
    "railtwin-watch",
    "railtwin-worker",
];

/// A calculation, the scenarios of the papers that it reads, and its lists of sources in addition to [`EVERY`].
struct Calculation {
    name: &'static str,
    papers: &'static [&'static str],
    lists: &'static [&'static [&'static str]],
}

/// Dependencies of the calculations that take long. A calculation without an entry depends on all sources and scenarios.
const CALCULATIONS: &[Calculation] = &[
    Calculation { name: "crux-cases", papers: &[], lists: &[CALCULATED] },
    Calculation { name: "crux-clos", papers: &["crux-clos"], lists: &[WEEKS, CALCULATED] },
    Calculation { name: "crux-clos-losses", papers: &["crux-clos"], lists: &[WEEKS, CALCULATED] },
    Calculation { name: "crux-double-sided", papers: &["crux-double-sided"], lists: &[WEEKS, CALCULATED] },
    Calculation { name: "experts-low-latency", papers: &["experts-h100"], lists: &[CALCULATED] },
    Calculation { name: "experts-normal", papers: &["experts-h800-normal"], lists: &[CALCULATED] },
    Calculation { name: "crux-schedulers", papers: &["crux-clos"], lists: &[WEEKS, CALCULATED] },
    Calculation {
        name: "crux-testbed-gpt-bert",
        papers: &["crux-testbed-gpt-bert"],
        lists: &[READ, WEEKS, CALCULATED],
    },
    Calculation {
        name: "crux-testbed-mixed",
        papers: &["crux-testbed-mixed"],
        lists: &[READ, WEEKS, CALCULATED],
    },
    Calculation {
        name: "crux-testbed-pcie",
        papers: &["crux-testbed-pcie"],
        lists: &[READ, WEEKS, CALCULATED],
    },
    Calculation { name: "gpt3-and-bert", papers: &["gpt3-and-bert"], lists: &[NEIGHBORS, CALCULATED] },
    Calculation {
        name: "gpt3-and-bert-settings",
        papers: &["gpt3-and-bert-settings"],
        lists: &[NEIGHBORS, CALCULATED],
    },
    Calculation { name: "response-time", papers: &[], lists: &[RELIABILITY, JUDGED, CALCULATED] },
    Calculation {
        name: "sauron-pairs",
        papers: &["sauron-ib-read", "sauron-ib-send", "sauron-ib-write"],
        lists: &[INSIDE, CALCULATED],
    },
];

/// Dependencies of a case.
pub(super) struct Dependencies {
    /// Names of scenarios; `None` stands for all.
    pub(super) papers: Option<Vec<&'static str>>,
    /// Names of sources; `None` stands for all.
    pub(super) sources: Option<Vec<&'static str>>,
}

/// Returns the dependencies of a calculation.
pub(super) fn of_calculation(name: &str) -> Dependencies {
    let Some(known) = CALCULATIONS.iter().find(|known| known.name == name) else {
        return Dependencies { papers: None, sources: None };
    };
    let sources = known.lists.iter().chain([&EVERY]).flat_map(|list| list.iter().copied()).collect();
    Dependencies { papers: Some(known.papers.to_vec()), sources: Some(sources) }
}

/// Returns the names of sources that the points of a scenario depend on.
pub(super) fn of_scenario<'a>(
    points: impl Iterator<Item = &'a Scenario>,
    reads_files: bool,
) -> Vec<&'static str> {
    let mut sources = EVERY.to_vec();
    sources.extend(if reads_files { READ } else { &[] });
    for scenario in points {
        let is_judged = scenario.telemetry.is_some();
        let fails = is_judged || scenario.steering.is_some() || scenario.failures.is_some();
        for (goes, list) in [
            (scenario.engine == EngineName::Packet, PACKETS),
            (scenario.intranode.is_some(), INSIDE),
            (scenario.cluster.is_some(), WEEKS),
            (fails, RELIABILITY),
            (is_judged, JUDGED),
        ] {
            sources.extend(if goes { list } else { &[] });
        }
    }
    sources.sort_unstable();
    sources.dedup();
    sources
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::keys::{SOURCES, is_of};

    const LISTS: &[&[&str]] =
        &[EVERY, READ, PACKETS, INSIDE, WEEKS, RELIABILITY, JUDGED, NEIGHBORS, CALCULATED, QUICK, NOT_NEEDED];

    #[test]
    fn each_source_stands_in_a_list_and_each_name_finds_sources() {
        let names = || LISTS.iter().flat_map(|list| list.iter());
        for (file, _) in SOURCES {
            let list = "crates/railtwin-evaluation/src/reproduce/keys/parts.rs";
            assert!(names().any(|name| is_of(file, name)), "{file} stands in no list of {list}");
        }
        for name in names() {
            assert!(SOURCES.iter().any(|(file, _)| is_of(file, name)), "{name} is no source any more");
        }
    }

    #[test]
    fn each_crate_is_under_the_evaluation_or_beside_it() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let entries = std::fs::read_dir(folder).unwrap();
        for name in entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
            let is_under = SOURCES.iter().any(|(file, _)| is_of(file, &name));
            assert_ne!(is_under, BESIDE.contains(&name.as_str()), "{name}");
        }
    }

    #[test]
    fn calculations_that_are_listed_are_of_the_table() {
        for known in CALCULATIONS {
            let source = format!("{}{}", crate::reproduce::CALCULATION, known.name);
            assert!(crate::reproduce::rows().iter().any(|row| row.source() == source), "{}", known.name);
            for name in known.papers {
                assert!(crate::reproduce::PAPERS.iter().any(|(paper, _)| paper == name), "{name}");
            }
        }
    }
}
