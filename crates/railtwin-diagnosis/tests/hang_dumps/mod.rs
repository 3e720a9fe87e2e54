//! Hangs from dumps, against jobs that a machine of streams runs (`machine`), whose model the detector does not share.
mod machine;

use std::collections::{BTreeMap, BTreeSet};

use machine::{Cut, Fault, Item, Job, draw, dumps, run};
use railtwin_diagnosis::hang::dumps::{
    DumpedGroup, DumpedOperation, Dumps, RankDump, Work, findings_of_dumps,
};
use railtwin_records::{Component, Finding, Syndrome};
use railtwin_units::stream::{self, Stream};
use rand::RngExt;
use rand::seq::SliceRandom;

fn rank_of(component: &Component) -> u32 {
    let Component::Rank(name) = component else { panic!("{component:?}") };
    name.rsplit('/').next().and_then(|rank| rank.parse().ok()).expect("a rank")
}

/// Ranks that are accused.
fn accused(findings: &[Finding]) -> BTreeSet<u32> {
    let all = findings.iter().filter(|finding| finding.accuses());
    all.flat_map(|finding| &finding.suspects).map(|suspect| rank_of(&suspect.component)).collect()
}

/// Ranks that are in the answer at all.
fn told(findings: &[Finding]) -> BTreeSet<u32> {
    findings.iter().flat_map(|finding| &finding.suspects).map(|suspect| rank_of(&suspect.component)).collect()
}

/// A fault at a place of a program from which on something is still launched.
fn fault(job: &Job, rank: u32, rng: &mut Stream) -> Fault {
    let length = job.programs[rank as usize].len();
    let from = rng.random_range(length / 5..length * 4 / 5);
    match rng.random_range(0..3) {
        0 => Fault::CpuStops(from),
        1 => Fault::KernelHangs(from),
        _ => {
            let gpu = (from + rng.random_range(0..20)).min(length);
            Fault::Blind { from, gpu, cpu: (gpu + rng.random_range(0..20)).min(length) }
        }
    }
}

struct Hung {
    job: Job,
    faults: BTreeMap<u32, Fault>,
    dumps: Dumps,
}

/// A job that stands still because of one or two ranks, none where it ended all the same.
fn hung(seed: u64) -> Option<Hung> {
    let mut rng = stream::named(seed, "dumps");
    let job = draw(&mut rng);
    let ranks = job.programs.len() as u32;
    let mut faults = BTreeMap::new();
    for _ in 0..rng.random_range(1..3) {
        let rank = rng.random_range(0..ranks);
        faults.insert(rank, fault(&job, rank, &mut rng));
    }
    if 2 * faults.len() >= ranks as usize {
        return None;
    }
    let past = run(&job, &faults);
    let cut = Cut {
        at: past.last + 600.0,
        apart: 10.0,
        lag: 0.1,
        only_open: rng.random(),
        starts: rng.random_bool(0.3),
    };
    let mut dumps = dumps(&job, &past, cut, &mut rng);
    if rng.random_bool(0.5) {
        dumps.timed_out = Some("the watchdog says so".into());
    }
    let open = dumps.dumps.iter().flat_map(|dump| &dump.operations).any(|operation| !operation.completed);
    open.then_some(Hung { job, faults, dumps })
}

const CASES: u64 = 1_000;

/// An all-reduce that is enqueued, of which nothing is recorded beside; by its communicator and its number.
fn pending((group, sequence): (usize, u64), record: u64) -> DumpedOperation {
    DumpedOperation {
        group,
        sequence,
        record,
        work: Work::Whole,
        name: "all-reduce".into(),
        call: None,
        started: None,
        completed: false,
        given_up: false,
        created_ns: 1,
        last_ns: 1,
        timeout_ns: None,
        frame: None,
    }
}

