//! Controllers of one's own: how they come into a run, what they are given, and what is asked of them.
//!
//! They stand beside the controllers of the case's balancer, are told the same events and are asked at the same times,
//! behind them; of two that steer one queue pair the later decision holds. Every replicate makes its own, and so does
//! whoever asks for paths again, so what they keep never passes from one to another.
//!
//! ```
//! use railtwin_control::controller::{Action, Controller, Decision, Event};
//! use railtwin_engine::own::{Own, QueuePair, Site};
//! use railtwin_units::SimTime;
//!
//! /// Every queue pair on one source port.
//! #[derive(Debug, Default)]
//! struct OnePort(Vec<QueuePair>);
//!
//! impl Controller for OnePort {
//!     fn name(&self) -> &'static str {
//!         "one-port"
//!     }
//!     fn on_event(&mut self, _now: SimTime, event: &Event<'_>) {
//!         if let Event::Opened(openings) = event {
//!             self.0.extend(openings.iter().flat_map(QueuePair::of));
//!         }
//!     }
//!     fn decide(&mut self, _now: SimTime, decisions: &mut Vec<Decision>) {
//!         decisions.extend(self.0.drain(..).map(|one| Decision {
//!             action: Action::Path { queue_pair: one.row, source_port: Some(50_000) },
//!             reason: "same",
//!         }));
//!     }
//! }
//!
//! let own = Own::new(&["one-port"], |_: &Site| vec![Box::<OnePort>::default()]);
//! assert_eq!(own.names(), ["one-port"]);
//! ```
use std::fmt;
use std::sync::{Arc, OnceLock};

use railtwin_control::controller::{Action, Controller, Decision, Event, Opening};
use railtwin_control::paths::JobId;
use railtwin_control::paths::load_balance::WHOLE;
use railtwin_control::te::{Applied, Change, Collector, LinkReport};
use railtwin_fabric::{DeviceId, DeviceKind, Fabric, LinkId};
use railtwin_routing::source_port::{FIRST_PORT, LAST_PORT};
use railtwin_routing::{EcmpConfig, Forwarding, LinkMask, NicPort, Prefixes, Routing};
use railtwin_units::SimTime;

pub use railtwin_control::halt::{Halt, guarded, halt};

use crate::balancer::Balancer;
use crate::graph::PRIORITY_MAX;
use crate::walk;

/// Times in a row that a controller may ask to be asked again while it is told nothing and no work goes on, or however
/// much goes on within so many times [`Stage::least_wait`]. Between two events nothing changes that it could see, so who
/// does so without end waits for nothing, and would hold up the run for ever.
pub(crate) const IDLE_MAX: u32 = 10_000;

/// Packets of one probe at most, as `[control] probe_packets`.
const PACKETS_MAX: u32 = 1_000_000;

/// Makes the controllers of a replicate.
type Make = dyn Fn(&Site) -> Vec<Box<dyn Controller>> + Send + Sync;

/// Controllers of one's own for the runs of a case.
#[derive(Clone)]
pub struct Own {
    names: Vec<String>,
    make: Arc<Make>,
}

impl fmt::Debug for Own {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Own").field("names", &self.names).finish_non_exhaustive()
    }
}

impl Own {
    /// Controllers by the names that the table `actions` has for them, and what makes them: called once for each
    /// replicate and whenever its paths are asked for again, from several threads, and each time to give controllers
    /// that decide alike.
    pub fn new(
        names: &[&str],
        make: impl Fn(&Site) -> Vec<Box<dyn Controller>> + Send + Sync + 'static,
    ) -> Self {
        Self { names: names.iter().map(|&name| name.to_owned()).collect(), make: Arc::new(make) }
    }

    /// Their names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Why the table `actions` could not tell whose a row is: a name is empty, there twice, or that of a controller of
    /// ours. None where it can.
    pub fn trouble_of_names(&self) -> Option<String> {
        let mut named = self.names.iter().enumerate();
        let (row, name) = named
            .find(|(row, name)| name.is_empty() || self.names[..*row].contains(name) || is_taken(name))?;
        Some(match () {
            () if name.is_empty() => format!("controller {row} has no name: \"\""),
            () if is_taken(name) => {
                format!(
                    "controller {row} is called {name:?}, as one of railtwin's own is: give it another name"
                )
            }
            () => format!("controller {row} has the name of another: {name:?}"),
        })
    }

    /// The balancers beside which controllers of one's own can steer, as text.
    pub fn balancers() -> String {
        let all = Balancer::ALL.into_iter().filter(|&balancer| Self::refused_by(balancer).is_none());
        all.map(Balancer::name).collect::<Vec<_>>().join(", ")
    }

