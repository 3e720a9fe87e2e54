//! LACPDUs and LLDPDUs of real switches, held against what tcpdump says of them, and of Open vSwitch; and bytes that are
//! damaged.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proptest::prelude::*;
use railtwin_formats::frames::{
    LldpFrame, LldpId, LldpTlv, captured, decode_lacp, decode_lldp, encode_capture, encode_lacp, encode_lldp,
    is_capture,
};
use railtwin_routing::protocol::lacp::{Lacpdu, Mac, PortInfo, PortState};

fn shipped(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/captures").join(name)).unwrap()
}

/// The frames of a classic capture, little-endian, as bytes.
fn frames(capture: &[u8]) -> Vec<&[u8]> {
    let mut rest = &capture[24..];
    let mut frames = Vec::new();
    while rest.len() >= 16 {
        let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        frames.push(&rest[16..16 + length]);
        rest = &rest[16 + length..];
    }
    frames
}

/// The frames of a pcapng capture, little-endian, as bytes: the data of its enhanced packet blocks.
fn frames_of_blocks(capture: &[u8]) -> Vec<&[u8]> {
    let word = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().unwrap()) as usize;
    let mut at = 0;
    let mut frames = Vec::new();
    while at < capture.len() {
        if word(at) == 6 {
            frames.push(&capture[at + 28..at + 28 + word(at + 20)]);
        }
        at += word(at + 4);
    }
    frames
}

/// Names of the state bits, as tcpdump has them, in its order.
const FLAGS: [(&str, PortState); 8] = [
    ("Activity", PortState::ACTIVITY),
    ("Timeout", PortState::SHORT_TIMEOUT),
    ("Aggregation", PortState::AGGREGATION),
    ("Synchronization", PortState::SYNCHRONIZATION),
    ("Collecting", PortState::COLLECTING),
    ("Distributing", PortState::DISTRIBUTING),
    ("Default", PortState::DEFAULTED),
    ("Expired", PortState::EXPIRED),
];

/// An end of a cable in tcpdump's words.
fn in_words(info: &PortInfo) -> [String; 2] {
    let flags: Vec<&str> = FLAGS.iter().filter(|(_, bit)| info.state.has(*bit)).map(|flag| flag.0).collect();
    let flags = if flags.is_empty() { "none".to_owned() } else { flags.join(", ") };
    let PortInfo { system, system_priority, key, port, port_priority, .. } = info;
    [
        format!(
            "System {system}, System Priority {system_priority}, Key {key}, Port {port}, Port Priority {port_priority}"
        ),
        format!("State Flags [{flags}]"),
    ]
}

#[test]
fn lacpdus_of_real_switches_say_what_tcpdump_says() {
    let capture = shipped("lacp.pcap");
    let told = String::from_utf8(shipped("lacp_decoded.txt")).unwrap();
    let all = captured("lacp.pcap", &capture).unwrap();
    assert_eq!((all.lacp.len(), all.lldp.len(), all.others, &all.damaged[..]), (20, 0, 0, &[][..]));
    let lines = |start: &str| -> Vec<String> {
        told.lines().map(str::trim).filter(|line| line.starts_with(start)).map(str::to_owned).collect()
    };
    let ends: Vec<[String; 2]> =
        all.lacp.iter().flat_map(|pdu| [&pdu.actor, &pdu.partner]).map(in_words).collect();
    assert_eq!(ends.iter().map(|end| end[0].clone()).collect::<Vec<_>>(), lines("System "));
    assert_eq!(ends.iter().map(|end| end[1].clone()).collect::<Vec<_>>(), lines("State Flags"));
    let delays: Vec<String> = all.lacp.iter().map(|pdu| format!("Max Delay {}", pdu.max_delay)).collect();
    assert_eq!(delays, lines("Max Delay"));
    // Written again they are the same bytes.
    for (frame, pdu) in frames(&capture).into_iter().zip(&all.lacp) {
        let source = Mac(frame[6..12].try_into().unwrap());
        assert_eq!(encode_lacp(source, pdu), frame);
    }
}

