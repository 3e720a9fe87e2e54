//! LACP: what the two ends of a cable tell each other so that several cables serve as one (IEEE 802.1AX-2014,
//! section 6.4).
mod bond;
mod cables;
mod pdu;
mod port;

pub use bond::{Bond, SelectionRule};
pub use cables::{Cables, End, PortTurn, Wire};
pub use pdu::{LacpRate, Lacpdu, Mac, PortInfo, PortState};
pub use port::{Machine, Mux, Receive};
