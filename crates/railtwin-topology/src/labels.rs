//! Labels of Kubernetes nodes that tell where they stand.
//!
//! Keys are those of topograph (`docs/engines/k8s.md`, `pkg/models/model.go`), of its versions old and new; a value longer
//! than 63 characters is its FNV-1a hash there (`pkg/engines/k8s/labeler.go`), and here also one with other characters than
//! Kubernetes allows.
use std::collections::BTreeMap;

use crate::about::About;
use crate::topology::Topology;
use crate::tree::Tree;

/// Key of the scale-up domain.
pub(crate) const ACCELERATOR: &str = "network.topology.nvidia.com/accelerator";

/// Keys that tell the scale-up domain of hosts, the first that is there counts.
const DOMAIN: [&str; 6] = [
    "accelerator.topology.test/domain",
    "accelerator.topograph.run/domain",
    "accelerated.topology.nvidia.com/level-1",
    ACCELERATOR,
    "accelerated.topology.nvidia.com/level-0",
    "nvidia.com/gpu.clique",
];

/// Keys that tell the part of the scale-up domain.
const SUBDOMAIN: [&str; 3] = [
    "accelerator.topology.test/sub-domain",
    "accelerator.topograph.run/sub-domain",
    "accelerated.topology.nvidia.com/level-0",
];

/// Most characters of a label's value.
const VALUE_MAX: usize = 63;

/// Takes labels as what is known of a device: domain and its part by their keys, the rest as they are.
pub(crate) fn take(about: &mut About, labels: impl IntoIterator<Item = (String, String)>) {
    let mut labels: BTreeMap<String, String> =
        labels.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    let domain = DOMAIN.iter().find_map(|&key| labels.remove(key));
    let subdomain = SUBDOMAIN.iter().find_map(|&key| labels.remove(key));
    about.domain = about.domain.take().or(domain);
    about.subdomain = about.subdomain.take().or(subdomain);
    about.labels.append(&mut labels);
}

/// Key of a tier of switches, from 1 next to hosts.
pub(crate) fn tier_key(tier: usize) -> String {
    match tier {
        1 => "network.topology.nvidia.com/leaf".to_owned(),
        2 => "network.topology.nvidia.com/spine".to_owned(),
        3 => "network.topology.nvidia.com/core".to_owned(),
        // topograph's first names end here; its later ones count from 0.
        tier => format!("fabric.topograph.run/tier-{}", tier - 1),
    }
}

/// A text as the value of a label.
pub(crate) fn value(text: &str) -> String {
    let inner = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let ends = text.starts_with(|letter: char| letter.is_ascii_alphanumeric())
        && text.ends_with(|letter: char| letter.is_ascii_alphanumeric());
    if text.len() <= VALUE_MAX && ends && text.chars().all(inner) {
        return text.to_owned();
    }
    format!("x{:x}", fnv(text.as_bytes()))
}

/// FNV-1a, 64 bits.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Labels of a host by key: domain, and the switches above it from its leaf up.
pub(crate) fn of_host(
    topology: &Topology,
    tree: &Tree,
    host: u32,
    place: Option<u32>,
) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    if let Some(domain) = &topology.about[host as usize].domain {
        labels.insert(ACCELERATOR.to_owned(), value(domain));
    }
    let path = place.into_iter().flat_map(|place| tree.path(place));
    for (row, above) in path.enumerate() {
        labels.insert(tier_key(row + 1), value(&tree.switches[above as usize].name));
    }
    labels
}

/// Whether a text is a name of an object of Kubernetes: an RFC 1123 subdomain.
pub(crate) fn is_object_name(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let label = |part: &str| {
        part.starts_with(plain)
            && part.ends_with(plain)
            && part.chars().all(|letter| plain(letter) || letter == '-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

/// A text as the name of an object: as it is, in lower case, or its hash.
pub(crate) fn object_name(text: &str) -> String {
    match is_object_name(text) {
        true => text.to_owned(),
        false => format!("x{:x}", fnv(text.as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_kubernetes_refuses_are_hashed() {
        assert_eq!(value("leaf-1.a_b"), "leaf-1.a_b");
        // topograph's own test has this hash of this name.
        assert_eq!(
            value("S3very-very-long-id-to-check-label-value-limits-of-63-characters"),
            "xf946c4acef2d5939"
        );
        assert!(value("pod 1/leaf").starts_with('x'));
        assert!(value("-a").starts_with('x'));
    }

    #[test]
    fn the_larger_of_two_accelerated_levels_is_the_domain() {
        let mut about = About::default();
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let levels = [
            pair("accelerated.topology.nvidia.com/level-0", "rack-1"),
            pair("accelerated.topology.nvidia.com/level-1", "row-1"),
            pair("zone", "z"),
        ];
        take(&mut about, levels);
        assert_eq!((about.domain.as_deref(), about.subdomain.as_deref()), (Some("row-1"), Some("rack-1")));
        assert_eq!(about.labels.len(), 1);
    }
}
