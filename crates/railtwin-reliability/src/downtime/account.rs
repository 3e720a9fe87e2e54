//! Where the time of a job goes: the parts that C4 tells apart (Fig. 2, Table III) and ours beside them.
use std::ops::{Add, AddAssign, Index, IndexMut, Mul};

use serde::Serialize;
use serde::ser::SerializeMap;

use crate::failure_rates::Cause;

/// What a stretch of time is booked as.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// Work after the last checkpoint, lost in a crash.
    PostCheckpoint,
    /// From the failure until somebody knows.
    Detection,
    /// From knowing until the culprit is out, by root cause.
    Diagnosis(Cause),
    /// From the restart until steps run again.
    Reinitialisation,
    /// A host is missing and no spare is left.
    Waiting,
    /// Writing checkpoints while the job stands still.
    Checkpointing,
    /// Time that slow communication took.
    SlowCommunication,
    /// Time that slow computing or loading took.
    SlowOther,
    /// All else: work that counts.
    Productive,
}

impl Part {
    /// All, as reports list them.
    pub const ALL: [Self; 13] = [
        Self::PostCheckpoint,
        Self::Detection,
        Self::Diagnosis(Cause::EccNvlink),
        Self::Diagnosis(Cause::Cuda),
        Self::Diagnosis(Cause::CclTimeout),
        Self::Diagnosis(Cause::AckTimeout),
        Self::Diagnosis(Cause::Unknown),
        Self::Reinitialisation,
        Self::Waiting,
        Self::Checkpointing,
        Self::SlowCommunication,
        Self::SlowOther,
        Self::Productive,
    ];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PostCheckpoint => "post_checkpoint",
            Self::Detection => "detection",
            Self::Diagnosis(Cause::EccNvlink) => "diagnosis_ecc_nvlink",
            Self::Diagnosis(Cause::Cuda) => "diagnosis_cuda",
            Self::Diagnosis(Cause::CclTimeout) => "diagnosis_ccl_timeout",
            Self::Diagnosis(Cause::AckTimeout) => "diagnosis_ack_timeout",
            Self::Diagnosis(Cause::Unknown) => "diagnosis_unknown",
            Self::Reinitialisation => "reinitialisation",
            Self::Waiting => "waiting_for_spares",
            Self::Checkpointing => "checkpointing",
            Self::SlowCommunication => "slow_communication",
            Self::SlowOther => "slow_other",
            Self::Productive => "productive",
        }
    }

    const fn index(self) -> usize {
        match self {
            Self::PostCheckpoint => 0,
            Self::Detection => 1,
            Self::Diagnosis(cause) => 2 + cause.index(),
            Self::Reinitialisation => 7,
            Self::Waiting => 8,
            Self::Checkpointing => 9,
            Self::SlowCommunication => 10,
            Self::SlowOther => 11,
            Self::Productive => 12,
        }
    }

    /// Whether the job stands still, or worked in vain, because of a crash.
    pub const fn is_downtime(self) -> bool {
        matches!(
            self,
            Self::PostCheckpoint
                | Self::Detection
                | Self::Diagnosis(_)
                | Self::Reinitialisation
                | Self::Waiting
        )
    }
}

/// An amount of time, or a share of it, for each part.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Account([f64; Part::ALL.len()]);

impl Account {
    /// Nothing but what is listed.
    pub fn of(parts: &[(Part, f64)]) -> Self {
        let mut account = Self::default();
        for &(part, amount) in parts {
            account[part] += amount;
        }
        account
    }

    /// Diagnosis and isolation over all causes.
    pub fn diagnosis(&self) -> f64 {
        Cause::ALL.into_iter().map(|cause| self[Part::Diagnosis(cause)]).sum()
    }

    /// Diagnosis and isolation of faults of GPUs.
    pub fn diagnosis_gpu(&self) -> f64 {
        Cause::ALL.into_iter().filter(|cause| cause.is_gpu()).map(|cause| self[Part::Diagnosis(cause)]).sum()
    }

    /// Downtime: all that a crash takes.
    pub fn downtime(&self) -> f64 {
        Part::ALL.into_iter().filter(|part| part.is_downtime()).map(|part| self[part]).sum()
    }

    /// All parts together.
    pub fn total(&self) -> f64 {
        self.0.iter().sum()
    }

    /// Each amount as `change` makes it.
    pub fn map(self, change: impl Fn(f64) -> f64) -> Self {
        Self(self.0.map(change))
    }
}

impl Index<Part> for Account {
    type Output = f64;

    fn index(&self, part: Part) -> &f64 {
        &self.0[part.index()]
    }
}

impl IndexMut<Part> for Account {
    fn index_mut(&mut self, part: Part) -> &mut f64 {
        &mut self.0[part.index()]
    }
}

impl AddAssign for Account {
    fn add_assign(&mut self, other: Self) {
        for (ours, theirs) in self.0.iter_mut().zip(other.0) {
            *ours += theirs;
        }
    }
}

impl Add for Account {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl Mul<f64> for Account {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        self.map(|amount| amount * factor)
    }
}

impl Serialize for Account {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(Part::ALL.len() + 2))?;
        for part in Part::ALL {
            map.serialize_entry(part.name(), &self[part])?;
        }
        map.serialize_entry("diagnosis", &self.diagnosis())?;
        map.serialize_entry("downtime", &self.downtime())?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_its_own_place() {
        for (index, part) in Part::ALL.into_iter().enumerate() {
            assert_eq!(part.index(), index);
        }
        let account = Account::of(&Part::ALL.map(|part| (part, 1.0)));
        assert_eq!((account.total(), account.downtime(), account.diagnosis()), (13.0, 9.0, 5.0));
        assert_eq!(account.diagnosis_gpu(), 2.0);
    }
}
