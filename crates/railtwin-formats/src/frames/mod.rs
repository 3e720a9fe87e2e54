//! Frames that neighbors send each other: LACP and LLDP, one by one and in captures.
//!
//! A frame starts with its destination address, as on the wire, without preamble and checksum; VLAN tags are passed over.
mod capture;
mod lacp;
mod lldp;

use crate::FormatError;

pub use capture::{Captured, captured};
pub use lacp::{decode_lacp, encode_lacp};
pub use lldp::{LldpFrame, LldpId, LldpTlv, decode_lldp, encode_lldp};

/// EtherTypes of tags that stand before that of the payload: 802.1Q, 802.1ad.
const TAGS: [u16; 2] = [0x8100, 0x88a8];

/// EtherType of Slow Protocols, of which LACP is one.
const SLOW: u16 = 0x8809;
/// EtherType of LLDP.
const LLDP: u16 = 0x88cc;

/// Bytes that are read in order, none of which may be missing.
#[derive(Clone, Copy, Debug)]
struct Bytes<'a> {
    format: &'static str,
    source: &'a str,
    accepted: &'static str,
    rest: &'a [u8],
    at: u64,
}

impl<'a> Bytes<'a> {
    /// The next `count` bytes, which are what `field` says.
    fn take(&mut self, field: &str, count: usize) -> Result<&'a [u8], FormatError> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            let problem = format!("the frame ends after {} of {count} bytes", self.rest.len());
            return Err(self.wrong(field, problem));
        };
        self.rest = rest;
        self.at += count as u64;
        Ok(taken)
    }

    fn byte(&mut self, field: &str) -> Result<u8, FormatError> {
        Ok(self.take(field, 1)?[0])
    }

    fn two(&mut self, field: &str) -> Result<u16, FormatError> {
        let two = self.take(field, 2)?;
        Ok(u16::from_be_bytes([two[0], two[1]]))
    }

    fn six(&mut self, field: &str) -> Result<[u8; 6], FormatError> {
        let mut six = [0; 6];
        six.copy_from_slice(self.take(field, 6)?);
        Ok(six)
    }

    /// An error about `field`, which stands here.
    fn wrong(&self, field: &str, problem: impl Into<String>) -> FormatError {
        FormatError::new(self.format, self.source, problem, self.accepted).at_byte(self.at).field(field)
    }
}

/// The payload of a frame: source address, EtherType, what follows. None of frames with a length in place of a type.
fn payload<'a>(bytes: &mut Bytes<'a>) -> Result<([u8; 6], u16), FormatError> {
    bytes.take("destination", 6)?;
    let source = bytes.six("source")?;
    let mut kind = bytes.two("EtherType")?;
    while TAGS.contains(&kind) {
        bytes.take("VLAN tag", 2)?;
        kind = bytes.two("EtherType")?;
    }
    Ok((source, kind))
}
