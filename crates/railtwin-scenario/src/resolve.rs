//! From a scenario to a case: after this nothing is invalid, engines cannot fail on input.
use std::sync::Arc;

use railtwin_control::{Place, Placer};
use railtwin_engine::{Case, NoWay, Pace, Relay, RoutingCase, WorkGraph, step_demand};
use railtwin_units::SimTime;
use railtwin_workload::Plan;

use crate::section::fabric::beyond::told;
use crate::section::fabric::host_costs::add_host_costs;
use crate::section::fabric::price::price;
use crate::section::fault::resolve::{self as faults, Ground};
use crate::section::job::MOST_STEPS;
use crate::section::job::placing::placed;
use crate::section::job::resolve::Planner;
use crate::section::job::size::check_size;
use crate::section::packet::packets;
use crate::section::storage::with_storage;
use crate::{JobSpec, Scenario, ScenarioError};

/// Operations of a job that ends by time, of whose steps most may never come.
const MOST_OPERATIONS: f64 = 2e7;

/// How files that a scenario names are read: path as written → bytes, or what went wrong.
pub type Reader<'a> = dyn Fn(&str) -> Result<Vec<u8>, String> + 'a;

/// Where a scenario came from, for errors that name the place.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Name of the file.
    pub file: &'a str,
    /// Its text.
    pub text: &'a str,
}

impl Source<'_> {
    /// An error at a key of the scenario.
    pub fn error(&self, path: &str, message: impl Into<String>, hint: Option<&str>) -> ScenarioError {
        ScenarioError::at_key(self.file, self.text, path, message, hint.map(str::to_owned))
    }

    /// The bytes of the file `path` that stands at `key`.
    pub(crate) fn read(&self, read: &Reader<'_>, key: &str, path: &str) -> Result<Vec<u8>, ScenarioError> {
        read(path).map_err(|problem| {
            let hint = "paths are relative to the scenario's folder";
            self.error(key, format!("cannot read {path:?}: {problem}"), Some(hint))
        })
    }
}

impl Scenario {
    /// What moves in lock step: as written, else rank classes for training under a static split and bundles for all else.
    fn pace(&self, routing: &RoutingCase) -> Pace {
        let training = self
            .jobs
            .iter()
            .any(|job| matches!(&job.work, crate::Work::Workload(workload) if workload.trains()));
        let by_class = training && !routing.is_dynamic();
        self.run.pace.unwrap_or(if by_class { Pace::Class } else { Pace::Bundle })
    }

    /// Steps of a job: as written; of one that ends at a time no more than there is time for if communication took none.
    fn steps_of(
        &self,
        row: usize,
        job: &JobSpec,
        plan: &Plan,
        source: Source<'_>,
    ) -> Result<u32, ScenarioError> {
        let until = job.ended_at();
        if let Some(steps) = job.steps {
            return Ok(steps);
        }
        if until == SimTime::NEVER {
            return Ok(self.run.steps);
        }
        let key = format!("job.{row}.{}", if job.until.is_some() { "until" } else { "duration" });
        let computed = step_demand(plan, &vec![0.0; plan.patterns.len()]).compute.seconds();
        let least = computed * (1.0 - job.compute_jitter);
        let most = (until.since(job.start).seconds() / least).ceil();
        let fits = most <= f64::from(MOST_STEPS) && most * plan.operations.len() as f64 <= MOST_OPERATIONS;
        if fits {
            return Ok((most as u32).max(1));
        }
        let message = if least > 0.0 {
            format!("there is time for up to {most:.0} steps of {} operations", plan.operations.len())
        } else if computed > 0.0 {
            format!(
                "with compute_jitter = {} a step may compute nothing, so nothing says for how many steps there is time",
                job.compute_jitter
            )
        } else {
            "a step computes nothing, so nothing says for how many steps there is time".to_owned()
        };
        let hint = format!("write steps, too, {MOST_STEPS} at most: the job ends by what comes first");
        Err(source.error(&key, message, Some(&hint)))
    }

