//! Networks of ASTRA-sim's analytical backend.
use proptest::prelude::*;
use railtwin_topology::Topology;
use railtwin_units::{Rate, SimTime};

use crate::fabrics::{fabrics, read, write};

fn network(topology: &str, npus: &str) -> String {
    let values = |value: &str| vec![value; topology.split(',').count()].join(", ");
    format!(
        "# a comment\ntopology: [ {topology} ]  # Ring, Switch, FullyConnected\nnpus_count: [ {npus} ]\n\
         bandwidth: [ {} ]  # GB/s\nlatency: [ {} ]  # ns\n",
        values("50.0"),
        values("500.0")
    )
}

#[test]
fn dimensions_are_switches_or_cables() {
    for (topology, npus, hosts, gpus, switches, cables) in [
        ("Ring", "16", 16, 1, 0, 16),
        ("FullyConnected", "16", 16, 1, 0, 120),
        ("Switch", "16", 16, 1, 1, 16),
        ("Ring", "2", 2, 1, 0, 1),
        ("Switch, Switch", "8, 4", 4, 8, 8, 32),
        ("FullyConnected, Ring", "8, 2", 2, 8, 0, 8),
        ("Ring, FullyConnected, Switch", "2, 4, 3", 12, 2, 8, 3 * 2 * 6 + 24),
    ] {
        let found = read("astra-sim", &network(topology, npus)).expect("whole");
        let counts = found.counts();
        let of_switches: u32 = counts.switches.values().sum();
        assert_eq!((counts.hosts, of_switches, counts.cables), (hosts, switches, cables), "{topology}");
        assert_eq!(found.about[0].gpus, Some(gpus), "{topology}");
        let rate = found.list.ports()[0].rate.map(Rate::bits_per_s);
        assert_eq!(rate, Some((50 * 8) << 30), "a gigabyte of the form is 2^30 bytes");
        assert!(found.list.cables().iter().all(|cable| cable.delay == Some(SimTime::from_ns(500))));
    }
}

#[test]
fn the_inside_of_a_host_has_its_rate_by_links() {
    for (block, links) in [("Ring", 2), ("FullyConnected", 7), ("Switch", 1)] {
        let found = read("astra-sim", &network(&format!("{block}, Switch"), "8, 2")).expect("whole");
        let nvlink = found.about[0].nvlink.map(|(rate, _)| rate.bits_per_s());
        assert_eq!(nvlink, Some(links * ((50 * 8) << 30)), "{block}");
    }
}

#[test]
fn lists_of_different_length_are_a_finding_and_unknown_kinds_an_error() {
    let short = network("Switch, Switch", "8, 4").replace("50.0, 50.0", "50.0");
    let found = read("astra-sim", &short).expect("still one");
    assert_eq!(found.findings.iter().map(|one| one.kind).collect::<Vec<_>>(), ["count-differs"]);
    assert!(read("astra-sim", &network("Torus", "8")).is_err());
    assert!(read("astra-sim", &network("FullyConnected", "1000000")).is_err(), "no such memory");
    let json = r#"{"topology-name": "Hierarchical", "topologies-per-dim": ["Ring", "Switch"], "units-count": [2, 8],
        "link-bandwidth": [50, 25], "link-latency": [500, 500]}"#;
    assert_eq!(read("astra-sim", json).expect("the first version").counts().hosts, 8);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_is_written_has_the_gpus_and_their_rates(fabric in fabrics()) {
        let topology = Topology::of_fabric(&fabric);
        let hosts = topology.hosts().count();
        let model = &fabric.host_models()[0];
        let gpus = hosts as u64 * u64::from(model.gpus);
        match write("astra-sim", &topology) {
            Ok(text) => {
                let found = read("astra-sim", &text).expect("what was written");
                let all: u64 = found.hosts().map(|host| u64::from(found.about[host as usize].gpus.unwrap_or(0))).sum();
                prop_assert_eq!(all, gpus);
                let share = model.backend_capacity().bits_per_s() / u64::from(model.gpus);
                let rate = found.list.ports().first().and_then(|port| port.rate).map(Rate::bits_per_s);
                if hosts > 1 {
                    prop_assert_eq!(rate, Some(share));
                }
                if model.gpus > 1 && hosts > 1 {
                    prop_assert_eq!(found.about[0].nvlink.map(|(rate, _)| rate), model.nvlink);
                }
                prop_assert_eq!(write("astra-sim", &topology).expect("again"), text);
            }
            Err(error) => prop_assert!(gpus == 1, "{}", error),
        }
    }
}
