//! Links that go down or flap: the cable, or the switch, NIC or host that its troubled cables share.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::LinkId;
use railtwin_records::seen::CounterSeen;
use railtwin_records::{Batch, Component, Counter, Evidence, FaultKind, Finding, Since, Syndrome};

use crate::context::Context;
use crate::detector::Detector;
use crate::rules::limits::Limits;
use crate::rules::place::{Ports, component_of_device, device_component, link_in, suspects};
use crate::rules::told::Told;
use crate::rules::track::{Gauge, GaugeCell, Growth, component_of};

/// What the two ends of a cable say of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// This end does not say that its link is down.
    Up,
    /// This end says so, and the other does not say otherwise.
    Down,
    /// This end says so while the other one goes on saying that its link is up.
    OneWay,
    /// The ends disagree, and it is too early to tell whether they will go on to.
    Wait,
}

/// Readings in which the far end must still say «up» before the ends disagree for good.
const DISAGREE: u32 = 2;

/// Both ends of every cable, as they say.
#[derive(Debug)]
pub struct Ends {
    wait_ns: u64,
    wiring: Ports,
    up: Gauge,
    /// Readings that the far end had when this one went down.
    far_readings: BTreeMap<u32, u32>,
    noticed: BTreeMap<u32, u64>,
}

impl Ends {
    /// Waits so long for the other end before it believes one of them.
    pub fn new(wait_ns: u64) -> Self {
        let (wiring, up) = (Ports::default(), Gauge::default());
        Self { wait_ns, wiring, up, far_readings: BTreeMap::new(), noticed: BTreeMap::new() }
    }

    /// Takes new entities and readings of [`Counter::LinkUp`] in.
    pub fn observe(&mut self, context: &Context<'_>, batch: &Batch) {
        self.wiring.learn(context.directory);
        let rows = &batch.counters;
        for row in (0..rows.len()).filter(|&row| rows.counter[row] == Counter::LinkUp) {
            let entity = rows.entity[row];
            if self.up.read(entity, rows.time_ns[row], rows.value[row]) {
                let far = self.far(context, entity).and_then(|far| self.up.of(far));
                self.far_readings.insert(entity, far.map_or(0, |cell| cell.readings));
                self.noticed.remove(&entity);
            }
        }
    }

    /// The entity at the other end of an entity's cable.
    pub fn far(&self, context: &Context<'_>, entity: u32) -> Option<u32> {
        self.wiring.far(context.directory.entities.get(entity as usize)?.link?)
    }

    /// The last reading at an end.
    pub fn at(&self, entity: u32) -> Option<&GaugeCell> {
        self.up.of(entity)
    }

    /// What an end says, at `now_ns` on the clock of batches.
    pub fn verdict(&mut self, context: &Context<'_>, entity: u32, now_ns: u64) -> Verdict {
        if self.up.value(entity) != Some(0.0) {
            return Verdict::Up;
        }
        let noticed = *self.noticed.entry(entity).or_insert(now_ns);
        let Some(far) = self.far(context, entity).and_then(|far| self.up.of(far)) else {
            return Verdict::Down;
        };
        if far.value == 0.0 {
            return Verdict::Down;
        }
        let heard =
            far.readings - self.far_readings.get(&entity).copied().unwrap_or_default().min(far.readings);
        if heard >= DISAGREE {
            Verdict::OneWay
        } else if now_ns.saturating_sub(noticed) < self.wait_ns {
            Verdict::Wait
        } else {
            // The far end fell silent: its last word is no witness.
            Verdict::Down
        }
    }
}

/// Tells cables that go down or flap.
#[derive(Debug)]
pub struct LinkState {
    limits: Limits,
    ends: Ends,
    downs: Growth,
    noticed: BTreeMap<Cable, u64>,
    /// What was in trouble at the last judgement: the same gives the same answer.
    last: Vec<(Cable, Trouble)>,
    told: Told,
}

/// A cable: by its number in the fabric, or by the entity that counts at its only known end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Cable {
    Known(u32),
    Entity(u32),
}

/// What is wrong with a cable, the worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Trouble {
    Down,
    Flap,
    /// One loss that healed.
    Blip,
}

impl LinkState {
    /// At the given limits.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            ends: Ends::new(limits.outlive_ns),
            downs: Growth::new(limits.window_ns),
            noticed: BTreeMap::new(),
            last: Vec::new(),
            told: Told::default(),
        }
    }

    fn trouble(&mut self, context: &Context<'_>, entity: u32, now_ns: u64) -> Option<Trouble> {
        match self.ends.verdict(context, entity, now_ns) {
            Verdict::Down => {
                let cell = self.ends.at(entity)?;
                let linked = context.directory.entities.get(entity as usize)?.link.is_some();
                // A port that never was up may be one without a cable.
                return (linked || cell.same < cell.readings).then_some(Trouble::Down);
            }
            Verdict::OneWay | Verdict::Wait => return None,
            Verdict::Up => {}
        }
        match self.downs.of(entity) {
            Some(grown) if grown >= self.limits.flaps => Some(Trouble::Flap),
            Some(grown) if grown >= 1.0 => Some(Trouble::Blip),
            _ => None,
        }
    }
}

