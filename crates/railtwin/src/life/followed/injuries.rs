//! Faults of `[[fault]]` as hosts have them: where each sits, and which ranks feel it once a spare has taken a place.
use railtwin_control::Place;
use railtwin_engine::{Case, JobGraph, RankFault, RankTrouble};
use railtwin_fabric::{DeviceId, Fabric, HostId};
use railtwin_records::{FaultKind, Truth};
use railtwin_reliability::failure_process::PartKind;
use railtwin_scenario::{FaultSpec, FaultSubject, Scenario};
use railtwin_units::SimTime;

use crate::error::Error;

/// One time that the processes of the job run.
#[derive(Clone, PartialEq, Debug)]
pub struct Shift {
    /// The row of it in the case: the job's own first, those of later shifts behind all jobs.
    pub row: usize,
    /// When its processes start.
    pub start: SimTime,
    /// Since when its hosts have the places of ranks: no later than that.
    pub seated: SimTime,
    /// Where its ranks are.
    pub places: Vec<Place>,
    /// Steps of the job that no crash took back before.
    pub before: u32,
}

impl Shift {
    /// The first of a job.
    pub fn first(job: &JobGraph, places: Vec<Place>) -> Self {
        Self { row: 0, start: job.start, seated: job.start, places, before: 0 }
    }
}

/// Whether ranks feel a fault, and not the fabric.
pub const fn is_of_ranks(kind: FaultKind) -> bool {
    use FaultKind::{Crash, GpuError, Hang, SizeMismatch, SlowData, SlowGpu, StorageStall};
    matches!(kind, Crash | GpuError | Hang | SizeMismatch | SlowData | SlowGpu | StorageStall)
}

/// The host that a name of one of its parts begins with.
fn host_named(fabric: &Fabric, name: &str) -> Option<HostId> {
    let number: u32 = name.split(['/', ':']).next()?.strip_prefix("host-")?.parse().ok()?;
    ((number as usize) < fabric.hosts().len()).then_some(HostId(number))
}

/// The kind of part that a fault is of, and the host that it is in; none for what is in no host, and for ranks, whose host
/// depends on the time.
pub fn part_of(fabric: &Fabric, subject: &FaultSubject) -> (PartKind, Option<HostId>) {
    let (_, name) = subject.parts();
    match subject {
        FaultSubject::Cable(_) | FaultSubject::Port(_) => {
            let ends = |cable| {
                let link = railtwin_fabric::CableId::forward(cable);
                [fabric.source(link), fabric.target(link)]
            };
            let of = |device: DeviceId| fabric.host_of(device);
            let host = fabric.cable_named(name).and_then(|cable| ends(cable).into_iter().find_map(of));
            (if host.is_some() { PartKind::AccessCable } else { PartKind::UplinkCable }, host)
        }
        FaultSubject::Nic(_) => (PartKind::Nic, host_named(fabric, name)),
        FaultSubject::Leaf(_) => (PartKind::Leaf, None),
        FaultSubject::Spine(_) => (PartKind::Spine, None),
        FaultSubject::Device(_) => match host_named(fabric, name) {
            Some(host) if name.contains('/') => (PartKind::Nic, Some(host)),
            Some(host) => (PartKind::Host, Some(host)),
            None if name.starts_with("leaf-") => (PartKind::Leaf, None),
            None => (PartKind::Spine, None),
        },
        FaultSubject::Gpu(_) => (PartKind::Gpu, host_named(fabric, name)),
        FaultSubject::Host(_) => (PartKind::Host, host_named(fabric, name)),
        FaultSubject::Rank(_) => (PartKind::Rank, None),
        FaultSubject::Job(_) => (PartKind::Job, None),
        FaultSubject::Storage(_) => (PartKind::Storage, None),
    }
}

/// A case without what `[[fault]]` brings, but for cables that are wrong, which are in its fabric.
pub fn healthy(case: &Case) -> Case {
    let mut base = case.clone();
    base.faults.clear();
    base.impairments.clear();
    base.rank_faults.clear();
    base.truths.retain(|truth| truth.kind == FaultKind::WrongCable);
    base.packets.troubles.clear();
    base
}

/// A rank fault of the case with its row among `[[fault]]`.
pub type Known = (RankFault, usize);

