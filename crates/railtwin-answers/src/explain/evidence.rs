//! From findings of logs and telemetry to the hypotheses that they show.
use railtwin::impact::Subject;
use railtwin_diagnosis::rules::place::host_of;
use railtwin_fabric::Fabric;
use railtwin_reading::Diagnosed;
use railtwin_reading::answer::who;
use railtwin_reading::words::of_finding;
use railtwin_records::seen::CauseSeen;
use railtwin_records::{Component, FaultKind, Finding, Seen, Syndrome};

use super::hypotheses::{Area, COLLISIONS, Experiment, Hypothesis, NO_DIRECT_RDMA, SOCKETS, Scene, SlowPart};

/// Evidence of a finding for a hypothesis.
pub struct Shown {
    /// Name of a hypothesis that is there already, or a new one.
    pub what: Result<&'static str, Hypothesis>,
    /// The finding in a line, with its confidence.
    pub line: String,
    /// Remedy; empty where the finding has none.
    pub remedy: String,
}

/// All that findings show, the surest first. Findings that accuse nobody show nothing.
pub fn shown(told: &Diagnosed, scene: &Scene, fabric: &Fabric) -> Vec<Shown> {
    let sure = |finding: &&Finding| {
        finding.accuses() || finding.syndrome == Syndrome::Collision || is_setup(finding)
    };
    let of = |finding: &Finding| {
        let who = if finding.suspects.is_empty() { String::new() } else { format!("{}: ", who(&[finding])) };
        let words = of_finding(finding);
        Shown {
            what: known(finding)
                .ok_or_else(|| hypothesis(told, finding, scene, fabric, &format!("{who}{words}"))),
            line: format!("{who}{words}, confidence {:.2}", finding.confidence),
            remedy: finding.advice.clone(),
        }
    };
    told.findings.iter().filter(sure).map(of).collect()
}

fn cause(finding: &Finding) -> Option<&CauseSeen> {
    finding.evidence.iter().find_map(|line| match &line.seen {
        Seen::Cause(cause) => Some(cause),
        _ => None,
    })
}

fn is_setup(finding: &Finding) -> bool {
    finding.confidence >= Finding::ACCUSATION && cause(finding).is_some_and(CauseSeen::is_setup)
}

/// The hypothesis that a finding shows, where it is one that is always looked at.
fn known(finding: &Finding) -> Option<&'static str> {
    match cause(finding) {
        Some(CauseSeen::Sockets { .. }) => return Some(SOCKETS),
        Some(CauseSeen::DirectRdmaOff { .. } | CauseSeen::DirectRdmaOffOnSome { .. }) => {
            return Some(NO_DIRECT_RDMA);
        }
        _ => {}
    }
    (finding.syndrome == Syndrome::Collision).then_some(COLLISIONS)
}

/// A hypothesis of a finding's own.
fn hypothesis(told: &Diagnosed, finding: &Finding, scene: &Scene, fabric: &Fabric, says: &str) -> Hypothesis {
    let suspect = finding.suspects.first().map(|suspect| &suspect.component);
    let area = match suspect {
        None => Area::Setting,
        Some(Component::Cable(_) | Component::Link(_) | Component::Switch(_)) => Area::Fabric,
        Some(Component::Rail(_) | Component::Leaf(_) | Component::Connection(_)) => Area::Fabric,
        Some(Component::Storage | Component::Job(_)) => Area::Setting,
        Some(_) => Area::Host,
    };
    let fitted = suspect.and_then(|suspect| fitted(told, finding, suspect, scene, fabric));
    Hypothesis {
        name: format!("finding-{}", finding.id()),
        area,
        says: says.to_owned(),
        sign: "",
        trial: match fitted {
            Some(fitted) => Experiment::SlowPart(fitted, scene.even_paths()),
            None => Experiment::Unknown("no model says what it costs".to_owned()),
        },
    }
}

/// The part of the fabric whose rate a finding doubts. A host that the fabric has under no name stands for any.
fn fitted(
    told: &Diagnosed,
    finding: &Finding,
    suspect: &Component,
    scene: &Scene,
    fabric: &Fabric,
) -> Option<SlowPart> {
    let is_there = |name: &str| Subject::named(fabric, name).is_ok();
    let near = |name: &str| name.split(" > ").next().unwrap_or_default().to_owned();
    let rate = |key: &'static str, name: String| is_there(&name).then(|| SlowPart::Rate(vec![(key, name)]));
    match suspect {
        Component::Cable(name) | Component::Link(name) => rate("cable", near(name)),
        Component::Switch(name) => rate("device", name.clone()),
        Component::Nic(name) => rate("nic", name.clone()).or_else(|| Some(scene.nics(None, 1))),
        Component::Host(name) => Some(scene.of_host(is_there(name).then_some(name), computes(finding))),
        Component::Gpu(_) | Component::Rank(_) => {
            let host = match suspect {
                Component::Gpu(name) => Some(name.split('/').next().unwrap_or_default().to_owned()),
                _ => host_of(&told.directory, suspect).map(|host| host.name().to_owned()),
            };
            let host = host.filter(|name| is_there(name));
            Some(scene.of_host(host.as_deref(), computes(finding)))
        }
        _ => None,
    }
}

/// Whether a finding doubts computation and not the network.
fn computes(finding: &Finding) -> bool {
    finding.faults.first().is_some_and(|fault| matches!(fault, FaultKind::SlowGpu | FaultKind::SlowData))
}