fn cable_of(context: &Context<'_>, entity: u32) -> Cable {
    let link = context.directory.entities.get(entity as usize).and_then(|info| info.link);
    link.map_or(Cable::Entity(entity), |link| Cable::Known(link / 2))
}

/// The devices at the ends of an entity's cable and the hosts that they stand in.
fn owners(context: &Context<'_>, hosts: &BTreeSet<&str>, entity: u32) -> Vec<Component> {
    let Some(info) = context.directory.entities.get(entity as usize) else { return Vec::new() };
    let mut owners = Vec::new();
    match info.link.and_then(|link| link_in(context, link)) {
        Some((fabric, link)) => {
            owners
                .extend([fabric.source(link), fabric.target(link)].map(|end| device_component(fabric, end)));
        }
        None => {
            owners.extend(info.device.and_then(|device| component_of_device(context, device)));
            if let component @ Component::Nic(_) = &info.component {
                owners.push(component.clone());
            }
        }
    }
    for row in 0..owners.len() {
        let host = match &owners[row] {
            Component::Nic(name) | Component::Gpu(name) => name.split_once('/').map(|(host, _)| host),
            _ => None,
        };
        let host = host.filter(|host| hosts.contains(host)).map(|host| Component::Host(host.to_owned()));
        owners.extend(host);
    }
    owners.sort_unstable();
    owners.dedup();
    owners
}

impl Detector for LinkState {
    fn name(&self) -> &'static str {
        "link-state"
    }

    fn observe(&mut self, context: &Context<'_>, batch: &Batch) {
        self.ends.observe(context, batch);
        let rows = &batch.counters;
        for row in (0..rows.len()).filter(|&row| rows.counter[row] == Counter::LinkDowns) {
            self.downs.read(rows.entity[row], rows.time_ns[row], rows.value[row]);
        }
    }

    fn judge(&mut self, context: &Context<'_>, now_ns: u64, findings: &mut Vec<Finding>) {
        let mut troubled = Troubled::new();
        for entity in 0..context.directory.entities.len() as u32 {
            if let Some(trouble) = self.trouble(context, entity, now_ns) {
                let held = troubled.entry(cable_of(context, entity)).or_insert_with(|| (trouble, Vec::new()));
                held.0 = held.0.min(trouble);
                held.1.push(entity);
            }
        }
        self.noticed.retain(|cable, _| troubled.contains_key(cable));
        let now: Vec<(Cable, Trouble)> = troubled.iter().map(|(&cable, held)| (cable, held.0)).collect();
        if now == self.last {
            self.told.lasts(now_ns);
        } else if !troubled.is_empty() {
            for &cable in troubled.keys() {
                self.noticed.entry(cable).or_insert(now_ns);
            }
            self.tell(context, troubled, now_ns, findings);
        }
        self.last = now;
        self.told.forget(now_ns);
    }
}

/// Cable to its trouble and the entities that tell of it.
type Troubled = BTreeMap<Cable, (Trouble, Vec<u32>)>;

/// A device or host with the cables that end in it.
struct Owner<'a> {
    component: &'a Component,
    troubled: Vec<Cable>,
    read: usize,
}

impl LinkState {
    fn tell(
        &mut self,
        context: &Context<'_>,
        mut troubled: Troubled,
        now_ns: u64,
        findings: &mut Vec<Finding>,
    ) {
        let hosts: BTreeSet<&str> = context.directory.hosts.iter().map(|host| host.name.as_str()).collect();
        let all = self.cables_of_owners(context, &hosts, &troubled);
        while let Some(owner) = self.guilty_owner(&all, &troubled) {
            let (count, read, component) = (owner.troubled.len(), owner.read, owner.component.clone());
            let mut entities = Vec::new();
            let mut worst = Trouble::Blip;
            for cable in owner.troubled {
                if let Some((trouble, mut ends)) = troubled.remove(&cable) {
                    worst = worst.min(trouble);
                    entities.append(&mut ends);
                }
            }
            let mut finding = self.finding(context, worst, &entities, now_ns);
            let seen = CounterSeen::ImpairedCables { device: component.name().to_owned() };
            finding.evidence.insert(0, Evidence::new(seen, count as f64, read as f64));
            finding.suspects = suspects(vec![(component, 1.0)]);
            self.told.tell(worst as u64, finding, findings);
        }
        for (cable, (trouble, entities)) in &troubled {
            let mut finding = self.finding(context, *trouble, entities, now_ns);
            let Some(first) = component_of(context.directory, entities[0]) else { continue };
            let named = match cable {
                Cable::Known(cable) => {
                    link_in(context, LinkId(cable * 2).0).and_then(|_| context.cable_of(cable * 2))
                }
                Cable::Entity(_) => None,
            };
            let mut weights = vec![(named.unwrap_or_else(|| first.clone()), 3.0)];
            // A NIC of which nothing else is known to work may be it as well.
            for owner in owners(context, &hosts, entities[0]) {
                if matches!(owner, Component::Nic(_))
                    && all.get(&owner).is_some_and(|cables| cables.len() == 1)
                {
                    weights.push((owner, 1.0));
                }
            }
            finding.suspects = suspects(weights);
            if finding.suspects.len() > 1 {
                finding.advice =
                    "swap the cable or its optics first; the port of the NIC looks the same".to_owned();
            }
            self.told.tell(*trouble as u64, finding, findings);
        }
    }