#[test]
fn only_broken_ranks_are_accused_and_stopped_processes_are_found() {
    let (mut cases, mut stopped, mut found, mut blind, mut seen) = (0, 0, 0, 0, 0);
    for seed in 0..CASES {
        let Some(Hung { faults, dumps, .. }) = hung(seed) else { continue };
        let (findings, notes) = findings_of_dumps(&dumps, "job");
        let culprits: BTreeSet<u32> = faults.keys().copied().collect();
        let accused = accused(&findings);
        assert!(
            accused.is_subset(&culprits),
            "seed {seed}: {accused:?} of {faults:?}: {notes:?} {findings:#?}"
        );
        cases += 1;
        // One process that stopped, in a job that is known to stand still, is named, or at least in the set that is told.
        let one = faults.len() == 1 && dumps.timed_out.is_some();
        match faults.values().next() {
            Some(Fault::CpuStops(_)) if one => {
                stopped += 1;
                found += usize::from(accused == culprits);
                assert!(
                    culprits.is_subset(&told(&findings)),
                    "seed {seed}: {faults:?} {notes:?} {findings:#?}"
                );
            }
            Some(Fault::Blind { .. }) if one => {
                blind += 1;
                seen += usize::from(accused == culprits);
            }
            _ => {}
        }
    }
    println!("{cases} hangs; stopped processes {found} of {stopped}, blind ones {seen} of {blind}");
    assert!(stopped > 50 && 10 * found >= 9 * stopped, "{found} of {stopped}");
}

#[test]
fn victims_without_a_dump_and_lost_records_accuse_no_innocent() {
    for seed in 0..CASES {
        let Some(Hung { faults, dumps, .. }) = hung(seed) else { continue };
        let mut rng = stream::named(seed + 7, "dumps");
        let mut less = dumps.clone();
        let share = rng.random_range(0.1..0.9);
        less.dumps.retain(|dump| faults.contains_key(&dump.rank) || !rng.random_bool(share));
        let one = accused(&findings_of_dumps(&less, "job").0);
        assert!(
            one.iter().all(|rank| faults.contains_key(rank)),
            "seed {seed}: {one:?} of {faults:?} without dumps"
        );
        let mut torn = dumps.clone();
        // What has ended goes first, as in a ring; of collectives the counts of their communicator tell that one is gone.
        for dump in &mut torn.dumps {
            dump.is_whole = false;
            let goes = |one: &DumpedOperation| one.completed || !matches!(one.work, Work::Peers(_));
            dump.operations.retain(|one| !(goes(one) && rng.random_bool(share / 2.0)));
        }
        let one = accused(&findings_of_dumps(&torn, "job").0);
        assert!(
            one.iter().all(|rank| faults.contains_key(rank)),
            "seed {seed}: {one:?} of {faults:?} with lost records"
        );
    }
}

