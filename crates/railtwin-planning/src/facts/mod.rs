//! Facts of a design, computed from its counts: what its ports add up to, how far it scales, what its building carries.
//!
//! Each module is one planning question of the papers, a pure computation with a result that serialises to JSON and
//! prints as a short table. Figures without a public source are named `ASSUMED_...`, or carry `assumed` in the result.
//!
//! * [`ports`]: port budgets of switch chips (HPN section 5.1).
//! * [`paths`]: the search space of path selection (HPN table 1).
//! * [`direct`]: hops and bisection of a torus (HPN section 11).
//! * [`ladder`]: what each mechanism adds to the scale (HPN table 2).
//! * [`rail_only`]: rail-only against any-to-any tier 2 (HPN table 4).
//! * [`failure_points`]: switches whose loss alone cuts NICs off (HPN goal G3).
//! * [`chassis`]: failures of single-chip and of multi-chip switches (HPN section 5.1).
//! * [`power`]: a building's power limit (HPN section 10); [`thermal`]: what keeps a switch chip cool (HPN section 5.1).
//! * [`buildings`]: cables between buildings (HPN appendix D); [`optics`]: transceivers by length (HPN section 10).
//! * [`pod_cost`]: one pod of two tiers against several under a third tier (HPN section 6.2).
//! * [`ingress`]: storage ingress of a rack against the reads of a step (Meta RoCE section 3.2).
pub mod buildings;
pub mod chassis;
pub mod direct;
pub mod failure_points;
pub mod ingress;
pub mod ladder;
pub mod optics;
pub mod paths;
pub mod pod_cost;
pub mod ports;
pub mod power;
pub mod rail_only;
mod rows;
pub mod thermal;
