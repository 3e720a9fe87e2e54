//! The flow-level engine: exact weighted max-min fairness over bundles, event driven.
//!
//! * [`max_min`]: the solver and its optimality conditions.
//! * [`dynamic`]: bundles whose queue pairs carry what each can.
//! * [`reduce`]: links that can bind; [`symmetry`]: bundles that are alike; [`conflict`]: where patterns meet.
//! * [`filling`]: rates kept true under changes; [`motion`]: bundles that move at them;
//!   [`course`]: how a pattern alone runs.
//! * [`flight`]: patterns in flight, in one of two ways: [`steps`] solves what an event touches, [`whole`] all
//!   that share links, with rates and courses from [`component`].
//! * [`order`]: operations that wait; [`ledger`]: what links carried.
//! * [`waiting`]: queue pairs that lost packets to a fault; [`meter`]: throughput over time.
//! * [`ailing`]: links that run worse for a while; [`ranks`]: ranks that come late or not at all.
//! * `marks`: how far operations had moved when faults acted.
//! * [`footprint`]: what a run takes, before it runs.
//! * [`engine`]: the event loop; [`edge_rates`]: what each queue pair carries and could carry at one moment.
//!
//! ```
//! use railtwin_flowsim::max_min::{Problem, Solver};
//! // Two variables share a link of 10; the first is held to 2 by another link.
//! let problem = Problem {
//!     start: &[0, 2, 3], links: &[0, 1, 0], shares: &[1.0; 3], weights: &[1.0; 2],
//!     caps: &[f64::INFINITY; 2], capacities: &[10.0, 2.0],
//! };
//! let mut rates = Vec::new();
//! Solver::default().solve(&problem, &mut rates);
//! assert_eq!(rates, [2.0, 8.0]);
//! ```
pub mod ailing;
pub mod component;
pub mod conflict;
pub mod course;
pub mod dynamic;
pub mod edge_rates;
pub mod engine;
pub mod filling;
pub mod flight;
pub mod footprint;
mod gauge;
pub mod ledger;
mod marks;
pub mod max_min;
pub mod meter;
pub mod motion;
pub mod order;
pub mod phases;
mod probing;
pub mod queue_pair;
pub mod ranks;
pub mod rates;
pub mod reduce;
mod seek;
pub mod steps;
pub mod symmetry;
pub mod waiting;
pub mod whole;

pub use engine::{FlowEngine, Shortcuts};
