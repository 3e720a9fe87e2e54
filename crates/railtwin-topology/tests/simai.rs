//! SimAI's and HPCC's topologies.
use proptest::prelude::*;
use railtwin_topology::Topology;
use railtwin_units::{Rate, SimTime};

use crate::fabrics::{fabrics, outline, read, write};

/// Two servers of two GPUs, an NVSwitch each, two leaves (rails), one spine.
const TWO_SERVERS: &str = "9 2 2 3 10 H100\n4 5 6 7 8 \n\
    0 4 2880Gbps 0.000025ms 0\n0 6 400Gbps 0.0005ms 0\n1 4 2880Gbps 0.000025ms 0\n1 7 400Gbps 0.0005ms 0\n\
    2 5 2880Gbps 0.000025ms 0\n2 6 400Gbps 0.0005ms 0\n3 5 2880Gbps 0.000025ms 0\n3 7 400Gbps 0.0005ms 0\n\
    6 8 400Gbps 0.0005ms 0\n7 8 400Gbps 0.0005ms 0\n";

#[test]
fn gpus_are_grouped_to_hosts_and_nvswitches_are_inside() {
    let topology = read("simai", TWO_SERVERS).expect("whole");
    let counts = topology.counts();
    assert_eq!((counts.hosts, counts.cables, counts.links_missing), (2, 6, 0));
    assert_eq!((counts.switches["leaf"], counts.switches["spine"]), (2, 1));
    let host = topology.list.device_named("host-1").expect("a host");
    let about = &topology.about[host as usize];
    assert_eq!(about.gpus, Some(2));
    assert_eq!(about.nvlink, Some((Rate::from_gbps(2_880), SimTime::from_ns(25))));
    let port = topology.list.port_named(host, "nic-1:port-0").expect("the NIC of GPU 1");
    let leaf = topology.list.device_of(topology.list.peer(port).expect("cabled"));
    assert_eq!(topology.list.devices()[leaf as usize].name, "switch-7");
    assert!(topology.findings.is_empty(), "{:?}", topology.findings);
}

#[test]
fn a_real_server_without_a_network_is_one_host() {
    let text = "7 6 1 0 14 A800\n6\n0 6 202Gbps 0.00173ms 0\n1 6 202Gbps 0.0017ms 0\n2 6 1481Gbps 0.00242ms 0\n\
        3 6 1481Gbps 0.00253ms 0\n4 0 147Gbps 0.00225ms 0\n4 1 146Gbps 0.00224ms 0\n4 2 147Gbps 0.00222ms 0\n\
        4 3 147Gbps 0.00244ms 0\n4 5 1481Gbps 0.00253ms 0\n5 0 148Gbps 0.00228ms 0\n5 1 148Gbps 0.00227ms 0\n\
        5 2 148Gbps 0.00227ms 0\n5 3 147Gbps 0.00226ms 0\n5 4 1481Gbps 0.00252ms 0\n";
    let topology = read("simai", text).expect("whole");
    assert_eq!((topology.counts().hosts, topology.counts().cables), (1, 0));
    let host = &topology.about[0];
    assert_eq!((host.gpus, host.nvlink.map(|(rate, _)| rate)), (Some(6), Some(Rate::from_gbps(202))));
    assert_eq!(host.model.as_deref(), Some("A800"));
    assert!(topology.notes.iter().any(|note| note.contains("10 links between GPUs")), "{:?}", topology.notes);
    assert!(topology.findings.is_empty(), "{:?}", topology.findings);
}

#[test]
fn damage_is_found_and_the_rest_is_read() {
    let kinds = |text: &str| -> Vec<(&'static str, String)> {
        let topology = read("simai", text).expect("still one");
        topology.findings.iter().map(|finding| (finding.kind, finding.device.clone())).collect()
    };
    let fewer = TWO_SERVERS.replace("7 8 400Gbps 0.0005ms 0\n", "");
    assert_eq!(kinds(&fewer), [("count-differs", "header".to_owned())]);
    let beyond = TWO_SERVERS.replace("7 8 400Gbps", "7 88 400Gbps");
    assert_eq!(kinds(&beyond), [("unknown-device", "88".to_owned())]);
    assert_eq!(read("simai", &beyond).expect("still one").links_missing, 1);
    let unnamed = TWO_SERVERS.replace("4 5 6 7 8 \n", "4 5 6 8\n");
    assert_eq!(kinds(&unnamed), [("count-differs", "header".to_owned()), ("unknown-device", "7".to_owned())]);
    assert_eq!(
        outline(&read("simai", &unnamed).expect("still one")),
        outline(&read("simai", TWO_SERVERS).expect("whole")),
        "the node with the links of a switch is one"
    );
    let unlinked = TWO_SERVERS.replace("3 7 400Gbps", "1 7 400Gbps").replace("2 6 400Gbps", "0 6 400Gbps");
    assert_eq!(kinds(&unlinked), [("host-without-switch", "host-1".to_owned())]);
    let itself = TWO_SERVERS.replace("7 8 400Gbps", "7 7 400Gbps");
    assert_eq!(kinds(&itself), [("loop", "7".to_owned())]);
}

