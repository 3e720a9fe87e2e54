//! Hangs: who is named when a rank, a connection or a bug keeps a job from going on.
use railtwin_diagnosis::{Diagnosis, Hang, Settings};
use railtwin_records::{
    Batch, CommunicatorInfo, Component, Directory, FaultKind, Finding, FlowInfo, HostInfo, NOT_YET,
    OperationShape, RankInfo, Syndrome,
};

const SECOND: u64 = 1_000_000_000;

/// Hosts of two GPUs; a tensor communicator in each host, a data communicator for each GPU of hosts.
fn grid(hosts: u32) -> Directory {
    let rank = |host: u32, gpu: u32| host * 2 + gpu;
    let mut directory = Directory { jobs: vec!["train".into()], ..Directory::default() };
    for host in 0..hosts {
        directory.hosts.push(HostInfo { name: format!("host-{host}") });
        for gpu in 0..2 {
            directory.ranks.push(RankInfo { job: 0, rank: rank(host, gpu), host, gpu, nic: gpu });
        }
    }
    let mut add = |name: String, axis: &str, ranks: Vec<u32>| {
        directory.communicators.push(CommunicatorInfo { job: 0, name, axis: axis.into(), ranks });
    };
    (0..hosts).for_each(|host| add(format!("tp-{host}"), "tp", vec![rank(host, 0), rank(host, 1)]));
    (0..2).for_each(|gpu| add(format!("dp-{gpu}"), "dp", (0..hosts).map(|host| rank(host, gpu)).collect()));
    for bytes in [1 << 20, 1 << 21] {
        let (kind, algorithm) = ("all-reduce".into(), "ring".into());
        directory.shapes.push(OperationShape { kind, algorithm, data_type: String::new(), bytes });
    }
    directory
}

fn diagnosis() -> Diagnosis {
    Diagnosis::with(Settings::default(), vec![Box::new(Hang::default())])
}

/// `steps` steps of one second in which all is well, tensor before data.
fn healthy(diagnosis: &mut Diagnosis, directory: &Directory, steps: u32) {
    let mut findings = Vec::new();
    for step in 0..steps {
        let mut batch = Batch { until_ns: u64::from(step + 1) * SECOND, ..Batch::default() };
        for (communicator, info) in directory.communicators.iter().enumerate() {
            for &rank in &info.ranks {
                let enter = u64::from(step) * SECOND + 7 * u64::from(rank);
                batch.operations.push(communicator as u32, rank, step, 0, enter, enter + SECOND / 10);
            }
        }
        diagnosis.observe(directory, None, &batch, &mut findings);
    }
    assert_eq!(findings, []);
}

/// What is told after `begun` (communicator, rank, shape) were entered as operation `step` and nothing came after.
fn told(directory: &Directory, step: u32, begun: &[(u32, u32, u32)]) -> Vec<Finding> {
    let mut diagnosis = diagnosis();
    healthy(&mut diagnosis, directory, step);
    let start = u64::from(step) * SECOND;
    let mut batch = Batch { until_ns: start + SECOND, ..Batch::default() };
    for &(communicator, rank, shape) in begun {
        batch.operations.push(communicator, rank, step, shape, start, NOT_YET);
    }
    let mut findings = Vec::new();
    diagnosis.observe(directory, None, &batch, &mut findings);
    diagnosis.wait_until(directory, None, start + 30 * SECOND, &mut findings);
    assert_eq!(findings, [], "half a minute has not passed");
    diagnosis.wait_until(directory, None, start + 31 * SECOND, &mut findings);
    let first = findings.clone();
    diagnosis.wait_until(directory, None, start + 99 * SECOND, &mut findings);
    assert_eq!(findings, first, "a hang that lasts is told once");
    first
}

#[test]
fn a_rank_that_enters_nothing_is_the_root_of_all_that_wait() {
    let directory = grid(8);
    // Rank 6 (host 3) is stuck before its tensor operation: rank 7 waits in it, all others have gone on to data.
    let mut begun = vec![(3, 7, 0)];
    for rank in (0..16).filter(|rank| rank / 2 != 3) {
        begun.push((8 + rank % 2, rank, 0));
    }
    let findings = told(&directory, 3, &begun);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(findings[0].syndrome, Syndrome::NonCommunicationHang);
    assert_eq!(findings[0].suspects[0].component, Component::Rank("train/6".into()));
    assert_eq!(findings[0].suspects.len(), 1);
}

