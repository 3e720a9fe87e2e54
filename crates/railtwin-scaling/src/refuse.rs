//! Times that cannot be so: a larger call over as many hosts or more took less.
use std::collections::BTreeMap;

/// Seconds by hosts and bytes.
pub(super) type Times = BTreeMap<u32, BTreeMap<u64, f64>>;

/// How much longer than a larger call a time may be.
const LONGER: f64 = 1.5;

/// A time that was refused: a larger call took less.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Outlier {
    /// Hosts.
    pub hosts: u32,
    /// Bytes.
    pub bytes: u64,
    /// Seconds that were measured.
    pub seconds: f64,
    /// Seconds of the larger call, taken in its place.
    pub taken: f64,
}

/// Lowers times that are too long to those of larger calls. A tree is held against every larger call, a ring against rings
/// alone: where a larger cluster takes trees still, its calls may be shorter.
pub(super) fn refuse(times: &mut Times, is_tree: impl Fn(u32, u64) -> bool) -> Vec<Outlier> {
    // The least time of as many hosts or more and as many bytes or more, from the largest cluster down: of all, of rings.
    let mut least: [BTreeMap<u64, f64>; 2] = Default::default();
    let mut outliers = Vec::new();
    for (&hosts, of) in times.iter_mut().rev() {
        for (&bytes, &seconds) in of.iter() {
            for (rings, least) in
                least.iter_mut().enumerate().filter(|(rings, _)| *rings == 0 || !is_tree(hosts, bytes))
            {
                debug_assert!(rings < 2, "all and rings");
                let slot = least.entry(bytes).or_insert(seconds);
                *slot = slot.min(seconds);
            }
        }
        for least in &mut least {
            let mut lowest = f64::INFINITY;
            for value in least.values_mut().rev() {
                lowest = lowest.min(*value);
                *value = lowest;
            }
        }
        for (&bytes, seconds) in of.iter_mut() {
            let Some(&taken) = least[usize::from(!is_tree(hosts, bytes))].get(&bytes) else { continue };
            if *seconds > LONGER * taken {
                outliers.push(Outlier { hosts, bytes, seconds: *seconds, taken });
                *seconds = taken;
            }
        }
    }
    outliers.sort_unstable_by_key(|one| (one.hosts, one.bytes));
    outliers
}
