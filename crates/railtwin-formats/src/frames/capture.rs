//! Captures of tcpdump and others, pcap and pcapng: their LACPDUs and LLDPDUs.
use std::io::Cursor;
use std::time::Duration;

use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{Block, PcapNgReader, PcapNgWriter};
use pcap_file::{DataLink, PcapResult};
use railtwin_routing::protocol::lacp::Lacpdu;

use super::lacp::decode_lacp;
use super::lldp::{LldpFrame, decode_lldp};
use crate::{FormatError, Refusal};

const FORMAT: &str = "capture";
const ACCEPTED: &str = "give a capture of Ethernet frames, pcap or pcapng, as `tcpdump -w` writes it";

/// The LACPDUs and LLDPDUs of a capture, each in the order of the capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// Every LACPDU.
    pub lacp: Vec<Lacpdu>,
    /// Every LLDPDU.
    pub lldp: Vec<HeardLldp>,
    /// Frames of other kinds.
    pub others: usize,
    /// Frames of these kinds that are damaged, in words.
    pub damaged: Vec<String>,
}

/// An LLDPDU and the port that heard it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeardLldp {
    /// Name of the interface, where the capture tells one.
    pub interface: Option<String>,
    /// The LLDPDU.
    pub frame: LldpFrame,
}

/// Whether bytes are a capture, by how they begin: pcap in either order of bytes, with micro- or nanoseconds, or pcapng.
pub fn is_capture(bytes: &[u8]) -> bool {
    const FIRST: [[u8; 4]; 5] = [
        [0xd4, 0xc3, 0xb2, 0xa1],
        [0xa1, 0xb2, 0xc3, 0xd4],
        [0x4d, 0x3c, 0xb2, 0xa1],
        [0xa1, 0xb2, 0x3c, 0x4d],
        NG,
    ];
    FIRST.iter().any(|first| bytes.starts_with(first))
}

/// First bytes of a pcapng file: the type of its section header.
const NG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

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
    if !bytes.starts_with(&NG) {
        let mut reader =
            PcapReader::new(Cursor::new(bytes)).map_err(|error| wrong(error.to_string()).foreign())?;
        ethernet(reader.header().datalink)?;
        while let Some(Ok(packet)) = reader.next_packet() {
            found.take(source, None, &packet.data);
        }
        return Ok(found);
    }
    let mut reader =
        PcapNgReader::new(Cursor::new(bytes)).map_err(|error| wrong(error.to_string()).foreign())?;
    let mut names: Vec<Option<String>> = Vec::new();
    while let Some(Ok(block)) = reader.next_block() {
        match block {
            Block::InterfaceDescription(interface) => {
                ethernet(interface.linktype)?;
                names.push(interface.options.iter().find_map(|option| match option {
                    InterfaceDescriptionOption::IfName(name) => Some(name.to_string()),
                    _ => None,
                }));
            }
            Block::EnhancedPacket(packet) => {
                let name = names.get(packet.interface_id as usize).and_then(Option::as_deref);
                found.take(source, name, &packet.data);
            }
            Block::SimplePacket(packet) => {
                found.take(source, names.first().and_then(Option::as_deref), &packet.data);
            }
            _ => {}
        }
    }
    Ok(found)
}

/// A capture (pcapng) of what each port hears: its name, then the frames.
pub fn encode_capture(ports: &[(String, Vec<Vec<u8>>)]) -> Vec<u8> {
    // Writing to memory does not fail.
    let write = || -> PcapResult<Vec<u8>> {
        let mut writer = PcapNgWriter::new(Vec::new())?;
        for (name, _) in ports {
            let mut interface = InterfaceDescriptionBlock::new(DataLink::ETHERNET, 0);
            interface.options.push(InterfaceDescriptionOption::IfName(name.into()));
            writer.write_pcapng_block(interface)?;
        }
        for (row, (_, frames)) in ports.iter().enumerate() {
            for frame in frames {
                writer.write_pcapng_block(EnhancedPacketBlock {
                    interface_id: row as u32,
                    timestamp: Duration::ZERO,
                    original_len: frame.len() as u32,
                    data: frame.into(),
                    options: Vec::new(),
                })?;
            }
        }
        Ok(writer.into_inner())
    };
    write().unwrap_or_default()
}

impl Captured {
    /// Takes a frame in.
    fn take(&mut self, source: &str, interface: Option<&str>, frame: &[u8]) {
        let lacp = decode_lacp(source, frame);
        let lldp = decode_lldp(source, frame);
        match (lacp, lldp) {
            (Ok(pdu), _) => self.lacp.push(pdu),
            (_, Ok(frame)) => {
                self.lldp.push(HeardLldp { interface: interface.map(str::to_owned), frame });
            }
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
