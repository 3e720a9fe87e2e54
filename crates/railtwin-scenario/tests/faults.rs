//! Faults by name: what goes down with what, repairs, flaps, overlaps, and names that are not there.
#![allow(clippy::unwrap_used, clippy::result_large_err, reason = "a test")]
use railtwin_engine::{Case, Resume};
use railtwin_scenario::{LacpRate, Scenario, ScenarioError, Source};
use railtwin_units::{SimTime, TimeRange};

const HEAD: &str = "schema = 1\nname = \"a\"\nfabric = { preset = \"hpn\", segments = 2, hosts = 2, \
                    spare_hosts = 0, spines = 2 }\n";

fn resolve(rest: &str) -> Result<Case, ScenarioError> {
    let text = format!("{HEAD}{rest}");
    let scenario = Scenario::parse("a.toml", &text)?;
    scenario.resolve(Source { file: "a.toml", text: &text }, &|_| Err("nothing is read".to_owned()))
}

/// Second, cable and kind of every event.
fn events(faults: &[&str]) -> Vec<String> {
    let rest: String = faults.iter().map(|fault| format!("[[fault]]\n{fault}\n")).collect();
    let case = resolve(&rest).unwrap();
    let event = |fault: &railtwin_engine::Fault| {
        let cable = case.fabric.cable_name(fault.cable);
        format!("{} {cable} {}", fault.at.seconds(), format!("{:?}", fault.state).to_lowercase())
    };
    case.faults.iter().map(event).collect()
}

fn down(subject: &str) -> Vec<String> {
    events(&[&format!("at = \"1 s\"\n{subject}\nkind = \"down\"")])
}

#[test]
fn a_thing_takes_its_cables_with_it() {
    assert_eq!(down("cable = \"leaf-0:uplink-1\""), ["1 leaf-0:uplink-1 down"]);
    assert_eq!(down("port = \"spine-0:downlink-0\""), ["1 leaf-0:uplink-0 down"]);
    let nic = ["1 host-1/nic-2:port-0 down", "1 host-1/nic-2:port-1 down"];
    assert_eq!(down("nic = \"host-1/nic-2\""), nic);
    assert_eq!(down("device = \"host-1/nic-2\""), nic);
    assert_eq!(down("device = \"host-1\"").len(), 16);
    // Two hosts and two spines of its plane; the spine has a leaf for each of 8 rails of 2 segments, and 8 cores.
    assert_eq!(down("leaf = \"leaf-3\"").len(), 2 + 2);
    assert_eq!(down("device = \"leaf-3\""), down("leaf = \"leaf-3\""));
    assert!(down("spine = \"spine-1\"").iter().filter(|event| event.contains("leaf")).count() == 16);
}

#[test]
fn faults_that_overlap_are_counted_and_repairs_end_their_own() {
    let leaf = "at = \"1 s\"\nuntil = \"5 s\"\nleaf = \"leaf-0\"\nkind = \"down\"";
    let cable = "at = \"2 s\"\nuntil = \"9 s\"\ncable = \"leaf-0:uplink-0\"\nkind = \"down\"";
    let all = events(&[leaf, cable]);
    let own: Vec<_> = all.iter().filter(|event| event.contains("leaf-0:uplink-0")).collect();
    assert_eq!(own, ["1 leaf-0:uplink-0 down", "9 leaf-0:uplink-0 up"]);
    // A repair of the cable leaves the leaf down.
    let repair = "at = \"3 s\"\ncable = \"leaf-0:uplink-0\"\nkind = \"up\"";
    let all = events(&[leaf, cable, repair]);
    let own: Vec<_> = all.iter().filter(|event| event.contains("leaf-0:uplink-0")).collect();
    assert_eq!(own, ["1 leaf-0:uplink-0 down", "5 leaf-0:uplink-0 up"]);
}

#[test]
fn a_flap_goes_down_again_and_again() {
    let flap = "at = \"1 s\"\ncable = \"leaf-0:uplink-0\"\nkind = \"flap\"\nflaps = 3\nperiod = \"10 s\"\nlength = \"2 s\"";
    let told: Vec<String> =
        events(&[flap]).iter().map(|event| event.replace(" leaf-0:uplink-0", "")).collect();
    assert_eq!(told, ["1 down", "3 up", "11 down", "13 up", "21 down", "23 up"]);
}

#[test]
fn one_direction_may_be_silent_alone_seen_from_what_is_named() {
    let fabric_end = events(&["at = \"1 s\"\ncable = \"leaf-0:uplink-0\"\nkind = \"down\""]);
    let name = fabric_end[0].split(' ').nth(1).unwrap().to_owned();
    let of = |direction: &str| {
        let text = format!(
            "at = \"1 s\"\ncable = \"{name}\"\nkind = \"down\"\ncarrier = true\ndirection = \"{direction}\""
        );
        events(&[&text])[0].rsplit_once(' ').unwrap().1.to_owned()
    };
    assert_eq!(["out", "in", "both"].map(of), ["silent(forward)", "silent(backward)", "silent(both)"]);
    // All that a leaf sends is lost: to its NICs, whose cables have it as far end, and to spines.
    let leaf = "at = \"1 s\"\nleaf = \"leaf-0\"\nkind = \"down\"\ncarrier = true\ndirection = \"out\"";
    for event in events(&[leaf]) {
        let up = event.contains("leaf-0:uplink");
        assert!(event.ends_with(if up { "silent(forward)" } else { "silent(backward)" }), "{event}");
    }
    let loud = "[[fault]]\nat = \"1 s\"\nleaf = \"leaf-0\"\nkind = \"down\"\ndirection = \"in\"\n";
    let error = resolve(loud).unwrap_err().to_string();
    assert!(error.contains("takes both directions; leave it away, or write carrier = true"), "{error}");
}

