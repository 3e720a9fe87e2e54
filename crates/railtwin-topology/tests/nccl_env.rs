//! Settings of NCCL for hosts.
use railtwin_fabric::HostSpec;
use railtwin_fabric::preset::{Hpn, LeafSpine, Tier2};
use railtwin_topology::{Topology, WriteOptions};

use crate::fabrics::form;

fn of_first(topology: &Topology) -> String {
    let written =
        form("nccl-env").write.expect("written")(topology, &WriteOptions::default()).expect("a fabric");
    assert_eq!(written.len(), topology.hosts().count());
    written.iter().find(|file| file.path == "host-0/nccl.conf").expect("the first host").text.clone()
}

fn settings(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with('#')).collect()
}

#[test]
fn rails_decide_cross_nic() {
    let hpn = |tier2| {
        Hpn { segments: Some(1), hosts: Some(2), spines: Some(2), tier2, ..Hpn::default() }
            .build()
            .expect("small")
    };
    let joined = of_first(&Topology::of_fabric(&hpn(Tier2::AnyToAny)));
    assert_eq!(
        settings(&joined),
        [
            "NCCL_IB_HCA==nic-0,nic-1,nic-2,nic-3,nic-4,nic-5,nic-6,nic-7",
            "NCCL_SOCKET_IFNAME=bond8",
            "NCCL_CROSS_NIC=2",
            "NCCL_IB_GID_INDEX=3",
            "NCCL_IB_TC=106",
            "NCCL_IB_QPS_PER_CONNECTION=2",
        ]
    );
    let apart = of_first(&Topology::of_fabric(&hpn(Tier2::RailOnly)));
    assert!(settings(&apart).contains(&"NCCL_CROSS_NIC=0"), "{apart}");
    let host = HostSpec { nic_ports: Some(1), ..HostSpec::default() };
    let shared =
        of_first(&Topology::of_fabric(&LeafSpine { host, ..LeafSpine::default() }.build().expect("valid")));
    assert!(settings(&shared).contains(&"NCCL_CROSS_NIC=1"), "{shared}");
    assert!(!shared.contains("QPS_PER_CONNECTION"), "{shared}");
}

#[test]
fn infiniband_has_no_settings_of_roce_and_domains_over_hosts_have_mnnvl() {
    let mut topology = Topology::of_fabric(&LeafSpine::default().build().expect("valid"));
    topology.form = "ibnetdiscover";
    let hosts: Vec<u32> = topology.hosts().take(2).collect();
    for host in hosts {
        topology.about_mut(host).domain = Some("rack-1".to_owned());
    }
    let text = of_first(&topology);
    assert!(!text.contains("GID_INDEX") && !text.contains("IB_TC"), "{text}");
    assert!(settings(&text).contains(&"NCCL_MNNVL_ENABLE=1"), "{text}");
}
