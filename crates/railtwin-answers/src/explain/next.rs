//! The measurement that parts two hypotheses best, found by simulating both under each.
use std::collections::BTreeSet;

use railtwin::Resolved;
use toml::Value;

use super::edits::Edit;
use super::hypotheses::{Experiment, Scene};
use super::trial::Trials;
use super::weigh::{MODEL_ERROR, Weighed};

/// Draws of hash seeds that a measurement is simulated with, where seeds matter.
const DRAWS: u32 = 8;

/// A measurement that a user can make.
#[derive(Clone, PartialEq, Debug)]
pub struct Measurement {
    /// How to make it.
    pub how: String,
    /// Its figure under the first hypothesis, GB/s or seconds.
    pub first: f64,
    /// Its figure under the second.
    pub second: f64,
}

impl Measurement {
    /// Difference of the figures as a natural logarithm.
    pub fn separation(&self) -> f64 {
        (self.first / self.second).ln().abs()
    }

    /// Whether they differ by more than the error of the model on both sides.
    pub fn parts(&self) -> bool {
        self.separation() > 2.0 * MODEL_ERROR
    }
}

/// Part of the best separation from which a measurement that is simpler, and so stands earlier, is preferred.
const ENOUGH: f64 = 0.5;

/// The measurement that parts two hypotheses: the first of those whose figures differ by half of the most, as a logarithm,
/// or more. None where none can be simulated under both.
pub fn best(
    (first, second): (&Weighed, &Weighed),
    scene: &Scene,
    base: &Resolved,
    trials: &Trials<'_>,
) -> Option<Measurement> {
    let measured = |(how, edits): (String, Vec<Edit>)| {
        let value = |one: &Weighed| under(one, &edits, trials);
        Some(Measurement { how, first: value(first)?, second: value(second)? })
    };
    let all: Vec<Measurement> = candidates(scene, base, trials).into_iter().filter_map(measured).collect();
    let most = all.iter().map(Measurement::separation).fold(0.0, f64::max);
    all.into_iter().find(|one| one.separation() >= ENOUGH * most)
}

/// The figure of a measurement under a hypothesis.
fn under(one: &Weighed, edits: &[Edit], trials: &Trials<'_>) -> Option<f64> {
    let (change, draws) = match &one.hypothesis.trial {
        Experiment::Edits(all) => (all.first()?.clone(), 1),
        Experiment::Draws(change, _) => (change.clone(), DRAWS),
        Experiment::SlowPart(fitted, beside) => ([&beside[..], &fitted.edits(one.share?)].concat(), 1),
        Experiment::Unknown(_) => return None,
    };
    trials.mean(&[&change[..], edits].concat(), draws).ok()
}

/// Measurements that can be asked for, the ones first whose simulation depends least on the model: fewer hosts, pairs, more
/// queue pairs, another algorithm.
fn candidates(scene: &Scene, base: &Resolved, trials: &Trials<'_>) -> Vec<(String, Vec<Edit>)> {
    let mut all: Vec<(String, Vec<Edit>)> = Vec::new();
    let places = &base.case.placements[trials.job()];
    let hosts: Vec<u32> =
        places.iter().map(|place| place.host.0).collect::<BTreeSet<u32>>().into_iter().collect();
    if scene.collective().is_some() && hosts.len() >= 4 {
        let (first, second) = hosts.split_at(hosts.len() / 2);
        let half = |rows: &[u32]| vec![Edit::Hosts(rows.to_vec())];
        let how = "the same over each half of the hosts; the faster half".to_owned();
        all.push((how, half(first)));
        let how = "the same over each half of the hosts; the slower half".to_owned();
        all.push((how, half(second)));
    }
    if scene.collective().is_some() && hosts.len() >= 3 {
        let edits = vec![Edit::Hosts(hosts[..2].to_vec())];
        all.push(("the same over pairs of hosts under one leaf; the median pair".to_owned(), edits));
    }
    if scene.collective().is_some() && hosts.len() >= 2 {
        let edits = vec![
            Edit::Hosts(hosts[hosts.len() - 2..].to_vec()),
            Edit::Collective("kind", Value::from("send-receive")),
        ];
        all.push(("send/receive between pairs of hosts; the lowest pair".to_owned(), edits));
    }
    if hosts.len() > 1 {
        let keys = [
            ("queue_pairs", Value::from(4)),
            ("split", Value::from("static")),
            ("posting", Value::from("split")),
        ];
        all.push((
            "the same with NCCL_IB_QPS_PER_CONNECTION=4 and NCCL_IB_SPLIT_DATA_ON_QPS=1".to_owned(),
            keys.map(|(key, value)| Edit::Routing(key, value)).to_vec(),
        ));
    }
    if scene.collective() == Some("all-reduce") {
        for (name, says) in [("tree", "Tree"), ("ring", "Ring")] {
            if scene.algorithm().unwrap_or("ring") != name {
                let edits = vec![Edit::Collective("algorithm", Value::from(name))];
                all.push((format!("the same with NCCL_ALGO={says}"), edits));
            }
        }
    }
    all
}
