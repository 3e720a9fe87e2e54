//! What packets do as flows do: messages use both ports of a NIC, a queue pair that dies at once has stalled.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::path::Path;

use railtwin::{Question, Run, assumed};

/// The flow engine's run of a text and the packet engine's.
fn both(text: &str) -> [Run; 2] {
    let question =
        Question::of_text("a.toml", &format!("engine = [\"flow\", \"packet\"]\n{text}"), Path::new("."));
    let points = question.points().unwrap();
    let runs = points.iter().map(|point| Run::of(question.resolve(&point.scenario).unwrap(), &|| ()));
    runs.collect::<Vec<_>>().try_into().unwrap()
}

/// An all-to-all of eight hosts over NICs of two ports; `more` stands above `[[job]]`.
fn all_to_all(bytes: &str, more: &str) -> [Run; 2] {
    both(&format!(
        "schema = 1\nname = \"ports\"\n[fabric]\npreset = \"leaf-spine\"\nleaves = 4\nhosts_per_leaf = 4\nuplinks = 2\n\
         host = {{ model = \"plain\", nic_ports = 2 }}\n[routing]\nbalancer = \"pinned\"\nqueue_pairs = 4\n{more}\n\
         [[job]]\nname = \"all\"\nhosts = 8\nplacement = \"spread\"\n\
         collective = {{ kind = \"all-to-all\", bytes = \"{bytes}\" }}\n"
    ))
}

#[test]
fn a_short_message_uses_all_ports_of_a_nic() {
    // One message to each peer, two, and one that is no whole number of packets for each port.
    for bytes in ["4 MB", "8 MB", "3.21 MB"] {
        let [flows, packets] =
            all_to_all(bytes, "[packet]\nstart_jitter = \"0 s\"").map(|run| run.figure("step_time").unwrap());
        // A packet goes once more over each hop, and headers are told as payload in flows.
        assert!((packets / flows - 1.0).abs() < 0.08, "{bytes}: {packets} beside {flows}");
    }
}

#[test]
fn messages_to_peers_cross_rails_in_chunks() {
    let [flows, packets] = both(
        "schema = 1\nname = \"rails\"\n[fabric]\npreset = \"hpn\"\n[packet]\nstart_jitter = \"0 s\"\n[[job]]\n\
         name = \"all\"\nhosts = 4\ncollective = { kind = \"all-to-all\", bytes = \"16 MB\" }\n",
    )
    .map(|run| run.figure("step_time").unwrap());
    // A chunk is relayed inside the host and then sent; in whole messages of 512 KiB it took 1.26 of the time of flows.
    assert!((0.95..1.1).contains(&(packets / flows)), "{packets} beside {flows}");
}

#[test]
fn what_hosts_begin_apart_is_told_of_packets_alone() {
    let said =
        |run: &Run| assumed::of_info(&run.info).iter().any(|line| line.contains("packet.start_jitter"));
    assert_eq!(all_to_all("4 MB", "").each_ref().map(said), [false, true]);
    assert_eq!(all_to_all("4 MB", "[packet]\nstart_jitter = \"0 s\"").each_ref().map(said), [false, false]);
}

#[test]
fn a_queue_pair_without_retries_has_stalled_until_it_dies() {
    let runs = both(
        "schema = 1\nname = \"dies\"\n[fabric]\npreset = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 1\nuplinks = 1\n\
         host = { model = \"plain\" }\n[transport]\nretry_count = 0\n[[job]]\nname = \"train\"\nhosts = 2\n\
         placement = \"spread\"\ncollective = { kind = \"all-reduce\", bytes = \"1 GB\" }\n\
         [[fault]]\nat = \"1 ms\"\nkind = \"down\"\ncable = \"leaf-0:uplink-0\"\n",
    );
    let [flows, packets] = runs.each_ref().map(|run| run.figure("stall_time").unwrap());
    // One timeout: 4.096 us times 2^20.
    assert!((flows - 4.294967296).abs() < 1e-3, "{flows}");
    assert!((packets - flows).abs() < 1e-3, "{packets} beside {flows}");
    assert!(runs.iter().all(|run| run.figure("halted") == Some(1.0)));
}