/// Whoever calls something else than two others or more under one number is named, and where there are two that differ both
/// are told and neither is accused of it.
#[test]
fn who_calls_something_else_than_most_is_named() {
    let (mut named, mut pairs) = (0, 0);
    for seed in 0..CASES {
        let Some(Hung { dumps, .. }) = hung(seed) else { continue };
        let mut rng = stream::named(seed + 13, "dumps");
        let is_open = |one: &&DumpedOperation| !one.completed && !matches!(one.work, Work::Peers(_));
        // What each rank that waits is in.
        let fronts = dumps.dumps.iter().filter_map(|dump| {
            let open = dump.operations.iter().filter(|one| !one.completed);
            open.min_by_key(|one| one.record).filter(is_open).map(|one| (dump.rank, one.group, one.sequence))
        });
        let fronts: Vec<(u32, usize, u64)> = fronts.collect();
        let Some(&(rank, group, sequence)) = fronts.get(rng.random_range(0..fronts.len().max(1))) else {
            continue;
        };
        let is_it = |one: &DumpedOperation| {
            (one.group, one.sequence) == (group, sequence) && !matches!(one.work, Work::Peers(_))
        };
        let recorded: BTreeSet<u32> = dumps
            .dumps
            .iter()
            .filter(|dump| dump.operations.iter().any(is_it))
            .map(|dump| dump.rank)
            .collect();
        let mut other = dumps.clone();
        for dump in other.dumps.iter_mut().filter(|dump| dump.rank == rank) {
            dump.operations
                .iter_mut()
                .filter(|one| is_it(one))
                .for_each(|one| one.call = Some("gather".into()));
        }
        let (findings, notes) = findings_of_dumps(&other, "job");
        // Nothing is said of a rank whose dump is of an earlier moment, in what nobody else is.
        if notes.iter().any(|note| note.contains("moment")) {
            continue;
        }
        let differ: Vec<&Finding> =
            findings.iter().filter(|finding| finding.syndrome == Syndrome::Mismatch).collect();
        let of = |finding: &Finding| -> BTreeSet<u32> {
            finding.suspects.iter().map(|suspect| rank_of(&suspect.component)).collect()
        };
        match recorded.len() {
            0 | 1 => assert!(differ.is_empty(), "seed {seed}"),
            2 => {
                pairs += usize::from(!differ.is_empty());
                for finding in differ {
                    assert!(of(finding).is_empty() || of(finding) == recorded, "seed {seed}: {finding:?}");
                    assert!(!finding.accuses(), "seed {seed}");
                }
            }
            _ => {
                assert_eq!(differ.len(), 1, "seed {seed}");
                assert_eq!(of(differ[0]), BTreeSet::from([rank]), "seed {seed}");
                assert!(differ[0].accuses(), "seed {seed}");
                named += 1;
            }
        }
    }
    assert!(named > 50 && pairs > 5, "{named} {pairs}");
}

#[test]
fn names_and_orders_change_nothing() {
    for seed in 0..CASES {
        let Some(Hung { job, dumps, .. }) = hung(seed) else { continue };
        let mut rng = stream::named(seed + 11, "dumps");
        let mut ranks: Vec<u32> = (0..job.programs.len() as u32).map(|rank| 3 * rank + 5).collect();
        ranks.shuffle(&mut rng);
        let mut groups: Vec<usize> = (0..dumps.groups.len()).collect();
        groups.shuffle(&mut rng);
        let mut other = dumps.clone();
        for (row, &from) in groups.iter().enumerate() {
            let of = &dumps.groups[from];
            other.groups[row].name = format!("g{}", rng.random::<u32>());
            other.groups[row].ranks = of.ranks.iter().map(|rank| ranks[*rank as usize]).collect();
        }
        let row = |group: usize| groups.iter().position(|from| *from == group).expect("a row");
        for dump in &mut other.dumps {
            dump.rank = ranks[dump.rank as usize];
            dump.status = dump.status.iter().map(|(group, status)| (row(*group), *status)).collect();
            for operation in &mut dump.operations {
                operation.group = row(operation.group);
                if let Work::Peers(peers) = &mut operation.work {
                    *peers = peers.iter().map(|(peer, sends)| (ranks[*peer as usize], *sends)).collect();
                }
            }
            dump.operations.shuffle(&mut rng);
        }
        other.dumps.shuffle(&mut rng);
        let (first, second) = (findings_of_dumps(&dumps, "job").0, findings_of_dumps(&other, "job").0);
        let renamed =
            |set: BTreeSet<u32>| set.iter().map(|rank| ranks[*rank as usize]).collect::<BTreeSet<u32>>();
        assert_eq!(renamed(accused(&first)), accused(&second), "seed {seed}");
        assert_eq!(renamed(told(&first)), told(&second), "seed {seed}");
        let sure = |findings: &[Finding]| findings.iter().map(|one| one.confidence).fold(0.0, f64::max);
        assert!((sure(&first) - sure(&second)).abs() < 1e-12, "seed {seed}");
    }
}

