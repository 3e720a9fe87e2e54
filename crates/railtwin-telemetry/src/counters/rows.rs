//! How a counter moves: what it stands at by itself, and laws that change it for a while.

/// A change of a counter, for a while.
#[derive(Clone, Copy, Debug)]
pub(super) enum Law {
    /// Grows by so much a second.
    Grows { from_ns: u64, until_ns: u64, per_s: f64 },
    /// Grows at once.
    Leaps { at_ns: u64, by: f64 },
    /// A gauge that stands elsewhere.
    Stands { from_ns: u64, until_ns: u64, at: f64 },
}

/// One counter of one entity.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// Value without laws.
    pub(super) rest: f64,
    pub(super) laws: Vec<Law>,
    pub(super) told: Option<f64>,
}

impl Row {
    /// What it shows at a moment.
    pub(super) fn value(&self, now_ns: u64) -> f64 {
        let mut value = self.rest;
        for law in &self.laws {
            match *law {
                Law::Grows { from_ns, until_ns, per_s } => {
                    value += now_ns.min(until_ns).saturating_sub(from_ns) as f64 * 1e-9 * per_s;
                }
                Law::Leaps { at_ns, by } if at_ns <= now_ns => value += by,
                Law::Stands { from_ns, until_ns, at } if from_ns <= now_ns && now_ns < until_ns => value = at,
                Law::Leaps { .. } | Law::Stands { .. } => {}
            }
        }
        if self.laws.iter().any(|law| matches!(law, Law::Stands { .. })) { value } else { value.floor() }
    }
}
