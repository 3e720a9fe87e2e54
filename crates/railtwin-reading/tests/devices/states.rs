//! Ports and GPUs by their states: a healthy and a faulty input of each tool.
use super::kit::{accused, assert_silent, of_text};

fn ibstat(states: [(&str, &str, u32); 4]) -> String {
    (0..4)
        .zip(states)
        .map(|(nic, (state, physical, rate))| {
            format!(
                "CA 'mlx5_{nic}'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: {state}\n\t\tPhysical state: \
                 {physical}\n\t\tRate: {rate}\n\t\tLink layer: InfiniBand\n"
            )
        })
        .collect()
}

#[test]
fn ports_of_ibstat() {
    let up = ("Active", "LinkUp", 400);
    assert_silent(&of_text("ibstat_node4.txt", &ibstat([up; 4])));
    for bad in [("Down", "Polling", 10), ("Initializing", "LinkUp", 400), ("Active", "LinkUp", 100)] {
        assert_eq!(
            accused(&of_text("ibstat_node4.txt", &ibstat([up, up, bad, up]))),
            ["node4/mlx5_2"],
            "{bad:?}"
        );
    }
    let unused = ("Down", "Disabled", 10);
    assert_silent(&of_text("ibstat_node4.txt", &ibstat([up, up, unused, unused])));
}

#[test]
fn a_port_of_mlxlink() {
    let text = |opcode: u32, words: &str, state: &str| {
        format!(
            "Operational Info\n----------------\nState                              : {state}\nPhysical state                     : \
             LinkUp\nSpeed                              : IB-NDR\nWidth                              : 4x\n\nTroubleshooting \
             Info\n--------------------\nStatus Opcode                      : {opcode}\nGroup Opcode                       : \
             N/A\nRecommendation                     : {words}\n"
        )
    };
    assert_silent(&of_text("mlxlink_node4_mlx5_3.txt", &text(0, "No issue was observed", "Active")));
    let answer = of_text("mlxlink_node4_mlx5_3.txt", &text(15, "Bad signal integrity", "Polling"));
    assert_eq!(accused(&answer), ["node4/mlx5_3"]);
    assert!(answer.sentence().contains("Bad signal integrity"), "{}", answer.sentence());
}

#[test]
fn gpus_of_nvidia_smi() {
    let query = |thermal: &str, pending: &str| {
        format!(
            "==============NVSMI LOG==============\n\nDriver Version                            : 550.54\n\nGPU 00000000:1B:00.0\n    \
             Clocks Event Reasons\n        SW Power Cap                      : Active\n        HW Thermal Slowdown               : \
             {thermal}\n    Remapped Rows\n        Correctable Error                 : 0\n        Pending                           : \
             {pending}\n"
        )
    };
    assert_silent(&of_text("nvidia-smi-q_node4.txt", &query("Not Active", "No")));
    for (thermal, pending) in [("Active", "No"), ("Not Active", "Yes")] {
        assert_eq!(
            accused(&of_text("nvidia-smi-q_node4.txt", &query(thermal, pending))),
            ["node4/0000:1b:00"]
        );
    }
    let nvlink = |third: &str| -> String {
        (0..3)
            .map(|gpu| {
                let last = if gpu == 2 { third } else { "26.562 GB/s" };
                format!("GPU {gpu}: NVIDIA H100 80GB HBM3 (UUID: GPU-{gpu})\n\t Link 0: 26.562 GB/s\n\t Link 1: {last}\n")
            })
            .collect()
    };
    assert_silent(&of_text("nvlink_node4.txt", &nvlink("26.562 GB/s")));
    assert_eq!(accused(&of_text("nvlink_node4.txt", &nvlink("<inactive>"))), ["node4/gpu-2"]);
    let errors = nvlink("26.562 GB/s").replace("26.562 GB/s", "Recovery Errors: 0");
    assert_silent(&of_text("nvlink_node4.txt", &errors));
    let one = errors.replacen("Recovery Errors: 0", "Recovery Errors: 7", 1);
    assert_eq!(accused(&of_text("nvlink_node4.txt", &one)), ["node4/gpu-0"]);
}

fn gids(rows: &[(&str, u32, &str)]) -> String {
    let mut text = "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n---\t----\t-----\t---\n".to_owned();
    for (device, index, address) in rows {
        text += &format!("{device}\t1\t0\tfe80:0000:0000:0000:ee0d:9aff:fe2f:c21c\t\t\tv1\tens1\n");
        if !address.is_empty() {
            text += &format!(
                "{device}\t1\t{index}\t0000:0000:0000:0000:0000:ffff:c0a8:6402\t{address}\tv2\tens1\n"
            );
        }
    }
    text + "n_gids_found=8\n"
}

#[test]
fn ports_of_show_gids() {
    let well = [
        ("mlx5_0", 3, "10.0.0.1"),
        ("mlx5_1", 3, "10.0.0.2"),
        ("mlx5_2", 3, "10.0.0.3"),
        ("mlx5_3", 3, "10.0.0.4"),
    ];
    assert_silent(&of_text("gids_node4.txt", &gids(&well)));
    let mut toggled = well;
    toggled[2].1 = 4;
    let answer = of_text("gids_node4.txt", &gids(&toggled));
    assert_eq!(accused(&answer), ["node4/mlx5_2"]);
    assert!(answer.sentence().contains('4'), "{}", answer.sentence());
    let mut bare = well;
    bare[1].2 = "";
    assert_eq!(accused(&of_text("gids_node4.txt", &gids(&bare))), ["node4/mlx5_1"]);
    // Two of four that differ tell nothing.
    toggled[0].1 = 4;
    assert_silent(&of_text("gids_node4.txt", &gids(&toggled)));
}

#[test]
fn gpus_of_dcgmi() {
    let diag = |pcie: &str, software: &str| {
        format!(
            "Successfully ran diagnostic for group.\n+-----+-----+\n| Diagnostic | Result |\n+=====+=====+\n| Denylist | {software} \
             |\n| PCIe | {pcie} |\n| GPU Memory | Pass - All |\n+-----+-----+\n"
        )
    };
    assert_silent(&of_text("dcgmi_node4.txt", &diag("Pass - All", "Pass")));
    let answer = of_text("dcgmi_node4.txt", &diag("Fail - GPU: 3", "Pass"));
    assert_eq!(accused(&answer), ["node4/gpu-3"]);
    assert!(answer.sentence().contains("PCIe"), "{}", answer.sentence());
    assert_eq!(accused(&of_text("dcgmi_node4.txt", &diag("Pass - All", "Fail"))), ["node4"]);
    let health = |state: &str| {
        format!(
            "| Health Monitor Report |\n| Overall Health | {state} |\n| GPU | |\n| -> 2 | {state} |\n| -> PCIe system | {state} |\n"
        )
    };
    assert_silent(&of_text("dcgmi_node4.txt", &health("Healthy")));
    assert_eq!(accused(&of_text("dcgmi_node4.txt", &health("Failure"))), ["node4/gpu-2"]);
}
