//! Tables of probes between hosts, as pingmesh and scripts of many kinds write them: a row for each pair, or a matrix.

use std::collections::{BTreeMap, BTreeSet};

use super::pair_probe::{PairProbe, ProbeEnd};
use super::probe_columns::{Role, role, seconds};
use super::skipped::Skipped;
use super::{Hints, input};
use crate::error::FormatError;

/// Name of this format in errors.
const FORMAT: &str = "table of probes";
/// Name of what was read in evidence.
const TABLE: &str = "probes";
/// Lines among which the names of columns stand.
const HEAD_LINES: usize = 40;
/// Hosts of a matrix, at least: less may be anything.
const MATRIX_HOSTS: usize = 3;
/// Probes that a row stands for where the table does not tell: of a share of losses, and of a row that is all of a pair.
const OF_SHARE: u32 = 100;
const OF_ROW: u32 = 10;
/// Seconds of one of a unit that is not told: ping prints milliseconds.
const PING: f64 = 1e-3;

/// A table, read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeTable {
    /// Measurements in order of the table.
    pub pairs: Vec<PairProbe>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// Rows that are wrong.
    pub skipped: Skipped,
}

/// How cells are parted: by a sign, or by spaces.
type Parting = Option<char>;

enum Layout {
    Long { parting: Parting, roles: Vec<Option<Role>> },
    Matrix { parting: Parting, names: Vec<String>, what: Role },
}

/// Whether a text is such a table.
pub(crate) fn is_table(text: &str) -> bool {
    layout(text, "").is_some()
}

/// Reads a table of probes. In a long table columns are found by the words of their names, in any order: two hosts (`source`
/// and `destination`, `src`/`dst`, `from`/`to`, `client`/`server`), and a delay (`rtt_us`, `latency (ms)`, `p50_us`), a
/// loss (`loss_pct`, `lost` beside `sent`), or a bandwidth with its unit (`bw_gbps`). A matrix has the names of hosts in its
/// first row and column; a row is who sent. Cells are parted by commas, semicolons, tabs, bars or spaces.
///
/// Of several delays the median is taken, else the mean, else the least. `rtt` is halved. A cell such as `timeout`, `nan` or
/// `unreachable` was not answered; an empty one was not measured.
///
/// # Errors
/// A table without a row that can be read: its first one that is wrong, or that there is none.
pub fn parse_probe_table(source_name: &str, bytes: &[u8], hints: &Hints) -> Result<ProbeTable, FormatError> {
    let text = input::lossy(FORMAT, source_name, bytes)?;
    let none = |problem: &str| {
        let accepted = "name the columns source, destination and rtt_us, loss_pct or bw_gbps";
        FormatError::new(FORMAT, source_name, problem, accepted)
    };
    let Some((head, layout)) = layout(&text, source_name) else {
        return Err(none("names no two hosts and nothing that was measured between them"));
    };
    let mut reading =
        Reading { source_name, time_ns: hints.time_ns, table: ProbeTable::default(), rows: Vec::new() };
    for (line, number) in text.lines().zip(1_u64..).skip(head + 1) {
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with('#') || bare.chars().all(|letter| "-=+| ".contains(letter)) {
            continue;
        }
        match &layout {
            Layout::Long { parting, roles } => reading.row(&cells(line, *parting), roles, number),
            Layout::Matrix { parting, names, what } => {
                reading.matrix_row(&cells(line, *parting), names, *what, number);
            }
        }
    }
    let is_matrix = matches!(layout, Layout::Matrix { .. });
    let table = reading.finish();
    if table.pairs.is_empty() {
        return Err(table.skipped.all().unwrap_or_else(|| none("has no measurement")));
    }
    // A matrix of which most cells are no measurements is of something else, such as of links between GPUs.
    if is_matrix && table.skipped.count() > table.pairs.len() as u64 {
        let wrong = table.skipped.all().unwrap_or_else(|| none("has no measurement"));
        return Err(wrong.foreign());
    }
    Ok(table)
}

fn cells(line: &str, parting: Parting) -> Vec<String> {
    let Some(sign) = parting else { return line.split_whitespace().map(str::to_owned).collect() };
    // Bars stand at both ends, too.
    let line = if sign == '|' { line.trim().trim_matches('|') } else { line };
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            _ if letter == sign && !quoted => cells.push(String::new()),
            _ => {
                if let Some(cell) = cells.last_mut() {
                    cell.push(letter);
                }
            }
        }
    }
    cells.iter().map(|cell| cell.trim().trim_matches('\'').to_owned()).collect()
}

