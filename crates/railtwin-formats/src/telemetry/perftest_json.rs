//! What perftest writes with `--out_json`: JSON, and the form of its first versions, whose words have no quotes.

use super::perftest::{
    BYTES_MAX, FORMAT, GBIT, MIB, PerftestLog, PerftestMeasure, PerftestResult, PerftestRun, title,
};
use super::perftest_hosts::hosts_of_name;
use super::{PerftestVerb, input};
use crate::error::FormatError;

/// How far a bandwidth may be from what the rate of messages says, relative: the rate has six decimals, the bandwidth two.
const AGREES: f64 = 0.03;

/// Whether a text is what perftest writes as JSON.
pub(crate) fn is_perftest(text: &str) -> bool {
    text.contains("test_info") && ["MsgSize", "n_iterations"].iter().all(|key| text.contains(key))
}

/// Reads what `--out_json` wrote, one run after the other. The file does not tell the unit of bandwidth, which is `MiB/sec`
/// or, with `--report_gbits`, `Gb/sec`: it is the one in which the rate of messages says the same. With `--report-both` the
/// results of both sides (`results_local`, `results_remote`) are kept.
///
/// # Errors
/// A text without any result; its first result that is wrong.
pub fn parse_perftest_json(source_name: &str, bytes: &[u8]) -> Result<PerftestLog, FormatError> {
    let text = input::lossy(FORMAT, source_name, bytes)?;
    let mut hosts = hosts_of_name(source_name).into_iter();
    let first = hosts.next().unwrap_or_default();
    let hosts = [first, hosts.next().unwrap_or_default()];
    let mut log = PerftestLog::default();
    let mut run = PerftestRun { hosts: hosts.clone(), ..PerftestRun::default() };
    let mut fields: Vec<(String, String)> = Vec::new();
    for token in tokens(&text) {
        match token {
            Token::Field(key, value) => fields.push((key, value)),
            Token::End => {
                let section = std::mem::take(&mut fields);
                let get = |wanted: &str| {
                    section.iter().find(|(key, _)| key == wanted).map(|(_, value)| value.as_str())
                };
                if let Some(name) = get("test") {
                    let kept = std::mem::take(&mut run);
                    log.runs.extend(Some(kept).filter(|run| !run.results.is_empty()));
                    run = about(name, &get);
                    run.hosts = hosts.clone();
                } else if get("MsgSize").is_some() {
                    let result = result(source_name, &get);
                    run.results.extend(log.skipped.keep(result));
                }
            }
        }
    }
    log.runs.extend(Some(run).filter(|run| !run.results.is_empty()));
    if log.runs.is_empty() {
        let none = || {
            FormatError::new(FORMAT, source_name, "holds no result", "give what perftest --out_json writes")
        };
        return Err(log.skipped.all().unwrap_or_else(none));
    }
    Ok(log)
}

fn about<'a>(name: &str, get: &impl Fn(&str) -> Option<&'a str>) -> PerftestRun {
    let words = name.replace('_', " ");
    // Titles have one underscore of their own.
    let (verb, bidirectional) =
        title(&words.replacen("RDMA ", "RDMA_", 1)).unwrap_or((PerftestVerb::Other, false));
    let text = |key: &str| get(key).unwrap_or_default().to_owned();
    let number = |key: &str| get(key).and_then(|value| value.parse().ok()).unwrap_or(0);
    PerftestRun {
        verb,
        bidirectional,
        device: text("Device"),
        connection: text("Connection_type"),
        link: text("Link_type"),
        mtu: number("Mtu"),
        queue_pairs: number("Number_of_qps"),
        depth: number("TX_depth"),
        inline: number("Max_inline_data"),
        ..PerftestRun::default()
    }
}

fn result<'a>(
    source_name: &str,
    get: &impl Fn(&str) -> Option<&'a str>,
) -> Result<PerftestResult, FormatError> {
    let wrong = |key: &str, accepted: &str| {
        FormatError::new(FORMAT, source_name, "is no number of that", accepted)
            .field(key)
            .found(get(key).unwrap_or_default())
    };
    let number = |key: &str| {
        get(key).and_then(|value| value.parse::<f64>().ok()).filter(|value| value.is_finite() && *value > 0.0)
    };
    let whole = |key: &str| get(key).and_then(|value| value.parse::<u64>().ok()).filter(|value| *value > 0);
    let bytes = whole("MsgSize").filter(|bytes| *bytes <= BYTES_MAX);
    let bytes = bytes.ok_or_else(|| wrong("MsgSize", "write 1 to 2^40"))?;
    let iterations =
        whole("n_iterations").ok_or_else(|| wrong("n_iterations", "write a whole number above 0"))?;
    let latency = number("t_typical").or_else(|| number("t_avg"));
    let measure = match (latency, get("BW_average")) {
        (Some(us), _) => PerftestMeasure::Latency { seconds: us * 1e-6 },
        (None, Some(_)) => {
            let rate = number("BW_average").ok_or_else(|| wrong("BW_average", "write a number above 0"))?;
            let messages =
                number("MsgRate").ok_or_else(|| wrong("MsgRate", "it tells the unit of BW_average"))?;
            let expected = messages * 1e6 * bytes as f64;
            // Few digits of a small rate say little: then the nearer unit is it, as the two differ by eight.
            let off = |unit: f64| (rate * unit / expected).ln().abs();
            let unit = if off(GBIT) < off(MIB) { GBIT } else { MIB };
            if off(unit) > AGREES.max(1e-6 / messages + 0.01 / rate) {
                return Err(wrong("BW_average", "MiB/sec or Gb/sec, as MsgRate and MsgSize have it"));
            }
            PerftestMeasure::Bandwidth { bytes_per_s: rate * unit }
        }
        (None, None) => return Err(wrong("t_typical", "give BW_average, t_typical or t_avg")),
    };
    Ok(PerftestResult { bytes, iterations, measure })
}

