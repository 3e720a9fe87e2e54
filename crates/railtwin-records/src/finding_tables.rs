//! Findings, actions and ground truth as tables of a run folder.
use crate::component::Component;
use crate::fault::Truth;
use crate::finding::{Action, Cost, Finding, Suspect};
use crate::seen::Evidence;
use crate::table::{Column, Table};

/// The tables `findings`, `suspects`, `evidence` and `proposals`; rows of the last three name their finding.
pub fn tables(findings: &[Finding], actions: &[Action]) -> Vec<Table> {
    let text = |name: &str, value: &dyn Fn(&Finding) -> String| {
        let values: Vec<String> = findings.iter().map(value).collect();
        Column::coded(name, values.iter().map(String::as_str))
    };
    let faults =
        |finding: &Finding| finding.faults.iter().map(|fault| fault.name()).collect::<Vec<_>>().join(" ");
    let cost = |value: &dyn Fn(&Cost) -> f64| -> Vec<f64> {
        findings.iter().map(|finding| finding.cost.as_ref().map_or(f64::NAN, value)).collect()
    };
    let found = Table::new(
        "findings",
        vec![
            Column::u64("at_ns", findings.iter().map(|finding| finding.at_ns).collect()),
            Column::u64("since_from_ns", findings.iter().map(|finding| finding.since.from_ns).collect()),
            Column::u64("since_until_ns", findings.iter().map(|finding| finding.since.until_ns).collect()),
            text("syndrome", &|finding| finding.syndrome.name().to_owned()),
            text("faults", &faults),
            Column::f64("confidence", findings.iter().map(|finding| finding.confidence).collect()),
            Column::f64("severity", findings.iter().map(|finding| finding.severity).collect()),
            Column::f64("time_lost_s", cost(&|cost| cost.lost_ns / 1e9)),
            Column::f64("time_lost_share", cost(&|cost| cost.share)),
            text("advice", &|finding| finding.advice.clone()),
        ],
    );
    vec![found, suspects(findings), evidence(findings), proposals_table(actions)]
}

/// Everything of one kind that findings hold, with the row of its finding.
fn of_all<'a, T>(findings: &'a [Finding], parts: impl Fn(&'a Finding) -> &'a [T]) -> Vec<(u32, &'a T)> {
    let rows = findings.iter().enumerate();
    rows.flat_map(|(row, finding)| parts(finding).iter().map(move |part| (row as u32, part))).collect()
}

fn component_columns<'a>(components: impl Iterator<Item = &'a Component> + Clone) -> [Column; 2] {
    [
        Column::coded("component_kind", components.clone().map(Component::kind)),
        Column::coded("component", components.map(Component::name)),
    ]
}

fn suspects(findings: &[Finding]) -> Table {
    let rows: Vec<(u32, &Suspect)> = of_all(findings, |finding| &finding.suspects);
    let mut columns = vec![Column::u32("finding", rows.iter().map(|(row, _)| *row).collect())];
    columns.extend(component_columns(rows.iter().map(|(_, suspect)| &suspect.component)));
    columns.push(Column::f64("share", rows.iter().map(|(_, suspect)| suspect.share).collect()));
    Table::new("suspects", columns)
}

fn evidence(findings: &[Finding]) -> Table {
    let rows: Vec<(u32, &Evidence)> = of_all(findings, |finding| &finding.evidence);
    let words: Vec<String> = rows.iter().map(|(_, line)| line.words()).collect();
    let columns = vec![
        Column::u32("finding", rows.iter().map(|(row, _)| *row).collect()),
        Column::coded("table", rows.iter().map(|(_, line)| line.table)),
        Column::coded("what", words.iter().map(String::as_str)),
        Column::f64("value", rows.iter().map(|(_, line)| line.value).collect()),
        Column::f64("expected", rows.iter().map(|(_, line)| line.expected).collect()),
        Column::coded("unit", rows.iter().map(|(_, line)| line.unit)),
    ];
    Table::new("evidence", columns)
}

fn proposals_table(actions: &[Action]) -> Table {
    let mut columns = vec![
        Column::u32("finding", actions.iter().map(|action| action.finding).collect()),
        Column::coded("kind", actions.iter().map(|action| action.kind.name())),
    ];
    columns.extend(component_columns(actions.iter().map(|action| &action.target)));
    columns.push(Column::coded("reason", actions.iter().map(|action| action.reason.as_str())));
    Table::new("proposals", columns)
}

/// The table `faults`: ground truth of a simulated run.
pub fn faults(truths: &[Truth]) -> Table {
    let mut columns = vec![
        Column::u64("from_ns", truths.iter().map(|truth| truth.from_ns).collect()),
        Column::u64("until_ns", truths.iter().map(|truth| truth.until_ns).collect()),
        Column::coded("kind", truths.iter().map(|truth| truth.kind.name())),
    ];
    columns.extend(component_columns(truths.iter().map(|truth| &truth.component)));
    columns.push(Column::f64("severity", truths.iter().map(|truth| truth.severity).collect()));
    columns.push(Column::coded("source", truths.iter().map(|truth| truth.source.as_str())));
    Table::new("faults", columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ActionKind, FaultKind, Since, Syndrome};

    #[test]
    fn parts_name_their_finding() {
        let suspect = |name: &str| Suspect { component: Component::Host(name.into()), share: 0.5 };
        let finding = |suspects: Vec<Suspect>| Finding {
            at_ns: 2,
            since: Since::between(0, 1),
            syndrome: Syndrome::Crash,
            faults: vec![FaultKind::Crash, FaultKind::Hang],
            suspects,
            confidence: 1.0,
            severity: 1.0,
            cost: None,
            evidence: Vec::new(),
            advice: String::new(),
        };
        let findings = [finding(vec![]), finding(vec![suspect("a"), suspect("b")])];
        let action = Action {
            finding: 1,
            kind: ActionKind::Isolate,
            target: Component::Host("a".into()),
            reason: "it is slow".into(),
        };
        let all = tables(&findings, &[action]);
        let rows: Vec<(&str, usize)> = all.iter().map(|table| (table.name.as_str(), table.rows())).collect();
        assert_eq!(rows, [("findings", 2), ("suspects", 2), ("evidence", 0), ("proposals", 1)]);
        assert_eq!(all[1].columns[0], Column::u32("finding", vec![1, 1]));
        assert_eq!(all[0].columns[4], Column::coded("faults", ["crash hang", "crash hang"]));
    }
}
