//! Which points of a sweep a figure of the reproduction table is taken from, and over which others.
use std::collections::BTreeMap;

use railtwin_store::Figure;
use serde::Deserialize;

/// What was chosen on each axis.
pub type Label = Vec<(String, String)>;

/// A point of a sweep with its figures.
#[derive(Clone, Debug)]
pub struct Point {
    /// Where in the sweep it is.
    pub label: Label,
    /// What came out.
    pub figures: Vec<Figure>,
}

impl Point {
    /// A point of a sweep. An axis of tables is labeled by their keys: `job.collective.kind` rather than
    /// `job.collective`.
    pub fn new(label: &[(String, String)], figures: Vec<Figure>) -> Self {
        let label = label.iter().flat_map(|(path, value)| unfold(path, value)).collect();
        Self { label, figures }
    }
}

/// The keys of a value that is a table, without lists, which are axes of their own; any other value as it stands.
fn unfold(path: &str, value: &str) -> Vec<(String, String)> {
    let table = value.starts_with('{').then(|| toml::from_str::<toml::Table>(&format!("of = {value}")));
    let Some(toml::Value::Table(keys)) = table.and_then(Result::ok).and_then(|mut t| t.remove("of")) else {
        return vec![(path.to_owned(), value.to_owned())];
    };
    let single = keys.iter().filter(|(_, value)| !value.is_array());
    let text = |value: &toml::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    single.map(|(key, value)| (format!("{path}.{key}"), text(value))).collect()
}

/// How several points become one figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Take {
    /// Their mean.
    #[default]
    Mean,
    /// The least.
    Min,
    /// The most.
    Max,
}

/// Where a figure is taken: at the points whose labels end in the keys of `at` with its values; as it stands,
/// or as a share of the same figure at the same point but for `of`, or that less one for `over`; of another scenario
/// alone, that less one, too.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Picked {
    at: BTreeMap<String, String>,
    of: BTreeMap<String, String>,
    over: BTreeMap<String, String>,
    /// Figure of the other point, where it is another one.
    base: Option<String>,
    /// Scenario of the other points, where it is another one; axes that it does not have are left aside.
    against: Option<String>,
    take: Take,
}

impl Picked {
    /// The scenario of the other points, where it is not that of the row.
    pub fn against(&self) -> Option<&str> {
        self.against.as_deref()
    }

    /// The same figure where these axes have these values, whatever it says of them itself. What it is held against
    /// stays.
    pub fn with(&self, choice: &[(String, String)]) -> Self {
        let mut other = self.clone();
        for (path, value) in choice {
            let names =
                |key: &str| path == key || path.strip_suffix(key).is_some_and(|head| head.ends_with('.'));
            other.at.retain(|key, _| !names(key));
            other.at.insert(path.clone(), value.clone());
        }
        other
    }

    /// Whether a point is where the figure is taken.
    #[cfg(test)]
    pub(crate) fn fits_one_of(&self, points: &[Point]) -> bool {
        points.iter().any(|point| point.has(&self.at))
    }

    /// Which of `points` it reads for itself, and which of `others` those are held against, by number; labels are enough.
    pub fn reads(&self, points: &[Point], others: &[Point]) -> (Vec<usize>, Vec<usize>) {
        let own: Vec<usize> = (0..points.len()).filter(|&row| points[row].has(&self.at)).collect();
        let base = match (self.of.is_empty(), self.over.is_empty()) {
            (true, true) if self.against.is_none() => return (own, Vec::new()),
            (false, _) => &self.of,
            (true, _) => &self.over,
        };
        let others = own.iter().filter_map(|&row| points[row].beside(base, others)).collect();
        (own, others)
    }

    /// The values at the points that fit, where they are shares as ones of `others`; why there are none where no point
    /// that fits has the figure, or one has it without a value.
    ///
    /// # Errors
    /// The reason, for people.
    pub fn values(&self, figure: &str, points: &[Point], others: &[Point]) -> Result<Vec<f64>, String> {
        let fits = points.iter().filter(|point| point.has(&self.at));
        // Figures of the whole sweep stand in one point: do not ask the others for them.
        let known: Vec<&Point> = fits.filter(|point| point.figure(figure).is_some()).collect();
        if known.is_empty() {
            return Err(format!("no run has {figure}"));
        }
        known.iter().map(|point| self.one(figure, point, others)).collect()
    }

    /// What becomes of several values, of which there is at least one.
    pub fn taken(&self, values: &[f64]) -> f64 {
        match self.take {
            Take::Mean => values.iter().sum::<f64>() / values.len() as f64,
            Take::Min => range(values)[0],
            Take::Max => range(values)[1],
        }
    }

