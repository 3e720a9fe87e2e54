//! Faults drawn by lot, for detectors to be scored on: what is injected, and what the truth is.
use railtwin_engine::{Case, Fault, Impairment, RankFault, RankTrouble};
use railtwin_fabric::{CableClass, CableId, DeviceId, Fabric, LinkId};
use railtwin_records::{Component, FaultKind, Truth};
use railtwin_telemetry::Collision;
use railtwin_units::{SimTime, stream};
use rand::RngExt;

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

/// One draw: what a case needs to have the fault, and the truth about it.
#[derive(Clone, PartialEq, Debug)]
pub struct Injection {
    /// Links that run worse.
    pub impairments: Vec<Impairment>,
    /// Ranks in trouble.
    pub rank_faults: Vec<RankFault>,
    /// Cables that go down.
    pub faults: Vec<Fault>,
    /// Another job's visit, for the replay to go through.
    pub collision: Option<Collision>,
    /// The truth; of a collision the cable on which it is.
    pub truth: Truth,
}

impl Injection {
    /// The case with the fault.
    pub fn into_case(&self, case: &Case) -> Case {
        let mut case = case.clone();
        case.impairments.extend(&self.impairments);
        case.rank_faults.extend(&self.rank_faults);
        case.faults.extend(&self.faults);
        // A collision is no fault.
        case.truths.extend(self.collision.is_none().then(|| self.truth.clone()));
        case
    }
}

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

