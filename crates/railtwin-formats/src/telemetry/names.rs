//! One word for what libraries name in many ways: collectives, data types, axes; ranks and NICs in file names.
use std::collections::BTreeSet;

/// The kind of an operation as records name it, from any spelling (`AllReduce`, `nccl:_all_gather_base`, `alltoall`).
/// A name that is not known comes back in lower case.
pub(crate) fn operation_kind(name: &str) -> String {
    let bare = name.rsplit(':').next().unwrap_or(name);
    let bare = bare.split_whitespace().next().unwrap_or_default();
    let plain: String =
        bare.chars().filter(char::is_ascii_alphanumeric).flat_map(char::to_lowercase).collect();
    let begins = |words: &[&str]| words.iter().any(|word| plain.starts_with(word));
    let kind = if begins(&["reducescatter"]) {
        "reduce-scatter"
    } else if begins(&["allreduce"]) {
        "all-reduce"
    } else if begins(&["allgather"]) {
        "all-gather"
    } else if begins(&["alltoall"]) {
        "all-to-all"
    } else if begins(&["broadcast", "bcast"]) {
        "broadcast"
    } else if begins(&["sendrecv"]) {
        "send-receive"
    } else if begins(&["send"]) {
        "send"
    } else if begins(&["recv"]) {
        "receive"
    } else if begins(&["barrier", "allreducebarrier"]) {
        "barrier"
    } else if begins(&["reduce"]) {
        "reduce"
    } else if begins(&["gather"]) {
        "gather"
    } else if begins(&["scatter"]) {
        "scatter"
    } else {
        return plain;
    };
    kind.to_owned()
}

/// Data types by all their names: ours, bytes of one element, foreign names in lower case.
const DATA_TYPES: &[(&str, u64, &[&str])] = &[
    ("float64", 8, &["double", "float64", "f64"]),
    ("float32", 4, &["float", "float32", "f32", "single"]),
    ("float16", 2, &["half", "float16", "f16", "fp16"]),
    ("bfloat16", 2, &["bfloat16", "bf16"]),
    ("float8", 1, &["float8_e4m3fn", "float8_e5m2", "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2"]),
    ("int64", 8, &["long", "int64", "i64", "int64_t", "uint64", "u64"]),
    ("int32", 4, &["int", "int32", "i32", "int32_t", "uint32", "u32"]),
    ("int16", 2, &["short", "int16"]),
    ("int8", 1, &["char", "int8", "i8", "int8_t", "byte", "uint8", "u8", "uint8_t", "bool", "unsigned char"]),
];

/// A data type as records name it, and the bytes of one element; an unknown one keeps its name.
pub(crate) fn data_type(name: &str) -> (String, Option<u64>) {
    let plain = name.trim().to_ascii_lowercase();
    let known = DATA_TYPES.iter().find(|(_, _, names)| names.contains(&plain.as_str()));
    known.map_or((plain.clone(), None), |&(ours, bytes, _)| (ours.to_owned(), Some(bytes)))
}

/// The axis that a process group's description speaks of.
pub(crate) fn axis(description: &str) -> String {
    let plain = description.to_ascii_lowercase().replace(['-', ' '], "_");
    let words: Vec<&str> = plain.split(|letter: char| !letter.is_ascii_alphanumeric()).collect();
    let has = |short: &str, long: &str| words.contains(&short) || plain.contains(long);
    let expert = has("ep", "expert");
    let axis = if expert && has("dp", "data_parallel") {
        "dp_ep"
    } else if expert {
        "ep"
    } else if has("tp", "tensor") {
        "tp"
    } else if has("pp", "pipeline") {
        "pp"
    } else if has("dp", "data_parallel") || plain.contains("fsdp") {
        "dp"
    } else {
        "other"
    };
    axis.to_owned()
}

/// The last part of a path.
pub(crate) fn file_name(source_name: &str) -> &str {
    source_name.rsplit(['/', '\\']).next().unwrap_or(source_name)
}

