//! Events of a run on one clock: incidents of the engine, begin and end of injected faults, findings of diagnosis.
//!
//! The clock is that of the run, from 0 on; telemetry uses the same one, in nanoseconds.
use railtwin_engine::{Case, Incident, IncidentKind, RunLog};
use railtwin_records::{Column, Component, Finding, Table, Truth};
use railtwin_units::SimTime;

use crate::columns::PageTable;
use crate::paths::{switch_name, words};
use crate::simulate::Simulation;
use crate::telemetry_run::TelemetryRun;

/// What an event is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum EventKind<'a> {
    /// An injected fault begins.
    Begin(&'a Truth),
    /// An incident that the engine recorded.
    Incident(Incident),
    /// An injected fault ends.
    End(&'a Truth),
    /// Diagnosis reports a finding.
    Finding(&'a Finding),
}

impl EventKind<'_> {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Begin(_) => "fault",
            Self::Incident(incident) => incident.kind.name(),
            Self::End(_) => "fault-end",
            Self::Finding(_) => "finding",
        }
    }

    /// The component that the event is about: for a finding its likeliest suspect. `None` for incidents, which name a
    /// cable, a job or a device.
    pub fn component(&self) -> Option<&Component> {
        match self {
            Self::Begin(truth) | Self::End(truth) => Some(&truth.component),
            Self::Finding(finding) => finding.suspects.first().map(|suspect| &suspect.component),
            Self::Incident(_) => None,
        }
    }

    /// Kinds of fault, separated by spaces: that of an injected fault, or those that a finding considers.
    pub fn faults(&self) -> String {
        match self {
            Self::Begin(truth) | Self::End(truth) => truth.kind.name().to_owned(),
            Self::Finding(finding) => {
                finding.faults.iter().map(|fault| fault.name()).collect::<Vec<_>>().join(" ")
            }
            Self::Incident(_) => String::new(),
        }
    }
}

/// One event.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Event<'a> {
    /// When it happens.
    pub at: SimTime,
    /// Begin of the span that it is about: of an injected fault, or of the interval in which the cause of a finding
    /// began; equal to `at` for incidents.
    pub from: SimTime,
    /// End of that span; [`SimTime::NEVER`] for a fault that stays.
    pub until: SimTime,
    /// What happens.
    pub kind: EventKind<'a>,
}

/// All events of a run in order of time.
#[derive(Clone, PartialEq, Debug)]
pub struct Events<'a> {
    /// The events; those after [`Self::end`] included.
    pub all: Vec<Event<'a>>,
    /// End of the observed time, which begins at 0: the later end of the engine's run and of telemetry.
    pub end: SimTime,
}

/// A time of telemetry or of a fault, in nanoseconds; [`u64::MAX`] is never.
fn time_of(ns: u64) -> SimTime {
    ns.checked_mul(1_000).map_or(SimTime::NEVER, SimTime::from_ps)
}

/// End of the observed time: the last end of an operation, incident or stop of a job in the chosen replicate, or the end
/// of telemetry, where that is later.
pub fn observed_end(simulation: &Simulation, telemetry: Option<&TelemetryRun>) -> SimTime {
    let log = &simulation.log;
    let chosen = simulation.replicates.get(simulation.chosen as usize);
    let stops = chosen.into_iter().flat_map(|replicate| replicate.stops.iter().flatten().map(|stop| stop.at));
    let incidents = log.incidents.iter().map(|incident| incident.at);
    let telemetry = telemetry.map(|run| time_of(run.span_ns[1]));
    let all = stops.chain(incidents).chain(telemetry).filter(|&at| at < SimTime::NEVER);
    all.fold(log.end, SimTime::max)
}

impl<'a> Events<'a> {
    /// The events of a run.
    pub fn of(case: &'a Case, simulation: &'a Simulation, telemetry: Option<&'a TelemetryRun>) -> Self {
        let end = observed_end(simulation, telemetry);
        let mut all = Vec::new();
        for truth in &case.truths {
            let (from, until) = (time_of(truth.from_ns), time_of(truth.until_ns));
            all.push(Event { at: from, from, until, kind: EventKind::Begin(truth) });
            if until < SimTime::NEVER {
                all.push(Event { at: until, from, until, kind: EventKind::End(truth) });
            }
        }
        let incident = |one: &Incident| Event {
            at: one.at,
            from: one.at,
            until: one.at,
            kind: EventKind::Incident(*one),
        };
        all.extend(simulation.log.incidents.iter().map(incident));
        let findings = telemetry.into_iter().flat_map(|run| &run.findings);
        all.extend(findings.map(|finding| Event {
            at: time_of(finding.at_ns),
            from: time_of(finding.since.from_ns),
            until: time_of(finding.since.until_ns),
            kind: EventKind::Finding(finding),
        }));
        all.sort_by_key(|event| event.at);
        Self { all, end }
    }

