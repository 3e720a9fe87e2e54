//! Reads and writes the bytes of Chakra execution traces.
//!
//! A file is a sequence of (length as varint of at most 32 bits, message): one `GlobalMetadata`,
//! then one `Node` each; the whole may be a gzip stream.

use std::collections::BTreeMap;
use std::io::Read;

use flate2::bufread::MultiGzDecoder;
use prost::Message;

use crate::chakra::{AttributeValue, ChakraNode, ChakraTrace, CommType, NUMBERS};
use crate::chakra_convert::{attribute_in, attribute_out, node_in, node_out};
use crate::chakra_proto as proto;
use crate::error::FormatError;

/// Name of this format in errors.
pub(crate) const FORMAT: &str = "Chakra execution trace";

/// Largest size of a trace after decompression, so that a small hostile file cannot fill memory.
pub const CHAKRA_BYTES_MAX: u64 = 4 << 30;

/// First two bytes of a gzip stream (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

impl ChakraTrace {
    /// Reads one rank's `.et` file, compressed by gzip or not; `source_name` appears in errors.
    ///
    /// # Errors
    /// A broken gzip stream or more than [`CHAKRA_BYTES_MAX`] bytes in it, a message that is cut
    /// off or is not of the schema, a node id used twice, or an attribute of a send, receive or
    /// collective that its accessor could not read: `comm_type`, `comm_size`, `comm_src`,
    /// `comm_dst`, `comm_tag`, `comm_priority`, `pg_name`, `is_cpu_op`.
    pub fn decode(source_name: &str, bytes: &[u8]) -> Result<Self, FormatError> {
        let inflated;
        let bytes = if bytes.starts_with(&GZIP_MAGIC) {
            inflated = inflate(source_name, bytes, CHAKRA_BYTES_MAX)?;
            &inflated[..]
        } else {
            bytes
        };
        Self::decode_inflated(source_name, bytes).map_err(|error| {
            if looks_like_json(bytes) {
                FormatError::new(
                    FORMAT,
                    source_name,
                    "is JSON text",
                    "a Chakra trace is binary; convert a PyTorch execution trace with chakra_converter first",
                )
            } else {
                error
            }
        })
    }

    fn decode_inflated(source_name: &str, bytes: &[u8]) -> Result<Self, FormatError> {
        let mut frames = Frames { source_name, bytes, offset: 0 };
        let (offset, metadata) = frames.next_frame()?.ok_or_else(|| {
            FormatError::new(
                FORMAT,
                source_name,
                "the file is empty",
                "a trace begins with a GlobalMetadata message",
            )
        })?;
        let metadata = proto::GlobalMetadata::decode(metadata)
            .map_err(|error| not_a_message(source_name, offset, "GlobalMetadata", &error))?;
        let mut trace = Self {
            version: metadata.version,
            attributes: metadata.attr.into_iter().map(attribute_in).collect(),
            nodes: Vec::new(),
        };
        let mut offset_of: BTreeMap<u64, u64> = BTreeMap::new();
        while let Some((offset, message)) = frames.next_frame()? {
            let node = proto::Node::decode(message)
                .map_err(|error| not_a_message(source_name, offset, "Node", &error))?;
            let node = node_in(node);
            check_known(source_name, offset, &node)?;
            if let Some(first) = offset_of.insert(node.id, offset) {
                return Err(FormatError::new(
                    FORMAT,
                    source_name,
                    format!("names a second node, the first is at byte {first}"),
                    "give every node its own id",
                )
                .at_byte(offset)
                .field("id")
                .found(&node.id.to_string()));
            }
            trace.nodes.push(node);
        }
        Ok(trace)
    }

    /// The uncompressed bytes of a `.et` file; `decode` gives back an equal trace.
    ///
    /// Numbers are written as `int64`, `uint64` and `double`, the widths that feeders read.
    pub fn encode(&self) -> Vec<u8> {
        let metadata = proto::GlobalMetadata {
            version: self.version.clone(),
            attr: self.attributes.iter().map(attribute_out).collect(),
        };
        let mut bytes = metadata.encode_length_delimited_to_vec();
        for node in &self.nodes {
            bytes.extend(node_out(node).encode_length_delimited_to_vec());
        }
        bytes
    }
}

/// True for what looks like a JSON object. Only asked about bytes that did not decode: `{` is also
/// the length of a first message of 123 bytes.
fn looks_like_json(bytes: &[u8]) -> bool {
    let Some(rest) = bytes.strip_prefix(b"{") else {
        return false;
    };
    rest.trim_ascii_start().starts_with(b"\"")
}

