//! What NCCL says of its setup with `NCCL_DEBUG=INFO`: version, network, devices, GPUDirect RDMA, transports, settings; and
//! warnings whose cause is the setup.
//!
//! Words are those of NCCL's sources from 2.4 to 2.28 (`src/transport/net_ib.cc`, `src/transport/net_socket.cc`,
//! `src/transport/nvls.cc`, `src/init.cc`, `src/misc/param.cc`, `src/misc/socket.cc`) and of RCCL, which prints the same.

/// A fact of NCCL's setup from a line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum NcclSetup {
    /// Its version, such as `2.21.5+cuda12.4`.
    Version(String),
    /// No RDMA device was found.
    NoDevice {
        /// Whether the verbs library cannot be opened.
        without_library: bool,
    },
    /// The network that it uses between hosts: `Socket`, `IB`, `AWS Libfabric`.
    Network(String),
    /// A port of a network device that it uses.
    Port {
        /// Its number among those of this process.
        row: u32,
        /// The device.
        device: String,
        /// Its link layer: `IB` or `RoCE`.
        link: String,
    },
    /// Rate of a network device.
    Rate {
        /// The device.
        device: String,
        /// Megabits per second.
        mbit_per_s: u64,
    },
    /// Whether a network device reads and writes memory of GPUs.
    DirectRdma {
        /// The device.
        device: String,
        /// Whether it does.
        is_on: bool,
    },
    /// How two ranks are connected.
    Via {
        /// Without numbers: `NET/IB`, `P2P/CUMEM`, `SHM/direct`.
        transport: String,
        /// Number of the network device, of networks.
        row: Option<u32>,
        /// Whether by GPUDirect RDMA, of networks.
        is_direct: bool,
        /// Whether over the NIC of another GPU (PXN).
        is_proxied: bool,
    },
    /// A setting of the environment or of a file.
    Setting {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// A plugin that was loaded.
    Plugin {
        /// `NET`, `TUNER`, `PROFILER`.
        kind: String,
        /// Its name.
        name: String,
    },
    /// Channels of a communicator.
    Channels {
        /// Those of collectives.
        collective: u32,
        /// Those that use NVLink SHARP.
        nvls: u32,
    },
    /// Two ranks of one communicator have the same GPU.
    DuplicateGpu {
        /// The ranks.
        ranks: [u32; 2],
        /// The GPU, as the line has it.
        device: String,
    },
    /// NVLink SHARP failed, with an error of CUDA.
    Nvls {
        /// The error.
        error: String,
        /// Whether NCCL goes on without it.
        goes_on: bool,
    },
    /// The last of several tries to connect failed.
    LastTry {
        /// The error.
        error: String,
        /// The other end; empty where it is not told.
        peer: String,
        /// How many tries there were.
        tries: u32,
    },
}

/// Longest value that is kept, in characters.
const VALUE_CHARS: usize = 160;
/// Longest text whose ranks a line of a process is taken for.
const NAME_CHARS: usize = 80;

/// The number at the begin of a text.
fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    let end = text.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

/// The number behind a word.
fn behind<T: std::str::FromStr>(text: &str, word: &str) -> Option<T> {
    number(text.split_once(word)?.1.trim_start())
}

/// A text without control characters, shortened.
fn kept(text: &str, most: usize) -> String {
    text.trim().chars().filter(|sign| !sign.is_control()).take(most).collect()
}

/// The facts of the setup in a line of information.
pub(crate) fn information(said: &str) -> Vec<NcclSetup> {
    let said = said.trim();
    if said.contains("NET/IB") && said.contains("Using ") {
        return said.split_whitespace().filter_map(port).collect();
    }
    let one = version(said)
        .or_else(|| no_device(said))
        .or_else(|| network(said))
        .or_else(|| rate(said))
        .or_else(|| direct_rdma(said))
        .or_else(|| via(said))
        .or_else(|| setting(said))
        .or_else(|| plugin(said))
        .or_else(|| channels(said))
        .or_else(|| last_try(said));
    one.into_iter().collect()
}

