//! A host model with what is changed in it.
use railtwin_units::keys::{Kind, whole};
use railtwin_units::{Bytes, Rate, SimTime};

use crate::error::FabricError;
use crate::host::{HostModel, MOST_NICS};

railtwin_units::section! {
    /// A host model with what is changed in it. A field that is `None` takes the model's value.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct HostSpec "[fabric.host]" {
        /// A host model by name; default the fabric's.
        pub model: Option<String> [Kind::Choice(&HostModel::NAMES)] = None,
        /// GPUs.
        pub gpus: Option<u32> [whole(1..=1024)] = None,
        /// Backend NICs.
        pub nics: Option<u32> [whole(1..=MOST_NICS)] = None,
        /// Ports of a backend NIC.
        pub nic_ports: Option<u32> [whole(1..=64)] = None,
        /// Capacity of a port of a backend NIC.
        pub nic_port_capacity: Option<Rate> = None,
        /// NVLink capacity of a GPU in one direction; zero = no NVLink.
        pub nvlink: Option<Rate> [Kind::Rate { zero: true }] = None,
        /// Delay of one NVLink hop.
        pub nvlink_delay: Option<SimTime> = None,
        /// PCIe capacity between a GPU and its NIC in one direction.
        pub pcie: Option<Rate> = None,
        /// Delay of the PCIe hop.
        pub pcie_delay: Option<SimTime> = None,
        /// PCIe switches over which GPUs and NICs are spread evenly, each with a link of `pcie` to the root complex;
        /// default 0: NICs hang on GPUs.
        pub pcie_switches: Option<u32> [whole(0..=1024)] = None,
        /// Memory of a GPU.
        pub gpu_memory: Option<Bytes> = None,
        /// What collectives cost hosts: `measured` for what is known of the model, `none` for links alone, or a file of
        /// `[[cap]]` as `railtwin calibrate` writes it; default measured, where the model is known and unchanged.
        pub caps: Option<String> = None,
    }
}

impl HostSpec {
    /// A model by name, as it is.
    pub fn named(model: &str) -> Self {
        Self { model: Some(model.to_owned()), ..Self::default() }
    }

    /// The named model, or `default`, with the changes.
    ///
    /// # Errors
    /// [`FabricError::OutOfRange`] for an unknown model.
    pub fn over(&self, default: HostModel) -> Result<HostModel, FabricError> {
        let mut host = match &self.model {
            None => default,
            Some(name) => HostModel::named(name).ok_or_else(|| {
                let accepted = format!("write one of {}", HostModel::NAMES.join(", "));
                FabricError::range("host.model", name, accepted)
            })?,
        };
        host.gpus = self.gpus.unwrap_or(host.gpus);
        host.nics = self.nics.unwrap_or(host.nics);
        host.nic.ports = self.nic_ports.unwrap_or(host.nic.ports);
        host.nic.port_capacity = self.nic_port_capacity.unwrap_or(host.nic.port_capacity);
        host.nvlink_delay = self.nvlink_delay.unwrap_or(host.nvlink_delay);
        host.pcie = self.pcie.unwrap_or(host.pcie);
        host.pcie_delay = self.pcie_delay.unwrap_or(host.pcie_delay);
        host.pcie_switches = self.pcie_switches.unwrap_or(host.pcie_switches);
        host.gpu_memory = self.gpu_memory.or(host.gpu_memory);
        if let Some(nvlink) = self.nvlink {
            host.nvlink = (nvlink > Rate::ZERO).then_some(nvlink);
        }
        Ok(host)
    }
}
