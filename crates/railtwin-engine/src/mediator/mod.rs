//! The mediator: events to controllers, their actions to hosts and leaves, each after its delay.
//!
//! Both engines go through one timeline with it, so that they see the same decisions at the same times:
//!
//! 1. what faults do and what switches and hosts learn of them, of [`Aftermath`];
//! 2. reports of links reach controllers `[control] report` after routes changed;
//! 3. what engines measured reaches them `[control] report` after the end of a period of `feedback`;
//! 4. jobs come, and are gone when the last of their operations has ended;
//! 5. controllers decide when they are told something, or when they asked to be asked;
//! 6. what they decide holds `[control] programming` later, but for the paths and the priority of a job that just came:
//!    these hold at once.
//!
//! At one time they happen in this order; what was decided before holds before anything is told, and what holds without
//! delay does so at the end. Each decision is an [`ActionRow`].
mod actions;
mod feedback;
mod ground;
mod life;
mod lives;
mod programmed;
mod reads;
mod settled;
mod survey;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use railtwin_control::controller::{Action, Answer, Arrival, Controller, Decision, Event, Standing};
use railtwin_control::paths::JobId;
use railtwin_control::te::{LinkReport, Subject, WriteError};
use railtwin_fabric::{Fabric, LinkId};
use railtwin_units::{SimTime, stream};

pub use actions::ActionRow;
pub use feedback::Feedback;
pub use life::Life;
pub use programmed::Programmed;
pub(crate) use settled::ecmp_of;
pub use settled::{Connected, settled};
use survey::{Answers, Outstanding};
pub use survey::{Probe, Survey};

use self::feedback::Feeder;
use self::ground::Ground;
use self::lives::Lives;
use crate::fault::{Aftermath, Change, Impairment, Known, Moment, View};
use crate::inside::NOTHING_INSIDE;
use crate::own::{IDLE_MAX, halt_idle};
use crate::routing_case::RoutingCase;
use railtwin_control::controller::Replan;

/// Carries events and actions between a run and its controllers.
#[derive(Debug)]
pub struct Mediator<'a> {
    fabric: &'a Fabric,
    aftermath: Aftermath<'a>,
    controllers: Vec<Box<dyn Controller + 'a>>,
    /// The first so many are those of the balancer; the others are one's own.
    of_balancer: usize,
    programmed: Programmed,
    /// First queue pair and job of connections that follow each other, ascending: whose a queue pair is.
    jobs: Vec<(u32, u32)>,
    lives: Lives,
    /// Jobs that came in this moment.
    arrived: BTreeSet<u32>,
    report: SimTime,
    programming: SimTime,
    lost_writes: f64,
    draw: u64,
    /// Reports on their way, in order of time.
    reports: VecDeque<(SimTime, LinkReport)>,
    /// By link: version of its last report.
    versions: BTreeMap<LinkId, u64>,
    /// Decisions on their way: when they hold and their number, then the controller and its row in `rows`, if it has
    /// one.
    coming: BTreeMap<(SimTime, u64), (usize, Decision, Option<usize>)>,
    decided: u64,
    ground: Ground<'a>,
    /// Surveys that nobody has sent yet.
    surveys: Vec<Survey>,
    /// Bytes of a probe, and for how long its answer is waited for.
    probe_size: u32,
    probe_timeout: SimTime,
    /// Answers on their way: when they are back, and to whom.
    answers: Answers,
    outstanding: Outstanding,
    /// What engines measured, on its way.
    feeder: Feeder,
    /// When the last thing has come to rest: who goes on probing is asked no more. Controllers of one's own bound
    /// themselves.
    rest: SimTime,
    /// Whether work goes on, as the engine said last.
    is_working: bool,
    /// Times in a row that controllers of one's own were asked while nothing was told and no work went on.
    idle: u32,
    /// Whether a priority changed since the engine was last told.
    reprioritized: bool,
    /// For how long after something happened controllers are still asked.
    patience: SimTime,
    rows: Vec<ActionRow>,
}

/// What passed at one time.
#[derive(Clone, Copy, Debug)]
pub struct News<'a> {
    /// What happened.
    pub moments: &'a [Moment],
    /// Whether paths may be other ones than before.
    pub reroutes: bool,
    /// Whether priorities of jobs may be other ones than before.
    pub reprioritizes: bool,
    /// Whether queue pairs have other shares than before.
    pub reweighs: bool,
}

