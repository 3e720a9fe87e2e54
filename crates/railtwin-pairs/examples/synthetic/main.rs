//! Scores the inference on synthetic cases: `cargo run --release -p railtwin-pairs --example synthetic [SEED] [PART] [KIND]`.
//!
//! PART divides the number of cases. The table has one line for each kind; a second seed gives other cases.
mod cases;
mod score;

use cases::{KINDS, case};
use railtwin_pairs::{FaultShape, infer};
use score::{Verdict, rename, renamed, score};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |at: usize, usual: u64| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (seed, part, only) = (number(0, 1), number(1, 1).max(1) as usize, arguments.get(2));
    let mut sums = [[0_usize; 5]; 2];
    let mut differ = 0;
    println!("{:<44} {:>6} {:>6} {:>6} {:>6} {:>6}", "kind", "cases", "right", "honest", "silent", "wrong");
    for (row, (kind, count)) in KINDS.iter().enumerate() {
        if only.is_some_and(|only| !kind.contains(only.as_str())) {
            continue;
        }
        let mut counts = [0_usize; 5];
        for at in 0..count.div_ceil(part) {
            let own = seed.wrapping_mul(1_000_003) + (row * 10_000 + at) as u64;
            let case = case(kind, own);
            let answer = infer(&case.set);
            let verdict = score(&case, &answer);
            counts[0] += 1;
            counts[1 + verdict as usize] += 1;
            if verdict == Verdict::Wrong || (only.is_some() && verdict == Verdict::Silent) {
                println!("  {verdict:?} {own}: truth {:?}", case.truth);
                for cause in &answer.causes {
                    let others: Vec<&FaultShape> = cause.alternatives.iter().map(|one| &one.shape).collect();
                    println!("    {:.1} bits, {:?} slow: {others:?}", cause.bits, cause.slow);
                }
            }
            if at % 5 == 0 {
                let (set, hosts, places) = renamed(&case, own);
                let mut told: Vec<FaultShape> =
                    answer.causes.iter().map(|cause| rename(&cause.shape, &hosts, &places)).collect();
                let other = infer(&set);
                let mut others: Vec<FaultShape> = other
                    .causes
                    .iter()
                    .map(|cause| {
                        let known = cause.alternatives.iter().find(|one| told.contains(&one.shape));
                        known.map_or(&cause.shape, |one| &one.shape).clone()
                    })
                    .collect();
                let same: Vec<usize> = (0..hosts.len()).collect();
                let rails: Vec<usize> = (0..places.len()).collect();
                others.iter_mut().for_each(|one| *one = rename(one, &same, &rails));
                told.sort();
                others.sort();
                if told != others {
                    differ += 1;
                    println!("  differs when renamed {own}: {told:?} and {others:?}");
                }
            }
        }
        println!(
            "{kind:<44} {:>6} {:>6} {:>6} {:>6} {:>6}",
            counts[0], counts[1], counts[2], counts[3], counts[4]
        );
        let sum = &mut sums[usize::from(!kind.starts_with("healthy"))];
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    for (name, sum) in ["healthy", "with a fault"].into_iter().zip(sums) {
        println!("{name:<44} {:>6} {:>6} {:>6} {:>6} {:>6}", sum[0], sum[1], sum[2], sum[3], sum[4]);
    }
    println!("answers that differ when renamed: {differ}");
}
