//! What findings cost the job: time lost against the state before, by the steps that telemetry saw.
use railtwin_records::{Cost, Finding};

/// Steps of the observed job in order, each as begin and end in nanoseconds, and the end of observation.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StepTimes {
    steps: Vec<(u64, u64)>,
    /// When observation ended, where the job stood still by then; else the end of its last step.
    end_ns: u64,
}

impl StepTimes {
    /// The steps; `stuck_until_ns` where the job stands still behind them until observation ends.
    pub fn new(steps: Vec<(u64, u64)>, stuck_until_ns: Option<u64>) -> Self {
        let last_ns = steps.last().map_or(0, |step| step.1);
        Self { steps, end_ns: stuck_until_ns.unwrap_or(last_ns).max(last_ns) }
    }

    /// Gives every finding its cost. The state before it lies after the last accusation that came earlier, and its own
    /// time ends where the next one begins, so that each is priced once.
    pub fn price(&self, findings: &mut [Finding]) {
        let spans: Vec<(u64, u64)> = findings
            .iter()
            .filter(|finding| finding.accuses())
            .map(|finding| (finding.since.from_ns, finding.since.until_ns))
            .collect();
        for finding in findings {
            let since = finding.since;
            let before = spans.iter().filter(|span| span.1 <= since.from_ns).map(|span| span.1).max();
            let next = spans.iter().map(|span| span.0).filter(|&next| next > since.until_ns).min();
            let cost = self.cost((before.unwrap_or(0), since.from_ns), (since.until_ns, next));
            finding.cost = cost.or_else(|| self.cost((0, since.from_ns), (since.until_ns, next)));
        }
    }

    /// Nanoseconds of the steps before the fault where it began within the first window that was seen: those before the
    /// split of the steps from `from_ns` on that leaves the least squares about two means, the first of which ends by
    /// `until_ns`.
    fn before_change(&self, from_ns: u64, until_ns: u64) -> Vec<f64> {
        let own: Vec<f64> =
            self.steps.iter().filter(|step| step.0 >= from_ns).map(|step| (step.1 - step.0) as f64).collect();
        let most = self.steps.iter().filter(|step| step.0 >= from_ns && step.1 <= until_ns).count();
        let whole: f64 = own.iter().sum();
        let mut head = 0.0;
        // The squares about the means are least where the sum of each part's total squared over its length is most.
        let splits = (1..own.len()).map(|at| {
            head += own[at - 1];
            let (first, second) = (at as f64, (own.len() - at) as f64);
            (at, head * head / first + (whole - head) * (whole - head) / second)
        });
        let best = splits.take(most).reduce(|a, b| if b.1 > a.1 { b } else { a });
        best.map_or_else(Vec::new, |(at, _)| own[..at].to_vec())
    }

    /// The cost of what began between the end of `before` and the begin of `after`; none without a step in `before`, or
    /// where no time was observed in `after`.
    fn cost(&self, before: (u64, u64), after: (u64, Option<u64>)) -> Option<Cost> {
        let took = |step: &(u64, u64)| (step.1 - step.0) as f64;
        let mut known: Vec<f64> =
            self.steps.iter().filter(|step| step.0 >= before.0 && step.1 <= before.1).map(took).collect();
        if known.is_empty() {
            known = self.before_change(before.0, after.0);
        }
        let usual_ns = known.iter().sum::<f64>() / known.len() as f64;
        if known.is_empty() || usual_ns <= 0.0 {
            return None;
        }
        let end_ns = after.1.unwrap_or(self.end_ns).min(self.end_ns);
        let later: Vec<&(u64, u64)> =
            self.steps.iter().filter(|step| step.0 >= after.0 && step.1 <= end_ns).collect();
        // Where the job stands still, the time behind its last step belongs to no step.
        let last_ns = self.steps.last().map_or(0, |step| step.1);
        let idle_ns = if end_ns > last_ns { (end_ns - last_ns.max(before.1)) as f64 } else { 0.0 };
        let passed_ns = later.iter().map(|step| took(step)).sum::<f64>() + idle_ns;
        if passed_ns <= 0.0 {
            return None;
        }
        let share = (1.0 - later.len() as f64 * usual_ns / passed_ns).max(0.0);
        let since = self.steps.iter().filter(|step| step.1 > before.1 && step.1 <= end_ns);
        let lost_ns = since.map(|step| took(step) - usual_ns).sum::<f64>() + idle_ns;
        Some(Cost { lost_ns: lost_ns.max(0.0), share })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin_records::{Component, FaultKind, Since, Suspect, Syndrome};

    fn finding(from_ns: u64, until_ns: u64) -> Finding {
        Finding {
            at_ns: until_ns,
            since: Since::between(from_ns, until_ns),
            syndrome: Syndrome::CommunicationSlow,
            faults: vec![FaultKind::Slow],
            suspects: vec![Suspect { component: Component::Host("a".into()), share: 1.0 }],
            confidence: 1.0,
            severity: 0.5,
            cost: None,
            evidence: vec![],
            advice: String::new(),
        }
    }

    /// Steps one after the other that take so long each.
    fn steps(lengths: &[u64]) -> Vec<(u64, u64)> {
        let mut now = 0;
        let step = |&length: &u64| {
            let step = (now, now + length);
            now += length;
            step
        };
        lengths.iter().map(step).collect()
    }

    fn priced(times: &StepTimes, mut findings: Vec<Finding>) -> Vec<Option<(f64, f64)>> {
        times.price(&mut findings);
        findings.iter().map(|finding| finding.cost.map(|cost| (cost.lost_ns, cost.share))).collect()
    }

    #[test]
    fn a_cost_is_what_steps_take_longer_than_those_before() {
        // The fault begins within the third step.
        let times = StepTimes::new(steps(&[100, 100, 120, 125, 125, 125]), None);
        assert_eq!(priced(&times, vec![finding(200, 320)]), [Some((95.0, 1.0 - 0.8))]);
        assert_eq!(priced(&times, vec![finding(200, 695)]), [None], "nothing was seen after");
    }

    #[test]
    fn steps_before_a_fault_in_the_first_window_are_found_by_their_length() {
        let times = StepTimes::new(steps(&[100, 101, 99, 125, 125, 125, 125]), None);
        let [Some((lost, share))] = priced(&times, vec![finding(0, 425)])[..] else { panic!("no cost") };
        assert!((share - 0.2).abs() < 1e-9 && (lost - 100.0).abs() < 1e-9, "{lost} {share}");
    }

    #[test]
    fn a_job_that_stands_still_loses_all_time_since() {
        let times = StepTimes::new(steps(&[100, 100]), Some(900));
        assert_eq!(priced(&times, vec![finding(100, 210)]), [Some((700.0, 1.0))]);
    }

    #[test]
    fn each_of_two_faults_is_priced_against_the_state_before_it() {
        let times = StepTimes::new(steps(&[100, 100, 200, 200, 200, 400, 400, 400]), None);
        let costs = priced(&times, vec![finding(200, 400), finding(800, 1200)]);
        assert_eq!(costs, [Some((300.0, 0.5)), Some((600.0, 0.5))]);
    }
}
