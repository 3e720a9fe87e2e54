//! What was told already: a thing that lasts is told once.
use std::collections::BTreeMap;

use railtwin_records::{Component, Finding};

/// Time after which something that was not seen any more is forgotten, so that it is told when it comes again.
const FORGET_NS: u64 = 60_000_000_000;

/// The findings that still stand: what about, and which suspects.
#[derive(Clone, Default, Debug)]
pub struct Told {
    standing: BTreeMap<(u64, Vec<Component>), u64>,
}

impl Told {
    /// Gives `finding` out, unless one with the same topic and the same suspects stands.
    pub fn tell(&mut self, topic: u64, finding: Finding, findings: &mut Vec<Finding>) {
        let mut suspects: Vec<Component> =
            finding.suspects.iter().map(|suspect| suspect.component.clone()).collect();
        suspects.sort_unstable();
        if self.standing.insert((topic, suspects), finding.at_ns).is_none() {
            findings.push(finding);
        }
    }

    /// Everything that stands is as it was.
    pub fn lasts(&mut self, now_ns: u64) {
        for last in self.standing.values_mut() {
            *last = now_ns;
        }
    }

    /// Forgets what was not seen for a while. To be called at the end of every judgement.
    pub fn forget(&mut self, now_ns: u64) {
        self.standing.retain(|_, last| now_ns.saturating_sub(*last) <= FORGET_NS);
    }
}
