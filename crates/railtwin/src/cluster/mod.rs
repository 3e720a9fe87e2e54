//! Weeks of jobs on one fabric: the verb `cluster`.
//!
//! [`ClusterQuestion`] is a point of a scenario with `[cluster]`; [`ClusterQuestion::lived`] is what becomes of its jobs
//! under one policy and seed, [`Told`] what is told of it. [`Weeks`] is the same as one run, with a folder.
use std::sync::Arc;

use railtwin_clustersim::plant::Plant;
use railtwin_clustersim::{Ask, Checkpoints, ClusterJob, Lived, StagesInPods, live, live_by};
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_control::{Place, PlacementPolicy};
use railtwin_engine::RoutingCase;
use railtwin_engine::own::{Halt, Own, Site, Stage, guarded};
use railtwin_fabric::{Fabric, HostId, NicModel};
use railtwin_records::Table;
use railtwin_scenario::{ClusterPlacement, ClusterSpec, Scenario};
use railtwin_units::{SimTime, stream};
use railtwin_workload::job_class::ClassStep;
use railtwin_workload::{JobClass, JobStream, SubmittedJob};
use rand::RngExt;
use rayon::prelude::*;

mod cost;
mod figures;
mod idle;
mod inference;
mod page;
mod remarks;
mod tables;
mod told;
mod weeks;

pub use self::figures::{Band, FIGURES, Figure, compared, ranks};
pub use self::page::page;
pub use self::told::{JobTold, Told};
pub use self::weeks::{Weeks, WeeksRun};
use crate::error::Error;
use crate::question::{Question, Reading};

/// How well a pace must be known where nothing is said.
const STEADY: f64 = 0.01;
/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// Weeks of jobs, resolved.
#[derive(Debug)]
pub struct ClusterQuestion {
    /// Name of the scenario.
    pub name: String,
    /// The fabric.
    pub fabric: Arc<Fabric>,
    /// What is asked.
    pub spec: ClusterSpec,
    /// Seed of the scenario.
    pub seed: u64,
    /// What was left out of a list of jobs or read otherwise than it stands, a sentence each.
    pub notes: Vec<String>,
    /// The list of jobs, where one is replayed.
    list: Option<Vec<SubmittedJob>>,
    /// Times of submission after which jobs by lot come; none where there is no such list.
    arrivals: Vec<SimTime>,
    /// Controllers of one's own, for `placement = "own"`.
    own: Option<Own>,
    /// Peak of a GPU, FLOP per second.
    gpu_flops: u64,
    /// The variant of the steps of all jobs.
    pub steps: StepVariant,
}

/// A variant of the steps that classes describe.
#[derive(Clone, Copy, Debug)]
pub struct StepVariant {
    /// Whether communication begins while a step still computes.
    pub overlap: bool,
    /// The samples of a class over those of a step.
    pub samples_over: u64,
}

impl StepVariant {
    /// As classes have it.
    pub const OF_CLASSES: Self = Self { overlap: true, samples_over: 1 };

    fn of(self, step: ClassStep) -> ClassStep {
        let overlap_from = if self.overlap { step.overlap_from } else { 1.0 };
        let compute = SimTime::from_ps(step.compute.ps() / self.samples_over);
        ClassStep { overlap_from, compute, ..step }
    }
}

impl Question {
    /// The cluster of a point.
    ///
    /// # Errors
    /// [`Error::Scenario`] for a fabric or a list that cannot be; [`Error::Argument`] without `[cluster]`, or where
    /// nothing says how fast the hosts' GPUs are.
    pub fn cluster(&self, scenario: &Scenario) -> Result<ClusterQuestion, Error> {
        cluster_of(&Reading::of(self), scenario)
    }
}

