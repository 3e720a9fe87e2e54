//! All of the lab in order, each result beside what is expected of it and beside the simulation.
mod bandwidth;
mod gaps;

use bandwidth::avoided;
pub use bandwidth::{draws, judged};

use std::path::Path;

use railtwin_engine::Case;
use serde::{Deserialize, Serialize};

use crate::bandwidth::LabJob;
use crate::faults::{LabFault, fault, repair};
use crate::host::LabError;
use crate::page::{LabReport, PathPrediction};
use crate::plant::{Frr, Plant, wait_for_routes};
use crate::probe::{Carrier, PortPath, ends, probe};

/// Source ports whose paths are predicted and observed.
const PORTS: u16 = 256;
/// Time within which a repaired link is back, s.
const BACK_S: f64 = 3.0;

/// A result beside what is expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabFinding {
    /// Name of the check.
    pub name: String,
    /// Expected result.
    pub expected: String,
    /// Result.
    pub seen: String,
    /// Whether it is as expected.
    pub ok: bool,
}

impl LabFinding {
    /// A result.
    pub fn new(
        name: impl Into<String>,
        expected: impl Into<String>,
        seen: impl Into<String>,
        ok: bool,
    ) -> Self {
        Self { name: name.into(), expected: expected.into(), seen: seen.into(), ok }
    }
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct CheckPlan {
    /// Draws of each balancer.
    pub draws: u32,
    /// Seconds of each.
    pub seconds: f64,
    /// Links that are silenced while C4P probes.
    pub silenced: u32,
}

/// Results of a check so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LabChecks {
    /// Results in order.
    pub findings: Vec<LabFinding>,
    /// The same as data of a page.
    pub report: LabReport,
    /// The path of each source port, by names of switches.
    pub map: Vec<(u16, Vec<String>)>,
}

/// The lab that is checked, within its namespaces.
#[derive(Debug)]
pub struct Checker<'p> {
    /// The fabric.
    pub plant: &'p Plant,
    /// Its routers.
    pub frr: &'p Frr,
    /// Folder of the lab.
    pub folder: &'p Path,
    /// Results so far.
    pub checks: LabChecks,
}

impl<'p> Checker<'p> {
    /// A checker without results.
    pub fn new(plant: &'p Plant, frr: &'p Frr, folder: &'p Path) -> Self {
        Self { plant, frr, folder, checks: LabChecks::default() }
    }

    fn add(&mut self, say: &mut dyn FnMut(&LabFinding), finding: LabFinding) {
        say(&finding);
        self.checks.findings.push(finding);
    }

    /// Predicts the paths of source ports of TCP and observes them.
    ///
    /// # Errors
    /// A socket is refused.
    pub fn paths(&mut self, say: &mut dyn FnMut(&LabFinding)) -> Result<(), LabError> {
        let ends = ends(self.plant, None, None).map_err(|refusal| LabError(refusal.to_string()))?;
        let all = probe(self.plant, ends, Carrier::Tcp, PORTS)?;
        let right = all.iter().filter(|one| one.is_right()).count();
        let name = "paths of source ports of TCP as predicted";
        let seen = format!("{right} of {PORTS}");
        self.add(say, LabFinding::new(name, format!("{PORTS} of {PORTS}"), seen, right == all.len()));
        self.checks.map = all.iter().map(|one| (one.port, self.names(one))).collect();
        let shown = self.checks.map.iter().take(16).map(|(port, names)| shown(*port, names)).collect();
        self.checks.report.prediction = Some(PathPrediction {
            asked: all.len() as u32,
            right: right as u32,
            policies: "hosts 1 (L4), switches 3 (fields 0x37: addresses, protocol, ports)".into(),
            map: shown,
        });
        Ok(())
    }

    fn names(&self, path: &PortPath) -> Vec<String> {
        let fabric = &self.plant.fabric;
        let devices = path.seen.iter().map(|&link| fabric.target(link));
        devices
            .filter(|&device| fabric.place(device).is_some())
            .map(|device| fabric.device_name(device))
            .collect()
    }

    /// Takes a link down and up, and waits until all routes stand again.
    ///
    /// # Errors
    /// A command of the system fails.
    pub fn back(&mut self, say: &mut dyn FnMut(&LabFinding)) -> Result<(), LabError> {
        let link = gaps::busiest_uplink(self.plant)?;
        let refused = |refusal: crate::host::LabRefusal| LabError(refusal.to_string());
        fault(self.plant, &LabFault::Link(link.clone()))
            .map_err(refused)?
            .carry_out(self.frr, self.folder)?;
        std::thread::sleep(std::time::Duration::from_secs(1));
        repair(self.plant, &link).map_err(refused)?.carry_out(self.frr, self.folder)?;
        let seconds = wait_for_routes(self.plant)?;
        let name = "repaired link back in all groups";
        let seen = format!("{seconds:.2} s");
        self.add(say, LabFinding::new(name, format!("within {BACK_S:.0} s"), seen, seconds <= BACK_S));
        Ok(())
    }

    /// Gaps of faults, which are repaired.
    ///
    /// # Errors
    /// A socket or a command of the system fails.
    pub fn gaps(&mut self, say: &mut dyn FnMut(&LabFinding)) -> Result<(), LabError> {
        for kind in gaps::kinds(self.plant.plan.switches.iter().any(|switch| switch.timers.bfd.is_some())) {
            for (finding, row) in gaps::measured(self.plant, (self.frr, self.folder), kind)? {
                self.add(say, finding);
                self.checks.report.gaps.push(row);
            }
        }
        Ok(())
    }

    /// Bandwidth of the jobs of cases, by balancer, each draw beside the flow engine on its own paths; then silent links
    /// under C4P that probes.
    ///
    /// # Errors
    /// A rank fails, or the simulation does.
    pub fn bandwidth(
        &mut self,
        cases: &[(String, Case, Vec<LabJob>)],
        plan: CheckPlan,
        say: &mut dyn FnMut(&LabFinding),
    ) -> Result<(), LabError> {
        for (balancer, case, jobs) in cases {
            let draws = draws(self.plant, self.folder, (balancer, case, jobs), plan)?;
            self.checks.report.bandwidth.extend(draws);
        }
        for finding in judged(&self.checks.report.bandwidth) {
            self.add(say, finding);
        }
        if let Some((_, case, jobs)) = cases.iter().find(|(balancer, ..)| balancer == "c4p") {
            let (finding, row) = avoided(self.plant, self.folder, (case, jobs), plan)?;
            self.add(say, finding);
            self.checks.report.avoided = Some(row);
        }
        Ok(())
    }
}

fn shown(port: u16, names: &[String]) -> crate::page::ShownPath {
    let name = |at: usize| names.get(at).cloned().unwrap_or_default();
    crate::page::ShownPath { port, leaf: name(0), spine: name(1), far_leaf: name(2) }
}
