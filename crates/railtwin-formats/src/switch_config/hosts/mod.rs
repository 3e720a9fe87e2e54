//! Hosts under Linux: one folder for each, with bonds, addresses, kernel settings and the settings of RoCE and NCCL.

mod network;
mod roce;

use super::ConfigFile;
use super::plan::FabricPlan;

/// Folders of all hosts: `host-0/10-bond0.netdev` and so on, for systemd-networkd, and scripts beside them.
pub fn files(plan: &FabricPlan) -> Vec<ConfigFile> {
    let mut files = Vec::new();
    for host in plan.hosts.iter().filter(|host| !host.nics.is_empty()) {
        let mut add =
            |name: &str, text: String| files.push(ConfigFile::new(format!("{}/{name}", host.name), text));
        for (name, text) in network::units(host) {
            add(&name, text);
        }
        add("sysctl.conf", network::sysctl());
        add("arp-both.sh", network::arp_both(host));
        add("roce.sh", roce::script(host, &plan.lossless));
        add("nccl.conf", roce::nccl(host, &plan.lossless));
    }
    files
}

#[cfg(test)]
mod tests {
    use railtwin_fabric::HostSpec;
    use railtwin_fabric::preset::{Hpn, LeafSpine};

    use super::*;
    use crate::switch_config::PlanOptions;

    fn text(files: &[ConfigFile], path: &str) -> String {
        files.iter().find(|file| file.path == path).map(|file| file.text.clone()).unwrap_or_default()
    }

    #[test]
    fn a_nic_of_two_ports_is_a_bond_by_lacp() {
        let fabric = Hpn { segments: Some(1), hosts: Some(2), spines: Some(2), ..Hpn::default() }
            .build()
            .expect("small");
        let files = files(&FabricPlan::new(&fabric, &PlanOptions::default()).expect("small"));
        let bond = text(&files, "host-0/10-bond0.netdev");
        for line in
            ["Mode=802.3ad", "LACPTransmitRate=fast", "TransmitHashPolicy=layer3+4", "MIIMonitorSec=100ms"]
        {
            assert!(bond.contains(line), "{bond}");
        }
        assert!(text(&files, "host-0/20-bond0.network").contains("Address=10.0.0.2/24"));
        assert!(
            text(&files, "host-0/nccl.conf").contains("NCCL_IB_TC=106"),
            "DSCP 26 is traffic class 104, with ECN 106"
        );
        assert!(text(&files, "host-0/arp-both.sh").contains("bond7"));
    }

    #[test]
    fn a_nic_of_one_port_has_no_bond() {
        let host = HostSpec { nic_ports: Some(1), ..HostSpec::default() };
        let fabric = LeafSpine { host, ..LeafSpine::default() }.build().expect("valid");
        let files = files(&FabricPlan::new(&fabric, &PlanOptions::default()).expect("small"));
        assert!(!files.iter().any(|file| file.path.ends_with(".netdev")));
        assert!(text(&files, "host-0/20-nic0p0.network").contains("Address="));
    }
}