fn cluster_of(reading: &Reading<'_>, scenario: &Scenario) -> Result<ClusterQuestion, Error> {
    let Some(spec) = &scenario.cluster else {
        let message = "the scenario has no [cluster]: write [cluster], or ask `railtwin run`";
        return Err(Error::Argument(message.to_owned()));
    };
    let fabric = reading.fabric(scenario)?;
    let Some(gpu_flops) = fabric.host_model(HostId(0)).gpu_flops else {
        let message = "hosts of the fabric have GPUs of which nothing says how fast they compute: name a host \
                           model with GPUs, such as fabric.host.model = \"hgx-a100\"";
        return Err(Error::Argument(message.to_owned()));
    };
    let list = spec.jobs.as_ref().map(|path| reading.job_list("cluster.jobs", path)).transpose()?;
    let arrivals = spec.stream.arrivals.as_ref();
    let arrivals = arrivals.map(|path| reading.job_list("cluster.stream.arrivals", path)).transpose()?;
    let arrivals = arrivals.iter().flat_map(|list| &list.jobs).map(|job| job.submitted).collect();
    list.iter().flat_map(|list| &list.jobs).try_for_each(|job| check_places(&fabric, job))?;
    let (name, spec, seed) = (scenario.name.clone(), spec.clone(), scenario.seed);
    let (list, notes) = list.map_or((None, Vec::new()), |list| (Some(list.jobs), list.notes));
    let (fabric, steps) = (Arc::new(fabric), StepVariant::OF_CLASSES);
    let mut question =
        ClusterQuestion { name, fabric, spec, seed, notes, list, arrivals, own: None, gpu_flops, steps };
    let is_placed = |job: &&SubmittedJob| !job.places.is_empty() || !job.near.is_empty();
    let named = question.list.iter().flatten().find(is_placed);
    if let (Some(job), true) = (named, question.spec.placement == ClusterPlacement::Own) {
        let (name, column) = (&job.name, if job.places.is_empty() { "near" } else { "places" });
        return Err(Error::Argument(format!(
            "cluster.placement is \"own\", and the list of jobs places job {name:?} itself: write another placement, \
                 or leave the column `{column}` away"
        )));
    }
    question.check_inference()?;
    let jobs = question.jobs(seed)?;
    let remarks = remarks_of(question.list.as_deref().unwrap_or_default(), &jobs);
    question.notes.extend(remarks);
    question.notes.extend(idle::keys_of_fabric(&scenario.fabric));
    question.notes.extend(question.remark_of_stages(&jobs));
    question.notes.extend(question.remark_of_inference());
    Ok(question)
}

/// Jobs that controllers of one's own are to place, and nobody is there to.
fn without_controllers() -> Error {
    Error::Argument(
        "cluster.placement is \"own\", and there is no controller of one's own: hand one over by \
         `railtwin.cluster(scenario, controllers=[Mine])` in Python or `ClusterQuestion::with_controllers` in Rust, or \
         write another placement"
            .to_owned(),
    )
}

/// What a list says that nobody would run so, a sentence each.
fn remarks_of(list: &[SubmittedJob], jobs: &[ClusterJob]) -> Vec<String> {
    let mut remarks = Vec::new();
    let is_short = |job: &&ClusterJob| job.duration < job.step.compute.seconds();
    let short: Vec<&ClusterJob> = jobs.iter().filter(is_short).collect();
    if let (Some(first), false) = (short.first(), list.is_empty()) {
        let (name, step) = (&first.name, first.step.compute.seconds());
        remarks.push(format!(
            "jobs shorter than a step of their class, which run one step: {}, such as {name:?} with {} s, where a step of {} \
             computes for {step} s",
            short.len(),
            first.duration,
            first.class,
        ));
    }
    let is_odd = |job: &&SubmittedJob| job.class.is_some_and(|class| job.gpus < class.gpus[0]);
    let odd: Vec<&SubmittedJob> = list.iter().filter(is_odd).collect();
    if let Some((first, class)) = odd.first().and_then(|job| Some((job, job.class?))) {
        remarks.push(format!(
            "jobs with fewer GPUs than jobs of their class, whose steps are as if the model fitted: {}, such as {:?} with \
             {}, where {} has {} or more",
            odd.len(),
            first.name,
            first.gpus,
            class.name,
            class.gpus[0],
        ));
    }
    remarks
}

