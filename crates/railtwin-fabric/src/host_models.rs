//! Known host models.
use railtwin_units::{Bytes, Rate, SimTime};

use crate::host::{HostModel, NicModel};
use crate::host_costs::HostCosts;

/// What vendors call 80 GB and 40 GB: stacks of HBM of 16 and 8 GiB, five in use (NVIDIA's data sheets of A100 and
/// H100). An H800 has the memory of an H100.
const GPU_80_GB: Bytes = Bytes(80 << 30);
const GPU_40_GB: Bytes = Bytes(40 << 30);
/// What vendors call 288 GB: eight stacks of 36 GB, decimal ones, of which a GPU has 268 GiB.
const GPU_288_GB: Bytes = Bytes(268 << 30);

impl HostModel {
    /// The host of HPN section 9: 8 × H800, 400 GB/s bidirectional NVLink, 8 + 1 NICs of 2 × 200 Gbps.
    /// PCIe is Gen5 x16 (HPN section 3): 32 GT/s × 16 × 128b/130b = 504 Gbps.
    pub fn hgx_h800() -> Self {
        let nic = NicModel { ports: 2, port_capacity: Rate::from_gbps(200) };
        Self {
            name: "hgx-h800".to_owned(),
            trays: 1,
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
            costs: HostCosts::default(),
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
            trays: 1,
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
            costs: HostCosts::default(),
        }
    }

    /// NVIDIA's DGX H100 (its user guide): as [`HostModel::hgx_h100`] with 8 NICs of one 400 Gbps port, and 2 of 2 ports for
    /// storage and management.
    pub fn dgx_h100() -> Self {
        Self {
            name: "dgx-h100".to_owned(),
            nic: NicModel { ports: 1, port_capacity: Rate::from_gbps(400) },
            frontend_nics: 2,
            ..Self::hgx_h100()
        }
    }

    /// NVIDIA's DGX B200 (its data sheet): 8 × B200 of 180 GB, NVLink 5, 8 NICs of one 400 Gbps port.
    pub fn dgx_b200() -> Self {
        Self {
            name: "dgx-b200".to_owned(),
            nvlink: Some(Rate::from_gbps(7_200)),
            gpu_flops: Some(2_250_000_000_000_000),
            gpu_memory: Some(Bytes(180 << 30)),
            ..Self::dgx_h100()
        }
    }

    /// NVIDIA's DGX B300 (its data sheet): 8 × B300, NVLink 5, 8 NICs of one 800 Gbps port behind PCIe Gen6 x16.
    pub fn dgx_b300() -> Self {
        Self {
            name: "dgx-b300".to_owned(),
            nic: NicModel { ports: 1, port_capacity: Rate::from_gbps(800) },
            pcie: Rate::from_gbps(968),
            gpu_memory: Some(GPU_288_GB),
            ..Self::dgx_b200()
        }
    }

    /// A host of 8 × MI300X (AMD's data sheet): seven Infinity Fabric links of 64 GB/s a direction at each GPU, one to each
    /// other, here behind one switch; 8 NICs of one 400 Gbps port.
    pub fn mi300x() -> Self {
        Self {
            name: "mi300x".to_owned(),
            nic: NicModel { ports: 1, port_capacity: Rate::from_gbps(400) },
            nvlink: Some(Rate::from_gbps(3_584)),
            gpu_flops: Some(1_307_400_000_000_000),
            gpu_memory: Some(Bytes(192 << 30)),
            ..Self::hgx_h800()
        }
    }

    /// NVIDIA's GB200 NVL72 (its data sheet): 72 × B200 of 186 GB on NVLink 5 in 18 trays, a NIC of one 400 Gbps port for
    /// each GPU and two frontend NICs in each tray.
    pub fn gb200_nvl72() -> Self {
        Self {
            name: "gb200-nvl72".to_owned(),
            trays: 18,
            gpus: 72,
            nics: 72,
            frontend_nics: 36,
            gpu_flops: Some(2_500_000_000_000_000),
            gpu_memory: Some(Bytes(186 << 30)),
            ..Self::dgx_b200()
        }
    }

    /// NVIDIA's GB300 NVL72: as [`HostModel::gb200_nvl72`] with B300 GPUs and NICs of 800 Gbps behind PCIe Gen6 x16.
    pub fn gb300_nvl72() -> Self {
        Self {
            name: "gb300-nvl72".to_owned(),
            nic: NicModel { ports: 1, port_capacity: Rate::from_gbps(800) },
            pcie: Rate::from_gbps(968),
            gpu_memory: Some(GPU_288_GB),
            ..Self::gb200_nvl72()
        }
    }