    /// Refuses what the fabric has no way for, as from rail to rail on a rail-only tier 2 without relays.
    fn refuse_no_way(
        &self,
        case: &Case,
        specs: &[&JobSpec],
        source: Source<'_>,
    ) -> Result<(), ScenarioError> {
        let Some(found) = NoWay::first(case) else { return Ok(()) };
        let name = |device| case.fabric.device_name(device);
        let row = self.jobs.iter().position(|job| std::ptr::eq(job, specs[found.job as usize])).unwrap_or(0);
        let (key, hint) = match found.relay {
            Relay::Off => (
                "routing.pxn".to_owned(),
                "write pxn = true: messages then cross NVLink to the GPU on the target's rail and leave there".to_owned(),
            ),
            Relay::NotOwn(gpu) => (
                format!("job.{row}"),
                format!("{} is on that rail, but nobody relays over GPUs that are not the job's: give it whole hosts, or a \
                         fabric that joins rails", name(gpu)),
            ),
            Relay::None => (
                format!("job.{row}"),
                "let the ranks that meet sit on one rail, or join the rails: tier2 = \"any-to-any\", more spines".to_owned(),
            ),
        };
        let message = format!(
            "job `{}` sends from {} to {}, and no switches join {} with {}",
            case.work.jobs[found.job as usize].name,
            name(found.source),
            name(found.target),
            name(found.source_nic),
            name(found.target_nic),
        );
        Err(source.error(&key, message, Some(&hint)))
    }

    /// Refuses a fabric that engines have no paths for.
    fn refuse_fabric(&self, source: Source<'_>) -> Result<(), ScenarioError> {
        let Some(reason) = self.fabric.cannot_run() else { return Ok(()) };
        let hint = "count it with `railtwin design`, or export its cables";
        Err(source.error("fabric", format!("nothing runs on this fabric: {reason}"), Some(hint)))
    }

    /// Refuses what no engine of steps runs.
    fn refuse_without_steps(&self, source: Source<'_>) -> Result<(), ScenarioError> {
        if self.cluster.is_some() {
            let message = "[cluster] is weeks of jobs, which no engine of steps runs";
            return Err(source.error("cluster", message, Some("ask `railtwin run`, `sweep` or `cluster`")));
        }
        self.refuse_storage(source)?;
        if self.intranode.is_some() {
            let message = "[intranode] is traffic without jobs, which no engine of steps runs";
            return Err(source.error("intranode", message, Some("ask `railtwin intranode`")));
        }
        self.refuse_fabric(source)
    }

    /// Refuses zones that the fabric has not.
    fn refuse_zones(
        &self,
        fabric: &railtwin_fabric::Fabric,
        source: Source<'_>,
    ) -> Result<(), ScenarioError> {
        if let Some(zone) =
            self.control.hashed_zones.0.zones().next_back().filter(|&zone| zone >= fabric.pods())
        {
            let message = format!("the fabric has no zone {zone}");
            let hint = format!("its zones are its pods, 0 to {}", fabric.pods().saturating_sub(1));
            return Err(source.error("control.hashed_zones", message, Some(&hint)));
        }
        Ok(())
    }

