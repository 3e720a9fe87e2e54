//! Pieces of evidence: what befell a run, whom, when, what it cost and how sure that is. Words come after.

/// What is wrong. The order of the kinds is that in which a headline tells them: what ends a job, who is accused,
/// what faults cost, what packets suffered.
#[derive(Clone, PartialEq, Debug)]
pub enum What {
    /// A job never came to its end.
    Stands {
        /// What stopped it.
        cause: Cause,
        /// Operations that never ended.
        unfinished: u64,
    },
    /// So many of the draws of the hash seeds never came to their end; the one that is shown did.
    StandsInDraws {
        /// Draws that never ended.
        draws: u64,
        /// All draws.
        of: u64,
    },
    /// Diagnosis accuses the subject.
    Accused {
        /// What is seen, in words that follow the subject.
        seen: &'static str,
        /// Accusations in the run.
        accusations: u64,
        /// Whether the job stands still by it.
        stands: bool,
    },
    /// A fault acted: its kind, and from when on in seconds; of so many that did.
    Fault {
        /// Name of its kind.
        kind: &'static str,
        /// From when on, seconds.
        from: f64,
        /// Faults that acted in the run.
        of: u64,
    },
    /// Queue pairs waited for so many seconds.
    Stalled(f64),
    /// Steps took longer than those before the fault.
    Lost {
        /// Seconds in all.
        seconds: f64,
        /// The same over the time since the fault began, 0..1; none where that is unknown.
        share: Option<f64>,
    },
    /// A fault begins after the last simulated step.
    Outside {
        /// Name of its kind.
        kind: &'static str,
        /// When it begins, seconds.
        from: f64,
        /// When the last simulated step ended, seconds.
        end: f64,
        /// Faults that do so.
        of: u64,
        /// Whether telemetry covers the first of them.
        watched: bool,
    },
    /// For what queue pairs of the subject waited, in words that follow so many seconds each.
    StallCauses(Vec<(&'static str, f64)>),
    /// Transfers of packets whose last byte never arrived.
    NeverArrived(u64),
    /// Links stood still by pauses for longer than the watchdog allows, or buffers filled beyond the alarm.
    Alarms {
        /// Of pauses.
        pauses: u64,
        /// Of buffers.
        buffers: u64,
    },
    /// The subject, links of one hop, stood still by pauses.
    Paused {
        /// Share of the run, the worst link, 0..1.
        share: f64,
        /// Pause frames of all hops.
        frames: u64,
    },
    /// Data packets were sent again.
    SentAgain {
        /// Packets sent again.
        again: u64,
        /// All data packets sent.
        sent: u64,
        /// Those dropped for want of room.
        dropped: u64,
        /// Those lost to dead cables and lossy links.
        lost: u64,
        /// Local ACK timeouts.
        timeouts: u64,
    },
}

/// Why a job never came to its end.
#[derive(Clone, PartialEq, Debug)]
pub enum Cause {
    /// A queue pair died at the evidence's time; the last cable that went down before it waited, and when.
    QueuePair(Option<(String, f64)>),
    /// A rank is in trouble: its name, what it does, and from when on.
    Rank(String, &'static str, f64),
    /// A cable is down since then, and nothing leads around it.
    Cable(String, f64),
    /// Simulated time came to its end.
    TimeUp,
    /// Nothing in the run tells.
    Unknown,
}

/// One piece of evidence.
#[derive(Clone, PartialEq, Debug)]
pub struct Evidence {
    /// Who or what it befell.
    pub subject: String,
    /// What befell it.
    pub what: What,
    /// What it cost: share of the run, 0..1; 1 for what never ends.
    pub cost: f64,
    /// When, in seconds of the run; none where it is of the whole run.
    pub at: Option<f64>,
    /// How sure, 0..1: 1 for what the engine itself recorded.
    pub certainty: f64,
}

impl Cause {
    /// Whether it names who or what did it.
    pub const fn is_named(&self) -> bool {
        matches!(self, Self::QueuePair(Some(_)) | Self::Rank(..) | Self::Cable(..))
    }
}

impl What {
    /// Place in the order of kinds.
    const fn kind(&self) -> u8 {
        match self {
            Self::Stands { .. } => 0,
            Self::Accused { stands: true, .. } => 1,
            Self::StandsInDraws { .. } => 2,
            Self::Accused { .. } => 3,
            Self::Fault { .. } | Self::Outside { .. } => 4,
            Self::Stalled(_) | Self::StallCauses(_) | Self::Lost { .. } => 5,
            Self::NeverArrived(_) => 6,
            Self::Alarms { .. } | Self::Paused { .. } | Self::SentAgain { .. } => 7,
        }
    }

    /// Whether a job does not end, so that times and rates of its steps say nothing.
    pub const fn stands(&self) -> bool {
        matches!(self, Self::Stands { .. } | Self::Accused { stands: true, .. })
    }
}

/// Orders evidence, the worst first: by kind; of jobs that stand the first to do so; then by cost and certainty.
pub fn rank(evidence: &mut [Evidence]) {
    let since = |e: &Evidence| e.at.filter(|_| e.what.stands()).unwrap_or(f64::INFINITY);
    evidence.sort_by(|a, b| {
        (a.what.kind().cmp(&b.what.kind()))
            .then(since(a).total_cmp(&since(b)))
            .then((b.cost * b.certainty).total_cmp(&(a.cost * a.certainty)))
            .then_with(|| a.subject.cmp(&b.subject))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(subject: &str, what: What, cost: f64, at: Option<f64>) -> Evidence {
        Evidence { subject: subject.to_owned(), what, cost, at, certainty: 1.0 }
    }

    #[test]
    fn what_ends_a_job_comes_first_and_cost_decides_among_equals() {
        let stands = || What::Stands { cause: Cause::Unknown, unfinished: 1 };
        let accused = |stands| What::Accused { seen: "is late", accusations: 1, stands };
        let mut all = [
            piece("pauses", What::Paused { share: 0.9, frames: 1 }, 0.9, None),
            piece("faults", What::Stalled(1.0), 0.1, None),
            piece("slow", accused(false), 0.2, Some(0.5)),
            piece(
                "again",
                What::SentAgain { again: 1, sent: 2, dropped: 1, lost: 0, timeouts: 0 },
                0.95,
                None,
            ),
            piece("late", stands(), 1.0, Some(9.0)),
            piece("hang", accused(true), 1.0, Some(1.0)),
            piece("first", stands(), 1.0, Some(2.0)),
        ];
        rank(&mut all);
        let order: Vec<&str> = all.iter().map(|evidence| evidence.subject.as_str()).collect();
        assert_eq!(order, ["first", "late", "hang", "slow", "faults", "again", "pauses"]);
    }
}
