//! From `[packet]` and `[switch]` to what packets ask of a case.
use railtwin_engine::PacketCase;
use railtwin_engine::packet::{Buffer, SwitchModel};
use railtwin_fabric::Fabric;
use railtwin_units::Bytes;

use super::switch::TIERS;
use crate::resolve::Source;
use crate::{Scenario, ScenarioError};

/// What packets ask of the case of `scenario` on its fabric.
pub(crate) fn packets(
    scenario: &Scenario,
    fabric: &Fabric,
    source: Source<'_>,
) -> Result<PacketCase, ScenarioError> {
    let tiers = scenario.switch.over(&scenario.fabric);
    check_reserves(fabric, &tiers, source)?;
    Ok(PacketCase {
        keys: scenario.packet.clone(),
        message: scenario.routing.message.map_or(PacketCase::default().message, |bytes| bytes.0),
        tiers,
        troubles: Vec::new(),
        libraries: Vec::new(),
        records: None,
    })
}

/// The reserves of all ports of a switch fit into its pool.
fn check_reserves(
    fabric: &Fabric,
    tiers: &[SwitchModel; 3],
    source: Source<'_>,
) -> Result<(), ScenarioError> {
    for (row, (tier, model)) in TIERS.iter().zip(tiers).enumerate() {
        let Buffer::Shared { bytes, reserved, .. } = model.buffer else { continue };
        let switches = fabric.switches().iter().filter(|(_, place)| usize::from(place.tier) == row + 1);
        let ports = |device| fabric.ports(device).filter(|&port| fabric.cable_at(port).is_some()).count();
        let Some(most) = switches.map(|(device, _)| ports(*device)).max() else { continue };
        if reserved.saturating_mul(most as u64) > bytes {
            let message = format!(
                "the reserves of {most} ports of a {tier}, {} each, are more than its pool of {}",
                Bytes(reserved).exact(),
                Bytes(bytes).exact()
            );
            let hint = Some("write a larger `buffer` or a smaller `reserved`");
            return Err(source.error(&format!("switch.{tier}"), message, hint));
        }
    }
    Ok(())
}