/// The bond of Open vSwitch that our two leaves are partners of, in a laboratory.
#[test]
fn lacpdus_of_open_vswitch_are_read_and_written_again() {
    let capture = shipped("lacp_openvswitch.pcapng");
    let all = captured("lacp_openvswitch.pcapng", &capture).unwrap();
    assert_eq!((all.lacp.len(), all.others, &all.damaged[..]), (25, 0, &[][..]));
    let bytes = frames_of_blocks(&capture);
    assert_eq!(bytes.len(), all.lacp.len());
    for (frame, pdu) in bytes.into_iter().zip(&all.lacp) {
        assert_eq!(encode_lacp(Mac(frame[6..12].try_into().unwrap()), pdu), frame);
    }
    let host = Mac([2, 0, 0, 0, 2, 1]);
    let (theirs, ours): (Vec<&Lacpdu>, Vec<&Lacpdu>) =
        all.lacp.iter().partition(|pdu| pdu.actor.system == host);
    let constant =
        PortState::ACTIVITY.with(PortState::SHORT_TIMEOUT, true).with(PortState::AGGREGATION, true);
    for PortInfo { system_priority, key, port_priority, port, state, .. } in
        theirs.iter().map(|pdu| pdu.actor)
    {
        assert_eq!((system_priority, key, port_priority), (65_534, 1, 65_535));
        assert!((1..=2).contains(&port) && state.has(constant), "port {port}, {state:?}");
    }
    let states: BTreeSet<u8> = theirs.iter().map(|pdu| pdu.actor.state.0).collect();
    let moves =
        PortState::COLLECTING.with(PortState::DISTRIBUTING, true).with(PortState::SYNCHRONIZATION, true);
    let with = |bit| constant.with(moves, true).with(bit, true).0;
    // In the bond; not heard for 3 s, which its own bits do not follow yet; given up; beside a bond of another partner.
    let expected =
        [with(moves), with(PortState::EXPIRED), constant.with(PortState::DEFAULTED, true).0, constant.0];
    assert_eq!(states, BTreeSet::from(expected));
    // Without a partner it names none.
    for pdu in &theirs {
        assert_eq!(pdu.partner.system == Mac::default(), pdu.actor.state.has(PortState::DEFAULTED));
    }
    let partners: BTreeSet<(Mac, u16, u16)> =
        ours.iter().map(|pdu| (pdu.actor.system, pdu.actor.key, pdu.actor.port)).collect();
    let other = Mac([0, 0, 0x5e, 0, 1, 9]);
    let expected = [(Mac::SET, 1, 301), (Mac::SET, 1, 601), (Mac::SET, 2, 601), (other, 1, 601)];
    assert_eq!(partners, BTreeSet::from(expected));
}

#[test]
fn lldpdus_of_real_switches_say_what_tcpdump_says() {
    let capture = shipped("lldp_and_cdp.pcap");
    let told = String::from_utf8(shipped("lldp_and_cdp_decoded.txt")).unwrap();
    let all = captured("lldp_and_cdp.pcap", &capture).unwrap();
    // Frames of CDP have a length in place of a type.
    let cdp = told.lines().filter(|line| line.contains("pid CDP")).count();
    let lldp = told.lines().filter(|line| line.contains("ethertype LLDP")).count();
    assert!(lldp > 3);
    assert_eq!((all.lacp.len(), all.lldp.len(), all.others, &all.damaged[..]), (0, lldp, cdp, &[][..]));
    let after = |start: &str| -> Vec<String> {
        let of =
            |line: &str| line.trim().strip_prefix(start)?.split_once(": ").map(|(_, text)| text.to_owned());
        told.lines().filter_map(of).collect()
    };
    let heard: Vec<LldpFrame> = all.lldp.iter().map(|heard| heard.frame.clone()).collect();
    let of = |text: &dyn Fn(&LldpFrame) -> String| heard.iter().map(text).collect::<Vec<_>>();
    assert_eq!(of(&|frame| frame.system_name().unwrap()), after("System Name TLV"));
    assert_eq!(of(&|frame| frame.port_description().unwrap()), after("Port Description TLV"));
    assert_eq!(of(&|frame| format!("TTL {}s", frame.life_s)), after("Time to Live TLV"));
    let ids: Vec<String> =
        heard.iter().flat_map(|one| [one.chassis.to_string(), one.port.to_string()]).collect();
    assert_eq!(ids, after("Subtype"));
    let again = frames(&capture).into_iter().filter(|frame| frame[12..14] == [0x88, 0xcc]);
    for (frame, told) in again.zip(&heard) {
        let written = encode_lldp(told);
        assert_eq!(written, frame[..written.len()]);
        assert!(frame[written.len()..].iter().all(|&byte| byte == 0), "padding alone follows");
    }
}

