//! Names of a cluster's hosts, NICs and GPUs as a fabric has them: a file with a line for each.
//!
//! ```text
//! # theirs,the fabric's
//! node017,host-16
//! node017/mlx5_3,host-16/nic-3
//! node017/ens2f1np1,host-16/nic-3:1
//! node017/0000:bb:00.0,host-16/gpu-6
//! swl017,leaf-3
//! ```
//!
//! A NIC `mlx5_N` of a host of the fabric is `nic-N` where nothing says otherwise.
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use railtwin_fabric::Fabric;
use railtwin_formats::telemetry::pci_address;
use railtwin_records::{Component, Directory, Finding, HostInfo};
use railtwin_store::input;

use crate::error::Error;

/// What a line may be.
const ACCEPTED: &str = "write HOST,host-N, SWITCH,leaf-N, HOST/NIC,host-N/nic-M, HOST/NIC,host-N/nic-M:PORT or \
     HOST/GPU,host-N/gpu-M, one a line";
/// Names that a note lists.
const NAMED: usize = 8;

/// What a line gives.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Given {
    line: usize,
    /// The left side as it stands.
    text: String,
    /// The fabric's name, without a port.
    to: String,
    /// Port of a NIC, where it is told.
    port: Option<u32>,
    is_used: bool,
}

/// Names of a cluster and those of the fabric.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Names {
    file: String,
    given: BTreeMap<String, Given>,
}

/// One spelling: addresses on the PCI bus as records have them, `3` as `gpu-3`.
fn plain(name: &str) -> String {
    let Some((host, part)) = name.split_once('/') else { return name.to_owned() };
    let part = pci_address(part).unwrap_or_else(|| {
        if part.bytes().all(|byte| byte.is_ascii_digit()) { format!("gpu-{part}") } else { part.to_owned() }
    });
    format!("{host}/{part}")
}

/// Number behind a word, such as 3 of `nic-3`.
fn numbered(part: &str, word: &str) -> Option<u32> {
    let digits = part.strip_prefix(word)?;
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok())?
}