fn version(said: &str) -> Option<NcclSetup> {
    let rest = said.strip_prefix("NCCL version ").or_else(|| said.strip_prefix("RCCL version "))?;
    let word = rest.split_whitespace().next()?;
    word.starts_with(|sign: char| sign.is_ascii_digit()).then(|| NcclSetup::Version(kept(word, NAME_CHARS)))
}

fn no_device(said: &str) -> Option<NcclSetup> {
    let small = said.to_ascii_lowercase();
    let without_library =
        small.contains("failed to open libibverbs") || small.contains("libibverbs.so: cannot open");
    let has_none =
        small.contains("net/ib") && (small.contains("no device found") || small.contains("no ib device"));
    (without_library || has_none).then_some(NcclSetup::NoDevice { without_library })
}

/// `Using network Socket`, and from 2.26 on `Assigned NET plugin Socket to comm`.
fn network(said: &str) -> Option<NcclSetup> {
    let rest = said
        .strip_prefix("Using network ")
        .or_else(|| Some(said.strip_prefix("Assigned NET plugin ")?.split_once(" to comm")?.0))?;
    Some(NcclSetup::Network(kept(rest, NAME_CHARS))).filter(|_| !rest.trim().is_empty())
}

/// `[0]mlx5_0:1/RoCE`, `[2]mlx5_2:1/IB/SHARP`.
fn port(word: &str) -> Option<NcclSetup> {
    let (row, rest) = word.strip_prefix('[')?.split_once(']')?;
    let (device, rest) = rest.split_once(':')?;
    let link = rest.split('/').nth(1)?.trim_end_matches([',', ';']);
    let (row, device) = (row.parse().ok()?, kept(device, NAME_CHARS));
    matches!(link, "IB" | "RoCE").then(|| NcclSetup::Port { row, device, link: link.to_owned() })
}

/// `NET/IB : Made virtual device [0] name=mlx5_0 speed=400000 ndevs=1`.
fn rate(said: &str) -> Option<NcclSetup> {
    let (_, rest) = said.split_once("Made virtual device ")?;
    let device = rest.split_once("name=")?.1.split_whitespace().next()?;
    Some(NcclSetup::Rate { device: kept(device, NAME_CHARS), mbit_per_s: behind(rest, "speed=")? })
}

/// `NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'`, `GPU Direct RDMA (nvidia-peermem) enabled for HCA 0 'mlx5_0`.
/// Lines on one GPU and one HCA are about their distance.
fn direct_rdma(said: &str) -> Option<NcclSetup> {
    let small = said.to_ascii_lowercase();
    let at = small.find("gpu direct rdma").or_else(|| small.find("gpudirect rdma"))?;
    let (small, said) = (small.get(at..)?, said.get(at..)?);
    let is_on = match (small.find("disabled"), small.find("enabled")) {
        (None, Some(_)) => true,
        (Some(_), None) => false,
        _ => return None,
    };
    let at = small.find("for hca ")?;
    let rest = said.get(at + "for hca ".len()..)?;
    let name = match rest.split_once('\'') {
        Some((_, rest)) => rest.split('\'').next().unwrap_or_default(),
        None => rest.split_whitespace().find(|word| number::<u32>(word).is_none())?,
    };
    let device = name.trim_matches([',', ';', '.', '"', ' ']).split(':').next()?;
    (!device.is_empty()).then(|| NcclSetup::DirectRdma { device: kept(device, NAME_CHARS), is_on })
}

/// `Channel 00/0 : 15[7] -> 0[0] [receive] via NET/Socket/0`, `Ring 00 : 51[3d000] -> 56[1a000] via P2P/IPC`,
/// `… via NET/IB/1(3)/GDRDMA` over the NIC of rank 3.
fn via(said: &str) -> Option<NcclSetup> {
    if !["Channel ", "Ring ", "Tree "].iter().any(|word| said.starts_with(word)) || !said.contains(" -> ") {
        return None;
    }
    let (_, way) = said.rsplit_once(" via ")?;
    let mut parts = way.trim().split('/');
    let kind = parts.next()?;
    if !["NET", "P2P", "SHM", "COLLNET", "NVLS"].contains(&kind) {
        return None;
    }
    let name = kept(parts.next().unwrap_or_default(), NAME_CHARS);
    let transport = if name.is_empty() { kind.to_owned() } else { format!("{kind}/{name}") };
    let third = parts.next().unwrap_or_default();
    let is_net = matches!(kind, "NET" | "COLLNET");
    Some(NcclSetup::Via {
        transport,
        row: number(third).filter(|_| is_net),
        is_direct: is_net && way.contains("GDRDMA"),
        is_proxied: is_net && third.contains('('),
    })
}