/// Where the names of columns stand, and what the table is.
fn layout(text: &str, source_name: &str) -> Option<(usize, Layout)> {
    let lines: Vec<&str> = text.lines().take(HEAD_LINES + 4).collect();
    let mut about = String::new();
    for (row, line) in lines.iter().enumerate().take(HEAD_LINES) {
        let line = line.trim_start_matches('\u{feff}');
        let bare = line.trim().trim_start_matches('#').trim_start();
        if bare.is_empty() || bare.len() > 1 << 16 {
            continue;
        }
        for parting in [Some('\t'), Some(';'), Some(','), Some('|'), None] {
            let head = cells(if line.trim_start().starts_with('#') { bare } else { line }, parting);
            let after: Vec<Vec<String>> = lines[row + 1..]
                .iter()
                .filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
                .map(|line| cells(line, parting))
                .take(3)
                .collect();
            if let Some(roles) = long(&head, after.first(), parting) {
                return Some((row, Layout::Long { parting, roles }));
            }
            if let Some(names) = matrix(&head, &after) {
                let corner = if names.len() < head.len() { head[0].as_str() } else { "" };
                let stem = super::names::file_name(source_name);
                let what = [corner, about.trim(), stem].into_iter().find_map(measured);
                let what = what.unwrap_or(Role::Delay { unit: None, both_ways: true, rank: 0 });
                return Some((row, Layout::Matrix { parting, names, what }));
            }
        }
        if line.trim_start().starts_with('#') || cells(line, Some(',')).len() == 1 {
            about.push_str(bare);
            about.push(' ');
        }
    }
    None
}

/// What words beside a matrix say that it holds.
fn measured(words: &str) -> Option<Role> {
    role(words).filter(|role| matches!(role, Role::Delay { .. } | Role::Loss { .. } | Role::Bandwidth { .. }))
}

/// Roles of the columns of a long table, where it has all that is needed.
fn long(head: &[String], after: Option<&Vec<String>>, parting: Parting) -> Option<Vec<Option<Role>>> {
    if head.len() < 3 || parting.is_none() && after.is_none_or(|row| row.len() != head.len()) {
        return None;
    }
    let roles: Vec<Option<Role>> = head.iter().map(|name| role(name)).collect();
    let has = |fits: &dyn Fn(&Role) -> bool| roles.iter().flatten().any(fits);
    let ends = (0..2).all(|end| has(&|role| matches!(role, Role::Host { end: at, .. } if *at == end)));
    let measured = has(&|role| {
        matches!(role, Role::Delay { .. } | Role::Loss { .. } | Role::Bandwidth { .. } | Role::Success)
    });
    let counted =
        has(&|role| *role == Role::Sent) && has(&|role| matches!(role, Role::Received | Role::Lost));
    (ends && (measured || counted)).then_some(roles)
}

/// Names of the hosts of a matrix: those of its head, where the rows below begin with them.
fn matrix(head: &[String], after: &[Vec<String>]) -> Option<Vec<String>> {
    let first = after.first()?;
    let begins = if first.len() == head.len() + 1 { 0 } else { 1 };
    let names = head.get(begins..)?;
    let names = &names[..names.iter().rposition(|name| !name.is_empty()).map_or(0, |last| last + 1)];
    let different: BTreeSet<&String> = names.iter().collect();
    let is_name = |name: &String| name.parse::<f64>().is_err() && !name.is_empty();
    let fits = |row: &Vec<String>| {
        row.first().is_some_and(|name| names.contains(name))
            && row.len() > 1
            && row.len() <= names.len() + 2
            && row[1..].iter().any(|cell| matches!(cell_of(cell), Cell::Number(..)))
    };
    let whole = names.len() >= MATRIX_HOSTS && different.len() == names.len() && names.iter().all(is_name);
    (whole && after.len() >= 2 && after.iter().all(fits)).then(|| names.to_vec())
}

/// What a cell says.
enum Cell {
    /// Nothing: it was not measured.
    Empty,
    /// There was no answer.
    Lost,
    /// A number and its unit, where it has one.
    Number(f64, String),
    /// Something else.
    Wrong,
}

