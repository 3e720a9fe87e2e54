//! What a controller that is a Python object can ask: names, capacities, ways.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use railtwin_control::te::LinkReport;
use railtwin_engine::own::{QueuePair, Site, Ways};
use railtwin_fabric::{DeviceId, DeviceKind, HostId, LinkId};
use railtwin_routing::Prefixes;

use crate::errors;

/// The fabric of one replicate, as one controller sees it: links that it was told of as dead are dead here.
///
/// Links and devices are numbers from 0; `device_name` and `link_name` tell them as tables do.
#[pyclass(frozen, module = "railtwin.control")]
pub struct Fabric {
    site: Site,
    ways: Arc<Mutex<Ways>>,
}

/// A queue pair as Python has it: `railtwin.control.QueuePair`.
#[derive(FromPyObject)]
struct Asked {
    row: u32,
    number: u32,
    port: u32,
    ports: u32,
    job: u32,
    source: u32,
    target: u32,
    bytes: f64,
}

impl Fabric {
    pub(crate) fn new(site: &Site) -> Self {
        Self { site: site.clone(), ways: Arc::new(Mutex::new(Ways::new(site))) }
    }

    /// What hears of links for it.
    pub(crate) fn ears(&self) -> Ears {
        Ears(Arc::clone(&self.ways))
    }

    fn ways(&self) -> MutexGuard<'_, Ways> {
        self.ways.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn link(&self, py: Python<'_>, link: u32) -> PyResult<LinkId> {
        let count = self.site.fabric.link_count();
        if (link as usize) < count {
            return Ok(LinkId(link));
        }
        let hint = format!("write a number from 0 to {}", count - 1);
        Err(errors::argument(py, &format!("there is no link {link}"), &hint))
    }

    fn device(&self, py: Python<'_>, device: u32) -> PyResult<DeviceId> {
        let count = self.site.fabric.device_count();
        if (device as usize) < count {
            return Ok(DeviceId(device));
        }
        let hint = format!("write a number from 0 to {}", count - 1);
        Err(errors::argument(py, &format!("there is no device {device}"), &hint))
    }

    fn host(&self, py: Python<'_>, host: u32) -> PyResult<HostId> {
        let count = self.site.fabric.hosts().len();
        if (host as usize) < count {
            return Ok(HostId(host));
        }
        let hint = format!("write a number from 0 to {}", count - 1);
        Err(errors::argument(py, &format!("there is no host {host}"), &hint))
    }

    fn nic(&self, py: Python<'_>, device: u32) -> PyResult<DeviceId> {
        let nic = self.device(py, device)?;
        if self.site.fabric.kind(nic) == DeviceKind::Nic {
            return Ok(nic);
        }
        let name = self.site.fabric.device_name(nic);
        Err(errors::argument(py, &format!("device {device}, {name}, is no NIC"), "name a NIC"))
    }
}

#[pymethods]
impl Fabric {
    /// Number of the replicate, from 0.
    #[getter]
    fn replicate(&self) -> u32 {
        self.site.replicate
    }

    /// How many links there are; a cable is two.
    #[getter]
    fn links(&self) -> usize {
        self.site.fabric.link_count()
    }

    /// Links that this controller was told of as dead, ascending.
    #[getter]
    fn dead(&self) -> Vec<u32> {
        self.ways().dead().down_links().map(|link| link.0).collect()
    }

    /// The links that a queue pair takes by a UDP source port, from NIC to NIC; empty where nothing leads there.
    ///
    /// By the code that routes in runs, over what this controller knows to be dead. Where its own port of the NIC is
    /// dead a queue pair leaves by the next. Entries of leaves are not asked.
    fn route(&self, py: Python<'_>, queue_pair: Asked, source_port: u16) -> PyResult<Vec<u32>> {
        let Asked { row, number, port, ports, job, bytes, .. } = queue_pair;
        let (source, target) = (self.nic(py, queue_pair.source)?, self.nic(py, queue_pair.target)?);
        if port >= ports {
            let message = format!("the queue pair is on port {port} of a NIC with {ports}");
            return Err(errors::argument(py, &message, "take queue pairs from Opened"));
        }
        let queue_pair = QueuePair { row, number, port, ports, job, source, target, bytes };
        let mut links = Vec::with_capacity(8);
        self.ways().route(&queue_pair, source_port, &mut links);
        Ok(links.into_iter().map(|link| link.0).collect())
    }

    /// What a link carries, bits per second.
    fn capacity(&self, py: Python<'_>, link: u32) -> PyResult<u64> {
        Ok(self.site.fabric.capacity(self.link(py, link)?).bits_per_s())
    }

    /// A link as tables name it: from port to port.
    fn link_name(&self, py: Python<'_>, link: u32) -> PyResult<String> {
        Ok(self.site.fabric.link_name(self.link(py, link)?))
    }

    /// A NIC, switch or GPU as tables name it.
    fn device_name(&self, py: Python<'_>, device: u32) -> PyResult<String> {
        Ok(self.site.fabric.device_name(self.device(py, device)?))
    }

    /// How many hosts there are, spares and all.
    #[getter]
    fn hosts(&self) -> usize {
        self.site.fabric.hosts().len()
    }

    /// Pod and segment of a host, from 0.
    fn segment(&self, py: Python<'_>, host: u32) -> PyResult<(u32, u32)> {
        let host = self.site.fabric.host(self.host(py, host)?);
        Ok((host.pod, host.segment))
    }

    /// GPUs of a host.
    fn gpus(&self, py: Python<'_>, host: u32) -> PyResult<u32> {
        Ok(self.site.fabric.host_model(self.host(py, host)?).gpus)
    }

    /// Whether a host is a backup, on which no job runs until it takes another's place.
    fn is_spare(&self, py: Python<'_>, host: u32) -> PyResult<bool> {
        Ok(self.site.fabric.host(self.host(py, host)?).spare)
    }

    /// The prefix by which leaves know a NIC, for `Entry`; None where no leaf reaches it.
    fn prefix(&self, py: Python<'_>, nic: u32) -> PyResult<Option<u32>> {
        let nic = self.nic(py, nic)?;
        Ok(Prefixes::by_leaf_set(&self.site.fabric).prefix_of(nic).map(|prefix| prefix.0))
    }
}

/// Hears of links for a [`Fabric`].
#[derive(Debug)]
pub(crate) struct Ears(Arc<Mutex<Ways>>);

impl Ears {
    pub(crate) fn hear(&self, report: &LinkReport) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).hear(report);
    }
}
