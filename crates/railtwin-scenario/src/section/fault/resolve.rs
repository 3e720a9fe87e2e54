//! From faults that leave things running, but worse, to links that ail, ranks in trouble and troubles of packets; and
//! what was injected, as ground truth.
use railtwin_control::Place;
use railtwin_engine::fault::{Impairment, RankFault, RankTrouble};
use railtwin_engine::packet::{Trouble, Troubled};
use railtwin_engine::{Case, Fault, WorkGraph};
use railtwin_fabric::{CableClass, CableId, DeviceId, DeviceKind, Fabric, HostId, LinkId};
use railtwin_records::Component;
use railtwin_records::fault::Truth;
use railtwin_routing::protocol::set::DualTor;
use railtwin_units::SimTime;

use crate::resolve::{Reader, Source};
use crate::scenario::EngineName;
use crate::section::failures;
use crate::section::fault::cables::{self, device_component, example, nic};
use crate::section::fault::rules::trouble_of_fault;
use crate::{Direction, FaultKind, FaultSpec, FaultSubject, JobSpec, Scenario, ScenarioError, Work};

/// All that faults bring into a case.
#[derive(Debug, Default)]
pub(crate) struct Troubles {
    pub(crate) faults: Vec<Fault>,
    pub(crate) impairments: Vec<Impairment>,
    pub(crate) rank_faults: Vec<RankFault>,
    pub(crate) truths: Vec<Truth>,
    /// For the packet engine.
    pub(crate) packets: Vec<Troubled>,
    /// What a reader of the result should know.
    pub(crate) notes: Vec<String>,
    /// Notes of faults of ranks that nobody feels as jobs are placed.
    unfelt: Vec<String>,
}

/// What faults are resolved against: jobs as they were placed, each with the part of the scenario that it is of.
pub(crate) struct Ground<'a> {
    pub(crate) fabric: &'a Fabric,
    pub(crate) work: &'a WorkGraph,
    pub(crate) placements: &'a [Vec<Place>],
    pub(crate) specs: &'a [&'a JobSpec],
    pub(crate) set: &'a DualTor,
    pub(crate) source: Source<'a>,
}

impl<'a> Ground<'a> {
    pub(crate) fn new(
        fabric: &'a Fabric,
        (work, placements, specs): (&'a WorkGraph, &'a [Vec<Place>], &'a [&'a JobSpec]),
        set: &'a DualTor,
        source: Source<'a>,
    ) -> Self {
        Self { fabric, work, placements, specs, set, source }
    }
}

/// A fault that is injected, written or drawn.
#[derive(Clone, Debug)]
pub(crate) struct Injected {
    pub(crate) fault: FaultSpec,
    /// Where the scenario says it, as a path of its text.
    pub(crate) path: String,
    /// What messages call it.
    pub(crate) label: String,
    /// What tables say of where it comes from.
    pub(crate) source: String,
}

impl Injected {
    /// The path of one of its keys.
    pub(crate) fn key(&self, key: &str) -> String {
        format!("{}.{key}", self.path)
    }
}

/// The faults of `[[fault]]`.
fn written(scenario: &Scenario) -> impl Iterator<Item = Injected> {
    scenario.faults.iter().enumerate().map(|(row, fault)| Injected {
        fault: fault.clone(),
        path: format!("fault.{row}"),
        label: format!("fault {row}"),
        source: Truth::WRITTEN.to_owned(),
    })
}

/// Resolves `[[fault]]` and `[failures]`.
pub(crate) fn troubles(
    scenario: &Scenario,
    ground: &Ground<'_>,
    read: &Reader<'_>,
) -> Result<Troubles, ScenarioError> {
    let mut injected: Vec<Injected> = written(scenario).collect();
    let mut notes = Vec::new();
    if let Some(failures) = &scenario.failures {
        let drawn = failures::resolve::draw(failures, scenario.seed, ground, read)?;
        // A kind that cannot be is refused even where chance draws none.
        troubles_of(scenario.engine, &drawn.examples, ground)?;
        // A job that lives with them is run without: its life is not a run of every step.
        if scenario.steering.is_none() {
            injected.extend(drawn.faults);
        }
        notes = drawn.notes;
    }
    let mut all = troubles_of(scenario.engine, &injected, ground)?;
    // Who is steered may come to be where they are.
    if scenario.steering.is_none() {
        all.notes.append(&mut all.unfelt);
    }
    all.notes.extend(notes);
    Ok(all)
}

