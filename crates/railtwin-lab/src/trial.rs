//! A trial: faults one after the other, healthy stretches, and a table of what was said.
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::fault::InjectedFault;
use crate::host::{LabError, now_ns};
use crate::job::{Attempt, JobSite};
use crate::network;
use crate::verdict::{Truth, WatchVerdict, judge};
use crate::watch::{HANG_S, WatchEvent, WatchProcess};

/// Steady time before a fault, s: the judge must know the job's past.
const BEFORE_S: f64 = 8.0;
/// Most time for incidents to close after a repair, s: a connection that was silent for 7 s sends again after up to 7 more.
const CLOSES_S: f64 = 25.0;

/// Settings of a trial: its faults and healthy stretches.
#[derive(Clone, Debug)]
pub struct TrialPlan {
    /// Where and with what.
    pub site: JobSite,
    /// The command whose `watch` follows the records.
    pub watcher: PathBuf,
    /// Faults.
    pub faults: Vec<InjectedFault>,
    /// Length of a healthy stretch, s.
    pub healthy_s: f64,
    /// Whether one stretch runs beside processes that take all processors.
    pub hog: bool,
}

/// A line of the table.
#[derive(Clone, Debug)]
pub struct TrialRow {
    /// The fault, or the name of the healthy stretch.
    pub what: String,
    /// The rank, where it was of one.
    pub rank: Option<usize>,
    /// Incidents of the watch during it.
    pub verdict: WatchVerdict,
    /// Expectations that the watch missed.
    pub misses: Vec<String>,
    /// Whether it does not count, as observers were starved.
    pub is_skipped: bool,
}

struct Trial<'a> {
    plan: &'a TrialPlan,
    watch: WatchProcess,
    attempt: Option<Attempt>,
    attempts: usize,
    /// Events that have been judged: each is judged once, those of the time between two faults with the second.
    judged: usize,
    outcomes: Vec<TrialRow>,
}

/// Runs a trial within private namespaces. `say` takes lines as it goes.
///
/// # Errors
/// The laboratory itself fails; what a watcher misses is in the outcomes.
pub fn run(plan: &TrialPlan, say: &mut dyn FnMut(&str)) -> Result<Vec<TrialRow>, LabError> {
    network::build(plan.site.ranks)?;
    let attempt = Attempt::start(&plan.site, 1)?;
    let watch = WatchProcess::start(&plan.watcher, &plan.site.records(), &plan.site.folder.join("state"))?;
    let mut trial =
        Trial { plan, watch, attempt: Some(attempt), attempts: 1, judged: 0, outcomes: Vec::new() };
    trial.healthy("healthy", say)?;
    for (at, fault) in plan.faults.iter().enumerate() {
        // Another rank each time: an incident that comes back within 30 s is the old one.
        let rank = (5 + 3 * at) % plan.site.ranks;
        trial.fault(*fault, rank, say)?;
    }
    if plan.hog {
        let hogs = Hogs::start()?;
        trial.healthy("healthy, processors taken", say)?;
        drop(hogs);
    }
    if let Some(attempt) = trial.attempt.take() {
        attempt.stop()?;
    }
    Ok(trial.outcomes)
}

