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

impl Impairment {
    /// A link without anything wrong, for as long as the run lasts: what one fault changes is written over it.
    pub const fn none(link: LinkId) -> Self {
        Self {
            link,
            from: SimTime::ZERO,
            until: SimTime::NEVER,
            capacity: 1.0,
            loss: 0.0,
            delay: SimTime::ZERO,
        }
    }

    /// Whether it is there at `now`.
    pub fn acts_at(&self, now: SimTime) -> bool {
        self.from <= now && now < self.until
    }
}

/// Share of a link's capacity that carries data once, where a share `loss` of packets is lost and every loss has the
/// sender go back by its `window` of packets: `(1 − p) / (1 − p + p · W)`.
///
/// The efficiency of go-back-N with windows that fill the round trip (Bertsekas and Gallager, Data Networks, 2nd
/// edition, section 2.4.1): a packet takes a time of its own and, with every loss, the window's once more.
pub fn goodput(loss: f64, window: f64) -> f64 {
    let kept = 1.0 - loss;
    kept / (kept + loss * window.max(1.0))
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
        /// In every which step, from the first of the job on; 1 = in each.
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

impl RankFault {
    /// When the first rank of a job hangs, goes or disagrees on sizes for good, of those that `faults` names; the job stands
    /// still from then on.
    pub fn for_good(faults: &[Self], job: u32) -> Option<SimTime> {
        let stops =
            |trouble| matches!(trouble, RankTrouble::Hang | RankTrouble::Gone | RankTrouble::Mismatch);
        let stays = faults.iter().filter(|fault| fault.job == job && fault.until == SimTime::NEVER);
        stays.filter(|fault| stops(fault.trouble)).map(|fault| fault.from).min()
    }

    /// Whether it is there at `now`.
    pub fn acts_at(&self, now: SimTime) -> bool {
        self.from <= now && now < self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_costs_a_window() {
        assert_eq!(goodput(0.0, 1000.0), 1.0);
        assert_eq!(
            goodput(0.25, 1.0),
            0.75,
            "with a window of one packet only the lost packet itself is sent again"
        );
        // One packet in a thousand, and each has 100 sent again: eleven sent for ten that count.
        assert!((goodput(1e-3, 100.0) - 0.999 / 1.099).abs() < 1e-12);
    }
}
