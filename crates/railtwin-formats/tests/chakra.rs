//! Chakra traces: facts of 32 real files, zero values, refusals, round trips.
#![allow(clippy::disallowed_methods, reason = "tests read the crate's data files")]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use proptest::prelude::*;
use railtwin_formats::{
    AttributeValue, ChakraAttribute, ChakraNode, ChakraTrace, CommType, IoInfo, NodeKind, parse_chakra_groups,
};

fn micro(collective: &str, rank: usize) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("tests/data/chakra_astra_micro/{collective}_8npus_1MB_{collective}.{rank}.et"));
    std::fs::read(&path).expect("the file is part of the crate's test data")
}

fn attribute(name: &str, value: AttributeValue) -> ChakraAttribute {
    ChakraAttribute { name: name.to_owned(), doc: String::new(), value: Some(value) }
}

fn node(kind: NodeKind, attributes: Vec<ChakraAttribute>) -> ChakraNode {
    ChakraNode { kind, attributes, ..ChakraNode::default() }
}

fn trace(nodes: Vec<ChakraNode>) -> ChakraTrace {
    ChakraTrace { version: "0.0.4".to_owned(), attributes: Vec::new(), nodes }
}

#[test]
fn facts_of_the_32_micro_traces() {
    for (name, kind) in [
        ("all_reduce", CommType::AllReduce),
        ("all_gather", CommType::AllGather),
        ("reduce_scatter", CommType::ReduceScatter),
        ("all_to_all", CommType::AllToAll),
    ] {
        for rank in 0..8 {
            let bytes = micro(name, rank);
            let trace = ChakraTrace::decode("a.et", &bytes).expect("a real file");
            assert_eq!(trace.version, "0.0.4");
            let [node] = &trace.nodes[..] else {
                panic!("{name}.{rank} has {} nodes", trace.nodes.len());
            };
            // The id of rank 0 is zero and absent from the bytes.
            assert_eq!(node.id, rank as u64);
            assert_eq!(node.name, format!("{name}_8npus_1MB"));
            assert_eq!(node.kind, NodeKind::Collective);
            assert_eq!(node.comm_type(), Some(kind));
            assert_eq!(node.comm_size(), Some(1 << 20));
            assert_eq!(node.is_cpu_op(), Some(false));
            assert_eq!((node.pg_name(), node.comm_src()), (None, None));
            assert!(trace.dangling_dependencies().is_empty());
            assert_eq!(trace.encode(), bytes, "the encoder gives the same bytes");
        }
    }
}

#[test]
fn gzip_is_recognised() {
    let plain = micro("all_to_all", 3);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&plain).expect("a Vec takes all bytes");
    let mut packed = encoder.finish().expect("a Vec takes all bytes");
    assert_eq!(ChakraTrace::decode("a", &packed), ChakraTrace::decode("a", &plain));
    packed.truncate(packed.len() - 12);
    let error = ChakraTrace::decode("a.et", &packed).expect_err("cut off");
    assert!(error.to_string().starts_with("a.et: the gzip stream is broken"), "{error}");
}

#[test]
fn bytes_written_by_hand_decode_to_every_field() {
    // Lengths: metadata 7; node 25 + attributes. Tags: field << 3 | wire type.
    let node = [
        &[0x08, 0x05, 0x12, 0x01, b'x', 0x18, 0x05][..], // id 5, name x, type 5 (send)
        &[0x22, 0x02, 0x01, 0x02, 0x28, 0x03],           // ctrl_deps packed, data_deps unpacked
        &[0x30, 0x64, 0x38, 0xac, 0x02],                 // start 100, duration 300
        &[0x42, 0x03, 0x0a, 0x01, b'v'],                 // inputs.values
        &[0x52, 0x0c, 0x0a, 0x08],                       // attribute of 12 bytes, name of 8
        b"comm_dst",
        &[0x78, 0x0e], // sint32 14 = zigzag of 7
    ]
    .concat();
    let mut bytes = vec![0x07, 0x0a, 0x05];
    bytes.extend(b"0.0.4");
    bytes.push(u8::try_from(node.len()).expect("short"));
    bytes.extend(&node);
    let trace = ChakraTrace::decode("a", &bytes).expect("well formed");
    let node = &trace.nodes[0];
    assert_eq!((node.id, node.name.as_str(), node.kind), (5, "x", NodeKind::Send));
    assert_eq!((&node.ctrl_deps[..], &node.data_deps[..]), (&[1, 2][..], &[3][..]));
    assert_eq!((node.start_micros, node.duration_micros), (100, 300));
    assert_eq!(node.inputs.as_ref().map(|io| io.values.as_str()), Some("v"));
    assert_eq!(node.comm_dst(), Some(7));
    assert_eq!(trace.dangling_dependencies(), [(5, 1), (5, 2), (5, 3)]);
}

