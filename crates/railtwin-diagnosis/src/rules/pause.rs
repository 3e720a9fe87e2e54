//! Pauses: ports that stand paused too long, and who pauses them (Meta RoCE sections 5.2.1 and 6.3.2).
use std::collections::{BTreeMap, BTreeSet};

use railtwin_records::seen::CounterSeen;
use railtwin_records::{Batch, Component, Counter, Evidence, FaultKind, Finding, Since, Syndrome};

use crate::context::Context;
use crate::detector::Detector;
use crate::rules::limits::Limits;
use crate::rules::place::{Ports, component_of_device, device_of, is_switch, link_in, suspects};
use crate::rules::told::Told;
use crate::rules::track::{Growth, component_of};

/// Share of an interval that counts as all of it: the counter and the clock are not read at the very same moment.
const WHOLE: f64 = 0.999;

/// Ports of a switch that mark at the same time, from which it is not the traffic of one port that has it pause others.
const MARKING: usize = 2;

/// Rows of evidence at most.
const ROWS: usize = 8;

/// The pauses of one port.
#[derive(Clone, Copy, Default, Debug)]
struct Port {
    seen: bool,
    /// When it was read last, and before that.
    last_ns: u64,
    before_ns: u64,
    paused_ns: f64,
    /// When this window of its share began, and the one before.
    start_ns: u64,
    before_start_ns: u64,
    start_paused_ns: f64,
    /// Share of the last whole window.
    share: f64,
    share_since: Since,
    /// Time without a break in which it surely stood paused.
    run_ns: f64,
    run_since: Since,
}

/// Watches how long ports stand paused, and walks from paused ports to the device that pauses and is not paused.
#[derive(Debug)]
pub struct Pauses {
    limits: Limits,
    ports: Vec<Port>,
    sent: Growth,
    marks: Growth,
    wiring: Ports,
    told: Told,
}

/// How bad a paused port is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Grade {
    /// A share of its time above the limit.
    Often,
    /// Without a break for longer than the watchdog lets pass.
    Storm,
}

impl Pauses {
    /// At the given limits.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            ports: Vec::new(),
            sent: Growth::new(limits.window_ns),
            marks: Growth::new(limits.window_ns),
            wiring: Ports::default(),
            told: Told::default(),
        }
    }

    fn read(&mut self, entity: u32, time_ns: u64, value: f64, most: f64) {
        if !value.is_finite() {
            return;
        }
        let row = entity as usize;
        if self.ports.len() <= row {
            self.ports.resize(row + 1, Port::default());
        }
        let port = &mut self.ports[row];
        if !port.seen || value < port.paused_ns {
            let fresh = Port { seen: true, last_ns: time_ns, paused_ns: value, ..Port::default() };
            *port = Port { start_ns: time_ns, start_paused_ns: value, ..fresh };
            return;
        }
        if time_ns <= port.last_ns {
            return;
        }
        let (time, paused) = ((time_ns - port.last_ns) as f64, value - port.paused_ns);
        if paused >= WHOLE * time {
            if port.run_ns == 0.0 {
                // Pauses may begin in the middle of the time between two readings.
                port.run_since = Since::between(port.before_ns, time_ns);
            }
            port.run_ns += time;
        } else {
            port.run_ns = 0.0;
        }
        port.before_ns = port.last_ns;
        (port.last_ns, port.paused_ns) = (time_ns, value);
        if time_ns - port.start_ns >= self.limits.pause_window_ns {
            let whole = (time_ns - port.start_ns) as f64;
            let share = ((value - port.start_paused_ns) / whole).min(1.0);
            if port.share <= most && share > most {
                port.share_since = Since::between(port.before_start_ns, time_ns);
            }
            port.before_start_ns = port.start_ns;
            port.share = share;
            (port.start_ns, port.start_paused_ns) = (time_ns, value);
        }
    }

    fn grade(&self, context: &Context<'_>, entity: u32) -> Option<Grade> {
        let port = self.ports.get(entity as usize)?;
        if port.run_ns > context.settings.pause.ps() as f64 / 1e3 {
            Some(Grade::Storm)
        } else {
            (port.share > context.settings.paused_share).then_some(Grade::Often)
        }
    }

    /// The devices from which the pauses of a port come: from far end to far end, until one is not paused itself.
    /// A circle has no such device: all devices in it are given, and `true`.
    fn roots(
        &self,
        context: &Context<'_>,
        paused: &BTreeMap<u32, Vec<(u32, u32)>>,
        link: u32,
    ) -> (Vec<u32>, bool) {
        let mut roots = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut next = vec![link];
        while let Some(link) = next.pop() {
            let Some(device) = self.far_device(context, link) else { continue };
            if !seen.insert(device) {
                continue;
            }
            match paused.get(&device).filter(|_| is_switch(context, device)) {
                Some(ports) => next.extend(ports.iter().map(|&(link, _)| link)),
                None => {
                    roots.insert(device);
                }
            }
        }
        let circle = roots.is_empty() && !seen.is_empty();
        (if circle { seen } else { roots }.into_iter().collect(), circle)
    }

    /// The device at the far end of a link: the one that pauses the port that the link leaves.
    fn far_device(&self, context: &Context<'_>, link: u32) -> Option<u32> {
        match link_in(context, link) {
            Some((fabric, link)) => Some(fabric.target(link).0),
            None => device_of(context, self.wiring.far(link)?),
        }
    }
}

