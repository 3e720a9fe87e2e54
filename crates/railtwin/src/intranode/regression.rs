//! Equation 3 of SAURON fitted again, to runs of ours: throughput of a host over the share of its traffic that leaves it.
//!
//! The paper fits a line, a parabola, a cubic and a power law to its runs and keeps the power law (section 3.5). Equation
//! 3 is that law with the exponent -1 and one constant, printed as 15703.9 and computed with as 16384 in section 4.5.
use railtwin_engine::intranode::{modelled_throughput, traffic_overhead};
use serde::Serialize;

use super::saturation::{CARRIED, LOAD, SHORT_OF};
use super::{IntranodeQuestion, Label, Told, groups};
use crate::error::Error;
use railtwin_calibration::least_squares::solve;

/// Axes that say how much leaves hosts.
const SHARES: [&str; 2] = ["intranode.pattern", "intranode.inter"];
/// `Model_adjustment` of equation 3, Gbps times percent for each host: as printed in section 3.5, and as section 4.5
/// computes.
pub const ADJUSTMENTS: [(&str, f64); 2] =
    [("equation 3 as printed", 15_703.9), ("equation 3 as computed", 16_384.0)];

/// A model of throughput.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// Of polynomials by rising power of percent, of power laws factor and exponent; Gbps.
    pub coefficients: Vec<f64>,
    /// Share of the variance that it explains; below 0 where the mean would be nearer.
    pub r_squared: f64,
    /// Root of the mean square of errors, Gbps.
    pub rmse: f64,
    /// For power laws with the exponent -1: `Model_adjustment` of equation 3, Gbps times percent.
    pub adjustment: Option<f64>,
    /// Whether it was fitted here, and is not the paper's.
    pub is_ours: bool,
}

/// A point of a sweep.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Throughput {
    /// Percent of messages that leave the host.
    pub inter_percent: f64,
    /// What its GPUs receive, Gbps, headers in.
    pub host_gbps: f64,
    /// Whether 3 % of what is offered does not arrive: models are of these points alone, as none of them knows what GPUs
    /// can send.
    pub is_saturated: bool,
}

/// Models of one choice on the other axes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Regression {
    /// What was chosen on the other axes, without loads.
    pub label: Label,
    /// Equation 2.
    pub traffic_overhead: f64,
    /// Points at the greatest load of the sweep, by percent.
    pub points: Vec<Throughput>,
    /// Models, ours before the paper's.
    pub models: Vec<Model>,
}

/// Fits what came of points, given with their questions, for each choice on the axes other than shares and loads.
///
/// # Errors
/// [`Error::Argument`] for pairs, and where fewer than three saturated points have different shares.
pub fn regressions(asked: &[(Label, IntranodeQuestion)], told: &[Told]) -> Result<Vec<Regression>, Error> {
    if asked.iter().any(|(_, question)| question.spec.pair.is_some()) {
        let message = "a pair of hosts has no share of traffic that leaves them; leave out [intranode.pair]";
        return Err(Error::Argument(message.to_owned()));
    }
    let one = |(label, rows): (Label, Vec<usize>)| {
        let greatest = rows.iter().map(|&row| asked[row].1.spec.load).fold(0.0, f64::max);
        let rows: Vec<usize> = rows.into_iter().filter(|&row| asked[row].1.spec.load == greatest).collect();
        let spec = &asked[rows[0]].1.spec;
        let (header, payload, _) = spec.packet();
        let overhead = traffic_overhead((header, payload), (spec.inter_header.0, spec.inter_payload.0));
        let point = |&row: &usize| {
            let (question, told) = (&asked[row].1, &told[row]);
            let mut shares = CARRIED.iter().filter_map(|name| told.value(name));
            Throughput {
                inter_percent: 100.0 * question.spec.inter_share(),
                host_gbps: told.value("rate").unwrap_or(f64::NAN) * 1e-9 / question.hosts as f64,
                is_saturated: shares.any(|share| share < 1.0 - SHORT_OF),
            }
        };
        let mut points: Vec<Throughput> = rows.iter().map(point).collect();
        points.sort_by(|a, b| a.inter_percent.total_cmp(&b.inter_percent));
        let of: Vec<(f64, f64)> = points
            .iter()
            .filter(|point| point.is_saturated && point.inter_percent > 0.0)
            .map(|point| (point.inter_percent, point.host_gbps))
            .collect();
        let mut different: Vec<f64> = of.iter().map(|point| point.0).collect();
        different.dedup();
        if different.len() < 3 {
            let message = format!(
                "models of throughput need three shares of inter-node traffic at which hosts are saturated, and {} are; give \
                 intranode.inter more values, or more load",
                different.len()
            );
            return Err(Error::Argument(message));
        }
        Ok(Regression {
            label,
            traffic_overhead: overhead,
            models: models(&of, different.len(), overhead),
            points,
        })
    };
    let keeps = |axis: &str| axis != LOAD && !SHARES.contains(&axis);
    groups(asked.iter().map(|(label, _)| label), keeps).into_iter().map(one).collect()
}

