//! Public reports of people who run clusters, with the right answer of each, and inputs that look like them and are well.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]
use std::path::Path;

use railtwin_reading::{Diagnosed, Inputs, diagnosis_of};

/// Diagnoses files by name and text.
fn of(files: &[(&str, &str)]) -> Diagnosed {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    diagnosis_of(Inputs::read(&[folder.path().to_owned()], "job").unwrap(), None, "job").unwrap()
}

/// The folder or file of a report, by the begin of its name.
fn path(begin: &str) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/telemetry/reports");
    let mut entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.find(|path| path.file_name().unwrap().to_string_lossy().starts_with(begin)).unwrap()
}

/// The text of a report.
fn text(begin: &str) -> String {
    std::fs::read_to_string(path(begin)).unwrap()
}

/// Names of all suspects of findings that accuse.
fn accused(told: &Diagnosed) -> Vec<String> {
    let accusing = told.findings.iter().filter(|finding| finding.accuses());
    accusing.flat_map(|one| one.suspects.iter().map(|suspect| suspect.component.name().to_owned())).collect()
}

#[test]
fn each_report_has_its_answer() {
    for (begin, who, words) in [
        ("01", &["node-a"][..], "NCCL runs over TCP sockets: NET/IB finds no RDMA device"),
        ("03", &["node-a"], "GPUDirect RDMA is off on all NICs that NCCL uses (mlx5_0, mlx5_1)"),
        (
            "04",
            &["mlx5_5 (198.51.100.0/24)", "mlx5_6 (198.51.101.0/24)"],
            "time out: the rails are not joined",
        ),
        ("06", &["ib-7/mlx5_2"], "mlx5_2 is a RoCE port among IB ports, and NCCL uses it"),
        ("07", &["gpu-b02"], "NVLink SHARP (NVLS) fails with 'invalid argument'"),
        ("09", &["nodec1"], "ibv_reg_mr_iova2 gets no memory: the limit of locked memory (ulimit -l)"),
        ("14", &["job/0", "job/1"], "rank 1 calls all-reduce 3104 with 195,812,480 elements"),
        ("16", &["job/4", "job/5", "job/6", "job/7"], "did not come to the barrier within 2000 s"),
        ("17", &["job/144"], "its process is stuck in a call of CUDA or NCCL for 600 s"),
        ("18", &["job/0"], "rank 0 calls reduce 3742816 where 7 others call all-gather"),
        (
            "20",
            &["rank 7 > rank 15"],
            "HCCL makes no link from rank 7 (192.0.2.39/7) to rank 15 (192.0.2.67/7) by RDMA",
        ),
        ("23", &[], "bus bandwidth of all_reduce_perf over 3 hosts collapses from 64 MiB on, beside 32 MiB"),
        ("32", &[], "steps 36.7 % longer from step 410 on"),
        ("37", &[], "RAS reports none of 256 ranks behind, yet rank 118 waits 1800 s"),
        ("43", &["zbox > its peer"], "zbox cannot reach its peer (No route to host, 34 tries)"),
        ("45", &["node-a"], "NCCL runs over TCP sockets: no line tells why"),
        (
            "59",
            &["job"],
            "ranks 0, 1, 2, 4 of gpu-03 use one GPU (CUDA device 1000): the local rank is not used",
        ),
        ("61", &[], "rank 1 waited, and its peer, which is not named, did not send in time (EI0006)"),
    ] {
        let told = diagnosis_of(Inputs::read(&[path(begin)], "job").unwrap(), None, "job").unwrap();
        let sentence = told.sentence();
        assert!(sentence.contains(words), "{begin}: {sentence}");
        assert!(!told.is_well() && accused(&told) == who, "{begin}: {:?} {sentence}", accused(&told));
    }
}

#[test]
fn one_reporter_is_told_as_one() {
    let told = of(&[("a.log", &text("39"))]);
    let first = told.findings[0].evidence[0].words();
    assert!(first.starts_with("nodeg1 alone reports that transfers with 192.0.2.59 fail"), "{first}");
    assert!(accused(&told).is_empty() && told.findings[0].suspects.len() == 3, "{:?}", told.screen());
}

