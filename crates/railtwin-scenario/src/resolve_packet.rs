//! From `[packet]` and `[switch]` to what packets ask of a case.
use railtwin_engine::PacketCase;
use railtwin_engine::packet::{
    Admission, Buffer, CongestionControl, Dcqcn, Hpcc, NicModel, Priority, SwitchModel, Trimmed, Wire,
};
use railtwin_fabric::Fabric;
use railtwin_units::Bytes;

use crate::resolve::Source;
use crate::switch_spec::TIERS;
use crate::{CongestionControlSpec, PriorityClass, Scenario, ScenarioError};

/// What packets ask of the case of `scenario` on its fabric.
pub(crate) fn packets(
    scenario: &Scenario,
    fabric: &Fabric,
    source: Source<'_>,
) -> Result<PacketCase, ScenarioError> {
    let spec = &scenario.packet;
    let tiers = scenario.switch.over(&scenario.fabric);
    check_reserves(fabric, &tiers, source)?;
    // The check of the text holds these far below 2^32.
    let small = |bytes: Bytes| u32::try_from(bytes.0).unwrap_or(u32::MAX);
    let has = |class| spec.priority.contains(&class);
    Ok(PacketCase {
        wire: Wire { payload: small(spec.payload), header: small(spec.header), control: small(spec.control) },
        message: scenario.routing.message.map_or(PacketCase::default().message, |bytes| bytes.0),
        acknowledge_every: spec.acknowledge_every,
        window: Some(spec.window.0),
        congestion_control: congestion_control(spec.congestion_control),
        admission: spec.admission.map(|admission| Admission {
            channels: admission.channels,
            buffer: admission.buffer.0,
            copy: admission.copy,
        }),
        priority: Priority {
            acknowledgements: has(PriorityClass::Acknowledgements),
            clear_to_send: has(PriorityClass::ClearToSend),
        },
        tiers,
        nic: NicModel { receive_buffer: spec.nic.receive_buffer.0, cnp_interval: spec.nic.cnp_interval },
        flowlet: spec.flowlet,
        watchdog: spec.watchdog,
        buffer_alarm: spec.buffer_alarm,
        samples: spec.samples,
        troubles: Vec::new(),
    })
}

fn congestion_control(spec: CongestionControlSpec) -> CongestionControl {
    match spec {
        CongestionControlSpec::None => CongestionControl::None,
        CongestionControlSpec::Dcqcn(spec) => CongestionControl::Dcqcn(Dcqcn {
            gain: spec.gain,
            alpha_timer: spec.alpha_timer,
            increase_timer: spec.increase_timer,
            byte_counter: spec.byte_counter.0,
            recovery_rounds: spec.recovery_rounds,
            additive: spec.additive,
            hyper: spec.hyper,
            minimum: spec.minimum,
        }),
        CongestionControlSpec::Hpcc(spec) => CongestionControl::Hpcc(Hpcc {
            target: spec.target,
            stages: spec.stages,
            additive: spec.additive,
        }),
        CongestionControlSpec::Trimmed(spec) => CongestionControl::Trimmed(Trimmed {
            window: spec.window,
            additive: spec.additive,
            decrease: spec.decrease,
        }),
    }
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
