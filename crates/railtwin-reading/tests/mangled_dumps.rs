//! Dumps of two real hangs, renamed, cut, of earlier moments and missing: no rank may be accused that was not broken.
//!
//! `MANGLED_DUMPS=1000 cargo test -p railtwin-reading --test mangled_dumps -- --nocapture` makes 1,000 variants of each kind
//! of each hang.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use railtwin_diagnosis::hang::dumps::{DumpedOperation, Dumps, Work, findings_of_dumps};
use railtwin_formats::telemetry::FlightRecorderDump;
use railtwin_reading::flight::dumps_of;
use railtwin_units::stream::{self, Stream};
use rand::RngExt;
use rand::seq::SliceRandom;

/// Variants of each kind and hang, where nobody asks for more.
const VARIANTS: u64 = 60;
const RANKS: u32 = 16;
/// The hangs and the ranks that were broken.
const HANGS: [(&str, [u32; 2]); 2] = [("gpu_error_1st", [12, 14]), ("lock_gil_2nd", [10, 15])];
const KINDS: [&str; 6] = ["renamed", "cut", "early", "early reports", "missing", "four at once"];

fn dumps(run: &str) -> Dumps {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/telemetry/flight_recorder").join(run);
    let read = |rank: u32| {
        let name = format!("_dump_{rank}");
        let bytes = std::fs::read(folder.join(&name)).unwrap();
        FlightRecorderDump::parse(&name, &bytes, Some(rank)).unwrap()
    };
    dumps_of(&(0..RANKS).map(read).collect::<Vec<_>>(), &BTreeSet::new(), &BTreeSet::new())
}

/// Other ranks, names and orders; returns the new number of each rank.
fn rename(dumps: &mut Dumps, rng: &mut Stream) -> Vec<u32> {
    let mut ranks: Vec<u32> = (0..RANKS).map(|rank| 7 * rank + 3).collect();
    ranks.shuffle(rng);
    let mut rows: Vec<usize> = (0..dumps.groups.len()).collect();
    rows.shuffle(rng);
    let mut groups = dumps.groups.clone();
    for (from, &to) in rows.iter().enumerate() {
        groups[to] = dumps.groups[from].clone();
        groups[to].name = format!("g{}", rng.random::<u32>());
        groups[to].ranks.iter_mut().for_each(|rank| *rank = ranks[*rank as usize]);
    }
    dumps.groups = groups;
    for dump in &mut dumps.dumps {
        dump.rank = ranks[dump.rank as usize];
        dump.status = dump.status.iter().map(|(row, told)| (rows[*row], *told)).collect();
        for one in &mut dump.operations {
            one.group = rows[one.group];
            if let Work::Peers(peers) = &mut one.work {
                *peers = peers.iter().map(|(peer, sends)| (ranks[*peer as usize], *sends)).collect();
            }
        }
        dump.operations.shuffle(rng);
    }
    dumps.dumps.shuffle(rng);
    ranks
}

/// Records or counts of some ranks are lost.
fn cut(dumps: &mut Dumps, rng: &mut Stream) {
    let share = rng.random_range(0.05..0.6);
    for dump in &mut dumps.dumps {
        if rng.random_bool(0.5) {
            dump.operations.retain(|_| !rng.random_bool(share));
        }
        if rng.random_bool(0.2) {
            dump.counts_all = false;
            dump.status.retain(|_, _| !rng.random_bool(share));
        }
    }
}

/// Some dumps were made earlier: what their ranks put on their streams last is not in them, and counts fall with the records.
/// One record stays: a rank with nothing open had stopped where the broken ones did, whoever looks.
fn made_earlier(dumps: &mut Dumps, rng: &mut Stream) {
    for _ in 0..rng.random_range(1..4) {
        let row = rng.random_range(0..dumps.dumps.len());
        let dump = &mut dumps.dumps[row];
        dump.operations.sort_by_key(|one| one.record);
        let keep = rng.random_range(1..=dump.operations.len().max(1)).min(dump.operations.len());
        let mut lost: BTreeMap<usize, u64> = BTreeMap::new();
        dump.operations.drain(keep..).for_each(|one| *lost.entry(one.group).or_default() += 1);
        for (group, (enqueued, _)) in &mut dump.status {
            let fewer = lost.get(group).copied().unwrap_or(0);
            *enqueued = enqueued.map(|last| last.saturating_sub(fewer));
        }
    }
}