    /// Why controllers of one's own can do nothing beside this balancer; none where switches hash source ports.
    pub fn refused_by(balancer: Balancer) -> Option<&'static str> {
        match balancer {
            Balancer::Ecmp
            | Balancer::EEcmp
            | Balancer::MultipathEcn
            | Balancer::Disjoint
            | Balancer::C4p
            | Balancer::Crux
            | Balancer::CruxPsPa
            | Balancer::CruxPa
            | Balancer::Sincronia
            | Balancer::Varys
            | Balancer::Taccl
            | Balancer::Te => None,
            Balancer::Pinned | Balancer::DModK => Some("switches choose by destination, not by source port"),
            Balancer::Flowlet | Balancer::Spray | Balancer::Adaptive => {
                Some("switches choose by load, not by source port")
            }
        }
    }

    /// The controllers where no engine follows steps: by the stage of `site` for the life of a job, or for weeks of jobs.
    pub fn at(&self, site: &Site) -> Vec<Box<dyn Controller>> {
        self.make(site, 0)
    }

    /// The controllers of a replicate in which so many queue pairs are opened, none of which can ask for what is not
    /// there.
    pub(crate) fn make<'a>(&self, site: &Site, queue_pairs: usize) -> Vec<Box<dyn Controller + 'a>> {
        let checked = |inner| {
            let bounds = Bounds::new(site, queue_pairs);
            Box::new(Checked { inner, bounds, now: SimTime::ZERO, idle: 0, since: SimTime::ZERO })
                as Box<dyn Controller + 'a>
        };
        (self.make)(site).into_iter().map(checked).collect()
    }
}

/// Controllers of ours that are not called as their balancer is.
const OURS: [&str; 5] = ["balancing", "repathing", "hosts", "host-agents", "steering"];

/// Whether a controller of ours has a name.
fn is_taken(name: &str) -> bool {
    Balancer::NAMES.contains(&name) || OURS.contains(&name)
}

/// What a controller is made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Queue pairs, while an engine follows steps.
    Run,
    /// Hosts, over the life of a job (`[steering] controller = "own"`), in which no step is followed.
    Life,
    /// Where jobs run, over weeks of them (`[cluster] placement = "own"`).
    Cluster,
}

impl Stage {
    /// How long a controller that is told nothing waits at least on average until it is asked again: much less than
    /// anything takes that happens there.
    const fn least_wait(self) -> SimTime {
        match self {
            Self::Run => SimTime::from_ns(1_000),
            Self::Life | Self::Cluster => SimTime::from_ns(1_000_000_000),
        }
    }
}

/// Where a controller stands: a replicate of a case.
#[derive(Clone, Debug)]
pub struct Site {
    /// The fabric.
    pub fabric: Arc<Fabric>,
    /// How its switches hash in this replicate.
    pub ecmp: EcmpConfig,
    /// Whether ECMP groups keep the numbers of their members when one is dead.
    pub resilient: bool,
    /// The number of the replicate, from 0.
    pub replicate: u32,
    /// What it is made for.
    pub stage: Stage,
    /// Jobs of the run, by row.
    pub jobs: u32,
}

/// A queue pair as it was opened.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct QueuePair {
    /// Its row among all that were ever opened: what [`Action::Path`] and [`Action::Weight`] name.
    pub row: u32,
    /// Its number at the target, which switches may hash.
    pub number: u32,
    /// The port of the source NIC that it leaves by while that leads anywhere.
    pub port: u32,
    /// Backend ports of the source NIC.
    pub ports: u32,
    /// Row of its job.
    pub job: u32,
    /// The NIC that sends.
    pub source: DeviceId,
    /// The NIC that receives.
    pub target: DeviceId,
    /// Bytes that a step of the job sends over it, where all queue pairs of the connection send alike.
    pub bytes: f64,
}

impl QueuePair {
    /// The queue pairs of a connection.
    pub fn of<'o>(opening: &'o Opening<'_>) -> impl Iterator<Item = Self> + 'o {
        let count = opening.numbers.len() as f64;
        (0..).zip(opening.numbers).map(move |(index, &number)| Self {
            row: opening.first + index,
            number,
            port: index % opening.ports.max(1),
            ports: opening.ports,
            job: opening.job.0,
            source: opening.source,
            target: opening.target,
            bytes: opening.bytes / count,
        })
    }
}

/// Which way source ports lead, as far as a controller knows what is dead: the code by which runs route.
#[derive(Debug)]
pub struct Ways {
    site: Site,
    collector: Collector,
    known: OnceLock<Forwarding>,
    /// The tables without faults, where groups keep the numbers of their members.
    whole: Option<Forwarding>,
}

impl Ways {
    /// Ways on a fabric of which nothing is known to be dead.
    pub fn new(site: &Site) -> Self {
        let whole = || Forwarding::new(&site.fabric, &LinkMask::none(&site.fabric));
        Self {
            collector: Collector::new(&site.fabric),
            known: OnceLock::new(),
            whole: site.resilient.then(whole),
            site: site.clone(),
        }
    }