/// A healthy case that has the shifts as jobs with faults, of which people have seen to some by a time; `plain` is the same
/// with the scenario's own jobs alone.
///
/// What names a rank is of the host that the rank is on when it begins; where that host has left the job since, nobody
/// feels it. What names a host or a GPU is felt by whoever is on it.
///
/// # Errors
/// [`Error::Scenario`] where the engine does not know a fault.
pub fn injured(
    scenario: &Scenario,
    (plain, mut case): (&Case, Case),
    shifts: &[Shift],
    (faults, mended): (&[FaultSpec], &[SimTime]),
) -> Result<(Case, Vec<Known>), Error> {
    let mut known = Vec::new();
    for (of, fault) in faults.iter().enumerate().filter(|(_, fault)| fault.kind != FaultKind::WrongCable) {
        let mended = mended[of];
        let Some(seen_to) = seen_to(fault, mended) else { continue };
        let with = scenario.injected(plain, &[seen_to], Truth::WRITTEN)?;
        case.faults.extend(with.faults);
        case.impairments.extend(with.impairments);
        case.packets.troubles.extend(with.packets.troubles);
        case.truths.extend(with.truths.into_iter().skip(plain.truths.len()));
        if !is_of_ranks(fault.kind) {
            continue;
        }
        // Those of other jobs, and of the first shift, stand as they are resolved.
        let own = |one: &RankFault| one.job == 0;
        known.extend(with.rank_faults.iter().filter(|one| !own(one)).map(|one| (*one, of)));
        let trouble = match with.rank_faults.first() {
            Some(one) => one.trouble,
            // A host without a rank so far, which may come to have some.
            None => trouble_of(scenario, plain, fault)?,
        };
        let until = fault.until.unwrap_or(SimTime::NEVER).min(mended);
        // Who starts once it is well does not meet it.
        for shift in shifts.iter().filter(|shift| shift.start < until) {
            let fault_of = |rank: usize| RankFault {
                job: shift.row as u32,
                rank: rank as u32,
                from: fault.at,
                until,
                trouble,
            };
            let ranks = ranks_of(plain, shifts, shift, fault);
            known.extend(ranks.into_iter().map(|rank| (fault_of(rank), of)));
        }
    }
    case.faults.sort();
    case.truths.sort_by_key(|truth| truth.from_ns);
    case.rank_faults = known.iter().map(|(fault, _)| *fault).collect();
    Ok((case, known))
}

/// A fault that people had seen to by a time; none where they had before it came.
fn seen_to(fault: &FaultSpec, mended: SimTime) -> Option<FaultSpec> {
    use FaultKind::*;
    let mut seen_to = fault.clone();
    match fault.kind {
        _ if mended == SimTime::NEVER => {}
        _ if mended <= fault.at => return None,
        kind if !is_of_ranks(kind) && !matches!(kind, Flap | WrongCable | Up | Upgrade) => {
            seen_to.until = Some(fault.until.map_or(mended, |until| until.min(mended)));
        }
        Flap => {
            // It comes down no more.
            let period = fault.measure.period.map_or(u64::MAX, |period| period.ps().max(1));
            let came = mended.since(fault.at).ps().div_ceil(period);
            let flaps = fault.measure.flaps.unwrap_or(1);
            seen_to.measure.flaps = Some(flaps.min(u32::try_from(came).unwrap_or(u32::MAX)));
        }
        // What ranks feel ends for who starts again; a cable that is wrong is in the fabric.
        _ => {}
    }
    Some(seen_to)
}

/// What a fault does to a rank, told by the first one of the first job.
fn trouble_of(scenario: &Scenario, plain: &Case, fault: &FaultSpec) -> Result<RankTrouble, Error> {
    let subject = FaultSubject::Rank(format!("{}/0", plain.work.jobs[0].name));
    let like = FaultSpec { subject, ..fault.clone() };
    let with = scenario.injected(plain, &[like], Truth::WRITTEN)?;
    let of_ranks = with.rank_faults.first().map(|one| one.trouble);
    of_ranks.ok_or_else(|| Error::Argument("a fault of a rank that no rank has".to_owned()))
}

/// Ranks of a shift that feel a fault.
fn ranks_of(plain: &Case, shifts: &[Shift], shift: &Shift, fault: &FaultSpec) -> Vec<usize> {
    let places = shift.places.iter().enumerate();
    let (_, name) = fault.subject.parts();
    let of_job = plain.work.jobs[0].name.as_str();
    match &fault.subject {
        FaultSubject::Rank(_) => {
            let Some((job, rank)) = name.rsplit_once('/') else { return Vec::new() };
            let Ok(rank) = rank.parse::<usize>() else { return Vec::new() };
            if job != of_job || rank >= shift.places.len() {
                return Vec::new();
            }
            // Who begins after a fault meets it where the host is still the same.
            let there = shifts.iter().rev().find(|one| one.seated <= fault.at).unwrap_or(&shifts[0]);
            // A bug of the job goes where the job goes.
            let stays = fault.kind == FaultKind::SizeMismatch;
            let same = there.places[rank].host == shift.places[rank].host;
            if shift.start >= there.start && (same || stays) { vec![rank] } else { Vec::new() }
        }
        FaultSubject::Gpu(_) => {
            let host = host_named(&plain.fabric, name);
            let gpu = name.rsplit_once("gpu-").and_then(|(_, gpu)| gpu.parse::<u32>().ok());
            let is = |place: &Place| Some(place.host) == host && Some(place.gpu) == gpu;
            places.filter(|(_, place)| is(place)).map(|(rank, _)| rank).collect()
        }
        FaultSubject::Host(_) => {
            let host = host_named(&plain.fabric, name);
            places.filter(|(_, place)| Some(place.host) == host).map(|(rank, _)| rank).collect()
        }
        FaultSubject::Job(_) if name != of_job => Vec::new(),
        _ => (0..shift.places.len()).collect(),
    }
}