/// Refuses a job that a list puts on GPUs that no job can have.
fn check_places(fabric: &Fabric, job: &SubmittedJob) -> Result<(), Error> {
    let hosts = fabric.hosts().len() as u32;
    let wrong = |&(host, gpu): &(u32, u32)| {
        if host >= hosts {
            return Some(format!("host {host}, but the fabric has hosts 0 to {}", hosts.saturating_sub(1)));
        }
        let (place, gpus) = (fabric.host(HostId(host)), fabric.host_model(HostId(host)).gpus);
        if place.spare {
            return Some(format!("host {host}, which is a backup host"));
        }
        (gpu >= gpus).then(|| format!("GPU {gpu} of host {host}, which has GPUs 0 to {}", gpus - 1))
    };
    let far = |host: &&u32| **host >= hosts;
    if let Some(host) = job.near.iter().find(far) {
        return Err(Error::Argument(format!(
            "the list of jobs wants job {:?} near host {host}, but the fabric has hosts 0 to {}",
            job.name,
            hosts.saturating_sub(1)
        )));
    }
    match job.places.iter().find_map(wrong) {
        Some(problem) => {
            Err(Error::Argument(format!("the list of jobs places job {:?} on {problem}", job.name)))
        }
        None => Ok(()),
    }
}

impl ClusterQuestion {
    /// The same with controllers of one's own, which say who starts and where.
    ///
    /// # Errors
    /// [`Error::Argument`] where the scenario's placement is another, and for a name that is empty, there twice, or that
    /// of a controller of ours.
    pub fn with_controllers(mut self, own: Own) -> Result<Self, Error> {
        let placement = self.spec.placement;
        if placement != ClusterPlacement::Own {
            return Err(Error::Argument(format!(
                "cluster.placement is \"{placement}\", so nobody asks controllers: write placement = \"own\", or leave \
                 controllers away"
            )));
        }
        if let Some(trouble) = own.trouble_of_names() {
            return Err(Error::Argument(trouble));
        }
        self.own = Some(own);
        Ok(self)
    }

    /// GPUs that jobs may have: none that serve inference.
    pub fn gpus(&self) -> u32 {
        self.gpus_of_hosts() - self.serving_gpus()
    }

    /// GPUs of hosts that are no spares.
    fn gpus_of_hosts(&self) -> u32 {
        let hosts = (0..self.fabric.hosts().len()).map(HostId::from_index);
        let active = hosts.filter(|&host| !self.fabric.host(host).spare);
        active.map(|host| self.fabric.host_model(host).gpus).sum()
    }

    /// The jobs of a seed, in the order in which they come. A list has the same for every seed; of its jobs that name no
    /// class one is drawn by the seed of the scenario.
    ///
    /// # Errors
    /// [`Error::Argument`] where no jobs can be drawn so.
    pub fn jobs(&self, seed: u64) -> Result<Vec<ClusterJob>, Error> {
        let submitted = match &self.list {
            Some(list) => list.clone(),
            None => self.stream(seed).jobs().map_err(|error| Error::Argument(error.to_string()))?,
        };
        let mut of_classes = stream::named(self.seed, "cluster: classes of a list");
        let across_pods = self.spec.placement == ClusterPlacement::PpAcrossPods;
        let serve = self.seats(seed)?;
        let mut stages = across_pods.then(|| StagesInPods::new(&self.fabric, &serve));
        let job = |job: SubmittedJob| {
            let lot: f64 = of_classes.random();
            let class = job.class.or_else(|| JobClass::by_lot(job.gpus, lot));
            let class = class.or_else(|| JobClass::named("bert-large")).expect("it is one of the classes");
            let step = self.steps.of(class.step(job.gpus, self.gpu_flops));
            let placement = match job.near.is_empty() {
                false => Some(PlacementPolicy::Near(job.near)),
                true => stages.as_mut().map(|stages| stages.policy(job.gpus, &step).0),
            };
            ClusterJob {
                name: job.name,
                class: class.name.to_owned(),
                submitted: job.submitted.seconds(),
                gpus: job.gpus,
                duration: job.duration.seconds(),
                step,
                placement,
                places: job.places.iter().map(|&(host, gpu)| Place { host: HostId(host), gpu }).collect(),
                checkpoints: self.checkpoints_of(job.gpus),
            }
        };
        Ok(submitted.into_iter().map(job).collect())
    }

