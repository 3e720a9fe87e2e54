//! Who of the jobs that wait may start.
use std::collections::{BTreeSet, VecDeque};

use railtwin_control::{ClusterPlacer, Place, PlacementPolicy};
use railtwin_fabric::HostId;

use crate::actions::Started;
use crate::ask::QueuePolicy;

/// Jobs behind the first that waits for which a place is looked for in vain, each time the queue is looked at.
const TRIALS: usize = 32;

/// A job that waits, as the queue sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wants<'a> {
    pub gpus: u32,
    /// The GPUs that it wants; any where there are none.
    pub places: &'a [Place],
    /// Where it is to be placed otherwise.
    pub placement: &'a PlacementPolicy,
    /// Seconds of computation and of communication of a step that has hosts of its own.
    pub phases: (f64, f64),
    /// Seconds for which it would run alone, with the checkpoints that it writes, which is what its owner says.
    pub duration: f64,
}

/// What a job that runs holds until its expected end.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub end: f64,
    pub places: Vec<Place>,
}

impl Wants<'_> {
    fn place(&self, job: usize, placer: &mut ClusterPlacer) -> Option<Vec<Place>> {
        if self.places.is_empty() {
            return placer.place_phased(job as u64, self.gpus, self.placement, self.phases);
        }
        placer.take_these(self.places, self.phases).then(|| self.places.to_vec())
    }
}

/// Starts jobs that wait and get their GPUs, which stand beside them; `running` are those that run.
pub(crate) fn start<'a>(
    policy: QueuePolicy,
    waiting: &mut VecDeque<usize>,
    wants: impl Fn(usize) -> Wants<'a>,
    placer: &mut ClusterPlacer,
    mut running: Vec<Held>,
    now: f64,
) -> Vec<Started<Vec<Place>>> {
    let mut started = Vec::new();
    let starts = |job, places, reason| Started { job, places, controller: policy.name(), reason };
    while let Some(&first) = waiting.front() {
        let Some(places) = wants(first).place(first, placer) else { break };
        running.push(Held { end: now + wants(first).duration, places: places.clone() });
        started.push(starts(first, places, "first-in-queue"));
        waiting.pop_front();
    }
    if policy == QueuePolicy::Fifo || waiting.len() < 2 {
        return started;
    }
    // EASY: the first that waits starts when its GPUs are free, and nobody who starts before puts that off.
    running.sort_by(|one, other| one.end.total_cmp(&other.end));
    let head = (waiting[0], wants(waiting[0]));
    let shadow = shadow(placer, &running, head);
    let (mut at, mut trials) = (1, TRIALS);
    while at < waiting.len() && trials > 0 && placer.free_gpus() > 0 {
        let (job, one) = (waiting[at], wants(waiting[at]));
        if one.gpus > placer.free_gpus() {
            at += 1;
            continue;
        }
        // Who is still there then stays off the hosts that the first waits for.
        let kept = shadow.as_ref().filter(|(time, _)| now + one.duration > *time).map(|(_, hosts)| hosts);
        kept.into_iter().flatten().for_each(|&host| placer.close(host));
        let places = one.place(job, placer);
        kept.into_iter().flatten().for_each(|&host| placer.open(host));
        match places {
            Some(places) => {
                started.push(starts(job, places, "fills-a-gap"));
                waiting.remove(at);
            }
            None => {
                trials -= 1;
                at += 1;
            }
        }
    }
    started
}

/// When the first that waits starts, as those that run end, and where; none where it never does.
fn shadow(
    placer: &ClusterPlacer,
    running: &[Held],
    (job, head): (usize, Wants<'_>),
) -> Option<(f64, BTreeSet<HostId>)> {
    let mut later = placer.clone();
    running.iter().find_map(|held| {
        later.release(&held.places);
        let fits = later.free_gpus() >= head.gpus;
        let places = if fits { head.place(job, &mut later.clone()) } else { None };
        places.map(|places| (held.end, places.iter().map(|place| place.host).collect()))
    })
}
