//! Logs of processes and kernels, as clusters leave them at three in the morning: who is named, and who is not.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and writes files")]
use std::fmt::Write as _;

use railtwin::diagnose::{Diagnosed, Inputs, diagnose};

/// What is said of some files, each with its name.
pub(super) fn of(files: &[(&str, &str)]) -> Diagnosed {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    diagnose(Inputs::read(&[folder.path().to_owned()], "job").unwrap(), None, "job").unwrap()
}

pub(super) fn accused(told: &Diagnosed) -> Vec<String> {
    let accusing = told.findings.iter().filter(|finding| finding.accuses());
    accusing
        .map(|one| format!("{} {}", one.suspects[0].component.kind(), one.suspects[0].component.name()))
        .collect()
}

/// The address of a host's network for connections: `10.0.0.N`.
fn address(host: u32) -> String {
    format!("10.0.0.{host}")
}

/// What NCCL prints of a host when a job begins.
fn begins(host: u32, hosts: u32) -> String {
    let mut text = format!("gpu-{host}:100:100 [0] NCCL INFO Bootstrap : Using eth0:{}<0>\n", address(host));
    for gpu in 0..8 {
        let rank = host * 8 + gpu;
        let _ = writeln!(
            text,
            "gpu-{host}:{0}:{0} [{gpu}] NCCL INFO comm 0x55 rank {rank} nranks {1} cudaDev {gpu} nvmlDev {gpu} busId {2:x}000 \
             commId 0x5ae77eb5ea4ec1ee - Init COMPLETE",
            100 + gpu,
            hosts * 8,
            0x1b + 0x10 * gpu
        );
    }
    text
}

fn lost(from: u32, to: u32, nic: u32) -> String {
    format!(
        "gpu-{from}:100:900 [{nic}] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer {}<5{from}{to}1> with \
         status=12 opcode=0 len=0 vendor err 129 (Send) localGid ::ffff:10.{nic}.0.{from} remoteGids ::ffff:10.{nic}.0.{to} hca \
         mlx5_{nic}\n",
        address(to)
    )
}

#[test]
fn a_host_that_several_lose_is_named_and_nobody_else() {
    let mut text: String = (0..4).map(|host| begins(host, 4)).collect();
    text += &(lost(0, 2, 1) + &lost(1, 2, 1) + &lost(3, 2, 5));
    let told = of(&[("train.log", &text)]);
    assert_eq!(accused(&told), ["host gpu-2"], "{:?}", told.screen());
    assert_eq!(told.directory.ranks.len(), 32);
    assert!(told.screen().iter().any(|line| line.contains("cannot reach gpu-2")), "{:?}", told.screen());
}

#[test]
fn two_that_lose_each_other_are_both_suspects_until_a_kernel_tells() {
    let text = begins(0, 2) + &begins(1, 2) + &lost(0, 1, 3) + &lost(1, 0, 3);
    let told = of(&[("train.log", &text)]);
    assert!(accused(&told).is_empty() && !told.is_well(), "{:?}", told.screen());
    let names: Vec<&str> = told.findings[0].suspects.iter().map(|one| one.component.name()).collect();
    assert_eq!(names, ["gpu-0/mlx5_3", "gpu-1/mlx5_3", "gpu-0/mlx5_3 > gpu-1/mlx5_3"]);
    let kernel = "[90000.000000] mlx5_core 0000:5d:00.0 mlx5_3: Port: 1 Link ACTIVE\n\
                  [90500.000000] mlx5_core 0000:5d:00.0 mlx5_3: Port: 1 Link DOWN\n";
    let told = of(&[("train.log", &text), ("gpu-1/dmesg.txt", kernel)]);
    assert_eq!(accused(&told), ["nic gpu-1/mlx5_3"], "{:?}", told.screen());
}

#[test]
fn a_gpu_off_its_bus_is_the_cause_of_what_its_host_does_to_others() {
    let mut text: String = (0..4).map(|host| begins(host, 4)).collect();
    text += &(lost(0, 2, 1) + &lost(1, 2, 1) + &lost(3, 2, 5));
    let kernel = "Nov 24 10:00:00 gpu-2.cluster.local kernel: NVRM: Xid (PCI:0000:4b:00): 79, pid='<unknown>', name=<unknown>, GPU \
                  has fallen off the bus.\nNov 24 10:00:01 gpu-2.cluster.local kernel: NVRM: Xid (PCI:0000:4b:00): 45, pid=7, Ch 1\n";
    let told = of(&[("train.log", &text), ("syslog", kernel)]);
    assert_eq!(accused(&told), ["gpu gpu-2/gpu-3"], "{:?}", told.screen());
    assert!(
        told.findings[0].evidence.iter().any(|line| line.words().contains("Xid")),
        "{:?}",
        told.findings[0]
    );
}

