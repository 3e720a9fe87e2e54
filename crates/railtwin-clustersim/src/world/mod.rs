//! From arrival to departure: the queue, and who runs where.
mod grouping;
mod planning;

use std::collections::{BTreeMap, VecDeque};

use railtwin_control::controller::Submission;
use railtwin_control::crux::correction::Factors;
use railtwin_control::crux::demand::Demand;
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_control::crux::selection::Selection;
use railtwin_control::crux::slots::Slot;
use railtwin_control::crux::tenants::Tenants;
use railtwin_control::paths::JobId;
use railtwin_control::placement::{Defragmentation, arranged};
use railtwin_control::{ClusterPlacer, Controller, Place};
use railtwin_fabric::{Fabric, HostId};
use railtwin_units::SimTime;

use crate::actions::{Deed, JobAction, Started};
use crate::ask::{Ask, ClusterJob};
use crate::component::{Component, Member, Progress};
use crate::components::Sharing;
use crate::hours::Hours;
use crate::links::Links;
use crate::live::{Course, Live};
use crate::lived::{Contended, Effort, JobLife, Lived};
use crate::plant::Plant;
use crate::queue::{self, Held, Wants};
use crate::reading::Rows;
use crate::seating::{Refused, Seating};
use crate::serving::Serving;
use crate::traffic::host_traffic;

/// The cluster at one moment.
struct World<'a> {
    ask: &'a Ask,
    jobs: &'a [ClusterJob],
    plant: &'a Plant<'a>,
    placer: ClusterPlacer,
    /// Who says who starts and where, in place of queue and placement.
    seating: Option<Seating>,
    gpus: u32,
    /// GPUs of the largest segment.
    segment_gpus: u32,
    /// Links; jobs are not among them.
    tenants: Tenants,
    /// Links on which levels do not hold.
    fair: Vec<u32>,
    factors: Factors,
    selection: Selection,
    sharing: Sharing,
    /// Jobs that run, by their numbers.
    live: BTreeMap<usize, Live>,
    components: Vec<Standing>,
    /// Jobs in the middle of a step, between two groupings.
    parked: BTreeMap<usize, (Member, Rows)>,
    /// Slots of jobs that keep to some.
    turns: BTreeMap<usize, Slot>,
    waiting: VecDeque<usize>,
    lives: Vec<Option<JobLife>>,
    hours: Hours,
    pairs: BTreeMap<(usize, usize), f64>,
    effort: Effort,
    actions: Vec<JobAction>,
    /// When paths and levels are planned again, and why that was called for first.
    replan_at: Option<(f64, &'static str)>,
    /// By link, the share that inference takes of it now; empty where nobody serves.
    taken: Vec<f64>,
    /// When that changes.
    turn_at: f64,
    now: f64,
}

/// Jobs with the versions of what they ask.
type Key = Vec<(usize, u64)>;

/// A component, and by what it is known.
struct Standing {
    key: Key,
    /// Pairs of jobs that share a link that cannot serve all, since when.
    pairs: Vec<(usize, usize)>,
    since: f64,
    component: Component,
}

/// What becomes of `jobs`, which are in the order of their arrival, on a cluster.
pub fn live(jobs: &[ClusterJob], plant: &Plant<'_>, ask: &Ask) -> Lived {
    let mut world = world(jobs, plant, ask, None);
    world.run();
    world.lived()
}

/// The same where controllers say who starts and where: queue and placement of `ask` are nobody's, and nobody moves.
///
/// # Errors
/// [`Refused`] where one asks for what cannot be.
pub fn live_by(
    controllers: Vec<Box<dyn Controller>>,
    jobs: &[ClusterJob],
    plant: &Plant<'_>,
    ask: &Ask,
) -> Result<Lived, Refused> {
    let serve = ask.serving.as_ref().map_or(&[][..], Serving::places);
    let seating = Seating::new(controllers, plant.fabric, serve);
    let mut world = world(jobs, plant, ask, Some(seating));
    world.run();
    match world.seating.as_mut().and_then(|seating| seating.refused.take()) {
        Some(refused) => Err(refused),
        None => Ok(world.lived()),
    }
}