/// What was found about one set of roots.
#[derive(Default)]
struct Root {
    grade: Option<Grade>,
    circle: bool,
    /// Entities of the paused ports.
    ports: Vec<u32>,
    /// Links of the paused ports that the root pauses itself.
    own: BTreeSet<u32>,
}

impl Detector for Pauses {
    fn name(&self) -> &'static str {
        "pauses"
    }

    fn observe(&mut self, context: &Context<'_>, batch: &Batch) {
        self.wiring.learn(context.directory);
        let rows = &batch.counters;
        for row in 0..rows.len() {
            let (entity, time_ns, value) = (rows.entity[row], rows.time_ns[row], rows.value[row]);
            match rows.counter[row] {
                Counter::PausedNs => self.read(entity, time_ns, value, context.settings.paused_share),
                Counter::PauseFramesSent => self.sent.read(entity, time_ns, value),
                Counter::EcnMarks => self.marks.read(entity, time_ns, value),
                _ => {}
            }
        }
    }

    fn judge(&mut self, context: &Context<'_>, now_ns: u64, findings: &mut Vec<Finding>) {
        let bad: Vec<(u32, Grade)> = (0..self.ports.len() as u32)
            .filter_map(|entity| self.grade(context, entity).map(|grade| (entity, grade)))
            .collect();
        // Device to its paused ports: (link that leaves, entity).
        let mut paused: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
        for &(entity, _) in &bad {
            let link = context.directory.entities.get(entity as usize).and_then(|info| info.link);
            if let (Some(device), Some(link)) = (device_of(context, entity), link) {
                paused.entry(device).or_default().push((link, entity));
            }
        }
        let mut by_root: BTreeMap<Vec<u32>, Root> = BTreeMap::new();
        for &(entity, grade) in &bad {
            let link = context.directory.entities.get(entity as usize).and_then(|info| info.link);
            let (roots, circle) = link.map_or((Vec::new(), false), |link| self.roots(context, &paused, link));
            if roots.is_empty() {
                let finding = self.unplaced(context, entity, grade, now_ns);
                self.told.tell(grade as u64, finding, findings);
                continue;
            }
            let own = link.filter(|&link| self.far_device(context, link).is_some_and(|d| roots.contains(&d)));
            let root = by_root.entry(roots).or_default();
            root.grade = root.grade.max(Some(grade));
            root.circle |= circle;
            root.ports.push(entity);
            root.own.extend(own);
        }
        for (devices, root) in by_root {
            let finding = self.placed(context, &devices, &root, now_ns);
            if !finding.suspects.is_empty() {
                self.told.tell(root.grade.unwrap_or(Grade::Often) as u64, finding, findings);
            }
        }
        self.told.forget(now_ns);
    }
}

impl Pauses {
    /// Ports of the given devices that marked packets over their last two windows.
    fn marking(&self, context: &Context<'_>, devices: &[u32]) -> usize {
        let grown = self.marks.all().filter(|(_, grown)| *grown > 0.0);
        grown.filter(|(entity, _)| device_of(context, *entity).is_some_and(|d| devices.contains(&d))).count()
    }

    fn empty(&self, now_ns: u64) -> Finding {
        Finding {
            at_ns: now_ns,
            since: Since::at(now_ns),
            syndrome: Syndrome::Counter,
            faults: Vec::new(),
            suspects: Vec::new(),
            confidence: 0.0,
            severity: 0.0,
            cost: None,
            evidence: Vec::new(),
            advice: String::new(),
        }
    }

    /// Adds what a port shows to a finding.
    fn add_port(&self, context: &Context<'_>, entity: u32, finding: &mut Finding) {
        let port = &self.ports[entity as usize];
        let name = component_of(context.directory, entity).map_or("", Component::name).to_owned();
        if port.run_ns > context.settings.pause.ps() as f64 / 1e3 {
            let (seen, limit_ns) =
                (CounterSeen::PausedRun { port: name }, context.settings.pause.ps() as f64 / 1e3);
            finding.evidence.push(Evidence::new(seen, port.run_ns, limit_ns));
            finding.since = finding.since.earlier(port.run_since);
        } else {
            let seen = CounterSeen::PausedShare { port: name };
            finding.evidence.push(Evidence::new(seen, port.share, context.settings.paused_share));
            finding.since = finding.since.earlier(port.share_since);
        }
    }

