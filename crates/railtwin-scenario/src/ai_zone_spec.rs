//! `[fabric]` with `preset = "ai-zone"`.
use railtwin_fabric::FabricError;
use railtwin_fabric::preset::AiZone;
use railtwin_units::Rate;
use serde::{Deserialize, Serialize};

use crate::fabric_spec::set;
use crate::host_spec::HostSpec;

/// What is changed in [`AiZone`]; the fields mean what they mean there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // the fields of `AiZone`, one to one
pub struct AiZoneSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplinks: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spine_up: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink: Option<Rate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chip: Option<Rate>,
    #[serde(skip_serializing_if = "HostSpec::is_empty")]
    pub host: HostSpec,
}

impl AiZoneSpec {
    /// The preset with the changes.
    ///
    /// # Errors
    /// [`FabricError::OutOfRange`] for an unknown host model.
    pub fn filled(&self) -> Result<AiZone, FabricError> {
        let mut zone =
            AiZone { cores: self.cores, uplink: self.uplink, chip: self.chip, ..AiZone::default() };
        zone.host = self.host.over(&zone.host)?;
        set(&mut zone.pods, self.pods);
        set(&mut zone.segments, self.segments);
        set(&mut zone.hosts, self.hosts);
        set(&mut zone.uplinks, self.uplinks);
        set(&mut zone.spine_up, self.spine_up);
        Ok(zone)
    }
}