fn cell_of(cell: &str) -> Cell {
    let lower = cell.trim().to_lowercase();
    match lower.as_str() {
        "" | "-" | "--" | "none" | "null" | "n/a" | "na" => return Cell::Empty,
        "nan" | "inf" | "*" | "x" | "timeout" | "timed out" | "timedout" | "unreachable" | "lost"
        | "fail" | "failed" | "error" | "down" | "-1" | "-1.0" | "no answer" | "no reply" => {
            return Cell::Lost;
        }
        _ => {}
    }
    let end = lower
        .find(|letter: char| !(letter.is_ascii_digit() || ".+-e".contains(letter)))
        .unwrap_or(lower.len());
    // `1e` and `5 e…` are no exponents.
    let number = lower[..end].trim_end_matches('e');
    match number.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => {
            Cell::Number(value, lower[number.len()..].trim().to_owned())
        }
        _ => Cell::Wrong,
    }
}

/// A row before it is known how many probes a row is.
#[derive(Default)]
struct Row {
    pair: PairProbe,
    /// Share of losses, 0 to 1 or in percent, where its unit is not told.
    loss: Option<(f64, Option<f64>)>,
    /// Whether the number of probes is told.
    counted: bool,
    /// Whether it was a probe at all.
    probe: bool,
    lost: bool,
}

impl Row {
    /// Notes whether the probe was answered, and how many of the packets that were sent came back or were lost.
    fn count(&mut self, answered: Option<bool>, has_delay: bool, [sent, received, lost]: [Option<u32>; 3]) {
        match (answered, has_delay) {
            (Some(false), _) => (self.probe, self.lost) = (true, true),
            (Some(true), false) => self.probe = true,
            _ => {}
        }
        if let Some(sent) = sent.filter(|sent| *sent > 0) {
            (self.probe, self.counted, self.pair.sent) = (true, true, sent);
            let lost = lost.or_else(|| received.map(|received| sent.saturating_sub(received)));
            self.pair.lost = lost.unwrap_or(0).min(sent);
        } else if let Some(lost) = lost {
            self.probe |= lost > 0;
            self.lost |= lost > 0 && !has_delay;
        }
    }
}

struct Reading<'a> {
    source_name: &'a str,
    time_ns: u64,
    table: ProbeTable,
    rows: Vec<Row>,
}