    /// A paused port whose far end is not known.
    fn unplaced(&self, context: &Context<'_>, entity: u32, grade: Grade, now_ns: u64) -> Finding {
        let mut finding = self.empty(now_ns);
        self.add_port(context, entity, &mut finding);
        let component = component_of(context.directory, entity).cloned();
        finding.suspects = suspects(component.map(|component| (component, 1.0)).into_iter().collect());
        finding.faults = if grade == Grade::Storm { vec![FaultKind::PauseStorm] } else { Vec::new() };
        finding.confidence = 0.4;
        finding.advice =
            "what stands at the far end of this port sends the pauses: give the fabric".to_owned();
        finding
    }

    /// Paused ports whose pauses come from the given devices.
    fn placed(&self, context: &Context<'_>, devices: &[u32], root: &Root, now_ns: u64) -> Finding {
        let mut finding = self.empty(now_ns);
        for &entity in root.ports.iter().take(ROWS) {
            self.add_port(context, entity, &mut finding);
        }
        let named = devices.iter().filter_map(|&device| component_of_device(context, device));
        finding.suspects = suspects(named.map(|component| (component, 1.0)).collect());
        let storm = root.grade == Some(Grade::Storm);
        let nics = finding.suspects.iter().all(|suspect| matches!(suspect.component, Component::Nic(_)));
        if root.circle {
            finding.faults = vec![FaultKind::PauseStorm];
            finding.confidence = 0.6;
            finding.advice =
                "these devices pause each other in a circle: a deadlock; drain one of them".to_owned();
            return finding;
        }
        let sends = self.add_sent(context, root, &mut finding);
        self.blame(context, devices, (nics, storm), &mut finding);
        match sends {
            Some(true) if storm && nics => finding.confidence = 0.95,
            Some(false) if storm && nics => deny(context, root, &mut finding),
            _ => {}
        }
        finding
    }

    /// Adds the pauses that the root itself counts as sent to a finding; gives whether it sends any, where that is counted.
    fn add_sent(&self, context: &Context<'_>, root: &Root, finding: &mut Finding) -> Option<bool> {
        let mut sends = None;
        for &link in &root.own {
            if let Some((entity, grown)) =
                self.wiring.far(link).and_then(|entity| Some((entity, self.sent.of(entity)?)))
            {
                sends = Some(sends.unwrap_or(false) | (grown > 0.0));
                let name = component_of(context.directory, entity).map_or("", Component::name);
                let seen = CounterSeen::PauseFrames { port: name.to_owned() };
                finding.evidence.push(Evidence::new(seen, grown, 0.0));
            }
        }
        sends
    }

    /// Says which faults pauses of these devices look like: whether they are all NICs and whether ports stand paused without a
    /// break decide.
    fn blame(
        &self,
        context: &Context<'_>,
        devices: &[u32],
        (nics, storm): (bool, bool),
        finding: &mut Finding,
    ) {
        let (faults, confidence, advice): (&[FaultKind], f64, &str) = match (nics, storm) {
            (true, true) => (&[FaultKind::PauseStorm], 0.85, ""),
            (true, false) => (
                &[FaultKind::PauseStorm, FaultKind::Slow],
                0.7,
                "a NIC that pauses its leaf takes packets in too slowly: see PCIe and the host",
            ),
            (false, true) => (
                &[FaultKind::PauseStorm, FaultKind::SmallBuffer],
                0.5,
                "the switch pauses without being paused: see its buffer and its busiest port",
            ),
            // One port that is full holds up who sends to it; a switch that queues at several is slow itself.
            (false, false) if self.marking(context, devices) >= MARKING => (
                &[FaultKind::Slow],
                0.4,
                "the switch pauses others and queues at several ports: see its load and what it can pass on",
            ),
            (false, false) => {
                // More comes in than one port carries away: traffic that meets, not a fault.
                finding.syndrome = Syndrome::Collision;
                (&[], 0.4, "traffic meets at a port of this switch: see which jobs send there")
            }
        };
        finding.faults = faults.to_vec();
        finding.confidence = confidence;
        finding.advice = advice.to_owned();
    }
}

/// Doubts NICs that count no pauses sent: the port may be stuck, or the counter.
fn deny(context: &Context<'_>, root: &Root, finding: &mut Finding) {
    finding.confidence = 0.5;
    let cables = root
        .own
        .iter()
        .filter_map(|&link| link_in(context, link).and_then(|(_, link)| context.cable_of(link.0)));
    let mut weights: Vec<(Component, f64)> = cables.map(|cable| (cable, 1.0)).collect();
    weights.extend(finding.suspects.iter().map(|s| (s.component.clone(), 2.0)));
    finding.suspects = suspects(weights);
    finding.advice = "the NIC counts no pauses sent: capture on the link to see who sends".to_owned();
}
