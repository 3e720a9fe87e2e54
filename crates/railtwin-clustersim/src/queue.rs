//! Who of the jobs that wait may start.
use std::collections::VecDeque;

use railtwin_control::{ClusterPlacer, Place, PlacementPolicy};

use crate::ask::QueuePolicy;

/// Longer jobs that are tried beside the first that waits, each time the queue is looked at.
const TRIALS: usize = 64;

/// A job that waits, as the queue sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wants {
    pub gpus: u32,
    /// Seconds for which it would run alone, which is what its owner says.
    pub duration: f64,
}

/// What a job that runs holds until its expected end.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub end: f64,
    pub places: Vec<Place>,
}

/// Starts jobs that wait and get their GPUs, which stand beside them; `running` are those that run.
pub(crate) fn start(
    (policy, placement): (QueuePolicy, &PlacementPolicy),
    waiting: &mut VecDeque<usize>,
    wants: impl Fn(usize) -> Wants,
    placer: &mut ClusterPlacer,
    mut running: Vec<Held>,
    now: f64,
) -> Vec<(usize, Vec<Place>)> {
    let mut started = Vec::new();
    while let Some(&first) = waiting.front() {
        let Some(places) = placer.place(first as u64, wants(first).gpus, placement) else { break };
        running.push(Held { end: now + wants(first).duration, places: places.clone() });
        started.push((first, places));
        waiting.pop_front();
    }
    if policy == QueuePolicy::Fifo || waiting.len() < 2 {
        return started;
    }
    // EASY: the first that waits starts when its GPUs are free, and nobody who starts before puts that off.
    running.sort_by(|one, other| one.end.total_cmp(&other.end));
    let head = (waiting[0] as u64, wants(waiting[0]).gpus);
    let shadow = shadow(placer, &running, head, placement);
    let (mut at, mut trials) = (1, TRIALS);
    while at < waiting.len() && placer.free_gpus() > 0 {
        let (job, one) = (waiting[at], wants(waiting[at]));
        let end = now + one.duration;
        let is_short = shadow.is_none_or(|shadow| end <= shadow);
        if one.gpus > placer.free_gpus() || (!is_short && trials == 0) {
            at += 1;
            continue;
        }
        let mut trial = placer.clone();
        let places = trial.place(job as u64, one.gpus, placement);
        let places = places.filter(|_| {
            is_short || shadow.is_some_and(|shadow| still_starts(&trial, &running, head, placement, shadow))
        });
        trials -= usize::from(!is_short);
        let Some(places) = places else {
            at += 1;
            continue;
        };
        *placer = trial;
        let place = running.partition_point(|held| held.end <= end);
        running.insert(place, Held { end, places: places.clone() });
        started.push((job, places));
        waiting.remove(at);
    }
    started
}

/// When the first that waits starts, as those that run end; none where it never does.
fn shadow(
    placer: &ClusterPlacer,
    running: &[Held],
    (job, gpus): (u64, u32),
    placement: &PlacementPolicy,
) -> Option<f64> {
    let mut later = placer.clone();
    running.iter().find_map(|held| {
        later.release(&held.places);
        let fits = later.free_gpus() >= gpus && later.clone().place(job, gpus, placement).is_some();
        fits.then_some(held.end)
    })
}

/// Whether it starts by `shadow` all the same.
fn still_starts(
    placer: &ClusterPlacer,
    running: &[Held],
    (job, gpus): (u64, u32),
    placement: &PlacementPolicy,
    shadow: f64,
) -> bool {
    let mut later = placer.clone();
    running.iter().take_while(|held| held.end <= shadow).for_each(|held| later.release(&held.places));
    later.free_gpus() >= gpus && later.place(job, gpus, placement).is_some()
}