impl<'a> Mediator<'a> {
    /// At time zero, with all connections opened. What is down from then on was down long before: everybody knows of
    /// it, and what is decided then holds from the start.
    pub fn new(
        fabric: &'a Fabric,
        routing: &RoutingCase,
        connected: Connected<'_>,
        draw: u64,
        ground: (&'a [Moment], &'a [Impairment]),
    ) -> Self {
        Self::with(Vec::new(), fabric, routing, connected, draw, ground)
    }

    /// The same with controllers of one's own behind those of the balancer.
    pub fn with(
        own: Vec<Box<dyn Controller + 'a>>,
        fabric: &'a Fabric,
        routing: &RoutingCase,
        connected: Connected<'_>,
        draw: u64,
        (moments, impairments): (&'a [Moment], &'a [Impairment]),
    ) -> Self {
        let mut controllers = settled::controllers(fabric, routing, connected, draw);
        let of_balancer = controllers.len();
        controllers.extend(own);
        let control = &routing.control;
        let steered = if controllers.is_empty() { 0 } else { connected.numbers.len() };
        let mut mediator = Self {
            fabric,
            aftermath: Aftermath::new(fabric, moments),
            controllers,
            of_balancer,
            programmed: Programmed::new(steered, control.entries),
            jobs: Vec::new(),
            lives: Lives::default(),
            arrived: BTreeSet::new(),
            report: control.report,
            programming: SimTime::ZERO,
            lost_writes: 0.0,
            draw,
            reports: VecDeque::new(),
            versions: BTreeMap::new(),
            coming: BTreeMap::new(),
            decided: 0,
            ground: Ground::new(fabric, ecmp_of(routing.balancer, routing.ecmp), impairments, draw),
            surveys: Vec::new(),
            probe_size: control.probe_size,
            probe_timeout: control.probe_timeout,
            answers: Answers::new(),
            outstanding: Outstanding::default(),
            feeder: Feeder::default(),
            rest: SimTime::ZERO,
            is_working: false,
            idle: 0,
            reprioritized: false,
            patience: patience(routing),
            rows: Vec::new(),
        };
        if !mediator.controllers.is_empty() {
            mediator.lives = Lives::new(connected);
        }
        let last = mediator.ground.last_change(moments).max(mediator.lives.last_start());
        mediator.rest = last.saturating_add(mediator.patience);
        if !mediator.controllers.is_empty() {
            mediator.jobs = connected.connections.iter().map(|one| (one.first, one.job)).collect();
            mediator.jobs.dedup_by_key(|(_, job)| *job);
            mediator.open(connected);
            let dead: Vec<LinkId> = mediator.aftermath.known().routed.down_links().collect();
            let told = |link| (SimTime::ZERO, mediator.report_of(link, false, SimTime::ZERO));
            mediator.reports = dead.into_iter().map(told).collect();
            mediator.tell(SimTime::ZERO);
            mediator.decide(SimTime::ZERO, true);
        }
        mediator.programming = control.programming(routing.balancer);
        mediator.lost_writes = control.lost_writes.unwrap_or(0.0);
        if !mediator.controllers.is_empty() {
            mediator.feeder = Feeder::every(control.feedback);
        }
        mediator
    }

    /// Without controllers and without faults.
    pub fn quiet(fabric: &'a Fabric) -> Self {
        Self::new(
            fabric,
            &RoutingCase::default(),
            Connected { connections: &[], numbers: &[], lives: &[], inside: &NOTHING_INSIDE },
            0,
            (&[], &[]),
        )
    }

    fn open(&mut self, connected: Connected<'_>) {
        let targets = connected.targets();
        let openings = lives::openings(connected.first(), &targets, &connected.inside.ways);
        let mut jobs: Vec<JobId> = openings.iter().map(|one| one.job).collect();
        jobs.extend(connected.exchanging_first().map(JobId));
        jobs.sort_unstable();
        jobs.dedup();
        for controller in &mut self.controllers {
            for &job in &jobs {
                let exchanges = connected.inside.exchanges_of(job.0);
                let arrival = Arrival { job, step: self.lives.step(job.0), exchanges };
                controller.on_event(SimTime::ZERO, &Event::Arrived(arrival));
            }
            controller.on_event(SimTime::ZERO, &Event::Opened(&openings));
        }
    }

