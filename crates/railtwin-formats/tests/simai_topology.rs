//! Topologies of SimAI and of HPCC: what they hold, what is odd in them, what is refused.
use proptest::prelude::*;
use railtwin_formats::SimaiTopology;

const SERVER: &str = "7 6 1 0 4 A800\n6\n0 6 202Gbps 0.00173ms 0\n1 6 202Gbps 0.0017ms 0\n4 0 147Gbps 0.00225ms 0\n\
                      5 4 1481Gbps 0.00252ms 0\n";
/// HPCC's: three counts, the switches, links.
const FLAT: &str = "5 1 4\n4\n0 4 100Gbps 0.001ms 0\n1 4 100Gbps 0.001ms 0\n2 4 100Gbps 0.001ms 0\n3 4 100Gbps 0.001ms 0.01\n";

fn read(text: &str) -> SimaiTopology {
    assert!(SimaiTopology::is_one(text.as_bytes()), "{text}");
    SimaiTopology::parse("topology", text.as_bytes()).expect("a topology")
}

fn refused(text: &str) -> String {
    SimaiTopology::parse("topology", text.as_bytes()).expect_err("wrong").to_string()
}

#[test]
fn a_server_has_gpus_a_switch_and_links() {
    let one = read(SERVER);
    assert_eq!((one.gpus, one.gpus_per_server, &one.gpu_type[..]), (6, Some(6), "A800"));
    assert_eq!((&one.nvswitches[..], &one.switches[..], one.links.len()), (&[6][..], &[][..], 4));
    assert_eq!(one.links[0].delay.ps(), 1_730_000);
    assert_eq!(one.by_rate()[0].1, 2);
    // Nodes 2 and 3 have no link here.
    assert_eq!(one.notes, ["2 nodes have no link"]);
}

#[test]
fn hosts_of_hpcc_have_no_servers() {
    let flat = read(FLAT);
    assert_eq!((flat.gpus, flat.gpus_per_server, &flat.switches[..]), (4, None, &[4][..]));
    assert!((flat.links[3].loss - 0.01).abs() < 1e-12 && flat.notes.is_empty());
}

#[test]
fn counts_that_do_not_fit_are_notes() {
    let notes = read(&SERVER.replace("7 6 1 0 4", "7 6 1 0 5")).notes;
    assert_eq!(notes[0], "the first line announces 5 links, and 4 follow");
    let notes = read(&SERVER.replace("5 4 1481", "9 4 1481")).notes;
    assert!(notes.contains(&"links name 1 nodes that are none, such as 9".to_owned()), "{notes:?}");
}

#[test]
fn what_is_no_topology_is_refused_with_its_line() {
    for (text, words) in [
        (String::new(), "is empty"),
        ("a b c\n".to_owned(), "has no header"),
        (SERVER.replace("202Gbps 0.0017ms", "fast 0.0017ms"), "topology:4"),
        (SERVER.replace("0.00225ms 0", "soon 0"), "topology:5"),
        (SERVER.replace("0.00252ms 0", "0.00252ms 7"), "share of losses"),
        (SERVER.replace("5 4 1481Gbps", "-5 4 1481Gbps"), "topology:6"),
    ] {
        let said = refused(&text);
        assert!(said.contains(words), "{said}");
    }
    assert!(!SimaiTopology::is_one(b"1 2 3\n4\nfoo bar\n"));
    assert!(!SimaiTopology::is_one(b""));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), at in 0..SERVER.len(), byte: u8) {
        let _ = SimaiTopology::is_one(&bytes);
        let _ = SimaiTopology::parse("bytes", &bytes);
        let mut text = SERVER.as_bytes().to_vec();
        text[at] = byte;
        let _ = SimaiTopology::parse("bytes", &text);
        text.truncate(at);
        let _ = SimaiTopology::parse("bytes", &text);
    }
}