/// `NCCL_IB_HCA set by environment to mlx5_0.`, and of old versions `NCCL_IB_HCA set to mlx5_0`.
fn setting(said: &str) -> Option<NcclSetup> {
    let (name, rest) = said.split_once(" set ")?;
    let is_name = |sign: char| sign.is_ascii_uppercase() || sign.is_ascii_digit() || sign == '_';
    if !(name.starts_with("NCCL_") || name.starts_with("RCCL_")) || !name.chars().all(is_name) {
        return None;
    }
    let (_, value) = rest.split_once("to ")?;
    let value = kept(value.trim().trim_end_matches('.'), VALUE_CHARS);
    Some(NcclSetup::Setting { name: kept(name, NAME_CHARS), value })
}

/// `NET/Plugin: Loaded net plugin AWS Libfabric (v8)`, `TUNER/Plugin: Using tuner plugin nccl_ofi_tuner`.
fn plugin(said: &str) -> Option<NcclSetup> {
    let (kind, rest) = said.split_once("/Plugin")?;
    let kind = kind.split_whitespace().next_back()?;
    let small = rest.to_ascii_lowercase();
    let at =
        ["loaded net plugin ", "using tuner plugin ", "loaded tuner plugin ", "plugin name set by env to "];
    let name = at.iter().find_map(|word| rest.get(small.find(word)? + word.len()..))?;
    Some(NcclSetup::Plugin { kind: kept(kind, NAME_CHARS), name: kept(name, NAME_CHARS) })
}

/// `24 coll channels, 24 collnet channels, 16 nvls channels, 32 p2p channels, 2 p2p channels per peer`.
fn channels(said: &str) -> Option<NcclSetup> {
    let before = |word: &str| said.split_once(word)?.0.split_whitespace().next_back()?.parse().ok();
    Some(NcclSetup::Channels {
        collective: before(" coll channels")?,
        nvls: before(" nvls channels").unwrap_or(0),
    })
}

/// `socketPollConnect: connect returned No route to host, retrying (34/34) after sleep for 3400 msec`, with a peer in some
/// versions: `socketPollConnect: connect to 10.0.0.2<50001> returned No route to host, retrying (34/34)`.
fn last_try(said: &str) -> Option<NcclSetup> {
    let (before, rest) = said.split_once("retrying (")?;
    let (now, most) = rest.split_once(')')?.0.split_once('/')?;
    let (now, most): (u32, u32) = (now.trim().parse().ok()?, most.trim().parse().ok()?);
    if now != most || now == 0 {
        return None;
    }
    let error = ["returned ", "failed : ", "failed: ", "failed with error "]
        .iter()
        .find_map(|word| Some(before.rsplit_once(word)?.1))
        .unwrap_or(before);
    let word = before.split_whitespace().find(|word| word.contains('<') && word.contains('>'));
    let peer = word.and_then(|word| word.split('<').next()).unwrap_or_default();
    Some(NcclSetup::LastTry {
        error: kept(error.trim().trim_end_matches(','), NAME_CHARS),
        peer: kept(peer, NAME_CHARS),
        tries: most,
    })
}

/// The fact of the setup in a warning. `place` is the file of NCCL's sources that prints it.
pub(crate) fn warning(place: &str, said: &str) -> Option<NcclSetup> {
    duplicate(said).or_else(|| nvls(place, said)).or_else(|| last_try(said)).or_else(|| no_device(said))
}