impl Names {
    /// Reads a file of names.
    ///
    /// # Errors
    /// [`Error::File`] for a file that cannot be read, [`Error::Argument`] for its first line that is wrong.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let bytes = input::read_unpacked(path)
            .map_err(|error| Error::File { path: name.clone(), problem: error.to_string() })?;
        Self::parse(&name, &String::from_utf8_lossy(&bytes))
    }

    /// Reads text of a file of that name.
    ///
    /// # Errors
    /// [`Error::Argument`] for the first line that is wrong, and for a text without any.
    pub fn parse(file: &str, text: &str) -> Result<Self, Error> {
        let mut names = Self { file: file.to_owned(), given: BTreeMap::new() };
        for (row, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let line_text = line.trim();
            if line_text.is_empty() || line_text.starts_with('#') {
                continue;
            }
            let shown: String = line_text.chars().take(80).collect();
            let wrong =
                |what: &str| Error::Argument(format!("{file}:{}: {shown:?} {what}; {ACCEPTED}", row + 1));
            let Some((theirs, ours)) = line_text.split_once(',') else {
                return Err(wrong("is no pair of names"));
            };
            let (theirs, ours) = (theirs.trim(), ours.trim());
            if theirs.is_empty() || theirs.split('/').count() > 2 || theirs.split('/').any(str::is_empty) {
                return Err(wrong("names no host and no part of one on the left"));
            }
            let (to, port) = match ours.split_once('/') {
                None => (ours, None),
                Some((host, part)) => {
                    let (part, port) = match part.split_once(':') {
                        Some((part, port)) => {
                            (part, Some(port.parse::<u32>().map_err(|_| wrong("has no number of a port"))?))
                        }
                        None => (part, None),
                    };
                    let is_nic = numbered(part, "nic-").is_some();
                    if !is_nic && (port.is_some() || numbered(part, "gpu-").is_none()) {
                        return Err(wrong("names no nic-N and no gpu-N on the right"));
                    }
                    (&ours[..host.len() + 1 + part.len()], port)
                }
            };
            if to.is_empty() || to.contains(',') || to.starts_with('/') {
                return Err(wrong("names no host on the right"));
            }
            if theirs.contains('/') != to.contains('/') {
                return Err(wrong("names a host on one side and a part of one on the other"));
            }
            let given =
                Given { line: row + 1, text: theirs.to_owned(), to: to.to_owned(), port, is_used: false };
            if let Some(first) = names.given.insert(plain(theirs), given) {
                return Err(wrong(&format!("names {theirs} again, after line {}", first.line)));
            }
        }
        if names.given.is_empty() {
            return Err(Error::Argument(format!("{file}: holds no names; {ACCEPTED}")));
        }
        Ok(names)
    }

    /// Checks the right sides against a fabric.
    ///
    /// # Errors
    /// [`Error::Argument`] for the first line that names what the fabric has not.
    pub fn check(&self, fabric: &Fabric) -> Result<(), Error> {
        let mut all: Vec<&Given> = self.given.values().collect();
        all.sort_by_key(|given| given.line);
        for given in all {
            let wrong = |what: String| {
                Error::Argument(format!("{}:{}: {:?} {what}", self.file, given.line, given.to))
            };
            let (host, part) = given.to.split_once('/').unwrap_or((&given.to, ""));
            if part.is_empty() && fabric.switch_named(host).is_some() {
                continue;
            }
            let Some(host) = fabric.host_named(host) else {
                let last = fabric.hosts().len().saturating_sub(1);
                return Err(wrong(format!(
                    "is no host and no switch of the fabric; its hosts are host-0 to host-{last}, its leaves leaf-0 and so on"
                )));
            };
            let model = fabric.host_model(host);
            for (word, count) in [("nic-", model.nics), ("gpu-", model.gpus)] {
                if let Some(number) = numbered(part, word)
                    && number >= count
                {
                    return Err(wrong(format!(
                        "is not in the fabric; its hosts have {word}0 to {word}{}",
                        count.saturating_sub(1)
                    )));
                }
            }
            if let (Some(number), Some(port)) = (numbered(part, "nic-"), given.port)
                && fabric.access_link(fabric.nic(host, number), port).is_none()
            {
                return Err(wrong(format!("has no port {port} in the fabric; ports count from 0")));
            }
        }
        Ok(())
    }

    fn given(&mut self, name: &str) -> Option<(String, Option<u32>)> {
        let key = plain(name);
        let (host, part) =
            key.split_once('/').map_or((key.as_str(), None), |(host, part)| (host, Some(part)));
        // Logs cut domains off, or do not.
        let short = host.split('.').next().unwrap_or(host);
        let of = |host: &str| part.map_or(host.to_owned(), |part| format!("{host}/{part}"));
        let key = [key.clone(), of(short)].into_iter().find(|key| self.given.contains_key(key));
        let key = key.or_else(|| {
            let with_domain = |known: &&String| {
                let (of, of_part) =
                    known.split_once('/').map_or((known.as_str(), None), |(of, part)| (of, Some(part)));
                of_part == part && !host.contains('.') && of.split('.').next() == Some(host)
            };
            self.given.keys().find(with_domain).cloned()
        })?;
        let given = self.given.get_mut(&key)?;
        given.is_used = true;
        Some((given.to.clone(), given.port))
    }

    /// The fabric's name of a host, NIC or GPU, and the port that it is; none where no line says so.
    pub fn of(&mut self, name: &str) -> Option<(String, Option<u32>)> {
        if let Some(found) = self.given(name) {
            return Some(found);
        }
        let (host, part) = name.split_once('/')?;
        self.given(host).map(|(host, _)| (format!("{host}/{part}"), None))
    }

    fn component(&mut self, component: &mut Component) -> Option<u32> {
        let (name, port) = match &*component {
            Component::Host(name) | Component::Nic(name) | Component::Gpu(name) => self.of(name)?,
            Component::Connection(pair) => {
                let ends: Vec<String> = pair
                    .split(" > ")
                    .map(|end| self.of(end).map_or_else(|| end.to_owned(), |(name, _)| name))
                    .collect();
                (ends.join(" > "), None)
            }
            _ => return None,
        };
        match component {
            Component::Host(known)
            | Component::Nic(known)
            | Component::Gpu(known)
            | Component::Connection(known) => {
                *known = name;
            }
            _ => {}
        }
        port
    }

    /// Renames what findings name.
    pub fn rename(&mut self, findings: &mut [Finding]) {
        for suspect in findings.iter_mut().flat_map(|finding| &mut finding.suspects) {
            self.component(&mut suspect.component);
        }
    }

    /// Renames hosts, ranks' places, NICs and GPUs of a directory; gives the ports of NICs by row of their entity.
    pub fn place(&mut self, directory: &mut Directory) -> BTreeMap<u32, u32> {
        let mut hosts: Vec<HostInfo> = Vec::new();
        let mut row_of = Vec::new();
        for host in &directory.hosts {
            let name = self.of(&host.name).map_or_else(|| host.name.clone(), |(name, _)| name);
            let known = hosts.iter().position(|one| one.name == name);
            row_of.push(known.unwrap_or(hosts.len()) as u32);
            if known.is_none() {
                hosts.push(HostInfo { name });
            }
        }
        for rank in &mut directory.ranks {
            let host = directory.hosts.get(rank.host as usize).map_or("", |host| host.name.as_str());
            let of_gpu = self.given(&format!("{host}/gpu-{}", rank.gpu));
            let number = of_gpu.and_then(|(name, _)| numbered(name.split_once('/')?.1, "gpu-"));
            (rank.gpu, rank.nic) = number.map_or((rank.gpu, rank.nic), |number| (number, number));
            rank.host = row_of.get(rank.host as usize).copied().unwrap_or(rank.host);
        }
        directory.hosts = hosts;
        let mut ports = BTreeMap::new();
        for (row, entity) in directory.entities.iter_mut().enumerate() {
            if let Some(port) = self.component(&mut entity.component) {
                ports.insert(row as u32, port);
            }
        }
        for flow in &mut directory.flows {
            for name in [&mut flow.source_nic, &mut flow.target_nic] {
                if let Some((ours, _)) = self.of(name) {
                    *name = ours;
                }
            }
        }
        ports
    }

    /// A note on names that nothing has used.
    pub fn unused(&self) -> Option<String> {
        let all: BTreeSet<(usize, &str)> = self
            .given
            .values()
            .filter(|given| !given.is_used)
            .map(|given| (given.line, given.text.as_str()))
            .collect();
        let names: Vec<&str> = all.iter().take(NAMED).map(|(_, name)| *name).collect();
        let more = if all.len() > names.len() { ", …" } else { "" };
        let of = self.given.len();
        (!all.is_empty()).then(|| {
            format!(
                "{}: {} of {of} names are in no file that was read: {}{more}",
                self.file,
                all.len(),
                names.join(", ")
            )
        })
    }
}

