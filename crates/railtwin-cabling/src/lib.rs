//! A network cable by cable: where each end stands, how long it is, which optic sits at it.
//!
//! * [`blueprint`]: designs of few lines whose every port is named, and the cables that they make.
//! * [`bom`]: the bill of materials of such a design.
//! * [`site`]: racks, rows and buildings; [`RackPosition`] is the place of a device.
//! * [`schedule`]: every cable of a fabric or a list with both ends, its length and its parts.
//!
//! ```
//! use railtwin_cabling::{Blueprint, CableSchedule, FloorPlan};
//! use railtwin_catalog::Catalog;
//! let design = r#"
//! [blueprint]
//! name = "two leaves"
//! [leaf]
//! leaf = { fabric = "backend", count = 2, ports = "1-32 as 2x400", uplink = "33-64 as 1x800" }
//! [spine]
//! spine = { fabric = "backend", downlink = "1-64 as 1x800" }
//! [server]
//! compute = { count = 16, links = ["be{0-7}-port0 to leaf by rail"] }
//! "#;
//! let list = Blueprint::parse("design.toml", design)?.cables()?;
//! assert_eq!(list.cables().len(), 16 * 8 + 64);
//! let schedule = CableSchedule::of_list(list, &FloorPlan::default(), &Catalog::builtin())?;
//! assert_eq!(schedule.cables.len(), 192);
//! # Ok::<(), railtwin_cabling::CablingError>(())
//! ```
mod error;
mod fields;
mod floor;
mod text;

pub mod blueprint;
pub mod bom;
pub mod schedule;
pub mod site;

pub use blueprint::{Blueprint, PlanRules};
pub use bom::{Bom, BomParts};
pub use error::CablingError;
pub use floor::RackPosition;
pub use schedule::{CableSchedule, ScheduleSummary};
pub use site::{FloorPlan, FrontendPlace, LeafPlace};
