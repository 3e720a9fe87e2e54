//! What a row's fitted parameters might as well have been: axes of scenario keys, of parameters of calculations, and of
//! points that are there anyway.
use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Table, Value};

/// Begins an axis of points that a source has anyway.
const AT: &str = "at.";
/// Sections that a scenario may have several of, and which are not added where it has none.
const SEVERAL: [&str; 3] = ["job", "cap", "fault"];

/// Values of several parameters, all with all. A key with a dot is one of the row's scenarios, `at.KEY` an axis that the
/// source has anyway, any other a parameter of the row's calculation.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Sweep {
    /// Draws at most, where those of the scenario would take too long.
    #[serde(default)]
    draws: Option<u32>,
    #[serde(flatten)]
    axes: BTreeMap<String, Vec<Value>>,
}

/// One choice: what the source is run with, and where its figures are taken.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    /// What is put into the source.
    pub(super) set: Set,
    /// Where the row's figures are taken in place of where they say.
    pub(super) at: Vec<(String, String)>,
}

impl Sweep {
    /// All choices. Of a scenario the values become axes of one sweep, of a calculation each choice is a run of its own.
    pub(super) fn choices(&self, calculation: bool) -> Vec<Choice> {
        let mut products: Vec<BTreeMap<&str, &Value>> = vec![BTreeMap::new()];
        for (key, values) in &self.axes {
            let mut longer = Vec::new();
            for product in &products {
                for value in values {
                    let mut product = product.clone();
                    product.insert(key.as_str(), value);
                    longer.push(product);
                }
            }
            products = longer;
        }
        let own = |key: &&str| !key.starts_with(AT);
        let wide: BTreeMap<String, Vec<Value>> = self
            .axes
            .iter()
            .filter(|(key, _)| own(&key.as_str()))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        let choice = |product: BTreeMap<&str, &Value>| {
            let values = if calculation {
                let put = product.iter().filter(|(key, _)| own(key));
                put.map(|(key, value)| ((*key).to_owned(), vec![(*value).clone()])).collect()
            } else {
                wide.clone()
            };
            let read = product.iter().filter(|(key, _)| !(calculation && own(key)));
            let at = read
                .map(|(key, value)| (key.strip_prefix(AT).unwrap_or(key).to_owned(), label(value)))
                .collect();
            Choice { set: Set { values, draws: self.draws, widens: !calculation }, at }
        };
        products.into_iter().map(choice).collect()
    }

    /// Its axes.
    #[cfg(test)]
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.axes.keys().map(String::as_str)
    }
}