/// `host-3/mlx5_2` as `host-3/nic-2`, for hosts of a fabric that have so many NICs.
pub fn number_nic(fabric: &Fabric, name: &mut String) {
    let numbered = || {
        let (host, part) = name.split_once('/')?;
        let number = numbered(part, "mlx5_")?;
        let known = fabric.host_named(host)?;
        (number < fabric.host_model(known).nics).then(|| format!("{host}/nic-{number}"))
    };
    if let Some(ours) = numbered() {
        *name = ours;
    }
}

/// The same for what findings name.
pub fn number_nics(fabric: &Fabric, findings: &mut [Finding]) {
    for suspect in findings.iter_mut().flat_map(|finding| &mut finding.suspects) {
        match &mut suspect.component {
            Component::Nic(name) => number_nic(fabric, name),
            Component::Connection(pair) => {
                let mut ends: Vec<String> = pair.split(" > ").map(str::to_owned).collect();
                ends.iter_mut().for_each(|end| number_nic(fabric, end));
                *pair = ends.join(" > ");
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_of_hosts_parts_and_ports_are_found_in_any_spelling() {
        let text = "# ours\nnode017,host-16\nnode017/mlx5_3, host-16/nic-5\nnode017/ens2f1np1,host-16/nic-3:1\n\n\
                    node018/0000:BB:00.0,host-17/gpu-6\nnode018.a.b,host-17\nnode018/2,host-17/gpu-0\n";
        let mut names = Names::parse("names.csv", text).expect("names");
        let mut of = |name: &str| names.of(name);
        let found = |name: &str, port| Some((name.to_owned(), port));
        assert_eq!(of("node017"), found("host-16", None));
        assert_eq!(of("node017.cluster/mlx5_3"), found("host-16/nic-5", None));
        assert_eq!(of("node017/mlx5_1"), found("host-16/mlx5_1", None));
        assert_eq!(of("node017/ens2f1np1"), found("host-16/nic-3", Some(1)));
        assert_eq!(of("node018/0000:bb:00"), found("host-17/gpu-6", None));
        assert_eq!(of("node018/gpu-7"), found("host-17/gpu-7", None));
        assert_eq!(of("node019"), None);
        let unused = names.unused().expect("a note");
        assert!(
            unused.starts_with("names.csv: 1 of 6 names are in no file that was read: node018/2"),
            "{unused}"
        );
    }

    #[test]
    fn each_wrong_line_is_one_error_with_its_place_and_what_is_accepted() {
        for (text, wanted) in [
            ("a,host-0\nb\n", "n:2: \"b\" is no pair of names; write HOST,host-N"),
            (",host-0", "n:1: \",host-0\" names no host and no part of one on the left"),
            ("a/b/c,host-0/nic-1", "names no host and no part of one on the left"),
            ("a/mlx5_0,host-0/mlx5_0", "names no nic-N and no gpu-N on the right"),
            ("a/mlx5_0,host-0/nic-0:x", "has no number of a port"),
            ("a/gpu-0,host-0/gpu-0:1", "names no nic-N and no gpu-N on the right"),
            ("a/mlx5_0,host-0", "names a host on one side and a part of one on the other"),
            ("a,host-0\n\na,host-1\n", "n:3: \"a,host-1\" names a again, after line 1"),
            ("a/bb:00.0,host-0/gpu-0\na/0000:bb:00,host-0/gpu-1", "again, after line 1"),
            ("a,", "names no host on the right"),
            ("# nothing\n", "n: holds no names; write"),
        ] {
            let error = Names::parse("n", text).expect_err(text).to_string();
            assert!(error.contains(wanted) && !error.contains('\n'), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([a-z0-9/:,. -]{0,20}\n){0,4}", name in "[a-z0-9/:.]{0,12}") {
            if let Ok(mut names) = Names::parse("n", &text) {
                let _ = (names.of(&name), names.unused());
            }
        }
    }
}