/// Draws a fault of a job's hosts that begins at `from`. `used` are the links that flows of the job cross. The same
/// seed gives the same fault. `None` where the case has no such place, such as an uplink that the job uses.
pub fn draw(case: &Case, what: Injected, used: &[LinkId], from: SimTime, seed: u64) -> Option<Injection> {
    let fabric = &*case.fabric;
    let mut lot = stream::named(seed, what.name());
    let places = &case.placements[0];
    let rank = lot.random_range(0..places.len());
    let place = places[rank];
    let nic = fabric.nic(place.host, fabric.host_model(place.host).nic_of_gpu(place.gpu));
    let ports: Vec<LinkId> = used.iter().copied().filter(|&link| fabric.source(link) == nic).collect();
    let capacity = lot.random_range(CAPACITY_LEFT);
    let inward = lot.random_bool(0.5);
    let mut injection = Injection {
        impairments: Vec::new(),
        rank_faults: Vec::new(),
        faults: Vec::new(),
        collision: None,
        truth: Truth {
            from_ns: from.ps() / 1000,
            until_ns: u64::MAX,
            kind: what.kind(),
            component: Component::Storage,
            severity: 0.0,
            source: "score".to_owned(),
        },
    };
    let worse = |link, capacity| Impairment {
        link,
        from,
        until: SimTime::NEVER,
        capacity,
        loss: 0.0,
        delay: SimTime::ZERO,
    };
    let mut set = |component, severity| {
        injection.truth.component = component;
        injection.truth.severity = severity;
    };
    match what {
        Injected::SlowCable => {
            let cable = ports.first()?.cable();
            set(Component::Cable(fabric.cable_name(cable)), capacity);
            injection.impairments =
                [cable.forward(), cable.backward()].map(|link| worse(link, capacity)).into();
        }
        Injected::SlowLink | Injected::LossyLink => {
            let out = *ports.first()?;
            let link = if inward { other(out) } else { out };
            let mut impairment = worse(link, capacity);
            let mut severity = capacity;
            if what == Injected::LossyLink {
                severity = 10_f64.powf(lot.random_range(LOSS_LOG));
                (impairment.capacity, impairment.loss) = (1.0, severity);
            }
            set(link_component(fabric, link), severity);
            injection.impairments = vec![impairment];
        }
        Injected::SlowNic | Injected::PauseStorm => {
            let storm = what == Injected::PauseStorm;
            let left = if storm { STORM_LEFT } else { capacity };
            set(Component::Nic(fabric.device_name(nic)), left);
            let out = ports.iter().map(|&link| worse(link, left));
            let within = ports.iter().map(|&link| worse(other(link), left));
            injection.impairments = if storm { within.collect() } else { out.chain(within).collect() };
        }
        Injected::SlowUplink => {
            let mut above: Vec<CableId> = used.iter().map(|link| link.cable()).collect();
            above.retain(|&cable| fabric.cable_class(cable) > CableClass::Access);
            above.sort_unstable();
            above.dedup();
            let cable = *above.get(lot.random_range(0..above.len().max(1)))?;
            set(Component::Cable(fabric.cable_name(cable)), capacity / 2.0);
            injection.impairments =
                [cable.forward(), cable.backward()].map(|link| worse(link, capacity / 2.0)).into();
        }
        Injected::Collision => {
            let above: Vec<LinkId> = used
                .iter()
                .copied()
                .filter(|link| fabric.cable_class(link.cable()) > CableClass::Access)
                .collect();
            let link = *above.get(lot.random_range(0..above.len().max(1)))?;
            let factor = lot.random_range(SHARED);
            set(Component::Cable(fabric.cable_name(link.cable())), factor);
            let (from_ns, until_ns) = (from.ps() / 1_000, u64::MAX);
            injection.collision = Some(Collision { link: link.0, from_ns, until_ns, factor });
        }
        Injected::SlowLeaf | Injected::LatencyLeaf => {
            let leaf = fabric.target(*ports.first()?);
            set(Component::Switch(fabric.device_name(leaf)), capacity);
            injection.impairments = links_of(fabric, leaf).map(|link| worse(link, capacity)).collect();
            if what == Injected::LatencyLeaf {
                let delay = SimTime::from_ns(lot.random_range(3_000..10_000));
                injection.truth.severity = delay.ps() as f64 / 1e12;
                injection.impairments.retain(|impairment| fabric.source(impairment.link) == leaf);
                for impairment in &mut injection.impairments {
                    (impairment.capacity, impairment.delay) = (1.0, delay);
                }
            }
        }
        Injected::DownCable => {
            let cable = ports.first()?.cable();
            set(Component::Cable(fabric.cable_name(cable)), 0.0);
            injection.faults = vec![Fault { at: from, cable, state: railtwin_engine::CableState::Down }];
        }
        Injected::SlowGpu
        | Injected::SlowData
        | Injected::Hang
        | Injected::GpuError
        | Injected::Crash
        | Injected::SizeMismatch => {
            let gpu = Component::Gpu(fabric.device_name(fabric.gpu(place.host, place.gpu)));
            let name = &case.work.jobs[0].name;
            let of_rank = Component::Rank(format!("{name}/{rank}"));
            let (component, trouble, severity) = match what {
                Injected::SlowGpu => {
                    let factor = lot.random_range(SLOWER);
                    (gpu, RankTrouble::Slow(factor), factor)
                }
                Injected::SlowData => {
                    let seconds = lot.random_range(0.2..0.5);
                    (of_rank, RankTrouble::Late { time: SimTime::from_seconds(seconds), every: 1 }, seconds)
                }
                Injected::Hang => (of_rank, RankTrouble::Hang, 0.0),
                Injected::GpuError => (gpu, RankTrouble::Gone, 0.0),
                Injected::Crash => (of_rank, RankTrouble::Gone, 0.0),
                _ => (Component::Job(name.clone()), RankTrouble::Mismatch, 0.0),
            };
            set(component, severity);
            injection.rank_faults =
                vec![RankFault { job: 0, rank: rank as u32, from, until: SimTime::NEVER, trouble }];
        }
        Injected::StorageStall => {
            let seconds = lot.random_range(2.0..6.0);
            set(Component::Host(format!("host-{}", place.host.0)), seconds);
            let trouble = RankTrouble::Late { time: SimTime::from_seconds(seconds), every: 10 };
            let of_host = places.iter().enumerate().filter(|(_, other)| other.host == place.host);
            injection.rank_faults = of_host
                .map(|(rank, _)| RankFault {
                    job: 0,
                    rank: rank as u32,
                    from,
                    until: SimTime::NEVER,
                    trouble,
                })
                .collect();
        }
    }
    Some(injection)
}

/// The other direction of a cable.
fn other(link: LinkId) -> LinkId {
    let cable = link.cable();
    if link == cable.forward() { cable.backward() } else { cable.forward() }
}

/// All links of a switch, both ways.
fn links_of(fabric: &Fabric, switch: DeviceId) -> impl Iterator<Item = LinkId> {
    fabric.neighbors(switch).iter().flat_map(|&(link, _)| [link, other(link)])
}

/// A link as findings name it.
pub fn link_component(fabric: &Fabric, link: LinkId) -> Component {
    Component::Link(fabric.link_name(link))
}
