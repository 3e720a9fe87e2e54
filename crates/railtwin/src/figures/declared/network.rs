//! Figures of the network and of the run as a whole, of drawn faults, of diagnosis and of sweeps.
use super::declare;

declare! {
    NETWORK: Run, Both;
    /// Utilization of the most used link between NICs, mean over the run.
    WORST_LINK_UTILIZATION = "worst_link_utilization": Share, Less;
    /// Utilization of the least used uplink of a leaf that carries anything, mean over run and replicates; where no
    /// job computes.
    LEAF_UPLINK_UTILIZATION_MIN = "leaf_uplink_utilization_min": Share, Neither;
    /// Utilization of the uplinks of leaves that carry anything, mean over uplinks, run and replicates; where
    /// no job computes.
    LEAF_UPLINK_UTILIZATION_MEAN = "leaf_uplink_utilization_mean": Share, Neither;
    /// Utilization of the most used uplink of a leaf, mean over run and replicates; where no job computes.
    LEAF_UPLINK_UTILIZATION_MAX = "leaf_uplink_utilization_max": Share, Neither;
    /// Operations of all jobs that never ended, in the worst replicate.
    OPERATIONS_UNFINISHED = "operations_unfinished": Count, Less;
    /// Time there and back of the slowest probed path, the median of its packets in one survey; where controllers probe.
    PROBE_DELAY_MAX = "probe_delay_max": Seconds, Less;
    /// Flows on the most loaded uplink of a leaf over the mean of its uplinks, mean over leaves and draws.
    LEAF_UPLINK_MAX_MEAN_RATIO = "leaf_uplink_max_mean_ratio": Ratio, Less;
    /// Bytes on the most loaded link of a switch over the mean of its links that way, mean over switches that
    /// carry anything.
    MAX_MEAN_RATIO = "max_mean_ratio_<links>": Ratio, Less;
    /// Flows before any fault on the most loaded link of a switch over the mean of its links that way, mean
    /// over switches that carry anything.
    MAX_MEAN_RATIO_FLOWS = "max_mean_ratio_<links>_flows": Ratio, Less;
    /// Bytes to the busiest port of a NIC over those to its idlest, mean over NICs with several ports that all get some.
    NIC_PORT_RATIO_MEAN = "nic_port_ratio_mean": Ratio, Less;
    /// Bytes to the busiest port of a NIC over those to its idlest, median over NICs.
    NIC_PORT_RATIO_MEDIAN = "nic_port_ratio_median": Ratio, Less;
    /// Bytes to the busiest port of a NIC over those to its idlest, 95th percentile over NICs.
    NIC_PORT_RATIO_P95 = "nic_port_ratio_p95": Ratio, Less;
    /// Bytes to the busiest port of a NIC over those to its idlest, of the most uneven NIC.
    NIC_PORT_RATIO_MAX = "nic_port_ratio_max": Ratio, Less;
    /// Part of the NICs that get bytes, but none on one of their ports.
    NIC_PORT_IDLE = "nic_port_idle": Share, Less;
    /// Bytes over what the most used link there could carry while operations that cross it were in flight, of
    /// the costliest axis or of all.
    UTILIZATION_IN_FLIGHT = "utilization_in_flight_<place>": Share, Neither;
    /// Utilization in flight of the least used port of the NIC that the most used port is of.
    UTILIZATION_IN_FLIGHT_LEAST = "utilization_in_flight_<place>_least": Share, Neither;
    /// Bus bandwidth over the cap that hosts set on a collective, of the one nearest to its cap.
    UTILIZATION_IN_FLIGHT_HOST_CAP = "utilization_in_flight_host_cap": Share, Neither;
    /// Part of the time of operations in flight that hops and stages take whatever the bytes.
    LATENCY_SHARE_IN_FLIGHT = "latency_share_in_flight": Share, Neither;
}

declare! {
    DRAWN: Run, Both;
    /// Faults that `[failures]` drew, in the whole window.
    FAULTS_DRAWN = "faults_drawn": Count, Neither;
    /// Faults that the rates of `[failures]` give on average.
    FAULTS_EXPECTED = "faults_expected": Count, Neither;
    /// Drawn faults of one kind.
    DRAWN_KIND = "drawn_<kind>": Count, Neither;
}

declare! {
    DIAGNOSIS: Run, Diagnosis;
    /// Findings in the telemetry of the run.
    FINDINGS = "findings": Count, Neither;
    /// Findings that name somebody and are no collision.
    ACCUSATIONS = "accusations": Count, Neither;
    /// Part of the injected faults that an accusation names; with faults.
    TRUTH_IN_SET = "truth_in_set": Share, More;
    /// Time from a fault to the accusation that names it, the last of several; with faults.
    FOUND_AFTER = "found_after": Seconds, Less;
}

declare! {
    GAIN: Sweep, Gain;
    /// The least gain over all combinations of the other axes.
    GAIN_MIN = "gain_min": Share, More;
    /// The mean gain over all combinations of the other axes.
    GAIN_MEAN = "gain_mean": Share, More;
    /// The largest gain over all combinations of the other axes.
    GAIN_MAX = "gain_max": Share, More;
    /// Difference of the figure between a point and its base, as a share of the base; positive where the point is better.
    GAIN_OF_POINT = "gain[<point>]": Share, More;
}
