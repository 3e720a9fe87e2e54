//! Thresholds of the rules, each with its reason. What all detectors share stands in [`crate::Settings`].

/// The thresholds. Growth is that of one window and the one before.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// Window over which totals grow: counters are read every second or so, and a fault should be found within tens
    /// of seconds (C4 section IV-B1).
    pub window_ns: u64,
    /// Window over which the share of paused time is taken: as long as counters are commonly apart.
    pub pause_window_ns: u64,
    /// Out-of-sequence packets below which a NIC is left alone: a lossless network has none, and one that reroutes
    /// makes a few.
    pub out_of_sequence: f64,
    /// Local ACK timeouts below which a NIC is left alone: each stalls a queue pair for its whole timeout, so few are
    /// many; one or two come with any rerouting.
    pub ack_timeouts: f64,
    /// Damaged packets below which a port is left alone. Forward error correction hides single bits, so a healthy
    /// port counts next to none.
    pub receive_errors: f64,
    /// NVLink errors below which a GPU is left alone: a link retries one by itself.
    pub nvlink_errors: f64,
    /// Drops below which a switch is left alone: none are expected where the network is lossless (Meta RoCE 6.3.2).
    pub drops: f64,
    /// Losses of link in a window that make it a flap rather than one loss that healed.
    pub flaps: f64,
    /// Ports of one device in trouble that make it the device, where they are also more than half of those read.
    pub ports: usize,
    /// Share by which a GPU's clock may stand below the median of its peers: boost clocks differ by a few hundredths
    /// from chip to chip.
    pub clock_share: f64,
    /// Share of the peers' median below which a GPU idles rather than throttles.
    pub idle_clock_share: f64,
    /// Readings of a clock in a row that make it low.
    pub clock_readings: u32,
    /// Degrees Celsius from which heat explains a low clock: chips of data centres slow down at 83 to 90.
    pub hot_celsius: f64,
    /// How long the others of a job must outlive a process before its end is no common end of the job.
    pub outlive_ns: u64,
    /// Rounds of probes from which a baseline is learnt.
    pub learn_rounds: usize,
    /// Rounds whose median is held against the baseline, and over which losses are summed.
    pub rounds: usize,
    /// Share of lost probes from which a path is bad. RoCE loses no packet when all is well.
    pub loss_share: f64,
    /// Lost probes below which a path is left alone.
    pub lost_probes: u32,
    /// Probes that must all be lost before a path is dead.
    pub dead_probes: u32,
    /// Time without an end of any operation after which the elastic agent of PyTorch kills a job (C4 section IV-B1).
    pub elastic_ns: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            window_ns: 10_000_000_000,
            pause_window_ns: 1_000_000_000,
            out_of_sequence: 10.0,
            ack_timeouts: 3.0,
            receive_errors: 10.0,
            nvlink_errors: 10.0,
            drops: 10.0,
            flaps: 2.0,
            ports: 3,
            clock_share: 0.1,
            idle_clock_share: 0.35,
            clock_readings: 3,
            hot_celsius: 83.0,
            outlive_ns: 2_000_000_000,
            learn_rounds: 16,
            rounds: 5,
            loss_share: 0.01,
            lost_probes: 3,
            dead_probes: 10,
            elastic_ns: 1_800_000_000_000,
        }
    }
}
