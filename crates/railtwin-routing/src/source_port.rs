//! The UDP source port of RoCE traffic: what Linux derives from two queue-pair numbers.
//!
//! NCCL leaves the flow label at 0, so the kernel derives one from the numbers of both ends and
//! folds it into the port (Linux `include/rdma/ib_verbs.h`: `rdma_calc_flow_label`,
//! `rdma_flow_label_to_udp_sport`). The drivers `mlx5` and `rxe` follow these.

use crate::five_tuple::QPN_MASK;
use crate::seed_mix::splitmix64;

/// Lowest source port of RoCEv2 on Linux.
pub const FIRST_PORT: u16 = 0xC000;
/// Highest source port of RoCEv2 on Linux.
pub const LAST_PORT: u16 = 0xFFFF;
/// Ports in `FIRST_PORT..=LAST_PORT`: 14 free bits.
pub const PORT_COUNT: usize = 1 << PORT_BITS;
/// Free bits of a source port.
pub const PORT_BITS: u32 = 14;
/// Queue pairs 0 and 1 are reserved for fabric management (InfiniBand specification: QP0 and QP1).
pub const FIRST_QPN: u32 = 2;

/// Source port of the queue pair `local_qpn` connected to `remote_qpn`, flow label left at 0.
/// The same from both ends. Numbers have 24 bits; higher bits are dropped.
pub const fn roce_source_port(local_qpn: u32, remote_qpn: u32) -> u16 {
    port_of_flow_label(flow_label(local_qpn, remote_qpn))
}

/// The 20-bit flow label that Linux derives from two queue-pair numbers.
pub const fn flow_label(local_qpn: u32, remote_qpn: u32) -> u32 {
    let mut v = (local_qpn & QPN_MASK) as u64 * (remote_qpn & QPN_MASK) as u64;
    v ^= v >> 20;
    v ^= v >> 40;
    (v & 0xF_FFFF) as u32
}

/// Source port of a 20-bit flow label: its high 6 bits folded over its low 14.
pub const fn port_of_flow_label(flow_label: u32) -> u16 {
    FIRST_PORT | ((flow_label & 0x3FFF) ^ ((flow_label >> 14) & 0x3F)) as u16
}

/// A flow label that gives `port` when set on the queue pair, for net plugins that steer.
/// Never 0, which would ask the kernel to derive one. `None` below 0xC000.
pub const fn flow_label_for_port(port: u16) -> Option<u32> {
    match port {
        ..FIRST_PORT => None,
        // The low bits are all zero: fold a one over a one.
        FIRST_PORT => Some(0x4001),
        _ => Some((port - FIRST_PORT) as u32),
    }
}

/// The queue-pair numbers that one NIC hands out: increasing by one from a base, wrapping round
/// the 24-bit range without the reserved 0 and 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuePairNumbers {
    next: u32,
}

impl QueuePairNumbers {
    /// A NIC whose base is drawn from `stream`, a value of the NIC's named random stream.
    pub const fn from_stream(stream: u64) -> Self {
        let usable = (QPN_MASK - FIRST_QPN + 1) as u64;
        Self { next: FIRST_QPN + (splitmix64(stream) % usable) as u32 }
    }

    /// A NIC that hands out `base` next; reserved numbers and high bits are stepped over.
    pub const fn starting_at(base: u32) -> Self {
        let base = base & QPN_MASK;
        Self { next: if base < FIRST_QPN { FIRST_QPN } else { base } }
    }

    /// Hands out one number.
    pub const fn allocate(&mut self) -> u32 {
        let number = self.next;
        self.next = if number == QPN_MASK { FIRST_QPN } else { number + 1 };
        number
    }
}

/// Opens one NCCL connection of `queue_pairs` queue pairs and returns their
/// (sender's number, receiver's number) in order.
///
/// Each end creates its queue pairs in order and they are joined index by index
/// (`NCCL_IB_QPS_PER_CONNECTION`). With `flush` the receiver takes one more number afterwards for
/// the loop-back queue pair by which NCCL flushes GPUDirect writes; it carries no fabric traffic.
pub fn connect(
    sender: &mut QueuePairNumbers,
    receiver: &mut QueuePairNumbers,
    queue_pairs: u32,
    flush: bool,
) -> Vec<(u32, u32)> {
    let pairs = (0..queue_pairs).map(|_| (sender.allocate(), receiver.allocate())).collect();
    if flush {
        receiver.allocate();
    }
    pairs
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ports_by_hand() {
        // 0x11 * 0x22 = 0x242: nothing to fold.
        assert_eq!(roce_source_port(0x11, 0x22), 0xC242);
        // 0x1000 * 0x1000 = 2^24; folded by 20: 2^24 + 2^4; the label is 0x10.
        assert_eq!(flow_label(0x1000, 0x1000), 0x10);
        // 0xFFFFFF^2 = 0xFFFF_FE00_0001; ^ >>20 is 0xFFFF_F1FF_FFE1 below bit 48; ^ >>40 is 0xFF.
        assert_eq!(flow_label(0xFF_FFFF, 0xFF_FFFF), 0xF_FF1E);
        assert_eq!(port_of_flow_label(0xF_FF1E), 0xC000 | (0x3F1E ^ 0x3F));
    }

    #[test]
    fn every_port_has_a_flow_label() {
        for port in FIRST_PORT..=LAST_PORT {
            let label = flow_label_for_port(port).expect("in range");
            assert!(label != 0 && label < 1 << 20);
            assert_eq!(port_of_flow_label(label), port);
        }
        assert_eq!(flow_label_for_port(0xBFFF), None);
    }

    #[test]
    fn numbers_wrap_past_the_reserved() {
        let mut nic = QueuePairNumbers::starting_at(QPN_MASK);
        assert_eq!([nic.allocate(), nic.allocate(), nic.allocate()], [QPN_MASK, 2, 3]);
        assert_eq!(QueuePairNumbers::starting_at(0).allocate(), 2);
    }

    #[test]
    fn flush_takes_a_number_of_the_receiver() {
        let mut a = QueuePairNumbers::starting_at(100);
        let mut b = QueuePairNumbers::starting_at(200);
        assert_eq!(connect(&mut a, &mut b, 2, true), [(100, 200), (101, 201)]);
        assert_eq!(connect(&mut a, &mut b, 1, false), [(102, 203)]);
    }

    #[test]
    fn streams_give_different_bases() {
        let bases: BTreeSet<u32> =
            (0..100).map(|nic| QueuePairNumbers::from_stream(nic).allocate()).collect();
        assert_eq!(bases.len(), 100);
    }

    proptest! {
        #[test]
        fn port_is_symmetric_and_in_range(a: u32, b: u32) {
            let port = roce_source_port(a, b);
            prop_assert!((FIRST_PORT..=LAST_PORT).contains(&port));
            prop_assert_eq!(port, roce_source_port(b, a));
            prop_assert_eq!(port, roce_source_port(a | 0xFF00_0000, b));
        }

        #[test]
        fn numbers_are_usable_and_repeatable(stream: u64) {
            let mut nic = QueuePairNumbers::from_stream(stream);
            prop_assert_eq!(&nic, &QueuePairNumbers::from_stream(stream));
            for _ in 0..8 {
                prop_assert!((FIRST_QPN..=QPN_MASK).contains(&nic.allocate()));
            }
        }
    }
}
