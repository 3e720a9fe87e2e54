//! From suspects of findings to hosts and devices that can be taken out.
use std::collections::BTreeMap;

use railtwin::impact::Subject;
use railtwin_diagnosis::rules::place::host_of;
use railtwin_engine::Case;
use railtwin_reading::Diagnosed;
use railtwin_records::{Component, Directory, FaultKind, Finding, Syndrome};

/// A host or device that findings name.
#[derive(Clone, PartialEq, Debug)]
pub struct TriageCulprit {
    /// Its name in the fabric.
    pub name: String,
    /// Suspects of findings that it stands for.
    pub suspects: Vec<Component>,
    /// Rows of the findings.
    pub findings: Vec<usize>,
    /// Faults that it may have, the likeliest first.
    pub faults: Vec<FaultKind>,
    /// Confidence of the surest finding.
    pub confidence: f64,
    /// Whether a finding accuses it alone.
    pub is_sure: bool,
    /// Share of a job that it takes: 1 where the job stands; none where no finding tells.
    pub lost_share: Option<f64>,
    /// Advice of the surest finding.
    pub advice: String,
}

/// Culprits with a place in the fabric, and suspects without one.
pub struct Culprits {
    /// By name.
    pub placed: Vec<TriageCulprit>,
    /// In their order.
    pub unplaced: Vec<Component>,
}

/// Returns the culprits of a diagnosis.
pub fn culprits(told: &Diagnosed, case: &Case) -> Culprits {
    let mut placed: BTreeMap<String, TriageCulprit> = BTreeMap::new();
    let mut unplaced: Vec<Component> = Vec::new();
    // Traffic that meets on a link is no fault.
    let findings = told.findings.iter().enumerate().filter(|(_, one)| one.syndrome != Syndrome::Collision);
    for (row, finding) in findings {
        let mut names: Vec<(String, Component)> = Vec::new();
        for suspect in &finding.suspects {
            match name_of(&suspect.component, &told.directory, case) {
                Some(name) => names.push((name, suspect.component.clone())),
                None if !unplaced.contains(&suspect.component) => unplaced.push(suspect.component.clone()),
                None => {}
            }
        }
        let first = names.first().map(|(name, _)| name.clone());
        let is_one = names.iter().all(|(name, _)| Some(name) == first.as_ref());
        for (name, component) in names {
            let culprit = placed.entry(name.clone()).or_insert_with(|| TriageCulprit {
                name,
                suspects: Vec::new(),
                findings: Vec::new(),
                faults: Vec::new(),
                confidence: 0.0,
                is_sure: false,
                lost_share: None,
                advice: String::new(),
            });
            culprit.add(row, finding, component, is_one);
        }
    }
    Culprits { placed: placed.into_values().collect(), unplaced }
}

impl TriageCulprit {
    fn add(&mut self, row: usize, finding: &Finding, component: Component, is_one: bool) {
        if !self.suspects.contains(&component) {
            self.suspects.push(component);
        }
        if self.findings.last() != Some(&row) {
            self.findings.push(row);
        }
        for fault in &finding.faults {
            if !self.faults.contains(fault) {
                self.faults.push(*fault);
            }
        }
        if finding.confidence > self.confidence {
            self.confidence = finding.confidence;
            self.advice.clone_from(&finding.advice);
        }
        self.is_sure |= is_one && finding.accuses();
        if let Some(share) = lost_share(finding) {
            self.lost_share = Some(self.lost_share.unwrap_or(0.0).max(share));
        }
    }
}

/// The share of a job that a finding says to be lost; none where it tells no share.
fn lost_share(finding: &Finding) -> Option<f64> {
    let stands = matches!(
        finding.syndrome,
        Syndrome::CommunicationHang | Syndrome::NonCommunicationHang | Syndrome::Crash | Syndrome::Mismatch
    ) || finding.faults.first().is_some_and(|fault| {
        matches!(fault, FaultKind::Hang | FaultKind::Crash | FaultKind::GpuError | FaultKind::SizeMismatch)
    });
    let share = if stands { 1.0 } else { finding.weight().clamp(0.0, 1.0) };
    (share > 0.0).then_some(share)
}

/// The name of the host, cable or switch that leaves service for a component; none where the fabric has none.
fn name_of(component: &Component, directory: &Directory, case: &Case) -> Option<String> {
    let fabric = &case.fabric;
    let is_there = |name: &str| Subject::named(fabric, name).is_ok();
    let host = match component {
        Component::Rank(name) => host_of(directory, component).or_else(|| {
            let (job, rank) = name.rsplit_once('/')?;
            let row = case.work.jobs.iter().position(|one| one.name == job)?;
            let place = case.placements[row].get(rank.parse::<usize>().ok()?)?;
            Some(Component::Host(fabric.host_name(place.host)))
        }),
        Component::Gpu(name) | Component::Nic(name) => {
            Some(Component::Host(name.split('/').next().unwrap_or_default().to_owned()))
        }
        Component::Host(_) | Component::Cable(_) | Component::Link(_) | Component::Switch(_) => {
            Some(component.clone())
        }
        _ => None,
    };
    host.map(|host| host.name().to_owned()).filter(|name| is_there(name))
}
