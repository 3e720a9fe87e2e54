//! Words and numbers of names, and the guesses that follow from them.
use super::list::{CableNetwork, DeviceRole};

/// A name that sorts naturally: `leaf-2` before `leaf-10`.
pub type NaturalName = Vec<(String, u64)>;

/// The parts of a name: letters before each number, and the number; [`u64::MAX`] behind the last letters without one.
pub fn natural(name: &str) -> NaturalName {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| letter.is_ascii_digit()).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(digits);
        let end = behind.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(behind.len());
        let (number, behind) = behind.split_at(end);
        // Numbers that do not fit stand behind all others.
        let value = if number.is_empty() { 0 } else { number.parse().unwrap_or(u64::MAX) };
        parts.push((word.to_ascii_lowercase(), value));
        rest = behind;
    }
    parts
}

/// A name with its numbers blanked: names of one kind of device share it.
pub(super) fn stem(name: &str) -> String {
    let mut stem = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            digit if digit.is_ascii_digit() => {
                if !stem.ends_with('#') {
                    stem.push('#');
                }
            }
            other => stem.push(other.to_ascii_lowercase()),
        }
    }
    stem
}

/// The words of a name: runs of letters in lower case.
fn words(name: &str) -> Vec<String> {
    let runs = name.split(|letter: char| !letter.is_ascii_alphabetic());
    runs.filter(|run| !run.is_empty()).map(str::to_ascii_lowercase).collect()
}

fn has(words: &[String], any: &[&str]) -> bool {
    words.iter().any(|word| any.contains(&word.as_str()))
}

const OUT_OF_BAND: [&str; 11] =
    ["oob", "bmc", "mgmt", "management", "ipmi", "ilo", "idrac", "redfish", "console", "lom", "mgt"];
const FRONTEND: [&str; 6] = ["fe", "front", "frontend", "inband", "north", "feth"];
const STORAGE: [&str; 4] = ["st", "stor", "storage", "sto"];
const BACKEND: [&str; 7] = ["be", "back", "backend", "gpu", "rail", "xpu", "scaleout"];
/// Words of adapters, which are of the backend where nothing else is said.
const ADAPTERS: [&str; 7] = ["nic", "hca", "mlx", "ib", "rdma", "roce", "cx"];

/// Whether a name is that of an adapter of any network.
pub(super) fn is_adapter(name: &str) -> bool {
    has(&words(name), &ADAPTERS)
}

/// The network that a name of a port or switch speaks of.
pub(super) fn network_of(name: &str) -> Option<CableNetwork> {
    let words = words(name);
    let known = [
        (CableNetwork::OutOfBand, &OUT_OF_BAND[..]),
        (CableNetwork::Frontend, &FRONTEND[..]),
        (CableNetwork::Storage, &STORAGE[..]),
        (CableNetwork::Backend, &BACKEND[..]),
    ];
    known.iter().find(|(_, any)| has(&words, any)).map(|(network, _)| *network)
}

const CORES: [&str; 6] = ["core", "superspine", "super", "dsw", "ssw", "cores"];
const SPINES: [&str; 6] = ["spine", "psw", "agg", "aggregation", "fsw", "spines"];
const LEAVES: [&str; 7] = ["leaf", "tor", "asw", "edge", "rsw", "leafs", "access"];
const STORES: [&str; 7] = ["storage", "stor", "nfs", "lustre", "weka", "ceph", "metadata"];
const GATEWAYS: [&str; 2] = ["gateway", "gw"];
const SPARES: [&str; 2] = ["spare", "backup"];
const HOSTS: [&str; 14] = [
    "host",
    "server",
    "node",
    "compute",
    "gpu",
    "dgx",
    "hgx",
    "worker",
    "srv",
    "xpu",
    "controller",
    "login",
    "gb",
    "hosts",
];

