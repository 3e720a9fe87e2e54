//! Lines that NCCL logs with `NCCL_DEBUG=WARN` or `INFO`: who runs where, and what went wrong between whom.
//!
//! A line is `HOST:PID:TID [DEVICE] FILE:LINE NCCL WARN …` or `HOST:PID:TID [DEVICE] NCCL INFO …`, with a time before it from
//! NCCL 2.26 on, and behind whatever a launcher puts before lines. Words differ between versions: completions say `status=12`,
//! `with error 12` (before 2.19, the oldest without the peer) or `status=IBV_WC_RETRY_EXC_ERR(12)`; plugins print the same words.

use super::kernel_event::pci_address;
use super::nccl_setup::{self, NcclSetup};

/// Where a line comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NcclHead<'a> {
    /// What stands before.
    pub(crate) before: &'a str,
    /// Host that NCCL names, without its domain.
    pub(crate) host: &'a str,
    /// CUDA device of the process.
    pub(crate) device: Option<u32>,
}

/// What a line of NCCL says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum NcclEvent {
    /// A communicator is there.
    Rank {
        /// Rank in it.
        rank: u32,
        /// Its ranks.
        ranks: u32,
        /// The GPU in its host: as NVML counts, else as CUDA counts.
        gpu: u32,
        /// The GPU's address on the PCI bus.
        bus: String,
        /// Identity of the communicator; empty where an old version does not say.
        communicator: String,
    },
    /// An address of the host.
    Address(String),
    /// A network device that NCCL uses, as `mlx5_0`.
    Uses(String),
    /// The network device ended a transfer with an error.
    Completion {
        /// Status of the completion, as in `enum ibv_wc_status`.
        status: u32,
        /// The other end: address or name; empty where an old version does not say.
        peer: String,
        /// Address of this end's port, where it is told.
        local_gid: String,
        /// Address of the other end's port, where it is told.
        remote_gid: String,
        /// This end's device, where it is told.
        device: String,
    },
    /// The other end closed a connection.
    Closed {
        /// The other end.
        peer: String,
    },
    /// The other end cannot be reached.
    Refused {
        /// The other end.
        peer: String,
        /// The error, as it is told.
        error: String,
    },
    /// A port of a network device went up or down.
    Port {
        /// Its device.
        device: String,
        /// Whether it is up.
        up: bool,
    },
    /// A network device failed as a whole.
    DeviceFailed {
        /// The device.
        device: String,
    },
    /// A call of CUDA failed.
    Cuda {
        /// The error in CUDA's words.
        error: String,
    },
    /// A call of the verbs library failed.
    Verbs {
        /// The call.
        call: String,
        /// The error, without its number.
        error: String,
        /// The device, where it is told.
        device: String,
        /// Addresses of this end's port and of the other end's, where they are told.
        gids: [String; 2],
    },
    /// Its setup, or a failure whose cause is the setup.
    Setup(NcclSetup),
}

/// Whether a line may be one of NCCL.
pub(crate) fn has_sign(line: &str) -> bool {
    line.contains("NCCL WARN ") || line.contains("NCCL INFO ")
}

/// How lines of completions with an error begin.
const COMPLETION: &str = "Got completion ";

/// Whether a line has NCCL's words on a completion without its head, as PyTorch repeats the last error of NCCL.
pub(crate) fn is_bare(line: &str) -> bool {
    line.contains("NET/IB") && line.contains(COMPLETION)
}

/// What a warning of NCCL says that stands without its head, behind PyTorch's `[rank0]: `.
pub(crate) fn last_error(line: &str) -> Option<NcclEvent> {
    let said = match (line.trim_start().starts_with("[rank"), line.split_once("]:")) {
        (true, Some((_, said))) => said,
        _ => line,
    };
    warning(said)
}

/// The number behind a word.
fn number_behind<T: std::str::FromStr>(text: &str, word: &str) -> Option<T> {
    let at = text.find(word)? + word.len();
    let digits: String = text.get(at..)?.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// The word behind a word.
fn word_behind<'a>(text: &'a str, word: &str) -> &'a str {
    let found = text.find(word).and_then(|at| text.get(at + word.len()..));
    found.and_then(|rest| rest.split_whitespace().next()).unwrap_or_default()
}

