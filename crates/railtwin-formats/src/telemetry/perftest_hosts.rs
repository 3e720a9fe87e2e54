//! Which hosts a run of perftest was between: what the name of its log, the launcher's prefixes and its addresses tell.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::names::{file_name, is_nic};

/// Words of file names that name a tool, a role or a unit, and no host.
const WORDS: &[&str] = &[
    "ib",
    "write",
    "read",
    "send",
    "atomic",
    "raw",
    "ethernet",
    "bw",
    "lat",
    "latency",
    "bandwidth",
    "perftest",
    "rdma",
    "test",
    "tests",
    "result",
    "results",
    "out",
    "output",
    "log",
    "logs",
    "client",
    "server",
    "bidir",
    "bidirectional",
    "uni",
    "run",
    "pair",
    "pairs",
    "gbits",
    "qp",
    "to",
    "vs",
    "and",
    "from",
];

/// Ends of file names that say how a file is written.
const ENDS: &[&str] = &[".log", ".txt", ".out", ".json", ".gz", ".csv", ".err", ".stdout"];

/// What stands between two hosts and in no host's name.
const BETWEEN: &[&str] = &["_to_", "-to-", ".to.", "_vs_", "-vs-", "__", "--", "->", ",", "+", "~", "@"];

/// The hosts that the name of a log tells, first the client: `node3_node7.log`, `ib_write_bw_node3-to-node7.txt`. Two
/// where it tells a pair, one or none otherwise.
pub(super) fn hosts_of_name(source_name: &str) -> Vec<String> {
    let mut name = file_name(source_name);
    while let Some(shorter) = ENDS.iter().find_map(|end| name.strip_suffix(end)) {
        name = shorter;
    }
    for sign in BETWEEN {
        if let Some((first, second)) = name.split_once(sign) {
            let hosts: Vec<String> = [first, second].iter().filter_map(|side| one_host(side)).collect();
            if hosts.len() == 2 {
                return hosts;
            }
        }
    }
    for separator in ['_', '-', '.'] {
        let parts: Vec<&str> = name.split(separator).filter(|part| !part.is_empty()).collect();
        let told: Vec<&str> = without_words(&parts);
        // Hosts of a cluster are named alike but for their numbers.
        let numbered: Vec<&&str> =
            told.iter().filter(|part| part.contains(|letter: char| letter.is_ascii_digit())).collect();
        for (at, first) in numbered.iter().enumerate() {
            let alike: Vec<&&&str> =
                numbered[at + 1..].iter().filter(|part| shape(part) == shape(first)).collect();
            if let [second] = alike[..]
                && is_name(first)
                && is_name(second)
            {
                return vec![(**first).to_owned(), (**second).to_owned()];
            }
        }
        if let ('_', [first, second]) = (separator, &told[..]) {
            return vec![(*first).to_owned(), (*second).to_owned()];
        }
    }
    one_host(name).into_iter().collect()
}

/// What is left of parts of a name without the words of tools and the names of NICs, which may have two parts.
fn without_words<'a>(parts: &[&'a str]) -> Vec<&'a str> {
    let mut left = Vec::new();
    let mut rest = parts;
    while let [part, more @ ..] = rest {
        rest = more;
        let is_word = WORDS.contains(&part.to_ascii_lowercase().as_str());
        if part.starts_with("mlx") || is_nic(part) {
            if let [number, others @ ..] = rest
                && number.bytes().all(|letter| letter.is_ascii_digit())
            {
                rest = others;
            }
        } else if !is_word {
            left.push(*part);
        }
    }
    left
}

/// A name with its numbers as one sign each.
fn shape(name: &str) -> String {
    let mut shape = String::new();
    for letter in name.chars() {
        match letter.is_ascii_digit() {
            true if shape.ends_with('#') => {}
            true => shape.push('#'),
            false => shape.push(letter),
        }
    }
    shape
}

/// Whether a part may be a host: numbers alone are dates, sizes and counts.
fn is_name(part: &str) -> bool {
    part.contains(|letter: char| letter.is_ascii_alphabetic()) || part.parse::<Ipv4Addr>().is_ok()
}

/// The host that one side of a name tells.
fn one_host(side: &str) -> Option<String> {
    let parts: Vec<&str> = side.split('_').filter(|part| !part.is_empty()).collect();
    let told = without_words(&parts);
    match told[..] {
        [one] if is_name(one) => Some(one.to_owned()),
        _ => {
            let numbered: Vec<&&str> = told
                .iter()
                .filter(|part| is_name(part) && part.contains(|letter: char| letter.is_ascii_digit()))
                .collect();
            match numbered[..] {
                [one] => Some((*one).to_string()),
                _ => None,
            }
        }
    }
}