    fn one(&self, figure: &str, point: &Point, others: &[Point]) -> Result<f64, String> {
        let ours = point.value(figure)?;
        let base = self.base.as_deref().unwrap_or(figure);
        let against = |other: &BTreeMap<String, String>| {
            let beside = point.beside(other, others).ok_or("no run to hold it against")?;
            others[beside].value(base)
        };
        match (self.of.is_empty(), self.over.is_empty(), &self.base) {
            (true, true, None) if self.against.is_none() => Ok(ours),
            (true, true, Some(base)) if self.against.is_none() => share(ours, point.value(base)?),
            (false, _, _) => share(ours, against(&self.of)?),
            (true, _, _) => Ok(share(ours, against(&self.over)?)? - 1.0),
        }
    }

    /// The figure with where it is taken, for people.
    pub fn name(&self, figure: &str) -> String {
        let words = |map: &BTreeMap<String, String>| {
            let pairs: Vec<String> = map.iter().map(|(key, value)| format!("{key}={value}")).collect();
            pairs.join(" ")
        };
        let mut name = match self.take {
            Take::Mean => figure.to_owned(),
            Take::Min => format!("least {figure}"),
            Take::Max => format!("most {figure}"),
        };
        if !self.at.is_empty() {
            name = format!("{name}[{}]", words(&self.at));
        }
        if let Some(base) = &self.base {
            name = format!("{name} / {base}");
        }
        let against = self.against.as_deref().unwrap_or_default();
        if !self.of.is_empty() {
            name = format!("{name} / {against}[{}]", words(&self.of));
        }
        if self.of.is_empty() && self.over.is_empty() && !against.is_empty() {
            name = format!("{name} over {against}");
        }
        if !self.over.is_empty() {
            name = format!("{name} over {against}[{}]", words(&self.over));
        }
        name
    }
}

/// One value as a share of another, of which there is something.
fn share(ours: f64, base: f64) -> Result<f64, String> {
    if base == 0.0 { Err(format!("{ours} is held against 0")) } else { Ok(ours / base) }
}

/// The least and the most of some values.
pub fn range(values: &[f64]) -> [f64; 2] {
    let over = |of: fn(f64, f64) -> f64, first: f64| values.iter().copied().fold(first, of);
    [over(f64::min, f64::INFINITY), over(f64::max, f64::NEG_INFINITY)]
}

impl Point {
    /// The first of `others` that has what `other` says and agrees with this point on all other axes that they have.
    fn beside(&self, other: &BTreeMap<String, String>, others: &[Self]) -> Option<usize> {
        let axis = |path: &str| others.iter().any(|p| p.label.iter().any(|(known, _)| known == path));
        let known = self.label.iter().filter(|(path, _)| axis(path)).cloned().collect();
        let here = Self { label: known, figures: Vec::new() };
        others.iter().position(|p| p.has(other) && p.same_but(&here, other))
    }

