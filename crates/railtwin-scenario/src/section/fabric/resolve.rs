//! From `[fabric]` to the graph.
use railtwin_fabric::Fabric;
use railtwin_formats::{HtsimTopology, LingjunDesign, LingjunTopology};

use crate::resolve::{Reader, Source};
use crate::{FabricSpec, HtsimSpec, LingjunSpec, Scenario, ScenarioError};

impl Scenario {
    /// The fabric that the scenario names.
    ///
    /// # Errors
    /// [`ScenarioError`] at `fabric` when it cannot be built or its file not be read.
    pub fn fabric(&self, source: Source<'_>, read: &Reader<'_>) -> Result<Fabric, ScenarioError> {
        match &self.fabric {
            FabricSpec::Preset(preset) => {
                preset.build().map_err(|error| source.error("fabric", error.to_string(), None))
            }
            FabricSpec::Lingjun(spec) => lingjun(spec, source, read),
            FabricSpec::Htsim(spec) => htsim(spec, source, read),
        }
    }
}

/// Reads and builds the fabric of a `topo.csv`.
fn lingjun(spec: &LingjunSpec, source: Source<'_>, read: &Reader<'_>) -> Result<Fabric, ScenarioError> {
    let path = &spec.lingjun;
    let bytes = source.read(read, "fabric.lingjun", path)?;
    let host = spec.host_model().map_err(|error| source.error("fabric.host", error.to_string(), None))?;
    let topology = LingjunTopology::parse(path, &bytes)
        .map_err(|error| source.error("fabric.lingjun", error.to_string(), None))?;
    let design = LingjunDesign { host, ..LingjunDesign::default() };
    topology.fabric(&design).map_err(|error| source.error("fabric.lingjun", error.to_string(), None))
}

/// Reads and builds the fabric of a `.topo` file.
fn htsim(spec: &HtsimSpec, source: Source<'_>, read: &Reader<'_>) -> Result<Fabric, ScenarioError> {
    let path = &spec.htsim;
    let refuse = |message: String| source.error("fabric.htsim", message, None);
    let bytes = source.read(read, "fabric.htsim", path)?;
    let topology = HtsimTopology::parse(path, &bytes).map_err(|error| refuse(error.to_string()))?;
    let clos = topology.spec().map_err(|error| refuse(error.to_string()))?;
    clos.build().map_err(|error| refuse(error.to_string()))
}
