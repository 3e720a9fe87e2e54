//! Explanations of simulated and of logged figures: the true cause first.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::path::PathBuf;

use railtwin::diagnose::Inputs;
use railtwin::engines::engine;
use railtwin_answers::explain::{Asked, Explained, Measured, Setting, explain, json_of};
use railtwin_fabric::HostModel;
use railtwin_reading::Diagnosed;
use railtwin_scenario::EngineName;

/// Sixteen hosts of two segments whose only job is an all-reduce.
const SIXTEEN: &str = r#"
schema = 1
name = "sixteen"
[run]
steps = 2
[fabric]
preset = "hpn"
segments = 2
hosts = 8
spare_hosts = 0
host = { model = "hgx-h100" }
[routing]
balancer = "disjoint"
[[job]]
name = "test"
hosts = 16
collective = { kind = "all-reduce", bytes = "1 GiB" }
"#;

fn explained(text: &str, measured: Measured, evidence: Option<&Diagnosed>) -> Explained {
    let by = engine(EngineName::Flow, 1);
    let folder = PathBuf::new();
    let asked = Asked { text, folder, job: 0, measured, evidence, draws: 8, assumed: Vec::new() };
    let found = explain(&asked, &*by, &|| ()).unwrap();
    let json = json_of(&found);
    assert_eq!(json["hypotheses"].as_array().unwrap().len(), found.ranked.len());
    found
}

/// The bus bandwidth of a scenario with a change, GB/s: what a user with this fault would measure.
fn simulated(text: &str) -> f64 {
    let by = engine(EngineName::Flow, 1);
    let question = railtwin::Question::of_text("text", text, &PathBuf::new());
    let case = question.resolve(&question.points().unwrap()[0].scenario).unwrap().case;
    let mut bits = Vec::new();
    let mut take = |_: u32, all: &[railtwin::simulate::Replicate]| {
        bits.extend(all.iter().flat_map(|one| railtwin::busbw::in_lead(one, &[0])).map(|(_, bits)| bits));
        Ok(())
    };
    railtwin::simulate::simulate(&case, &*by, 1, &|| (), &mut take).unwrap();
    bits.iter().sum::<f64>() / bits.len() as f64 / 8e9
}

fn first(found: &Explained) -> &str {
    &found.ranked[0].hypothesis.name
}

#[test]
fn what_is_simulated_with_a_cause_has_that_cause_first() {
    let fault = |share: f64| {
        format!(
            "{SIXTEEN}[[fault]]\nat = \"0 s\"\nnic = \"host-5/nic-3\"\nkind = \"slow\"\ncapacity = {share}\n"
        )
    };
    let causes = [
        (SIXTEEN.to_owned(), "expected"),
        (SIXTEEN.replace("\"hgx-h100\"", "\"hgx-h100\", nics = 1"), "one-nic"),
        (SIXTEEN.replace("\"hgx-h100\"", "\"hgx-h100\", nics = 4"), "half-of-the-nics"),
        (fault(0.25), "nic-at-quarter"),
    ];
    for (text, cause) in causes {
        let measured = Measured::BusBandwidth(simulated(&text));
        let found = explained(SIXTEEN, measured, None);
        let alike: Vec<&str> =
            found.ranked[..found.alike()].iter().map(|one| &*one.hypothesis.name).collect();
        assert!(alike.contains(&cause), "{cause}: {alike:?}, {}", found.answer());
        let weighed = found.ranked.iter().find(|one| one.hypothesis.name == cause).unwrap();
        assert!(weighed.fits(measured), "{cause}: {weighed:?}");
    }
}

#[test]
fn a_share_of_a_cable_is_fitted() {
    // Below what any setting comes to, and above sockets.
    let text = format!(
        "{SIXTEEN}[[fault]]\nat = \"0 s\"\ncable = \"host-5/nic-3:port-0\"\nkind = \"slow\"\ncapacity = 0.05\n"
    );
    let measured = Measured::BusBandwidth(simulated(&text));
    let found = explained(SIXTEEN, measured, None);
    let slow = found.ranked.iter().find(|one| one.hypothesis.name == "slow-nic").unwrap();
    // One of two ports with a share of 0.05 holds up the NIC, whose flows use both alike.
    assert!(slow.share.unwrap() < 0.08, "{slow:?}");
    assert!(slow.fits(measured));
}