/// The role that words tell: those of a role column, or of a name.
pub fn role_of(text: &str) -> Option<DeviceRole> {
    let words = words(text);
    let known = [
        (DeviceRole::Core, &CORES[..]),
        (DeviceRole::Spine, &SPINES[..]),
        (DeviceRole::Leaf, &LEAVES[..]),
        (DeviceRole::SpareHost, &SPARES[..]),
        (DeviceRole::StorageHost, &STORES[..]),
        (DeviceRole::Gateway, &GATEWAYS[..]),
        (DeviceRole::Host, &HOSTS[..]),
    ];
    known.iter().find(|(_, any)| has(&words, any) || has_within(&words, any)).map(|(role, _)| *role)
}

/// Whether a word begins or ends with a longer one: `gpunode`, `leafsw`.
fn has_within(words: &[String], any: &[&str]) -> bool {
    let long = |known: &&&str| known.len() >= 4;
    let within = |word: &String| {
        any.iter().filter(long).any(|known| word.starts_with(*known) || word.ends_with(*known))
    };
    words.iter().any(within)
}

/// NIC and port of it that a port of a host names: `be-gpu3-port1` is port 1 of `be-gpu3`, `nic-1:port-0` port 0 of
/// `nic-1`, `be-be3` port 0 of a NIC of its own.
pub fn nic_and_port(name: &str) -> (&str, u32) {
    let digits = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let number = name[digits.len()..].parse();
    let bare = digits.trim_end_matches(['-', '_', '/', ':', '.']);
    // `mlx5_3/1`, `mlx5_3:1`: a port behind the name of the adapter.
    let behind = digits.ends_with(['/', ':']) && bare.ends_with(|letter: char| letter.is_ascii_digit());
    let nic = ["port", "Port", "PORT", "p", "P"].iter().find_map(|word| {
        let nic = bare.strip_suffix(word)?;
        let cut = nic.trim_end_matches(['-', '_', '/', ':', '.']);
        (cut.len() < nic.len() && !cut.is_empty()).then_some(cut)
    });
    match (number, nic) {
        (Ok(number), Some(nic)) => (nic, number),
        (Ok(number), None) if behind => (bare, number),
        _ => (name, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_their_numbers() {
        let mut names = ["E1/10/1", "E1/2/2", "E1/2/1", "E1", "leaf-2", "leaf-10"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["E1", "E1/2/1", "E1/2/2", "E1/10/1", "leaf-2", "leaf-10"]);
    }

    #[test]
    fn ports_of_hosts_name_their_nic() {
        for (name, wanted) in [
            ("be-gpu3-port1", ("be-gpu3", 1)),
            ("nic-1:port-0", ("nic-1", 0)),
            ("frontend-nic-0:port-1", ("frontend-nic-0", 1)),
            ("fe-p1", ("fe", 1)),
            ("be-be3", ("be-be3", 0)),
            ("mlx5_3/1", ("mlx5_3", 1)),
            ("bmc-bmc0", ("bmc-bmc0", 0)),
            ("eth4", ("eth4", 0)),
            ("", ("", 0)),
            ("port7", ("port7", 0)),
        ] {
            assert_eq!(nic_and_port(name), wanted, "{name}");
        }
    }

    #[test]
    fn names_tell_roles_and_networks() {
        for (name, role, network) in [
            ("be-rail-leaf-01", Some(DeviceRole::Leaf), Some(CableNetwork::Backend)),
            ("fe-spine-01", Some(DeviceRole::Spine), Some(CableNetwork::Frontend)),
            ("conv_leaf-01", Some(DeviceRole::Leaf), None),
            ("oob_leaf-02", Some(DeviceRole::Leaf), Some(CableNetwork::OutOfBand)),
            ("compute_xpu-001", Some(DeviceRole::Host), Some(CableNetwork::Backend)),
            ("storage_srv-001", Some(DeviceRole::StorageHost), Some(CableNetwork::Storage)),
            ("hh_gateway-001", Some(DeviceRole::Gateway), None),
            ("bmc-bmc0", None, Some(CableNetwork::OutOfBand)),
            ("frontend-nic-0:port-1", None, Some(CableNetwork::Frontend)),
            ("x17", None, None),
        ] {
            assert_eq!((role_of(name), network_of(name)), (role, network), "{name}");
        }
    }
}