impl Scenario {
    /// A case of the scenario with more faults, as if its text said them; `source` is what tables say of where they come
    /// from. Cables that are wrong are wrong from the start on, so they cannot be added.
    ///
    /// # Errors
    /// [`ScenarioError`] as for a fault of the text.
    pub fn injected(&self, case: &Case, faults: &[FaultSpec], source: &str) -> Result<Case, ScenarioError> {
        let text = self.to_toml();
        let place = Source { file: source, text: &text };
        for fault in faults {
            if let Some((key, (message, hint))) = trouble_of_fault(fault) {
                return Err(place.error(&format!("fault.{key}"), message, Some(hint)));
            }
            if fault.kind == FaultKind::WrongCable {
                let hint = "write it into the scenario";
                return Err(place.error("fault", "the fabric is cabled already", Some(hint)));
            }
        }
        let copies = |job: &JobSpec| job.count as usize;
        let specs = self.jobs.iter().flat_map(|job| std::iter::repeat_n(job, copies(job)));
        let specs: Vec<&JobSpec> = specs.collect();
        let ground = Ground {
            fabric: &case.fabric,
            work: &case.work,
            placements: &case.placements,
            specs: &specs,
            set: &case.dual_tor,
            source: place,
        };
        let injected = faults.iter().enumerate().map(|(row, fault)| Injected {
            fault: fault.clone(),
            path: format!("fault.{row}"),
            label: format!("fault {row}"),
            source: source.to_owned(),
        });
        let troubles = troubles_of(self.engine, &injected.collect::<Vec<_>>(), &ground)?;
        let mut case = case.clone();
        case.faults.extend(troubles.faults);
        case.faults.sort();
        case.impairments.extend(troubles.impairments);
        case.rank_faults.extend(troubles.rank_faults);
        case.packets.troubles.extend(troubles.packets);
        case.truths.extend(troubles.truths);
        Ok(case)
    }
}

fn troubles_of(
    engine: EngineName,
    injected: &[Injected],
    ground: &Ground<'_>,
) -> Result<Troubles, ScenarioError> {
    let (faults, truths) = cables::faults(ground, injected)?;
    let mut all = Troubles { faults, truths, ..Troubles::default() };
    for told in injected {
        let fault = &told.fault;
        let first = all.impairments.len();
        use FaultKind::{
            ControlPlane, DataPlane, Down, Flap, Latency, LoseAcknowledgement, Lossy, PauseStorm, Slow,
            SmallBuffer, Up, Upgrade, WrongCable,
        };
        match fault.kind {
            Down | Up | Flap | DataPlane | ControlPlane | Upgrade => continue,
            WrongCable => {
                let (first, second) = swapped(ground.fabric, &told.path, fault, ground.source)?;
                for cable in [first, second] {
                    let component = Component::Cable(ground.fabric.cable_name(cable));
                    all.truths.push(truth(told, component, 0.0));
                }
            }
            Slow | Lossy | Latency => ground.links(told, &mut all)?,
            LoseAcknowledgement => all.truths.push(truth(told, ground.directed(told)?.1, 0.0)),
            PauseStorm => ground.storm(told, &mut all)?,
            SmallBuffer => ground.buffer(told, &mut all)?,
            _ => ground.ranks(told, &mut all)?,
        }
        if engine == EngineName::Packet {
            ground.packets(told, first, &mut all)?;
        } else if let Some(what) = unknown_to_flows(fault.kind) {
            let (_, name) = fault.subject.parts();
            all.notes.push(format!(
                "{}: the flow engine has no {what}, so that of {name} acts on nothing",
                told.label
            ));
        }
    }
    all.truths.sort_by_key(|truth| truth.from_ns);
    Ok(all)
}

/// What a fault is of that flows have not.
fn unknown_to_flows(kind: FaultKind) -> Option<&'static str> {
    match kind {
        FaultKind::SmallBuffer => Some("buffers"),
        FaultKind::LoseAcknowledgement => Some("acknowledgements"),
        _ => None,
    }
}

