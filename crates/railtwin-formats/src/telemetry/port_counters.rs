//! One table of counter names of NICs and ports, with the class of each.
//!
//! Sources of names: Linux `Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst` and NVIDIA's
//! "Understanding mlx5 ethtool counters" and "RDMA hw_counters", InfiniBand volume 1 section 16.1.3.5 (port counters),
//! and the drivers `bnxt_en`, `bnxt_re`, `ice`, `i40e`, `irdma` and `efa` of Linux.

use railtwin_records::Component;
use railtwin_records::seen::PortClass;

use PortClass::{
    Congestion, Corrected, Drop, Harmless, Loss, OwnError, PauseReceived, PauseSent, PeerError, Traffic,
};

/// One reading of a counter by the name that its driver gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct PortReading {
    /// The NIC or port.
    pub port: Component,
    /// The driver's name of the counter.
    pub counter: String,
    /// Time of the reading in nanoseconds.
    pub time_ns: u64,
    /// Total since the start of the device.
    pub value: f64,
}

/// Names by class; `*` stands for a number such as a priority or lane.
const NAMES: &[(PortClass, &[&str])] = &[
    (
        PauseSent,
        &[
            // mlx5 ethtool
            "tx_prio*_pause",
            "tx_prio*_pause_duration",
            "tx_global_pause",
            "tx_global_pause_duration",
            "tx_pause_ctrl_phy",
            "tx_pause_storm_warning_events",
            "tx_pause_storm_error_events",
            // bnxt_en
            "tx_pfc_ena_frames_pri*",
            "tx_pause_frames",
            "pfc_pri*_tx_duration_us",
            "pfc_pri*_tx_transitions",
            // ice, i40e
            "tx_priority_*_xoff.nic",
            "link_xoff_tx.nic",
            "port.tx_priority_*_xoff",
            "port.link_xoff_tx",
        ],
    ),
    (
        Drop,
        &[
            // mlx5 ethtool and hw_counters
            "rx_discards_phy",
            "tx_discards_phy",
            "rx_prio*_discards",
            "rx_prio*_buf_discard",
            "rx_prio*_cong_discard",
            "rx_out_of_buffer",
            "out_of_buffer",
            "outbound_pci_buffer_overflow",
            "dev_internal_queue_oob",
            // InfiniBand port
            "port_xmit_discards",
            "VL15_dropped",
            // network devices of Linux
            "rx_fifo_errors",
            "rx_over_errors",
            "rx_missed_errors",
            // bnxt_en, bnxt_re
            "rx_discards",
            "tx_discards",
            "rx_stat_discard",
            "tx_stat_discard",
            "rx_total_discard_pkts",
            "tx_total_discard_pkts",
            "rx_total_buf_errors",
            "rx_discard_packets_cos*",
            "rx_roce_discard_pkts",
            "tx_roce_discard_pkts",
            "oos_drop_count",
            // ice, i40e, irdma
            "rx_dropped.nic",
            "port.rx_dropped",
            "ip4InDiscards",
            "ip6InDiscards",
            // efa
            "rx_drops",
        ],
    ),
    (
        OwnError,
        &[
            // mlx5 ethtool and hw_counters
            "rx_symbol_err_phy",
            "rx_crc_errors_phy",
            "rx_pcs_symbol_err_phy",
            "rx_err_lane_*_phy",
            "rx_in_range_len_errors_phy",
            "rx_out_of_range_len_phy",
            "rx_oversize_pkts_phy",
            "rx_undersize_pkts_phy",
            "rx_fragments_phy",
            "rx_jabbers_phy",
            "tx_errors_phy",
            "rx_pci_signal_integrity",
            "tx_pci_signal_integrity",
            "rx_icrc_encapsulated",
            "module_bus_stuck",
            "module_high_temp",
            "module_bad_shorted",
            // InfiniBand port
            "symbol_error",
            "link_error_recovery",
            "link_downed",
            "port_rcv_errors",
            "local_link_integrity_errors",
            "excessive_buffer_overrun_errors",
            "port_rcv_constraint_errors",
            "port_xmit_constraint_errors",
            // network devices of Linux
            "rx_crc_errors",
            "rx_frame_errors",
            "rx_length_errors",
            "tx_carrier_errors",
            "tx_fifo_errors",
            // bnxt_en, bnxt_re
            "rx_fcs_err_frames",
            "rx_align_err_frames",
            "rx_jbr_frames",
            "rx_runt_frames",
            "rx_stat_err",
            "tx_stat_error",
            "tx_fifo_underruns",
            "rx_pcs_symbol_err",
            "rx_fec_uncorrectable_blocks",
            "rx_roce_error_pkts",
            "tx_roce_error_pkts",
            // ice, i40e
            "rx_crc_errors.nic",
            "illegal_bytes.nic",
            "mac_local_faults.nic",
            "rx_jabber.nic",
            "rx_fragments.nic",
            "port.rx_crc_errors",
            "port.illegal_bytes",
            "port.mac_local_faults",
            "port.rx_jabber",
            "port.rx_fragments",
            // others
            "rx_fcs_errors",
            "link_down_events_phy",
            "link_down_events",
            "carrier_down_count",
        ],
    ),
    (
        Loss,
        &[
            // mlx5 hw_counters
            "packet_seq_err",
            "implied_nak_seq_err",
            "out_of_sequence",
            "local_ack_timeout_err",
            "duplicate_request",
            "roce_adp_retrans",
            "roce_adp_retrans_to",
            "roce_slow_restart",
            "roce_slow_restart_trans",
            "req_transport_retries_exceeded",
            // bnxt_re
            "to_retransmits",
            "seq_err_naks_rcvd",
            "max_retry_exceeded",
            "missing_resp",
            "rx_out_of_sequence_pkts",
            "dup_req",
            "responder_oos",
            "requester_timeout",
            // irdma, efa
            "tcpRetransSegs",
            "retrans_pkts",
            "retrans_timeout_events",
        ],
    ),
    (
        PeerError,
        &[
            // mlx5 hw_counters
            "rnr_nak_retry_err",
            "req_cqe_error",
            "req_remote_access_errors",
            "req_remote_invalid_request",
            "req_rnr_retries_exceeded",
            "resp_cqe_error",
            "resp_local_length_error",
            "resp_remote_access_errors",
            // InfiniBand port
            "port_rcv_remote_physical_errors",
            // bnxt_re
            "rnr_naks_rcvd",
            "remote_invalid_req_err",
            "remote_access_err",
            "remote_op_err",
            "bad_resp_err",
            // ice, i40e, efa
            "mac_remote_faults.nic",
            "port.mac_remote_faults",
            "unresponsive_remote_events",
            "impaired_remote_conn_events",
            "rdma_read_wr_err",
            "rdma_write_wr_err",
        ],
    ),
    (
        PauseReceived,
        &[
            // mlx5 ethtool
            "rx_prio*_pause",
            "rx_prio*_pause_duration",
            "rx_prio*_pause_transition",
            "rx_global_pause",
            "rx_global_pause_duration",
            "rx_global_pause_transition",
            "rx_pause_ctrl_phy",
            // InfiniBand port: ticks with data and without credits
            "port_xmit_wait",
            // bnxt_en
            "rx_pfc_ena_frames_pri*",
            "rx_pause_frames",
            "pfc_pri*_rx_duration_us",
            "pfc_pri*_rx_transitions",
            // ice, i40e
            "rx_priority_*_xoff.nic",
            "link_xoff_rx.nic",
            "port.rx_priority_*_xoff",
            "port.link_xoff_rx",
        ],
    ),
    (
        Congestion,
        &[
            "np_cnp_sent",
            "np_ecn_marked_roce_packets",
            "rp_cnp_handled",
            "rp_cnp_ignored",
            "rx_prio*_marked",
            "rx_ecn_mark",
            "rx_ecn_marked_pkts",
            "rx_cnp_pkts",
            "tx_cnp_pkts",
            "roce_slow_restart_cnps",
            "RxECNMrkd",
            "cnpHandled",
            "cnpIgnored",
            "cnpSent",
            "bw_in_allowance_exceeded",
            "bw_out_allowance_exceeded",
            "pps_allowance_exceeded",
        ],
    ),
    (
        Corrected,
        &[
            "rx_corrected_bits_phy",
            "rx_pcs_corrected_bits_phy",
            "rx_corrected_bits",
            "rx_fec_corrected_blocks",
            "rx_fec_corrected_blocks_phy",
        ],
    ),
    (
        Traffic,
        &[
            "tx_bytes_phy",
            "rx_bytes_phy",
            "tx_packets_phy",
            "rx_packets_phy",
            "tx_bytes",
            "rx_bytes",
            "tx_packets",
            "rx_packets",
            "port_xmit_data",
            "port_rcv_data",
            "port_xmit_packets",
            "port_rcv_packets",
            "unicast_xmit_packets",
            "unicast_rcv_packets",
            "multicast_xmit_packets",
            "multicast_rcv_packets",
            "rx_read_requests",
            "rx_write_requests",
            "rx_atomic_requests",
            "rx_prio*_bytes",
            "tx_prio*_bytes",
            "rx_prio*_packets",
            "tx_prio*_packets",
            "tx_pkts",
            "rx_pkts",
        ],
    ),
    (
        Harmless,
        &[
            // What follows an error of a queue pair that another counter has.
            "req_cqe_flush_error",
            "resp_cqe_flush_error",
            // Protocols that nobody listens to are dropped by the kernel, too.
            "rx_dropped",
            "tx_dropped",
            "rx_nohandler",
            "rx_steer_missed_packets",
            "rx_unsupported_op_phy",
            "lifespan",
            "tx_mac_control_phy",
            "rx_mac_control_phy",
            "port_rcv_switch_relay_errors",
        ],
    ),
];

