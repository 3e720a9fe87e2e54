//! Faults that leave things running, by name: which links and ranks they touch, and what is recorded as true.
#![allow(clippy::unwrap_used, clippy::result_large_err, reason = "a test")]
use railtwin_engine::packet::Trouble;
use railtwin_engine::{Case, RankTrouble};
use railtwin_fabric::LinkId;
use railtwin_scenario::{Scenario, ScenarioError, Source};
use railtwin_units::SimTime;

const HEAD: &str = "schema = 1\nname = \"a\"\nENGINE\n[fabric]\npreset = \"leaf-spine\"\nleaves = 2\n\
    hosts_per_leaf = 2\nuplinks = 2\nhost = { model = \"plain\" }\n[[job]]\nname = \"x\"\nhosts = 4\n\
    collective = { kind = \"all-reduce\", bytes = \"1 MB\", compute = \"1 ms\" }\n\
    [[job]]\nname = \"idle\"\nhosts = 1\ncollective = { kind = \"all-reduce\", bytes = \"1 MB\" }\n";

fn resolve(engine: &str, fault: &str) -> Result<Case, ScenarioError> {
    let head = HEAD
        .replace("ENGINE", &format!("engine = \"{engine}\""))
        .replace("hosts_per_leaf = 2", "hosts_per_leaf = 3");
    let text = format!("{head}[[fault]]\n{}\n", fault.replace("; ", "\n"));
    let scenario = Scenario::parse("a.toml", &text)?;
    scenario.resolve(Source { file: "a.toml", text: &text }, &|_| Err("nothing is read".to_owned()))
}

/// Source and target of the links that ail.
fn links(fault: &str) -> Vec<String> {
    let case = resolve("flow", fault).unwrap();
    let fabric = &case.fabric;
    let name = |link: LinkId| {
        format!("{} > {}", fabric.device_name(fabric.source(link)), fabric.device_name(fabric.target(link)))
    };
    case.impairments.iter().map(|ill| name(ill.link)).collect()
}

/// Kind, place and severity of the truth, and job and rank of the ranks in trouble.
fn truth(fault: &str) -> (String, Vec<(u32, u32)>) {
    let case = resolve("flow", fault).unwrap();
    let [truth] = case.truths.as_slice() else { panic!("{:?}", case.truths) };
    let what = format!(
        "{} {} {} {}",
        truth.kind.name(),
        truth.component.kind(),
        truth.component.name(),
        truth.severity
    );
    (what, case.rank_faults.iter().map(|fault| (fault.job, fault.rank)).collect())
}

#[test]
fn a_direction_is_seen_from_what_is_named() {
    let slow = |subject: &str| links(&format!("at = \"0 s\"; kind = \"slow\"; capacity = 0.5; {subject}"));
    let both = ["leaf-0 > spine-1", "spine-1 > leaf-0"];
    assert_eq!(slow("cable = \"leaf-0:uplink-1\""), both);
    assert_eq!(slow("cable = \"leaf-0:uplink-1\"; direction = \"out\""), both[..1]);
    assert_eq!(slow("cable = \"leaf-0:uplink-1\"; direction = \"in\""), both[1..]);
    assert_eq!(slow("cable = \"spine-1:downlink-0\"; direction = \"out\""), both[1..]);
    assert_eq!(slow("nic = \"host-1/nic-0\"; direction = \"in\""), ["leaf-0 > host-1/nic-0"]);
    assert_eq!(slow("leaf = \"leaf-0\"").len(), 2 * (3 + 2));
    let late = "at = \"0 s\"; kind = \"latency\"; delay = \"5 us\"; leaf = \"leaf-0\"";
    assert_eq!(links(late).len(), 3 + 2, "a switch delays what leaves it");
}

