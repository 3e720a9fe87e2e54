//! What a detector is, and all of them together.
use railtwin_fabric::Fabric;
use railtwin_records::{Batch, Directory, Finding};

use crate::context::Context;
use crate::settings::Settings;

/// Watches records for one thing.
pub trait Detector: std::fmt::Debug {
    /// Its name on the score card and in docs.
    fn name(&self) -> &'static str;

    /// Takes a batch in. Allocates nothing once all ranks and flows are known.
    fn observe(&mut self, context: &Context<'_>, batch: &Batch);

    /// What it finds at `now_ns`, on the clock of [`Batch::until_ns`]. A thing that lasts is told once, and again only
    /// where the suspects change.
    fn judge(&mut self, context: &Context<'_>, now_ns: u64, findings: &mut Vec<Finding>);
}

/// All detectors.
#[derive(Debug)]
pub struct Diagnosis {
    settings: Settings,
    detectors: Vec<Box<dyn Detector>>,
}

impl Diagnosis {
    /// The given detectors.
    pub fn with(settings: Settings, detectors: Vec<Box<dyn Detector>>) -> Self {
        Self { settings, detectors }
    }

    /// The same with other thresholds.
    #[must_use]
    pub fn at(self, settings: Settings) -> Self {
        Self { settings, ..self }
    }

    /// The thresholds.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Takes a batch in and gives what was found at its end.
    pub fn observe(
        &mut self,
        directory: &Directory,
        fabric: Option<&Fabric>,
        batch: &Batch,
        findings: &mut Vec<Finding>,
    ) {
        let context = Context { directory, fabric, settings: &self.settings };
        for detector in &mut self.detectors {
            detector.observe(&context, batch);
            detector.judge(&context, batch.until_ns, findings);
        }
    }

    /// The time goes on without records: what hangs shows.
    pub fn wait_until(
        &mut self,
        directory: &Directory,
        fabric: Option<&Fabric>,
        now_ns: u64,
        findings: &mut Vec<Finding>,
    ) {
        let context = Context { directory, fabric, settings: &self.settings };
        for detector in &mut self.detectors {
            detector.judge(&context, now_ns, findings);
        }
    }
}
