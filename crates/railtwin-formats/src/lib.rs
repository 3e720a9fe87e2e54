//! Decoders and encoders of other projects' files. No I/O: bytes in, typed structs out, and back.
//!
//! | format | read | write |
//! | --- | --- | --- |
//! | SimAI / AICB workload text | [`SimaiWorkload::parse`], [`SimaiWorkload::plan`] | [`SimaiWorkload::to_text`] |
//! | Chakra execution trace (`.et`) | [`ChakraTrace::decode`] | [`ChakraTrace::encode`] |
//! | Chakra communicators (JSON) | [`parse_chakra_groups`] | |
//! | Lingjun topology (`topo.csv`) | [`LingjunTopology::parse`] | |
//! | htsim connection matrix (`.cm`) | [`HtsimConnections::parse`], [`HtsimConnections::plan`] | |
//! | htsim topology (`.topo`) | [`HtsimTopology::parse`], [`HtsimTopology::spec`] | |
//! | LACP and LLDP frames, captures | [`frames`] | [`frames`] |
//! | hops of probes with in-band telemetry (CSV, JSON lines) | [`parse_int_hops`] | |
//! | cable lists (CSV) | [`parse_cable_list`] | [`cable_list_csv`] |
//! | lists of jobs: CSV, openb pods, Slurm `sacct` | [`job_list`] | [`job_list_csv`] |
//!
//! Configuration of switches and hosts, written of a fabric, read back and judged, is in [`switch_config`].
//!
//! Telemetry of clusters, from NCCL Inspector to `ethtool`, is in [`telemetry`].
//!
//! Two go further: [`plan_of_chakra`] makes a plan of all ranks' traces, [`LingjunTopology::fabric`] a fabric.
//!
//! The structs keep the numbers of the file in plain integers with the unit in the field's name.
//! Bad input gives one [`FormatError`] with place, field, value and what would be accepted;
//! arbitrary bytes never panic.
//!
//! ```
//! use railtwin_formats::{Group, SimaiWorkload};
//!
//! let text = "HYBRID_TRANSFORMER model_parallel_NPU_group: 8 pp_comm 0\n\
//!             1\n\
//!             embedding -1 556000 ALLREDUCE 16777216 1 NONE 0 1 REDUCESCATTER 64 1\n";
//! let workload = SimaiWorkload::parse("simai.txt", text.as_bytes())?;
//! assert_eq!((workload.tp, workload.pp), (8, 1));
//!
//! let layer = &workload.layers[0];
//! assert_eq!(layer.forward.compute_ns, 556_000);
//! assert_eq!(layer.forward.collective.map(|collective| collective.group), Some(Group::Tp));
//! assert_eq!(layer.weight_gradient.collective.map(|collective| collective.group), Some(Group::Dp));
//!
//! let error = SimaiWorkload::parse("simai.txt", text.replace("556000", "12x").as_bytes()).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "simai.txt:3: column 3 (forward compute time): \"12x\" is not a whole number of nanoseconds; \
//!      write an integer such as 1750840",
//! );
//! # Ok::<(), railtwin_formats::FormatError>(())
//! ```

mod cable_list;
mod chakra;
mod chakra_convert;
mod chakra_groups;
mod chakra_match;
mod chakra_order;
mod chakra_plan;
mod chakra_proto;
mod chakra_set;
mod chakra_wire;
mod error;
pub mod frames;
mod htsim_connections;
mod htsim_lines;
mod htsim_topology;
mod int_hops;
mod job_list;
mod lingjun;
mod lingjun_fabric;
mod simai;
mod simai_header;
mod simai_parse;
mod simai_plan;
mod simai_topology;
mod simai_warn;
mod simai_write;
pub mod switch_config;
pub mod telemetry;

pub use cable_list::{cable_list_csv, is_cable_list, parse_cable_list, read_cable_list};
pub use chakra::{AttributeValue, ChakraAttribute, ChakraNode, ChakraTrace, CommType, IoInfo, NodeKind};
pub use chakra_groups::parse_chakra_groups;
pub use chakra_plan::plan_of_chakra;
pub use chakra_wire::CHAKRA_BYTES_MAX;
pub use error::{FormatError, Place, Refusal};
pub use htsim_connections::{HtsimConnection, HtsimConnections};
pub use htsim_topology::{HtsimTier, HtsimTopology};
pub use int_hops::{is_int_hops, parse_int_hops};
pub use job_list::{JobList, JobListFormat, job_list, job_list_csv};
pub use lingjun::{LingjunHost, LingjunLeaf, LingjunSpineGroup, LingjunTopology};
pub use lingjun_fabric::LingjunDesign;
pub use simai::{CollectiveKind, Group, Phase, SimaiCollective, SimaiLayer, SimaiPolicy, SimaiWorkload};
pub use simai_topology::{SimaiLink, SimaiTopology};
