//! Counters of ports: each class at one NIC of eight, shared growth, and reports 30 and 58.
use railtwin_formats::telemetry::port_counters_of;
use railtwin_records::seen::PortClass;

use super::kit::{accused, assert_silent, diagnose, naming, of_text, read, report, report_text};

const NICS: usize = 8;

/// Four readings of eight NICs a minute apart, of a counter that grows by so much at each NIC.
fn files(name: &str, growth: impl Fn(usize) -> u64) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for nic in 0..NICS {
        for reading in 1..=4_u64 {
            let value = 7 + growth(nic) * reading;
            let text =
                format!("NIC statistics:\n     rx_bytes_phy: {}\n     {name}: {value}\n", reading << 32);
            files.push((format!("ethtool_node{nic}_mlx5_2_t{reading}.txt"), text));
        }
    }
    files
}

fn symptoms() -> impl Iterator<Item = (PortClass, String)> {
    let classes = [
        PortClass::PauseSent,
        PortClass::Drop,
        PortClass::OwnError,
        PortClass::Loss,
        PortClass::PeerError,
        PortClass::PauseReceived,
    ];
    classes
        .into_iter()
        .flat_map(|class| port_counters_of(class).map(move |name| (class, name.replace('*', "3"))))
}

#[test]
fn each_symptom_at_one_nic_of_eight_names_that_nic_alone() {
    for (class, name) in symptoms() {
        let answer = diagnose(&files(&name, |nic| if nic == 5 { 5_000_000 } else { 0 }));
        let named = naming(&answer, "node5/mlx5_2");
        assert_eq!((named.len(), answer.findings.len()), (1, 1), "{name}: {:#?}", answer.findings);
        // Whoever is paused is no culprit.
        assert_eq!(named[0].accuses(), class != PortClass::PauseReceived, "{name}: {:#?}", named[0]);
    }
}

#[test]
fn growth_that_all_share_accuses_nobody() {
    for (_, name) in symptoms() {
        let is_link = name.contains("link_down") || name == "carrier_down_count";
        let answer = diagnose(&files(&name, |nic| if is_link { 0 } else { 5_000_000 + 40_000 * nic as u64 }));
        // That all ports stand paused for long is told, of nobody.
        let is_paused = name.contains("rx") && name.contains("duration");
        assert!(accused(&answer).is_empty() && (is_paused || answer.findings.is_empty()), "{name}");
    }
}

#[test]
fn marks_corrected_bits_and_traffic_accuse_nobody() {
    for class in [PortClass::Congestion, PortClass::Corrected, PortClass::Traffic, PortClass::Harmless] {
        for name in port_counters_of(class) {
            let answer =
                diagnose(&files(&name.replace('*', "3"), |nic| if nic == 5 { 5_000_000 } else { 100 }));
            assert_silent(&answer);
        }
    }
}

#[test]
fn a_counter_without_a_class_is_a_note() {
    let answer = diagnose(&files("frobnication_events", |nic| if nic == 5 { 5_000_000 } else { 3 }));
    assert_silent(&answer);
    let notes = answer.notes.join("\n");
    assert!(notes.contains("frobnication_events of node5/mlx5_2 grows by 5000000 a minute"), "{notes}");
}

#[test]
fn the_sender_of_pauses_is_accused_and_not_who_is_paused() {
    let mut all = files("tx_prio3_pause", |nic| if nic == 2 { 5_000_000 } else { 0 });
    let paused = files("rx_prio3_pause", |nic| if nic == 5 { 5_000_000 } else { 0 });
    for ((_, text), (_, more)) in all.iter_mut().zip(paused) {
        text.push_str(more.lines().last().unwrap_or_default());
        text.push('\n');
    }
    assert_eq!(accused(&diagnose(&all)), ["node2/mlx5_2"]);
}

#[test]
fn a_few_errors_among_many_packets_are_nothing() {
    // 4 GiB a minute are a million packets: one of them in a million is lost.
    assert_silent(&diagnose(&files("rx_discards_phy", |nic| u64::from(nic == 5))));
    assert_silent(&diagnose(&files("tx_prio3_pause", |nic| if nic == 5 { 900 } else { 0 })));
}

#[test]
fn report_30_drops_in_the_lossless_priority() {
    let answer = read(&report("30-drops-on-the-lossless-priority"));
    assert_eq!(accused(&answer), ["node2/mlx5_2"]);
    let sentence = answer.sentence();
    let wanted = "nic node2/mlx5_2: drops packets (rx_prio3_buf_discard grows by 500,000 a minute)";
    assert!(sentence.starts_with(wanted), "{sentence}");
}

#[test]
fn report_58_losses_under_marks() {
    let text = report_text("58-hw-counters_node58.txt");
    let answer = of_text("58-hw-counters_node58.txt", &text);
    let sentence = answer.sentence();
    assert!(sentence.contains("packets are lost on its paths (929,974 packet_seq_err, 91,316"), "{sentence}");
    assert!(sentence.contains("not lossless"), "{sentence}");
    let finding = &answer.findings[0];
    assert!(finding.accuses() && finding.confidence < 0.6, "{finding:#?}");
    // A host of another name, with losses of a new route or two.
    let healthy = text.replace(":929974", ":412").replace(":91316", ":37").replace(":6140236", ":900");
    assert_silent(&of_text("hw-counters_gpu-7.txt", &healthy));
    // Losses of years beside traffic of years.
    let old =
        format!("{healthy}/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_packets:99999999999999\n")
            .replace("packet_seq_err:412", "packet_seq_err:12000");
    assert_silent(&of_text("hw-counters_gpu-7.txt", &old));
}

#[test]
fn names_of_other_vendors_show_the_same_losses() {
    let line = |name: &str, value: u64| {
        format!("/sys/class/infiniband/bnxt_re0/ports/1/hw_counters/{name}:{value}\n")
    };
    let text =
        [("rx_ecn_marked_pkts", 11_000_000), ("seq_err_naks_rcvd", 800_000), ("to_retransmits", 70_000)]
            .map(|(name, value)| line(name, value))
            .concat();
    let answer = of_text("hw-counters_blue.txt", &text);
    assert_eq!(naming(&answer, "blue/bnxt_re0").len(), 1, "{}", answer.sentence());
}