    /// What is known now.
    pub const fn known(&self) -> &Known {
        self.aftermath.known()
    }

    /// What hosts and leaves were told.
    pub const fn programmed(&self) -> &Programmed {
        &self.programmed
    }

    /// Decisions on their way: made, and not in effect yet.
    pub fn pending(&self) -> usize {
        self.coming.len()
    }

    /// How controllers rank the jobs that are there; empty where none does.
    pub fn standings(&self) -> Vec<Standing> {
        self.controllers.iter().flat_map(|one| one.standings()).collect()
    }

    /// What was known and told last.
    pub fn into_state(self) -> (Known, Programmed) {
        (self.aftermath.into_known(), self.programmed)
    }

    /// All decisions in the order in which they were made.
    pub fn into_actions(self) -> Vec<ActionRow> {
        self.rows
    }

    /// When something happens next once no work goes on: who goes on probing is asked no more when all has come to
    /// rest. None where nothing more does.
    pub fn next_time(&self) -> Option<SimTime> {
        self.soonest(false)
    }

    /// When something happens next, where `working` tells whether work goes on: as long as it does controllers are
    /// asked whenever they say.
    pub fn next_time_while(&mut self, working: bool) -> Option<SimTime> {
        self.is_working = working;
        self.soonest(working)
    }

    fn soonest(&self, working: bool) -> Option<SimTime> {
        let (of_balancer, own) = self.controllers.split_at(self.of_balancer);
        let soonest = |all: &[Box<dyn Controller + 'a>]| all.iter().map(|one| one.next_time()).min();
        let asked = soonest(of_balancer).filter(|&at| working || at <= self.rest);
        let asked = asked.into_iter().chain(soonest(own)).min().filter(|&at| at < SimTime::NEVER);
        let answer = self.answers.front().map(|&(at, ..)| at);
        let report = self.reports.front().map(|&(at, _)| at);
        let coming = self.coming.keys().next().map(|&(at, _)| at);
        let all = [
            self.aftermath.next_time(),
            asked,
            report,
            answer,
            self.feeder.arrives(),
            coming,
            self.lives.next_time(),
        ];
        all.into_iter().flatten().min()
    }

    /// Surveys that controllers asked for since this was last asked. Whoever runs the network sends them and tells what
    /// became of them by [`Self::answered`].
    pub fn take_surveys(&mut self) -> Vec<Survey> {
        std::mem::take(&mut self.surveys)
    }

    /// What becomes of a survey where no packet is followed, by the losses and delays of its links when it was sent.
    /// `load` tells of a link the share that is taken while it is probed and for how long a packet waits for it.
    pub fn answers_to(&self, survey: &Survey, load: impl Fn(LinkId) -> (f64, SimTime)) -> Vec<Answer> {
        self.ground.answer(survey, self.probe_timeout, &load)
    }

    /// The answers to a survey are back at `back`; who asked is told after a report, at `soonest` where that is later,
    /// and not before it was told of the surveys that it asked for earlier.
    pub fn answered(&mut self, survey: &mut Survey, back: SimTime, soonest: SimTime) {
        survey.told = back.saturating_add(self.report).max(soonest);
        let answers = std::mem::take(&mut self.answers);
        self.answers = self.outstanding.hear(survey, answers);
    }

    /// Sends the surveys asked for by now as over idle links, and has them answered: for who asks what becomes known
    /// and runs no network.
    pub fn answer_idle(&mut self) {
        for mut survey in self.take_surveys() {
            survey.answers = self.answers_to(&survey, |_| (0.0, SimTime::ZERO));
            let back = survey.at.saturating_add(survey.lasts(self.probe_timeout));
            self.answered(&mut survey, back, back);
        }
    }

    /// Has a survey answered as the record of the same one in another run says.
    pub fn answer_as(&mut self, survey: &mut Survey, known: &Survey) {
        survey.answers.clone_from(&known.answers);
        survey.told = known.told;
        let answers = std::mem::take(&mut self.answers);
        self.answers = self.outstanding.hear(survey, answers);
    }

    /// Passes through what happens at `now`, which is not after [`Self::next_time`].
    pub fn pass(&mut self, now: SimTime) -> News<'a> {
        let (moments, learnt) = self.aftermath.pass(now);
        if self.controllers.is_empty() {
            return News { moments, reroutes: learnt, reprioritizes: false, reweighs: false };
        }
        let weighed = self.programmed.weighed();
        moments.iter().for_each(|moment| self.ground.pass(moment));
        // Everybody knew what is so from the start.
        if now > SimTime::ZERO {
            for moment in moments {
                let (link, up) = match moment.change {
                    Change::Avoided(link, View::All | View::Routed) => (link, false),
                    Change::Used(link, View::All | View::Routed) => (link, true),
                    _ => continue,
                };
                let report = self.report_of(link, up, now);
                self.reports.push_back((now.saturating_add(self.report), report));
            }
        }
        let mut reroutes = learnt;
        reroutes |= self.take_effect(now);
        let told = self.tell(now) | self.open_due(now);
        if told || self.controllers.iter().any(|one| one.next_time() <= now) {
            self.count_idle(now, told);
            reroutes |= self.decide(now, false);
            reroutes |= self.take_effect(now);
        }
        // After all else of the moment: engines know of an end only when it has come.
        if self.close_due(now) {
            self.arrived.clear();
            reroutes |= self.decide(now, false);
            reroutes |= self.take_effect(now);
        }
        let reprioritizes = std::mem::take(&mut self.reprioritized);
        let reweighs = self.programmed.weighed() != weighed;
        News { moments, reroutes, reprioritizes, reweighs }
    }

