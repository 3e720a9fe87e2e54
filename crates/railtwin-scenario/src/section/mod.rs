//! The sections of a scenario: of each its keys, its rules, and what it becomes.
pub(crate) mod apart;
pub(crate) mod cluster;
pub(crate) mod fabric;
pub(crate) mod failures;
pub(crate) mod fault;
pub(crate) mod job;
pub(crate) mod packet;
pub(crate) mod routing;
pub(crate) mod steering;
pub(crate) mod storage;
pub(crate) mod telemetry;

/// Bound of counts of work.
pub(crate) const MANY: i64 = 1_000_000;
