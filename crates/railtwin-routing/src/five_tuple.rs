//! What a packet shows a switch, and which parts of it a hash reads.

use std::fmt;
use std::ops::{BitOr, BitXor};
use std::str::FromStr;

use crate::error::RoutingError;

/// UDP destination port of RoCEv2 (InfiniBand Architecture Specification, annex A17).
pub const ROCE_PORT: u16 = 4791;
/// IP protocol number of UDP.
pub const UDP: u8 = 17;
/// Queue-pair numbers have 24 bits on the wire; higher bits given here are not hashed.
pub const QPN_MASK: u32 = 0x00FF_FFFF;
/// Bytes of a key with every field selected.
pub const MAX_KEY_BYTES: usize = 20;

/// The IPv4 five-tuple of a packet. Addresses are in host order: `10.0.0.1` is `0x0a00_0001`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FiveTuple {
    /// IPv4 address of the sending NIC.
    pub source_ip: u32,
    /// IPv4 address of the receiving NIC.
    pub target_ip: u32,
    /// UDP or TCP source port.
    pub source_port: u16,
    /// UDP or TCP destination port.
    pub target_port: u16,
    /// IP protocol number.
    pub protocol: u8,
}

impl FiveTuple {
    /// The five-tuple of RoCEv2 traffic: UDP to port 4791.
    pub const fn roce(source_ip: u32, target_ip: u32, source_port: u16) -> Self {
        Self {
            source_ip,
            target_ip,
            source_port,
            target_port: ROCE_PORT,
            protocol: UDP,
        }
    }
}

/// All that a switch may hash: the five-tuple, the RoCE destination queue pair (E-ECMP, Meta RoCE
/// §4.1.2) and the port the packet came in by (per-port hashing of the HPN core, HPN §7).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HashKey {
    /// Addresses, ports and protocol.
    pub tuple: FiveTuple,
    /// Destination queue pair of the base transport header; the low 24 bits count.
    pub target_qp: u32,
    /// Number of the port on which this switch received the packet.
    pub ingress_port: u32,
}

impl HashKey {
    /// A key with queue pair 0 and ingress port 0, for switches that read neither.
    pub const fn of(tuple: FiveTuple) -> Self {
        Self {
            tuple,
            target_qp: 0,
            ingress_port: 0,
        }
    }

    /// The same packet with another source port.
    pub const fn with_source_port(mut self, source_port: u16) -> Self {
        self.tuple.source_port = source_port;
        self
    }

    /// The same packet for another destination queue pair.
    pub const fn with_target_qp(mut self, target_qp: u32) -> Self {
        self.target_qp = target_qp;
        self
    }

    /// The same packet received on another port.
    pub const fn with_ingress_port(mut self, ingress_port: u32) -> Self {
        self.ingress_port = ingress_port;
        self
    }
}

/// Field by field; the difference `d` in RePaC's `h(x ^ d) = h(x) ^ h(d) ^ h(0)`.
impl BitXor for HashKey {
    type Output = Self;

    fn bitxor(self, other: Self) -> Self {
        let (a, b) = (self.tuple, other.tuple);
        Self {
            tuple: FiveTuple {
                source_ip: a.source_ip ^ b.source_ip,
                target_ip: a.target_ip ^ b.target_ip,
                source_port: a.source_port ^ b.source_port,
                target_port: a.target_port ^ b.target_port,
                protocol: a.protocol ^ b.protocol,
            },
            target_qp: self.target_qp ^ other.target_qp,
            ingress_port: self.ingress_port ^ other.ingress_port,
        }
    }
}

/// The fields that a switch hashes: never empty.
///
/// Text form: names joined by commas in the order of [`Fields::NAMES`], e.g.
/// `source_ip,target_ip,source_port`. Any order parses; `five_tuple` stands for the first five.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fields(u8);

impl Fields {
    /// IPv4 source address.
    pub const SOURCE_IP: Self = Self(1);
    /// IPv4 destination address.
    pub const TARGET_IP: Self = Self(1 << 1);
    /// Source port.
    pub const SOURCE_PORT: Self = Self(1 << 2);
    /// Destination port.
    pub const TARGET_PORT: Self = Self(1 << 3);
    /// IP protocol number.
    pub const PROTOCOL: Self = Self(1 << 4);
    /// RoCE destination queue pair.
    pub const TARGET_QP: Self = Self(1 << 5);
    /// Port of arrival.
    pub const INGRESS_PORT: Self = Self(1 << 6);
    /// Plain ECMP.
    pub const FIVE_TUPLE: Self = Self(0b001_1111);
    /// E-ECMP (Meta RoCE §4.1.2): the five-tuple and the destination queue pair.
    pub const FIVE_TUPLE_AND_QP: Self = Self(0b011_1111);

    /// Names of the single fields, in the order in which they are serialised.
    pub const NAMES: [&str; 7] = [
        "source_ip",
        "target_ip",
        "source_port",
        "target_port",
        "protocol",
        "target_qp",
        "ingress_port",
    ];

