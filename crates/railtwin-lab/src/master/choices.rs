//! Paths that a controller chooses, in terms of the fabric's model alone. Reads no clock: the caller passes the time.
use std::collections::BTreeMap;
use std::fmt;

use railtwin_control::controller::{Action, Answer, Controller, Decision, Event, Opening};
use railtwin_control::paths::JobId;
use railtwin_control::te::{LinkReport, Subject};
use railtwin_engine::own::{QueuePair, Site, Stage, Ways};
use railtwin_fabric::{DeviceId, Fabric, LinkId};
use railtwin_routing::EcmpConfig;
use railtwin_units::SimTime;

use super::prober::Asked;
use super::setting::{LabBalancer, shared};

/// A connection as a controller knows it, and the port of the model by which it said the path.
#[derive(Clone, Copy, Debug)]
struct Choice {
    queue_pair: QueuePair,
    model_port: Option<u16>,
}

/// Queue pairs of the model under one controller.
pub struct PathChoices<'p> {
    controller: Option<Box<dyn Controller + 'p>>,
    ways: Ways,
    choices: Vec<Option<Choice>>,
    versions: BTreeMap<LinkId, u64>,
    asked: Vec<(QueuePair, u16, u32)>,
}

impl fmt::Debug for PathChoices<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("PathChoices").field("choices", &self.choices).finish_non_exhaustive()
    }
}

impl<'p> PathChoices<'p> {
    /// Choices on a fabric whose switches hash by `ecmp` in the model; `draw` says what is chosen by lot.
    pub fn new(fabric: &'p Fabric, balancer: LabBalancer, ecmp: EcmpConfig, draw: u64) -> Self {
        let fabric_of_site = shared(fabric);
        let site =
            Site { fabric: fabric_of_site, ecmp, resilient: false, replicate: 0, stage: Stage::Run, jobs: 1 };
        Self {
            controller: balancer.controller(fabric, ecmp, draw),
            ways: Ways::new(&site),
            choices: Vec::new(),
            versions: BTreeMap::new(),
            asked: Vec::new(),
        }
    }

    /// Opens a connection of so many queue pairs from a NIC with so many ports, and chooses their paths. Returns their rows.
    pub fn open(
        &mut self,
        now: SimTime,
        job: u32,
        (source, ports, target): (DeviceId, u32, DeviceId),
        count: u32,
    ) -> std::ops::Range<usize> {
        let first = self.choices.len();
        let numbers: Vec<u32> = (0..count).map(|lane| first as u32 + lane).collect();
        let opening = Opening {
            job: JobId(job),
            source,
            target,
            ports,
            first: first as u32,
            numbers: &numbers,
            bytes: 1.0,
            inside: None,
        };
        let opened = QueuePair::of(&opening).map(|queue_pair| Some(Choice { queue_pair, model_port: None }));
        self.choices.extend(opened);
        if let Some(controller) = &mut self.controller {
            controller.on_event(now, &Event::Opened(&[opening]));
        }
        self.decide(now);
        first..self.choices.len()
    }

    /// The path that was chosen for a row; none where nobody chose one, or no way leads there.
    pub fn path(&self, row: usize) -> Option<Vec<LinkId>> {
        let Choice { queue_pair, model_port } = self.choices.get(row).copied().flatten()?;
        self.way(&queue_pair, model_port?)
    }

    fn way(&self, queue_pair: &QueuePair, port: u16) -> Option<Vec<LinkId>> {
        let mut links = Vec::new();
        self.ways.route(queue_pair, port, &mut links).then_some(links)
    }

    /// The queue pair of a row; none where its job is gone.
    pub(super) fn queue_pair(&self, row: usize) -> Option<QueuePair> {
        self.choices.get(row).copied().flatten().map(|choice| choice.queue_pair)
    }

    /// Number of rows, those of jobs that are gone included.
    pub(super) fn rows(&self) -> usize {
        self.choices.len()
    }

    /// Tells that a link has or has no light.
    pub fn hear(&mut self, now: SimTime, link: LinkId, up: bool) {
        let version = self.versions.entry(link).or_default();
        *version += 1;
        let report = LinkReport { time: now, subject: Subject::Link(link), up, version: *version };
        self.ways.hear(&report);
        if let Some(controller) = &mut self.controller {
            controller.on_event(now, &Event::Link(report));
        }
    }

    /// Tells what became of the probes of a survey.
    pub fn probed(&mut self, now: SimTime, answers: &[Answer]) {
        if let Some(controller) = &mut self.controller {
            controller.on_event(now, &Event::Probed(answers));
        }
    }

    /// Forgets the connections of a job.
    pub fn close(&mut self, now: SimTime, job: u32) {
        for choice in &mut self.choices {
            if choice.is_some_and(|choice| choice.queue_pair.job == job) {
                *choice = None;
            }
        }
        if let Some(controller) = &mut self.controller {
            controller.on_event(now, &Event::Closed(JobId(job)));
        }
    }

    /// When the controller is to be asked again.
    pub fn next_time(&self) -> SimTime {
        self.controller.as_ref().map_or(SimTime::NEVER, |controller| controller.next_time())
    }

    /// Asks the controller, and takes its paths and its wish for probes.
    pub fn decide(&mut self, now: SimTime) {
        let Some(controller) = &mut self.controller else { return };
        let mut decisions: Vec<Decision> = Vec::new();
        controller.decide(now, &mut decisions);
        for decision in decisions {
            match decision.action {
                Action::Path { queue_pair, source_port } => {
                    if let Some(Some(choice)) = self.choices.get_mut(queue_pair as usize) {
                        // One that is stranded stays where it is: there is no better way.
                        choice.model_port = source_port.or(choice.model_port);
                    }
                }
                Action::Probe { source, target, source_port, packets } => {
                    let (source, port) = (source.nic, source.port);
                    let ports = port + 1;
                    let probe =
                        QueuePair { row: 0, number: 0, port, ports, job: 0, source, target, bytes: 0.0 };
                    self.asked.push((probe, source_port, packets));
                }
                // A fabric of plain routers has nothing else to act on.
                _ => {}
            }
        }
    }

    /// Probes that were asked for since the last call, along which paths.
    pub(super) fn take_probes(&mut self) -> Vec<Asked> {
        let asked = std::mem::take(&mut self.asked);
        let of = |(probe, port, packets): (QueuePair, u16, u32)| Asked {
            source: probe.source,
            target: probe.target,
            links: self.way(&probe, port).unwrap_or_default(),
            packets,
        };
        asked.into_iter().map(of).collect()
    }
}
