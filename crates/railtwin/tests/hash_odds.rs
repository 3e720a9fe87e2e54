//! Hashed rings keep the share of line rate that the odds of balls in bins leave them: neither the hash nor the split of a
//! connection costs more than chance does.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::path::Path;

use railtwin::{Question, Run};

use crate::kit::Draws;

const UPLINKS: usize = 16;
const RACKS: usize = 8;
/// Draws of the odds, and of the hash.
const DRAWS: u64 = 2000;
const SEEDS: u64 = 100;

/// Mean bus bandwidth of rings from rack to rack, 16 NICs each.
fn bus_bandwidth(balancer: &str, queue_pairs: usize) -> f64 {
    let text = format!(
        "schema = 1\nname = \"odds\"\n[run]\nreplicates = {SEEDS}\n[fabric]\npreset = \"ai-zone\"\nsegments = {RACKS}\n\
         uplinks = {UPLINKS}\n[routing]\nbalancer = \"{balancer}\"\nqueue_pairs = {queue_pairs}\n[[job]]\nname = \"rings\"\n\
         hosts = 16\nplacement = \"spread\"\n\
         collective = {{ kind = \"all-reduce\", bytes = \"4 GB\", algorithm = \"ring\", per = \"rail\" }}\n"
    );
    let question = Question::of_text("odds.toml", &text, Path::new("."));
    let point = question.points().unwrap().remove(0);
    let run = Run::of(question.resolve(&point.scenario).unwrap(), &|| ());
    run.info.figure("busbw_mean").unwrap().value.unwrap()
}

/// Share of line rate kept in the mean: 16 NICs of a rack put their queue pairs on 16 uplinks, and all wait for the fullest
/// of all racks.
fn odds(queue_pairs: usize) -> f64 {
    let mut draws = Draws::new(queue_pairs as u64);
    let kept = (0..DRAWS).map(|_| {
        let mut uplinks = [0_usize; UPLINKS * RACKS];
        for rack in 0..RACKS {
            for _ in 0..UPLINKS * queue_pairs {
                uplinks[rack * UPLINKS + draws.below(UPLINKS as u64) as usize] += 1;
            }
        }
        queue_pairs as f64 / *uplinks.iter().max().unwrap() as f64
    });
    kept.sum::<f64>() / DRAWS as f64
}

#[test]
fn hashed_rings_keep_what_the_odds_leave_them() {
    let line = bus_bandwidth("spray", 1);
    for balancer in ["ecmp", "e-ecmp"] {
        for queue_pairs in [1, 4, 16] {
            let (kept, odds) = (bus_bandwidth(balancer, queue_pairs) / line, odds(queue_pairs));
            assert!(
                (kept / odds - 1.0).abs() < 0.04,
                "{balancer} {queue_pairs}: {kept:.4}, by the odds {odds:.4}"
            );
        }
    }
}
