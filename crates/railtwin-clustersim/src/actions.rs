//! What was decided about jobs of weeks: who runs where, who moves, whose communication goes first and by which paths.

/// One decision that took effect.
#[derive(Clone, Debug, PartialEq)]
pub struct JobAction {
    /// Seconds from the begin when it was decided.
    pub decided: f64,
    /// Seconds from the begin from when on it holds.
    pub effective: f64,
    /// Who decided: the policy of queue or sharing, or a controller by its name.
    pub controller: &'static str,
    /// Why, in a word.
    pub reason: &'static str,
    /// Number of the job in the order of the question.
    pub job: usize,
    /// What.
    pub deed: Deed,
}

/// What is decided about a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It gets these GPUs, by (host, GPU) in the order of ranks, in place of those that it had; none before it started.
    Place {
        /// Those that it had.
        before: Vec<(u32, u32)>,
        /// Those that it has then.
        after: Vec<(u32, u32)>,
    },
    /// Its communication goes by this level, 0 first.
    Level {
        /// That of the plan before; none for a job that no plan has had.
        before: Option<u32>,
        /// That of this plan.
        after: u32,
    },
    /// So many of its transfers go by other paths.
    Paths(u32),
}

/// A job that starts.
#[derive(Clone, Debug)]
pub(crate) struct Started<P> {
    /// Its number.
    pub job: usize,
    /// Where.
    pub places: P,
    /// Who says so.
    pub controller: &'static str,
    /// Why.
    pub reason: &'static str,
}