    /// While work goes on its end bounds who asks to be asked again; else nobody but the one who asks.
    fn count_idle(&mut self, now: SimTime, told: bool) {
        let mut own = self.controllers[self.of_balancer..].iter();
        let asks = own.find(|one| one.next_time() <= now).filter(|_| !told && !self.is_working);
        self.idle = if asks.is_some() { self.idle + 1 } else { 0 };
        if let Some(one) = asks.filter(|_| self.idle > IDLE_MAX) {
            halt_idle(one.name(), now, "and no work goes on");
        }
    }

    fn report_of(&mut self, link: LinkId, up: bool, time: SimTime) -> LinkReport {
        let version = self.versions.entry(link).or_default();
        *version += 1;
        LinkReport { time, subject: Subject::Link(link), up, version: *version }
    }

    /// Tells controllers what has reached them; false where nothing has.
    fn tell(&mut self, now: SimTime) -> bool {
        let mut told = false;
        while let Some(&(_, report)) = self.reports.front().filter(|(at, _)| *at <= now) {
            self.reports.pop_front();
            self.controllers.iter_mut().for_each(|one| one.on_event(now, &Event::Link(report)));
            told = true;
        }
        while self.answers.front().is_some_and(|(at, ..)| *at <= now) {
            let Some((_, controller, answers)) = self.answers.pop_front() else { break };
            self.controllers[controller].on_event(now, &Event::Probed(&answers));
            told = true;
        }
        told | self.feeder.tell(now, &mut self.controllers)
    }

    /// Hands the probes among decisions to whoever sends them: [`Self::take_surveys`].
    fn probe(&mut self, now: SimTime, controller: usize, decisions: &mut Vec<Decision>) {
        let is_probe = |one: &Decision| matches!(one.action, Action::Probe { .. });
        let Some(&first) = decisions.iter().find(|one| is_probe(one)) else { return };
        let probes: Vec<Action> =
            decisions.iter().filter(|one| is_probe(one)).map(|one| one.action).collect();
        decisions.retain(|one| !is_probe(one));
        let name = self.controllers[controller].name();
        let routed = &self.aftermath.known().routed;
        let number = self.outstanding.ask(controller);
        let asker = (controller, number, name);
        self.surveys.push(self.ground.survey((now, self.probe_size), asker, routed, &probes));
        self.rows.push(ActionRow {
            decided: now,
            effective: now,
            controller: name,
            action: first.action,
            reason: first.reason,
            job: None,
            before: None,
            moved: probes.len() as u32,
        });
    }

