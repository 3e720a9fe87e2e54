//! What is joined into one finding, and what stays apart.
use super::*;
use railtwin_fabric::preset::LeafSpine;
use railtwin_records::{HostInfo, RankInfo, Since};

fn directory() -> Directory {
    let hosts = (0..4).map(|host| HostInfo { name: format!("host-{host}") }).collect();
    let ranks = (0..4).map(|rank| RankInfo { job: 0, rank, host: rank, gpu: 0, nic: 0 }).collect();
    Directory { jobs: vec!["a/b".into()], hosts, ranks, ..Directory::default() }
}

/// A finding of these suspects, alike in all else.
pub(crate) fn finding(syndrome: Syndrome, suspects: &[Component]) -> Finding {
    let share = 0.8 / suspects.len() as f64;
    let suspects = suspects.iter().cloned().map(|component| Suspect { component, share }).collect();
    let advice = String::new();
    Finding {
        at_ns: 9,
        since: Since::at(1),
        syndrome,
        faults: Vec::new(),
        suspects,
        confidence: 0.8,
        severity: 0.2,
        cost: None,
        evidence: Vec::new(),
        advice,
    }
}

#[test]
fn counters_narrow_down_what_messages_leave_open() {
    let fabric = LeafSpine::default().build().unwrap();
    let directory = directory();
    let places = Places { directory: &directory, fabric: Some(&fabric) };
    let cable = |host: u32| {
        let nic = fabric.nic(railtwin_fabric::HostId(host), 0);
        let link = fabric.access_link(nic, 0).unwrap();
        Component::Cable(fabric.cable_name(link.cable()))
    };
    let nic = |host: u32| Component::Nic(format!("host-{host}/nic-0"));
    let slow = finding(Syndrome::CommunicationSlow, &[nic(1), cable(1), nic(2), cable(2)]);
    let counter = finding(Syndrome::Counter, &[cable(2)]);
    let joined = join(&places, &[slow.clone(), counter.clone()]);
    assert_eq!(joined.len(), 1);
    let names: Vec<_> = joined[0].suspects.iter().map(|suspect| &suspect.component).collect();
    assert_eq!(names, [&cable(2)]);
    assert!(joined[0].confidence > 0.95);
    // A NIC and its cable, named by both, stay both; a counter that names the NIC acquits the cable.
    let probed = finding(Syndrome::CommunicationSlow, &[nic(2), cable(2)]);
    let both = join(&places, &[slow.clone(), probed]);
    let mut names: Vec<_> = both[0].suspects.iter().map(|suspect| suspect.component.clone()).collect();
    names.sort();
    assert_eq!(names, [nic(2), cable(2)]);
    let storm = join(&places, &[slow.clone(), finding(Syndrome::Counter, &[nic(2)])]);
    assert_eq!((storm[0].suspects.len(), &storm[0].suspects[0].component), (1, &nic(2)));
    // Another cable is another fault; a collision is none.
    assert_eq!(join(&places, &[slow.clone(), finding(Syndrome::Counter, &[cable(3)])]).len(), 2);
    assert_eq!(join(&places, &[slow, finding(Syndrome::Collision, &[cable(2)])]).len(), 2);
}

#[test]
fn what_follows_from_a_surer_finding_is_no_finding_of_its_own() {
    let mut directory = directory();
    let (source_nic, target_nic) = ("host-0/nic-0".to_owned(), "host-1/nic-0".to_owned());
    directory.flows.push(FlowInfo {
        source: 0,
        target: 1,
        source_nic,
        target_nic,
        nic_port: 0,
        queue_pair: 1,
        source_port: 0,
        links: Vec::new(),
    });
    let places = Places { directory: &directory, fabric: None };
    let gone = finding(Syndrome::NonCommunicationHang, &[Component::Rank("a/b/1".into())]);
    let timeouts = |nic: &str| Finding {
        confidence: 0.7,
        faults: vec![FaultKind::Lossy],
        ..finding(Syndrome::Counter, &[Component::Nic(nic.into())])
    };
    assert_eq!(join(&places, &[timeouts("host-0/nic-0"), gone.clone()]), std::slice::from_ref(&gone));
    assert_eq!(join(&places, &[timeouts("host-3/nic-0"), gone]).len(), 2, "they do not talk");
}

#[test]
fn ranks_of_one_host_are_the_host() {
    let mut directory = directory();
    directory.ranks[1].host = 0;
    directory.ranks[1].gpu = 1;
    let places = Places { directory: &directory, fabric: None };
    let late = |rank: &str| finding(Syndrome::NonCommunicationSlow, &[Component::Rank(rank.into())]);
    let joined = join(&places, &[late("a/b/0"), late("a/b/1"), late("a/b/3")]);
    assert_eq!(joined.len(), 2);
    assert_eq!(joined[0].suspects[0].component, Component::Host("host-0".into()));
}

#[test]
fn a_rank_its_gpu_and_its_host_are_one_place() {
    let directory = directory();
    let places = Places { directory: &directory, fabric: None };
    let rank = Component::Rank("a/b/2".into());
    let gpu = Component::Gpu("host-2/gpu-0".into());
    assert!(places.within(&rank, &gpu) && places.within(&gpu, &rank));
    assert!(places.within(&rank, &Component::Host("host-2".into())));
    assert!(!places.within(&rank, &Component::Host("host-1".into())));
    let host = finding(Syndrome::NonCommunicationHang, &[Component::Host("host-2".into())]);
    let joined = join(&places, &[host, finding(Syndrome::Counter, std::slice::from_ref(&gpu))]);
    assert_eq!((joined.len(), &joined[0].suspects[0].component), (1, &gpu));
}
