//! The fabric of a `lingjun` topology file.
use railtwin_fabric::Fabric;
use railtwin_formats::{LingjunDesign, LingjunTopology};

use crate::resolve::{Reader, Source};
use crate::{LingjunSpec, ScenarioError};

/// Reads and builds it.
pub(crate) fn fabric(
    spec: &LingjunSpec,
    source: Source<'_>,
    read: &Reader<'_>,
) -> Result<Fabric, ScenarioError> {
    let path = &spec.lingjun;
    let bytes = read(path).map_err(|problem| {
        let hint = "paths are relative to the scenario's folder";
        source.error("fabric.lingjun", format!("cannot read {path:?}: {problem}"), Some(hint))
    })?;
    let host = spec.host_model().map_err(|error| source.error("fabric.host", error.to_string(), None))?;
    let topology = LingjunTopology::parse(path, &bytes)
        .map_err(|error| source.error("fabric.lingjun", error.to_string(), None))?;
    let design = LingjunDesign { host, ..LingjunDesign::default() };
    topology.fabric(&design).map_err(|error| source.error("fabric.lingjun", error.to_string(), None))
}