    /// Asks all controllers. What they decide for what was opened at the start, or just now, holds at once and is one row
    /// for each job and reason. Whether paths may be others by it.
    fn decide(&mut self, now: SimTime, at_start: bool) -> bool {
        let mut changed = false;
        for number in 0..self.controllers.len() {
            let mut decisions = Vec::new();
            self.controllers[number].decide(now, &mut decisions);
            let asks = |one: &Decision| matches!(one.action, Action::Probe { .. } | Action::Read { .. });
            if decisions.iter().any(asks) {
                self.probe(now, number, &mut decisions);
                self.note_reads(now, number, &mut decisions);
            }
            let name = self.controllers[number].name();
            let later = now.saturating_add(self.programming);
            let mut groups: BTreeMap<(Option<u32>, &str, &str), usize> = BTreeMap::new();
            // Decisions for what was opened come connection by connection, so the last one's answers mostly hold.
            let (mut owner, mut last) = (Owner::default(), None);
            for decision in decisions {
                let (job, action) = (self.job_of(&decision.action, &mut owner), decision.action.name());
                // Source port and traffic class are attributes of a queue pair that is set up (ibv_modify_qp).
                let of_arrival = matches!(decision.action, Action::Path { .. } | Action::Priority { .. })
                    && job.is_some_and(|job| self.arrived.contains(&job));
                let at_once = at_start || of_arrival;
                if let Some((known, kind, reason, group)) = last
                    && at_once
                    && known == job
                    && std::ptr::eq::<str>(kind, action)
                    && std::ptr::eq::<str>(reason, decision.reason)
                {
                    let group: usize = group;
                    changed |= match decision.action {
                        // Most of what is decided at a start.
                        Action::Path { queue_pair, source_port } => {
                            self.rows[group].moved += 1;
                            self.programmed.lead(queue_pair, source_port, decision.reason)
                        }
                        _ => self.do_at_once(now, number, decision, group),
                    };
                    continue;
                }
                let effective = if at_once { now } else { later };
                let row = ActionRow {
                    decided: now,
                    effective,
                    controller: name,
                    action: decision.action,
                    reason: decision.reason,
                    job,
                    before: self.before(&decision.action),
                    moved: 1,
                };
                if at_once {
                    let group = *groups.entry((job, action, decision.reason)).or_insert(self.rows.len());
                    last = Some((job, action, decision.reason, group));
                    if group == self.rows.len() {
                        self.rows.push(ActionRow { moved: 0, ..row });
                    }
                    changed |= self.do_at_once(now, number, decision, group);
                    continue;
                }
                self.rows.push(row);
                self.coming.insert((effective, self.decided), (number, decision, Some(self.rows.len() - 1)));
                self.decided += 1;
            }
        }
        changed
    }

    /// Carries out what holds by `now`; whether paths may be others.
    fn take_effect(&mut self, now: SimTime) -> bool {
        let mut changed = false;
        while let Some(entry) = self.coming.first_entry().filter(|entry| entry.key().0 <= now) {
            let (_, number) = *entry.key();
            let (controller, decision, row) = entry.remove();
            if self.is_lost(number, &decision.action) {
                let Action::Entry(change) = decision.action else { continue };
                let error = WriteError::NoAnswer { leaf: self.fabric.target(change.entry().ingress) };
                self.written(now, controller, change, Some(&error));
                self.due_again(now, controller);
                self.came_to_nothing(row);
                continue;
            }
            match self.carry_out(now, controller, decision) {
                Some(paths) => changed |= paths,
                None => {
                    self.due_again(now, controller);
                    self.came_to_nothing(row);
                }
            }
        }
        changed
    }

    /// Carries out what holds in the moment in which it is decided, and counts it in the row of its group where it does;
    /// whether paths may be others.
    fn do_at_once(&mut self, now: SimTime, controller: usize, decision: Decision, group: usize) -> bool {
        let carried_out = self.carry_out(now, controller, decision);
        let row = &mut self.rows[group];
        if carried_out.is_some() {
            row.effective = now;
            row.action = if row.moved == 0 { decision.action } else { row.action };
            row.moved += 1;
        } else if row.moved == 0 {
            row.effective = SimTime::NEVER;
        }
        carried_out.unwrap_or(false)
    }