/// A renamed host or rank is named as well.
#[test]
fn other_names_get_the_same_answers() {
    for (begin, from, to, who) in [
        ("01", "node-a", "dgx07", "dgx07"),
        ("06", "ib-7", "worker-3", "worker-3/mlx5_2"),
        ("07", "gpu-b02", "h9.cluster", "h9"),
        ("09", "nodec1", "c-77", "c-77"),
        ("17", "144", "7", "job/7"),
        ("43", "zbox", "alpha", "alpha > its peer"),
    ] {
        let told = of(&[("x.log", &text(begin).replace(from, to))]);
        assert!(accused(&told)[0].starts_with(who), "{begin}: {:?}", told.screen());
    }
}

/// Inputs that look like a report and are well.
#[test]
fn inputs_that_are_well_accuse_nobody() {
    let one_host = text("01")
        .replace("node-b", "node-a")
        .replace("8 -> 0", "1 -> 0")
        .replace("via NET/Socket/0", "via P2P/IPC");
    let by_rdma = text("01")
        .replace("NET/IB : No device found.", "NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB bond0:192.0.2.11<0>")
        .replace("Using network Socket", "Using network IB")
        .replace("NET/Socket/0", "NET/IB/0/GDRDMA");
    let by_plugin = text("01")
        .replace("Using network Socket", "Using network AWS Libfabric")
        .replace("NET/Socket/0", "NET/AWS Libfabric/0/GDRDMA");
    let direct = text("03").replace("Disabled", "Enabled");
    let at_home = text("03").replace("NVIDIA A100-SXM4-80GB", "NVIDIA GeForce RTX 4090");
    let unused: String = text("06")
        .lines()
        .filter(|line| !line.contains("WARN") && !line.contains("-> 2"))
        .fold(String::new(), |all, line| all + line + "\n");
    let tried = text("43").replace("34/34", "5/34");
    let complete = text("23")
        .replace("    5.27", "   45.27")
        .replace("    5.22", "   45.22")
        .replace("    4.09", "   44.09")
        .replace("    5.30", "   45.30");
    let steady = text("32").replace("Sec=61.", "Sec=83.");
    for (name, text) in [
        ("one host", one_host),
        ("RDMA", by_rdma),
        ("plugin", by_plugin),
        ("GPUDirect RDMA", direct),
        ("GeForce", at_home),
        ("port without use", unused),
        ("few tries", tried),
        ("level", complete),
        ("steady", steady),
    ] {
        let told = of(&[("x.log", &text)]);
        assert!(told.is_well() && told.findings.is_empty(), "{name}: {:?}", told.screen());
    }
}

/// Other wordings of the same kinds.
#[test]
fn other_wordings_get_the_same_answers() {
    let peer = "h2:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE ; OOB eth0:10.0.0.2<0>\n";
    for (name, text, who, words) in [
        (
            "a setting that turns RDMA off",
            text("01").replace("NET/IB : No device found.", "NCCL_IB_DISABLE set by environment to 1."),
            "node-a",
            "NCCL_IB_DISABLE=1 is set",
        ),
        (
            "NCCL 2.26",
            text("01").replace("Using network Socket", "Assigned NET plugin Socket to comm"),
            "node-a",
            "no RDMA device",
        ),
        (
            "a missing library",
            text("01").replace("NET/IB : No device found.", "Failed to open libibverbs.so[.1]"),
            "node-a",
            "libibverbs cannot be opened",
        ),
        (
            "peermem by name",
            text("03").replace("GPU Direct RDMA Disabled for HCA", "GPU Direct RDMA (nvidia-peermem) disabled for HCA"),
            "node-a",
            "GPUDirect RDMA is off",
        ),
        (
            "a bridge's address",
            "h1:11:12 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 172.17.0.1<50001> failed : No route to host\n\
             h1:11:12 [0] NCCL INFO init.cc:1358 -> 2\n"
                .to_owned(),
            "h1 > 172.17.0.1",
            "h1 cannot reach 172.17.0.1 (No route to host)",
        ),
        (
            "one rank absent",
            "RuntimeError: Rank 3 failed to pass monitoredBarrier in 600000 ms\n".to_owned(),
            "",
            "did not come to the barrier within 600 s: rank 3",
        ),
        (
            "multicast memory",
            "h1:1:2 [0] transport/nvls.cc:1 NCCL WARN Cuda failure 401 'the operation cannot be performed in the present state'\n\
             h1:1:2 [0] NCCL INFO init.cc:1157 -> 1\n"
                .to_owned() + peer,
            "h1",
            "NVLink SHARP (NVLS) fails",
        ),
        (
            "completion queue",
            "h1:1:2 [0] misc/ibvwrap.cc:1 NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory errno 12\n\
             h1:1:2 [0] NCCL INFO transport/net_ib.cc:415 -> 2\n"
                .to_owned(),
            "h1",
            "ibv_create_cq gets no memory",
        ),
    ] {
        let told = of(&[("x.log", &text)]);
        let sentence = told.sentence();
        let shown = told.screen().join("\n");
        assert!(!told.is_well() && (sentence.contains(words) || shown.contains(words)), "{name}: {shown}");
        assert!(who.is_empty() || accused(&told).iter().any(|one| one == who), "{name}: {shown}");
    }
}

