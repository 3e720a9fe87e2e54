//! Rules of the lossless class.
use std::collections::BTreeSet;

use super::settings::{ConfigSettings, QosSettings};
use super::{ConfigFinding, ConfigRule};

pub(super) fn findings(settings: &ConfigSettings) -> Vec<ConfigFinding> {
    let mut findings = Vec::new();
    for qos in &settings.qos {
        of_one(qos, &mut findings);
    }
    differences(settings, &mut findings);
    findings
}

fn of_one(qos: &QosSettings, findings: &mut Vec<ConfigFinding>) {
    let classes: BTreeSet<u32> = qos.lossless.iter().copied().collect();
    if classes.len() != 1 {
        let value = if classes.is_empty() {
            "no lossless class".to_owned()
        } else {
            format!("lossless {}", list(&classes))
        };
        findings.push(ConfigFinding::new(ConfigRule::OneLosslessClass, &qos.on, value, "one lossless class"));
    }
    if !classes.is_empty() && !qos.watchdog {
        let value = "pauses without a watchdog";
        findings.push(ConfigFinding::new(ConfigRule::PfcWatchdog, &qos.on, value, "a watchdog of 200 ms"));
    }
    let marks = [("ecn_min", qos.ecn_min), ("ecn_max", qos.ecn_max)];
    let Some(pfc) = qos.pfc else { return };
    for (key, mark) in marks {
        if let Some(mark) = mark.filter(|mark| *mark >= pfc) {
            let (value, accepted) = (format!("{key} {mark}, pauses at {pfc}"), format!("{key} below {pfc}"));
            findings.push(ConfigFinding::new(ConfigRule::EcnBelowPfc, &qos.on, value, accepted));
        }
    }
}

/// All have the lossless class and the DSCPs of the first.
fn differences(settings: &ConfigSettings, findings: &mut Vec<ConfigFinding>) {
    let Some((first, others)) = settings.qos.split_first() else { return };
    let set = |list: &[u32]| list.iter().copied().collect::<BTreeSet<u32>>();
    for other in others {
        for (rule, what, ours, theirs) in [
            (ConfigRule::OneLosslessClass, "lossless", set(&first.lossless), set(&other.lossless)),
            (ConfigRule::SameDscp, "DSCP", set(&first.dscp), set(&other.dscp)),
        ] {
            if ours != theirs {
                let value = format!("{what} {}, but {} in {}", list(&theirs), list(&ours), first.on);
                findings.push(ConfigFinding::new(
                    rule,
                    &other.on,
                    value,
                    format!("{what} {} everywhere", list(&ours)),
                ));
            }
        }
    }
}

fn list(numbers: &BTreeSet<u32>) -> String {
    match numbers.is_empty() {
        true => "none".to_owned(),
        false => numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
    }
}
