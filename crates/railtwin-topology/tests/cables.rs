//! Cable lists as a form: maps of others have counts, contradictions are findings, what is written is what was read.
use proptest::prelude::*;
use railtwin_topology::Topology;

use super::wiring::{Built, cables, damage, fabrics, kinds, read, read_back, roles, survives, write};

const SIXTY_FOUR: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/ocp_fabrics/opg-64-clos-ro.csv"));
const DUAL_PLANE: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/ocp_fabrics/opg-256-dual-plane.csv"));

#[test]
fn maps_of_others_have_counts() {
    let list = read("cables", &[("opg-256-dual-plane.csv", DUAL_PLANE)]);
    let rows = DUAL_PLANE.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count() as u32 - 1;
    let counts = list.counts();
    assert_eq!(counts.cables, rows);
    assert_eq!(list.findings, []);
    // Two lists of one fabric are one: the same list again adds nothing.
    let twice = read("cables", &[("a.csv", SIXTY_FOUR), ("b.csv", SIXTY_FOUR)]);
    assert_eq!(twice.counts(), read("cables", &[("a.csv", SIXTY_FOUR)]).counts());
    assert_eq!(twice.findings, []);
}

#[test]
fn a_port_with_two_cables_is_a_finding() {
    let text =
        "device_a,port_a,device_b,port_b\nh1,nic-0,leaf-1,e1\nh2,nic-0,leaf-1,e1\nh2,nic-1,leaf-1,e2\n";
    let list = read("cables", &[("list.csv", text.as_bytes())]);
    assert_eq!(list.counts().cables, 2);
    assert_eq!(kinds(&list).into_iter().collect::<Vec<_>>(), ["port-with-two-cables"]);
    assert_eq!(list.findings[0].device, "leaf-1");
    assert!(railtwin_formats::parse_cable_list("list.csv", text.as_bytes()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_reads_back(Built(fabric) in fabrics()) {
        let topology = Topology::of_fabric(&fabric);
        let read = read_back("cables", &write("cables", &topology).expect("all lists"));
        prop_assert_eq!(read.counts(), topology.counts());
        prop_assert_eq!((cables(&read), roles(&read)), (cables(&topology), roles(&topology)));
    }

    #[test]
    fn damage_does_not_panic(damage in damage()) {
        survives("cables", &[("a.csv", SIXTY_FOUR), ("b.csv", DUAL_PLANE)], &damage);
    }
}