    /// NVIDIA's DGX GH200 (its data sheet): 256 × GH200 of 96 GB on one NVLink 4 network in 32 chassis of eight, a NIC of one
    /// 400 Gbps port and a frontend NIC for each GPU.
    pub fn dgx_gh200() -> Self {
        Self {
            name: "dgx-gh200".to_owned(),
            trays: 32,
            gpus: 256,
            nics: 256,
            frontend_nics: 256,
            gpu_memory: Some(Bytes(96 << 30)),
            ..Self::dgx_h100()
        }
    }

    /// A host of Google's TPU v4 (Jouppi et al. 2023): 4 chips of 32 GiB, each with six links of 50 GB/s a direction into a
    /// torus, which are the ports of its NIC. Chips and their links are one piece: PCIe is as fast as they are.
    pub fn tpu_v4() -> Self {
        let nic = NicModel { ports: 6, port_capacity: Rate::from_gbps(400) };
        Self {
            name: "tpu-v4".to_owned(),
            gpus: 4,
            nics: 4,
            pcie: Rate::from_gbps(2_400),
            gpu_flops: Some(275_000_000_000_000),
            gpu_memory: Some(Bytes(32 << 30)),
            nic,
            ..Self::plain(nic.port_capacity)
        }
    }

    /// Names that [`HostModel::named`] knows.
    pub const NAMES: [&'static str; MODELS.len()] = {
        let mut names = [""; MODELS.len()];
        let mut row = 0;
        while row < MODELS.len() {
            names[row] = MODELS[row].0;
            row += 1;
        }
        names
    };

    /// A model by name.
    pub fn named(name: &str) -> Option<Self> {
        MODELS.iter().find(|(known, _)| *known == name).map(|(_, model)| model())
    }
}

/// A model by its name.
type Named = (&'static str, fn() -> HostModel);

/// The models by their names.
const MODELS: [Named; 14] = [
    ("hgx-h800", HostModel::hgx_h800),
    ("hgx-h100", HostModel::hgx_h100),
    ("hgx-a100", HostModel::hgx_a100),
    ("grand-teton", HostModel::grand_teton),
    ("zion-ex", HostModel::zion_ex),
    ("plain", || HostModel::plain(Rate::from_gbps(400))),
    ("dgx-h100", HostModel::dgx_h100),
    ("dgx-b200", HostModel::dgx_b200),
    ("dgx-b300", HostModel::dgx_b300),
    ("mi300x", HostModel::mi300x),
    ("gb200-nvl72", HostModel::gb200_nvl72),
    ("gb300-nvl72", HostModel::gb300_nvl72),
    ("dgx-gh200", HostModel::dgx_gh200),
    ("tpu-v4", HostModel::tpu_v4),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::{GPU_LINKS, NIC_LINKS, rate_of};

    #[test]
    fn models_go_by_their_names() {
        for name in HostModel::NAMES {
            let model = HostModel::named(name).unwrap();
            assert_eq!(model.name, name);
            assert!(model.check().is_ok());
        }
        assert!(HostModel::named("dgx-h200").is_none());
    }

    #[test]
    fn models_have_the_links_of_their_generation() {
        for (name, nvlink, pcie) in [
            ("hgx-h100", "nvlink4", "pcie5"),
            ("hgx-a100", "nvlink3", "pcie4"),
            ("dgx-h100", "nvlink4", "pcie5"),
            ("dgx-b200", "nvlink5", "pcie5"),
            ("dgx-b300", "nvlink5", "pcie6"),
            ("mi300x", "infinity-fabric", "pcie5"),
            ("gb200-nvl72", "nvlink5", "pcie5"),
            ("gb300-nvl72", "nvlink5", "pcie6"),
            ("dgx-gh200", "nvlink4", "pcie5"),
        ] {
            let model = HostModel::named(name).unwrap();
            assert_eq!(
                (model.nvlink, Some(model.pcie)),
                (rate_of(&GPU_LINKS, nvlink), rate_of(&NIC_LINKS, pcie)),
                "{name}"
            );
            assert!(model.pcie >= model.nic.port_capacity, "{name}: PCIe carries what the NIC does");
        }
    }
}
