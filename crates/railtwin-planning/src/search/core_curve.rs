//! Oversubscription of the core against the size of a pod (HPN section 7): uplinks that spines give up join segments.
use railtwin_fabric::clos::{Chip, ClosSpec};
use serde::Serialize;

use crate::intent::{Counts, Shape};

/// A point of the curve.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct CorePoint {
    /// Most down capacity of a spine over its up capacity.
    pub asked: f64,
    /// What whole ports and segments make of it.
    pub oversubscription: f64,
    /// Segments of a pod.
    pub segments: u32,
    /// GPUs of a pod.
    pub gpus_per_pod: u64,
    /// Bandwidth of a GPU to other pods while all send, as a share of its own.
    pub to_pods: f64,
}

/// Oversubscriptions of the core that are looked at; 15:1 is HPN's.
const RATIOS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 15.0, 31.0, 63.0];

/// The largest pod of a design at each of some oversubscriptions of its core.
pub fn core_curve(spec: &ClosSpec) -> Vec<CorePoint> {
    core_curve_at(spec, &RATIOS)
}

/// The same at given ratios. The largest pod has one cable from a leaf to each spine: parallel cables of a small one become
/// cables to more spines. Ports of a spine are its chip over its uplinks; ratios that leave no segment are left out, and so
/// is a design whose chip is unknown.
pub fn core_curve_at(spec: &ClosSpec, ratios: &[f64]) -> Vec<CorePoint> {
    let spec = &ClosSpec { spines: spec.spines * spec.parallel, parallel: 1, ..spec.clone() };
    let shape = Shape::of(spec);
    let Chip::Of(chip) = spec.chip else { return Vec::new() };
    let ports = (chip.bits_per_s() / spec.uplink.bits_per_s().max(1)) as u32;
    let (uplink, link) = (spec.uplink.gbps(), spec.core_link.gbps());
    let per_segment = shape.leaves_in_group * spec.parallel;
    let point = |&asked: &f64| {
        let up = |segments: u32| {
            (f64::from(segments * per_segment) * uplink / (asked * link) - 1e-9).ceil() as u32
        };
        let fits = |segments: &u32| {
            let used = f64::from(segments * per_segment) * uplink + f64::from(up(*segments)) * link;
            used <= f64::from(ports) * uplink + 1e-9
        };
        let segments = (1..=ports / per_segment.max(1)).rev().find(fits).filter(|_| asked > 0.0)?;
        let down = f64::from(segments * per_segment) * uplink;
        let oversubscription = down / (f64::from(up(segments)) * link);
        let gpus_per_pod = Counts::of(&ClosSpec { pods: 1, segments, ..spec.clone() }).gpus_per_pod;
        let (access, leaf_up) = shape.leaf_capacity();
        let to_pods = (leaf_up / oversubscription).min(access) / access;
        Some(CorePoint { asked, oversubscription, segments, gpus_per_pod, to_pods })
    };
    ratios.iter().filter_map(point).collect()
}