#[test]
fn what_pytorch_says_of_nccl_is_evidence_and_a_host_that_nothing_tells_is_no_witness() {
    let said = |rank: u32, peer: u32| {
        format!(
            "[rank{rank}]: torch.distributed.DistBackendError: NCCL error in: ../NCCLUtils.hpp:268, remote process exited or there was \
             a network error, NCCL version 2.21.5\n[rank{rank}]: Last error:\n[rank{rank}]: NET/IB : Got completion from peer \
             {}<43210> with status=12 opcode=0 len=0 vendor err 129 (Send) hca mlx5_3\n",
            address(peer)
        )
    };
    let told = of(&[("err.log", &said(0, 2))]);
    assert!(accused(&told).is_empty() && !told.is_well(), "{:?}", told.screen());
    let names: Vec<&str> = told.findings[0].suspects.iter().map(|one| one.component.name()).collect();
    assert_eq!(names, ["10.0.0.2"]);
    // Ranks of one host, as far as anybody knows: nobody is accused.
    let told = of(&[("err.log", &(said(0, 2) + &said(1, 2) + &said(9, 3)))]);
    assert!(accused(&told).is_empty() && !told.is_well(), "{:?}", told.screen());
    // Where NCCL tells who is where, ranks are witnesses of their hosts, and what is said twice counts once.
    let begun: String = (0..4).map(|host| begins(host, 4)).collect();
    let told = of(&[("err.log", &(begun + &said(0, 2) + &said(9, 2)))]);
    assert_eq!(accused(&told), ["host gpu-2"], "{:?}", told.screen());
}

#[test]
fn a_completion_that_names_no_peer_is_told_and_accuses_nobody() {
    let text = "node017:4123:4201 [3] transport/net_ib.cc:829 NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 11155, \
                vendor err 129\n";
    let told = of(&[("a.log", text)]);
    assert!(accused(&told).is_empty() && !told.is_well(), "{:?}", told.screen());
    let finding = &told.findings[0];
    assert!(finding.suspects.is_empty() && finding.syndrome.name() == "unreachable", "{finding:?}");
    assert!(finding.evidence[0].words().ends_with(": node017"), "{finding:?}");
    assert!(finding.evidence[1].words().contains("Got completion with error 12"), "{finding:?}");
}

#[test]
fn a_switch_that_fails_is_its_host_unless_one_of_its_gpus_does() {
    let switch = "2025-10-20T12:30:01+0000 node031 kernel: nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 24007, Fatal, Link 36 sourcetrack \
                  timeout error (First)\n";
    let told = of(&[("journal.txt", switch)]);
    assert_eq!(accused(&told), ["host node031"], "{:?}", told.screen());
    assert!(told.screen().join("\n").contains("SXid 24007 of an NVSwitch, fatal"), "{:?}", told.screen());
    let gpu = "2025-10-20T12:30:00+0000 node031 kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus.\n";
    let told = of(&[("journal.txt", &(gpu.to_owned() + switch))]);
    assert_eq!(accused(&told), ["gpu node031/0000:1b:00"], "{:?}", told.screen());
    // What is not fatal, and what was before the host began anew.
    let passed = [
        switch.replace("Fatal", "Non-fatal"),
        switch.to_owned()
            + "2025-10-20T14:30:01+0000 node031 kernel: Linux version 6.8.0-45-generic (buildd@lcy02) (gcc)\n",
    ];
    for text in &passed {
        let told = of(&[("journal.txt", text)]);
        assert!(told.is_well(), "{:?}", told.screen());
    }
    let told = of(&[("journal.txt", &passed[0].repeat(3))]);
    let said = "errors of NVSwitches that are not fatal: node031: 3 (SXid 24007)";
    assert!(told.is_well() && told.notes.iter().any(|note| note == said), "{:?}", told.notes);
}

#[test]
fn links_of_nics_of_any_driver_go_down_and_flap() {
    let says = |minute: u32, what: &str| {
        format!(
            "2025-10-20T12:{minute:02}:07+0000 node033 kernel: bnxt_en 0000:06:00.0 enp6s0: NIC Link is {what}\n"
        )
    };
    let told = of(&[("journal.txt", &says(30, "Down"))]);
    assert_eq!(accused(&told), ["nic node033/enp6s0"], "{:?}", told.screen());
    let (down, up) = ("Down", "Up, 100000 Mbps full duplex, Flow control: none");
    let flaps: String = (0..4).map(|turn| says(2 * turn, down) + &says(2 * turn + 1, up)).collect();
    let told = of(&[("journal.txt", &flaps)]);
    assert_eq!(accused(&told), ["nic node033/enp6s0"], "{:?}", told.screen());
    assert!(
        !told.findings[0].faults.is_empty() && told.findings[0].faults[0].name() == "flap",
        "{:?}",
        told.findings[0]
    );
}

