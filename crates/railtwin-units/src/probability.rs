//! Tails of the binomial and the Poisson distribution.

/// Chance of more than `most` events where `mean` are expected (Poisson).
pub fn poisson_above(mean: f64, most: u32) -> f64 {
    if mean <= 0.0 {
        return 0.0;
    }
    above(most, |count| f64::from(count) * mean.ln() - mean - ln_factorial(count), mean, u32::MAX)
}

/// Chance that more than `most` of `count` hosts are out, each with chance `out` (binomial).
pub fn binomial_above(count: u32, out: f64, most: u32) -> f64 {
    if most >= count || out <= 0.0 {
        return 0.0;
    }
    if out >= 1.0 {
        return 1.0;
    }
    let ways = |k: u32| ln_factorial(count) - ln_factorial(k) - ln_factorial(count - k);
    let term = |k: u32| ways(k) + f64::from(k) * out.ln() + f64::from(count - k) * (-out).ln_1p();
    above(most, term, f64::from(count) * out, count)
}

/// The sum of exp(term(k)) for k above `most`, from the side that loses no digits.
fn above(most: u32, term: impl Fn(u32) -> f64, mean: f64, end: u32) -> f64 {
    if f64::from(most) < mean {
        return (1.0 - (0..=most).map(|k| term(k).exp()).sum::<f64>()).clamp(0.0, 1.0);
    }
    let mut sum = 0.0;
    for k in most + 1..=end {
        let more = term(k).exp();
        sum += more;
        if more <= sum * 1e-17 {
            break;
        }
    }
    sum.min(1.0)
}

/// ln n!: exact products for small n, Stirling's series beyond.
fn ln_factorial(n: u32) -> f64 {
    if n < 32 {
        return (1..=n).map(|k| f64::from(k).ln()).sum();
    }
    let x = f64::from(n) + 1.0;
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(ours: f64, theirs: f64) {
        assert!((ours / theirs - 1.0).abs() < 1e-9, "{ours} {theirs}");
    }

    #[test]
    fn tails_are_those_of_the_distributions() {
        near(poisson_above(1.0, 0), 1.0 - (-1.0f64).exp());
        near(poisson_above(2.0, 2), 1.0 - 5.0 * (-2.0f64).exp());
        near(binomial_above(2, 0.5, 0), 0.75);
        near(binomial_above(136, 1e-9, 0), -f64::exp_m1(136.0 * (-1e-9f64).ln_1p()));
        near(binomial_above(40, 0.5, 19), 0.5 + 0.5 * 137_846_528_820.0 / 2f64.powi(40));
        assert_eq!((binomial_above(8, 0.3, 8), binomial_above(8, 1.0, 7)), (0.0, 1.0));
        assert_eq!(poisson_above(0.0, 0), 0.0);
    }

    #[test]
    fn many_hosts_that_rarely_fail_are_poisson() {
        let (binomial, poisson) = (binomial_above(100_000, 2e-5, 8), poisson_above(2.0, 8));
        assert!((binomial / poisson - 1.0).abs() < 1e-3, "{binomial} {poisson}");
    }
}
