//! From `[fabric]` to the graph.
use railtwin_engine::WorkGraph;
use railtwin_fabric::cable_list::Inference;
use railtwin_fabric::clos::ClosSpec;
use railtwin_fabric::preset::{Cables, Preset};
use railtwin_fabric::{Fabric, FabricError, Network, Outside};
use railtwin_formats::{HtsimTopology, LingjunDesign, LingjunTopology};

use crate::resolve::{Reader, Source};
use crate::scenario::EngineName;
use crate::{FabricSpec, HtsimSpec, LingjunSpec, Scenario, ScenarioError};

impl Scenario {
    /// The fabric that the scenario names.
    ///
    /// # Errors
    /// [`ScenarioError`] at `fabric` when it cannot be built or its file not be read.
    pub fn fabric(&self, source: Source<'_>, read: &Reader<'_>) -> Result<Fabric, ScenarioError> {
        let outside = Outside { frontend: self.frontend, storage: self.storage };
        let services = outside.services_on(Network::Backend);
        let refuse = |error: FabricError| {
            let place =
                error.field().filter(|field| field.starts_with("storage.") || field.starts_with("frontend."));
            source.error(place.unwrap_or("fabric"), error.to_string(), None)
        };
        let fabric = match &self.fabric {
            FabricSpec::Lingjun(_) | FabricSpec::Preset(Preset::Cables(_)) if services > 0 => {
                let message = "nobody knows which hosts of an imported fabric are for storage";
                return Err(source.error("storage.on", message, Some("write on = \"frontend\"")));
            }
            FabricSpec::Preset(Preset::Cables(spec)) => cables(spec, source, read)?,
            FabricSpec::Preset(preset) => preset.layout().fabric(services).map_err(refuse)?,
            FabricSpec::Lingjun(spec) => lingjun(spec, source, read)?,
            FabricSpec::Htsim(spec) => htsim(spec, services, source, read)?,
        };
        let key = if self.frontend.is_some() { "frontend" } else { "storage" };
        outside.beside(fabric).map_err(|error| source.error(key, error.to_string(), None))
    }
}

impl Scenario {
    /// Has computation of all jobs go on with the multiprocessors that channels leave, where the host says how many they take.
    ///
    /// # Errors
    /// Channels that leave none, or of GPUs of which nobody says how many they have; contexts that packets cannot fetch.
    pub(crate) fn charge_hosts(
        &self,
        work: &mut WorkGraph,
        fabric: &Fabric,
        source: Source<'_>,
    ) -> Result<(), ScenarioError> {
        for model in fabric.host_models() {
            let switches = model.pcie_switches > 0 && self.engine == EngineName::Packet;
            if model.costs.contexts.is_some() && switches {
                let message = "packets share the links of PCIe switches among what moves data, and fetch no contexts over them";
                let hint = "leave contexts or pcie_switches out, or ask the flow engine";
                return Err(source.error("fabric.host.costs.contexts", message, Some(hint)));
            }
            let Some(channels) = model.costs.channels.filter(|_| model.gpus > 0) else { continue };
            let Some(all) = model.multiprocessors() else {
                let message = format!("nobody says how many multiprocessors a GPU of {} has", model.name);
                let hint = "write multiprocessors beside channels";
                return Err(source.error("fabric.host.costs.channels", message, Some(hint)));
            };
            if channels >= all {
                let message = format!("{channels} channels leave computation none of {all} multiprocessors");
                return Err(source.error("fabric.host.costs.channels", message, Some("write fewer")));
            }
            let left = 1.0 - f64::from(channels) / f64::from(all);
            work.jobs.iter_mut().for_each(|job| job.beside = left);
        }
        Ok(())
    }
}

/// Reads and builds the fabric of a cable list, or of any other topology file.
fn cables(spec: &Cables, source: Source<'_>, read: &Reader<'_>) -> Result<Fabric, ScenarioError> {
    let path = &spec.file;
    let refuse = |message: String| source.error("fabric.file", message, None);
    let bytes = source.read(read, "fabric.file", path)?;
    let read = [railtwin_topology::SourceFile { name: path, bytes: &bytes }];
    let list = railtwin_topology::read_as(None, &read).map_err(|error| refuse(error.to_string()))?.list;
    let found = Inference::of(&list).map_err(|error| refuse(format!("{path}: {error}")))?;
    let built = list.fabric(&found, &spec.design()).map_err(|error| {
        let is_host = error.field().is_some_and(|field| field.starts_with("host."));
        source.error(if is_host { "fabric.host" } else { "fabric.file" }, format!("{path}: {error}"), None)
    })?;
    Ok(built.fabric)
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
fn htsim(
    spec: &HtsimSpec,
    services: u32,
    source: Source<'_>,
    read: &Reader<'_>,
) -> Result<Fabric, ScenarioError> {
    let path = &spec.htsim;
    let refuse = |message: String| source.error("fabric.htsim", message, None);
    let bytes = source.read(read, "fabric.htsim", path)?;
    let topology = HtsimTopology::parse(path, &bytes).map_err(|error| refuse(error.to_string()))?;
    let clos = topology.spec().map_err(|error| refuse(error.to_string()))?;
    ClosSpec { services, ..clos }.build().map_err(|error| refuse(error.to_string()))
}
