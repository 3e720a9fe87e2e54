//! Faults drawn by lot for packet runs: each is one that `[[fault]]` can say and whose effects come out of the packets.
use railtwin_fabric::{CableClass, CableId, Fabric, LinkId};
use railtwin_records::FaultKind;
use railtwin_scenario::{Direction, FaultMeasure, FaultSpec, FaultSubject};
use railtwin_units::{SimTime, stream};
use rand::RngExt;

/// What is broken, and where: one row of the second part of the score card.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Broken {
    /// One direction of a NIC's cable loses packets.
    LossyLink,
    /// One direction of a cable between leaf and spine loses packets.
    LossyUplink,
    /// A NIC takes packets in slower.
    SlowReceiver,
    /// A NIC sends pauses without end.
    PauseStorm,
    /// A leaf believes its buffer to be small.
    SmallBuffer,
    /// A NIC's cable is down: its queue pairs take the other port.
    DownCable,
    /// A cable between leaf and spine is down.
    DownUplink,
    /// A NIC's cable goes down and comes back, some times.
    Flap,
    /// A leaf takes longer for every packet.
    LatencyLeaf,
    /// The far ends of two NICs' cables are swapped, from the start on.
    WrongCable,
}

/// Decimal logarithm of the loss of a lossy link: from one packet in 100,000, which go-back-N hardly feels, to one in ten.
const LOSS_LOG: std::ops::Range<f64> = -5.0..-1.0;
/// What a slow receiver takes in of its rate: down to the tenth of one lane, and up to what hardly binds.
const RECEIVED: std::ops::Range<f64> = 0.1..0.95;
/// Decimal logarithm of the share of its buffer that a switch uses: Meta's case left it a small part (Meta RoCE 6.4.2).
const BUFFER_LOG: std::ops::Range<f64> = -4.0..-1.0;
/// What a leaf adds to each packet, in nanoseconds.
const ADDED_NS: std::ops::Range<u64> = 1_000..10_000;
/// Losses of link of a flap, and how long each lasts, in microseconds.
const FLAPS: std::ops::RangeInclusive<u32> = 1..=4;
const FLAP_US: std::ops::Range<u64> = 100..2_000;

impl Broken {
    /// All of them, in the order of the card.
    pub const ALL: [Self; 10] = [
        Self::LossyLink,
        Self::LossyUplink,
        Self::SlowReceiver,
        Self::PauseStorm,
        Self::SmallBuffer,
        Self::DownCable,
        Self::DownUplink,
        Self::Flap,
        Self::LatencyLeaf,
        Self::WrongCable,
    ];

    /// The name on the card.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LossyLink => "lossy access link, one direction",
            Self::LossyUplink => "lossy leaf-spine link, one direction",
            Self::SlowReceiver => "NIC slow to receive",
            Self::PauseStorm => "pause storm of a NIC",
            Self::SmallBuffer => "small buffer of a leaf",
            Self::DownCable => "access cable down",
            Self::DownUplink => "leaf-spine cable down",
            Self::Flap => "access cable flaps",
            Self::LatencyLeaf => "leaf with more latency",
            Self::WrongCable => "wrong cable",
        }
    }

    /// The fault.
    pub const fn kind(self) -> FaultKind {
        match self {
            Self::LossyLink | Self::LossyUplink => FaultKind::Lossy,
            Self::SlowReceiver => FaultKind::Slow,
            Self::PauseStorm => FaultKind::PauseStorm,
            Self::SmallBuffer => FaultKind::SmallBuffer,
            Self::DownCable | Self::DownUplink => FaultKind::Down,
            Self::Flap => FaultKind::Flap,
            Self::LatencyLeaf => FaultKind::Latency,
            Self::WrongCable => FaultKind::WrongCable,
        }
    }

    /// Draws one that begins at `from`, on links that the job uses; none where there is no such place. The same seed gives
    /// the same fault.
    pub fn draw(self, fabric: &Fabric, used: &[LinkId], from: SimTime, seed: u64) -> Option<FaultSpec> {
        let mut lot = stream::named(seed, self.name());
        let is_up = |link: &&LinkId| fabric.place(fabric.source(**link)).is_none();
        let access: Vec<LinkId> = used.iter().filter(is_up).copied().collect();
        let mut above: Vec<CableId> = used.iter().map(|link| link.cable()).collect();
        above.retain(|&cable| fabric.cable_class(cable) == CableClass::LeafSpine);
        above.sort_unstable();
        above.dedup();
        let link = *access.get(lot.random_range(0..access.len().max(1)))?;
        let nic = FaultSubject::Nic(fabric.device_name(fabric.source(link)));
        let leaf = FaultSubject::Leaf(fabric.device_name(fabric.target(link)));
        let cable = FaultSubject::Cable(fabric.cable_name(link.cable()));
        let chosen = lot.random_range(0..above.len().max(1));
        let uplink = above.get(chosen).map(|&cable| FaultSubject::Cable(fabric.cable_name(cable)));
        let direction = Some(if lot.random_bool(0.5) { Direction::In } else { Direction::Out });
        let none = FaultMeasure::default();
        let loss = Some(10_f64.powf(lot.random_range(LOSS_LOG)));
        let mut with = None;
        let (subject, measure) = match self {
            Self::LossyLink => (cable, FaultMeasure { loss, direction, ..none }),
            Self::LossyUplink => (uplink?, FaultMeasure { loss, direction, ..none }),
            Self::SlowReceiver => {
                let capacity = Some(lot.random_range(RECEIVED));
                (nic, FaultMeasure { capacity, direction: Some(Direction::In), ..none })
            }
            Self::PauseStorm => (nic, none),
            Self::SmallBuffer => {
                let capacity = Some(10_f64.powf(lot.random_range(BUFFER_LOG)));
                (leaf, FaultMeasure { capacity, ..none })
            }
            Self::DownCable => (cable, none),
            Self::DownUplink => (uplink?, none),
            Self::Flap => {
                let length = SimTime::from_ns(1_000 * lot.random_range(FLAP_US));
                let flaps = Some(lot.random_range(FLAPS));
                let period = Some(SimTime::from_ps(2 * length.ps()));
                (cable, FaultMeasure { flaps, period, length: Some(length), ..none })
            }
            Self::LatencyLeaf => {
                let delay = Some(SimTime::from_ns(lot.random_range(ADDED_NS)));
                (leaf, FaultMeasure { delay, ..none })
            }
            Self::WrongCable => {
                let others: Vec<LinkId> =
                    access.iter().copied().filter(|other| other.cable() != link.cable()).collect();
                let other = others.get(lot.random_range(0..others.len().max(1)))?;
                with = Some(fabric.cable_name(other.cable()));
                (cable, none)
            }
        };
        let at = if self == Self::WrongCable { SimTime::ZERO } else { from };
        Some(FaultSpec { measure, with, ..FaultSpec::new(at, subject, self.kind()) })
    }
}