/// The fabric as faults have it cabled.
pub(crate) fn recabled(
    mut fabric: Fabric,
    faults: &[FaultSpec],
    source: Source<'_>,
) -> Result<Fabric, ScenarioError> {
    let wrong = faults.iter().enumerate().filter(|(_, fault)| fault.kind == FaultKind::WrongCable);
    for (row, fault) in wrong {
        let (first, second) = swapped(&fabric, &format!("fault.{row}"), fault, source)?;
        fabric.swap_far_ends(first, second);
    }
    Ok(fabric)
}

/// The two cables of a fault whose far ends are swapped.
fn swapped(
    fabric: &Fabric,
    path: &str,
    fault: &FaultSpec,
    source: Source<'_>,
) -> Result<(CableId, CableId), ScenarioError> {
    let cable = |key: &str, name: &str| {
        fabric.cable_named(name).ok_or_else(|| {
            let hint =
                example(fabric, "cable").map(|name| format!("write one that it has, such as {name:?}"));
            let message = format!("the fabric has no cable {name:?}");
            source.error(&format!("{path}.{key}"), message, hint.as_deref())
        })
    };
    let first = cable("cable", fault.subject.parts().1)?;
    let with = fault.with.as_deref().unwrap_or_default();
    let second = cable("with", with)?;
    let refuse = |message: &str, hint: &str| Err(source.error(&format!("{path}.with"), message, Some(hint)));
    if first == second {
        return refuse("a cable cannot be swapped with itself", "name another cable");
    }
    if fabric.cable_class(first) != fabric.cable_class(second) {
        let hint = "name two cables between the same two tiers";
        return refuse("the two cables join different tiers", hint);
    }
    Ok((first, second))
}

/// What was injected.
fn truth(told: &Injected, component: Component, severity: f64) -> Truth {
    let fault = &told.fault;
    let until = fault.until.unwrap_or(SimTime::NEVER);
    Truth {
        from_ns: cables::ns(fault.at),
        until_ns: cables::ns(until),
        kind: fault.kind,
        component,
        severity,
        cause: fault.measure.cause,
        source: told.source.clone(),
    }
}

/// Seconds, rounded once: tables show what the scenario says.
fn seconds(time: SimTime) -> f64 {
    time.ps() as f64 / 1e12
}