#[test]
fn kernels_and_processes_that_are_well_are_left_alone() {
    let kernel = "[    0.000000] Linux version 6.8.0-45-generic (buildd@lcy02-amd64-075) (x86_64-linux-gnu-gcc-13)\n\
        [    3.100000] mlx5_core 0000:29:00.0: firmware version: 28.39.1002\n\
        [    3.200000] mlx5_core 0000:29:00.0: Port module event: module 0, Cable plugged\n\
        [    3.300000] mlx5_core 0000:2a:00.0: firmware version: 28.39.1002\n\
        [   12.000000] mlx5_core 0000:29:00.0 ens1np0: Link up\n\
        [   12.100000] mlx5_core 0000:2a:00.0 ens2np0: Link down\n\
        [   13.000000] pcieport 0000:16:00.0: AER: Corrected error received: 0000:17:00.0\n\
        [   13.000001] mce: [Hardware Error]: Machine check events logged\n\
        [ 2000.000000] NVRM: Xid (PCI:0000:1b:00): 31, pid=7, name=python, Ch 00000008, intr 00000000. MMU Fault\n\
        [ 2001.000000] NVRM: Xid (PCI:0000:1b:00): 43, pid=7, name=python, Ch 00000008\n\
        [90000.000000] mlx5_core 0000:29:00.0 ens1np0: Link up\n";
    let told = of(&[("gpu-1/dmesg.txt", kernel), ("gpu-1/train.log", &begins(1, 4))]);
    assert!(told.is_well() && accused(&told).is_empty(), "{:?}", told.screen());
}

#[test]
fn what_a_kernel_kills_or_loses_is_told_by_the_rules_of_counters() {
    let killed = "2026-11-24T10:00:00+00:00 gpu-4 kernel: Out of memory: Killed process 4242 (python3) total-vm:1kB, anon-rss:2kB\n";
    assert_eq!(accused(&of(&[("kern.log", killed)])), ["host gpu-4"]);
    let flaps = "[100.000000] mlx5_core 0000:29:00.0 ens1np0: Link down\n[105.000000] mlx5_core 0000:29:00.0 ens1np0: Link up\n\
                 [300.000000] mlx5_core 0000:29:00.0 ens1np0: Link down\n[305.000000] mlx5_core 0000:29:00.0 ens1np0: Link up\n";
    let told = of(&[("dmesg_gpu-4.txt", flaps)]);
    assert_eq!(accused(&told), ["nic gpu-4/ens1np0"], "{:?}", told.screen());
    let firmware = "[500.0] mlx5_core 0000:29:00.0: poll_health:841:(pid 0): device's health compromised - reached miss count\n";
    assert_eq!(accused(&of(&[("dmesg_gpu-4.txt", firmware)])), ["nic gpu-4/0000:29:00"]);
    let queue = "[500.0] NETDEV WATCHDOG: ib0 (mlx5_core): transmit queue 0 timed out\n";
    let told = of(&[("dmesg_gpu-4.txt", queue)]);
    assert!(
        accused(&told).is_empty() && !told.is_well(),
        "a pause storm stops queues, too: {:?}",
        told.screen()
    );
}

#[test]
fn a_test_that_dies_tells_peer_and_device() {
    let test = "# nccl-tests version 2.17.6\n# Collective test starting: alltoall_perf\n# nThread 1 nGpus 1\n# Using devices\n\
        #  Rank  0 Group  0 Pid 1 on gpu-0 device  0 [0000:52:00] H100\n#  Rank  1 Group  0 Pid 2 on gpu-1 device  0 [0000:43:00] H100\n\
        # size count type redop root time algbw busbw #wrong\n";
    let died =
        "gpu-0: Test NCCL failure alltoall.cu:274 'remote process exited or there was a network error / '\n";
    let text = format!("{test}{}{}{died}", begins(1, 2), lost(0, 1, 3));
    let told = of(&[("pair.log", &text)]);
    assert_eq!(told.failed_tests, 1);
    let said: Vec<String> =
        told.findings.iter().flat_map(|one| &one.evidence).map(railtwin_records::Evidence::words).collect();
    assert!(said.iter().any(|line| line.contains("status=12") && line.contains("hca mlx5_3")), "{said:?}");
    assert!(accused(&told).is_empty(), "{:?}", told.screen());
}

