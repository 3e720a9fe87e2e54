//! The one place that makes the engine that a scenario names.
use railtwin_engine::Engine;
use railtwin_flowsim::FlowEngine;
use railtwin_packetsim::PacketEngine;
use railtwin_scenario::EngineName;

use crate::question::Resolved;

/// The engine of a resolved point.
pub fn engine_of(resolved: &Resolved) -> Box<dyn Engine> {
    engine(resolved.scenario.engine, resolved.threads)
}

/// An engine by name. `threads` is what one run of the packet engine uses; no result depends on it.
pub fn engine(name: EngineName, threads: u32) -> Box<dyn Engine> {
    match name {
        EngineName::Flow => Box::new(FlowEngine::default()),
        EngineName::Packet => Box::new(PacketEngine { threads }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_call_themselves_as_scenarios_do() {
        for name in EngineName::ALL {
            assert_eq!(engine(name, 1).name(), name.name());
        }
    }
}