fn inflate(source_name: &str, bytes: &[u8], bytes_max: u64) -> Result<Vec<u8>, FormatError> {
    let mut inflated = Vec::new();
    // One byte more than allowed tells "exactly full" from "too long".
    MultiGzDecoder::new(bytes).take(bytes_max + 1).read_to_end(&mut inflated).map_err(|error| {
        FormatError::new(
            FORMAT,
            source_name,
            format!("the gzip stream is broken ({error})"),
            "compress the file again, or give it uncompressed",
        )
    })?;
    if inflated.len() as u64 > bytes_max {
        return Err(FormatError::new(
            FORMAT,
            source_name,
            format!("holds more than {bytes_max} bytes after decompression"),
            "give a shorter trace",
        ));
    }
    Ok(inflated)
}

/// Walks over the length-delimited messages.
struct Frames<'a> {
    source_name: &'a str,
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Frames<'a> {
    /// The next message and the byte where its length stands; `None` at the end of the file.
    fn next_frame(&mut self) -> Result<Option<(u64, &'a [u8])>, FormatError> {
        let start = self.offset as u64;
        let rest = &self.bytes[self.offset..];
        if rest.is_empty() {
            return Ok(None);
        }
        let (length, prefix) = varint32(rest).ok_or_else(|| {
            self.error(
                "does not begin with the length of a message",
                "every message follows its length, a varint of at most 5 bytes and 32 bits",
            )
            .at_byte(start)
        })?;
        let body = &rest[prefix..];
        let length_bytes = length as usize;
        let message = body.get(..length_bytes).ok_or_else(|| {
            self.error(
                format!("a message of {length} bytes begins, {} follow", body.len()),
                "the file is cut off or is not a Chakra trace; fetch it again",
            )
            .at_byte(start)
        })?;
        self.offset += prefix + length_bytes;
        Ok(Some((start, message)))
    }

    fn error(&self, problem: impl Into<String>, accepted: &str) -> FormatError {
        FormatError::new(FORMAT, self.source_name, problem, accepted)
    }
}

/// A varint of at most 32 bits: its value and its bytes.
fn varint32(bytes: &[u8]) -> Option<(u32, usize)> {
    let mut value = 0_u64;
    for (index, &byte) in bytes.iter().take(5).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            return Some((u32::try_from(value).ok()?, index + 1));
        }
    }
    None
}

fn not_a_message(source_name: &str, offset: u64, message: &str, error: &prost::DecodeError) -> FormatError {
    FormatError::new(
        FORMAT,
        source_name,
        format!("the message is no {message} ({error})"),
        "a trace is one GlobalMetadata and then Nodes of the Chakra schema 0.0.4 or later",
    )
    .at_byte(offset)
}

/// Checks what the accessors of communication nodes rely on.
fn check_known(source_name: &str, offset: u64, node: &ChakraNode) -> Result<(), FormatError> {
    if !node.kind.is_communication() {
        return Ok(());
    }
    for attribute in &node.attributes {
        let Some(value) = &attribute.value else {
            continue;
        };
        let (problem, accepted) = match (attribute.name.as_str(), value, value.as_u64()) {
            ("pg_name", AttributeValue::Text(_), _) => continue,
            ("pg_name", _, _) => ("is not text", "write the communicator's name as a string"),
            ("is_cpu_op", AttributeValue::Bool(_), _) | ("is_cpu_op", _, Some(0 | 1)) => continue,
            ("is_cpu_op", _, _) => ("is not true or false", "write a bool, or 0 or 1"),
            ("comm_type", _, Some(number)) if CommType::from_number(number).is_none() => {
                ("is not a kind of collective", "write 0 (all-reduce) to 9 (barrier)")
            }
            (name, _, None) if NUMBERS.contains(&name) => {
                ("is not a whole number", "write an integer of 0 or more")
            }
            _ => continue,
        };
        return Err(FormatError::new(FORMAT, source_name, problem, accepted)
            .at_byte(offset)
            .field(format!("{} of node {}", attribute.name, node.id))
            .found(&format!("{value:?}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varint32_reads_lengths_and_refuses_more_than_32_bits() {
        assert_eq!(varint32(&[0x48]), Some((0x48, 1)));
        assert_eq!(varint32(&[0xbc, 0x2e]), Some((5948, 2)));
        assert_eq!(varint32(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Some((u32::MAX, 5)));
        assert_eq!(varint32(&[0xff, 0xff, 0xff, 0xff, 0x1f]), None);
        assert_eq!(varint32(&[0x80]), None);
        assert_eq!(varint32(&[0x80; 6]), None);
    }

    #[test]
    fn inflating_stops_at_the_limit() {
        use std::io::Write as _;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(&[0; 1000]).expect("a Vec takes all bytes");
        let packed = encoder.finish().expect("a Vec takes all bytes");
        assert_eq!(inflate("a", &packed, 1000).map(|bytes| bytes.len()), Ok(1000));
        let error = inflate("a", &packed, 999).expect_err("one byte too many");
        assert!(error.to_string().contains("more than 999 bytes"), "{error}");
    }
}
