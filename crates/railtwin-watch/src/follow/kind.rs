//! Growth of a file: appended lines, a document that is written whole, or live records.
use railtwin_formats::telemetry::{Format, detect_format};
use railtwin_live::reader;
use serde::{Deserialize, Serialize};

/// Bytes of the beginning that tell what a file is.
pub(crate) const HEAD: usize = 64 << 10;

/// How a file grows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub enum Growth {
    /// Not known yet: nothing of it was taken.
    #[default]
    Unknown,
    /// Lines are appended; what was read stays true.
    Lines,
    /// It is written whole, and a later one replaces it.
    Document,
    /// One reading of counters that replaces another does not make that untrue: both are kept.
    Reading,
    /// Live records of a rank, appended.
    Live,
}

impl Growth {
    /// How a file of this name with this beginning grows. `is_still` says that it has not changed for a while. None while
    /// nothing can be said.
    pub(crate) fn of(name: &str, head: &[u8], is_still: bool) -> Option<Self> {
        if reader::is_live(head) {
            return Some(Self::Live);
        }
        match detect_format(head) {
            // The first lines of a log may look like a list of counters.
            Some(format) if Self::of_format(format) == Self::Reading && is_log(name) => Some(Self::Lines),
            Some(format) => Some(Self::of_format(format)),
            None if is_still => Some(if is_text(head) { Self::Lines } else { Self::Document }),
            None => {
                // A document that is not whole yet is of no format that is known; a log begins anyhow.
                let is_document = head.first().is_none_or(|first| b"{[<#".contains(first));
                (!is_document && is_text(head) && head.contains(&b'\n')).then_some(Self::Lines)
            }
        }
    }

    fn of_format(format: Format) -> Self {
        use Format as F;
        match format {
            F::NcclInspector
            | F::NcclTestsLog
            | F::Perftest
            | F::ClusterLog
            | F::MlperfLog
            | F::TrainingLog
            | F::StepsCsv
            | F::StepsJson => Self::Lines,
            F::Dcgm
            | F::NodeExporter
            | F::XpuTimer
            | F::Ethtool
            | F::RdmaStatistic
            | F::CounterListing
            | F::TcpInfo => Self::Reading,
            F::LiveRecords => Self::Live,
            _ => Self::Document,
        }
    }

    /// Whether bytes are appended to what was read.
    pub(crate) const fn appends(self) -> bool {
        matches!(self, Self::Lines | Self::Live)
    }
}

/// Whether a name is one that logs have.
fn is_log(name: &str) -> bool {
    [".log", ".out", ".err"].iter().any(|end| name.ends_with(end))
}

fn is_text(bytes: &[u8]) -> bool {
    !bytes.starts_with(&[0x1f, 0x8b]) && !bytes.contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_half_written_is_waited_for() {
        assert_eq!(Growth::of("a.txt", b"{\"version\": \"2.", false), None);
        assert_eq!(Growth::of("a.txt", b"starting the job\nand", false), Some(Growth::Lines));
        assert_eq!(Growth::of("a.txt", b"\x80\x02}", false), Some(Growth::Document));
        assert_eq!(Growth::of("a.txt", b"{\"k\":\"hb\",\"t\":1,\"seq\":2}\n", false), Some(Growth::Live));
        assert_eq!(Growth::of("a.txt", b"no end of line", false), None);
        assert_eq!(Growth::of("a.txt", b"no end of line", true), Some(Growth::Lines));
        let counters = b"NIC statistics:\n     rx_packets: 1\n     rx_bytes: 2\n     tx_discards_phy: 3\n";
        assert_eq!(Growth::of("host1.txt", counters, true), Some(Growth::Reading));
        assert_eq!(Growth::of("host1.log", counters, true), Some(Growth::Lines));
    }
}