#[test]
fn the_truth_names_the_smallest_thing_at_fault() {
    let cases = [
        ("kind = \"down\"; cable = \"spine-1:downlink-0\"", "down cable leaf-0:uplink-1 0", vec![]),
        (
            "kind = \"lossy\"; loss = 0.01; cable = \"leaf-0:uplink-1\"",
            "lossy cable leaf-0:uplink-1 0.01",
            vec![],
        ),
        (
            "kind = \"slow\"; capacity = 0.5; cable = \"leaf-0:uplink-1\"; direction = \"in\"",
            "slow link spine-1:downlink-0 > leaf-0:uplink-1 0.5",
            vec![],
        ),
        (
            "kind = \"latency\"; delay = \"5 us\"; spine = \"spine-1\"",
            "latency switch spine-1 0.000005",
            vec![],
        ),
        ("kind = \"pause-storm\"; port = \"host-1/nic-0:port-0\"", "pause-storm nic host-1/nic-0 0", vec![]),
        ("kind = \"slow-gpu\"; factor = 1.5; rank = \"x/2\"", "slow-gpu gpu host-2/gpu-0 1.5", vec![(0, 2)]),
        (
            "kind = \"slow-gpu\"; factor = 1.5; gpu = \"host-2/gpu-0\"",
            "slow-gpu gpu host-2/gpu-0 1.5",
            vec![(0, 2)],
        ),
        (
            "kind = \"gpu-error\"; cause = \"ecc\"; rank = \"x/2\"",
            "gpu-error gpu host-2/gpu-0 0",
            vec![(0, 2)],
        ),
        ("kind = \"crash\"; cause = \"bug\"; rank = \"x/2\"", "crash rank x/2 0", vec![(0, 2)]),
        ("kind = \"hang\"; rank = \"idle/0\"", "hang rank idle/0 0", vec![(1, 0)]),
        (
            "kind = \"slow-data\"; delay = \"300 ms\"; host = \"host-4\"",
            "slow-data host host-4 0.3",
            vec![(1, 0)],
        ),
        ("kind = \"size-mismatch\"; rank = \"x/1\"", "size-mismatch job x 0", vec![(0, 1)]),
        (
            "kind = \"storage-stall\"; delay = \"2 s\"; every = 10; storage = \"all\"",
            "storage-stall storage storage 2",
            vec![(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)],
        ),
    ];
    for (fault, what, ranks) in cases {
        assert_eq!(truth(&format!("at = \"1 s\"; {fault}")), (what.to_owned(), ranks), "{fault}");
    }
}

#[test]
fn times_and_measures_reach_the_case() {
    let case = resolve(
        "flow",
        "at = \"1 s\"; until = \"3 s\"; kind = \"storage-stall\"; delay = \"2 s\"; every = 10; host = \"host-1\"",
    );
    let case = case.unwrap();
    let [fault] = case.rank_faults.as_slice() else { panic!() };
    let second = SimTime::from_seconds(1.0);
    assert_eq!((fault.from, fault.until), (second, second * 3));
    assert_eq!(fault.trouble, RankTrouble::Late { time: second * 2, every: 10 });
    assert_eq!((case.truths[0].from_ns, case.truths[0].until_ns), (1_000_000_000, 3_000_000_000));
}

#[test]
fn a_wrong_cable_is_cabled_wrongly() {
    let fault = "at = \"0 s\"; kind = \"wrong-cable\"; cable = \"host-0/nic-0:port-0\"; with = \"host-3/nic-0:port-0\"";
    let case = resolve("flow", fault).unwrap();
    let fabric = &case.fabric;
    let leaf = |host: u32| {
        let link = fabric.access_link(fabric.nic(railtwin_fabric::HostId(host), 0), 0).unwrap();
        fabric.device_name(fabric.target(link))
    };
    assert_eq!([0, 1, 3, 4].map(leaf), ["leaf-1", "leaf-0", "leaf-0", "leaf-1"]);
    let told: Vec<_> = case.truths.iter().map(|truth| truth.component.name()).collect();
    assert_eq!(told, ["host-0/nic-0:port-0", "host-3/nic-0:port-0"]);
}

