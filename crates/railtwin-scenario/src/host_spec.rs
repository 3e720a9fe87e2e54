//! `[fabric.host]`: a host model with what is changed in it.
use railtwin_fabric::{FabricError, HostModel};
use railtwin_units::{Bytes, Rate};
use serde::{Deserialize, Serialize};

/// A host model with what is changed in it. A field that is `None` takes the model's value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostSpec {
    /// One of [`HostModel::NAMES`]; none = the preset's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// GPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus: Option<u32>,
    /// Backend NICs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nics: Option<u32>,
    /// Ports of a backend NIC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nic_ports: Option<u32>,
    /// Capacity of a port of a backend NIC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nic_port_capacity: Option<Rate>,
    /// NVLink capacity of a GPU in one direction; zero = no NVLink.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nvlink: Option<Rate>,
    /// PCIe capacity between a GPU and its NIC in one direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pcie: Option<Rate>,
    /// Memory of a GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_memory: Option<Bytes>,
    /// Where the intra-host caps of collectives come from; none = from `[[cap]]` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caps: Option<HostCaps>,
}

railtwin_units::choice! {
    /// Where the intra-host caps of collectives come from.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum HostCaps {
        /// From `[[cap]]` alone.
        None = "none",
        /// From what is known of the host model, where `[[cap]]` does not say otherwise.
        Measured = "measured",
    }
}

impl HostSpec {
    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The named model, or `default`, with the changes.
    ///
    /// # Errors
    /// [`FabricError::OutOfRange`] for an unknown model.
    pub fn over(&self, default: &HostModel) -> Result<HostModel, FabricError> {
        let mut host = match &self.model {
            None => default.clone(),
            Some(name) => HostModel::named(name).ok_or_else(|| {
                let accepted = format!("write one of {}", HostModel::NAMES.join(", "));
                FabricError::range("host.model", name, accepted)
            })?,
        };
        host.gpus = self.gpus.unwrap_or(host.gpus);
        host.nics = self.nics.unwrap_or(host.nics);
        host.nic.ports = self.nic_ports.unwrap_or(host.nic.ports);
        host.nic.port_capacity = self.nic_port_capacity.unwrap_or(host.nic.port_capacity);
        host.pcie = self.pcie.unwrap_or(host.pcie);
        host.gpu_memory = self.gpu_memory.or(host.gpu_memory);
        if let Some(nvlink) = self.nvlink {
            host.nvlink = (nvlink > Rate::ZERO).then_some(nvlink);
        }
        Ok(host)
    }
}
