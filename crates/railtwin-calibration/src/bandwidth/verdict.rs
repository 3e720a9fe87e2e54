//! Tests that are low by themselves: below their peers, or falling with size; and the hosts that they have in common.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_diagnosis::pairs::PAIR_SHARE;
use railtwin_diagnosis::robust::median;

use super::kinds::Test;
use super::{Checked, Group, is_large};

/// A test is low below this share of what its peers reach. Single tests of a healthy cluster lack up to 0.04.
pub const PEER_SHARE: f64 = 1.0 - PAIR_SHARE;
/// Fewest sets of hosts of a kind among which a low one can be told.
pub const PEERS_MIN: usize = 4;
/// A test falls with size when its largest size reaches less than this share of its best one: 0.92 is the least of a
/// healthy cluster.
pub const FALL_SHARE: f64 = 0.5;
/// Fewest low sets of hosts that a host is told for.
const COMMON_MIN: usize = 2;

/// A test that is low by itself.
#[derive(Clone, PartialEq, Debug)]
pub struct LowTest {
    /// Row of its kind in [`Checked::groups`].
    pub group: usize,
    /// The log.
    pub file: String,
    /// Number of the test in its log, from 1.
    pub number: usize,
    /// Its hosts in order of their names.
    pub hosts: Vec<String>,
    /// Median bus bandwidth over its large sizes, GB/s.
    pub gb_per_s: f64,
    /// What its peers reach at the same sizes, GB/s; none where there are too few of them.
    pub peers_gb_per_s: Option<f64>,
    /// The test over its peers, the median over its large sizes.
    pub share: Option<f64>,
    /// Whether that is below [`PEER_SHARE`].
    pub below_peers: bool,
    /// Bus bandwidth of its best size and of its largest, GB/s, where it falls with size.
    pub falls: Option<(f64, f64)>,
}

/// How often a host is in what is low.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostCount {
    /// Its name.
    pub host: String,
    /// Sets of hosts with it of which a test is low, and all such sets.
    pub low: (usize, usize),
    /// Sets of hosts with it of which a test did not come to its end, and all such sets.
    pub ended: (usize, usize),
    /// Sets of hosts with it.
    pub of: usize,
}

/// The low tests of all kinds, the lowest first.
pub fn low_tests(groups: &[Group]) -> Vec<LowTest> {
    let mut all: Vec<LowTest> = Vec::new();
    for (row, group) in groups.iter().enumerate() {
        let sets: BTreeSet<&[String]> = group.tests.iter().map(|test| test.hosts.as_slice()).collect();
        let named = sets.iter().filter(|hosts| !hosts.is_empty()).count();
        let peers: BTreeMap<u64, f64> = match named >= PEERS_MIN {
            true => group.sizes.iter().map(|size| (size.bytes, size.median)).collect(),
            false => BTreeMap::new(),
        };
        all.extend(group.tests.iter().filter_map(|test| low_test(row, test, &peers)));
    }
    // Beside its peers where it has some, else beside its own best size.
    let rank = |low: &LowTest| {
        let fall = low.falls.map_or(f64::INFINITY, |(best, last)| last / best);
        low.share.unwrap_or(fall)
    };
    all.sort_by(|a, b| {
        rank(a).total_cmp(&rank(b)).then_with(|| (&a.file, a.number).cmp(&(&b.file, b.number)))
    });
    all
}

fn low_test(group: usize, test: &Test, peers: &BTreeMap<u64, f64>) -> Option<LowTest> {
    let medians: Vec<(u64, f64)> = test
        .sizes
        .iter()
        .filter_map(|(&bytes, values)| Some((bytes, median(&mut values.clone())?)))
        .collect();
    let &(largest, last) = medians.last()?;
    let large = || medians.iter().filter(|(bytes, _)| is_large(*bytes, largest));
    let mut shares: Vec<f64> = large().filter_map(|(bytes, value)| Some(value / peers.get(bytes)?)).collect();
    let mut of_peers: Vec<f64> = large().filter_map(|(bytes, _)| peers.get(bytes).copied()).collect();
    let share = median(&mut shares);
    let below_peers = share.is_some_and(|share| share < PEER_SHARE);
    let best = medians.iter().map(|(_, value)| *value).fold(last, f64::max);
    let falls = Some((best, last)).filter(|(best, last)| *last < FALL_SHARE * best);
    if !below_peers && falls.is_none() {
        return None;
    }
    Some(LowTest {
        group,
        file: test.file.clone(),
        number: test.number,
        hosts: test.hosts.clone(),
        gb_per_s: median(&mut large().map(|(_, value)| *value).collect::<Vec<_>>())?,
        peers_gb_per_s: median(&mut of_peers),
        share,
        below_peers,
        falls,
    })
}

/// Hosts in several low sets of hosts, or in several of which a test did not come to its end; who is in most comes first.
///
/// Sets of hosts are counted, not tests: two collectives of one pair share whatever is wrong with it.
pub fn hosts_of(checked: &Checked) -> Vec<HostCount> {
    let low: BTreeSet<&[String]> = checked.low.iter().map(|test| test.hosts.as_slice()).collect();
    let ended: BTreeSet<&[String]> = checked.ended.iter().map(|test| test.hosts.as_slice()).collect();
    let measured = checked.groups.iter().flat_map(|group| &group.tests).map(|test| test.hosts.as_slice());
    let all: BTreeSet<&[String]> = measured.chain(ended.iter().copied()).collect();
    let within =
        |sets: &BTreeSet<&[String]>, host: &String| sets.iter().filter(|set| set.contains(host)).count();
    let names: BTreeSet<&String> = low.iter().chain(&ended).flat_map(|set| set.iter()).collect();
    let mut counts: Vec<HostCount> = names
        .into_iter()
        .map(|host| HostCount {
            host: host.clone(),
            low: (within(&low, host), low.len()),
            ended: (within(&ended, host), ended.len()),
            of: within(&all, host),
        })
        .filter(|count| count.low.0.max(count.ended.0) >= COMMON_MIN)
        .collect();
    counts
        .sort_by(|a, b| (b.low.0 + b.ended.0).cmp(&(a.low.0 + a.ended.0)).then_with(|| a.host.cmp(&b.host)));
    counts
}
