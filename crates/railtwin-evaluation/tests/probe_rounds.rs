//! Probe rounds of a watched job cross all links that the job uses.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use railtwin::probe_rounds::{CROSSED, round};
use railtwin_evaluation::score::bench::Bench;
use railtwin_records::seen::OperationSeen;
use railtwin_records::{CommunicatorInfo, Directory, Evidence, Finding, HostInfo, RankInfo, Syndrome};

#[test]
fn a_round_crosses_what_the_job_crosses() {
    let bench = Bench::of(128).unwrap().unwrap();
    let case = &bench.case;
    let places = &case.placements[0];
    let hosts = 0..case.fabric.hosts().len();
    let hosts = hosts.map(|host| HostInfo { name: format!("host-{host}") }).collect();
    let ranks = (0..).zip(places).map(|(rank, place)| {
        let nic = case.fabric.host_model(place.host).nic_of_gpu(place.gpu);
        RankInfo { job: 0, rank, host: place.host.0, gpu: place.gpu, nic }
    });
    let all: Vec<u32> = (0..places.len() as u32).collect();
    let communicator = CommunicatorInfo { job: 0, name: "a".into(), axis: "dp".into(), ranks: all };
    let mut directory = Directory { hosts, ranks: ranks.collect(), ..Directory::default() };
    directory.jobs.push("job".into());
    directory.communicators.push(communicator);
    let seen = OperationSeen::LastToCome { axis: "dp".into(), communicator: "a".into() };
    let evidence = vec![Evidence::new(seen, 2.0, 1.0)];
    let finding = Finding {
        at_ns: 0,
        since: railtwin_records::Since::default(),
        syndrome: Syndrome::CommunicationSlow,
        faults: Vec::new(),
        suspects: Vec::new(),
        confidence: 0.0,
        severity: 0.1,
        cost: None,
        evidence,
        advice: String::new(),
    };
    let rows = round(case, &finding, &mut directory);
    let mut crossed = vec![0; case.fabric.link_count()];
    for flow in &directory.flows {
        flow.links.iter().for_each(|&link| crossed[link as usize] += 1);
    }
    assert_eq!(rows.len(), directory.flows.len());
    assert!(rows.len() < 16 * 1024, "{}", rows.len());
    let missed = bench.used.iter().filter(|link| crossed[link.index()] < usize::from(CROSSED)).count();
    assert_eq!(missed, 0, "of {} links that the job uses, with {} probes", bench.used.len(), rows.len());
    let accused = Finding { suspects: vec![], syndrome: Syndrome::Counter, ..finding };
    assert!(round(case, &accused, &mut directory).is_empty());
}
