//! Results of the lab with the simulation beside them: the data of the page, as JSON.
use serde::{Deserialize, Serialize};

/// Results of one run of the lab.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LabReport {
    /// Name of the fabric.
    pub fabric: String,
    /// Its sizes and rates, each as a line, such as `4 leaves, 4 spines`.
    pub sizes: Vec<String>,
    /// Seconds from nothing until all routes stand; none where it was up before.
    pub up_s: Option<f64>,
    /// Paths that were predicted from source ports and observed.
    pub prediction: Option<PathPrediction>,
    /// Bandwidth, draw by draw.
    pub bandwidth: Vec<BandwidthDraw>,
    /// Gaps under faults.
    pub gaps: Vec<FaultGap>,
    /// The silent link that probes found.
    pub avoided: Option<AvoidedLink>,
    /// Bonds against a foreign LACP partner.
    pub bonds: Vec<BondCheck>,
    /// Remarks, such as requirements that the machine lacks.
    pub notes: Vec<String>,
}

/// Predicted paths beside observed ones.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct PathPrediction {
    /// Source ports asked.
    pub asked: u32,
    /// Ports whose whole path was the predicted one.
    pub right: u32,
    /// Hash policies in words, such as `hosts 1 (L4), switches 3 (fields 0x37)`.
    pub policies: String,
    /// Some of the ports.
    pub map: Vec<ShownPath>,
}

/// The path that a source port takes.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ShownPath {
    /// Source port.
    pub port: u16,
    /// Leaf that the host sends to.
    pub leaf: String,
    /// Spine.
    pub spine: String,
    /// Leaf at the target.
    pub far_leaf: String,
}

/// One draw of the bandwidth test: all jobs at once under one balancer.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct BandwidthDraw {
    /// Balancer: `ecmp`, `c4p` or `disjoint`.
    pub balancer: String,
    /// Number of the draw, from 0.
    pub draw: u32,
    /// Names of the jobs.
    pub jobs: Vec<String>,
    /// Measured bus bandwidth by job, bit/s.
    pub measured: Vec<f64>,
    /// The flow engine's on the same paths, by job, bit/s; empty where it was not asked.
    pub simulated: Vec<f64>,
    /// Queue pairs on the most used link between switches.
    pub most_on_a_link: u32,
}

impl BandwidthDraw {
    /// Mean of measured bandwidth over the jobs, bit/s; none without jobs.
    pub fn measured_mean(&self) -> Option<f64> {
        mean(&self.measured)
    }

    /// Mean of simulated bandwidth over the jobs, bit/s; none where it was not asked.
    pub fn simulated_mean(&self) -> Option<f64> {
        mean(&self.simulated)
    }

    /// Measured over simulated mean; none where one of them is missing or 0.
    pub fn ratio(&self) -> Option<f64> {
        let simulated = self.simulated_mean().filter(|&mean| mean > 0.0)?;
        self.measured_mean().map(|measured| measured / simulated)
    }

    /// Least and most of measured over simulated by job; none without both.
    pub fn job_ratios(&self) -> Option<(f64, f64)> {
        let pairs = self.measured.iter().zip(&self.simulated).filter(|(_, simulated)| **simulated > 0.0);
        let ratios: Vec<f64> = pairs.map(|(measured, simulated)| measured / simulated).collect();
        let least = ratios.iter().copied().reduce(f64::min)?;
        ratios.iter().copied().reduce(f64::max).map(|most| (least, most))
    }
}

/// Mean of numbers; none of none.
pub(super) fn mean(all: &[f64]) -> Option<f64> {
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

/// Length of a gap.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GapLength {
    /// Not measured.
    #[default]
    NotMeasured,
    /// It lasted until the end of the test, and nothing would end it.
    Forever,
    /// Seconds.
    Seconds(f64),
}

impl GapLength {
    /// A length from seconds; infinite ones are for ever.
    pub fn of_seconds(seconds: f64) -> Self {
        if seconds.is_finite() { Self::Seconds(seconds) } else { Self::Forever }
    }
}

/// The gap of a fault, measured and simulated.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FaultGap {
    /// The fault.
    pub fault: String,
    /// Direction whose traffic was looked at, such as `towards the host`; empty where both were.
    pub direction: String,
    /// The longest gap of UDP flows on the path.
    pub udp: GapLength,
    /// The longest gap of TCP flows on the path.
    pub tcp: GapLength,
    /// Shortest and longest gap in the simulation.
    pub simulated: [GapLength; 2],
    /// Shortest and longest gap that is accepted.
    pub accepted: [GapLength; 2],
    /// Whether the measured gap is accepted; none where nothing was measured.
    pub is_ok: Option<bool>,
}

/// How soon a silent link was avoided.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct AvoidedLink {
    /// The link.
    pub link: String,
    /// Measured seconds from the fault until no connection used it.
    pub measured_s: f64,
    /// Least, mean and most in the simulation, seconds.
    pub simulated_s: [f64; 3],
    /// Whether it was soon enough.
    pub is_ok: bool,
}

/// A bond with settings of which the outcome is known.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct BondCheck {
    /// The settings.
    pub name: String,
    /// Expected outcome.
    pub expected: String,
    /// Observed outcome.
    pub observed: String,
    /// Whether they agree.
    pub is_ok: bool,
}
