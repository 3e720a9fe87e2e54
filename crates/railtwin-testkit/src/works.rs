//! Who sends to whom, and plans of one pattern.
use railtwin_units::stream;
use railtwin_workload::{Algorithm, Axis, Collective, Operation, Pattern, Plan, PlanBuilder, Work};

/// A permutation of `0..hosts` in which none stays, by Sattolo's cycle.
pub fn permutation(hosts: u32, seed: u64) -> Vec<(u32, u32)> {
    let mut targets: Vec<u32> = (0..hosts).collect();
    for last in (1..hosts as usize).rev() {
        let draw = stream::mix(seed ^ stream::mix(last as u64)) % last as u64;
        targets.swap(last, draw as usize);
    }
    (0..).zip(targets).collect()
}

/// Every one of `0..hosts` sends so many places on, around the end.
pub fn shift(hosts: u32, by: u32) -> Vec<(u32, u32)> {
    (0..hosts).map(|host| (host, (host + by) % hosts)).collect()
}

/// All sources send to host 0.
pub fn incast(sources: impl IntoIterator<Item = u32>) -> Vec<(u32, u32)> {
    sources.into_iter().map(|host| (host, 0)).collect()
}

/// The pairs in one communicator, so that all send at once.
pub fn together(pairs: &[(u32, u32)]) -> Vec<Vec<u32>> {
    vec![pairs.iter().flat_map(|&(source, target)| [source, target]).collect()]
}

/// One collective of all ranks, so many times in turn.
pub fn collective(ranks: u32, kind: Collective, algorithm: Algorithm, bytes: u64, times: u32) -> Plan {
    in_turn(ranks, (kind, algorithm), vec![(0..ranks).collect()], bytes, times)
}

/// Rank 0 sends to rank 1, so many times in turn.
pub fn send(bytes: u64, times: u32) -> Plan {
    in_turn(2, (Collective::SendReceive, Algorithm::Direct), vec![vec![0, 1]], bytes, times)
}

/// One pattern, so many times in turn.
pub fn in_turn(
    ranks: u32,
    (collective, algorithm): (Collective, Algorithm),
    communicators: Vec<Vec<u32>>,
    bytes: u64,
    times: u32,
) -> Plan {
    let mut builder = PlanBuilder::new(ranks, vec!["all".into()]);
    let pattern = builder.pattern(Pattern::new(Axis::Other, collective, Some(algorithm), communicators));
    let name = builder.name(collective.name());
    let mut last = Vec::new();
    for _ in 0..times {
        let work = Work::Communicate { pattern, bytes };
        last = vec![builder.push(Operation { lane: 0, name, axis: Axis::Other, work }, &last)];
    }
    builder.finish()
}
