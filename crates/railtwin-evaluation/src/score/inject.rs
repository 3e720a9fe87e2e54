//! Faults drawn by lot, for detectors to be scored on: each is one that a scenario can say.
use railtwin_engine::Case;
use railtwin_fabric::{CableClass, CableId, LinkId};
use railtwin_records::{Component, FaultKind, Truth};
use railtwin_scenario::{Direction, FaultCause, FaultMeasure, FaultSpec, FaultSubject};
use railtwin_telemetry::Collision;
use railtwin_units::{SimTime, stream};
use rand::RngExt;

use super::bench::Bench;
use railtwin::Error;

/// What is injected, and where: one row of the score card.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Injected {
    /// A NIC's cable carries less, both ways.
    SlowCable,
    /// One direction of a NIC's cable carries less.
    SlowLink,
    /// A NIC's cables all carry less.
    SlowNic,
    /// A cable between leaf and spine carries less.
    SlowUplink,
    /// All cables of a leaf carry less.
    SlowLeaf,
    /// One direction of a NIC's cable loses packets.
    LossyLink,
    /// A NIC's cable is down: its queue pairs take the other port.
    DownCable,
    /// A NIC sends pauses: hardly anything reaches it.
    PauseStorm,
    /// A leaf takes longer for every packet.
    LatencyLeaf,
    /// A GPU computes slower.
    SlowGpu,
    /// A rank waits for data in every step.
    SlowData,
    /// A host waits for storage in every tenth step.
    StorageStall,
    /// A rank enters nothing more.
    Hang,
    /// A GPU dies and takes its process along.
    GpuError,
    /// A process is killed for want of memory.
    Crash,
    /// A rank hands in another number of bytes.
    SizeMismatch,
    /// Another job, of which no record tells, sends over a link between leaf and spine that the job uses: no fault.
    Collision,
}

impl Injected {
    /// All of them, in the order of the score card.
    pub const ALL: [Self; 17] = [
        Self::SlowCable,
        Self::SlowLink,
        Self::SlowNic,
        Self::SlowUplink,
        Self::SlowLeaf,
        Self::LossyLink,
        Self::DownCable,
        Self::PauseStorm,
        Self::LatencyLeaf,
        Self::SlowGpu,
        Self::SlowData,
        Self::StorageStall,
        Self::Hang,
        Self::GpuError,
        Self::Crash,
        Self::SizeMismatch,
        Self::Collision,
    ];

    /// The name on the score card.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SlowCable => "slow access cable",
            Self::SlowLink => "slow access link, one direction",
            Self::SlowNic => "slow NIC",
            Self::SlowUplink => "slow leaf-spine cable",
            Self::SlowLeaf => "slow leaf",
            Self::LossyLink => "lossy access link, one direction",
            Self::DownCable => "access cable down",
            Self::PauseStorm => "pause storm of a NIC",
            Self::LatencyLeaf => "leaf with more latency",
            Self::SlowGpu => "slow GPU",
            Self::SlowData => "slow data loading",
            Self::StorageStall => "storage stall of a host",
            Self::Hang => "hang of a rank",
            Self::GpuError => "GPU error",
            Self::Crash => "process killed",
            Self::SizeMismatch => "size mismatch",
            Self::Collision => "collision with another job",
        }
    }

    /// The fault; of a collision what it looks like.
    pub const fn kind(self) -> FaultKind {
        match self {
            Self::SlowCable
            | Self::SlowLink
            | Self::SlowNic
            | Self::SlowUplink
            | Self::SlowLeaf
            | Self::Collision => FaultKind::Slow,
            Self::LossyLink => FaultKind::Lossy,
            Self::DownCable => FaultKind::Down,
            Self::PauseStorm => FaultKind::PauseStorm,
            Self::LatencyLeaf => FaultKind::Latency,
            Self::SlowGpu => FaultKind::SlowGpu,
            Self::SlowData => FaultKind::SlowData,
            Self::StorageStall => FaultKind::StorageStall,
            Self::Hang => FaultKind::Hang,
            Self::GpuError => FaultKind::GpuError,
            Self::Crash => FaultKind::Crash,
            Self::SizeMismatch => FaultKind::SizeMismatch,
        }
    }

    /// Whether it keeps a job from going on, instead of slowing it.
    pub const fn stops(self) -> bool {
        matches!(self, Self::Hang | Self::GpuError | Self::Crash | Self::SizeMismatch)
    }
}

/// One draw: a fault as a scenario has it, or another job's visit, which is none.
#[derive(Clone, PartialEq, Debug)]
pub enum Injection {
    /// A fault, which `[[fault]]` can say.
    Fault(FaultSpec),
    /// Another job's visit for the replay to go through, and the truth about it: the cable on which it is.
    Visit(Collision, Truth),
}

impl Injection {
    /// The bench's case with it, and the truth about it.
    ///
    /// # Errors
    /// What a scenario with that fault would be told.
    pub fn on(&self, bench: &Bench) -> Result<(Case, Truth), Error> {
        match self {
            Self::Fault(fault) => {
                let case = bench.scenario.injected(&bench.case, std::slice::from_ref(fault), SOURCE)?;
                let truth = case.truths.iter().find(|truth| truth.source == SOURCE).cloned();
                Ok((case, truth.expect("a fault that is no repair has a truth")))
            }
            Self::Visit(_, truth) => Ok((bench.case.clone(), truth.clone())),
        }
    }

    /// The visit; none of a fault.
    pub const fn visit(&self) -> Option<&Collision> {
        match self {
            Self::Fault(_) => None,
            Self::Visit(visit, _) => Some(visit),
        }
    }
}

