//! One error, four causes: a user sees error 12 of NCCL whether a GPU died, the network broke, the process was killed
//! for want of memory, or the ranks handed tensors of different size (C4 section II-C). Signals beside it tell which.
use crate::rules::xid::{Xid, xid_meaning};

/// Why a job got its error.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ErrorCause {
    /// A GPU failed and took its process along.
    GpuFault,
    /// The network between two ranks broke.
    NetworkDisconnect,
    /// A process was killed for want of memory.
    OutOfMemory,
    /// Ranks handed tensors of different size to a collective.
    SizeMismatch,
    /// No signal tells.
    Unknown,
}

impl ErrorCause {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::GpuFault, Self::NetworkDisconnect, Self::OutOfMemory, Self::SizeMismatch, Self::Unknown];

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GpuFault => "gpu-fault",
            Self::NetworkDisconnect => "network-disconnect",
            Self::OutOfMemory => "out-of-memory",
            Self::SizeMismatch => "size-mismatch",
            Self::Unknown => "unknown",
        }
    }
}

/// The signals at hand about the rank in question. The default is: none.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ErrorEvidence {
    /// Growth of its GPU's uncorrectable ECC errors.
    pub ecc_errors: f64,
    /// Growth of its GPU's NVLink errors beyond those of other GPUs.
    pub nvlink_errors: f64,
    /// Xid that its GPU logged anew; 0 for none.
    pub xid: u32,
    /// Whether its process is gone; none where nothing tells.
    pub process_gone: Option<bool>,
    /// Growth of the processes of its host that were killed for want of memory.
    pub out_of_memory_kills: f64,
    /// Whether a link of its NIC is down or went down.
    pub link_down: bool,
    /// Share, 0..1, of the NICs that send to its NIC and count ACK timeouts.
    pub timeouts_towards: f64,
    /// Whether ACK timeouts are spread over NICs of many hosts that have a path in common and no NIC.
    pub timeouts_on_path: bool,
    /// Whether its operation has another number of bytes than that of its peers.
    pub size_mismatch: bool,
}

/// How likely each cause is; the shares sum to 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ErrorShares {
    /// In order of [`ErrorCause::ALL`].
    pub shares: [f64; 5],
}

impl ErrorShares {
    /// The share of a cause.
    pub fn of(&self, cause: ErrorCause) -> f64 {
        self.shares[cause as usize]
    }

    /// The likeliest cause with its share; unknown where it is no less likely than another.
    pub fn likeliest(&self) -> (ErrorCause, f64) {
        let mut best = (ErrorCause::Unknown, self.of(ErrorCause::Unknown));
        for cause in ErrorCause::ALL {
            if self.of(cause) > best.1 {
                best = (cause, self.of(cause));
            }
        }
        best
    }
}

/// The distribution over causes.
///
/// Each signal supports a cause with a strength 0..1; several join as `1 - Π (1 - strength)`. What no cause is supported
/// by stays unknown: `Π (1 - support)`; the rest is divided by support. Without any signal all is unknown.
/// That a process is gone supports no cause: all four end so.
pub fn classify_error(evidence: &ErrorEvidence) -> ErrorShares {
    let gone = evidence.process_gone == Some(true);
    let alive = evidence.process_gone == Some(false);
    let meaning = xid_meaning(evidence.xid);
    let when = |is: bool, strength: f64| if is { strength } else { 0.0 };
    let gpu = [
        when(evidence.ecc_errors > 0.0, 0.9),
        // NVLink errors come and go; with a dead process they are more.
        when(evidence.nvlink_errors > 0.0, if gone { 0.7 } else { 0.4 }),
        meaning.map_or(0.0, Xid::hardware),
    ];
    // Peers of a dead process time out as well: then it is no sign of the network.
    let strength = if gone {
        0.1
    } else if alive {
        0.7
    } else {
        0.5
    };
    let network = [
        when(evidence.link_down, if gone { 0.5 } else { 0.9 }),
        strength * evidence.timeouts_towards.clamp(0.0, 1.0),
        when(evidence.timeouts_on_path, if gone { 0.3 } else { 0.8 }),
    ];
    // A kill of the host's that left this process alive was another's.
    let memory = [when(
        evidence.out_of_memory_kills > 0.0,
        if gone {
            0.95
        } else if alive {
            0.1
        } else {
            0.6
        },
    )];
    let size = [
        when(evidence.size_mismatch, 0.95),
        // An address out of bounds is the program's, and a tensor of the wrong size one reason for it.
        when(meaning == Some(Xid::Application), 0.3),
    ];
    let join = |strengths: &[f64]| 1.0 - strengths.iter().map(|strength| 1.0 - strength).product::<f64>();
    let support = [join(&gpu), join(&network), join(&memory), join(&size)];
    let unknown: f64 = support.iter().map(|share| 1.0 - share).product();
    let sum: f64 = support.iter().sum();
    let mut shares = [0.0, 0.0, 0.0, 0.0, unknown];
    if sum > 0.0 {
        for (share, support) in shares.iter_mut().zip(support) {
            *share = (1.0 - unknown) * support / sum;
        }
    }
    ErrorShares { shares }
}
