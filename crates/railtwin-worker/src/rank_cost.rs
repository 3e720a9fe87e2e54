//! The cost of recording.

/// CPU time of recording in a rank for each step, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankCost {
    /// The rank.
    pub rank: usize,
    /// Steps that it ran.
    pub steps: u64,
    /// Events and readings of the clock in the rank: their calibrated CPU time times their number.
    pub rank_ns: u64,
    /// CPU time of the observer's process: events, heartbeats, TCP_INFO, pings, files.
    pub observer_ns: u64,
    /// Time of a step.
    pub step_ns: u64,
}

impl RankCost {
    /// Both costs over the time of a step.
    pub fn share(&self) -> f64 {
        (self.rank_ns + self.observer_ns) as f64 / self.step_ns.max(1) as f64
    }

    /// One line, which [`RankCost::parse`] reads.
    pub fn line(&self) -> String {
        let Self { rank, steps, rank_ns, observer_ns, step_ns } = self;
        format!("cost {rank} {steps} {rank_ns} {observer_ns} {step_ns}")
    }

    /// Reads a line that [`RankCost::line`] made.
    pub fn parse(line: &str) -> Option<Self> {
        let mut numbers = line.strip_prefix("cost ")?.split(' ').map(str::parse);
        let mut next = || numbers.next()?.ok();
        let rank = next()? as usize;
        Some(Self { rank, steps: next()?, rank_ns: next()?, observer_ns: next()?, step_ns: next()? })
    }
}
