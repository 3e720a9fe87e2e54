//! PCIe by equation 1 of SAURON.
use railtwin_units::keys::{sizes, whole};
use railtwin_units::{Bytes, Rate, SimTime};

railtwin_units::choice! {
    /// A generation of PCIe: its data rate and encoding (PCI-SIG, base specifications 3.0 to 7.0).
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum PcieGeneration {
        /// 8 GT/s a lane, 128b/130b.
        #[default]
        Gen3 = "gen3",
        /// 16 GT/s a lane, 128b/130b.
        Gen4 = "gen4",
        /// 32 GT/s a lane, 128b/130b.
        Gen5 = "gen5",
        /// 64 GT/s a lane, flits of 256 B that carry 236 B of TLPs.
        Gen6 = "gen6",
        /// 128 GT/s a lane, flits as of generation 6.
        Gen7 = "gen7",
    }
}

impl PcieGeneration {
    /// Bits that a lane transfers in a second.
    const fn transfers_per_s(self) -> u64 {
        let gen3 = 8_000_000_000;
        match self {
            Self::Gen3 => gen3,
            Self::Gen4 => 2 * gen3,
            Self::Gen5 => 4 * gen3,
            Self::Gen6 => 8 * gen3,
            Self::Gen7 => 16 * gen3,
        }
    }

    /// Whether packets travel in flits, whose checksums and DLLPs are not bytes of any TLP.
    const fn has_flits(self) -> bool {
        matches!(self, Self::Gen6 | Self::Gen7)
    }

    /// Bits for TLPs and DLLPs among those transferred. From generation 6 on DLLPs and checksums have their place in each
    /// flit beside the 236 B.
    const fn encoding(self) -> (u64, u64) {
        match self {
            Self::Gen3 | Self::Gen4 | Self::Gen5 => (128, 130),
            Self::Gen6 | Self::Gen7 => (236, 256),
        }
    }
}

railtwin_units::choice! {
    /// What is between the PCIe devices of a host.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum PcieTopology {
        /// A PCIe switch: from port to port.
        #[default]
        Switch = "switch",
        /// The root complex of a CPU: from an endpoint to it, to the CPU, back to it, to the other endpoint (SAURON section
        /// 3.2).
        RootComplex = "root-complex",
    }
}

railtwin_units::section! {
    /// A PCIe link.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct PcieSpec "[intranode.pcie]" {
        /// Generation.
        pub generation: PcieGeneration = PcieGeneration::Gen3,
        /// Lanes.
        pub lanes: u32 [whole(1..=32)] = 16,
        /// Most payload of a TLP (MPS).
        pub max_payload: Bytes [sizes(64..=4096)] = Bytes(128),
        /// Bytes of a TLP beside its payload: framing with sequence number 4, header 12 or
        /// 16 (addresses of 64 bits), LCRC 4. In flits (generations 6 and 7) the header alone: write 12 or 16.
        pub tlp_overhead: Bytes [sizes(0..=64)] = Bytes(24),
        /// Bytes of a DLLP with its framing: an ACK. Of no effect in flits, which have a place for them.
        pub dllp: Bytes [sizes(0..=64)] = Bytes(8),
        /// TLPs for one ACK.
        pub ack_factor: u32 [whole(1..=1024)] = 4,
        /// What is between the devices of a host: a switch, or a root complex, over which what GPUs and NIC send each other
        /// goes to the CPU and back.
        #[key(sparse)]
        pub topology: PcieTopology = PcieTopology::Switch,
        /// Time of a TLP in the root complex, each time that it passes it: twice between endpoints. Of no effect with a
        /// switch.
        #[key(sparse)]
        pub root_latency: SimTime = SimTime::ZERO,
        /// What goes between root complex and CPU in each direction, for all endpoints of a host together; default what one
        /// link carries. Of no effect with a switch.
        pub root_rate: Option<Rate> = None,
    }
}

impl PcieSpec {
    /// What the link carries after its encoding, bits in a second rounded down: 126.03 Gbps for 16 lanes of generation 3.
    pub const fn rate(&self) -> Rate {
        let (data, sent) = self.generation.encoding();
        let lanes = self.generation.transfers_per_s() as u128 * self.lanes as u128;
        Rate::from_bits_per_s((lanes * data as u128 / sent as u128) as u64)
    }

    /// `BytesPerNs`: bytes that the link carries in a nanosecond. As printed the equation gives bits.
    pub fn bytes_per_ns(&self) -> f64 {
        self.rate().bytes_per_s() * 1e-9
    }

    /// The share of an ACK that falls on each TLP, ps: `DLLPTime / AckFactor`. From generation 6 on none does: DLLPs have
    /// their own place in each flit, which the encoding leaves out.
    pub fn acknowledgement_ps(&self) -> f64 {
        if self.generation.has_flits() {
            return 0.0;
        }
        self.dllp.0 as f64 / self.bytes_per_ns() * 1e3 / f64::from(self.ack_factor)
    }

    /// `LatencyTime` of a message of `bytes`, ns: its TLPs and their ACKs one after another. The equation has no ceilings;
    /// a message has whole TLPs and ACKs, and a last TLP no more payload than is left.
    pub fn message_ns(&self, bytes: u64) -> f64 {
        let tlps = bytes.div_ceil(self.max_payload.0);
        let acks = if self.generation.has_flits() { 0 } else { tlps.div_ceil(u64::from(self.ack_factor)) };
        let sent = bytes + tlps * self.tlp_overhead.0 + acks * self.dllp.0;
        sent as f64 / self.bytes_per_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generation_3_is_as_the_paper_says() {
        let pcie = PcieSpec::default();
        // Section 3.2: 128 Gbps raw, close to 126 after 128b/130b.
        assert!((pcie.rate().gbps() - 126.03).abs() < 0.005, "{}", pcie.rate().gbps());
        assert!((pcie.bytes_per_ns() - 15.754).abs() < 0.001);
    }

    #[test]
    fn a_message_is_its_tlps_and_their_acks() {
        let pcie = PcieSpec::default();
        // 4,096 B are 32 TLPs of 152 B and 8 ACKs of 8 B.
        let bytes = f64::from(32 * 152 + 8 * 8);
        assert!((pcie.message_ns(4096) - bytes / pcie.bytes_per_ns()).abs() < 1e-9);
        assert!((pcie.message_ns(1) - 33.0 / pcie.bytes_per_ns()).abs() < 1e-9);
    }

    #[test]
    fn flits_have_a_place_for_acks() {
        let pcie = PcieSpec { generation: PcieGeneration::Gen6, ..PcieSpec::default() };
        assert!(pcie.acknowledgement_ps() == 0.0);
        assert!((pcie.message_ns(4096) - f64::from(32 * 152) / pcie.bytes_per_ns()).abs() < 1e-9);
    }

    #[test]
    fn generations_double() {
        let rate = |generation| PcieSpec { generation, ..PcieSpec::default() }.rate().gbps();
        assert!((rate(PcieGeneration::Gen5) - 504.12).abs() < 0.01);
        assert!((rate(PcieGeneration::Gen6) - 944.0).abs() < 0.01);
        assert!((rate(PcieGeneration::Gen7) - 1888.0).abs() < 0.01);
    }
}
