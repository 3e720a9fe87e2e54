//! Rates of queue pairs: what links carry bounds them, and the narrowest link of a bundle sets its pace.
#![allow(clippy::unwrap_used, reason = "a test")]
use crate::kit;
use std::collections::BTreeMap;

use kit::{Job, case, states};
use railtwin_engine::EdgeRates;
use railtwin_fabric::{HostId, LinkId};
use railtwin_units::SimTime;

/// Pace over each link of a pattern.
fn loads(rates: &EdgeRates, pattern: usize) -> BTreeMap<u32, f64> {
    let mut loads = BTreeMap::new();
    for row in rates.bundles_of(pattern).flat_map(|bundle| rates.rows_of(bundle)) {
        for &link in rates.links_of(row) {
            *loads.entry(link).or_default() += rates.pace[row];
        }
    }
    loads
}

#[test]
fn no_pattern_alone_overfills_a_link_and_no_queue_pair_is_slower_than_its_pace() {
    for job in [Job::new(1, 1, 32, 1), Job::new(8, 1, 8, 1), Job::new(8, 4, 2, 1), Job::new(1, 1, 32, 16)] {
        let case = case(job, 1);
        let rates = &states(&case, &[])[0];
        assert!(rates.rows() > 0);
        for pattern in 0..case.work.patterns {
            for (link, load) in loads(rates, pattern) {
                let capacity = case.fabric.capacity(LinkId(link)).bytes_per_s();
                assert!(load <= capacity * (1.0 + 1e-9), "link {link}: {load} of {capacity}");
            }
        }
        for row in 0..rates.rows() {
            assert!(rates.rate[row] >= rates.pace[row] && rates.pace[row] > 0.0, "row {row}");
        }
    }
}

#[test]
fn only_what_crosses_a_throttled_link_has_nothing_to_spare() {
    let mut case = case(Job::new(8, 1, 8, 1), 1);
    let nic = case.fabric.nic(HostId(2), 5);
    let link = case.fabric.access_link(nic, 1).unwrap();
    case.impairments = vec![kit::throttled(link, 0.4)];
    let states = states(&case, &[SimTime::ZERO]);
    let (healthy, now) = (&states[0], &states[1]);
    let mut crossing = 0;
    for bundle in 0..now.communicator.len() {
        let slowed = now.rows_of(bundle).any(|row| now.links_of(row).contains(&link.0));
        for row in now.rows_of(bundle) {
            let crosses = now.links_of(row).contains(&link.0);
            crossing += usize::from(crosses);
            let spare = now.rate[row] / now.pace[row];
            let expected = if slowed && !crosses { 2.5 } else { 1.0 };
            assert!((spare - expected).abs() < 1e-6, "row {row}: {spare}");
            let slower = healthy.pace[row] / now.pace[row];
            assert!((slower - if slowed { 2.5 } else { 1.0 }).abs() < 1e-6, "row {row}: {slower}");
        }
    }
    assert!(crossing > 0);
}
