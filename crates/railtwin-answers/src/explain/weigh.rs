//! From trials of a hypothesis to its figure, its band and how well it fits.
use railtwin_diagnosis::robust::median;

use super::Measured;
use super::hypotheses::{Experiment, Hypothesis};
use super::trial::Trials;

/// Error of the model beside what trials span: 90th percentile of sizes that were left out of the fit of a measured
/// cluster (docs/guides/calibrate.md).
pub const MODEL_ERROR: f64 = 0.072;
/// Half widths of a band of 80 % that are one standard deviation of a normal distribution.
const SIGMA_OF_BAND: f64 = 1.0 / 1.2816;
/// Shares between which a part's rate is fitted.
const SHARES: [f64; 2] = [0.02, 1.0];
/// Halvings of that range: the share is known to 2 %.
const HALVINGS: u32 = 10;

/// A hypothesis, simulated.
#[derive(Clone, PartialEq, Debug)]
pub struct Weighed {
    /// The hypothesis.
    pub hypothesis: Hypothesis,
    /// Middle of the band, of draws their median, GB/s or seconds; none where it could not be simulated.
    pub figure: Option<f64>,
    /// Lowest and highest figure, the error of the model included.
    pub band: Option<(f64, f64)>,
    /// The share of a part's rate or speed at which the figure is the measured one; none where nothing is fitted.
    pub share: Option<f64>,
    /// Lines of logs and findings that show it.
    pub shown_by: Vec<String>,
    /// The remedy, where evidence names one.
    pub remedy: String,
    /// The reason why it was not simulated.
    pub not_simulated: Option<String>,
    /// Cost in nats: negative logarithm of the probability density of the measured figure, up to a constant.
    pub cost: f64,
}

impl Weighed {
    /// Distance of the measured figure from the hypothesis: the share by which the measured one is higher.
    pub fn off(&self, measured: Measured) -> Option<f64> {
        self.figure.map(|figure| measured.value() / figure - 1.0)
    }

    /// Whether what was measured lies in the band.
    pub fn fits(&self, measured: Measured) -> bool {
        self.band.is_some_and(|(low, high)| (low..=high).contains(&measured.value()))
    }
}

/// Figures of a hypothesis.
enum Figures {
    /// Those between which it lies.
    Between(Vec<f64>),
    /// Those of draws, of which each is as likely.
    Drawn(Vec<f64>),
    /// Those of the least and the largest share, and the share that comes to what was measured.
    Fitted(Vec<f64>, f64),
}

fn figures(trial: &Experiment, trials: &Trials<'_>, measured: Measured) -> Result<Figures, String> {
    match trial {
        Experiment::Edits(all) => {
            let values: Result<Vec<f64>, String> = all.iter().map(|edits| trials.mean(edits, 1)).collect();
            values.map(Figures::Between)
        }
        Experiment::Draws(edits, draws) => trials.values(edits, *draws).map(Figures::Drawn),
        Experiment::SlowPart(fitted, beside) => {
            let edits = |share: f64| [&beside[..], &fitted.edits(share)].concat();
            fit(trials, measured, &edits).map(|(share, ends)| Figures::Fitted(ends, share))
        }
        Experiment::Unknown(why) => Err(why.clone()),
    }
}

/// Simulates a hypothesis and holds it against what was measured.
pub fn weigh(hypothesis: Hypothesis, trials: &Trials<'_>, measured: Measured) -> Weighed {
    let answer = figures(&hypothesis.trial, trials, measured);
    let mut weighed = Weighed {
        hypothesis,
        figure: None,
        band: None,
        share: None,
        shown_by: Vec::new(),
        remedy: String::new(),
        not_simulated: None,
        cost: f64::INFINITY,
    };
    let figures = match answer {
        Ok(figures) => figures,
        Err(why) => {
            weighed.not_simulated = Some(why);
            return weighed;
        }
    };
    let wanted = measured.value();
    let band = |values: &[f64]| {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min) * (1.0 - MODEL_ERROR);
        (low, values.iter().copied().fold(0.0, f64::max) * (1.0 + MODEL_ERROR))
    };
    match figures {
        Figures::Between(values) => {
            let (low, high) = band(&values);
            weighed.cost = cost(wanted, low, high);
            weighed.figure = Some((low * high).sqrt());
            weighed.band = Some((low, high));
        }
        Figures::Drawn(mut values) => {
            let density =
                |value: f64| (-cost(wanted, value * (1.0 - MODEL_ERROR), value * (1.0 + MODEL_ERROR))).exp();
            weighed.cost =
                -(values.iter().map(|value| density(*value)).sum::<f64>() / values.len() as f64).ln();
            weighed.band = Some(band(&values));
            weighed.figure = median(&mut values);
        }
        Figures::Fitted(ends, share) => {
            let (low, high) = band(&ends);
            weighed.cost = cost(wanted, low, high);
            weighed.band = Some((low, high));
            weighed.figure = Some(wanted);
            weighed.share = Some(share);
        }
    }
    weighed
}

/// Negative logarithm of a log-normal density at `measured` whose band of 80 % is from `low` to `high`.
fn cost(measured: f64, low: f64, high: f64) -> f64 {
    let (low, high) = (low.ln(), high.ln());
    let sigma = (high - low) / 2.0 * SIGMA_OF_BAND;
    let z = (measured.ln() - (low + high) / 2.0) / sigma;
    z * z / 2.0 + sigma.ln()
}

/// The share whose figure is the measured one, with the figures at the ends of its range.
fn fit(
    trials: &Trials<'_>,
    measured: Measured,
    edits: &dyn Fn(f64) -> Vec<super::edits::Edit>,
) -> Result<(f64, Vec<f64>), String> {
    let [mut low, mut high] = SHARES;
    // A share of 1 is no fault, which scenarios do not write for a factor of computing.
    let ends = [trials.mean(&edits(low), 1)?, trials.mean(&edits(high * 0.99), 1)?];
    let wanted = measured.value();
    let (least, most) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
    if !(least..=most).contains(&wanted) {
        let unit = measured.unit();
        return Err(format!("no share of the rate comes to it: from {least:.3} to {most:.3} {unit}"));
    }
    for _ in 0..HALVINGS {
        let middle = (low * high).sqrt();
        let value = trials.mean(&edits(middle), 1)?;
        // With a larger share the bandwidth is higher and the step shorter.
        let is_enough = if trials.is_step() { value <= wanted } else { value >= wanted };
        if is_enough { high = middle } else { low = middle }
    }
    Ok(((low * high).sqrt(), ends.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_that_holds_all_explains_less_than_one_that_fits() {
        let near = cost(180.0, 172.0, 199.0);
        let wide = cost(180.0, 10.0, 300.0);
        let far = cost(180.0, 268.0, 400.0);
        assert!(near < wide && wide < far, "{near} {wide} {far}");
    }
}