impl Reading<'_> {
    fn note(&mut self, note: &str) {
        if !self.table.notes.iter().any(|known| known == note) {
            self.table.notes.push(note.to_owned());
        }
    }

    fn wrong(&mut self, line: u64, field: &str, found: &str, accepted: &str) {
        let error = FormatError::new(FORMAT, self.source_name, "is no value of that", accepted);
        self.table.skipped.take(error.at_line(line).field(field).found(found));
    }

    /// A delay in nanoseconds one way.
    fn delay(&mut self, value: f64, of_cell: &str, unit: Option<f64>, both_ways: bool) -> u64 {
        let unit = seconds(of_cell).or(unit).unwrap_or_else(|| {
            self.note("no unit of delays is told: they are taken for milliseconds, as ping prints them");
            PING
        });
        let ns = value * unit * 1e9 / if both_ways { 2.0 } else { 1.0 };
        // The cast clamps.
        (ns.round() as u64).max(1)
    }

    fn row(&mut self, cells: &[String], roles: &[Option<Role>], number: u64) {
        let mut row = Row {
            pair: PairProbe { table: TABLE, time_ns: self.time_ns, ..PairProbe::default() },
            ..Row::default()
        };
        let (mut best, mut address, mut sent, mut received, mut lost) =
            (u8::MAX, [true; 2], None, None, None);
        let mut answered = None;
        for (cell, role) in cells.iter().zip(roles) {
            let Some(role) = role else { continue };
            let whole = || cell.parse::<f64>().ok().filter(|value| *value >= 0.0).map(|value| value as u32);
            match *role {
                Role::Host { end, address: is_address } => {
                    // Addresses give way to names.
                    let host = &mut row.pair.ends[end].host;
                    if !cell.is_empty() && (host.is_empty() || address[end] && !is_address) {
                        cell.clone_into(host);
                        address[end] = is_address;
                    }
                }
                Role::Nic { end } => cell.clone_into(&mut row.pair.ends[end].nic),
                Role::SourcePort => row.pair.source_port = cell.parse().unwrap_or(0),
                Role::Bytes => row.pair.bytes = cell.parse().unwrap_or(0),
                Role::Time => row.pair.time_ns = time_of(cell).unwrap_or(row.pair.time_ns),
                Role::Sent => sent = whole(),
                Role::Received => received = whole(),
                Role::Lost => lost = whole(),
                Role::Success => answered = success(cell).or(answered),
                Role::Delay { unit, both_ways, rank } => match cell_of(cell) {
                    Cell::Number(value, of_cell) if rank < best => {
                        best = rank;
                        row.probe = true;
                        row.pair.delay_ns = self.delay(value, &of_cell, unit, both_ways);
                    }
                    Cell::Lost => (row.probe, row.lost) = (true, true),
                    Cell::Wrong => return self.wrong(number, "delay", cell, "write a number, or timeout"),
                    _ => {}
                },
                Role::Loss { scale } => match cell_of(cell) {
                    Cell::Number(value, of_cell) => {
                        row.probe = true;
                        row.loss = Some((value, if of_cell == "%" { Some(0.01) } else { scale }));
                    }
                    Cell::Wrong => return self.wrong(number, "loss", cell, "write a number"),
                    _ => {}
                },
                Role::Bandwidth { unit } => match cell_of(cell) {
                    Cell::Number(value, _) => row.pair.bits_per_s = value * unit,
                    Cell::Wrong => return self.wrong(number, "bandwidth", cell, "write a number"),
                    _ => {}
                },
            }
        }
        if row.pair.ends.iter().any(|end| end.host.is_empty()) {
            return self.wrong(number, "hosts", &cells.join(","), "write both hosts");
        }
        row.count(answered, best != u8::MAX, [sent, received, lost]);
        self.rows.push(row);
    }

    fn matrix_row(&mut self, cells: &[String], names: &[String], what: Role, number: u64) {
        let Some((source, values)) = cells.split_first() else { return };
        if !names.contains(source) {
            return self.wrong(number, "host", source, "begin each row with a host of the first one");
        }
        for (target, cell) in names.iter().zip(values).filter(|(target, _)| *target != source) {
            let end = |host: &String| ProbeEnd { host: host.clone(), nic: String::new() };
            let ends = [end(source), end(target)];
            let pair = PairProbe { table: TABLE, time_ns: self.time_ns, ends, ..PairProbe::default() };
            let mut row = Row { pair, ..Row::default() };
            match (cell_of(cell), what) {
                (Cell::Empty, _) => continue,
                (Cell::Lost, _) => (row.probe, row.lost) = (true, true),
                (Cell::Number(value, of_cell), Role::Delay { unit, both_ways, .. }) => {
                    row.probe = true;
                    row.pair.delay_ns = self.delay(value, &of_cell, unit, both_ways);
                }
                (Cell::Number(value, of_cell), Role::Loss { scale }) => {
                    row.probe = true;
                    row.loss = Some((value, if of_cell == "%" { Some(0.01) } else { scale }));
                }
                (Cell::Number(value, _), Role::Bandwidth { unit }) => row.pair.bits_per_s = value * unit,
                _ => {
                    self.wrong(number, target, cell, "write a number, or timeout");
                    continue;
                }
            }
            self.rows.push(row);
        }
    }

    /// How many probes each row was, and how many of them were lost.
    fn finish(mut self) -> ProbeTable {
        let rows = std::mem::take(&mut self.rows);
        let mut of_pair: BTreeMap<[ProbeEnd; 2], u32> = BTreeMap::new();
        for row in &rows {
            *of_pair.entry(row.pair.ends.clone()).or_default() += 1;
        }
        let largest = rows.iter().filter_map(|row| row.loss).map(|(loss, _)| loss).fold(0.0, f64::max);
        // Shares that are above 1 are percent.
        let scale = if largest > 1.0 { 0.01 } else { 1.0 };
        for row in rows {
            let Row { mut pair, loss, counted, probe, lost } = row;
            if pair.ends[0].host == pair.ends[1].host && pair.ends[0].nic == pair.ends[1].nic {
                continue;
            }
            let alone = of_pair.get(&pair.ends) == Some(&1);
            if probe {
                let share = loss.map(|(loss, told)| (loss * told.unwrap_or(scale)).clamp(0.0, 1.0));
                if !counted {
                    pair.sent = match share {
                        Some(_) => OF_SHARE,
                        None if alone => OF_ROW,
                        None => 1,
                    };
                    self.note(match share {
                        Some(_) => {
                            "no number of probes is told: each share of losses is taken as that of 100"
                        }
                        None if alone => "no number of probes is told: each row is taken as 10",
                        None => "no number of probes is told: each row is taken as one",
                    });
                }
                if let Some(share) = share.filter(|_| !counted || pair.lost == 0) {
                    pair.lost = (share * f64::from(pair.sent)).round() as u32;
                }
                if lost && pair.delay_ns == 0 {
                    pair.lost = pair.sent;
                }
                if pair.lost >= pair.sent {
                    pair.delay_ns = 0;
                }
                let one = PairProbe { bits_per_s: 0.0, kind: "delay".to_owned(), ..pair.clone() };
                self.table.pairs.push(one);
            }
            if pair.bits_per_s > 0.0 {
                let kind = "bandwidth".to_owned();
                let bandwidth = PairProbe { kind, sent: 0, lost: 0, delay_ns: 0, ..pair };
                self.table.pairs.push(bandwidth);
            }
        }
        self.table
    }
}

