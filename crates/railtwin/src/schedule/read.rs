//! The file of `railtwin schedule`: links, jobs, and the paths that their transfers may take.
use std::collections::BTreeMap;
use std::ops::Range;

use railtwin_control::crux::contention::Start;
use railtwin_control::crux::demand::Demand;
use railtwin_control::crux::tenants::{Candidate, SharedLink, Tenant, Tenants, Transfer};
use railtwin_scenario::{Problem, ScenarioError};
use railtwin_units::{Bytes, Rate, SimTime};
use serde::Deserialize;
use toml::Spanned;

/// Version of the format.
const SCHEMA: u32 = 1;
/// Priority levels of a switch where the file does not say.
const LEVELS: u32 = 8;
/// Most levels.
const LEVELS_MOST: u32 = 64;
/// Most jobs of a file.
const JOBS_MOST: usize = 128;
/// Most GPUs of a job.
const GPUS_MOST: u32 = 10_000_000;
/// Largest code point of the DSCP field (RFC 2474, section 3).
const DSCP_MOST: u8 = 63;
/// First UDP source port of RoCEv2 (InfiniBand specification, annex A17).
const PORT_LEAST: u16 = 0xC000;
/// Window in longest steps where the file does not say.
const WINDOW_STEPS: f64 = 100.0;
/// Most steps of all jobs within the window.
pub const STEPS_MOST: f64 = 1e6;

/// What is asked: jobs, and the network that they share.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// Jobs and links.
    pub tenants: Tenants,
    /// Priority levels of the network.
    pub levels: u32,
    /// By level, the highest first: its code point.
    pub dscp: Vec<u8>,
    /// Of hashes and random orders.
    pub seed: u64,
    /// When each job's first step begins.
    pub start: Start,
    /// Seconds for which the jobs are watched.
    pub window: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    schema: Spanned<u32>,
    #[serde(default)]
    levels: Option<Spanned<u32>>,
    #[serde(default)]
    dscp: Option<Spanned<Vec<u8>>>,
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    window: Option<Spanned<SimTime>>,
    #[serde(default)]
    link: Vec<LinkText>,
    #[serde(default)]
    job: Vec<JobText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkText {
    name: Spanned<String>,
    capacity: Spanned<Rate>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JobText {
    name: Spanned<String>,
    gpus: Spanned<u32>,
    compute: Spanned<SimTime>,
    #[serde(default)]
    overlap_from: Option<Spanned<f64>>,
    #[serde(default)]
    work: Option<Spanned<f64>>,
    #[serde(default)]
    intensity: Option<Spanned<f64>>,
    #[serde(default)]
    start: Option<SimTime>,
    #[serde(default)]
    transfer: Vec<TransferText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TransferText {
    bytes: Bytes,
    path: Spanned<Vec<PathText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PathText {
    links: Vec<Spanned<String>>,
    #[serde(default)]
    source_port: Option<Spanned<u16>>,
}

/// Collects problems at their places.
struct Check<'a> {
    text: &'a str,
    problems: Vec<Problem>,
}

impl Check<'_> {
    fn refuse(&mut self, span: Range<usize>, message: String, hint: &str) {
        self.problems.push(Problem::new(self.text, span, message, Some(hint.to_owned())));
    }

    /// The value, or `or` where it does not fit.
    fn within<T: Copy + std::fmt::Display>(
        &mut self,
        value: &Spanned<T>,
        key: &str,
        fits: bool,
        hint: &str,
    ) -> T {
        if !fits {
            self.refuse(value.span(), format!("{key} cannot be {}", value.get_ref()), hint);
        }
        *value.get_ref()
    }
}

impl Asked {
    /// Steps of all jobs alone within a time: what a simulation of it costs.
    pub fn steps_within(&self, window: SimTime) -> f64 {
        most_steps(&self.tenants, window.seconds())
    }

    /// Reads a file; `file` is the name that errors show.
    ///
    /// # Errors
    /// [`ScenarioError`] with every problem at its place.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let wrong = |error: toml::de::Error| {
            let span = error.span().unwrap_or(0..0);
            ScenarioError::new(file, vec![Problem::new(text, span, error.message(), None)])
        };
        let read: Text = toml::from_str(text).map_err(wrong)?;
        let mut check = Check { text, problems: Vec::new() };
        let asked = read.checked(&mut check);
        match check.problems.is_empty() {
            true => Ok(asked),
            false => Err(ScenarioError::new(file, check.problems)),
        }
    }
}

