//! Failure processes: which parts of a cluster fail, in which way and how often, by rates of published clusters.
//!
//! A process is a list of [`Hazard`]s, each a Poisson process of its own. Rates are those of [`FailureRates`] and of the
//! history in `data/failures`; what is ours is which fault a row of a source is taken for.
use std::collections::BTreeMap;

use railtwin_records::FaultKind;

use crate::downtime::history::{SHIPPED_DAYS, SHIPPED_HOSTS, shipped};
use crate::failure_rates::{Cause, FailureRate, FailureRates, HPN_ACCESS_CABLE, HPN_LEAF, MONTH_H, REPAIR_H};

/// What is left of a port that trains at the next lower speed: those of Ethernet double, 25, 50, 100, 200, 400 Gbps.
const NEXT_LOWER_SPEED: f64 = 0.5;
/// What eight lanes of PCIe in place of sixteen leave of a NIC: 31.5 of 50 GB/s for PCIe 5.0 and 400 Gbps, and as much
/// for PCIe 4.0 and 200 Gbps.
const HALF_PCIE: f64 = 0.63;
/// How many times as long a GPU computes that is too hot: the driver's hardware slowdown halves clocks, or more.
const HARDWARE_SLOWDOWN: f64 = 2.0;
/// Seconds of a stall of storage that ends a job: the ten minutes after which PyTorch gives a collective up.
const STALL_S: f64 = 600.0;

railtwin_units::choice! {
    /// A kind of part that fails.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub enum PartKind {
        /// A GPU with a rank on it.
        Gpu = "gpu",
        /// A process of a job.
        Rank = "rank",
        /// A NIC of a host that a job runs on.
        Nic = "nic",
        /// A host that a job runs on.
        Host = "host",
        /// A cable between such a NIC and its leaf.
        AccessCable = "access-cable",
        /// A cable from such a leaf up.
        UplinkCable = "uplink-cable",
        /// A leaf with such a cable.
        Leaf = "leaf",
        /// A spine over such a leaf.
        Spine = "spine",
        /// A job.
        Job = "job",
        /// Storage as a whole.
        Storage = "storage",
    }
}

/// Which fault a failure is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fall {
    /// The part that fails.
    pub part: PartKind,
    /// What happens to it.
    pub kind: FaultKind,
    /// How bad, in the kind's own measure (see [`railtwin_records::Truth`]); 0 where it has none.
    pub measure: f64,
    /// What it is booked as; of a GPU, what failed.
    pub cause: Cause,
}

impl Fall {
    const fn new(part: PartKind, kind: FaultKind, cause: Cause) -> Self {
        Self { part, kind, measure: 0.0, cause }
    }

    const fn by(self, measure: f64) -> Self {
        Self { measure, ..self }
    }
}

/// One thing that fails again and again.
#[derive(Clone, PartialEq, Debug)]
pub struct Hazard {
    /// Name, in the words of the source.
    pub name: String,
    /// The fault.
    pub fall: Fall,
    /// What the rate is counted over.
    pub per: PartKind,
    /// Failures in a month of 30 days for each of these.
    pub per_month: f64,
    /// Mean hours until it works again.
    pub repair_h: f64,
}

const ECC: Fall = Fall::new(PartKind::Gpu, FaultKind::GpuError, Cause::EccNvlink);
const CUDA: Fall = Fall::new(PartKind::Gpu, FaultKind::GpuError, Cause::Cuda);
const HOT_GPU: Fall = Fall::new(PartKind::Gpu, FaultKind::SlowGpu, Cause::Unknown).by(HARDWARE_SLOWDOWN);
const HANG: Fall = Fall::new(PartKind::Rank, FaultKind::Hang, Cause::CclTimeout);
const CRASH: Fall = Fall::new(PartKind::Rank, FaultKind::Crash, Cause::Unknown);
const MISMATCH: Fall = Fall::new(PartKind::Rank, FaultKind::SizeMismatch, Cause::CclTimeout);
const NIC_DOWN: Fall = Fall::new(PartKind::Nic, FaultKind::Down, Cause::AckTimeout);
const CABLE_DOWN: Fall = Fall::new(PartKind::AccessCable, FaultKind::Down, Cause::AckTimeout);
const LEAF_DOWN: Fall = Fall::new(PartKind::Leaf, FaultKind::Down, Cause::AckTimeout);
const HOST_DOWN: Fall = Fall::new(PartKind::Host, FaultKind::Down, Cause::Unknown);
const STALL: Fall = Fall::new(PartKind::Storage, FaultKind::StorageStall, Cause::Unknown).by(STALL_S);
const SLOW_NIC: Fall = Fall::new(PartKind::Nic, FaultKind::Slow, Cause::Unknown);

