//! Faults that leave a thing running, but worse: links that carry less, ranks that come late or not at all.
use railtwin_fabric::LinkId;
use railtwin_units::SimTime;

/// What is wrong with one link, one direction of a cable, for a while.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Impairment {
    /// Which link.
    pub link: LinkId,
    /// First moment.
    pub from: SimTime,
    /// When it is gone; [`SimTime::NEVER`] when it stays.
    pub until: SimTime,
    /// Share of its capacity that it has, 0..1; 1 where it has all.
    pub capacity: f64,
    /// Probability that it loses or damages a packet, 0..1.
    pub loss: f64,
    /// Time that it adds to every packet.
    pub delay: SimTime,
}

/// What is wrong with a rank.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum RankTrouble {
    /// Its computations take so many times as long.
    Slow(f64),
    /// It begins every step so much later: data, or a checkpoint every so many steps.
    Late {
        /// By how much.
        time: SimTime,
        /// In every which step; 1 = in each.
        every: u32,
    },
    /// It lives and enters nothing more.
    Hang,
    /// Its process is gone: its queue pairs do not answer.
    Gone,
    /// It hands another number of bytes to every collective: what it is in never ends.
    Mismatch,
}

/// A rank in trouble for a while.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RankFault {
    /// Row of the job.
    pub job: u32,
    /// The rank.
    pub rank: u32,
    /// First moment.
    pub from: SimTime,
    /// When it is gone; [`SimTime::NEVER`] when it stays.
    pub until: SimTime,
    /// What.
    pub trouble: RankTrouble,
}