    /// Takes in that a link is up or down; whether that changes anything.
    pub fn hear(&mut self, report: &LinkReport) -> bool {
        let changed = self.collector.apply(report) == Applied::Changed;
        if changed {
            self.known = OnceLock::new();
        }
        changed
    }

    /// The links that are dead as far as is known.
    pub fn dead(&self) -> &LinkMask {
        self.collector.mask()
    }

    /// Appends the links that a queue pair takes by a source port, from NIC to NIC; none where nothing leads there.
    /// Where its own port of the NIC is dead it leaves by the next, as in a run. Entries of leaves are not asked.
    pub fn route(&self, queue_pair: &QueuePair, source_port: u16, links: &mut Vec<LinkId>) -> bool {
        let fabric = &*self.site.fabric;
        let known = self.known.get_or_init(|| Forwarding::new(fabric, self.collector.mask()));
        let mut routing = Routing::new(fabric, known, &self.site.ecmp);
        if let Some(whole) = &self.whole {
            routing = routing.with_resilience(whole);
        }
        let QueuePair { number, port, ports, source, target, .. } = *queue_pair;
        let key = walk::key(source, target, number, source_port);
        walk::walk(&routing, source, target, walk::turns(ports, port), &key, links).is_some()
    }
}

/// What may be asked for.
#[derive(Clone, Debug)]
pub struct Bounds {
    fabric: Arc<Fabric>,
    queue_pairs: usize,
    stage: Stage,
    jobs: u32,
    prefixes: OnceLock<usize>,
}

impl Bounds {
    /// For so many queue pairs at a site.
    pub fn new(site: &Site, queue_pairs: usize) -> Self {
        let (fabric, stage, jobs) = (Arc::clone(&site.fabric), site.stage, site.jobs);
        Self { fabric, queue_pairs, stage, jobs, prefixes: OnceLock::new() }
    }

    /// Whether an action can be carried out.
    ///
    /// # Errors
    /// What it asks for that is not there, and what is.
    pub fn check(&self, action: &Action) -> Result<(), String> {
        if self.is_of_stage(action)? {
            return Ok(());
        }
        let name = action.name();
        match *action {
            Action::Path { queue_pair, .. } | Action::Weight { queue_pair, .. }
                if queue_pair as usize >= self.queue_pairs =>
            {
                Err(format!("there is no queue pair {queue_pair}: {} are open, from row 0", self.queue_pairs))
            }
            Action::Path { source_port: Some(port), .. } if !(FIRST_PORT..=LAST_PORT).contains(&port) => Err(
                format!("source port {port} is none of RoCE v2's: write one of {FIRST_PORT} to {LAST_PORT}"),
            ),
            Action::Path { .. } => Ok(()),
            Action::Priority { job: JobId(job), .. } if job >= self.jobs => {
                Err(format!("there is no job {job}: the run has {}, from row 0", self.jobs))
            }
            Action::Priority { priority, .. } if priority > PRIORITY_MAX => {
                Err(format!("there is no priority {priority}: write one of 0 to {PRIORITY_MAX}"))
            }
            Action::Priority { .. } => Ok(()),
            Action::Weight { share, .. } if share > WHOLE => {
                Err(format!("a share of {share} is more than the whole: write 0 to {WHOLE}"))
            }
            Action::Weight { .. } => Ok(()),
            Action::Entry(change) => self.check_entry(change),
            Action::Probe { source, target, source_port, packets } => {
                self.check_probe(source, target, source_port)?;
                match packets {
                    1..=PACKETS_MAX => Ok(()),
                    _ => Err(format!("a probe of {packets} packets: write 1 to {PACKETS_MAX}")),
                }
            }
            Action::Read { .. }
            | Action::Place { .. }
            | Action::Isolate(_)
            | Action::Swap { .. }
            | Action::Restart(_) => Err(format!(
                "{name} is no action while steps are followed: write path, weight, priority, entry or probe; hosts are \
                     acted on with `controller = \"own\"` in [steering], and jobs placed with `placement = \"own\"` in \
                     [cluster]"
            )),
        }
    }

    /// Whether the stage allows the action without more ado; an error where it knows no such action.
    fn is_of_stage(&self, action: &Action) -> Result<bool, String> {
        let of_hosts = matches!(action, Action::Isolate(_) | Action::Swap { .. } | Action::Restart(_));
        let name = action.name();
        match self.stage {
            Stage::Run => Ok(false),
            // What hosts allow is known to [`railtwin_control::hosts`].
            Stage::Life if of_hosts => Ok(true),
            Stage::Cluster if matches!(action, Action::Place { .. }) => Ok(true),
            Stage::Life => Err(format!(
                "{name} is no action in the life of a job, where no step is followed: write isolate, swap or restart"
            )),
            Stage::Cluster => {
                Err(format!("{name} is no action in weeks of jobs, where no step is followed: write place"))
            }
        }
    }