/// A piece of the text.
enum Token {
    /// A key with its value, which is a word or a number.
    Field(String, String),
    /// The end of an object.
    End,
}

/// Fields and ends of objects, with or without quotes, in their order.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut key: Option<String> = None;
    let mut word = String::new();
    let mut quoted = false;
    // A comma at the end makes the last word end.
    for letter in text.chars().chain([',']) {
        match letter {
            '"' => quoted = !quoted,
            _ if quoted => word.push(letter),
            ':' if key.is_none() => key = Some(std::mem::take(&mut word).trim().to_owned()),
            ',' | '{' | '}' | '[' | ']' => {
                let value = std::mem::take(&mut word).trim().to_owned();
                if let Some(key) = key.take().filter(|_| !value.is_empty()) {
                    tokens.push(Token::Field(key, value));
                }
                if letter == '}' {
                    tokens.push(Token::End);
                }
            }
            _ => word.push(letter),
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As perftest 23 wrote it, without quotes, and as later versions do.
    fn both(test: &str, results: &[(&str, &str)]) -> [String; 2] {
        let line = |(key, value): &(&str, &str)| format!("{key}: {value},\n");
        let bare = format!(
            "{{\ntest_info: {{\ntest: {test},\nDevice: \"rxe0\",\nNumber_of_qps: 2,\nTX_depth : 128,\nMtu: 1024,\n}},\n\
             results: {{\n{}}},\n}}\n",
            results.iter().map(line).collect::<String>()
        );
        let line = |(key, value): &(&str, &str)| format!("\"{key}\": {value}");
        let json = format!(
            "{{\n\"test_info\": {{\n\"test\": \"{test}\",\n\"Device\": \"rxe0\",\n\"Number_of_qps\": 2,\n\"TX_depth\" : 128,\n\
             \"Mtu\": 1024\n}},\n\"results\": {{\n{}\n}}\n}}\n",
            results.iter().map(line).collect::<Vec<_>>().join(",\n")
        );
        [bare, json]
    }

    fn read(text: &str) -> PerftestLog {
        parse_perftest_json("n1_n2.json", text.as_bytes()).expect("a log")
    }

    #[test]
    fn both_forms_are_read_alike() {
        let latency = [("MsgSize", "128"), ("n_iterations", "5000"), ("t_typical", "2.42"), ("t_avg", "2.5")];
        for text in both("RDMA_Write_Latency_Test", &latency) {
            let run = &read(&text).runs[0];
            assert_eq!((run.verb, run.device.as_str(), run.queue_pairs), (PerftestVerb::Write, "rxe0", 2));
            assert_eq!((run.depth, run.mtu, run.hosts[1].as_str()), (128, 1024, "n2"));
            let PerftestMeasure::Latency { seconds } = run.results[0].measure else { panic!("a latency") };
            assert!((seconds - 2.42e-6).abs() < 1e-12);
        }
    }

    #[test]
    fn the_rate_of_messages_tells_the_unit() {
        for (rate, bytes_per_s) in [("328.61", 328.61 * GBIT), ("39173.6", 39_173.6 * MIB)] {
            let results =
                [("MsgSize", "65536"), ("n_iterations", "9"), ("BW_average", rate), ("MsgRate", "0.626777")];
            for text in both("Send_Bidirectional_BW_Test", &results) {
                let run = &read(&text).runs[0];
                assert!(run.bidirectional && run.verb == PerftestVerb::Send);
                assert_eq!(run.results[0].measure, PerftestMeasure::Bandwidth { bytes_per_s });
            }
        }
        let other = [("MsgSize", "65536"), ("n_iterations", "9"), ("BW_average", "7.0"), ("MsgRate", "0.6")];
        let [text, _] = both("Send_BW_Test", &other);
        let line = parse_perftest_json("x.json", text.as_bytes()).map(|_| ()).unwrap_err().to_string();
        assert!(line.contains("BW_average") && line.contains("Gb/sec"), "{line}");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(
            text in "(test_info|MsgSize|n_iterations|BW_average|MsgRate|t_avg|[0-9.e-]{0,9}|[\\{\\}:,\" \n]){0,60}"
        ) {
            if let Ok(log) = parse_perftest_json("t.json", text.as_bytes()) {
                prop_assert!(log.runs.iter().all(|run| !run.results.is_empty()));
            }
        }
    }
}