/// Most steps of all jobs in so many seconds: each alone, and every transfer alone on its fastest path.
fn most_steps(tenants: &Tenants, window: f64) -> f64 {
    let seconds = |transfer: &Transfer, path: &Candidate| {
        let rate = |&link: &u32| tenants.links[link as usize].capacity.bytes_per_s();
        transfer.bytes.0 as f64 / path.links.iter().map(rate).fold(f64::INFINITY, f64::min)
    };
    let fastest = |transfer: &Transfer| {
        transfer.candidates.iter().map(|path| seconds(transfer, path)).fold(f64::INFINITY, f64::min)
    };
    let least = |job: &Tenant| {
        let compute = job.compute.seconds();
        compute.max(compute * job.overlap_from + job.transfers.iter().map(fastest).fold(0.0, f64::max))
    };
    tenants.jobs.iter().map(|job| window / least(job)).sum()
}

impl Text {
    fn checked(&self, check: &mut Check<'_>) -> Asked {
        let schema = *self.schema.get_ref();
        check.within(&self.schema, "schema", schema == SCHEMA, "this version reads 1");
        let (levels, dscp) = self.levels(check);
        let links = self.links(check);
        let numbers: BTreeMap<&str, u32> =
            self.link.iter().zip(0..).map(|(link, number)| (link.name.get_ref().as_str(), number)).collect();
        if self.job.is_empty() || self.job.len() > JOBS_MOST {
            let message = format!("there are {} jobs", self.job.len());
            check.refuse(0..0, message, &format!("write [[job]] 1 to {JOBS_MOST} times"));
        }
        let mut names: Vec<&str> = Vec::new();
        let mut jobs = Vec::new();
        for job in &self.job {
            let name = job.name.get_ref().as_str();
            if names.contains(&name) {
                check.refuse(
                    job.name.span(),
                    format!("there is a job {name:?} already"),
                    "each has a name of its own",
                );
            }
            names.push(name);
            jobs.push(job.checked(&numbers, check));
        }
        let tenants = Tenants { links, jobs };
        let demand = match check.problems.is_empty() {
            true => Demand::of(&tenants, &tenants.first_paths()),
            false => Demand { jobs: Vec::new(), links: 0, fair: Vec::new() },
        };
        let ready = Start::all_ready(&tenants);
        let said = self.job.iter().map(|job| job.start.map(SimTime::seconds));
        let start = Start(ready.0.iter().zip(said).map(|(&ready, said)| said.unwrap_or(ready)).collect());
        let longest = demand.jobs.iter().map(|job| job.step_alone()).fold(0.0, f64::max);
        let window = self.window.as_ref().map_or(WINDOW_STEPS * longest, |window| window.get_ref().seconds());
        let steps = if check.problems.is_empty() { most_steps(&tenants, window) } else { 0.0 };
        if check.problems.is_empty() && !(window > 0.0 && steps <= STEPS_MOST) {
            let span = self.window.as_ref().map_or(0..0, Spanned::span);
            let message = format!("a window of {window} s has {steps:.0} steps of all jobs");
            check.refuse(span, message, &format!("write a window with 1 to {STEPS_MOST} of them"));
        }
        Asked { tenants, levels, dscp, seed: self.seed, start, window }
    }

