//! The page of a small report: its first line, its rows, its bars.
use super::report::{
    AvoidedLink, BandwidthDraw, BondCheck, FaultGap, GapLength, LabReport, PathPrediction, ShownPath,
};
use super::{render, seconds_text};

fn draw(
    balancer: &str,
    draw: u32,
    measured: [f64; 4],
    simulated: [f64; 4],
    most_on_a_link: u32,
) -> BandwidthDraw {
    BandwidthDraw {
        balancer: balancer.into(),
        draw,
        jobs: ["a", "b", "c", "d"].map(String::from).to_vec(),
        measured: measured.map(|rate| rate * 1e6).to_vec(),
        simulated: simulated.map(|rate| rate * 1e6).to_vec(),
        most_on_a_link,
    }
}

fn sample() -> LabReport {
    LabReport {
        fabric: "leaf-spine <4>".into(),
        sizes: vec!["4 leaves".into(), "4 spines".into()],
        up_s: Some(2.7),
        prediction: Some(PathPrediction {
            asked: 256,
            right: 256,
            policies: "hosts 1".into(),
            map: vec![ShownPath {
                port: 50_001,
                leaf: "leaf-0".into(),
                spine: "spine-3".into(),
                far_leaf: "leaf-2".into(),
            }],
        }),
        bandwidth: vec![
            draw("ecmp", 0, [64.0, 110.0, 91.0, 95.0], [60.0, 96.0, 96.0, 96.0], 5),
            draw("c4p", 0, [188.0, 187.0, 189.0, 188.0], [191.0; 4], 2),
        ],
        gaps: vec![
            FaultGap {
                fault: "software of a leaf killed".into(),
                udp: GapLength::of_seconds(f64::INFINITY),
                simulated: [GapLength::Forever; 2],
                accepted: [GapLength::Forever; 2],
                is_ok: Some(true),
                ..FaultGap::default()
            },
            FaultGap {
                fault: "cable of a spine down".into(),
                udp: GapLength::of_seconds(0.205),
                simulated: [0.004, 0.088].map(GapLength::of_seconds),
                accepted: [0.0, 0.1].map(GapLength::of_seconds),
                is_ok: Some(false),
                ..FaultGap::default()
            },
        ],
        avoided: Some(AvoidedLink {
            link: "leaf-0 to spine-0".into(),
            measured_s: 0.21,
            simulated_s: [0.103, 0.153, 0.203],
            is_ok: true,
        }),
        bonds: vec![BondCheck {
            name: "same id".into(),
            expected: "one bond".into(),
            observed: "one bond".into(),
            is_ok: true,
        }],
        notes: vec!["no BFD".into()],
    }
}

#[test]
fn the_first_line_has_gain_gaps_reaction_and_bonds() {
    let page = render(&sample());
    let lead = "C4P carries 2.09 times what ECMP does, 188 against 90 Mbit/s a job; simulated 2.20 times. \
                1 of 2 gaps lie in their bands. Probes led around a silent link in 210 ms. 1 of 1 bonds are as expected.";
    assert!(page.contains(lead), "{page}");
    assert!(page.contains("leaf-spine &lt;4&gt;") && !page.contains("<4>"));
    assert!(page.contains("5 queue pairs there under ECMP, 2 under C4P"), "{page}");
}

#[test]
fn each_row_of_the_report_has_its_row_and_bars() {
    let page = render(&sample());
    assert_eq!(page.matches("<rect ").count(), 4);
    assert_eq!(page.matches("<circle ").count(), 16);
    assert!(
        page.contains("<td class=\"n\">for ever</td><td class=\"n\">-</td><td class=\"n\">for ever</td>")
    );
    assert!(page.contains("<td class=\"n\">4 ms to 88 ms</td><td class=\"n\">0 ms to 100 ms</td>"));
    // The mean of ECMP is 3.4 % above the simulation: inside, whatever single jobs do.
    assert!(page.contains("<td class=\"n\">1.034</td><td class=\"n\">0.95 to 1.15</td>"), "{page}");
    assert!(!page.contains("<script") && !page.contains("http"));
}

#[test]
fn a_report_survives_json_and_an_empty_one_renders() {
    let report = sample();
    let text = serde_json::to_string(&report).unwrap_or_default();
    assert!(text.contains("\"udp\":\"forever\""), "{text}");
    assert_eq!(serde_json::from_str::<LabReport>(&text).ok(), Some(report));
    let empty = render(&LabReport::default());
    assert!(empty.contains("Nothing was measured.") && !empty.contains("<svg") && !empty.contains("<table"));
}

#[test]
fn times_are_shown_in_milliseconds_below_a_second() {
    assert_eq!(
        ["208 ms", "1.00 s", "3.56 s"],
        [0.2081, 0.99951, 3.559].map(seconds_text).each_ref().map(String::as_str)
    );
}
