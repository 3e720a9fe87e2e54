//! Memory and time of a score card, before its faults are injected.
use railtwin::cost::Cost;

/// Bytes beside those of ranks.
const BASE: f64 = 55e6;
/// Bytes of a rank: its telemetry of one trial.
const OF_RANK: f64 = 50e3;
/// Seconds of a trial beside those of ranks, and of each rank.
const TRIAL_S: [f64; 2] = [0.07, 0.8e-3];
/// Seconds of an hour without a fault, for each rank.
const HOUR_S: f64 = 6e-3;
/// Seconds of a trial with files, for each rank.
const FILES_S: f64 = 6.5e-3;
/// Seconds of a trial in packets.
const PACKETS_S: f64 = 12.0;

/// Cost of so many faults, each drawn `seeds` times, and of hours without one, at each number of ranks.
pub fn of_ranks(ranks: &[u32], (faults, seeds): (usize, u32), hours: f64) -> Cost {
    let trials = faults as f64 * f64::from(seeds);
    let seconds = |ranks: f64| trials * (TRIAL_S[0] + ranks * TRIAL_S[1]) + hours * ranks * HOUR_S;
    let most = ranks.iter().copied().max().unwrap_or(0);
    Cost {
        rows: format!("{trials} trials of up to {most} ranks"),
        bytes: BASE + f64::from(most) * OF_RANK,
        seconds: ranks.iter().map(|&ranks| seconds(f64::from(ranks))).sum(),
        remedy: "fewer --ranks",
    }
}

/// Cost of so many faults, each drawn `seeds` times, whose files all judges read, at each number of ranks.
pub fn of_files(ranks: &[u32], faults: usize, seeds: u32) -> Cost {
    let cost = of_ranks(ranks, (faults + 1, seeds), 0.0);
    let trials = (faults + 1) as f64 * f64::from(seeds);
    let seconds = trials * ranks.iter().map(|&ranks| f64::from(ranks) * FILES_S).sum::<f64>();
    Cost { seconds, ..cost }
}

/// Cost of so many faults in packets, each drawn `seeds` times, and of as many runs without one as one of them has.
pub fn of_packets(faults: usize, seeds: u32) -> Cost {
    let trials = (faults + 1) as f64 * f64::from(seeds);
    Cost {
        rows: format!("{trials} runs of packets"),
        bytes: BASE,
        seconds: trials * PACKETS_S,
        remedy: "fewer --seeds",
    }
}
