//! Tables about devices: reports 25, 26 and 28, with near misses.
use super::kit::{accused, assert_silent, diagnose, of_text, read, report, report_text};

#[test]
fn report_25_a_gpu_without_a_near_nic() {
    let name = "25-nvidia-smi-topo_node25.txt";
    let answer = read(&report(name));
    let sentence = answer.sentence();
    assert!(sentence.starts_with("gpu node25/gpu-3: no NIC is nearer than SYS"), "{sentence}");
    assert_eq!(accused(&answer), ["node25/gpu-3"]);
    let words: Vec<String> =
        answer.findings[0].evidence.iter().map(railtwin_records::Evidence::words).collect();
    assert!(words.contains(&"NICs nearest to node25/gpu-1: mlx5_2, mlx5_3".to_owned()), "{words:?}");
    // With a NIC of its own all is well, also in a host whose GPUs are all equally far.
    let text = report_text(name);
    let own = text.replace(
        "GPU3\tNV12\tNV12\tNV12\t X \tSYS\tSYS\tSYS\tSYS",
        "GPU3\tNV12\tNV12\tNV12\t X \tPXB\tPXB\tSYS\tSYS",
    );
    assert_silent(&of_text("topo_gpu-a1.txt", &own));
    assert_silent(&of_text("topo_gpu-a1.txt", &text.replace("PXB", "SYS")));
    // Terminals underline the head; names of NICs may stand in it.
    let plain =
        format!("\u{1b}[4m{}", text.replace("NIC0\tNIC1", "mlx5_0\tmlx5_1\u{1b}[0m").replace("PXB", "PIX"));
    assert_eq!(accused(&of_text("topo_gpu-a1.txt", &plain)), ["gpu-a1/gpu-3"]);
}

#[test]
fn report_26_a_link_at_one_lane() {
    let name = "26-iblinkinfo-1x.txt";
    let answer = read(&report(name));
    let sentence = answer.sentence();
    let wanted = "cable gpu-v1/HCA-1 to leaf-1:2: runs at 1X of 4X, confidence 0.80";
    assert!(sentence.starts_with(wanted), "{sentence}");
    assert_eq!(answer.findings.len(), 1, "both ends say the same of one cable");
    assert!(answer.notes.iter().any(|note| note.contains("poll") && note.contains("leaf-1:4")));
    let text = report_text(name);
    let healthy = text.replace("1X  ", "4X  ").replace("Could be 4X", "");
    assert_silent(&of_text("links.txt", &healthy));
    // Without the tool's remark most other links tell.
    let bare = text.replace("Could be 4X", "").replace("gpu-v1", "node-77");
    assert_eq!(accused(&of_text("links.txt", &bare)), ["node-77/HCA-1 to leaf-1:2"]);
    let slow = healthy.replacen("( )", "( Could be 50.0 Gbps)", 1);
    assert_eq!(accused(&of_text("links.txt", &slow)), ["gpu-v3/HCA-1 to leaf-1:3"]);
}

#[test]
fn a_narrow_link_of_ibnetdiscover() {
    let row = |port: u32, host: u32, width: &str| {
        format!("[{port}]\t\"H-0a0{host}\"[1](a0{host}) \t\t# \"gpu-v{host} HCA-1\" lid {host} {width}EDR\n")
    };
    let head = "#\n# Topology file: generated on Mon Nov  2 12:00:00 2026\n#\nvendid=0x2c9\ndevid=0xd2f0\nSwitch\t41 \"S-b859\"\t\t# \
                \"MF0;leaf-1:MQM8700/U1\" enhanced port 0 lid 3 lmc 0\n";
    let text = |width: &str| format!("{head}{}{}{}", row(1, 1, "4x"), row(2, 2, width), row(3, 3, "4x"));
    assert_eq!(accused(&of_text("net.txt", &text("1x"))), ["gpu-v2/HCA-1 to leaf-1:2"]);
    assert_silent(&of_text("net.txt", &text("4x")));
}

#[test]
fn report_28_a_storm_of_pauses() {
    let names = ["28-sonic-pfcwd_leaf1.txt", "28-sonic-pfc-counters_leaf1.txt"];
    let files: Vec<(String, String)> = names.map(|name| (name.to_owned(), report_text(name))).to_vec();
    let answer = diagnose(&files);
    let sentence = answer.sentence();
    let wanted = "cable leaf1:Ethernet6: PFC storm at queue 3, still stormed (407,981 packets dropped), confidence 0.85";
    assert!(sentence.starts_with(wanted), "{sentence}");
    assert_eq!(accused(&answer), ["leaf1:Ethernet6"]);
    assert_eq!(answer.findings.len(), 2, "the storm that is over is told, too");
    let healthy: Vec<(String, String)> = [
        (names[0], "      QUEUE       STATUS    STORM DETECTED/RESTORED    TX OK/DROP    RX OK/DROP    TX LAST OK/DROP    RX LAST \
          OK/DROP\n-----------  -----------  -------\nEthernet4:3  operational  0/0  100/0  100/0  0/0  0/0\n".to_owned()),
        (names[1], report_text(names[1]).replace("15,437", "0")),
    ]
    .map(|(name, text)| (name.to_owned(), text))
    .to_vec();
    assert_silent(&diagnose(&healthy));
}
