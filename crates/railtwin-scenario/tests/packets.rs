//! The keys of packets: what the text says arrives in the case, names lead to links, what is not said changes nothing.
#![allow(clippy::unwrap_used, clippy::result_large_err, reason = "a test")]
use railtwin_engine::Case;
use railtwin_engine::packet::{
    Admission, Aimd, AlphaUpdate, Buffer, ClampTarget, CongestionControl, Credit, Dcqcn, DcqcnPreset, Ecn,
    Hpcc, MarkAt, PacketCase, Pfc, Priority, SwitchModel, Trouble, Wire,
};
use railtwin_scenario::{EngineName, Scenario, ScenarioError, Source, expand, expand_on};
use railtwin_units::{Bytes, Rate, SimTime};

const HEAD: &str = "schema = 1\nname = \"a\"\nfabric = { preset = \"hpn\", segments = 2, hosts = 2, \
                    spare_hosts = 0, spines = 2 }\n";

fn resolve_on(head: &str, rest: &str) -> Result<Case, ScenarioError> {
    let text = format!("{head}{rest}");
    let scenario = Scenario::parse("a.toml", &text)?;
    assert_eq!(Scenario::parse("again", &scenario.to_toml()).as_ref(), Ok(&scenario));
    scenario.resolve(Source { file: "a.toml", text: &text }, &|_| Err("nothing is read".to_owned()))
}

fn packets(rest: &str) -> PacketCase {
    resolve_on(HEAD, rest).unwrap().packets
}

const FULL: &str = r#"
engine = "packet"
[routing]
message = "64 KiB"
[packet]
payload = "1024 B"
header = "0 B"
control = "64 B"
acknowledge_every = 4
window = "1 MiB"
flowlet = "16 us"
watchdog = "1 ms"
buffer_alarm = 0.5
samples = "10 us"
priority = ["clear-to-send", "acknowledgements"]
admission = { channels = 2, buffer = "256 KiB", copy = "300 Gbps" }
[packet.congestion_control]
kind = "dcqcn"
preset = "dcqcn-2015"
gain = 0.5
alpha_timer = "1 us"
alpha_update = "period"
cut_interval = "3 us"
clamp_target = "after-increase"
increase_timer = "2 us"
byte_counter = "3 kB"
recovery_rounds = 4
additive = "5 Mbps"
hyper = "6 Mbps"
minimum = "7 Mbps"
window = "2 MB"
[packet.nic]
receive_buffer = "2 MB"
cnp_interval = "4 us"
[switch.leaf]
buffer = "32 MB"
reserved = "0 B"
alpha = 2
headroom = "50 kB"
resume_offset = "0 B"
response = "1 us"
ecn = { min = "100 kB", max = "400 kB", probability = 0.2, at = "enqueue" }
trim = "100 kB"
cut_through = true
[switch.spine]
model = "carved"
buffer = "8 MB"
pfc = false
credit = { latency = "5 us", initial = "0 B", ramp = 2 }
[switch.core]
model = "deep"
"#;

#[test]
fn every_key_arrives() {
    let case = packets(FULL);
    let us = |us: u64| SimTime::from_ns(1000 * us);
    let mbps = |mbps: u64| Rate::from_bits_per_s(1_000_000 * mbps);
    let keys = &case.keys;
    assert_eq!(keys.wire(), Wire { payload: 1024, header: 0, control: 64 });
    assert_eq!((case.message, keys.acknowledge_every, keys.window), (64 << 10, 4, Some(Bytes(1 << 20))));
    assert_eq!((keys.flowlet, keys.watchdog, keys.buffer_alarm), (us(16), us(1000), 0.5));
    assert_eq!(keys.samples, Some(us(10)));
    assert_eq!(keys.priority, [Priority::ClearToSend, Priority::Acknowledgements]);
    let dcqcn = Dcqcn {
        preset: DcqcnPreset::Published,
        gain: Some(0.5),
        alpha_timer: Some(us(1)),
        alpha_update: Some(AlphaUpdate::Period),
        cut_interval: Some(us(3)),
        clamp_target: Some(ClampTarget::AfterIncrease),
        increase_timer: Some(us(2)),
        byte_counter: Some(Bytes(3000)),
        recovery_rounds: Some(4),
        additive: Some(mbps(5)),
        hyper: Some(mbps(6)),
        minimum: Some(mbps(7)),
        window: Some(Bytes(2_000_000)),
    };
    assert_eq!(keys.congestion_control, CongestionControl::Dcqcn(dcqcn));
    let admission = Admission { channels: 2, buffer: Bytes(256 << 10), copy: Rate::from_gbps(300) };
    assert_eq!(keys.admission, Some(admission));
    assert_eq!((keys.nic.receive_buffer, keys.nic.cnp_interval), (Bytes(2_000_000), Some(us(4))));
    let leaf = SwitchModel {
        buffer: Buffer::Shared { bytes: 32_000_000, reserved: 0, alpha: 2.0 },
        pfc: Some(Pfc { headroom: Some(50_000), resume_offset: 0, response: us(1) }),
        ecn: Some(Ecn { min: Bytes(100_000), max: Bytes(400_000), probability: 0.2, at: MarkAt::Enqueue }),
        trim: Some(100_000),
        credit: None,
        cut_through: true,
    };
    let spine = SwitchModel {
        buffer: Buffer::Carved { bytes: 8_000_000 },
        pfc: None,
        credit: Some(Credit { latency: us(5), initial: Bytes(0), ramp: 2 }),
        ..SwitchModel::LEAF
    };
    assert_eq!(case.tiers, [leaf, spine, SwitchModel::DEEP]);
}