#[test]
fn a_healthy_job_cut_at_any_moments_accuses_nobody() {
    let (mut cuts, mut told_of, mut in_pause) = (0, 0, [0, 0]);
    let jobs = std::env::var("HEALTHY_JOBS").map_or(CASES, |count| count.parse().expect("a number"));
    for seed in 0..jobs {
        let mut rng = stream::named(seed + 100_000, "dumps");
        let mut job = draw(&mut rng);
        // Now and then the process of a rank pauses, up to as long as a step takes.
        let paused = rng.random_bool(0.5);
        if paused {
            let rank = rng.random_range(0..job.programs.len());
            let at = rng.random_range(0..job.programs[rank].len());
            job.programs[rank].insert(at, Item::Cpu(rng.random_range(0.0..5e-3)));
        }
        let past = run(&job, &BTreeMap::new());
        for _ in 0..5 {
            let lag = [0.0, 1e-4, 1e-3, 1e-2, 0.1][rng.random_range(0..5)];
            let at = past.last * rng.random::<f64>();
            // All at once, or each rank at a moment of its own.
            let apart = [0.0, 0.0, 1e-3, 1e-2, at][rng.random_range(0..5)];
            let cut = Cut { at, apart, lag, only_open: rng.random(), starts: rng.random_bool(0.3) };
            let (findings, notes) = findings_of_dumps(&dumps(&job, &past, cut, &mut rng), "job");
            cuts += 1;
            told_of += usize::from(!told(&findings).is_empty());
            let named = accused(&findings);
            if cut.only_open && paused {
                in_pause[usize::from(!named.is_empty())] += 1;
                continue;
            }
            assert!(named.is_empty(), "seed {seed}, {cut:?}: {named:?} {notes:?} {findings:#?}");
        }
    }
    println!("{cuts} cuts; in {told_of} somebody would be suspected if the job stood still");
    println!(
        "of {} cuts that show only what is open of jobs with a pause {} accuse",
        in_pause[0] + in_pause[1],
        in_pause[1]
    );
    // A process that pauses while all others wait for it is what a hang is, until it goes on; few wait so still.
    assert_eq!(in_pause[1], 0, "{in_pause:?}");
}

#[test]
fn dumps_of_before_a_hang_are_told_from_those_of_it() {
    let (mut cases, mut old) = (0, 0);
    for seed in 0..CASES {
        let Some(Hung { job, faults, mut dumps }) = hung(seed) else { continue };
        let mut rng = stream::named(seed + 23, "dumps");
        // Of a rank that is well, the file of an earlier moment, when the job went on.
        let well: Vec<u32> =
            (0..job.programs.len() as u32).filter(|rank| !faults.contains_key(rank)).collect();
        let rank = well[rng.random_range(0..well.len())];
        let past = run(&job, &faults);
        let at = past.last * rng.random_range(0.05..0.5);
        let cut = Cut { at, apart: 0.0, lag: 0.1 * rng.random::<f64>(), only_open: false, starts: false };
        let early = machine::dumps(&job, &past, cut, &mut rng).dumps.swap_remove(rank as usize);
        dumps.dumps[rank as usize] = early;
        dumps.timed_out = Some("the watchdog says so".into());
        cases += 1;
        let findings = findings_of_dumps(&dumps, "job").0;
        old += usize::from(accused(&findings).contains(&rank));
    }
    println!("{cases} hangs with an old dump; {old} times its rank is accused");
    // A process that had put on its streams what the others ended later cannot be told from one that went blind: in these
    // jobs, which end within milliseconds, that is often so.
    assert!(cases > 500 && 5 * old <= cases, "{old} of {cases}");
}