/// The watchdog of one rank had seen less: operations that ended last in some of its communicators are still open.
fn reported_earlier(dumps: &mut Dumps, rng: &mut Stream) {
    let row = rng.random_range(0..dumps.dumps.len());
    let dump = &mut dumps.dumps[row];
    let known: BTreeMap<usize, DumpedOperation> = (dump.operations.iter())
        .filter(|one| !matches!(one.work, Work::Peers(_)))
        .map(|one| (one.group, one.clone()))
        .collect();
    let before = dump.operations.iter().map(|one| one.record).min().unwrap_or(u64::MAX / 2);
    let all = rng.random_bool(0.5);
    for (group, like) in known {
        let Some((_, Some(ended))) = dump.status.get(&group).copied() else { continue };
        if !all && rng.random_bool(0.6) {
            continue;
        }
        let unseen = rng.random_range(0..24.min(ended));
        for number in 0..unseen {
            let sequence = ended - number;
            let record = before.saturating_sub(1 + number);
            dump.operations.push(DumpedOperation { sequence, record, call: None, ..like.clone() });
        }
        dump.status.entry(group).and_modify(|told| told.1 = Some(ended - unseen));
    }
}

fn go_missing(dumps: &mut Dumps, rng: &mut Stream) {
    let share = rng.random_range(0.05..0.7);
    dumps.dumps.retain(|_| !rng.random_bool(share));
}

/// Ranks that are accused.
fn accused(dumps: &Dumps) -> BTreeSet<u32> {
    let (findings, _) = findings_of_dumps(dumps, "job");
    let all = findings.iter().filter(|finding| finding.accuses()).flat_map(|finding| &finding.suspects);
    all.map(|one| one.component.name().rsplit('/').next().unwrap().parse().unwrap()).collect()
}

#[test]
fn no_variant_of_a_real_hang_accuses_a_rank_that_was_not_broken() {
    let variants = std::env::var("MANGLED_DUMPS").map_or(VARIANTS, |count| count.parse().unwrap());
    let mut wrong = Vec::new();
    for (run, broken) in HANGS {
        let real = dumps(run);
        assert_eq!(accused(&real), BTreeSet::from(broken), "{run}");
        for kind in KINDS {
            let (mut named, mut both, mut innocent) = (0, 0, Vec::new());
            for seed in 0..variants {
                let mut rng = stream::named(seed, &format!("{run} {kind}"));
                let mut variant = real.clone();
                let mut ranks: Vec<u32> = (0..RANKS).collect();
                let is = |one: &str| kind == one || kind == "four at once";
                if is("renamed") {
                    ranks = rename(&mut variant, &mut rng);
                }
                if is("missing") {
                    go_missing(&mut variant, &mut rng);
                }
                if is("early") && !variant.dumps.is_empty() {
                    made_earlier(&mut variant, &mut rng);
                }
                if kind == "early reports" && !variant.dumps.is_empty() {
                    reported_earlier(&mut variant, &mut rng);
                }
                if is("cut") {
                    cut(&mut variant, &mut rng);
                }
                let found = accused(&variant);
                let truth: BTreeSet<u32> = broken.iter().map(|rank| ranks[*rank as usize]).collect();
                named += usize::from(!found.is_empty());
                both += usize::from(found == truth);
                if !found.is_subset(&truth) {
                    innocent.push((seed, found, truth.clone()));
                }
                assert!(kind != "renamed" || accused(&variant) == truth, "{run} {kind} {seed}");
            }
            println!(
                "{run}, {kind}: {named} of {variants} accuse, {both} both broken ranks, {} an innocent one",
                innocent.len()
            );
            wrong.extend(innocent.into_iter().map(|one| (run, kind, one)));
        }
    }
    assert!(wrong.is_empty(), "{} innocent: {:?}", wrong.len(), wrong.iter().take(20).collect::<Vec<_>>());
}