/// Who calls something else than most is named; of two nobody alone; all alike accuse nobody.
#[test]
fn unlike_calls_name_the_one_that_differs() {
    let line = |rank: u32, kind: &str, elements: u32| {
        format!(
            "[rank{rank}]: RuntimeError: Detected mismatch between collectives on ranks. Rank {rank} is running inconsistent \
             collective: CollectiveFingerPrint(OpType={kind}, TensorShape=[{elements}], TensorDtypes=Float)\n"
        )
    };
    let text = line(0, "ALLREDUCE", 8)
        + &line(1, "ALLREDUCE", 8)
        + &line(2, "BROADCAST", 8)
        + &line(3, "ALLREDUCE", 8);
    assert_eq!(accused(&of(&[("x.log", &text)])), ["job/2"]);
    let two = line(0, "ALLREDUCE", 8)
        + &line(1, "ALLREDUCE", 9)
        + &line(2, "ALLREDUCE", 9)
        + &line(3, "ALLREDUCE", 8);
    assert!(accused(&of(&[("x.log", &two)])).is_empty());
}

/// A rank that is stuck beside others that wait is no proof, and neither are several that are stuck.
#[test]
fn several_stuck_processes_accuse_nobody() {
    let both = text("17") + &text("17").replace("144", "9");
    let told = of(&[("x.log", &both)]);
    assert!(accused(&told).is_empty() && !told.is_well(), "{:?}", told.screen());
}

/// A log of steps is read as one though NCCL prints between them, and so are its causes.
#[test]
fn steps_and_lines_of_nccl_are_read_together() {
    let told = of(&[("x.log", &(text("59") + &text("32")))]);
    assert_eq!(accused(&told), ["job"]);
    let has_steps = told.findings.iter().any(|one| one.evidence.iter().any(|line| line.table == "steps"));
    assert!(has_steps, "{:?}", told.screen());
}

/// Reports of other tools: the ranks that they name, and silence where they name none.
#[test]
fn reports_of_other_tools_are_read() {
    let desync = "[rank0]:[E ProcessGroupNCCL.cpp:1] - [0] Timeout at collective: ALLREDUCE, #2\n\
                  \t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n\
                  \t   - [3] finished collective #1, but didn't join collective #2 (count from 1)\n";
    let analyzer = "Not all ranks joining collective 5 at entry 4\ngroup info: 0:default_pg\ncollective: nccl:all_reduce\n\
                    missing ranks: {1}\nexpected ranks: 2\n";
    let nvrx = "STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks: \
                {StragglerId(rank=5, node='h1')}\n";
    let scores = "GPU relative performance:\n Worst performing 1/8 ranks:\n  Rank=5 Node=h1 Score=0.94\n";
    let spread = |least: u32| {
        let line = |most: u32| {
            format!("0: INFO:megatron: | MnEtpt/Rnk: {least}.02TF/7 | MxEtpt/Rnk: {most}.32TF/8\n")
        };
        line(296) + &line(297) + &line(298)
    };
    let ucx = "[node7:1:0:1] ib_mlx5_log.c:177  Transport retry count exceeded on mlx5_0:1/IB (synd 0x15 vend 0x81)\n";
    for (text, who) in [
        (desync.to_owned(), &["job/3"][..]),
        (analyzer.to_owned(), &["job/1"]),
        (nvrx.to_owned(), &["job/5"]),
        (spread(150), &["job/7"]),
        (ucx.to_owned(), &[]),
    ] {
        let told = of(&[("x.log", &text)]);
        assert!(!told.is_well() && accused(&told) == who, "{text}: {:?}", told.screen());
    }
    let well = of(&[("x.log", &spread(290)), ("y.log", &(scores.to_owned() + &spread(291)))]);
    assert!(well.is_well() && well.findings.is_empty(), "{:?}", well.screen());
}
