//! Models of collectives for any number of hosts, beside what a simulated network has of their times.
use railtwin_fabric::HostModel;
use railtwin_formats::telemetry::NcclTest;
use railtwin_scaling::{Backtest, ClusterTimes, ScalingFit, backtest, bands, fit, series};
use railtwin_scenario::ScalingSpec;
use railtwin_workload::scaling::{NetworkPart, ScalingModel, serial, serial_algorithm};
use railtwin_workload::{Algorithm, Collective, Group};

use super::label::network_limit;
use super::{AT_THE_LIMIT, network};
use crate::bandwidth::HostRates;
use crate::products::model_of_product;

/// A model with the series that it is of.
#[derive(Clone, PartialEq, Debug)]
pub struct Scaling {
    /// Measured times.
    pub series: ClusterTimes,
    /// The model that was fitted to them.
    pub fit: ScalingFit,
}

impl Scaling {
    /// The same as a file of caps has it.
    pub fn spec(&self) -> ScalingSpec {
        ScalingSpec::of(&self.fit.model, self.fit.priors.iter().map(|&prior| prior.to_owned()).collect())
    }
}

/// Models of all series that have enough: two numbers of several hosts of an all-reduce, one of the others. Bands are those
/// of the series themselves, as far as smaller clusters of them told of larger ones.
pub fn scaling(logs: &[(String, Vec<NcclTest>)], host: Option<&HostModel>) -> Vec<Scaling> {
    let all = series(logs);
    let backtests: Vec<Backtest> = all.iter().flat_map(backtest).collect();
    let of = |one: &ClusterTimes| {
        let mut fit = fit(one)?;
        let model = host.cloned().or_else(|| model_of_product(&one.product));
        fit.model.band = bands(&backtests, one.collective);
        if let Some(model) = &model {
            beside_network(&mut fit.model, model);
        }
        Some(Scaling { series: one.clone(), fit })
    };
    all.iter().filter_map(of).collect()
}

/// Sets what a network has of the times, and whether it is what limits rings.
fn beside_network(model: &mut ScalingModel, host: &HostModel) {
    let group = |hosts: u32| Group::of(hosts, model.local);
    let (Some(&least), Some(&most)) = (model.hosts.first(), model.hosts.last()) else { return };
    let of =
        |algorithm: Algorithm, hosts: u32| network::latency(host, model.collective, algorithm, group(hosts));
    let algorithm = serial_algorithm(model.collective);
    let count = f64::from(serial(model.collective, group(most)).0.max(1));
    let step = of(algorithm, most) / count;
    let mut part = NetworkPart { step, first: 0.0, level: 0.0 };
    if model.collective == Collective::AllReduce && most > least {
        let (near, far) = (of(Algorithm::Tree, least), of(Algorithm::Tree, most));
        let doubles = |hosts: u32| f64::from(hosts).log2();
        part.level = ((far - near) / (doubles(most) - doubles(least))).max(0.0);
        part.first = (near - doubles(least) * part.level).max(0.0);
    }
    let limit = network_limit(model.collective, group(most), algorithm, &HostRates::of(host));
    model.network = part;
    model.network_limits = limit.is_some_and(|limit| model.busbw[0] >= AT_THE_LIMIT * limit);
}
