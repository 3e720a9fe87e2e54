//! Lines of HCCL, the collective library of Ascend NPUs: links that it cannot make, and peers that do not send.
//!
//! Words are those that CANN prints (`[ERROR] HCCL(…)`, `createLink para:rank[7]-…`) and its error codes (`EI0002`, `EI0006`), as
//! vllm-project/vllm-ascend quotes them.

/// Signs of such lines.
pub(crate) const SIGNS: [&str; 3] = ["HCCL(", "EI0002: ", "EI0006: "];

/// The report of a line of HCCL.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum HcclEvent {
    /// A link between two ranks could not be made.
    NoLink {
        /// The rank that reports it, and its address.
        local: (u32, String),
        /// The other rank, and its address.
        remote: (u32, String),
        /// Whether the link is one of RDMA.
        is_rdma: bool,
    },
    /// A peer did not send, or did not notify, in time.
    PeerSilent {
        /// The code of the error.
        code: String,
        /// The peers, where the line names them.
        peers: Vec<u32>,
    },
}

/// Whether a line may be one.
pub(crate) fn is_line(line: &str) -> bool {
    SIGNS.iter().any(|sign| line.contains(sign)) && read(line).is_some()
}

/// The report of a line.
pub(crate) fn read(line: &str) -> Option<HcclEvent> {
    if line.contains("createLink para:") { no_link(line) } else { peer_silent(line) }
}

/// The text in brackets behind a word: `rank[7]`.
fn bracket<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let at = text.find(word)? + word.len();
    text.get(at..)?.strip_prefix('[')?.split(']').next()
}

/// `createLink para:rank[7]-localUserrank[7]-localIpAddr[192.0.2.39/7], remoteRank[15]-…-remoteIpAddr[192.0.2.67/7], …`.
fn no_link(line: &str) -> Option<HcclEvent> {
    let (_, said) = line.split_once("createLink para:")?;
    let (local, remote) = said.split_once("remoteRank")?;
    let rank = |text: &str, words: [&str; 2]| words.iter().find_map(|word| bracket(text, word)?.parse().ok());
    let address = |text: Option<&str>| -> String {
        text.unwrap_or_default().chars().filter(|sign| !sign.is_control()).take(80).collect()
    };
    let remote_rank = remote.strip_prefix('[').and_then(|rest| rest.split(']').next()?.parse().ok());
    Some(HcclEvent::NoLink {
        local: (rank(local, ["localUserrank", "rank"])?, address(bracket(local, "localIpAddr"))),
        remote: (
            rank(remote, ["remoteUserrank", "Userrank"]).or(remote_rank)?,
            address(bracket(remote, "remoteIpAddr")),
        ),
        is_rdma: bracket(remote, "isUsedRdma") == Some("1"),
    })
}

/// `EI0006: … Getting socket times out. Reason: Remote Rank did not send the data in time`, `EI0002: … has not received the
/// Notify record from remote rank [3]`.
fn peer_silent(line: &str) -> Option<HcclEvent> {
    let code = ["EI0002", "EI0006"].iter().find(|code| line.contains(&format!("{code}: ")))?;
    let small = line.to_ascii_lowercase();
    if !small.contains("remote rank") {
        return None;
    }
    let peers = small.split_once("remote rank").and_then(|(_, rest)| {
        let inner = rest.trim_start().strip_prefix('[')?.split(']').next()?;
        inner.split(',').map(|rank| rank.trim().parse().ok()).collect::<Option<Vec<u32>>>()
    });
    Some(HcclEvent::PeerSilent { code: (*code).to_owned(), peers: peers.unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn links_and_silent_peers_are_read() {
        let link = "[ERROR] HCCL(80812,):2026-06-17-02:21:43.853.333 [transport_manager.cc:954] [86231][InitChannelStage]\
                    [RunFailed]Transport init error! createLink para:rank[7]-localUserrank[7]-localIpAddr[192.0.2.39/7], \
                    remoteRank[15]-remoteUserrank[15]-remoteIpAddr[192.0.2.67/7], machineType[0], linkMode[1], isUsedRdma[1], \
                    tag[AllGather_group_name_119]";
        let wanted = HcclEvent::NoLink {
            local: (7, "192.0.2.39/7".into()),
            remote: (15, "192.0.2.67/7".into()),
            is_rdma: true,
        };
        assert!(is_line(link));
        assert_eq!(read(link), Some(wanted));
        let silent = "[rank1]: EI0006: [PID: 1] 2025-04-08-18:07:20.444.436 Getting socket times out. Reason: Remote Rank did not \
                      send the data in time. Please check";
        assert_eq!(read(silent), Some(HcclEvent::PeerSilent { code: "EI0006".into(), peers: vec![] }));
        let notify = "EI0002: The wait execution of the Notify register times out. Reason: The Notify register has not received \
                      the Notify record from remote rank [3].";
        assert_eq!(read(notify), Some(HcclEvent::PeerSilent { code: "EI0002".into(), peers: vec![3] }));
        assert!(!is_line("[INFO] HCCL(80812,): all is well"));
    }

    proptest! {
        #[test]
        fn no_line_panics(rest in "\\PC{0,80}", at in 0_usize..4) {
            let begins = ["createLink para:rank[7]remoteRank", "EI0006: remote rank [", "HCCL(", "createLink para:localUserrank["];
            let _ = (read(&format!("{}{rest}", begins[at])), is_line(&rest));
        }
    }
}