    /// Devices and hosts with troubled cables, each with all of its cables that are read.
    fn cables_of_owners(
        &self,
        context: &Context<'_>,
        hosts: &BTreeSet<&str>,
        troubled: &Troubled,
    ) -> BTreeMap<Component, BTreeSet<Cable>> {
        let mut hit: BTreeSet<Component> = BTreeSet::new();
        for (_, entities) in troubled.values() {
            hit.extend(owners(context, hosts, entities[0]));
        }
        let mut all: BTreeMap<Component, BTreeSet<Cable>> = BTreeMap::new();
        for entity in 0..context.directory.entities.len() as u32 {
            if self.ends.at(entity).is_none() && self.downs.of(entity).is_none() {
                continue;
            }
            for owner in owners(context, hosts, entity) {
                if hit.contains(&owner) {
                    all.entry(owner).or_default().insert(cable_of(context, entity));
                }
            }
        }
        all
    }

    /// The device or host that is at fault rather than each of its troubled cables: the one with most of them.
    fn guilty_owner<'a>(
        &self,
        all: &'a BTreeMap<Component, BTreeSet<Cable>>,
        troubled: &Troubled,
    ) -> Option<Owner<'a>> {
        let candidates = all.iter().map(|(component, cables)| Owner {
            component,
            troubled: cables.iter().filter(|cable| troubled.contains_key(cable)).copied().collect(),
            read: cables.len(),
        });
        candidates.filter(|owner| self.is_it(owner)).max_by(|a, b| {
            // The share first: of a dead host every cable is down, of its leaves one each. Of a part and a whole
            // with the same cables the part, which sorts later.
            let share = |owner: &Owner<'_>| owner.troubled.len() as f64 / owner.read as f64;
            share(a)
                .total_cmp(&share(b))
                .then(a.troubled.len().cmp(&b.troubled.len()))
                .then_with(|| a.component.cmp(b.component))
        })
    }

    /// Whether so many troubled cables make it the device rather than each of them.
    fn is_it(&self, owner: &Owner<'_>) -> bool {
        let (count, read) = (owner.troubled.len(), owner.read);
        let enough = count >= self.limits.ports;
        match owner.component {
            Component::Switch(_) => {
                let mut times: Vec<u64> =
                    owner.troubled.iter().filter_map(|cable| self.noticed.get(cable)).copied().collect();
                times.sort_unstable();
                let together = times
                    .windows(self.limits.ports)
                    .any(|near| near[near.len() - 1] - near[0] <= self.limits.window_ns);
                enough && (count * 2 > read || together)
            }
            Component::Host(_) => (enough && count * 2 > read) || (count >= 2 && count == read),
            Component::Nic(_) => count >= 2 && count == read,
            _ => false,
        }
    }

    /// A finding without suspects.
    fn finding(&self, context: &Context<'_>, trouble: Trouble, entities: &[u32], now_ns: u64) -> Finding {
        let mut evidence = Vec::new();
        let mut since = Since::at(now_ns);
        // Rows of evidence beyond these tell nothing new.
        for &entity in entities.iter().take(8) {
            let name = component_of(context.directory, entity).map_or("", Component::name);
            if let Some(cell) = self.ends.at(entity) {
                evidence.push(Evidence::new(CounterSeen::LinkUp { port: name.to_owned() }, cell.value, 1.0));
                if trouble == Trouble::Down {
                    since = since.earlier(cell.since);
                }
            }
            if let Some(grown) = self.downs.of(entity).filter(|&grown| grown > 0.0) {
                let seen = CounterSeen::LinkLosses { port: name.to_owned() };
                evidence.push(Evidence::new(seen, grown, 0.0));
                since = since.earlier(self.downs.since(entity));
            }
        }
        let (faults, confidence) = match trouble {
            Trouble::Down => {
                let before = entities
                    .iter()
                    .all(|&entity| self.ends.at(entity).is_some_and(|cell| cell.same == cell.readings));
                (vec![FaultKind::Down], if before { 0.6 } else { 0.9 })
            }
            Trouble::Flap => (vec![FaultKind::Flap], 0.9),
            Trouble::Blip => (vec![FaultKind::Flap], 0.5),
        };
        Finding {
            at_ns: now_ns,
            since,
            syndrome: Syndrome::Counter,
            faults,
            suspects: Vec::new(),
            confidence,
            severity: 0.0,
            cost: None,
            evidence,
            advice: String::new(),
        }
    }
}