/// `Duplicate GPU detected : rank 2 and rank 0 both on CUDA device 1000`.
fn duplicate(said: &str) -> Option<NcclSetup> {
    let (_, rest) = said.split_once("Duplicate GPU detected")?;
    let mut ranks = rest.match_indices("rank ").filter_map(|(at, word)| number(rest.get(at + word.len()..)?));
    let ranks = [ranks.next()?, ranks.next()?];
    let device = rest.split_once("CUDA device ").or_else(|| rest.split_once("device "))?.1;
    let device = kept(device.split_whitespace().next()?, NAME_CHARS);
    Some(NcclSetup::DuplicateGpu { ranks, device })
}

/// Errors of CUDA that are of a GPU or of a program, wherever they show.
const OF_OTHERS: [&str; 6] = ["ecc", "illegal", "launch", "assert", "bus", "peer access"];

/// A failure in NVLink SHARP: `transport/nvls.cc:254 NCCL WARN Cuda failure 1 'invalid argument'`, `Failed to bind NVLink SHARP
/// (NVLS) Multicast memory of size 2097152 : CUDA error 2 'out of memory'`, `Cuda failure 401 '…'` of `cuMulticast…`.
fn nvls(place: &str, said: &str) -> Option<NcclSetup> {
    let small = said.to_ascii_lowercase();
    let is_of_it = place.contains("nvls")
        || ["nvls", "nvlink sharp", "cumulticast"].iter().any(|word| small.contains(word));
    let is_failure = ["cuda failure", "cuda error", "failed"].iter().any(|word| small.contains(word));
    if !is_of_it || !is_failure {
        return None;
    }
    let error = match said.split('\'').nth(1) {
        Some(error) if !error.trim().is_empty() => error,
        _ => said.rsplit([':', '-']).next()?,
    };
    let is_own = !OF_OTHERS.iter().any(|word| error.to_ascii_lowercase().contains(word));
    let goes_on = small.contains("disabling nvls");
    is_own.then(|| NcclSetup::Nvls { error: kept(error, NAME_CHARS), goes_on })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(said: &str) -> Option<NcclSetup> {
        let told = information(said);
        assert!(told.len() < 2, "{told:?}");
        told.into_iter().next()
    }

    #[test]
    fn choices_of_all_versions_are_read() {
        let text = str::to_owned;
        let net = |transport: &str, row: u32, is_direct: bool, is_proxied: bool| NcclSetup::Via {
            transport: text(transport),
            row: Some(row),
            is_direct,
            is_proxied,
        };
        let inside = |transport: &str| NcclSetup::Via {
            transport: text(transport),
            row: None,
            is_direct: false,
            is_proxied: false,
        };
        let direct = |is_on: bool| NcclSetup::DirectRdma { device: text("mlx5_0"), is_on };
        let setting = |name: &str, value: &str| NcclSetup::Setting { name: text(name), value: text(value) };
        for (said, wanted) in [
            ("NCCL version 2.21.5+cuda12.4", NcclSetup::Version(text("2.21.5+cuda12.4"))),
            ("NET/IB : No device found.", NcclSetup::NoDevice { without_library: false }),
            ("Failed to open libibverbs.so[.1]", NcclSetup::NoDevice { without_library: true }),
            ("Using network Socket", NcclSetup::Network(text("Socket"))),
            ("Assigned NET plugin Socket to comm", NcclSetup::Network(text("Socket"))),
            ("Using network AWS Libfabric", NcclSetup::Network(text("AWS Libfabric"))),
            ("NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'", direct(false)),
            ("NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'", direct(true)),
            ("NET/IB : GPU Direct RDMA (nvidia-peermem) enabled for HCA 0 'mlx5_0", direct(true)),
            ("Channel 00/0 : 15[7] -> 0[0] [receive] via NET/Socket/0", net("NET/Socket", 0, false, false)),
            ("Ring 00 : 51[3d000] -> 56[1a000] [receive] via NET/IB/2", net("NET/IB", 2, false, false)),
            ("Channel 01/0 : 1[1] -> 8[0] [send] via NET/IB/3(0)/GDRDMA", net("NET/IB", 3, true, true)),
            ("Channel 00 : 0[1b000] -> 1[2b000] via P2P/IPC/read", inside("P2P/IPC")),
            ("Channel 02/0 : 0[0] -> 1[1] via SHM/direct/direct", inside("SHM/direct")),
            ("NCCL_IB_HCA set by environment to =mlx5_0:1.", setting("NCCL_IB_HCA", "=mlx5_0:1")),
            ("NCCL_SOCKET_IFNAME set to eth0", setting("NCCL_SOCKET_IFNAME", "eth0")),
            (
                "24 coll channels, 24 collnet channels, 16 nvls channels, 32 p2p channels, 2 p2p channels per peer",
                NcclSetup::Channels { collective: 24, nvls: 16 },
            ),
            (
                "NET/IB : Made virtual device [0] name=mlx5_0 speed=400000 ndevs=1",
                NcclSetup::Rate { device: text("mlx5_0"), mbit_per_s: 400_000 },
            ),
            (
                "socketPollConnect: connect returned No route to host, retrying (34/34) after sleep for 3400 msec",
                NcclSetup::LastTry { error: text("No route to host"), peer: String::new(), tries: 34 },
            ),
            (
                "socketPollConnect: connect to 10.0.0.2<50001> returned Connection refused, retrying (2/2) after sleep",
                NcclSetup::LastTry { error: text("Connection refused"), peer: text("10.0.0.2"), tries: 2 },
            ),
        ] {
            assert_eq!(one(said), Some(wanted), "{said}");
        }
        for said in [
            "GPU Direct RDMA Enabled for GPU 1b000 / HCA 0 (distance 4 <= 5), read 1",
            "socketPollConnect: connect returned No route to host, retrying (3/34) after sleep for 300 msec",
            "Connected all rings",
            "comm 0x1 set to x",
            "",
        ] {
            assert_eq!(one(said), None, "{said}");
        }
        let ports =
            information("NET/IB : Using [0]mlx5_3:1/IB [2]mlx5_2:1/RoCE [RO]; OOB eth0:192.0.2.18<0>");
        let port = |row: u32, device: &str, link: &str| NcclSetup::Port {
            row,
            device: text(device),
            link: text(link),
        };
        assert_eq!(ports, [port(0, "mlx5_3", "IB"), port(2, "mlx5_2", "RoCE")]);
    }

    #[test]
    fn warnings_whose_cause_is_the_setup_are_read() {
        let text = str::to_owned;
        let told = |place: &str, said: &str| warning(place, said);
        assert_eq!(
            told("init.cc:497", "Duplicate GPU detected : rank 2 and rank 0 both on CUDA device 1000"),
            Some(NcclSetup::DuplicateGpu { ranks: [2, 0], device: text("1000") })
        );
        let nvls = |error: &str, goes_on: bool| Some(NcclSetup::Nvls { error: text(error), goes_on });
        assert_eq!(
            told("transport/nvls.cc:254", "Cuda failure 1 'invalid argument'"),
            nvls("invalid argument", false)
        );
        let bind = "Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 2 'out of memory'. This \
                    is usually due to a system or configuration error in the Fabric Manager or NVSwitches. Disabling NVLS.";
        assert_eq!(told("nvls.cc:1", bind), nvls("out of memory", true));
        assert_eq!(told("enqueue.cc:1", "Cuda failure 1 'invalid argument'"), None);
        assert_eq!(told("transport/nvls.cc:254", "Cuda failure 'uncorrectable ECC error encountered'"), None);
    }

    proptest! {
        #[test]
        fn no_line_panics(begin in 0_usize..12, rest in "\\PC{0,60}", place in "\\PC{0,20}") {
            let begins = [
                "", "NCCL version ", "NET/IB : Using [0]", "Channel 0 : 1 -> 2 via ", "NCCL_A set to ", "Duplicate GPU detected",
                "GPU Direct RDMA disabled for HCA ", "x/Plugin: Loaded net plugin ", "connect returned é, retrying (",
                "Made virtual device name=", "NVLS failed ", "Assigned NET plugin ",
            ];
            let said = format!("{}{rest}", begins[begin]);
            let _ = (information(&said), warning(&place, &said));
        }
    }
}