/// A peer without its port: `10.0.0.2<42830>`, `node2<42830>`.
fn peer(text: &str) -> Option<String> {
    let name = text.trim_start().split(['<', ' ', ',']).next()?.trim_end_matches([':', '.']);
    let name = name.split('%').next()?;
    let plain = (1..=253).contains(&name.len())
        && name.chars().all(|letter| letter.is_alphanumeric() || "-._:".contains(letter));
    plain.then(|| name.to_owned())
}

fn head(line: &str) -> Option<(NcclHead<'_>, bool, &str)> {
    let (at, is_warning) = match (line.find("NCCL WARN "), line.find("NCCL INFO ")) {
        (Some(warn), Some(info)) => (warn.min(info), warn < info),
        (Some(warn), None) => (warn, true),
        (None, Some(info)) => (info, false),
        (None, None) => return None,
    };
    let (begin, said) = (line.get(..at)?, line.get(at + "NCCL WARN ".len()..)?);
    // The last word of the kind `host:pid:tid`, with where its host begins and where it ends.
    let (mut found, mut at) = (None, 0);
    for piece in begin.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        let ends = at + word.len();
        at += piece.len();
        let mut parts = word.rsplitn(3, ':');
        let (Some(thread), Some(process), Some(name)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_number(thread) && is_number(process) && !name.is_empty() {
            // Launchers may put their prefix before without a blank: `1,3<stdout>:host`, `[rank3]:host`.
            let bare = name.rsplit([':', '>', ']']).next().unwrap_or(name);
            let begins = ends - word.len() + name.len() - bare.len();
            found = (!bare.is_empty()).then_some((bare, begins, ends));
        }
    }
    let (host, begins, ends) = found?;
    let device = begin.get(ends..)?.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    let device = device.and_then(|(digits, _)| digits.parse().ok());
    Some((NcclHead { before: line.get(..begins)?, host, device }, is_warning, said))
}

/// Whether a line is a warning, and its words behind the head.
pub(crate) fn words(line: &str) -> Option<(bool, &str)> {
    head(line).map(|(_, is_warning, said)| (is_warning, said))
}

/// What a line says; several things where it lists several.
pub(crate) fn read(line: &str) -> Option<(NcclHead<'_>, Vec<NcclEvent>)> {
    let (head, is_warning, said) = head(line)?;
    if !is_warning {
        let mut events = information(said);
        events.extend(nccl_setup::information(said).into_iter().map(NcclEvent::Setup));
        return Some((head, events));
    }
    // The file of NCCL's sources stands before its sign.
    let place = line.split("NCCL WARN ").next().and_then(|before| before.split_whitespace().next_back());
    let setup = nccl_setup::warning(place.unwrap_or_default(), said).map(NcclEvent::Setup);
    Some((head, setup.or_else(|| warning(said)).into_iter().collect()))
}

fn information(said: &str) -> Vec<NcclEvent> {
    if said.contains("Init COMPLETE") && said.contains(" rank ") {
        return rank(said).into_iter().collect();
    }
    let has = |words: &str| said.contains(words);
    if has("Bootstrap") && has("Using ")
        || has("NET/Socket") && has("Using ")
        || has("NET/IB") && has("Using ")
    {
        // `eth0:10.0.0.1<0>` and `[0]mlx5_0:1/RoCE`.
        let address = |word: &str| {
            let (name, _) = word.split_once('<')?;
            let (_, address) = name.split_once(':')?;
            peer(address).map(NcclEvent::Address)
        };
        let device = |word: &str| {
            let (_, rest) = word.strip_prefix('[')?.split_once(']')?;
            let (name, rest) = rest.split_once(':')?;
            rest.contains('/').then(|| NcclEvent::Uses(name.to_owned()))
        };
        return said.split_whitespace().filter_map(|word| device(word).or_else(|| address(word))).collect();
    }
    Vec::new()
}

