//! What one value of an axis gains over another, for every combination of the other axes.
use railtwin_scenario::GainSpec;
use railtwin_store::Figure;
use railtwin_store::compare::NOT_IN_RUN;

use crate::figures::declared::network as declared;

/// A point of a sweep: its label and its figures.
pub type PointFigures<'a> = (&'a [(String, String)], &'a [Figure]);

/// `gain_min`, `gain_mean` and `gain_max` over the combinations, then one figure for each. A gain of which one side has
/// no value has none either and says why, and so do the three over all.
pub fn gains(spec: &GainSpec, points: &[PointFigures<'_>]) -> Vec<Figure> {
    let on_axis = |label: &[(String, String)]| {
        label.iter().find(|(key, _)| *key == spec.axis).map(|(_, value)| value.clone())
    };
    let others = |label: &[(String, String)]| -> Vec<(String, String)> {
        label.iter().filter(|(key, _)| *key != spec.axis).cloned().collect()
    };
    let note = format!("{} over {} = {}, less one", spec.figure, spec.axis, spec.over);
    let mut gains = Vec::new();
    for (label, figures) in points.iter().filter(|(label, _)| on_axis(label).as_deref() != Some(&spec.over)) {
        let base = points.iter().find(|(other, _)| {
            on_axis(other).as_deref() == Some(&spec.over) && others(other) == others(label)
        });
        let Some((base_label, base)) = base else { continue };
        let gain = value(&spec.figure, label, figures).and_then(|ours| {
            let base = value(&spec.figure, base_label, base)?;
            if base == 0.0 {
                Err(format!("{}: {} is 0", words(base_label), spec.figure))
            } else {
                Ok(ours / base - 1.0)
            }
        });
        gains.push((words(label), gain));
    }
    let all: Result<Vec<f64>, String> = match gains.is_empty() {
        true => Err(format!("no point is held against {} = {}", spec.axis, spec.over)),
        false => gains.iter().map(|(_, gain)| gain.clone()).collect(),
    };
    let of = |fold: &dyn Fn(&[f64]) -> f64| all.clone().map(|all| fold(&all));
    let mut figures = vec![
        declared::GAIN_MIN.given(of(&|all| all.iter().copied().fold(f64::INFINITY, f64::min)), &note),
        declared::GAIN_MEAN.given(of(&|all| all.iter().sum::<f64>() / all.len() as f64), &note),
        declared::GAIN_MAX.given(of(&|all| all.iter().copied().fold(f64::NEG_INFINITY, f64::max)), &note),
    ];
    figures
        .extend(gains.into_iter().map(|(label, gain)| declared::GAIN_OF_POINT.of(&label).given(gain, &note)));
    figures
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
        let find = |name: &str| gains.iter().find(|gain| gain.name == name).unwrap();
        assert_eq!(find("gain[balancer=c4p hosts=2]").value, Some(0.5));
        let why = "balancer=c4p hosts=4: x halted at 12.5 s";
        for name in ["gain_min", "gain_mean", "gain_max", "gain[balancer=c4p hosts=4]"] {
            assert_eq!((find(name).value, find(name).reason.as_str()), (None, why), "{name}");
        }
        let unknown = super::gains(&spec("y"), &points);
        assert_eq!(unknown[0].reason, "balancer=c4p hosts=2: y not in this run");
    }
}
