//! `railtwin import` of NCCL's topology of a host: the host model that it makes, and what of it is assumed.
use railtwin_fabric::HostModel;
use railtwin_topology::SourceFile;
use railtwin_topology::nccl::NcclHost;
use serde_json::json;

use crate::CliError;
use crate::import_facts::Facts;
use crate::topology_files::refused;

/// Whether a file is one, or a graph of NCCL, which is refused by name.
pub(crate) fn is_one(name: &str, bytes: &[u8]) -> bool {
    let source = SourceFile { name, bytes };
    // Parsing a graph says what it is.
    NcclHost::is_one(&source) || source.head().contains("<graphs")
}

/// Facts of a host.
///
/// # Errors
/// An input error for a file that is none, and for a host without GPUs or NICs.
pub(crate) fn facts(name: &str, bytes: &[u8]) -> Result<Facts, CliError> {
    let host = NcclHost::parse(&SourceFile { name, bytes }).map_err(|error| refused(&error))?;
    let made = host.host_model().map_err(|error| CliError::refused(&format!("{name}: {error}")))?;
    let model = &made.model;
    let mut facts = Facts::new("nccl-topology", name);
    facts.count("gpus", "GPUs", model.gpus);
    facts.count("nics", "backend NICs", model.nics);
    facts.count("nic_ports", "ports of a NIC", model.nic.ports);
    facts.push(
        "nic_port_capacity",
        "capacity of a port",
        model.nic.port_capacity.to_string(),
        json!(model.nic.port_capacity.gbps()),
    );
    facts.count("frontend_nics", "frontend NICs", model.frontend_nics);
    facts.count("numa_nodes", "NUMA nodes", host.cpus.len() as u64);
    facts.count("nvswitches", "NVSwitches that the file has", host.nvswitches());
    let nvlink = model.nvlink.map_or("none".to_owned(), |rate| rate.to_string());
    facts.push("nvlink", "NVLink of a GPU, a direction", nvlink, json!(model.nvlink.map(|rate| rate.gbps())));
    facts.push("pcie", "PCIe, a direction", model.pcie.to_string(), json!(model.pcie.gbps()));
    facts.count("pcie_switches", "PCIe switches that GPUs and NICs share", model.pcie_switches);
    let assumed: Vec<String> =
        made.assumed.iter().map(|(field, reason)| format!("{field}: {reason}")).collect();
    facts.push("assumed", "assumed", made.assumed.len().to_string(), json!(assumed));
    facts.notes.extend(assumed.iter().map(|line| format!("assumed: {line}")));
    facts.notes.extend(host.notes.iter().cloned());
    facts.notes.push(format!("[fabric.host]: {}", keys(model)));
    facts.findings = host.findings;
    Ok(facts)
}

/// The model as keys of `[fabric.host]`.
fn keys(model: &HostModel) -> String {
    let nvlink = model.nvlink.map_or("0 Gbps".to_owned(), |rate| rate.to_string());
    format!(
        "gpus = {}, nics = {}, nic_ports = {}, nic_port_capacity = \"{}\", nvlink = \"{nvlink}\", pcie = \"{}\", \
         pcie_switches = {}",
        model.gpus, model.nics, model.nic.ports, model.nic.port_capacity, model.pcie, model.pcie_switches
    )
}