/// What tables say of where it comes from.
const SOURCE: &str = "score";
/// Capacity that a slow link has left: a 200G port that fell back to one lane, or to 50G or 25G.
const CAPACITY_LEFT: std::ops::Range<f64> = 0.1..0.5;
/// What a storm of pauses lets through.
const STORM_LEFT: f64 = 0.02;
/// Decimal logarithm of the loss of a lossy link: go-back-N loses a twentieth of the rate at a thousandth and four
/// fifths at a tenth.
const LOSS_LOG: std::ops::Range<f64> = -3.0..-1.0;
/// How many times as long messages over a shared link take: of two to seven queue pairs of another job beside one of
/// ours on an uplink that is twice as fast as a NIC's port.
const SHARED: std::ops::Range<f64> = 1.5..4.0;
/// How much longer a slow GPU computes.
const SLOWER: std::ops::Range<f64> = 1.3..2.0;

/// Draws a fault of a job's hosts that begins at `from`. The same seed gives the same fault. `None` where the case has
/// no such place, such as an uplink that the job uses.
pub fn draw(bench: &Bench, what: Injected, from: SimTime, seed: u64) -> Option<Injection> {
    let (case, used) = (&bench.case, &bench.used);
    let fabric = &*case.fabric;
    let mut lot = stream::named(seed, what.name());
    let places = &case.placements[0];
    let rank = lot.random_range(0..places.len());
    let place = places[rank];
    let nic = fabric.nic(place.host, fabric.host_model(place.host).nic_of_gpu(place.gpu));
    let port = used.iter().copied().find(|&link| fabric.source(link) == nic);
    let share = lot.random_range(CAPACITY_LEFT);
    let inward = lot.random_bool(0.5);
    // A cable is called by its end nearer to the hosts, so that directions are the NIC's.
    let access = || port.map(|link| FaultSubject::Cable(fabric.cable_name(link.cable())));
    let of_nic = || port.map(|_| FaultSubject::Nic(fabric.device_name(nic)));
    let leaf = || port.map(|link| FaultSubject::Leaf(fabric.device_name(fabric.target(link))));
    let of_rank = || Some(FaultSubject::Rank(format!("{}/{rank}", case.work.jobs[0].name)));
    let none = FaultMeasure::default();
    let capacity = |share| FaultMeasure { capacity: Some(share), ..none };
    let direction = Some(if inward { Direction::In } else { Direction::Out });
    let late = |seconds| FaultMeasure { delay: Some(SimTime::from_seconds(seconds)), ..none };
    let because = |cause| FaultMeasure { cause: Some(cause), ..none };
    let mut above = |links: Vec<LinkId>| {
        let chosen = lot.random_range(0..links.len().max(1));
        links.get(chosen).copied()
    };
    let is_above = |link: &LinkId| fabric.cable_class(link.cable()) > CableClass::Access;
    let (subject, measure) = match what {
        Injected::SlowCable => (access(), capacity(share)),
        Injected::SlowLink => (access(), FaultMeasure { direction, ..capacity(share) }),
        Injected::LossyLink => {
            let subject = access()?;
            let loss = Some(10_f64.powf(lot.random_range(LOSS_LOG)));
            (Some(subject), FaultMeasure { loss, direction, ..none })
        }
        Injected::DownCable => (access(), none),
        Injected::SlowNic => (of_nic(), capacity(share)),
        Injected::PauseStorm => (of_nic(), capacity(STORM_LEFT)),
        Injected::SlowUplink => {
            let mut cables: Vec<CableId> =
                used.iter().filter(|link| is_above(link)).map(|link| link.cable()).collect();
            cables.sort_unstable();
            cables.dedup();
            let cable = above(cables.into_iter().map(CableId::forward).collect())?.cable();
            (Some(FaultSubject::Cable(fabric.cable_name(cable))), capacity(share / 2.0))
        }
        Injected::Collision => {
            let link = above(used.iter().copied().filter(is_above).collect())?;
            let factor = lot.random_range(SHARED);
            let (from_ns, until_ns) = (from.ps() / 1_000, u64::MAX);
            let truth = Truth {
                from_ns,
                until_ns,
                kind: what.kind(),
                component: Component::Cable(fabric.cable_name(link.cable())),
                severity: factor,
                cause: None,
                source: SOURCE.to_owned(),
            };
            return Some(Injection::Visit(Collision { link: link.0, from_ns, until_ns, factor }, truth));
        }
        Injected::SlowLeaf => (leaf(), capacity(share)),
        Injected::LatencyLeaf => {
            let subject = leaf()?;
            let delay = Some(SimTime::from_ns(lot.random_range(3_000..10_000)));
            (Some(subject), FaultMeasure { delay, ..none })
        }
        Injected::SlowGpu => (of_rank(), FaultMeasure { factor: Some(lot.random_range(SLOWER)), ..none }),
        Injected::SlowData => (of_rank(), late(lot.random_range(0.2..0.5))),
        Injected::StorageStall => {
            let host = FaultSubject::Host(format!("host-{}", place.host.0));
            (Some(host), FaultMeasure { every: Some(10), ..late(lot.random_range(2.0..6.0)) })
        }
        Injected::Hang | Injected::SizeMismatch => (of_rank(), none),
        Injected::GpuError => {
            let causes = [FaultCause::Ecc, FaultCause::Nvlink, FaultCause::Cuda];
            (of_rank(), because(causes[lot.random_range(0..causes.len())]))
        }
        Injected::Crash => (of_rank(), because(FaultCause::OutOfMemory)),
    };
    Some(Injection::Fault(FaultSpec { measure, ..FaultSpec::new(from, subject?, what.kind()) }))
}
