//! Jobs on leaves, spines, cables, NICs or hosts, and the cost of draining these devices now.
//!
//! Draining is running the flow engine twice: as the scenario is, and with all cables of the devices down from the start,
//! which hosts, switches and controllers know of. Several jobs are all there, with starts drawn as of
//! [`crate::interference`]: phases decide what they cost each other. A host takes its ranks along: the nearest host of the
//! same model that no job has stands in for it, a backup host of the segment first ([`spare`]), and the run says what the
//! job does there. What a restart from a checkpoint takes is not in it.
mod spare;
mod subject;

use std::collections::BTreeSet;

use railtwin_control::Place;
use railtwin_control::placement::substituted;
use railtwin_engine::Connection;
use railtwin_engine::choose::View;
use railtwin_engine::fault::{CableState, Fault};
use railtwin_engine::lower::Lowering;
use railtwin_engine::{Case, Engine};
use railtwin_fabric::{CableId, DeviceId, Fabric, HostId, LinkId};
use railtwin_routing::LinkMask;
use railtwin_units::SimTime;

pub use self::spare::StandIn;
pub use self::subject::Subject;
use crate::error::Error;
pub use crate::interference::StepTime;
use crate::interference::{Draws, Options};

/// One job.
#[derive(Clone, PartialEq, Debug)]
pub struct JobImpact {
    /// Name.
    pub name: String,
    /// Its ranks.
    pub ranks: u32,
    /// Ranks whose GPU is on a drained host, or whose NIC has a queue pair over a drained device; ascending.
    pub touched: Vec<u32>,
    /// Queue pairs whose path crosses a drained device.
    pub queue_pairs: u32,
    /// All its queue pairs.
    pub all_queue_pairs: u32,
    /// Ranks that have no way left to another rank once the devices are drained; ascending.
    pub cut: Vec<u32>,
    /// Ranks of a host that no other host stands in for; ascending.
    pub gone: Vec<u32>,
    /// Step time as it is.
    pub before: StepTime,
    /// Step time with the devices drained.
    pub after: StepTime,
}

/// The answer for devices that are drained together.
#[derive(Clone, PartialEq, Debug)]
pub struct Impact {
    /// The devices.
    pub subjects: Vec<Subject>,
    /// Hosts that stand in for drained hosts with ranks; none where nothing runs on them, or no host is free.
    pub stand_ins: Vec<StandIn>,
    /// Other hosts that no job has and that are not drained, those nearest to the first drained host first.
    pub free: Vec<HostId>,
    /// In the order of the scenario.
    pub jobs: Vec<JobImpact>,
}

/// The answer for each device of a call and for all of them together.
#[derive(Clone, PartialEq, Debug)]
pub struct Impacts {
    /// Each device drained alone, in the order of the call.
    pub each: Vec<Impact>,
    /// All of them drained at once; none for one device.
    pub together: Option<Impact>,
}

/// How many draws [`impact`] makes for so many devices.
pub fn draws_of(devices: usize, options: Options) -> u64 {
    let drained = devices + usize::from(devices > 1);
    (drained as u64 + 1) * u64::from(options.draws)
}

/// Says what devices touch and what draining them would cost, each alone and all together, over draws of hashes, of
/// computing times and, where there are several jobs, of starts; `progress` hears of each draw before and after. The
/// result does not depend on the number of threads.
///
/// # Errors
/// [`Error::Argument`] with the nearest names for a name that the fabric does not have, for no name and for a device that
/// is named twice; [`Error::Controller`] where a controller of one's own cannot go on.
pub fn impact(
    case: &Case,
    engine: &dyn Engine,
    names: &[String],
    options: Options,
    progress: &(dyn Fn() + Sync),
) -> Result<Impacts, Error> {
    let mut subjects: Vec<Subject> = Vec::with_capacity(names.len());
    for name in names {
        let subject = Subject::named(&case.fabric, name)?;
        if subjects.contains(&subject) {
            let message = format!("{} is named twice: name each device once", subject.name);
            return Err(Error::Argument(message));
        }
        subjects.push(subject);
    }
    if subjects.is_empty() {
        return Err(Error::Argument("no device is named: name a leaf, spine, host, NIC or cable".to_owned()));
    }
    let draws = Draws::of(case, engine, options)?;
    let before = draws.steps(case, engine, progress)?;
    let drain = |subjects: Vec<Subject>| -> Result<Impact, Error> {
        let stand_ins = spare::stand_ins(case, &subjects);
        let after = drained(case, &subjects, &stand_ins);
        let steps = draws.steps(&after, engine, progress)?;
        Ok(found(case, &after, (subjects, stand_ins), (&before, &steps)))
    };
    let each = subjects.iter().map(|one| drain(vec![one.clone()])).collect::<Result<Vec<Impact>, Error>>()?;
    let together = if subjects.len() > 1 { Some(drain(subjects)?) } else { None };
    Ok(Impacts { each, together })
}

/// The answer for devices, with step times by job before they are drained and after.
fn found(
    case: &Case,
    after: &Case,
    (subjects, stand_ins): (Vec<Subject>, Vec<StandIn>),
    (before, steps): (&[StepTime], &[StepTime]),
) -> Impact {
    let (touched, cut) = (touched(case, &subjects), cut(after));
    let is_gone = |place: &Place| {
        subjects.iter().any(|subject| subject.host == Some(place.host))
            && !stand_ins.iter().any(|stand_in| stand_in.lost == place.host)
    };
    let jobs = (0..case.work.jobs.len()).map(|row| {
        let places = (0..).zip(&case.placements[row]);
        let gone: Vec<u32> = places.filter(|(_, place)| is_gone(place)).map(|(rank, _)| rank).collect();
        let after = match gone.is_empty() {
            true => steps[row].clone(),
            false => StepTime::None("no host is free".to_owned()),
        };
        JobImpact {
            name: case.work.jobs[row].name.clone(),
            ranks: case.work.jobs[row].plan.ranks,
            touched: touched[row].ranks.iter().copied().collect(),
            queue_pairs: touched[row].queue_pairs,
            all_queue_pairs: touched[row].all,
            cut: cut[row].iter().copied().collect(),
            gone,
            before: before[row].clone(),
            after,
        }
    });
    Impact { jobs: jobs.collect(), free: spare::free(case, &subjects, &stand_ins), subjects, stand_ins }
}