/// The address in a line such as `local address: LID 0x02 QPN 0x0032`, where it tells one: 0 is none.
pub(super) fn lid(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("LID ")?;
    let word = rest.split_whitespace().next()?;
    let digits = word.trim_start_matches("0x");
    let number = u32::from_str_radix(digits, 16).ok().filter(|number| *number > 0)?;
    Some(format!("lid-0x{number:04x}"))
}

/// The address of a line `GID: 00:00:…:255:255:10:00:00:05`: perftest writes sixteen numbers, decimal ones, and newer
/// versions hexadecimal ones.
pub(super) fn gid(line: &str) -> Option<String> {
    let rest = line.trim().strip_prefix("GID:")?.trim();
    let words: Vec<&str> = rest.split(':').map(str::trim).collect();
    if words.len() != 16 {
        return rest.parse::<Ipv6Addr>().ok().map(written);
    }
    let hexadecimal = words.iter().any(|word| word.contains(|letter: char| letter.is_ascii_alphabetic()));
    let radix = if hexadecimal { 16 } else { 10 };
    let mut bytes = [0_u8; 16];
    for (byte, word) in bytes.iter_mut().zip(&words) {
        *byte = u8::from_str_radix(word, radix).ok()?;
    }
    (bytes != [0; 16]).then(|| written(Ipv6Addr::from(bytes)))
}

fn written(address: Ipv6Addr) -> String {
    address.to_ipv4_mapped().map_or_else(|| address.to_string(), |address| address.to_string())
}

/// The lines of one process: what a launcher wrote before each is taken off.
pub(super) struct Stream<'a> {
    /// The host that the prefix tells; empty where it tells none.
    pub host: String,
    /// Lines with their numbers.
    pub lines: Vec<(&'a str, u64)>,
}

/// Takes the lines of a log apart by what launchers such as mpirun, srun and pdsh write before each (`node3: `,
/// `[1,0]<stdout>:`): it stands before the names of columns, too. A log without has one stream.
pub(super) fn streams(text: &str) -> Vec<Stream<'_>> {
    let mut prefixes: BTreeSet<&str> = BTreeSet::new();
    for line in text.lines() {
        if let Some(at) = line.find("#bytes")
            && line[at..].contains("#iterations")
        {
            prefixes.insert(without_time(&line[..at]).trim());
        }
    }
    prefixes.remove("");
    // The longest first: `node1` begins `node10`.
    let mut prefixes: Vec<&str> = prefixes.into_iter().collect();
    prefixes.sort_by_key(|prefix| std::cmp::Reverse(prefix.len()));
    let mut streams: Vec<Stream<'_>> = Vec::with_capacity(prefixes.len() + 1);
    streams.push(Stream { host: String::new(), lines: Vec::new() });
    streams.extend(prefixes.iter().map(|prefix| Stream { host: host_of(prefix), lines: Vec::new() }));
    for (line, number) in text.lines().zip(1_u64..) {
        let bare = if prefixes.is_empty() { line } else { without_time(line).trim_start() };
        let found = prefixes.iter().position(|prefix| bare.starts_with(prefix));
        let (row, rest) = match found {
            Some(row) => (row + 1, &bare[prefixes[row].len()..]),
            None => (0, bare),
        };
        if let Some(stream) = streams.get_mut(row) {
            stream.lines.push((rest.trim(), number));
        }
    }
    streams
}

/// A line without the time that stands first in it, where one does.
fn without_time(line: &str) -> &str {
    let line = line.trim_start();
    let end = line.find(char::is_whitespace).unwrap_or(line.len());
    let (word, rest) = line.split_at(end);
    let word = word.trim_matches(['[', ']', ',']);
    let is_time = word.len() >= 8
        && word.starts_with(|letter: char| letter.is_ascii_digit())
        && word.bytes().all(|letter| letter.is_ascii_digit() || b":.-+TZ/,".contains(&letter))
        && word.contains([':', '-', '/']);
    if is_time { without_time(rest) } else { line }
}