/// A cluster at its begin.
fn world<'a>(
    jobs: &'a [ClusterJob],
    plant: &'a Plant<'a>,
    ask: &'a Ask,
    seating: Option<Seating>,
) -> World<'a> {
    let mut placer = ClusterPlacer::new(plant.fabric, ask.seed);
    let (mut taken, mut turn_at) = (Vec::new(), f64::INFINITY);
    if let Some(serving) = &ask.serving {
        placer.occupy(serving.places(), (0.0, 0.0));
        taken.resize(plant.fabric.link_count(), 0.0);
        serving.take(0.0, &mut taken);
        turn_at = serving.turns_at(0.0);
    }
    let is_gated = ask.gate && ask.sharing.is_crux();
    let tenants = Tenants { links: plant.links(is_gated), jobs: Vec::new() };
    let fair = Demand::of(&tenants, &Vec::new()).fair;
    World {
        ask,
        jobs,
        plant,
        gpus: placer.free_gpus(),
        segment_gpus: segment_gpus(plant.fabric, &placer),
        placer,
        seating,
        sharing: Sharing::new(tenants.links.len()),
        tenants,
        fair,
        factors: Factors::default(),
        selection: Selection::default(),
        live: BTreeMap::new(),
        components: Vec::new(),
        parked: BTreeMap::new(),
        turns: BTreeMap::new(),
        waiting: VecDeque::new(),
        lives: vec![None; jobs.len()],
        hours: Hours::new(ask.span),
        pairs: BTreeMap::new(),
        effort: Effort::default(),
        actions: Vec::new(),
        replan_at: None,
        taken,
        turn_at,
        now: 0.0,
    }
}

