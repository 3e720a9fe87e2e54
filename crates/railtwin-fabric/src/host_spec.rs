//! A host model with what is changed in it.
use railtwin_units::keys::{Kind, whole};
use railtwin_units::{Bytes, Rate, SimTime};

use crate::error::FabricError;
use crate::host::{HostModel, MOST_NICS};
use crate::host_costs::HostCosts;
use crate::links::{GPU_LINK_NAMES, GPU_LINKS, NIC_LINK_NAMES, NIC_LINKS, rate_of};

railtwin_units::section! {
    /// A host model with what is changed in it. A field that is `None` takes the model's value.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct HostSpec "[fabric.host]" {
        /// A host model by name; default the fabric's.
        pub model: Option<String> [Kind::Choice(&HostModel::NAMES)] = None,
        /// GPUs.
        pub gpus: Option<u32> [whole(1..=1024)] = None,
        /// Physical hosts of which a scale-up domain is made; default 1, or as the model has it.
        #[key(sparse)]
        pub trays: Option<u32> [whole(1..=1024)] = None,
        /// Backend NICs.
        pub nics: Option<u32> [whole(1..=MOST_NICS)] = None,
        /// Ports of a backend NIC.
        pub nic_ports: Option<u32> [whole(1..=64)] = None,
        /// Capacity of a port of a backend NIC.
        pub nic_port_capacity: Option<Rate> = None,
        /// NVLink capacity of a GPU in one direction; zero = no NVLink.
        pub nvlink: Option<Rate> [Kind::Rate { zero: true }] = None,
        /// Link between GPUs by name, instead of a rate of `nvlink`: what a GPU of that generation has.
        #[key(sparse)]
        pub gpu_link: Option<String> [Kind::Choice(&GPU_LINK_NAMES)] = None,
        /// Delay of one NVLink hop.
        pub nvlink_delay: Option<SimTime> = None,
        /// PCIe capacity between a GPU and its NIC in one direction.
        pub pcie: Option<Rate> = None,
        /// Link between a GPU and its NIC by name, instead of a rate of `pcie`: 16 lanes of that generation.
        #[key(sparse)]
        pub nic_link: Option<String> [Kind::Choice(&NIC_LINK_NAMES)] = None,
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
        /// What hosts cost beside links and caps.
        pub costs: HostCosts = HostCosts::default(),
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
    /// [`FabricError::OutOfRange`] for an unknown model or link.
    pub fn over(&self, default: HostModel) -> Result<HostModel, FabricError> {
        let mut host = match &self.model {
            None => default,
            Some(name) => HostModel::named(name).ok_or_else(|| {
                let accepted = format!("write one of {}", HostModel::NAMES.join(", "));
                FabricError::range("host.model", name, accepted)
            })?,
        };
        host.gpus = self.gpus.unwrap_or(host.gpus);
        host.trays = self.trays.unwrap_or(host.trays);
        host.nics = self.nics.unwrap_or(host.nics);
        host.nic.ports = self.nic_ports.unwrap_or(host.nic.ports);
        host.nic.port_capacity = self.nic_port_capacity.unwrap_or(host.nic.port_capacity);
        let gpu_link = named_rate("host.gpu_link", self.gpu_link.as_deref(), &GPU_LINKS)?;
        host.nvlink = gpu_link.or(host.nvlink);
        host.pcie = named_rate("host.nic_link", self.nic_link.as_deref(), &NIC_LINKS)?.unwrap_or(host.pcie);
        host.nvlink_delay = self.nvlink_delay.unwrap_or(host.nvlink_delay);
        host.pcie = self.pcie.unwrap_or(host.pcie);
        host.pcie_delay = self.pcie_delay.unwrap_or(host.pcie_delay);
        host.pcie_switches = self.pcie_switches.unwrap_or(host.pcie_switches);
        host.gpu_memory = self.gpu_memory.or(host.gpu_memory);
        host.costs = self.costs.clone();
        if let Some(nvlink) = self.nvlink {
            host.nvlink = (nvlink > Rate::ZERO).then_some(nvlink);
        }
        Ok(host)
    }
}

/// Rate of a link that is given by name.
fn named_rate(
    field: &'static str,
    name: Option<&str>,
    links: &[(&str, Rate)],
) -> Result<Option<Rate>, FabricError> {
    let Some(name) = name else { return Ok(None) };
    let rate = rate_of(links, name).ok_or_else(|| {
        let names: Vec<&str> = links.iter().map(|(name, _)| *name).collect();
        FabricError::range(field, name, format!("write one of {}", names.join(", ")))
    })?;
    Ok(Some(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_by_name_set_rates_and_rates_come_first() {
        let named = HostSpec {
            gpu_link: Some("nvlink5".to_owned()),
            nic_link: Some("pcie6".to_owned()),
            ..HostSpec::default()
        };
        let host = named.over(HostModel::hgx_h800()).unwrap();
        assert_eq!((host.nvlink, host.pcie), (Some(Rate::from_gbps(7_200)), Rate::from_gbps(968)));
        let rate = HostSpec { nvlink: Some(Rate::from_gbps(100)), ..named.clone() };
        assert_eq!(rate.over(HostModel::hgx_h800()).unwrap().nvlink, Some(Rate::from_gbps(100)));
        let error = HostSpec { nic_link: Some("pcie9".to_owned()), ..named }.over(HostModel::hgx_h800());
        assert!(error.unwrap_err().to_string().starts_with("host.nic_link = pcie9: write one of pcie3"));
    }
}
