//! What one value of an axis gains over another, for every combination of the other axes.
use railtwin_scenario::GainSpec;
use railtwin_store::Figure;
use railtwin_store::compare::NOT_IN_RUN;

use crate::figures::declared::{Better, declared, network};

/// A point of a sweep: its label and its figures.
pub type PointFigures<'a> = (&'a [(String, String)], &'a [Figure]);

/// The gains of a sweep.
#[derive(Clone, Debug)]
pub struct Gains {
    /// Which way the compared figure is better. A gain is positive where the point is better; of a figure for which
    /// neither way is better it is the change.
    pub better: Better,
    /// `gain_min`, `gain_mean` and `gain_max` over all combinations, then one gain for each: shares of the base's value.
    pub figures: Vec<Figure>,
    /// Values behind the gains of single points, in their order: the last of `figures`.
    pub compared: Vec<Compared>,
}

/// A point and its base.
#[derive(Clone, PartialEq, Debug)]
pub struct Compared {
    /// Value of the figure at the point; none where it has none.
    pub value: Option<f64>,
    /// Value at the base.
    pub base: Option<f64>,
    /// Unit of both.
    pub unit: String,
}

/// Compares the points of a sweep. A gain of which one side has no value has none either and says why, and so do the
/// three over all. The same relative difference gives the same amount, whichever way is better.
pub fn gains(spec: &GainSpec, points: &[PointFigures<'_>]) -> Gains {
    let on_axis = |label: &[(String, String)]| {
        label.iter().find(|(key, _)| *key == spec.axis).map(|(_, value)| value.clone())
    };
    let others = |label: &[(String, String)]| -> Vec<(String, String)> {
        label.iter().filter(|(key, _)| *key != spec.axis).cloned().collect()
    };
    let better = declared(&spec.figure).map_or(Better::Neither, |figure| figure.better);
    let note =
        format!("{} against {} = {}, as a share of its value there", spec.figure, spec.axis, spec.over);
    let (mut gains, mut compared) = (Vec::new(), Vec::new());
    for (label, figures) in points.iter().filter(|(label, _)| on_axis(label).as_deref() != Some(&spec.over)) {
        let base = points.iter().find(|(other, _)| {
            on_axis(other).as_deref() == Some(&spec.over) && others(other) == others(label)
        });
        let Some((base_label, base)) = base else { continue };
        let ours = value(&spec.figure, label, figures);
        let base = value(&spec.figure, base_label, base);
        let unit = figures.iter().find(|figure| figure.name == spec.figure);
        compared.push(Compared {
            value: ours.as_ref().ok().copied(),
            base: base.as_ref().ok().copied(),
            unit: unit.map_or_else(String::new, |figure| figure.unit.clone()),
        });
        let gain = ours.and_then(|ours| match base? {
            0.0 => Err(format!("{}: {} is 0", words(base_label), spec.figure)),
            base => Ok(gain(ours, base, better)),
        });
        gains.push((words(label), gain));
    }
    let all: Result<Vec<f64>, String> = match gains.is_empty() {
        true => Err(format!("no point is held against {} = {}", spec.axis, spec.over)),
        false => gains.iter().map(|(_, gain)| gain.clone()).collect(),
    };
    let of = |fold: &dyn Fn(&[f64]) -> f64| all.clone().map(|all| fold(&all));
    let mut figures = vec![
        network::GAIN_MIN.given(of(&|all| all.iter().copied().fold(f64::INFINITY, f64::min)), &note),
        network::GAIN_MEAN.given(of(&|all| all.iter().sum::<f64>() / all.len() as f64), &note),
        network::GAIN_MAX.given(of(&|all| all.iter().copied().fold(f64::NEG_INFINITY, f64::max)), &note),
    ];
    figures
        .extend(gains.into_iter().map(|(label, gain)| network::GAIN_OF_POINT.of(&label).given(gain, &note)));
    Gains { better, figures, compared }
}

/// The change as a share of the base, positive where the value is better.
fn gain(value: f64, base: f64, better: Better) -> f64 {
    let change = (value - base) / base.abs();
    match better {
        // Not `-change`: no change is 0 and not -0.
        Better::Less => 0.0 - change,
        Better::More | Better::Neither => change,
    }
}

fn words(label: &[(String, String)]) -> String {
    let words: Vec<String> = label.iter().map(|(key, value)| format!("{key}={value}")).collect();
    words.join(" ")
}

/// The figure of a point, or why there is none, with the point.
fn value(name: &str, label: &[(String, String)], figures: &[Figure]) -> Result<f64, String> {
    let found = figures.iter().find(|figure| figure.name == name);
    let why = match found {
        Some(Figure { value: Some(value), .. }) => return Ok(*value),
        Some(figure) => figure.reason.clone(),
        None => NOT_IN_RUN.to_owned(),
    };
    Err(format!("{}: {name} {why}", words(label)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(balancer: &str, hosts: &str) -> Vec<(String, String)> {
        [("balancer", balancer), ("hosts", hosts)].map(|(k, v)| (k.to_owned(), v.to_owned())).to_vec()
    }

    fn spec(figure: &str) -> GainSpec {
        GainSpec { figure: figure.to_owned(), axis: "balancer".to_owned(), over: "ecmp".to_owned() }
    }

    #[test]
    fn a_point_without_the_figure_is_not_passed_over() {
        let labels = [label("ecmp", "2"), label("c4p", "2"), label("ecmp", "4"), label("c4p", "4")];
        let of = |value: f64| vec![Figure::new("x", value, "s")];
        let halted = vec![Figure::missing("x", "s", "halted at 12.5 s")];
        let figures = [of(2.0), of(3.0), of(2.0), halted];
        let points: Vec<PointFigures<'_>> =
            labels.iter().zip(&figures).map(|(label, figures)| (&label[..], &figures[..])).collect();
        let gains = gains(&spec("x"), &points);
        let find = |name: &str| gains.figures.iter().find(|gain| gain.name == name).unwrap();
        assert_eq!(find("gain[balancer=c4p hosts=2]").value, Some(0.5));
        let why = "balancer=c4p hosts=4: x halted at 12.5 s";
        for name in ["gain_min", "gain_mean", "gain_max", "gain[balancer=c4p hosts=4]"] {
            assert_eq!((find(name).value, find(name).reason.as_str()), (None, why), "{name}");
        }
        assert_eq!(gains.compared[0], Compared { value: Some(3.0), base: Some(2.0), unit: "s".to_owned() });
        let unknown = super::gains(&spec("y"), &points);
        assert_eq!(unknown.figures[0].reason, "balancer=c4p hosts=2: y not in this run");
    }

    /// The sign follows the declared better way of the figure, and the amount is a share of the base.
    #[test]
    fn a_gain_is_positive_where_the_point_is_better() {
        let labels = [label("ecmp", "2"), label("c4p", "2")];
        let gain = |figure: &str, base: f64, value: f64| {
            let figures = [base, value].map(|value| vec![Figure::new(figure, value, "s")]);
            let points: Vec<PointFigures<'_>> =
                labels.iter().zip(&figures).map(|(label, figures)| (&label[..], &figures[..])).collect();
            let gains = gains(&spec(figure), &points);
            (gains.figures[1].value.unwrap(), gains.better)
        };
        let near =
            |(a, way): (f64, Better), b: f64, expected: Better| (a - b).abs() < 1e-12 && way == expected;
        // 4.24 % less time, and 4.24 % more tokens.
        assert!(near(gain("step_time", 1.0, 0.9576), 0.0424, Better::Less));
        assert!(near(gain("a.step_time", 1.0, 0.9576), 0.0424, Better::Less));
        assert!(near(gain("step_time", 0.5, 1.0), -1.0, Better::Less));
        assert!(near(gain("tokens_per_s", 1000.0, 1042.4), 0.0424, Better::More));
        assert!(near(gain("cnps", 100.0, 80.0), -0.2, Better::Neither));
        assert!(gain("step_time", 2.0, 2.0).0.is_sign_positive());
    }
}
