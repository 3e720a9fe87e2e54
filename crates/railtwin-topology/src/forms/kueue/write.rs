//! Writes objects of Kueue.
use std::collections::BTreeMap;
use std::fmt::Write as _;

use railtwin_formats::FormatError;

use crate::form::{WriteOptions, Written};
use crate::labels::{ACCELERATOR, of_host, tier_key, value};
use crate::topology::Topology;
use crate::tree::{Tree, names_of};
use crate::yaml::scalar;

/// Name of the objects.
const OBJECT: &str = "railtwin";

/// Labels of a host by key.
type Labels = BTreeMap<String, String>;

/// Writes the levels that all hosts under switches have: switches from the highest tier down, and scale-up domains where they
/// nest. The flavor selects nodes by the type of GPU of the options, else by the label that NVIDIA's operator gives nodes with
/// GPUs. Hosts under no switch stand in a comment.
///
/// # Errors
/// [`FormatError`] for a topology without hosts.
pub(super) fn write(topology: &Topology, options: &WriteOptions) -> Result<Vec<Written>, FormatError> {
    let tree = Tree::of(topology);
    // Kueue passes over nodes that lack a label of a level: such hosts take no level from the others.
    let placed = tree.hosts().filter(|(_, place)| place.is_some() || tree.switches.is_empty());
    let hosts: Vec<Labels> = placed.map(|(host, place)| of_host(topology, &tree, host, place)).collect();
    if hosts.is_empty() {
        let problem = "the topology has no hosts, and Kueue's levels are labels of hosts";
        return Err(FormatError::new("kueue", "", problem, "a topology with hosts"));
    }
    let mut levels: Vec<String> = Vec::new();
    let everywhere = |key: &str| hosts.iter().all(|labels| labels.contains_key(key));
    for tier in (1..).take_while(|&tier| everywhere(&tier_key(tier))) {
        levels.insert(0, tier_key(tier));
    }
    let mut text = String::from("# Levels are labels of nodes: the form node-labels writes them.\n");
    if !tree.loose.is_empty() {
        let names = names_of(topology, &tree.loose).escape_debug().to_string();
        let _ = writeln!(text, "# Under no switch, so without labels of switches: {names}.");
    }
    if everywhere(ACCELERATOR) {
        match place_of_domains(&hosts, &levels) {
            Some(at) => levels.insert(at, ACCELERATOR.to_owned()),
            None => text.push_str("# Scale-up domains are no level: they cross switches.\n"),
        }
    }
    text.push_str("apiVersion: kueue.x-k8s.io/v1beta1\nkind: Topology\nmetadata:\n");
    let _ = writeln!(text, "  name: {OBJECT}\nspec:\n  levels:");
    levels.push("kubernetes.io/hostname".to_owned());
    for level in &levels {
        let _ = writeln!(text, "  - nodeLabel: {level}");
    }
    text.push_str("---\napiVersion: kueue.x-k8s.io/v1beta1\nkind: ResourceFlavor\nmetadata:\n");
    let _ = writeln!(text, "  name: {OBJECT}\nspec:\n  nodeLabels:");
    let _ = match &options.gpu_type {
        Some(gpu) => writeln!(text, "    nvidia.com/gpu.product: {}", scalar(&value(gpu))),
        None => writeln!(text, "    nvidia.com/gpu.present: \"true\""),
    };
    let _ = writeln!(text, "  topologyName: {OBJECT}");
    Ok(vec![Written { path: "kueue.yaml".to_owned(), text }])
}

/// Where domains stand among levels, the outermost first: the innermost place at which each is within one value of every
/// level before it, and holds each value of every level behind it whole.
fn place_of_domains(hosts: &[Labels], levels: &[String]) -> Option<usize> {
    let within = |inner: &str, outer: &str| {
        let mut outer_of: BTreeMap<&str, &str> = BTreeMap::new();
        hosts.iter().all(|labels| {
            let (inside, outside) = (labels[inner].as_str(), labels[outer].as_str());
            *outer_of.entry(inside).or_insert(outside) == outside
        })
    };
    let inside = levels.iter().take_while(|level| within(ACCELERATOR, level)).count();
    levels[inside..].iter().all(|level| within(level, ACCELERATOR)).then_some(inside)
}