/// The number that follows `rank` in the name of a file.
fn rank_behind_its_word(name: &str) -> Option<u32> {
    let digits = |text: &str| -> String { text.chars().take_while(char::is_ascii_digit).collect() };
    name.match_indices("rank").find_map(|(at, word)| {
        // A local rank is a place in a host.
        if name[..at].trim_end_matches(['_', '-', '.']).ends_with("local") {
            return None;
        }
        let rest = name[at + word.len()..].trim_start_matches(['_', '-', '=', '.']);
        digits(rest).parse().ok()
    })
}

/// Words before a number that is not a rank: a place in a host, or a host.
const NO_RANKS: [&str; 11] =
    ["gpu", "cuda", "dev", "device", "local", "local_rank", "local-rank", "localrank", "host", "node", "pid"];

/// Whether a stem is a UUID, or ends in one: its last digits count nothing.
fn ends_in_uuid(stem: &str) -> bool {
    const PARTS: [usize; 5] = [12, 4, 4, 4, 8];
    let parts: Vec<&str> = stem.rsplit('-').take(PARTS.len()).collect();
    let is_hex = |text: &str| text.bytes().all(|digit| digit.is_ascii_hexdigit());
    parts.len() == PARTS.len()
        && parts.iter().zip(PARTS).enumerate().all(|(row, (part, length))| {
            // A prefix may stand before the first part.
            let tail = part.len().checked_sub(length).and_then(|from| part.get(from..));
            tail.is_some_and(is_hex) && (row == 4 || part.len() == length)
        })
}

/// The rank that a file name tells: the number after `rank`, else the number at the end of its stem.
pub fn rank_of_name(source_name: &str) -> Option<u32> {
    let name = file_name(source_name).to_ascii_lowercase();
    if let Some(rank) = rank_behind_its_word(&name) {
        return Some(rank);
    }
    let extensions = [".json", ".gz", ".txt", ".log", ".trace", ".pt", ".pkl", ".pickle"];
    let mut rest = name.as_str();
    while let Some(shorter) = extensions.iter().find_map(|extension| rest.strip_suffix(extension)) {
        rest = shorter;
    }
    if ends_in_uuid(rest) {
        return None;
    }
    let kept = rest.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let word = kept.trim_end_matches(['_', '-', '.']);
    let is_of_host = NO_RANKS.iter().any(|end| {
        word.strip_suffix(end)
            .is_some_and(|before| !before.ends_with(|letter: char| letter.is_ascii_alphabetic()))
    });
    rest[kept.len()..].parse().ok().filter(|_| !is_of_host)
}

/// Whether the name of a file is that of the dump of a rank, as the recorder writes it or with the word `rank`; a number alone,
/// or one before the ending of pickles, may count something else.
pub(crate) fn is_named_by_rank(source_name: &str) -> bool {
    let name = file_name(source_name).to_ascii_lowercase();
    let is_number =
        name.split('.').next().is_some_and(|stem| stem.bytes().all(|letter| letter.is_ascii_digit()));
    let is_pickle = [".pkl", ".pickle"].iter().any(|ending| name.ends_with(ending));
    let is_recorders = !is_number && !is_pickle && rank_of_name(source_name).is_some();
    is_recorders || rank_behind_its_word(&name).is_some()
}

/// Ranks that the path of a dump tells: its name alone where that is of a dump, else the number of the name and that of a
/// folder such as `rank5`, which may say different things; none where neither does.
pub fn ranks_of_path(source_name: &str) -> BTreeSet<u32> {
    let of_folder = || {
        let folder = source_name.rsplit(['/', '\\']).nth(1)?.to_ascii_lowercase();
        // A folder of a node, or of ranks of something else, has more words.
        folder.strip_prefix("rank")?.trim_start_matches(['_', '-', '=', '.']).parse().ok()
    };
    let of_folder = if is_named_by_rank(source_name) { None } else { of_folder() };
    rank_of_name(source_name).into_iter().chain(of_folder).collect()
}

/// Whether a word looks like the name of a NIC: `mlx5_0`, `rocep12s0`, `eth2`, `ens1f0np0`, `ib0`, `bond1`.
pub(crate) fn is_nic(word: &str) -> bool {
    ["mlx", "roce", "eth", "en", "ib", "bond", "irdma", "bnxt_re", "rdma", "p"].iter().any(|begin| {
        word.strip_prefix(begin)
            .is_some_and(|rest| rest.chars().any(|letter| letter.is_ascii_digit()) && rest.len() <= 12)
            && word.ends_with(|letter: char| letter.is_ascii_alphanumeric())
    })
}

