//! Protocols between hosts and switches, as pure state machines: nothing here reads a clock or draws by chance.
//!
//! * [`lacp`]: ports, bonds and leaves that answer them (IEEE 802.1AX), with the two leaves of a non-stacked set.
//! * [`arp`]: who of the leaves learns a host's address, and the /32 host route of each entry.
//! * [`rib`]: routes by longest prefix, announced and withdrawn.
//! * [`session`]: BGP sessions and BFD between switches: when each end gives the other up.
//! * [`spread`]: how a withdrawal passes from speaker to speaker.
//! * [`stack`]: the stacked dual-ToR that HPN section 4.1 left behind, and upgrades of both kinds.
//! * [`upgrade`]: rolling upgrades of a whole fabric.
//! * [`set`]: the settings of a set of leaves, and what makes them invalid.
pub mod arp;
pub mod lacp;
pub mod rib;
pub mod session;
pub mod set;
pub mod spread;
pub mod stack;
pub mod upgrade;