/// The case with the devices down from the start, and other hosts in the place of hosts.
fn drained(case: &Case, subjects: &[Subject], stand_ins: &[StandIn]) -> Case {
    let mut after = case.clone();
    let cables: BTreeSet<CableId> =
        subjects.iter().flat_map(|subject| subject.cables.iter().copied()).collect();
    let down = cables.iter().map(|&cable| Fault { at: SimTime::ZERO, cable, state: CableState::Down });
    // Whatever else the scenario says of these cables: they are out.
    let others = case.faults.iter().copied().filter(|fault| !cables.contains(&fault.cable));
    after.faults = down.chain(others).collect();
    after.faults.sort_by_key(|fault| fault.at);
    for places in &mut after.placements {
        for stand_in in stand_ins {
            *places = substituted(places, stand_in.lost, stand_in.by);
        }
    }
    after
}

/// What is down from the start.
fn mask_of(case: &Case) -> LinkMask {
    let mut mask = LinkMask::none(&case.fabric);
    for fault in case.faults.iter().filter(|fault| fault.at == SimTime::ZERO) {
        mask.set_cable(fault.cable, fault.state == CableState::Down);
    }
    mask
}

/// What a job has to do with devices.
#[derive(Clone, Default)]
struct Touched {
    ranks: BTreeSet<u32>,
    queue_pairs: u32,
    all: u32,
}

/// By job, on the paths of the first replicate.
fn touched(case: &Case, subjects: &[Subject]) -> Vec<Touched> {
    let mut jobs = vec![Touched::default(); case.work.jobs.len()];
    let lowering = Lowering::new(case, 0).without_own();
    let mask = mask_of(case);
    let paths = lowering.paths(View { mask: &mask, planned: &mask });
    let crosses =
        |link: &LinkId| subjects.iter().any(|subject| subject.cables.binary_search(&link.cable()).is_ok());
    for one in lowering.connections() {
        let job = &mut jobs[one.job as usize];
        let over =
            (one.first..one.first + one.count).filter(|&pair| paths.path(pair).links.iter().any(crosses));
        let over = over.count() as u32;
        job.all += one.count;
        job.queue_pairs += over;
        if over > 0 {
            job.ranks.extend(ends(case, one));
        }
    }
    for (job, places) in jobs.iter_mut().zip(&case.placements) {
        let on_it = |place: &Place| {
            let model = case.fabric.host_model(place.host);
            let nic = || case.fabric.nic(place.host, model.nic_of_gpu(place.gpu));
            subjects.iter().any(|subject| {
                Some(place.host) == subject.host || subject.nic.is_some_and(|own| own == nic())
            })
        };
        job.ranks.extend((0..).zip(places).filter(|(_, place)| on_it(place)).map(|(rank, _)| rank));
    }
    jobs
}

/// By job, ranks that have no way left: those on NICs without a live port, else both ends of what has none.
fn cut(after: &Case) -> Vec<BTreeSet<u32>> {
    let mut jobs = vec![BTreeSet::new(); after.work.jobs.len()];
    let lowering = Lowering::new(after, 0).without_own();
    let mask = mask_of(after);
    let paths = lowering.paths(View { mask: &mask, planned: &mask });
    let fabric = &*after.fabric;
    let has_way = |one: &Connection| {
        (one.first..one.first + one.count).any(|pair| !paths.path(pair).links.is_empty()) || one.count == 0
    };
    for one in lowering.connections().iter().filter(|one| !has_way(one)) {
        let alone: Vec<DeviceId> =
            [one.source, one.target].into_iter().filter(|&nic| is_cut_off(fabric, nic, &mask)).collect();
        let nics = if alone.is_empty() { vec![one.source, one.target] } else { alone };
        for nic in nics {
            jobs[one.job as usize].extend(ranks_on(after, one.job, nic));
        }
    }
    jobs
}

/// Whether every cable of a NIC is dead.
fn is_cut_off(fabric: &Fabric, nic: DeviceId, mask: &LinkMask) -> bool {
    let mut links =
        fabric.neighbors(nic).iter().map(|(link, _)| *link).filter(|&link| fabric.is_network(link));
    links.all(|link| mask.is_down(link))
}

/// Ranks of a job on the NICs of a connection.
fn ends(case: &Case, one: &Connection) -> Vec<u32> {
    [one.source, one.target].into_iter().flat_map(|nic| ranks_on(case, one.job, nic)).collect()
}

/// Ranks of a job whose GPU uses a NIC.
fn ranks_on(case: &Case, job: u32, nic: DeviceId) -> Vec<u32> {
    let fabric = &*case.fabric;
    let Some(host) = fabric.host_of(nic) else { return Vec::new() };
    let model = fabric.host_model(host);
    let row = nic.0 - fabric.nic(host, 0).0;
    let places = (0..).zip(&case.placements[job as usize]);
    places
        .filter(|(_, place)| place.host == host && model.nic_of_gpu(place.gpu) == row)
        .map(|(rank, _)| rank)
        .collect()
}