/// Sixteen ranks in pairs with two communicators each, all in an all-reduce of all. Of the first `blind` pairs one rank still
/// holds operations open that the other reports as ended, so many in each of its communicators.
fn lagging(blind: u32, unseen: [u64; 2]) -> Dumps {
    let group = |name: String, ranks: Vec<u32>| DumpedGroup { name, description: String::new(), ranks };
    let mut groups = vec![group("all".into(), (0..16).collect())];
    for pair in 0..8 {
        groups.extend(["a", "b"].map(|kind| group(format!("{kind}{pair}"), vec![2 * pair, 2 * pair + 1])));
    }
    let dump = |rank: u32| {
        let own = [1, 2].map(|one| (rank / 2 * 2) as usize + one);
        let lags = rank.is_multiple_of(2) && rank / 2 < blind;
        let mut operations = vec![pending((0, 5), 1_000)];
        if lags {
            let of = |(group, unseen): (usize, u64)| {
                (111 - unseen..=110).map(move |number| pending((group, number), 2 * number + group as u64))
            };
            operations.extend(own.into_iter().zip(unseen).flat_map(of));
        }
        let counts = |(group, unseen)| (group, (Some(110), Some(if lags { 110 - unseen } else { 110 })));
        let status = own.into_iter().zip(unseen).map(counts).chain([(0, (Some(5), Some(4)))]);
        RankDump { rank, operations, status: status.collect(), counts_all: true, ..RankDump::default() }
    };
    Dumps { groups, dumps: (0..16).map(dump).collect(), ..Dumps::default() }
}

/// Watchdogs look now and then: of a job that goes on one of many pairs is behind the other in what it reports.
#[test]
fn few_that_are_blind_stand_alone_and_many_are_watchdogs_that_lag() {
    for (blind, named) in [(1, vec![0]), (2, vec![0, 2]), (3, vec![]), (6, vec![])] {
        let (findings, notes) = findings_of_dumps(&lagging(blind, [10, 10]), "job");
        assert_eq!(accused(&findings), named.into_iter().collect(), "{blind}: {notes:?} {findings:#?}");
        assert_eq!(told(&findings).len(), blind as usize, "all are told: {findings:#?}");
    }
}

/// How far a rank is behind counts, and not in how many communicators.
#[test]
fn ranks_that_are_blind_in_one_communicator_alone_are_named_if_they_are_far_behind() {
    for (unseen, named) in [(12, vec![0, 2]), (6, vec![]), (1, vec![])] {
        let (findings, notes) = findings_of_dumps(&lagging(2, [unseen, 0]), "job");
        assert_eq!(accused(&findings), named.into_iter().collect(), "{unseen}: {notes:?} {findings:#?}");
    }
}

/// Ranks of a finding that says that several have not begun what the others have.
fn not_begun(findings: &[Finding]) -> Option<BTreeSet<u32>> {
    let says = |finding: &&Finding| {
        finding.evidence.iter().any(|line| line.words().starts_with("ranks that have put on their streams"))
    };
    findings.iter().find(says).map(|finding| told(std::slice::from_ref(finding)))
}

#[test]
fn several_that_have_not_begun_what_the_others_have_are_the_set() {
    let group = DumpedGroup { name: "0".into(), description: String::new(), ranks: (0..8).collect() };
    let of = |begun: &dyn Fn(u32) -> Option<bool>| {
        let dump = |rank: u32| {
            let operation = DumpedOperation { started: begun(rank), ..pending((0, 21), 20) };
            let status = BTreeMap::from([(0, (Some(21), Some(20)))]);
            RankDump { rank, operations: vec![operation], status, ..RankDump::default() }
        };
        let dumps = Dumps {
            groups: vec![group.clone()],
            dumps: (0..8).map(dump).collect(),
            timed_out: Some("the watchdog says so".into()),
            ..Dumps::default()
        };
        findings_of_dumps(&dumps, "job").0
    };
    let two = of(&|rank| Some(rank != 2 && rank != 5));
    assert_eq!((accused(&two), told(&two)), (BTreeSet::new(), BTreeSet::from([2, 5])), "{two:#?}");
    assert_eq!(not_begun(&two), Some(BTreeSet::from([2, 5])));
    assert!(!two[0].advice.contains("TORCH_NCCL_ENABLE_TIMING"), "{two:#?}");
    let one = of(&|rank| Some(rank != 2));
    assert_eq!(accused(&one), BTreeSet::from([2]));
    assert_eq!((one[0].evidence[0].value, one[0].evidence[0].expected), (7.0, 0.0), "{one:#?}");
    // All have begun, none has, and one of which it is not recorded: all are told alike, and only the last is advised to.
    let begun: [&dyn Fn(u32) -> Option<bool>; 3] =
        [&|_| Some(true), &|_| Some(false), &|rank| (rank != 2).then_some(rank != 5)];
    let cases = begun.into_iter().zip([false, true, true]);
    for (begun, advised) in cases {
        let findings = of(begun);
        assert!(told(&findings).is_empty() && not_begun(&findings).is_none(), "{findings:#?}");
        assert_eq!(findings[0].syndrome, Syndrome::CommunicationHang);
        assert_eq!(findings[0].advice.contains("TORCH_NCCL_ENABLE_TIMING"), advised, "{findings:#?}");
    }
}