/// Which of several readings a word says that it is: `t2`, `after`, `run3`. Numbers of six digits and more are times.
fn reading(word: &str) -> Option<u64> {
    let lower = word.to_ascii_lowercase();
    match lower.as_str() {
        "before" | "start" | "begin" | "first" | "pre" | "old" | "prev" => return Some(1),
        "after" | "end" | "second" | "post" | "new" | "now" | "last" => return Some(2),
        _ => {}
    }
    let digits = lower.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let begin = &lower[..lower.len() - digits.len()];
    let plain: String = digits.chars().filter(|letter| !"tz-".contains(*letter)).collect();
    let is_time = begin.is_empty() && plain.len() >= 6;
    let is_label = ["t", "reading", "sample", "snap", "snapshot", "round", "iter", "take"].contains(&begin);
    let whole = !plain.is_empty() && plain.bytes().all(|letter| letter.is_ascii_digit());
    if whole && (is_time || is_label) { plain.parse().ok() } else { None }
}

/// Of a file that is one of several readings of the same: which one, and its path without what says so. `node1_t1.txt` and
/// `node1_t2.txt` are of one host, and so are `t1/node1.txt` and `t2/node1.txt`.
pub fn reading_of_name(source_name: &str) -> Option<(String, u64)> {
    let mut order = None;
    let mut bare = String::new();
    let depth = source_name.split(['/', '\\']).count();
    for (row, folder) in source_name.split(['/', '\\']).enumerate() {
        bare.push('/');
        // Above, folders may be anything.
        if row + 3 < depth {
            bare.push_str(folder);
            continue;
        }
        for part in folder.split_inclusive(['_', '.', '-']) {
            match reading(part.trim_end_matches(['_', '.', '-'])) {
                Some(found) => order = Some(found),
                None => bare.push_str(part),
            }
        }
    }
    order.map(|order| (bare, order))
}

/// Whether a part of a file name is that of a tool or its output, perhaps numbered: `topo`, `12-hw-counters`.
fn names_a_tool(part: &str) -> bool {
    const OUTPUTS: [&str; 20] = [
        "hw",
        "counters",
        "topo",
        "iblinkinfo",
        "ibnetdiscover",
        "ibstat",
        "mlxlink",
        "gids",
        "pfcwd",
        "pfc",
        "dcgmi",
        "dcgm",
        "smi",
        "nvlink",
        "sonic",
        "ethtool",
        "diag",
        "health",
        "sysfs",
        "statistics",
    ];
    let lower = part.to_ascii_lowercase();
    lower.split('-').any(|word| OUTPUTS.contains(&word))
}