impl Ground<'_> {
    fn error(&self, told: &Injected, key: &str, message: String, hint: Option<String>) -> ScenarioError {
        self.source.error(&told.key(key), message, hint.as_deref())
    }

    /// The fabric, or the work, has nothing of that name.
    fn missing(&self, told: &Injected) -> ScenarioError {
        let (key, name) = told.fault.subject.parts();
        let such = match key {
            "rank" => self.work.jobs.first().map(|job| format!("{}/{}", job.name, job.plan.ranks - 1)),
            "job" => self.work.jobs.first().map(|job| job.name.clone()),
            "gpu" => Some(self.fabric.device_name(self.fabric.gpu(HostId(0), 0))),
            "host" => Some("host-0".to_owned()),
            _ => example(self.fabric, key),
        };
        let hint = such.map(|name| format!("write one that it has, such as {name:?}"));
        let of = if matches!(key, "rank" | "job") { "scenario" } else { "fabric" };
        self.error(told, key, format!("the {of} has no {key} {name:?}"), hint)
    }

    /// The links of the network that leave what is named.
    fn leaving(&self, told: &Injected) -> Result<Vec<LinkId>, ScenarioError> {
        let subject = &told.fault.subject;
        let fabric = self.fabric;
        let of = |device: DeviceId| {
            let links = fabric.neighbors(device).iter().map(|(link, _)| *link);
            links.filter(|link| fabric.cable_class(link.cable()) >= CableClass::Access)
        };
        if let FaultSubject::Cable(name) | FaultSubject::Port(name) = subject {
            let cable = fabric.cable_named(name).ok_or_else(|| self.missing(told))?;
            let near = fabric.port_name(fabric.cable_ports(cable)[0]) == *name;
            return Ok(vec![if near { cable.forward() } else { cable.backward() }]);
        }
        let devices = cables::devices(fabric, subject).ok_or_else(|| self.missing(told))?;
        Ok(devices.into_iter().flat_map(of).collect())
    }

    /// The links of a fault by its direction, and what they are together.
    fn directed(&self, told: &Injected) -> Result<(Vec<LinkId>, Component), ScenarioError> {
        let fault = &told.fault;
        let fabric = self.fabric;
        let leaving = self.leaving(told)?;
        let of_switch = leaving.first().is_some_and(|link| fabric.place(fabric.source(*link)).is_some());
        let whole = !matches!(fault.subject, FaultSubject::Cable(_) | FaultSubject::Port(_));
        let direction = match fault.measure.direction {
            Some(direction) => direction,
            None if fault.kind == FaultKind::Latency && of_switch && whole => Direction::Out,
            None => Direction::Both,
        };
        let links: Vec<LinkId> = leaving
            .iter()
            .flat_map(|&link| match direction {
                Direction::Out => vec![link],
                Direction::In => vec![link.reverse()],
                Direction::Both => vec![link, link.reverse()],
            })
            .collect();
        let component = match (&fault.subject, links.as_slice()) {
            (FaultSubject::Cable(_) | FaultSubject::Port(_), [link]) => {
                Component::Link(fabric.link_name(*link))
            }
            (FaultSubject::Cable(_) | FaultSubject::Port(_), _) => {
                Component::Cable(fabric.cable_name(leaving[0].cable()))
            }
            (subject, _) => device_component(fabric, subject.parts().1),
        };
        Ok((links, component))
    }

    /// Links that are slow, lossy or late.
    fn links(&self, told: &Injected, all: &mut Troubles) -> Result<(), ScenarioError> {
        let fault = &told.fault;
        let (links, component) = self.directed(told)?;
        let until = fault.until.unwrap_or(SimTime::NEVER);
        all.impairments.extend(links.into_iter().map(|link| Impairment {
            link,
            from: fault.at,
            until,
            capacity: fault.measure.capacity.unwrap_or(1.0),
            loss: fault.measure.loss.unwrap_or(0.0),
            delay: fault.measure.delay.unwrap_or(SimTime::ZERO),
        }));
        let severity =
            fault.measure.capacity.or(fault.measure.loss).or(fault.measure.delay.map(seconds)).unwrap_or(0.0);
        all.truths.push(truth(told, component, severity));
        Ok(())
    }

    /// The links into the ports of a NIC that storms, with the NIC.
    fn stormed(&self, told: &Injected) -> Result<(DeviceId, Vec<LinkId>), ScenarioError> {
        let leaving = self.leaving(told)?;
        let of_nic = leaving.first().map(|link| self.fabric.source(*link));
        let Some(device) = of_nic.filter(|&device| self.fabric.kind(device) == DeviceKind::Nic) else {
            let (key, name) = told.fault.subject.parts();
            let message = format!("{name:?} is no port of a NIC");
            let hint = example(self.fabric, "nic").map(|nic| format!("write one such as \"{nic}:port-0\""));
            return Err(self.error(told, key, message, hint));
        };
        Ok((device, leaving.into_iter().map(LinkId::reverse).collect()))
    }

    fn storm(&self, told: &Injected, all: &mut Troubles) -> Result<(), ScenarioError> {
        let fault = &told.fault;
        let (device, links) = self.stormed(told)?;
        let left = fault.measure.capacity.unwrap_or(0.0);
        let until = fault.until.unwrap_or(SimTime::NEVER);
        let stopped = |link| Impairment { from: fault.at, until, capacity: left, ..Impairment::none(link) };
        all.impairments.extend(links.into_iter().map(stopped));
        all.truths.push(truth(told, Component::Nic(self.fabric.device_name(device)), left));
        Ok(())
    }

    fn buffer(&self, told: &Injected, all: &mut Troubles) -> Result<(), ScenarioError> {
        let fault = &told.fault;
        let (key, name) = fault.subject.parts();
        cables::devices(self.fabric, &fault.subject).ok_or_else(|| self.missing(told))?;
        if self.fabric.switch_named(name).is_none() {
            let hint = example(self.fabric, "leaf").map(|leaf| format!("write one such as {leaf:?}"));
            return Err(self.error(told, key, format!("{name:?} is no switch"), hint));
        }
        let works = fault.measure.capacity.unwrap_or(1.0);
        all.truths.push(truth(told, Component::Switch(name.to_owned()), works));
        Ok(())
    }

    /// The same as troubles of packets, where the packet engine knows it; its impairments are those from `first` on.
    fn packets(&self, told: &Injected, first: usize, all: &mut Troubles) -> Result<(), ScenarioError> {
        let fault = &told.fault;
        let unknown = |hint: &str| {
            let message = format!("the packet engine does not know this `{}`", fault.kind.name());
            Err(self.error(told, "kind", message, Some(hint.to_owned())))
        };
        let own = &all.impairments[first..];
        let troubles: Vec<Trouble> = match fault.kind {
            FaultKind::WrongCable => Vec::new(),
            FaultKind::Lossy => {
                own.iter().map(|ill| Trouble::Loss { link: ill.link, share: ill.loss }).collect()
            }
            FaultKind::Latency => {
                own.iter().map(|ill| Trouble::Latency { link: ill.link, delay: ill.delay }).collect()
            }
            FaultKind::LoseAcknowledgement => {
                let (links, _) = self.directed(told)?;
                links.into_iter().map(|link| Trouble::LoseAcknowledgement { link }).collect()
            }
            FaultKind::Slow => match (nic(self.fabric, fault.subject.parts().1), fault.measure.direction) {
                (Some(nic), Some(Direction::In)) => {
                    vec![Trouble::SlowReceiver { nic, share: fault.measure.capacity.unwrap_or(1.0) }]
                }
                _ => return unknown("name a nic and write direction = \"in\", or engine = \"flow\""),
            },
            FaultKind::PauseStorm => {
                let (nic, links) = self.stormed(told)?;
                match fault.measure.capacity {
                    Some(share) => vec![Trouble::SlowReceiver { nic, share }],
                    None => links.into_iter().map(|link| Trouble::PauseStorm { link }).collect(),
                }
            }
            FaultKind::SmallBuffer => {
                let switch = self.fabric.switch_named(fault.subject.parts().1);
                let share = fault.measure.capacity.unwrap_or(1.0);
                switch.map(|switch| Trouble::SmallBuffer { switch, share }).into_iter().collect()
            }
            _ => return unknown("write engine = \"flow\""),
        };
        let until = fault.until.unwrap_or(SimTime::NEVER);
        all.packets.extend(troubles.into_iter().map(|trouble| Troubled { from: fault.at, until, trouble }));
        Ok(())
    }

    /// Job and rank of all that run on what is named.
    fn ranks_of(&self, told: &Injected) -> Result<Vec<(u32, u32)>, ScenarioError> {
        let subject = &told.fault.subject;
        let missing = || self.missing(told);
        let job_named =
            |name: &str| self.work.jobs.iter().position(|job| job.name == name).ok_or_else(missing);
        let all_of = |job: usize| (0..self.work.jobs[job].plan.ranks).map(move |rank| (job as u32, rank));
        let placed = |at: &dyn Fn(&Place) -> bool| {
            let jobs = self.placements.iter().zip(0..);
            let ranks = |(places, job): (&Vec<Place>, u32)| {
                let here = places.iter().zip(0..).filter(|(place, _)| at(place));
                here.map(|(_, rank)| (job, rank)).collect::<Vec<_>>()
            };
            jobs.flat_map(ranks).collect::<Vec<_>>()
        };
        let host = |name: &str| self.fabric.host_named(name).ok_or_else(missing);
        match subject {
            FaultSubject::Rank(name) => {
                let (job, rank) = name.rsplit_once('/').ok_or_else(missing)?;
                let job = job_named(job)?;
                let rank: u32 = rank.parse().map_err(|_| missing())?;
                let found = (rank < self.work.jobs[job].plan.ranks).then_some(vec![(job as u32, rank)]);
                found.ok_or_else(missing)
            }
            FaultSubject::Job(name) => Ok(all_of(job_named(name)?).collect()),
            FaultSubject::Host(name) => {
                let host = host(name)?;
                Ok(placed(&|place| place.host == host))
            }
            FaultSubject::Gpu(name) => {
                let (of, gpu) = name.split_once('/').ok_or_else(missing)?;
                let host = host(of)?;
                let gpu: u32 =
                    gpu.strip_prefix("gpu-").and_then(|gpu| gpu.parse().ok()).ok_or_else(missing)?;
                if gpu >= self.fabric.host_model(host).gpus {
                    return Err(missing());
                }
                Ok(placed(&|place| place.host == host && place.gpu == gpu))
            }
            _ => Ok((0..self.work.jobs.len()).flat_map(all_of).collect()),
        }
    }

    /// Ranks that are slow, late, or enter nothing more.
    fn ranks(&self, told: &Injected, all: &mut Troubles) -> Result<(), ScenarioError> {
        let fault = &told.fault;
        let ranks = self.ranks_of(told)?;
        let (_, name) = fault.subject.parts();
        let time = fault.measure.delay.unwrap_or(SimTime::ZERO);
        let (trouble, severity) = match fault.kind {
            FaultKind::SlowGpu => {
                let factor = fault.measure.factor.unwrap_or(1.0);
                (RankTrouble::Slow(factor), factor)
            }
            FaultKind::SlowData => (RankTrouble::Late { time, every: 1 }, seconds(time)),
            FaultKind::StorageStall => {
                (RankTrouble::Late { time, every: fault.measure.every.unwrap_or(1) }, seconds(time))
            }
            FaultKind::Hang => (RankTrouble::Hang, 0.0),
            FaultKind::SizeMismatch => (RankTrouble::Mismatch, 0.0),
            _ => (RankTrouble::Gone, 0.0),
        };
        if fault.kind == FaultKind::SlowGpu
            && !ranks.is_empty()
            && !ranks.iter().any(|&rank| self.computes(rank))
        {
            let message = format!("nothing on {name:?} computes, so a slow GPU changes nothing");
            if told.source != Truth::WRITTEN {
                all.notes.push(format!("{}: {message}", told.label));
                return Ok(());
            }
            let hint = "give the job's collective a `compute` time, or let it train";
            return Err(self.error(told, "kind", message, Some(hint.to_owned())));
        }
        let gpu = |(job, rank): (u32, u32)| {
            let place = self.placements[job as usize][rank as usize];
            Component::Gpu(self.fabric.device_name(self.fabric.gpu(place.host, place.gpu)))
        };
        let of_gpu = matches!(fault.kind, FaultKind::SlowGpu | FaultKind::GpuError);
        let component = match &fault.subject {
            FaultSubject::Rank(_) if fault.kind == FaultKind::SizeMismatch => {
                let (job, _) = ranks[0];
                Component::Job(self.work.jobs[job as usize].name.clone())
            }
            FaultSubject::Rank(_) if of_gpu => gpu(ranks[0]),
            FaultSubject::Rank(name) => Component::Rank(name.clone()),
            FaultSubject::Gpu(name) => Component::Gpu(name.clone()),
            FaultSubject::Host(name) => Component::Host(name.clone()),
            FaultSubject::Job(name) => Component::Job(name.clone()),
            _ => Component::Storage,
        };
        if ranks.is_empty() {
            all.unfelt.push(format!(
                "{}: no job runs on {name}, so its {} acts on nothing",
                told.label,
                fault.kind.name()
            ));
        }
        let until = fault.until.unwrap_or(SimTime::NEVER);
        let fault_of = |(job, rank)| RankFault { job, rank, from: fault.at, until, trouble };
        all.rank_faults.extend(ranks.into_iter().map(fault_of));
        all.truths.push(truth(told, component, severity));
        Ok(())
    }

    /// Whether a rank computes: transfers of a list only wait for their time to start.
    fn computes(&self, (job, rank): (u32, u32)) -> bool {
        use crate::Workload::{Connections, Traffic};
        if matches!(&self.specs[job as usize].work, Work::Workload(Connections { .. } | Traffic(_))) {
            return false;
        }
        let plan = &self.work.jobs[job as usize].plan;
        let lanes = (0..plan.lanes.len() as u32).filter(|&lane| plan.compute_of_lane(lane) > SimTime::ZERO);
        lanes.into_iter().any(|lane| plan.ranks_of_lane(lane).binary_search(&rank).is_ok())
    }
}