    /// Whether an event lies within the observed time.
    pub fn is_observed(&self, event: &Event<'_>) -> bool {
        event.at <= self.end
    }

    /// The table `incidents`.
    pub fn table(&self, case: &Case) -> Table {
        let fabric = &case.fabric;
        let of = |event: &Event<'_>| match event.kind {
            EventKind::Incident(incident) => of_incident(case, &incident),
            kind => kind.component().map(of_component).unwrap_or_default(),
        };
        let places: Vec<[String; 3]> = self.all.iter().map(of).collect();
        let place = |at: usize| places.iter().map(move |place| place[at].as_str());
        let kinds = |event: &Event<'_>| match (event.kind, event.kind.component()) {
            (EventKind::Incident(incident), _) => incident
                .kind
                .cable()
                .map_or_else(Default::default, |cable| ("cable".to_owned(), fabric.cable_name(cable))),
            (_, component) => component.map_or_else(Default::default, |component| {
                (component.kind().to_owned(), component.name().to_owned())
            }),
        };
        let components: Vec<(String, String)> = self.all.iter().map(kinds).collect();
        let faults: Vec<String> = self.all.iter().map(|event| event.kind.faults()).collect();
        Table::new(
            "incidents",
            vec![
                Column::u64("at_ps", self.all.iter().map(|event| event.at.ps()).collect()),
                Column::coded("cable", place(0)),
                Column::coded("job", place(1)),
                Column::coded("device", place(2)),
                Column::coded("kind", self.all.iter().map(|event| event.kind.name())),
                Column::u64("from_ps", self.all.iter().map(|event| event.from.ps()).collect()),
                Column::u64("until_ps", self.all.iter().map(|event| event.until.ps()).collect()),
                Column::coded("component_kind", components.iter().map(|one| one.0.as_str())),
                Column::coded("component", components.iter().map(|one| one.1.as_str())),
                Column::coded("fault", faults.iter().map(String::as_str)),
                Column::u32(
                    "observed",
                    self.all.iter().map(|event| self.is_observed(event).into()).collect(),
                ),
            ],
        )
    }

    /// The table `incidents` of a page: all but findings, which its section `diagnosis` has, and but faults that the
    /// engine recorded as incidents of the same cable at the same time.
    pub fn page(&self, case: &Case, log: &RunLog) -> serde_json::Value {
        let is_recorded = |at: SimTime, truth: &Truth, up: bool| {
            log.incidents.iter().any(|incident| {
                let cable = match incident.kind {
                    IncidentKind::Down(cable) if !up => cable,
                    IncidentKind::Up(cable) if up => cable,
                    _ => return false,
                };
                incident.at == at && truth.component == Component::Cable(case.fabric.cable_name(cable))
            })
        };
        let shown = |event: &&Event<'_>| match event.kind {
            EventKind::Begin(truth) => !is_recorded(event.at, truth, false),
            EventKind::End(truth) => self.is_observed(event) && !is_recorded(event.at, truth, true),
            EventKind::Incident(_) => true,
            EventKind::Finding(_) => false,
        };
        let mut rows: Vec<&Event<'_>> = self.all.iter().filter(shown).collect();
        // Of faults that begin later than all that was observed the first stands for the others.
        let observed = rows.partition_point(|event| self.is_observed(event));
        let outside = rows.len() - observed;
        rows.truncate(observed + 1);
        let what = |event: &&Event<'_>| {
            let text = words_of(case, event);
            match outside {
                _ if self.is_observed(event) => text,
                1 => format!("{text}, after the observed time"),
                _ => format!("{text} and {} more faults, after the observed time", outside - 1),
            }
        };
        let whats: Vec<String> = rows.iter().map(what).collect();
        let devices: Vec<String> = rows.iter().map(|event| device_on_map(case, event)).collect();
        PageTable::new(rows.len())
            .f64("at_ps", &rows.iter().map(|event| event.at.ps() as f64).collect::<Vec<_>>())
            .text("device", devices.iter().map(String::as_str))
            .text("what", whats.iter().map(String::as_str))
            .text("kind", rows.iter().map(|event| event.kind.name()))
            .finish()
    }
}

