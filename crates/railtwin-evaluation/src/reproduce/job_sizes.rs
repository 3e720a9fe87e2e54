//! HPN sections 1 and 3, Figure 6: how many jobs one segment holds, and one pod.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_control::placement::{PlacementPolicy, Placer};
use railtwin_fabric::Fabric;
use railtwin_fabric::preset::Hpn;
use railtwin_store::Figure;
use railtwin_units::SimTime;
use railtwin_workload::JobStream;

use super::sweep::Set;

/// Eight weeks, so that the share of small jobs is known to a tenth of a percent.
const WEEKS: f64 = 8.0;
/// GPUs of a segment.
const SEGMENT: u32 = 1_024;

/// Jobs of a stream of eight weeks on one pod, each placed on the pod when it is empty.
pub(super) fn job_sizes(set: &Set) -> Vec<Figure> {
    let span = set.number("weeks", WEEKS) * 7.0 * 86_400.0;
    let pod = Hpn::default().build().expect("a test builds it");
    let gpus = (0..pod.hosts().len()).filter(|&host| !pod.hosts()[host].spare);
    let gpus: u32 = gpus.map(|host| pod.host_model(railtwin_fabric::HostId::from_index(host)).gpus).sum();
    let jobs = JobStream::new(gpus, SimTime::from_seconds(span), set.number("load", 0.9), 1)
        .jobs()
        .expect("a test draws it");
    // Where a job lies on an empty pod, its size alone says.
    let mut segments: BTreeMap<u32, Option<usize>> = BTreeMap::new();
    for job in &jobs {
        segments.entry(job.gpus).or_insert_with(|| segments_of(&pod, job.gpus));
    }
    let share =
        |is: &dyn Fn(u32) -> bool| jobs.iter().filter(|job| is(job.gpus)).count() as f64 / jobs.len() as f64;
    let largest = jobs.iter().map(|job| job.gpus).max().unwrap_or(0);
    vec![
        Figure::new("jobs_below_1k", share(&|gpus| gpus < SEGMENT), ""),
        Figure::new("jobs_in_one_segment", share(&|gpus| segments[&gpus] == Some(1)), ""),
        Figure::new("jobs_in_one_pod", share(&|gpus| segments[&gpus].is_some()), ""),
        Figure::new("largest_job", f64::from(largest), ""),
    ]
}

/// Segments that a job lies in, packed on the empty fabric; none where it does not fit.
fn segments_of(fabric: &Fabric, gpus: u32) -> Option<usize> {
    let places = Placer::new(fabric, 1).place("job", gpus, &PlacementPolicy::Packed).ok()?;
    let segments: BTreeSet<(u32, u32)> = places
        .iter()
        .map(|place| {
            let host = fabric.host(place.host);
            (host.pod, host.segment)
        })
        .collect();
    Some(segments.len())
}
