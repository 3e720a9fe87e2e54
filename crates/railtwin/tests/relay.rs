//! Relays over NVLink (PXN): what a rail-only fabric needs, what an any-to-any one is spared, who may not.
#![allow(clippy::unwrap_used, reason = "a test")]
use std::path::Path;

use railtwin::{Error, Question, Resolved, Run};
use railtwin_engine::lower::Lowering;
use railtwin_scenario::EngineName;
use railtwin_workload::Edge;

/// An all-to-all over two segments of four hosts.
fn question(tier2: &str, routing: &str, job: &str) -> Question {
    let text = format!(
        "schema = 1\nname = \"relay\"\n[fabric]\npreset = \"hpn\"\ntier2 = \"{tier2}\"\nsegments = 2\nhosts = 4\n\
         spare_hosts = 0\nspines = 8\n[routing]\nqueue_pairs = 2\n{routing}\n[[job]]\nname = \"experts\"\n{job}\n"
    );
    Question::of_text("relay.toml", &text, Path::new("."))
}

fn resolved(question: &Question) -> Result<Resolved, Error> {
    question.resolve(&question.points().unwrap().remove(0).scenario)
}

const EXCHANGE: &str = "collective = { kind = \"all-to-all\", bytes = \"512 MB\" }";

fn refused(tier2: &str, routing: &str, job: &str) -> String {
    resolved(&question(tier2, routing, job)).unwrap_err().to_string()
}

#[test]
fn without_relays_a_rail_only_fabric_refuses_experts() {
    let job = format!("hosts = 8\n{EXCHANGE}");
    let error = refused("rail-only", "pxn = false", &job);
    let said = "relay.toml:12:7: job `experts` sends from host-0/gpu-1 to host-1/gpu-0, and no switches join \
                host-0/nic-1 with host-1/nic-0; write pxn = true";
    assert!(error.starts_with(said), "{error}");
    assert!(resolved(&question("rail-only", "", &job)).is_ok());
    assert!(resolved(&question("any-to-any", "pxn = false", &job)).is_ok());
    // Rings stay on their rails, so nothing needs a relay.
    let ring = "hosts = 8\ncollective = { kind = \"all-reduce\", bytes = \"1 MB\", algorithm = \"ring\" }";
    assert!(resolved(&question("rail-only", "pxn = false", ring)).is_ok());
}

/// HPN section 10: the rest of the last host is another tenant's.
#[test]
fn nobody_relays_over_the_gpus_of_another_tenant() {
    let job = format!("gpus = 28\n{EXCHANGE}");
    let error = refused("rail-only", "", &job);
    let said = "relay.toml:13:1: job `experts` sends from host-3/gpu-0 to host-0/gpu-4, and no switches join \
                host-3/nic-0 with host-0/nic-4; host-3/gpu-4 is on that rail, but nobody relays";
    assert!(error.starts_with(said), "{error}");
    let resolved = resolved(&question("any-to-any", "", &job)).unwrap();
    let lowering = Lowering::new(&resolved.case, 0);
    let (shape, _) = lowering.shape_of(0);
    let mut over_spines = 0;
    for edge in &shape.edges {
        match *edge {
            Edge::Inside { host: 3, target_gpu, .. } => assert!(target_gpu < 4),
            Edge::Network { source_host: 3, source_nic, target_nic, .. } => {
                assert!(source_nic < 4);
                over_spines += u32::from(source_nic != target_nic);
            }
            Edge::Network { source_nic, target_nic, .. } => assert_eq!(source_nic, target_nic),
            _ => {}
        }
    }
    // Four senders to four rails of three hosts.
    assert_eq!(over_spines, 48);
}

fn ran(question: &Question, engine: EngineName) -> Run {
    let question = question.clone().with_engine(Some(engine));
    let run = Run::of(resolved(&question).unwrap(), &|| ());
    assert_eq!(run.figure("operations_unfinished"), Some(0.0));
    run
}

/// Of the network's bytes 4/7 leave the segment, without relays all that are not for the sender's rail in its own too.
#[test]
fn relays_spare_the_spines_in_both_engines() {
    let job = format!("hosts = 8\n{}", EXCHANGE.replace("512", "64"));
    let asked = |pxn: bool| question("any-to-any", &format!("balancer = \"spray\"\npxn = {pxn}"), &job);
    for engine in EngineName::ALL {
        let [with, without] = [true, false].map(|pxn| {
            let run = ran(&asked(pxn), engine);
            let time = run.figure("step_time").unwrap();
            // Bytes on an uplink over its rate.
            run.figure("leaf_uplink_utilization_mean").unwrap() * time
        });
        let expected = (4.0 / 7.0) / (53.0 / 56.0);
        assert!((with / without - expected).abs() < 0.01, "{engine:?}: {with} of {without}");
    }
}

/// What a relay brings leaves when a whole piece of it has crossed NVLink, so packets end a little later.
#[test]
fn both_engines_relay_on_a_rail_only_fabric() {
    for (tier2, job) in [("rail-only", "hosts = 4"), ("any-to-any", "gpus = 28")] {
        let question = question(tier2, "", &format!("{job}\n{EXCHANGE}"));
        let [flow, packet] =
            EngineName::ALL.map(|engine| ran(&question, engine).figure("step_time").unwrap());
        assert!((0.98..1.05).contains(&(packet / flow)), "{tier2}: {packet} over {flow}");
    }
}
