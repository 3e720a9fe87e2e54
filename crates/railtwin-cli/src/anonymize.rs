//! Answers without names of hosts, addresses and users, for public reports. One name becomes the same word everywhere.
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Ipv6Addr};

use railtwin::diagnose::Diagnosed;
use railtwin_records::Component;

/// Words that are no host's name alone, though a host may have it.
const WORDS: [&str; 8] = ["host", "node", "gpu", "nic", "rank", "switch", "leaf", "localhost"];
/// Folders whose folders have the names of users.
const HOMES: [&str; 2] = ["/home", "/Users"];
/// Digits of a GUID.
const GUID: usize = 16;

/// Names and what stands for them.
pub(crate) struct Anonymizer {
    /// Hosts, the longest name first, each with its word.
    hosts: Vec<(String, String)>,
    /// Folders of files, the longest first.
    folders: Vec<String>,
}

impl Anonymizer {
    /// Takes the names that a diagnosis has.
    pub(crate) fn of(told: &Diagnosed) -> Self {
        let mut names: BTreeSet<String> = told.directory.hosts.iter().map(|host| host.name.clone()).collect();
        for suspect in told.findings.iter().flat_map(|finding| &finding.suspects) {
            names.extend(hosts_of(&suspect.component));
        }
        let short: Vec<String> = names
            .iter()
            .filter_map(|name| name.split_once('.').map(|(short, _)| short.to_owned()))
            .filter(|short| short.parse::<u32>().is_err())
            .collect();
        names.extend(short);
        names.retain(|name| name.len() > 1 && !WORDS.contains(&name.as_str()));
        // The order of words tells nothing but the order of names.
        let mut hosts: Vec<(String, String)> =
            names.into_iter().zip(1..).map(|(name, at)| (name, format!("host-{at:03}"))).collect();
        hosts.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.0.cmp(&b.0)));
        let sources =
            told.files.iter().map(|file| &file.source).chain(told.unread.iter().map(|file| &file.source));
        let folder = |source: &String| source.rsplit_once('/').map(|(folder, _)| format!("{folder}/"));
        let folders: BTreeSet<String> = sources.filter_map(folder).collect();
        let mut folders: Vec<String> = folders.into_iter().collect();
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.len()));
        Self { hosts, folders }
    }

    /// The text without them.
    pub(crate) fn apply(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for folder in &self.folders {
            text = text.replace(folder.as_str(), "");
        }
        // Names are marked first, so that no word that stands for one is taken for another.
        for (at, (name, _)) in self.hosts.iter().enumerate() {
            text = replaced(&text, name, &format!("\u{1}{at}\u{2}"));
        }
        text = without_addresses(&text);
        for (at, (_, word)) in self.hosts.iter().enumerate() {
            text = text.replace(&format!("\u{1}{at}\u{2}"), word);
        }
        text
    }
}

/// Hosts that a component names.
fn hosts_of(component: &Component) -> Vec<String> {
    let host = |name: &str| name.split(['/', ':']).next().unwrap_or_default().trim().to_owned();
    match component {
        Component::Host(name) => vec![name.clone()],
        Component::Gpu(name) | Component::Nic(name) => vec![host(name)],
        Component::Connection(name) | Component::Link(name) => name.split(" > ").map(host).collect(),
        _ => Vec::new(),
    }
}

/// Every place where `name` stands as a word of its own, with `word` in its place.
fn replaced(text: &str, name: &str, word: &str) -> String {
    let is_inside = |c: char| c.is_alphanumeric();
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        let joined = before.chars().next_back().or_else(|| out.chars().next_back()).is_some_and(is_inside)
            || after.chars().next().is_some_and(is_inside);
        out.push_str(before);
        out.push_str(if joined { name } else { word });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Addresses and users, each with a number of its own.
fn without_addresses(text: &str) -> String {
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut out = String::with_capacity(text.len());
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == ':';
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        if length == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            if out.strip_suffix('/').is_some_and(|out| HOMES.iter().any(|home| out.ends_with(home))) {
                let user = rest.find(['/', ' ', '"', '\n']).unwrap_or(rest.len());
                out.push_str("user");
                rest = &rest[user..];
            }
            continue;
        }
        let (token, after) = rest.split_at(length);
        let bare = token.trim_end_matches([':', '.']);
        match kind_of(bare) {
            Some((kind, length)) => {
                let name = bare[..length].to_owned();
                let word = known.entry(name).or_insert_with(|| {
                    let count = counts.entry(kind).or_default();
                    *count += 1;
                    format!("{kind}-{count}")
                });
                out.push_str(word);
                out.push_str(&token[length..]);
            }
            None => out.push_str(token),
        }
        rest = after;
    }
    out
}

/// The kind of address that a token begins with, and the length of it.
fn kind_of(token: &str) -> Option<(&'static str, usize)> {
    let before_port = token.split(':').next().unwrap_or_default();
    if before_port.parse::<Ipv4Addr>().is_ok() {
        return Some(("ip", before_port.len()));
    }
    let groups: Vec<&str> = token.split(':').collect();
    let is_mac = groups.len() == 6 && groups.iter().all(|group| is_hex(group, 2));
    if is_mac {
        return Some(("mac", token.len()));
    }
    if groups.len() > 3 && token.parse::<Ipv6Addr>().is_ok() {
        return Some(("ip", token.len()));
    }
    let digits = token.strip_prefix("0x").unwrap_or(token);
    let is_guid = is_hex(digits, GUID) && digits.bytes().any(|digit| digit.is_ascii_digit());
    is_guid.then_some(("guid", token.len()))
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(hosts: &[&str]) -> Anonymizer {
        let hosts = hosts.iter().zip(1..).map(|(name, at)| ((*name).to_owned(), format!("host-{at:03}")));
        Anonymizer { hosts: hosts.collect(), folders: vec!["/data/acme/".to_owned()] }
    }

    #[test]
    fn names_go_and_words_that_hold_them_stay() {
        let names = of(&["gn44", "gn4"]);
        let text = names.apply("host gn4: gn44/mlx5_0, dmesg_gn4.log, gn445, /data/acme/gn4.log:7");
        assert_eq!(text, "host host-002: host-001/mlx5_0, dmesg_host-002.log, gn445, host-002.log:7");
    }

    #[test]
    fn a_host_that_is_called_as_another_stands_for_is_no_other() {
        assert_eq!(of(&["host-002", "host-001"]).apply("host-001 host-002"), "host-002 host-001");
    }

    #[test]
    fn addresses_go_and_times_and_places_on_the_bus_stay() {
        let text = "10:00:07 192.0.2.11<0> 192.0.2.11:4791 fe80::1:2:3 aa:bb:cc:00:11:22 0x506b4b0300a1b2c3 \
                    0000:3b:00.0 1.5 /Users/jane/run 506b4b0300a1b2c4:1 2026-01-01T10:00:00.5";
        assert_eq!(
            of(&[]).apply(text),
            "10:00:07 ip-1<0> ip-1:4791 ip-2 mac-1 guid-1 0000:3b:00.0 1.5 /Users/user/run 506b4b0300a1b2c4:1 \
             2026-01-01T10:00:00.5"
        );
    }
}
