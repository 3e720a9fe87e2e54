//! Notes of readers on what they read.
use std::fmt;

use serde::{Serialize, Serializer};

/// A note of a reader on its file. Notes that an answer needs are variants; all others are text.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Note {
    /// Anything that explains what was read or left out.
    Text(String),
    /// The link of a port is down.
    LinkDown {
        /// The port: `host/device`.
        port: String,
        /// The state that it gives.
        state: String,
    },
    /// The link of a port is slower than that of its peers in the host.
    LinkSlow {
        /// The port: `host/device`.
        port: String,
        /// Its rate, as it gives it.
        rate: String,
        /// The rate of most of its peers, in Gbit/s.
        usual: String,
    },
    /// A table of communicators reports a state, and no rank does.
    CommunicatorsAlone {
        /// The states.
        states: Vec<String>,
    },
    /// A counter has reached the largest number of its bits.
    Saturated {
        /// The port: `host/device`.
        port: String,
        /// The counter.
        counter: String,
        /// Its value.
        value: u32,
        /// Its width in bits.
        bits: u32,
    },
    /// Runs of perftest whose hosts nothing names.
    NamelessRuns(u64),
}

impl Note {
    /// The place of a note in an answer; none for a note that explains the reading alone.
    pub const fn rank(&self) -> Option<u8> {
        match self {
            Self::LinkDown { .. } => Some(0),
            Self::LinkSlow { .. } => Some(1),
            Self::CommunicatorsAlone { .. } => Some(2),
            Self::Saturated { .. } => Some(3),
            Self::Text(_) | Self::NamelessRuns(_) => None,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::LinkDown { port, state } => write!(f, "{port}: its link is down, its port says {state}"),
            Self::LinkSlow { port, rate, usual } => {
                write!(f, "{port}: its link runs at {rate}, most of its like in the host at {usual} Gb/sec")
            }
            Self::CommunicatorsAlone { states } => write!(
                f,
                "its table of communicators says {}, and no line of ranks tells more: ncclras -v may",
                states.join(", ")
            ),
            Self::Saturated { port, counter, value, bits } => write!(
                f,
                "{port}: {counter} stands at {value}, the largest number of its {bits} bits: it may have counted more and \
                 counts no further; reset it (perfquery -R)"
            ),
            Self::NamelessRuns(count) => write!(
                f,
                "{count} runs of perftest do not tell their two hosts and are not compared: name their logs after \
                 them (node3_node7.log)"
            ),
        }
    }
}

impl From<String> for Note {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Note {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Serialize for Note {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Notes of a reader that has text alone.
pub(crate) fn texts(notes: impl IntoIterator<Item = String>) -> Vec<Note> {
    notes.into_iter().map(Note::Text).collect()
}
