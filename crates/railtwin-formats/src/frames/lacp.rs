//! LACPDUs as bytes (IEEE 802.1AX-2014, section 6.4.2.3).
use railtwin_routing::protocol::lacp::{Lacpdu, Mac, PortInfo, PortState};

use super::bytes::{Bytes, SLOW, payload};
use crate::FormatError;

const FORMAT: &str = "LACPDU";
const ACCEPTED: &str =
    "give an Ethernet frame with EtherType 0x8809 that holds one LACPDU of version 1 or later";
/// Where LACPDUs go: the multicast address of Slow Protocols.
const DESTINATION: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x02];
/// Subtype of LACP among the Slow Protocols.
const SUBTYPE: u8 = 1;
/// Lengths of the TLVs of actor, partner and collector, type and length included.
const INFO: u8 = 20;
const COLLECTOR: u8 = 16;
/// Bytes from the subtype to the end of the reserved ones.
const LENGTH: usize = 110;

/// The LACPDU of an Ethernet frame. `source` names it in errors. Reserved bytes and what versions after 1 add are passed
/// over, as section 6.4.2.3 asks.
///
/// # Errors
/// [`FormatError`] where the frame ends too early, is of another kind, or has a TLV with another type or length.
pub fn decode_lacp(source: &str, frame: &[u8]) -> Result<Lacpdu, FormatError> {
    let mut bytes = Bytes { format: FORMAT, source, accepted: ACCEPTED, rest: frame, at: 0 };
    let (_, kind) = payload(&mut bytes)?;
    if kind != SLOW {
        return Err(bytes.wrong("EtherType", format!("0x{kind:04x} is not 0x{SLOW:04x}")).foreign());
    }
    let subtype = bytes.byte("subtype")?;
    if subtype != SUBTYPE {
        return Err(bytes.wrong("subtype", format!("{subtype} is not that of LACP, {SUBTYPE}")).foreign());
    }
    let version = bytes.byte("version")?;
    if version == 0 {
        return Err(bytes.wrong("version", "there is no version 0"));
    }
    let actor = info(&mut bytes, "actor", 1)?;
    let partner = info(&mut bytes, "partner", 2)?;
    tlv(&mut bytes, "collector", 3, COLLECTOR)?;
    let max_delay = bytes.two("collector delay")?;
    bytes.take("collector", usize::from(COLLECTOR) - 4)?;
    Ok(Lacpdu { actor, partner, max_delay })
}

/// Type and length of a TLV, which must be these.
fn tlv(bytes: &mut Bytes<'_>, field: &str, kind: u8, length: u8) -> Result<(), FormatError> {
    let found = [bytes.byte(field)?, bytes.byte(field)?];
    if found == [kind, length] {
        return Ok(());
    }
    let problem =
        format!("type {} and length {} stand where {kind} and {length} have to", found[0], found[1]);
    Err(bytes.wrong(field, problem))
}

fn info(bytes: &mut Bytes<'_>, field: &str, kind: u8) -> Result<PortInfo, FormatError> {
    tlv(bytes, field, kind, INFO)?;
    let system_priority = bytes.two(field)?;
    let system = Mac(bytes.six(field)?);
    let key = bytes.two(field)?;
    let port_priority = bytes.two(field)?;
    let port = bytes.two(field)?;
    let state = PortState(bytes.byte(field)?);
    bytes.take(field, 3)?;
    Ok(PortInfo { system_priority, system, key, port_priority, port, state })
}

/// The frame of an LACPDU, version 1, from the station `source`; 124 bytes.
pub fn encode_lacp(source: Mac, pdu: &Lacpdu) -> Vec<u8> {
    let mut frame = Vec::with_capacity(14 + LENGTH);
    frame.extend(DESTINATION);
    frame.extend(source.0);
    frame.extend(SLOW.to_be_bytes());
    frame.extend([SUBTYPE, 1]);
    for (kind, info) in [(1, &pdu.actor), (2, &pdu.partner)] {
        frame.extend([kind, INFO]);
        frame.extend(info.system_priority.to_be_bytes());
        frame.extend(info.system.0);
        for value in [info.key, info.port_priority, info.port] {
            frame.extend(value.to_be_bytes());
        }
        frame.extend([info.state.0, 0, 0, 0]);
    }
    frame.extend([3, COLLECTOR]);
    frame.extend(pdu.max_delay.to_be_bytes());
    // The rest of the collector, a terminator, and what is reserved, are zeros.
    frame.resize(14 + LENGTH, 0);
    frame
}
