//! RoCE and NCCL of a host.
use std::fmt::Write as _;

use super::network::interfaces;
use crate::switch_config::plan::{HostPlan, LosslessClass};

/// A script of the NIC vendor's tools: trust DSCP, one lossless priority, ECN, notifications in a class of their own.
pub(super) fn script(host: &HostPlan, class: &LosslessClass) -> String {
    let LosslessClass { dscp, priority, cnp_dscp, cnp_priority, .. } = class;
    let pfc: Vec<&str> = (0..8).map(|one| if one == *priority { "1" } else { "0" }).collect();
    let mut text = format!(
        "#!/bin/sh\n\
         # For NICs of NVIDIA (mlnx_qos, cma_roce_tos, sysfs of mlx5). The same class as in the switches: DSCP {dscp} in\n\
         # priority {priority}, which PFC pauses, and no other.\n\
         set -e\n"
    );
    for (index, nic) in host.nics.iter().enumerate().filter(|(_, nic)| !nic.is_frontend) {
        let (_, ports) = interfaces(host, index);
        let _ = writeln!(text, "\n# {}", nic.name);
        for port in &ports {
            let _ = write!(
                text,
                "mlnx_qos -i {port} --trust dscp --pfc {}\n\
                 mlnx_qos -i {port} --dscp2prio set,{dscp},{priority} --dscp2prio set,{cnp_dscp},{cnp_priority}\n\
                 echo 1 > /sys/class/net/{port}/ecn/roce_np/enable/{priority}\n\
                 echo 1 > /sys/class/net/{port}/ecn/roce_rp/enable/{priority}\n\
                 echo {cnp_dscp} > /sys/class/net/{port}/ecn/roce_np/cnp_dscp\n\
                 device=$(ls /sys/class/net/{port}/device/infiniband | head -n 1)\n\
                 cma_roce_tos -d \"$device\" -t {}\n",
                pfc.join(","),
                class.traffic_class()
            );
        }
    }
    text
}

/// `/etc/nccl.conf`.
pub(super) fn nccl(host: &HostPlan, class: &LosslessClass) -> String {
    let frontend = host.nics.iter().position(|nic| nic.is_frontend);
    let frontend = frontend.map(|index| format!("NCCL_SOCKET_IFNAME={}\n", interfaces(host, index).0));
    format!(
        "# Traffic class: DSCP {} and ECN-capable.\nNCCL_IB_TC={}\nNCCL_IB_GID_INDEX=3\n\
         NCCL_IB_PCI_RELAXED_ORDERING=1\n{}",
        class.dscp,
        class.traffic_class(),
        frontend.unwrap_or_default()
    )
}
