//! How many switches a tier needs: the smallest count that spreads uplinks evenly and fits the ports of a switch.
use crate::error::FabricError;

/// Fewest spines over `leaves` of `uplinks` each, every leaf with equally many cables to every spine of `ports` ports; none
/// where not even one cable to each spine fits.
pub(super) fn fewest_spines(leaves: u32, uplinks: u32, ports: u32) -> Option<u32> {
    if ports == 0 {
        return None;
    }
    let needed = (u64::from(leaves) * u64::from(uplinks)).div_ceil(u64::from(ports));
    // Divisors come in pairs, of which one is at most the root.
    let low = (1..=uplinks.isqrt()).filter(|&low| uplinks.is_multiple_of(low));
    let fits = |spines: &u32| u64::from(*spines) >= needed;
    low.flat_map(|low| [low, uplinks / low]).filter(fits).min()
}

/// Fewest cores of `ports` ports over `pods` of `uplinks` each, every core with equally many cables to every pod; none where
/// not even one cable to each pod fits.
pub(super) fn fewest_cores(pods: u32, uplinks: u32, ports: u32) -> Option<u32> {
    fewest_spines(pods, uplinks, ports)
}

/// Ports down of a switch, so that those left are the uplinks that the ratio asks for.
pub(super) fn down_ports(radix: u32, ratio: f64) -> u32 {
    (f64::from(radix) * ratio / (1.0 + ratio)).floor() as u32
}

/// Uplinks of a switch for so much down, in ports of the uplinks' rate, at a ratio of at most `ratio`.
///
/// # Errors
/// [`FabricError::OutOfRange`] with `field` for more uplinks than a switch can have.
pub(super) fn up_ports(down: f64, ratio: f64, field: &'static str) -> Result<u32, FabricError> {
    match (down / ratio.max(f64::MIN_POSITIVE)).ceil() {
        ports if ports <= 65_536.0 => Ok((ports as u32).max(1)),
        _ => Err(FabricError::range(field, ratio, "switches have 65536 uplinks at most: write more")),
    }
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
