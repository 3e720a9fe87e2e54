//! Frames that neighbors send each other: LACP and LLDP, one by one and in captures.
//!
//! A frame starts with its destination address, as on the wire, without preamble and checksum; VLAN tags are passed over.
mod bytes;
mod capture;
mod lacp;
mod lldp;

pub use capture::{Captured, HeardLldp, captured, encode_capture, is_capture};
pub use lacp::{decode_lacp, encode_lacp};
pub use lldp::{LldpFrame, LldpId, LldpTlv, decode_lldp, encode_lldp};
