//! Whether spares suffice. Hosts fail one by one; a broken host comes back after its repair.
use railtwin_units::probability::poisson_above;

/// Share of time in which all of `places` are taken, where `load` = arrivals times holding time (Erlang's loss
/// formula; it holds for repairs of any spread). With `spares + 1` places it is the share of time in which a job
/// that stops failing while it waits has one host too few.
pub fn erlang_loss(load: f64, places: u32) -> f64 {
    if load <= 0.0 {
        return 0.0;
    }
    // The usual recursion; its inverse does not overflow.
    let mut inverse = 1.0f64;
    for place in 1..=places {
        inverse = 1.0 + inverse * f64::from(place) / load;
        if inverse.is_infinite() {
            return 0.0;
        }
    }
    1.0 / inverse
}

/// The least number of spares with which at most `1 - availability` of the time more hosts are out, where `mean`
/// are out on average (Poisson).
pub fn spares_for(mean: f64, availability: f64) -> u32 {
    let most = (mean + 40.0 * (mean.sqrt() + 1.0)).min(1e7) as u32;
    (0..most).find(|&spares| poisson_above(mean, spares) <= 1.0 - availability).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(ours: f64, theirs: f64) {
        assert!((ours / theirs - 1.0).abs() < 1e-9, "{ours} {theirs}");
    }

    #[test]
    fn erlang_is_the_cut_poisson() {
        let (load, places) = (3.0f64, 5u32);
        let weight = |k: u32| load.powi(k as i32) / (1..=k).map(f64::from).product::<f64>();
        near(erlang_loss(load, places), weight(places) / (0..=places).map(weight).sum::<f64>());
        assert_eq!((erlang_loss(1e-3, 2000), erlang_loss(0.0, 3)), (0.0, 0.0));
    }

    #[test]
    fn spares_are_the_least_that_suffice() {
        let spares = spares_for(2.0, 0.999);
        assert!(poisson_above(2.0, spares) <= 1e-3 && poisson_above(2.0, spares - 1) > 1e-3);
        assert_eq!(spares_for(0.0, 0.999), 0);
    }
}
