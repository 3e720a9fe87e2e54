//! Events of a lifetime.
use railtwin_control::controller::Finding;
use railtwin_fabric::HostId;

/// An event that is due.
#[derive(Clone, Copy, Debug)]
pub(super) enum Due {
    /// A failure, by its index.
    Fault(usize),
    /// A detector accuses the host of this place wrongly.
    FalseAlarm(usize),
    /// Detectors find a failure.
    Found(usize),
    /// The watchdog ends the job.
    Watchdog(usize),
    /// People know what a failure is.
    Named(usize),
    /// A person answers a proposal.
    Answer(Finding),
    /// A host is out.
    Isolated(HostId),
    /// A spare is in the place of a host.
    Seated(HostId, HostId),
    /// Processes start, where nothing was decided since.
    Begin(u32),
    /// Steps run, where nothing was decided since.
    Steps(u32),
    /// A host works again.
    Repaired(HostId),
    /// The part that slowed the job is repaired.
    Healed(usize),
    /// The controller asked for it.
    Ask,
}
