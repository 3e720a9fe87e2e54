//! Which devices there are, and which thread works them off.
use railtwin_fabric::Fabric;

/// Which device a number stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A host with all its NICs.
    Host(u32),
    /// The switch in this row of the fabric.
    Switch(u32),
}

/// The hosts and switches of a fabric by number, and the first number of each of `threads` threads, with the end: hosts
/// and each tier's switches are cut into equal runs of their ids, one run of each for each thread. Neighbors have ids
/// near each other.
pub fn places(fabric: &Fabric, threads: u32) -> (Vec<Place>, Vec<u32>) {
    let hosts: Vec<Place> = (0..fabric.hosts().len() as u32).map(Place::Host).collect();
    let tier = |wanted: u8| -> Vec<Place> {
        let rows = fabric.switches().iter().zip(0..).filter(|((_, place), _)| place.tier == wanted);
        rows.map(|(_, row)| Place::Switch(row)).collect()
    };
    let groups = [hosts, tier(1), tier(2), tier(3)];
    let threads = threads.max(1) as usize;
    let (mut places, mut parts) = (Vec::new(), vec![0]);
    for thread in 0..threads {
        for group in &groups {
            let cut = |part: usize| group.len() * part / threads;
            places.extend_from_slice(&group[cut(thread)..cut(thread + 1)]);
        }
        parts.push(places.len() as u32);
    }
    (places, parts)
}