    /// Levels, and the code point of each.
    fn levels(&self, check: &mut Check<'_>) -> (u32, Vec<u8>) {
        let said = self.dscp.as_ref().map(|dscp| dscp.get_ref().as_slice());
        let count = said.map_or(LEVELS, |dscp| dscp.len() as u32);
        let levels = match &self.levels {
            None => count,
            Some(levels) => {
                let fits = (1..=LEVELS_MOST).contains(levels.get_ref());
                check.within(levels, "levels", fits, "write a whole number from 1 to 64")
            }
        };
        if let (Some(dscp), Some(list)) = (said, &self.dscp) {
            let mut known = dscp.to_vec();
            known.sort_unstable();
            known.dedup();
            if dscp.len() as u32 != levels
                || known.len() != dscp.len()
                || known.is_empty()
                || known.last() > Some(&DSCP_MOST)
            {
                let message = format!("dscp {dscp:?} does not name {levels} levels");
                let hint =
                    "write a code point from 0 to 63 for each level, the highest level first, each once";
                check.refuse(list.span(), message, hint);
            }
            return (levels.max(1), dscp.to_vec());
        }
        if levels > LEVELS {
            let span = self.levels.as_ref().map_or(0..0, Spanned::span);
            let message = format!("there are 8 class selectors, and {levels} levels");
            check.refuse(span, message, "write dscp, a code point for each level, the highest first");
        }
        // Class selectors (RFC 2474, section 4.2.2): switches that trust DSCP by default queue by its upper three bits.
        (levels, (0..levels.min(LEVELS)).rev().map(|selector| selector as u8 * 8).collect())
    }

    fn links(&self, check: &mut Check<'_>) -> Vec<SharedLink> {
        let mut names: Vec<&str> = Vec::new();
        let mut links = Vec::new();
        for link in &self.link {
            let name = link.name.get_ref().as_str();
            if names.contains(&name) {
                check.refuse(
                    link.name.span(),
                    format!("there is a link {name:?} already"),
                    "each has a name of its own",
                );
            }
            names.push(name);
            let capacity = *link.capacity.get_ref();
            if capacity.bits_per_s() == 0 {
                check.refuse(
                    link.capacity.span(),
                    "capacity cannot be 0".to_owned(),
                    "write such as \"400 Gbps\"",
                );
            }
            links.push(SharedLink::new(name, capacity));
        }
        links
    }
}

impl JobText {
    fn checked(&self, numbers: &BTreeMap<&str, u32>, check: &mut Check<'_>) -> Tenant {
        let fits = (1..=GPUS_MOST).contains(self.gpus.get_ref());
        let gpus = check.within(&self.gpus, "gpus", fits, "write a whole number from 1 to 10000000");
        let compute = *self.compute.get_ref();
        if compute == SimTime::ZERO {
            check.refuse(self.compute.span(), "compute cannot be 0".to_owned(), "write such as \"1.5 s\"");
        }
        let overlap_from = self.overlap_from.as_ref().map_or(1.0, |share| {
            let fits = (0.0..=1.0).contains(share.get_ref());
            check.within(share, "overlap_from", fits, "write a number from 0 to 1")
        });
        let alone = Tenant::new(self.name.get_ref(), gpus, compute, overlap_from);
        let work = self.work.as_ref().map_or(alone.work, |work| {
            let fits = work.get_ref().is_finite() && *work.get_ref() > 0.0;
            check.within(work, "work", fits, "write a number above 0, in one unit for all jobs")
        });
        let measured = self.intensity.as_ref().map(|intensity| {
            let fits = intensity.get_ref().is_finite() && *intensity.get_ref() > 0.0;
            check.within(intensity, "intensity", fits, "write a number above 0, in one unit for all jobs")
        });
        let transfers = self.transfer.iter().map(|transfer| transfer.checked(numbers, check)).collect();
        Tenant { work, measured, transfers, ..alone }
    }
}

impl TransferText {
    fn checked(&self, numbers: &BTreeMap<&str, u32>, check: &mut Check<'_>) -> Transfer {
        let paths = self.path.get_ref();
        if paths.is_empty() {
            check.refuse(
                self.path.span(),
                "a transfer has no path".to_owned(),
                "write [[job.transfer.path]]",
            );
        }
        let candidate = |path: &PathText| {
            let links = path.links.iter().filter_map(|name| {
                let number = numbers.get(name.get_ref().as_str()).copied();
                if number.is_none() {
                    let message = format!("there is no link {:?}", name.get_ref());
                    check.refuse(name.span(), message, "write [[link]] with this name");
                }
                number
            });
            let links = links.collect();
            let source_port = path.source_port.as_ref().map(|port| {
                let fits = *port.get_ref() >= PORT_LEAST;
                check.within(port, "source_port", fits, "RoCEv2 has 49152 to 65535")
            });
            Candidate { links, source_port }
        };
        let candidates = paths.iter().map(candidate).collect();
        Transfer { bytes: self.bytes, candidates }
    }
}