impl Trial<'_> {
    /// Lets time pass; the watcher's events are taken.
    fn pass(&mut self, seconds: f64) -> Result<(), LabError> {
        let until_ns = now_ns() + (seconds * 1e9) as u64;
        while now_ns() < until_ns {
            std::thread::sleep(Duration::from_millis(50));
            self.watch.take()?;
        }
        Ok(())
    }

    fn healthy(&mut self, what: &str, say: &mut dyn FnMut(&str)) -> Result<(), LabError> {
        self.pass(BEFORE_S)?;
        self.pass(self.plan.healthy_s)?;
        let mut verdict = WatchVerdict::default();
        for event in &self.watch.events[self.judged..] {
            verdict.is_starved |= event.kind == "observer-starved";
            if event.accuses && event.what != "closed" {
                verdict.wrong.push(format!("{event:?}"));
            }
        }
        self.judged = self.watch.events.len();
        let misses = verdict.wrong.iter().map(|wrong| format!("accused {wrong}")).collect();
        self.note(TrialRow { what: what.to_owned(), rank: None, verdict, misses, is_skipped: false }, say);
        Ok(())
    }

    /// Makes a fault, and again where observers were starved.
    fn fault(
        &mut self,
        fault: InjectedFault,
        rank: usize,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), LabError> {
        let mut verdict = self.one_fault(fault, rank)?;
        if verdict.is_starved {
            say(&format!("{}: observers were starved; once more", fault.name()));
            self.pass(CLOSES_S)?;
            verdict = self.one_fault(fault, rank)?;
        }
        let misses = verdict.misses(&fault.expectation(HANG_S));
        let is_skipped = verdict.is_starved && verdict.wrong.is_empty();
        let what = fault.name().to_owned();
        self.note(TrialRow { what, rank: Some(rank), verdict, misses, is_skipped }, say);
        Ok(())
    }

    fn one_fault(&mut self, fault: InjectedFault, rank: usize) -> Result<WatchVerdict, LabError> {
        self.pass(BEFORE_S)?;
        let control = self.plan.site.control();
        let attempt = self.attempt.as_ref().ok_or_else(|| LabError("no job runs".into()))?;
        let pid = attempt.pid(rank)?;
        let from = self.judged;
        let made_ns = now_ns();
        fault.make(rank, pid, &control)?;
        self.pass(fault.held_s())?;
        fault.repair(rank, pid, &control)?;
        if fault == InjectedFault::Kill {
            self.restart()?;
        } else {
            self.until_closed(from)?;
        }
        let truth = Truth { fault, rank, made_ns };
        self.judged = self.watch.events.len();
        let was_starved = is_starved(&self.watch.events[..from]);
        let mut verdict = judge(&self.watch.events[from..], &truth, &fault.expectation(HANG_S));
        verdict.is_starved |= was_starved;
        Ok(verdict)
    }

    /// Waits until the incidents of events from a place on are closed.
    fn until_closed(&mut self, from: usize) -> Result<(), LabError> {
        let until_ns = now_ns() + (CLOSES_S * 1e9) as u64;
        self.pass(1.0)?;
        while now_ns() < until_ns && open(&self.watch.events[from..]) > 0 {
            self.pass(0.2)?;
        }
        Ok(())
    }

    /// Ends the job of which a rank was killed, and starts it again from its checkpoint.
    fn restart(&mut self) -> Result<(), LabError> {
        if let Some(mut attempt) = self.attempt.take() {
            attempt.wait()?;
        }
        self.attempts += 1;
        let attempt = Attempt::start(&self.plan.site, self.attempts)?;
        if attempt.first_step(0).is_none_or(|step| step == 0) {
            return Err(LabError("the job did not resume from its checkpoint".into()));
        }
        self.attempt = Some(attempt);
        Ok(())
    }

    fn note(&mut self, outcome: TrialRow, say: &mut dyn FnMut(&str)) {
        say(&row(&outcome));
        self.outcomes.push(outcome);
    }
}

/// Incidents that accuse and are open.
fn open(events: &[WatchEvent]) -> usize {
    let mut open = std::collections::BTreeSet::new();
    for event in events.iter().filter(|event| event.accuses) {
        match event.what.as_str() {
            "closed" => open.remove(&event.incident),
            _ => open.insert(event.incident.clone()),
        };
    }
    open.len()
}

/// Whether observers were starved at the last event: they are until that incident is closed.
fn is_starved(events: &[WatchEvent]) -> bool {
    let last = events.iter().rev().find(|event| event.kind == "observer-starved");
    last.is_some_and(|event| event.what != "closed")
}

/// The head of the table.
pub fn head() -> String {
    format!(
        "{:<26} {:>4} {:>8} {:>8} {:>8} {:>10}  {}",
        "what", "rank", "opened", "read", "named", "confirmed", "result"
    )
}

/// A line of the table; times in s since the fault.
pub fn row(outcome: &TrialRow) -> String {
    let time = |time_s: Option<f64>| time_s.map_or("-".to_owned(), |time_s| format!("{time_s:.2}"));
    let verdict = &outcome.verdict;
    let rank = outcome.rank.map_or("-".to_owned(), |rank| rank.to_string());
    let result = match (outcome.is_skipped, outcome.misses.is_empty()) {
        (true, _) => "SKIPPED: observers were starved twice".to_owned(),
        (false, true) if verdict.is_starved => "ok (observers were starved)".to_owned(),
        (false, true) => "ok".to_owned(),
        (false, false) => format!("MISSED: {}", outcome.misses.join("; ")),
    };
    let (opened, read) = (time(verdict.opened_s), time(verdict.read_s));
    let (named, confirmed) = (time(verdict.named_s), time(verdict.confirmed_s));
    let what = &outcome.what;
    let last = if verdict.last.is_empty() { String::new() } else { format!("  [{}]", verdict.last) };
    format!("{what:<26} {rank:>4} {opened:>8} {read:>8} {named:>8} {confirmed:>10}  {result}{last}")
}

/// Processes that take all processors; they end when this is dropped.
struct Hogs(Vec<Child>);

impl Hogs {
    fn start() -> Result<Self, LabError> {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let mut hogs = Self(Vec::new());
        for _ in 0..count {
            let mut command = Command::new("sh");
            command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
            hogs.0.push(command.spawn().map_err(|error| LabError(format!("sh: {error}")))?);
        }
        Ok(hogs)
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}
