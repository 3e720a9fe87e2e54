//! Inputs of a lifetime from `[steering]`.
use railtwin_control::Policy;
use railtwin_reliability::failure_rates::Cause;
use railtwin_reliability::lifetime::Recovery;
use railtwin_scenario::{SteeredBy, SteeringSpec};

/// Returns how a job recovers by `[steering]`.
pub fn recovery_of(spec: &SteeringSpec) -> Recovery {
    Recovery {
        has_detectors: spec.c4d,
        has_own_controllers: spec.controller == SteeredBy::Own,
        checkpoint: spec.checkpoint,
        checkpoint_cost: spec.checkpoint_cost,
        detection: spec.detection,
        recall: spec.recall,
        false_alarms: spec.false_alarms,
        watchdog: spec.watchdog,
        isolation: spec.isolation,
        restart: spec.restart,
        by_hand: Cause::ALL.map(|cause| spec.by_hand.of(cause)),
        answer: spec.answer,
        tests: spec.tests,
    }
}

/// Returns the policy of `[steering]`: what controllers may do without a person.
pub fn policy_of(spec: &SteeringSpec) -> Policy {
    let causes = spec.automatic.as_deref().unwrap_or(&Cause::ALL);
    Policy {
        automatic: causes.iter().map(|cause| cause.name()).collect(),
        confidence: spec.confidence,
        hosts_out: spec.hosts_out,
        hosts_per_hour: spec.hosts_per_hour,
        spares: spec.spares,
    }
}
