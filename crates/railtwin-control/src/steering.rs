//! Steering (C4D, section III-A): which hosts are isolated, which spares take their place, when jobs start again.
//!
//! A finding that the [`Policy`] lets through isolates its host; a spare of the same segment takes its place, then one
//! of the same pod, or else the job waits for a repair; the spare has exactly the ranks of the host that it replaces,
//! so that ranks keep their order; then the job starts again. What the policy does not let through is proposed, and
//! waits for a person. A host that comes back is a spare.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use railtwin_fabric::{Fabric, HostId};
use railtwin_units::SimTime;

use crate::controller::{Action, Controller, Decision, Event, Finding};
use crate::paths::JobId;

/// The time over which [`Policy::hosts_per_hour`] counts.
const HOUR: SimTime = SimTime::from_ps(3_600_000_000_000_000);

railtwin_units::choice! {
    /// From where a spare may come.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum SpareScope {
        /// From the segment of the host that leaves, where the fabric looks the same to it.
        Segment = "segment",
        /// From the segment, or where it has none left from the pod.
        Pod = "pod",
    }
}

/// What may be done without a person, and how much at once.
#[derive(Clone, PartialEq, Debug)]
pub struct Policy {
    /// Causes, in the detectors' words, for which hosts are isolated without a person.
    pub automatic: Vec<&'static str>,
    /// How sure a finding must be for that, 0 to 1.
    pub confidence: f64,
    /// Hosts that may be out at the same time; a person is held to it, too.
    pub hosts_out: u32,
    /// Hosts that may be isolated within an hour; a person is held to it, too.
    pub hosts_per_hour: u32,
    /// From where spares may come.
    pub spares: SpareScope,
}

/// A host that is to be isolated.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Wanted {
    finding: Finding,
    reason: &'static str,
}

/// The place of a host that was isolated, with nobody in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Vacancy {
    job: JobId,
    seat: usize,
    host: HostId,
    reason: &'static str,
}

/// The hosts of a job in the order of their ranks.
#[derive(Clone, PartialEq, Debug)]
struct Seats {
    hosts: Vec<HostId>,
    /// Why it is to start again as soon as all its places are taken; none where it runs.
    restart: Option<&'static str>,
}

/// The controller that isolates hosts and puts spares in their place.
#[derive(Clone, Debug)]
pub struct Steering {
    policy: Policy,
    /// Pod and segment of each host.
    place: Vec<(u32, u32)>,
    jobs: BTreeMap<JobId, Seats>,
    spares: BTreeSet<HostId>,
    out: BTreeSet<HostId>,
    queue: VecDeque<Wanted>,
    proposed: Vec<Finding>,
    vacancies: Vec<Vacancy>,
    /// When the latest hosts were isolated, for the limit of an hour.
    recent: VecDeque<SimTime>,
    /// When it may go on, where the limit of an hour holds it.
    again: SimTime,
}

impl Steering {
    /// A controller of jobs on a fabric: of each job its hosts in the order of their ranks. Spares are those of the
    /// fabric that no job runs on.
    ///
    /// # Panics
    /// Where a host is not in the fabric, or stands twice.
    pub fn new(policy: Policy, fabric: &Fabric, jobs: &[(JobId, Vec<HostId>)]) -> Self {
        let mut spares: BTreeSet<HostId> = (0..fabric.hosts().len())
            .map(HostId::from_index)
            .filter(|&host| fabric.host(host).spare)
            .collect();
        let mut taken = BTreeSet::new();
        for &host in jobs.iter().flat_map(|(_, hosts)| hosts) {
            assert!(host.index() < fabric.hosts().len(), "{host:?} is not in the fabric");
            assert!(taken.insert(host), "{host:?} stands twice");
            spares.remove(&host);
        }
        let seats = |hosts: &Vec<HostId>| Seats { hosts: hosts.clone(), restart: None };
        Self {
            policy,
            place: fabric.hosts().iter().map(|host| (host.pod, host.segment)).collect(),
            jobs: jobs.iter().map(|(job, hosts)| (*job, seats(hosts))).collect(),
            spares,
            out: BTreeSet::new(),
            queue: VecDeque::new(),
            proposed: Vec::new(),
            vacancies: Vec::new(),
            recent: VecDeque::new(),
            again: SimTime::NEVER,
        }
    }

    /// Whether a finding is about a host that a job of ours runs on, and that nothing is under way for.
    fn is_new(&self, finding: &Finding) -> bool {
        let of_job = self.jobs.get(&finding.job).is_some_and(|seats| seats.hosts.contains(&finding.host));
        let waits = self.queue.iter().any(|wanted| wanted.finding.host == finding.host);
        of_job && !self.out.contains(&finding.host) && !waits
    }

    fn is_automatic(&self, finding: &Finding) -> bool {
        self.policy.automatic.contains(&finding.cause) && finding.confidence >= self.policy.confidence
    }