impl World<'_> {
    fn run(&mut self) {
        let mut arrived = 0;
        loop {
            let arrival = self.jobs.get(arrived).map_or(f64::INFINITY, |job| job.submitted);
            let asked = self.seating.as_ref().map_or(f64::INFINITY, Seating::next_time);
            let known = arrival.min(self.replan_at.map_or(f64::INFINITY, |plan| plan.0)).min(asked);
            let known = known.min(self.turn_at).min(self.ask.span);
            let to = self.soonest_end().min(known).max(self.now);
            let mut ended = self.advance(to);
            self.now = to;
            if to >= self.ask.span {
                return;
            }
            let asked = self.seating.as_mut().is_some_and(|seating| seating.reach(to));
            // Who writes a checkpoint, or has written it, goes on elsewhere: that frees nothing.
            let mut regroups = !ended.is_empty();
            ended.retain(|&job| !self.goes_on(job));
            let mut changed = !ended.is_empty() | asked;
            ended.into_iter().for_each(|job| self.end(job));
            if self.turn_at <= to {
                self.turn();
                regroups = true;
            }
            while self.jobs.get(arrived).is_some_and(|job| job.submitted <= to) {
                if self.jobs[arrived].gpus <= self.gpus {
                    self.wait(arrived);
                    changed = true;
                }
                arrived += 1;
            }
            if changed {
                self.start();
            }
            if self.seating.as_ref().is_some_and(|seating| seating.refused.is_some()) {
                return;
            }
            if let Some((_, why)) = self.replan_at.take_if(|plan| plan.0 <= to) {
                self.plan(why);
                changed = true;
            }
            regroups |= changed;
            if regroups {
                self.regroup();
            }
        }
    }

    /// A job comes.
    fn wait(&mut self, job: usize) {
        self.waiting.push_back(job);
        let (one, wants) = (&self.jobs[job], wants(&self.jobs[job], self.plant, self.ask));
        let submission = Submission {
            job: JobId(job as u32),
            gpus: wants.gpus,
            duration: SimTime::from_seconds(wants.duration),
            compute: one.step.compute,
            bytes: one.step.sent(),
        };
        self.seating.iter_mut().for_each(|seating| seating.submitted(submission));
    }

    fn soonest_end(&mut self) -> f64 {
        let alone = self.live.values().filter_map(|live| match live.course {
            Course::Alone { since, left, elapsed } => Some(since + left * live.step_now() - elapsed),
            Course::Contending => None,
        });
        let soonest = alone.fold(f64::INFINITY, f64::min);
        self.components.iter_mut().map(|one| one.component.soonest_end()).fold(soonest, f64::min)
    }

    /// Goes on to `to`, before which nobody's stretch of steps ends; whose does then.
    fn advance(&mut self, to: f64) -> Vec<usize> {
        let mut told = Vec::new();
        let mut ended: Vec<usize> = Vec::new();
        for one in &mut self.components {
            ended.extend(one.component.advance(to, &mut told, &mut self.effort));
        }
        for (&job, live) in &self.live {
            if let Course::Alone { since, left, elapsed } = live.course
                && since + left * live.step_now() - elapsed <= to
            {
                ended.push(job);
            }
        }
        self.tell(&told);
        ended.sort_unstable();
        ended
    }

    fn tell(&mut self, told: &[Progress]) {
        for progress in told {
            let Some(live) = self.live.get_mut(&progress.slot) else { continue };
            let times = (progress.from, progress.to);
            if !live.is_writing() {
                live.done += progress.steps;
                live.done_own += progress.steps * live.step_own;
                for (sum, step) in live.done_by_paths.iter_mut().zip(live.by_paths) {
                    *sum += progress.steps * step;
                }
                let computed = progress.steps * live.computation;
                self.hours.add(times, computed, |hour| &mut hour.computed);
                if live.sends {
                    let communicated = progress.steps * live.communication;
                    self.hours.add(times, communicated, |hour| &mut hour.communicated);
                    self.hours.add(times, computed, |hour| &mut hour.hung);
                }
            }
            if matches!(live.course, Course::Contending) {
                live.contended_s += progress.to - progress.from;
                self.hours.add(times, progress.to - progress.from, |hour| &mut hour.contended);
            }
        }
    }

    /// Brings a job that nobody slows to the present moment.
    fn settle(&mut self, job: usize) {
        let (now, live) = (self.now, self.live.get_mut(&job).expect("it runs"));
        let Course::Alone { since, left, elapsed } = live.course else { return };
        let step = live.step_now();
        let gone = elapsed + now - since;
        let ended = (gone / step).floor().max(0.0).min(left);
        live.course = Course::Alone { since: now, left: left - ended, elapsed: gone - ended * step };
        // Who stands still computes nothing.
        let from = (since + (-elapsed).max(0.0)).min(now);
        self.tell(&[Progress { slot: job, from, to: now, steps: (now - from) / step }]);
    }

    /// A stretch of a job has ended: whether it goes on, with a checkpoint or with steps behind one.
    fn goes_on(&mut self, job: usize) -> bool {
        self.settle(job);
        self.dissolve_of(job);
        let parked = self.parked.remove(&job);
        let (now, live) = (self.now, self.live.get_mut(&job).expect("it runs"));
        if let Some((member, _)) = parked {
            live.lot = member.lot;
            if !live.is_writing() {
                live.carried = member.left;
            }
        }
        live.goes_on(now)
    }

    fn end(&mut self, job: usize) {
        self.settle(job);
        self.dissolve_of(job);
        self.parked.remove(&job);
        self.turns.remove(&job);
        let live = self.live.remove(&job).expect("it runs");
        self.placer.release(&live.places);
        self.seating.iter_mut().for_each(|seating| seating.closed(job));
        self.held(&live);
        self.changed(&live, "job-gone");
        let life = JobLife { ended: Some(self.now), steps: live.steps, ..live.life() };
        self.lives[job] = Some(life);
    }

    fn held(&mut self, live: &Live) {
        let seconds = f64::from(live.gpus) * (self.now - live.started);
        self.hours.add((live.started, self.now), seconds, |hour| &mut hour.held);
    }

    /// Something about jobs on the network has changed: policies that plan do it again.
    fn changed(&mut self, live: &Live, why: &'static str) {
        if self.ask.sharing.replans() && live.sends && self.replan_at.is_none() {
            self.replan_at = Some((self.now + self.ask.replan, why));
        }
    }

    /// Moves jobs so that the first that waits gets a segment of its own, where enough GPUs are free and it would fit one
    /// but does not.
    fn defragment(&mut self) {
        let (Some(pause), Some(&first)) = (self.ask.defragment, self.waiting.front()) else { return };
        let gpus = self.jobs[first].gpus;
        if gpus > self.placer.free_gpus() || gpus > self.segment_gpus {
            return;
        }
        if is_bound(&self.jobs[first]) {
            return;
        }
        let alone = self.placer.clone().place(first as u64, gpus, &self.ask.placement);
        if alone.is_some_and(|places| self.placer.segments_of(&places) == 1) {
            return;
        }
        // Who named its GPUs stays on them, and who has a placement of its own where that put it.
        let movable = self.live.iter().filter(|(job, _)| !is_bound(&self.jobs[**job]));
        let running: Vec<(u64, &[Place])> =
            movable.map(|(&job, live)| (job as u64, live.places.as_slice())).collect();
        let Some(Defragmentation { moves, .. }) = self.placer.defragment(&running, gpus) else { return };
        let mut moved = Vec::with_capacity(moves.len());
        for one in moves {
            let job = one.job as usize;
            self.settle(job);
            self.dissolve_of(job);
            let left = self.parked.remove(&job).map(|parked| parked.0.left);
            let live = self.live.remove(&job).expect("it runs");
            self.placer.release(&live.places);
            moved.push((live, one.to, left));
        }
        for (live, to, left) in moved {
            let (job, asked) = (live.job, &self.jobs[live.job]);
            let before = numbers(&live.places);
            self.placer.occupy(&to, wants(asked, self.plant, self.ask).phases);
            let to = self.ranked(job, to);
            self.effort.moves += 1;
            let links = Links { tenants: &self.tenants, fair: &self.fair, taken: &self.taken };
            let new = Live::new((job, asked), to, self.plant, links, self.ask, self.now);
            let new = new.in_place_of(live, left, self.now, pause);
            self.changed(&new, "job-moved");
            self.placed(&new, before, "defragmentation", "room-for-the-first");
            self.live.insert(job, new);
        }
    }

    fn start(&mut self) {
        let (ask, jobs, plant, now) = (self.ask, self.jobs, self.plant, self.now);
        let placed = match &mut self.seating {
            Some(seating) => seating.start(&mut self.placer, |job| wants(&jobs[job], plant, ask).phases),
            None => self.start_by_policy(),
        };
        self.waiting.retain(|job| !placed.iter().any(|started| started.job == *job));
        for Started { job, places, controller, reason } in placed {
            let places = self.ranked(job, places);
            let links = Links { tenants: &self.tenants, fair: &self.fair, taken: &self.taken };
            let mut live = Live::new((job, &jobs[job]), places, plant, links, ask, now);
            // Crux profiles who comes at the highest priority until the plan is made; others know nothing of it yet.
            live.level = if ask.sharing.is_crux() { 0 } else { ask.levels + 1 };
            let waited = (jobs[job].submitted, now);
            self.hours.add(waited, waited.1 - waited.0, |hour| &mut hour.waited);
            self.changed(&live, "job-came");
            self.placed(&live, Vec::new(), controller, reason);
            self.live.insert(job, live);
            if ask.sharing == SharingPolicy::Cassini {
                self.shift(job);
            }
        }
    }

    /// A job has GPUs now.
    fn placed(
        &mut self,
        live: &Live,
        before: Vec<(u32, u32)>,
        controller: &'static str,
        reason: &'static str,
    ) {
        let deed = Deed::Place { before, after: numbers(&live.places) };
        self.actions.push(JobAction {
            decided: self.now,
            effective: self.now,
            controller,
            reason,
            job: live.job,
            deed,
        });
    }

    /// The GPUs of a job in the order of its ranks.
    fn ranked(&self, job: usize, places: Vec<Place>) -> Vec<Place> {
        let (asked, fabric) = (&self.jobs[job], self.plant.fabric);
        if !asked.places.is_empty() {
            return places;
        }
        let traffic = || host_traffic(fabric, &asked.step, &places);
        arranged(fabric, &places, self.ask.rank_order, (self.ask.seed, &asked.name), traffic)
    }

    /// Who starts and where by the policies of queue and placement.
    fn start_by_policy(&mut self) -> Vec<Started<Vec<Place>>> {
        self.defragment();
        let (ask, jobs, plant, now) = (self.ask, self.jobs, self.plant, self.now);
        let held = |live: &Live| Held {
            end: expected_end(live, duration(&jobs[live.job]), now),
            places: live.places.clone(),
        };
        queue::start(
            ask.queue,
            &mut self.waiting,
            |job| wants(&jobs[job], plant, ask),
            &mut self.placer,
            self.live.values().map(held).collect(),
            now,
        )
    }

    fn lived(mut self) -> Lived {
        let running: Vec<usize> = self.live.keys().copied().collect();
        for job in running {
            self.settle(job);
            self.dissolve_of(job);
            let live = self.live.remove(&job).expect("it runs");
            self.held(&live);
            self.lives[job] = Some(live.life());
        }
        for job in std::mem::take(&mut self.waiting) {
            let waited = (self.jobs[job].submitted, self.now);
            self.hours.add(waited, waited.1 - waited.0, |hour| &mut hour.waited);
        }
        let lives = std::mem::take(&mut self.lives).into_iter().enumerate();
        let hours = 0..self.hours.hours.len() as u32;
        let shares = |serving: &Serving| hours.map(|hour| serving.fullest_at(hour)).collect();
        let inference_shares = self.ask.serving.as_ref().map(shares);
        Lived {
            jobs: lives.map(|(job, life)| life.unwrap_or_else(|| JobLife::waiting(job))).collect(),
            hours: self.hours.hours,
            contended: self.pairs.into_iter().map(|(jobs, seconds)| Contended { jobs, seconds }).collect(),
            gpus: self.gpus,
            reads: self.ask.reads.is_some(),
            inference_shares,
            span: self.ask.span,
            effort: self.effort,
            actions: self.actions,
        }
    }
}