    fn check_entry(&self, change: Change) -> Result<(), String> {
        let entry = change.entry();
        let fabric = &*self.fabric;
        let links = fabric.link_count();
        for link in [entry.ingress, entry.next] {
            if link.index() >= links {
                return Err(format!("there is no link {}: the fabric has {links}, from 0", link.0));
            }
        }
        let leaf = fabric.target(entry.ingress);
        let from_nic = fabric.kind(fabric.source(entry.ingress)) == DeviceKind::Nic;
        if !from_nic || fabric.kind(leaf) != DeviceKind::Switch {
            let name = fabric.link_name(entry.ingress);
            return Err(format!("{name} leads from no NIC into a leaf: entries go by such links"));
        }
        if fabric.source(entry.next) != leaf {
            let (next, leaf) = (fabric.link_name(entry.next), fabric.device_name(leaf));
            return Err(format!("{next} does not leave {leaf}, where the entry stands"));
        }
        let prefixes = *self.prefixes.get_or_init(|| Prefixes::by_leaf_set(fabric).len());
        if entry.prefix.0 as usize >= prefixes {
            let prefix = entry.prefix.0;
            return Err(format!("there is no prefix {prefix}: the fabric has {prefixes}, from 0"));
        }
        Ok(())
    }

    fn check_probe(&self, source: NicPort, target: DeviceId, source_port: u16) -> Result<(), String> {
        let fabric = &*self.fabric;
        for nic in [source.nic, target] {
            if nic.index() >= fabric.device_count() || fabric.kind(nic) != DeviceKind::Nic {
                return Err(format!("device {} is no NIC: NICs probe each other", nic.0));
            }
        }
        let ports = fabric.ports(source.nic).filter(|&port| fabric.port_role(port).is_network());
        let ports = ports.count();
        if source.port as usize >= ports {
            let (name, port) = (fabric.device_name(source.nic), source.port);
            return Err(format!("{name} has no port {port}: it has {ports}, from 0"));
        }
        if source.nic == target {
            return Err(format!("{} does not probe itself", fabric.device_name(target)));
        }
        if !(FIRST_PORT..=LAST_PORT).contains(&source_port) {
            return Err(format!(
                "source port {source_port} is none of RoCE v2's: write one of {FIRST_PORT} to {LAST_PORT}"
            ));
        }
        Ok(())
    }
}

/// Ends the run of a controller that asks again and again, and says how.
pub(crate) fn halt_idle(controller: &str, now: SimTime, how: &str) -> ! {
    let why = "times in a row asked to be asked again though nothing happened";
    halt(controller, format!("at {now}: {IDLE_MAX} {why}, {how}; wait for events"))
}

/// A controller that asks for nothing that is not there, and comes to an end.
#[derive(Debug)]
struct Checked {
    inner: Box<dyn Controller>,
    bounds: Bounds,
    now: SimTime,
    /// Times that it was asked since it was told of something that it did not do itself.
    idle: u32,
    /// When these are counted from.
    since: SimTime,
}

impl Controller for Checked {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn on_event(&mut self, now: SimTime, event: &Event<'_>) {
        self.now = now;
        if !matches!(event, Event::Written { .. }) {
            (self.idle, self.since) = (0, now);
        }
        self.inner.on_event(now, event);
    }

    fn decide(&mut self, now: SimTime, decisions: &mut Vec<Decision>) {
        self.now = now;
        let before = decisions.len();
        self.inner.decide(now, decisions);
        for decision in &decisions[before..] {
            let reason = decision.reason;
            if reason.is_empty() || reason.contains(char::is_control) {
                halt(
                    self.name(),
                    format!("at {now}: the reason {reason:?} is no word: write printable text on one line"),
                );
            }
            if let Err(why) = self.bounds.check(&decision.action) {
                halt(self.name(), format!("at {now}: {why}"));
            }
        }
        let next = self.inner.next_time();
        if next <= now {
            halt(self.name(), format!("at {now} asks to be asked again at {next}, which is not later"));
        }
        self.idle += 1;
        if self.idle > IDLE_MAX && next < SimTime::NEVER {
            if now.since(self.since) < self.bounds.stage.least_wait() * u64::from(IDLE_MAX) {
                halt_idle(self.name(), now, &format!("within {}", now.since(self.since)));
            }
            (self.idle, self.since) = (0, now);
        }
    }

    fn next_time(&self) -> SimTime {
        // Time does not go back, whatever is asked for.
        self.inner.next_time().max(self.now)
    }
}
