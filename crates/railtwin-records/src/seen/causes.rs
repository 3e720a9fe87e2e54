//! Causes that lines of logs name: the setup of NCCL, calls that ranks do not share, ranks that did not come.
use serde::Serialize;

use super::{counted_list, seen};

/// Why NCCL runs over TCP sockets.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SocketReason {
    /// No RDMA device was found.
    NoDevice,
    /// The verbs library cannot be opened.
    NoLibrary,
    /// A setting turns RDMA off, or leaves no device.
    Setting {
        /// The setting.
        name: String,
        /// Its value.
        value: String,
    },
    /// No line tells.
    Untold,
}

impl SocketReason {
    fn words(&self) -> String {
        match self {
            Self::NoDevice => "NET/IB finds no RDMA device in the host or container".to_owned(),
            Self::NoLibrary => "libibverbs cannot be opened, so NET/IB finds no RDMA device".to_owned(),
            Self::Setting { name, value } => format!("{name}={value} is set"),
            Self::Untold => "no line tells why".to_owned(),
        }
    }
}

/// Names of ranks: `rank 4`, `ranks 4, 5`.
fn ranks_of(ranks: &[u32]) -> String {
    let word = if ranks.len() == 1 { "rank" } else { "ranks" };
    format!("{word} {}", counted_list(ranks))
}

/// Bytes in the largest binary unit that divides them.
fn size(bytes: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = units.iter().find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit));
    unit.map_or_else(|| format!("{bytes} B"), |(unit, name)| format!("{} {name}", bytes / unit))
}

seen! {
    /// Causes that lines of logs name.
    CauseSeen in "logs":
    Sockets { hosts: Vec<String>, reason: SocketReason } [""]
        format!("NCCL runs over TCP sockets: {}", reason.words());
    DirectRdmaOff { host: String, nics: Vec<String> } ["NICs"]
        format!("GPUDirect RDMA is off on all NICs that NCCL uses ({})", counted_list(nics));
    DirectRdmaOffOnSome { host: String, nics: Vec<String>, with: usize } ["NICs"]
        format!("GPUDirect RDMA is off on {}, and on at {with} other NICs of the host", counted_list(nics));
    MixedPorts { host: String, nic: String, link: String, others: String } [""]
        format!("{nic} is a {link} port among {others} ports, and NCCL uses it");
    RailsApart { from: String, to: String } ["queue pairs"]
        format!("queue pairs from {from} to {to} time out: the rails are not joined");
    NvlsFailed { host: String, error: String } [""] format!(
        "NVLink SHARP (NVLS) fails with '{error}': fabric manager and GPUs of the host do not agree"
    );
    LockedMemory { host: String, call: String } [""]
        format!("{call} gets no memory: the limit of locked memory (ulimit -l) is too low");
    RegistrationRefused { host: String, call: String, error: String } [""]
        format!("{call} is refused with '{error}': the NIC cannot reach the memory of the GPU");
    DuplicateGpu { host: String, ranks: Vec<u32>, device: String } ["ranks"] format!(
        "{} of {host} use one GPU (CUDA device {device}): the local rank is not used",
        ranks_of(ranks)
    );
    CallsUnlike { calls: String } ["ranks"] calls.clone();
    NotAtBarrier { ranks: Vec<u32>, after_s: u64, host: Option<String> } ["ranks"] {
        let host = host.as_ref().map_or(String::new(), |host| format!(", all of host {host}"));
        format!("did not come to the barrier within {after_s} s: {}{host}", ranks_of(ranks))
    };
    StuckInCall { rank: Option<u32>, after_s: Option<u64> } [""] {
        let after = after_s.map_or(String::new(), |seconds| format!(" for {seconds} s"));
        format!("its process is stuck in a call of CUDA or NCCL{after}")
    };
    NoRoute { host: String, peer: String, error: String, tries: u32 } ["tries"] {
        let tries = if *tries > 1 { format!(", {tries} tries") } else { String::new() };
        format!("{host} cannot reach {peer} ({error}{tries}): a wrong interface's address or a firewall")
    };
    AllLaunched { ranks: u64, waiting: Vec<u32>, after_s: Option<u64> } ["ranks"] {
        let after = after_s.map_or(String::new(), |seconds| format!(" {seconds} s"));
        let verb = if waiting.len() == 1 { "waits" } else { "wait" };
        format!(
            "RAS reports none of {ranks} ranks behind, yet {} {verb}{after}: the network or a GPU within the operation",
            ranks_of(waiting)
        )
    };
    NoLink { library: String, from: String, to: String, is_rdma: bool } [""] {
        let by = if *is_rdma { " by RDMA" } else { "" };
        format!("{library} makes no link from {from} to {to}{by}")
    };
    PeerSilent { rank: Option<u32>, code: String, peers: Vec<u32> } [""] {
        let rank = rank.map_or("a rank".to_owned(), |rank| format!("rank {rank}"));
        let peer = if peers.is_empty() { "its peer, which is not named,".to_owned() } else { ranks_of(peers) };
        format!("{rank} waited, and {peer} did not send in time ({code})")
    };
    FallsWithSize { test: String, hosts: Vec<String>, most_at: u64, from: u64 } ["GB/s"] format!(
        "bus bandwidth of {test} over {} hosts collapses from {} on, beside {}",
        hosts.len(), size(*from), size(*most_at)
    );
    NotJoined { ranks: Vec<u32>, collective: Option<u64> } ["ranks"] {
        let which = collective.map_or("a collective".to_owned(), |number| format!("collective {number}"));
        format!("did not join {which}, by PyTorch's own report: {}", ranks_of(ranks))
    };
    AllJoined { ranks: Vec<u32>, collective: Option<u64> } ["ranks"] {
        let which = collective.map_or("a collective".to_owned(), |number| format!("collective {number}"));
        format!("all {} joined {which} and none finished it, by PyTorch's own report", ranks_of(ranks))
    };
    Straggler { tool: String, what: String } [""] format!("{tool} reports it as a straggler: {what}");
    HostDiffers { host: String, what: String, own: String, others: String, of: usize } [""] format!(
        "{what}: {own} at {host}, {others} at the {of} other hosts"
    );
}