railtwin_units::choice! {
    /// A published process (docs/models/faults.md).
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Process {
        /// C4, Table I: a month of 4,096 GPUs. GPU errors are local and so are most timeouts; those that are not are
        /// taken for a mismatch of sizes, a leaf, and storage.
        C4 = "c4",
        /// The 419 unexpected interruptions of Llama 3 405B.
        Llama3 = "llama3",
        /// HPN, section 2.3: access cables and leaves.
        Hpn = "hpn",
        /// The history in `data/failures` as rates: 240 days of 400 hosts, with its mean times to repair.
        InfiniteHbd = "infinitehbd",
    }
}

impl Process {
    /// What fails in it, and how often.
    pub fn hazards(self) -> Vec<Hazard> {
        match self {
            Self::C4 => c4(),
            Self::Llama3 => llama3(),
            Self::Hpn => hpn(),
            Self::InfiniteHbd => infinitehbd(),
        }
    }
}

fn of_gpus(rate: &FailureRate, name: String, share: f64, fall: Fall) -> Hazard {
    let per_month = rate.per_gpu_month * share;
    Hazard { name, fall, per: PartKind::Gpu, per_month, repair_h: REPAIR_H }
}

fn c4() -> Vec<Hazard> {
    let halves = |rate: &FailureRate| {
        let [local, other] = match rate.cause {
            Cause::EccNvlink => [ECC, ECC],
            Cause::Cuda => [CUDA, CUDA],
            Cause::CclTimeout => [HANG, MISMATCH],
            Cause::AckTimeout => [NIC_DOWN, LEAF_DOWN],
            Cause::Unknown => [HOST_DOWN, STALL],
        };
        let name = &rate.component;
        let local = of_gpus(rate, name.clone(), rate.local, local);
        let other = of_gpus(rate, format!("{name}, not local"), 1.0 - rate.local, other);
        [local, other]
    };
    let all = FailureRates::c4().rates;
    all.iter().flat_map(halves).filter(|hazard| hazard.per_month > 0.0).collect()
}

fn llama3() -> Vec<Hazard> {
    let all = FailureRates::llama3().rates;
    let fall = |component: &str, cause| match (component, cause) {
        ("GPU Thermal Interface + Sensor", _) => HOT_GPU,
        (_, Cause::EccNvlink) => ECC,
        (_, Cause::Cuda) => CUDA,
        (_, Cause::CclTimeout) => HANG,
        ("NIC", _) => NIC_DOWN,
        ("Network Switch/Cable", _) => CABLE_DOWN,
        ("Software Bug" | "Dependency", _) => CRASH,
        _ => HOST_DOWN,
    };
    let hazard =
        |rate: &FailureRate| of_gpus(rate, rate.component.clone(), 1.0, fall(&rate.component, rate.cause));
    all.iter().map(hazard).collect()
}

fn hpn() -> Vec<Hazard> {
    let hazard = |name: &str, fall: Fall, per_month| {
        let (name, per) = (name.to_owned(), fall.part);
        Hazard { name, fall, per, per_month, repair_h: REPAIR_H }
    };
    vec![hazard("access cable", CABLE_DOWN, HPN_ACCESS_CABLE), hazard("leaf", LEAF_DOWN, HPN_LEAF)]
}

