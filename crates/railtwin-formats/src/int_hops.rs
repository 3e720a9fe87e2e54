//! Hops of in-band telemetry (INT): which switch a probe crossed, by which port in and by which out.
//!
//! A CSV with the columns `probe,hop,switch,ingress,egress`, or JSON lines with these members. Two hops of a probe whose
//! numbers follow each other tell one cable: from the port that the first left by to the port that the second was entered
//! by. Hosts at either end of a probe may be hops as well, with one port only.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_records::NeighborInfo;

use crate::error::{FormatError, text_of};

/// Name of this format in errors.
const FORMAT: &str = "INT hops";
/// Accepted forms, for errors.
const ACCEPTED: &str = "write columns probe,hop,switch,ingress,egress, or JSON lines with these members";
/// Names of columns.
const PROBE: &[&str] = &["probe", "probe_id"];
const HOP: &[&str] = &["hop", "hop_number", "ttl"];
const SWITCH: &[&str] = &["switch", "device", "switch_id", "node"];
const INGRESS: &[&str] = &["ingress", "ingress_port", "in"];
const EGRESS: &[&str] = &["egress", "egress_port", "out"];
const COLUMNS: [&[&str]; 5] = [PROBE, HOP, SWITCH, INGRESS, EGRESS];

/// One hop of a probe.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct IntHop {
    probe: String,
    hop: u32,
    switch: String,
    ingress: String,
    egress: String,
    line: u64,
}

/// Whether a text begins as hops do.
pub fn is_int_hops(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 16)]);
    let first = head.trim_start_matches('\u{feff}').lines().find(|line| is_row(line));
    first.is_some_and(|line| match line.trim_start().starts_with('{') {
        true => COLUMNS.iter().all(|names| names.iter().any(|name| line.contains(&format!("\"{name}\"")))),
        false => columns(&line.split(',').collect()).is_some(),
    })
}

fn is_row(line: &str) -> bool {
    !line.trim().is_empty() && !line.starts_with('#')
}

fn columns(header: &csv::StringRecord) -> Option<[usize; 5]> {
    let plain: Vec<String> =
        header.iter().map(|name| name.trim().to_ascii_lowercase().replace(' ', "_")).collect();
    let mut found = [0; 5];
    for (place, names) in found.iter_mut().zip(COLUMNS) {
        *place = plain.iter().position(|known| names.contains(&known.as_str()))?;
    }
    Some(found)
}

/// Reads hops as neighbors of ports, both ways and each once: `device/port`, the device at the far end and its port.
///
/// # Errors
/// A text without the columns, a row without a probe, number or switch, and a hop that a probe has twice with other ports.
pub fn parse_int_hops(source_name: &str, bytes: &[u8]) -> Result<Vec<NeighborInfo>, FormatError> {
    let text = text_of(FORMAT, source_name, bytes)?;
    let first = text.lines().find(|line| is_row(line)).unwrap_or("");
    let mut hops = match first.trim_start().starts_with('{') {
        true => of_json(source_name, text)?,
        false => of_csv(source_name, text)?,
    };
    hops.sort();
    let mut neighbors = BTreeSet::new();
    for pair in hops.windows(2) {
        let [first, second] = pair else { continue };
        if first.probe != second.probe {
            continue;
        }
        if first.hop == second.hop {
            let ports = |hop: &IntHop| (hop.switch.clone(), hop.ingress.clone(), hop.egress.clone());
            if ports(first) == ports(second) {
                continue;
            }
            let problem =
                format!("of probe {} is on line {} already with other ports", first.probe, first.line);
            let error = FormatError::new(FORMAT, source_name, problem, "write each hop of a probe once");
            return Err(error.at_line(second.line).field("hop").found(&second.hop.to_string()));
        }
        if second.hop - first.hop == 1 && !first.egress.is_empty() && !second.ingress.is_empty() {
            let out = (&first.switch, &first.egress);
            let into = (&second.switch, &second.ingress);
            for ((device, port), (far, far_port)) in [(out, into), (into, out)] {
                neighbors.insert(NeighborInfo {
                    port: format!("{device}/{port}"),
                    neighbor: far.clone(),
                    neighbor_port: far_port.clone(),
                });
            }
        }
    }
    Ok(neighbors.into_iter().collect())
}

fn of_csv(source_name: &str, text: &str) -> Result<Vec<IntHop>, FormatError> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .flexible(true)
        .from_reader(text.as_bytes());
    let broken = |error: &csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        FormatError::new(FORMAT, source_name, "is not a row of comma-separated values", ACCEPTED)
            .at_line(line)
    };
    let header = reader.headers().map_err(|error| broken(&error))?.clone();
    let places = columns(&header).ok_or_else(|| {
        FormatError::new(FORMAT, source_name, "has no columns of hops", ACCEPTED).at_line(1).foreign()
    })?;
    let mut hops = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| broken(&error))?;
        let line = record.position().map_or(0, csv::Position::line);
        if record.iter().all(str::is_empty) {
            continue;
        }
        let fields = places.map(|place| record.get(place).unwrap_or("").to_owned());
        hops.push(hop(source_name, line, fields, |row| {
            format!("column {} ({})", places[row] + 1, COLUMNS[row][0])
        })?);
    }
    Ok(hops)
}