    /// A decision did not arrive, or was refused.
    fn came_to_nothing(&mut self, row: Option<usize>) {
        if let Some(row) = row {
            (self.rows[row].effective, self.rows[row].moved) = (SimTime::NEVER, 0);
        }
    }

    /// A write of a controller did not succeed: nothing rests until that was due again, and after it.
    fn due_again(&mut self, now: SimTime, controller: usize) {
        let due = self.controllers[controller].next_time();
        let due = if due < SimTime::NEVER { due.max(now) } else { now };
        self.rest = self.rest.max(due.saturating_add(self.patience));
    }

    /// Whether paths may be others; none where a leaf refused.
    fn carry_out(&mut self, now: SimTime, controller: usize, decision: Decision) -> Option<bool> {
        self.reprioritized |= matches!(
            decision.action,
            Action::Priority { job, priority } if self.programmed.priority(job) != Some(priority)
        );
        let outcome = self.programmed.apply(self.fabric, &decision.action, decision.reason);
        if let Action::Entry(change) = decision.action {
            self.written(now, controller, change, outcome.as_ref().err());
        }
        outcome.ok()
    }

    fn written(
        &mut self,
        now: SimTime,
        controller: usize,
        change: railtwin_control::te::Change,
        error: Option<&WriteError>,
    ) {
        self.controllers[controller].on_event(now, &Event::Written { change, error });
    }

    /// Whether a write gets lost, by a draw of its own.
    fn is_lost(&self, number: u64, action: &Action) -> bool {
        if self.lost_writes <= 0.0 || !matches!(action, Action::Entry(_)) {
            return false;
        }
        let draw = stream::mix(self.draw ^ stream::mix(0x77_72_69_74_65 ^ number));
        (draw >> 11) as f64 / (1_u64 << 53) as f64 <= self.lost_writes
    }

    /// The source port or the share that a queue pair had, or the priority that a job was given.
    fn before(&self, action: &Action) -> Option<u32> {
        match action {
            Action::Path { queue_pair, .. } => self.programmed.port(*queue_pair).map(u32::from),
            Action::Weight { queue_pair, .. } => self.programmed.share(*queue_pair),
            Action::Priority { job, .. } => self.programmed.priority(*job).map(u32::from),
            _ => None,
        }
    }

    /// Whose an action is. `owner` is whom the last queue pair belonged to.
    fn job_of(&self, action: &Action, owner: &mut Owner) -> Option<u32> {
        match *action {
            Action::Path { queue_pair, .. } | Action::Weight { queue_pair, .. } => {
                if !owner.rows.contains(&queue_pair) {
                    let next = self.jobs.partition_point(|&(first, _)| first <= queue_pair);
                    let &(first, job) = self.jobs.get(next.checked_sub(1)?)?;
                    let end = self.jobs.get(next).map_or(u32::MAX, |&(first, _)| first);
                    *owner = Owner { rows: first..end, job };
                }
                Some(owner.job)
            }
            Action::Priority { job, .. } | Action::Swap { job, .. } | Action::Restart(job) => Some(job.0),
            _ => None,
        }
    }
}

/// The queue pairs of a connection and the job that opened it.
#[derive(Default)]
struct Owner {
    rows: Range<u32>,
    job: u32,
}

/// For how long controllers are still asked after the last thing happened: what is on its way then, a plan, and the
/// surveys that it takes to find out and to trust a link again.
fn patience(routing: &RoutingCase) -> SimTime {
    let control = &routing.control;
    let plan = match routing.replan {
        Replan::Never | Replan::AtOnce => SimTime::ZERO,
        Replan::After(time) | Replan::Every(time) => time,
    };
    let surveys = u64::from(control.clean_surveys) + 2;
    // A survey waits for the answers of the one before.
    let each = control.probes.map_or(0, |period| {
        let periods = control.report.ps().div_ceil(period.ps().max(1)).max(1);
        period.ps().saturating_mul(periods)
    });
    let probes = each.saturating_mul(surveys);
    let delays = control.report.saturating_add(control.programming(routing.balancer));
    let once = plan.saturating_add(delays).saturating_add(SimTime::from_ps(probes));
    once.saturating_add(once)
}
