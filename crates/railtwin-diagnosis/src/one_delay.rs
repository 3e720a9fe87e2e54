//! One delay, seen in two ways: beside a path's own baseline, and beside other hosts.
use railtwin_records::{FaultKind, Finding, Syndrome};

/// Findings of longer delays of one component as one: what a path takes beside its own baseline and what a host takes beside
/// others and theirs are seen in the same probes, so that both together are no surer than the surer. The first stays, with
/// the evidence of both.
pub fn of_one_delay(findings: Vec<Finding>) -> Vec<Finding> {
    use Syndrome::{CommunicationSlow, Latency};
    let is_delay = |finding: &Finding| match finding.syndrome {
        Latency => true,
        CommunicationSlow => finding.faults.first() == Some(&FaultKind::Latency),
        _ => false,
    };
    let mut kept: Vec<Finding> = Vec::new();
    for finding in findings {
        let one = |known: &&mut Finding| {
            let same = matches!(
                (&known.suspects[..], &finding.suspects[..]),
                ([a], [b]) if a.component == b.component
            );
            same && known.syndrome != finding.syndrome && is_delay(known) && is_delay(&finding)
        };
        let Some(known) = kept.iter_mut().find(one) else {
            kept.push(finding);
            continue;
        };
        let (mut first, second) = match known.syndrome {
            Latency => (known.clone(), finding),
            _ => (finding, known.clone()),
        };
        first.faults.extend(
            second.faults.iter().filter(|fault| !first.faults.contains(fault)).copied().collect::<Vec<_>>(),
        );
        first.confidence = first.confidence.max(second.confidence);
        first.severity = first.severity.max(second.severity);
        first.suspects[0].share = first.suspects[0].share.max(second.suspects[0].share);
        first.evidence.extend(second.evidence);
        *known = first;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::tests::finding;
    use railtwin_records::seen::ProbeSeen;
    use railtwin_records::{Component, Evidence};

    #[test]
    fn longer_delays_of_one_component_are_one_finding_and_no_surer() {
        let line = |table: &'static str| {
            let seen = ProbeSeen::SharedDelay { paths: 2, loaded: false };
            Evidence { table, ..Evidence::new(seen, 2.0, 1.0) }
        };
        let host = |name: &str| [Component::Host(name.into())];
        let beside = Finding {
            confidence: 0.9,
            faults: vec![FaultKind::Latency],
            evidence: vec![line("probes")],
            ..finding(Syndrome::Latency, &host("a"))
        };
        let like = |name: &str, fault: FaultKind| Finding {
            faults: vec![fault, FaultKind::Slow],
            severity: 0.5,
            cost: None,
            evidence: vec![line("baseline")],
            ..finding(Syndrome::CommunicationSlow, &host(name))
        };
        for both in [
            vec![beside.clone(), like("a", FaultKind::Latency)],
            vec![like("a", FaultKind::Latency), beside.clone()],
        ] {
            let told = of_one_delay(both);
            let tables: Vec<&str> = told[0].evidence.iter().map(|line| line.table).collect();
            assert_eq!((told.len(), told[0].syndrome, told[0].confidence), (1, Syndrome::Latency, 0.9));
            assert_eq!((tables, told[0].severity), (vec!["probes", "baseline"], 0.5));
        }
        // Another host, and one that carries less, are other matters.
        assert_eq!(of_one_delay(vec![beside.clone(), like("b", FaultKind::Latency)]).len(), 2);
        assert_eq!(of_one_delay(vec![beside, like("a", FaultKind::Slow)]).len(), 2);
    }
}