/// Host and NIC that a file name tells, such as `ethtool_host-3_mlx5_1.txt`: the words that name neither a tool nor
/// a NIC are the host.
pub(crate) fn host_and_nic_of_name(source_name: &str) -> (Option<String>, Option<String>) {
    const TOOLS: [&str; 18] = [
        "ethtool",
        "rdma",
        "statistic",
        "statistics",
        "stats",
        "counters",
        "counter",
        "hw",
        "sysfs",
        "dcgm",
        "exporter",
        "metrics",
        "node",
        "infiniband",
        "ib",
        "ss",
        "tin",
        "tinm",
    ];
    let name = file_name(source_name);
    let name = name.rsplit_once('.').map_or(name, |(name, _)| name);
    let mut host = Vec::new();
    let mut nic = None;
    let parts: Vec<&str> = name.split(['_', '.']).filter(|part| !part.is_empty()).collect();
    let mut at = 0;
    while let Some(&part) = parts.get(at) {
        at += 1;
        let number = parts.get(at).filter(|next| next.chars().all(|letter| letter.is_ascii_digit()));
        if let (true, Some(number)) = (part.starts_with("mlx") || part == "irdma", number) {
            nic = Some(format!("{part}_{number}"));
            at += 1;
        } else if is_nic(part) {
            nic = Some(part.to_owned());
        } else if !TOOLS.contains(&part.to_ascii_lowercase().as_str())
            && reading(part).is_none()
            && !names_a_tool(part)
        {
            host.push(part);
        }
    }
    ((!host.is_empty()).then(|| host.join("_")), nic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_hosts_gpus_and_identities_are_no_ranks() {
        for name in [
            "092fdd00-4f2a-11ee-be56-0242ac120002",
            "dump_092fdd00-4f2a-11ee-be56-0242ac120002.json",
            "host-1-local_rank-0",
            "node017_gpu0.pkl",
            "node017-cuda3",
            "host-7",
        ] {
            assert_eq!(rank_of_name(name), None, "{name}");
        }
        for (name, rank) in [
            ("nccl_trace_rank_3", 3),
            ("nccl_trace_7", 7),
            ("3.pkl", 3),
            ("host-1-rank-12.json", 12),
            ("_dump_5", 5),
            ("run-ab12-dump_4", 4),
        ] {
            assert_eq!(rank_of_name(name), Some(rank), "{name}");
        }
    }

    #[test]
    fn collectives_of_all_libraries_get_one_name() {
        for (foreign, ours) in [
            ("AllReduce", "all-reduce"),
            ("nccl:_all_gather_base", "all-gather"),
            ("nccl:reduce_scatter_tensor_coalesced", "reduce-scatter"),
            ("ALLTOALL_BASE", "all-to-all"),
            ("alltoallv", "all-to-all"),
            ("nccl:send 0->1", "send"),
            ("SendRecv", "send-receive"),
            ("nccl:recv 1<-0", "receive"),
            ("Broadcast", "broadcast"),
        ] {
            assert_eq!(operation_kind(foreign), ours);
        }
    }

    #[test]
    fn file_names_tell_ranks_hosts_and_nics() {
        for (name, rank) in [
            ("/x/nccl_trace_rank_12.json", Some(12)),
            ("nccl_trace_3", Some(3)),
            ("trace-rank7.pt.trace.json.gz", Some(7)),
            ("host-a.json", None),
            ("dumps/0.pkl", Some(0)),
        ] {
            assert_eq!(rank_of_name(name), rank, "{name}");
        }
        for (name, ranks) in [
            ("rank5/dump.pkl", vec![5]),
            ("d/Rank_12/dump.pickle", vec![12]),
            ("node_rank0/nccl_trace_rank_3", vec![3]),
            ("rank0/nccl_trace_rank_3", vec![3]),
            ("rank0/_dump_3", vec![3]),
            ("rank0/3.pkl", vec![0, 3]),
            ("rank3/step_500.pkl", vec![3, 500]),
            ("node3/dump.pkl", vec![]),
        ] {
            assert_eq!(ranks_of_path(name), BTreeSet::from_iter(ranks), "{name}");
        }
        let told = |name| host_and_nic_of_name(name);
        assert_eq!(told("ethtool_host-3_mlx5_1.txt"), (Some("host-3".into()), Some("mlx5_1".into())));
        assert_eq!(told("d/gpu7.eth2.txt"), (Some("gpu7".into()), Some("eth2".into())));
        assert_eq!(told("rdma_statistic.json"), (None, None));
        assert_eq!(told("58-hw-counters_node58.txt"), (Some("node58".into()), None));
        assert_eq!(told("nvidia-smi-topo_gpu-7.txt"), (Some("gpu-7".into()), None));
        assert_eq!(told("node1_t1.txt"), (Some("node1".into()), None));
        assert_eq!(told("after_node1_mlx5_2_1748736002.txt"), (Some("node1".into()), Some("mlx5_2".into())));
    }

    #[test]
    fn readings_of_one_thing_are_told_from_each_other() {
        let of = |name| reading_of_name(name).map(|(_, order)| order);
        for (name, order) in [
            ("a/node1_t1.txt", Some(1)),
            ("x/node1.txt", None),
            ("node1_after.txt", Some(2)),
            ("t3/node1.txt", Some(3)),
        ] {
            assert_eq!(of(name), order, "{name}");
        }
        let bare = |name| reading_of_name(name).map(|(bare, _)| bare);
        assert_eq!(
            bare("a/node1_t1.txt").map(|name| name.replace("_.", ".")),
            bare("a/node1_t2.txt").map(|name| name.replace("_.", "."))
        );
    }
}
