//! Host models: how many GPUs and NICs, how they hang together, how fast.
use railtwin_units::{Bytes, Rate, SimTime};

use crate::error::FabricError;
use crate::host_costs::HostCosts;

/// Bound of NICs of a host in scenarios.
pub(crate) const MOST_NICS: i64 = 1024;

/// A network adapter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NicModel {
    /// Ports of one NIC; two where it reaches two leaves.
    pub ports: u32,
    /// Capacity of one port.
    pub port_capacity: Rate,
}

/// A host model: a scale-up domain of one host or of several trays. No count is fixed: any number of GPUs, NICs and ports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostModel {
    /// Name, such as `hgx-h800`.
    pub name: String,
    /// Physical hosts of the scale-up domain, such as the 18 compute trays of a rack of 72 GPUs; 1 for a host by itself.
    pub trays: u32,
    /// GPUs.
    pub gpus: u32,
    /// Backend NICs; NIC `r` serves rail `r`.
    pub nics: u32,
    /// A backend NIC.
    pub nic: NicModel,
    /// NVLink capacity of one GPU in one direction; none without a scale-up domain.
    pub nvlink: Option<Rate>,
    /// Delay of one NVLink hop.
    pub nvlink_delay: SimTime,
    /// PCIe capacity between a GPU and its NIC in one direction.
    pub pcie: Rate,
    /// Delay of the PCIe hop.
    pub pcie_delay: SimTime,
    /// PCIe switches over which GPUs and NICs are spread evenly, each with a link of `pcie` to the root complex that joins
    /// them; 0 = every NIC hangs on a GPU, and nothing else is told of PCIe.
    pub pcie_switches: u32,
    /// NICs into the frontend network.
    pub frontend_nics: u32,
    /// A frontend NIC.
    pub frontend: NicModel,
    /// Peak of one GPU in dense half precision, FLOP per second; none where unknown.
    pub gpu_flops: Option<u64>,
    /// Memory of one GPU; none where unknown.
    pub gpu_memory: Option<Bytes>,
    /// What it costs communication beside its links: nothing, unless somebody asks.
    pub costs: HostCosts,
}

impl HostModel {
    /// Whether GPUs of the host share a scale-up domain.
    pub fn has_nvswitch(&self) -> bool {
        self.nvlink.is_some()
    }

    /// The GPU that NIC `nic` hangs on: NICs spread evenly over GPUs.
    pub fn gpu_of_nic(&self, nic: u32) -> u32 {
        (u64::from(nic) * u64::from(self.gpus) / u64::from(self.nics)) as u32
    }

    /// The NIC that GPU `gpu` uses: its own, or the one it shares with its neighbors.
    pub fn nic_of_gpu(&self, gpu: u32) -> u32 {
        (u64::from(gpu) * u64::from(self.nics) / u64::from(self.gpus)) as u32
    }

    /// Whether GPUs of the host reach each other inside it: over NVLink, or over PCIe switches.
    pub fn joins_gpus(&self) -> bool {
        self.has_nvswitch() || self.pcie_switches > 0
    }

    /// The PCIe switch of GPU `gpu`.
    pub fn switch_of_gpu(&self, gpu: u32) -> u32 {
        (u64::from(gpu) * u64::from(self.pcie_switches) / u64::from(self.gpus)) as u32
    }

    /// The PCIe switch of NIC `nic`.
    pub fn switch_of_nic(&self, nic: u32) -> u32 {
        (u64::from(nic) * u64::from(self.pcie_switches) / u64::from(self.nics)) as u32
    }

    /// Multiprocessors of one GPU; none where nobody says. NVIDIA's data sheets: 132 of an H100 with SXM5, which an H800
    /// has too, 108 of an A100; 148 of a B200.
    pub fn multiprocessors(&self) -> Option<u32> {
        let of_model = match self.name.as_str() {
            "hgx-h800" | "hgx-h100" | "grand-teton" | "dgx-h100" | "dgx-gh200" => Some(132),
            "hgx-a100" | "zion-ex" => Some(108),
            "dgx-b200" | "gb200-nvl72" => Some(148),
            _ => None,
        };
        self.costs.multiprocessors.or(of_model)
    }

    /// Backend capacity of the host in one direction.
    pub fn backend_capacity(&self) -> Rate {
        self.nic.port_capacity * u64::from(self.nic.ports) * u64::from(self.nics)
    }

    /// Checks the counts.
    ///
    /// # Errors
    /// [`FabricError::OutOfRange`] naming the field.
    pub fn check(&self) -> Result<(), FabricError> {
        let positive = |field, value: u32| match value {
            0 => Err(FabricError::range(field, value, "write a whole number from 1 up")),
            _ => Ok(()),
        };
        positive("host.gpus", self.gpus)?;
        positive("host.nics", self.nics)?;
        positive("host.nic_ports", self.nic.ports)?;
        if self.trays == 0 || !self.gpus.is_multiple_of(self.trays) {
            let accepted =
                format!("trays share the {} GPUs of a scale-up domain: write a divisor", self.gpus);
            return Err(FabricError::range("host.trays", self.trays, accepted));
        }
        if self.pcie_switches > self.gpus {
            let accepted =
                format!("a PCIe switch joins GPUs: write at most as many as the {} GPUs", self.gpus);
            return Err(FabricError::range("host.pcie_switches", self.pcie_switches, accepted));
        }
        if self.gpus > 1 && !self.joins_gpus() && self.nics < self.gpus {
            let accepted = "a GPU without NVLink needs a NIC of its own: write at least as many NICs as GPUs, or \
                            host.pcie_switches";
            return Err(FabricError::range("host.nics", self.nics, accepted));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_and_nics_find_each_other_at_any_count() {
        for (gpus, nics) in [(8, 8), (4, 8), (8, 4), (6, 3), (1, 1), (8, 1), (5, 5)] {
            let model = HostModel { gpus, nics, ..HostModel::hgx_h800() };
            for nic in 0..nics {
                assert!(model.gpu_of_nic(nic) < gpus);
            }
            for gpu in 0..gpus {
                assert!(model.nic_of_gpu(gpu) < nics, "{gpus} GPUs, {nics} NICs");
            }
            if gpus == nics {
                assert!((0..gpus).all(|g| model.nic_of_gpu(g) == g && model.gpu_of_nic(g) == g));
            }
        }
    }

    #[test]
    fn impossible_hosts_are_refused() {
        let none = HostModel { gpus: 0, ..HostModel::hgx_h800() };
        assert!(none.check().unwrap_err().to_string().contains("host.gpus = 0"));
        let shared = HostModel { nvlink: None, nics: 4, ..HostModel::hgx_h800() };
        assert!(shared.check().is_err());
        let trays = HostModel { trays: 3, ..HostModel::hgx_h800() };
        assert!(trays.check().unwrap_err().to_string().contains("host.trays = 3"));
        assert!(HostModel { pcie_switches: 4, ..shared.clone() }.check().is_ok());
        assert!(HostModel { pcie_switches: 9, ..shared }.check().is_err());
    }
}
