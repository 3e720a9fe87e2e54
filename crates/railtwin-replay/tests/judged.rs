//! The judge's answers on simulated faults: those that it gives on recorded ones.
use railtwin_live::record::{Body, Record};
use railtwin_live::{JudgeSettings, LiveKind, SuspectPlace, replay};
use railtwin_replay::ReplaySettings;

use crate::beside::{FAULT_NS, FAULTS, HANG_NS, Told, as_recorded, fault, simulated};

/// The kind of a fault, what is accused, and within how many seconds; those that the recordings are held to.
fn wanted(name: &str, rank: u32) -> (LiveKind, SuspectPlace, f64) {
    let (of_rank, nic) = (SuspectPlace::Rank(rank), SuspectPlace::Nic(rank));
    match name {
        "stop" => (LiveKind::StoppedProcess, of_rank, 2.0),
        "kill" => (LiveKind::KilledProcess, of_rank, 2.0),
        "slowcomp" => (LiveKind::SlowCompute, of_rank, 3.0),
        "slowdata" => (LiveKind::SlowData, of_rank, 3.0),
        "thr_up" | "thr_down" => (LiveKind::SlowLink, nic, 3.0),
        "silent1" | "silent2" => (LiveKind::SilentLink, nic, 2.0),
        _ => (LiveKind::LossyLink, nic, 3.0),
    }
}

/// The job as a cluster varies, in place of ranks that sleep.
fn varied(text: &str) -> String {
    text.replace("jitter = \"none\"", "jitter = \"measured\"")
}

#[test]
fn a_job_without_a_fault_gives_no_incident() {
    for seed in 1..=8 {
        let told = Told::simulated(seed, "none", 0);
        assert!(told.incidents().is_empty(), "seed {seed}: {:?}", told.incidents());
        let steady = simulated(seed, "", &ReplaySettings::default(), varied);
        let incidents = replay::incidents(&steady.records(), JudgeSettings { hang_ns: HANG_NS });
        assert!(incidents.is_empty(), "seed {seed}: {incidents:?}");
    }
}

#[test]
fn each_fault_is_told_as_the_recorded_one() {
    for name in FAULTS {
        for (seed, rank) in [(1, 6), (2, 0), (3, 3)] {
            let told = Told::simulated(seed, name, rank);
            let incidents = told.incidents();
            let (kind, place, open_s) = wanted(name, rank);
            let [one] = &incidents[..] else { panic!("{name} at rank {rank}: {incidents:?}") };
            assert_eq!((one.kind, one.suspects[0].place), (kind, place), "{name} at rank {rank}: {one:?}");
            let after = (one.opened_ns as f64 - FAULT_NS as f64) / 1e9;
            assert!((0.0..open_s).contains(&after), "{name} at rank {rank} opened at {after} s");
            assert!(one.confirmed_ns.is_some(), "{name} at rank {rank}: {one:?}");
        }
    }
}

#[test]
fn each_fault_is_told_where_ranks_vary_and_links_keep_their_rate() {
    for name in FAULTS {
        let job = simulated(5, &fault(name, 4), &ReplaySettings::default(), varied);
        let incidents = replay::incidents(&job.records(), JudgeSettings { hang_ns: HANG_NS });
        let (kind, place, _) = wanted(name, 4);
        let told: Vec<_> = incidents.iter().map(|one| (one.kind, one.suspects[0].place)).collect();
        assert_eq!(told, [(kind, place)], "{name}");
    }
}

#[test]
fn a_fault_that_is_repaired_closes_its_incident() {
    for name in ["slowcomp", "slowdata", "thr_down", "silent2", "stop"] {
        let text = fault(name, 2) + "until = \"8 s\"\n";
        let job = simulated(1, &text, &ReplaySettings::default(), str::to_owned);
        let incidents = replay::incidents(&job.records(), JudgeSettings { hang_ns: HANG_NS });
        let [one] = &incidents[..] else { panic!("{name}: {incidents:?}") };
        let closed = one.closed_ns.map(|at| at as f64 / 1e9);
        assert!(closed.is_some_and(|at| (8.0..14.0).contains(&at)), "{name} closed at {closed:?}");
    }
}

fn judged(records: &[Record]) -> Vec<(LiveKind, Vec<u32>)> {
    let incidents = replay::incidents(records, JudgeSettings { hang_ns: HANG_NS });
    let ranks = |one: &railtwin_live::LiveIncident| one.suspects.iter().map(|one| one.place.rank()).collect();
    incidents.iter().map(|one| (one.kind, ranks(one))).collect()
}

#[test]
fn a_stop_is_told_wherever_in_a_step_it_comes() {
    // Some ranks have left an operation that others are in: nobody is accused for that.
    for (name, kind) in [
        ("stop", LiveKind::StoppedProcess),
        ("kill", LiveKind::KilledProcess),
        ("silent1", LiveKind::SilentLink),
        ("silent2", LiveKind::SilentLink),
    ] {
        for ms in (0..200).step_by(8) {
            let text = fault(name, 5).replace("at = \"5 s\"", &format!("at = \"{} ms\"", 5_000 + ms));
            let settings = ReplaySettings { watch_s: 8.0, ..as_recorded() };
            let job = simulated(1, &text, &settings, str::to_owned);
            assert_eq!(judged(&job.records()), [(kind, vec![5])], "{name} at 5 s and {ms} ms");
        }
    }
}

#[test]
fn without_pings_timers_and_stages_name_a_silent_link() {
    for rank in 0..8 {
        let job = simulated(1, &fault("silent2", rank), &as_recorded(), str::to_owned);
        let mut records = job.records();
        for record in &mut records {
            if let Body::Heartbeat(beat) = &mut record.body {
                beat.ping.clear();
            }
        }
        let told = judged(&records);
        let [(kind, ranks)] = &told[..] else { panic!("rank {rank}: {told:?}") };
        assert!(
            *kind == LiveKind::SilentLink && ranks.contains(&rank) && ranks.len() <= 2,
            "rank {rank}: {told:?}"
        );
    }
}