fn of_json(source_name: &str, text: &str) -> Result<Vec<IntHop>, FormatError> {
    let mut hops = Vec::new();
    for (line, number) in text.lines().zip(1_u64..).filter(|(line, _)| is_row(line)) {
        let object: BTreeMap<String, serde_json::Value> = serde_json::from_str(line).map_err(|error| {
            let error =
                FormatError::new(FORMAT, source_name, format!("is no JSON object ({error})"), ACCEPTED);
            error.at_line(number).found(line)
        })?;
        let text = |names: &[&str]| {
            let value = names.iter().find_map(|name| object.get(*name));
            value.map_or(String::new(), |value| match value {
                serde_json::Value::String(text) => text.clone(),
                serde_json::Value::Null => String::new(),
                other => other.to_string(),
            })
        };
        hops.push(hop(source_name, number, COLUMNS.map(text), |row| COLUMNS[row][0].to_owned())?);
    }
    Ok(hops)
}

/// A hop of its five fields; `field` names one by its number.
fn hop(
    source_name: &str,
    line: u64,
    fields: [String; 5],
    field: impl Fn(usize) -> String,
) -> Result<IntHop, FormatError> {
    let wrong = |row: usize, found: &str, problem: &str, accepted: &str| {
        FormatError::new(FORMAT, source_name, problem, accepted).at_line(line).field(field(row)).found(found)
    };
    for (row, accepted) in
        [(0, "write a name for each probe"), (2, "write the switch, or the host, of the hop")]
    {
        if fields[row].is_empty() {
            return Err(wrong(row, "", "is empty", accepted));
        }
    }
    let accepted = "write the number of the hop, counted from 0";
    let number = fields[1].parse().map_err(|_| wrong(1, &fields[1], "is not a whole number", accepted))?;
    let [probe, _, switch, ingress, egress] = fields;
    Ok(IntHop { probe, hop: number, switch, ingress, egress, line })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(text: &str) -> Vec<[String; 3]> {
        let all = parse_int_hops("p.csv", text.as_bytes()).expect(text).into_iter();
        all.map(|info| [info.port, info.neighbor, info.neighbor_port]).collect()
    }

    #[test]
    fn hops_that_follow_each_other_tell_cables() {
        let csv = "probe,hop,switch,ingress,egress\np1,1,leaf-0,E1/1,E1/40\np1,0,host-0,,be0\np1,2,spine-0,E1/3,E1/4\n\
                   p1,4,leaf-1,E1/9,\np2,3,leaf-0,E1/1,E1/41\n";
        let json = "{\"probe\": \"p1\", \"hop\": 0, \"switch\": \"host-0\", \"ingress\": null, \"egress\": \"be0\"}\n\
                    {\"probe\": \"p1\", \"hop\": 1, \"switch\": \"leaf-0\", \"ingress\": \"E1/1\", \"egress\": \"E1/40\"}\n\
                    {\"probe\": \"p1\", \"hop\": 2, \"switch\": \"spine-0\", \"ingress\": \"E1/3\", \"egress\": \"E1/4\"}\n";
        let wanted = [
            ["host-0/be0", "leaf-0", "E1/1"],
            ["leaf-0/E1/1", "host-0", "be0"],
            ["leaf-0/E1/40", "spine-0", "E1/3"],
            ["spine-0/E1/3", "leaf-0", "E1/40"],
        ]
        .map(|row| row.map(str::to_owned));
        assert!(is_int_hops(csv.as_bytes()) && is_int_hops(json.as_bytes()));
        assert_eq!((told(csv), told(json)), (wanted.to_vec(), wanted.to_vec()));
    }

    #[test]
    fn wrong_rows_are_one_error_with_their_place() {
        let head = "probe,hop,switch,ingress,egress\n";
        for (rows, wanted) in [
            ("p1,x,leaf-0,1,2\n", "p.csv:2: column 2 (hop): \"x\" is not a whole number"),
            ("p1,1,,1,2\n", "p.csv:2: column 3 (switch): \"\" is empty"),
            (",1,leaf-0,1,2\n", "column 1 (probe)"),
            ("p1,1,leaf-0,1,2\np1,1,leaf-1,1,2\n", "p.csv:3: hop: \"1\" of probe p1 is on line 2 already"),
        ] {
            let error =
                parse_int_hops("p.csv", format!("{head}{rows}").as_bytes()).expect_err(rows).to_string();
            assert!(error.contains(wanted), "{error}");
        }
        assert!(parse_int_hops("p.csv", b"a,b\n1,2\n").is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), rows in "([a-z0-9,{}\": ]{0,20}\n){0,4}") {
            let _ = (is_int_hops(&bytes), parse_int_hops("p", &bytes));
            let _ = parse_int_hops("p", format!("probe,hop,switch,ingress,egress\n{rows}").as_bytes());
            let _ = parse_int_hops("p", format!("{{{rows}").as_bytes());
        }
    }
}
