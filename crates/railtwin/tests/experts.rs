//! Dispatch and combine of mixtures of experts: closed forms in both engines, and which fabrics have no way for them.
#![allow(clippy::unwrap_used, reason = "a test")]
use std::path::Path;

use railtwin::{Question, Run};
use railtwin_scenario::EngineName;

/// Bytes per second of a NIC of 400 Gbps as data: packets of 4,096 bytes have 82 more of headers.
const NIC: f64 = 50e9 * 4_096.0 / 4_178.0;
const NVLINK: f64 = 450e9;

/// Experts on hosts of 8 H100 under one leaf.
fn question(hosts: u32, caps: &str, collective: &str) -> Question {
    let text = format!(
        "schema = 1\nname = \"experts\"\n[fabric]\npreset = \"collapsed\"\nleaves = 1\nhosts = {hosts}\n[fabric.host]\n\
         model = \"hgx-h100\"\nnic_ports = 1\nnic_port_capacity = \"400 Gbps\"\n{caps}\n[packet]\nstart_jitter = \"0 s\"\n\
         [[job]]\nhosts = {hosts}\ncollective = {{ {collective} }}\n"
    );
    Question::of_text("experts.toml", &text, Path::new("."))
}

fn seconds(question: &Question, engine: EngineName) -> f64 {
    let question = question.clone().with_engine(Some(engine));
    let scenario = question.points().unwrap().remove(0).scenario;
    let run = Run::of(question.resolve(&scenario).unwrap(), &|| ());
    assert_eq!(run.figure("operations_unfinished"), Some(0.0));
    run.figure("step_time").unwrap()
}

/// 512 tokens for 8 of 64 experts, 7,168 values each.
fn asked(kind: &str, algorithm: &str) -> String {
    format!(
        "kind = \"{kind}\", algorithm = \"{algorithm}\", \
         experts = {{ tokens = 512, top_k = 8, hidden = 7168, total = 64 }}"
    )
}

/// (1 - 1/H) B over a NIC; in one host (1 - 1/8) B over NVLink; in packets a little more.
#[test]
fn low_latency_kernels_take_what_a_nic_carries() {
    for (kind, token) in [("expert-dispatch", 7_408.0), ("expert-combine", 14_336.0)] {
        let bytes = 512.0 * 8.0 * token;
        for (hosts, expected) in [(1, bytes * 7.0 / 8.0 / NVLINK), (2, bytes / 2.0 / NIC)] {
            let question = question(hosts, "caps = \"none\"", &asked(kind, "direct"));
            let [flow, packet] = EngineName::ALL.map(|engine| seconds(&question, engine));
            assert!((1.0..1.02).contains(&(flow / expected)), "{kind} on {hosts}: {flow} for {expected}");
            assert!((0.97..1.06).contains(&(packet / flow)), "{kind} on {hosts}: {packet} over {flow}");
        }
    }
}

/// Of eight experts of 64 on two hosts a token reaches r hosts; half of them are its own.
#[test]
fn normal_kernels_send_a_token_once_to_each_host() {
    let without = (0..8).map(|drawn| f64::from(32 - drawn) / f64::from(64 - drawn)).product::<f64>();
    let reached = 2.0 * (1.0 - without);
    for (kind, token) in [("expert-dispatch", 7_408.0), ("expert-combine", 14_336.0)] {
        let expected = 512.0 * reached / 2.0 * token / NIC;
        let question = question(2, "caps = \"none\"", &asked(kind, "forward"));
        let [flow, packet] = EngineName::ALL.map(|engine| seconds(&question, engine));
        assert!((1.0..1.03).contains(&(flow / expected)), "{kind}: {flow} for {expected}");
        assert!((0.97..1.10).contains(&(packet / flow)), "{kind}: {packet} over {flow}");
    }
}

/// The start once, and a message to each of 32 experts on the other host.
#[test]
fn a_cap_adds_a_start_and_a_message_for_each_expert_elsewhere() {
    let text = asked("expert-dispatch", "direct");
    let bare = seconds(&question(2, "caps = \"none\"", &text), EngineName::Flow);
    let cap = "caps = \"none\"\n[[cap]]\ncollective = \"expert-dispatch\"\nalgorithm = \"direct\"\nstep = \"10 us\"\n\
               message = \"100 ns\"";
    for engine in EngineName::ALL {
        let capped = seconds(&question(2, cap, &text), engine)
            - seconds(&question(2, "caps = \"none\"", &text), engine);
        assert!((capped - 13.2e-6).abs() < 0.2e-6, "{engine:?}: {capped} s more than {bare}");
    }
}

#[test]
fn a_rail_only_fabric_has_no_way_for_low_latency_kernels() {
    let resolved = |algorithm: &str| {
        let text = format!(
            "schema = 1\nname = \"rails\"\n[fabric]\npreset = \"hpn\"\ntier2 = \"rail-only\"\nsegments = 2\nhosts = 4\n\
             spare_hosts = 0\nspines = 8\n[[job]]\nhosts = 8\ncollective = {{ {} }}\n",
            asked("expert-dispatch", algorithm)
        );
        let question = Question::of_text("rails.toml", &text, Path::new("."));
        question.resolve(&question.points().unwrap().remove(0).scenario).map(|_| ())
    };
    let error = resolved("direct").unwrap_err().to_string();
    assert!(error.contains("no switches join") && !error.contains("pxn = true"), "{error}");
    assert!(resolved("forward").is_ok());
}
