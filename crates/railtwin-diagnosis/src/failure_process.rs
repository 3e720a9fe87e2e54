//! Failure processes: which parts of a cluster fail, in which way and how often, by rates of published clusters.
//!
//! A process is a list of [`Hazard`]s, each a Poisson process of its own. Rates are those of [`FailureRates`] and of the
//! history in `data/failures`; what is ours is which fault a row of a source is taken for.
use std::collections::BTreeMap;

use railtwin_records::FaultKind;
use serde::{Deserialize, Serialize};

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

/// A kind of part that fails.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartKind {
    /// A GPU with a rank on it.
    Gpu,
    /// A process of a job.
    Rank,
    /// A NIC of a host that a job runs on.
    Nic,
    /// A host that a job runs on.
    Host,
    /// A cable between such a NIC and its leaf.
    AccessCable,
    /// A cable from such a leaf up.
    UplinkCable,
    /// A leaf with such a cable.
    Leaf,
    /// A spine over such a leaf.
    Spine,
    /// A job.
    Job,
    /// Storage as a whole.
    Storage,
}

impl PartKind {
    /// The names in scenarios, in the order of the kinds.
    pub const NAMES: [&'static str; 10] =
        ["gpu", "rank", "nic", "host", "access-cable", "uplink-cable", "leaf", "spine", "job", "storage"];

    /// The name in scenarios.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
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

/// The processes by name.
pub const PROCESSES: [&str; 4] = ["c4", "llama3", "hpn", "infinitehbd"];

/// The hazards of the process called so; none where there is none.
///
/// * `c4`: Table I, a month of 4,096 GPUs. GPU errors are local and so are most timeouts; those that are not are taken
///   for a mismatch of sizes, a leaf, and storage.
/// * `llama3`: the 419 unexpected interruptions of Llama 3 405B.
/// * `hpn`: HPN, section 2.3: access cables and leaves.
/// * `infinitehbd`: the history in `data/failures`, 240 days of 400 hosts, with its mean times to repair.
pub fn process(name: &str) -> Option<Vec<Hazard>> {
    match name {
        "c4" => Some(c4()),
        "llama3" => Some(llama3()),
        "hpn" => Some(hpn()),
        "infinitehbd" => Some(infinitehbd()),
        _ => None,
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

    fn sum(name: &str) -> f64 {
        process(name).unwrap().iter().map(|hazard| hazard.per_month).sum()
    }

    #[test]
    fn processes_fail_as_often_as_their_sources_say() {
        assert!((sum("c4") * 4096.0 - 40.0).abs() < 1e-9);
        assert!((sum("llama3") * 16_384.0 * 54.0 / 30.0 - 419.0).abs() < 1e-9);
        assert_eq!(sum("hpn"), HPN_ACCESS_CABLE + HPN_LEAF);
        // Of 381 faults: 3 corrected or inside a host, 24 fans, 21 power supplies, 64 tests, a battery, 2 changes, a tool.
        assert!(
            (sum("infinitehbd") * 400.0 * 8.0 - f64::from(381 - 3 - 24 - 21 - 64 - 1 - 2 - 1)).abs() < 1e-9
        );
        assert!(process("hpn-dual").is_none());
    }

    #[test]
    fn names_are_told_apart_and_every_process_is_known() {
        for name in PROCESSES {
            let hazards = process(name).unwrap();
            let names: std::collections::BTreeSet<&str> = hazards.iter().map(|h| h.name.as_str()).collect();
            assert_eq!(names.len(), hazards.len(), "{name}");
            assert!(hazards.iter().all(|hazard| hazard.per_month > 0.0 && hazard.repair_h > 0.0), "{name}");
        }
    }

    #[test]
    fn what_is_not_local_in_c4_is_no_single_host() {
        let of = |part| {
            let own = process("c4").unwrap().into_iter().filter(move |hazard| hazard.fall.part == part);
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
