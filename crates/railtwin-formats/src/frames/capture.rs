//! Captures of tcpdump and others, pcap and pcapng: their LACPDUs and LLDPDUs.
use std::io::Cursor;

use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::{Block, PcapNgReader};
use railtwin_routing::protocol::lacp::Lacpdu;

use super::lacp::decode_lacp;
use super::lldp::{LldpFrame, decode_lldp};
use crate::{FormatError, Refusal};

const FORMAT: &str = "capture";
const ACCEPTED: &str = "give a capture of Ethernet frames, pcap or pcapng, as `tcpdump -w` writes it";

/// What a capture holds of neighbors, each in the order of the capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// Every LACPDU.
    pub lacp: Vec<Lacpdu>,
    /// Every LLDPDU.
    pub lldp: Vec<LldpFrame>,
    /// Frames of other kinds.
    pub others: usize,
    /// Frames of these kinds that are damaged, in words.
    pub damaged: Vec<String>,
}

/// Reads a capture. `source` names it in errors. A capture that is cut off at its end is read up to there.
///
/// # Errors
/// [`FormatError`] where the bytes are no capture, or one of another kind of network.
pub fn captured(source: &str, bytes: &[u8]) -> Result<Captured, FormatError> {
    let wrong = |problem: String| FormatError::new(FORMAT, source, problem, ACCEPTED);
    let ethernet = |link: DataLink| match link {
        DataLink::ETHERNET => Ok(()),
        other => Err(wrong(format!("its frames are of {other:?}, not of Ethernet")).foreign()),
    };
    let mut found = Captured::default();
    let is_ng = bytes.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]);
    if is_ng {
        let mut reader =
            PcapNgReader::new(Cursor::new(bytes)).map_err(|error| wrong(error.to_string()).foreign())?;
        while let Some(Ok(block)) = reader.next_block() {
            match block {
                Block::InterfaceDescription(interface) => ethernet(interface.linktype)?,
                Block::EnhancedPacket(packet) => found.take(source, &packet.data),
                Block::SimplePacket(packet) => found.take(source, &packet.data),
                Block::Packet(packet) => found.take(source, &packet.data),
                _ => {}
            }
        }
        return Ok(found);
    }
    let mut reader =
        PcapReader::new(Cursor::new(bytes)).map_err(|error| wrong(error.to_string()).foreign())?;
    ethernet(reader.header().datalink)?;
    while let Some(Ok(packet)) = reader.next_packet() {
        found.take(source, &packet.data);
    }
    Ok(found)
}

impl Captured {
    /// Takes a frame in.
    fn take(&mut self, source: &str, frame: &[u8]) {
        let lacp = decode_lacp(source, frame);
        let lldp = decode_lldp(source, frame);
        match (lacp, lldp) {
            (Ok(pdu), _) => self.lacp.push(pdu),
            (_, Ok(frame)) => self.lldp.push(frame),
            (Err(one), Err(other)) => {
                match (one.refusal == Refusal::Foreign, other.refusal == Refusal::Foreign) {
                    (true, true) => self.others += 1,
                    (false, true) => self.damaged.push(one.to_string()),
                    // A frame that ends before its type is neither.
                    _ if frame.len() < 14 => self.others += 1,
                    _ => self.damaged.push(other.to_string()),
                }
            }
        }
    }
}
