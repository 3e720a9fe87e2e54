//! Writes SimAI / AICB workload text that SimAI's own parser reads.

use std::fmt::Write as _;

use crate::error::FormatError;
use crate::simai::{FORMAT, Group, Phase, PhaseColumns, SimaiLayer, SimaiPolicy, SimaiWorkload};

impl SimaiWorkload {
    /// The file's text. Every key is written, tabs separate the columns, and layer `i` stands on
    /// line `i + 3`; `layers[i].line` and `warnings` are not written.
    ///
    /// # Errors
    /// What the format cannot express: a name that is empty or has blanks, an axis of size 0, a
    /// data-parallel collective outside the weight gradient or a tensor-parallel one in it, a
    /// `custom_policy` that is present without (or absent under) `HYBRID_CUSTOMIZED`.
    pub fn to_text(&self) -> Result<String, FormatError> {
        let mut text = self.header_text()?;
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(text, "{}", self.layers.len());
        for (index, layer) in self.layers.iter().enumerate() {
            write_layer(&mut text, layer, self.policy).map_err(|error| FormatError {
                field: Some(
                    match &error.field {
                        Some(field) => format!("layer {index}: {field}"),
                        None => format!("layer {index}"),
                    }
                    .into(),
                ),
                ..error
            })?;
        }
        Ok(text)
    }

    fn header_text(&self) -> Result<String, FormatError> {
        let mut text = self.policy.to_string();
        for (key, size) in [
            ("model_parallel_NPU_group", self.tp),
            ("ep", self.ep),
            ("pp", self.pp),
            ("vpp", self.vpp),
            ("ga", self.ga),
            ("all_gpus", self.all_gpus.unwrap_or(1)),
        ] {
            if size == 0 {
                return Err(unwritable("is not a size", "set 1 or more").field(key).found("0"));
            }
            if key != "all_gpus" || self.all_gpus.is_some() {
                let _ = write!(text, " {key}: {size}");
            }
        }
        for (key, list) in
            [("checkpoints", &self.checkpoints), ("checkpoint_initiates", &self.checkpoint_initiates)]
        {
            let _ = write!(text, " {key}: {}", list.len());
            for index in list {
                let _ = write!(text, " {index}");
            }
        }
        if let Some(layer) = self.dlrm_last_bottom_layer {
            let _ = write!(text, " DLRM_LAST_BOTTOM_LAYER: {layer}");
        }
        let _ = writeln!(text, " pp_comm: {}", self.pp_comm_bytes);
        Ok(text)
    }
}

fn unwritable(problem: &str, accepted: &str) -> FormatError {
    FormatError::new(FORMAT, "workload to write", problem, accepted)
}

fn write_layer(text: &mut String, layer: &SimaiLayer, policy: SimaiPolicy) -> Result<(), FormatError> {
    if layer.name.is_empty() || layer.name.contains(char::is_whitespace) {
        return Err(unwritable("is not one word", "give the layer a name without blanks")
            .field("name")
            .found(&layer.name));
    }
    let _ = write!(text, "{}\t{}", layer.name, layer.dependency);
    write_phase(text, layer.forward, PhaseColumns::Forward)?;
    write_phase(text, layer.input_gradient, PhaseColumns::InputGradient)?;
    write_phase(text, layer.weight_gradient, PhaseColumns::WeightGradient)?;
    let _ = write!(text, "\t{}", layer.update_ns);
    match (layer.custom_policy, policy == SimaiPolicy::HybridCustomized) {
        (Some(custom), true) => {
            let _ = write!(text, "\t{custom}");
        }
        (None, false) => {}
        (Some(custom), false) => {
            return Err(unwritable(
                "is a policy per layer",
                "leave it out, or set the workload's policy to HYBRID_CUSTOMIZED",
            )
            .field("custom_policy")
            .found(custom.as_str()));
        }
        (None, true) => {
            return Err(unwritable("is missing", "under HYBRID_CUSTOMIZED every layer names a policy")
                .field("custom_policy"));
        }
    }
    text.push('\n');
    Ok(())
}

fn write_phase(text: &mut String, phase: Phase, which: PhaseColumns) -> Result<(), FormatError> {
    let _ = write!(text, "\t{}\t", phase.compute_ns);
    match phase.collective {
        None => text.push_str("NONE"),
        Some(collective) => {
            let suffix = match collective.group {
                Group::Ep => "_EP",
                Group::DpEp => "_DP_EP",
                group if group == which.implicit_group() => "",
                group => {
                    return Err(unwritable(
                        "has no spelling in this column",
                        "use Tp in forward and input gradient, Dp in weight gradient, or Ep or DpEp",
                    )
                    .field(format!("{} collective", which.name()))
                    .found(&format!("{} over {group:?}", collective.kind)));
                }
            };
            let _ = write!(text, "{}{suffix}", collective.kind);
        }
    }
    let _ = write!(text, "\t{}", phase.bytes);
    Ok(())
}
