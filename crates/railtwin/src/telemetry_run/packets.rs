//! A run of packets as its devices told it, with detectors that watch it.
use railtwin_diagnosis::join::{Places, join};
use railtwin_diagnosis::{Detector, Diagnosis, Settings};
use railtwin_engine::{Case, RunLog};
use railtwin_flowsim::FlowEngine;
use railtwin_records::{Batch, Directory, Finding};
use railtwin_telemetry::{PacketTelemetry, Progress};
use railtwin_units::SimTime;

use super::states;
use crate::error::Error;
use crate::watch::IDLE_S;

/// A run of packets and who watches it.
#[derive(Debug)]
pub struct PacketWatch<'a> {
    case: &'a Case,
    /// What its devices told.
    pub told: PacketTelemetry,
    diagnosis: Diagnosis,
    /// Who is who.
    pub directory: Directory,
    /// The records of the last turn.
    pub batch: Batch,
    /// All that was found so far, as it was told.
    pub findings: Vec<Finding>,
    /// Seconds up to which everything was told.
    pub now: f64,
}

impl<'a> PacketWatch<'a> {
    /// A job of a run at its start. The log is of a case whose packets were asked for records.
    ///
    /// # Errors
    /// What telemetry says of a log that it cannot read.
    pub fn new(
        case: &'a Case,
        (job, replicate): (usize, u32),
        log: &RunLog,
        settings: &railtwin_telemetry::Settings,
        counters: bool,
        (detectors, thresholds): (Vec<Box<dyn Detector>>, Settings),
    ) -> Result<Self, Error> {
        let mut directory = Directory::default();
        // Who sends over which path from when on; of rates nothing is read.
        let mut paths = vec![FlowEngine::default().edge_rates(case, replicate, SimTime::ZERO)];
        let until = log.counted();
        for at in states::moments(case, replicate).into_iter().filter(|&at| at <= until).take(states::MOST) {
            let mut state = FlowEngine::default().edge_rates(case, replicate, at);
            state.at = at;
            paths.push(state);
        }
        let told =
            PacketTelemetry::new(case, (job, replicate), log, &paths, settings, counters, &mut directory)?;
        Ok(Self {
            case,
            now: told.start_ns() as f64 / 1e9,
            told,
            diagnosis: Diagnosis::with(thresholds, detectors),
            directory,
            batch: Batch::default(),
            findings: Vec::new(),
        })
    }

    /// What became known up to the end of a step, or in a second; a second more in which the job stands still. Gives the
    /// row of the first finding that is new, and none once all was told of a job that ended.
    pub fn turn(&mut self) -> Option<(Progress, usize)> {
        self.batch.clear();
        let progress = match self.told.next(&mut self.batch) {
            Some(progress) => progress,
            None if self.told.is_stuck() => {
                self.batch.until_ns = ((self.now + IDLE_S) * 1e9) as u64;
                Progress::Stuck
            }
            None => return None,
        };
        self.now = self.now.max(self.batch.until_ns as f64 / 1e9);
        let told = self.findings.len();
        self.diagnosis.observe(&self.directory, Some(&self.case.fabric), &self.batch, &mut self.findings);
        Some((progress, told))
    }

    /// Where components lie.
    pub fn places(&self) -> Places<'_> {
        Places { directory: &self.directory, fabric: Some(&self.case.fabric) }
    }

    /// What was found, findings about the same thing as one.
    pub fn joined(&self) -> Vec<Finding> {
        join(&self.places(), &self.findings)
    }
}