/// Whether a word says that there was an answer.
fn success(cell: &str) -> Option<bool> {
    match cell.trim().to_lowercase().as_str() {
        "1" | "true" | "yes" | "ok" | "success" | "up" | "alive" | "reachable" | "pass" | "passed" => {
            Some(true)
        }
        "0" | "false" | "no" | "fail" | "failed" | "failure" | "timeout" | "down" | "dead"
        | "unreachable" | "error" | "lost" => Some(false),
        _ => None,
    }
}

/// Nanoseconds since 1970 of a number (seconds, milliseconds, microseconds or nanoseconds by its size) or a date such as
/// `2025-06-01T12:00:05.5Z`; other zones are taken as UTC, as only what lies between matters.
pub(super) fn time_of(cell: &str) -> Option<u64> {
    if let Ok(value) = cell.parse::<f64>() {
        let scale = [(1e17, 1.0), (1e14, 1e3), (1e11, 1e6), (0.0, 1e9)]
            .into_iter()
            .find(|(from, _)| value >= *from)?;
        return Some((value * scale.1) as u64);
    }
    let numbers: Vec<&str> =
        cell.split(|letter: char| !letter.is_ascii_digit()).filter(|part| !part.is_empty()).collect();
    let number = |at: usize| numbers.get(at).and_then(|part| part.parse::<i64>().ok());
    let (year, month, day) = (number(0)?, number(1)?, number(2)?);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Days since 1970 by the civil calendar: years begin in March, so that leap days come last.
    let (shifted, march) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let era = shifted / 400;
    let of_era = shifted - era * 400;
    let days =
        era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + (153 * march + 2) / 5 + day - 1 - 719_468;
    let clock = number(3).unwrap_or(0) * 3600 + number(4).unwrap_or(0) * 60 + number(5).unwrap_or(0);
    let after = cell.split_once('.').map_or("", |(_, rest)| rest);
    let digits: String = after.chars().take_while(char::is_ascii_digit).take(9).collect();
    let fraction = format!("{digits:0<9}").parse::<u64>().unwrap_or(0);
    u64::try_from(days.checked_mul(86_400)?.checked_add(clock)?)
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> ProbeTable {
        assert!(is_table(text), "{text}");
        parse_probe_table("mesh.csv", text.as_bytes(), &Hints::default()).expect("a table")
    }

    #[test]
    fn long_tables_are_read_whatever_parts_and_orders_them() {
        let csv = "timestamp,src,dst,loss_pct,rtt_avg_ms,rtt_max_ms\n2025-06-01T00:00:01Z,a,b,0,0.2,9\n1748736002,b,a,20,0.3,1\n";
        let found = read(csv);
        let [first, second] = &found.pairs[..] else { panic!("{found:?}") };
        assert_eq!((first.delay_ns, first.sent, first.lost), (100_000, 100, 0));
        assert_eq!((second.delay_ns, second.lost, second.ends[0].host.as_str()), (150_000, 20, "b"));
        assert_eq!((first.time_ns, second.time_ns), (1_748_736_001_000_000_000, 1_748_736_002_000_000_000));
        for text in [
            "from\tto\tsent\treceived\tlatency_us\nh1\th2\t5\t4\t2.5\n",
            "# made by probe\n# client;server;packets_sent;replies;p99_us;p50_us\nh1;h2;5;4;9;2.5\n",
            "| source_host | source_ip | destination_host | count | lost | delay (us) |\n|---|---|---|---|---|---|\n\
             | h1 | 10.0.0.1 | h2 | 5 | 1 | 2.5 |\n",
            "host_a host_b sent lost lat_us\nh1 h2 5 1 2.5\n",
        ] {
            let found = read(text);
            let pair = &found.pairs[0];
            assert_eq!((pair.ends[0].host.as_str(), pair.ends[1].host.as_str()), ("h1", "h2"), "{text}");
            assert_eq!((pair.sent, pair.lost, pair.delay_ns), (5, 1, 2500), "{text}");
        }
    }

    #[test]
    fn matrices_are_read_with_their_unit() {
        let text = "# RTT in us\n,h1,h2,h3\nh1,0,10,12\nh2,10,0,timeout\nh3,12,11,\n";
        let found = read(text);
        assert_eq!(found.pairs.len(), 6);
        assert_eq!(found.pairs[0].delay_ns, 5000);
        let lost = found.pairs.iter().find(|pair| pair.lost > 0).expect("one is lost");
        assert_eq!((lost.ends[0].host.as_str(), lost.ends[1].host.as_str(), lost.sent), ("h2", "h3", 10));
        let spaced =
            "        h1    h2    h3\nh1      -    91.2  90.8\nh2    91.0   -    91.1\nh3    90.9  91.3   -\n";
        let bandwidth =
            parse_probe_table("bw_gbps.txt", spaced.as_bytes(), &Hints::default()).expect("a matrix");
        assert_eq!(bandwidth.pairs.len(), 6);
        assert_eq!(bandwidth.pairs[0].bits_per_s, 91.2e9);
    }

    #[test]
    fn other_tables_are_none() {
        for text in [
            "run,event,step_s\n0,step,8.4\n",
            "source,target,kind\na,b,link\n",
            "a,b,c\n1,2,3\n4,5,6\n",
            "link mlx5_0/1 out_of_sequence 0\n",
        ] {
            assert!(!is_table(text), "{text}");
        }
    }

    /// In the shape of `nvidia-smi topo -m` (NVIDIA/nccl-tests#106).
    #[test]
    fn a_matrix_of_links_between_gpus_is_no_table_of_probes() {
        let text = "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV12\tSYS\t48-63\t3\nGPU1\tNV12\t X \tPXB\t\
                    48-63\t3\nNIC0\tSYS\tPXB\t X \n";
        let read = parse_probe_table("topo_node25.txt", text.as_bytes(), &Hints::default());
        assert!(read.is_err(), "{read:?}");
    }

    #[test]
    fn rows_that_are_wrong_are_told_with_their_place() {
        let text = "src,dst,rtt_us\na,b,fast\na,c,3\n,c,3\n";
        let found = read(text);
        assert_eq!((found.pairs.len(), found.skipped.count()), (1, 2));
        let first = found.skipped.first().next().expect("a line");
        assert!(first.starts_with("line 2:") && first.contains("fast"), "{first}");
    }

    proptest! {
        #[test]
        fn any_table_is_read_or_refused(text in "(src|dst|rtt_us|loss|,|;|h1|h2|h3|timeout|nan|[0-9.e-]{0,9}|[ \n\t|#\"]){0,60}") {
            let _ = is_table(&text);
            if let Ok(table) = parse_probe_table("t.csv", text.as_bytes(), &Hints::default()) {
                prop_assert!(table.pairs.iter().all(|pair| pair.lost <= pair.sent && pair.ends[0] != pair.ends[1]));
            }
        }

        #[test]
        fn what_was_written_is_read(rows in proptest::collection::vec((0..9_u8, 10..19_u8, 1..1_000_000_u32, 0..=4_u32), 1..30)) {
            let lines: String = rows.iter().map(|(a, b, ns, lost)| format!("h{a},h{b},{},4,{lost}\n", f64::from(*ns) / 1e3)).collect();
            let table = read(&format!("source,destination,latency_us,sent,lost\n{lines}"));
            prop_assert_eq!(table.pairs.len(), rows.len());
            for (pair, (a, _, ns, lost)) in table.pairs.iter().zip(&rows) {
                prop_assert_eq!(&pair.ends[0].host, &format!("h{a}"));
                prop_assert_eq!(pair.lost, *lost);
                prop_assert_eq!(pair.delay_ns, if *lost == 4 { 0 } else { u64::from(*ns) });
            }
        }

        #[test]
        fn any_time_is_taken(cell in "[0-9TZ:. -]{0,30}") {
            let _ = time_of(&cell);
        }
    }
}
