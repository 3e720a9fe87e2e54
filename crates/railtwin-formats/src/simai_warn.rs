//! What in a SimAI workload can be read but is likely a mistake of its writer.

use std::collections::BTreeMap;

use crate::simai::{CollectiveKind, SimaiWorkload};

/// Adds warnings for what can be read but is likely a mistake of the writer.
pub(crate) fn warn_of_contradictions(workload: &mut SimaiWorkload) {
    let mut warnings = Vec::new();
    let mut empty: BTreeMap<CollectiveKind, u64> = BTreeMap::new();
    let mut orphaned = 0_u64;
    for layer in &workload.layers {
        for phase in [layer.forward, layer.input_gradient, layer.weight_gradient] {
            match phase.collective {
                Some(collective) if phase.bytes == 0 => {
                    *empty.entry(collective.kind).or_default() += 1;
                }
                None if phase.bytes > 0 => orphaned += 1,
                _ => {}
            }
        }
    }
    for (kind, count) in empty {
        warnings.push(format!("{count} {kind} collectives carry 0 bytes; they are kept"));
    }
    if orphaned > 0 {
        warnings.push(format!("{orphaned} phases state bytes but no collective; nothing is sent for them"));
    }
    if workload.pp > 1 && workload.pp_comm_bytes == 0 {
        warnings
            .push(format!("pp is {} but pp_comm is 0 or absent; pipeline stages pass no bytes", workload.pp));
    }
    if workload.pp == 1 && workload.pp_comm_bytes > 0 {
        warnings.push(format!("pp is 1 but pp_comm is {}; it has no stage to go to", workload.pp_comm_bytes));
    }
    let block = u64::from(workload.tp) * u64::from(workload.pp);
    if let Some(gpus) = workload.all_gpus
        && !u64::from(gpus).is_multiple_of(block)
    {
        warnings.push(format!("all_gpus {gpus} is not a multiple of tp x pp = {block}"));
    }
    let layers = workload.layers.len();
    for (key, list) in
        [("checkpoints", &workload.checkpoints), ("checkpoint_initiates", &workload.checkpoint_initiates)]
    {
        let beyond = list.iter().filter(|&&index| index as usize >= layers).count();
        if beyond > 0 {
            warnings.push(format!("{beyond} indices in {key} lie beyond the {layers} layers"));
        }
    }
    workload.warnings.append(&mut warnings);
}