#[test]
fn errors_name_the_byte_and_what_is_accepted() {
    let frame = encode_lacp(Mac::SET, &Lacpdu::default());
    let told = |frame: &[u8]| decode_lacp("leaf-0.pcap", frame).unwrap_err().to_string();
    let accepted = "give an Ethernet frame with EtherType 0x8809 that holds one LACPDU of version 1 or later";
    assert_eq!(
        told(&frame[..30]),
        format!("leaf-0.pcap at byte 30: actor: the frame ends after 0 of 2 bytes; {accepted}")
    );
    let mut other = frame;
    other[17] = 21;
    assert!(told(&other).contains("type 1 and length 21 stand where 1 and 20 have to"), "{}", told(&other));
    let refused = captured("notes.txt", b"no capture at all, but long enough for a header").unwrap_err();
    assert!(refused.to_string().contains("give a capture of Ethernet frames"), "{refused}");
}

/// A capture of several ports, written and read back.
#[test]
fn a_capture_of_ports_tells_who_heard_what() {
    let id =
        |text: &str, is_port| LldpId { subtype: if is_port { 5 } else { 7 }, bytes: text.into(), is_port };
    let frame = |port: &str| LldpFrame {
        source: Mac::SET,
        chassis: id("spine-0", false),
        port: id(port, true),
        life_s: 120,
        others: vec![LldpTlv { kind: 5, value: b"spine-0".to_vec() }],
    };
    let ports = ["downlink-3", "downlink-4"].map(frame);
    let heard: Vec<(String, Vec<Vec<u8>>)> = ports
        .iter()
        .enumerate()
        .map(|(row, frame)| {
            let lacp = encode_lacp(Mac::SET, &Lacpdu::default());
            (format!("uplink-{row}"), vec![encode_lldp(frame), lacp])
        })
        .collect();
    let bytes = encode_capture(&heard);
    assert!(is_capture(&bytes) && !is_capture(b"device_a,port_a"));
    let all = captured("leaf-0.pcapng", &bytes).unwrap();
    assert_eq!((all.lacp.len(), all.lldp.len(), all.others), (2, 2, 0));
    for (row, (told, frame)) in all.lldp.iter().zip(&ports).enumerate() {
        assert_eq!((told.interface.as_deref(), &told.frame), (Some(format!("uplink-{row}").as_str()), frame));
    }
}

fn info() -> impl Strategy<Value = PortInfo> {
    (any::<[u16; 4]>(), any::<[u8; 6]>(), any::<u8>()).prop_map(
        |([priority, key, port_priority, port], mac, state)| PortInfo {
            system_priority: priority,
            system: Mac(mac),
            key,
            port_priority,
            port,
            state: PortState(state),
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(actor in info(), partner in info(), max_delay: u16) {
        let pdu = Lacpdu { actor, partner, max_delay };
        prop_assert_eq!(decode_lacp("frame", &encode_lacp(Mac::SET, &pdu)), Ok(pdu));
    }

    #[test]
    fn lldp_that_is_written_is_read_back(
        ids in prop::array::uniform2((any::<u8>(), prop::collection::vec(any::<u8>(), 1..256))),
        life_s: u16,
        others in prop::collection::vec((1u8..128, prop::collection::vec(any::<u8>(), 0..512)), 0..6),
    ) {
        let [chassis, port] = ids;
        let id = |(subtype, bytes): (u8, Vec<u8>), is_port| LldpId { subtype, bytes, is_port };
        let others = others.into_iter().map(|(kind, value)| LldpTlv { kind, value }).collect();
        let frame = LldpFrame { source: Mac::SET, chassis: id(chassis, false), port: id(port, true), life_s, others };
        prop_assert_eq!(decode_lldp("frame", &encode_lldp(&frame)), Ok(frame));
    }

    /// Damaged captures and frames give an error or less, and never a panic.
    #[test]
    fn damage_is_survived(
        name in prop::sample::select(vec!["lacp.pcap", "lldp_and_cdp.pcap", "lacp_openvswitch.pcapng"]),
        at in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        end in any::<prop::sample::Index>(),
    ) {
        let whole = shipped(name);
        let mut bytes = whole.clone();
        for (index, value) in at {
            let row = index.index(bytes.len());
            bytes[row] = value;
        }
        bytes.truncate(end.index(whole.len() + 1));
        let _ = captured("damaged", &bytes);
        let split = if name.ends_with("ng") { frames_of_blocks } else { frames };
        let frames: BTreeMap<usize, &[u8]> = split(&whole).into_iter().map(|frame| (frame.len(), frame)).collect();
        for frame in frames.values() {
            let cut = &frame[..end.index(frame.len() + 1)];
            let _ = (decode_lacp("cut", cut), decode_lldp("cut", cut));
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = (captured("any", &bytes), decode_lacp("any", &bytes), decode_lldp("any", &bytes));
    }
}
