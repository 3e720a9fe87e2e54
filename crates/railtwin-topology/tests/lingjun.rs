//! The topology of the Lingjun data set.
use crate::fabrics::read;

fn real() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/lingjun/topo.csv");
    std::fs::read_to_string(path).expect("a file of data")
}

#[test]
fn the_real_file_is_a_tree() {
    let topology = read("lingjun", &real()).expect("real");
    let counts = topology.counts();
    assert!(topology.is_tree);
    assert_eq!(counts.hosts, 847);
    assert_eq!((counts.switches["leaf"], counts.switches["spine"], counts.switches["core"]), (119, 3, 1));
    // Each host, leaf and group of spines stands under one.
    assert_eq!(counts.cables, 847 + 119 + 3);
    assert!(topology.findings.is_empty(), "{:?}", topology.findings);
}

#[test]
fn contradictions_are_findings() {
    let text = "ip,DSW,PSW,ASW\na,G1,P1,S1\nb,G1,P1,S2\na,G1,P1,S2\nb,G1,P1,S2\nc,G2,P1,S1\nd,G1,P1,\n,G1,P1,S1\ne\n";
    let topology = read("lingjun", text).expect("of the form");
    let found: Vec<(&str, &str)> =
        topology.findings.iter().map(|one| (one.kind, one.device.as_str())).collect();
    assert_eq!(
        found,
        [
            ("host-under-two-leaves", "a"),
            ("duplicate-name", "b"),
            ("switch-under-two-switches", "psw-P1"),
            ("host-without-switch", "d"),
            ("unnamed-host", "line 8"),
            ("host-without-switch", "e"),
        ]
    );
    assert_eq!((topology.counts().hosts, topology.counts().links_missing), (5, 3));
    assert!(read("lingjun", "a,b,c\n1,2,3\n").is_err());
}