    /// What is to be said of jobs whose stages pods do not hold whole, where that is asked for.
    fn remark_of_stages(&self, jobs: &[ClusterJob]) -> Option<String> {
        if self.spec.placement != ClusterPlacement::PpAcrossPods {
            return None;
        }
        let mut stages = StagesInPods::new(&self.fabric, &self.seats(self.seed).ok()?);
        let is_torn = |job: &&ClusterJob| {
            job.places.is_empty()
                && !matches!(job.placement, Some(PlacementPolicy::Near(_)))
                && stages.policy(job.gpus, &job.step).1
        };
        let torn: Vec<&ClusterJob> = jobs.iter().filter(is_torn).collect();
        let first = torn.first()?;
        let of_seed = if self.list.is_some() { String::new() } else { format!(" under seed {}", self.seed) };
        Some(format!(
            "jobs whose pipeline stages pods do not hold whole, which are placed segment-first: {}{of_seed}, such as {:?} with \
             {} stages of {} GPUs",
            torn.len(),
            first.name,
            first.step.pipeline,
            first.step.tensor * first.step.data,
        ))
    }

    /// Time of the checkpoints of a job over that of its steps as a scheduler reckons with it: what it writes goes over its
    /// NICs into storage by that of each storage host, wherever that is narrower, and no other job writes then.
    fn checkpoints_of(&self, gpus: u32) -> f64 {
        let Some((checkpoint, storage)) = self.spec.checkpoint.zip(self.fabric.storage_hosts().next()) else {
            return 0.0;
        };
        let capacity = |nic: &NicModel| (nic.port_capacity * u64::from(nic.ports)).bytes_per_s();
        let (host, hosts) = (self.fabric.host_model(HostId(0)), self.fabric.storage_hosts().len() as u32);
        let on_frontend = self.fabric.host_model(storage).frontend_nics > 0;
        let out = match on_frontend {
            true => (gpus.min(host.gpus), host.frontend_nics, capacity(&host.frontend)),
            false => (gpus.min(host.gpus), host.nics, capacity(&host.nic)),
        };
        let leaves = f64::from(out.0.div_ceil(out.1.min(out.0).max(1))) / out.2;
        let arrives = f64::from(gpus.div_ceil(hosts)) / capacity(&self.fabric.host_model(storage).nic);
        checkpoint.bytes_per_gpu.0 as f64 * leaves.max(arrives) / checkpoint.every.seconds()
    }

    fn stream(&self, seed: u64) -> JobStream {
        let (spec, span) = (&self.spec.stream, SimTime::from_seconds(self.spec.days * DAY));
        let gpus = self.gpus();
        let mut stream = JobStream::new(gpus, span, spec.load, seed);
        (stream.median, stream.sigma, stream.tide) = (spec.median, spec.sigma, spec.tide);
        stream.longest = spec.longest.unwrap_or(span);
        stream.arrivals.clone_from(&self.arrivals);
        stream.largest = spec.gpus.unwrap_or(gpus);
        stream
    }

    /// What becomes of the jobs of `seed` under `sharing`.
    ///
    /// # Errors
    /// As of [`ClusterQuestion::jobs`]; [`Error::Argument`] where controllers of one's own are to place jobs and there are
    /// none, [`Error::Controller`] where one cannot go on.
    pub fn lived(&self, sharing: SharingPolicy, seed: u64) -> Result<(Vec<ClusterJob>, Lived), Error> {
        let jobs = self.jobs(seed)?;
        let spec = &self.spec;
        let plant = Plant::new(&self.fabric, spec.paths);
        let serving = self.serving(&plant, seed)?;
        self.check_jobs(serving.as_ref())?;
        let ask = Ask {
            span: spec.days * DAY,
            queue: spec.queue,
            placement: spec.placement.policy(),
            rank_order: spec.rank_order,
            defragment: spec.defragment.map(SimTime::seconds),
            checkpoints: spec
                .checkpoint
                .map(|one| Checkpoints { bytes_per_gpu: one.bytes_per_gpu, every: one.every.seconds() }),
            reads: spec.read.map(|read| read.bytes_per_gpu),
            serving,
            sharing,
            levels: spec.levels,
            gate: spec.gate,
            replan: spec.replan.seconds(),
            queue_pairs: spec.queue_pairs,
            jitter: spec.jitter,
            steady: spec.steady.unwrap_or(STEADY),
            seed,
        };
        let lived = match &self.own {
            None if spec.placement == ClusterPlacement::Own => {
                return Err(without_controllers());
            }
            None => live(&jobs, &plant, &ask),
            Some(own) => self.lived_by(own, seed, (&jobs, &plant, &ask))?,
        };
        Ok((jobs, lived))
    }

