//! NCCL's topology of a host: what PCIe, NVLink and NICs are, read from its XML and written to it.
//!
//! Learned from the source of NVIDIA/nccl (`src/graph/xml.cc`, `topo.cc`), and for AMD's XGMI from ROCm/rccl. NCCL reads such
//! a file by `NCCL_TOPO_FILE` before it looks at the machine, and writes one by `NCCL_TOPO_DUMP_FILE`. A file of a vendor of
//! virtual machines may hold PCI devices alone, and NCCL fills in the rest; a dump holds GPUs, NICs and NVLink as well.
//!
//! * [`NcclHost::parse`] reads, [`NcclHost::to_xml`] writes;
//! * [`NcclHost::host_model`] makes a host model of it, [`NcclHost::of_model`] a topology of a model.
mod element;
mod findings;
mod host;
mod host_model;
mod of_model;
mod pcie;
mod read;
mod write;

pub use host::{NcclCpu, NcclDevice, NcclDeviceKind, NcclGpu, NcclHost, NcclNet, NcclNic, NcclNvlink};
pub use host_model::NcclHostModel;
pub use pcie::NcclPcieLink;