#[test]
fn a_host_whose_ranks_all_are_behind_is_named_as_a_whole() {
    let directory = grid(8);
    let begun: Vec<_> = (0..16).filter(|rank| rank / 2 != 5).map(|rank| (8 + rank % 2, rank, 0)).collect();
    let findings = told(&directory, 3, &begun);
    // Each of the two data communicators misses another rank of the host.
    assert_eq!((findings.len(), findings[0].syndrome), (1, Syndrome::NonCommunicationHang));
    let suspects: Vec<_> = findings[0].suspects.iter().map(|s| &s.component).collect();
    assert_eq!(suspects, [&Component::Host("host-5".into())]);
}

#[test]
fn a_collective_that_all_entered_is_a_communication_hang_at_the_connection_that_sent_least() {
    let mut directory = grid(4);
    let ring = directory.communicators[4].ranks.clone();
    for (index, &source) in ring.iter().enumerate() {
        let target = ring[(index + 1) % ring.len()];
        directory.flows.push(FlowInfo {
            source,
            target,
            source_nic: format!("host-{}/nic-0", source / 2),
            target_nic: format!("host-{}/nic-0", target / 2),
            nic_port: 0,
            queue_pair: 1,
            source_port: 49152,
            links: Vec::new(),
        });
    }
    let mut diagnosis = diagnosis();
    healthy(&mut diagnosis, &directory, 2);
    let mut batch = Batch { until_ns: 3 * SECOND, ..Batch::default() };
    for &rank in &ring {
        batch.operations.push(4, rank, 2, 0, 2 * SECOND, NOT_YET);
    }
    // The ring breaks after rank 2 (host 1): its message never went, those after it went on for a stage each.
    for (flow, messages) in [(0, 3), (1, 0), (2, 1), (3, 2)] {
        batch.messages.push(4, 2, 0, flow, 0, 3, messages, 1 << 20, 1, 1, 1, 1, 0);
    }
    let mut findings = Vec::new();
    diagnosis.observe(&directory, None, &batch, &mut findings);
    diagnosis.wait_until(&directory, None, 60 * SECOND, &mut findings);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(findings[0].syndrome, Syndrome::CommunicationHang);
    let named: Vec<_> = findings[0].suspects.iter().map(|s| s.component.name()).collect();
    assert_eq!(named, ["host-1/nic-0", "host-2/nic-0", "host-1/nic-0 > host-2/nic-0"]);
    assert_eq!(findings[0].faults[0], FaultKind::Down);
}

#[test]
fn without_messages_a_communication_hang_is_not_enough_evidence() {
    let directory = grid(4);
    let begun: Vec<_> = directory.communicators[4].ranks.iter().map(|&rank| (4, rank, 0)).collect();
    let findings = told(&directory, 2, &begun);
    assert_eq!((findings.len(), findings[0].syndrome), (1, Syndrome::CommunicationHang));
    assert!(findings[0].suspects.is_empty() && findings[0].advice.contains("messages"));
}

#[test]
fn a_rank_with_other_bytes_is_a_bug_of_the_job() {
    let directory = grid(4);
    let begun: Vec<_> =
        directory.communicators[4].ranks.iter().map(|&rank| (4, rank, u32::from(rank == 2))).collect();
    let findings = told(&directory, 2, &begun);
    assert_eq!((findings.len(), findings[0].syndrome), (1, Syndrome::Mismatch));
    assert_eq!(findings[0].suspects[0].component, Component::Job("train".into()));
    assert!(findings[0].evidence[1].words().ends_with("train/2"), "{findings:#?}");
}

#[test]
fn ranks_that_wait_for_each_other_in_a_circle_disagree_on_the_order() {
    let mut directory = grid(2);
    let pair =
        |name: &str| CommunicatorInfo { job: 0, name: name.into(), axis: "other".into(), ranks: vec![0, 2] };
    directory.communicators = vec![pair("a"), pair("b")];
    let findings = told(&directory, 2, &[(0, 0, 0), (1, 2, 0)]);
    assert_eq!((findings.len(), findings[0].syndrome), (1, Syndrome::Mismatch), "{findings:#?}");
    assert!(findings[0].advice.contains("circle"));
}
