//! Lines between ranks and the master, one JSON object each.
use std::net::{Ipv4Addr, SocketAddrV4};

use serde_json::{Value, json};

/// What a rank says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// It opens a group of connections, and asks for a source port for each.
    Open { id: u64, job: u32, from: Ipv4Addr, to: SocketAddrV4, lanes: u32 },
    /// A connection goes on from a new port.
    Moved { id: u64, lane: u32, port: u16 },
    /// It does not, as the port could not be taken.
    Failed { id: u64, lane: u32, port: u16, message: String },
}

/// Reads a line.
///
/// # Errors
/// It is none of these: with the key at fault.
pub(super) fn read(line: &str) -> Result<Said, String> {
    let value: Value = serde_json::from_str(line).map_err(|error| format!("{line:?}: {error}"))?;
    let kinds = "open, moved or failed";
    let object = value.as_object().filter(|object| object.len() == 1);
    let (kind, body) = object
        .and_then(|object| object.iter().next())
        .ok_or_else(|| format!("{line:?} is no object with one key: write {kinds}"))?;
    let number = |key: &str| {
        body[key].as_u64().ok_or_else(|| format!("{kind}.{key}: {} is no whole number", body[key]))
    };
    let small = |key: &str| {
        number(key)
            .and_then(|value| u32::try_from(value).map_err(|_| format!("{kind}.{key}: {value} is too large")))
    };
    let port = || {
        small("port").and_then(|port| u16::try_from(port).map_err(|_| format!("{kind}.port: {port} is none")))
    };
    let text =
        |key: &str| body[key].as_str().ok_or_else(|| format!("{kind}.{key}: {} is no text", body[key]));
    match kind.as_str() {
        "open" => {
            let lanes = small("lanes")?;
            if !(1..=LANES_MAX).contains(&lanes) {
                return Err(format!("open.lanes: {lanes} is none of 1 to {LANES_MAX}"));
            }
            let from =
                text("from")?.parse().map_err(|_| format!("open.from: {} is no address", body["from"]))?;
            let to = text("to")?
                .parse()
                .map_err(|_| format!("open.to: {} is no address with port", body["to"]))?;
            Ok(Said::Open { id: number("id")?, job: small("job")?, from, to, lanes })
        }
        "moved" => Ok(Said::Moved { id: number("id")?, lane: small("lane")?, port: port()? }),
        "failed" => {
            let message = text("message")?.to_owned();
            Ok(Said::Failed { id: number("id")?, lane: small("lane")?, port: port()?, message })
        }
        _ => Err(format!("{kind:?} is none of {kinds}")),
    }
}

/// Most connections of a group.
const LANES_MAX: u32 = 64;

/// The answer to an opening.
pub(super) fn ports(id: u64, ports: &[u16]) -> String {
    json!({ "ports": { "id": id, "ports": ports } }).to_string()
}

/// The wish that a connection goes on from another port.
pub(super) fn go(id: u64, lane: u32, port: u16) -> String {
    json!({ "move": { "id": id, "lane": lane, "port": port } }).to_string()
}

/// The answer to what cannot be done.
pub(super) fn error(id: u64, message: &str) -> String {
    json!({ "error": { "id": id, "message": message } }).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_read() {
        let line = r#"{"open":{"id":7,"job":2,"from":"10.0.0.2","to":"10.0.1.2:21001","lanes":4}}"#;
        let open = Said::Open {
            id: 7,
            job: 2,
            from: Ipv4Addr::new(10, 0, 0, 2),
            to: SocketAddrV4::new(Ipv4Addr::new(10, 0, 1, 2), 21_001),
            lanes: 4,
        };
        assert_eq!(read(line), Ok(open));
        assert_eq!(
            read(r#"{"moved":{"id":7,"lane":2,"port":5}}"#),
            Ok(Said::Moved { id: 7, lane: 2, port: 5 })
        );
        for (line, key) in [
            ("{}", "write open"),
            (r#"{"open":{"id":7,"job":2,"from":"10.0.0","to":"10.0.1.2:1","lanes":4}}"#, "open.from"),
            (r#"{"open":{"id":7,"job":2,"from":"10.0.0.1","to":"10.0.1.2:1","lanes":0}}"#, "open.lanes"),
            (r#"{"close":{}}"#, "close"),
        ] {
            let error = read(line).expect_err("it is wrong");
            assert!(error.contains(key), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_line_breaks_it(line in ".{0,120}") {
            let _ = read(&line);
        }

        #[test]
        fn no_object_breaks_it(kind in "open|moved|failed", key in "id|job|from|to|lanes|lane", value in ".{0,12}") {
            let _ = read(&json!({ kind: { key: value } }).to_string());
        }
    }
}