/// The host that a prefix tells.
fn host_of(prefix: &str) -> String {
    let word = prefix.split_whitespace().next().unwrap_or_default();
    let word = word.trim_matches(|letter: char| "[]()<>:|".contains(letter));
    let word = word.split(':').next().unwrap_or_default();
    let is_host = word.contains(|letter: char| letter.is_ascii_alphabetic())
        && !word.contains([',', '<', '>'])
        && !["stdout", "stderr", "rank", "task"].iter().any(|role| word.starts_with(role));
    if is_host { word.to_owned() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_of_logs_tell_pairs() {
        for (name, hosts) in [
            ("x/node3_node7.log", &["node3", "node7"][..]),
            ("a_b.log", &["a", "b"]),
            ("cnode3-002_cnode3-003.txt", &["cnode3-002", "cnode3-003"]),
            ("ib_write_bw_gpu-a1_to_gpu-b2_mlx5_0.log", &["gpu-a1", "gpu-b2"]),
            ("ib_write_bw_mlx5_3_node01_node02_65536.log", &["node01", "node02"]),
            ("10.0.0.1_10.0.0.12.log", &["10.0.0.1", "10.0.0.12"]),
            ("node01-node02.json", &["node01", "node02"]),
            ("rack1-n4--rack2-n5.out", &["rack1-n4", "rack2-n5"]),
            ("ib_read_lat_server_node9.log", &["node9"]),
            ("perftest.log", &[]),
            ("ib_write_bw.log", &[]),
        ] {
            assert_eq!(hosts_of_name(name), hosts, "{name}");
        }
    }

    #[test]
    fn addresses_are_read_as_perftest_writes_them() {
        assert_eq!(lid(" local address: LID 0x1907 QPN 0x0867 PSN 0x6d058e"), Some("lid-0x1907".into()));
        assert_eq!(lid(" local address: LID 0000 QPN 0x0867 PSN 0x6d058e"), None);
        let mapped = " GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:255:255:05";
        assert_eq!(gid(mapped), Some("10.255.255.5".into()));
        let local = "GID: 254:128:00:00:00:00:00:00:148:109:174:03:00:50:07:120";
        assert_eq!(gid(local), Some("fe80::946d:ae03:32:778".into()));
        assert_eq!(gid("GID: 1:2"), None);
    }

    #[test]
    fn prefixes_of_launchers_are_taken_off() {
        let text = "node1: a\nnode10: b\nnode1: #bytes #iterations x\nnode10:  #bytes #iterations\nrest\n";
        let found: Vec<(String, Vec<&str>)> = streams(text)
            .into_iter()
            .map(|stream| (stream.host, stream.lines.iter().map(|(line, _)| *line).collect()))
            .collect();
        let node = |name: &str, first: &'static str, head: &'static str| (name.to_owned(), vec![first, head]);
        assert_eq!(found[0], (String::new(), vec!["rest"]));
        assert!(found.contains(&node("node1", "a", "#bytes #iterations x")), "{found:?}");
        assert!(found.contains(&node("node10", "b", "#bytes #iterations")), "{found:?}");
        let tagged = streams("[1,0]<stdout>: #bytes #iterations\n[1,0]<stdout>: 2 3\n");
        assert_eq!((tagged[1].host.as_str(), tagged[1].lines[1]), ("", ("2 3", 2)));
        let timed = streams("2025-01-02T03:04:05 h7: #bytes #iterations\n2025-01-02T03:04:09 h7: 2 3\n");
        assert_eq!((timed[1].host.as_str(), timed[1].lines[1]), ("h7", ("2 3", 2)));
    }

    proptest! {
        #[test]
        fn any_name_and_any_text_are_taken(name in "\\PC{0,40}", text in "\\PC{0,80}") {
            prop_assert!(hosts_of_name(&name).len() <= 2);
            let _ = (lid(&text), gid(&text));
            let lines: usize = streams(&text).iter().map(|stream| stream.lines.len()).sum();
            prop_assert_eq!(lines, text.lines().count());
        }

        #[test]
        fn two_hosts_alike_but_for_numbers_are_found(stem in "[a-z]{2,6}", one in 0..99_u32, other in 100..999_u32) {
            prop_assume!(!WORDS.contains(&stem.as_str()) && !is_nic(&format!("{stem}{one}")) && !stem.starts_with("mlx"));
            prop_assume!(!is_nic(&format!("{stem}{other}")));
            let hosts = [format!("{stem}{one}"), format!("{stem}{other}")];
            let name = format!("ib_write_bw_{}_{}.log", hosts[0], hosts[1]);
            prop_assert_eq!(hosts_of_name(&name), hosts.to_vec());
        }
    }
}