    /// The spare for a host's place, but for those that are promised: of its segment, then of its pod where that is
    /// allowed; the first by id.
    fn spare_for(&self, host: HostId, promised: &[HostId]) -> Option<HostId> {
        let place = self.place[host.index()];
        let of = |fits: &dyn Fn((u32, u32)) -> bool| {
            let mut free = self.spares.iter().copied().filter(|spare| !promised.contains(spare));
            free.find(|spare| fits(self.place[spare.index()]))
        };
        let near = of(&|other| other == place);
        match self.policy.spares {
            SpareScope::Segment => near,
            SpareScope::Pod => near.or_else(|| of(&|other| other.0 == place.0)),
        }
    }

    /// Isolates hosts as far as limits allow, in the order in which they were named.
    fn isolate(&mut self, now: SimTime, decisions: &mut Vec<Decision>) {
        self.again = SimTime::NEVER;
        while self.recent.front().is_some_and(|&at| at.saturating_add(HOUR) <= now) {
            self.recent.pop_front();
        }
        let mut left = VecDeque::new();
        // Spares that hosts before in the queue are about to take.
        let mut promised: Vec<HostId> = Vec::new();
        while let Some(wanted) = self.queue.pop_front() {
            let Finding { host, job, halts, .. } = wanted.finding;
            let Some(seats) = self.jobs.get_mut(&job) else { continue };
            let Some(seat) = seats.hosts.iter().position(|&own| own == host) else { continue };
            let most = self.out.len() >= self.policy.hosts_out as usize;
            let fast = self.recent.len() >= self.policy.hosts_per_hour as usize;
            if fast && let Some(&oldest) = self.recent.front() {
                self.again = oldest.saturating_add(HOUR);
            }
            // A host that only slows its job is better than none: it stays until a spare is there.
            let spare = self.spare_for(host, &promised);
            if most || fast || (!halts && spare.is_none()) {
                left.push_back(wanted);
                continue;
            }
            promised.extend(spare);
            self.out.insert(host);
            self.recent.push_back(now);
            self.vacancies.push(Vacancy { job, seat, host, reason: wanted.reason });
            decisions.push(Decision { action: Action::Isolate(host), reason: wanted.reason });
        }
        self.queue = left;
    }

    /// Puts spares into places, the longest empty first; a host that was mended before anybody took its place has it
    /// again.
    fn swap(&mut self, decisions: &mut Vec<Decision>) {
        let (spares, jobs) = (&mut self.spares, &mut self.jobs);
        self.vacancies.retain(|vacancy| {
            let back = spares.remove(&vacancy.host);
            if back && let Some(seats) = jobs.get_mut(&vacancy.job) {
                seats.restart = Some(vacancy.reason);
            }
            !back
        });
        let mut left = Vec::new();
        for vacancy in std::mem::take(&mut self.vacancies) {
            let Some(spare) = self.spare_for(vacancy.host, &[]) else {
                left.push(vacancy);
                continue;
            };
            let Some(seats) = self.jobs.get_mut(&vacancy.job) else { continue };
            self.spares.remove(&spare);
            seats.hosts[vacancy.seat] = spare;
            seats.restart = Some(vacancy.reason);
            let action = Action::Swap { job: vacancy.job, out: vacancy.host, spare };
            decisions.push(Decision { action, reason: vacancy.reason });
        }
        self.vacancies = left;
    }
}

impl Controller for Steering {
    fn name(&self) -> &'static str {
        "steering"
    }

    fn on_event(&mut self, _now: SimTime, event: &Event<'_>) {
        match *event {
            Event::Found(finding) if self.is_new(&finding) => {
                if self.is_automatic(&finding) {
                    self.proposed.retain(|known| known.host != finding.host);
                    self.queue.push_back(Wanted { finding, reason: finding.cause });
                } else if !self.proposed.iter().any(|known| known.host == finding.host) {
                    self.proposed.push(finding);
                }
            }
            Event::Confirmed(finding) => {
                self.proposed.retain(|known| known.host != finding.host);
                if self.is_new(&finding) {
                    self.queue.push_back(Wanted { finding, reason: "a person" });
                }
            }
            Event::Cleared(job) => {
                if let Some(seats) = self.jobs.get_mut(&job) {
                    seats.restart = Some("cleared");
                }
            }
            Event::Repaired(host) => {
                let was_out = self.out.remove(&host);
                if was_out {
                    self.spares.insert(host);
                }
            }
            Event::Closed(job) => {
                self.jobs.remove(&job);
                self.queue.retain(|wanted| wanted.finding.job != job);
                self.proposed.retain(|finding| finding.job != job);
                self.vacancies.retain(|vacancy| vacancy.job != job);
            }
            _ => {}
        }
    }

    fn decide(&mut self, now: SimTime, decisions: &mut Vec<Decision>) {
        // Places that are empty come before hosts that would leave another.
        self.swap(decisions);
        self.isolate(now, decisions);
        self.swap(decisions);
        for (&job, seats) in &mut self.jobs {
            let whole = !self.vacancies.iter().any(|vacancy| vacancy.job == job);
            if whole && let Some(reason) = seats.restart.take() {
                decisions.push(Decision { action: Action::Restart(job), reason });
            }
        }
    }

    fn next_time(&self) -> SimTime {
        self.again
    }

    fn proposed(&self) -> &[Finding] {
        &self.proposed
    }
}