    /// Mask from field names. Errors: an unknown name, a field named twice, no name at all.
    pub fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, RoutingError> {
        let mut mask = 0u8;
        for name in names {
            let one = match (Self::NAMES.iter().position(|&known| known == name), name) {
                (Some(bit), _) => 1 << bit,
                (None, "five_tuple") => Self::FIVE_TUPLE.0,
                _ => {
                    let accepted = accepted_names();
                    return Err(RoutingError::UnknownField {
                        name: name.to_owned(),
                        accepted,
                    });
                }
            };
            if mask & one != 0 {
                return Err(RoutingError::RepeatedField {
                    name: name.to_owned(),
                });
            }
            mask |= one;
        }
        if mask == 0 {
            return Err(RoutingError::NoFields {
                accepted: accepted_names(),
            });
        }
        Ok(Self(mask))
    }

    /// Whether all fields of `other` are in this mask.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The selected fields of `key` in network byte order, without allocation.
    ///
    /// The order is that of [`Fields::NAMES`] with widths 4, 4, 2, 2, 1, 3, 4 bytes; fields that
    /// are not selected take no room. Source before target and addresses before ports is the
    /// order of the RSS specification, so its test vectors apply as they stand.
    pub fn serialise(self, key: &HashKey) -> KeyBytes {
        let mut out = KeyBytes {
            bytes: [0; MAX_KEY_BYTES],
            len: 0,
        };
        let tuple = &key.tuple;
        if self.contains(Self::SOURCE_IP) {
            out.push(tuple.source_ip.to_be_bytes());
        }
        if self.contains(Self::TARGET_IP) {
            out.push(tuple.target_ip.to_be_bytes());
        }
        if self.contains(Self::SOURCE_PORT) {
            out.push(tuple.source_port.to_be_bytes());
        }
        if self.contains(Self::TARGET_PORT) {
            out.push(tuple.target_port.to_be_bytes());
        }
        if self.contains(Self::PROTOCOL) {
            out.push([tuple.protocol]);
        }
        if self.contains(Self::TARGET_QP) {
            let [_, high, middle, low] = key.target_qp.to_be_bytes();
            out.push([high, middle, low]);
        }
        if self.contains(Self::INGRESS_PORT) {
            out.push(key.ingress_port.to_be_bytes());
        }
        out
    }
}

/// Union of two masks.
impl BitOr for Fields {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (bit, name) in Self::NAMES.iter().enumerate() {
            if self.0 & (1 << bit) != 0 {
                write!(f, "{separator}{name}")?;
                separator = ",";
            }
        }
        Ok(())
    }
}

impl FromStr for Fields {
    type Err = RoutingError;

    fn from_str(text: &str) -> Result<Self, RoutingError> {
        if text.trim().is_empty() {
            return Self::from_names([]);
        }
        Self::from_names(text.split(',').map(str::trim))
    }
}

fn accepted_names() -> String {
    format!("{}, five_tuple", Fields::NAMES.join(", "))
}

/// A serialised key on the stack: at most [`MAX_KEY_BYTES`] bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyBytes {
    bytes: [u8; MAX_KEY_BYTES],
    len: usize,
}

impl KeyBytes {
    /// The bytes that are hashed.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn push<const N: usize>(&mut self, field: [u8; N]) {
        self.bytes[self.len..self.len + N].copy_from_slice(&field);
        self.len += N;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: HashKey = HashKey {
        tuple: FiveTuple::roce(0x0a01_0203, 0x0a04_0506, 0xC001),
        target_qp: 0xFFAB_CDEF,
        ingress_port: 0x0102_0304,
    };

    #[test]
    fn all_fields_serialise_in_documented_order() {
        let all = Fields::FIVE_TUPLE_AND_QP | Fields::INGRESS_PORT;
        let expected = [
            0x0a, 1, 2, 3, 0x0a, 4, 5, 6, 0xC0, 0x01, 0x12, 0xB7, 17, 0xAB, 0xCD, 0xEF, 1, 2, 3, 4,
        ];
        assert_eq!(all.serialise(&KEY).as_slice(), expected);
    }

    #[test]
    fn unselected_fields_take_no_room() {
        let some = Fields::SOURCE_PORT | Fields::TARGET_QP;
        assert_eq!(
            some.serialise(&KEY).as_slice(),
            [0xC0, 0x01, 0xAB, 0xCD, 0xEF]
        );
    }

    #[test]
    fn errors_name_the_value_and_what_is_accepted() {
        let error = "source_ip,sport".parse::<Fields>().unwrap_err().to_string();
        assert!(
            error.contains("`sport`") && error.contains("source_port"),
            "{error}"
        );
        let twice = "five_tuple,protocol".parse::<Fields>().unwrap_err();
        assert_eq!(
            twice,
            RoutingError::RepeatedField {
                name: "protocol".into()
            }
        );
        assert!(matches!(
            "  ".parse::<Fields>(),
            Err(RoutingError::NoFields { .. })
        ));
    }

    #[test]
    fn five_tuple_is_a_short_name() {
        assert_eq!("five_tuple".parse(), Ok(Fields::FIVE_TUPLE));
        assert_eq!(
            "target_qp, five_tuple".parse(),
            Ok(Fields::FIVE_TUPLE_AND_QP)
        );
    }

    proptest! {
        #[test]
        fn text_form_round_trips(mask in 1u8..128) {
            let fields = Fields(mask);
            prop_assert_eq!(fields.to_string().parse(), Ok(fields));
        }

        #[test]
        fn any_text_parses_or_errs(text in ".{0,60}") {
            if let Ok(fields) = text.parse::<Fields>() {
                prop_assert!(!fields.serialise(&KEY).as_slice().is_empty());
            }
        }
    }
}
