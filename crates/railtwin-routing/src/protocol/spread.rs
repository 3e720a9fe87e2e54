//! How a withdrawn route spreads from speaker to speaker: each acts on it, then tells its neighbors.
use std::collections::BTreeMap;

use railtwin_fabric::{DeviceId, DeviceKind, Fabric};
use railtwin_units::SimTime;

/// When each switch that is connected with `origin` follows what that withdraws at time zero, ascending by device; `hop` is
/// from the moment in which the first of two switches follows until the second has heard of it and acted.
///
/// A switch hears a route from each neighbor that is nearer to the origin, and goes on using what is left of them: it
/// follows when the last of them has withdrawn. Longer ways, which BGP would hunt through (RFC 4271 section 9.1), are not
/// announced in a fabric whose switches refuse routes that come from above and go up again.
pub fn followed(
    fabric: &Fabric,
    origin: DeviceId,
    hop: impl Fn(DeviceId, DeviceId) -> SimTime,
) -> BTreeMap<DeviceId, SimTime> {
    let switches = |device: DeviceId| {
        let far = fabric.neighbors(device).iter().map(|(_, far)| *far);
        far.filter(|&far| fabric.kind(far) == DeviceKind::Switch)
    };
    let mut times = BTreeMap::from([(origin, SimTime::ZERO)]);
    let mut wave = vec![origin];
    while !wave.is_empty() {
        let mut next: BTreeMap<DeviceId, SimTime> = BTreeMap::new();
        for &near in &wave {
            let at = times[&near];
            for far in switches(near).filter(|far| !times.contains_key(far)) {
                let heard = at.saturating_add(hop(near, far));
                let last = next.entry(far).or_insert(heard);
                *last = heard.max(*last);
            }
        }
        wave = next.keys().copied().collect();
        times.extend(next);
    }
    times
}

#[cfg(test)]
mod tests {
    use railtwin_fabric::preset::LeafSpine;

    use super::*;

    #[test]
    fn a_leaf_follows_the_last_of_its_spines() {
        let fabric = LeafSpine { leaves: 4, uplinks: 2, ..LeafSpine::default() }.build().unwrap();
        let switch = |name: &str| fabric.switch_named(name).unwrap();
        let slow = switch("spine-1");
        let hop = |from, to| SimTime::from_ns(if to == slow || from == slow { 70 } else { 50 });
        let times = followed(&fabric, switch("leaf-0"), hop);
        let told = |name: &str| times[&switch(name)].ps() / 1000;
        assert_eq!([told("leaf-0"), told("spine-0"), told("spine-1")], [0, 50, 70]);
        assert_eq!([told("leaf-1"), told("leaf-3")], [140, 140]);
        assert_eq!(times.len(), 6);
    }
}
