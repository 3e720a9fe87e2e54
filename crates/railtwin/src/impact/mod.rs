//! What a leaf, spine, cable, NIC or host touches, and what it would cost to drain it now.
//!
//! Draining is running the flow engine twice: as the scenario is, and with all cables of the device down from the start,
//! which hosts, switches and controllers know of. Several jobs are all there, with starts drawn as of
//! [`crate::interference`]: phases decide what they cost each other. A host takes its ranks along: where its segment has a
//! backup host that
//! one stands in for it, and the run says what the job does there. What a restart from a checkpoint takes is not in it.
mod subject;

use std::collections::BTreeSet;

use railtwin_control::Place;
use railtwin_control::placement::substituted;
use railtwin_engine::choose::{Connection, View};
use railtwin_engine::fault::{CableState, Fault};
use railtwin_engine::lower::Lowering;
use railtwin_engine::{Case, Engine};
use railtwin_fabric::{DeviceId, Fabric, HostId, LinkId};
use railtwin_routing::LinkMask;
use railtwin_units::SimTime;

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
    /// Ranks whose GPU is on the host, or whose NIC has a queue pair over the device; ascending.
    pub touched: Vec<u32>,
    /// Queue pairs whose path crosses the device.
    pub queue_pairs: u32,
    /// All its queue pairs.
    pub all_queue_pairs: u32,
    /// Ranks that have no way left to somebody once it is drained; ascending.
    pub cut: Vec<u32>,
    /// Ranks of a host that no backup host stands in for; ascending.
    pub gone: Vec<u32>,
    /// Step time as it is.
    pub before: StepTime,
    /// Step time with the device drained.
    pub after: StepTime,
}

/// The answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Impact {
    /// What is drained.
    pub subject: Subject,
    /// The backup host that stands in for a host; none where it is no host, nothing runs on it, or there is no spare.
    pub stand_in: Option<HostId>,
    /// In the order of the scenario.
    pub jobs: Vec<JobImpact>,
}

/// Says what a device touches and what draining it would cost, over draws of hashes, of computing times and, where there
/// are several jobs, of starts; `progress` hears of each draw before and after. The result does not
/// depend on the number of threads.
///
/// # Errors
/// [`Error::Argument`] with the nearest names for a name that the fabric does not have; [`Error::Controller`] where a
/// controller of one's own cannot go on.
pub fn impact(
    case: &Case,
    engine: &dyn Engine,
    name: &str,
    options: Options,
    progress: &(dyn Fn() + Sync),
) -> Result<Impact, Error> {
    let subject = Subject::named(&case.fabric, name)?;
    let used = case.placements.iter().flatten().any(|place| Some(place.host) == subject.host);
    let stand_in = subject.host.filter(|_| used).and_then(|host| spare_for(case, host));
    let after = drained(case, &subject, stand_in);
    let (touched, cut) = (touched(case, &subject), cut(&after));
    let draws = Draws::of(case, engine, options)?;
    let before_steps = draws.steps(case, engine, progress)?;
    let after_steps = draws.steps(&after, engine, progress)?;
    let jobs = (0..case.work.jobs.len()).map(|row| {
        let is_gone = |place: &Place| stand_in.is_none() && Some(place.host) == subject.host;
        let places = (0..).zip(&case.placements[row]);
        let gone: Vec<u32> = places.filter(|(_, place)| is_gone(place)).map(|(rank, _)| rank).collect();
        let after = match gone.is_empty() {
            true => after_steps[row].clone(),
            false => StepTime::None("no backup host is left in the segment".to_owned()),
        };
        JobImpact {
            name: case.work.jobs[row].name.clone(),
            ranks: case.work.jobs[row].plan.ranks,
            touched: touched[row].ranks.iter().copied().collect(),
            queue_pairs: touched[row].queue_pairs,
            all_queue_pairs: touched[row].all,
            cut: cut[row].iter().copied().collect(),
            gone,
            before: before_steps[row].clone(),
            after,
        }
    });
    Ok(Impact { jobs: jobs.collect(), subject, stand_in })
}

/// A backup host of the same segment that no job has.
fn spare_for(case: &Case, lost: HostId) -> Option<HostId> {
    let fabric = &case.fabric;
    let place = |host: HostId| (fabric.host(host).pod, fabric.host(host).segment, fabric.host(host).model);
    let taken: BTreeSet<HostId> = case.placements.iter().flatten().map(|place| place.host).collect();
    (0..fabric.hosts().len())
        .map(HostId::from_index)
        .find(|&host| fabric.host(host).spare && place(host) == place(lost) && !taken.contains(&host))
}

/// The case with the device down from the start, and a spare in the place of a host.
fn drained(case: &Case, subject: &Subject, stand_in: Option<HostId>) -> Case {
    let mut after = case.clone();
    let down =
        subject.cables.iter().map(|&cable| Fault { at: SimTime::ZERO, cable, state: CableState::Down });
    // Whatever else the scenario says of these cables: they are out.
    let others =
        case.faults.iter().copied().filter(|fault| subject.cables.binary_search(&fault.cable).is_err());
    after.faults = down.chain(others).collect();
    after.faults.sort_by_key(|fault| fault.at);
    if let (Some(lost), Some(spare)) = (subject.host, stand_in) {
        for places in &mut after.placements {
            *places = substituted(places, lost, spare);
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

/// What a job has to do with the device.
#[derive(Clone, Default)]
struct Touched {
    ranks: BTreeSet<u32>,
    queue_pairs: u32,
    all: u32,
}

/// By job, on the paths of the first replicate.
fn touched(case: &Case, subject: &Subject) -> Vec<Touched> {
    let mut jobs = vec![Touched::default(); case.work.jobs.len()];
    let lowering = Lowering::new(case, 0).without_own();
    let mask = mask_of(case);
    let paths = lowering.paths(View { mask: &mask, planned: &mask });
    let crosses = |link: &LinkId| subject.cables.binary_search(&link.cable()).is_ok();
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
            Some(place.host) == subject.host || subject.nic.is_some_and(|own| own == nic())
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