#[test]
fn packets_know_some_of_them_and_refuse_the_others() {
    let troubles = |fault: &str| -> Vec<Trouble> {
        let case = resolve("packet", &format!("at = \"1 ms\"; {fault}")).unwrap();
        case.packets.troubles.iter().map(|troubled| troubled.trouble).collect()
    };
    let lossy = troubles("kind = \"lossy\"; loss = 0.25; cable = \"leaf-0:uplink-1\"");
    assert!(
        matches!(lossy[..], [Trouble::Loss { share: 0.25, .. }, Trouble::Loss { share: 0.25, .. }]),
        "{lossy:?}"
    );
    let storm = troubles("kind = \"pause-storm\"; nic = \"host-1/nic-0\"");
    assert!(matches!(storm[..], [Trouble::PauseStorm { .. }]), "{storm:?}");
    let small = troubles("kind = \"small-buffer\"; capacity = 0.25; leaf = \"leaf-0\"");
    assert!(matches!(small[..], [Trouble::SmallBuffer { share: 0.25, .. }]), "{small:?}");
    let slow = troubles("kind = \"slow\"; capacity = 0.5; nic = \"host-1/nic-0\"; direction = \"in\"");
    assert!(matches!(slow[..], [Trouble::SlowReceiver { share: 0.5, .. }]), "{slow:?}");
    // Every link out of the leaf: three hosts and two spines.
    let late = troubles("kind = \"latency\"; delay = \"1 us\"; leaf = \"leaf-0\"");
    let delay = SimTime::from_ns(1_000);
    assert!(
        late.len() == 5
            && late.iter().all(|one| matches!(*one, Trouble::Latency { delay: of, .. } if of == delay))
    );
    for fault in ["kind = \"hang\"; rank = \"x/0\"", "kind = \"slow\"; capacity = 0.5; leaf = \"leaf-0\""] {
        let error = resolve("packet", &format!("at = \"1 ms\"; {fault}")).unwrap_err().to_string();
        assert!(
            error.contains("the packet engine does not know this") && error.contains("engine = \"flow\""),
            "{error}"
        );
    }
}

#[test]
fn what_acts_on_nothing_is_said_or_refused() {
    let case =
        resolve("flow", "at = \"0 s\"; kind = \"small-buffer\"; capacity = 0.1; leaf = \"leaf-0\"").unwrap();
    assert!(case.warnings[0].contains("no buffers"), "{:?}", case.warnings);
    let case = resolve("flow", "at = \"0 s\"; kind = \"crash\"; cause = \"bug\"; host = \"host-5\"").unwrap();
    assert!(case.warnings[0].contains("no job runs on host-5"));
    for (fault, said) in [
        ("kind = \"slow-gpu\"; factor = 2.0; rank = \"idle/0\"", "nothing on \"idle/0\" computes"),
        ("kind = \"hang\"; rank = \"x/4\"", "no rank \"x/4\"; write one that it has, such as \"x/3\""),
        ("kind = \"hang\"; rank = \"y/0\"", "no rank \"y/0\""),
        (
            "kind = \"slow-gpu\"; factor = 2.0; gpu = \"host-0/gpu-1\"",
            "no gpu \"host-0/gpu-1\"; write one that it has, such as \"host-0/gpu-0\"",
        ),
        (
            "kind = \"slow-data\"; delay = \"1 s\"; job = \"y\"",
            "no job \"y\"; write one that it has, such as \"x\"",
        ),
        (
            "kind = \"wrong-cable\"; cable = \"leaf-0:uplink-0\"; with = \"leaf-0:uplink-0\"",
            "swapped with itself",
        ),
        (
            "kind = \"wrong-cable\"; cable = \"leaf-0:uplink-0\"; with = \"host-0/nic-0:port-0\"",
            "different tiers",
        ),
    ] {
        let error = resolve("flow", &format!("at = \"0 s\"; {fault}")).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}
