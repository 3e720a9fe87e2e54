//! From text to a [`Scenario`].
use crate::check::check;
use crate::consistency::check_whole;
use crate::error::{Problem, ScenarioError};
use crate::scenario::SCENARIO;
use crate::scenario::Scenario;
use crate::section::job::rules::name_jobs;
use crate::section::routing::check_fields;
use crate::sweep::{axes, expand};
use crate::tree::{Node, path_text, steps};

impl Scenario {
    /// Reads one scenario. `file` is the name that errors show.
    ///
    /// # Errors
    /// [`ScenarioError`] with every problem at its place; also for a sweep, whose points
    /// [`expand`] gives.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let root = Node::parse(file, text)?;
        let axes = axes(&root);
        if axes.iter().any(|path| root.at(path).is_some_and(|axis| axis.items().len() > 1)) {
            let problems = axes.iter().map(|path| {
                let name = path_text(&root, path);
                let message = format!("`{name}` is an axis of a sweep, but one scenario is wanted");
                let hint = Some("write one value".to_owned());
                Problem::new(text, root.span_near(path), message, hint)
            });
            return Err(ScenarioError::new(file, problems.collect()));
        }
        let mut points = expand(file, text)?;
        let point = points.pop().expect("axes have values, so a text has a point");
        Ok(point.scenario)
    }
}

impl ScenarioError {
    /// A problem with the value at `path` (`fabric.hosts`, `job.0.workload.tp`) of a scenario's text. Where
    /// the text does not say it, the place is the nearest value around it.
    pub fn at_key(
        file: &str,
        text: &str,
        path: &str,
        message: impl Into<String>,
        hint: Option<String>,
    ) -> Self {
        let span = match Node::parse(file, text) {
            Ok(root) => root.span_near(&steps(path)),
            Err(_) => 0..0,
        };
        Self::new(file, vec![Problem::new(text, span, message, hint)])
    }
}

/// Checks each value of a tree without axes.
pub(crate) fn check_tree(text: &str, tree: &Node) -> Result<(), Vec<Problem>> {
    let mut problems = Vec::new();
    check(text, tree, &SCENARIO, &mut problems);
    if problems.is_empty() {
        check_fields(text, tree, &mut problems);
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(problems),
    }
}

/// Reads a checked tree whose conditions are settled.
pub(crate) fn read(text: &str, tree: &Node) -> Result<Scenario, Vec<Problem>> {
    let scenario: Result<Scenario, toml::de::Error> = tree.to_toml().try_into();
    let mut scenario = scenario.map_err(|error| vec![Problem::new(text, 0..0, error.message(), None)])?;
    name_jobs(&mut scenario.jobs);
    let mut problems = Vec::new();
    check_whole(text, tree, &scenario, &mut problems);
    match problems.is_empty() {
        true => Ok(scenario),
        false => Err(problems),
    }
}
