//! Crux: whose communication goes first, and by which path, when several jobs share links (Cao et al., SIGCOMM '24).
//!
//! * [`tenants`]: jobs, links and candidate paths, as the scheduler sees them.
//! * [`demand`]: what each job asks of each link by its paths, and its GPU intensity; `binding`: on which links it can matter.
//! * [`contention`]: what becomes of jobs that share links under strict priorities; [`fluid`]: how, moment after moment.
//! * [`select`]: paths in order of intensity; those of TACCL* and of a hash.
//! * [`selection`]: the same job after job, anew only where something has changed; [`burdens`]: what it keeps of a job.
//! * [`correction`]: the correction factor against the reference job, and the order of priorities.
//! * [`compress`]: many priorities to few levels (Algorithm 1).
//! * [`coflow`]: Sincronia's and Varys's orders and levels.
//! * [`cassini`]: CASSINI's time shifts; [`slots`]: how jobs keep to them.
//! * [`measure`]: intensity as the daemon measures it.
//! * [`optimum`]: the best paths and levels of small cases, proved by enumeration.
//! * [`plan`]: one policy from paths to levels.
//! * [`CruxController`]: the same in a run, where jobs come and go and links die.
//!
//! ```
//! use railtwin_control::crux::contention::{Contention, Start};
//! use railtwin_control::crux::demand::Demand;
//! use railtwin_control::crux::tenants::{Tenant, Tenants};
//! use railtwin_units::SimTime;
//! let second = |count: u64| SimTime::from_ps(count * 1_000_000_000_000);
//! // Crux, example 1: two jobs of 10 GPUs on one link, 2 s + 2 s and 1 s + 1 s.
//! let tenants = Tenants::on_one_link(&[
//!     Tenant::new("long", 10, second(2), 1.0).sends(second(2)),
//!     Tenant::new("short", 10, second(1), 1.0).sends(second(1)),
//! ]);
//! let demand = Demand::of(&tenants, &tenants.first_paths());
//! let start = Start::all_ready(&tenants);
//! let long_first = Contention::new(&demand, &start, 12.0).run(&[0, 1]);
//! assert_eq!(long_first.utilization(&demand), 0.375);
//! ```
mod binding;
pub mod burdens;
pub mod cassini;
pub mod coflow;
pub mod compress;
pub mod contention;
mod contention_dag;
mod controller;
pub mod correction;
mod daemon;
pub mod demand;
mod fleet;
pub mod fluid;
mod islands;
pub mod measure;
pub mod optimum;
mod paces;
pub mod pair;
pub mod plan;
pub mod select;
pub mod selection;
pub mod slots;
pub mod tenants;
mod ties;

pub use controller::{CruxController, CruxOptions};
