//! Lines between a rank and the path master: one JSON object each, with one key that names its kind.
use std::net::{Ipv4Addr, SocketAddrV4};

use serde::{Deserialize, Serialize};

/// A line of the master.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum MasterLine {
    /// Source ports of a group, one for each lane.
    Ports { id: u64, ports: Vec<u16> },
    /// A lane is to go on from another source port.
    Move { id: u64, lane: usize, port: u16 },
    /// The job ends with this message.
    Error {
        #[serde(default)]
        id: Option<u64>,
        message: String,
    },
}

/// A line of the rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RankLine<'a> {
    /// Asks for the source ports of a group: the lanes to one rank.
    Open { id: u64, job: u32, from: Ipv4Addr, to: SocketAddrV4, lanes: usize },
    /// A lane carries data from this source port.
    Moved { id: u64, lane: usize, port: u16 },
    /// A lane did not move to this source port, and stays.
    Failed { id: u64, lane: usize, port: u16, message: &'a str },
}

/// Most characters of a line that an error shows.
const SHOWN: usize = 120;

/// Reads line `number` of the master; `shown` is its name in errors.
///
/// # Errors
/// The line, the problem and the accepted lines.
pub(crate) fn parse(line: &[u8], number: u64, shown: &str) -> Result<MasterLine, String> {
    serde_json::from_slice(line).map_err(|error| {
        let text = String::from_utf8_lossy(line);
        let mut cut: String = text.chars().map(|one| if one.is_control() { '?' } else { one }).take(SHOWN).collect();
        if text.chars().nth(SHOWN).is_some() {
            cut.push_str("...");
        }
        format!(
            "path master {shown}: line {number}: {error}: `{cut}`; accepted: \
             {{\"ports\":{{\"id\":1,\"ports\":[50001]}}}}, {{\"move\":{{\"id\":1,\"lane\":0,\"port\":50002}}}}, \
             {{\"error\":{{\"id\":1,\"message\":\"...\"}}}}"
        )
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(line: &str) -> Result<MasterLine, String> {
        parse(line.as_bytes(), 3, "paths.sock")
    }

    #[test]
    fn lines_are_read_and_written() {
        let ports = parsed(r#"{"ports":{"id":7,"ports":[50001,50002]}}"#);
        assert_eq!(ports, Ok(MasterLine::Ports { id: 7, ports: vec![50_001, 50_002] }));
        let moves = parsed(r#"{"move":{"id":7,"lane":2,"port":50123}}"#);
        assert_eq!(moves, Ok(MasterLine::Move { id: 7, lane: 2, port: 50_123 }));
        let error = parsed(r#"{"error":{"id":7,"message":"no path"}}"#);
        assert_eq!(error, Ok(MasterLine::Error { id: Some(7), message: "no path".into() }));
        let to = SocketAddrV4::new(Ipv4Addr::new(10, 0, 1, 2), 21_001);
        let open = RankLine::Open { id: 7, job: 2, from: Ipv4Addr::new(10, 0, 0, 2), to, lanes: 4 };
        let text = serde_json::to_string(&open).expect("a line is plain data");
        assert_eq!(text, r#"{"open":{"id":7,"job":2,"from":"10.0.0.2","to":"10.0.1.2:21001","lanes":4}}"#);
    }

    #[test]
    fn an_unknown_line_is_named() {
        for line in [
            r#"{"moves":{"id":1}}"#,
            r#"{"move":{"id":1,"lane":0}}"#,
            r#"{"move":{"id":1,"lane":0,"port":70000}}"#,
        ] {
            let error = parsed(line).expect_err("the line is refused");
            assert!(error.starts_with("path master paths.sock: line 3: ") && error.contains(line), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes, 1, "paths.sock");
        }

        #[test]
        fn no_damage_to_a_line_panics(at in 0_usize..44, byte in any::<u8>(), cut in 0_usize..44) {
            let mut line = br#"{"move":{"id":7,"lane":2,"port":50123}}     "#.to_vec();
            line[at] = byte;
            line.truncate(cut);
            let _ = parse(&line, 1, "paths.sock");
        }

        #[test]
        fn moves_are_read_back(id in any::<u64>(), lane in any::<usize>(), port in any::<u16>()) {
            let line = format!("{{\"move\":{{\"id\":{id},\"lane\":{lane},\"port\":{port}}}}}");
            prop_assert_eq!(parsed(&line), Ok(MasterLine::Move { id, lane, port }));
        }
    }
}