#[test]
fn what_is_not_said_is_the_default_and_changes_no_text() {
    assert_eq!(packets(""), PacketCase::default());
    let text = |rest: &str| Scenario::parse("a.toml", &format!("{HEAD}{rest}")).unwrap().to_toml();
    let plain = text("");
    for word in ["[packet", "[switch", "trouble"] {
        assert!(!plain.contains(word), "{plain}");
    }
    assert_eq!(
        text("[packet]\npayload = \"4 KiB\"\ncongestion_control = \"none\"\nadmission = \"none\"\n"),
        plain
    );
    assert_eq!(text("[switch.leaf]\necn = \"none\"\ncredit = \"none\"\n"), plain);
}

#[test]
fn spines_of_the_ai_zone_are_deep() {
    let zone = "schema = 1\nname = \"a\"\nfabric = { preset = \"ai-zone\", segments = 2, hosts = 1 }\n";
    let tiers = |rest: &str| resolve_on(zone, rest).unwrap().packets.tiers;
    assert_eq!(tiers(""), [SwitchModel::LEAF, SwitchModel::DEEP, SwitchModel::LEAF]);
    assert_eq!(tiers("[switch.spine]\nmodel = \"leaf\"\n")[1], SwitchModel::LEAF);
    let shared = tiers("[switch.spine]\nmodel = \"shared\"\nalpha = 1\n")[1].buffer;
    assert_eq!(shared, Buffer::Shared { bytes: 64_000_000, reserved: 10_000, alpha: 1.0 });
    let error = resolve_on(zone, "[switch.spine]\nalpha = 1\n").unwrap_err().to_string();
    assert_eq!(
        error,
        "a.toml:5:9: `alpha` belongs to a shared buffer, but this one is carved per port; leave it away, or write \
         model = \"shared\""
    );
}

#[test]
fn congestion_control_may_be_a_name() {
    let of =
        |text: &str| packets(&format!("[packet]\ncongestion_control = {text}\n")).keys.congestion_control;
    assert_eq!(of("\"hpcc\""), CongestionControl::Hpcc(Hpcc::default()));
    assert_eq!(of("{ kind = \"hpcc\" }"), CongestionControl::Hpcc(Hpcc::default()));
    assert_eq!(of("{ kind = \"none\" }"), CongestionControl::None);
    let trims =
        "[switch.leaf]\ntrim = \"100 kB\"\n[packet.congestion_control]\nkind = \"aimd\"\nadditive = 2\n";
    let aimd = Aimd { additive: 2.0, ..Aimd::default() };
    assert_eq!(packets(trims).keys.congestion_control, CongestionControl::Aimd(aimd));
}

