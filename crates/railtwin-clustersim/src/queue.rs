//! Who of the jobs that wait may start.
use std::collections::VecDeque;

use crate::ask::QueuePolicy;

/// A job that waits or runs, as the queue sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wants {
    pub gpus: u32,
    /// Seconds for which it would run alone, which is what its owner says.
    pub duration: f64,
}

/// Tries to start jobs that wait: `place` says whether one got its GPUs. `running` are GPUs and expected ends.
pub(crate) fn start(
    policy: QueuePolicy,
    waiting: &mut VecDeque<usize>,
    wants: impl Fn(usize) -> Wants,
    free: impl Fn() -> u32,
    running: impl Fn() -> Vec<(f64, u32)>,
    now: f64,
    mut place: impl FnMut(usize) -> bool,
) {
    while let Some(&first) = waiting.front() {
        if !place(first) {
            break;
        }
        waiting.pop_front();
    }
    if policy == QueuePolicy::Fifo || waiting.len() < 2 {
        return;
    }
    // EASY: the first that waits starts when enough GPUs are free again; what is left then may go to others for longer.
    let first = wants(waiting[0]);
    let mut ends = running();
    ends.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (mut shadow, mut then_free) = (now, free());
    for (end, gpus) in ends {
        if then_free >= first.gpus {
            break;
        }
        (shadow, then_free) = (end, then_free + gpus);
    }
    let mut spare = then_free.saturating_sub(first.gpus);
    let mut at = 1;
    while at < waiting.len() && free() > 0 {
        let one = wants(waiting[at]);
        let ends_before = now + one.duration <= shadow;
        if one.gpus <= free() && (ends_before || one.gpus <= spare) && place(waiting[at]) {
            if !ends_before {
                spare -= one.gpus;
            }
            waiting.remove(at);
        } else {
            at += 1;
        }
    }
}
