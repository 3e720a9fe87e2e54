//! Time that our detectors take to find a fault, by its kind: rows of the score card (docs/reference/score-card.md).
use railtwin_records::FaultKind;
use railtwin_units::SimTime;

/// How sure detectors are of a host that they name: that of the hang detector where all ranks behind are of one host.
pub const CONFIDENCE: f64 = 0.9;
/// The signals of the score card that C4's agents have: operations and transport.
#[cfg(test)]
const SIGNALS: &str = "with transport";
/// The size of the score card that is nearest to a job of 2,048 GPUs.
#[cfg(test)]
const RANKS: &str = "## 1024 ranks";

/// The row of the score card that a kind of fault is read from, and its median seconds until the fault is found.
///
/// The score card has no row for a cable that is down or flaps and stops a job: the job hangs, so it is found as a hang.
const fn row(kind: FaultKind) -> (&'static str, u64) {
    match kind {
        FaultKind::Hang
        | FaultKind::Down
        | FaultKind::Flap
        | FaultKind::Up
        | FaultKind::DataPlane
        | FaultKind::ControlPlane
        | FaultKind::Upgrade => ("hang of a rank", 30),
        FaultKind::GpuError => ("GPU error", 30),
        FaultKind::Crash => ("process killed", 30),
        FaultKind::SizeMismatch => ("size mismatch", 0),
        FaultKind::StorageStall => ("storage stall of a host", 61),
        FaultKind::SlowGpu => ("slow GPU", 23),
        FaultKind::SlowData => ("slow data loading", 23),
        FaultKind::Slow | FaultKind::WrongCable | FaultKind::Latency | FaultKind::SmallBuffer => {
            ("slow NIC", 3)
        }
        FaultKind::Lossy | FaultKind::LoseAcknowledgement => ("lossy access link, one direction", 1),
        FaultKind::PauseStorm => ("pause storm of a NIC", 12),
    }
}

/// The median time from a fault of this kind to the finding that names it.
pub fn detection_time(kind: FaultKind) -> SimTime {
    SimTime::from_seconds(row(kind).1 as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_score_card() {
        let card = include_str!("../../../../docs/reference/score-card.md");
        let of_size = card.split(RANKS).nth(1).unwrap().split("\n## ").next().unwrap();
        for kind in FaultKind::ALL {
            let (name, seconds) = row(kind);
            let begins = format!("| {name} | {SIGNALS} |");
            let line = of_size.lines().find(|line| line.starts_with(&begins));
            let cells: Vec<&str> = line.unwrap_or_else(|| panic!("no row {begins}")).split('|').collect();
            assert_eq!(cells[10].trim(), format!("{seconds} s"), "{name}");
            // Detectors find each fault that hurts.
            assert_eq!((cells[5].trim(), cells[6].trim()), ("100 %", "100 %"), "{name}");
        }
    }
}
