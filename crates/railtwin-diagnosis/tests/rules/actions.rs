//! Actions: what findings may ask for, and the safeguard that holds them back.
use railtwin_diagnosis::rules::{Safeguard, actions_of};
use railtwin_records::{Action, ActionKind, Component, Directory, FaultKind, Finding, Suspect, Syndrome};

use crate::rules::fixture::small;

fn finding(names: &[Component], fault: FaultKind, confidence: f64) -> Finding {
    let share = 1.0 / names.len() as f64;
    let suspects = names.iter().map(|component| Suspect { component: component.clone(), share });
    Finding {
        at_ns: 0,
        since: railtwin_records::Since::default(),
        syndrome: Syndrome::Counter,
        faults: vec![fault],
        suspects: suspects.collect(),
        confidence,
        severity: 0.0,
        cost: None,
        evidence: Vec::new(),
        advice: String::new(),
    }
}

fn gpu(host: u32) -> Component {
    Component::Gpu(format!("host-{host}/gpu-0"))
}

fn done(findings: &[Finding], directory: &Directory) -> Vec<(ActionKind, String)> {
    let actions: Vec<Action> = actions_of(findings, directory, &Safeguard::of_cluster(16));
    actions.into_iter().map(|action| (action.kind, action.target.name().to_owned())).collect()
}

#[test]
fn each_kind_of_component_has_its_remedy() {
    let directory = small().directory;
    let one = |component: Component, fault| done(&[finding(&[component], fault, 0.9)], &directory);
    let host = vec![(ActionKind::Isolate, "host-3".to_owned())];
    assert_eq!(one(gpu(3), FaultKind::GpuError), host);
    assert_eq!(one(Component::Nic("host-3/nic-0".into()), FaultKind::PauseStorm), host);
    assert_eq!(one(Component::Rank("train/3".into()), FaultKind::Hang), host);
    assert_eq!(
        one(Component::Switch("leaf-1".into()), FaultKind::Down),
        [(ActionKind::Drain, "leaf-1".into())]
    );
    assert_eq!(one(Component::Link("a > b".into()), FaultKind::Lossy), [(ActionKind::Drain, "a > b".into())]);
    let job = one(Component::Job("train".into()), FaultKind::SizeMismatch);
    assert_eq!(job, [(ActionKind::Report, "train".to_owned())]);
    let rank = one(Component::Rank("train/3".into()), FaultKind::SizeMismatch);
    assert_eq!(rank, [(ActionKind::Report, "train/3".to_owned())]);
    assert_eq!(one(gpu(99), FaultKind::GpuError), [(ActionKind::Report, "host-99/gpu-0".into())]);
}

#[test]
fn a_collision_is_neither_isolated_nor_drained() {
    let directory = small().directory;
    let mut collision = finding(&[Component::Switch("leaf-1".into())], FaultKind::Slow, 0.99);
    collision.syndrome = Syndrome::Collision;
    assert_eq!(done(&[collision], &directory), [(ActionKind::Report, "leaf-1".into())]);
}

#[test]
fn weak_evidence_probes_or_does_nothing() {
    let directory = small().directory;
    let (one, two) = ([gpu(1)], [gpu(1), gpu(2)]);
    assert!(done(&[finding(&one, FaultKind::GpuError, 0.49)], &directory).is_empty());
    let probed = done(&[finding(&two, FaultKind::GpuError, 0.49)], &directory);
    assert_eq!(probed, [(ActionKind::Probe, "host-1/gpu-0".to_owned())]);
    assert_eq!(done(&[finding(&one, FaultKind::GpuError, 0.5)], &directory)[0].0, ActionKind::Isolate);
    assert!(done(&[finding(&[], FaultKind::Hang, 0.9)], &directory).is_empty());
}

#[test]
fn suspects_with_unlike_remedies_are_probed_where_advice_asks() {
    let directory = small().directory;
    let both = [Component::Link("a > b".into()), Component::Nic("host-1/nic-0".into())];
    let mut set = finding(&both, FaultKind::Lossy, 0.9);
    set.advice = "probe over single paths".into();
    assert_eq!(done(&[set], &directory)[0].0, ActionKind::Probe);
    let mut same = finding(&[gpu(1), Component::Host("host-1".into())], FaultKind::GpuError, 0.9);
    same.advice = "see the log".into();
    assert_eq!(done(&[same], &directory), [(ActionKind::Isolate, "host-1".into())]);
}

#[test]
fn no_more_than_a_few_hosts_are_isolated_at_once() {
    let directory = small().directory;
    let five: Vec<Finding> = (0..5).map(|host| finding(&[gpu(host)], FaultKind::GpuError, 0.95)).collect();
    let kinds: Vec<ActionKind> = done(&five, &directory).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds[..2], [ActionKind::Isolate; 2]);
    assert_eq!(kinds[2..], [ActionKind::Report; 3]);
    let mut safeguard = Safeguard::of_cluster(1000);
    assert_eq!((safeguard.at_most, Safeguard::of_cluster(16).at_most), (10, 2));
    safeguard.at_most = 1;
    safeguard.isolated.insert("host-9".into());
    let actions = actions_of(&five[..1], &directory, &safeguard);
    assert_eq!(actions[0].kind, ActionKind::Report);
}
