//! `when`: which bounds of `[expect]` hold at one point of a sweep.
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use crate::error::Problem;
use crate::scenario::EngineName;
use crate::suggest::accepted_or_nearest;
use crate::tree::{Entry, Node, Step, Value, path_text};

/// The values of each axis.
type Axes<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// The tree of a point with the bounds that hold there: each figure has one table without `when`. With `foreign`, where
/// an engine is asked that the text does not name, only bounds whose `when` names an engine are kept; whether others
/// were left out for that is said too.
pub(crate) fn settle(
    text: &str,
    tree: &Node,
    label: &[(String, String)],
    axes: &Axes<'_>,
    foreign: bool,
) -> Result<(Node, bool), Vec<Problem>> {
    let mut tree = tree.clone();
    let leaves = leaves(&tree);
    let left_out = Cell::new(false);
    let point = Point { text, label, axes, leaves, foreign, left_out: &left_out };
    let expect = [Step::Key("expect".to_owned())];
    if let Some(Value::Table(figures)) = tree.at_mut(&expect).map(|node| &mut node.value) {
        let mut settled = Vec::new();
        for figure in std::mem::take(figures) {
            settled.extend(point.figure(figure).map_err(|problem| vec![problem])?);
        }
        *figures = settled;
    }
    Ok((tree, left_out.get()))
}

struct Point<'a> {
    text: &'a str,
    label: &'a [(String, String)],
    axes: &'a Axes<'a>,
    /// Every single value of the point by its path.
    leaves: Vec<(String, String)>,
    /// Whether an engine is asked that the text does not name.
    foreign: bool,
    /// Set when a bound is left out because it is of another engine.
    left_out: &'a Cell<bool>,
}

impl Point<'_> {
    /// The figure with the bounds that hold, joined; none where no bound holds.
    fn figure(&self, mut figure: Entry) -> Result<Option<Entry>, Problem> {
        let bounds = match &mut figure.node.value {
            Value::List(items) => std::mem::take(items),
            Value::Table(_) => vec![figure.node.clone()],
            _ => return Ok(Some(figure)),
        };
        let mut joined: Vec<Entry> = Vec::new();
        let mut holds = bounds.is_empty() && !self.foreign;
        for bound in bounds {
            let Value::Table(entries) = bound.value else {
                continue;
            };
            if !self.holds(&entries)? {
                continue;
            }
            if self.foreign && !names_an_engine(&entries) {
                self.left_out.set(true);
                continue;
            }
            holds = true;
            for entry in entries.into_iter().filter(|entry| entry.key != "when") {
                if joined.iter().any(|other| other.key == entry.key) {
                    let message = format!("`{}` has two `{}` at once", figure.key, entry.key);
                    let hint = "let their `when` exclude each other".to_owned();
                    return Err(Problem::new(self.text, entry.key_span, message, Some(hint)));
                }
                joined.push(entry);
            }
        }
        figure.node.value = Value::Table(joined);
        Ok(holds.then_some(figure))
    }

    fn holds(&self, bound: &[Entry]) -> Result<bool, Problem> {
        let when = bound.iter().find(|entry| entry.key == "when");
        let Some(Value::Table(conditions)) = when.map(|entry| &entry.node.value) else {
            return Ok(true);
        };
        let mut all = true;
        for condition in conditions {
            all &= self.condition(condition)?;
        }
        Ok(all)
    }

    /// A condition's key is the path of an axis or of any value of the scenario, or the end of one.
    fn condition(&self, condition: &Entry) -> Result<bool, Problem> {
        let refuse = |span: &std::ops::Range<usize>, message, hint| {
            Problem::new(self.text, span.clone(), message, Some(hint))
        };
        let key = condition.key.as_str();
        let wanted = condition.node.label();
        let named = |path: &str| path == key || path.ends_with(&format!(".{key}"));
        let pick = |values: &[(String, String)]| -> Vec<(String, String)> {
            values.iter().filter(|(path, _)| named(path)).cloned().collect()
        };
        let mut found = pick(self.label);
        if found.is_empty() {
            found = pick(&self.leaves);
        }
        // The one default that a bound often asks for: a text seldom says that it is asked of flows.
        if found.is_empty() && key == "engine" {
            found = vec![("engine".to_owned(), EngineName::Flow.name().to_owned())];
        }
        match found.as_slice() {
            [(path, value)] => match self.axes.get(path.as_str()) {
                Some(values) if !values.contains(wanted.as_str()) => {
                    let names: Vec<&str> = values.iter().copied().collect();
                    let message = format!("`{path}` is never {wanted}");
                    let hint = accepted_or_nearest("its values are", &wanted, &names);
                    Err(refuse(&condition.node.span, message, hint))
                }
                _ => Ok(*value == wanted),
            },
            [] => {
                let keys: Vec<&str> = match self.axes.is_empty() {
                    false => self.axes.keys().copied().collect(),
                    true => self.leaves.iter().map(|(path, _)| path.as_str()).collect(),
                };
                let ends: Vec<&str> =
                    keys.iter().map(|path| path.rsplit('.').next().unwrap_or(path)).collect();
                let message = format!("`when` names `{key}`, which the scenario does not say");
                let hint = accepted_or_nearest("it says", key, &ends);
                Err(refuse(&condition.key_span, message, hint))
            }
            several => {
                let paths: Vec<&str> = several.iter().map(|(path, _)| path.as_str()).collect();
                let message = format!("`when` names `{key}`, which may be {}", paths.join(" or "));
                let hint = "write more of the path, in quotes".to_owned();
                Err(refuse(&condition.key_span, message, hint))
            }
        }
    }
}

/// Whether the conditions of a bound say an engine.
fn names_an_engine(bound: &[Entry]) -> bool {
    let when = bound.iter().find(|entry| entry.key == "when").map(|entry| &entry.node.value);
    matches!(when, Some(Value::Table(conditions)) if conditions.iter().any(|condition| condition.key == "engine"))
}

/// Every value outside `[expect]` that is no table and no list.
fn leaves(root: &Node) -> Vec<(String, String)> {
    fn walk(root: &Node, node: &Node, path: &mut Vec<Step>, found: &mut Vec<(String, String)>) {
        match &node.value {
            Value::Table(entries) => {
                for entry in entries {
                    if path.is_empty() && entry.key == "expect" {
                        continue;
                    }
                    path.push(Step::Key(entry.key.clone()));
                    walk(root, &entry.node, path, found);
                    path.pop();
                }
            }
            Value::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    path.push(Step::Index(index));
                    walk(root, item, path, found);
                    path.pop();
                }
            }
            _ => found.push((path_text(root, path), node.label())),
        }
    }
    let mut found = Vec::new();
    walk(root, root, &mut Vec::new(), &mut found);
    found
}