#[test]
fn what_keeps_its_carrier_is_silent() {
    let silent = "at = \"1 s\"\nuntil = \"5 s\"\nleaf = \"leaf-0\"\nkind = \"down\"\ncarrier = true";
    let cable =
        "at = \"2 s\"\nuntil = \"3 s\"\ncable = \"leaf-0:uplink-0\"\nkind = \"down\"\ncarrier = false";
    let all = events(&[silent, cable]);
    let own: Vec<_> = all.iter().filter_map(|event| event.split_once(" leaf-0:uplink-0 ")).collect();
    assert_eq!(own, [("1", "silent(both)"), ("2", "down"), ("3", "silent(both)"), ("5", "up")]);
    let flap = "at = \"1 s\"\ncable = \"leaf-0:uplink-0\"\nkind = \"flap\"\nlength = \"2 s\"\ncarrier = true";
    assert_eq!(events(&[flap]), ["1 leaf-0:uplink-0 silent(both)", "3 leaf-0:uplink-0 up"]);
    let slow =
        "[[fault]]\nat = \"1 s\"\nleaf = \"leaf-0\"\nkind = \"slow\"\ncapacity = 0.5\ncarrier = true\n";
    let error = resolve(slow).unwrap_err().to_string();
    let message = "`slow` has no `carrier`; leave it away, or write kind = \"down\" or \"flap\"";
    assert!(error.contains(message) && error.starts_with("a.toml:9:"), "{error}");
}

#[test]
fn stages_are_times_or_ranges() {
    let ms = |ms: u64| SimTime::from_ns(ms * 1_000_000);
    let text = "[reaction]\ndetection = \"5 ms to 20 ms\"\nconvergence = \"1 s\"\nlacp_rate = \"fast\"\n\
                bgp_hold = \"9 s\"\nbfd = \"150 ms\"\n";
    let reaction = railtwin_engine::Reaction {
        detection: TimeRange::between(ms(5), ms(20)),
        convergence: ms(1_000).into(),
        lacp_rate: LacpRate::Fast,
        bgp_hold: ms(9_000),
        bfd: Some(ms(150)),
        ..Default::default()
    };
    assert_eq!(resolve(text).unwrap().reaction, reaction);
    for (line, message) in [
        (
            "detection = \"20 ms to 5 ms\"",
            "\"20 ms to 5 ms\" is not a range of times; write a time such as \"10 ms\"",
        ),
        (
            "withdrawal = \"5 to 6 ms\"",
            "\"5 to 6 ms\" is not a range of times; write a time such as \"10 ms\"",
        ),
        (
            "ecmp_regroup = 5",
            "`ecmp_regroup` is a number without a unit; write a time or a range as text, such as",
        ),
        ("lacp_rate = \"1 s\"", "accepted are fast, slow"),
        ("bgp_hold = \"0 s\"", "`bgp_hold` cannot be 0 s; write a time above zero"),
        ("bfd = \"0 s\"", "`bfd` cannot be 0 s; write a time above zero"),
    ] {
        let error = resolve(&format!("[reaction]\n{line}\n")).unwrap_err().to_string();
        assert!(error.contains(message) && error.starts_with("a.toml:5:"), "{error}");
    }
}

#[test]
fn a_name_that_is_not_there_is_met_with_one_that_is() {
    for (subject, message) in [
        (
            "cable = \"leaf-99:uplink-0\"",
            "no cable \"leaf-99:uplink-0\"; write one that it has, such as \"leaf-31:uplink-1\"",
        ),
        ("port = \"leaf-0\"", "no port \"leaf-0\"; write one that it has, such as \"leaf-31:uplink-1\""),
        (
            "nic = \"host-0/nic-8\"",
            "no nic \"host-0/nic-8\"; write one that it has, such as \"host-0/nic-0\"",
        ),
        ("leaf = \"spine-0\"", "no leaf \"spine-0\"; write one that it has, such as \"leaf-31\""),
        ("spine = \"leaf-0\"", "no spine \"leaf-0\"; write one that it has, such as \"spine-3\""),
        ("device = \"host-4\"", "no device \"host-4\"; write one that it has, such as"),
    ] {
        let rest = format!("[[fault]]\nat = \"1 s\"\n{subject}\nkind = \"down\"\n");
        let error = resolve(&rest).unwrap_err().to_string();
        assert!(error.contains(message) && error.starts_with("a.toml:6:"), "{error}");
    }
}

#[test]
fn the_reaction_and_the_transport_reach_the_case() {
    let case =
        resolve("[reaction]\nlacp = \"7 s\"\n[transport]\ntimeout = 22\nresume = \"timeout\"\n").unwrap();
    let reaction = railtwin_engine::Reaction { lacp: SimTime::from_seconds(7.0), ..Default::default() };
    assert_eq!(case.reaction, reaction);
    assert_eq!((case.transport.timeout, case.transport.retry_count), (22, 7));
    assert_eq!(case.transport.resume, Resume::Timeout);
}