fn rank(said: &str) -> Option<NcclEvent> {
    let bus = word_behind(said, "busId ");
    // Bus, device and function without blanks: 9b000 is 9b:00.0.
    let number = u64::from_str_radix(bus, 16).ok()?;
    let address =
        format!("{:04x}:{:02x}:{:02x}.0", number >> 20, (number >> 12) & 0xff, (number >> 4) & 0xff);
    Some(NcclEvent::Rank {
        rank: number_behind(said, " rank ")?,
        ranks: number_behind(said, " nranks ")?,
        gpu: number_behind(said, " nvmlDev ").or_else(|| number_behind(said, " cudaDev "))?,
        bus: pci_address(&address)?,
        communicator: word_behind(said, " commId ").to_owned(),
    })
}

fn warning(said: &str) -> Option<NcclEvent> {
    if let Some(at) = said.find(COMPLETION) {
        let rest = said.get(at + COMPLETION.len()..)?;
        let (peer, rest) = match rest.strip_prefix("from peer ") {
            Some(rest) => (peer(rest)?, rest),
            None => (String::new(), rest),
        };
        let code = |text: &str| -> Option<u32> {
            let named = text.split([' ', ',']).next()?;
            let digits = named.split_once('(').map_or(named, |(_, rest)| rest.trim_end_matches(')'));
            digits.parse().ok()
        };
        let status = match rest.find("status=") {
            Some(at) => code(rest.get(at + "status=".len()..)?)?,
            None => number_behind(rest, "with error ")?,
        };
        // One of the words has no blank behind it in most versions.
        let remote = match word_behind(rest, "remoteGids") {
            "" => word_behind(rest, "remoteGid "),
            gid => gid,
        };
        return Some(NcclEvent::Completion {
            status,
            peer,
            local_gid: word_behind(rest, "localGid ").to_owned(),
            remote_gid: remote.to_owned(),
            device: device_name(word_behind(rest, " hca ")).to_owned(),
        });
    }
    if let Some(at) = said.find("Connection closed by remote peer") {
        let rest = said.get(at + "Connection closed by remote peer".len()..)?;
        return Some(NcclEvent::Closed { peer: peer(rest)? });
    }
    if said.contains("NET/IB") && said.contains("event") {
        return port(said);
    }
    if let Some(at) = said.find("Cuda failure") {
        let rest = said.get(at + "Cuda failure".len()..)?;
        let error = rest.split('\'').nth(1).unwrap_or(rest).trim();
        return (!error.is_empty()).then(|| NcclEvent::Cuda { error: error.chars().take(120).collect() });
    }
    let small = said.to_ascii_lowercase();
    if let Some(at) = small.find("connect to ") {
        let rest = said.get(at + "connect to ".len()..)?;
        let told = rest.split_once('>').map_or("", |(_, rest)| rest);
        let failed = ["failed", "refused", "timed out", "no route", "exceeded"];
        failed.iter().any(|word| told.to_ascii_lowercase().contains(word)).then_some(())?;
        let error = told.trim_start_matches([' ', ':']).trim_start_matches("failed : ");
        return Some(NcclEvent::Refused { peer: peer(rest)?, error: error.chars().take(80).collect() });
    }
    verbs(said)
}

/// `Call to ibv_modify_qp failed with error Invalid argument errno 22`, and from 2.24 on `… failed with 110 Connection timed
/// out, on dev mlx5_5:1, curr state INIT, next state RTR, local GID index 3, local GID ::ffff:10.0.0.1, remote GID …`.
fn verbs(said: &str) -> Option<NcclEvent> {
    let at = said.find("Call to ibv_").map(|at| at + "Call to ".len())?;
    let rest = said.get(at..)?;
    let call = rest.split([' ', '(']).next()?.to_owned();
    let error = rest.split_once("failed with ").map_or("", |(_, error)| error);
    let error = error.strip_prefix("error ").unwrap_or(error).trim_start();
    // The number of an error stands before its words.
    let error = error.trim_start_matches(|sign: char| sign.is_ascii_digit()).trim_start();
    let error = error.split([',']).next().unwrap_or(error).split(" on dev").next().unwrap_or_default();
    let gid = |word: &str| {
        let found = rest.rfind(word).and_then(|at| rest.get(at + word.len()..));
        let gid = found.and_then(|rest| rest.split_whitespace().next()).unwrap_or_default();
        gid.trim_end_matches([',', ';']).to_owned()
    };
    rest.contains("failed").then(|| NcclEvent::Verbs {
        call,
        error: error.trim().chars().take(80).collect(),
        device: device_name(word_behind(rest, "on dev ").trim_end_matches(',')).to_owned(),
        gids: [gid("local GID "), gid("remote GID ")],
    })
}

