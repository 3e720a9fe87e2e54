//! Host models: how many GPUs and NICs, how they hang together, how fast.
use railtwin_units::{Bytes, Rate, SimTime};

use crate::error::FabricError;

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

/// A host model. No count is fixed: any number of GPUs, NICs and ports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostModel {
    /// Name, such as `hgx-h800`.
    pub name: String,
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
}

/// What vendors call 80 GB and 40 GB: stacks of HBM of 16 and 8 GiB, five in use (NVIDIA's data sheets of A100 and
/// H100). An H800 has the memory of an H100.
const GPU_80_GB: Bytes = Bytes(80 << 30);
const GPU_40_GB: Bytes = Bytes(40 << 30);

impl HostModel {
    /// The host of HPN section 9: 8 × H800, 400 GB/s bidirectional NVLink, 8 + 1 NICs of 2 × 200 Gbps.
    /// PCIe is Gen5 x16 (HPN section 3): 32 GT/s × 16 × 128b/130b = 504 Gbps.
    pub fn hgx_h800() -> Self {
        let nic = NicModel { ports: 2, port_capacity: Rate::from_gbps(200) };
        Self {
            name: "hgx-h800".to_owned(),
            gpus: 8,
            nics: 8,
            nic,
            nvlink: Some(Rate::from_gbps(1600)),
            nvlink_delay: SimTime::from_ns(200),
            pcie: Rate::from_gbps(504),
            pcie_delay: SimTime::from_ns(300),
            pcie_switches: 0,
            frontend_nics: 1,
            frontend: nic,
            gpu_flops: Some(989_500_000_000_000),
            gpu_memory: Some(GPU_80_GB),
        }
    }

    /// As [`HostModel::hgx_h800`] with the full 900 GB/s bidirectional NVLink of an H100.
    pub fn hgx_h100() -> Self {
        Self { name: "hgx-h100".to_owned(), nvlink: Some(Rate::from_gbps(3600)), ..Self::hgx_h800() }
    }

    /// 8 × A100 of 80 GB, 600 GB/s bidirectional NVLink, 8 NICs of one 200 Gbps port, PCIe Gen4 x16 = 252 Gbps.
    pub fn hgx_a100() -> Self {
        Self {
            name: "hgx-a100".to_owned(),
            nic: NicModel { ports: 1, port_capacity: Rate::from_gbps(200) },
            nvlink: Some(Rate::from_gbps(2400)),
            pcie: Rate::from_gbps(252),
            gpu_flops: Some(312_000_000_000_000),
            ..Self::hgx_h800()
        }
    }

    /// Meta's Grand Teton (Meta RoCE section 3.1): 8 × H100 on one NVSwitch, 8 NICs of one 400 Gbps
    /// port, PCIe Gen5 x16.
    pub fn grand_teton() -> Self {
        Self {
            name: "grand-teton".to_owned(),
            nic: NicModel { ports: 1, port_capacity: Rate::from_gbps(400) },
            ..Self::hgx_h100()
        }
    }

    /// Meta's ZionEX (Meta RoCE section 3.1): 8 × A100, 8 NICs of one 200 Gbps port, PCIe Gen4 x16. Its GPUs are those of
    /// 40 GB: 320 GB of HBM in a host (Mudigere et al. 2022).
    pub fn zion_ex() -> Self {
        Self { name: "zion-ex".to_owned(), gpu_memory: Some(GPU_40_GB), ..Self::hgx_a100() }
    }

    /// One GPU behind one NIC port: the host of textbook fabrics.
    pub fn plain(port_capacity: Rate) -> Self {
        let nic = NicModel { ports: 1, port_capacity };
        Self {
            name: "plain".to_owned(),
            gpus: 1,
            nics: 1,
            nic,
            nvlink: None,
            nvlink_delay: SimTime::ZERO,
            pcie: Rate::from_gbps(504).max(port_capacity),
            pcie_delay: SimTime::ZERO,
            pcie_switches: 0,
            frontend_nics: 0,
            frontend: nic,
            gpu_flops: None,
            gpu_memory: None,
        }
    }

    /// Names that [`HostModel::named`] knows.
    pub const NAMES: [&'static str; 6] =
        ["hgx-h800", "hgx-h100", "hgx-a100", "grand-teton", "zion-ex", "plain"];

    /// A model by name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "hgx-h800" => Some(Self::hgx_h800()),
            "hgx-h100" => Some(Self::hgx_h100()),
            "hgx-a100" => Some(Self::hgx_a100()),
            "grand-teton" => Some(Self::grand_teton()),
            "zion-ex" => Some(Self::zion_ex()),
            "plain" => Some(Self::plain(Rate::from_gbps(400))),
            _ => None,
        }
    }

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
    fn models_go_by_their_names() {
        for name in HostModel::NAMES {
            assert_eq!(HostModel::named(name).map(|model| model.name).as_deref(), Some(name));
        }
    }

    #[test]
    fn impossible_hosts_are_refused() {
        let none = HostModel { gpus: 0, ..HostModel::hgx_h800() };
        assert!(none.check().unwrap_err().to_string().contains("host.gpus = 0"));
        let shared = HostModel { nvlink: None, nics: 4, ..HostModel::hgx_h800() };
        assert!(shared.check().is_err());
        assert!(HostModel { pcie_switches: 4, ..shared.clone() }.check().is_ok());
        assert!(HostModel { pcie_switches: 9, ..shared }.check().is_err());
    }
}
