//! Pickles of dumps: what is read, and what is refused.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// A tree as JSON.
fn json_of(tree: &Tree) -> Value {
    match tree {
        Tree::Null => Value::Null,
        Tree::Bool(value) => (*value).into(),
        Tree::Number(number) => Value::Number(number.clone()),
        Tree::Text(text) => text.as_ref().into(),
        Tree::List(items) => items.iter().map(json_of).collect(),
        Tree::Dict(pairs) => {
            pairs.iter().map(|(key, value)| (key.clone().into_owned(), json_of(value))).collect()
        }
    }
}

fn decode_within(bytes: &[u8], memory: usize) -> Result<Value, String> {
    let read = Pickle::read_within("a.pkl", bytes, memory).and_then(|pickle| pickle.head("none"));
    read.map(|tree| json_of(&tree)).map_err(|error| error.to_string())
}

fn decoded(bytes: &[u8]) -> Result<Value, String> {
    decode_within(bytes, BYTES_MAX)
}

#[test]
fn data_of_protocols_two_and_four_is_the_same_tree() {
    // pickle.dumps({"a": [1, -2, 300, 70000, 1758609938261281101, 2.5, None, True], "b": ("x", ())}, 2) and (…, 4).
    let two = b"\x80\x02}q\x00(X\x01\x00\x00\x00aq\x01]q\x02(K\x01J\xfe\xff\xff\xffM\x2c\x01Jp\x11\x01\x00\
            \x8a\x08M\t\x89\xdck\xd6g\x18G@\x04\x00\x00\x00\x00\x00\x00N\x88eX\x01\x00\x00\x00bq\x03\
            X\x01\x00\x00\x00xq\x04)\x86q\x05u.";
    let four = b"\x80\x04\x95\x3c\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01a\x94]\x94(K\x01J\xfe\xff\xff\xffM\x2c\x01\
            Jp\x11\x01\x00\x8a\x08M\t\x89\xdck\xd6g\x18G@\x04\x00\x00\x00\x00\x00\x00N\x88e\x8c\x01b\x94\
            \x8c\x01x\x94)\x86\x94u.";
    let time = i64::from_le_bytes(*b"M\t\x89\xdck\xd6g\x18");
    let tree = json!({ "a": [1, -2, 300, 70000, time, 2.5, null, true], "b": ["x", []] });
    assert_eq!(decoded(two), Ok(tree.clone()));
    assert_eq!(decoded(four), Ok(tree));
}

#[test]
fn what_would_import_or_call_is_refused_with_its_name() {
    let system =
        decoded(b"\x80\x02cos\nsystem\nq\x00X\x04\x00\x00\x00echo\x85q\x01Rq\x02.").expect_err("runs");
    assert_eq!(
        system,
        "a.pkl at byte 2: \"os.system\" would be imported by opcode GLOBAL, which is never done; give a dump of plain \
             data, or JSON: torch._C._distributed_c10d._dump_nccl_trace_json()"
    );
    let four = decoded(b"\x80\x04\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.").expect_err("runs");
    assert!(four.contains("\"posix.system\" would be imported by opcode STACK_GLOBAL"), "{four}");
    for (bytes, name) in
        [(b"\x80\x02)R.".as_slice(), "REDUCE"), (b"\x80\x02})b.", "BUILD"), (b"\x80\x02Pq.", "PERSID")]
    {
        let error = decoded(bytes).expect_err("runs");
        assert!(error.contains(&format!("opcode {name} would")), "{error}");
    }
}

#[test]
fn bombs_and_circles_end_in_an_error() {
    // Each list holds the one before it ten times: 10^30 values in 800 bytes.
    let mut bomb = b"\x80\x02]q\x00".to_vec();
    for level in 0..30_u8 {
        bomb.extend([b']', b'q', level + 1, b'(']);
        for _ in 0..10 {
            bomb.extend([b'h', level]);
        }
        bomb.push(b'e');
    }
    bomb.push(b'.');
    assert!(decoded(&bomb).expect_err("a bomb").contains("too many values"));
    let circle = decoded(b"\x80\x02]q\x00h\x00a.").expect_err("a circle");
    assert!(circle.contains("too many values"), "{circle}");
    // One byte of the file is eighty of memory: it ends before it has them.
    // A list of nothing, of lists, of what is recalled; marks; the memo.
    for (many, each) in [
        (b"N".as_slice(), size_of::<Cell>() + 24),
        (b"]", size_of::<Cell>() + 24),
        (b"h\x00", 24),
        (b"(", 8),
        (b"\x94", 48),
    ] {
        let made = |count: usize| {
            let mut wide = b"\x80\x04]q\x00(N".to_vec();
            wide.extend(many.repeat(count));
            wide.extend(b"l.");
            decode_within(&wide, 1 << 20)
        };
        assert!(made((1 << 20) / each + 1).expect_err("too wide").contains("more memory"), "{many:?}");
        assert!(!made((1 << 20) / each - 64).is_err_and(|error| error.contains("more memory")), "{many:?}");
    }
    // Many dicts share one long key.
    let key = vec![b'k'; 20_000];
    let mut keys = b"\x80\x02(}q\x00X\x20\x4e\x00\x00".to_vec();
    keys.extend(&key);
    keys.extend(b"Ns");
    keys.extend(b"h\x00".repeat(5_000));
    keys.extend(b"l.");
    assert!(decoded(&keys).expect_err("keys").contains("too many values"));
    assert!(decoded(b"\x80\x02}q\x00(X\x01").expect_err("short").contains("ends early"));
    assert!(decoded(b"\x80\x02X\xff\xff\xff\xff").expect_err("short").contains("ends early"));
    assert!(decoded(b"\x80\x02.").expect_err("empty").contains("empty stack"));
}

#[test]
fn items_of_a_list_come_one_at_a_time() {
    // {"e": [1, {"x": 2}], "v": 3, "e": [4, "w"]}: of a key that stands there twice the last value holds.
    let bytes = b"\x80\x02}(X\x01\x00\x00\x00e](K\x01}X\x01\x00\x00\x00xK\x02seX\x01\x00\x00\x00vK\x03\
            X\x01\x00\x00\x00e](K\x04X\x01\x00\x00\x00weu.";
    let pickle = Pickle::read("a.pkl", bytes).expect("plain data");
    assert_eq!(json_of(&pickle.head("e").expect("measured")), json!({ "e": [], "v": 3 }));
    let mut items = Vec::new();
    pickle.each_item("e", &mut |at, item| items.push((at, json_of(item)))).expect("measured");
    assert_eq!(items, [(0, json!(4)), (1, json!("w"))]);
    pickle.each_item("v", &mut |_, _| panic!("is no list")).expect("nothing");
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut pickle = vec![0x80, 2];
        pickle.extend(&bytes);
        let _ = decoded(&pickle);
    }

    #[test]
    fn opcodes_at_random_never_panic(codes in proptest::collection::vec(
        proptest::sample::select(b"()]}Nq\x00h\x00eusat\x85\x86\x880.2K\x01X\x01\x00\x00\x00a\x94".to_vec()), 0..120)) {
        let mut pickle = vec![0x80, 2];
        pickle.extend(&codes);
        pickle.push(b'.');
        let _ = decoded(&pickle);
    }
}