impl CauseSeen {
    /// Whether it is how a test depends on size, and no cause of that.
    pub const fn is_of_sizes(&self) -> bool {
        matches!(self, Self::FallsWithSize { .. })
    }

    /// Whether a setting, a limit or a program is to be changed, and no component to be taken out.
    pub const fn is_setup(&self) -> bool {
        !matches!(
            self,
            Self::NvlsFailed { .. }
                | Self::NotAtBarrier { .. }
                | Self::StuckInCall { .. }
                | Self::AllLaunched { .. }
                | Self::NoLink { .. }
                | Self::Straggler { .. }
                | Self::NotJoined { .. }
                | Self::AllJoined { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_name_the_cause_first() {
        let sockets = |reason: SocketReason| CauseSeen::Sockets { hosts: vec!["a".into()], reason }.words();
        assert!(sockets(SocketReason::NoDevice).ends_with("no RDMA device in the host or container"));
        let setting = SocketReason::Setting { name: "NCCL_IB_DISABLE".into(), value: "1".into() };
        assert_eq!(sockets(setting), "NCCL runs over TCP sockets: NCCL_IB_DISABLE=1 is set");
        let duplicate =
            CauseSeen::DuplicateGpu { host: "gpu-03".into(), ranks: vec![0, 1], device: "1000".into() };
        assert_eq!(
            duplicate.words(),
            "ranks 0, 1 of gpu-03 use one GPU (CUDA device 1000): the local rank is not used"
        );
        assert!(duplicate.is_setup());
        assert_eq!((size(64 << 20), size(3), size(1 << 30)), ("64 MiB".into(), "3 B".into(), "1 GiB".into()));
    }
}
