//! `show_gids`: the GIDs of the ports of a host, by index, with their RoCE version.
use std::collections::BTreeMap;

/// A port with the GIDs that RoCE v2 over IPv4 uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GidPort {
    /// Device, such as `mlx5_0`; with its port where that is not 1.
    pub device: String,
    /// Indices of its GIDs of RoCE v2 with an IPv4 address, ascending.
    pub v2_over_ipv4: Vec<u32>,
    /// GIDs in all.
    pub gids: u32,
    /// Line of its first GID, from 1 on.
    pub line: u64,
}

pub(super) fn is_gids(text: &str) -> bool {
    text.lines().take(64).any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.starts_with(&["DEV", "PORT", "INDEX", "GID"])
    })
}

pub(super) fn read(text: &str) -> Option<Vec<GidPort>> {
    let mut ports: BTreeMap<(String, u32), GidPort> = BTreeMap::new();
    for (line, number) in text.lines().zip(1_u64..) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [device, port, index, gid, rest @ ..] = &words[..] else { continue };
        let (Ok(port), Ok(index)) = (port.parse::<u32>(), index.parse::<u32>()) else { continue };
        if gid.matches(':').count() < 2 {
            continue;
        }
        let name = if port == 1 { (*device).to_owned() } else { format!("{device}:{port}") };
        let one = ports.entry(((*device).to_owned(), port)).or_insert_with(|| GidPort {
            device: name,
            v2_over_ipv4: Vec::new(),
            gids: 0,
            line: number,
        });
        one.gids = one.gids.saturating_add(1);
        let has_address = rest.first().is_some_and(|word| word.parse::<std::net::Ipv4Addr>().is_ok());
        if has_address && rest.get(1).is_some_and(|version| version.eq_ignore_ascii_case("v2")) {
            one.v2_over_ipv4.push(index);
        }
    }
    (!ports.is_empty()).then(|| {
        let mut ports: Vec<GidPort> = ports.into_values().collect();
        ports.iter_mut().for_each(|port| port.v2_over_ipv4.sort_unstable());
        ports
    })
}
