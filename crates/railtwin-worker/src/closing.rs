//! The end of a job whose connections cannot just be closed: where closing drops bytes, or where a lane may have to move
//! before its peer has them all.
use std::io::Read;
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::clock;
use crate::connections::Interruption;
use crate::error::WorkerError;
use crate::events::Channel;
use crate::job::Job;
use crate::lane::{ReceiveLane, SendLane, is_passing};
use crate::links::Links;

/// Longest wait between two looks at everything, ms.
const LOOK_MS: u16 = 100;

/// Whether the receiver has read everything, or is gone.
fn is_over(lane: &mut SendLane) -> bool {
    if lane.is_stalled() {
        return !lane.has_greeted();
    }
    match (&lane.stream).read(&mut [0]) {
        Ok(1) => true,
        Err(error) if is_passing(&error) => false,
        // It has gone over to another connection, or has ended.
        outcome => {
            lane.errno = Some(outcome.err().and_then(|error| error.raw_os_error()).unwrap_or(0));
            !lane.has_greeted()
        }
    }
}

/// Waits until all peers have read what this rank has sent, and moves lanes meanwhile. The time to connect limits it: a peer
/// that ended over a silent path says nothing.
///
/// # Errors
/// The path master ends the job.
pub(crate) fn close_all(job: &Job, links: &mut Links, channel: &Channel) -> Result<(), WorkerError> {
    if job.paths.is_none() && job.tcp.linger {
        return Ok(());
    }
    let until_ns = clock::monotonic_ns() + (job.connect_s * 1e9) as u64;
    let connections = || links.all.iter().map(|one| &one.1);
    connections().flat_map(|of| of.receives.values()).flatten().for_each(ReceiveLane::say_goodbye);
    if let Some(service) = &mut links.service {
        service.is_closing = true;
    }
    loop {
        let mut is_over_all = true;
        for lane in links.all.iter_mut().flat_map(|one| one.1.sends.values_mut()).flatten() {
            lane.is_over = lane.is_over || is_over(lane);
            is_over_all &= lane.is_over;
        }
        let now_ns = clock::monotonic_ns();
        if is_over_all || now_ns >= until_ns {
            return Ok(());
        }
        let mut fds = Vec::new();
        for lane in links.all.iter().flat_map(|one| one.1.sends.values()).flatten() {
            if !lane.is_over && !lane.is_stalled() {
                fds.push(PollFd::new(lane.stream.as_fd(), PollFlags::POLLIN));
            }
        }
        if let Some(service) = &links.service {
            service.watch(|fd| fds.push(fd));
            service.watch_moves(&links.all, &mut fds);
        }
        // Interrupted or not: everything is looked at again.
        let _ = poll(&mut fds, PollTimeout::from(LOOK_MS));
        if let Some(service) = &mut links.service {
            let served = service.serve(&mut links.all, channel, clock::monotonic_ns());
            served.map_err(|error| match error {
                Interruption::Ended(message) => WorkerError::Failed(message),
                Interruption::Broken(_) => WorkerError::Failed("a connection broke".to_owned()),
            })?;
        }
    }
}
