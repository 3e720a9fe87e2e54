//! How many switches a tier needs: the smallest count that spreads uplinks evenly and fits the ports of a switch.

/// Fewest spines over `leaves` of `uplinks` each, every leaf with equally many cables to every spine of `ports` ports; none
/// where not even one cable to each spine fits.
pub(super) fn fewest_spines(leaves: u32, uplinks: u32, ports: u32) -> Option<u32> {
    let cables = |spines: u32| u64::from(leaves) * u64::from(uplinks / spines);
    (1..=uplinks).find(|&spines| uplinks.is_multiple_of(spines) && cables(spines) <= u64::from(ports))
}

/// Fewest cores of `ports` ports over `pods` of `uplinks` each, every core with equally many cables to every pod; none where
/// not even one cable to each pod fits.
pub(super) fn fewest_cores(pods: u32, uplinks: u32, ports: u32) -> Option<u32> {
    fewest_spines(pods, uplinks, ports)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_as_few_as_spread_evenly() {
        // 32 uplinks of 24 leaves need 12 spines of 64 ports, but 12 do not divide 32.
        assert_eq!(fewest_spines(24, 32, 64), Some(16));
        assert_eq!(fewest_spines(64, 32, 64), Some(32));
        assert_eq!(fewest_spines(65, 32, 64), None);
        assert_eq!(fewest_cores(8, 1024, 64), Some(128));
    }
}