#[test]
fn absent_zeroes_get_their_meaning() {
    let collective = node(NodeKind::Collective, vec![]);
    assert_eq!(collective.comm_type(), Some(CommType::AllReduce));
    assert_eq!((collective.comm_size(), collective.comm_src()), (None, None));

    let nameless = ChakraAttribute { name: "comm_type".to_owned(), doc: String::new(), value: None };
    let stated = node(NodeKind::Collective, vec![nameless]);
    assert_eq!(stated.comm_type(), Some(CommType::AllReduce));

    // The CPU's launch of a collective is not a second all-reduce.
    let launch = node(NodeKind::Collective, vec![attribute("is_cpu_op", AttributeValue::Bool(true))]);
    assert_eq!(launch.comm_type(), None);

    assert_eq!(node(NodeKind::Compute, vec![]).comm_type(), None);
    let send = node(NodeKind::Send, vec![attribute("pg_name", AttributeValue::Text("3".into()))]);
    assert_eq!((send.comm_src(), send.comm_dst(), send.comm_tag()), (Some(0), Some(0), Some(0)));
    assert_eq!(send.pg_name(), Some("3"));
}

#[test]
fn refusals_name_the_byte_and_the_field() {
    let refusal = |bytes: &[u8]| ChakraTrace::decode("a.et", bytes).expect_err("wrong").to_string();
    let of = |nodes| refusal(&trace(nodes).encode());
    let with = |name: &str, value| of(vec![node(NodeKind::Collective, vec![attribute(name, value)])]);
    let good = micro("all_gather", 1);
    let twin = || ChakraNode { id: 9, kind: NodeKind::Compute, ..ChakraNode::default() };
    for (message, part) in [
        (refusal(b""), "a.et: the file is empty"),
        (refusal(&[0x80]), "a.et at byte 0: does not begin with the length"),
        (refusal(&good[..40]), "a.et at byte 8: a message of 74 bytes begins, 31 follow"),
        (refusal(&good[8..]), "the message is no GlobalMetadata"),
        (refusal(b"{\"workload_graph\": []}"), "a.et: is JSON text"),
        (of(vec![twin(), twin()]), "id: \"9\" names a second node, the first is at byte 8"),
        (with("comm_type", AttributeValue::Int(10)), "comm_type of node 0: \"Int(10)\" is not a kind"),
        (with("comm_size", AttributeValue::Int(-1)), "comm_size of node 0: \"Int(-1)\""),
        (with("comm_size", AttributeValue::Text("1".into())), "is not a whole number"),
        (with("pg_name", AttributeValue::Int(1)), "is not text"),
        (with("is_cpu_op", AttributeValue::Uint(2)), "is not true or false"),
    ] {
        assert!(message.contains(part), "{part} not in {message}");
    }
}

