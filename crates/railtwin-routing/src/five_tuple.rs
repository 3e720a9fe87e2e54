//! What a packet shows a switch: five-tuple, destination queue pair, port of arrival.

use std::ops::BitXor;

/// UDP destination port of RoCEv2 (InfiniBand Architecture Specification, annex A17).
pub const ROCE_PORT: u16 = 4791;
/// IP protocol number of UDP.
pub const UDP: u8 = 17;
/// Queue-pair numbers have 24 bits on the wire; higher bits given here are not hashed.
pub const QPN_MASK: u32 = 0x00FF_FFFF;

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
    #[inline]
    pub const fn roce(source_ip: u32, target_ip: u32, source_port: u16) -> Self {
        Self { source_ip, target_ip, source_port, target_port: ROCE_PORT, protocol: UDP }
    }
}

/// All that a switch may hash: the five-tuple, the RoCE destination queue pair (E-ECMP, Meta RoCE
/// §4.2.2) and the port the packet came in by (per-port hashing of the HPN core, HPN §7).
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
    #[inline]
    pub const fn of(tuple: FiveTuple) -> Self {
        Self { tuple, target_qp: 0, ingress_port: 0 }
    }

    /// The same packet with another source port.
    #[inline]
    pub const fn with_source_port(mut self, source_port: u16) -> Self {
        self.tuple.source_port = source_port;
        self
    }

    /// The same packet for another destination queue pair.
    #[inline]
    pub const fn with_target_qp(mut self, target_qp: u32) -> Self {
        self.target_qp = target_qp;
        self
    }

    /// The same packet received on another port.
    #[inline]
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
