//! Hosts, adapters and switches of node descriptions.

/// Device id of the aggregation engines of NVIDIA's switches, as dumps have it.
pub(super) const AGGREGATION_ID: u64 = 0xcf09;

/// Facts in the description of an adapter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum AdapterName {
    /// A host, and which adapter of it where that is said: `dgx-01 mlx5_0`.
    Named { host: String, adapter: Option<String> },
    /// Nothing, or only what the vendor or an unnamed system writes, with the adapter where it is said.
    Unnamed { adapter: Option<String> },
    /// An adapter within a switch that reduces data.
    Aggregation,
}

/// Names of hosts that were given none.
const UNNAMED_HOSTS: [&str; 6] =
    ["localhost", "localhost.localdomain", "(none)", "none", "unknown", "unnamed"];
/// Words of descriptions that are a vendor's.
const VENDORS: [&str; 10] = [
    "mellanox technologies",
    "nvidia corporation",
    "connectx",
    "infinihost",
    "infiniscale",
    "switchx",
    "switch-ib",
    "quantum mellanox",
    "qlogic corporation",
    "voltaire switch",
];
/// Names of RDMA devices without their numbers.
const ADAPTERS: [&str; 19] = [
    "mlx5_",
    "mlx4_",
    "mlx5_bond_",
    "mthca",
    "hca",
    "hca-",
    "hfi1_",
    "qib",
    "ipath",
    "ib",
    "ibp",
    "roce",
    "rocep",
    "bnxt_re",
    "irdma",
    "ehca",
    "efa_",
    "cx7-",
    "nic-",
];

/// Facts in the description of an adapter.
pub(super) fn adapter_name(description: &str) -> AdapterName {
    let lower = description.to_ascii_lowercase();
    if is_aggregation(&lower) {
        return AdapterName::Aggregation;
    }
    let words: Vec<&str> = description.split_whitespace().collect();
    let Some((&first, rest)) = words.split_first() else { return AdapterName::Unnamed { adapter: None } };
    if UNNAMED_HOSTS.contains(&first.to_ascii_lowercase().as_str()) {
        let adapter = (!rest.is_empty()).then(|| rest.join(" "));
        return AdapterName::Unnamed { adapter };
    }
    if is_only_vendors(&lower, &words) || (rest.is_empty() && is_adapter(first)) {
        let adapter = words.iter().find(|word| is_adapter(word)).map(|&word| word.to_owned());
        return AdapterName::Unnamed { adapter };
    }
    let at = words.iter().skip(1).position(|word| is_adapter(word)).map(|at| at + 1);
    let at = at.or((words.len() == 2).then_some(1));
    match at {
        Some(at) => AdapterName::Named { host: words[..at].join(" "), adapter: Some(words[at..].join(" ")) },
        None => AdapterName::Named { host: words.join(" "), adapter: None },
    }
}

/// Whether a description, in lower case, is that of an engine that reduces data within a switch.
fn is_aggregation(lower: &str) -> bool {
    lower.contains("aggregation node") || lower.contains("sharp aggregation") || lower == "sharp an"
}

/// Whether a description, in lower case, is a vendor's: `MT4129 ConnectX7 Mellanox Technologies`.
fn is_vendors(lower: &str) -> bool {
    let is_part = lower.strip_prefix("mt").is_some_and(|rest| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        (4..=6).contains(&digits) && rest[digits..].chars().next().is_none_or(char::is_whitespace)
    });
    is_part || VENDORS.iter().any(|words| lower.contains(words))
}

/// Whether the description of an adapter, in lower case and in words, is a vendor's and names no host: `node-1 connectx7-0`
/// names one.
fn is_only_vendors(lower: &str, words: &[&str]) -> bool {
    let long = VENDORS.iter().filter(|words| words.contains(' '));
    if long.into_iter().any(|vendor| lower.contains(vendor)) {
        return true;
    }
    let first = words.first().map_or("", |first| first);
    is_vendors(&first.to_ascii_lowercase()) && !words.get(1).is_some_and(|word| is_adapter(word))
}

/// Whether a word names an RDMA device: `mlx5_0`, `HCA-1`, `ibp24s0`.
pub(super) fn is_adapter(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    ADAPTERS.iter().any(|stem| {
        let rest = lower.strip_prefix(stem);
        rest.is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
    })
}

/// Names of a switch, the shortest first: `leaf-1` of `MF0;leaf-1:MQM9700/U1`, then `leaf-1/U1` for one of several chips of
/// a box, then the description. None where nothing names it.
pub(super) fn switch_names(description: &str) -> Vec<String> {
    let description = description.trim();
    if description.is_empty() || is_vendors(&description.to_ascii_lowercase()) {
        return Vec::new();
    }
    let behind = description.split_once(';').map(|(_, behind)| behind);
    let Some((name, model)) = behind.and_then(|behind| behind.rsplit_once(':')) else {
        return vec![description.to_owned()];
    };
    if name.trim().is_empty() || name.trim().eq_ignore_ascii_case("switch") {
        return vec![description.to_owned()];
    }
    let chip = model.split_once('/').map_or(model, |(_, chip)| chip);
    vec![name.to_owned(), format!("{name}/{chip}"), description.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(host: &str, adapter: &str) -> AdapterName {
        let adapter = Some(adapter.to_owned()).filter(|adapter| !adapter.is_empty());
        AdapterName::Named { host: host.to_owned(), adapter }
    }

    #[test]
    fn descriptions_of_adapters_are_told_apart() {
        for (description, expected) in [
            ("a08-p1-dgx-04-c01 mlx5_5", named("a08-p1-dgx-04-c01", "mlx5_5")),
            ("dgx-gb200-n01-c1 HCA-1", named("dgx-gb200-n01-c1", "HCA-1")),
            ("node7", named("node7", "")),
            ("node 7 mlx5_0 port 1", named("node 7", "mlx5_0 port 1")),
            ("store-1 oss", named("store-1", "oss")),
            ("node-1 connectx7-0", named("node-1", "connectx7-0")),
            ("connectx-lab1 mlx5_0", named("connectx-lab1", "mlx5_0")),
        ] {
            assert_eq!(adapter_name(description), expected, "{description}");
        }
        for description in [
            "",
            "localhost HCA-1",
            "MT4129 ConnectX7 Mellanox Technologies",
            "ConnectX-6 Dx",
            "HCA-1",
            "mlx5_0",
            "MT25408",
        ] {
            assert!(matches!(adapter_name(description), AdapterName::Unnamed { .. }), "{description}");
        }
        assert_eq!(adapter_name("Mellanox Technologies Aggregation Node"), AdapterName::Aggregation);
        // A host whose name begins as a part number does.
        assert_eq!(adapter_name("mt4129a mlx5_0"), named("mt4129a", "mlx5_0"));
    }

    #[test]
    fn switches_have_their_system_name_first() {
        assert_eq!(switch_names("MF0;A09-P1-IBLEAF-04-04:MQM9701/U1")[0], "A09-P1-IBLEAF-04-04");
        assert_eq!(switch_names("MF0;dir-1:CS7500/L05/U1")[..2], ["dir-1", "dir-1/L05/U1"]);
        assert_eq!(switch_names("leaf 7"), ["leaf 7"]);
        assert_eq!(switch_names("Infiniscale-IV Mellanox Technologies"), [""; 0]);
        assert_eq!(switch_names(";:"), [";:"]);
    }
}