#[test]
fn faults_find_their_links() {
    let case = resolve_on(
        &format!("engine = \"packet\"\n{HEAD}"),
        "[[fault]]\nat = \"0 s\"\nkind = \"lossy\"\ncable = \"leaf-0:uplink-1\"\ndirection = \"out\"\nloss = 0.001\n\
         [[fault]]\nat = \"0 s\"\nkind = \"lose-acknowledgement\"\ncable = \"leaf-0:uplink-1\"\ndirection = \"in\"\n\
         [[fault]]\nat = \"1 ms\"\nkind = \"slow\"\nnic = \"host-1/nic-2\"\ndirection = \"in\"\ncapacity = 0.25\n\
         until = \"2 ms\"\n\
         [[fault]]\nat = \"0 s\"\nkind = \"pause-storm\"\nport = \"host-0/nic-0:port-1\"\n\
         [[fault]]\nat = \"0 s\"\nkind = \"small-buffer\"\nspine = \"spine-1\"\ncapacity = 0.5\n",
    )
    .unwrap();
    let fabric = &case.fabric;
    let ends = |link| {
        let [source, target] = [fabric.source(link), fabric.target(link)];
        format!("{} to {}", fabric.device_name(source), fabric.device_name(target))
    };
    let told = |trouble: &Trouble| match *trouble {
        Trouble::Loss { link, share } => format!("loss {} {share}", ends(link)),
        Trouble::LoseAcknowledgement { link } => format!("acknowledgement {}", ends(link)),
        Trouble::Latency { link, delay } => format!("late {} {delay}", ends(link)),
        Trouble::SlowReceiver { nic, share } => format!("slow {} {share}", fabric.device_name(nic)),
        Trouble::PauseStorm { link } => format!("storm {}", ends(link)),
        Trouble::SmallBuffer { switch, share } => format!("small {} {share}", fabric.device_name(switch)),
    };
    let troubles = &case.packets.troubles;
    let told: Vec<String> = troubles.iter().map(|troubled| told(&troubled.trouble)).collect();
    let up = case.fabric.cable_named("leaf-0:uplink-1").unwrap().forward();
    assert!(ends(up).starts_with("leaf-0 to spine-"));
    let down = ends(up.reverse());
    assert_eq!(
        told,
        [
            format!("loss {} 0.001", ends(up)),
            format!("acknowledgement {down}"),
            "slow host-1/nic-2 0.25".to_owned(),
            format!("storm {}", ends(fabric.cable_named("host-0/nic-0:port-1").unwrap().backward())),
            "small spine-1 0.5".to_owned(),
        ]
    );
    let times: Vec<_> = troubles.iter().map(|troubled| (troubled.from, troubled.until)).collect();
    assert_eq!(times[0], (SimTime::ZERO, SimTime::NEVER));
    assert_eq!(times[2], (SimTime::from_seconds(0.001), SimTime::from_seconds(0.002)));
}

#[test]
fn a_name_that_is_not_there_is_met_with_one_that_is() {
    for (trouble, message) in [
        (
            "kind = \"lossy\"\ncable = \"leaf-99:uplink-0\"\nloss = 0.5",
            "7:9: the fabric has no cable \"leaf-99:uplink-0\"; write one that it has, such as \"leaf-31:uplink-1\"",
        ),
        (
            "kind = \"slow\"\nnic = \"host-0/nic-8\"\ncapacity = 0.5",
            "7:7: the fabric has no nic \"host-0/nic-8\"; write one that it has, such as \"host-0/nic-0\"",
        ),
        (
            "kind = \"pause-storm\"\nport = \"leaf-0:downlink-0\"",
            "7:8: \"leaf-0:downlink-0\" is no port of a NIC; write one such as \"host-0/nic-0:port-0\"",
        ),
        (
            "kind = \"small-buffer\"\ndevice = \"host-0\"\ncapacity = 0.5",
            "7:10: \"host-0\" is no switch; write one such as \"leaf-",
        ),
    ] {
        let error =
            resolve_on(HEAD, &format!("[[fault]]\nat = \"0 s\"\n{trouble}\n")).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn reserves_fit_into_the_pool() {
    let error = resolve_on(HEAD, "[switch.leaf]\nbuffer = \"20 kB\"\n").unwrap_err().to_string();
    assert!(error.starts_with("a.toml:4:1: the reserves of ") && error.contains("of a leaf"), "{error}");
    assert!(error.ends_with("write a larger `buffer` or a smaller `reserved`"), "{error}");
}

#[test]
fn an_engine_from_outside_is_as_if_the_text_said_it() {
    let text = format!(
        "engine = [\"flow\", \"packet\"]\n{HEAD}[expect]\njobs = [{{ at_least = 1, when = {{ engine = \"packet\" }} }}]\n"
    );
    let both = expand("a.toml", &text).unwrap();
    let engines: Vec<_> =
        both.iter().map(|point| (point.label[0].1.as_str(), point.scenario.engine)).collect();
    assert_eq!(engines, [("flow", EngineName::Flow), ("packet", EngineName::Packet)]);
    assert_eq!(both.iter().map(|point| point.scenario.expect.len()).collect::<Vec<_>>(), [0, 1]);
    let one = expand_on(Some(EngineName::Packet), "a.toml", &text).unwrap();
    assert_eq!(one.len(), 1);
    assert_eq!((one[0].label.len(), &one[0].scenario), (0, &both[1].scenario));
    let unsaid = expand_on(Some(EngineName::Packet), "a.toml", HEAD).unwrap();
    assert_eq!(unsaid[0].scenario.engine, EngineName::Packet);
    assert_eq!(EngineName::ALL.map(|engine| EngineName::named(engine.name())), EngineName::ALL.map(Some));
}