/// `NET/IB : mlx5_3:1 Got async event : port error`, `NET/IB : mlx5_3:1 async fatal event: …`.
fn port(said: &str) -> Option<NcclEvent> {
    let word = said.split_whitespace().find(|word| {
        word.rsplit_once(':').is_some_and(|(name, port)| !name.is_empty() && port.parse::<u8>().is_ok())
    })?;
    let device = device_name(word).to_owned();
    let what = said.split_once(word)?.1.to_ascii_lowercase().replace('_', " ");
    if what.contains("port err") {
        Some(NcclEvent::Port { device, up: false })
    } else if what.contains("port active") {
        Some(NcclEvent::Port { device, up: true })
    } else if what.contains("local catastrophic error") || what.contains("device fatal") {
        Some(NcclEvent::DeviceFailed { device })
    } else {
        None
    }
}

/// A device without its port.
fn device_name(word: &str) -> &str {
    word.split(':').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(line: &str) -> Vec<NcclEvent> {
        read(line).expect("a line of NCCL").1
    }

    fn completion(status: u32, peer: &str, gids: [&str; 2], device: &str) -> NcclEvent {
        let [local_gid, remote_gid] = gids.map(str::to_owned);
        NcclEvent::Completion { status, peer: peer.into(), local_gid, remote_gid, device: device.into() }
    }

    #[test]
    fn completions_of_all_versions_tell_status_peer_and_device() {
        for (line, host, wanted) in [
            (
                "kp-ddp-worker-0:3468:3905 [4] ib_plugin.c:1615 NCCL WARN NET/IB : Got completion from peer \
                 10.216.210.236<54862> with status=12 opcode=0 len=0 vendor err 129 (Recv) localGid \
                 fd00:1148:9000:5000:4:200:3:ff22 remoteGidsfd00:1148:9000:5000:4:200:3:ff1f",
                "kp-ddp-worker-0",
                completion(
                    12,
                    "10.216.210.236",
                    ["fd00:1148:9000:5000:4:200:3:ff22", "fd00:1148:9000:5000:4:200:3:ff1f"],
                    "",
                ),
            ),
            (
                "kolyoz2:25146:25854 [0] ib_plugin.c:1105 NCCL WARN NET/IB : Got completion from peer 10.0.35.1<49189> with \
                 error 4, opcode 5327, len 5327, vendor err 81 (Send)",
                "kolyoz2",
                completion(4, "10.0.35.1", ["", ""], ""),
            ),
            (
                "1,3<stdout>:gpu-7:99:101 [3] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer \
                 10.0.0.9<33333> with status=12 opcode=0 len=0 vendor err 129 (Send) localGid ::ffff:10.1.0.7 remoteGids \
                 ::ffff:10.1.0.9 hca mlx5_3",
                "gpu-7",
                completion(12, "10.0.0.9", ["::ffff:10.1.0.7", "::ffff:10.1.0.9"], "mlx5_3"),
            ),
            (
                "[2026-11-24 10:11:12] gpu-7:99:101 [3] transport/net_ib.cc:2141 NCCL WARN NET/IB: Got completion from peer \
                 10.0.0.9<33333> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) reqSize=0 vendor_err=129 \
                 req_type=Send localGid ::ffff:10.1.0.7 remoteGids::ffff:10.1.0.9 hca mlx5_3",
                "gpu-7",
                completion(12, "10.0.0.9", ["::ffff:10.1.0.7", "::ffff:10.1.0.9"], "mlx5_3"),
            ),
            (
                "node017:4123:4201 [3] transport/net_ib.cc:829 NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 11155, \
                 vendor err 129",
                "node017",
                completion(12, "", ["", ""], ""),
            ),
        ] {
            let (head, events) = read(line).expect("a line of NCCL");
            assert_eq!((head.host, events), (host, vec![wanted]), "{line}");
        }
        let bare = "[rank0]: NET/IB : Got completion from peer 10.1.0.22<43210> with status=12 opcode=0 len=0 vendor err 129 (Send) \
                    hca mlx5_3";
        assert!(is_bare(bare) && !is_bare("NET/IB : No device found."));
        assert_eq!(last_error(bare), Some(completion(12, "10.1.0.22", ["", ""], "mlx5_3")));
    }

    #[test]
    fn calls_of_verbs_tell_device_and_addresses() {
        let line = "h:1:2 [5] ibvwrap.c:262 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_5:1, \
                    curr state INIT, next state RTR, local GID index 3, local GID ::ffff:10.0.0.1, remote GID ::ffff:10.0.1.2";
        let wanted = NcclEvent::Verbs {
            call: "ibv_modify_qp".into(),
            error: "Connection timed out".into(),
            device: "mlx5_5".into(),
            gids: ["::ffff:10.0.0.1".into(), "::ffff:10.0.1.2".into()],
        };
        assert_eq!(events(line), [wanted]);
    }

    #[test]
    fn other_lines_tell_ranks_addresses_ports_and_peers() {
        let address = |text: &str| NcclEvent::Address(text.into());
        let uses = |text: &str| NcclEvent::Uses(text.into());
        let port = |row: u32, device: &str| {
            NcclEvent::Setup(NcclSetup::Port { row, device: device.into(), link: "RoCE".into() })
        };
        for (line, wanted) in [
            (
                "h:984:1257 [4] NCCL INFO comm 0x557fe785f7a0 rank 36 nranks 64 cudaDev 4 nvmlDev 4 busId 9b000 commId \
                 0x5ae77eb5ea4ec1ee - Init COMPLETE",
                vec![NcclEvent::Rank {
                    rank: 36,
                    ranks: 64,
                    gpu: 4,
                    bus: "0000:9b:00".into(),
                    communicator: "0x5ae77eb5ea4ec1ee".into(),
                }],
            ),
            ("h:1:1 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>", vec![address("10.0.0.1")]),
            (
                "h:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_bond_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>",
                vec![
                    uses("mlx5_0"),
                    uses("mlx5_bond_0"),
                    address("10.0.0.1"),
                    port(0, "mlx5_0"),
                    port(1, "mlx5_bond_0"),
                ],
            ),
            (
                "gpu004:22:27 [3] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer \
                 gpu004.ds-a4-r02.abc.com<55693>",
                vec![NcclEvent::Closed { peer: "gpu004.ds-a4-r02.abc.com".into() }],
            ),
            (
                "h:1:2 [3] transport/net_ib.cc:94 NCCL WARN NET/IB : mlx5_3:1 Got async event : port error",
                vec![NcclEvent::Port { device: "mlx5_3".into(), up: false }],
            ),
            (
                "h:1:2 [3] transport/net_ib.cc:94 NCCL WARN NET/IB : mlx5_3:1 Got async event : GID table change",
                vec![],
            ),
            (
                "h:1:2 [3] transport/net_ib.cc:94 NCCL WARN NET/IB : mlx5_3:1 Got async event : local catastrophic error",
                vec![NcclEvent::DeviceFailed { device: "mlx5_3".into() }],
            ),
            (
                "h:1:2 [3] misc/ibvwrap.cc:190 NCCL WARN Call to ibv_poll_cq failed with error Invalid argument errno 22",
                vec![NcclEvent::Verbs {
                    call: "ibv_poll_cq".into(),
                    error: "Invalid argument errno 22".into(),
                    device: String::new(),
                    gids: Default::default(),
                }],
            ),
            (
                "h:1:2 [3] enqueue.cc:1 NCCL WARN Cuda failure 'uncorrectable ECC error encountered'",
                vec![NcclEvent::Cuda { error: "uncorrectable ECC error encountered".into() }],
            ),
            (
                "h:1:2 [3] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.0.0.2<50001> failed : Connection refused",
                vec![NcclEvent::Refused { peer: "10.0.0.2".into(), error: "Connection refused".into() }],
            ),
            ("h:1:2 [3] NCCL INFO [Service thread] Connection closed by localRank 0", vec![]),
        ] {
            assert_eq!(events(line), wanted, "{line}");
        }
        assert!(read("NCCL INFO cluster without a host").is_none() && read("a:b:c NCCL WARN x").is_none());
    }
}
