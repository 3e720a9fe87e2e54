//! Reads HyperNodes.
use railtwin_formats::FormatError;
use serde::Deserialize;

use crate::form::SourceFile;
use crate::topology::Topology;
use crate::tree::{TreeReader, Undefined};
use crate::yaml::documents;

const NAME: &str = "volcano";
const ACCEPTED: &str = "objects of kind HyperNode of topology.volcano.sh";

#[derive(Deserialize, Default)]
#[serde(default)]
struct Object {
    kind: Option<String>,
    metadata: Option<Metadata>,
    spec: Option<Spec>,
    /// Of a list of objects.
    items: Option<Vec<Option<Object>>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Metadata {
    name: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Spec {
    tier: Option<String>,
    members: Option<Vec<Option<Member>>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Member {
    #[serde(rename = "type")]
    kind: Option<String>,
    selector: Option<Selector>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Selector {
    exact_match: Option<Exact>,
    regex_match: Option<Pattern>,
    label_match: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Exact {
    name: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Pattern {
    pattern: Option<String>,
}

/// Reads HyperNodes as switches, their members as what is under them. Members by pattern or by label are nodes of a cluster
/// that the file does not list: they are counted in a note. A tier that is not above those of its members is a finding.
///
/// # Errors
/// [`FormatError`] for what is no YAML, and files without a HyperNode.
pub(super) fn read(sources: &[SourceFile<'_>]) -> Result<Topology, FormatError> {
    let mut objects = Vec::new();
    for source in sources {
        let found: Vec<Option<Object>> = documents(NAME, source, ACCEPTED)?;
        for mut object in found.into_iter().flatten() {
            let items = object.items.take().unwrap_or_default();
            objects.extend(std::iter::once(object).chain(items.into_iter().flatten()));
        }
    }
    objects.retain(|object| object.kind.as_deref() == Some("HyperNode"));
    if objects.is_empty() {
        let name = sources.first().map_or("", |source| source.name);
        return Err(FormatError::new(NAME, name, "has no HyperNode", ACCEPTED).foreign());
    }
    let mut tree = TreeReader::new(NAME);
    let mut tiers = Vec::new();
    let mut unseen = 0_u32;
    for object in &objects {
        let Some(name) = object.metadata.as_ref().and_then(|known| known.name.as_deref()) else {
            tree.topology.find("unnamed-switch", "", "a HyperNode has no name");
            continue;
        };
        let Some(switch) = tree.define(name) else { continue };
        let Some(spec) = &object.spec else { continue };
        if let Some(tier) = spec.tier.as_deref().and_then(|tier| tier.trim().parse::<i64>().ok()) {
            tiers.push((switch, tier));
        }
        for member in spec.members.iter().flatten().flatten() {
            unseen += u32::from(!place(&mut tree, switch, member));
        }
    }
    tree.end_unit(Undefined::Missing);
    check_tiers(&mut tree, &tiers);
    if unseen > 0 {
        let note = format!(
            "{unseen} members are selected by pattern or label, and not read: the file does not list nodes"
        );
        tree.topology.notes.push(note);
    }
    Ok(tree.finish())
}

/// Places a member; gives whether its name is told.
fn place(tree: &mut TreeReader, switch: u32, member: &Member) -> bool {
    let Some(selector) = &member.selector else { return false };
    let is_switch = member.kind.as_deref() == Some("HyperNode");
    if let Some(name) = selector.exact_match.as_ref().and_then(|exact| exact.name.as_deref()) {
        if is_switch {
            tree.place_switch(name, switch, 0);
        } else {
            tree.place_host(name, switch, 0);
        }
        return true;
    }
    let pattern = selector.regex_match.as_ref().and_then(|regex| regex.pattern.as_deref());
    let shown = match (pattern, &selector.label_match) {
        (Some(pattern), _) => format!("pattern {pattern}"),
        (None, Some(_)) => "labels".to_owned(),
        (None, None) => return false,
    };
    tree.leave_open(switch);
    let about = tree.topology.about_mut(switch);
    about.labels.insert("topology.volcano.sh/selector".to_owned(), shown);
    false
}

/// Says which HyperNodes are not of a higher tier than their members.
fn check_tiers(tree: &mut TreeReader, tiers: &[(u32, i64)]) {
    let of: std::collections::BTreeMap<u32, i64> = tiers.iter().copied().collect();
    for &(switch, tier) in tiers {
        for parent in tree.parents(switch).to_vec() {
            let Some(&above) = of.get(&parent) else { continue };
            if above <= tier {
                let devices = tree.topology.list.devices();
                let name = devices[parent as usize].name.clone();
                let seen = format!("tier {above}, over {} of tier {tier}", devices[switch as usize].name);
                tree.topology.find("tier-not-above-members", name, seen);
            }
        }
    }
}