/// The models of points of percent and Gbps. A polynomial goes through as many points as it has coefficients, whatever
/// they are, so it needs one share more.
fn models(points: &[(f64, f64)], different: usize, overhead: f64) -> Vec<Model> {
    let mut models = Vec::new();
    for (name, degree) in [("linear", 1_u8), ("quadratic", 2), ("cubic", 3)] {
        if different > usize::from(degree) + 1 {
            let coefficients = polynomial(points, degree.into());
            let of = coefficients.clone();
            let value = move |x: f64| of.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient);
            models.push(Model::of(name, coefficients, None, true, points, value));
        }
    }
    let (factor, exponent) = power_law(points);
    models.push(Model::of("power law", vec![factor, exponent], None, true, points, |x| {
        factor * x.powf(exponent)
    }));
    let inverse = factor_of(points, -1.0);
    let ours = [("equation 3, fitted", inverse * overhead, true)];
    let papers = ADJUSTMENTS.map(|(name, adjustment)| (name, adjustment, false));
    for (name, adjustment, is_ours) in ours.into_iter().chain(papers) {
        let value = |x: f64| modelled_throughput(adjustment, overhead, x, 1.0);
        models.push(Model::of(
            name,
            vec![adjustment / overhead, -1.0],
            Some(adjustment),
            is_ours,
            points,
            value,
        ));
    }
    models
}

impl Model {
    fn of(
        name: &str,
        coefficients: Vec<f64>,
        adjustment: Option<f64>,
        is_ours: bool,
        points: &[(f64, f64)],
        value: impl Fn(f64) -> f64,
    ) -> Self {
        let count = points.len() as f64;
        let mean = points.iter().map(|point| point.1).sum::<f64>() / count;
        let squares: f64 = points.iter().map(|(x, y)| (y - value(*x)).powi(2)).sum();
        let all: f64 = points.iter().map(|(_, y)| (y - mean).powi(2)).sum();
        Self {
            name: name.to_owned(),
            coefficients,
            r_squared: 1.0 - squares / all,
            rmse: (squares / count).sqrt(),
            adjustment,
            is_ours,
        }
    }
}

/// Coefficients by rising power, of least squares.
fn polynomial(points: &[(f64, f64)], degree: i32) -> Vec<f64> {
    // Powers of shares of the largest: powers of percents differ by orders of magnitude.
    let scale = points.iter().map(|point| point.0).fold(0.0, f64::max);
    let rows: Vec<Vec<f64>> =
        points.iter().map(|(x, _)| (0..=degree).map(|power| (x / scale).powi(power)).collect()).collect();
    let right: Vec<f64> = points.iter().map(|point| point.1).collect();
    let found = solve(&rows, &right).values.into_iter().zip(0..);
    found.map(|(value, power)| value / scale.powi(power)).collect()
}

/// The factor of a power law of a known exponent, of least squares.
fn factor_of(points: &[(f64, f64)], exponent: f64) -> f64 {
    let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|&(x, y)| of(x, y)).sum::<f64>();
    sum(&|x, y| y * x.powf(exponent)) / sum(&|x, _| x.powf(2.0 * exponent))
}

/// Factor and exponent of least squares: for each exponent the factor is known, so one number is searched. It begins at
/// the line through logarithms.
fn power_law(points: &[(f64, f64)]) -> (f64, f64) {
    let rows: Vec<Vec<f64>> = points.iter().map(|(x, _)| vec![1.0, x.ln()]).collect();
    let right: Vec<f64> = points.iter().map(|(_, y)| y.max(f64::MIN_POSITIVE).ln()).collect();
    let start = solve(&rows, &right).values[1];
    let squares = |exponent: f64| {
        let factor = factor_of(points, exponent);
        points.iter().map(|(x, y)| (y - factor * x.powf(exponent)).powi(2)).sum::<f64>()
    };
    // Golden sections around the best of a grid.
    let grid = (-20..=20).map(|step| start + f64::from(step) * 0.1);
    let middle = grid.min_by(|a, b| squares(*a).total_cmp(&squares(*b))).unwrap_or(start);
    let (mut low, mut high) = (middle - 0.1, middle + 0.1);
    let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
    for _ in 0..80 {
        let (a, b) = (high - golden * (high - low), low + golden * (high - low));
        if squares(a) < squares(b) { high = b } else { low = a }
    }
    let exponent = (low + high) / 2.0;
    (factor_of(points, exponent), exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_model_finds_what_it_is() {
        let of = |law: &dyn Fn(f64) -> f64| [5.0, 8.0, 12.0, 20.0, 30.0, 50.0].map(|x| (x, law(x)));
        let found = models(&of(&|x| 4_000.0 - 90.0 * x + 1.5 * x * x - 0.01 * x.powi(3)), 6, 1.138);
        let cubic = &found[2];
        for (ours, known) in cubic.coefficients.iter().zip([4_000.0, -90.0, 1.5, -0.01]) {
            assert!((ours / known - 1.0).abs() < 1e-9, "{cubic:?}");
        }
        assert!(cubic.rmse < 1e-6 && cubic.r_squared > 1.0 - 1e-12, "{cubic:?}");
        let found = models(&of(&|x| 15_703.9 / (1.138 * x)), 6, 1.138);
        let by = |name: &str| found.iter().find(|model| model.name == name).expect("a model");
        let law = by("power law");
        assert!((law.coefficients[1] + 1.0).abs() < 1e-6, "{law:?}");
        assert!((by("equation 3, fitted").adjustment.unwrap_or(0.0) - 15_703.9).abs() < 1e-6);
        assert!(by("equation 3 as printed").rmse < 1e-9);
        // What the paper computes with is 4 % more at each share.
        let ratio =
            by("equation 3 as computed").coefficients[0] / by("equation 3 as printed").coefficients[0];
        assert!((ratio - 1.0433).abs() < 1e-4, "{ratio}");
        assert!(by("linear").r_squared < 0.9);
    }

    #[test]
    fn few_points_have_few_models() {
        let found = models(&[(5.0, 3.0), (10.0, 2.0), (20.0, 1.0)], 3, 1.1);
        assert!(found.iter().any(|model| model.name == "linear"));
        assert!(found.iter().all(|model| model.name != "quadratic" && model.name != "cubic"));
    }
}