#[test]
fn communicators_are_read_and_checked() {
    let groups = parse_chakra_groups("g.json", br#"{"10": [4, 0], "2": [1]}"#);
    assert_eq!(groups, Ok(BTreeMap::from([(2, vec![1]), (10, vec![4, 0])])));
    assert_eq!(parse_chakra_groups("g.json", b"{}"), Ok(BTreeMap::new()));
    for (text, part) in [
        ("{\"0\": [1, 1]}", "communicator: \"0\" lists rank 1 twice"),
        ("{\"0\": [1], \"0\": [2]}", "\"0\" is given twice"),
        ("{\"x\": [1]}", "\"x\" is not an integer"),
        ("{\"0\": []}", "has no ranks"),
        ("{\n\"0\": [-1]}", "g.json:2: is not an object of rank lists"),
        ("[1]", "g.json:1: is not an object"),
        ("", "is not an object"),
    ] {
        let error = parse_chakra_groups("g.json", text.as_bytes()).expect_err("wrong");
        assert!(error.to_string().contains(part), "{part} not in {error}");
    }
}

fn value() -> impl Strategy<Value = AttributeValue> {
    let number = prop::num::f64::NORMAL | prop::num::f64::ZERO;
    prop_oneof![
        number.prop_map(AttributeValue::Double),
        any::<i64>().prop_map(AttributeValue::Int),
        any::<u64>().prop_map(AttributeValue::Uint),
        any::<bool>().prop_map(AttributeValue::Bool),
        "\\PC{0,8}".prop_map(AttributeValue::Text),
        prop::collection::vec(any::<u8>(), 0..5).prop_map(AttributeValue::Bytes),
        prop::collection::vec(number, 0..4).prop_map(AttributeValue::Doubles),
        prop::collection::vec(any::<i64>(), 0..4).prop_map(AttributeValue::Ints),
        prop::collection::vec(any::<u64>(), 0..4).prop_map(AttributeValue::Uints),
        prop::collection::vec(any::<bool>(), 0..4).prop_map(AttributeValue::Bools),
        prop::collection::vec("\\PC{0,4}", 0..4).prop_map(AttributeValue::Texts),
        prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3), 0..3)
            .prop_map(AttributeValue::BytesList),
    ]
}

/// Attributes with names that no accessor knows, so that every value is allowed.
fn attributes() -> impl Strategy<Value = Vec<ChakraAttribute>> {
    let one = ("x\\PC{0,6}", "\\PC{0,3}", prop::option::of(value()))
        .prop_map(|(name, doc, value)| ChakraAttribute { name, doc, value });
    prop::collection::vec(one, 0..5)
}

fn io() -> impl Strategy<Value = Option<IoInfo>> {
    let text = || "\\PC{0,6}";
    prop::option::of((text(), text(), text(), text()).prop_map(|(values, shapes, types, strides)| IoInfo {
        values,
        shapes,
        types,
        strides,
    }))
}

fn any_trace() -> impl Strategy<Value = ChakraTrace> {
    let dependencies = || prop::collection::vec(any::<u64>(), 0..4);
    let body = (
        "\\PC{0,8}",
        prop_oneof![any::<i32>(), 0..11].prop_map(NodeKind::from_number),
        (dependencies(), dependencies(), any::<u64>(), any::<u64>()),
        (io(), io(), attributes()),
    );
    let nodes = prop::collection::btree_map(prop_oneof![any::<u64>(), 0..9_u64], body, 0..6);
    ("\\PC{0,6}", attributes(), nodes).prop_map(|(version, attributes, nodes)| ChakraTrace {
        version,
        attributes,
        nodes: nodes
            .into_iter()
            .map(|(id, (name, kind, (ctrl_deps, data_deps, start, duration), rest))| ChakraNode {
                id,
                name,
                kind,
                ctrl_deps,
                data_deps,
                start_micros: start,
                duration_micros: duration,
                inputs: rest.0,
                outputs: rest.1,
                attributes: rest.2,
            })
            .collect(),
    })
}

proptest! {
    #[test]
    fn decode_of_encode_is_the_trace(expected in any_trace()) {
        prop_assert_eq!(ChakraTrace::decode("a", &expected.encode()), Ok(expected));
    }

    #[test]
    fn arbitrary_bytes_never_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = ChakraTrace::decode("a", &bytes);
        let _ = parse_chakra_groups("a", &bytes);
        bytes.splice(0..0, [0x1f, 0x8b, 0x08]);
        let _ = ChakraTrace::decode("a", &bytes);
    }

    #[test]
    fn mutated_traces_never_panic(
        trace in any_trace(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        keep in any::<prop::sample::Index>(),
    ) {
        let mut bytes = trace.encode();
        for (place, byte) in edits {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.truncate(keep.index(bytes.len() + 1));
        if let Err(error) = ChakraTrace::decode("a", &bytes) {
            prop_assert!(!error.to_string().contains('\n'));
        }
    }

    #[test]
    fn arbitrary_json_never_panics(text in "\\{?(\"\\PC{0,3}\": ?\\[[-0-9, ]{0,9}\\],?){0,4}\\}?") {
        let _ = parse_chakra_groups("a", text.as_bytes());
    }
}
