//! Faults, their repair, and what must be said of them.
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::host::LabError;
use crate::network::{self, LinkEnd};

/// Share of packets that a lossy link loses.
const LOSS: f64 = 0.02;

/// A fault of one rank or of its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// The process is stopped (SIGSTOP).
    Stop,
    /// The process is killed (SIGKILL).
    Kill,
    /// Computation takes twice as long.
    SlowCompute,
    /// Loading takes 100 ms longer.
    SlowData,
    /// The link carries a tenth of what the rank sends.
    ThrottleUp,
    /// The link carries a tenth of what the rank receives.
    ThrottleDown,
    /// 2 % of the packets from the rank are lost.
    LossUp,
    /// 2 % of the packets to the rank are lost.
    LossDown,
    /// All packets from the rank are lost.
    SilentOneWay,
    /// All packets from and to the rank are lost.
    SilentBothWays,
}

/// Incident that a fault must lead to, with its time limits.
#[derive(Clone, Copy, Debug)]
pub struct Expectation {
    /// Kinds of the incident; the last is the one that it must come to.
    pub kinds: &'static [&'static str],
    /// Time to the incident, s.
    pub opened_s: f64,
    /// Time until the culprit is the first suspect, s.
    pub named_s: f64,
    /// Time to the confirmation, s; none where none is asked for.
    pub confirmed_s: Option<f64>,
}

impl InjectedFault {
    /// All faults in the order of a trial. The one that ends the job is the last.
    pub const ALL: [Self; 10] = [
        Self::SlowCompute,
        Self::SlowData,
        Self::ThrottleUp,
        Self::ThrottleDown,
        Self::LossUp,
        Self::LossDown,
        Self::Stop,
        Self::SilentOneWay,
        Self::SilentBothWays,
        Self::Kill,
    ];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Kill => "kill",
            Self::SlowCompute => "slow compute",
            Self::SlowData => "slow loader",
            Self::ThrottleUp => "throttle, rank's side",
            Self::ThrottleDown => "throttle, switch's side",
            Self::LossUp => "loss 2 %, from the rank",
            Self::LossDown => "loss 2 %, to the rank",
            Self::SilentOneWay => "silent link, one way",
            Self::SilentBothWays => "silent link, both ways",
        }
    }

    /// The expected incident of this fault, with a hang limit, s.
    pub const fn expectation(self, hang_s: f64) -> Expectation {
        match self {
            Self::Stop => Expectation {
                kinds: &["stopped-process"],
                opened_s: 2.0,
                named_s: 2.0,
                confirmed_s: Some(hang_s + 0.5),
            },
            // Its neighbors are gone at once, so that there is nothing to wait for.
            Self::Kill => Expectation {
                kinds: &["killed-process"],
                opened_s: 2.0,
                named_s: 2.0,
                confirmed_s: Some(2.0),
            },
            Self::SlowCompute => {
                Expectation { kinds: &["slow-compute"], opened_s: 3.0, named_s: 3.0, confirmed_s: None }
            }
            Self::SlowData => {
                Expectation { kinds: &["slow-data"], opened_s: 3.0, named_s: 3.0, confirmed_s: None }
            }
            Self::ThrottleUp | Self::ThrottleDown => {
                // The full queue drops packets, which may be seen first.
                Expectation {
                    kinds: &["lossy-link", "slow-link"],
                    opened_s: 3.0,
                    named_s: 3.0,
                    confirmed_s: None,
                }
            }
            Self::LossUp | Self::LossDown => {
                Expectation { kinds: &["lossy-link"], opened_s: 3.0, named_s: 10.0, confirmed_s: None }
            }
            Self::SilentOneWay | Self::SilentBothWays => Expectation {
                kinds: &["silent-link"],
                opened_s: 2.0,
                named_s: 2.0,
                confirmed_s: Some(hang_s + 0.5),
            },
        }
    }

    /// Whether the link is at fault and not the process.
    pub const fn is_of_link(self) -> bool {
        !matches!(self, Self::Stop | Self::Kill | Self::SlowCompute | Self::SlowData)
    }

    /// Time for which it is held, s: beyond the last limit of its expectation.
    pub const fn held_s(self) -> f64 {
        match self {
            Self::Stop | Self::SilentOneWay | Self::SilentBothWays => 7.0,
            Self::LossUp | Self::LossDown => 11.0,
            Self::Kill => 4.0,
            _ => 5.0,
        }
    }

    /// Makes the fault. `pid` is the process of the rank, `control` the folder of control files.
    ///
    /// # Errors
    /// The process is gone, or a command fails.
    pub fn make(self, rank: usize, pid: i32, control: &Path) -> Result<(), LabError> {
        match self {
            Self::Stop => signal(pid, Signal::SIGSTOP),
            Self::Kill => signal(pid, Signal::SIGKILL),
            Self::SlowCompute => slow(control, rank, Some("compute_factor 2\n")),
            Self::SlowData => slow(control, rank, Some("data_ms 100\n")),
            Self::ThrottleUp => network::throttle(LinkEnd::Rank(rank)),
            Self::ThrottleDown => network::throttle(LinkEnd::Switch(rank)),
            Self::LossUp => network::drop_share(rank, true, LOSS),
            Self::LossDown => network::drop_share(rank, false, LOSS),
            Self::SilentOneWay => network::drop_share(rank, true, 1.0),
            Self::SilentBothWays => {
                network::drop_share(rank, true, 1.0).and_then(|()| network::drop_share(rank, false, 1.0))
            }
        }
    }

    /// Removes the fault. A killed process stays dead: the job is restarted.
    ///
    /// # Errors
    /// A command fails.
    pub fn repair(self, rank: usize, pid: i32, control: &Path) -> Result<(), LabError> {
        match self {
            Self::Stop => signal(pid, Signal::SIGCONT),
            Self::Kill => Ok(()),
            Self::SlowCompute | Self::SlowData => slow(control, rank, None),
            Self::ThrottleUp => network::unthrottle(LinkEnd::Rank(rank)),
            Self::ThrottleDown => network::unthrottle(LinkEnd::Switch(rank)),
            Self::LossUp | Self::LossDown | Self::SilentOneWay | Self::SilentBothWays => {
                network::drop_nothing(rank)
            }
        }
    }
}

fn signal(pid: i32, signal: Signal) -> Result<(), LabError> {
    kill(Pid::from_raw(pid), signal).map_err(|errno| LabError(format!("process {pid}: {errno}")))
}

fn slow(control: &Path, rank: usize, text: Option<&str>) -> Result<(), LabError> {
    let path = control.join(format!("r{rank}"));
    let done = match text {
        Some(text) => std::fs::write(&path, text),
        None => std::fs::remove_file(&path),
    };
    done.map_err(|error| LabError(format!("{}: {error}", path.display())))
}
