//! Sweeps: a list where one value is wanted is an axis; the points are the product of the axes.
use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Problem, ScenarioError};
use crate::parse::{check_tree, read};
use crate::scenario::SCENARIO;
use crate::scenario::{EngineName, Scenario};
use crate::settle::settle;
use crate::tree::{Node, Step, Value, path_text};
use railtwin_units::keys::{Kind, Table};

/// Points of the largest sweep.
pub const MOST_POINTS: usize = 100_000;

/// One point of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepPoint {
    /// What was chosen on each axis: key path (`routing.balancer`, `job.hosts`, `job.1.hosts` where there
    /// are several jobs) and value as text, in the order of the text. Empty where nothing is swept.
    pub label: Vec<(String, String)>,
    /// The scenario of the point; [`Scenario::to_toml`] is its text.
    pub scenario: Scenario,
    /// Engines that the text names, where another was asked and expectations were left out for that.
    pub expectations_of: Option<String>,
}

/// Reads a scenario or sweep and gives its points: the product of the axes in the order of the text, the
/// first axis slowest. A scenario without axes is one point.
///
/// `file` is the name that errors show.
///
/// # Errors
/// [`ScenarioError`]: not TOML, an axis that is empty or says a value twice, more than [`MOST_POINTS`]
/// points, or whatever is wrong with the first point that is not a scenario.
pub fn expand(file: &str, text: &str) -> Result<Vec<SweepPoint>, ScenarioError> {
    expand_on(None, file, text)
}

/// As [`expand`], but as if the text said `engine` where one is given: an axis of engines is none then.
///
/// What the text expects is what its own engines give: where another one is asked, only bounds whose `when` names the
/// engine are kept.
///
/// # Errors
/// Those of [`expand`].
pub fn expand_on(
    engine: Option<EngineName>,
    file: &str,
    text: &str,
) -> Result<Vec<SweepPoint>, ScenarioError> {
    let mut root = Node::parse(file, text)?;
    let own = own_engines(&root);
    let foreign = engine.is_some_and(|engine| !own.iter().any(|name| name == engine.name()));
    if let Some(engine) = engine {
        root.set_text("engine", engine.name());
    }
    let mut points = Vec::new();
    multiply(text, root, &mut Vec::new(), &mut points)
        .map_err(|problems| ScenarioError::new(file, problems))?;
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (path, value) in points.iter().flat_map(|(label, _)| label) {
        values.entry(path).or_default().insert(value);
    }
    let finish = |(label, tree): &(Label, Node)| {
        check_tree(text, tree)?;
        let (settled, left_out) = settle(text, tree, label, &values, foreign)?;
        let expectations_of = left_out.then(|| own.join(" and "));
        let label = label.clone();
        read(text, &settled).map(|scenario| SweepPoint { label, scenario, expectations_of })
    };
    let points: Result<_, _> = points.iter().map(finish).collect();
    points.map_err(|problems| ScenarioError::new(file, problems))
}

type Label = Vec<(String, String)>;

/// The engines that a text names, or the default one.
fn own_engines(root: &Node) -> Vec<String> {
    match root.at(&[Step::Key("engine".to_owned())]) {
        None => vec![EngineName::Flow.name().to_owned()],
        Some(node) => match &node.value {
            Value::List(items) => items.iter().map(Node::label).collect(),
            _ => vec![node.label()],
        },
    }
}

/// Replaces the first axis by each of its values and goes on with what remains.
fn multiply(
    text: &str,
    tree: Node,
    label: &mut Label,
    points: &mut Vec<(Label, Node)>,
) -> Result<(), Vec<Problem>> {
    let axes = axes(&tree);
    let product = axes
        .iter()
        .filter_map(|path| tree.at(path))
        .try_fold(1usize, |product, axis| product.checked_mul(axis.items().len()));
    let too_many = |count: String, span| {
        let message = format!("the sweep has {count} points");
        let hint = format!("at most {MOST_POINTS} are run: shorten an axis");
        vec![Problem::new(text, span, message, Some(hint))]
    };
    let Some(path) = axes.first() else {
        points.push((label.clone(), tree));
        return Ok(());
    };
    let axis = tree.at(path).expect("axes are found in this tree").clone();
    check_axis(text, &tree, &axis, path)?;
    match product.map(|product| product.saturating_add(points.len())) {
        Some(total) if total <= MOST_POINTS => {}
        _ => {
            let count = product.map_or("too many".to_owned(), |product| product.to_string());
            return Err(too_many(count, axis.span));
        }
    }
    let name = path_text(&tree, path);
    for value in axis.items() {
        let mut point = tree.clone();
        if let Some(slot) = point.at_mut(path) {
            slot.value = value.value.clone();
            slot.span = value.span.clone();
        }
        label.push((name.clone(), value.label()));
        multiply(text, point, label, points)?;
        label.pop();
    }
    Ok(())
}

fn check_axis(text: &str, tree: &Node, axis: &Node, path: &[Step]) -> Result<(), Vec<Problem>> {
    let name = path_text(tree, path);
    let refuse = |span, message: String, hint: &str| {
        Err(vec![Problem::new(text, span, message, Some(hint.to_owned()))])
    };
    if axis.items().is_empty() {
        let message = format!("the axis `{name}` is an empty list");
        return refuse(axis.span.clone(), message, "write one value, or a list of the values to sweep");
    }
    let mut seen = BTreeSet::new();
    for item in axis.items() {
        if !seen.insert(item.label()) {
            let message = format!("the axis `{name}` has {} twice", item.label());
            return refuse(item.span.clone(), message, "write each value once");
        }
    }
    Ok(())
}

/// The paths of all axes, in the order of the text.
pub(crate) fn axes(root: &Node) -> Vec<Vec<Step>> {
    let mut found = Vec::new();
    find_axes(root, &SCENARIO, &mut Vec::new(), &mut found);
    found.sort_by_key(|path| root.span_near(path).start);
    found
}

fn find_axes(node: &Node, table: &'static Table, path: &mut Vec<Step>, found: &mut Vec<Vec<Step>>) {
    let Value::Table(entries) = &node.value else {
        return;
    };
    for entry in entries {
        let Some(key) = table.any_key(&entry.key).filter(|key| key.axis) else {
            continue;
        };
        path.push(Step::Key(entry.key.clone()));
        match (&key.kind, &entry.node.value) {
            (Kind::Sections(inner), Value::List(items)) => {
                for (index, item) in items.iter().enumerate() {
                    path.push(Step::Index(index));
                    find_axes(item, inner, path, found);
                    path.pop();
                }
            }
            (Kind::Section(_), Value::List(_)) => {}
            (Kind::List(_) | Kind::AnyList(_), Value::List(items)) => {
                let nested = items.iter().any(|item| matches!(item.value, Value::List(_)));
                found.extend(nested.then(|| path.clone()));
            }
            (_, Value::List(_)) => found.push(path.clone()),
            (Kind::Section(inner) | Kind::Value(inner), _) => {
                find_axes(&entry.node, inner, path, found);
            }
            (Kind::ChoiceOrValue(_, inner, _), _) => find_axes(&entry.node, inner, path, found),
            _ => {}
        }
        path.pop();
    }
}