#[test]
fn collisions_explain_thirty_two_hosts_at_half_of_line_rate_among_others() {
    let host = HostModel::named("hgx-h100").unwrap();
    let setting = Setting { collective: "all-reduce".to_owned(), bytes: 4 << 30, hosts: 32, gpus: 8, host };
    let found = explained(&setting.text(), Measured::BusBandwidth(180.0), None);
    assert!(!found.expected.fits(found.measured));
    let alike: Vec<&str> = found.ranked[..found.alike()].iter().map(|one| &*one.hypothesis.name).collect();
    for cause in ["half-of-the-nics", "nic-at-half", "collisions"] {
        assert!(alike.contains(&cause), "{cause} of {alike:?}");
    }
    // A setting is in both halves of the hosts, a fault in one, and fewer hosts collide less.
    let next = found.next.as_ref().unwrap();
    assert!(next.how.contains("each half of the hosts"), "{next:?}");
    assert!(next.separation() > 0.25, "{next:?}");
}

#[test]
fn a_cause_that_a_log_shows_comes_first() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../data/telemetry/reports");
    let host = HostModel::named("hgx-a100").unwrap();
    let setting = Setting { collective: "all-reduce".to_owned(), bytes: 1 << 30, hosts: 2, gpus: 2, host };
    for (file, gb_per_s, cause) in
        [("03-gdr-disabled.log", 10.0, "gpudirect-off"), ("01-net-socket-fallback.log", 4.9, "sockets")]
    {
        let inputs = Inputs::read(&[root.join(file)], "job").unwrap();
        let told = railtwin::site::diagnose(inputs, None, "job").unwrap();
        let found = explained(&setting.text(), Measured::BusBandwidth(gb_per_s), Some(&told));
        assert_eq!(first(&found), cause, "{}", found.answer());
        assert!(!found.ranked[0].shown_by.is_empty() && !found.ranked[0].remedy.is_empty());
        // A bandwidth that is well needs no cause, whatever a log says.
        let well = Measured::BusBandwidth(found.expected.figure.unwrap());
        let found = explained(&setting.text(), well, Some(&told));
        assert_eq!(first(&found), "expected");
    }
}

#[test]
fn step_times_are_explained() {
    let text = SIXTEEN.replace("\"1 GiB\"", "\"1 GiB\", compute = \"20 ms\"");
    let usual = explained(&text, Measured::StepTime(1.0), None).expected.figure.unwrap();
    let found = explained(&text, Measured::StepTime(usual), None);
    assert_eq!(found.measured.unit(), "s");
    assert!(found.expected.fits(found.measured));
    let slow = explained(&text, Measured::StepTime(usual + 0.02), None);
    let compute = slow.ranked.iter().find(|one| one.hypothesis.name == "slow-compute").unwrap();
    // Twenty milliseconds more are twice the computation.
    assert!((compute.share.unwrap() - 0.5).abs() < 0.05, "{compute:?}");
}

#[test]
fn what_is_better_than_expected_has_no_cause() {
    let found = explained(SIXTEEN, Measured::BusBandwidth(1e4), None);
    assert!(found.is_better() && found.next.is_none(), "{}", found.answer());
    assert_eq!(first(&found), "expected");
    assert!(found.answer().contains("better than expected"), "{}", found.answer());
}

#[test]
fn a_scenario_without_a_bandwidth_says_so() {
    let by = engine(EngineName::Flow, 1);
    let text = SIXTEEN.replace("hosts = 16", "gpus = 1");
    let asked = Asked {
        text: &text,
        folder: PathBuf::new(),
        job: 0,
        measured: Measured::BusBandwidth(1.0),
        evidence: None,
        draws: 1,
        assumed: Vec::new(),
    };
    assert!(explain(&asked, &*by, &|| ()).is_err());
}