#[test]
fn a_header_that_counts_nvswitches_twice_makes_no_gpu_a_switch() {
    let twice = TWO_SERVERS.replace("9 2 2 3", "9 2 2 5");
    let topology = read("simai", &twice).expect("still one");
    assert_eq!(topology.findings.iter().map(|one| one.kind).collect::<Vec<_>>(), ["count-differs"]);
    assert_eq!(outline(&topology), outline(&read("simai", TWO_SERVERS).expect("whole")));
    // A header that has one node too few.
    let topology = read("simai", &TWO_SERVERS.replace("9 2 2 3", "8 2 2 3")).expect("still one");
    assert_eq!(outline(&topology), outline(&read("simai", TWO_SERVERS).expect("whole")));
}

#[test]
fn a_shared_nvswitch_is_a_domain_or_a_host() {
    let shared = TWO_SERVERS.replace("2 5 2880Gbps", "2 4 2880Gbps");
    let topology = read("simai", &shared).expect("whole");
    let domain = |host: usize| topology.about[host].domain.clone();
    let hosts: Vec<usize> = topology.hosts().map(|host| host as usize).collect();
    assert!(domain(hosts[0]).is_some() && domain(hosts[0]) == domain(hosts[1]));
    let ungrouped = read("simai", &TWO_SERVERS.replace("9 2 2 3", "9 0 2 3")).expect("whole");
    assert_eq!(ungrouped.counts().hosts, 2, "NVSwitches tell hosts where the header does not");
}

#[test]
fn hosts_of_hpcc_have_one_gpu_and_switches_any_number() {
    let topology = read(
        "hpcc",
        "5 1 4\n0\n0 1 10Gb/s 1us 0\n0 2 100Gbps 0.001ms 0\n3 0 100Gbps 1e-06s 0\n0 4 1GB/s 1000ns 0.0\n",
    );
    let topology = topology.expect("whole");
    assert_eq!((topology.form, topology.counts().hosts, topology.counts().cables), ("hpcc", 4, 4));
    assert!(topology.list.cables().iter().all(|cable| cable.delay == Some(SimTime::from_ns(1_000))));
    assert!(topology.findings.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_written_is_read(fabric in fabrics()) {
        let topology = Topology::of_fabric(&fabric);
        let text = write("simai", &topology).expect("a fabric");
        let found = read("simai", &text).expect("what was written");
        prop_assert!(found.findings.is_empty(), "{:?}", found.findings);
        prop_assert_eq!(outline(&found), outline(&topology));
        prop_assert_eq!(write("simai", &found).expect("again"), text);
        if fabric.host_models()[0].gpus == 1 && fabric.host_models()[0].nvlink.is_none() {
            let found = read("hpcc", &write("hpcc", &topology).expect("one GPU")).expect("what was written");
            prop_assert_eq!(outline(&found), outline(&topology));
        }
    }
}

#[test]
fn a_mark_of_byte_order_and_blank_lines_before_the_header_say_nothing() {
    let whole = read("simai", TWO_SERVERS).expect("whole");
    for text in
        [format!("\u{feff}{TWO_SERVERS}"), format!("\n \n{TWO_SERVERS}"), TWO_SERVERS.replace('\n', "\r\n")]
    {
        let file = railtwin_topology::SourceFile { name: "t.txt", bytes: text.as_bytes() };
        assert_eq!(railtwin_topology::form_of(&[file]).map(|form| form.name), Some("simai"), "{text:?}");
        assert_eq!(outline(&read("simai", &text).expect("whole")), outline(&whole), "{text:?}");
    }
}