/// A value as labels of points have it.
fn label(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What is put into a source: nothing, one value of each parameter, or axes of a sweep.
#[derive(Clone, Debug, Default)]
pub(super) struct Set {
    values: BTreeMap<String, Vec<Value>>,
    draws: Option<u32>,
    /// Values are added to those that the scenario has, which are needed where a figure is held against a fixed one.
    widens: bool,
}

impl Set {
    /// Whether nothing is put in.
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty() && self.draws.is_none()
    }

    /// Each parameter with its first value, which of a calculation is the only one.
    pub(super) fn chosen(&self) -> Vec<(String, String)> {
        let first = |(key, values): (&String, &Vec<Value>)| Some((key.clone(), label(values.first()?)));
        self.values.iter().filter_map(first).collect()
    }

    /// A name of `source` with this, the same for the same.
    pub(super) fn key(&self, source: &str) -> String {
        format!("{source} {:?} {:?}", self.values, self.draws)
    }

    /// Draws, at most those of the sweep.
    pub(super) fn draws(&self, usual: u32) -> u32 {
        self.draws.map_or(usual, |most| most.min(usual))
    }

    /// A parameter of a calculation, `usual` where nothing is put in.
    pub(super) fn number(&self, name: &str, usual: f64) -> f64 {
        let value = self.values.get(name).and_then(|values| values.first());
        value
            .and_then(|value| value.as_float().or(value.as_integer().map(|whole| whole as f64)))
            .unwrap_or(usual)
    }

    /// A scenario's text with the keys that it has or may have.
    pub(super) fn put_into(&self, text: &str) -> String {
        let own: Vec<_> = self.values.iter().filter(|(path, _)| path.contains('.')).collect();
        if own.is_empty() && self.draws.is_none() {
            return text.to_owned();
        }
        let mut root: Table = toml::from_str(text).expect("a test reads all scenarios");
        // What is expected of the scenario as it stands, and gains over all of its points, are not asked for here.
        root.remove("expect");
        root.remove("gain");
        if let (Some(most), Some(Value::Array(seeds))) = (self.draws, root.get_mut("seed")) {
            seeds.truncate(most as usize);
        }
        for (path, values) in own {
            self.put(&mut root, &path.split('.').collect::<Vec<_>>(), values);
        }
        toml::to_string(&root).expect("what was read can be written")
    }

    fn put(&self, table: &mut Table, path: &[&str], values: &[Value]) {
        match path {
            [] => {}
            [key] => {
                let known = table.get(*key).filter(|_| self.widens).cloned();
                let mut all = match known {
                    Some(Value::Array(items)) => items,
                    Some(one) => vec![one],
                    None => Vec::new(),
                };
                all.extend(values.iter().filter(|value| !all.contains(value)).cloned().collect::<Vec<_>>());
                let value = if all.len() == 1 && !self.widens { all.remove(0) } else { Value::Array(all) };
                table.insert((*key).to_owned(), value);
            }
            [key, rest @ ..] => {
                if !table.contains_key(*key) && !SEVERAL.contains(key) {
                    table.insert((*key).to_owned(), Value::Table(Table::new()));
                }
                match table.get_mut(*key) {
                    Some(Value::Table(inner)) => self.put(inner, rest, values),
                    Some(Value::Array(items)) => {
                        let tables = items.iter_mut().filter_map(Value::as_table_mut);
                        tables.for_each(|inner| self.put(inner, rest, values));
                    }
                    _ => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(text: &str) -> Sweep {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn axes_of_a_scenario_are_widened_and_read_where_they_are_chosen() {
        let sweep = sweep("draws = 5\n\"routing.queue_pairs\" = [1, 2]\n\"job.placement\" = [\"packed\"]");
        let choices = sweep.choices(false);
        assert_eq!(choices.len(), 2);
        let at = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(choices[1].at, [at("job.placement", "packed"), at("routing.queue_pairs", "2")]);
        let text = choices[0].set.put_into("[routing]\nqueue_pairs = 8\n[[job]]\nhosts = [2, 4]\n");
        let root: Table = toml::from_str(&text).unwrap();
        assert_eq!(root["routing"]["queue_pairs"].to_string(), "[8, 1, 2]");
        assert_eq!(root["job"][0]["placement"].to_string(), "[\"packed\"]");
        assert_eq!((choices[0].set.draws(20), choices[0].set.draws(3)), (5, 3));
        assert_eq!(choices[0].set.key("a"), choices[1].set.key("a"));
    }

    #[test]
    fn a_calculation_runs_each_choice_and_takes_points_that_it_has() {
        let sweep = sweep("repair = [4, 24.5]\n\"at.setting\" = [\"ours\", \"other\"]");
        let choices = sweep.choices(true);
        assert_eq!(choices.len(), 4);
        assert_eq!(choices[3].at, [("setting".to_owned(), "other".to_owned())]);
        assert_eq!((choices[0].set.number("repair", 1.0), choices[3].set.number("repair", 1.0)), (4.0, 24.5));
        assert_eq!(Set::default().number("repair", 1.0), 1.0);
        let put = Set { values: [("run.seed".to_owned(), vec![Value::Integer(7)])].into(), ..Set::default() };
        assert_eq!(put.put_into("a = 1\n"), "a = 1\n\n[run]\nseed = 7\n");
    }
}