#[test]
fn who_is_told_not_to_have_begun_is_broken() {
    let mut sets = 0;
    for seed in 0..2 * CASES {
        let mut rng = stream::named(seed, "not begun");
        let job = draw(&mut rng);
        let ranks = job.programs.len() as u32;
        let mut faults = BTreeMap::new();
        // Kernels that hang at one place of several ranks.
        let first = rng.random_range(0..ranks);
        let length = job.programs[first as usize].len();
        let from = rng.random_range(length / 5..length * 4 / 5);
        for rank in [first, rng.random_range(0..ranks), rng.random_range(0..ranks)] {
            faults.insert(rank, Fault::KernelHangs(from.min(job.programs[rank as usize].len() - 1)));
        }
        let past = run(&job, &faults);
        let cut = Cut { at: past.last + 600.0, apart: 10.0, lag: 0.1, only_open: rng.random(), starts: true };
        let mut dumps = dumps(&job, &past, cut, &mut rng);
        dumps.timed_out = Some("the watchdog says so".into());
        let (findings, notes) = findings_of_dumps(&dumps, "job");
        if let Some(told) = not_begun(&findings).filter(|told| !told.is_empty()) {
            sets += 1;
            let are_broken = told.iter().all(|rank| faults.contains_key(rank));
            assert!(are_broken, "seed {seed}: {told:?} of {faults:?}: {notes:?} {findings:#?}");
        }
    }
    println!("{sets} sets of ranks that have not begun");
    assert!(sets > 20, "{sets}");
}

#[test]
fn thousands_of_ranks_are_looked_at_in_one_go() {
    const RANKS: u32 = 4_096;
    let mut dumps = Dumps { timed_out: Some("the watchdog says so".into()), ..Dumps::default() };
    let group = |name: String, ranks: Vec<u32>| DumpedGroup { name, description: String::new(), ranks };
    dumps.groups.push(group("0".into(), (0..RANKS).collect()));
    dumps.groups.extend((0..RANKS / 8).map(|of| group(format!("t{of}"), (8 * of..8 * of + 8).collect())));
    for rank in 0..RANKS {
        let row = 1 + (rank / 8) as usize;
        // Rank 7 stopped: its neighbours wait for it, and all others for them.
        let (last, front) = if rank / 8 == 0 { (9, (row, 50)) } else { (10, (0, 10)) };
        let mut dump = RankDump { rank, counts_all: true, ..RankDump::default() };
        dump.status.insert(0, (Some(last), Some(9)));
        let of_eight = if rank < 8 && rank != 7 { 50 } else { 49 };
        dump.status.insert(row, (Some(of_eight), Some(49)));
        if rank != 7 {
            dump.operations.push(pending(front, 900));
        }
        dumps.dumps.push(dump);
    }
    let (findings, notes) = findings_of_dumps(&dumps, "job");
    assert_eq!(accused(&findings), BTreeSet::from([7]), "{notes:?}");
    // Without its dump the ends of who waits are looked for.
    dumps.dumps.remove(7);
    let (findings, notes) = findings_of_dumps(&dumps, "job");
    assert_eq!((accused(&findings), told(&findings)), (BTreeSet::new(), BTreeSet::from([7])), "{notes:?}");
}
