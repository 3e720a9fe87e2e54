//! The packet-level engine.
use railtwin_engine::{Case, Engine, RunLog};

/// The packet-level engine.
#[derive(Clone, Copy, Debug)]
pub struct PacketEngine {
    /// Threads that one run uses; the result does not depend on them.
    pub threads: u32,
}

impl Default for PacketEngine {
    fn default() -> Self {
        Self { threads: 1 }
    }
}

impl Engine for PacketEngine {
    fn name(&self) -> &'static str {
        "packet"
    }

    fn run(&self, _case: &Case, _replicate: u32) -> RunLog {
        RunLog::default()
    }
}
