//! Runs in which jobs come and go: packets go on until a job is gone or the mediator has something to do, in turn.
//!
//! That a job is gone is known when the window is over in which its last operation ended. Controllers are told with the
//! time of that end; what they decide without delay reaches devices a lookahead later, as every word between hosts does.
use railtwin_engine::Mediator;
use railtwin_engine::lower::Lowering;
use railtwin_units::SimTime;

use crate::agenda::NEVER;
use crate::changes::Changes;
use crate::congestion::Control;
use crate::engine::{PASSES, learn};
use crate::host::{Host, Shared};
use crate::run::Machine;

/// Who has done with which job.
#[derive(Debug, Default)]
pub struct Departures {
    /// By job: hosts that have operations of it to end, and when the last one did so far.
    left: Vec<(u32, u64)>,
    /// Jobs that are gone of which nobody was told, and when that was.
    pub gone: Vec<(u32, u64)>,
    /// Whether somebody is to be told.
    pub are_told: bool,
}

impl Departures {
    /// Of all jobs of all hosts before time zero.
    pub fn new<'h, C: Control + 'h>(shared: &Shared<'_>, hosts: impl Iterator<Item = &'h Host<C>>) -> Self {
        let mut left = vec![(0, 0); shared.network.case.work.jobs.len()];
        for host in hosts {
            host.jobs_left(shared).for_each(|job| left[job as usize].0 += 1);
        }
        Self { left, gone: Vec::new(), are_told: false }
    }

    /// A host has ended all of a job at `at`.
    pub fn hear(&mut self, job: u32, at: u64) {
        let (hosts, last) = &mut self.left[job as usize];
        (*hosts, *last) = (*hosts - 1, at.max(*last));
        if *hosts == 0 && self.are_told {
            self.gone.push((job, *last));
        }
    }
}

/// Plays a run from time zero to its end.
pub fn play<C: Control + std::fmt::Debug>(
    machine: &mut Machine<C>,
    (shared, changes): (&mut Shared<'_>, &mut Changes),
    mediator: &mut Mediator<'_>,
    lowering: &Lowering<'_>,
) {
    machine.tell_of_departures();
    decide_in_turn(machine, (shared, changes), mediator, lowering);
    // The work is done, or nobody has anything to say any more; or all is played anew.
    while !shared.is_outgrown() && !machine.run(NEVER, shared, changes).is_empty() {}
}

/// Goes on until all operations have ended, or nobody has anything to say any more.
fn decide_in_turn<C: Control + std::fmt::Debug>(
    machine: &mut Machine<C>,
    (shared, changes): (&mut Shared<'_>, &mut Changes),
    mediator: &mut Mediator<'_>,
    lowering: &Lowering<'_>,
) {
    // Up to when devices may have gone on while the mediator stands at an earlier time.
    let mut ahead = 0;
    for _ in 0..PASSES {
        let next = mediator.next_time();
        let gone = machine.run(next.map_or(NEVER, SimTime::ps), shared, changes);
        for &(job, at) in &gone {
            mediator.close(SimTime::from_ps(at), job);
            ahead = ahead.max(at.saturating_add(shared.network.lookahead));
        }
        if !gone.is_empty() {
            continue;
        }
        // After the last operation nothing is decided any more.
        let is_over = |at: &SimTime| machine.ended().is_some_and(|ended| at.ps() >= ended);
        let Some(at) = next.filter(|at| !is_over(at)) else { return };
        let news = mediator.pass(at);
        if news.reroutes || news.reprioritizes {
            learn(at.max(SimTime::from_ps(ahead)), mediator, lowering, shared);
            if shared.is_outgrown() {
                return;
            }
            machine.follow(shared, changes);
        }
    }
}
