//! Devices that call themselves otherwise than the plan does.
use std::collections::BTreeMap;

/// Device of the plan by the name that it has for itself, with how many cables say so, and how many do not.
pub(super) type Called = BTreeMap<String, (String, usize, usize)>;

/// Devices of the plan that unknown names stand for: the one that most of the cables that lead to a name should lead to, if
/// that is more than half of two or more and no other name's. `seen` has the name and the planned device for each cable.
pub(super) fn called<'a>(seen: impl Iterator<Item = (&'a str, &'a str)>) -> Called {
    let mut votes: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    // Most votes for a device, how many names have as many, by device.
    let mut best: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (name, device) in seen {
        *votes.entry(name).or_default().entry(device).or_default() += 1;
    }
    for (device, &count) in votes.values().flatten() {
        let (most, names) = best.entry(device).or_default();
        match count.cmp(most) {
            std::cmp::Ordering::Greater => (*most, *names) = (count, 1),
            std::cmp::Ordering::Equal => *names += 1,
            std::cmp::Ordering::Less => {}
        }
    }
    let mut called = Called::new();
    for (name, of) in &votes {
        let all: usize = of.values().sum();
        let Some((device, &most)) =
            of.iter().max_by_key(|(device, count)| (**count, std::cmp::Reverse(**device)))
        else {
            continue;
        };
        let is_mine = best.get(device) == Some(&(most, 1));
        if most >= 2 && 2 * most > all && is_mine {
            called.insert((*name).to_owned(), ((*device).to_owned(), most, all - most));
        }
    }
    called
}
