//! What the ranks of a simulated job would record: operations, messages, counters, probes.
//!
//! Engines know rank classes and bundles; telemetry is of ranks and queue pairs. The replay takes the durations that
//! an engine found and goes through every step rank by rank, with jitter and with faults of single ranks.