/// Names of one class, `*` for a number.
pub fn port_counters_of(class: PortClass) -> impl Iterator<Item = &'static str> {
    NAMES.iter().filter(move |(known, _)| *known == class).flat_map(|(_, names)| names.iter().copied())
}

/// The class of a counter by its driver's name; none for a name that is not known. Counters of single queues, and sums of
/// packets or bytes by any name, are traffic.
pub fn port_class(name: &str) -> Option<PortClass> {
    let known = NAMES.iter().find(|(_, names)| names.iter().any(|pattern| fits(pattern, name)));
    known.map(|(class, _)| *class).or_else(|| is_traffic(name).then_some(Traffic))
}

/// Whether the table has the name itself.
pub(crate) fn is_named(name: &str) -> bool {
    NAMES.iter().any(|(_, names)| names.iter().any(|pattern| fits(pattern, name)))
}

/// Whether a name fits a pattern in which `*` stands for a number.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((begin, end)) => name
            .strip_prefix(begin)
            .and_then(|rest| rest.strip_suffix(end))
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|letter| letter.is_ascii_digit())),
    }
}

/// Packets and bytes by any name, and counters of single queues (`rx3_packets`, `tx-4.bytes`, `[2]: rx_ucast_packets`).
fn is_traffic(name: &str) -> bool {
    let has_digit_after = |begin: &str| {
        name.strip_prefix(begin).is_some_and(|rest| {
            rest.trim_start_matches(['-', '_']).starts_with(|letter: char| letter.is_ascii_digit())
        })
    };
    let counts_packets = ["packets", "pkts", "bytes", "_frames", "data", "octets"];
    name.starts_with('[')
        || ["rx", "tx", "ch", "queue", "rx_queue", "tx_queue"].iter().any(|begin| has_digit_after(begin))
        || counts_packets.iter().any(|word| name.contains(word))
            && !["err", "drop", "discard", "bad", "lost", "retrans", "oob", "timeout"]
                .iter()
                .any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_name_has_one_class() {
        let all: Vec<&str> = NAMES.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut once = all.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), all.len(), "a name stands in the table twice");
        for (class, names) in NAMES {
            for name in *names {
                assert_eq!(port_class(&name.replace('*', "3")), Some(*class), "{name}");
            }
        }
        assert_eq!(port_class("rx_prio3_buf_discard"), Some(Drop));
        assert_eq!(port_class("rx3_packets"), Some(Traffic));
        assert_eq!(port_class("tx_vport_rdma_unicast_packets"), Some(Traffic));
        assert_eq!(port_class("frobnication_events"), None);
    }

    proptest! {
        #[test]
        fn any_name_is_classed_or_not(name in ".{0,40}") {
            let _ = (port_class(&name), is_named(&name));
        }
    }
}
