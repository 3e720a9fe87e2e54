//! Reliability: how often parts of a cluster fail, and what failures cost a job. Pure and deterministic.
//!
//! * [`failure_rates`]: rates by root cause, from published clusters; random streams of failures.
//! * [`failure_process`]: failures by kind of part and kind of fault.
//! * [`downtime`]: incidents booked by cause, expected downtime, spare hosts, recorded histories.
//! * [`lifetime`]: weeks of a job: failures, findings, decisions, restarts and repairs in time.
//!
//! ```
//! use railtwin_reliability::downtime::Plan;
//! use railtwin_reliability::failure_rates::FailureRates;
//! let expected = Plan::new(FailureRates::c4(), 2_400).expected();
//! assert!((expected.shares.total() - 1.0).abs() < 1e-9);
//! ```
pub mod downtime;
pub mod failure_process;
pub mod failure_rates;
pub mod lifetime;
