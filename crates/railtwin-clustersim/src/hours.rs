//! What is summed hour by hour.
use crate::lived::Hour;

const HOUR: f64 = 3600.0;

/// Hours of a span.
#[derive(Debug)]
pub(crate) struct Hours {
    pub hours: Vec<Hour>,
    span: f64,
}

impl Hours {
    pub(crate) fn new(span: f64) -> Self {
        Self { hours: vec![Hour::default(); (span / HOUR).ceil().max(1.0) as usize], span }
    }

    /// Adds `amount` evenly over the time from `from` to `to`; what lies beyond the span is not counted.
    pub(crate) fn add(&mut self, (from, to): (f64, f64), amount: f64, of: fn(&mut Hour) -> &mut f64) {
        let to_within = to.min(self.span);
        if to <= from || to_within <= from {
            return;
        }
        let rate = amount / (to - from);
        let mut at = from;
        while at < to_within {
            let hour = ((at / HOUR) as usize).min(self.hours.len() - 1);
            let end = if hour + 1 == self.hours.len() { to_within } else { (hour + 1) as f64 * HOUR };
            let end = end.min(to_within);
            *of(&mut self.hours[hour]) += rate * (end - at);
            at = if end > at { end } else { to_within };
        }
    }
}
