//! The contract of an engine.
use crate::case::Case;
use crate::lower::Lowering;
use crate::run_log::RunLog;

/// What runs a case. The same case and replicate give the same log, whatever runs beside it.
pub trait Engine: Sync {
    /// The name in scenarios.
    fn name(&self) -> &'static str;

    /// Runs replicate `replicate` of a case: the draw of hash seeds and queue-pair numbers.
    fn run(&self, case: &Case, replicate: u32) -> RunLog;

    /// The same, and the lowering that the run used, without delays of impairments; none where the engine keeps none.
    /// Paths that are asked for after the run need no second one.
    fn run_lowered<'a>(&self, case: &'a Case, replicate: u32) -> (RunLog, Option<Lowering<'a>>) {
        (self.run(case, replicate), None)
    }
}
