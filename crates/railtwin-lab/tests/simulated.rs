//! Bandwidth by balancer, gaps of faults, reaction of probes.
use std::path::Path;

use railtwin::{Question, Run};
use railtwin_lab::simulated::{DrawOutcome, SimulatedFault, by_balancer, four_jobs, gap_of, probe_reaction};

/// The lab measured 88 and 188 Mbit/s under hashing and planned ports; the simulation lies within 10 % of both.
#[test]
fn means_lie_within_a_tenth_of_what_the_lab_measured() {
    for (balancer, measured) in [("ecmp", 88e6), ("c4p", 188e6)] {
        let all = by_balancer(&four_jobs(balancer).unwrap().case, 40).unwrap();
        let mean = all.iter().map(DrawOutcome::mean_bit_per_s).sum::<f64>() / 40.0;
        assert!((mean / measured - 1.0).abs() < 0.1, "{balancer}: {mean}");
        let crowd: Vec<u32> = all.iter().map(|draw| draw.most_on_a_link).collect();
        match balancer {
            "c4p" => assert!(crowd.iter().all(|&most| most == 2), "{crowd:?}"),
            _ => assert!(crowd.iter().all(|&most| most > 2), "{crowd:?}"),
        }
    }
    let unknown = four_jobs("spray").unwrap_err().to_string();
    assert!(unknown.contains("no point with balancer \"spray\"; there are ecmp, disjoint, c4p"), "{unknown}");
}

#[test]
fn gaps_of_faults_lie_in_their_bands() {
    for fault in SimulatedFault::ALL {
        let gap = gap_of(fault, 100).unwrap();
        assert!(gap.least_s <= gap.median_s && gap.median_s <= gap.most_s && gap.mean_s <= gap.most_s);
        match fault.accepted_s() {
            None => assert!(gap.least_s.is_infinite(), "{fault:?}: {gap:?}"),
            Some((least, most)) => {
                assert!(least <= gap.median_s && gap.median_s <= most, "{fault:?}: {gap:?}");
                assert!(!fault.measured().is_empty());
            }
        }
    }
}

/// A survey each 100 ms whose lost answers are waited for 100 ms: between one and two periods, evenly.
#[test]
fn probes_find_a_silent_link_between_one_and_two_periods() {
    let reaction = probe_reaction(10).unwrap();
    assert_eq!((reaction.period_s, reaction.timeout_s, reaction.packets, reaction.paths), (0.1, 0.1, 3, 32));
    let sending = reaction.mean_s - 0.15;
    assert!((0.0..0.01).contains(&sending), "{reaction:?}");
    assert!(reaction.least_s >= 0.1 && reaction.most_s <= 0.21, "{reaction:?}");
    assert!((reaction.most_s - reaction.least_s - 0.09).abs() < 1e-3, "{reaction:?}");
}

/// What `railtwin run` would refuse in the scenarios of the lab.
#[test]
fn scenarios_of_the_lab_meet_what_they_expect() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/lab");
    for (name, points) in [("four-jobs", 3), ("probing", 1)] {
        let question = Question::read(&folder.join(format!("{name}.toml"))).unwrap();
        let all = question.points().unwrap();
        assert_eq!(all.len(), points, "{name}");
        for point in all {
            assert!(!point.scenario.expect.is_empty() && point.scenario.name == name);
            let run = Run::of(question.resolve(&point.scenario).unwrap(), &|| ());
            let missed: Vec<String> = run.unexpected().iter().map(ToString::to_string).collect();
            assert!(missed.is_empty(), "{name}: {missed:?}");
        }
    }
}
