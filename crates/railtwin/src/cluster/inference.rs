//! Who serves inference in weeks of jobs: GPUs by the placement or by name, and what cannot be served.
use railtwin_clustersim::plant::Plant;
use railtwin_clustersim::serving::{NotServed, seats};
use railtwin_clustersim::{Inference, Serving};
use railtwin_control::Place;
use railtwin_fabric::HostId;
use railtwin_scenario::ClusterInference;

use super::{ClusterQuestion, DAY};
use crate::error::Error;

/// What is asked of the GPUs that serve.
fn asked(spec: &ClusterInference) -> Inference {
    let &ClusterInference { requests_per_s, request, response, tide, .. } = spec;
    Inference { requests_per_s, request, response, tide }
}

impl ClusterQuestion {
    /// GPUs that serve.
    pub(super) fn serving_gpus(&self) -> u32 {
        let Some(spec) = &self.spec.inference else { return 0 };
        let of_hosts = || spec.hosts.iter().map(|&host| self.fabric.host_model(HostId(host)).gpus).sum();
        spec.gpus.unwrap_or_else(of_hosts)
    }

    /// Refuses hosts that cannot serve, GPUs that are not there, and what links do not carry, under the scenario's seed.
    pub(super) fn check_inference(&self) -> Result<(), Error> {
        let Some(spec) = &self.spec.inference else { return Ok(()) };
        let hosts = self.fabric.hosts().len() as u32;
        for (row, &host) in spec.hosts.iter().enumerate() {
            let problem = match host {
                _ if host >= hosts => {
                    format!("host {host}, but the fabric has hosts 0 to {}", hosts.saturating_sub(1))
                }
                _ if self.fabric.host(HostId(host)).spare => format!("host {host}, which is a backup host"),
                _ if spec.hosts[..row].contains(&host) => format!("host {host} twice"),
                _ => continue,
            };
            return Err(Error::Argument(format!("cluster.inference.hosts has {problem}")));
        }
        let (all, serve) = (self.gpus_of_hosts(), self.serving_gpus());
        if serve >= all {
            let key = if spec.gpus.is_some() { "gpus" } else { "hosts" };
            return Err(Error::Argument(format!(
                "cluster.inference.{key}: {serve} GPUs serve, and the cluster has {all}: leave some to jobs"
            )));
        }
        let serving = self.serving(&Plant::new(&self.fabric, self.spec.paths), self.seed)?;
        self.check_jobs(serving.as_ref())
    }

    /// What is to be said where nobody asks.
    pub(super) fn remark_of_inference(&self) -> Option<String> {
        let spec = self.spec.inference.as_ref().filter(|spec| spec.requests_per_s == 0.0)?;
        let tide = if spec.tide > 0.0 { ", and a tide of nothing" } else { "" };
        let serve = self.serving_gpus();
        Some(format!("cluster.inference.requests_per_s is 0: {serve} GPUs that nobody asks anything{tide}"))
    }

    /// GPUs that serve under a seed; none where nobody does.
    pub(super) fn seats(&self, seed: u64) -> Result<Vec<Place>, Error> {
        let Some(spec) = &self.spec.inference else { return Ok(Vec::new()) };
        let Some(gpus) = spec.gpus else {
            let all = |host| {
                let gpus = self.fabric.host_model(HostId(host)).gpus;
                (0..gpus).map(move |gpu| Place { host: HostId(host), gpu })
            };
            return Ok(spec.hosts.iter().flat_map(|&host| all(host)).collect());
        };
        let placed = seats(&self.fabric, gpus, &self.spec.placement.policy(), seed);
        placed.map_err(|why| Error::Argument(format!("cluster.inference.gpus = {gpus}: {why}")))
    }

    /// Who serves under a seed, and what that takes of links.
    pub(super) fn serving(&self, plant: &Plant<'_>, seed: u64) -> Result<Option<Serving>, Error> {
        let Some(spec) = &self.spec.inference else { return Ok(None) };
        let span = (self.spec.days * DAY, seed);
        let serving = Serving::new(plant, self.seats(seed)?, &asked(spec), self.spec.queue_pairs, span);
        serving.map(Some).map_err(|why| self.not_served(&why))
    }

    fn not_served(&self, why: &NotServed) -> Error {
        let name = |host: HostId| self.fabric.host_name(host);
        Error::Argument(match *why {
            NotServed::NoRoom { .. } => format!("cluster.inference: {why}"),
            NotServed::NoWay { host, gateway } => {
                format!("cluster.inference: no switch joins {} and {}", name(host), name(gateway))
            }
            NotServed::TooMuch { link, hour, share } => {
                let rate = self.spec.inference.as_ref().map_or(0.0, |spec| spec.requests_per_s);
                format!(
                    "cluster.inference.requests_per_s = {rate}: at {hour} o'clock requests and answers ask {share:.2} times \
                     what {} carries: write less than {:.4}, more gateways in [storage], or more queue_pairs, which spread \
                     them more evenly",
                    self.fabric.link_name(link),
                    rate / share,
                )
            }
        })
    }

    /// Refuses a list that puts a job on GPUs that serve: it would wait for ever.
    pub(super) fn check_jobs(&self, serving: Option<&Serving>) -> Result<(), Error> {
        let Some(serving) = serving else { return Ok(()) };
        let mut serve = serving.places().to_vec();
        serve.sort_unstable_by_key(|place| (place.host, place.gpu));
        for job in self.list.iter().flatten() {
            let is_taken = |&&(host, gpu): &&(u32, u32)| {
                serve.binary_search_by_key(&(HostId(host), gpu), |place| (place.host, place.gpu)).is_ok()
            };
            if let Some((host, gpu)) = job.places.iter().find(is_taken) {
                return Err(Error::Argument(format!(
                    "the list of jobs places job {:?} on GPU {gpu} of host {host}, which serves inference: write other \
                     cluster.inference.hosts",
                    job.name
                )));
            }
        }
        Ok(())
    }
}
