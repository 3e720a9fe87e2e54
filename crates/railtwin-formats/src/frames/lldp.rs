//! LLDPDUs as bytes (IEEE 802.1AB-2016, section 8).
use std::fmt;

use railtwin_routing::protocol::lacp::Mac;

use super::bytes::{Bytes, LLDP, payload};
use crate::FormatError;

const FORMAT: &str = "LLDPDU";
const ACCEPTED: &str = "give an Ethernet frame with EtherType 0x88cc that holds one LLDPDU";
/// Where LLDPDUs go: the nearest bridge.
const DESTINATION: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e];
/// Most bytes of a TLV's value: the length has nine bits.
const VALUE_MAX: usize = 511;

/// Identifier of a neighbor or of its port: bytes, and the subtype that gives them their meaning.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LldpId {
    /// Subtype of a chassis (section 8.5.2) or of a port (section 8.5.3).
    pub subtype: u8,
    /// The identifier.
    pub bytes: Vec<u8>,
    /// Whether it is of a port.
    pub is_port: bool,
}

impl LldpId {
    /// Whether the bytes are a MAC address: subtype 4 of a chassis, 3 of a port.
    pub fn is_mac(&self) -> bool {
        self.subtype == if self.is_port { 3 } else { 4 } && self.bytes.len() == 6
    }
}

impl fmt::Display for LldpId {
    /// A MAC address or network address as usual, anything else as text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_address = self.subtype == if self.is_port { 4 } else { 5 };
        match (self.is_mac(), &self.bytes[..]) {
            (true, &[a, b, c, d, e, g]) => Mac([a, b, c, d, e, g]).fmt(f),
            (_, [1, a, b, c, d]) if is_address => write!(f, "{a}.{b}.{c}.{d}"),
            (_, bytes) => f.write_str(&text(bytes)),
        }
    }
}

/// A TLV that is not one of the named ones, in the order of the frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LldpTlv {
    /// Its type, 7 bits.
    pub kind: u8,
    /// Its value, at most 511 bytes.
    pub value: Vec<u8>,
}

/// The content of one LLDPDU.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LldpFrame {
    /// Source address of the frame.
    pub source: Mac,
    /// The sender.
    pub chassis: LldpId,
    /// The port that it was sent by.
    pub port: LldpId,
    /// Time to live, seconds; 0 withdraws the sender.
    pub life_s: u16,
    /// All else, in order, without the end.
    pub others: Vec<LldpTlv>,
}

/// Types of optional TLVs that are text (table 8-1).
const PORT_DESCRIPTION: u8 = 4;
const SYSTEM_NAME: u8 = 5;

impl LldpFrame {
    /// Name of the sender, where it tells one.
    pub fn system_name(&self) -> Option<String> {
        self.text_of(SYSTEM_NAME)
    }

    /// Description of the port, where the sender gives one: on many switches the port's name.
    pub fn port_description(&self) -> Option<String> {
        self.text_of(PORT_DESCRIPTION)
    }

    fn text_of(&self, kind: u8) -> Option<String> {
        self.others
            .iter()
            .find(|tlv| tlv.kind == kind)
            .map(|tlv| text(&tlv.value))
            .filter(|text| !text.is_empty())
    }
}

/// Bytes as text, what is none replaced; a zero at the end, which some senders count, is left out.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned()
}

/// The LLDPDU of an Ethernet frame. `source` names it in errors. What follows the end TLV is padding.
///
/// # Errors
/// [`FormatError`] where the frame ends too early, is of another kind, or does not begin with chassis, port and life
/// (section 8.2).
pub fn decode_lldp(source: &str, frame: &[u8]) -> Result<LldpFrame, FormatError> {
    let mut bytes = Bytes { format: FORMAT, source, accepted: ACCEPTED, rest: frame, at: 0 };
    let (station, kind) = payload(&mut bytes)?;
    if kind != LLDP {
        return Err(bytes.wrong("EtherType", format!("0x{kind:04x} is not 0x{LLDP:04x}")).foreign());
    }
    let id = |bytes: &mut Bytes<'_>, field: &str, kind: u8| -> Result<LldpId, FormatError> {
        let value = mandatory(bytes, field, kind)?;
        match value.split_first() {
            Some((&subtype, id)) if !id.is_empty() && id.len() <= 255 => {
                Ok(LldpId { subtype, bytes: id.to_vec(), is_port: kind == 2 })
            }
            _ => {
                Err(bytes.wrong(field, format!("{} bytes are not a subtype and 1 to 255 more", value.len())))
            }
        }
    };
    let chassis = id(&mut bytes, "chassis", 1)?;
    let port = id(&mut bytes, "port", 2)?;
    let life = mandatory(&mut bytes, "life", 3)?;
    let &[high, low, ..] = life else {
        return Err(bytes.wrong("life", format!("{} bytes are not two", life.len())));
    };
    let mut others = Vec::new();
    // A frame without an end TLV ends with the frame.
    while !bytes.rest.is_empty() {
        let (kind, value) = next(&mut bytes, "TLV")?;
        if kind == 0 {
            break;
        }
        others.push(LldpTlv { kind, value: value.to_vec() });
    }
    let life_s = u16::from_be_bytes([high, low]);
    Ok(LldpFrame { source: Mac(station), chassis, port, life_s, others })
}

/// Type and value of the next TLV.
fn next<'a>(bytes: &mut Bytes<'a>, field: &str) -> Result<(u8, &'a [u8]), FormatError> {
    let head = bytes.two(field)?;
    let value = bytes.take(field, usize::from(head & 0x1ff))?;
    Ok(((head >> 9) as u8, value))
}

/// The value of a TLV that has to stand here.
fn mandatory<'a>(bytes: &mut Bytes<'a>, field: &str, wanted: u8) -> Result<&'a [u8], FormatError> {
    let (kind, value) = next(bytes, field)?;
    if kind == wanted {
        return Ok(value);
    }
    Err(bytes.wrong(field, format!("a TLV of type {kind} stands where {wanted} has to")))
}

/// The frame of an LLDPDU, unpadded. Values longer than a TLV can hold are cut at 511 bytes.
pub fn encode_lldp(frame: &LldpFrame) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(DESTINATION);
    bytes.extend(frame.source.0);
    bytes.extend(LLDP.to_be_bytes());
    let id = |id: &LldpId| [&[id.subtype], &id.bytes[..]].concat();
    let mut push = |kind: u8, value: &[u8]| {
        let value = &value[..value.len().min(VALUE_MAX)];
        bytes.extend((u16::from(kind) << 9 | value.len() as u16).to_be_bytes());
        bytes.extend(value);
    };
    push(1, &id(&frame.chassis));
    push(2, &id(&frame.port));
    push(3, &frame.life_s.to_be_bytes());
    for LldpTlv { kind, value } in &frame.others {
        push(*kind & 0x7f, value);
    }
    push(0, &[]);
    bytes
}