/// What a job that waits wants. A scheduler knows of its phases what its class says: how long a step computes, and how
/// long its bytes take over its share of a host's NICs.
fn wants<'a>(job: &'a ClusterJob, plant: &Plant<'_>, ask: &'a Ask) -> Wants<'a> {
    let model = plant.fabric.host_model(HostId(0));
    let share = model.backend_capacity().bytes_per_s() / f64::from(model.gpus);
    let phases = (job.step.compute.seconds(), job.step.sent() / share);
    let (placement, duration) = (ask.placement_of(job), duration(job));
    Wants { gpus: job.gpus, places: &job.places, placement, phases, duration }
}

/// GPUs as numbers of host and GPU.
fn numbers(places: &[Place]) -> Vec<(u32, u32)> {
    places.iter().map(|place| (place.host.0, place.gpu)).collect()
}

/// Whether a job says itself where it is to be.
fn is_bound(job: &ClusterJob) -> bool {
    !job.places.is_empty() || job.placement.is_some()
}

/// Seconds for which a job runs alone with the checkpoints that it writes.
fn duration(job: &ClusterJob) -> f64 {
    job.duration * (1.0 + job.checkpoints)
}

/// When a scheduler that knows what a job takes alone expects it to end; one that is late is expected to take as long
/// again as it is late.
fn expected_end(live: &Live, duration: f64, now: f64) -> f64 {
    let alone = live.started + duration;
    alone.max(2.0 * now - alone)
}

/// GPUs of the largest segment that jobs may have, where all of them are free.
fn segment_gpus(fabric: &Fabric, empty: &ClusterPlacer) -> u32 {
    let mut segments: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    for host in (0..fabric.hosts().len()).map(HostId::from_index) {
        let place = fabric.host(host);
        // None on spares, and none that serve.
        *segments.entry((place.pod, place.segment)).or_insert(0) += empty.free_on(host);
    }
    segments.into_values().max().unwrap_or(0)
}
