//! Keys of the job file about connections: lanes, options of TCP, the path master.
use std::path::PathBuf;

use serde::Deserialize;

/// A key that is refused: its name, the problem, the accepted values.
pub(crate) type Refusal = (&'static str, String, &'static str);

/// Options of all TCP connections of a job.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpSpec {
    /// Congestion control (`TCP_CONGESTION`), at both ends; without it, the kernel's default.
    pub congestion: Option<String>,
    /// Largest window that a receiver offers (`TCP_WINDOW_CLAMP`), bytes; without it, the kernel's choice.
    pub window: Option<u32>,
    /// Send buffer of a connection (`SO_SNDBUF`), bytes.
    #[serde(default = "default_send_buffer")]
    pub send_buffer: u32,
    /// Whether a closed connection keeps its ports for a while (TIME_WAIT). `false` frees them at once.
    #[serde(default = "default_linger")]
    pub linger: bool,
}

/// The kernel's automatic size takes a whole operation, so that no wait to send is seen.
const fn default_send_buffer() -> u32 {
    64 << 10
}

const fn default_linger() -> bool {
    true
}

impl Default for TcpSpec {
    fn default() -> Self {
        Self { congestion: None, window: None, send_buffer: default_send_buffer(), linger: default_linger() }
    }
}

/// The path master: a process that chooses source ports, and moves connections to other ones.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathsSpec {
    /// Its Unix stream socket.
    pub socket: PathBuf,
    /// Number of this job at the master.
    pub job: u32,
}
