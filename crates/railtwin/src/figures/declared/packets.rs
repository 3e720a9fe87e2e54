//! Figures of what packets left behind, of the replicate with the median step time.
use super::declare;

declare! {
    PACKETS: Run, Packet;
    /// Flow completion time, from the first message handed to the NIC until the last byte arrived: mean over transfers.
    FCT_MEAN = "fct_mean": Seconds, Less;
    /// The median flow completion time.
    FCT_P50 = "fct_p50": Seconds, Less;
    /// The 99th percentile of flow completion times.
    FCT_P99 = "fct_p99": Seconds, Less;
    /// The longest flow completion time.
    FCT_MAX = "fct_max": Seconds, Less;
    /// Transfers that began and whose last byte never arrived, without those of jobs that were ended as `until` or `duration`
    /// asked.
    PACKET_FLOWS_UNFINISHED = "packet_flows_unfinished": Count, Less;
    /// Packets that crossed a link, each counted on each link.
    PACKET_HOPS = "packet_hops": Count, Neither;
    /// Data packets sent by NICs, those sent again included.
    PACKETS_SENT = "packets_sent": Count, Neither;
    /// Data packets sent again.
    PACKETS_SENT_AGAIN = "packets_sent_again": Count, Less;
    /// Packets dropped for want of room.
    PACKETS_DROPPED = "packets_dropped": Count, Less;
    /// Packets lost to dead cables, lossy links and for want of a route.
    PACKETS_LOST = "packets_lost": Count, Less;
    /// Data packets marked (ECN) at least once.
    PACKETS_MARKED = "packets_marked": Count, Neither;
    /// Data packets that lost their payload in a switch.
    PACKETS_TRIMMED = "packets_trimmed": Count, Less;
    /// Data packets that arrived with a gap before them.
    OUT_OF_SEQUENCE = "out_of_sequence": Count, Less;
    /// Local ACK timeouts.
    ACK_TIMEOUTS = "ack_timeouts": Count, Less;
    /// Packets sent again because nothing had been heard for two round trips (tail loss probes).
    PROBES = "probes": Count, Less;
    /// Most bytes on the wire from a packet that is missing to the last one that is there, of a queue pair: what a receiver
    /// keeps out of order.
    REORDER_BYTES_MAX = "reorder_bytes_max": Bytes, Less;
    /// Time for which nothing but the reorder bound kept queue pairs from sending, over all of them.
    REORDER_HELD_TIME = "reorder_held_time": Seconds, Less;
    /// Congestion notification packets.
    CNPS = "cnps": Count, Neither;
    /// Pause frames, renewals included.
    PAUSE_FRAMES = "pause_frames": Count, Less;
    /// Pause frames that renewed a pause before it ran out.
    PAUSE_RENEWALS = "pause_renewals": Count, Less;
    /// Pause frames of no time (XON), which let a port go on.
    RESUME_FRAMES = "resume_frames": Count, Less;
    /// Pause frames by sender and receiver: against the direction of the link that they stop.
    PAUSE_FRAMES_HOP = "pause_frames_<hop>": Count, Less;
    /// Part of the run that pauses held the worst link, by sender and receiver of the frames.
    PAUSED_SHARE_MAX = "paused_share_<hop>_max": Share, Less;
    /// Part of the run that pauses held links, mean over those that carried anything, by sender and receiver
    /// of the frames.
    PAUSED_SHARE_MEAN = "paused_share_<hop>_mean": Share, Less;
    /// Most bytes that waited for one link, by the tier where they wait and the way that it leads.
    QUEUE_BYTES_MAX = "queue_bytes_max_<queue>": Bytes, Less;
    /// Most bytes in the buffer of a switch of the tier, of the fullest one.
    BUFFER_BYTES_MAX = "<tier>_buffer_bytes_max": Bytes, Less;
    /// Most bytes in the buffer of a switch of the tier, mean over switches.
    BUFFER_BYTES_MEAN = "<tier>_buffer_bytes_mean": Bytes, Less;
    /// Bytes that wait at leaves for a port of a NIC with several, mean over the run and over ports.
    NIC_PORT_QUEUE_MEAN = "nic_port_queue_mean": Bytes, Less;
    /// Bytes that wait at leaves for the port of a NIC with most, mean over the run and over NICs.
    NIC_PORT_QUEUE_LONGEST = "nic_port_queue_longest": Bytes, Less;
    /// Bytes that wait at leaves for the port of a NIC with least, mean over the run and over NICs.
    NIC_PORT_QUEUE_SHORTEST = "nic_port_queue_shortest": Bytes, Less;
    /// Bytes that wait at leaves for the port with most of all, mean over the run.
    NIC_PORT_QUEUE_WORST = "nic_port_queue_worst": Bytes, Less;
    /// Congestion notification packets a second, mean over NIC ports that sent anything.
    CNPS_PER_NIC_PORT = "cnps_per_nic_port_per_s": PerSecond, Neither;
    /// The least round trip: from sending a data packet until its acknowledgement is there.
    ROUND_TRIP_MIN = "round_trip_min": Seconds, Less;
    /// The median round trip.
    ROUND_TRIP_P50 = "round_trip_p50": Seconds, Less;
    /// The 90th percentile of round trips.
    ROUND_TRIP_P90 = "round_trip_p90": Seconds, Less;
    /// The 99th percentile of round trips.
    ROUND_TRIP_P99 = "round_trip_p99": Seconds, Less;
    /// Bandwidth-delay product: least round trip times the rate of the fastest NIC port, which has to have
    /// that in flight.
    BANDWIDTH_DELAY_BYTES = "bandwidth_delay_bytes": Bytes, Neither;
    /// Bandwidth-delay product over the bytes of the largest message.
    BANDWIDTH_DELAY_MESSAGES = "bandwidth_delay_messages": Count, Neither;
    /// Time that a message waited at its sender for clearance, the median.
    CLEARANCE_WAIT_P50 = "clearance_wait_p50": Seconds, Less;
    /// Time that a message waited at its sender for clearance, the 90th percentile.
    CLEARANCE_WAIT_P90 = "clearance_wait_p90": Seconds, Less;
    /// Time that a message waited at its sender for clearance, the mean.
    CLEARANCE_WAIT_MEAN = "clearance_wait_mean": Seconds, Less;
}