    /// What becomes of jobs that controllers of one's own place.
    fn lived_by(
        &self,
        own: &Own,
        seed: u64,
        (jobs, plant, ask): (&[ClusterJob], &Plant<'_>, &Ask),
    ) -> Result<Lived, Error> {
        let (routing, replicate) = (RoutingCase::default(), seed.wrapping_sub(self.seed) as u32);
        let site = Site {
            fabric: Arc::clone(&self.fabric),
            ecmp: routing.ecmp,
            resilient: routing.resilient,
            replicate,
            stage: Stage::Cluster,
            jobs: jobs.len() as u32,
        };
        let failed = |halt| Error::Controller { halt, replicate: Some(replicate) };
        let lived = guarded(|| live_by(own.at(&site), jobs, plant, ask)).map_err(failed)?;
        lived.map_err(|refused| failed(Halt { controller: refused.controller.to_owned(), why: refused.why }))
    }

    /// The number of the first GPU of each host.
    fn first_gpus(&self) -> Vec<u32> {
        let hosts = (0..self.fabric.hosts().len()).map(HostId::from_index);
        let gpus = hosts.map(|host| self.fabric.host_model(host).gpus);
        gpus.scan(0, |first, gpus| Some(std::mem::replace(first, *first + gpus))).collect()
    }

    /// What is told of the policy and the seed of the scenario, and the table of all that was decided.
    ///
    /// # Errors
    /// As of [`ClusterQuestion::lived`].
    fn told_with_actions(&self) -> Result<(Told, Table), Error> {
        let (sharing, first_gpu) = (self.spec.sharing, self.first_gpus());
        let (jobs, lived) = self.lived(sharing, self.seed)?;
        let told = Told::of((sharing.name(), self.seed), &jobs, &lived, &first_gpu);
        let actions = tables::actions(&jobs, &lived.actions, (self.spec.levels, &first_gpu));
        let gate = self.idle_gate(sharing, lived.effort);
        let mut told = self.remarked(told, sharing);
        told.notes.extend(gate.clone());
        told.idle_gate = gate;
        Ok((told, actions))
    }

    /// What is told of each policy under each seed, policy after policy; `progress` hears of each that is done. The
    /// result does not depend on the number of threads.
    ///
    /// # Errors
    /// As of [`ClusterQuestion::jobs`].
    pub fn told(
        &self,
        policies: &[SharingPolicy],
        seeds: &[u64],
        progress: &(dyn Fn() + Sync),
    ) -> Result<Vec<Told>, Error> {
        let first_gpu = self.first_gpus();
        let all: Vec<(SharingPolicy, u64)> =
            policies.iter().flat_map(|&policy| seeds.iter().map(move |&seed| (policy, seed))).collect();
        let one = |&(policy, seed): &(SharingPolicy, u64)| {
            let (jobs, lived) = self.lived(policy, seed)?;
            progress();
            let gate = self.idle_gate(policy, lived.effort);
            let mut told = self.remarked(Told::of((policy.name(), seed), &jobs, &lived, &first_gpu), policy);
            told.notes.extend(gate.clone());
            told.idle_gate = gate;
            Ok(told)
        };
        all.par_iter().map(one).panic_fuse().collect()
    }
}
