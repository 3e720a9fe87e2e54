//! Tests between hosts as one inference problem: which hosts, NICs, rails, leaves or pairs slow or kill them.
//!
//! A test is a set of flows between ports. A cause is a set of ports that is touched or cut, a pair, a star or one direction
//! ([`FaultShape`]). A cause saves bits in the description of all results, by their depth and by the ways in which tests died, and
//! costs its price; the causes with the shortest description are the answer. Leaves are learned from bandwidth beforehand, so
//! that a hop over the spine is nobody's fault. Causes that explain as much stand beside each other as [`Alternative`]s.
//!
//! ```
//! use railtwin_pairs::{TrialOutcome, Port, FaultShape, TrialTraffic, Trial, TrialSet, infer};
//!
//! let mut set = TrialSet::default();
//! for (a, b) in (0..6).flat_map(|a| (0..a).map(move |b| (a, b))) {
//!     let ports = [a, b].map(|host| Port { host: set.host(&format!("host-{host}")), place: None }).to_vec();
//!     let rate = if a == 5 { 20.0 } else { 45.0 + 0.1 * f64::from(b) };
//!     let outcome = TrialOutcome::Sizes(vec![(1 << 30, rate)]);
//!     set.trials.push(Trial { class: "ring".into(), traffic: TrialTraffic::Rings, ports, outcome });
//! }
//! let answer = infer(&set);
//! let slow = set.hosts.iter().position(|name| name == "host-5").expect("it was tested");
//! assert_eq!(answer.causes[0].shape, FaultShape::Host(slow));
//! ```
mod advice;
mod answer;
mod evidence;
mod flows;
mod infer;
mod input;
mod layout;
mod leaves;
mod level;
mod search;
mod shape;
mod tell;

pub use answer::{Alternative, Answer, Membership, NextTest, PairCause, Trend};
pub use flows::Exit;
pub use input::{Port, Trial, TrialOutcome, TrialSet, TrialTraffic};
pub use shape::FaultShape;

/// Bits from which a cause is told, and by which another one must be worse to be left out.
pub const TOLD_BITS: f64 = 4.0;

/// Causes of slow results and deaths of all tests.
///
/// Both ways of flows out of hosts ([`Exit`]) are tried where they differ; the one with the shorter description decides.
pub fn infer(set: &TrialSet) -> Answer {
    let [rail, own] = [Exit::ReceiverRail, Exit::OwnNic].map(|exit| infer::Problem::of(set, exit));
    let first = rail.solve();
    if rail.layout.edges == own.layout.edges {
        return tell::answer(&rail, &first);
    }
    let second = own.solve();
    if second.length < first.length - 1e-6 {
        tell::answer(&own, &second)
    } else {
        tell::answer(&rail, &first)
    }
}
