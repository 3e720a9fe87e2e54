//! From a regular tree to its counts.
use std::fmt::Write as _;

use railtwin_formats::FormatError;

use super::shape::{self, Tier};
use crate::form::{WriteOptions, Written};
use crate::forms::backend::{Backend, refused};
use crate::topology::Topology;

/// Writes a regular tree. Each NIC port is a node. What is irregular, or rail-optimised, is refused with the reason.
pub(super) fn write(topology: &Topology, _: &WriteOptions) -> Result<Vec<Written>, FormatError> {
    let backend = Backend::of("htsim", topology)?;
    let accepted = "the form has fat-trees of equal counts alone, with NICs of a host under one leaf";
    let refuse = |problem: String| refused("htsim", topology, problem, accepted);
    let shape = shape::of(&backend).map_err(refuse)?;
    let latency = topology.list.switch_latency.unwrap_or_default().ps();
    let mut text =
        format!("Nodes {}\nTiers {}\nPodsize {}\n", shape.nodes, shape.tiers.len(), shape.pod_size);
    for (number, tier) in shape.tiers.iter().enumerate() {
        let above = shape.tiers.get(number + 1);
        let of_tier = block(number, tier, above, latency).map_err(refuse)?;
        text.push_str(&of_tier);
    }
    Ok(vec![Written { path: "htsim.topo".to_owned(), text }])
}

fn block(number: usize, tier: &Tier, above: Option<&Tier>, latency_ps: u64) -> Result<String, String> {
    let whole = |value: u64, unit: u64, what: &str| match value.is_multiple_of(unit) {
        true => Ok(value / unit),
        false => Err(format!("{what} of tier {number} is no whole number in the unit of the form")),
    };
    let gbps = whole(tier.down.rate.bits_per_s(), 1_000_000_000, "the rate")?;
    let delay = whole(tier.down.delay.ps(), 1_000, "the delay of cables")?;
    let latency = whole(latency_ps, 1_000, "the latency of switches")?;
    // Writing to a String cannot fail.
    let mut text = format!("\nTier {number}\nDownlink_speed_Gbps {gbps}\nRadix_Down {}\n", tier.radix_down);
    if let Some(above) = above {
        let down = u128::from(tier.radix_down) * u128::from(tier.down.rate.bits_per_s());
        let up = u128::from(tier.radix_up) * u128::from(above.down.rate.bits_per_s());
        if up == 0 || !down.is_multiple_of(up) {
            return Err(format!("capacity down of tier {number} is no whole multiple of that up"));
        }
        let _ = write!(text, "Radix_Up {}\nOversubscribed {}\n", tier.radix_up, down / up);
    }
    let _ = write!(text, "Downlink_Latency_ns {delay}\nSwitch_Latency_ns {latency}\n");
    if number > 0 {
        let _ = writeln!(text, "Bundle {}", tier.bundle);
    }
    Ok(text)
}
