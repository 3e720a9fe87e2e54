//! Whether findings name what was injected.
use crate::join::Places;
use railtwin_records::{Component, Finding, Syndrome, Truth};

/// What came of one injected fault.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TruthMatch {
    /// Whether any finding names the truth: itself, the host, NIC or switch that it is in, or a link of the cable that it is.
    pub in_set: bool,
    /// Whether the first suspect does.
    pub top: bool,
    /// Whether the truth itself, at its own grain, is among the suspects.
    pub exact: bool,
    /// Suspects of that finding.
    pub set: usize,
    /// From the start of the fault until it was found, in nanoseconds.
    pub found_ns: u64,
    /// Findings that name others and not the truth.
    pub wrong: usize,
}

/// Holds findings, joined, against the truth. A set that is named with too little confidence to accuse counts: it asks
/// for more evidence. None where nobody is named.
pub fn judge(places: &Places<'_>, truth: &Truth, findings: &[Finding]) -> Option<TruthMatch> {
    let named = |finding: &&Finding| finding.syndrome != Syndrome::Collision && !finding.suspects.is_empty();
    let naming: Vec<&Finding> = findings.iter().filter(named).collect();
    let accusing: Vec<&Finding> = findings.iter().filter(|finding| finding.accuses()).collect();
    // Of a cable that is bad both ways, either link is right.
    let is_link_of = |component: &Component| {
        let kinds = matches!((component, &truth.component), (Component::Link(_), Component::Cable(_)));
        kinds && places.within(component, &truth.component)
    };
    let names = |component: &Component| places.within(&truth.component, component) || is_link_of(component);
    let right =
        naming.iter().find(|finding| finding.suspects.iter().any(|suspect| names(&suspect.component)));
    let told = right.or(accusing.first()).or(naming.first())?;
    let of_truth = |finding: &&&Finding| finding.suspects.iter().any(|suspect| names(&suspect.component));
    Some(TruthMatch {
        in_set: right.is_some(),
        top: told.suspects.first().is_some_and(|suspect| names(&suspect.component)),
        exact: told.suspects.iter().any(|suspect| suspect.component == truth.component),
        set: told.suspects.len(),
        found_ns: told.at_ns.saturating_sub(truth.from_ns),
        wrong: accusing.len() - accusing.iter().filter(of_truth).count(),
    })
}

/// Holds findings, joined, against a collision on the truth's cable: who is told to be slow by traffic must be that cable,
/// and nobody may be accused. None where no collision is told and nobody accused.
pub fn judge_collision(places: &Places<'_>, truth: &Truth, findings: &[Finding]) -> Option<TruthMatch> {
    let of_cable = |component: &Component| places.within(component, &truth.component);
    let of_truth = |finding: &&Finding| finding.suspects.iter().any(|suspect| of_cable(&suspect.component));
    let told = |finding: &&Finding| finding.syndrome == Syndrome::Collision && !finding.suspects.is_empty();
    let right = findings.iter().filter(told).find(of_truth);
    let accusing: Vec<&Finding> = findings.iter().filter(|finding| finding.accuses()).collect();
    let told = right.or(accusing.first().copied()).or(findings.iter().find(told))?;
    Some(TruthMatch {
        in_set: right.is_some(),
        top: right.is_some() && told.suspects.first().is_some_and(|suspect| of_cable(&suspect.component)),
        exact: right.is_some() && told.suspects.iter().any(|suspect| suspect.component == truth.component),
        set: told.suspects.len(),
        found_ns: told.at_ns.saturating_sub(truth.from_ns),
        // Whoever is accused, it is wrong: nothing is broken.
        wrong: accusing.len(),
    })
}