/// The fault that an entry of the shipped history is taken for, by class and description; none of what does not reach a
/// job: parts that another stands in for, corrected errors, tests of hosts that hold no job, planned changes.
pub fn recorded(class: &str, description: &str) -> Option<Fall> {
    match (class, description) {
        ("GPU", "GPU DBE(Double Bit ECC) > Threshold") => Some(ECC),
        ("GPU", "GPU Lost" | "GPU device unknow error" | "GPU xid Error") => Some(CUDA),
        ("GPU", "GPU PCI link width low") => Some(SLOW_NIC.by(HALF_PCIE)),
        ("GPU", "GPU Temperature High") => Some(HOT_GPU),
        ("GPU", "nvidia-smi Timeout") => Some(HANG),
        ("NIC", "NIC Link Speed low") => Some(SLOW_NIC.by(NEXT_LOWER_SPEED)),
        ("NIC", "NIC PCI link Width low") => Some(SLOW_NIC.by(HALF_PCIE)),
        ("NIC", "NIC Lost") => Some(NIC_DOWN),
        ("Parameter Plane Cable", "Link Down") => Some(CABLE_DOWN),
        ("System Crash" | "Unknown Error" | "File System", _) => Some(HOST_DOWN),
        ("Other Failures", _) => Some(CRASH),
        _ => None,
    }
}

fn infinitehbd() -> Vec<Hazard> {
    let (events, replay) = shipped();
    let mut counts: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for event in events.iter().filter(|event| event.begins) {
        *counts.entry((&event.class, &event.description)).or_default() += 1;
    }
    let months = f64::from(SHIPPED_HOSTS) * SHIPPED_DAYS * 24.0 / MONTH_H;
    let repair_h = |class: &str| {
        let recorded = replay.classes.iter().find(|known| known.class == class);
        // A class whose faults all ended at once tells nothing of repairs.
        recorded
            .and_then(|class| class.repair_days_mean)
            .filter(|days| *days > 0.0)
            .map_or(REPAIR_H, |d| d * 24.0)
    };
    let hazard = |((class, description), count): (&(&str, &str), &u32)| {
        let fall = recorded(class, description)?;
        let name = if class == description { (*class).to_owned() } else { format!("{class}: {description}") };
        let per_month = f64::from(*count) / months;
        Some(Hazard { name, fall, per: PartKind::Host, per_month, repair_h: repair_h(class) })
    };
    counts.iter().filter_map(hazard).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(process: Process) -> f64 {
        process.hazards().iter().map(|hazard| hazard.per_month).sum()
    }

    #[test]
    fn processes_fail_as_often_as_their_sources_say() {
        assert!((sum(Process::C4) * 4096.0 - 40.0).abs() < 1e-9);
        assert!((sum(Process::Llama3) * 16_384.0 * 54.0 / 30.0 - 419.0).abs() < 1e-9);
        assert_eq!(sum(Process::Hpn), HPN_ACCESS_CABLE + HPN_LEAF);
        // Of 381 faults: 3 corrected or inside a host, 24 fans, 21 power supplies, 64 tests, a battery, 2 changes, a tool.
        assert!(
            (sum(Process::InfiniteHbd) * 400.0 * 8.0 - f64::from(381 - 3 - 24 - 21 - 64 - 1 - 2 - 1)).abs()
                < 1e-9
        );
    }

    #[test]
    fn names_are_told_apart_and_every_process_is_known() {
        for process in Process::ALL {
            let hazards = process.hazards();
            let names: std::collections::BTreeSet<&str> = hazards.iter().map(|h| h.name.as_str()).collect();
            assert_eq!(names.len(), hazards.len(), "{process}");
            assert!(
                hazards.iter().all(|hazard| hazard.per_month > 0.0 && hazard.repair_h > 0.0),
                "{process}"
            );
        }
    }

    #[test]
    fn what_is_not_local_in_c4_is_no_single_host() {
        let of = |part| {
            let own = Process::C4.hazards().into_iter().filter(move |hazard| hazard.fall.part == part);
            (own.map(|hazard| hazard.per_month).sum::<f64>() * 4096.0).round()
        };
        // Table I: 2 of 8, 2 of 11 and 3 of 5 are not local.
        assert_eq!([PartKind::Leaf, PartKind::Storage].map(of), [2.0, 3.0]);
        assert_eq!(
            [PartKind::Gpu, PartKind::Nic, PartKind::Host, PartKind::Rank].map(of),
            [16.0, 9.0, 2.0, 8.0]
        );
    }
}