    fn figure(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|known| known.name == name)
    }

    fn value(&self, name: &str) -> Result<f64, String> {
        let figure = self.figure(name).ok_or_else(|| format!("no {name} in the run"))?;
        figure.value.ok_or_else(|| format!("{name}: {}", figure.reason))
    }

    fn on(&self, key: &str) -> Option<&str> {
        let named =
            |path: &str| path == key || path.strip_suffix(key).is_some_and(|head| head.ends_with('.'));
        self.label.iter().find(|(path, _)| named(path)).map(|(_, value)| value.as_str())
    }

    fn has(&self, wanted: &BTreeMap<String, String>) -> bool {
        wanted.iter().all(|(key, value)| self.on(key) == Some(value))
    }

    /// Whether the labels agree on all axes that `but` does not name.
    fn same_but(&self, other: &Self, but: &BTreeMap<String, String>) -> bool {
        let free = |path: &str| but.keys().any(|key| path == key || path.ends_with(&format!(".{key}")));
        let rest = |point: &'_ Self| -> Vec<(String, String)> {
            let mut rest: Vec<_> = point.label.iter().filter(|(path, _)| !free(path)).cloned().collect();
            rest.sort();
            rest
        };
        rest(self) == rest(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(balancer: &str, hosts: &str, value: f64) -> Point {
        let label = vec![("routing.balancer".into(), balancer.into()), ("job.hosts".into(), hosts.into())];
        Point { label, figures: vec![Figure::new("busbw_mean", value, "bits_per_s")] }
    }

    impl Picked {
        fn value(&self, figure: &str, points: &[Point], others: &[Point]) -> Result<f64, String> {
            self.values(figure, points, others).map(|values| self.taken(&values))
        }
    }

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
    }

    #[test]
    fn figures_are_taken_at_points_and_over_others() {
        let points = [
            point("c4p", "2", 30.0),
            point("c4p", "4", 40.0),
            point("ecmp", "2", 20.0),
            point("ecmp", "4", 20.0),
        ];
        let c4p = map(&[("balancer", "c4p")]);
        let mean = Picked { at: c4p.clone(), ..Picked::default() };
        assert_eq!(mean.value("busbw_mean", &points, &points), Ok(35.0));
        let gain = Picked { at: c4p.clone(), over: map(&[("balancer", "ecmp")]), ..Picked::default() };
        assert_eq!(gain.value("busbw_mean", &points, &points), Ok(0.75));
        let most = Picked { take: Take::Max, of: map(&[("balancer", "ecmp")]), at: c4p, ..Picked::default() };
        assert_eq!(most.value("busbw_mean", &points, &points), Ok(2.0));
        assert_eq!(most.value("busbw", &points, &points), Err("no run has busbw".to_owned()));
        assert_eq!(gain.name("busbw_mean"), "busbw_mean[balancer=c4p] over [balancer=ecmp]");
        let idle = [points[0].clone(), point("ecmp", "2", 0.0)];
        assert_eq!(gain.value("busbw_mean", &idle, &idle), Err("30 is held against 0".to_owned()));
        // What is read is what has a part in the value, and no other point.
        let four = Picked { at: map(&[("balancer", "c4p"), ("hosts", "4")]), ..gain };
        assert_eq!(four.reads(&points, &points), (vec![1], vec![3]));
        assert_eq!(mean.reads(&points, &points), (vec![0, 1], Vec::new()));
        assert_eq!(range(&mean.values("busbw_mean", &points, &points).unwrap()), [30.0, 40.0]);
    }

    #[test]
    fn points_of_another_scenario_agree_on_the_axes_of_both() {
        let at = |fabric: Option<&str>, per: &str, size: &str, value: f64| {
            let table = format!("{{ kind = \"all-reduce\"{per}, bytes = [\"1 GB\", \"4 GB\"] }}");
            let label = [("job.collective", table.as_str()), ("job.collective.bytes", size)];
            let label = fabric.map(|n| ("fabric.parallel", n)).into_iter().chain(label);
            let label: Vec<(String, String)> = label.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
            Point::new(&label, vec![Figure::new("busbw_mean", value, "bits_per_s")])
        };
        let rail = ", per = \"rail\"";
        let ours = [at(None, "", "1 GB", 3.0), at(None, rail, "1 GB", 4.0), at(None, rail, "4 GB", 6.0)];
        let theirs: Vec<Point> = ["1", "8"]
            .iter()
            .flat_map(|&n| {
                let of = if n == "8" { 2.0 } else { 1.0 };
                [
                    at(Some(n), "", "1 GB", of),
                    at(Some(n), rail, "1 GB", of),
                    at(Some(n), rail, "4 GB", 2.0 * of),
                ]
            })
            .collect();
        let over = map(&[("parallel", "8")]);
        let mut gain = Picked { over, against: Some("old".into()), ..Picked::default() };
        gain.at = map(&[("per", "rail"), ("collective.bytes", "4 GB")]);
        assert_eq!(gain.value("busbw_mean", &ours, &theirs), Ok(0.5));
        gain.at = map(&[("per", "rail")]);
        gain.take = Take::Max;
        assert_eq!(gain.value("busbw_mean", &ours, &theirs), Ok(1.0));
        gain.at = map(&[("kind", "all-reduce"), ("bytes", "4 GB")]);
        assert_eq!(gain.value("busbw_mean", &ours, &theirs), Ok(0.5));
        assert_eq!(gain.name("x"), "most x[bytes=4 GB kind=all-reduce] over old[parallel=8]");
        // Where the other scenario was not asked for that size, there is nothing to hold against.
        assert!(gain.value("busbw_mean", &ours, &theirs[..2]).is_err());
    }

    #[test]
    fn a_choice_stands_in_place_of_what_a_figure_says() {
        let points = [point("c4p", "2", 30.0), point("ecmp", "2", 20.0), point("ecmp", "4", 10.0)];
        let two = Picked { at: map(&[("balancer", "c4p"), ("hosts", "4")]), ..Picked::default() };
        let chosen = |pairs: &[(&str, &str)]| -> Vec<(String, String)> { map(pairs).into_iter().collect() };
        assert_eq!(two.with(&chosen(&[("job.hosts", "2")])).value("busbw_mean", &points, &points), Ok(30.0));
        let ecmp = two.with(&chosen(&[("routing.balancer", "ecmp")]));
        assert_eq!(ecmp.value("busbw_mean", &points, &points), Ok(10.0));
    }

    #[test]
    fn a_point_that_did_not_end_is_not_passed_over() {
        let mut points = [point("c4p", "2", 30.0), point("c4p", "4", 40.0)];
        points[1].figures = vec![Figure::missing("busbw_mean", "bits_per_s", "halted at 12.5 s")];
        let mean = Picked { at: map(&[("balancer", "c4p")]), ..Picked::default() };
        let said = mean.value("busbw_mean", &points, &points);
        assert_eq!(said, Err("busbw_mean: halted at 12.5 s".to_owned()));
    }
}