#[test]
fn an_address_that_nothing_tells_is_the_other_host_of_the_test() {
    let test = |a: u32, b: u32| {
        format!(
            "# nccl-tests version 2.17.6\n# Collective test starting: alltoall_perf\n# nThread 1 nGpus 1\n# Using devices\n#  Rank  0 \
             Group  0 Pid 1 on gpu-{a} device  0 [0000:52:00] H100\n#  Rank  1 Group  0 Pid 2 on gpu-{b} device  0 [0000:43:00] H100\n\
             # size count type redop root time algbw busbw #wrong\n"
        )
    };
    let lost = |host: u32| {
        format!(
            "gpu-{host}:22:20 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.1.0.5<50123> with status=12 \
             opcode=0 len=0 vendor err 129 (Send) hca mlx5_0\n"
        )
    };
    let logs: Vec<(String, String)> =
        [0, 1, 2].map(|host| (format!("{host}.log"), test(host, 5) + &lost(host))).to_vec();
    let files: Vec<(&str, &str)> = logs.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let told = of(&files);
    let named: Vec<&str> =
        told.findings.iter().flat_map(|one| &one.suspects).map(|one| one.component.name()).collect();
    assert!(named.contains(&"gpu-5") && named.iter().all(|name| !name.contains("10.1.0.5")), "{named:?}");
    // Two hosts cannot have one address: it is none of theirs.
    let other = test(0, 4) + &lost(0);
    let told = of(&[files[0], files[1], ("other.log", &other)]);
    let named: Vec<&str> =
        told.findings.iter().flat_map(|one| &one.suspects).map(|one| one.component.name()).collect();
    assert!(named.iter().any(|name| name.contains("10.1.0.5")), "{named:?}");
}

#[test]
fn the_name_of_a_tests_file_is_no_host_of_what_a_kernel_says_in_it() {
    let test = "# nccl-tests version 2.17.6\n# Collective test starting: alltoall_perf\n# nThread 1 nGpus 1\n# Using devices\n\
        #  Rank  0 Group  0 Pid 1 on gpu-0 device  0 [0000:52:00] H100\n#  Rank  1 Group  0 Pid 2 on gpu-1 device  0 [0000:52:00] H100\n\
        # size count type redop root time algbw busbw #wrong\n";
    let kernel = "NVRM: Xid (PCI:0000:52:00): 79, pid=9, name=alltoall_perf, GPU has fallen off the bus.\n";
    let warns = "gpu-0:22:20 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.1.0.5<50123> with status=12 \
                 opcode=0 len=0 vendor err 129 (Send) hca mlx5_0\n";
    let name = "nccl_N2_G1_gpu-0_gpu-1.log";
    let names = |text: &str| -> Vec<String> {
        let told = of(&[(name, text)]);
        let suspects = told.findings.iter().flat_map(|one| &one.suspects).map(|one| &one.component);
        suspects.filter(|one| one.kind() == "gpu").map(|one| one.name().to_owned()).collect()
    };
    // Who says that it failed by itself, else nobody that is known: not who alone says anything else.
    let died = "gpu-1: Test CUDA failure common.cu:892 'unspecified launch failure'\n";
    assert_eq!(names(&format!("{test}{warns}{kernel}{died}")), ["gpu-1/gpu-0"]);
    let unknown = names(&format!("{test}{warns}{kernel}"));
    assert!(
        unknown.iter().all(|name| name.starts_with("unknown-host/")) && !unknown.is_empty(),
        "{unknown:?}"
    );
}

#[test]
fn what_the_driver_asks_to_reset_is_named_and_a_harmless_event_is_not() {
    let event = |severity: &str| {
        format!("NVRM: Xid (PCI:0008:06:00): 149, NETIR_LINK_EVT {severity} XC0 i0 Link 01 (0x004505c6 0x0)")
    };
    let action = |from: &str, to: &str| {
        format!("NVRM: Xid (PCI:0008:06:00): 154, GPU recovery action changed from {from} to {to}")
    };
    let (none, reset) = ("0x0 (None)", "0x1 (GPU Reset Required)");
    let dmesg = |lines: &[String]| -> String {
        lines.iter().map(|line| format!("[Tue Sep 23 09:12:20 2025] {line}\n")).collect()
    };
    for to in [reset, "0x2 (Node Reboot Required)", "0x3 (Drain P2P)", "0x4 (Drain and Reset)"] {
        let told = of(&[("gpu05/dmesg.txt", &dmesg(&[event("Fatal"), action(none, to)]))]);
        assert_eq!(accused(&told), ["gpu gpu05/0008:06:00"], "{:?}", told.screen());
        assert!(told.sentence().contains("fatal error of its NVLink 1 (Xid 149)"), "{}", told.sentence());
    }
    for well in [vec![event("Nonfatal")], vec![event("Nonfatal"), action(reset, none)]] {
        let told = of(&[("gpu05/dmesg.txt", &dmesg(&well))]);
        assert!(accused(&told).is_empty() && told.is_well(), "{:?}", told.screen());
    }
    // The line says that it is fatal, whatever the driver asks for.
    let told = of(&[("gpu05/dmesg.txt", &dmesg(&[event("Fatal")]))]);
    assert_eq!(accused(&told), ["gpu gpu05/0008:06:00"], "{:?}", told.screen());
}