    /// Resolves the scenario.
    ///
    /// # Errors
    /// [`ScenarioError`] with the place of what cannot be: a fabric that cannot be built, a file that cannot
    /// be read, a job that does not fit, messages that the fabric has no way for, a cable that is not there.
    pub fn resolve(&self, source: Source<'_>, read: &Reader<'_>) -> Result<Case, ScenarioError> {
        self.refuse_without_steps(source)?;
        let fabric = faults::recabled(self.fabric(source, read)?, &self.faults, source)?;
        let fabric = Arc::new(fabric);
        let caps = self.all_caps(&fabric, source, read)?;
        let (plain, caps) = (caps.of_plain(), caps.of_collectives());
        self.refuse_zones(&fabric, source)?;
        let mut packets = packets(self, &fabric, source)?;
        let (wire_share, message) = (packets.keys.wire_share(), packets.message);
        let mut planner = Planner { fabric: &fabric, seed: self.seed, source, read };
        let mut placer = Placer::new(&fabric, self.seed);
        let mut work = WorkGraph::default();
        let (mut placements, mut specs, mut beyond) = (Vec::new(), Vec::new(), Vec::new());
        for (row, job) in self.jobs.iter().enumerate() {
            let plan = planner.plan(row, job)?;
            check_size(&fabric, row, job, plan.ranks, source)?;
            for copy in 0..job.count {
                let name = if job.count > 1 { format!("{}-{copy}", job.name) } else { job.name.clone() };
                let costs = if job.work.is_collective() { &caps } else { &plain };
                let priced = |places: &[Place]| {
                    let mut plan = plan.clone();
                    let beyond = price(&mut plan, places, &fabric, costs, wire_share)?;
                    if job.work.is_collective() {
                        add_host_costs(&mut plan, places, &fabric, message);
                    }
                    Ok::<_, String>((plan, beyond))
                };
                let ground = (&*fabric, self.seed);
                let places =
                    placed(
                        &mut placer,
                        ground,
                        (job, &name),
                        &plan,
                        |places: &[Place]| Ok(priced(places)?.0),
                    );
                let mut places = places.map_err(|(key, message, hint)| {
                    let hint = Some(hint).filter(|hint| !hint.is_empty());
                    let path = if key.is_empty() { format!("job.{row}") } else { format!("job.{row}.{key}") };
                    source.error(&path, message, hint)
                })?;
                for &lost in &job.lost {
                    places = placer.substitute(&name, &places, lost).map_err(|error| {
                        let hint = "name hosts that the job has, and no more of a segment than `spare_hosts` of the fabric";
                        source.error(&format!("job.{row}.lost"), error.to_string(), Some(hint))
                    })?;
                }
                let (plan, far) =
                    priced(&places).map_err(|message| planner.error(row, "collective.algorithm", message))?;
                beyond.extend(far.iter().filter(|_| copy == 0).map(|one| told(&name, one)));
                let plan = with_storage(plan, job);
                let steps = self.steps_of(row, job, &plan, source)?;
                placements.push(places);
                specs.push(job);
                packets.libraries.push(job.work.is_collective());
                work.push(name, job.start, plan, steps);
                if let Some(graph) = work.jobs.last_mut() {
                    graph.until = job.ended_at();
                    graph.priority = job.priority as u8;
                    graph.compute_jitter = job.compute_jitter;
                }
            }
        }
        self.charge_hosts(&mut work, &fabric, source)?;
        let (of_work, set) = ((&work, &placements[..], &specs[..]), &self.dual_tor);
        let troubles = faults::troubles(self, &Ground::new(&fabric, of_work, set, source), read)?;
        packets.troubles = troubles.packets;
        // Who asks for telemetry has devices tell of themselves, and their counters where those are read.
        packets.records =
            self.telemetry.as_ref().map(|telemetry| telemetry.counters.unwrap_or(SimTime::NEVER));
        let routing = RoutingCase { control: self.control, ..(&self.routing).into() };
        let pace = self.pace(&routing);
        let mut case = Case {
            name: self.name.clone(),
            seed: self.seed,
            routing,
            pace,
            wire_share,
            faults: troubles.faults,
            impairments: troubles.impairments,
            rank_faults: troubles.rank_faults,
            truths: troubles.truths,
            reaction: self.reaction,
            dual_tor: self.dual_tor,
            transport: self.transport,
            throughput: self.run.throughput,
            packets,
            warnings: troubles.notes,
            ..Case::new(fabric, work, placements)
        };
        self.refuse_no_way(&case, &specs, source)?;
        case.warnings.extend(self.fabric.note_of_chip());
        case.warnings.extend(self.fabric.notes_of_delays(&case.fabric));
        case.warnings.extend(self.remarks(&case, &specs));
        case.warnings.extend(beyond);
        case.warnings.extend(self.remarks_of_storage(&case));
        Ok(case)
    }
}