/// Cable, job and device of an incident; empty where it has none.
fn of_incident(case: &Case, incident: &Incident) -> [String; 3] {
    let cable = incident.kind.cable().map_or_else(String::new, |cable| case.fabric.cable_name(cable));
    let job = incident.kind.job().map_or_else(String::new, |job| case.work.jobs[job as usize].name.clone());
    let device = match incident.kind {
        IncidentKind::Paused(link) => case.fabric.device_name(case.fabric.source(link)),
        IncidentKind::Filled(row) => switch_name(&case.fabric, row),
        _ => String::new(),
    };
    [cable, job, device]
}

/// The same of a component: its cable, its job or the job of its rank, or its device.
fn of_component(component: &Component) -> [String; 3] {
    let mut place: [String; 3] = Default::default();
    match component {
        Component::Cable(name) => place[0].clone_from(name),
        Component::Job(name) => place[1].clone_from(name),
        Component::Rank(name) => {
            place[1] = name.rsplit_once('/').map_or_else(String::new, |(job, _)| job.to_owned());
        }
        Component::Switch(name) | Component::Nic(name) | Component::Gpu(name) | Component::Host(name) => {
            place[2].clone_from(name);
        }
        _ => {}
    }
    place
}

/// An event in words, such as `slow at cable leaf-0:uplink-0`.
fn words_of(case: &Case, event: &Event<'_>) -> String {
    let at = |truth: &Truth| {
        format!("{} at {} {}", truth.kind.name(), truth.component.kind(), truth.component.name())
    };
    match event.kind {
        EventKind::Begin(truth) => at(truth),
        EventKind::End(truth) => format!("{} ended", at(truth)),
        EventKind::Incident(incident) => words(case, &incident),
        EventKind::Finding(finding) => finding.syndrome.name().to_owned(),
    }
}

/// The device of the map at which an event stands: the upper switch of a cable, the host of what is inside it; empty
/// where it has none.
fn device_on_map(case: &Case, event: &Event<'_>) -> String {
    let fabric = &case.fabric;
    let upper = |name: &str| {
        let cable = fabric.cable_named(name)?;
        Some(fabric.device_name(fabric.target(cable.forward())))
    };
    let host = |name: &str| name.split_once('/').map_or(name, |(host, _)| host).to_owned();
    let incident = match event.kind {
        EventKind::Incident(incident) => incident,
        kind => {
            return match kind.component() {
                Some(Component::Cable(name)) => upper(name).unwrap_or_default(),
                Some(Component::Link(name)) => name.split(" > ").find_map(upper).unwrap_or_default(),
                Some(Component::Switch(name)) => name.clone(),
                Some(Component::Nic(name) | Component::Gpu(name) | Component::Host(name)) => host(name),
                Some(Component::Rank(name)) => host_of_rank(case, name).unwrap_or_default(),
                _ => String::new(),
            };
        }
    };
    match incident.kind {
        IncidentKind::Down(cable) | IncidentKind::Up(cable) => {
            fabric.device_name(fabric.target(cable.forward()))
        }
        IncidentKind::Paused(link) => {
            let ends = [fabric.source(link), fabric.target(link)];
            let switch = ends.into_iter().find(|&device| fabric.switch_row(device).is_some());
            switch.map_or_else(String::new, |device| fabric.device_name(device))
        }
        IncidentKind::Filled(row) => switch_name(fabric, row),
        _ => String::new(),
    }
}

/// The host of the rank called `job/number`.
fn host_of_rank(case: &Case, name: &str) -> Option<String> {
    let (job, number) = name.rsplit_once('/')?;
    let row = case.work.jobs.iter().position(|one| one.name == job)?;
    let place = case.placements.get(row)?.get(number.parse::<usize>().ok()?)?;
    Some(format!("host-{}", place.host.0))
}
