//! Bytes of a frame, read in order.
use crate::FormatError;

/// EtherTypes of tags that stand before that of the payload: 802.1Q, 802.1ad.
const TAGS: [u16; 2] = [0x8100, 0x88a8];

/// EtherType of Slow Protocols, of which LACP is one.
pub(super) const SLOW: u16 = 0x8809;
/// EtherType of LLDP.
pub(super) const LLDP: u16 = 0x88cc;

/// Bytes that are read in order, none of which may be missing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a> {
    pub(super) format: &'static str,
    pub(super) source: &'a str,
    pub(super) accepted: &'static str,
    pub(super) rest: &'a [u8],
    pub(super) at: u64,
}

impl<'a> Bytes<'a> {
    /// The next `count` bytes, which are what `field` says.
    pub(super) fn take(&mut self, field: &str, count: usize) -> Result<&'a [u8], FormatError> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            let problem = format!("the frame ends after {} of {count} bytes", self.rest.len());
            return Err(self.wrong(field, problem));
        };
        self.rest = rest;
        self.at += count as u64;
        Ok(taken)
    }

    pub(super) fn byte(&mut self, field: &str) -> Result<u8, FormatError> {
        Ok(self.take(field, 1)?[0])
    }

    pub(super) fn two(&mut self, field: &str) -> Result<u16, FormatError> {
        let two = self.take(field, 2)?;
        Ok(u16::from_be_bytes([two[0], two[1]]))
    }

    pub(super) fn six(&mut self, field: &str) -> Result<[u8; 6], FormatError> {
        let mut six = [0; 6];
        six.copy_from_slice(self.take(field, 6)?);
        Ok(six)
    }

    /// An error about `field`, which stands here.
    pub(super) fn wrong(&self, field: &str, problem: impl Into<String>) -> FormatError {
        FormatError::new(self.format, self.source, problem, self.accepted).at_byte(self.at).field(field)
    }
}

/// The payload of a frame: source address, EtherType, what follows. None of frames with a length in place of a type.
pub(super) fn payload<'a>(bytes: &mut Bytes<'a>) -> Result<([u8; 6], u16), FormatError> {
    bytes.take("destination", 6)?;
    let source = bytes.six("source")?;
    let mut kind = bytes.two("EtherType")?;
    while TAGS.contains(&kind) {
        bytes.take("VLAN tag", 2)?;
        kind = bytes.two("EtherType")?;
    }
    Ok((source, kind))
}
