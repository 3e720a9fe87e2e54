//! How often to checkpoint. `cost` is the time that a checkpoint holds the job up, `mtbf` the mean running time
//! between crashes; both in one unit, which is that of the answers.

/// The first-order optimum, sqrt(2 cost mtbf) (J. W. Young, Communications of the ACM 17, 1974).
pub fn young(cost: f64, mtbf: f64) -> f64 {
    (2.0 * cost * mtbf).sqrt()
}

/// The higher-order optimum (J. T. Daly, Future Generation Computer Systems 22, 2006, eq. 37).
pub fn daly(cost: f64, mtbf: f64) -> f64 {
    if cost >= 2.0 * mtbf {
        return mtbf;
    }
    let ratio = cost / (2.0 * mtbf);
    young(cost, mtbf) * (1.0 + ratio.sqrt() / 3.0 + ratio / 9.0) - cost
}

/// The exact optimum for crashes that keep no memory: the root x = interval / mtbf of 1 - x = exp(-x - cost / mtbf),
/// which is 1 + W(-exp(-1 - cost / mtbf)) with Lambert's W. Infinite where nothing crashes.
pub fn best(cost: f64, mtbf: f64) -> f64 {
    if !mtbf.is_finite() {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let x = (low + high) / 2.0;
        // exp_m1 keeps what is left of 1 - exp(...) where both are tiny.
        if -x - f64::exp_m1(-x - cost / mtbf) > 0.0 {
            low = x;
        } else {
            high = x;
        }
    }
    low * mtbf
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Share of running time that counts with checkpoints every `interval`.
    fn kept(interval: f64, cost: f64, mtbf: f64) -> f64 {
        interval / mtbf / ((interval + cost) / mtbf).exp_m1()
    }

    #[test]
    fn no_other_interval_keeps_more() {
        for (cost, mtbf) in [(100.0 / 3600.0, 18.0), (0.1, 1.0), (0.001, 300.0), (3.0, 1.0)] {
            let best = best(cost, mtbf);
            for factor in [0.9, 0.99, 1.01, 1.1] {
                assert!(kept(best, cost, mtbf) > kept(best * factor, cost, mtbf), "{cost} {mtbf} {factor}");
            }
        }
    }

    #[test]
    fn young_and_daly_near_the_best_where_checkpoints_are_cheap() {
        let (cost, mtbf) = (100.0 / 3600.0, 18.0);
        let best = best(cost, mtbf);
        assert!((daly(cost, mtbf) / best - 1.0).abs() < 1e-4);
        assert!((young(cost, mtbf) / best - 1.0).abs() < 0.03);
        assert!((young(2.0, 100.0) - 20.0).abs() < 1e-12);
        assert_eq!(daly(3.0, 1.0), 1.0);
        assert_eq!(super::best(1.0, f64::INFINITY), f64::INFINITY);
    }
}
